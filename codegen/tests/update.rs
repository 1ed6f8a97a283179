//! `update` and `check` on whole packages: what they write, what they leave alone, and that they say so.
#![cfg(feature = "build")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Runs the command.
fn run(arguments: &[&str], folder: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_dispatch-codegen")).args(arguments).current_dir(folder).output().unwrap()
}

/// Runs the command, which succeeds; what it prints.
fn succeeds(arguments: &[&str], folder: &Path) -> String {
    let output = run(arguments, folder);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// A package in a folder of its own, which goes when this does.
struct Package(PathBuf);

const LIB: &str = r#"
use dispatch_runtime::prelude::*;
mod fits;
mod r_families;

/// Scale a vector
#[dispatch_family(r_export)]
fn scaled(cx: &CompileCx, #[dynamic(dtype = f64, shape = [n])] x: Value, #[static_arg(default = 2)] by: i64) -> Result<Program> {
    cx.program(x * by as f64)
}
"#;

const FITS: &str = r#"
use dispatch_runtime::prelude::*;

/// Fit a line
#[dispatch_family(r_export)]
pub fn line(cx: &CompileCx, #[dynamic(dtype = f64, shape = [n])] x: Value, #[dynamic(like(x))] y: Value) -> Result<Program> {
    cx.program(x + y)
}
"#;

impl Package {
    fn new() -> Package {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("dispatch-update-{}-{number}", std::process::id()));
        let package = Package(folder.join("linear"));
        package.put("DESCRIPTION", "Package: linear\nVersion: 0.1.0\nImports: pjrtdispatch\n");
        package.put("src/rust/Cargo.toml", "[package]\nname = \"linear\"\n");
        package.put("src/rust/src/lib.rs", LIB);
        package.put("src/rust/src/fits.rs", FITS);
        package
    }

    fn put(&self, file: &str, text: &str) {
        let path = self.0.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn text(&self, file: &str) -> String {
        fs::read_to_string(self.0.join(file)).unwrap()
    }

    /// Replaces a text in a file; it is there.
    fn edit(&self, file: &str, from: &str, to: &str) {
        let text = self.text(file);
        assert!(text.contains(from), "{file} has no {from}");
        self.put(file, &text.replace(from, to));
    }

    /// The files that `update` writes or removes now, in order.
    fn update(&self) -> Vec<String> {
        let out = succeeds(&["update", "."], &self.0);
        out.lines()
            .map(|line| line.split(' ').next_back().unwrap().trim_start_matches("./").to_owned())
            .collect()
    }

    /// All files with their contents.
    fn all(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        fn visit(folder: &Path, top: &Path, out: &mut BTreeMap<PathBuf, Vec<u8>>) {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    visit(&path, top, out);
                } else {
                    out.insert(path.strip_prefix(top).unwrap().to_owned(), fs::read(&path).unwrap());
                }
            }
        }
        let mut out = BTreeMap::new();
        visit(&self.0, &self.0, &mut out);
        out
    }
}

impl Drop for Package {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(self.0.parent().unwrap());
    }
}

const GENERATED: [&str; 8] = [
    "NAMESPACE",
    "R/000-wrappers.R",
    "R/families.R",
    "man/line.Rd",
    "man/scaled.Rd",
    "src/init.c",
    "src/rust/api.h",
    "src/rust/src/r_families.rs",
];

/// `BLESS=1 cargo test -p dispatch-codegen --test update` writes the files anew; read the difference before committing it.
#[test]
fn the_generated_files_of_each_package_are_as_expected() {
    let packages = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/packages");
    let word = if std::env::var_os("BLESS").is_some() { "update" } else { "check" };
    let mut seen = 0;
    for package in fs::read_dir(&packages).unwrap() {
        succeeds(&[word, package.unwrap().path().to_str().unwrap()], &packages);
        seen += 1;
    }
    assert!(seen > 0);
}

#[test]
fn a_second_update_writes_nothing() {
    let package = Package::new();
    assert_eq!(package.update(), GENERATED);
    let before = package.all();
    assert_eq!(package.update(), [] as [&str; 0]);
    assert!(before == package.all());
}

#[test]
fn the_same_package_has_the_same_files_wherever_it_is() {
    let (one, two) = (Package::new(), Package::new());
    one.update();
    succeeds(&["update", two.0.to_str().unwrap()], Path::new("/"));
    assert!(one.all() == two.all());
    let texts: Vec<Vec<u8>> = one.all().into_values().collect();
    let folder = one.0.to_str().unwrap();
    assert!(texts.iter().all(|text| !String::from_utf8_lossy(text).contains(folder)));
}

#[test]
fn an_edit_touches_what_depends_on_it() {
    let package = Package::new();
    package.update();
    let nothing: [&str; 0] = [];
    let fits = "src/rust/src/fits.rs";
    package.edit(fits, "cx.program(x + y)", "cx.program(x - y) // A comment.");
    assert_eq!(package.update(), nothing);
    package.edit(fits, "pub fn line", "// A comment, and another place.\npub fn line");
    assert_eq!(package.update(), nothing);
    package.edit(fits, "/// Fit a line", "/// Fit the line");
    assert_eq!(package.update(), ["R/families.R", "man/line.Rd"]);
    package.edit(fits, "dtype = f64", "dtype = [f64, f32]");
    assert_eq!(package.update(), ["R/families.R", "man/line.Rd"]);
    package.edit("src/rust/src/lib.rs", "default = 2", "default = 3");
    assert_eq!(package.update(), ["R/families.R", "man/scaled.Rd"]);
    package.edit(fits, " y: Value", " z: Value");
    let signature =
        ["R/families.R", "man/line.Rd", "src/init.c", "src/rust/api.h", "src/rust/src/r_families.rs"];
    assert_eq!(package.update(), signature);
    package.edit(fits, "(r_export)", "(r_export, device = first_input, eviction = Lru)");
    assert_eq!(package.update(), nothing);
}

