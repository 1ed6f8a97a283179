//! The fake engine: for tests of the dispatch rules without a plugin.
//!
//! [`FakeEngine`] runs the closures of [`Source::Host`] and accepts StableHLO texts too, whose results it fills with
//! zeros; see [`FakeEngine`] for where it takes their arguments and results from. It counts what is asked of it,
//! fails, panics, waits or stops at a gate on demand, and notices every use of a buffer or an executable after its
//! end: see [`FakeState`]. [`NoopEngine`] does nothing at all, for benchmarks of what is around an engine.

mod noop;
mod signature;
mod state;

use std::any::Any;
use std::ptr;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

pub use noop::NoopEngine;
pub use state::{FakeState, Op};

use self::signature::Signature;
use self::state::{Buffer, lock};
use super::host::{call, numbered_devices};
use super::{DeviceInfo, Engine, Executable, RawBuffer};
use crate::aval::short;
use crate::host::{HostArray, HostView};
use crate::program::{HostFn, Source};
use crate::{Aval, Client, DType, Result};

/// An engine that counts, checks and fails on demand.
///
/// A StableHLO text says its arguments and results by the signature of its `@main`, or by a comment line, which
/// wins: `// fake: f32[4], f32[] -> f32[4]`. An argument is a donor if `@main` marks it with
/// `jax.buffer_donor = true`, or the comment says `f32[4] donated`.
///
/// ```
/// use dispatch_runtime::engine::fake::FakeEngine;
/// use dispatch_runtime::program::Source;
///
/// let (client, state) = FakeEngine::client(2);
/// let add = Source::StableHlo("// fake: f32[4], f32[4] -> f32[4]".into());
/// let executable = client.compile(&add)?;
/// let x = client.array(&[1f32; 4], [4])?;
/// assert_eq!(executable.execute(&[&x, &x])?[0].to_vec::<f32>()?, [0.0; 4]);
///
/// drop((x, executable));
/// assert_eq!((state.compiles(), state.executes(), state.uploads()), (1, 1, 1));
/// state.assert_clean(); // nothing is alive, and nothing was used after its end
/// # Ok::<(), dispatch_runtime::Error>(())
/// ```
pub struct FakeEngine {
    devices: Vec<DeviceInfo>,
    state: Arc<FakeState>,
}

impl FakeEngine {
    /// A client with `devices` devices, `fake:0` …, and the state that counts and commands.
    ///
    /// # Panics
    ///
    /// If `devices` is 0.
    #[track_caller]
    pub fn client(devices: usize) -> (Client, Arc<FakeState>) {
        assert!(devices > 0, "a client has at least one device");
        let state = Arc::new(FakeState::new());
        let engine = FakeEngine { devices: numbered_devices("fake", devices), state: state.clone() };
        (Client::with_engine(engine), state)
    }

    #[track_caller]
    fn check_device(&self, device: usize) {
        if device >= self.devices.len() {
            self.state.fault_panic(format!("device {device} of {} was asked for", self.devices.len()));
        }
    }
}

// SAFETY: executables take and give what their record says (`execute` checks both); a buffer is a number that stands
// in the state's table until `destroy`, whatever happens to the executable that made it.
unsafe impl Engine for FakeEngine {
    fn platform(&self) -> &str {
        "fake"
    }

    fn description(&self) -> String {
        "the fake engine".into()
    }

    fn devices(&self) -> &[DeviceInfo] {
        &self.devices
    }

    fn share_alignment(&self) -> Option<usize> {
        self.state.promises_to_share().then_some(1)
    }

    fn compile(&self, source: &Source, device: usize) -> Result<Box<dyn Executable>> {
        self.check_device(device);
        self.state.begin(Op::Compile)?;
        self.state.note_program(source);
        let (signature, run) = match source {
            Source::StableHlo(text) => (signature::read(text)?, None),
            Source::Bytecode(bytes) => (signature::read(&String::from_utf8_lossy(bytes))?, None),
            Source::Hlo(_) => {
                return Err(crate::Error::InvalidProgram {
                    reason: "it is HLO, which only PJRT reads".into(),
                });
            }
            Source::Host { inputs, outputs, run } => {
                let donors = self.state.host_donors(inputs.len());
                (Signature { inputs: inputs.clone(), outputs: outputs.clone(), donors }, Some(run.clone()))
            }
        };
        Ok(FakeExecutable::boxed(self.state.clone(), device, signature, run))
    }

