//! Elements that lie in any order, to dense row-major ones.
//!
//! Where neighbours of the result are far from each other in the source, both are walked by tiles that are turned in a
//! small buffer: one side is read along its own neighbours and the other is written along its own, so every cache line
//! is read and written as a whole. Column-major data, which R and Fortran have, is such a source.

use std::mem::MaybeUninit;

use smallvec::SmallVec;

use super::layout;

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
    // Column-major data of a shape is row-major data of the shape read backwards.
    let mut strides = layout::row_major(shape);
    let mut sizes = SmallVec::<[i64; layout::NEAR]>::from_slice(shape);
    strides.reverse();
    sizes.reverse();
    layout::scale(&mut strides, size_of::<S>());
    // SAFETY: by the caller's promise.
    unsafe { gather(from, &sizes, &strides, to, convert) }
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
    let mut strides = layout::column_major(shape);
    layout::scale(&mut strides, size_of::<S>());
    // SAFETY: by the caller's promise.
    unsafe { gather(from, shape, &strides, to, convert) }
}

/// Writes the elements of a shape dense and row-major, each as `convert` makes it; in the source, neighbours along each
/// dimension lie so many bytes apart, and `from` is the one whose indices are all 0.
///
/// # Safety
///
/// Each element of the shape can be read where the strides say, aligned or not; `to` is room for as many, aligned, which
/// overlaps none of them.
pub(crate) unsafe fn gather<S: Copy, T: Copy>(
    from: *const S,
    shape: &[i64],
    strides: &[i64],
    to: *mut T,
    convert: impl Fn(S) -> T + Copy,
) {
    if shape.contains(&0) {
        return;
    }
    let dims = dims(shape, strides);
    // SAFETY: by the caller's promise; the dimensions name the same elements in the same order.
    unsafe {
        let Some((&last, outer)) = dims.split_last() else {
            return to.write(convert(from.read_unaligned()));
        };
        let closest = (0..outer.len()).min_by_key(|&d| outer[d].stride.unsigned_abs());
        match closest.filter(|&d| outer[d].stride.unsigned_abs() < last.stride.unsigned_abs()) {
            Some(d) => tiles(from, &dims, d, to, convert),
            None => rows(from, outer, last, to, convert),
        }
    }
}

/// [`gather`] for items that are only copied, by their size in bytes.
///
/// # Safety
///
/// As for [`gather`], but `to` need not be aligned.
pub(crate) unsafe fn gather_items(from: *const u8, shape: &[i64], strides: &[i64], item: usize, to: *mut u8) {
    macro_rules! copy {
        ($item:literal) => {
            // SAFETY: by the caller's promise; bytes are aligned everywhere.
            unsafe { gather(from.cast::<[u8; $item]>(), shape, strides, to.cast::<[u8; $item]>(), |x| x) }
        };
    }
    match item {
        1 => copy!(1),
        2 => copy!(2),
        4 => copy!(4),
        8 => copy!(8),
        _ => {
            debug_assert_eq!(item, 16);
            copy!(16);
        }
    }
}

/// One dimension of the source: its size, and the bytes between neighbours.
#[derive(Clone, Copy)]
struct Dim {
    size: usize,
    stride: isize,
}

/// The dimensions without those of size 1, neighbours joined where one goes on where the other ends.
fn dims(shape: &[i64], strides: &[i64]) -> SmallVec<[Dim; layout::NEAR]> {
    let mut dims: SmallVec<[Dim; layout::NEAR]> = SmallVec::new();
    for (&size, &stride) in shape.iter().zip(strides) {
        let dim = Dim { size: size as usize, stride: stride as isize };
        match dims.last_mut() {
            _ if size == 1 => {}
            Some(outer) if dim.stride.checked_mul(size as isize) == Some(outer.stride) => {
                *outer = Dim { size: outer.size * dim.size, stride: dim.stride };
            }
            _ => dims.push(dim),
        }
    }
    dims
}

/// Calls with the byte offset in the source of each combination of indices, the last one running fastest.
#[inline(always)]
fn each(dims: &[Dim], mut call: impl FnMut(isize, &[usize])) {
    let mut index: SmallVec<[usize; layout::NEAR]> = SmallVec::from_elem(0, dims.len());
    let mut at = 0isize;
    loop {
        call(at, &index);
        let mut d = dims.len();
        loop {
            if d == 0 {
                return;
            }
            d -= 1;
            index[d] += 1;
            at += dims[d].stride;
            if index[d] < dims[d].size {
                break;
            }
            at -= dims[d].stride * dims[d].size as isize;
            index[d] = 0;
        }
    }
}

/// Row by row of the result.
///
/// # Safety
///
/// As for [`gather`].
unsafe fn rows<S: Copy, T: Copy>(
    from: *const S,
    outer: &[Dim],
    Dim { size, stride }: Dim,
    mut to: *mut T,
    convert: impl Fn(S) -> T + Copy,
) {
    each(outer, |at, _| {
        // SAFETY: by the caller's promise, `at` and `i` name an element; as many were written as come before it.
        unsafe {
            let row = from.byte_offset(at);
            if stride == size_of::<S>() as isize {
                // The same with a step that the compiler knows.
                (0..size).for_each(|i| to.add(i).write(convert(row.add(i).read_unaligned())));
            } else {
                let mut element = row;
                for i in 0..size {
                    to.add(i).write(convert(element.read_unaligned()));
                    element = element.wrapping_byte_offset(stride);
                }
            }
            to = to.add(size);
        }
    });
}

