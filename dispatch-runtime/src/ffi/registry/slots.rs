//! The functions that XLA is given, and what stands behind each.
//!
//! XLA takes a function without a pointer to data and keeps it for ever. So there is a fixed number of functions that
//! differ by nothing but the number of their slot; what a slot holds may change: a handler may be a closure, be replaced
//! by a later version of itself, or go.

use std::ffi::c_void;
use std::mem::transmute;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use super::super::abi::*;
use super::super::api::{Api, StageSet};

/// How many targets a process can have, over all platforms. A target that has gone keeps its slot, which the next
/// handler of that name gets.
pub(super) const SLOTS: usize = 1024;

/// One function of XLA's, and what it calls.
pub(super) struct Slot {
    /// The handler, if it is a function that lives as long as the process; else null, and the state tells.
    entry: AtomicPtr<c_void>,
    state: RwLock<State>,
}

/// What stands behind a slot.
#[derive(Clone)]
pub(super) enum State {
    /// Nothing yet.
    Free,
    /// A function that lives as long as the process.
    Function(XLA_FFI_Handler, StageSet),
    /// A function with data of its own.
    Closure(Arc<Closure>, StageSet),
    /// What the slot held is gone; the text says what and why.
    Gone(Arc<str>),
}

/// A handler with data: `call(data, frame)`. `release` ends the data when no call uses it any more.
pub(super) struct Closure {
    pub call: unsafe extern "C" fn(data: *mut c_void, frame: *mut XLA_FFI_CallFrame) -> *mut XLA_FFI_Error,
    pub data: *mut c_void,
    pub release: Option<unsafe extern "C" fn(data: *mut c_void)>,
    pub traits: u32,
}

// SAFETY: who registers a closure promises that its function takes calls from any thread, and its release too.
unsafe impl Send for Closure {}
// SAFETY: as above.
unsafe impl Sync for Closure {}

impl Drop for Closure {
    fn drop(&mut self) {
        if let Some(release) = self.release {
            // SAFETY: by the registration the data is ours to release once; no call uses it, for each holds a share.
            unsafe { release(self.data) };
        }
    }
}

static SLOT_TABLE: [Slot; SLOTS] =
    [const { Slot { entry: AtomicPtr::new(null_mut()), state: RwLock::new(State::Free) } }; SLOTS];

pub(super) fn slot(number: usize) -> &'static Slot {
    &SLOT_TABLE[number]
}

/// The function of a slot.
pub(super) fn trampoline_of(number: usize) -> XLA_FFI_Handler {
    TRAMPOLINES[number / 256][number / 16 % 16][number % 16]
}

impl Slot {
    /// Changes what the slot holds. What it held before, which is returned, lives on in the calls that use it.
    #[must_use = "dropping it may run code of others, which must not be under a lock"]
    pub fn set(&self, state: State) -> State {
        let entry = match &state {
            State::Function(entry, _) => *entry as *mut c_void,
            _ => null_mut(),
        };
        let mut current = self.state.write().unwrap_or_else(PoisonError::into_inner);
        self.entry.store(entry, Ordering::Release);
        std::mem::replace(&mut *current, state)
    }
}

/// What XLA calls.
///
/// # Safety
///
/// `frame` is a call frame of a plugin.
unsafe extern "C" fn trampoline<const N: usize>(frame: *mut XLA_FFI_CallFrame) -> *mut XLA_FFI_Error {
    let slot = &SLOT_TABLE[N];
    let entry = slot.entry.load(Ordering::Acquire);
    // SAFETY: a frame reaches behind its stage. What the slot holds, if not null, is a handler that lives as long as the
    // process.
    unsafe {
        if !entry.is_null() && (*frame).stage == stage::EXECUTE {
            return transmute::<*mut c_void, XLA_FFI_Handler>(entry)(frame);
        }
        by_state(slot, frame)
    }
}

