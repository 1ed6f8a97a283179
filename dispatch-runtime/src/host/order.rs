//! Column-major data, which R and Fortran have, to row-major and back.
//!
//! One side is read along its rows and the other is written along its columns, so a tile at a time is turned in a small
//! buffer: every cache line is then read and written as a whole.

use std::mem::MaybeUninit;

/// The edge of a tile. 32 elements of 8 bytes fill four cache lines.
const TILE: usize = 32;

/// Writes dense row-major elements in column-major order, each as `convert` makes it.
///
/// # Safety
///
/// `from` points to as many elements as the shape says, `to` to room for as many, and the two do not overlap.
pub unsafe fn to_column_major<S: Copy, T: Copy>(
    from: *const S,
    shape: &[i64],
    to: *mut T,
    convert: impl Fn(S) -> T + Copy,
) {
    // SAFETY: by the caller's promise.
    unsafe { turn(from, &sizes(shape), to, convert) }
}

/// Writes dense column-major elements in row-major order, each as `convert` makes it.
///
/// # Safety
///
/// As for [`to_column_major`].
pub unsafe fn to_row_major<S: Copy, T: Copy>(
    from: *const S,
    shape: &[i64],
    to: *mut T,
    convert: impl Fn(S) -> T + Copy,
) {
    // Column-major data of a shape is row-major data of the shape read backwards.
    let mut sizes = sizes(shape);
    sizes.reverse();
    // SAFETY: by the caller's promise.
    unsafe { turn(from, &sizes, to, convert) }
}

/// The sizes without those of 1, which make no difference to the order.
fn sizes(shape: &[i64]) -> Vec<usize> {
    shape.iter().filter(|&&n| n != 1).map(|&n| n as usize).collect()
}

/// # Safety
///
/// As for [`to_column_major`].
unsafe fn turn<S: Copy, T: Copy>(
    from: *const S,
    sizes: &[usize],
    to: *mut T,
    convert: impl Fn(S) -> T + Copy,
) {
    let (first, middle, last) = match sizes {
        [] | [_] => {
            let n = sizes.first().map_or(1, |&n| n);
            // SAFETY: there are as many elements on both sides.
            (0..n).for_each(|i| unsafe { to.add(i).write(convert(from.add(i).read())) });
            return;
        }
        [first, middle @ .., last] => (*first, middle, *last),
    };
    let between: usize = middle.iter().product();
    if first * between * last == 0 {
        return;
    }
    // The distances between neighbours along the first dimension of the source and the last one of the result.
    let (from_step, to_step) = (between * last, first * between);
    for l in (0..last).step_by(TILE) {
        let width = TILE.min(last - l);
        for f in (0..first).step_by(TILE) {
            let height = TILE.min(first - f);
            // The index of each dimension between, the foremost running fastest.
            let mut index = vec![0usize; middle.len()];
            for _ in 0..between {
                let (mut from_at, mut to_at, mut step) = (0, 0, first);
                for (&i, &n) in index.iter().zip(middle) {
                    from_at = from_at * n + i;
                    to_at += i * step;
                    step *= n;
                }
                // SAFETY: the tile lies inside the array on both sides.
                unsafe {
                    tile(
                        from.add(f * from_step + from_at * last + l),
                        from_step,
                        to.add(f + to_at + l * to_step),
                        to_step,
                        (height, width),
                        convert,
                    );
                }
                for (i, &n) in index.iter_mut().zip(middle) {
                    *i += 1;
                    if *i < n {
                        break;
                    }
                    *i = 0;
                }
            }
        }
    }
}

/// Turns one tile of `height` rows of `width` elements.
///
/// # Safety
///
/// Element `(i, j)` is at `i * from_step + j` of the source, and has room at `i + j * to_step` of the result, for all
/// `i` below `height` and `j` below `width`, which are at most [`TILE`].
#[inline(always)]
unsafe fn tile<S: Copy, T: Copy>(
    from: *const S,
    from_step: usize,
    to: *mut T,
    to_step: usize,
    (height, width): (usize, usize),
    convert: impl Fn(S) -> T + Copy,
) {
    let mut turned = [[const { MaybeUninit::<T>::uninit() }; TILE]; TILE];
    // SAFETY: by the caller's promise; what is copied out was written before.
    unsafe {
        if (height, width) == (TILE, TILE) {
            // The same with sizes that the compiler knows.
            for i in 0..TILE {
                for (j, column) in turned.iter_mut().enumerate() {
                    column[i].write(convert(from.add(i * from_step + j).read()));
                }
            }
            for (j, column) in turned.iter().enumerate() {
                to.add(j * to_step).copy_from_nonoverlapping(column.as_ptr().cast(), TILE);
            }
            return;
        }
        for i in 0..height {
            for (j, column) in turned[..width].iter_mut().enumerate() {
                column[i].write(convert(from.add(i * from_step + j).read()));
            }
        }
        for (j, column) in turned[..width].iter().enumerate() {
            to.add(j * to_step).copy_from_nonoverlapping(column.as_ptr().cast(), height);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{HostArray, HostView};

    /// The elements of a row-major array in column-major order, one by one.
    fn slowly(from: &[u32], shape: &[i64]) -> Vec<u32> {
        let mut out = vec![0; from.len()];
        for (n, &value) in from.iter().enumerate() {
            let (mut rest, mut at, mut size) = (n as i64, 0, from.len() as i64);
            for &dim in shape.iter().rev() {
                size /= dim;
                at += (rest % dim) * size;
                rest /= dim;
            }
            out[at as usize] = value;
        }
        out
    }

    #[test]
    fn any_shape_goes_there_and_back() {
        let shapes: &[&[i64]] = &[
            &[],
            &[7],
            &[2, 3],
            &[1, 5],
            &[5, 1],
            &[32, 32],
            &[33, 65],
            &[64, 31],
            &[2, 3, 4],
            &[40, 3, 50],
            &[1, 40, 1, 37, 1],
            &[3, 1, 2, 5, 2],
            &[0, 3],
            &[3, 0, 2],
        ];
        for &shape in shapes {
            let len = shape.iter().product::<i64>() as usize;
            let from: Vec<u32> = (0..len as u32).collect();
            let mut column_major = vec![0u64; len];
            // SAFETY: both have as many elements as the shape says.
            unsafe { to_column_major(from.as_ptr(), shape, column_major.as_mut_ptr(), u64::from) };
            let expected: Vec<u64> = slowly(&from, shape).into_iter().map(u64::from).collect();
            assert_eq!(column_major, expected, "{shape:?}");
            let mut back = vec![0u32; len];
            // SAFETY: as above.
            unsafe { to_row_major(column_major.as_ptr(), shape, back.as_mut_ptr(), |x| x as u32) };
            assert_eq!(back, from, "{shape:?}");
        }
    }

    #[test]
    fn an_array_is_made_of_column_major_data() {
        let data = [1f32, 2.0, 3.0, 4.0, 5.0, 6.0];
        let array = HostArray::from_column_major(HostView::new(&data, &[2, 3]).unwrap());
        assert_eq!(array.as_slice::<f32>().unwrap(), [1.0, 3.0, 5.0, 2.0, 4.0, 6.0]);
        let data = [true, false, true, true];
        let array = HostArray::from_column_major(HostView::new(&data, &[2, 2]).unwrap());
        assert_eq!(array.as_slice::<bool>().unwrap(), [true, true, false, true]);
    }
}
