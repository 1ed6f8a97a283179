//! Writes the C and R sides of the savvy functions of R packages.
//!
//! ```text
//! savvy-wrappers [--check] FOLDER...
//! ```
//!
//! With `--check` nothing is written, and a file that would change is an error.

use std::process::ExitCode;

use dispatch_codegen::emit::{RPackage, wrappers};

fn main() -> ExitCode {
    let (flags, folders): (Vec<_>, Vec<_>) = std::env::args().skip(1).partition(|a| a.starts_with("--"));
    let check = match flags.as_slice() {
        [] => false,
        [flag] if flag == "--check" => true,
        _ => {
            eprintln!("usage: savvy-wrappers [--check] FOLDER...");
            return ExitCode::FAILURE;
        }
    };
    let mut fresh = true;
    for folder in folders {
        match run(&folder, check) {
            Ok(unchanged) => fresh &= unchanged,
            Err(error) => {
                eprintln!("savvy-wrappers: {folder}: {error}");
                return ExitCode::FAILURE;
            }
        }
    }
    if check && !fresh { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// Writes or checks the files of one package; whether they were as they should be.
fn run(folder: &str, check: bool) -> std::io::Result<bool> {
    let files = wrappers(&RPackage::open(folder)?)?;
    if check {
        let differences = files.differences()?;
        for difference in &differences {
            let line = difference.line.map(|line| format!(" (line {line})")).unwrap_or_default();
            eprintln!(
                "savvy-wrappers: {}{line} is not up to date: run `make generate`",
                difference.path.display()
            );
        }
        return Ok(differences.is_empty());
    }
    let written = files.write()?;
    written.iter().for_each(|path| println!("wrote {}", path.display()));
    Ok(written.is_empty())
}
