//! What R data is to us: the element types that R has.

use std::slice;

use crate::arg::Arg;
use crate::fault::Result;
use crate::ffi::*;

/// The elements of an R vector or array, in column-major order.
#[derive(Clone, Copy)]
pub enum Data<'a> {
    /// `TRUE`, `FALSE` or `NA` as [`NA_INTEGER`].
    Logical(&'a [i32]),
    /// Integers; [`NA_INTEGER`] is `NA`.
    Integer(&'a [i32]),
    /// Doubles; one NaN with a certain content is `NA`.
    Double(&'a [f64]),
    /// The bits of a `bit64::integer64`; the least number is `NA`.
    Integer64(&'a [i64]),
    /// Complex numbers.
    Complex(&'a [[f64; 2]]),
}

impl<'a> Data<'a> {
    /// Reads a vector; none if it is of another type or class.
    ///
    /// # Safety
    ///
    /// R keeps `x` alive and unchanged for `'a`.
    #[inline]
    pub unsafe fn read(x: SEXP) -> Option<Data<'a>> {
        let length = Rf_xlength(x) as usize;
        // SAFETY: the functions give the elements of vectors of their types, `length` many, except where there are
        // none.
        unsafe {
            if Rf_isObject(x) != 0 {
                if TYPEOF(x) == REALSXP && Rf_inherits(x, c"integer64".as_ptr()) != 0 {
                    return Some(Data::Integer64(elements(REAL_RO(x).cast(), length)));
                }
                return None;
            }
            Some(match TYPEOF(x) {
                LGLSXP => Data::Logical(elements(LOGICAL_RO(x), length)),
                INTSXP => Data::Integer(elements(INTEGER_RO(x), length)),
                REALSXP => Data::Double(elements(REAL_RO(x), length)),
                CPLXSXP => Data::Complex(elements(COMPLEX_RO(x), length)),
                _ => return None,
            })
        }
    }

    /// [`Data::read`] of an argument, which R keeps.
    #[inline]
    pub fn of(x: Arg<'a>) -> Result<Data<'a>> {
        // SAFETY: R keeps arguments alive, and changes none while it waits for the call.
        unsafe { Data::read(x.get()) }.ok_or_else(|| {
            x.expected("a logical, integer, double, integer64, complex or raw vector or array")
        })
    }

    /// The number of elements.
    #[inline]
    pub fn len(&self) -> usize {
        match self {
            Data::Logical(x) | Data::Integer(x) => x.len(),
            Data::Double(x) => x.len(),
            Data::Integer64(x) => x.len(),
            Data::Complex(x) => x.len(),
        }
    }

    /// Whether there is no element.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The type in R's words.
    pub fn name(&self) -> &'static str {
        match self {
            Data::Logical(_) => "logical",
            Data::Integer(_) => "integer",
            Data::Double(_) => "double",
            Data::Integer64(_) => "integer64",
            Data::Complex(_) => "complex",
        }
    }
}

/// # Safety
///
/// As for [`slice::from_raw_parts`], unless there are no elements.
#[inline]
unsafe fn elements<'a, T>(data: *const T, length: usize) -> &'a [T] {
    match length {
        0 => &[],
        // SAFETY: by the caller's promise.
        _ => unsafe { slice::from_raw_parts(data, length) },
    }
}

/// The sizes of an R array: its dimensions, or its length if it is a vector.
///
/// # Safety
///
/// `x` is a vector of R.
#[inline]
pub unsafe fn shape_of(x: SEXP) -> Shape {
    // SAFETY: reading dimensions does not allocate; they are an integer vector.
    unsafe {
        let dim = Rf_getAttrib(x, R_DimSymbol);
        if TYPEOF(dim) != INTSXP {
            return Shape::from_slice(&[Rf_xlength(x) as i64]);
        }
        elements(INTEGER_RO(dim), Rf_xlength(dim) as usize).iter().map(|&n| n.into()).collect()
    }
}

/// The sizes of an array; the usual ones need no allocation.
pub type Shape = smallvec::SmallVec<[i64; 6]>;
