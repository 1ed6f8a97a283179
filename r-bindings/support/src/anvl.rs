//! `AnvlArray`: a list of `$data`, `$dtype`, `$shape`, `$device` and `$backend` with a class.

use std::cell::{Cell, OnceCell};

use dispatch_runtime::{Aval, DType};

use crate::buffer;
use crate::data::elements;
use crate::fault::Result;
use crate::ffi::*;
use crate::main_thread::MainThread;
use crate::unwind::protect;

/// Objects of R that are made once and never collected.
#[derive(Clone, Copy)]
pub(crate) struct Atoms {
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

pub(crate) const FIELDS: [&str; 5] = ["data", "dtype", "shape", "device", "backend"];

/// The objects, made at first use.
pub(crate) fn atoms() -> Result<&'static Atoms> {
    static ATOMS: MainThread<OnceCell<Atoms>> = MainThread::new(OnceCell::new());
    match ATOMS.get().get() {
        Some(atoms) => Ok(atoms),
        None => first().map(|atoms| ATOMS.get().get_or_init(|| atoms)),
    }
}

#[cold]
fn first() -> Result<Atoms> {
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
    protect(|| unsafe {
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
    })
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
            // The usual order, in names of the array's own.
            if let &[data, dtype, shape, device, backend] = strings(names)? {
                let is_usual = data == self.data
                    && dtype == self.dtype
                    && shape == self.shape
                    && device == self.device
                    && backend == self.backend;
                if is_usual && ALTREP(x) == 0 {
                    return Ok(Some((VECTOR_ELT(x, 0), VECTOR_ELT(x, 4))));
                }
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

/// Names, class and `$backend` of the arrays that `pjrtdispatch` makes for another package: other objects than the
/// [`Atoms`] of that, and kept for ever.
static LEARNT: MainThread<Cell<Option<[SEXP; 3]>>> = MainThread::new(Cell::new(None));

/// Notes what the arrays are like that `pjrtdispatch` makes, so that they are known at a glance.
pub(crate) fn learn(array: SEXP) -> Result<()> {
    if LEARNT.get().get().is_some() {
        return Ok(());
    }
    // SAFETY: the array is kept by the caller, and has five fields.
    let parts = protect(|| unsafe {
        let parts =
            [Rf_getAttrib(array, R_NamesSymbol), Rf_getAttrib(array, R_ClassSymbol), VECTOR_ELT(array, 4)];
        for part in parts {
            R_PreserveObject(part);
        }
        parts
    })?;
    LEARNT.get().set(Some(parts));
    Ok(())
}

/// What arrays look like that `pjrtdispatch` makes; null if there was none yet.
#[derive(Clone, Copy)]
pub(crate) struct Known {
    names: SEXP,
    class: SEXP,
    pjrt: SEXP,
}

/// What is known of the arrays of `pjrtdispatch`.
#[inline]
pub(crate) fn known() -> Known {
    let [names, class, pjrt] = LEARNT.get().get().unwrap_or([std::ptr::null_mut(); 3]);
    Known { names, class, pjrt }
}

impl Known {
    /// [`Atoms::fields`], at a glance for arrays of the usual kind.
    #[inline]
    pub fn fields(&self, x: SEXP) -> Result<Option<(SEXP, SEXP)>> {
        // SAFETY: attributes are a list of pairs, and of none the parts are `NULL`; the names say that there are five fields.
        unsafe {
            let first = ATTRIB(x);
            if CAR(first) == self.names && TAG(first) == R_NamesSymbol {
                let second = CDR(first);
                if CAR(second) == self.class && TAG(second) == R_ClassSymbol {
                    return Ok(Some((VECTOR_ELT(x, 0), VECTOR_ELT(x, 4))));
                }
            }
        }
        atoms()?.fields(x)
    }

    /// Whether a `$backend` is `"pjrt"`.
    #[inline]
    pub fn is_pjrt(&self, backend: SEXP) -> Result<bool> {
        if self.pjrt == backend {
            return Ok(true);
        }
        // SAFETY: the vectors have one element; strings of R's cache are equal if they are the same, and these are ASCII.
        unsafe {
            let pjrt = STRING_ELT(atoms()?.pjrt, 0);
            Ok(matches!(strings(backend)?, [name] if *name == pjrt))
        }
    }
}

/// Makes a new list of five an `AnvlArray` without data, which results like it are made of.
///
/// # Safety
///
/// Inside [`protect`]; the list is protected, and `device` is a device of R.
pub(crate) unsafe fn make_template(x: SEXP, atoms: &Atoms, aval: &Aval, device: SEXP) {
    // SAFETY: each new object is part of the list before the next one is made.
    unsafe {
        let shape = crate::make::new_sizes(aval.shape());
        MARK_NOT_MUTABLE(shape);
        SET_VECTOR_ELT(x, 1, atoms.classed_dtype(aval.dtype()));
        SET_VECTOR_ELT(x, 2, shape);
        SET_VECTOR_ELT(x, 3, device);
        SET_VECTOR_ELT(x, 4, atoms.pjrt);
        SHALLOW_DUPLICATE_ATTRIB(x, atoms.array);
        MARK_NOT_MUTABLE(x);
    }
}

/// A new `AnvlArray` with a buffer, which the caller keeps, of an array of ours.
#[cold]
pub(crate) fn array_of(buffer: SEXP, array: &dispatch_runtime::Array) -> Result<crate::root::Root> {
    let atoms = atoms()?;
    let (aval, device) = (array.aval(), crate::client::device_object(array.device())?);
    let aval = &aval;
    // SAFETY: the list has five elements, and is protected.
    crate::root::Root::make(|| unsafe {
        let list = Rf_protect(Rf_allocVector(VECSXP, FIELDS.len() as Length));
        make_template(list, atoms, aval, device);
        SET_VECTOR_ELT(list, 0, buffer);
        Rf_unprotect(1);
        list
    })
}

/// Makes a new list of five an array like the template, with a buffer that has no address yet; gives the buffer.
///
/// # Safety
///
/// Inside [`protect`]; the list is protected, and `symbol` and `classes` are those of buffers.
#[inline(always)]
pub(crate) unsafe fn fill(array: SEXP, template: SEXP, symbol: SEXP, classes: SEXP) -> SEXP {
    // SAFETY: both lists have five elements; each new object is kept by the list at once.
    unsafe {
        let buffer = buffer::unfinished(symbol, classes);
        SET_VECTOR_ELT(array, 0, buffer);
        for i in 1..FIELDS.len() as Length {
            SET_VECTOR_ELT(array, i, VECTOR_ELT(template, i));
        }
        SHALLOW_DUPLICATE_ATTRIB(array, template);
        buffer
    }
}

/// The strings of a character vector; none of anything else. R makes them now if it has not yet.
///
/// # Safety
///
/// R keeps the vector alive and unchanged as long as the result is used.
#[inline(always)]
pub(crate) unsafe fn strings<'a>(x: SEXP) -> Result<&'a [SEXP]> {
    match TYPEOF(x) {
        // SAFETY: by the caller's promise.
        STRSXP => unsafe { elements(x) },
        _ => Ok(&[]),
    }
}
