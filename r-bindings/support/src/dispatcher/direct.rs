//! `dispatch()` as R calls it: without the wrapper that all other functions have, which costs as much as the rest.

use std::mem::MaybeUninit;

use super::Dispatcher;
use super::leaves::Leaf;
use crate::entry::direct;
use crate::fault::Result;
use crate::ffi::*;
use crate::handle;
use crate::root::Root;

/// The call of an R function that a dispatcher ends with. `csrc/unwind.c` makes it when no frame of Rust is left that R
/// would have to be kept from jumping over.
#[repr(C)]
pub(super) struct LastCall {
    function: SEXP,
    length: Length,
    leaves: [SEXP; LEAVES],
}

/// With more leaves the function is called from here.
const LEAVES: usize = 32;

/// What stands for the call where a value is given back; no address of R's.
const LAST_CALL: SEXP = std::ptr::without_provenance_mut(2);

/// Room for a call.
pub(super) struct Room<'a>(&'a mut MaybeUninit<LastCall>);

impl Room<'_> {
    /// Leaves the call of a function with these leaves, which the arguments keep, to whoever called; nothing if they are
    /// too many.
    #[inline]
    pub fn leave(self, function: SEXP, leaves: &[Leaf]) -> Option<SEXP> {
        if leaves.len() > LEAVES {
            return None;
        }
        let room = self.0.as_mut_ptr();
        // SAFETY: there is room for as many leaves; the rest is not read.
        unsafe {
            (&raw mut (*room).function).write(function);
            (&raw mut (*room).length).write(leaves.len() as Length);
            let to = (&raw mut (*room).leaves).cast::<SEXP>();
            leaves.iter().enumerate().for_each(|(i, leaf)| to.add(i).write(leaf.value));
        }
        Some(LAST_CALL)
    }
}

/// A call through a dispatcher, for `csrc/unwind.c`.
///
/// # Safety
///
/// R calls it on its thread, and keeps the arguments alive; `last` has room for a call.
#[unsafe(no_mangle)]
unsafe extern "C" fn dispatch_r_dispatch(
    dispatcher: SEXP,
    args: SEXP,
    last: &mut MaybeUninit<LastCall>,
) -> SEXP {
    direct(|| {
        // SAFETY: R keeps the arguments until the call returns.
        let dispatcher: &Dispatcher = unsafe { handle::get(dispatcher, "dispatcher") }?;
        dispatcher.dispatch(args, Room(last))
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
