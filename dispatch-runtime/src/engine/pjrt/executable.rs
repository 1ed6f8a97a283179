//! A compiled program of a plugin.

use std::any::Any;
use std::cell::UnsafeCell;
use std::mem::offset_of;
use std::ptr::{NonNull, null_mut};
use std::sync::Arc;

use super::abi::*;
use super::call::{Roomy, call};
use super::context::Context;
use super::engine::{Hot, Shared};
use super::nested::Executing;
use super::{describe, inspect, layout, read, serialize};
use crate::engine::{Executable, RawBuffer, RunOptions};
use crate::{Aval, Inspection, MemoryStats, Result};

/// A program compiled by a plugin for one device. All that a run reads stands in its first 64 bytes.
#[repr(C, align(64))]
pub struct PjrtExecutable {
    execute: Hot<PJRT_LoadedExecutable_Execute_Args>,
    /// Of `loaded`.
    ptr: NonNull<PJRT_LoadedExecutable>,
    options: *mut PJRT_ExecuteOptions,
    device: NonNull<PJRT_Device>,
    shared: &'static Shared,
    /// Whether some result may not be row-major.
    relayout: bool,
    /// Whether it may call handlers.
    custom_calls: bool,
    inputs: Vec<Aval>,
    outputs: Vec<Aval>,
    aliased: Vec<bool>,
    size_bytes: u64,
    /// The bytes that it was loaded from, if it was not compiled here. XLA cannot serialize such an executable: it leaves out
    /// the machine code, without an error, and what is loaded of that fails when it runs.
    loaded_from: Option<Box<[u8]>>,
    loaded: Arc<Loaded>,
    /// The context of executions that are given no data, if the program has custom calls.
    context: Option<NonNull<PJRT_ExecuteContext>>,
    /// What `options` points to, if it is not the client's.
    _own: Option<Box<OwnOptions>>,
}

/// The options of a program that cannot do with those of all: it has arguments that are copied instead of donated, see
/// [`kept`], or custom calls, see `context.rs`.
struct OwnOptions {
    options: UnsafeCell<Roomy<PJRT_ExecuteOptions>>,
    _kept: Box<[i64]>,
}

/// The first version of the C API whose CPU plugin hands over a donated buffer for less than a copy of it. Among those
/// known, 0.81 takes 11 to 23 µs for a call that donates (it goes through another thread), 0.106 nothing.
const CHEAP_DONATION: i32 = 106;

/// Up to so many bytes a copy takes less than that.
const CHEAP_COPY: usize = 64 << 10;

impl OwnOptions {
    fn of(
        shared: &Shared,
        kept: Box<[i64]>,
        context: Option<NonNull<PJRT_ExecuteContext>>,
    ) -> Option<Box<OwnOptions>> {
        if kept.is_empty() && context.is_none() {
            return None;
        }
        let mut options: Roomy<PJRT_ExecuteOptions> = Roomy::new(shared.plugin);
        if !kept.is_empty() {
            options.args.non_donatable_input_indices = kept.as_ptr();
            options.args.num_non_donatable_input_indices = kept.len();
        }
        options.args.context = context.map_or(null_mut(), NonNull::as_ptr);
        Some(Box::new(OwnOptions { options: UnsafeCell::new(options), _kept: kept }))
    }
}

/// The arguments which the plugin is to copy although the program takes them over, where that is faster than to donate them.
/// For the caller nothing changes: the arrays are gone, their few bytes with their last handle.
fn kept(shared: &Shared, aliased: &[bool], inputs: &[Aval]) -> Box<[i64]> {
    let donated = || aliased.iter().zip(inputs).enumerate().filter(|(_, (aliased, _))| **aliased);
    let bytes: usize = donated().map(|(_, (_, aval))| aval.size_bytes()).sum();
    match bytes == 0 || hands_over(shared, bytes) {
        true => Box::default(),
        false => donated().map(|(i, _)| i as i64).collect(),
    }
}

/// Whether donating arguments of so many bytes in all gives their memory away, or is made a copy.
pub(super) fn hands_over(shared: &Shared, bytes: usize) -> bool {
    let slow = shared.on_host && shared.plugin.minor < CHEAP_DONATION;
    let known = shared.plugin.size_of::<PJRT_ExecuteOptions>()
        > offset_of!(PJRT_ExecuteOptions, num_non_donatable_input_indices);
    !slow || !known || bytes > CHEAP_COPY
}

/// Owns a `PJRT_LoadedExecutable`.
pub(super) struct Loaded {
    shared: &'static Shared,
    ptr: NonNull<PJRT_LoadedExecutable>,
}

// SAFETY: PJRT executables take calls from any thread.
unsafe impl Send for Loaded {}
// SAFETY: as above.
unsafe impl Sync for Loaded {}

impl Loaded {
    /// Takes over an executable of the client.
    pub fn new(shared: &'static Shared, ptr: NonNull<PJRT_LoadedExecutable>) -> Loaded {
        Loaded { shared, ptr }
    }

