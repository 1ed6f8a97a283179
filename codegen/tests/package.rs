//! Packages on disk: new ones, and ones with all crates inside.

#![cfg(feature = "build")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use dispatch_codegen::package::{self, Dependencies};

/// A folder that goes when the test ends.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        let folder = std::env::temp_dir().join(format!("dispatch-package-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        Scratch(folder.canonicalize().unwrap())
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.0.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// All files below a folder with what is in them.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    fn walk(root: &Path, folder: &Path, out: &mut BTreeMap<String, Vec<u8>>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(root, &path, out);
            } else {
                out.insert(path.strip_prefix(root).unwrap().display().to_string(), fs::read(path).unwrap());
            }
        }
    }
    let mut out = BTreeMap::new();
    walk(folder, folder, &mut out);
    out
}

fn refusal<T: std::fmt::Debug>(result: std::io::Result<T>) -> String {
    result.unwrap_err().to_string()
}

#[test]
fn a_new_package_takes_its_name_from_its_folder() {
    let scratch = Scratch::new("new");
    let toolkit = Dependencies::Path(package::toolkit().unwrap());
    let folder = package::create(&scratch.0.join("deep/my.pkg"), &toolkit).unwrap();
    let read = |path: &str| fs::read_to_string(folder.join(path)).unwrap();
    assert!(read("DESCRIPTION").starts_with("Package: my.pkg\n"));
    let manifest = read("src/rust/Cargo.toml");
    assert!(manifest.contains("name = \"my-pkg\"\n"), "{manifest}");
    assert!(manifest.contains("\n[workspace]\n"), "{manifest}");
    let support = package::toolkit().unwrap().join("r-bindings/support").display().to_string();
    assert!(manifest.contains(&format!("dispatch-r = {{ path = \"{support}\" }}\n")), "{manifest}");
    for (path, content) in files(&folder) {
        let text = String::from_utf8(content).unwrap();
        // `configure` and `Makevars.in` have places of their own, which are filled when the package is installed.
        let filled = text.contains("@PACKAGE@") || text.contains("@CRATE@") || text.contains("@RUST@");
        assert!(!filled, "{path} has a place that was not filled:\n{text}");
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(fs::metadata(folder.join("configure")).unwrap().permissions().mode() & 0o111, 0o111);
    }
}

#[test]
fn crates_of_the_registry_are_named_by_version() {
    let scratch = Scratch::new("registry");
    let folder = package::create(&scratch.0.join("pkg"), &Dependencies::Registry).unwrap();
    let manifest = fs::read_to_string(folder.join("src/rust/Cargo.toml")).unwrap();
    let version = env!("CARGO_PKG_VERSION");
    assert!(
        manifest.contains(&format!("dispatch-r = \"{version}\"\ndispatch-runtime = \"{version}\"\n")),
        "{manifest}"
    );
    assert!(!manifest.contains("path ="), "{manifest}");
}

#[test]
fn a_member_of_a_workspace_has_none_of_its_own() {
    let scratch = Scratch::new("member");
    scratch.write("Cargo.toml", "[workspace]\nresolver = \"3\"\nmembers = [\"r/*/src/rust\"]\n");
    let manifest = |path: &str| {
        let folder = package::create(&scratch.0.join(path), &Dependencies::Registry).unwrap();
        fs::read_to_string(folder.join("src/rust/Cargo.toml")).unwrap()
    };
    assert!(!manifest("r/inside").contains("[workspace]"));
    assert!(manifest("elsewhere/outside").contains("[workspace]"));
}

#[test]
fn what_is_there_is_not_touched() {
    let scratch = Scratch::new("taken");
    scratch.write("pkg/notes", "mine");
    scratch.write("file", "mine");
    let create = |path: &str| package::create(&scratch.0.join(path), &Dependencies::Registry);
    assert!(refusal(create("pkg")).ends_with("/pkg` exists and is not empty"));
    assert!(refusal(create("file")).ends_with("/file` is a file, not a folder"));
    assert!(refusal(create("my_pkg")).starts_with("`my_pkg` is no name for an R package"));
    assert_eq!(files(&scratch.0).len(), 2);
    // An empty folder is as good as none.
    fs::create_dir(scratch.0.join("empty")).unwrap();
    assert!(create("empty").is_ok());
}

