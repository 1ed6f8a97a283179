//! Mistakes of packages: each case in `tests/mistakes/*.rs` is a small package, and what is said of it stands beside it
//! in `*.stderr`.
//!
//! A case is one file: `//- path` begins a file of the package, and what comes before the first is `lib.rs`.
//! `BLESS=1 cargo test -p dispatch-codegen mistakes` writes the expected texts anew; read the difference before
//! committing it.

use std::fs;
use std::path::{Path, PathBuf};

use super::messages::ROWS;
use crate::syntax::tests::errors::is_of_row;

/// The files of a case, as a package in a folder of its own, which goes when this does.
struct Package(PathBuf);

impl Package {
    fn new(name: &str, case: &str) -> Package {
        let folder = std::env::temp_dir().join(format!("dispatch-case-{name}-{}", std::process::id()));
        let package = Package(folder);
        package.file("DESCRIPTION", "Package: pkg\nVersion: 0.1.0\n");
        package.file("src/rust/Cargo.toml", "[package]\nname = \"pkg\"\n");
        for (index, part) in case.split("//- ").enumerate() {
            match part.split_once('\n') {
                Some((path, text)) if index > 0 => package.file(path.trim(), text),
                _ => package.file("src/rust/src/lib.rs", part),
            }
        }
        package
    }

    fn file(&self, path: &str, text: &str) {
        let path = self.0.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

impl Drop for Package {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// What is said of a package.
fn said(name: &str, case: &str) -> String {
    let package = Package::new(name, case);
    match crate::generate::files(&package.0) {
        Ok(_) => String::new(),
        Err(error) => error.to_string().replace(&format!("{}/", package.0.display()), ""),
    }
}

fn cases() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mistakes");
    let mut cases: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    cases.retain(|path| path.extension().is_some_and(|ending| ending == "rs"));
    cases.sort();
    cases
}

fn name(case: &Path) -> String {
    case.file_stem().unwrap().to_string_lossy().into_owned()
}

#[test]
fn mistakes_are_shown_as_the_compiler_shows_them() {
    let bless = std::env::var_os("BLESS").is_some();
    let mut wrong = Vec::new();
    for case in cases() {
        let got = said(&name(&case), &fs::read_to_string(&case).unwrap());
        assert!(!got.is_empty(), "{} has no mistake", case.display());
        let expected = case.with_extension("stderr");
        if bless {
            fs::write(&expected, &got).unwrap();
        } else if fs::read_to_string(&expected).unwrap_or_default() != got {
            wrong.push(format!("{}:\n{got}", case.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_message_about_a_package_has_a_case() {
    let said: String =
        cases().iter().map(|case| fs::read_to_string(case.with_extension("stderr")).unwrap()).collect();
    let texts: Vec<&str> = said.lines().filter_map(|line| line.strip_prefix("error: ")).collect();
    let untested: Vec<&str> = ROWS
        .iter()
        .filter(|(_, row)| !texts.iter().any(|text| is_of_row(text, row)))
        .map(|(name, _)| *name)
        .collect();
    assert!(untested.is_empty(), "no case for {untested:?}");
}

/// Nothing is wrong with any of these.
#[test]
fn what_is_right_is_not_rejected() {
    for (name, case) in [
        (
            "no_arguments",
            "mod r_families;\n#[dispatch_family(r_export)]\nfn f(cx: &CompileCx) -> Result<Program> {}\n",
        ),
        (
            "not_exported",
            "mod a { #[dispatch_family] fn next(#[static_arg] t: (i64, i64)) -> Result<Program> {} }\n",
        ),
        (
            "not_exported_in_macro",
            "macro_rules! m { () => { #[dispatch_family(capacity = 3)] fn f() -> Result<Program> {} } }\n",
        ),
        (
            "other_feature",
            "mod r_families;\n#[cfg(feature = \"a\")]\n#[dispatch_family(r_export)]\nfn f() -> Result<Program> {}\n\
             #[cfg(not(feature = \"a\"))]\n#[dispatch_family(r_export)]\nfn f() -> Result<Program> {}\n",
        ),
        ("tests_are_left_out", "mod r_families;\n#[cfg(test)]\nmod missing;\n"),
    ] {
        assert_eq!(said(name, case), "", "{name}");
    }
}
