//! R's vectors in a compact form, whose elements are made on the way to a device.

use std::sync::Arc;

use dispatch_runtime::{Array, DType, Device, HostView};

use super::check::Search;
use super::{Check, fitting, place};
use crate::data::Compact;
use crate::fault::Result;
use crate::memory;
use crate::view::Memory;

/// Makes a vector's elements piece by piece, and puts them into memory that becomes the device's. There are as many as the
/// shape says. `path` is for messages.
pub(super) fn upload(
    values: Compact<'_>,
    dtype: DType,
    shape: &[i64],
    device: Device,
    check: Check,
    path: &str,
) -> Result<Array> {
    fitting(shape, values.len())?;
    let memory = Arc::new(Memory::new(dtype, shape)?);
    values.pieces(|before, piece| {
        check.piece(piece, &Search { dtype, path, before })?;
        // SAFETY: the memory is for the shape, which has as many elements, and nobody else has it. The dtype is allowed, as
        // `upload_data` has found.
        unsafe { place(piece, dtype, memory.data(), shape, before) }
    })?;
    let (array, _) = memory::with_retry(|| {
        // SAFETY: all elements were written; from here on nobody writes to them.
        unsafe {
            let view = HostView::from_raw(dtype, shape, memory.data());
            device.client().adopt(view, Box::new(memory.clone()), device)
        }
    })?;
    Ok(array)
}
