//! Which graph a value belongs to.

use std::cell::{Cell, RefCell};

use super::poison::Reason;
use super::value::Value;

/// One graph of this thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct ScopeId(u64);

thread_local! {
    static NEXT: Cell<u64> = const { Cell::new(0) };
    static LIVE: RefCell<Vec<ScopeId>> = const { RefCell::new(Vec::new()) };
}

/// Keeps a scope alive.
pub(super) struct Scope(ScopeId);

impl Scope {
    pub fn new() -> Scope {
        let id = ScopeId(NEXT.replace(NEXT.get() + 1));
        LIVE.with_borrow_mut(|live| live.push(id));
        Scope(id)
    }

    pub fn id(&self) -> ScopeId {
        self.0
    }
}

impl Drop for Scope {
    fn drop(&mut self) {
        // A graph in a thread-local value may outlive the list.
        let _ = LIVE.try_with(|live| live.borrow_mut().retain(|id| *id != self.0));
    }
}

impl ScopeId {
    /// That of the slots of skeletons, which belong to no graph before a skeleton is made.
    pub const SLOTS: ScopeId = ScopeId(u64::MAX);

    pub fn is_live(self) -> bool {
        self == ScopeId::SLOTS || LIVE.with_borrow(|live| live.contains(&self))
    }
}

/// The one graph that values belong to, if they belong to any.
pub(super) fn common<'a>(values: impl IntoIterator<Item = &'a Value>) -> Result<Option<ScopeId>, Reason> {
    let mut found: Option<(&Value, ScopeId)> = None;
    for value in values {
        let Some(scope) = value.node.scope else { continue };
        match found {
            None => found = Some((value, scope)),
            Some((other, first)) if first != scope => {
                if first == ScopeId::SLOTS || scope == ScopeId::SLOTS {
                    let (slots, other) =
                        if first == ScopeId::SLOTS { (other, value) } else { (value, other) };
                    return Err(format!(
                        "`{slots:?}` is made of slots for a skeleton, `{other:?}` of the inputs of a graph"
                    ));
                }
                let gone = match (first.is_live(), scope.is_live()) {
                    (false, _) => format!("; the graph of `{other:?}` has ended"),
                    (_, false) => format!("; the graph of `{value:?}` has ended"),
                    _ => String::new(),
                };
                return Err(format!("`{other:?}` and `{value:?}` are values of two graphs{gone}"));
            }
            Some(_) => {}
        }
    }
    Ok(found.map(|(_, scope)| scope))
}
