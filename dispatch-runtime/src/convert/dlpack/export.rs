//! Arrays for other libraries.

use std::ptr::NonNull;

use super::super::room::Room;
use super::abi::{CPU, DLDevice, DLManagedTensorVersioned, DLPackVersion, DLTensor, IS_COPIED};
use super::elements::code_of;
use crate::{Array, DType, HostArray, Result};

/// An array for another library: a copy, that library's own. Who takes it calls its deleter, once.
///
/// # Errors
///
/// The array cannot be read.
pub fn export(array: &Array) -> Result<NonNull<DLManagedTensorVersioned>> {
    Ok(exported(array.with_bytes(Room::of)?, array.dtype(), array.shape()))
}

/// An array of the host for another library, which gets its memory: nothing is copied. Who takes it calls the deleter, once.
///
/// The data begins at a multiple of 16 bytes. What [`export`] copies does at one of 256.
///
/// ```
/// use dispatch_runtime::HostArray;
/// use dispatch_runtime::convert::dlpack;
///
/// let array = HostArray::new([1f32, 2.0], [2])?;
/// let memory = array.bytes().as_ptr();
/// let exported = dlpack::export_host(array);
/// // SAFETY: it is exported for us.
/// unsafe {
///     assert_eq!(exported.as_ref().dl_tensor.data.cast_const().cast(), memory);
///     drop(dlpack::Tensor::from_raw(exported)?);
/// }
/// # Ok::<(), dispatch_runtime::Error>(())
/// ```
pub fn export_host(array: HostArray) -> NonNull<DLManagedTensorVersioned> {
    let (dtype, shape) = (array.dtype(), Box::from(array.shape()));
    exported(Room::Given(array), dtype, &shape)
}

/// A row-major tensor of these elements, which belong to it alone.
fn exported(room: Room, dtype: DType, shape: &[i64]) -> NonNull<DLManagedTensorVersioned> {
    let mut step = 1;
    let mut strides: Vec<i64> = shape.iter().rev().map(|n| (step, step *= n.max(&1)).0).collect();
    strides.reverse();
    let exported =
        Box::leak(Box::new(Exported { room, shape: shape.into(), strides: strides.into(), managed: None }));
    let dl_tensor = DLTensor {
        data: exported.room.as_mut_ptr().cast(),
        device: DLDevice { device_type: CPU, device_id: 0 },
        ndim: shape.len() as i32,
        dtype: code_of(dtype),
        shape: exported.shape.as_mut_ptr(),
        strides: exported.strides.as_mut_ptr(),
        byte_offset: 0,
    };
    let this: *mut Exported = exported;
    // SAFETY: it was just leaked, and nobody else has it.
    let managed = unsafe {
        (*this).managed.insert(DLManagedTensorVersioned {
            version: DLPackVersion { major: 1, minor: 0 },
            manager_ctx: this.cast(),
            deleter: Some(delete),
            // The one who takes it may write to it, since nobody else has the memory.
            flags: IS_COPIED,
            dl_tensor,
        })
    };
    NonNull::from(managed)
}

/// What is exported, until its deleter is called.
struct Exported {
    room: Room,
    shape: Box<[i64]>,
    strides: Box<[i64]>,
    managed: Option<DLManagedTensorVersioned>,
}

/// # Safety
///
/// `managed` is from [`export`] or [`export_host`], and this is its end.
unsafe extern "C" fn delete(managed: *mut DLManagedTensorVersioned) {
    // SAFETY: by the caller's promise the context is what `exported` leaked.
    drop(unsafe { Box::from_raw((*managed).manager_ctx.cast::<Exported>()) });
}
