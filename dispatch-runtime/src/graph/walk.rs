//! Walks through a graph that visit each node once, without a table: a node remembers the last walk.

use std::cell::Cell;

use super::value::{Mark, Node};

thread_local! {
    static LAST: Cell<u64> = const { Cell::new(0) };
}

/// The number of a new walk. A thread has one walk at a time.
pub(super) fn next() -> u64 {
    LAST.set(LAST.get() + 1);
    LAST.get()
}

/// Whether this walk comes by for the first time.
pub(super) fn visit(node: &Node, walk: u64) -> bool {
    let first = node.mark.get().walk != walk;
    node.mark.set(Mark { walk, id: 0 });
    first
}
