//! The closure engine: programs are Rust closures over host arrays.
//!
//! For computations that need no compiler, and for tests of everything around one. It is synchronous: a result is
//! there when `execute` returns. Its devices are names only; they share the host's memory.

use std::any::Any;
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;
use std::sync::{Arc, OnceLock};

use super::{DeviceInfo, Engine, Executable, RawBuffer};
use crate::aval::short;
use crate::host::{HostArray, HostView};
use crate::program::{HostFn, Source};
use crate::{Aval, Client, DType, Error, Result};

impl Client {
    /// The client of the [host engine](crate::engine::host), one per process: programs are Rust closures over host
    /// arrays, from [`Program::host`](crate::Program::host).
    ///
    /// ```
    /// use dispatch_runtime::{Array, Aval, Client, DType, HostArray, Program};
    ///
    /// let aval = Aval::new(DType::F32, [2]);
    /// let double = Program::<Array>::host([aval.clone()], [aval], |args| {
    ///     let doubled: Vec<f32> = args[0].as_slice::<f32>().unwrap().iter().map(|x| 2.0 * x).collect();
    ///     Ok(vec![HostArray::new(doubled, [2])?])
    /// })?;
    ///
    /// let client = Client::host();
    /// let executable = client.compile(&double)?;
    /// let x = client.array(&[1f32, 2.5], [2])?;
    /// assert_eq!(executable.execute(&[&x])?[0].to_vec::<f32>()?, [2.0, 5.0]);
    /// # Ok::<(), dispatch_runtime::Error>(())
    /// ```
    pub fn host() -> Client {
        static CLIENT: OnceLock<Client> = OnceLock::new();
        *CLIENT.get_or_init(|| Client::with_engine(HostEngine::new()))
    }

    /// A new client of the host engine with `n` devices, `host:0` to `host:{n-1}`. Clients are never closed: make
    /// one and keep it.
    ///
    /// ```
    /// # use dispatch_runtime::Client;
    /// let client = Client::host_with_devices(2)?;
    /// let names: Vec<String> = client.devices().map(|d| d.to_string()).collect();
    /// assert_eq!(names, ["host:0", "host:1"]);
    /// # Ok::<(), dispatch_runtime::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If `n` is 0: a client has at least one device.
    pub fn host_with_devices(n: usize) -> Result<Client> {
        Ok(Client::with_engine(HostEngine::with_devices(n)?))
    }
}

/// The engine behind [`Client::host`].
#[derive(Debug)]
pub struct HostEngine {
    devices: Vec<DeviceInfo>,
}

impl HostEngine {
    /// An engine with one device, `host:0`.
    pub fn new() -> HostEngine {
        HostEngine { devices: numbered_devices("host", 1) }
    }

    /// An engine with `n` devices, `host:0` to `host:{n-1}`.
    ///
    /// # Errors
    ///
    /// If `n` is 0.
    pub fn with_devices(n: usize) -> Result<HostEngine> {
        if n == 0 {
            return Err(Error::Option {
                option: "devices",
                expected: "at least one device".into(),
                got: "0".into(),
            });
        }
        Ok(HostEngine { devices: numbered_devices("host", n) })
    }

    fn check_device(&self, device: usize) -> Result<()> {
        if device < self.devices.len() {
            return Ok(());
        }
        Err(Error::Option {
            option: "device",
            expected: format!("an index below {}", self.devices.len()),
            got: device.to_string(),
        })
    }
}

impl Default for HostEngine {
    fn default() -> HostEngine {
        HostEngine::new()
    }
}

/// `host:0`, `host:1` …
pub(super) fn numbered_devices(platform: &str, n: usize) -> Vec<DeviceInfo> {
    (0..n).map(|i| DeviceInfo { id: i as i64, name: format!("{platform}:{i}") }).collect()
}

/// Puts an array behind the opaque pointer that the rest of the runtime sees.
fn into_raw(array: HostArray) -> RawBuffer {
    RawBuffer(NonNull::from(Box::leak(Box::new(array))).cast::<c_void>())
}

/// The array behind a buffer of this engine.
///
/// # Safety
///
/// `buffer` came from `into_raw` and is not destroyed during `'a`.
unsafe fn array<'a>(buffer: RawBuffer) -> &'a HostArray {
    // SAFETY: by the caller's promise it points to a live boxed array, which nobody writes to: results are complete
    // before they become buffers.
    unsafe { buffer.0.cast::<HostArray>().as_ref() }
}

// SAFETY: executables carry the inputs and outputs of their source and check the results against them; a buffer is
// a box of its own, which lives until `destroy`.
unsafe impl Engine for HostEngine {
    fn platform(&self) -> &str {
        "host"
    }

