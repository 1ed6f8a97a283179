//! Reading a buffer back.

use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::{Arc, Condvar, LazyLock, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::abi::*;
use super::call::{ErrorFunctions, Plugin, call, destroy_event};
use super::engine::Shared;
use super::{layout, nested};
use crate::host::{HostArray, are_bools, gather_items, make_bools};
use crate::{DType, Error, Result};

/// Waits for a buffer.
///
/// # Safety
///
/// `buffer` is alive.
pub(super) unsafe fn await_ready(plugin: &Plugin, buffer: NonNull<PJRT_Buffer>) -> Result<()> {
    if nested::is_handler_of_pool() {
        // SAFETY: by the caller's promise.
        return unsafe { nested::await_ready(plugin, buffer) };
    }
    // SAFETY: the buffer is alive; the event is ours and destroyed once, whether it brings an error or not.
    unsafe {
        let event = call!(plugin, PJRT_Buffer_ReadyEvent { buffer: buffer.as_ptr() })?.event;
        look_for_a_while(plugin, event);
        let ready = call!(plugin, PJRT_Event_Await { event: event });
        destroy_event(plugin, event);
        ready.map(|_| ())
    }
}

/// About what it takes to fall asleep and to be woken, and to wake the plugin's thread on a processor that sleeps: 20 to 40 µs,
/// measured on an idle virtual machine. On a busy one, where the plugin's thread may wait for this very processor, it is lost.
const A_WHILE: Duration = Duration::from_micros(40);

/// Looks whether an event has come, again and again, for a while in which sleeping would take longer. The programs that
/// are just too large for their caller's thread end in it: 10 000 floats take XLA's threads 5 to 10 µs.
///
/// # Safety
///
/// `event` is alive.
unsafe fn look_for_a_while(plugin: &Plugin, event: *mut PJRT_Event) {
    static ALONE: LazyLock<bool> =
        LazyLock::new(|| std::thread::available_parallelism().is_ok_and(|n| n.get() == 1));
    // SAFETY: by the caller's promise.
    let has_come = || unsafe { call!(plugin, PJRT_Event_IsReady { event: event }) }.is_ok_and(|a| a.is_ready);
    if has_come() || *ALONE {
        return;
    }
    let start = Instant::now();
    while start.elapsed() < A_WHILE && !has_come() {
        (0..8).for_each(|_| std::hint::spin_loop());
    }
}

/// Waits for a buffer, but not longer than this; whether it is ready.
///
/// # Safety
///
/// `buffer` is alive.
pub(super) unsafe fn await_ready_for(
    plugin: &Plugin,
    buffer: NonNull<PJRT_Buffer>,
    longest: Duration,
) -> Result<bool> {
    // SAFETY: the buffer is alive; the event is ours and destroyed once. The callback is called once, and owns its
    // share of the signal.
    unsafe {
        let event = call!(plugin, PJRT_Buffer_ReadyEvent { buffer: buffer.as_ptr() })?.event;
        let event = Event(plugin, event);
        if call!(plugin, PJRT_Event_IsReady { event: event.1 })?.is_ready {
            return call!(plugin, PJRT_Event_Await { event: event.1 }).map(|_| true);
        }
        let signal = Arc::new(Signal { api: plugin.errors, set: Mutex::new(false), changed: Condvar::new() });
        let share = Arc::into_raw(signal.clone());
        let asked = call!(
            plugin,
            PJRT_Event_OnReady {
                event: event.1,
                callback: Some(signalled),
                user_arg: share.cast_mut().cast(),
            }
        );
        if let Err(error) = asked {
            drop(Arc::from_raw(share));
            return match error {
                Error::Unimplemented { .. } => {
                    call!(plugin, PJRT_Event_Await { event: event.1 }).map(|_| true)
                }
                error => Err(error),
            };
        }
        let set = signal.set.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = signal.changed.wait_timeout_while(set, longest, |set| !*set);
        if !*waited.unwrap_or_else(PoisonError::into_inner).0 {
            return Ok(false);
        }
        call!(plugin, PJRT_Event_Await { event: event.1 }).map(|_| true)
    }
}

/// An event that is ended once.
struct Event<'a>(&'a Plugin, *mut PJRT_Event);

