//! All generated files of a package: what `update` writes and `check` compares.

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
    // A package without the module has no families, and its R side is its author's.
    if !project.has_r_families {
        return wrappers(project, None);
    }
    let root = project.files().next().and_then(Path::parent).unwrap_or(Path::new(""));
    let generated = Source { file: root.join("r_families.rs"), text: rust(&project.model) };
    let mut files = wrappers(project, Some(&generated))?;
    files.extend(r_side(&project.model, &project.package.folder)?);
    files.insert(project.package.folder.join(&generated.file), generated.text);
    Ok(files)
}
