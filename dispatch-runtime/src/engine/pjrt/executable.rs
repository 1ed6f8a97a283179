//! A compiled program of a plugin.

use std::any::Any;
use std::ptr::{NonNull, null_mut};

use super::abi::*;
use super::call::{Roomy, call};
use super::engine::Shared;
use crate::engine::{Executable, RawBuffer};
use crate::{Aval, Result};

/// A program compiled by a plugin for one device.
pub struct PjrtExecutable {
    pub(super) shared: &'static Shared,
    pub(super) loaded: Loaded,
    pub(super) device: NonNull<PJRT_Device>,
    pub(super) inputs: Vec<Aval>,
    pub(super) outputs: Vec<Aval>,
    pub(super) aliased: Vec<bool>,
    pub(super) size_bytes: u64,
}

/// Owns a `PJRT_LoadedExecutable`.
pub(super) struct Loaded(pub &'static Shared, pub NonNull<PJRT_LoadedExecutable>);

impl Drop for Loaded {
    fn drop(&mut self) {
        // SAFETY: the executable is ours and not used again; PJRT lets runs in flight finish. A failure leaves
        // nothing to do.
        let _ =
            unsafe { call!(self.0.plugin, PJRT_LoadedExecutable_Destroy { executable: self.1.as_ptr() }) };
    }
}

/// What a compiled program needs in bytes, as the compiler reckons; per run, except for the code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemoryStats {
    /// The arguments.
    pub arguments: u64,
    /// The results, including those that take over an argument's memory.
    pub outputs: u64,
    /// Scratch memory.
    pub temp: u64,
    /// The part of the results that takes over arguments' memory.
    pub alias: u64,
    /// Machine code; 0 where the plugin does not say.
    pub code: u64,
}

// SAFETY: PJRT executables take calls from any thread; the rest does not change.
unsafe impl Send for PjrtExecutable {}
// SAFETY: as above.
unsafe impl Sync for PjrtExecutable {}

impl PjrtExecutable {
    /// The plugin's executable, `PJRT_LoadedExecutable*`; alive as long as `self`.
    pub fn loaded(&self) -> NonNull<PJRT_LoadedExecutable> {
        self.loaded.1
    }

    /// The options that every execution gets, `PJRT_ExecuteOptions*`.
    pub fn execute_options(&self) -> NonNull<PJRT_ExecuteOptions> {
        NonNull::from(&self.shared.execute_options).cast()
    }

    /// What the program needs in memory. An error if the plugin does not say.
    pub fn memory_stats(&self) -> Result<MemoryStats> {
        super::compile::memory_stats(self.shared, self.loaded.1)
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

    #[inline]
    unsafe fn execute(&self, args: &[RawBuffer], outs: &mut [Option<RawBuffer>]) -> Result<()> {
        debug_assert_eq!((args.len(), outs.len()), (self.inputs.len(), self.outputs.len()));
        // A `RawBuffer` is a `PJRT_Buffer*`, and an optional one is a nullable pointer.
        let arguments: *const *mut PJRT_Buffer = args.as_ptr().cast();
        let outputs: *mut *mut PJRT_Buffer = outs.as_mut_ptr().cast();
        let mut call: Roomy<PJRT_LoadedExecutable_Execute_Args> = Roomy::new(self.shared.plugin);
        call.args.executable = self.loaded.1.as_ptr();
        call.args.options = self.shared.execute_options.get().cast();
        call.args.argument_lists = &raw const arguments;
        call.args.num_devices = 1;
        call.args.num_args = args.len();
        call.args.output_lists = &raw const outputs;
        call.args.device_complete_events = null_mut();
        call.args.execute_device = self.device.as_ptr();
        // SAFETY: arguments, results and executable are as the caller promises, and PJRT writes as many results as
        // `outs` has. It writes none when it returns an error.
        let error = unsafe { (self.shared.hot.execute)(&raw mut call.args) };
        self.shared.plugin.check("PJRT_LoadedExecutable_Execute", error)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
