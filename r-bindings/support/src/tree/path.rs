//! Where in a nested list something is, as R code: `b$w[[2]]`.

use std::collections::HashSet;
use std::fmt;

use super::{NodeKind, Tree};

/// A path, as the code that takes what is there from the list: `b$w[[2]]`, for short without the list itself.
///
/// A child is named where `$` finds it, so a child without a name, or with that of an earlier one, is given by its
/// position.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Path(String);

/// What stands for the first children.
const FIRST: [&str; 8] = ["[[1]]", "[[2]]", "[[3]]", "[[4]]", "[[5]]", "[[6]]", "[[7]]", "[[8]]"];

impl Path {
    /// The path of a value with this name, empty for none.
    pub fn new(root: &str) -> Path {
        Path(root.to_owned())
    }

    /// Goes on to a child. `name` gives the names of the children, if they have any.
    pub fn step<T: AsRef<[u8]>>(&mut self, child: usize, name: impl Fn(usize) -> Option<T>) {
        let text = name(child).filter(|text| {
            !text.as_ref().is_empty()
                && (0..child).all(|i| name(i).is_none_or(|other| other.as_ref() != text.as_ref()))
        });
        self.append(child, text.as_ref().map(AsRef::as_ref));
    }

    /// [`Path::step`] to a child whose name is given if `$` finds it by that.
    fn append(&mut self, child: usize, name: Option<&[u8]>) {
        match name {
            Some(name) => {
                if !self.0.is_empty() {
                    self.0.push('$');
                }
                symbol(&mut self.0, name);
            }
            // Without the formatter, which takes longer than the rest.
            None => match FIRST.get(child) {
                Some(text) => self.0.push_str(text),
                None => self.0.push_str(&format!("[[{}]]", child + 1)),
            },
        }
    }

    /// Whether this is the root itself, if that has no name.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The text.
    pub fn into_string(self) -> String {
        self.0
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Tree {
    /// The path of a leaf, empty if the whole tree is a leaf.
    ///
    /// # Panics
    ///
    /// If there are not as many leaves.
    pub fn path(&self, leaf: usize) -> Path {
        assert!(leaf < self.size(), "leaf {leaf} of a tree of {}", self.size());
        // Lists and NULLs that come before the leaf count as many leaves before them as it does.
        let after = self.nodes.partition_point(|node| node.leaf as usize <= leaf);
        let node = (0..after).rev().find(|&i| self.nodes[i].kind == NodeKind::Leaf).expect("a leaf");
        self.path_of(node)
    }

    /// The paths of all leaves, in order: a walk through the tree, where [`Tree::path`] looks for one of them.
    pub fn paths(&self) -> Vec<Path> {
        /// A list that the walk is in.
        struct Open<'a> {
            node: usize,
            next_child: usize,
            /// How long its own path is.
            path: usize,
            names: HashSet<&'a [u8]>,
        }
        let mut paths = Vec::with_capacity(self.size());
        let (mut open, mut path) = (Vec::<Open<'_>>::new(), Path::default());
        for (i, node) in self.nodes.iter().enumerate() {
            while open.last().is_some_and(|list| self.nodes[list.node].end as usize <= i) {
                open.pop();
            }
            if let Some(list) = open.last_mut() {
                let child = list.next_child;
                list.next_child += 1;
                path.0.truncate(list.path);
                let name = self.name_of(list.node, child).filter(|name| !name.is_empty());
                path.append(child, name.filter(|&name| list.names.insert(name)));
            }
            match node.kind {
                NodeKind::Leaf => paths.push(path.clone()),
                NodeKind::Null => {}
                NodeKind::List => {
                    open.push(Open { node: i, next_child: 0, path: path.0.len(), names: HashSet::new() });
                }
            }
        }
        paths
    }

    /// The path of a node.
    pub(super) fn path_of(&self, node: usize) -> Path {
        let mut path = Path::default();
        let mut at = 0;
        while at != node {
            let below = self.children_of(at).enumerate().find(|&(_, c)| node < self.nodes[c].end as usize);
            let (child, next) = below.expect("the node is below");
            path.step(child, |i| self.name_of(at, i));
            at = next;
        }
        path
    }
}

/// Writes a name as R code writes a symbol: in backticks where it has to.
pub(super) fn symbol(out: &mut String, name: &[u8]) {
    match std::str::from_utf8(name) {
        Ok(text) if is_syntactic(text) => out.push_str(text),
        _ => {
            out.push('`');
            for chunk in name.utf8_chunks() {
                chunk.valid().chars().for_each(|c| escaped(out, c));
                chunk.invalid().iter().for_each(|byte| out.push_str(&format!("\\x{byte:02x}")));
            }
            out.push('`');
        }
    }
}

fn escaped(out: &mut String, c: char) {
    match c {
        '`' | '\\' => out.extend(['\\', c]),
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        c if c.is_ascii_control() => out.push_str(&format!("\\x{:02x}", c as u32)),
        c if c.is_control() => out.push_str(&format!("\\u{{{:x}}}", c as u32)),
        c => out.push(c),
    }
}

/// Whether R reads the text as a name.
fn is_syntactic(text: &str) -> bool {
    const RESERVED: [&str; 20] = [
        "if",
        "else",
        "repeat",
        "while",
        "function",
        "for",
        "next",
        "break",
        "TRUE",
        "FALSE",
        "NULL",
        "Inf",
        "NaN",
        "NA",
        "NA_integer_",
        "NA_real_",
        "NA_character_",
        "NA_complex_",
        "in",
        "...",
    ];
    let mut rest = text.chars();
    let starts = match rest.next() {
        Some('.') => !rest.clone().next().is_some_and(|c| c.is_numeric()),
        Some(c) => c.is_alphabetic(),
        None => false,
    };
    starts
        && rest.all(|c| c.is_alphanumeric() || c == '.' || c == '_')
        && !RESERVED.contains(&text)
        && !is_dots(text)
}

/// `..1` and the like.
fn is_dots(text: &str) -> bool {
    text.strip_prefix("..").is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
}
