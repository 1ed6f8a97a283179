//! Buffers in the memory of the host's own data.
//!
//! What the plugins 0.81, 0.106 and 0.115 do with `kImmutableZeroCopy`, as `tests/tests/pjrt_share.rs` finds it: dense data
//! that is aligned to 64 bytes becomes the buffer's memory, without being touched; the done event comes when the buffer is
//! gone and no execution reads it any more. A program that consumes such a buffer gets a copy of it from all three; since
//! nothing says that plugins must, `Array` lets nobody donate one.

use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;

use super::abi::*;
use super::call::{Plugin, call, destroy_event, function};
use super::codes;
use super::engine::Shared;
use crate::Result;
use crate::engine::RawBuffer;
use crate::host::{HostView, Owner};

/// What an address must be a multiple of for the plugin to take the memory as it is; none if it does not, or could not say
/// when it is done with it.
pub(super) fn alignment(shared: &Shared) -> Option<usize> {
    let plugin = shared.plugin;
    (shared.on_host && function!(plugin, PJRT_Event_OnReady).is_ok()).then_some(64)
}

/// Whether the memory of this data can become a buffer's.
pub(super) fn is_possible(shared: &Shared, host: &HostView<'_>) -> bool {
    let aligned = |to| host.as_ptr() as usize % to == 0;
    host.is_dense() && host.len() > 0 && alignment(shared).is_some_and(aligned)
}

/// A buffer whose memory is that of the data, if the plugin takes it so; else one with a copy, which the answer says. The
/// owner is dropped once the plugin needs the data no more, and before this returns if there is an error.
///
/// # Safety
///
/// The data stays where it is, and as it is, until the owner is dropped. [`is_possible`] says so.
pub(super) unsafe fn share(
    shared: &Shared,
    host: HostView<'_>,
    owner: Box<dyn Owner>,
    device: NonNull<PJRT_Device>,
) -> Result<(RawBuffer, bool)> {
    let plugin = shared.plugin;
    // SAFETY: the shape lives during the call, the data for as long as the owner, which the event below ends.
    let made = unsafe {
        call!(
            plugin,
            PJRT_Client_BufferFromHostBuffer {
                client: shared.client.as_ptr(),
                data: host.as_ptr().cast(),
                r#type: codes::buffer_type(host.dtype()),
                dims: host.shape().as_ptr(),
                num_dims: host.shape().len(),
                host_buffer_semantics: IMMUTABLE_ZERO_COPY,
                device: device.as_ptr(),
            }
        )
    }?;
    let buffer = super::engine::given(plugin, made.buffer, "PJRT_Client_BufferFromHostBuffer");
    let event = made.done_with_host_buffer;
    let lent = Box::into_raw(Box::new(Lent { plugin, owner }));
    let asked = match event.is_null() {
        true => Err(plugin.broken("PJRT_Client_BufferFromHostBuffer gave no event")),
        // SAFETY: the event is ours and asked before it is ended. The callback is called once, and owns what is lent.
        false => unsafe {
            call!(plugin, PJRT_Event_OnReady { event: event, callback: Some(done), user_arg: lent.cast() })
                .map(drop)
        },
    };
    match (buffer, asked) {
        (Ok(buffer), Ok(())) => {
            destroy_event(plugin, event);
            // SAFETY: the buffer is alive.
            let at = unsafe {
                call!(plugin, PJRT_Buffer_OpaqueDeviceMemoryDataPointer { buffer: buffer.0.as_ptr().cast() })
            };
            // Who cannot say where the memory is may have taken ours: then it is not to be written to.
            let taken = at.map_or(true, |at| std::ptr::eq(at.device_memory_ptr.cast(), host.as_ptr()));
            Ok((buffer, taken))
        }
        (buffer, asked) => {
            if let Ok(buffer) = buffer {
                // SAFETY: the buffer is ours, and nobody else knows of it.
                unsafe { shared.destroy(buffer) };
            }
            if asked.is_err() {
                // SAFETY: nobody will call back; the event says when the data is free, now that the buffer is gone.
                unsafe {
                    if !event.is_null() {
                        let _ = call!(plugin, PJRT_Event_Await { event: event });
                    }
                    drop_lent(*Box::from_raw(lent));
                }
            }
            destroy_event(plugin, event);
            buffer.and_then(|_| asked.map(|()| unreachable!("one of them failed")))
        }
    }
}

/// What is lent to a plugin until it says that it is done.
struct Lent {
    plugin: &'static Plugin,
    owner: Box<dyn Owner>,
}

/// What the plugin calls when it is done with the data: on any thread.
///
/// # Safety
///
/// `lent` is a `Box<Lent>`, and `error` null or ours to end.
unsafe extern "C" fn done(error: *mut PJRT_Error, lent: *mut c_void) {
    // SAFETY: by the caller's promise.
    let lent = unsafe { Box::from_raw(lent.cast::<Lent>()) };
    // Done it is, with an error too; that of the data appears where the buffer is used.
    let _ = lent.plugin.check("PJRT_Client_BufferFromHostBuffer", error);
    drop_lent(*lent);
}

/// Gives the data back to its owner. A panic of that must not reach the plugin, and there is nobody to tell.
fn drop_lent(lent: Lent) {
    let owner = lent.owner;
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| drop(owner))) {
        std::mem::forget(panic);
    }
}
