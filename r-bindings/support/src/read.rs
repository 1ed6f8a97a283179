//! Buffers to R data.
//!
//! | dtype | R type |
//! |---|---|
//! | `bool` | logical |
//! | `i8` `i16` `i32` `ui8` `ui16` | integer |
//! | `i64` `ui32` `ui64` | `integer64` |
//! | `f16` `bf16` `f32` `f64` | double |
//! | `c64` `c128` | complex |
//!
//! The numbers that R's types use for `NA` (the least `i32` and `i64`) come out as `NA`, and so does a `ui64` of 2^63 or
//! more. With `check` these are errors.

use std::cell::Cell;

use dispatch_runtime::host::to_column_major;
use dispatch_runtime::{Array, DType, HostView};

use crate::buffer;
use crate::fault::{Fault, Result};
use crate::ffi::*;
use crate::main_thread::MainThread;
use crate::root::Root;
use crate::unwind::protect;

/// Waits for a buffer and copies it to an R vector (a scalar) or array.
#[inline]
pub fn as_array(array: &Array, check: bool, argument: &str) -> Result<SEXP> {
    buffer::wait(array, argument)?;
    let out = allocate(array.dtype(), array.shape())?;
    let lost = match array.dtype() {
        // A plain copy, which is one system routine.
        DType::F64 | DType::I32 if array.rank() <= 1 && !check => {
            let size = array.len() * array.dtype().size();
            // SAFETY: the vector has as many bytes, and nothing else refers to it.
            let to = unsafe {
                let to = out.get();
                let data = if array.dtype() == DType::F64 { REAL(to).cast() } else { INTEGER(to).cast() };
                if size == 0 { &mut [] } else { std::slice::from_raw_parts_mut(data, size) }
            };
            array.read_bytes(to).map(|()| None)
        }
        dtype => array.with_bytes(|bytes| {
            // SAFETY: these are the elements of the array, and the vector was made for them.
            unsafe { fill(HostView::from_raw(dtype, array.shape(), bytes.as_ptr()), out.get(), check) }
        }),
    };
    match lost.map_err(|error| Fault::named(error, argument))? {
        None => Ok(out.release()),
        Some(lost) => Err(Fault::argument(
            "value",
            argument,
            format!("no {} of {}, which R's type does not hold", array.dtype(), lost.value),
            format!("one as element {}", column_major_place(lost.at, array.shape()) + 1),
        )),
    }
}

/// Whether plain R data, logical, integer or double without a class, has the values of a dtype.
pub(crate) fn is_plain(dtype: DType) -> bool {
    !matches!(dtype, DType::I64 | DType::U32 | DType::U64 | DType::C64 | DType::C128)
}

/// A vector of R for the elements of a shape, to be [filled](fill_in).
pub(crate) fn room(dtype: DType, shape: &[i64]) -> Result<Root> {
    allocate(dtype, shape)
}

/// Copies the elements of a view to the [`room`] for them. What R uses for `NA` comes out as that. Runs no code of R.
pub(crate) fn fill_in(out: &Root, view: HostView<'_>) {
    // SAFETY: the vector was made for the elements, and nothing else refers to it yet.
    unsafe { fill(view, out.get(), false) };
}

/// The bytes of a buffer as a raw vector, in row-major or column-major order.
pub fn as_raw(array: &Array, row_major: bool, argument: &str) -> Result<SEXP> {
    buffer::wait(array, argument)?;
    let size = array.len() * array.dtype().size();
    // SAFETY: a new vector.
    let out = Root::make(|| unsafe { Rf_allocVector(RAWSXP, size as Length) })?;
    // SAFETY: the vector has as many bytes, and nothing else refers to it.
    let to = unsafe { RAW(out.get()) };
    let done = array.with_bytes(|bytes| {
        // SAFETY: there are as many bytes on both sides. Raw vectors are aligned for every element.
        unsafe {
            if row_major || array.rank() <= 1 {
                to.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
            } else {
                column_major_bytes(bytes, array.shape(), array.dtype().size(), to);
            }
        }
    });
    done.map_err(|error| Fault::named(error, argument))?;
    Ok(out.release())
}

/// The elements of an array of integers in column-major order, after waiting for it.
pub fn integers(array: &Array, argument: &str) -> Result<Vec<i128>> {
    buffer::wait(array, argument)?;
    // SAFETY: these are the elements of the array.
    let read = array.with_bytes(|bytes| unsafe { wide_integers(array.dtype(), array.shape(), bytes) });
    read.map_err(|error| Fault::named(error, argument))?.ok_or_else(|| {
        Fault::argument("dtype", argument, "a buffer of integers", format!("one of {}", array.dtype()))
    })
}

