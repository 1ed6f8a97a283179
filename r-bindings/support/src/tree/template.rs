//! Nested lists from their leaves.

use super::{NodeKind, Tree};
use crate::fault::{Fault, Result};
use crate::ffi::*;
use crate::root::Root;

/// A tree with the names of its lists as objects of R, so that it can be filled with leaves again and again.
#[derive(Debug)]
pub struct Template {
    tree: Tree,
    /// The names of each list that has names, in order; nothing if none has.
    names: Option<Root>,
}

/// A list that is being filled.
struct Frame {
    list: SEXP,
    next: Length,
    length: Length,
}

impl Tree {
    /// The nested list of this structure with these leaves, which the caller keeps alive.
    pub fn unflatten(&self, leaves: &[SEXP]) -> Result<Root> {
        fill(self, self.r_names()?.as_ref(), leaves)
    }

    /// The names of each list that has names, as a list of character vectors.
    fn r_names(&self) -> Result<Option<Root>> {
        let named = || self.nodes.iter().filter_map(|node| node.name_range());
        let count = named().count();
        if count == 0 {
            return Ok(None);
        }
        // SAFETY: the list is protected while what goes into it is made, and has room for it. R keeps the names as
        // they are, since many lists share them.
        Root::make(|| unsafe {
            let all = Rf_protect(Rf_allocVector(VECSXP, count as Length));
            for (list, range) in named().enumerate() {
                let names = Rf_allocVector(STRSXP, range.len() as Length);
                SET_VECTOR_ELT(all, list as Length, names);
                MARK_NOT_MUTABLE(names);
                for (i, name) in range.enumerate() {
                    let name = self.names.get(name);
                    let string = Rf_mkCharLenCE(name.as_ptr().cast(), name.len() as i32, CE_UTF8);
                    SET_STRING_ELT(names, i as Length, string);
                }
            }
            Rf_unprotect(1);
            all
        })
        .map(Some)
    }
}

impl Template {
    /// A template of this structure.
    pub fn new(tree: Tree) -> Result<Template> {
        let names = tree.r_names()?;
        Ok(Template { tree, names })
    }

    /// The structure.
    #[inline]
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// The nested list with these leaves, which the caller keeps alive.
    #[inline]
    pub fn fill(&self, leaves: &[SEXP]) -> Result<Root> {
        fill(&self.tree, self.names.as_ref(), leaves)
    }
}

fn fill(tree: &Tree, names: Option<&Root>, leaves: &[SEXP]) -> Result<Root> {
    if leaves.len() != tree.size() {
        let message = format!("a tree of {} leaves was given {}", tree.size(), leaves.len());
        return Err(Fault::new("internal", message));
    }
    let names = names.map_or_else(nil, Root::get);
    let mut stack: Vec<Frame> = Vec::new();
    let stack = &raw mut stack;
    // SAFETY: the stack lives during the call and is used by it only. The outermost list is protected; others are part
    // of their parent before anything else is made.
    Root::make(|| unsafe {
        let stack = &mut *stack;
        let (mut leaves, mut named) = (leaves.iter(), 0);
        let mut result = None;
        for node in &tree.nodes {
            let value = match node.kind {
                NodeKind::Leaf => *leaves.next().expect("as many leaves"),
                NodeKind::Null => nil(),
                NodeKind::List => Rf_allocVector(VECSXP, node.children as Length),
            };
            match stack.last_mut() {
                None => result = Some(Rf_protect(value)),
                Some(parent) => {
                    SET_VECTOR_ELT(parent.list, parent.next, value);
                    parent.next += 1;
                }
            }
            if node.kind == NodeKind::List {
                if node.name_range().is_some() {
                    Rf_setAttrib(value, R_NamesSymbol, VECTOR_ELT(names, named));
                    named += 1;
                }
                stack.push(Frame { list: value, next: 0, length: node.children as Length });
            }
            while stack.last().is_some_and(|list| list.next == list.length) {
                stack.pop();
            }
        }
        Rf_unprotect(1);
        result.expect("a root")
    })
}
