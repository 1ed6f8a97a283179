//! `AnvlArray`: a list of `$data`, `$dtype`, `$shape`, `$device` and `$backend` with a class.

use std::cell::Cell;

use dispatch_runtime::DType;

use crate::data::elements;
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
    /// Of the arrays that are made here: names and class, and a list of five with both.
    pub names: SEXP,
    pub class: SEXP,
    pub array: SEXP,
    /// `"pjrt"`, the `$backend` of the arrays that are made here.
    pub pjrt: SEXP,
    /// Tag and class of buffers.
    pub buffer: (SEXP, SEXP),
    /// What an `extractor` gives.
    pub aval: SEXP,
    pub dtype: SEXP,
    pub shape: SEXP,
    pub device: SEXP,
    /// The names of all dtypes, in the order of [`DType::ALL`].
    pub dtypes: [SEXP; DType::ALL.len()],
    /// The same as objects of the class `DataType`.
    classed_dtypes: [SEXP; DType::ALL.len()],
    /// The same without a class.
    plain_dtypes: [SEXP; DType::ALL.len()],
}

pub(super) const FIELDS: [&str; 5] = ["data", "dtype", "shape", "device", "backend"];

/// The objects, made at first use.
pub(super) fn atoms() -> Result<Atoms> {
    static ATOMS: MainThread<Cell<Option<Atoms>>> = MainThread::new(Cell::new(None));
    if let Some(atoms) = ATOMS.get().get() {
        return Ok(atoms);
    }
    let buffer = crate::buffer::BUFFER.prepare()?;
    let names = crate::make::strings(&FIELDS)?;
    let pjrt = crate::make::string("pjrt")?;
    let aval = crate::make::string("aval")?;
    let dtypes = crate::make::strings(&DType::ALL.iter().map(|dtype| dtype.r_name()).collect::<Vec<_>>())?;
    let class = crate::make::string("AnvlArray")?;
    let dtype_class = crate::make::string("DataType")?;
    let (names, class, dtype_class) = (names.get(), class.get(), dtype_class.get());
    let (pjrt, aval, dtypes) = (pjrt.get(), aval.get(), dtypes.get());
    // SAFETY: the vectors have these elements. They are shared, so R must not change them in place.
    let atoms = protect(|| unsafe {
        let array = Rf_protect(Rf_allocVector(VECSXP, FIELDS.len() as Length));
        Rf_setAttrib(array, R_NamesSymbol, names);
        Rf_setAttrib(array, R_ClassSymbol, class);
        let classed = Rf_protect(Rf_allocVector(VECSXP, DType::ALL.len() as Length));
        let plain = Rf_protect(Rf_allocVector(VECSXP, DType::ALL.len() as Length));
        for i in 0..DType::ALL.len() as Length {
            for list in [classed, plain] {
                let x = Rf_ScalarString(STRING_ELT(dtypes, i));
                SET_VECTOR_ELT(list, i, x);
                MARK_NOT_MUTABLE(x);
            }
            Rf_setAttrib(VECTOR_ELT(classed, i), R_ClassSymbol, dtype_class);
        }
        for x in [names, class, dtype_class, pjrt, aval, dtypes, array, classed, plain] {
            MARK_NOT_MUTABLE(x);
            R_PreserveObject(x);
        }
        Rf_unprotect(3);
        Atoms {
            data: STRING_ELT(names, 0),
            dtype: STRING_ELT(names, 1),
            shape: STRING_ELT(names, 2),
            device: STRING_ELT(names, 3),
            backend: STRING_ELT(names, 4),
            aval: STRING_ELT(aval, 0),
            anvl_array: STRING_ELT(class, 0),
            names,
            class,
            array,
            pjrt,
            buffer,
            dtypes: std::array::from_fn(|i| STRING_ELT(dtypes, i as Length)),
            classed_dtypes: std::array::from_fn(|i| VECTOR_ELT(classed, i as Length)),
            plain_dtypes: std::array::from_fn(|i| VECTOR_ELT(plain, i as Length)),
        }
    })?;
    ATOMS.get().set(Some(atoms));
    Ok(atoms)
}

/// The place of a dtype in [`DType::ALL`].
fn index(dtype: DType) -> usize {
    DType::ALL.iter().position(|&other| other == dtype).expect("all dtypes are there")
}

impl Atoms {
    /// A dtype as an object of the class `DataType`, which is shared.
    pub fn classed_dtype(&self, dtype: DType) -> SEXP {
        self.classed_dtypes[index(dtype)]
    }

    /// The name of a dtype, which is shared, or of a type of R as `typeof()` gives it.
    ///
    /// # Safety
    ///
    /// Inside [`protect`]; the result is not protected.
    pub unsafe fn type_name(&self, name: &'static str) -> SEXP {
        match DType::ALL.iter().position(|dtype| dtype.r_name() == name) {
            Some(i) => self.plain_dtypes[i],
            // SAFETY: by the caller's promise.
            None => unsafe { Rf_ScalarString(crate::make::charsxp(name)) },
        }
    }

    /// The fields `$data` and `$backend` of a list that is an `AnvlArray`; `NULL` for a missing one.
    #[inline(always)]
    pub fn fields(&self, x: SEXP) -> Result<Option<(SEXP, SEXP)>> {
        // SAFETY: attributes are a list of pairs. The names that are ours say that there are five fields.
        unsafe {
            let (mut names, mut class) = (nil(), nil());
            let mut at = ATTRIB(x);
            while at != nil() {
                let tag = TAG(at);
                if tag == R_NamesSymbol {
                    names = CAR(at);
                } else if tag == R_ClassSymbol {
                    class = CAR(at);
                }
                at = CDR(at);
            }
            // Strings of R's cache are equal if they are the same object, and these are ASCII.
            if class != self.class && !strings(class)?.contains(&self.anvl_array) {
                return Ok(None);
            }
            if names == self.names {
                return Ok(Some((VECTOR_ELT(x, 0), VECTOR_ELT(x, 4))));
            }
            let (mut data, mut backend) = (nil(), nil());
            // From the end, so that the first of equal names counts.
            for (&name, &field) in strings(names)?.iter().zip(elements::<SEXP>(x)?).rev() {
                if name == self.data {
                    data = field;
                } else if name == self.backend {
                    backend = field;
                }
            }
            Ok(Some((data, backend)))
        }
    }

    /// Whether a value is a buffer as it is made here.
    #[inline(always)]
    pub fn is_buffer(&self, x: SEXP) -> bool {
        // SAFETY: the object is a pointer; reading an attribute that is not there gives `NULL`.
        TYPEOF(x) == EXTPTRSXP
            && unsafe { R_ExternalPtrTag(x) == self.buffer.0 && CAR(ATTRIB(x)) == self.buffer.1 }
    }
}

/// The strings of a character vector; none of anything else. R makes them now if it has not yet.
///
/// # Safety
///
/// R keeps the vector alive and unchanged as long as the result is used.
#[inline(always)]
pub(super) unsafe fn strings<'a>(x: SEXP) -> Result<&'a [SEXP]> {
    match TYPEOF(x) {
        // SAFETY: by the caller's promise.
        STRSXP => unsafe { elements(x) },
        _ => Ok(&[]),
    }
}