#[test]
fn what_belongs_to_a_removed_family_goes() {
    let package = Package::new();
    package.update();
    package.put("man/own.Rd", "% By hand.\n\\name{own}\n");
    package.edit("src/rust/src/fits.rs", "#[dispatch_family(r_export)]", "#[dispatch_family]");
    let changed = [
        "NAMESPACE",
        "R/families.R",
        "man/line.Rd",
        "src/init.c",
        "src/rust/api.h",
        "src/rust/src/r_families.rs",
    ];
    assert_eq!(package.update(), changed);
    assert!(!package.0.join("man/line.Rd").exists() && package.0.join("man/own.Rd").exists());
    assert!(!package.text("NAMESPACE").contains("export(line)"));
}

#[test]
fn check_tells_what_is_stale_and_writes_nothing() {
    let package = Package::new();
    package.update();
    succeeds(&["check", "."], &package.0);
    package.edit("R/families.R", "scaled <- ", "# Edited.\nscaled <- ");
    fs::remove_file(package.0.join("src/init.c")).unwrap();
    let before = package.all();
    let output = run(&["check", "."], &package.0);
    assert_eq!(output.status.code(), Some(1));
    let told = String::from_utf8(output.stderr).unwrap();
    let edited = 1 + package.text("R/families.R").lines().position(|line| line == "# Edited.").unwrap();
    let want = format!(
        "dispatch-codegen: ./R/families.R (line {edited}) is not up to date\n\
         dispatch-codegen: ./src/init.c is not up to date\n"
    );
    assert_eq!(told, want);
    assert!(before == package.all());
}

#[test]
fn mistakes_end_with_exit_code_1_and_nothing_is_written() {
    let package = Package::new();
    package.edit("src/rust/src/fits.rs", "dtype = f64", "dtype = f33");
    let before = package.all();
    for word in ["update", "check", "expand"] {
        let output = run(&[word, "linear"], package.0.parent().unwrap());
        assert_eq!(output.status.code(), Some(1), "{word}");
        let told = String::from_utf8(output.stderr).unwrap();
        let want = "error: unknown dtype `f33`\n --> linear/src/rust/src/fits.rs:6:47\n";
        assert!(told.starts_with(want), "{told}");
        assert!(told.ends_with("\ndispatch-codegen: 1 mistake\n"), "{told}");
    }
    assert!(before == package.all());
}

#[test]
fn a_file_of_the_authors_own_is_not_overwritten() {
    for file in ["src/init.c", "R/families.R", "src/rust/src/r_families.rs"] {
        let package = Package::new();
        package.put(file, "// By hand.\n");
        let before = package.all();
        let output = run(&["update", "."], &package.0);
        assert_eq!(output.status.code(), Some(1), "{file}");
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(told.contains(&format!("{file} is the name of a generated file")), "{told}");
        assert!(before == package.all());
    }
}

#[test]
fn wrong_arguments_end_with_exit_code_2() {
    for arguments in [&[][..], &["updat", "."], &["update"], &["update", "--all", "."], &["expand"]] {
        let output = run(arguments, Path::new("."));
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("usage: dispatch-codegen"));
    }
}

#[test]
fn a_folder_without_a_package_is_told() {
    let output = run(&["update", "src"], Path::new(env!("CARGO_MANIFEST_DIR")));
    assert_eq!(output.status.code(), Some(1));
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.contains("src: no file DESCRIPTION"), "{told}");
}

#[test]
fn expand_prints_one_family_or_all() {
    let package = Package::new();
    let one = succeeds(&["expand", ".", "line"], &package.0);
    assert!(one.starts_with("// fits::line, src/rust/src/fits.rs:6\n"), "{one}");
    assert!(one.contains("pub struct Line(") && !one.contains("Scaled"));
    for name in ["Line", "fits::line", "crate::fits::line"] {
        assert_eq!(succeeds(&["expand", ".", name], &package.0), one, "{name}");
    }
    let all = succeeds(&["expand", "."], &package.0);
    assert!(all.contains("pub struct Line(") && all.contains("struct Scaled("));
    syn::parse_file(&all).unwrap();
    let output = run(&["expand", ".", "lien"], &package.0);
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.contains("no family `lien`; there are `scaled`, `fits::line`"), "{told}");
}

#[test]
fn a_build_script_writes_and_watches_what_it_read() {
    let package = Package::new();
    package.put("R/own.R", "own <- function() NULL\n");
    let builder = dispatch_codegen::Builder::new().package(&package.0);
    let error = builder.clone().check().run().unwrap_err().to_string();
    assert_eq!(error, "NAMESPACE is not up to date: run `dispatch-codegen update`");
    let lines = builder.run().unwrap();
    assert_eq!(package.update(), [] as [&str; 0]);
    let watched: Vec<&str> = lines
        .iter()
        .map(|line| line.strip_prefix("cargo::rerun-if-changed=").unwrap())
        .map(|file| file.strip_prefix(package.0.to_str().unwrap()).unwrap().trim_start_matches('/'))
        .collect();
    let read =
        ["DESCRIPTION", "src/rust/Cargo.toml", "src/rust/src/lib.rs", "src/rust/src/fits.rs", "R/own.R"];
    assert_eq!(watched, read);
    builder.check().run().unwrap();
}
