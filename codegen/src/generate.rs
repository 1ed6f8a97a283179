//! All generated files of a package: what `update` writes and `check` compares.

use std::fs;
use std::io;
use std::path::Path;

use crate::emit::{Files, r_side, rust, wrappers};
use crate::project::{self, Error, Project, Source};

/// The generated files of the package in this folder.
///
/// # Errors
///
/// All mistakes in its sources, or a file that cannot be read.
pub(crate) fn files(folder: &Path) -> Result<Files, Error> {
    of(&project::read(folder)?)
}

/// The generated files of a package that was read.
pub(crate) fn of(project: &Project) -> Result<Files, Error> {
    let files = all(project)?;
    are_generated(&files)?;
    Ok(files)
}

fn all(project: &Project) -> Result<Files, Error> {
    // A package without the module has no families, and its R side is its author's.
    let Some(file) = &project.r_families else {
        return wrappers(project, None);
    };
    let folder = &project.package.folder;
    let generated = Source { file: file.clone(), text: rust(&project.model) };
    let mut files = wrappers(project, Some(&generated))?;
    files.extend(r_side(&project.model, folder)?);
    files.insert(folder.join(file), generated.text);
    Ok(files)
}

/// Files of an author's own are not overwritten: those that are there say that they are generated, or are of savvy's own
/// command.
fn are_generated(files: &Files) -> io::Result<()> {
    for (path, _) in files.texts().filter(|(_, text)| is_marked(text)) {
        match fs::read(path) {
            Ok(old) => {
                let old = String::from_utf8_lossy(&old);
                if !is_marked(&old) && !old.contains("savvy_") {
                    let message = format!(
                        "{} is the name of a generated file, and the one that is there is not: rename it",
                        path.display()
                    );
                    return Err(io::Error::new(io::ErrorKind::AlreadyExists, message));
                }
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Whether a text says at its top that it is generated.
fn is_marked(text: &str) -> bool {
    text.lines().next().is_some_and(|line| line.contains("@generated"))
}
