//! The generator in a `build.rs`.

use std::path::{Path, PathBuf};

use crate::generate;
use crate::project::{self, Error};

/// Keeps the generated files of a package up to date whenever its crate is built by cargo.
///
/// In the `build.rs` of the crate, with `dispatch-codegen` among its build dependencies:
///
/// ```no_run
/// dispatch_codegen::Builder::new().update();
/// ```
///
/// Files are written only if their text changes, so an installation from a package that is up to date writes nothing.
/// Without a `build.rs` the command `dispatch-codegen update` does the same.
#[derive(Clone, Debug)]
pub struct Builder {
    package: PathBuf,
    check: bool,
}

impl Default for Builder {
    fn default() -> Self {
        Builder { package: PathBuf::from("../.."), check: false }
    }
}

impl Builder {
    /// For the R package two folders above the crate, which is where a crate in `src/rust` has it.
    pub fn new() -> Builder {
        Builder::default()
    }

    /// Takes the R package in another folder, relative to the crate's.
    ///
    /// ```no_run
    /// dispatch_codegen::Builder::new().package("../../r").update();
    /// ```
    pub fn package(mut self, folder: impl Into<PathBuf>) -> Builder {
        self.package = folder.into();
        self
    }

    /// Writes nothing: a file that is not up to date fails the build.
    ///
    /// ```no_run
    /// dispatch_codegen::Builder::new().check().update();
    /// ```
    pub fn check(mut self) -> Builder {
        self.check = true;
        self
    }

    /// Does it, and tells cargo when to do it again.
    ///
    /// After a mistake it shows what the compiler would show, and ends the process with exit code 1.
    pub fn update(self) {
        match self.run() {
            Ok(lines) => lines.iter().for_each(|line| println!("{line}")),
            Err(error) => {
                // One line for cargo of each mistake, and all of it in the output of the script.
                match &error {
                    Error::Mistakes(report) => {
                        for mistake in report.mistakes() {
                            let (file, line, column) = (mistake.file.display(), mistake.line, mistake.column);
                            println!("cargo::error={file}:{line}:{column}: {}", mistake.message);
                        }
                    }
                    Error::Io(error) => println!("cargo::error={}", error.to_string().replace('\n', " ")),
                }
                eprintln!("{error}");
                std::process::exit(1);
            }
        }
    }

    /// Does it, and gives what a build script has to print: `cargo::rerun-if-changed=` and a file for each one that was
    /// read.
    ///
    /// # Errors
    ///
    /// All mistakes in the package's sources, or a file that cannot be read or written.
    pub fn run(&self) -> Result<Vec<String>, Error> {
        let project = project::read(&self.package)?;
        let files = generate::of(&project)?;
        if self.check {
            if let Some(stale) = files.differences()?.first() {
                let stale = stale.path.strip_prefix(&self.package).unwrap_or(&stale.path).display();
                let message = format!("{stale} is not up to date: run `dispatch-codegen update`");
                return Err(std::io::Error::other(message).into());
            }
        } else {
            files.write()?;
        }
        // Generated files are newer than the script that has written them, so they are not among these.
        let own = ["DESCRIPTION", project::MANIFEST].map(PathBuf::from);
        let r_code = project::r_files(&self.package)?;
        let read = own.into_iter().chain(project.files().map(Path::to_owned)).chain(r_code);
        Ok(read
            .map(|file| format!("cargo::rerun-if-changed={}", self.package.join(file).display()))
            .collect())
    }
}
