//! How the runtime calls a plugin: one macro for every function of the C API.
//!
//! [`call!`] looks the function up in the plugin's table (a table too short for it, or a null pointer, is an error that
//! names the function and the plugin's version), fills in the argument struct with the size that this plugin expects,
//! and turns a returned error into [`Error::Pjrt`], destroying it once. The few functions of the hot path are looked
//! up with [`function!`] when a client is made and called directly.

use std::ffi::c_int;
use std::mem::MaybeUninit;
use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::OnceLock;

use super::abi::{self, *};
use super::codes;
use super::ffi::PluginFfi;
use crate::{Error, Result};

/// A loaded plugin: its function table and what messages say about it. Lives for the rest of the process.
#[derive(Debug)]
pub(crate) struct Plugin {
    pub(super) api: NonNull<PJRT_Api>,
    /// The plugin's minor version of the C API; the major one is 0.
    pub(super) minor: c_int,
    /// The path that was loaded.
    pub(super) path: String,
    pub(super) errors: ErrorFunctions,
    /// What its programs' fingerprint is made of.
    #[cfg(all(feature = "store", target_os = "linux"))]
    pub(super) at_load: Option<super::fingerprint::AtLoad>,
    /// What it has for handlers, once asked for.
    pub(super) ffi: OnceLock<PluginFfi>,
}

/// The functions that read and end an error, looked up first.
#[derive(Clone, Copy, Debug)]
pub(super) struct ErrorFunctions {
    pub destroy: unsafe extern "C" fn(*mut PJRT_Error_Destroy_Args),
    pub message: unsafe extern "C" fn(*mut PJRT_Error_Message_Args),
    pub code: Function<PJRT_Error_GetCode_Args>,
}

// SAFETY: a plugin's table does not change once it is loaded, and its functions take calls from any thread.
unsafe impl Send for Plugin {}
// SAFETY: as above.
unsafe impl Sync for Plugin {}

/// The pointer of a function in a plugin's table, or [`Error::Unimplemented`].
macro_rules! function {
    ($plugin:expr, $name:ident) => {{
        let plugin: &$crate::engine::pjrt::call::Plugin = $plugin;
        $crate::engine::pjrt::call::slot(
            plugin.api,
            ::std::mem::offset_of!($crate::engine::pjrt::abi::PJRT_Api, $name),
            |table| table.$name,
        )
        .ok_or_else(|| plugin.lacks(stringify!($name)))
    }};
}

/// Calls a function of the plugin: `call!(plugin, PJRT_Buffer_ReadyEvent { buffer: buffer })` gives the argument
/// struct with what the plugin wrote to it. Unnamed fields are zero. Needs an unsafe block: what the pointers among
/// the fields point to is the caller's promise.
macro_rules! call {
    ($plugin:expr, $name:ident { $($field:ident: $value:expr),* $(,)? }) => {{
        let plugin: &$crate::engine::pjrt::call::Plugin = $plugin;
        match $crate::engine::pjrt::call::function!(plugin, $name) {
            Ok(function) => {
                let mut args = $crate::engine::pjrt::call::prepare(plugin, function);
                $(args.args.$field = $value;)*
                let error = function(&raw mut args.args);
                plugin.check(stringify!($name), error).map(|()| args)
            }
            Err(error) => Err(error),
        }
    }};
}

pub(super) use {call, function};

/// An argument struct followed by zeros that a plugin newer than [`NEWEST_MINOR`] may take for fields that it has
/// added since: all fields added so far mean "absent" when they are zero.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Roomy<A> {
    pub args: A,
    reserve: MaybeUninit<[u64; RESERVE / 8]>,
}

/// Bytes of that room.
pub(super) const RESERVE: usize = 64;

impl<A> Deref for Roomy<A> {
    type Target = A;
    fn deref(&self) -> &A {
        &self.args
    }
}

impl<A: Struct> Roomy<A> {
    /// A struct of zeros that states the size which this plugin expects.
    pub fn new(plugin: &Plugin) -> Roomy<A> {
        let mut roomy = Roomy { args: A::zeroed(), reserve: MaybeUninit::zeroed() };
        let size: *mut usize = (&raw mut roomy.args).cast();
        // SAFETY: the first field of every struct of the C API is its size.
        unsafe { size.write(plugin.size_of::<A>()) };
        roomy
    }
}

impl<A: Struct> Roomy<A> {
    /// A struct that is filled in already, with the size that it states, from [`Plugin::size_of`]. For the hot path: the
    /// room is only cleared for a plugin that is told of it.
    #[inline(always)]
    pub fn filled(args: A, size: usize) -> Roomy<A> {
        let mut roomy = Roomy { args, reserve: MaybeUninit::uninit() };
        if size > size_of::<A>() {
            roomy.reserve = MaybeUninit::zeroed();
        }
        roomy
    }
}

/// The argument struct of a function.
pub(super) fn prepare<A: Struct>(plugin: &Plugin, _for: Function<A>) -> Roomy<A> {
    Roomy::new(plugin)
}

