//! The R objects of a dispatcher and of its entries.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use crate::fault::Result;
use crate::ffi::*;
use crate::root::Root;

/// A list of R that the handle of a dispatcher refers to: its own objects, and in the last place a list with what each
/// entry keeps.
///
/// Roots would keep what the dispatcher refers to for ever if that refers to the dispatcher, as a callback does whose
/// environment has it.
#[derive(Clone)]
pub(super) struct Held(Rc<Inner>);

struct Inner {
    list: SEXP,
    entries: Cell<SEXP>,
    free: RefCell<Vec<u32>>,
}

impl Held {
    /// The list is not protected.
    pub fn new(objects: &[SEXP]) -> Result<Held> {
        // SAFETY: the list has room for the objects.
        let list = Root::make(|| unsafe {
            let list = Rf_protect(Rf_allocVector(VECSXP, objects.len() as Length + 1));
            objects.iter().enumerate().for_each(|(i, &x)| _ = SET_VECTOR_ELT(list, i as Length, x));
            SET_VECTOR_ELT(list, objects.len() as Length, Rf_allocVector(VECSXP, 0));
            Rf_unprotect(1);
            list
        })?;
        // SAFETY: the list has the element.
        let entries = unsafe { VECTOR_ELT(list.get(), objects.len() as Length) };
        let free = RefCell::default();
        Ok(Held(Rc::new(Inner { list: list.release(), entries: Cell::new(entries), free })))
    }

    pub fn list(&self) -> SEXP {
        self.0.list
    }

    /// Keeps an object, which the caller keeps alive meanwhile.
    pub fn keep(&self, object: SEXP) -> Result<Slot> {
        let inner = &*self.0;
        loop {
            let free = inner.free.borrow_mut().pop();
            let Some(slot) = free else {
                self.grow()?;
                continue;
            };
            // SAFETY: the list has the element; storing does not allocate.
            unsafe { SET_VECTOR_ELT(inner.entries.get(), slot as Length, object) };
            return Ok(Slot { held: self.clone(), slot });
        }
    }

    fn grow(&self) -> Result<()> {
        let inner = &*self.0;
        let size = (2 * Rf_xlength(inner.entries.get())).max(8);
        // SAFETY: the function takes any length.
        let new = Root::make(|| unsafe { Rf_allocVector(VECSXP, size) })?;
        // Making room may have run code that came here too.
        let (old, used) = (inner.entries.get(), Rf_xlength(inner.entries.get()));
        if used < size {
            // SAFETY: both lists have the elements; storing does not allocate.
            unsafe {
                (0..used).for_each(|i| _ = SET_VECTOR_ELT(new.get(), i, VECTOR_ELT(old, i)));
                SET_VECTOR_ELT(inner.list, Rf_xlength(inner.list) - 1, new.get());
            }
            inner.entries.set(new.get());
            inner.free.borrow_mut().extend((used as u32..size as u32).rev());
        }
        Ok(())
    }
}

/// What keeps the functions of a converter.
pub(crate) enum Kept {
    /// For ever, as far as R's collector knows.
    Root { _root: Root },
    /// As long as the dispatcher.
    Dispatcher { _slot: Slot },
}

/// Keeps an object as long as it lives itself and the dispatcher does.
pub(crate) struct Slot {
    held: Held,
    slot: u32,
}

impl Drop for Slot {
    fn drop(&mut self) {
        let inner = &*self.held.0;
        // SAFETY: the list has the element, and lives until the finalizer of the dispatcher has run; storing does not
        // allocate.
        unsafe { SET_VECTOR_ELT(inner.entries.get(), self.slot as Length, R_NilValue) };
        inner.free.borrow_mut().push(self.slot);
    }
}
