//! All generated files of a package: what `update` writes and `check` compares.

use std::path::Path;

use crate::emit::{Files, r_side, wrappers};
use crate::project::{self, Error, Project};

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
    let mut files = wrappers(project, None)?;
    // A package without the module has no families, and its R side is its author's.
    if project.has_r_families {
        files.extend(r_side(&project.model, &project.package.folder)?);
    }
    Ok(files)
}
