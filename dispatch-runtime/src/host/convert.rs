//! Host values at a declared dtype.
//!
//! The rules, for every pair of dtypes:
//!
//! * to a float type: the nearest value, ties to even, in one rounding from the value as given; never through another
//!   type on the way. A finite value that would round to infinity is refused; infinities and NaN stay what they are.
//! * to an integer type, or to `bool` (0 or 1): the same number, or refused.
//! * to a complex type: a real number gets a zero imaginary part; the parts of a complex number follow the rule of
//!   floats.
//! * from a complex type to a real one: refused, also with a zero imaginary part. Whether the result has one should
//!   not depend on the data.

pub(super) mod number;
mod pool;

#[cfg(test)]
mod reference;
#[cfg(test)]
mod tests;

use std::ptr;

use self::number::{Source, Target};
use self::pool::Scratch;
use super::{HostArray, HostView};
use crate::{DType, Error, Result};

/// Calls a piece of code with a dtype's Rust type.
macro_rules! with_element {
    ($dtype:expr, $t:ident => $body:expr) => {
        with_element!(@ $dtype, $t => $body,
            Bool = bool, I8 = i8, I16 = i16, I32 = i32, I64 = i64, U8 = u8, U16 = u16, U32 = u32, U64 = u64,
            F16 = half::f16, BF16 = half::bf16, F32 = f32, F64 = f64,
            C64 = num_complex::Complex<f32>, C128 = num_complex::Complex<f64>)
    };
    (@ $dtype:expr, $t:ident => $body:expr, $($variant:ident = $rust:ty),*) => {
        match $dtype {
            $(DType::$variant => {
                type $t = $rust;
                $body
            })*
        }
    };
}

/// Host data at the dtype that an argument declares.
///
/// Data of that dtype already is borrowed. A scalar is converted within the value, anything else into a buffer that
/// the thread keeps for the next conversion: from the second call on, nothing is allocated.
///
/// ```
/// use dispatch_runtime::{DType, HostView, host::Converted};
///
/// let scale = Converted::new(HostView::scalar(&0.1f64), DType::F32, &|| "scale".into())?;
/// assert_eq!(scale.view().as_slice::<f32>(), Some(&[0.1f32][..]));
///
/// let data = [1.0, 2.5];
/// let refused = Converted::new(HostView::new(&data, &[2])?, DType::I32, &|| "b$n".into());
/// assert_eq!(
///     refused.unwrap_err().to_string(),
///     "argument `b$n`: expected an integer from -2147483648 to 2147483647 (i32), got 2.5 at index 1"
/// );
/// # Ok::<(), dispatch_runtime::Error>(())
/// ```
#[derive(Debug)]
pub struct Converted<'a> {
    /// The data as it came; its shape holds for the result too.
    source: HostView<'a>,
    dtype: DType,
    // Plain words instead of an enum with payloads, and every path below fills them by value: that keeps the fast
    // paths in registers (an enum was copied twice through memory that had just been written, 9 ns instead of 2).
    place: Place,
    word: u64,
    scratch: Option<Scratch>,
}

/// Where the elements are.
#[derive(Clone, Copy, Debug)]
enum Place {
    Source,
    Word,
    Scratch,
}

impl<'a> Converted<'a> {
    /// Converts host data to a dtype.
    ///
    /// Floats are rounded once, to the nearest value; an integer type takes whole numbers only. `argument` gives the
    /// path for the message of an error, and is not called otherwise.
    ///
    /// # Errors
    ///
    /// [`Error::Value`] names the first value that the dtype cannot hold, where it stands, and what the dtype holds:
    /// a fraction, an infinity or NaN for an integer type, a number out of range, a finite number that would become
    /// infinite, or a complex number for a real type.
    #[inline]
    pub fn new(view: HostView<'a>, dtype: DType, argument: &dyn Fn() -> String) -> Result<Converted<'a>> {
        let (mut place, mut word, mut scratch) = (Place::Source, 0, None);
        if view.dtype() != dtype {
            let scalar = if view.shape().is_empty() {
                // SAFETY: a view of rank 0 holds one element of its dtype.
                unsafe { convert_one(view.dtype(), view.as_ptr(), dtype) }
            } else {
                None
            };
            if let Some(converted) = scalar {
                (place, word) = (Place::Word, converted);
            } else {
                let converted = match view.is_dense() {
                    // SAFETY: the parts are those of a dense view.
                    true => unsafe { convert(view.dtype(), view.shape(), view.as_ptr(), dtype, argument) },
                    false => convert_strided(view, dtype, argument),
                };
                match converted {
                    Ok(converted) => (place, scratch) = (Place::Scratch, Some(converted)),
                    Err(error) => return Err(*error),
                }
            }
        }
        Ok(Converted { source: view, dtype, place, word, scratch })
    }

    /// The data at the dtype asked for, in the shape that it came in.
    #[inline]
    pub fn view(&self) -> HostView<'_> {
        let data = match (self.place, &self.scratch) {
            (Place::Scratch, Some(scratch)) => scratch.as_ptr(),
            (Place::Word, _) => ptr::from_ref(&self.word).cast(),
            _ => return self.source,
        };
        // SAFETY: the word or the scratch holds every element that the shape says, dense, each written as a value of the
        // dtype's type, is aligned for all of them (asserted in `pool`), and lives as long as `self`.
        unsafe { HostView::from_raw(self.dtype, self.source.shape(), data) }
    }
}

// The functions below are not inlined, to keep `Converted::new` small enough to be, and take a view in parts: as a
// whole it would be passed in memory, and copied from there on every path.

