//! `update` and `check`: the generated files of packages.

use std::path::{Path, PathBuf};

use super::Failure;
use crate::emit::Files;
use crate::generate;

/// Writes what has changed.
pub(super) fn update(folders: &[PathBuf]) -> Result<(), Failure> {
    for folder in folders {
        let files = files(folder)?;
        let written = files.write().map_err(|error| Failure::Package(folder.clone(), error.into()))?;
        written.iter().for_each(|path| println!("wrote {}", path.display()));
    }
    Ok(())
}

/// Fails if a file would be written.
pub(super) fn check(folders: &[PathBuf]) -> Result<(), Failure> {
    let mut fresh = true;
    for folder in folders {
        let differences =
            files(folder)?.differences().map_err(|error| Failure::Package(folder.clone(), error.into()))?;
        fresh &= differences.is_empty();
        for difference in differences {
            let line = difference.line.map(|line| format!(" (line {line})")).unwrap_or_default();
            eprintln!("dispatch-codegen: {}{line} is not up to date", difference.path.display());
        }
    }
    if fresh { Ok(()) } else { Err(Failure::Told) }
}

fn files(folder: &Path) -> Result<Files, Failure> {
    generate::files(folder).map_err(|error| Failure::Package(folder.to_owned(), error))
}
