//! What `Cargo.toml` says: the crate's root, and the features that are on unless said otherwise.

use std::collections::BTreeSet;
use std::ops::Range;
use std::path::{Path, PathBuf};

use toml::de::{DeTable, DeValue};
use toml::{Spanned, Table, Value};

use super::messages;
use super::report::Mistakes;

/// Where the manifest is, relative to the package's folder.
pub(crate) const MANIFEST: &str = "src/rust/Cargo.toml";

/// What the generator asks of a manifest.
#[derive(Debug)]
pub(crate) struct Manifest {
    /// The crate's root, relative to the package's folder.
    pub(crate) root: PathBuf,
    /// The default features, with all that they turn on.
    pub(crate) features: BTreeSet<String>,
}

/// Reads the text of a manifest; none after a mistake.
pub(crate) fn read(text: &str, mistakes: &mut Mistakes) -> Option<Manifest> {
    let table = match text.parse::<Table>() {
        Ok(table) => table,
        Err(error) => {
            at(text, error.span().unwrap_or(0..1), error.message().trim(), mistakes);
            return None;
        }
    };
    linked(text, mistakes);
    let lib = table.get("lib").and_then(|lib| lib.get("path")).and_then(Value::as_str);
    let root = Path::new(MANIFEST).with_file_name(lib.unwrap_or("src/lib.rs"));
    Some(Manifest { root, features: default_features(&table) })
}

/// A mistake at some bytes of the text.
fn at(text: &str, span: Range<usize>, message: impl ToString, mistakes: &mut Mistakes) {
    let at = span.start.min(text.len());
    let line_begins = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
    let (line, column) = (1 + text[..at].matches('\n').count(), 1 + text[line_begins..at].chars().count());
    let shown = text[line_begins..].lines().next().unwrap_or_default();
    let width = span.len().min(shown.chars().count().saturating_sub(column - 1));
    mistakes.push(Path::new(MANIFEST), (line, column), width, shown, &message.to_string());
}

/// What R links is a static library with the crate's name, in which a panic is an error: `name = "other"` and
/// `crate-type = ["cdylib"]` in `[lib]` and `panic = "abort"` in a profile are wrong.
fn linked(text: &str, mistakes: &mut Mistakes) {
    let Ok(table) = DeTable::parse(text) else { return };
    let table = table.get_ref();
    let inside = |value: &'_ Spanned<DeValue<'_>>, key: &str| {
        let value = value.get_ref().as_table()?.get(key)?;
        Some((value.get_ref().as_str().unwrap_or_default().to_owned(), value.span()))
    };
    let package = table.get("package").and_then(|package| inside(package, "name"));
    let lib = table.get("lib").and_then(|lib| inside(lib, "name"));
    if let (Some((package, _)), Some((lib, span))) = (package, lib) {
        let usual = package.replace('-', "_");
        if lib != usual {
            at(text, span, messages::library_renamed(lib, usual), mistakes);
        }
    }
    let kinds = table.get("lib").and_then(|lib| lib.get_ref().as_table()?.get("crate-type"));
    if let Some(kinds) = kinds {
        let all = kinds.get_ref().as_array();
        let is_static = |kind: &Spanned<DeValue<'_>>| kind.get_ref().as_str() == Some("staticlib");
        if !all.is_some_and(|all| all.iter().any(is_static)) {
            at(text, kinds.span(), messages::no_static_library(), mistakes);
        }
    }
    for (_, profile) in table.get("profile").and_then(|all| all.get_ref().as_table()).into_iter().flatten() {
        if let Some((panic, span)) = inside(profile, "panic").filter(|(panic, _)| panic != "unwind") {
            at(text, span, messages::panic_ends_r(panic), mistakes);
        }
    }
}

fn default_features(table: &Table) -> BTreeSet<String> {
    let all = table.get("features").and_then(Value::as_table);
    let (mut on, mut queue) = (BTreeSet::new(), vec!["default".to_owned()]);
    while let Some(feature) = queue.pop() {
        let turns_on = all.and_then(|all| all.get(&feature)).and_then(Value::as_array);
        if on.insert(feature) {
            let names = turns_on.into_iter().flatten().filter_map(Value::as_str);
            // `dep:x` and `x?/y` turn on no feature of this crate.
            queue.extend(names.filter(|name| !name.contains([':', '/'])).map(str::to_owned));
        }
    }
    on
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn default_features_turn_on_others() {
        let text = "[lib]\npath = \"src/root.rs\"\n[features]\ndefault = [\"a\"]\na = [\"b\", \"dep:x\", \"y?/z\"]\nb = [\"a\"]\nc = []\n";
        let manifest = read(text, &mut Mistakes::default()).unwrap();
        assert_eq!(manifest.root, Path::new("src/rust/src/root.rs"));
        assert_eq!(manifest.features, BTreeSet::from(["default", "a", "b"].map(str::to_owned)));
    }
}
