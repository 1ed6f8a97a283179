//! The generator as a command.
//!
//! ```text
//! dispatch-codegen update PATH...            writes the generated files of R packages
//! dispatch-codegen check PATH...             fails if `update` would change a file
//! dispatch-codegen new PATH [--registry]     makes a package
//! ```

use std::io;
use std::path::Path;
use std::process::ExitCode;

use dispatch_codegen::emit::{Difference, RPackage, wrappers};
use dispatch_codegen::package::{self, Dependencies};

const USAGE: &str = "\
usage: dispatch-codegen update PATH...           write the generated files of R packages
       dispatch-codegen check PATH...            fail if `update` would change a file
       dispatch-codegen new PATH [--registry]    make an R package; with --registry its crates come from there";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (flags, words): (Vec<&str>, Vec<&str>) =
        arguments.iter().map(String::as_str).partition(|argument| argument.starts_with('-'));
    let done = match (words.as_slice(), flags.as_slice()) {
        (["update", paths @ ..], []) if !paths.is_empty() => for_each(paths, update),
        (["check", paths @ ..], []) if !paths.is_empty() => for_each(paths, check),
        (["new", path], []) => new(path, false),
        (["new", path], ["--registry"]) => new(path, true),
        ([], ["--help" | "-h"]) => {
            println!("{USAGE}");
            Ok(true)
        }
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("dispatch-codegen: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Runs a command on each package; whether all went well.
fn for_each(paths: &[&str], command: fn(&Path) -> io::Result<bool>) -> io::Result<bool> {
    let mut well = true;
    for path in paths {
        well &= command(Path::new(path))
            .map_err(|error| io::Error::new(error.kind(), format!("{path}: {error}")))?;
    }
    Ok(well)
}

fn update(path: &Path) -> io::Result<bool> {
    for written in wrappers(&RPackage::open(path)?)?.write()? {
        println!("wrote {}", written.display());
    }
    Ok(true)
}

fn check(path: &Path) -> io::Result<bool> {
    let differences = wrappers(&RPackage::open(path)?)?.differences()?;
    for Difference { path, line } in &differences {
        let line = line.map(|line| format!(" (line {line})")).unwrap_or_default();
        eprintln!("dispatch-codegen: {}{line} is not what `update` writes", path.display());
    }
    Ok(differences.is_empty())
}

fn new(path: &str, registry: bool) -> io::Result<bool> {
    let dependencies = if registry {
        Dependencies::Registry
    } else {
        Dependencies::Path(package::toolkit().ok_or_else(|| {
            io::Error::other("the sources that this was compiled from are gone: ask for `--registry`")
        })?)
    };
    let folder = package::create(Path::new(path), &dependencies)?;
    update(&folder)
}