impl Drop for Event<'_> {
    fn drop(&mut self) {
        destroy_event(self.0, self.1);
    }
}

/// Tells a waiting thread that an event has come.
struct Signal {
    api: ErrorFunctions,
    set: Mutex<bool>,
    changed: Condvar,
}

/// What the plugin calls when an event has come, from a thread of its own.
///
/// # Safety
///
/// `signal` is a share of a [`Signal`], and `error` null or ours to end.
unsafe extern "C" fn signalled(error: *mut PJRT_Error, signal: *mut c_void) {
    // SAFETY: by the caller's promise.
    let signal = unsafe { Arc::from_raw(signal.cast::<Signal>().cast_const()) };
    if !error.is_null() {
        // Who waits asks for the error again.
        let mut destroy = PJRT_Error_Destroy_Args::zeroed();
        destroy.struct_size = size_of::<PJRT_Error_Destroy_Args>();
        destroy.error = error;
        // SAFETY: the error is ours.
        unsafe { (signal.api.destroy)(&raw mut destroy) };
    }
    *signal.set.lock().unwrap_or_else(PoisonError::into_inner) = true;
    signal.changed.notify_all();
}

/// Waits for a buffer and shows its bytes, dense and row-major.
///
/// # Safety
///
/// `buffer` is alive, and `aval` is its dtype and shape.
pub(super) unsafe fn with_bytes(
    shared: &Shared,
    buffer: NonNull<PJRT_Buffer>,
    (dtype, shape): (DType, &[i64]),
    look: &mut dyn FnMut(&[u8]),
) -> Result<()> {
    let (plugin, item) = (shared.plugin, dtype.size());
    let size = shape.iter().product::<i64>() as usize * item;
    // SAFETY: by the caller's promise. Pinned memory that is dense and row-major holds the whole array.
    unsafe {
        if shared.on_host && size > 0 {
            await_ready(plugin, buffer)?;
            let mut in_place = || {
                let pinned = Pinned::new(plugin, buffer)?;
                let dense = shape.len() <= 1
                    || layout::of(plugin, buffer, shape, item)? == layout::row_major(shape, item);
                let bytes = std::slice::from_raw_parts(
                    pinned.data.as_ptr().cast::<u8>(),
                    if dense { size } else { 0 },
                );
                let shown = dense && (dtype != DType::Bool || are_bools(bytes));
                if shown {
                    look(bytes);
                }
                Ok(shown)
            };
            match in_place() {
                Ok(true) => return Ok(()),
                Ok(false) | Err(Error::Unimplemented { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        let mut copy = HostArray::zeros(dtype, shape);
        read(shared, buffer, (dtype, shape), copy.bytes_mut())?;
        look(copy.bytes());
    }
    Ok(())
}

/// Waits for a buffer and copies it to `out`, dense and row-major. What the buffer has for `bool`s becomes `bool`s.
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
    // SAFETY: by the caller's promise.
    unsafe { read_stored(shared, buffer, (dtype, shape), out)? }
    if dtype == DType::Bool {
        make_bools(out);
    }
    Ok(())
}

/// [`read`] without a look at what the bytes are.
///
/// # Safety
///
/// As for [`read`].
unsafe fn read_stored(
    shared: &Shared,
    buffer: NonNull<PJRT_Buffer>,
    aval: (DType, &[i64]),
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
            match read_in_place(plugin, buffer, aval, out) {
                // A plugin without these functions copies, as one of another platform does.
                Err(Error::Unimplemented { .. }) => {}
                done => return done,
            }
        }
        read_by_copy(plugin, buffer, aval, out)
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
                gather_items(data, shape, &strides, item, out.as_mut_ptr());
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
        gather_items(stored.as_ptr(), shape, &strides, item, out.as_mut_ptr());
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
