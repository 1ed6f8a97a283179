//! What a handler can ask of its execution.

use super::{Call, Result};

/// A type of `#[ctx]` parameter.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no value of the context of a handler",
    note = "parameters with `#[ctx]` are the types of `dispatch_runtime::ffi` for it: `ThreadPool`, `DeviceOrdinal`, `RunId`, `UserData<'_, T>`, `State<'_, T>`, `Stream`, `Scratch`"
)]
pub trait FromCall<'a>: Sized {
    /// Whether it reads data of the execution, so that there must be an execute context.
    #[doc(hidden)]
    const USER_DATA: bool = false;

    /// The value in this call.
    #[doc(hidden)]
    fn from_call(call: &Call<'a>) -> Result<Self>;
}