    fn upload(&self, host: HostView<'_>, device: usize) -> Result<RawBuffer> {
        self.check_device(device);
        self.state.begin(Op::Upload)?;
        Ok(self.state.add_buffer(HostArray::try_from_view(host)?, device))
    }

    unsafe fn read(&self, buffer: RawBuffer, aval: (DType, &[i64]), out: &mut [u8]) -> Result<()> {
        let array = self.state.buffer(buffer, "read").array;
        if (array.dtype(), array.shape()) != aval {
            let (is, asked) = (short(array.dtype(), array.shape()), short(aval.0, aval.1));
            self.state.fault_panic(format!("a buffer of {is} was read as {asked}"));
        }
        self.state.begin(Op::Read)?;
        out.copy_from_slice(array.bytes());
        Ok(())
    }

    unsafe fn is_ready(&self, buffer: RawBuffer) -> Result<bool> {
        self.state.buffer(buffer, "asked for readiness");
        Ok(true)
    }

    unsafe fn await_ready(&self, buffer: RawBuffer) -> Result<()> {
        self.state.buffer(buffer, "awaited");
        Ok(())
    }

    unsafe fn copy(&self, buffer: RawBuffer, device: usize) -> Result<RawBuffer> {
        self.check_device(device);
        let array = self.state.buffer(buffer, "copied").array;
        self.state.begin(Op::Copy)?;
        Ok(self.state.add_buffer((*array).clone(), device))
    }

    unsafe fn destroy(&self, buffer: RawBuffer) {
        self.state.remove_buffer(buffer);
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// The words that a record carries while its executable lives, and afterwards.
const LIVE: u64 = 0xFA4E_A11E_FA4E_A11E;
const DESTROYED: u64 = 0xFA4E_DEAD_FA4E_DEAD;

/// What a fake executable is. Never freed: it is also the tombstone that tells a use after the end.
struct Record {
    magic: AtomicU64,
    state: Arc<FakeState>,
    device: usize,
    size_bytes: u64,
    signature: Signature,
    aliased: Vec<bool>,
    /// The closure, dropped with the executable; none for StableHLO.
    run: Mutex<Option<Arc<HostFn>>>,
    running: AtomicUsize,
}

/// Every record that was made, so that leak checkers see why it is kept.
static RECORDS: Mutex<Vec<&'static Record>> = Mutex::new(Vec::new());

/// A compiled program: a value without size whose address is that of its [`Record`].
///
/// So a pointer to an executable stays a pointer to its record after the box is gone, and a stale one is reported
/// instead of reading freed memory.
struct FakeExecutable(());

impl FakeExecutable {
    fn boxed(
        state: Arc<FakeState>,
        device: usize,
        signature: Signature,
        run: Option<Arc<HostFn>>,
    ) -> Box<dyn Executable> {
        let record = Record {
            magic: AtomicU64::new(LIVE),
            device,
            size_bytes: state.executable_bytes(),
            aliased: if state.aliases_donors() {
                alias(&signature)
            } else {
                vec![false; signature.inputs.len()]
            },
            signature,
            run: Mutex::new(run),
            running: AtomicUsize::new(0),
            state,
        };
        record.state.executable_made();
        let record: &'static Record = Box::leak(Box::new(record));
        lock(&RECORDS).push(record);
        let record = ptr::from_ref(record).cast_mut();
        record.expose_provenance();
        // SAFETY: for a type without size any aligned pointer that is not null makes a box, and nothing is freed
        // when it is dropped.
        unsafe { Box::from_raw(record.cast::<FakeExecutable>()) }
    }

    fn record(&self) -> &'static Record {
        // SAFETY: a `FakeExecutable` only ever stands where `boxed` put it, behind a trait object that it cannot be
        // moved out of, so its address is that of a leaked record, whose provenance is exposed.
        unsafe { &*ptr::with_exposed_provenance(ptr::from_ref(self).addr()) }
    }

    #[track_caller]
    fn live(&self, what: &str) -> &'static Record {
        let record = self.record();
        match record.magic.load(Ordering::SeqCst) {
            LIVE => record,
            DESTROYED => record
                .state
                .fault_panic(format!("an executable was {what} after its end: {:?}", record.signature)),
            // Not even the record is there: nothing can be trusted.
            _ => panic!("what was {what} is no executable of the fake engine"),
        }
    }
}

