//! `update --vendor`: packages with all crates inside.

use std::path::Path;

use super::{Failure, paths, update};
use crate::package;

const VENDOR: &str = "--vendor";
const INTO: &str = "--into=";

/// Whether these are arguments for [`vendor`].
pub(super) fn is_asked(arguments: &[String]) -> bool {
    arguments.iter().any(|argument| argument == VENDOR || argument.starts_with("--into"))
}

/// Updates packages and copies the crates that they use into them, or into a copy of one.
pub(super) fn vendor(arguments: &[String]) -> Result<(), Failure> {
    let (ours, others): (Vec<String>, Vec<String>) =
        arguments.iter().cloned().partition(|argument| argument == VENDOR || argument.starts_with(INTO));
    let folders = paths(&others)?;
    let copies: Vec<&str> = ours.iter().filter_map(|option| option.strip_prefix(INTO)).collect();
    match (copies.as_slice(), folders.as_slice()) {
        ([], folders) => {
            update::update(folders)?;
            folders.iter().try_for_each(|folder| copy(folder, folder))
        }
        ([into], [folder]) if ours.iter().any(|option| option == VENDOR) => copy(folder, Path::new(into)),
        ([_], [_]) => Err(Failure::Usage("`--into` goes with `--vendor`".to_owned())),
        _ => Err(Failure::Usage("`--into` takes one copy of one package".to_owned())),
    }
}

fn copy(package: &Path, into: &Path) -> Result<(), Failure> {
    let changed =
        package::vendor(package, into).map_err(|error| Failure::Package(package.to_owned(), error.into()))?;
    for path in changed {
        println!("{} {}", if path.exists() { "wrote" } else { "removed" }, path.display());
    }
    Ok(())
}