/// The bytes of an element as one of another dtype; none if that cannot hold it, or takes more than a word (`c128`).
///
/// # Safety
///
/// `element` points to an element of `from`.
#[inline(never)]
unsafe fn convert_one(from: DType, element: *const u8, dtype: DType) -> Option<u64> {
    // SAFETY: by the caller's promise; elements of views are aligned.
    let number = with_element!(from, S => unsafe { element.cast::<S>().read() }.number());
    with_element!(dtype, T => {
        if size_of::<T>() > size_of::<u64>() {
            return None;
        }
        let element = T::from_number(number)?;
        let mut word = 0u64;
        // SAFETY: a word has room for the element and is aligned for it.
        unsafe { ptr::from_mut(&mut word).cast::<T>().write(element) };
        Some(word)
    })
}

/// The way of views that are not dense: they are made so first.
#[cold]
#[inline(never)]
fn convert_strided(
    view: HostView<'_>,
    dtype: DType,
    argument: &dyn Fn() -> String,
) -> Result<Scratch, Box<Error>> {
    let dense = HostArray::try_from_view(view).map_err(|error| error.with_argument(argument()))?;
    // SAFETY: the parts are those of a dense view.
    unsafe { convert(dense.dtype(), dense.shape(), dense.view().as_ptr(), dtype, argument) }
}

/// The way of everything that is no valid scalar of one word. Both results are one word.
///
/// # Safety
///
/// `from`, `shape` and `data` are those of a dense view.
#[inline(never)]
unsafe fn convert(
    from: DType,
    shape: &[i64],
    data: *const u8,
    dtype: DType,
    argument: &dyn Fn() -> String,
) -> Result<Scratch, Box<Error>> {
    // SAFETY: by the caller's promise.
    let source = unsafe { HostView::from_raw(from, shape, data) };
    let refused = |index| Box::new(refused(source, dtype, index, argument));
    if source.dtype().is_complex() && !dtype.is_complex() {
        return Err(refused((source.len() > 0).then_some(0)));
    }
    let mut scratch = Scratch::take(source.len() * dtype.size());
    let out = scratch.as_mut_ptr();
    // SAFETY: `out` is ours alone, has room for all elements at the new size, and is aligned for each type.
    let filled = with_element!(source.dtype(), S => with_element!(dtype, T => unsafe { fill::<S, T>(source, out.cast()) }));
    match filled {
        Ok(()) => Ok(scratch),
        Err(index) => Err(refused(Some(index))),
    }
}

/// Converts every element; the error is the index of the first that the target refuses.
///
/// # Safety
///
/// `out` is valid for writes of as many `T` as the view has elements, and `S` is the type of the view's dtype.
unsafe fn fill<S: Source, T: Target>(source: HostView<'_>, out: *mut T) -> Result<(), usize> {
    let source = source.as_slice::<S>().expect("the view's own type");
    let mut all = true;
    for (i, &value) in source.iter().enumerate() {
        let element = T::from_number(value.number());
        // No way out of the loop, so that it becomes vector code; refusals are rare and looked for afterwards.
        all &= element.is_some();
        // SAFETY: `i` is below the number of elements, which `out` has room for.
        unsafe { out.add(i).write(element.unwrap_or(T::ZERO)) };
    }
    if all {
        return Ok(());
    }
    Err(source.iter().position(|&value| T::from_number(value.number()).is_none()).unwrap_or(0))
}

#[cold]
fn refused(source: HostView<'_>, dtype: DType, index: Option<usize>, argument: &dyn Fn() -> String) -> Error {
    let got = match index {
        Some(index) => value_text(source, index) + &position_text(source.shape(), index),
        None => format!("an empty array of {}", source.dtype()),
    };
    Error::Value { argument: argument(), expected: holds_text(source.dtype(), dtype), got }
}

/// What a dtype holds, in words.
fn holds_text(source: DType, dtype: DType) -> String {
    if source.is_complex() && !dtype.is_complex() {
        return format!("a real number ({dtype}): take the real part first");
    }
    macro_rules! integer {
        ($t:ty) => {
            format!("an integer from {} to {} ({dtype})", <$t>::MIN, <$t>::MAX)
        };
    }
    match dtype {
        DType::Bool => format!("0 or 1 ({dtype})"),
        DType::I8 => integer!(i8),
        DType::I16 => integer!(i16),
        DType::I32 => integer!(i32),
        DType::I64 => integer!(i64),
        DType::U8 => integer!(u8),
        DType::U16 => integer!(u16),
        DType::U32 => integer!(u32),
        DType::U64 => integer!(u64),
        DType::F16 => format!("a magnitude of at most {} ({dtype})", half::f16::MAX),
        DType::BF16 => format!("a magnitude of at most {:?} ({dtype})", half::bf16::MAX.to_f32()),
        DType::F32 => format!("a magnitude of at most {:?} ({dtype})", f32::MAX),
        DType::F64 => format!("a magnitude of at most {:?} ({dtype})", f64::MAX),
        DType::C64 => format!("parts of a magnitude of at most {:?} ({dtype})", f32::MAX),
        DType::C128 => format!("parts of a magnitude of at most {:?} ({dtype})", f64::MAX),
    }
}

/// A value as it came, at its own precision.
fn value_text(source: HostView<'_>, index: usize) -> String {
    with_element!(source.dtype(), S => source.as_slice::<S>().expect("the view's own type")[index].text())
}

/// ` at index 3`, ` at index [1, 2]`, nothing for a scalar; counted from 0.
fn position_text(shape: &[i64], index: usize) -> String {
    match shape {
        [] => String::new(),
        [_] => format!(" at index {index}"),
        _ => {
            let mut rest = index;
            let mut indices: Vec<usize> = shape
                .iter()
                .rev()
                .map(|&size| {
                    let here = rest % size as usize;
                    rest /= size as usize;
                    here
                })
                .collect();
            indices.reverse();
            format!(" at index {indices:?}")
        }
    }
}
