//! An R package as a folder.

use std::io;
use std::path::PathBuf;

/// An R package with a crate in `src/rust`.
#[derive(Clone, Debug)]
pub struct RPackage {
    /// The folder with `DESCRIPTION`.
    pub folder: PathBuf,
    /// The name in `DESCRIPTION`.
    pub name: String,
}

impl RPackage {
    /// The package in this folder.
    ///
    /// # Errors
    ///
    /// It has no `DESCRIPTION` with a name.
    pub fn open(folder: impl Into<PathBuf>) -> io::Result<RPackage> {
        let folder = folder.into();
        let description = std::fs::read_to_string(folder.join("DESCRIPTION")).map_err(|error| {
            if error.kind() == io::ErrorKind::NotFound {
                io::Error::new(error.kind(), "no file DESCRIPTION: this is not the folder of an R package")
            } else {
                error
            }
        })?;
        let name = description
            .lines()
            .find_map(|line| line.strip_prefix("Package:"))
            .map(|name| name.trim().to_owned())
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "DESCRIPTION names no package"))?;
        Ok(RPackage { folder, name })
    }
}
