//! How a plugin comes to call handlers: its FFI extension, and the functions behind it.
//!
//! The extension's own `register_handler` reports success whatever happens. So it is asked once to register a handler
//! that refuses, for what the plugin shows to it: the table of XLA's own functions, one of which registers handlers and
//! says what is wrong with them.

use std::ffi::c_int;
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Mutex, PoisonError};

use super::abi::*;
use super::call::Plugin;
use super::engine::{PjrtEngine, Shared};
use crate::client::Client;
use crate::ffi::abi::{
    EXTENSION_METADATA, MAJOR, OLDEST_MINOR, PJRT_EXTENSION_FFI, PJRT_FFI_Extension,
    PJRT_FFI_Register_Handler_Args, XLA_FFI_Api, XLA_FFI_CallFrame, XLA_FFI_Error,
};
use crate::ffi::api::Api;
use crate::ffi::registry::{self, Platform};
use crate::{Error, Result};

/// What a plugin has for handlers.
#[derive(Debug)]
pub(crate) struct PluginFfi {
    pub api: Api,
    extension: NonNull<PJRT_FFI_Extension>,
}

// SAFETY: the extension does not change and lives as long as its plugin, which is never unloaded.
unsafe impl Send for PluginFfi {}
// SAFETY: as above.
unsafe impl Sync for PluginFfi {}

impl Plugin {
    /// What the plugin has for handlers; an error if it has nothing that we can use.
    pub(crate) fn ffi(&'static self, platform: &str) -> Result<&'static PluginFfi> {
        if let Some(known) = self.ffi.get() {
            return Ok(known);
        }
        let extension = extension(self)?;
        let api = handshake(self, extension, platform)?;
        let version = api.version();
        if version.0 != MAJOR || version.1 < OLDEST_MINOR {
            return Err(self.broken(&format!(
                "its XLA FFI API {}.{} is none that handlers are made for: {MAJOR}.{OLDEST_MINOR} or newer {MAJOR}.x",
                version.0, version.1
            )));
        }
        // Another thread may have been faster, with the same answer.
        Ok(self.ffi.get_or_init(|| PluginFfi { api, extension }))
    }

    /// Has the plugin know the handlers of its platform, now and later: it has got a client.
    pub(super) fn attach(&'static self, platform: &str) {
        let name = platform.to_owned();
        registry::attach(platform, self.id(), move || self.ffi(&name).map(|ffi| ffi.api));
    }

    /// What tells the plugin from others.
    pub(super) fn id(&'static self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    /// An extension by its kind; `name` is for the message where it is missing.
    pub(super) fn extension(&self, kind: c_int, name: &str) -> Result<NonNull<PJRT_Extension_Base>> {
        // SAFETY: every table that was accepted at loading reaches past this field.
        let mut next = unsafe { (&raw const (*self.api.as_ptr()).extension_start).read() };
        while let Some(node) = NonNull::new(next) {
            // SAFETY: the nodes of the plugin's list live as long as the plugin, which is never unloaded.
            let extension = unsafe { node.as_ref() };
            if extension.kind == kind {
                return Ok(node);
            }
            next = extension.next;
        }
        Err(self.lacks(&format!("the extension {name} of the PJRT C API")))
    }
}

impl Client {
    /// The target names that programs of this client can call, in the order of their names: the handlers registered by
    /// this process. What a plugin brings along is not among them.
    pub fn registered_ffi_handlers(self) -> Vec<String> {
        let engine: Option<&PjrtEngine> = self.engine().as_any().downcast_ref();
        engine.map_or_else(Vec::new, |engine| registry::known_to(self.platform(), engine.0.plugin.id()))
    }
}

impl Shared {
    /// The error of a compile, which may be that of a target nobody has registered.
    #[cold]
    pub(super) fn compile_error(&self, error: Error) -> Error {
        let Error::Pjrt { message, .. } = &error else { return error };
        // How XLA words it, in all versions known.
        let Some((target, rest)) = message
            .split_once("No FFI handler registered for ")
            .and_then(|(_, rest)| rest.split_once(" on a platform "))
        else {
            return error;
        };
        let platform = rest.split(|c: char| !c.is_alphanumeric()).next().unwrap_or(rest);
        Error::FfiTarget {
            target: target.to_owned(),
            platform: platform.to_owned(),
            registered: registry::known_to(&self.platform, self.plugin.id()),
        }
    }
}

fn extension(plugin: &Plugin) -> Result<NonNull<PJRT_FFI_Extension>> {
    let node = plugin.extension(PJRT_EXTENSION_FFI, "FFI")?;
    // SAFETY: a node of the plugin's list, which states its size.
    let size = unsafe { node.as_ref() }.struct_size;
    if size < size_of::<PJRT_FFI_Extension>() {
        return Err(plugin.broken(&format!(
            "its FFI extension has {size} bytes, fewer than the {} that handlers need",
            size_of::<PJRT_FFI_Extension>()
        )));
    }
    Ok(node.cast())
}

/// Where the probe leaves what it was shown.
static SHOWN: AtomicPtr<XLA_FFI_Api> = AtomicPtr::new(null_mut());

/// The table of functions that the plugin shows to a handler which it is about to register.
fn handshake(plugin: &Plugin, extension: NonNull<PJRT_FFI_Extension>, platform: &str) -> Result<Api> {
    static ONE_BY_ONE: Mutex<()> = Mutex::new(());
    let _guard = ONE_BY_ONE.lock().unwrap_or_else(PoisonError::into_inner);
    // SAFETY: the extension reaches behind this field.
    let register = unsafe { extension.as_ref() }
        .register_handler
        .ok_or_else(|| plugin.lacks("PJRT_FFI_Register_Handler"))?;
    let (name, platform) = ("dispatch_runtime.probe", Platform::named(platform)?.name());
    SHOWN.store(null_mut(), Ordering::Relaxed);
    let mut args = PJRT_FFI_Register_Handler_Args {
        struct_size: size_of::<PJRT_FFI_Register_Handler_Args>(),
        target_name: name.as_ptr().cast(),
        target_name_size: name.len(),
        handler: Some(probe),
        platform_name: platform.as_ptr().cast(),
        platform_name_size: platform.len(),
        traits: 0,
    };
    // SAFETY: the names live during the call. The probe is asked once and refuses, so nothing stays of it.
    let error = unsafe { register(&raw mut args) };
    let refused = plugin.check("PJRT_FFI_Register_Handler", error.cast());
    // SAFETY: what the probe was shown is the plugin's table, which lives as long as the plugin.
    unsafe { Api::new(SHOWN.load(Ordering::Relaxed)) }.ok_or_else(|| match refused {
        Err(error) => error,
        Ok(()) => plugin.broken("it shows no XLA FFI API to the handlers that it registers"),
    })
}

/// A handler that remembers what it is shown and refuses.
///
/// # Safety
///
/// `frame` is a call frame of a plugin.
unsafe extern "C" fn probe(frame: *mut XLA_FFI_CallFrame) -> *mut XLA_FFI_Error {
    // SAFETY: a plugin gives a frame that reaches at least behind these fields.
    let (api, extension) = unsafe { ((*frame).api, (*frame).extension_start) };
    SHOWN.store(api.cast_mut(), Ordering::Relaxed);
    // SAFETY: the extension is null or one of the frame's; the table is the plugin's.
    unsafe {
        debug_assert!(extension.is_null() || (*extension).kind == EXTENSION_METADATA);
        // Code 1 is CANCELLED.
        Api::new(api).map_or(null_mut(), |api| api.error(1, "this handler only looks"))
    }
}