/// Reads a function pointer of the table if the table reaches that far and the pointer is not null.
///
/// `offset` is that of the field which `field` gives; `field` only tells its type and is never called, because a table
/// shorter than [`PJRT_Api`] must not be referred to as one.
pub(super) fn slot<F: Copy>(
    api: NonNull<PJRT_Api>,
    offset: usize,
    field: fn(&PJRT_Api) -> Option<F>,
) -> Option<F> {
    let _ = field;
    // SAFETY: a plugin's table at least states its size. It is read only as far as it reaches, and the field there has
    // the type that `field` gives: a function pointer or null.
    unsafe {
        let size = (&raw const (*api.as_ptr()).struct_size).read();
        if offset + size_of::<usize>() > size {
            return None;
        }
        api.as_ptr().byte_add(offset).cast::<Option<F>>().read()
    }
}

impl Plugin {
    /// The size of a struct as this plugin wants it stated.
    ///
    /// Plugins reject a struct smaller than their own and take a larger one. Versions up to 0.54 get the sizes of 0.54,
    /// later ones those of the header; one newer than all that we know gets the room behind them as well.
    pub(super) fn size_of<A: Struct>(&self) -> usize {
        if self.minor <= OLDEST_MINOR {
            A::OLDEST_SIZE
        } else if self.minor <= NEWEST_MINOR {
            size_of::<A>()
        } else {
            size_of::<Roomy<A>>()
        }
    }

    /// File name and version for messages: `xla_cpu_pjrt.so (PJRT C API 0.81)`.
    pub(super) fn description(&self) -> String {
        let file =
            std::path::Path::new(&self.path).file_name().map_or("plugin".into(), |f| f.to_string_lossy());
        format!("{file} (PJRT C API 0.{})", self.minor)
    }

    #[cold]
    pub(super) fn lacks(&self, what: &str) -> Error {
        Error::Unimplemented { what: what.to_owned(), by: self.description() }
    }

    /// The error of a plugin that does what the C API rules out.
    #[cold]
    pub(super) fn broken(&self, what: &str) -> Error {
        Error::Plugin { path: self.path.clone(), reason: format!("{what} (PJRT C API 0.{})", self.minor) }
    }

    /// Turns what a function returned into a result.
    #[inline(always)]
    pub(super) fn check(&self, function: &'static str, error: *mut PJRT_Error) -> Result<()> {
        match NonNull::new(error) {
            None => Ok(()),
            Some(error) => Err(self.take(function, error)),
        }
    }

    /// Reads an error and destroys it.
    #[cold]
    fn take(&self, function: &'static str, error: NonNull<PJRT_Error>) -> Error {
        let mut text: Roomy<PJRT_Error_Message_Args> = Roomy::new(self);
        text.args.error = error.as_ptr();
        let mut code: Roomy<PJRT_Error_GetCode_Args> = Roomy::new(self);
        code.args.error = error.as_ptr();
        let mut destroy: Roomy<PJRT_Error_Destroy_Args> = Roomy::new(self);
        destroy.args.error = error.as_ptr();
        // SAFETY: the error is the plugin's and ours to destroy; its message is copied before that. An error of
        // `PJRT_Error_GetCode` itself is destroyed too.
        let (message, code) = unsafe {
            (self.errors.message)(&raw mut text.args);
            let message = string(text.message, text.message_size);
            let failed = (self.errors.code)(&raw mut code.args);
            if !failed.is_null() {
                let mut again: Roomy<PJRT_Error_Destroy_Args> = Roomy::new(self);
                again.args.error = failed;
                (self.errors.destroy)(&raw mut again.args);
                code.args.code = codes::UNKNOWN;
            }
            (self.errors.destroy)(&raw mut destroy.args);
            (message, code.code)
        };
        // How XLA words it when it wants a larger struct than it got.
        if message.starts_with("Unexpected PJRT_") && message.contains(" size: expected ") {
            return Error::Plugin {
                path: self.path.clone(),
                reason: format!(
                    "it has PJRT C API 0.{}, this runtime is made for 0.{OLDEST_MINOR} to 0.{NEWEST_MINOR}; {function}: {message}",
                    self.minor
                ),
            };
        }
        Error::Pjrt { function, status: codes::status(code), message: message.trim_end().to_owned() }
    }
}

/// Copies text of a plugin; null is empty.
///
/// # Safety
///
/// `text` is null or points to `len` bytes.
pub(super) unsafe fn string(text: *const std::ffi::c_char, len: usize) -> String {
    // SAFETY: by the caller's promise.
    String::from_utf8_lossy(unsafe { slice(text.cast::<u8>(), len) }).into_owned()
}

/// A slice that a plugin gave; null is empty.
///
/// # Safety
///
/// `data` is null or points to `len` elements that live for `'a`.
pub(super) unsafe fn slice<'a, T>(data: *const T, len: usize) -> &'a [T] {
    if data.is_null() || len == 0 {
        return &[];
    }
    // SAFETY: by the caller's promise.
    unsafe { std::slice::from_raw_parts(data, len) }
}

/// A null event pointer is nothing to destroy; all others go through here exactly once.
pub(super) fn destroy_event(plugin: &Plugin, event: *mut abi::PJRT_Event) {
    if !event.is_null() {
        // SAFETY: the event is ours and not used again. A failure to destroy leaves nothing to do.
        let _ = unsafe { call!(plugin, PJRT_Event_Destroy { event: event }) };
    }
}