/// Integers in column-major order; nothing of other elements.
///
/// # Safety
///
/// As for [`fill`].
unsafe fn wide_integers(dtype: DType, shape: &[i64], bytes: &[u8]) -> Option<Vec<i128>> {
    let mut out = vec![0i128; bytes.len() / dtype.size()];
    macro_rules! read {
        ($($dtype:ident = $type:ty),*) => {
            match dtype {
                // SAFETY: the bytes are elements of this type, aligned for it, and there is room for as many.
                $(DType::$dtype => unsafe {
                    to_column_major(bytes.as_ptr().cast::<$type>(), shape, out.as_mut_ptr(), i128::from)
                },)*
                _ => return None,
            }
        };
    }
    read!(Bool = u8, I8 = i8, I16 = i16, I32 = i32, I64 = i64, U8 = u8, U16 = u16, U32 = u32, U64 = u64);
    Some(out)
}

/// Row-major elements as an R vector or array to be shown: those of 64 bits, and of 32 without a sign, as text.
///
/// # Safety
///
/// As for [`fill`].
pub(crate) unsafe fn shown(dtype: DType, shape: &[i64], bytes: &[u8]) -> Result<Root> {
    if !matches!(dtype, DType::I64 | DType::U32 | DType::U64) {
        let out = allocate(dtype, shape)?;
        // SAFETY: by the caller's promise; the vector was made for the elements.
        unsafe { fill(HostView::from_raw(dtype, shape, bytes.as_ptr()), out.get(), false) };
        return Ok(out);
    }
    // SAFETY: by the caller's promise.
    let numbers = unsafe { wide_integers(dtype, shape, bytes) }.unwrap_or_default();
    let texts: Vec<String> = numbers.iter().map(ToString::to_string).collect();
    let out = crate::make::strings(&texts)?;
    set_shape(&out, shape)?;
    Ok(out)
}

/// Turns elements of some size.
///
/// # Safety
///
/// `bytes` are as many row-major elements as the shape says, and `to` has room for as many.
unsafe fn column_major_bytes(bytes: &[u8], shape: &[i64], item: usize, to: *mut u8) {
    let from = bytes.as_ptr();
    // SAFETY: by the caller's promise; arrays of bytes need no alignment.
    unsafe {
        match item {
            1 => to_column_major(from, shape, to, |x| x),
            2 => to_column_major(from.cast::<[u8; 2]>(), shape, to.cast::<[u8; 2]>(), |x| x),
            4 => to_column_major(from.cast::<[u8; 4]>(), shape, to.cast::<[u8; 4]>(), |x| x),
            8 => to_column_major(from.cast::<[u8; 8]>(), shape, to.cast::<[u8; 8]>(), |x| x),
            _ => to_column_major(from.cast::<[u8; 16]>(), shape, to.cast::<[u8; 16]>(), |x| x),
        }
    }
}

/// A new vector of R for elements, with its dimensions, and its class for `integer64`.
#[inline]
fn allocate(dtype: DType, shape: &[i64]) -> Result<Root> {
    let kind = match dtype {
        DType::Bool => LGLSXP,
        DType::I8 | DType::I16 | DType::I32 | DType::U8 | DType::U16 => INTSXP,
        DType::C64 | DType::C128 => CPLXSXP,
        _ => REALSXP,
    };
    let class = match dtype {
        DType::I64 | DType::U32 | DType::U64 => integer64_class()?,
        _ => nil(),
    };
    check_shape(shape)?;
    let length = shape.iter().product::<i64>();
    // SAFETY: the vector is protected while its attributes are made.
    Root::make(|| unsafe {
        let out = Rf_allocVector(kind, length as Length);
        if shape.is_empty() && class == nil() {
            return out;
        }
        Rf_protect(out);
        write_shape(out, shape);
        if class != nil() {
            Rf_setAttrib(out, R_ClassSymbol, class);
        }
        Rf_unprotect(1);
        out
    })
}

/// Gives a vector that was just made its dimensions.
fn set_shape(out: &Root, shape: &[i64]) -> Result<()> {
    check_shape(shape)?;
    let out = out.get();
    // SAFETY: the vector is rooted.
    protect(|| unsafe { write_shape(out, shape) })
}

fn check_shape(shape: &[i64]) -> Result<()> {
    match shape.iter().find(|&&n| i32::try_from(n).is_err()) {
        Some(large) => Err(Fault::new("shape", format!("R's arrays have no dimension of {large}"))),
        None => Ok(()),
    }
}

/// # Safety
///
/// Inside [`protect`]; the vector is protected, has as many elements, and the sizes are R's.
#[inline]
unsafe fn write_shape(out: SEXP, shape: &[i64]) {
    if shape.is_empty() {
        return;
    }
    // SAFETY: by the caller's promise; the new vector has room for the sizes.
    unsafe {
        let dim = Rf_protect(Rf_allocVector(INTSXP, shape.len() as Length));
        shape.iter().enumerate().for_each(|(i, &n)| INTEGER(dim).add(i).write(n as i32));
        Rf_setAttrib(out, R_DimSymbol, dim);
        Rf_unprotect(1);
    }
}

