//! Where programs are compiled and run: the one interface between the dispatch rules and a backend.
//!
//! Everything outside this folder is blind to the backend. [`pjrt`] is the only place that knows PJRT, [`host`] runs
//! Rust closures over host arrays, and `fake` (feature `fake`) counts, checks and fails on demand for tests.

use std::ffi::c_void;
use std::ptr::NonNull;
use std::time::Duration;

use crate::ffi::ExecutionData;
use crate::host::{HostArray, HostView, Owner};
use crate::program::Source;
use crate::{Aval, CompileOptions, DType, Error, Inspection, MemoryStats, Result};

#[cfg(any(feature = "fake", test))]
pub mod fake;
pub mod host;
pub mod pjrt;

/// A buffer as its engine knows it: an opaque pointer, `PJRT_Buffer*` for PJRT.
///
/// Copying it copies the pointer; who owns the buffer is said where one is handed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct RawBuffer(pub(crate) NonNull<c_void>);

impl RawBuffer {
    /// A buffer of an engine outside this crate.
    ///
    /// # Safety
    ///
    /// `pointer` is a live buffer of the engine that the value is used with, for as long as it is used.
    pub unsafe fn new(pointer: NonNull<c_void>) -> RawBuffer {
        RawBuffer(pointer)
    }

    /// The engine's pointer.
    pub fn as_ptr(self) -> *mut c_void {
        self.0.as_ptr()
    }
}

// SAFETY: the pointer is only ever given back to its engine, and engines take calls from any thread.
unsafe impl Send for RawBuffer {}
// SAFETY: as above; sharing the pointer gives no access to what it points to.
unsafe impl Sync for RawBuffer {}

/// One device of a client as its engine describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceInfo {
    /// The plugin's id of the device.
    pub id: i64,
    /// The device in the plugin's words, for messages: `cpu:1`.
    pub name: String,
}

