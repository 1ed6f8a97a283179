//! What the fake engine counts, checks and does on demand.

use std::collections::HashMap;
use std::ffi::c_void;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::RawBuffer;
use crate::host::HostArray;
use crate::program::Source;
use crate::{Error, Result};

/// What can be asked of an engine, to count it or to have it fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Op {
    /// Compiling a program.
    Compile,
    /// Running one.
    Execute,
    /// Copying host data to a device.
    Upload,
    /// Copying a buffer to the host.
    Read,
    /// Copying a buffer to another device.
    Copy,
}

const OPS: usize = 5;

/// How long a wait for something that a test expects may take before it is a failure of the test.
const PATIENCE: Duration = Duration::from_secs(20);

/// The counters and knobs of one fake client.
///
/// Counts are of calls, whether they succeeded or not. A knob with a number acts on that many of the next calls.
///
/// Using a buffer or an executable after its end, or destroying it twice, is a *fault*: it is recorded, printed, and
/// panics where a panic can be caught (not in destructors). So is every other promise of the
/// [`Engine`](crate::engine::Engine) trait that its caller breaks. [`FakeState::assert_clean`] at the end of a test
/// finds the faults of other threads and of destructors.
#[derive(Debug)]
pub struct FakeState {
    inner: Mutex<Inner>,
    /// Told whenever something in `inner` changes that somebody may wait for.
    changed: Condvar,
}

#[derive(Debug)]
struct Inner {
    ops: [OpState; OPS],
    buffers: HashMap<usize, Buffer>,
    live_executables: usize,
    executable_bytes: u64,
    aliases_donors: bool,
    host_donors: Vec<bool>,
    promises_to_share: bool,
    last_program: Option<String>,
    faults: Vec<String>,
}

#[derive(Debug, Default)]
struct OpState {
    calls: usize,
    failures: usize,
    /// Calls between their start and the end of the gate and the delay.
    pending: usize,
    peak_pending: usize,
    at_gate: usize,
    gate_closed: bool,
    fail: usize,
    panic: usize,
    delay: usize,
    delay_by: Duration,
}

/// A live buffer.
#[derive(Clone, Debug)]
pub(super) struct Buffer {
    pub(super) array: Arc<HostArray>,
    pub(super) device: usize,
    /// Given to a result by a program: only to be destroyed.
    consumed: bool,
}

/// Buffers are numbers that never come again, in a range where no object lies: a stale one finds nothing in the
/// table, however long it has been gone and whatever was made since.
static NEXT_BUFFER: AtomicUsize = AtomicUsize::new(1 << (usize::BITS - 4));

impl FakeState {
    pub(super) fn new() -> FakeState {
        FakeState {
            inner: Mutex::new(Inner {
                ops: Default::default(),
                buffers: HashMap::new(),
                live_executables: 0,
                executable_bytes: 4096,
                aliases_donors: true,
                host_donors: Vec::new(),
                promises_to_share: false,
                last_program: None,
                faults: Vec::new(),
            }),
            changed: Condvar::new(),
        }
    }

    /// From now on the engine says that it shares data, wherever that is, but copies it.
    pub fn promise_to_share(&self) {
        self.lock().promises_to_share = true;
    }

    pub(super) fn promises_to_share(&self) -> bool {
        self.lock().promises_to_share
    }

    /// How often this was asked for.
    pub fn count(&self, op: Op) -> usize {
        self.op(op, |s| s.calls)
    }

    /// How often this failed or panicked on demand.
    pub fn failures(&self, op: Op) -> usize {
        self.op(op, |s| s.failures)
    }

    /// [`FakeState::count`] of [`Op::Compile`].
    pub fn compiles(&self) -> usize {
        self.count(Op::Compile)
    }

    /// [`FakeState::count`] of [`Op::Execute`].
    pub fn executes(&self) -> usize {
        self.count(Op::Execute)
    }

    /// [`FakeState::count`] of [`Op::Upload`].
    pub fn uploads(&self) -> usize {
        self.count(Op::Upload)
    }

    /// The most calls that were waiting or delayed at the same time.
    pub fn peak_concurrent(&self, op: Op) -> usize {
        self.op(op, |s| s.peak_pending)
    }

