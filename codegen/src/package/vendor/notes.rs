//! Whose the crates are, in the form that CRAN's policy on Rust asks for.

use std::collections::BTreeMap;
use std::io;

use super::graph::{Crate, Graph, list, text};
use crate::package::refused;

/// The text of `inst/AUTHORS`.
pub(super) fn authors(graph: &Graph) -> String {
    let mut out =
        "The file src/rust/vendor.tar.xz has these crates, each with its licence files in its folder:\n\n"
            .to_owned();
    graph.registry().for_each(|one| out += &line(one));
    out
}

fn line(one: &Crate) -> String {
    let names: Vec<String> = list(&one.json["authors"]).iter().map(text).collect();
    let names =
        if names.is_empty() { "the authors named in its repository".into() } else { names.join(", ") };
    let repository = one.field("repository").map(|place| format!(" ({place})")).unwrap_or_default();
    format!("{} {}: {names}{repository}\n", one.name, one.version)
}

/// The text of `LICENSE.note`.
pub(super) fn licences(graph: &Graph) -> io::Result<String> {
    Ok(format!(
        "{}{}",
        by_licence("The crates in src/rust/crates", graph.local())?,
        by_licence("The crates in src/rust/vendor.tar.xz", graph.registry())?
    ))
}

fn by_licence<'a>(head: &str, crates: impl Iterator<Item = &'a Crate>) -> io::Result<String> {
    let mut licences = BTreeMap::<String, String>::new();
    for one in crates {
        let licence = one
            .field("license")
            .or(one.field("license_file"))
            .ok_or_else(|| refused(format!("{} {} names no licence", one.name, one.version)))?;
        *licences.entry(licence.replace('/', " OR ")).or_default() +=
            &format!("  {} {}\n", one.name, one.version);
    }
    let blocks: String = licences.iter().map(|(licence, names)| format!("\n{licence}\n{names}")).collect();
    Ok(if blocks.is_empty() {
        blocks
    } else {
        format!("{head}, by their licences (SPDX expressions):\n{blocks}\n")
    })
}