/// A call of anything but a function that executes.
///
/// # Safety
///
/// As for [`trampoline`].
#[inline(never)]
unsafe fn by_state(slot: &Slot, frame: *mut XLA_FFI_CallFrame) -> *mut XLA_FFI_Error {
    // The lock is not held during the call, which may take long or change the slot; a closure lives by its share.
    let state = slot.state.read().unwrap_or_else(PoisonError::into_inner).clone();
    // SAFETY: a frame reaches behind its stage; its extension is null or one that states its size.
    let (stage, metadata) = unsafe { ((*frame).stage, metadata(frame)) };
    match state {
        // A function answers for itself, for it may be made by another version of the interface.
        // SAFETY: the handler lives as long as the process, and takes the frames of a plugin.
        State::Function(entry, stages) if metadata.is_some() || stages.has(stage) => unsafe { entry(frame) },
        State::Closure(closure, stages) => {
            // SAFETY: the metadata are the plugin's to be written to; the data lives by the share that we hold.
            unsafe {
                if let Some(metadata) = metadata {
                    answer(frame, metadata, closure.traits);
                } else if stages.has(stage) {
                    return (closure.call)(closure.data, frame);
                }
            }
            null_mut()
        }
        // A stage that the handler does not take part in.
        State::Function(..) => null_mut(),
        // 9 is FAILED_PRECONDITION.
        // SAFETY: the table is the plugin's.
        State::Gone(why) => unsafe { error(frame, 9, &why) },
        // SAFETY: as above. 13 is INTERNAL.
        State::Free => unsafe { error(frame, 13, "no handler was ever registered here") },
    }
}

/// What the plugin asks for while it registers a handler.
///
/// # Safety
///
/// As for [`trampoline`].
unsafe fn metadata(frame: *mut XLA_FFI_CallFrame) -> Option<*mut XLA_FFI_Metadata> {
    // SAFETY: an extension states its kind, and one of this kind has metadata.
    unsafe {
        let extension = (*frame).extension_start;
        (!extension.is_null() && (*extension).kind == EXTENSION_METADATA)
            .then(|| (*extension.cast::<XLA_FFI_Metadata_Extension>()).metadata)
    }
}

/// Says which version of the interface we speak: ours, or the plugin's if that is older.
///
/// # Safety
///
/// As for [`trampoline`]; the metadata are those of the frame.
unsafe fn answer(frame: *mut XLA_FFI_CallFrame, metadata: *mut XLA_FFI_Metadata, traits: u32) {
    // SAFETY: metadata reach behind the traits in all versions.
    unsafe {
        let minor = Api::new((*frame).api).map_or(MINOR, |api| api.minor().min(MINOR));
        (*metadata).api_version.major_version = MAJOR;
        (*metadata).api_version.minor_version = minor;
        (*metadata).traits = traits;
    }
}

/// # Safety
///
/// As for [`trampoline`].
unsafe fn error(frame: *mut XLA_FFI_CallFrame, code: std::ffi::c_int, text: &str) -> *mut XLA_FFI_Error {
    // SAFETY: by the caller's promise.
    unsafe { Api::new((*frame).api).map_or(null_mut(), |api| api.error(code, text)) }
}

macro_rules! sixteen {
    ($f:ident $($from:expr),*) => {
        [$([
            $f::<{ $from }>, $f::<{ $from + 1 }>, $f::<{ $from + 2 }>, $f::<{ $from + 3 }>, $f::<{ $from + 4 }>,
            $f::<{ $from + 5 }>, $f::<{ $from + 6 }>, $f::<{ $from + 7 }>, $f::<{ $from + 8 }>, $f::<{ $from + 9 }>,
            $f::<{ $from + 10 }>, $f::<{ $from + 11 }>, $f::<{ $from + 12 }>, $f::<{ $from + 13 }>,
            $f::<{ $from + 14 }>, $f::<{ $from + 15 }>,
        ]),*]
    };
}

macro_rules! blocks {
    ($($from:literal)*) => {
        [$(sixteen!(trampoline
            $from, $from + 16, $from + 32, $from + 48, $from + 64, $from + 80, $from + 96, $from + 112, $from + 128,
            $from + 144, $from + 160, $from + 176, $from + 192, $from + 208, $from + 224, $from + 240
        )),*]
    };
}

static TRAMPOLINES: [[[XLA_FFI_Handler; 16]; 16]; 4] = blocks!(0 256 512 768);
const _: () = assert!(SLOTS == 4 * 16 * 16);
