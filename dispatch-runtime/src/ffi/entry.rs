//! The one way in from XLA.

use std::cell::Cell;
use std::ffi::c_int;
use std::mem::offset_of;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::{self, NonNull};

use super::abi::{self, XLA_FFI_CallFrame, XLA_FFI_Error};
use super::api::Api;
use super::spec::Spec;
use super::{Call, Error, Result};
use crate::engine::host::panic_text;

/// What the attribute makes of a function: its signature, and code that decodes a call and makes it.
pub trait Declared: 'static {
    /// The signature.
    const SPEC: &'static Spec;

    /// Decodes a call and makes it.
    fn call(call: &Call<'_>) -> Result<()>;
}

/// What a handler may return.
#[diagnostic::on_unimplemented(
    message = "a handler cannot return `{Self}`",
    note = "handlers return `ffi::Result<()>`, `ffi::Future` or `ffi::Result<ffi::Future>`"
)]
pub trait Answer {
    /// Tells XLA.
    #[doc(hidden)]
    fn answer(self, call: &Call<'_>) -> Result<()>;
}

impl Answer for () {
    #[inline(always)]
    fn answer(self, _: &Call<'_>) -> Result<()> {
        Ok(())
    }
}

impl<T: Answer, E: Into<Error>> Answer for Result<T, E> {
    #[inline(always)]
    fn answer(self, call: &Call<'_>) -> Result<()> {
        match self {
            Ok(answer) => answer.answer(call),
            Err(error) => Err(error.into()),
        }
    }
}

thread_local! {
    /// How many calls of handlers this thread is in: a handler may run a program that calls another.
    static CALLS: Cell<u32> = const { Cell::new(0) };
}

/// Whether this thread is in a handler.
pub(crate) fn in_handler() -> bool {
    calls() > 0
}

/// How many calls of handlers this thread is in.
pub(super) fn calls() -> u32 {
    CALLS.get()
}

/// Runs a handler's work on a thread of the plugin, where it counts as a call of the handler: what would wait for ever in
/// one would here too. The work does not panic.
pub(super) fn as_call(work: impl FnOnce()) {
    CALLS.set(CALLS.get() + 1);
    work();
    CALLS.set(CALLS.get() - 1);
}

/// The C function of a declaration.
///
/// # Safety
///
/// As [`enter`].
pub(super) unsafe extern "C" fn entry<D: Declared>(frame: *mut XLA_FFI_CallFrame) -> *mut XLA_FFI_Error {
    // SAFETY: by the contract of this function.
    unsafe { enter(frame, D::SPEC, &D::call) }
}

/// Serves a call from XLA: answers the handshake, finds the stage, makes the call, and turns an error or a panic into
/// XLA's error. Null is success.
///
/// # Safety
///
/// The frame is null or as XLA gives it: it reaches as far as its `struct_size` says, and so do the structs it points to;
/// lists have as many items as they say, pointers are null or valid and aligned; nobody else uses the memory of the
/// results meanwhile.
pub unsafe fn enter(
    frame: *mut XLA_FFI_CallFrame,
    spec: &'static Spec,
    body: &dyn Fn(&Call<'_>) -> Result<()>,
) -> *mut XLA_FFI_Error {
    let Some(frame) = NonNull::new(frame) else { return ptr::null_mut() };
    // SAFETY: every struct of the API begins with its size.
    let size = unsafe { (&raw const (*frame.as_ptr()).struct_size).read() };
    if size < abi::CALL_FRAME_SIZE {
        // SAFETY: as above.
        return unsafe { too_short(frame, size) };
    }
    // SAFETY: the fields are inside of the frame, which is long enough.
    let (api, extensions, stage) = unsafe {
        let frame = frame.as_ptr();
        ((*frame).api, (*frame).extension_start, (*frame).stage)
    };
    if !extensions.is_null() {
        // SAFETY: the extensions are as they say.
        let metadata = unsafe { find_metadata(extensions) };
        if let Some(metadata) = metadata {
            // SAFETY: the metadata reach as far as they say, and are ours to fill.
            return match unsafe { handshake(api, metadata, spec) } {
                Ok(()) => ptr::null_mut(),
                // SAFETY: the API of the frame.
                Err(error) => unsafe { error.into_raw(api) },
            };
        }
    }
    if stage != spec.stage as c_int {
        return match spec.stages.get(stage) {
            // SAFETY: by the contract of this function.
            Some(handler) => unsafe { handler.entry()(frame.as_ptr()) },
            // SAFETY: the API of the frame.
            None => unsafe { no_stage(spec, stage).into_raw(api) },
        };
    }
    CALLS.set(CALLS.get() + 1);
    let made = catch_unwind(AssertUnwindSafe(|| {
        // SAFETY: by the contract of this function.
        let call = unsafe { Call::new(frame, spec) };
        body(&call?)
    }));
    CALLS.set(CALLS.get() - 1);
    match made {
        Ok(Ok(())) => ptr::null_mut(),
        // SAFETY: the API of the frame.
        Ok(Err(error)) => unsafe { error.into_raw(api) },
        Err(panic) => {
            let text = panic_text(&*panic);
            // What was thrown may panic again when it is dropped.
            if let Err(again) = catch_unwind(AssertUnwindSafe(|| drop(panic))) {
                std::mem::forget(again);
            }
            let error = Error::internal(format!("handler `{}` panicked: {text}", spec.name));
            // SAFETY: the API of the frame.
            unsafe { error.into_raw(api) }
        }
    }
}

#[cold]
fn no_stage(spec: &Spec, stage: c_int) -> Error {
    let name = match stage {
        abi::stage::INSTANTIATE => "`instantiate`",
        abi::stage::PREPARE => "`prepare`",
        abi::stage::INITIALIZE => "`initialize`",
        abi::stage::EXECUTE => "`execute`",
        abi::stage::RECORD => "`record`",
        _ => "that is not known",
    };
    let handler = spec.name;
    Error::unimplemented(format!("handler `{handler}` is called in stage {name}, but has no function for it"))
}

/// The error of a frame that is not even long enough for its lists; null if it has no API to make one.
///
/// # Safety
///
/// The frame reaches as far as `size`.
#[cold]
unsafe fn too_short(frame: NonNull<XLA_FFI_CallFrame>, size: usize) -> *mut XLA_FFI_Error {
    let api = if size >= offset_of!(XLA_FFI_CallFrame, api) + size_of::<usize>() {
        // SAFETY: the frame reaches behind the field.
        unsafe { (&raw const (*frame.as_ptr()).api).read() }
    } else {
        ptr::null()
    };
    let needed = abi::CALL_FRAME_SIZE;
    let error = Error::internal(format!("malformed call frame: it takes {needed} bytes, but says {size}"));
    // SAFETY: the API of the frame, or null.
    unsafe { error.into_raw(api) }
}

/// The metadata that the plugin wants filled, if this is the handshake.
///
/// # Safety
///
/// The extensions reach as far as they say; the pointers are null or valid.
#[cold]
unsafe fn find_metadata(
    mut extension: *mut abi::XLA_FFI_Extension_Base,
) -> Option<NonNull<abi::XLA_FFI_Metadata>> {
    // SAFETY: sizes are read before what lies behind.
    unsafe {
        while !extension.is_null() && (*extension).struct_size >= size_of::<abi::XLA_FFI_Extension_Base>() {
            if (*extension).kind == abi::EXTENSION_METADATA {
                let long = (*extension).struct_size >= size_of::<abi::XLA_FFI_Metadata_Extension>();
                let metadata = extension.cast::<abi::XLA_FFI_Metadata_Extension>();
                return if long { NonNull::new((*metadata).metadata) } else { None };
            }
            extension = (*extension).next;
        }
    }
    None
}

/// Tells a plugin that registers the handler the version of the API that it speaks, the plugin's own or ours, whichever
/// is older, and its traits.
///
/// # Safety
///
/// The API and the metadata reach as far as they say.
#[cold]
unsafe fn handshake(
    api: *const abi::XLA_FFI_Api,
    metadata: NonNull<abi::XLA_FFI_Metadata>,
    spec: &'static Spec,
) -> Result<()> {
    let metadata = metadata.as_ptr();
    // SAFETY: as far as the sizes say.
    unsafe {
        if (*metadata).struct_size < abi::METADATA_SIZE {
            let size = (*metadata).struct_size;
            return Err(Error::internal(format!("malformed handshake: metadata of {size} bytes")));
        }
        let plugin = Api::new(api).map_or(abi::MINOR, Api::minor);
        (*metadata).api_version.major_version = abi::MAJOR;
        (*metadata).api_version.minor_version = plugin.min(abi::MINOR);
        (*metadata).traits = if spec.command_buffer { abi::COMMAND_BUFFER_COMPATIBLE } else { 0 };
    }
    Ok(())
}
