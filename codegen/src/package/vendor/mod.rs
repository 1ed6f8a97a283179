//! A package with all crates inside, so that its source package installs with cargo alone, offline.
//!
//! | in the package | what |
//! |---|---|
//! | `src/rust/crates/NAME` | the crates that are found by path, those of the toolkit among them, as they would be published |
//! | `src/rust/crates/Cargo.toml`, `Cargo.lock` | the package's own crate, which is built from here |
//! | `src/rust/vendor.tar.xz` | all other crates |
//! | `inst/AUTHORS`, `LICENSE.note` | whose the crates are |
//!
//! `configure` builds from these as soon as they are there. What the author wrote stays as it is.

mod archive;
mod graph;
mod manifest;
mod notes;
mod sync;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use super::run::Cargo;
use graph::{Crate, Graph};
use sync::Changes;

/// The files of a folder, by their paths in it.
type Files = BTreeMap<PathBuf, Vec<u8>>;

/// Copies all crates that the package in `source` uses into the package in `target`, which is the same folder or a copy
/// of it. Gives the files that were written or removed: none the second time.
///
/// # Errors
///
/// Cargo cannot resolve the package's dependencies or get them, a dependency is neither in the registry nor in a folder,
/// a crate names no licence, or `xz` does not run.
pub fn vendor(source: &Path, target: &Path) -> io::Result<Vec<PathBuf>> {
    let cargo = Cargo::new();
    let manifest = source.join("src/rust/Cargo.toml");
    let graph = Graph::read(&cargo, &manifest, &[])?;
    let stage = Stage::new(&cargo, &graph)?;
    // What the package's own crate asks for: in a workspace, others may ask for more features of the same crates.
    let alone = Graph::read(&cargo, &stage.manifest(), &[])?;
    stage.versions_are_those_of(&graph)?;

    let used =
        graph.local().filter(|one| alone.uses(&one.name)).map(|one| one.name.as_str()).collect::<Vec<_>>();
    let mut crates = stage.files;
    crates.retain(|path, _| {
        let folder = path.components().next().map(|first| first.as_os_str().to_string_lossy());
        path.components().count() == 1 || folder.is_some_and(|folder| used.contains(&&*folder))
    });
    crates.insert("Cargo.lock".into(), std::fs::read(stage.folder.path().join("crates/Cargo.lock"))?);
    let packed = archive::pack(&cargo, stage.folder.path())?;

    let mut changes = Changes::default();
    changes.folder(&target.join("src/rust/crates"), &crates)?;
    changes.file(&target.join("src/rust/vendor.tar.xz"), &packed)?;
    changes.file(&target.join("inst/AUTHORS"), notes::authors(&alone).as_bytes())?;
    changes.file(&target.join("LICENSE.note"), notes::licences(&alone)?.as_bytes())?;
    Ok(changes.paths())
}

/// The crates outside of the package, where cargo sees nothing else.
struct Stage {
    folder: sync::Scratch,
    files: Files,
}

impl Stage {
    fn new(cargo: &Cargo, graph: &Graph) -> io::Result<Stage> {
        let folder = sync::Scratch::new()?;
        let mut files = Files::new();
        for one in graph.local() {
            for (path, content) in sources(cargo, one)? {
                files.insert(Path::new(&one.name).join(path), content);
            }
            files.insert(Path::new(&one.name).join("Cargo.toml"), manifest::of(one, graph)?.into_bytes());
        }
        files.insert("Cargo.toml".into(), manifest::of_package(graph)?.into_bytes());
        let crates = folder.path().join("crates");
        Changes::default().folder(&crates, &files)?;
        std::fs::copy(graph.workspace.join("Cargo.lock"), crates.join("Cargo.lock"))?;
        // Cargo wants to see a library; this one is never compiled.
        for path in graph.root().outside_paths() {
            sync::write(&crates.join(path), b"")?;
        }
        Ok(Stage { folder, files })
    }

    fn manifest(&self) -> PathBuf {
        self.folder.path().join("crates/Cargo.toml")
    }

    /// Cargo drops from the lock what is no longer asked for, and is to change nothing else.
    fn versions_are_those_of(&self, graph: &Graph) -> io::Result<()> {
        let before = std::fs::read_to_string(graph.workspace.join("Cargo.lock"))?;
        let after = std::fs::read_to_string(self.folder.path().join("crates/Cargo.lock"))?;
        let before = locked(&before);
        match locked(&after).into_iter().find(|one| !before.contains(one)) {
            Some((name, version)) => Err(io::Error::other(format!(
                "{name} {version} is not in {}: run `cargo update` there",
                graph.workspace.join("Cargo.lock").display()
            ))),
            None => Ok(()),
        }
    }
}

/// Names and versions in a lock file.
fn locked(lock: &str) -> Vec<(&str, &str)> {
    let entry = |package| Some((value(package, "name")?, value(package, "version")?));
    lock.split("[[package]]").skip(1).filter_map(entry).collect()
}

/// The value of the first `key = "value"`.
fn value<'a>(package: &'a str, key: &str) -> Option<&'a str> {
    package.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" = \"")?.strip_suffix('"'))
}

/// The files of a crate that it would be published with, without those for its own tests and programs.
fn sources(cargo: &Cargo, one: &Crate) -> io::Result<Files> {
    let listed = cargo
        .output(&["package", "--list", "--allow-dirty", "--offline", "--manifest-path"], &one.manifest)?;
    let folder = one.folder();
    let mut files = Files::new();
    for path in listed.lines().map(PathBuf::from) {
        let first = path.components().next().map(|first| first.as_os_str().to_string_lossy().into_owned());
        let left_out = matches!(first.as_deref(), Some("tests" | "benches" | "examples"))
            || path.starts_with("src/bin")
            || ["Cargo.toml", "Cargo.toml.orig", "Cargo.lock", ".cargo_vcs_info.json"]
                .iter()
                .any(|name| path == Path::new(name))
            || one.programs().any(|program| program == folder.join(&path));
        if !left_out {
            let content = std::fs::read(folder.join(&path))?;
            files.insert(path, content);
        }
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_lock_file_names_versions() {
        let lock = "version = 4\n\n[[package]]\nname = \"a\"\nversion = \"1.0.0\"\ndependencies = [\n \"b\",\n]\n\n\
                    [[package]]\nname = \"b\"\nversion = \"0.2.1\"\nsource = \"registry\"\n";
        assert_eq!(super::locked(lock), [("a", "1.0.0"), ("b", "0.2.1")]);
    }
}
