//! Putting R's data, piece by piece, to its places in row-major memory.

use dispatch_runtime::DType;

use super::cast::Cast;
use crate::data::Data;
use crate::fault::Result;

/// How many rows are gone through at a time, so that what is read and written stays in the processor's cache.
const ROWS: usize = 64;

/// Writes elements to their places in the row-major memory of a shape, as a cast makes them at the dtype; the first of them
/// is element `start` in column-major order.
///
/// # Safety
///
/// `to` has room for all elements of the shape, aligned, and apart from the values; with `start` there are at most as many
/// values as the shape has. The dtype is [allowed](super::allowed).
///
/// # Errors
///
/// Those of R, where it has to make the values first: some may be written then.
pub(crate) unsafe fn place(
    values: Data<'_>,
    dtype: DType,
    to: *mut u8,
    shape: &[i64],
    start: usize,
) -> Result<()> {
    let to = To { to, shape, start };
    macro_rules! number {
        ($values:expr) => {
            number!(@ $values, I8 = i8, I16 = i16, I32 = i32, I64 = i64, U8 = u8, U16 = u16, U32 = u32,
                U64 = u64, F16 = half::f16, BF16 = half::bf16, F32 = f32, F64 = f64, Bool = bool,
                C64 = num_complex::Complex<f32>, C128 = num_complex::Complex<f64>)
        };
        (@ $values:expr, $($dtype:ident = $type:ty),*) => {
            match dtype {
                // SAFETY: by the caller's promise.
                $(DType::$dtype => unsafe { to.lay::<_, $type>($values, |x| x.cast()) },)*
            }
        };
    }
    match values {
        // SAFETY: by the caller's promise, here and below: logical data is of dtype bool only.
        Data::Logical(values) => unsafe { to.lay(values, |x| x != 0) },
        // As they are, with what R keeps in a missing value.
        // SAFETY: as above.
        Data::Double(values) if dtype == DType::F64 => unsafe { to.lay(values, |x| x) },
        Data::Double(values) => number!(values),
        // SAFETY: as above.
        Data::Integer(values) if dtype == DType::I32 => unsafe { to.lay(values, |x| x) },
        Data::Integer(values) => number!(values),
        // SAFETY: as above.
        Data::Integer64(values) if dtype == DType::I64 => unsafe { to.lay(values, |x| x) },
        Data::Integer64(values) => number!(values),
        // SAFETY: as above.
        Data::Complex(values) if dtype == DType::C128 => unsafe {
            to.lay(values, |[re, im]| num_complex::Complex { re, im });
        },
        // SAFETY: as above.
        Data::Complex(values) => unsafe {
            to.lay(values, |[re, im]| num_complex::Complex { re: re as f32, im: im as f32 });
        },
        Data::Compact(values) => {
            // SAFETY: as above; the pieces follow each other.
            return values
                .pieces(|before, piece| unsafe { place(piece, dtype, to.to, shape, start + before) });
        }
    }
    Ok(())
}

struct To<'a> {
    to: *mut u8,
    shape: &'a [i64],
    start: usize,
}

impl To<'_> {
    /// # Safety
    ///
    /// As for [`place`], of elements of type `T`.
    unsafe fn lay<S: Copy, T>(&self, mut values: &[S], convert: impl Fn(S) -> T + Copy) {
        let to: *mut T = self.to.cast();
        // SAFETY: by the caller's promise; all places are inside of the shape.
        unsafe {
            match *self.shape {
                [] | [_] => {
                    for (i, &x) in values.iter().enumerate() {
                        to.add(self.start + i).write(convert(x));
                    }
                }
                [rows, columns] if self.start % (rows as usize).max(1) == 0 => {
                    let (rows, columns) = ((rows as usize).max(1), columns as usize);
                    let (at, whole) = (self.start / rows, values.len() / rows);
                    columns_of(&values[..whole * rows], rows, columns, to.add(at), convert);
                    values = &values[whole * rows..];
                    for (i, &x) in values.iter().enumerate() {
                        to.add(at + whole + i * columns).write(convert(x));
                    }
                }
                _ => runs_of(values, self.shape, self.start, to, convert),
            }
        }
    }
}

/// Whole columns of a matrix, `to` being the place of the first element.
///
/// # Safety
///
/// The rows lie `width` apart, and have room for as many columns.
unsafe fn columns_of<S: Copy, T>(
    values: &[S],
    rows: usize,
    width: usize,
    to: *mut T,
    convert: impl Fn(S) -> T + Copy,
) {
    for first in (0..rows).step_by(ROWS) {
        let last = (first + ROWS).min(rows);
        for (j, column) in values.chunks_exact(rows).enumerate() {
            for (i, &x) in column[first..last].iter().enumerate() {
                // SAFETY: by the caller's promise.
                unsafe { to.add((first + i) * width + j).write(convert(x)) };
            }
        }
    }
}

/// Elements of any shape, run by run along the first dimension.
///
/// # Safety
///
/// As for [`place`].
unsafe fn runs_of<S: Copy, T>(
    mut values: &[S],
    shape: &[i64],
    start: usize,
    to: *mut T,
    convert: impl Fn(S) -> T + Copy,
) {
    let sizes: Vec<usize> = shape.iter().map(|&n| n as usize).collect();
    let mut steps = vec![1; sizes.len()];
    for d in (1..sizes.len()).rev() {
        steps[d - 1] = steps[d] * sizes[d];
    }
    let mut rest = start;
    let mut index: Vec<usize> = sizes
        .iter()
        .map(|&n| {
            let i = rest.checked_rem(n).unwrap_or(0);
            rest = rest.checked_div(n).unwrap_or(0);
            i
        })
        .collect();
    while !values.is_empty() {
        let (run, others) = values.split_at((sizes[0] - index[0]).min(values.len()));
        let at: usize = index.iter().zip(&steps).map(|(i, step)| i * step).sum();
        for (i, &x) in run.iter().enumerate() {
            // SAFETY: by the caller's promise.
            unsafe { to.add(at + i * steps[0]).write(convert(x)) };
        }
        values = others;
        index[0] += run.len();
        for d in 0..sizes.len() - 1 {
            if index[d] == sizes[d] {
                index[d] = 0;
                index[d + 1] += 1;
            }
        }
    }
}