/// A package whose crate uses a crate beside it, in a workspace with one that asks for more of that crate.
fn package_of_two_crates(scratch: &Scratch) {
    scratch.write(
        "Cargo.toml",
        "[workspace]\nresolver = \"3\"\nmembers = [\"pkg/src/rust\", \"util\", \"extra\", \"other\", \"flagged\"]\n\
         [workspace.package]\nversion = \"1.2.3\"\nlicense = \"MIT\"\n\
         [profile.release]\nopt-level = 1\n[profile.bench]\ndebug = true\n",
    );
    scratch.write("pkg/DESCRIPTION", "Package: pkg\n");
    scratch.write(
        "pkg/src/rust/Cargo.toml",
        "[package]\nname = \"pkg\"\nversion.workspace = true\nedition = \"2021\"\nlicense.workspace = true\n\
         [lib]\ncrate-type = [\"staticlib\"]\n[dependencies]\nutil = { path = \"../../../util\" }\n",
    );
    scratch.write("pkg/src/rust/src/lib.rs", "");
    scratch.write(
        "util/Cargo.toml",
        "[package]\nname = \"util\"\nversion.workspace = true\nedition = \"2024\"\nlicense.workspace = true\n\
         [features]\nmore = [\"dep:extra\"]\n\
         [dependencies]\nextra = { path = \"../extra\", optional = true }\n\
         [target.'cfg(loom)'.dependencies]\nflagged = { path = \"../flagged\" }\n\
         [dev-dependencies]\nother = { path = \"../other\" }\n",
    );
    for path in
        ["util/src/lib.rs", "util/tests/t.rs", "util/src/main.rs", "util/src/bin/b.rs", "util/notes.txt"]
    {
        scratch.write(path, "");
    }
    for (name, dependency) in
        [("extra", ""), ("flagged", ""), ("other", "util = { path = \"../util\", features = [\"more\"] }\n")]
    {
        scratch.write(
            &format!("{name}/Cargo.toml"),
            &format!(
                "[package]\nname = \"{name}\"\nversion.workspace = true\nedition = \"2021\"\nlicense.workspace = true\n\
                 [dependencies]\n{dependency}"
            ),
        );
        scratch.write(&format!("{name}/src/lib.rs"), "");
    }
}

#[test]
fn a_package_takes_along_what_it_is_built_from() {
    let scratch = Scratch::new("vendor");
    package_of_two_crates(&scratch);
    let pkg = scratch.0.join("pkg");
    let written = package::vendor(&pkg, &pkg).unwrap();
    let all = files(&pkg);
    let crates: Vec<&str> = all.keys().filter_map(|path| path.strip_prefix("src/rust/crates/")).collect();
    // Neither tests and programs, nor crates for a feature that only others ask for, for a flag or for tests.
    assert_eq!(crates, ["Cargo.lock", "Cargo.toml", "util/Cargo.toml", "util/notes.txt", "util/src/lib.rs"]);
    assert_eq!(written.len(), crates.len() + ["vendor.tar.xz", "AUTHORS", "LICENSE.note"].len());
    let text = |path: &str| String::from_utf8(all[path].clone()).unwrap();
    let own = text("src/rust/crates/Cargo.toml");
    assert!(own.contains("version = \"1.2.3\"\n") && own.contains("path = \"../src/lib.rs\"\n"), "{own}");
    assert!(own.contains("util = { version = \"*\", path = \"util\" }\n"), "{own}");
    assert!(own.ends_with("[profile.release]\nopt-level = 1\n"), "{own}");
    assert!(text("LICENSE.note").contains("MIT\n  util 1.2.3\n"));
    // What the author wrote is as it was.
    assert!(text("src/rust/Cargo.toml").contains("version.workspace = true"));

    assert_eq!(package::vendor(&pkg, &pkg).unwrap(), [] as [PathBuf; 0]);
    assert_eq!(files(&pkg), all);

    fs::remove_file(scratch.0.join("util/notes.txt")).unwrap();
    assert_eq!(package::vendor(&pkg, &pkg).unwrap(), [pkg.join("src/rust/crates/util/notes.txt")]);
}

#[test]
fn crates_are_built_from_the_copies() {
    let scratch = Scratch::new("build");
    package_of_two_crates(&scratch);
    scratch.write(
        "pkg/src/rust/src/lib.rs",
        "#[no_mangle]\npub extern \"C\" fn answer() -> i32 { util::ANSWER }\n",
    );
    scratch.write("util/src/lib.rs", "pub const ANSWER: i32 = 42;\n");
    let copy = scratch.0.join("copy");
    fs::create_dir_all(copy.join("src/rust/src")).unwrap();
    fs::copy(scratch.0.join("pkg/src/rust/src/lib.rs"), copy.join("src/rust/src/lib.rs")).unwrap();
    package::vendor(&scratch.0.join("pkg"), &copy).unwrap();
    fs::remove_dir_all(scratch.0.join("util")).unwrap();
    let built = std::process::Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--offline", "--locked", "--lib", "--manifest-path"])
        .arg(copy.join("src/rust/crates/Cargo.toml"))
        .arg("--target-dir")
        .arg(scratch.0.join("target"))
        .status()
        .unwrap();
    assert!(built.success());
    assert!(scratch.0.join("target/debug/libpkg.a").is_file());
}

#[test]
fn a_crate_that_names_no_licence_is_named() {
    let scratch = Scratch::new("licence");
    package_of_two_crates(&scratch);
    scratch.write("util/Cargo.toml", "[package]\nname = \"util\"\nversion = \"0.1.0\"\nedition = \"2021\"\n");
    scratch.write("Cargo.toml", "[workspace]\nresolver = \"3\"\nmembers = [\"pkg/src/rust\", \"util\"]\n[workspace.package]\nversion = \"1.2.3\"\nlicense = \"MIT\"\n");
    let pkg = scratch.0.join("pkg");
    assert_eq!(refusal(package::vendor(&pkg, &pkg)), "util 0.1.0 names no licence");
}
