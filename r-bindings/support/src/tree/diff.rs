//! What is different between two trees.

use std::collections::HashMap;
use std::fmt;

use super::path::{Path, symbol};
use super::{Node, NodeKind, Tree};

/// How many names a difference tells at most.
const MOST_NAMES: usize = 8;

/// One place where two trees are different.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Difference {
    /// The place in the first tree.
    pub path: Path,
    /// What is different, in the words of the names that were given for the two trees.
    pub what: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.path.is_empty() {
            true => write!(f, "at the top: {}", self.what),
            false => write!(f, "at `{}`: {}", self.path, self.what),
        }
    }
}

impl Tree {
    /// The places where this tree and another are different, at most as many as asked for; none exactly if they are
    /// equal. Messages call the trees by these names.
    pub fn diff(&self, other: &Tree, names: [&str; 2], most: usize) -> Vec<Difference> {
        let mut differences = Vec::new();
        if self == other {
            return differences;
        }
        let (a, b) = (self, other);
        let mut pairs = vec![(0, 0)];
        while let Some((i, j)) = pairs.pop() {
            if differences.len() >= most {
                break;
            }
            let (x, y) = (&a.nodes[i], &b.nodes[j]);
            let mut found = |what: String| differences.push(Difference { path: a.path_of(i), what });
            if x.kind != y.kind || (x.children == 0) != (y.children == 0) {
                found(contrast(describe(x), describe(y), names));
                continue;
            }
            let from = pairs.len();
            match compare_names(a, i, b, j, names) {
                Matched::ByPosition(what) => {
                    what.into_iter().for_each(&mut found);
                    pairs.extend(a.children_of(i).zip(b.children_of(j)));
                }
                Matched::ByName(what, children) => {
                    found(what);
                    let nodes: Vec<usize> = b.children_of(j).collect();
                    let common = a.children_of(i).zip(children);
                    pairs.extend(common.filter_map(|(child, other)| Some((child, nodes[other?]))));
                }
            }
            // The last one is looked at next.
            pairs[from..].reverse();
        }
        differences
    }
}

/// How the children of two lists belong together, and what is different between the lists.
enum Matched {
    ByPosition(Option<String>),
    /// For each child of the first list the one of the second.
    ByName(String, Vec<Option<usize>>),
}

fn compare_names(a: &Tree, i: usize, b: &Tree, j: usize, names: [&str; 2]) -> Matched {
    let (x, y) = (&a.nodes[i], &b.nodes[j]);
    let (Some(in_a), Some(in_b)) = (list_names(a, x), list_names(b, y)) else {
        let differ = x.children != y.children || x.name_range().is_some() != y.name_range().is_some();
        return Matched::ByPosition(differ.then(|| contrast(describe(x), describe(y), names)));
    };
    if in_a == in_b {
        return Matched::ByPosition(None);
    }
    let (Some(at_a), Some(at_b)) = (positions(&in_a), positions(&in_b)) else {
        // A name that is missing or there twice tells nothing of which child is which.
        let what = match in_a.iter().zip(&in_b).position(|(a, b)| a != b) {
            Some(k) => contrast(format!("element {} is {}", k + 1, called(in_a[k])), called(in_b[k]), names),
            None => contrast(describe(x), describe(y), names),
        };
        return Matched::ByPosition(Some(what));
    };
    let only_a = only(&in_a, &at_b).map(|those| format!("only `{}` has {those}", names[0]));
    let only_b = only(&in_b, &at_a).map(|those| format!("only `{}` has {those}", names[1]));
    let what = match (only_a, only_b) {
        (Some(a), Some(b)) => format!("{a}, {b}"),
        (Some(one), None) | (None, Some(one)) => one,
        (None, None) => contrast(format!("the order {}", listed(&in_a)), listed(&in_b), names),
    };
    Matched::ByName(what, in_a.iter().map(|name| at_b.get(name).copied()).collect())
}

fn list_names<'a>(tree: &'a Tree, node: &Node) -> Option<Vec<&'a [u8]>> {
    Some(node.name_range()?.map(|i| tree.names.get(i)).collect())
}

/// Where each name is; nothing if one is empty or there twice.
fn positions<'a>(names: &[&'a [u8]]) -> Option<HashMap<&'a [u8], usize>> {
    let mut at = HashMap::with_capacity(names.len());
    names.iter().enumerate().all(|(i, &name)| !name.is_empty() && at.insert(name, i).is_none()).then_some(at)
}

fn only(names: &[&[u8]], others: &HashMap<&[u8], usize>) -> Option<String> {
    let those: Vec<&[u8]> = names.iter().copied().filter(|name| !others.contains_key(name)).collect();
    (!those.is_empty()).then(|| listed(&those))
}

fn listed(names: &[&[u8]]) -> String {
    let mut out = String::new();
    for (i, name) in names.iter().take(MOST_NAMES).enumerate() {
        if i > 0 {
            out.push_str(", ");
        }
        symbol(&mut out, name);
    }
    if names.len() > MOST_NAMES {
        out.push_str(&format!(" and {} more", names.len() - MOST_NAMES));
    }
    out
}

fn called(name: &[u8]) -> String {
    if name.is_empty() {
        return "without a name".into();
    }
    let mut out = String::from("called ");
    symbol(&mut out, name);
    out
}

fn contrast(a: impl fmt::Display, b: impl fmt::Display, [name_a, name_b]: [&str; 2]) -> String {
    format!("{a} in `{name_a}` but {b} in `{name_b}`")
}

/// A node in words.
fn describe(node: &Node) -> String {
    match node.kind {
        NodeKind::Leaf => "a leaf".into(),
        NodeKind::Null => "NULL".into(),
        NodeKind::List => {
            let named = if node.name_range().is_some() { "with names" } else { "without names" };
            match node.children {
                0 => format!("an empty list {named}"),
                n => format!("a list of {n} {named}"),
            }
        }
    }
}