/// A backend: compiles programs, moves data, owns buffers. One per client, for the rest of the process.
///
/// Devices are named by their index in [`Engine::devices`].
///
/// # Safety
///
/// The dispatch rules rely on the answers: an executable must really take [`Executable::inputs`] and give
/// [`Executable::outputs`], and a buffer must live until [`Engine::destroy`], whatever happens to the executable
/// that made it.
pub unsafe trait Engine: Send + Sync + 'static {
    /// The platform in lower case: `cpu`, `cuda`, `host`.
    fn platform(&self) -> &str;

    /// Name and version for messages: `xla_cpu_pjrt.so (PJRT C API 0.81)`.
    fn description(&self) -> String;

    /// The devices that programs can run on; never empty.
    fn devices(&self) -> &[DeviceInfo];

    /// Compiles a program for one device.
    fn compile(&self, source: &Source, device: usize) -> Result<Box<dyn Executable>>;

    /// As [`Engine::compile`], with options for XLA's compiler, where the engine has one.
    fn compile_with(
        &self,
        source: &Source,
        device: usize,
        options: &CompileOptions,
    ) -> Result<Box<dyn Executable>> {
        let _ = (source, device, options);
        let what = "compiling with options for XLA's compiler".into();
        Err(Error::Unimplemented { what, by: self.description() })
    }

    /// All that decides, but for the program and options that a compile is given, what comes of compiling for this device:
    /// which compiler it is, its settings, the machine. Executables may be exchanged between processes whose engines say
    /// the same. None if the engine cannot tell, which is the default: then nothing of it is kept.
    fn fingerprint(&self, device: usize) -> Option<String> {
        let _ = device;
        None
    }

    /// The executable that [`Executable::serialize`] made bytes of.
    ///
    /// # Safety
    ///
    /// The bytes are unchanged, and those of an executable that an engine of the same [fingerprint](Engine::fingerprint)
    /// compiled from this source with these options. They are machine code, and nobody looks for damage.
    unsafe fn deserialize(
        &self,
        bytes: &[u8],
        source: &Source,
        device: usize,
        options: Option<&CompileOptions>,
    ) -> Result<Box<dyn Executable>> {
        let _ = (bytes, source, device, options);
        Err(Error::Unimplemented { what: "loading compiled programs".into(), by: self.description() })
    }

    /// Copies host data to a device, whatever its strides are: the buffer is dense. The data is no longer needed when this
    /// returns.
    fn upload(&self, host: HostView<'_>, device: usize) -> Result<RawBuffer>;

    /// What an address must be a multiple of for [`Engine::share`] to share dense data there; none if the engine does not,
    /// which is the default.
    fn share_alignment(&self) -> Option<usize> {
        None
    }

    /// A buffer whose memory is that of host data, where the engine can do so with this data, whose copy it is else; the
    /// answer says whether it is shared. The owner is dropped as soon as the engine needs the data no more, on any thread,
    /// once: at the end of a buffer that shares, before this returns if there is a copy or an error.
    ///
    /// The default copies.
    ///
    /// # Safety
    ///
    /// The data stays where it is, and as it is, until the owner is dropped. A buffer that shares is not donated.
    unsafe fn share(
        &self,
        host: HostView<'_>,
        owner: Box<dyn Owner>,
        device: usize,
    ) -> Result<(RawBuffer, bool)> {
        let made = self.upload(host, device);
        drop(owner);
        Ok((made?, false))
    }

    /// A new buffer whose content nobody relies on, for a program to write its result to. The default is zeros.
    fn allocate(&self, (dtype, shape): (DType, &[i64]), device: usize) -> Result<RawBuffer> {
        self.upload(HostArray::try_zeros(dtype, shape)?.view(), device)
    }

    /// Whether a program that takes over arguments of so many bytes in all gets their memory. If not, it gets copies, and
    /// giving it arguments for their memory is in vain.
    fn hands_over(&self, bytes: usize) -> bool {
        let _ = bytes;
        false
    }

    /// Copies a buffer back, dense and row-major, after waiting for it; `out` has exactly its size in bytes.
    ///
    /// # Safety
    ///
    /// `buffer` is a live buffer of this engine and `aval` is its dtype and shape.
    unsafe fn read(&self, buffer: RawBuffer, aval: (DType, &[i64]), out: &mut [u8]) -> Result<()>;

    /// Shows a buffer's bytes, dense and row-major, after waiting for it. On success `look` has been called once.
    ///
    /// # Safety
    ///
    /// As for [`Engine::read`].
    unsafe fn with_bytes(
        &self,
        buffer: RawBuffer,
        aval: (DType, &[i64]),
        look: &mut dyn FnMut(&[u8]),
    ) -> Result<()> {
        let mut copy = HostArray::zeros(aval.0, aval.1);
        // SAFETY: by the caller's promise; the copy has the size of the array.
        unsafe { self.read(buffer, aval, copy.bytes_mut())? };
        look(copy.bytes());
        Ok(())
    }

    /// Whether a buffer's data has been computed.
    ///
    /// # Safety
    ///
    /// `buffer` is a live buffer of this engine.
    unsafe fn is_ready(&self, buffer: RawBuffer) -> Result<bool>;

    /// Waits until a buffer's data has been computed; an error of the computation appears here.
    ///
    /// # Safety
    ///
    /// `buffer` is a live buffer of this engine.
    unsafe fn await_ready(&self, buffer: RawBuffer) -> Result<()>;

    /// As [`Engine::await_ready`], but not longer than this; whether the data has been computed.
    ///
    /// # Safety
    ///
    /// `buffer` is a live buffer of this engine.
    unsafe fn await_ready_for(&self, buffer: RawBuffer, longest: Duration) -> Result<bool> {
        let _ = longest;
        // SAFETY: by the caller's promise.
        unsafe { self.await_ready(buffer).map(|()| true) }
    }

    /// Copies a buffer to another device of this engine; the caller owns the copy.
    ///
    /// # Safety
    ///
    /// `buffer` is a live buffer of this engine.
    unsafe fn copy(&self, buffer: RawBuffer, device: usize) -> Result<RawBuffer>;

    /// Ends a buffer. Work that still uses it finishes first.
    ///
    /// # Safety
    ///
    /// The caller owns `buffer`, a live buffer of this engine, and gives it up.
    unsafe fn destroy(&self, buffer: RawBuffer);

    /// The engine as itself, for the parts of the toolkit that know it.
    fn as_any(&self) -> &dyn std::any::Any;
}