    /// Buffers that were made and not destroyed.
    pub fn live_buffers(&self) -> usize {
        self.lock().buffers.len()
    }

    /// Executables that were made and not dropped.
    pub fn live_executables(&self) -> usize {
        self.lock().live_executables
    }

    /// The program last given to the compiler, as text.
    pub fn last_program(&self) -> Option<String> {
        self.lock().last_program.clone()
    }

    /// Uses after the end and other broken promises, in the order in which they were noticed.
    pub fn faults(&self) -> Vec<String> {
        self.lock().faults.clone()
    }

    /// Forgets the faults, for tests that provoke one.
    pub fn take_faults(&self) -> Vec<String> {
        std::mem::take(&mut self.lock().faults)
    }

    /// Asserts that no fault was noticed.
    #[track_caller]
    pub fn assert_no_faults(&self) {
        let faults = self.faults();
        assert!(faults.is_empty(), "the fake engine noticed {} faults: {faults:#?}", faults.len());
    }

    /// Asserts that no fault was noticed and that no buffer and no executable is alive.
    #[track_caller]
    pub fn assert_clean(&self) {
        self.assert_no_faults();
        assert_eq!(
            (self.live_buffers(), self.live_executables()),
            (0, 0),
            "live buffers and live executables"
        );
    }

    /// Makes the next `n` calls fail with an [`Error::Pjrt`] of status `INTERNAL`.
    pub fn fail(&self, op: Op, n: usize) {
        self.op(op, |s| s.fail = n);
    }

    /// Makes the next `n` calls panic.
    pub fn panic(&self, op: Op, n: usize) {
        self.op(op, |s| s.panic = n);
    }

    /// Makes the next `n` calls take at least this long.
    pub fn delay(&self, op: Op, n: usize, by: Duration) {
        self.op(op, |s| (s.delay, s.delay_by) = (n, by));
    }

    /// Makes every call wait until [`FakeState::open_gate`].
    pub fn close_gate(&self, op: Op) {
        self.op(op, |s| s.gate_closed = true);
    }

    /// Lets the calls at the gate, and later ones, go on.
    pub fn open_gate(&self, op: Op) {
        self.op(op, |s| s.gate_closed = false);
        self.changed.notify_all();
    }

