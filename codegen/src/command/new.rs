//! `new`: a package from nothing.

use std::io;
use std::path::Path;

use super::{Failure, update};
use crate::package::{self, Dependencies};

/// Makes a package and its generated files.
pub(super) fn new(arguments: &[String]) -> Result<(), Failure> {
    let (flags, paths): (Vec<&str>, Vec<&str>) =
        arguments.iter().map(String::as_str).partition(|argument| argument.starts_with('-'));
    let (path, dependencies) = match (paths.as_slice(), flags.as_slice()) {
        ([path], []) => (Path::new(path), toolkit()),
        ([path], ["--registry"]) => (Path::new(path), Ok(Dependencies::Registry)),
        ([_], [flag, ..]) => return Err(Failure::Usage(format!("unknown option `{flag}`"))),
        _ => return Err(Failure::Usage("`new` takes one path".to_owned())),
    };
    let wrong = |error: io::Error| Failure::Package(path.to_owned(), error.into());
    let folder = package::create(path, &dependencies.map_err(wrong)?).map_err(wrong)?;
    update::update(&[folder])
}

fn toolkit() -> io::Result<Dependencies> {
    let gone = || io::Error::other("the sources that this was compiled from are gone: ask for `--registry`");
    package::toolkit().map(Dependencies::Path).ok_or_else(gone)
}
