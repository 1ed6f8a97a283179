//! Closures as handlers.

use std::ffi::c_void;

use super::{Entry, RawClosure};
use crate::ffi::abi::{XLA_FFI_CallFrame, XLA_FFI_Error};
use crate::ffi::entry::enter;
use crate::ffi::spec::{Spec, Stage, Stages};
use crate::ffi::{Call, Dictionary, RemainingArgs, RemainingRets, Result};
use crate::signature::Scope;

/// A closure of any signature.
type Any = dyn Fn(RemainingArgs<'_>, RemainingRets<'_>, Dictionary<'_>) -> Result<()> + Send + Sync;

/// What is known of a closure's signature: nothing.
static SPEC: Spec = Spec {
    name: "closure",
    target: "closure",
    stage: Stage::Execute,
    scope: Scope { owner: "closure", fields: &[], names: &[], sources: &[] },
    params: &[],
    args: 0,
    rest_args: Some("args"),
    rest_rets: Some("rets"),
    attrs: &[],
    open_attrs: true,
    command_buffer: false,
    stages: Stages::NONE,
};

/// The closure as the registry takes it, and ends it.
pub(super) fn entry(
    f: impl Fn(RemainingArgs<'_>, RemainingRets<'_>, Dictionary<'_>) -> Result<()> + Send + Sync + 'static,
) -> Entry {
    let f: Box<Any> = Box::new(f);
    let data = Box::into_raw(Box::new(f)).cast();
    Entry::Closure(RawClosure { call, data, release: Some(release) })
}

/// # Safety
///
/// The data are those of `entry` and live during the call; the frame is one of a plugin.
unsafe extern "C" fn call(data: *mut c_void, frame: *mut XLA_FFI_CallFrame) -> *mut XLA_FFI_Error {
    // SAFETY: by the caller's promise.
    unsafe {
        let f = &*data.cast::<Box<Any>>();
        enter(frame, &SPEC, &|call| run(&**f, call))
    }
}

fn run(f: &Any, call: &Call<'_>) -> Result<()> {
    let decode = || Some((call.rest_args(0)?, call.rest_rets(0)?));
    match call.separate().then(decode).flatten() {
        Some((args, rets)) => f(args, rets, call.dictionary()),
        None => call.refuse_for(&|call| run(f, call)),
    }
}

/// # Safety
///
/// The data are those of `entry` and not used again.
unsafe extern "C" fn release(data: *mut c_void) {
    // SAFETY: by the caller's promise.
    let f = unsafe { Box::from_raw(data.cast::<Box<Any>>()) };
    let dropped = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(f)));
    if let Err(panic) = dropped {
        // It may panic again, and this function must not.
        std::mem::forget(panic);
    }
}