/// Pairs each donor with a result of its dtype and shape that no earlier donor got, as XLA does.
fn alias(signature: &Signature) -> Vec<bool> {
    let mut free: Vec<&Aval> = signature.outputs.iter().collect();
    let pairs = signature.inputs.iter().zip(&signature.donors).map(|(input, &donor)| {
        let result = free.iter().position(|&output| donor && output == input);
        result.map(|i| free.remove(i)).is_some()
    });
    pairs.collect()
}

// SAFETY: `execute` gives what `outputs` says: zeros made from it, or results of a closure that `call` checked.
unsafe impl Executable for FakeExecutable {
    fn inputs(&self) -> &[Aval] {
        &self.live("asked for its inputs").signature.inputs
    }

    fn outputs(&self) -> &[Aval] {
        &self.live("asked for its outputs").signature.outputs
    }

    fn aliased(&self) -> &[bool] {
        &self.live("asked for its aliases").aliased
    }

    fn size_bytes(&self) -> u64 {
        self.live("asked for its size").size_bytes
    }

    unsafe fn execute(&self, args: &[RawBuffer], outs: &mut [Option<RawBuffer>]) -> Result<()> {
        let record = self.live("run");
        let _running = Running::start(record);
        let buffers: Vec<Buffer> = args.iter().map(|&arg| record.state.buffer(arg, "run with")).collect();
        record.check_promises(args, &buffers, outs.len());
        record.state.begin(Op::Execute)?;
        for (&arg, _) in args.iter().zip(&record.aliased).filter(|(_, aliased)| **aliased) {
            record.state.consume_buffer(arg);
        }

        let run = lock(&record.run).clone();
        let results = match run {
            Some(run) => {
                let views: Vec<HostView<'_>> = buffers.iter().map(|b| b.array.view()).collect();
                call(&*run, &views, &record.signature.outputs)?
            }
            None => record.signature.outputs.iter().map(|o| HostArray::zeros(o.dtype(), o.shape())).collect(),
        };
        for &arg in args {
            record.state.check_still_there(arg);
        }
        for (out, result) in outs.iter_mut().zip(results) {
            *out = Some(record.state.add_buffer(result, record.device));
        }
        Ok(())
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Record {
    /// What the caller of `execute` has to see to.
    #[track_caller]
    fn check_promises(&self, args: &[RawBuffer], buffers: &[Buffer], outs: usize) {
        let Signature { inputs, outputs, .. } = &self.signature;
        if (args.len(), outs) != (inputs.len(), outputs.len()) {
            self.state.fault_panic(format!(
                "a program of {} arguments and {} results was run with {} and {outs}",
                inputs.len(),
                outputs.len(),
                args.len()
            ));
        }
        for (i, (buffer, input)) in buffers.iter().zip(inputs).enumerate() {
            let array = &buffer.array;
            if (array.dtype(), array.shape()) != (input.dtype(), input.shape()) {
                let (takes, got) = (short(input.dtype(), input.shape()), short(array.dtype(), array.shape()));
                self.state.fault_panic(format!("argument {} takes {takes} and was run with {got}", i + 1));
            }
            if buffer.device != self.device {
                self.state.fault_panic(format!(
                    "argument {} is on device {}, the program on {}",
                    i + 1,
                    buffer.device,
                    self.device
                ));
            }
            if self.aliased[i] && args.iter().enumerate().any(|(j, arg)| j != i && *arg == args[i]) {
                self.state
                    .fault_panic(format!("argument {} is consumed by the program and passed twice", i + 1));
            }
        }
    }
}

impl Drop for FakeExecutable {
    fn drop(&mut self) {
        let record = self.record();
        // Faults are recorded, not thrown: a panic while dropping would end the process and hide which test it was.
        if record.magic.swap(DESTROYED, Ordering::SeqCst) != LIVE {
            record.state.fault(format!("an executable was destroyed twice: {:?}", record.signature));
            return;
        }
        if record.running.load(Ordering::SeqCst) != 0 {
            record.state.fault(format!("an executable was destroyed while it ran: {:?}", record.signature));
        }
        // Two statements: what the closure owns is dropped outside the lock.
        let run = lock(&record.run).take();
        drop(run);
        record.state.executable_gone();
    }
}

/// Counts a run of an executable for as long as it lasts.
struct Running(&'static Record);

impl Running {
    fn start(record: &'static Record) -> Running {
        record.running.fetch_add(1, Ordering::SeqCst);
        Running(record)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::SeqCst);
    }
}

impl std::fmt::Debug for FakeEngine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "FakeEngine({} devices)", self.devices.len())
    }
}