    pub fn ptr(&self) -> NonNull<PJRT_LoadedExecutable> {
        self.ptr
    }
}

impl Drop for Loaded {
    fn drop(&mut self) {
        // SAFETY: the executable is ours and not used again; PJRT lets runs in flight finish. A failure leaves
        // nothing to do.
        let _ = unsafe {
            call!(self.shared.plugin, PJRT_LoadedExecutable_Destroy { executable: self.ptr.as_ptr() })
        };
    }
}

// SAFETY: PJRT executables and devices take calls from any thread; the rest does not change.
unsafe impl Send for PjrtExecutable {}
// SAFETY: as above.
unsafe impl Sync for PjrtExecutable {}

impl PjrtExecutable {
    pub(super) fn new(
        shared: &'static Shared,
        loaded: Arc<Loaded>,
        device: usize,
        about: describe::Description,
        custom_calls: bool,
    ) -> PjrtExecutable {
        let describe::Description { inputs, outputs, aliased, relayout, size_bytes } = about;
        let device = shared.handles[device];
        let known = shared.plugin.size_of::<PJRT_ExecuteOptions>() > offset_of!(PJRT_ExecuteOptions, context);
        let context = if custom_calls && known { shared.empty_context() } else { None };
        let own = OwnOptions::of(shared, kept(shared, &aliased, &inputs), context);
        let options = own.as_ref().map_or(&shared.execute_options, |own| &own.options);
        PjrtExecutable {
            execute: shared.hot.execute,
            ptr: loaded.ptr,
            options: options.get().cast(),
            device,
            shared,
            relayout,
            custom_calls,
            inputs,
            outputs,
            aliased,
            size_bytes,
            loaded_from: None,
            loaded,
            _own: own,
            context,
        }
    }

    /// Says that it was not compiled here, but loaded from these bytes.
    pub(super) fn set_loaded_from(&mut self, bytes: &[u8]) {
        self.size_bytes += bytes.len() as u64;
        self.loaded_from = Some(bytes.into());
    }

    /// The plugin's executable, `PJRT_LoadedExecutable*`; alive as long as `self`.
    pub fn loaded(&self) -> NonNull<PJRT_LoadedExecutable> {
        self.loaded.ptr()
    }

    /// Shares the ownership of the plugin's executable.
    #[cfg(feature = "pjrt")]
    pub(super) fn share(&self) -> Arc<Loaded> {
        self.loaded.clone()
    }

    /// The options that every execution gets, `PJRT_ExecuteOptions*`. They must not be changed, and live as long as `self`.
    pub fn execute_options(&self) -> NonNull<PJRT_ExecuteOptions> {
        NonNull::new(self.options).expect("every executable has options")
    }

    /// What the program needs in memory. An error if the plugin does not say.
    pub fn memory_stats(&self) -> Result<MemoryStats> {
        inspect::memory_stats(&describe::Owned::of(self.shared.plugin, self.ptr)?)
    }

    /// Flops and bytes counted from the compiled module, to be compared with what a plugin says.
    #[doc(hidden)]
    pub fn counted_costs(&self) -> Result<Option<(f64, f64)>> {
        inspect::counted_costs(&describe::Owned::of(self.shared.plugin, self.ptr)?)
    }

    /// Replaces results that are stored in another order by row-major ones, since every program takes its arguments
    /// for row-major and plugins do not check. Only programs that ask for such a layout come here.
    ///
    /// # Safety
    ///
    /// `outs` are the results of a run, which the caller owns. On an error none is left.
    #[cold]
    unsafe fn make_row_major(&self, outs: &mut [Option<RawBuffer>]) -> Result<()> {
        let mut failed = None;
        for (out, aval) in outs.iter_mut().zip(&self.outputs) {
            let Some(buffer) = *out else { continue };
            // SAFETY: the buffer is a live result of this dtype and shape.
            match unsafe { self.row_major(buffer, aval) } {
                Ok(None) => continue,
                // SAFETY: the result was ours and is replaced.
                Ok(Some(copy)) => unsafe { self.shared.destroy(out.replace(copy).expect("a result")) },
                Err(error) => failed = Some(error),
            }
        }
        let Some(error) = failed else { return Ok(()) };
        for buffer in outs.iter_mut().filter_map(Option::take) {
            // SAFETY: the results are ours.
            unsafe { self.shared.destroy(buffer) };
        }
        Err(error)
    }

