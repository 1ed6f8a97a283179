//! The structure of nested lists.
//!
//! A list without a class is a node, and so is `NULL`, which has no leaves; everything else is a leaf, also a list with
//! a class and a pairlist. `NULL`, `list()` and an empty list with names are three structures. Names are compared by
//! content, whatever their encoding is. Other attributes of a list, such as `dim`, are no part of its structure.
//!
//! * [`walk`] goes through an R value, and is where all this is decided. It tells a [`Visitor`] what it meets.
//! * [`Tree`] is a structure as a value of Rust: it can be compared, names its leaves by their paths, and can be sent
//!   to other threads.
//! * [`Template`] fills a structure with leaves again and again.
//!
//! Nothing here recurses, so that lists may be nested as deep as memory allows.

mod diff;
mod edit;
mod names;
mod path;
pub mod r;
mod show;
mod template;
mod walk;

use std::fmt;

pub use self::diff::Difference;
pub use self::path::Path;
pub use self::template::Template;
pub(crate) use self::walk::node_kind;
pub use self::walk::{Kept, Visitor, walk};

use self::names::Names;
use crate::fault::{Fault, Result};
use crate::ffi::SEXP;
use crate::handle::{Handle, Kind};

/// The structure of a nested list.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tree {
    /// Each node before its children, which stand in order.
    nodes: Vec<Node>,
    /// The names of the children of each list that has names, in the order of the lists.
    names: Names,
}

/// A leaf, a list or `NULL`. What concerns places follows from the structure, so that comparing all is right.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Node {
    kind: NodeKind,
    /// How many children a list has.
    children: u32,
    /// Where the names of the children begin, if the list has names; else [`NO_NAMES`].
    names: u32,
    /// How many leaves come before.
    leaf: u32,
    /// The first node that is not below this one.
    end: u32,
}

const NO_NAMES: u32 = u32::MAX;

/// What a node is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NodeKind {
    /// A value.
    Leaf,
    /// `NULL`.
    Null,
    /// A list without a class.
    List,
}

impl fmt::Display for NodeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            NodeKind::Leaf => "leaf",
            NodeKind::Null => "null",
            NodeKind::List => "list",
        })
    }
}

impl Handle for Tree {
    fn kind() -> &'static Kind {
        static KIND: Kind = Kind::new("RTree", "pjrtdispatch tree 1");
        &KIND
    }
}

/// The leaves of a value, in order.
#[derive(Debug, Default)]
pub struct Leaves {
    /// The leaves, which the value keeps alive, or what is kept here.
    pub values: Vec<SEXP>,
    /// Has to live as long as the leaves are used.
    pub kept: Kept,
}

impl Tree {
    /// The structure of a value. `argument` is what messages call the value.
    pub fn of(x: SEXP, argument: &str) -> Result<Tree> {
        let mut builder = Builder::default();
        // No leaf is looked at later.
        let _kept = walk(x, argument, &mut builder)?;
        Ok(builder.finish())
    }

    /// The structure of a value, and its leaves.
    pub fn split(x: SEXP, argument: &str) -> Result<(Tree, Leaves)> {
        struct Both(Builder, Vec<SEXP>);
        impl Visitor for Both {
            #[inline]
            fn leaf(&mut self, value: SEXP) {
                self.0.leaf(value);
                self.1.push(value);
            }
            #[inline]
            fn null(&mut self) {
                self.0.null();
            }
            #[inline]
            fn list(&mut self, length: u32, named: bool) {
                self.0.list(length, named);
            }
            #[inline]
            fn name(&mut self, name: &[u8]) {
                self.0.name(name);
            }
            #[inline]
            fn end(&mut self) {
                self.0.end();
            }
        }
        let mut both = Both(Builder::default(), Vec::new());
        let kept = walk(x, argument, &mut both)?;
        Ok((both.0.finish(), Leaves { values: both.1, kept }))
    }

    /// How many leaves there are.
    #[inline]
    pub fn size(&self) -> usize {
        self.leaves_of(0) as usize
    }

    /// What the root is.
    pub fn root_kind(&self) -> NodeKind {
        self.nodes[0].kind
    }

    /// The names of the root's children; nothing if it is no list with names. A child without a name has `""`.
    pub fn child_names(&self) -> Option<impl ExactSizeIterator<Item = &[u8]>> {
        let names = self.nodes[0].name_range()?;
        Some(names.map(|i| self.names.get(i)))
    }

    /// What the root's children are, and how many leaves each has.
    pub fn children(&self) -> impl Iterator<Item = (NodeKind, usize)> {
        self.children_of(0).map(|child| (self.nodes[child].kind, self.leaves_of(child) as usize))
    }

