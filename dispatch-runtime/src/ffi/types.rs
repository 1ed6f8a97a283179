//! The types that plugins know of us.
//!
//! XLA tells states and user data apart by types, which are registered with each plugin. Two are enough: the values behind
//! them are `dyn Any`, so Rust tells the rest, and a plugin never sees a generic function.

use std::any::Any;
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Mutex, PoisonError};

use super::api::{Api, Status};

/// What a stage leaves for later ones: a thin pointer to it is a state of XLA.
pub(crate) type AnyState = Box<dyn Any + Send + Sync>;

/// The numbers of our types at one plugin.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Types {
    /// Of states, pointers of `Box<AnyState>`.
    pub state: i64,
    /// Of user data, pointers to [`ExecutionData`](super::ExecutionData) that others own.
    pub user_data: i64,
}

/// One plugin's; a list that only grows, so that readers need no lock.
struct Node {
    api: Api,
    types: Types,
    next: *const Node,
}

static FIRST: AtomicPtr<Node> = AtomicPtr::new(null_mut());

/// The types at this plugin, which is told of them at the first need.
#[inline]
pub(crate) fn of(api: Api) -> Result<Types, Status> {
    match known(api) {
        Some(types) => Ok(types),
        None => register(api),
    }
}

#[inline]
fn known(api: Api) -> Option<Types> {
    let mut next: *const Node = FIRST.load(Ordering::Acquire);
    // SAFETY: nodes are never freed, and do not change once they are in the list.
    while let Some(node) = unsafe { next.as_ref() } {
        if node.api == api {
            return Some(node.types);
        }
        next = node.next;
    }
    None
}

#[cold]
fn register(api: Api) -> Result<Types, Status> {
    static ONE_BY_ONE: Mutex<()> = Mutex::new(());
    let _guard = ONE_BY_ONE.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(types) = known(api) {
        return Ok(types);
    }
    // Another copy of this crate in the process has types of its own.
    let copy = (&raw const FIRST).addr();
    let types = Types {
        state: api.register_type(&format!("dispatch_runtime.state.{copy:x}"), Some(delete_state))?,
        user_data: api.register_type(&format!("dispatch_runtime.user_data.{copy:x}"), Some(keep))?,
    };
    let node = Box::leak(Box::new(Node { api, types, next: FIRST.load(Ordering::Relaxed) }));
    FIRST.store(node, Ordering::Release);
    Ok(types)
}

/// Ends a state.
///
/// # Safety
///
/// `state` is that of [`Box::into_raw`] of a `Box<AnyState>`, and not used again.
pub(crate) unsafe extern "C" fn delete_state(state: *mut c_void) {
    // SAFETY: by the caller's promise.
    let state = unsafe { Box::from_raw(state.cast::<AnyState>()) };
    // Nobody is there who could be told of a panic, and none may reach the plugin.
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| drop(state))) {
        std::mem::forget(panic);
    }
}

/// User data are not XLA's to end.
unsafe extern "C" fn keep(_: *mut c_void) {}
