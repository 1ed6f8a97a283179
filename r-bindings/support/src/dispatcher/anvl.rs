//! `AnvlArray`: a list of `$data`, `$dtype`, `$shape`, `$device` and `$backend` with a class.

use std::cell::Cell;

use crate::fault::Result;
use crate::ffi::*;
use crate::main_thread::MainThread;
use crate::unwind::protect;

/// Objects of R that are made once and never collected.
#[derive(Clone, Copy)]
pub(super) struct Atoms {
    /// Strings of R's cache.
    pub data: SEXP,
    pub backend: SEXP,
    pub anvl_array: SEXP,
    /// Of the arrays that are made here: names and class.
    pub names: SEXP,
    pub class: SEXP,
    /// `"DataType"`
    pub dtype_class: SEXP,
}

pub(super) const FIELDS: [&str; 5] = ["data", "dtype", "shape", "device", "backend"];

/// The objects, made at first use.
pub(super) fn atoms() -> Result<Atoms> {
    static ATOMS: MainThread<Cell<Option<Atoms>>> = MainThread::new(Cell::new(None));
    if let Some(atoms) = ATOMS.get().get() {
        return Ok(atoms);
    }
    let names = crate::make::strings(&FIELDS)?;
    let class = crate::make::string("AnvlArray")?;
    let dtype_class = crate::make::string("DataType")?;
    let (names, class, dtype_class) = (names.get(), class.get(), dtype_class.get());
    // SAFETY: the vectors have these elements. They are shared, so R must not change them in place.
    let atoms = protect(|| unsafe {
        for x in [names, class, dtype_class] {
            MARK_NOT_MUTABLE(x);
            R_PreserveObject(x);
        }
        let (data, backend, anvl_array) = (STRING_ELT(names, 0), STRING_ELT(names, 4), STRING_ELT(class, 0));
        Atoms { data, backend, anvl_array, names, class, dtype_class }
    })?;
    ATOMS.get().set(Some(atoms));
    Ok(atoms)
}

impl Atoms {
    /// Whether a list with a class is an `AnvlArray`.
    #[inline]
    pub fn is_array(&self, x: SEXP) -> bool {
        // SAFETY: reading the class does not allocate.
        let class = unsafe { Rf_getAttrib(x, R_ClassSymbol) };
        class == self.class
            || TYPEOF(class) == STRSXP
                // SAFETY: the vector has the element. Strings of R's cache are equal if they are the same object, and
                // this one is ASCII.
                && (0..Rf_xlength(class)).any(|i| unsafe { STRING_ELT(class, i) } == self.anvl_array)
    }

    /// The fields `$data` and `$backend` of an `AnvlArray`; `NULL` for a missing one.
    #[inline]
    pub fn fields(&self, x: SEXP) -> (SEXP, SEXP) {
        // SAFETY: the object is a list; reading its names does not allocate, and it has as many elements as names.
        unsafe {
            let names = Rf_getAttrib(x, R_NamesSymbol);
            if names == self.names {
                return (VECTOR_ELT(x, 0), VECTOR_ELT(x, 4));
            }
            let (mut data, mut backend) = (nil(), nil());
            if TYPEOF(names) != STRSXP {
                return (data, backend);
            }
            // From the end, so that the first of equal names counts.
            for i in (0..Rf_xlength(names)).rev() {
                let name = STRING_ELT(names, i);
                if name == self.data {
                    data = VECTOR_ELT(x, i);
                } else if name == self.backend {
                    backend = VECTOR_ELT(x, i);
                }
            }
            (data, backend)
        }
    }
}