    /// A hash of the structure: the same in every session, and equal for equal trees.
    pub fn hash(&self) -> u64 {
        let mut hash = 0xcbf2_9ce4_8422_2325;
        let mut mix = |word: u64| {
            // splitmix64
            let mut mixed = word.wrapping_add(0x9e37_79b9_7f4a_7c15) ^ hash;
            mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            hash = mixed ^ (mixed >> 31);
        };
        for node in &self.nodes {
            let named = u64::from(node.names != NO_NAMES);
            mix(node.kind as u64 | named << 2 | u64::from(node.children) << 32);
        }
        self.names.words(&mut mix);
        hash
    }

    /// How many leaves are at and below a node.
    fn leaves_of(&self, node: usize) -> u32 {
        let next = self.nodes[node].end as usize;
        let after = self.nodes.get(next).map_or_else(|| self.leaves_before_end(), |node| node.leaf);
        after - self.nodes[node].leaf
    }

    fn leaves_before_end(&self) -> u32 {
        // The last node has no children.
        self.nodes.last().map_or(0, |last| last.leaf + u32::from(last.kind == NodeKind::Leaf))
    }

    /// The children of a node.
    fn children_of(&self, node: usize) -> impl Iterator<Item = usize> {
        let end = self.nodes[node].end as usize;
        let first = (node + 1 < end).then_some(node + 1);
        std::iter::successors(first, move |&child| {
            Some(self.nodes[child].end as usize).filter(|&next| next < end)
        })
    }

    /// The name of a child of a node, if the node has names.
    fn name_of(&self, node: usize, child: usize) -> Option<&[u8]> {
        Some(self.names.get(self.nodes[node].name_range()?.start + child))
    }
}

impl Node {
    fn name_range(&self) -> Option<std::ops::Range<usize>> {
        let first = self.names as usize;
        (self.names != NO_NAMES).then(|| first..first + self.children as usize)
    }
}

/// Makes a tree from what a walk meets.
#[derive(Default)]
struct Builder {
    nodes: Vec<Node>,
    names: Names,
    leaves: u32,
    /// The lists whose end has not come.
    open: Vec<u32>,
}

impl Builder {
    fn finish(self) -> Tree {
        debug_assert!(self.open.is_empty() && !self.nodes.is_empty());
        Tree { nodes: self.nodes, names: self.names }
    }

    #[inline]
    fn node(&mut self, kind: NodeKind) {
        let end = self.nodes.len() as u32 + 1;
        self.nodes.push(Node { kind, children: 0, names: NO_NAMES, leaf: self.leaves, end });
    }

    /// A node of another tree with all that is below it. The caller has seen that there is room.
    fn copy(&mut self, tree: &Tree, node: usize) {
        let from = tree.nodes[node];
        let (start, leaves) = (self.nodes.len() as u32, self.leaves);
        let first = node as u32;
        for node in &tree.nodes[node..from.end as usize] {
            let names = match node.name_range() {
                None => NO_NAMES,
                Some(range) => {
                    let first = self.names.len() as u32;
                    range.for_each(|i| self.names.push(tree.names.get(i)));
                    first
                }
            };
            self.nodes.push(Node {
                names,
                leaf: node.leaf - from.leaf + leaves,
                end: node.end - first + start,
                ..*node
            });
        }
        self.leaves += tree.leaves_of(node);
    }
}

impl Visitor for Builder {
    #[inline]
    fn leaf(&mut self, _: SEXP) {
        self.node(NodeKind::Leaf);
        self.leaves += 1;
    }

    #[inline]
    fn null(&mut self) {
        self.node(NodeKind::Null);
    }

    #[inline]
    fn list(&mut self, length: u32, named: bool) {
        self.open.push(self.nodes.len() as u32);
        self.nodes.reserve(length as usize + 1);
        let names = if named { self.names.len() as u32 } else { NO_NAMES };
        self.nodes.push(Node { kind: NodeKind::List, children: length, names, leaf: self.leaves, end: 0 });
    }

    #[inline]
    fn name(&mut self, name: &[u8]) {
        self.names.push(name);
    }

    #[inline]
    fn end(&mut self) {
        let list = self.open.pop().expect("an open list");
        self.nodes[list as usize].end = self.nodes.len() as u32;
    }
}

/// The error that a structure is larger than trees can be.
#[cold]
fn too_large(argument: &str) -> Fault {
    Fault::argument("value", argument, "a list with fewer than 2^32 - 1 elements and bytes of names", "more")
}
