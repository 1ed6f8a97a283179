//! An engine that does nothing, for benchmarks of what is around an engine.

use std::any::Any;
use std::ffi::c_void;
use std::ptr::{self, NonNull};

use super::signature::{self, Signature};
use crate::engine::host::numbered_devices;
use crate::engine::{DeviceInfo, Engine, Executable, RawBuffer};
use crate::host::HostView;
use crate::program::Source;
use crate::{Aval, Client, DType, Result};

/// An engine whose programs do nothing, whose buffers are all one token, and which writes to no memory that threads
/// share: what a call costs on it is the cost of dispatch.
///
/// It takes the same programs as the [fake engine](super::FakeEngine), runs none of them, and every buffer reads as
/// zeros.
#[derive(Debug)]
pub struct NoopEngine {
    devices: Vec<DeviceInfo>,
}

impl NoopEngine {
    /// A client with `devices` devices, `noop:0` …
    ///
    /// # Panics
    ///
    /// If `devices` is 0.
    #[track_caller]
    pub fn client(devices: usize) -> Client {
        assert!(devices > 0, "a client has at least one device");
        Client::with_engine(NoopEngine { devices: numbered_devices("noop", devices) })
    }
}

/// The one buffer. Nothing is ever read through it.
const TOKEN: RawBuffer = RawBuffer(match NonNull::new(ptr::without_provenance_mut::<c_void>(64)) {
    Some(token) => token,
    None => unreachable!(),
});

// SAFETY: the token stands for a buffer of zeros of whatever dtype and shape it is made for, and never ends; zeros
// are valid elements of every dtype.
unsafe impl Engine for NoopEngine {
    fn platform(&self) -> &str {
        "noop"
    }

    fn description(&self) -> String {
        "the engine that does nothing".into()
    }

    fn devices(&self) -> &[DeviceInfo] {
        &self.devices
    }

    fn compile(&self, source: &Source, _: usize) -> Result<Box<dyn Executable>> {
        let Signature { inputs, outputs, .. } = match source {
            Source::StableHlo(text) => signature::read(text)?,
            Source::Bytecode(bytes) => signature::read(&String::from_utf8_lossy(bytes))?,
            Source::Hlo(_) => {
                return Err(crate::Error::InvalidProgram {
                    reason: "it is HLO, which only PJRT reads".into(),
                });
            }
            Source::Host { inputs, outputs, .. } => {
                Signature { inputs: inputs.clone(), outputs: outputs.clone(), donors: Vec::new() }
            }
        };
        let aliased = vec![false; inputs.len()];
        Ok(Box::new(NoopExecutable { inputs, outputs, aliased }))
    }

    #[inline]
    fn upload(&self, _: HostView<'_>, _: usize) -> Result<RawBuffer> {
        Ok(TOKEN)
    }

    unsafe fn read(&self, _: RawBuffer, _: (DType, &[i64]), out: &mut [u8]) -> Result<()> {
        out.fill(0);
        Ok(())
    }

    unsafe fn is_ready(&self, _: RawBuffer) -> Result<bool> {
        Ok(true)
    }

    unsafe fn await_ready(&self, _: RawBuffer) -> Result<()> {
        Ok(())
    }

    unsafe fn copy(&self, _: RawBuffer, _: usize) -> Result<RawBuffer> {
        Ok(TOKEN)
    }

    #[inline]
    unsafe fn destroy(&self, _: RawBuffer) {}

    fn as_any(&self) -> &dyn Any {
        self
    }
}

struct NoopExecutable {
    inputs: Vec<Aval>,
    outputs: Vec<Aval>,
    aliased: Vec<bool>,
}

// SAFETY: every output is the token, which stands for a buffer of what `outputs` says.
unsafe impl Executable for NoopExecutable {
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
        0
    }

    #[inline]
    unsafe fn execute(&self, _: &[RawBuffer], outs: &mut [Option<RawBuffer>]) -> Result<()> {
        outs.fill(Some(TOKEN));
        Ok(())
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