    /// Waits until `n` calls or more wait at the gate.
    ///
    /// # Panics
    ///
    /// If that takes more than 20 seconds.
    #[track_caller]
    pub fn await_at_gate(&self, op: Op, n: usize) {
        let end = Instant::now() + PATIENCE;
        let mut inner = self.lock();
        while inner.ops[op as usize].at_gate < n {
            let left = end.saturating_duration_since(Instant::now());
            let waiting = inner.ops[op as usize].at_gate;
            assert!(!left.is_zero(), "{waiting} calls of {op:?} came to the gate, not {n}");
            inner = self.changed.wait_timeout(inner, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Whether executables compiled from now on give donated arguments to results (on at first). With it off they
    /// are as if XLA could not use any donation.
    pub fn set_alias_donors(&self, on: bool) {
        self.lock().aliases_donors = on;
    }

    /// Which arguments of host closures compiled from now on are donors; arguments beyond the mask are none.
    pub fn set_host_donors(&self, mask: &[bool]) {
        self.lock().host_donors = mask.to_vec();
    }

    /// The size that executables compiled from now on report (4096 at first).
    pub fn set_executable_bytes(&self, bytes: u64) {
        self.lock().executable_bytes = bytes;
    }

    /// Counts a call, and does what the knobs say about it.
    pub(super) fn begin(&self, op: Op) -> Result<()> {
        let mut inner = self.lock();
        let s = &mut inner.ops[op as usize];
        s.calls += 1;
        s.pending += 1;
        s.peak_pending = s.peak_pending.max(s.pending);
        let delay = take_one(&mut s.delay).then_some(s.delay_by);
        if s.gate_closed {
            s.at_gate += 1;
            self.changed.notify_all();
            while inner.ops[op as usize].gate_closed {
                inner = self.changed.wait(inner).unwrap_or_else(PoisonError::into_inner);
            }
            inner.ops[op as usize].at_gate -= 1;
        }
        if let Some(delay) = delay {
            drop(inner);
            std::thread::sleep(delay);
            inner = self.lock();
        }
        let s = &mut inner.ops[op as usize];
        s.pending -= 1;
        let (panic, fail) = (take_one(&mut s.panic), s.fail > 0);
        if !panic {
            take_one(&mut s.fail);
        }
        s.failures += usize::from(panic || fail);
        drop(inner);
        if panic {
            panic!("the fake engine was told to panic in this call of {op:?}");
        }
        if fail {
            return Err(Error::Pjrt {
                function: op.function(),
                status: "INTERNAL",
                message: "the fake engine was told to fail".into(),
            });
        }
        Ok(())
    }

    pub(super) fn note_program(&self, source: &Source) {
        self.lock().last_program = Some(format!("{source:?}"));
    }

    pub(super) fn host_donors(&self, args: usize) -> Vec<bool> {
        let mut mask = self.lock().host_donors.clone();
        mask.resize(args, false);
        mask
    }

    pub(super) fn executable_bytes(&self) -> u64 {
        self.lock().executable_bytes
    }

    pub(super) fn aliases_donors(&self) -> bool {
        self.lock().aliases_donors
    }

    pub(super) fn executable_made(&self) {
        self.lock().live_executables += 1;
    }

    pub(super) fn executable_gone(&self) {
        self.lock().live_executables -= 1;
    }

    pub(super) fn add_buffer(&self, array: HostArray, device: usize) -> RawBuffer {
        let id = NEXT_BUFFER.fetch_add(1, Ordering::Relaxed);
        self.lock().buffers.insert(id, Buffer { array: Arc::new(array), device, consumed: false });
        let pointer = ptr::without_provenance_mut::<c_void>(id);
        RawBuffer(NonNull::new(pointer).expect("numbers of buffers start above zero"))
    }

    /// The buffer, or a fault if it is not there any more.
    #[track_caller]
    pub(super) fn buffer(&self, raw: RawBuffer, what: &str) -> Buffer {
        let found = self.lock().buffers.get(&raw.0.addr().get()).cloned();
        match found {
            Some(buffer) if buffer.consumed => {
                self.fault_panic(format!("a buffer was {what} after its donation"))
            }
            Some(buffer) => buffer,
            None => self.fault_panic(format!("a buffer was {what} that is destroyed or not of this client")),
        }
    }

    pub(super) fn consume_buffer(&self, raw: RawBuffer) {
        if let Some(buffer) = self.lock().buffers.get_mut(&raw.0.addr().get()) {
            buffer.consumed = true;
        }
    }

    pub(super) fn check_still_there(&self, raw: RawBuffer) {
        if !self.lock().buffers.contains_key(&raw.0.addr().get()) {
            self.fault("a buffer was destroyed while a program ran with it".into());
        }
    }

    pub(super) fn remove_buffer(&self, raw: RawBuffer) {
        // Two statements: the data is dropped outside the lock.
        let removed = self.lock().buffers.remove(&raw.0.addr().get());
        if removed.is_none() {
            self.fault("a buffer was destroyed that is destroyed already or not of this client".into());
        }
    }

    pub(super) fn fault(&self, text: String) {
        eprintln!("fault noticed by the fake engine: {text}");
        self.lock().faults.push(text);
    }

    #[track_caller]
    pub(super) fn fault_panic(&self, text: String) -> ! {
        self.fault(text.clone());
        panic!("{text}");
    }

    fn op<T>(&self, op: Op, look: impl FnOnce(&mut OpState) -> T) -> T {
        look(&mut self.lock().ops[op as usize])
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        lock(&self.inner)
    }
}

impl Op {
    /// The C API function that a failure names.
    fn function(self) -> &'static str {
        match self {
            Op::Compile => "PJRT_Client_Compile",
            Op::Execute => "PJRT_LoadedExecutable_Execute",
            Op::Upload => "PJRT_Client_BufferFromHostBuffer",
            Op::Read => "PJRT_Buffer_ToHostBuffer",
            Op::Copy => "PJRT_Buffer_CopyToDevice",
        }
    }
}

/// Whether a countdown has one left, which is then taken.
fn take_one(left: &mut usize) -> bool {
    let some = *left > 0;
    *left -= usize::from(some);
    some
}

/// Locks; panics that tests provoke leave nothing half done, so poison is no news.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
