//! Arrays for other libraries.

use std::ptr::NonNull;

use super::super::room::Room;
use super::abi::{CPU, DLDevice, DLManagedTensorVersioned, DLPackVersion, DLTensor, IS_COPIED};
use super::elements::code_of;
use crate::{Array, Result};

/// An array for another library: a copy, that library's own. Who takes it calls its deleter, once.
///
/// # Errors
///
/// The array cannot be read.
pub fn export(array: &Array) -> Result<NonNull<DLManagedTensorVersioned>> {
    let room = array.with_bytes(Room::of)?;
    let mut step = 1;
    let mut strides: Vec<i64> = array.shape().iter().rev().map(|n| (step, step *= n.max(&1)).0).collect();
    strides.reverse();
    let exported = Box::leak(Box::new(Exported {
        room,
        shape: array.shape().into(),
        strides: strides.into(),
        managed: None,
    }));
    let dl_tensor = DLTensor {
        data: exported.room.as_mut_ptr().cast(),
        device: DLDevice { device_type: CPU, device_id: 0 },
        ndim: array.rank() as i32,
        dtype: code_of(array.dtype()),
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
            flags: IS_COPIED,
            dl_tensor,
        })
    };
    Ok(NonNull::from(managed))
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
/// `managed` is from [`export`], and this is its end.
unsafe extern "C" fn delete(managed: *mut DLManagedTensorVersioned) {
    // SAFETY: by the caller's promise the context is what `export` leaked.
    drop(unsafe { Box::from_raw((*managed).manager_ctx.cast::<Exported>()) });
}