/// The class vector `"integer64"`.
///
/// The first time the package bit64 is loaded, if it is installed: without its methods R takes the numbers for tiny
/// doubles, in print and in arithmetic.
fn integer64_class() -> Result<SEXP> {
    static CLASS: MainThread<Cell<SEXP>> = MainThread::new(Cell::new(std::ptr::null_mut()));
    if CLASS.get().get().is_null() {
        load_if_installed("bit64")?;
        CLASS.get().set(crate::make::shared_string("integer64")?);
    }
    Ok(CLASS.get().get())
}

/// `requireNamespace(package, quietly = TRUE)`
#[cold]
fn load_if_installed(package: &str) -> Result<()> {
    let name = crate::make::string(package)?;
    let quietly = crate::make::flag(true)?;
    // SAFETY: the function is one of R's base package; name and flag are rooted, the call is protected.
    protect(|| unsafe {
        let arguments = Rf_protect(Rf_cons(quietly.get(), R_NilValue));
        SET_TAG(arguments, Rf_install(c"quietly".as_ptr()));
        let arguments = Rf_protect(Rf_cons(name.get(), arguments));
        let call = Rf_protect(Rf_lcons(Rf_install(c"requireNamespace".as_ptr()), arguments));
        Rf_eval(call, R_BaseEnv);
        Rf_unprotect(3);
    })
}

/// A value that R's type does not hold, and the first place of one in row-major order.
struct Lost {
    value: &'static str,
    at: usize,
}

/// Where an element comes in R's order.
fn column_major_place(mut row_major: usize, shape: &[i64]) -> usize {
    let mut index: Vec<usize> = vec![0; shape.len()];
    for (i, &size) in index.iter_mut().zip(shape).rev() {
        *i = row_major % size as usize;
        row_major /= size as usize;
    }
    index.iter().zip(shape).rev().fold(0, |place, (&i, &size)| place * size as usize + i)
}

/// Copies elements; with `check`, gives the value that is lost, if one is: that is for dense ones.
///
/// # Safety
///
/// `out` is from [`allocate`] for the dtype and the shape, with nothing else that refers to it.
#[inline]
unsafe fn fill(view: HostView<'_>, out: SEXP, check: bool) -> Option<Lost> {
    let (length, from) = (view.len(), view.as_ptr());
    // One dimension without gaps is in the order of R.
    let is_plain = view.shape().len() <= 1 && view.is_dense();
    debug_assert!(!check || view.is_dense());
    /// The elements as `$to`, each made by `$convert`.
    macro_rules! copy {
        ($data:ident: $from:ty => $to:ty, $convert:expr) => {{
            // SAFETY: by the caller's promise; `$from` is the type of the dtype.
            unsafe {
                let to = $data(out).cast::<$to>();
                let from = from.cast::<$from>();
                if is_plain {
                    (0..length).for_each(|i| to.add(i).write(($convert)(from.add(i).read())));
                } else {
                    view.to_column_major::<$from, $to>(to, $convert);
                }
            }
            None
        }};
        // Elements of which one is lost.
        ($data:ident: $from:ty => $to:ty, $convert:expr, lost $lost:expr => $name:literal) => {{
            let lost = (check && length > 0).then(|| {
                // SAFETY: as above.
                let from = unsafe { std::slice::from_raw_parts(from.cast::<$from>(), length) };
                from.iter().position($lost)
            });
            match lost.flatten() {
                Some(at) => Some(Lost { value: $name, at }),
                None => copy!($data: $from => $to, $convert),
            }
        }};
    }
    match view.dtype() {
        DType::Bool => copy!(LOGICAL: u8 => i32, |x: u8| i32::from(x != 0)),
        DType::I8 => copy!(INTEGER: i8 => i32, i32::from),
        DType::I16 => copy!(INTEGER: i16 => i32, i32::from),
        DType::I32 => copy!(INTEGER: i32 => i32, |x| x, lost |&x| x == NA_INTEGER => "-2147483648"),
        DType::U8 => copy!(INTEGER: u8 => i32, i32::from),
        DType::U16 => copy!(INTEGER: u16 => i32, i32::from),
        DType::U32 => copy!(REAL: u32 => i64, i64::from),
        DType::I64 => copy!(REAL: i64 => i64, |x| x, lost |&x| x == i64::MIN => "-9223372036854775808"),
        DType::U64 => copy!(
            REAL: u64 => i64,
            |x| i64::try_from(x).unwrap_or(i64::MIN),
            lost |&x| i64::try_from(x).is_err() => "2^63 or more"
        ),
        DType::F16 => copy!(REAL: half::f16 => f64, half::f16::to_f64),
        DType::BF16 => copy!(REAL: half::bf16 => f64, half::bf16::to_f64),
        DType::F32 => copy!(REAL: f32 => f64, f64::from),
        DType::F64 => copy!(REAL: f64 => f64, |x| x),
        DType::C64 => copy!(COMPLEX: [f32; 2] => [f64; 2], |[re, im]: [f32; 2]| [re.into(), im.into()]),
        DType::C128 => copy!(COMPLEX: [f64; 2] => [f64; 2], |x| x),
    }
}