    /// A row-major copy of a result, unless it is row-major.
    ///
    /// # Safety
    ///
    /// `buffer` is alive and has this dtype and shape.
    unsafe fn row_major(&self, buffer: RawBuffer, aval: &Aval) -> Result<Option<RawBuffer>> {
        let (buffer, item) = (buffer.0.cast(), aval.dtype().size());
        // SAFETY: the buffer is alive; `data` has the size of a dense array.
        unsafe {
            let strides = layout::of(self.shared.plugin, buffer, aval.shape(), item)?;
            if strides == layout::row_major(aval.shape(), item) {
                return Ok(None);
            }
            let mut data = vec![0u8; aval.size_bytes()];
            read::read(self.shared, buffer, (aval.dtype(), aval.shape()), &mut data)?;
            self.shared.upload(data.as_ptr(), (aval.dtype(), aval.shape()), self.device).map(Some)
        }
    }
}

// SAFETY: inputs and outputs are those of the compiled module, and PJRT's output buffers are counted on their own.
unsafe impl Executable for PjrtExecutable {
    fn inputs(&self) -> &[Aval] {
        &self.inputs
    }

    fn outputs(&self) -> &[Aval] {
        &self.outputs
    }

    fn aliased(&self) -> &[bool] {
        &self.aliased
    }

    fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    fn inspect(&self) -> Result<Inspection> {
        inspect::inspect(&describe::Owned::of(self.shared.plugin, self.ptr)?)
    }

    fn memory(&self) -> Result<Option<MemoryStats>> {
        inspect::if_told(self.memory_stats())
    }

    fn serialize(&self) -> Result<Option<Vec<u8>>> {
        match &self.loaded_from {
            Some(bytes) => Ok(Some(bytes.to_vec())),
            None => serialize::serialize(&describe::Owned::of(self.shared.plugin, self.ptr)?),
        }
    }

    fn is_loaded(&self) -> bool {
        self.loaded_from.is_some()
    }

    fn takes_bytes(&self) -> bool {
        true
    }

    #[inline]
    unsafe fn execute(&self, args: &[RawBuffer], outs: &mut [Option<RawBuffer>]) -> Result<()> {
        // SAFETY: by the caller's promise; the options are shared by all runs.
        unsafe { self.run(args, outs, self.options, null_mut()) }
    }

    unsafe fn execute_with(
        &self,
        args: &[RawBuffer],
        outs: &mut [Option<RawBuffer>],
        options: RunOptions<'_>,
    ) -> Result<()> {
        let mut own: Roomy<PJRT_ExecuteOptions> = Roomy::new(self.shared.plugin);
        own.args.launch_id = options.launch_id;
        own.args.non_donatable_input_indices = options.keep.as_ptr();
        own.args.num_non_donatable_input_indices = options.keep.len();
        let Some(data) = options.user_data.filter(|_| self.context.is_some()) else {
            own.args.context = self.context.map_or(null_mut(), NonNull::as_ptr);
            // SAFETY: by the caller's promise; the options and what they point to live during the call.
            return unsafe { self.run(args, outs, &raw mut own.args, null_mut()) };
        };
        let context = Context::new(self.shared, data.clone())?;
        own.args.context = context.ptr().as_ptr();
        let mut event = null_mut();
        // SAFETY: as above, and the context lives until the event says that the execution has ended.
        let result = unsafe { self.run(args, outs, &raw mut own.args, &raw mut event) };
        context.end_after(event);
        result
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl PjrtExecutable {
    /// Runs the program with these options.
    ///
    /// # Safety
    ///
    /// As for [`Executable::execute`]; `options` are execution options of this plugin. `event` is null, or gets an event that
    /// says when the execution has ended, which is the caller's.
    #[inline(always)]
    unsafe fn run(
        &self,
        args: &[RawBuffer],
        outs: &mut [Option<RawBuffer>],
        options: *mut PJRT_ExecuteOptions,
        event: *mut *mut PJRT_Event,
    ) -> Result<()> {
        debug_assert_eq!((args.len(), outs.len()), (self.inputs.len(), self.outputs.len()));
        // A `RawBuffer` is a `PJRT_Buffer*`, and an optional one is a nullable pointer.
        let arguments: *const *mut PJRT_Buffer = args.as_ptr().cast();
        let results: *mut *mut PJRT_Buffer = outs.as_mut_ptr().cast();
        let call = PJRT_LoadedExecutable_Execute_Args {
            struct_size: self.execute.size,
            extension_start: null_mut(),
            executable: self.ptr.as_ptr(),
            options,
            argument_lists: &raw const arguments,
            num_devices: 1,
            num_args: args.len(),
            output_lists: &raw const results,
            device_complete_events: event,
            execute_device: self.device.as_ptr(),
        };
        let executing = if self.custom_calls { Some(Executing::begin()) } else { None };
        // SAFETY: arguments, results and executable are as the caller promises, and PJRT writes as many results as
        // `outs` has. It writes none when it returns an error.
        let (_, error) = unsafe { self.execute.call(call) };
        drop(executing);
        self.shared.plugin.check("PJRT_LoadedExecutable_Execute", error)?;
        if self.relayout {
            // SAFETY: the results are those of this run.
            unsafe { self.make_row_major(outs)? };
        }
        Ok(())
    }
}
