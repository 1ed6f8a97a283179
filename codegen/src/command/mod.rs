//! The command `dispatch-codegen`.
//!
//! One function for each of its words; [`run`] finds it. Each says what it wrote, and mistakes of a package are shown as
//! the compiler shows its own.

mod expand;
mod new;
mod update;
mod vendor;

use std::path::PathBuf;
use std::process::ExitCode;

use crate::project::Error;

/// How the command is used.
const USAGE: &str = "\
usage: dispatch-codegen update [--vendor] PATH...   write the generated files of R packages; with --vendor, copy all
                                                 crates that they use into them
       dispatch-codegen update --vendor --into=COPY PATH
                                                 copy them into a copy of the package, and write nothing else
       dispatch-codegen check PATH...            fail if `update` would change a file, and say which
       dispatch-codegen expand PATH [FAMILY]     print what a family expands to, or all of them
       dispatch-codegen new PATH [--registry]    make an R package; with --registry its crates come from there";

/// Why a command did not do its work.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The arguments are none of the command's.
    Usage(String),
    /// A package cannot be read or written.
    Package(PathBuf, Error),
    /// What is wrong has been told.
    Told,
}

/// Runs the command with these arguments, without the program's name.
///
/// It fails with exit code 1 for packages that are wrong or not up to date, and 2 for arguments that make no sense.
///
/// ```no_run
/// // What `cargo run -p dispatch-codegen -- check mypackage` does.
/// dispatch_codegen::command::run(["check", "mypackage"].map(String::from));
/// ```
pub fn run(arguments: impl IntoIterator<Item = String>) -> ExitCode {
    let arguments: Vec<String> = arguments.into_iter().collect();
    match command(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::Told) => ExitCode::FAILURE,
        Err(Failure::Package(_, Error::Mistakes(report))) => {
            eprint!("{report}");
            let count = report.mistakes().len();
            eprintln!("\ndispatch-codegen: {count} {}", if count == 1 { "mistake" } else { "mistakes" });
            ExitCode::FAILURE
        }
        Err(Failure::Package(path, Error::Io(error))) => {
            eprintln!("dispatch-codegen: {}: {error}", path.display());
            ExitCode::FAILURE
        }
        Err(Failure::Usage(reason)) => {
            eprintln!("dispatch-codegen: {reason}\n{USAGE}");
            ExitCode::from(2)
        }
    }
}

fn command(arguments: &[String]) -> Result<(), Failure> {
    let [word, arguments @ ..] = arguments else {
        return Err(Failure::Usage("no command given".to_owned()));
    };
    match word.as_str() {
        "update" if vendor::is_asked(arguments) => vendor::vendor(arguments),
        "update" => update::update(&paths(arguments)?),
        "check" => update::check(&paths(arguments)?),
        "expand" => expand::expand(arguments),
        "new" => new::new(arguments),
        "help" | "-h" | "--help" => {
            println!("{USAGE}");
            Ok(())
        }
        other => Err(Failure::Usage(format!("no command `{other}`"))),
    }
}

/// The folders of packages; at least one, and no options.
pub(crate) fn paths(arguments: &[String]) -> Result<Vec<PathBuf>, Failure> {
    if let Some(option) = arguments.iter().find(|argument| argument.starts_with('-')) {
        return Err(Failure::Usage(format!("unknown option `{option}`")));
    }
    if arguments.is_empty() {
        return Err(Failure::Usage("no package given".to_owned()));
    }
    Ok(arguments.iter().map(PathBuf::from).collect())
}
