//! Where the elements of a shape lie, counted in elements: one stride for each dimension, and an offset.
//!
//! Layouts have one form each, so that equal ones compare equal. Along a dimension of size 1 nobody steps: its stride is
//! the one that it has in row-major order. Where there are no elements nothing lies anywhere. What is row-major and begins
//! at the first element of the data is *dense*, however its strides were written.

use smallvec::SmallVec;

use crate::DType;
use crate::aval::{is_array_shape, shape_text};

/// So many dimensions have room without an allocation.
pub(crate) const NEAR: usize = 6;

/// A number for each dimension.
pub(crate) type Strides = SmallVec<[i64; NEAR]>;

/// The strides of a dense row-major array.
pub(crate) fn row_major(shape: &[i64]) -> Strides {
    let mut strides = Strides::from_elem(1, shape.len());
    fill(strides.iter_mut().zip(shape).rev());
    strides
}

/// Those where the first index runs fastest.
pub(crate) fn column_major(shape: &[i64]) -> Strides {
    let mut strides = Strides::from_elem(1, shape.len());
    fill(strides.iter_mut().zip(shape));
    strides
}

fn fill<'a>(dims: impl Iterator<Item = (&'a mut i64, &'a i64)>) {
    let mut step = 1i64;
    for (stride, &size) in dims {
        *stride = step;
        step = step.saturating_mul(size);
    }
}

/// From elements to bytes, for strides inside of data that is there.
pub(crate) fn scale(strides: &mut Strides, item: usize) {
    strides.iter_mut().for_each(|stride| *stride *= item as i64);
}

/// The one form of a layout that [is one](check); none if it is dense.
pub(crate) fn canonical(shape: &[i64], strides: &[i64], offset: usize) -> Option<(Strides, usize)> {
    if shape.contains(&0) {
        return None;
    }
    let dense = row_major(shape);
    let strides: Strides =
        (shape.iter().zip(strides).zip(&dense)).map(|((&n, &s), &d)| if n == 1 { d } else { s }).collect();
    (offset != 0 || strides != dense).then_some((strides, offset))
}

/// Why these are no strides and offset for the shape, as what was expected and what came; `len` is the number of elements
/// of the data, where there is some.
pub(crate) fn check(
    dtype: DType,
    shape: &[i64],
    strides: &[i64],
    offset: usize,
    len: Option<usize>,
) -> Result<(), (String, String)> {
    if strides.len() != shape.len() {
        let expected = format!("one stride for each dimension of {}", shape_text(shape));
        return Err((expected, shape_text(strides)));
    }
    // The most elements that any data has.
    let most = isize::MAX as usize / dtype.size();
    let expected = || match len {
        Some(len) => format!("strides and an offset inside of {}", crate::error::counted(len, "element")),
        None => "strides and an offset inside of some data".to_owned(),
    };
    let end = len.unwrap_or(most).min(most) as i128;
    if shape.contains(&0) {
        return match offset as i128 <= end {
            true => Ok(()),
            false => Err((expected(), format!("offset {offset}"))),
        };
    }
    debug_assert!(is_array_shape(dtype, shape));
    // No step of a shape's product of sizes is further than 2^63, so the sums stay below 2^127.
    let (mut lowest, mut highest) = (offset as i128, offset as i128);
    for (&size, &stride) in shape.iter().zip(strides) {
        let reach = (size as i128 - 1) * stride as i128;
        *(if reach < 0 { &mut lowest } else { &mut highest }) += reach;
    }
    let wrong = match () {
        _ if lowest < 0 => lowest,
        _ if highest >= end => highest,
        _ => return Ok(()),
    };
    let came = format!("strides {} from offset {offset}, which reach element {wrong}", shape_text(strides));
    Err((expected(), came))
}

/// `row-major`, or `strides [1,2]`, `strides [6,1] from offset 3`: a layout in messages.
pub(crate) fn text(layout: Option<(&[i64], usize)>) -> String {
    match layout {
        None => "row-major data".into(),
        Some((strides, 0)) => format!("strides {}", shape_text(strides)),
        Some((strides, offset)) => format!("strides {} from offset {offset}", shape_text(strides)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_layout_has_one_form() {
        let canonical = |shape: &[i64], strides: &[i64], offset| {
            canonical(shape, strides, offset).map(|(strides, offset)| (strides.to_vec(), offset))
        };
        assert_eq!(canonical(&[2, 3], &[3, 1], 0), None);
        assert_eq!(canonical(&[2, 3], &[3, 1], 4), Some((vec![3, 1], 4)));
        assert_eq!(canonical(&[2, 3], &[1, 2], 0), Some((vec![1, 2], 0)));
        // Nobody steps along a size of 1.
        assert_eq!(canonical(&[2, 1, 3], &[3, -77, 1], 0), None);
        assert_eq!(canonical(&[2, 1, 3], &[1, i64::MIN, 2], 0), canonical(&[2, 1, 3], &[1, 0, 2], 0));
        assert_eq!(canonical(&[1, 1], &[5, 5], 0), None);
        assert_eq!(canonical(&[], &[], 0), None);
        assert_eq!(canonical(&[], &[], 2), Some((vec![], 2)));
        // Where there are no elements.
        assert_eq!(canonical(&[2, 0], &[9, 9], 7), None);
    }

    #[test]
    fn what_reaches_out_of_the_data_is_no_layout() {
        let ok = |shape: &[i64], strides: &[i64], offset, len| {
            check(DType::F32, shape, strides, offset, Some(len)).is_ok()
        };
        assert!(ok(&[2, 3], &[3, 1], 0, 6) && !ok(&[2, 3], &[3, 1], 1, 6) && !ok(&[2, 3], &[3, 1], 0, 5));
        assert!(ok(&[3], &[-1], 2, 3) && !ok(&[3], &[-1], 1, 3) && !ok(&[3], &[-1], 3, 3));
        assert!(ok(&[2, 2], &[-2, 1], 2, 4) && !ok(&[2, 2], &[-2, 1], 1, 4));
        assert!(ok(&[1 << 40], &[0], 0, 1) && !ok(&[1 << 40], &[0], 0, 0));
        assert!(ok(&[], &[], 2, 3) && !ok(&[], &[], 3, 3) && !ok(&[], &[], usize::MAX, 3));
        assert!(ok(&[0, 4], &[i64::MAX, i64::MIN], 3, 3) && !ok(&[0], &[1], 4, 3));
        assert!(!ok(&[2], &[i64::MIN], 0, 3) && !ok(&[2], &[i64::MAX], usize::MAX, 3));
        assert!(!ok(&[1 << 60], &[i64::MIN], usize::MAX, usize::MAX));
        assert!(ok(&[1], &[i64::MIN], 0, 1));
        assert!(!ok(&[2], &[1, 1], 0, 9) && !ok(&[2, 2], &[1], 0, 9));
        // Without data, as much as any could have.
        let free = |strides: &[i64], offset| check(DType::F64, &[2], strides, offset, None).is_ok();
        assert!(free(&[1 << 50], 0) && !free(&[1 << 61], 0) && !free(&[-1], 0) && !free(&[1], usize::MAX));
    }
}
