//! Keeping objects of R alive.

use std::cell::RefCell;

use crate::fault::Result;
use crate::ffi::*;
use crate::main_thread::MainThread;
use crate::unwind::protect;

/// Keeps an object of R alive as long as it lives itself. Roots may be moved and dropped in any order.
///
/// A value that an object of R owns must not hold a root of that object: R could never collect it. Let the object
/// refer to the other one instead.
#[derive(Debug)]
pub struct Root {
    value: SEXP,
    slot: u32,
}

/// A list of R that is never collected, and which of its elements are free.
struct Arena {
    list: SEXP,
    free: Vec<u32>,
}

static ARENA: MainThread<RefCell<Arena>> =
    MainThread::new(RefCell::new(Arena { list: std::ptr::null_mut(), free: Vec::new() }));

impl Root {
    /// Keeps an object alive. Nothing must have been allocated since it was last protected.
    #[inline]
    pub fn new(value: SEXP) -> Result<Root> {
        let mut arena = ARENA.get().borrow_mut();
        while arena.free.is_empty() {
            drop(arena);
            grow(value)?;
            arena = ARENA.get().borrow_mut();
        }
        let slot = arena.free.pop().expect("a free element");
        // SAFETY: the list is ours, has the element, and storing does not allocate.
        unsafe { SET_VECTOR_ELT(arena.list, slot as Length, value) };
        Ok(Root { value, slot })
    }

    /// Makes an object and keeps it alive.
    #[inline]
    pub fn make(body: impl FnOnce() -> SEXP + Copy) -> Result<Root> {
        let value = protect(body)?;
        Root::new(value)
    }

    /// The object.
    #[inline]
    pub fn get(&self) -> SEXP {
        self.value
    }

    /// The object, to be given to R at once: nothing keeps it alive any more.
    #[inline]
    pub fn release(self) -> SEXP {
        self.value
    }
}

impl Drop for Root {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: a root has a pointer, so it stays on the thread that made it, which is R's.
        let mut arena = unsafe { ARENA.get_here() }.borrow_mut();
        // SAFETY: the element is this root's own; storing does not allocate.
        unsafe { SET_VECTOR_ELT(arena.list, self.slot as Length, R_NilValue) };
        arena.free.push(self.slot);
    }
}

/// Makes the list larger; `value` is kept alive meanwhile.
#[cold]
fn grow(value: SEXP) -> Result<()> {
    let used = match ARENA.get().borrow().list {
        list if list.is_null() => 0,
        list => Rf_xlength(list),
    };
    let size = (2 * used).max(256);
    // SAFETY: both objects are protected while something is allocated.
    let new = protect(|| unsafe {
        Rf_protect(value);
        let new = Rf_protect(Rf_allocVector(VECSXP, size));
        R_PreserveObject(new);
        Rf_unprotect(2);
        new
    })?;
    let mut arena = ARENA.get().borrow_mut();
    let now = if arena.list.is_null() { 0 } else { Rf_xlength(arena.list) };
    // Code that ran while the collector made room may have made the list larger itself.
    let unused = if now == used {
        // SAFETY: the new list has room for the elements of the old one; storing does not allocate.
        (0..used).for_each(|i| unsafe {
            SET_VECTOR_ELT(new, i, VECTOR_ELT(arena.list, i));
        });
        arena.free.extend((used as u32..size as u32).rev());
        std::mem::replace(&mut arena.list, new)
    } else {
        new
    };
    if !unused.is_null() {
        // SAFETY: the list was preserved once, and releasing does not allocate.
        unsafe { R_ReleaseObject(unused) };
    }
    Ok(())
}
