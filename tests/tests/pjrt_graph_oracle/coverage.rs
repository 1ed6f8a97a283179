//! Every public operation has a case, or is named here with the test that has one.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::DATA;
use crate::data::Group;

/// Operations that numpy has no counterpart of, and the test that tries them.
const ELSEWHERE: &[(&str, &[&str])] = &[
    ("pjrt_graph_random", RANDOM),
    ("pjrt_graph_special", &["raw"]),
    ("`slice`, whose cases have steps", &["step"]),
];

const RANDOM: &[&str] = &[
    "Key::seed",
    "Key::from_data",
    "Key::data",
    "Key::split",
    "Key::split_n",
    "Key::fold_in",
    "Key::bits",
    "Key::uniform",
    "Key::normal",
    "Key::exponential",
    "Key::bernoulli",
    "Key::permutation",
];

/// Public functions and methods of the files of operations, by name, with the file that has them.
fn operations() -> BTreeMap<String, PathBuf> {
    let mut found = BTreeMap::new();
    let graph = Path::new(env!("CARGO_MANIFEST_DIR")).join("../dispatch-runtime/src/graph");
    let text = std::fs::read_to_string(graph.join("mod.rs")).unwrap();
    let public: BTreeSet<&str> = text
        .lines()
        .filter(|line| line.starts_with("pub use "))
        .flat_map(|line| line.split(|c: char| !c.is_alphanumeric() && c != '_'))
        .collect();
    let mut files = vec![graph.join("constant.rs")];
    let mut folders = vec![graph.join("ops")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.file_stem().is_some_and(|stem| stem != "tests") {
                files.push(path);
            }
        }
    }
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        let mut owner = "";
        for line in text.lines() {
            if line.starts_with(|c: char| !c.is_whitespace()) {
                owner = line.trim_end_matches(" {");
            }
            match (owner, method(line)) {
                ("impl Key", Some(name)) => found.insert(format!("Key::{name}"), file.clone()),
                (owner, Some(name)) if is_public(owner, name, &public) => {
                    found.insert(name.to_owned(), file.clone())
                }
                _ => None,
            };
        }
    }
    found
}

/// Whether what begins with this line has operations: methods of values, an exported function, a table of methods.
fn is_public(owner: &str, name: &str, exported: &BTreeSet<&str>) -> bool {
    owner == "impl Value" || owner.ends_with('!') || (owner.starts_with("pub fn ") && exported.contains(name))
}

/// The name in `pub fn name(`, and in the tables of methods that a macro writes: `name = "stablehlo_name"`.
fn method(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let name = match line.strip_prefix("pub fn ") {
        Some(rest) => rest.split(['(', '<']).next()?,
        None => line.split_once(" = \"").filter(|(_, rest)| rest.ends_with(';'))?.0,
    };
    let is_name =
        !name.is_empty() && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    is_name.then_some(name)
}

#[test]
fn every_operation_has_a_case() {
    let tried: BTreeSet<&str> =
        DATA.iter().flat_map(|text| Group::parse(text).cases).map(|case| case.operation).collect();
    let elsewhere: BTreeSet<&str> = ELSEWHERE.iter().flat_map(|(_, names)| names.iter().copied()).collect();
    let operations = operations();
    let missing: Vec<String> = operations
        .iter()
        .filter(|(name, _)| !tried.contains(name.as_str()) && !elsewhere.contains(name.as_str()))
        .map(|(name, file)| format!("`{name}` of {}", file.file_name().unwrap().to_string_lossy()))
        .collect();
    assert!(missing.is_empty(), "no case of the oracle tries {}", missing.join(", "));
    let gone: Vec<_> = tried.union(&elsewhere).filter(|name| !operations.contains_key(**name)).collect();
    assert!(gone.is_empty(), "no operation is called {gone:?}");
}
