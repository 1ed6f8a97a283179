//! What an earlier stage has left.

use std::any::{Any, type_name};
use std::fmt;
use std::ops::Deref;

use super::{Cx, FromCall};
use crate::ffi::abi::stage;
use crate::ffi::types::{self, AnyState};
use crate::ffi::{Call, Error, Result};

/// What the handler's `instantiate` stage has made, once for each call in a program: a plan, a lookup table, a lock.
///
/// A parameter `#[ctx] plan: ffi::State<Plan>`, which derefs to the value. XLA owns the value, and it is dropped with the
/// compiled program. Executions of one program share it, at the same time too.
pub struct State<'a, T>(&'a T);

impl<'a, T> State<'a, T> {
    /// The value, for as long as the call.
    pub fn get(&self) -> &'a T {
        self.0
    }
}

impl<T> Clone for State<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for State<'_, T> {}

impl<T> Deref for State<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        self.0
    }
}

impl<T: fmt::Debug> fmt::Debug for State<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<'a, T: Any + Send + Sync> FromCall<'a> for State<'a, T> {
    fn from_call(call: &Call<'a>) -> Result<State<'a, T>> {
        let cx = Cx::of(call)?;
        let id = types::of(cx.api)?.state;
        // SAFETY: the call lasts.
        let state = unsafe { cx.api.state(cx.ctx, stage::INSTANTIATE, id) }?;
        // SAFETY: a state of this type is such a box, which XLA keeps for longer than the call, and nobody changes.
        let Some(state) = (unsafe { state.cast::<AnyState>().as_ref() }) else {
            return Err(missing::<T>());
        };
        let state: &'a (dyn Any + Send + Sync) = &**state;
        state.downcast_ref().map(State).ok_or_else(|| {
            Error::internal(format!(
                "the instantiate stage left no `{}` but something else",
                type_name::<T>()
            ))
        })
    }
}

#[cold]
fn missing<T>() -> Error {
    Error::failed_precondition(format!("no instantiate stage has left a `{}`", type_name::<T>()))
}

/// Leaves what a stage has made for later ones; XLA owns it from here on.
pub fn leave<T: Any + Send + Sync>(call: &Call<'_>, value: T) -> Result<()> {
    let cx = Cx::of(call)?;
    let id = types::of(cx.api)?.state;
    let state: AnyState = Box::new(value);
    let state = Box::into_raw(Box::new(state));
    // SAFETY: the call lasts; the state is a box, as the deleter wants it.
    let left = unsafe { cx.api.set_state(cx.ctx, call.stage(), id, state.cast(), types::delete_state) };
    if left.is_err() {
        // SAFETY: XLA did not take it.
        drop(unsafe { Box::from_raw(state) });
    }
    Ok(left?)
}
