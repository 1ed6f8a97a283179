//! Mistakes of packages: each case in `tests/mistakes/*.rs` is a small package, and what is said of it stands beside it
//! in `*.stderr`.
//!
//! A case is one file: `//- path` begins a file of the package, and what comes before the first is `lib.rs`.
//! `BLESS=1 cargo test -p dispatch-codegen mistakes` writes the expected texts anew; read the difference before
//! committing it.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use super::PackageModel;
use super::messages::ROWS;
use crate::syntax::tests::errors::is_of_row;

/// The files of a case, as a package in a folder of its own, which goes when this does.
struct Package(PathBuf);

impl Package {
    fn new(name: &str, case: &str) -> Package {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let folder = format!("dispatch-case-{name}-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(folder);
        let package = Package(folder);
        package.file("DESCRIPTION", "Package: pkg\nImports: pjrtdispatch\n");
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
    said_of(&Package::new(name, case))
}

fn said_of(package: &Package) -> String {
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

/// A package with families in all kinds of places, read.
fn places() -> PackageModel {
    let case = r#"
mod r_families;
mod plain;
pub mod deep;
#[path = "elsewhere/odd.rs"]
mod given;
mod reexported {
    mod hidden {
        pub mod private {
            use super::super::super::attribute as other_name;

            #[other_name(r_export)]
            pub fn by_group() -> Result<Program> {}
            #[other_name(r_export)]
            pub fn by_name() -> Result<Program> {}
            #[other_name(r_export)]
            pub fn through_module() -> Result<Program> {}
        }
    }
    pub use hidden::private as opened;
    pub mod all { pub use super::hidden::private::{ByGroup, ByName}; }
}
use dispatch_runtime::dispatch_family as attribute;
use reexported::all::ByName as Renamed;
include!("included.rs");

#[dispatch_family(r_export, r_name = "fit.all")]
fn private_in_root(#[static_arg] r#type: plain::Kind, #[dynamic] data: deep::Data<Aval>) -> Result<Program<deep::inner::Fitted<Array>>> {}

#[savvy]
fn rs_fit_all() {}
#[cfg(test)]
mod tests { #[dispatch_family(r_export)] fn of_test() -> Result<Program> {} }

//- src/rust/src/plain.rs
#[dispatch_family(r_export)]
pub(super) fn fit(#[static_arg(default = Some(Kind::B))] kind: Option<Kind>) -> Result<Program> {}
#[derive(Clone, StaticArg)]
pub enum Kind { A, B }

//- src/rust/src/deep/mod.rs
#![cfg(unix)]
pub mod inner;
use inner::Part as Piece;
#[derive(InputTree)]
pub struct Data<T> { #[dynamic] part: Piece<T> }

//- src/rust/src/deep/inner.rs
use crate::plain::*;
#[cfg(target_os = "linux")]
#[dispatch_family(r_export, r_name = "family")]
pub(in crate) fn scoped() -> Result<Program> {}
#[cfg(feature = "on")]
#[dispatch_runtime::dispatch_family(r_export, r_name = "fit.2")]
pub(crate) fn fit(#[static_arg] kind: Kind) -> Result<Program> {}
#[derive(InputTree)]
pub struct Part<T> { #[dynamic(dtype = f64, shape = [])] x: T }
#[derive(OutputTree)]
pub struct Fitted<T> { x: T }

//- src/rust/src/elsewhere/odd.rs
pub mod beside;
//- src/rust/src/elsewhere/beside.rs
#[dispatch_family(r_export)]
pub fn beside_given() -> Result<Program> {}
//- src/rust/src/included.rs
#[dispatch_family(r_export)]
fn included() -> Result<Program> {}
//- src/rust/Cargo.toml
[features]
default = ["on"]
on = []
"#;
    let package = Package::new("places", case);
    super::read(&package.0).unwrap_or_else(|error| panic!("{error}")).model
}

#[test]
fn families_are_found_wherever_they_stand() {
    let model = places();
    let found: Vec<(&str, String)> =
        model.families.iter().map(|family| (family.r_name.as_str(), family.path.join("::"))).collect();
    let want = [
        ("included", "Included"),
        ("fit.all", "PrivateInRoot"),
        ("fit", "plain::Fit"),
        ("family", "deep::inner::Scoped"),
        ("fit.2", "deep::inner::Fit"),
        ("beside_given", "given::beside::BesideGiven"),
        ("by_group", "reexported::all::ByGroup"),
        ("by_name", "Renamed"),
        ("through_module", "reexported::opened::ThroughModule"),
    ];
    let want: Vec<(&str, String)> = want.map(|(name, path)| (name, path.to_owned())).to_vec();
    assert_eq!(found, want);
}

#[test]
fn defaults_call_functions_of_r_in_spite_of_what_has_their_names() {
    let of = |case: &str| {
        let package = Package::new("masks", &format!("mod r_families;\n{case}"));
        let model = super::read(&package.0).unwrap_or_else(|error| panic!("{error}")).model;
        let (_, fixed) = model.families[0].model.statics().next().unwrap();
        fixed.r.as_ref().unwrap().default.as_ref().unwrap().to_string()
    };
    let family = |others: &str| {
        format!(
            "#[dispatch_family(r_export)] fn f(#[static_arg(default = vec![1, 2])] a: Vec<i64>{others}) -> Result<Program> {{}}\n"
        )
    };
    assert_eq!(of(&family("")), "c(1L, 2L)");
    assert_eq!(of(&family(", #[static_arg] c: bool")), "base::c(1L, 2L)");
    assert_eq!(of(&family(", #[static_arg] numeric: bool")), "c(1L, 2L)");
    let twin = "#[dispatch_family(r_export)] fn c() -> Result<Program> {}";
    assert_eq!(of(&(family("") + twin)), "base::c(1L, 2L)");
    assert_eq!(of(&(family("") + "//- R/own.R\nc <- function(...) 1\n")), "base::c(1L, 2L)");
}

/// A glob brings what it sees, and makes it no more visible than it is.
#[test]
fn a_glob_does_not_open_what_is_closed() {
    let case = "mod r_families;\nmod a;\npub use a::*;\n//- src/rust/src/a.rs\nmod b {\n\
                #[dispatch_family(r_export)] pub(in crate::a) fn closed() -> Result<Program> {}\n\
                #[dispatch_family(r_export)] pub fn open() -> Result<Program> {}\n}\npub use b::*;\n";
    let said = said("globs", case);
    assert!(said.starts_with("error: `closed` is private to its module"), "{said}");
    assert_eq!(said.matches("error").count(), 1, "{said}");
}

#[test]
fn symbols_are_unlike_all_others() {
    let symbols: Vec<String> = places().families.into_iter().map(|family| family.symbol).collect();
    assert_eq!(symbols[..5], ["rs_included", "rs_fit_all_2", "rs_fit", "rs_family_2", "rs_fit_2"]);
}

#[test]
fn conditions_of_modules_and_functions_come_along() {
    let model = places();
    let of = |name: &str| {
        let family = model.families.iter().find(|family| family.r_name == name).unwrap();
        let cfgs: Vec<String> = family.cfgs.iter().map(crate::syntax::text).collect();
        cfgs.join(" ")
    };
    assert_eq!(of("fit"), "");
    assert_eq!(of("family"), "#[cfg(unix)] #[cfg(target_os = \"linux\")]");
    assert_eq!(of("fit.2"), "#[cfg(unix)] #[cfg(feature = \"on\")]");
}

#[test]
fn types_are_found_through_imports() {
    let model = places();
    let path = |path: &str| syn::parse_str::<syn::Path>(path).unwrap();
    let module = |names: &[&str]| names.iter().map(|name| name.to_string()).collect::<Vec<_>>();
    let kind = Some(module(&["plain", "Kind"]));
    let kind_of =
        |at: &[&str], name: &str| model.static_type(&module(at), &path(name)).map(|ty| ty.path.clone());
    assert_eq!(kind_of(&[], "plain::Kind"), kind);
    assert_eq!(kind_of(&["plain"], "Kind"), kind);
    assert_eq!(kind_of(&["deep", "inner"], "Kind"), kind);
    assert_eq!(kind_of(&["deep"], "Kind"), None);
    let data = model.input_tree(&[], &path("deep::Data<Aval>")).unwrap();
    assert_eq!(data.module(), ["deep"]);
    let part = model.input_tree(data.module(), &path("Piece")).unwrap();
    assert_eq!(part.path, ["deep", "inner", "Part"]);
    let fit = model.output_tree(&[], &path("deep::inner::Fitted<Array>")).unwrap();
    assert_eq!(fit.path, ["deep", "inner", "Fitted"]);
    assert_eq!(fit.place.file, Path::new("src/rust/src/deep/inner.rs"));
}

/// Whatever somebody has half written is read or rejected, in the same words each time.
#[test]
fn no_edit_of_a_package_makes_the_reader_fail() {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut below = |n: usize| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as usize % n
    };
    let odd = ["\"", "'", "{", ")", "#", "é", "r#", "/*", "$", "self", "\t", "-1", "::", "cfg", "T", ".."];
    for case in cases() {
        let text = fs::read_to_string(&case).unwrap();
        let package = Package::new("edited", &text);
        let lib = text.split("//- ").next().unwrap();
        for _ in 0..10 {
            let mut tokens = words(lib);
            for _ in 0..=below(3) {
                let at = below(tokens.len());
                match below(4) {
                    0 => drop(tokens.remove(at)),
                    1 => tokens.insert(at, tokens[below(tokens.len())]),
                    2 => tokens[at] = tokens[below(tokens.len())],
                    _ => tokens[at] = odd[below(odd.len())],
                }
            }
            let edited = tokens.concat();
            package.file("src/rust/src/lib.rs", &edited);
            assert_eq!(said_of(&package), said_of(&package), "{edited}");
        }
    }
}

/// A text in words and single characters.
fn words(text: &str) -> Vec<&str> {
    let mut out = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let length =
            if is_word(first) { rest.find(|c| !is_word(c)).unwrap_or(rest.len()) } else { first.len_utf8() };
        let (word, after) = rest.split_at(length);
        out.push(word);
        rest = after;
    }
    out
}
