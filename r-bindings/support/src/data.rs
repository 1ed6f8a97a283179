//! What R data is to us: the element types that R has.

mod compact;

use std::slice;

use crate::arg::Arg;
use crate::describe;
use crate::fault::Result;
use crate::ffi::*;
use crate::unwind::protect;

pub use compact::Compact;

/// What messages call data.
pub(crate) const EXPECTED: &str = "a logical, integer, double, integer64, complex or raw vector or array";

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
    /// Elements that R has not made yet.
    Compact(Compact<'a>),
}

/// The element types that R has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// Of [`Data::Logical`].
    Logical,
    /// Of [`Data::Integer`].
    Integer,
    /// Of [`Data::Double`].
    Double,
    /// Of [`Data::Integer64`].
    Integer64,
    /// Of [`Data::Complex`].
    Complex,
}

impl Type {
    /// That of a vector; none if it is of another type or class.
    #[inline]
    fn of(x: SEXP) -> Option<Type> {
        Some(match TYPEOF(x) {
            REALSXP if Rf_isObject(x) != 0 => {
                return describe::has_class(x, "integer64").then_some(Type::Integer64);
            }
            _ if Rf_isObject(x) != 0 => return None,
            LGLSXP => Type::Logical,
            INTSXP => Type::Integer,
            REALSXP => Type::Double,
            CPLXSXP => Type::Complex,
            _ => return None,
        })
    }

    /// The type in R's words.
    pub fn name(self) -> &'static str {
        match self {
            Type::Logical => "logical",
            Type::Integer => "integer",
            Type::Double => "double",
            Type::Integer64 => "integer64",
            Type::Complex => "complex",
        }
    }
}

impl<'a> Data<'a> {
    /// Reads a vector; none if it is of another type or class. A long one in a compact form stays so.
    ///
    /// # Safety
    ///
    /// R keeps `x` alive and unchanged for `'a`.
    #[inline]
    pub unsafe fn read(x: SEXP) -> Result<Option<Data<'a>>> {
        let Some(kind) = Type::of(x) else { return Ok(None) };
        if ALTREP(x) != 0 {
            // SAFETY: by the caller's promise.
            if let Some(compact) = unsafe { Compact::of(x, kind)? } {
                return Ok(Some(Data::Compact(compact)));
            }
        }
        // SAFETY: the elements are of the type that R says.
        Ok(Some(unsafe {
            match kind {
                Type::Logical => Data::Logical(elements(x)?),
                Type::Integer => Data::Integer(elements(x)?),
                Type::Double => Data::Double(elements(x)?),
                Type::Integer64 => Data::Integer64(elements(x)?),
                Type::Complex => Data::Complex(elements(x)?),
            }
        }))
    }

    /// Whether [`Data::read`] gives something.
    pub(crate) fn is_one(x: SEXP) -> bool {
        Type::of(x).is_some()
    }

    /// [`Data::read`] of an argument, which R keeps.
    #[inline]
    pub fn of(x: Arg<'a>) -> Result<Data<'a>> {
        // SAFETY: R keeps arguments alive, and changes none while it waits for the call.
        unsafe { Data::read(x.get())? }.ok_or_else(|| x.expected(EXPECTED))
    }

    /// The number of elements.
    #[inline]
    pub fn len(&self) -> usize {
        match self {
            Data::Logical(x) | Data::Integer(x) => x.len(),
            Data::Double(x) => x.len(),
            Data::Integer64(x) => x.len(),
            Data::Complex(x) => x.len(),
            Data::Compact(x) => x.len(),
        }
    }

    /// Whether there is no element.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The type of the elements.
    #[inline]
    pub fn kind(&self) -> Type {
        match self {
            Data::Logical(_) => Type::Logical,
            Data::Integer(_) => Type::Integer,
            Data::Double(_) => Type::Double,
            Data::Integer64(_) => Type::Integer64,
            Data::Complex(_) => Type::Complex,
            Data::Compact(x) => x.kind(),
        }
    }

    /// The type in R's words.
    pub fn name(&self) -> &'static str {
        self.kind().name()
    }
}

/// The elements of a vector. One in a compact form (as `1:3` is) is expanded first, which R may refuse.
///
/// # Safety
///
/// `x` is a vector whose elements are of type `T`, and R keeps it alive and unchanged for `'a`.
#[inline(always)]
pub unsafe fn elements<'a, T>(x: SEXP) -> Result<&'a [T]> {
    // SAFETY: by the caller's promise.
    let length = unsafe { XLENGTH(x) } as usize;
    // Empty vectors have no address.
    if length == 0 {
        return Ok(&[]);
    }
    // SAFETY: by the caller's promise.
    unsafe {
        let data = if ALTREP(x) != 0 { protect(|| DATAPTR_RO(x))? } else { DATAPTR_RO(x) };
        Ok(slice::from_raw_parts(data.cast(), length))
    }
}

/// What `names()` gives of a list, which keeps it alive; `NULL` if there are none. Nothing is allocated.
///
/// # Safety
///
/// `list` is a generic vector of R.
#[inline(always)]
pub(crate) unsafe fn list_names(list: SEXP) -> SEXP {
    // SAFETY: attributes are a list of pairs.
    unsafe {
        let mut at = ATTRIB(list);
        while at != nil() {
            let tag = TAG(at);
            if tag == R_NamesSymbol {
                return CAR(at);
            }
            // A list with one dimension has its names there.
            if tag == R_DimSymbol {
                return Rf_getAttrib(list, R_NamesSymbol);
            }
            at = CDR(at);
        }
        nil()
    }
}

/// The sizes of an R array: its dimensions, or its length if it is a vector.
///
/// # Safety
///
/// `x` is a vector of R.
#[inline]
pub unsafe fn shape_of(x: SEXP) -> Result<Shape> {
    // SAFETY: reading dimensions does not allocate; they are an integer vector.
    unsafe {
        let dim = Rf_getAttrib(x, R_DimSymbol);
        if TYPEOF(dim) != INTSXP {
            return Ok(Shape::from_slice(&[Rf_xlength(x) as i64]));
        }
        Ok(elements::<i32>(dim)?.iter().map(|&n| n.into()).collect())
    }
}

/// The sizes of an array; the usual ones need no allocation.
pub type Shape = smallvec::SmallVec<[i64; 6]>;
