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
    PJRT_FFI_Register_Handler_Args, PJRT_FFI_UserData_Add_Args, PjrtFunction, XLA_FFI_Api, XLA_FFI_CallFrame,
    XLA_FFI_Error,
};
use crate::ffi::api::Api;
use crate::ffi::registry::{self, Platform, Registration};
use crate::ffi::{self, Dictionary, Handler, RemainingArgs, RemainingRets};
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

impl PluginFfi {
    /// The function that puts data into an execute context.
    pub(super) fn user_data_add(&self) -> Option<PjrtFunction<PJRT_FFI_UserData_Add_Args>> {
        // SAFETY: the extension reaches behind this field, and lives as long as the plugin.
        unsafe { self.extension.as_ref() }.user_data_add
    }
}

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
    /// Registers a handler under a target name for the programs of this client, and of all others of its platform.
    ///
    /// It must be there when a program that calls it is compiled. The same handler may be registered again.
    ///
    /// ```no_run
    /// # use dispatch_runtime::{Client, ffi::Handler};
    /// # fn example(client: Client, rotate_add: &'static Handler) -> dispatch_runtime::Result<()> {
    /// client.register_ffi_handler("rotate_add", rotate_add)?;
    /// assert!(client.registered_ffi_handlers().contains(&"rotate_add".to_owned()));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::FfiHandler`] says why: the name is empty, stands for another handler, or is one that XLA's compiler
    /// knows itself (`TopK`, `Sharding`, `__onednn$…`); the plugin refuses the handler, or has its version of the interface
    /// only; the process has too many. [`Error::Unimplemented`] if the plugin calls no handlers.
    pub fn register_ffi_handler(self, target: &str, handler: &'static Handler) -> Result<()> {
        let (platform, plugin) = self.ffi_platform()?;
        // SAFETY: a handler's entry takes all frames of XLA, catches panics, and lives as long as the process.
        unsafe { registry::register_for(&Registration::of(target, platform, handler), plugin.id()) }
    }

    /// [`Client::register_ffi_handler`] for a closure, which takes arguments and results of any number and type.
    ///
    /// The closure is dropped when it is [removed](Client::remove_ffi_handler) and no call uses it any more.
    ///
    /// ```
    /// use dispatch_runtime::program::{Program, Source};
    /// use dispatch_runtime::Client;
    ///
    /// let client = Client::cpu()?;
    /// client.register_ffi_closure("twice", |args, mut rets, _attrs| {
    ///     let x = args.get::<f32>(0)?;
    ///     for (y, x) in rets.get::<f32>(0)?.iter_mut().zip(&x[..]) {
    ///         *y = 2.0 * x;
    ///     }
    ///     Ok(())
    /// })?;
    /// let program = client.compile(Source::StableHlo(
    ///     r#"func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
    ///         %y = "stablehlo.custom_call"(%x) {call_target_name = "twice", api_version = 4 : i32}
    ///             : (tensor<2xf32>) -> tensor<2xf32>
    ///         return %y : tensor<2xf32>
    ///     }"#
    ///     .into(),
    /// ))?;
    /// let x = client.array(&[1f32, 2.0], [2])?;
    /// assert_eq!(program.execute(&[&x])?[0].to_vec::<f32>()?, [2.0, 4.0]);
    /// assert!(client.remove_ffi_handler("twice"));
    /// # Ok::<(), dispatch_runtime::Error>(())
    /// ```
    pub fn register_ffi_closure(
        self,
        target: &str,
        closure: impl Fn(RemainingArgs<'_>, RemainingRets<'_>, Dictionary<'_>) -> ffi::Result<()>
        + Send
        + Sync
        + 'static,
    ) -> Result<()> {
        let (platform, plugin) = self.ffi_platform()?;
        // SAFETY: the entry of a closure takes all frames of XLA and catches panics; its data live until they are released.
        unsafe { registry::register_for(&Registration::closure(target, platform, closure), plugin.id()) }
    }

    /// Removes a handler that belongs to no package; whether there was one. Programs that call it fail from then on, and
    /// its name is free for another. Calls that are running finish.
    pub fn remove_ffi_handler(self, target: &str) -> bool {
        self.ffi_platform().is_ok_and(|(platform, _)| registry::remove(target, platform, ""))
    }

    /// The target names that programs of this client can call, in the order of their names: the handlers registered by
    /// this process. What a plugin brings along is not among them.
    pub fn registered_ffi_handlers(self) -> Vec<String> {
        self.ffi_platform()
            .map_or_else(|_| Vec::new(), |(platform, plugin)| registry::known_to(platform, plugin.id()))
    }

    /// The platform of the client's handlers, and its plugin.
    fn ffi_platform(self) -> Result<(Platform, &'static Plugin)> {
        let engine: Option<&PjrtEngine> = self.engine().as_any().downcast_ref();
        let engine = engine.ok_or_else(|| Error::Unimplemented {
            what: "calling FFI handlers".into(),
            by: self.engine().description(),
        })?;
        let plugin = engine.0.plugin;
        plugin.ffi(self.platform())?;
        Ok((Platform::named(self.platform())?, plugin))
    }
}

impl Shared {
    /// The error of a compile, which may be that of a target nobody has registered.
    #[cold]
    pub(super) fn compile_error(&self, error: Error) -> Error {
        let Error::Pjrt { message, .. } = &error else { return error };
        let registered = || {
            Platform::named(&self.platform)
                .map_or_else(|_| Vec::new(), |platform| registry::known_to(platform, self.plugin.id()))
        };
        // How XLA words it, in all versions known.
        if let Some((target, rest)) = between(message, "No FFI handler registered for ", " on a platform ") {
            let platform = rest.split(|c: char| !c.is_alphanumeric()).next().unwrap_or(rest);
            return Error::FfiTarget {
                target: target.to_owned(),
                platform: Platform::named(platform)
                    .map_or_else(|_| platform.to_owned(), |known| known.word().to_owned()),
                registered: registered(),
            };
        }
        // A call that does not say its version is of the oldest.
        if let Some((target, _)) =
            between(message, "No registered implementation for untyped custom call to ", " for ")
        {
            if registered().iter().any(|name| name == target) {
                return Error::InvalidProgram {
                    reason: format!(
                        "it calls `{target}`, which is registered as a typed FFI handler, by an older convention; \
                         write `api_version = 4 : i32` in the call"
                    ),
                };
            }
        }
        error
    }
}

/// What stands between two texts, and behind the second.
fn between<'m>(message: &'m str, first: &str, second: &str) -> Option<(&'m str, &'m str)> {
    message.split_once(first)?.1.split_once(second)
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
