//! Reading a buffer back.

use std::ptr::NonNull;

use super::abi::*;
use super::call::{Plugin, call, destroy_event};
use super::engine::Shared;
use crate::{DType, Result};

/// Waits for a buffer.
///
/// # Safety
///
/// `buffer` is alive.
pub(super) unsafe fn await_ready(plugin: &Plugin, buffer: NonNull<PJRT_Buffer>) -> Result<()> {
    // SAFETY: the buffer is alive; the event is ours.
    unsafe {
        let event = call!(plugin, PJRT_Buffer_ReadyEvent { buffer: buffer.as_ptr() })?.event;
        let ready = call!(plugin, PJRT_Event_Await { event: event });
        destroy_event(plugin, event);
        ready.map(|_| ())
    }
}

/// Waits for a buffer and copies it to `out`, dense and row-major.
///
/// # Safety
///
/// `buffer` is alive, and `aval` is its dtype and shape.
pub(super) unsafe fn read(
    shared: &Shared,
    buffer: NonNull<PJRT_Buffer>,
    aval: (DType, &[i64]),
    out: &mut [u8],
) -> Result<()> {
    let _ = aval;
    let plugin = shared.plugin;
    // SAFETY: the buffer is alive, its memory is the host's, and it has as many bytes as `out`.
    unsafe {
        await_ready(plugin, buffer)?;
        let data = call!(plugin, PJRT_Buffer_OpaqueDeviceMemoryDataPointer { buffer: buffer.as_ptr() })?;
        if !out.is_empty() {
            out.as_mut_ptr().copy_from_nonoverlapping(data.device_memory_ptr.cast(), out.len());
        }
    }
    Ok(())
}
