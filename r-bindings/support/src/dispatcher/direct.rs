//! `dispatch()` as R calls it: without the wrapper that all other functions have, which costs as much as the rest.

use super::Dispatcher;
use crate::entry::direct;
use crate::fault::Result;
use crate::ffi::*;
use crate::handle;
use crate::root::Root;

/// A call through a dispatcher, for `csrc/unwind.c`.
///
/// # Safety
///
/// R calls it on its thread, and keeps the arguments alive.
#[unsafe(no_mangle)]
unsafe extern "C" fn dispatch_r_dispatch(dispatcher: SEXP, args: SEXP) -> SEXP {
    direct(|| {
        // SAFETY: R keeps the arguments until the call returns.
        let dispatcher: &Dispatcher = unsafe { handle::get(dispatcher, "dispatcher") }?;
        dispatcher.dispatch(args)
    })
}

/// The function as R's `.Call()` takes it.
pub fn native_symbol() -> Result<SEXP> {
    // SAFETY: the symbol is one that R keeps, and the function lives as long as the process.
    let symbol = Root::make(|| unsafe {
        R_MakeExternalPtrFn(dispatch_r_dispatch_call, Rf_install(c"native symbol".as_ptr()), R_NilValue)
    })?;
    Ok(symbol.release())
}
