//! What a handler can ask of its execution.

mod ids;
mod pool;
mod state;
mod stream;
mod user_data;

use std::marker::PhantomData;

pub use ids::{DeviceOrdinal, RunId};
pub(super) use pool::text_of;
pub use pool::{Scope, ThreadPool};
pub use state::{State, leave};
pub use stream::{Scratch, Stream};
pub use user_data::{ExecutionData, UserData};

use super::api::{self, Api};
use super::{Call, Error, Result};

/// A type of `#[ctx]` parameter.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no value of the context of a handler",
    note = "parameters with `#[ctx]` are the types of `dispatch_runtime::ffi` for it: `ThreadPool`, `DeviceOrdinal`, `RunId`, `UserData<'_, T>`, `State<'_, T>`, `Stream`, `Scratch`"
)]
pub trait FromCall<'a>: sealed::Sealed + Sized {
    /// The value in this call.
    #[doc(hidden)]
    fn from_call(call: &Call<'a>) -> Result<Self>;
}

mod sealed {
    /// The types of this module: a call can give away a result more than once, which they do not.
    pub trait Sealed {}
}

#[cfg(test)]
pub(super) use sealed::Sealed;

macro_rules! sealed {
    ($($kind:ty)*) => { $(impl sealed::Sealed for $kind {})* };
}

sealed! { DeviceOrdinal RunId ThreadPool<'_> Stream<'_> Scratch<'_> }
impl<T> sealed::Sealed for State<'_, T> {}
impl<T> sealed::Sealed for UserData<'_, T> {}
impl<T> sealed::Sealed for Option<UserData<'_, T>> {}

/// What the functions of the plugin are asked with, for the time of a call.
#[derive(Clone, Copy)]
pub(super) struct Cx<'a> {
    pub api: Api,
    pub ctx: api::Context,
    pub call: PhantomData<&'a ()>,
}

impl<'a> Cx<'a> {
    #[inline]
    pub fn of(call: &Call<'a>) -> Result<Cx<'a>> {
        // SAFETY: the table is the plugin's, which lives as long as the process.
        match unsafe { Api::new(call.api()) } {
            Some(api) if !call.ctx().is_null() => Ok(Cx { api, ctx: call.ctx(), call: PhantomData }),
            _ => Err(Error::internal("the call frame has no execution to ask for this")),
        }
    }
}