/// By tiles over the last dimension and the one whose neighbours are closest to each other in the source.
///
/// # Safety
///
/// As for [`gather`].
unsafe fn tiles<S: Copy, T: Copy>(
    from: *const S,
    dims: &[Dim],
    closest: usize,
    to: *mut T,
    convert: impl Fn(S) -> T + Copy,
) {
    let last = dims.len() - 1;
    // The distances of neighbours in the result, in elements.
    let mut steps: SmallVec<[usize; layout::NEAR]> = SmallVec::from_elem(1, dims.len());
    for d in (0..last).rev() {
        steps[d] = steps[d + 1] * dims[d + 1].size;
    }
    let between: SmallVec<[usize; layout::NEAR]> = (0..last).filter(|&d| d != closest).collect();
    let (between_dims, between_steps): (SmallVec<[Dim; layout::NEAR]>, SmallVec<[usize; layout::NEAR]>) =
        between.iter().map(|&d| (dims[d], steps[d])).unzip();
    let (along, across) = (dims[closest], dims[last]);
    for j in (0..along.size).step_by(TILE) {
        let width = TILE.min(along.size - j);
        for i in (0..across.size).step_by(TILE) {
            let height = TILE.min(across.size - i);
            each(&between_dims, |at, index| {
                let room: usize = index.iter().zip(&between_steps).map(|(i, step)| i * step).sum();
                let at = at + j as isize * along.stride + i as isize * across.stride;
                // SAFETY: the tile lies inside the array on both sides.
                unsafe {
                    let from = from.byte_offset(at);
                    let to = to.add(room + j * steps[closest] + i);
                    let size = (height, width);
                    let unit = size_of::<S>() as isize;
                    // The usual step is one that the compiler knows.
                    if along.stride == unit {
                        tile(from, across.stride, unit, to, steps[closest], size, convert);
                    } else {
                        tile(from, across.stride, along.stride, to, steps[closest], size, convert);
                    }
                }
            });
        }
    }
}

/// Turns one tile of `height` rows of `width` elements.
///
/// # Safety
///
/// Element `(i, j)` is `i * row + j * column` bytes into the source, and has room at `i + j * step` of the result, for
/// all `i` below `height` and `j` below `width`, which are at most [`TILE`].
#[inline(always)]
unsafe fn tile<S: Copy, T: Copy>(
    from: *const S,
    row: isize,
    column: isize,
    to: *mut T,
    step: usize,
    (height, width): (usize, usize),
    convert: impl Fn(S) -> T + Copy,
) {
    let mut turned = [[const { MaybeUninit::<T>::uninit() }; TILE]; TILE];
    // SAFETY: by the caller's promise; what is copied out was written before.
    unsafe {
        let read = |i: usize, j: usize| {
            convert(from.byte_offset(i as isize * row + j as isize * column).read_unaligned())
        };
        if (height, width) == (TILE, TILE) {
            // The same with sizes that the compiler knows.
            for i in 0..TILE {
                for (j, column) in turned.iter_mut().enumerate() {
                    column[i].write(read(i, j));
                }
            }
            for (j, column) in turned.iter().enumerate() {
                to.add(j * step).copy_from_nonoverlapping(column.as_ptr().cast(), TILE);
            }
            return;
        }
        for i in 0..height {
            for (j, column) in turned[..width].iter_mut().enumerate() {
                column[i].write(read(i, j));
            }
        }
        for (j, column) in turned[..width].iter().enumerate() {
            to.add(j * step).copy_from_nonoverlapping(column.as_ptr().cast(), height);
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
        let array = HostArray::from_view(HostView::column_major(&data, &[2, 3]).unwrap());
        assert_eq!(array.as_slice::<f32>().unwrap(), [1.0, 3.0, 5.0, 2.0, 4.0, 6.0]);
        let data = [true, false, true, true];
        let array = HostArray::from_view(HostView::column_major(&data, &[2, 2]).unwrap());
        assert_eq!(array.as_slice::<bool>().unwrap(), [true, true, false, true]);
    }

    #[test]
    fn strides_of_any_kind_and_unaligned_items_are_gathered() {
        let bytes: Vec<u8> = (0..=255).collect();
        let slowly = |shape: &[i64; 3], strides: &[i64; 3], at: i64| {
            let mut out = Vec::new();
            for i in 0..shape[0] {
                for j in 0..shape[1] {
                    for k in 0..shape[2] {
                        let from = (at + i * strides[0] + j * strides[1] + k * strides[2]) as usize;
                        out.push(u16::from_ne_bytes([bytes[from], bytes[from + 1]]));
                    }
                }
            }
            out
        };
        let cases: [([i64; 3], [i64; 3], i64); 7] = [
            ([2, 3, 4], [24, 8, 2], 0),
            ([2, 3, 4], [2, 4, 12], 1),
            ([2, 3, 4], [-24, -8, -2], 60),
            ([40, 2, 35], [1, 40, 3], 7),
            ([5, 5, 5], [0, 0, 0], 3),
            ([4, 1, 6], [3, 77, -5], 101),
            ([3, 33, 2], [0, 2, -70], 180),
        ];
        for (shape, strides, at) in cases {
            let expected = slowly(&shape, &strides, at);
            let mut out = vec![0u16; expected.len()];
            // SAFETY: `slowly` has read the same items by indices.
            unsafe {
                gather_items(bytes.as_ptr().add(at as usize), &shape, &strides, 2, out.as_mut_ptr().cast());
            }
            assert_eq!(out, expected, "{shape:?} {strides:?} {at}");
        }
    }
}