/// How one run differs from another.
#[derive(Clone, Copy, Debug, Default)]
pub struct RunOptions<'a> {
    /// The indices of arguments that stay the caller's although the program may take over their memory: a result gets
    /// a copy instead.
    pub keep: &'a [i64],
    /// A number by which launches of one program on several devices find each other.
    pub launch_id: i32,
    /// Whether an argument may have another dtype or shape than the program takes, if it has as many bytes: they are
    /// taken for what the program expects, where the engine can do that. Not from or to `bool`, whose bytes are 0 and 1.
    pub reinterpret: bool,
    /// Data for the FFI handlers that the program calls, which get them as [`UserData`](crate::ffi::UserData). A program
    /// without such calls ignores them.
    pub user_data: Option<&'a ExecutionData>,
}

/// A compiled program on one device.
///
/// # Safety
///
/// As for [`Engine`]: what [`Executable::inputs`] and [`Executable::outputs`] say is relied upon.
pub unsafe trait Executable: Send + Sync {
    /// The arguments, in order.
    fn inputs(&self) -> &[Aval];

    /// The results, in order.
    fn outputs(&self) -> &[Aval];

    /// Per argument: whether its buffer is given to a result.
    fn aliased(&self) -> &[bool];

    /// The bytes that keeping this executable costs, as far as the engine knows.
    fn size_bytes(&self) -> u64;

    /// What the compiler says of the program: its text, its costs, its memory. The default knows nothing. Arguments,
    /// results and the target are filled in by the caller.
    fn inspect(&self) -> Result<Inspection> {
        Ok(Inspection::default())
    }

    /// What one run needs in memory, where the engine says: a part of [`Executable::inspect`] that costs less to ask for.
    fn memory(&self) -> Result<Option<MemoryStats>> {
        Ok(self.inspect()?.memory)
    }

    /// The executable as bytes, for [`Engine::deserialize`]; none if the engine cannot, which is the default.
    fn serialize(&self) -> Result<Option<Vec<u8>>> {
        Ok(None)
    }

    /// Whether it came from [`Engine::deserialize`], not from a compile.
    fn is_loaded(&self) -> bool {
        false
    }

    /// Whether it takes a buffer for what the program expects if only the number of bytes is right.
    fn takes_bytes(&self) -> bool {
        false
    }

    /// Runs the program; the results may still be computing when this returns. On success every element of `outs` is
    /// a new buffer that the caller owns; on an error none is.
    ///
    /// # Safety
    ///
    /// `args` are live buffers of this engine, on the device of this executable, with the dtypes and shapes of
    /// [`Executable::inputs`], or others of as many bytes if it [takes those](Executable::takes_bytes); `outs` has the length of [`Executable::outputs`]. A donated argument stays the
    /// caller's to destroy, and is used for nothing else.
    unsafe fn execute(&self, args: &[RawBuffer], outs: &mut [Option<RawBuffer>]) -> Result<()>;

    /// [`Executable::execute`] with options.
    ///
    /// # Safety
    ///
    /// As for `execute`; an argument that is kept is not donated.
    unsafe fn execute_with(
        &self,
        args: &[RawBuffer],
        outs: &mut [Option<RawBuffer>],
        options: RunOptions<'_>,
    ) -> Result<()> {
        if options.keep.is_empty() {
            // SAFETY: by the caller's promise.
            return unsafe { self.execute(args, outs) };
        }
        Err(Error::Unimplemented { what: "keeping a donated argument".into(), by: "this engine".into() })
    }

    /// The executable as itself, for the parts of the toolkit that know its engine.
    fn as_any(&self) -> &dyn std::any::Any;
}
