//! Reading a buffer back.

use std::ffi::c_void;
use std::ptr::NonNull;

use super::abi::*;
use super::call::{Plugin, call, destroy_event};
use super::engine::Shared;
use super::layout;
use crate::{DType, Error, Result};

/// Waits for a buffer.
///
/// # Safety
///
/// `buffer` is alive.
pub(super) unsafe fn await_ready(plugin: &Plugin, buffer: NonNull<PJRT_Buffer>) -> Result<()> {
    // SAFETY: the buffer is alive; the event is ours and destroyed once, whether it brings an error or not.
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
/// `buffer` is alive, `aval` is its dtype and shape, and `out` has the size of a dense array of these.
pub(super) unsafe fn read(
    shared: &Shared,
    buffer: NonNull<PJRT_Buffer>,
    (dtype, shape): (DType, &[i64]),
    out: &mut [u8],
) -> Result<()> {
    let plugin = shared.plugin;
    // SAFETY: by the caller's promise.
    unsafe {
        await_ready(plugin, buffer)?;
        if out.is_empty() {
            return Ok(());
        }
        if shared.on_host {
            match read_in_place(plugin, buffer, (dtype, shape), out) {
                // A plugin without these functions copies, as one of another platform does.
                Err(Error::Unimplemented { .. }) => {}
                done => return done,
            }
        }
        read_by_copy(plugin, buffer, (dtype, shape), out)
    }
}

/// A buffer's memory that the plugin neither frees nor gives away while this lives, even if another thread donates the
/// buffer meanwhile.
struct Pinned<'a> {
    plugin: &'a Plugin,
    buffer: NonNull<PJRT_Buffer>,
    data: NonNull<c_void>,
}

impl<'a> Pinned<'a> {
    /// # Safety
    ///
    /// `buffer` is alive and ready, and outlives the pin.
    unsafe fn new(plugin: &'a Plugin, buffer: NonNull<PJRT_Buffer>) -> Result<Pinned<'a>> {
        // SAFETY: the buffer is alive.
        unsafe {
            call!(plugin, PJRT_Buffer_IncreaseExternalReferenceCount { buffer: buffer.as_ptr() })?;
            let mut pinned = Pinned { plugin, buffer, data: NonNull::dangling() };
            let pointer =
                call!(plugin, PJRT_Buffer_OpaqueDeviceMemoryDataPointer { buffer: buffer.as_ptr() })?;
            pinned.data = NonNull::new(pointer.device_memory_ptr)
                .ok_or_else(|| plugin.lacks("a pointer to the memory of a buffer"))?;
            Ok(pinned)
        }
    }
}

impl Drop for Pinned<'_> {
    fn drop(&mut self) {
        // SAFETY: the buffer outlives the pin, which increased the count once. A failure leaves nothing to do.
        let _ = unsafe {
            call!(self.plugin, PJRT_Buffer_DecreaseExternalReferenceCount { buffer: self.buffer.as_ptr() })
        };
    }
}

/// Reads a buffer whose memory is the host's.
///
/// # Safety
///
/// As for [`read`]; the buffer is ready, and `out` is not empty.
unsafe fn read_in_place(
    plugin: &Plugin,
    buffer: NonNull<PJRT_Buffer>,
    (dtype, shape): (DType, &[i64]),
    out: &mut [u8],
) -> Result<()> {
    let item = dtype.size();
    // SAFETY: the pinned memory holds the whole array: dense in some order of its dimensions, or as far as the plugin
    // says, which is compared with what the strides reach.
    unsafe {
        let pinned = Pinned::new(plugin, buffer)?;
        let data: *const u8 = pinned.data.as_ptr().cast();
        // Up to one dimension there is only one order.
        let dense = shape.len() <= 1 || {
            let strides = layout::of(plugin, buffer, shape, item)?;
            let dense = strides == layout::row_major(shape, item);
            if !dense {
                let size = call!(plugin, PJRT_Buffer_OnDeviceSizeInBytes { buffer: buffer.as_ptr() })?;
                if layout::extent(shape, &strides, item) > size.on_device_size_in_bytes {
                    return Err(Error::Plugin {
                        path: plugin.path.clone(),
                        reason: "the layout of a buffer reaches past its memory".into(),
                    });
                }
                layout::gather(data, shape, &strides, item, out);
            }
            dense
        };
        if dense {
            out.as_mut_ptr().copy_from_nonoverlapping(data, out.len());
        }
    }
    Ok(())
}

/// Reads a buffer by `PJRT_Buffer_ToHostBuffer`, which gives the elements in the order in which they are stored: the
/// layout that one may ask for is ignored by some plugins (0.81), so it is not used.
///
/// # Safety
///
/// As for [`read`]; the buffer is ready.
unsafe fn read_by_copy(
    plugin: &Plugin,
    buffer: NonNull<PJRT_Buffer>,
    (dtype, shape): (DType, &[i64]),
    out: &mut [u8],
) -> Result<()> {
    let item = dtype.size();
    // SAFETY: the buffer is alive; the destination has the size that is stated, and lives until the copy is done.
    unsafe {
        let strides = if shape.len() <= 1 {
            layout::row_major(shape, item)
        } else {
            layout::of(plugin, buffer, shape, item)?
        };
        if strides == layout::row_major(shape, item) {
            return copy_stored(plugin, buffer, out);
        }
        let mut stored = vec![0u8; layout::extent(shape, &strides, item)];
        copy_stored(plugin, buffer, &mut stored)?;
        layout::gather(stored.as_ptr(), shape, &strides, item, out);
    }
    Ok(())
}

/// Copies a buffer's bytes as they are stored.
///
/// # Safety
///
/// `buffer` is alive.
unsafe fn copy_stored(plugin: &Plugin, buffer: NonNull<PJRT_Buffer>, out: &mut [u8]) -> Result<()> {
    // SAFETY: the buffer is alive; `out` has the stated size and lives until the event, which is ours, has come.
    unsafe {
        let copy = call!(
            plugin,
            PJRT_Buffer_ToHostBuffer {
                src: buffer.as_ptr(),
                dst: out.as_mut_ptr().cast(),
                dst_size: out.len(),
            }
        )?;
        let done = call!(plugin, PJRT_Event_Await { event: copy.event });
        destroy_event(plugin, copy.event);
        done.map(|_| ())
    }
}
