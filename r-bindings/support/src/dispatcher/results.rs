//! The R objects of results: `AnvlArray`s, alone or in lists.

use dispatch_runtime::Array;
use dispatch_runtime::engine::RawBuffer;

use super::entry::Program;
use crate::anvl::{FIELDS, fill};
use crate::buffer;
use crate::fault::Result;
use crate::ffi::*;
use crate::root::Root;
use crate::unwind::protect;

/// The R objects of the results, made before the program runs, so that nothing can fail after it.
pub(super) struct Results {
    value: SEXP,
    /// Keeps the value.
    _kept: Kept,
    /// The buffers, without address. One, or a list of arrays that keeps them.
    buffers: SEXP,
    list: Option<Root>,
}

/// What keeps the results alive while they are made.
enum Kept {
    /// They are the last object on R's stack of protected ones.
    Stack,
    /// They are an object elsewhere.
    Apart { _root: Root },
}

impl Drop for Kept {
    #[inline(always)]
    fn drop(&mut self) {
        if let Kept::Stack = self {
            // SAFETY: the value was protected when it was made, and nothing that was protected since is left.
            unsafe { Rf_unprotect(1) };
        }
    }
}

impl Results {
    #[inline]
    pub fn make(program: &Program, (symbol, classes): (SEXP, SEXP)) -> Result<Results> {
        if let (None, &[template]) = (&program.structure, &*program.templates) {
            // SAFETY: the array stays protected.
            let (value, buffers) = protect(|| unsafe {
                let value = Rf_protect(Rf_allocVector(VECSXP, FIELDS.len() as Length));
                (value, fill(value, template, symbol, classes))
            })?;
            return Ok(Results { value, _kept: Kept::Stack, buffers, list: None });
        }
        let templates = &*program.templates;
        // SAFETY: the list is protected; what it gets it has room for.
        let list = Root::make(|| unsafe {
            let list = Rf_protect(Rf_allocVector(VECSXP, templates.len() as Length));
            for (i, &template) in templates.iter().enumerate() {
                let value = Rf_allocVector(VECSXP, FIELDS.len() as Length);
                SET_VECTOR_ELT(list, i as Length, value);
                fill(value, template, symbol, classes);
            }
            Rf_unprotect(1);
            list
        })?;
        // SAFETY: the list has as many elements.
        let arrays: Vec<SEXP> =
            (0..templates.len() as Length).map(|i| unsafe { VECTOR_ELT(list.get(), i) }).collect();
        let structure = program.structure.as_ref().expect("the structure of other than one result");
        let value = structure.fill(&arrays)?;
        Ok(Results {
            value: value.get(),
            _kept: Kept::Apart { _root: value },
            buffers: list.get(),
            list: Some(list),
        })
    }

    /// Gives the R objects what the program gave.
    #[inline]
    pub fn finish(self, program: &Program, results: &mut [Option<RawBuffer>]) -> Result<SEXP> {
        let device = program.device;
        for (i, (result, aval)) in results.iter_mut().zip(program.outputs()).enumerate() {
            let raw = result.take().expect("an engine that reports success fills every result");
            // SAFETY: a new buffer that is ours, of the dtype and shape that the engine promises for it.
            let array =
                unsafe { Array::from_raw(device.client(), raw, device.index(), aval.dtype(), aval.shape()) };
            let buffer = match self.list {
                None => self.buffers,
                // SAFETY: the list has the element, which is a list with a buffer.
                Some(_) => unsafe { VECTOR_ELT(VECTOR_ELT(self.buffers, i as Length), 0) },
            };
            // SAFETY: the buffer was made above, and has no address yet.
            unsafe { buffer::complete(buffer, array) };
        }
        Ok(self.value)
    }
}