    fn description(&self) -> String {
        concat!("the host engine ", env!("CARGO_PKG_VERSION")).into()
    }

    fn devices(&self) -> &[DeviceInfo] {
        &self.devices
    }

    fn compile(&self, source: &Source, device: usize) -> Result<Box<dyn Executable>> {
        self.check_device(device)?;
        let Source::Host { inputs, outputs, run } = source else {
            return Err(Error::InvalidProgram {
                reason: "the host engine runs Rust closures (`Program::host`), not StableHLO; \
                         StableHLO needs a PJRT client, such as `Client::cpu()`"
                    .into(),
            });
        };
        Ok(Box::new(HostExecutable {
            inputs: inputs.clone(),
            outputs: outputs.clone(),
            aliased: vec![false; inputs.len()],
            run: run.clone(),
        }))
    }

    fn upload(&self, host: HostView<'_>, device: usize) -> Result<RawBuffer> {
        self.check_device(device)?;
        Ok(into_raw(HostArray::try_from_view(host)?))
    }

    unsafe fn read(&self, buffer: RawBuffer, _: (DType, &[i64]), out: &mut [u8]) -> Result<()> {
        // SAFETY: by the caller's promise the buffer is a live one of this engine.
        out.copy_from_slice(unsafe { array(buffer) }.bytes());
        Ok(())
    }

    unsafe fn is_ready(&self, _: RawBuffer) -> Result<bool> {
        Ok(true)
    }

    unsafe fn await_ready(&self, _: RawBuffer) -> Result<()> {
        Ok(())
    }

    unsafe fn copy(&self, buffer: RawBuffer, device: usize) -> Result<RawBuffer> {
        self.check_device(device)?;
        // SAFETY: by the caller's promise the buffer is a live one of this engine.
        Ok(into_raw(unsafe { array(buffer) }.clone()))
    }

    unsafe fn destroy(&self, buffer: RawBuffer) {
        // SAFETY: the caller gives up a live buffer, which `into_raw` made from a box; nothing refers to it any more.
        drop(unsafe { Box::from_raw(buffer.0.cast::<HostArray>().as_ptr()) });
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// A closure with its declared arguments and results.
struct HostExecutable {
    inputs: Vec<Aval>,
    outputs: Vec<Aval>,
    aliased: Vec<bool>,
    run: Arc<HostFn>,
}

// SAFETY: `call` checks that the closure gave what `outputs` says; `inputs` is what the closure was declared for.
unsafe impl Executable for HostExecutable {
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
        // What the closure captures is unknown.
        size_of::<HostExecutable>() as u64
    }

    unsafe fn execute(&self, args: &[RawBuffer], outs: &mut [Option<RawBuffer>]) -> Result<()> {
        // SAFETY: by the caller's promise the arguments are live buffers of this engine, during this call.
        let views: Vec<HostView<'_>> = args.iter().map(|&a| unsafe { array(a) }.view()).collect();
        let results = call(&*self.run, &views, &self.outputs)?;
        for (out, result) in outs.iter_mut().zip(results) {
            *out = Some(into_raw(result));
        }
        Ok(())
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// Runs a closure and checks what it gives: a panic or a result that was not declared is an error.
pub(super) fn call(run: &HostFn, args: &[HostView<'_>], outputs: &[Aval]) -> Result<Vec<HostArray>> {
    // The closure is behind an `Arc` and stays in use after a panic; as with a poisoned lock, keeping its own state
    // consistent is its own affair.
    let results = catch_unwind(AssertUnwindSafe(|| run(args)))
        .map_err(|panic| Error::Panic { callee: "a host closure".into(), message: panic_text(&*panic) })??;
    if results.len() != outputs.len() {
        return Err(Error::Program {
            family: "a host closure".into(),
            expected: format!("declares {}", crate::error::counted(outputs.len(), "result")),
            got: format!("it returned {}", results.len()),
        });
    }
    for (i, (result, declared)) in results.iter().zip(outputs).enumerate() {
        if result.dtype() != declared.dtype() || result.shape() != declared.shape() {
            return Err(Error::Program {
                family: "a host closure".into(),
                expected: format!(
                    "declares {} as result {}",
                    short(declared.dtype(), declared.shape()),
                    i + 1
                ),
                got: format!("it returned {}", short(result.dtype(), result.shape())),
            });
        }
    }
    Ok(results)
}

/// The text of a panic, where it has one.
pub(crate) fn panic_text(panic: &(dyn Any + Send)) -> String {
    match (panic.downcast_ref::<&str>(), panic.downcast_ref::<String>()) {
        (Some(text), _) => (*text).to_owned(),
        (_, Some(text)) => text.clone(),
        _ => "a panic without a text".to_owned(),
    }
}
