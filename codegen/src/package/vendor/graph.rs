//! What cargo knows of a package's crates.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::package::refused;
use crate::package::run::Cargo;

/// The crates that a crate is built from, itself among them.
pub(super) struct Graph {
    root: String,
    /// By cargo's ids.
    crates: BTreeMap<String, Crate>,
    /// The folder with the lock file.
    pub(super) workspace: PathBuf,
}

/// One crate, as cargo describes it.
pub(super) struct Crate {
    pub(super) name: String,
    pub(super) version: String,
    pub(super) manifest: PathBuf,
    /// Found in a folder, not in a registry.
    local: bool,
    pub(super) json: Value,
}

impl Graph {
    /// Asks cargo, which writes the lock file if there is none.
    pub(super) fn read(cargo: &Cargo, manifest: &Path, options: &[&str]) -> io::Result<Graph> {
        let arguments = [&["metadata", "--format-version", "1"], options, &["--manifest-path"]].concat();
        let metadata: Value = serde_json::from_str(&cargo.output(&arguments, manifest)?)?;
        let manifest = manifest.canonicalize()?;
        let mut all: BTreeMap<String, Crate> =
            list(&metadata["packages"]).iter().map(|json| (text(&json["id"]), Crate::new(json))).collect();
        let root = all
            .iter()
            .find(|(_, one)| one.manifest.canonicalize().is_ok_and(|its| its == manifest))
            .map(|(id, _)| id.clone())
            .ok_or_else(|| refused(format!("{} has no crate", manifest.display())))?;

        let mut needs: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for node in list(&metadata["resolve"]["nodes"]) {
            let used = list(&node["deps"]).iter().filter(|dep| list(&dep["dep_kinds"]).iter().any(is_built));
            needs.insert(text(&node["id"]), used.map(|dep| text(&dep["pkg"])).collect());
        }
        let mut reached = BTreeSet::new();
        let mut next = vec![root.clone()];
        while let Some(id) = next.pop() {
            if reached.insert(id.clone()) {
                next.extend(needs.get(&id).into_iter().flatten().cloned());
            }
        }
        all.retain(|id, _| reached.contains(id));
        for one in all.values() {
            one.comes_from_somewhere()?;
        }
        let workspace = PathBuf::from(text(&metadata["workspace_root"]));
        Ok(Graph { root, crates: all, workspace })
    }

    /// The package's own crate.
    pub(super) fn root(&self) -> &Crate {
        &self.crates[&self.root]
    }

    /// The crates that are found by path, without the package's own, by name.
    pub(super) fn local(&self) -> impl Iterator<Item = &Crate> {
        self.others().filter(|one| one.local)
    }

    /// The crates of the registry.
    pub(super) fn registry(&self) -> impl Iterator<Item = &Crate> {
        self.others().filter(|one| !one.local)
    }

    fn others(&self) -> impl Iterator<Item = &Crate> {
        let mut others: Vec<&Crate> =
            self.crates.iter().filter(|(id, _)| **id != self.root).map(|(_, one)| one).collect();
        others.sort_by(|a, b| (&a.name, &a.version).cmp(&(&b.name, &b.version)));
        others.into_iter()
    }

    /// Whether a crate of this name is built.
    pub(super) fn uses(&self, name: &str) -> bool {
        self.crates.values().any(|one| one.name == name)
    }
}

impl Crate {
    fn new(json: &Value) -> Crate {
        Crate {
            name: text(&json["name"]),
            version: text(&json["version"]),
            manifest: PathBuf::from(text(&json["manifest_path"])),
            local: json["source"].is_null(),
            json: json.clone(),
        }
    }

    fn comes_from_somewhere(&self) -> io::Result<()> {
        let source = self.json["source"].as_str();
        if source.is_none_or(|source| source == "registry+https://github.com/rust-lang/crates.io-index") {
            return Ok(());
        }
        Err(refused(format!(
            "{} {} comes from {}: what a source package takes along is on crates.io or in a folder of yours",
            self.name,
            self.version,
            source.unwrap_or_default()
        )))
    }

    pub(super) fn folder(&self) -> &Path {
        self.manifest.parent().unwrap_or(Path::new(""))
    }

    /// A text of the crate's description, if it has it.
    pub(super) fn field(&self, name: &str) -> Option<&str> {
        self.json[name].as_str()
    }

    /// The dependencies that are built with the crate.
    pub(super) fn dependencies(&self) -> impl Iterator<Item = &Value> {
        list(&self.json["dependencies"])
            .iter()
            .filter(|dependency| is_built(dependency) && !needs_a_flag(dependency))
    }

    /// The target of the kind that is asked for.
    pub(super) fn target(&self, is: impl Fn(&str) -> bool) -> Option<&Value> {
        self.targets().find(|target| kinds(target).any(&is))
    }

    /// The library, of any kind.
    pub(super) fn library(&self) -> Option<&Value> {
        self.target(|kind| !["bin", "test", "bench", "example", "custom-build"].contains(&kind))
    }

    /// The build script.
    pub(super) fn build_script(&self) -> Option<&Value> {
        self.target(|kind| kind == "custom-build")
    }

    /// The roots of programs, tests and benchmarks.
    pub(super) fn programs(&self) -> impl Iterator<Item = PathBuf> {
        self.targets()
            .filter(|target| kinds(target).any(|kind| ["bin", "test", "bench", "example"].contains(&kind)))
            .map(|target| PathBuf::from(text(&target["src_path"])))
    }

    fn targets(&self) -> impl Iterator<Item = &Value> {
        list(&self.json["targets"]).iter()
    }

    /// The path of a target from the crate's folder.
    pub(super) fn path_of(&self, target: &Value) -> PathBuf {
        let path = PathBuf::from(text(&target["src_path"]));
        path.strip_prefix(self.folder()).unwrap_or(&path).to_owned()
    }

    /// The library and the build script of the package's own crate, from the folder of the other crates.
    pub(super) fn outside_paths(&self) -> Vec<PathBuf> {
        [self.library(), self.build_script()]
            .into_iter()
            .flatten()
            .map(|target| Path::new("..").join(self.path_of(target)))
            .collect()
    }
}

fn kinds(target: &Value) -> impl Iterator<Item = &str> {
    list(&target["kind"]).iter().filter_map(Value::as_str)
}

/// Whether a dependency is more than one of tests.
fn is_built(dependency: &Value) -> bool {
    dependency["kind"].as_str() != Some("dev")
}

/// Whether a dependency is one for builds with a flag that no R package sets, such as `cfg(loom)`.
fn needs_a_flag(dependency: &Value) -> bool {
    let flag =
        dependency["target"].as_str().and_then(|target| target.strip_prefix("cfg(")?.strip_suffix(')'));
    flag.is_some_and(|flag| {
        !["unix", "windows"].contains(&flag) && flag.chars().all(|c| c.is_alphanumeric() || c == '_')
    })
}

pub(super) fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

pub(super) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
