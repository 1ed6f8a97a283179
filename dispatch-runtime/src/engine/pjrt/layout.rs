//! Where the elements of a buffer lie.

use std::ptr::NonNull;

use super::abi::*;
use super::call::{Plugin, call, slice};
use crate::{Error, Result};

/// The bytes between neighbours along each dimension of a dense row-major array.
pub(super) fn row_major(shape: &[i64], item: usize) -> Vec<i64> {
    let mut strides = vec![0; shape.len()];
    let mut step = item as i64;
    for (stride, &size) in strides.iter_mut().zip(shape).rev() {
        *stride = step;
        step *= size;
    }
    strides
}

/// The same for a dense array whose dimensions are stored in another order, from the fastest to the slowest; `None` if
/// that is no order of the dimensions.
pub(super) fn in_order(shape: &[i64], item: usize, minor_to_major: &[i64]) -> Option<Vec<i64>> {
    let mut strides = vec![None; shape.len()];
    let mut step = item as i64;
    for &dim in minor_to_major {
        let dim = usize::try_from(dim).ok()?;
        if strides.get_mut(dim)?.replace(step).is_some() {
            return None;
        }
        step *= shape[dim];
    }
    strides.into_iter().collect()
}

/// The strides of a buffer in bytes, as the plugin describes its memory.
///
/// # Safety
///
/// `buffer` is alive, and `shape` is its own.
pub(super) unsafe fn of(
    plugin: &Plugin,
    buffer: NonNull<PJRT_Buffer>,
    shape: &[i64],
    item: usize,
) -> Result<Vec<i64>> {
    let cannot =
        |what: &str| Error::Unimplemented { what: format!("reading {what}"), by: "this runtime".into() };
    // SAFETY: the buffer is alive and keeps what its layout refers to; `type` says which member of the union is set.
    let strides = unsafe {
        let layout = call!(plugin, PJRT_Buffer_GetMemoryLayout { buffer: buffer.as_ptr() })?.layout;
        match layout.r#type {
            LAYOUT_TILED => {
                let tiled = layout.layout.tiled;
                if tiled.num_tiles != 0 {
                    return Err(cannot("a buffer with a tiled layout"));
                }
                in_order(shape, item, slice(tiled.minor_to_major, tiled.minor_to_major_size))
            }
            LAYOUT_STRIDES => {
                let strides = layout.layout.strides;
                Some(slice(strides.byte_strides, strides.num_byte_strides).to_vec())
            }
            _ => None,
        }
    };
    strides
        .filter(|strides| strides.len() == shape.len() && strides.iter().all(|&s| s >= 0))
        .ok_or_else(|| cannot("a buffer with an unusual layout"))
}

/// The bytes from the first element to the end of the last one.
pub(super) fn extent(shape: &[i64], strides: &[i64], item: usize) -> usize {
    if shape.contains(&0) {
        return 0;
    }
    let last: i64 = shape.iter().zip(strides).map(|(&size, &stride)| (size - 1) * stride).sum();
    last as usize + item
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::gather_items;

    #[test]
    fn any_order_of_dimensions_is_read_as_row_major() {
        let shape = [2i64, 3, 4];
        let dense: Vec<u16> = (0..24).collect();
        for order in [[2i64, 1, 0], [0, 1, 2], [1, 0, 2], [1, 2, 0], [0, 2, 1], [2, 0, 1]] {
            let strides = in_order(&shape, 2, &order).unwrap();
            let mut stored = [0u16; 24];
            for (n, &value) in dense.iter().enumerate() {
                let index = [n / 12, n / 4 % 3, n % 4];
                let at: i64 = index.iter().zip(&strides).map(|(&i, &s)| i as i64 * s).sum();
                stored[at as usize / 2] = value;
            }
            assert_eq!(extent(&shape, &strides, 2), 48);
            let mut out = vec![0u8; 48];
            // SAFETY: `stored` has the 48 bytes of the extent.
            unsafe { gather_items(stored.as_ptr().cast(), &shape, &strides, 2, out.as_mut_ptr()) };
            let read: Vec<u16> = out.chunks(2).map(|b| u16::from_ne_bytes([b[0], b[1]])).collect();
            assert_eq!(read, dense, "{order:?}");
        }
        assert_eq!(in_order(&shape, 2, &[2, 1, 0]).unwrap(), row_major(&shape, 2));
    }

    #[test]
    fn scalars_and_empty_arrays_have_an_extent() {
        assert_eq!(extent(&[], &[], 8), 8);
        assert_eq!(extent(&[0, 3], &[4, 0], 4), 0);
    }

    #[test]
    fn an_order_that_is_none_is_refused() {
        for order in [&[0i64, 0][..], &[0], &[0, 2], &[-1, 0], &[0, 1, 1]] {
            assert_eq!(in_order(&[2, 2], 4, order), None, "{order:?}");
        }
    }
}
