//! The handlers of this process: which target names there are, what stands behind them, and which plugins know them.
//!
//! A registration is for a platform. Every plugin of that platform gets it: those that have a client already at once, the
//! others with their first client. So a handler may be registered before there is a client, and is known before anything
//! is compiled. XLA never forgets a handler; what a name stands for can change all the same, see `slots.rs`.

mod closure;
mod platform;
mod reserved;
mod slots;
mod table;

use std::ffi::c_void;

pub use platform::Platform;
pub(crate) use table::{attach, known_to};

use super::abi::{XLA_FFI_CallFrame, XLA_FFI_Error, XLA_FFI_Handler};
pub use super::api::StageSet;
use super::{Dictionary, Handler, RemainingArgs, RemainingRets};
use crate::Result;

/// A handler as C knows it, with data of its own: `call(data, frame)` for each call, `release(data)` once, when the
/// handler is removed or replaced and no call uses it any more.
#[derive(Clone, Copy, Debug)]
pub struct RawClosure {
    /// What is called, from any thread.
    pub call: unsafe extern "C" fn(data: *mut c_void, frame: *mut XLA_FFI_CallFrame) -> *mut XLA_FFI_Error,
    /// The first argument of the functions.
    pub data: *mut c_void,
    /// What ends the data.
    pub release: Option<unsafe extern "C" fn(data: *mut c_void)>,
}

/// The function behind a target.
#[derive(Clone, Copy, Debug)]
pub enum Entry {
    /// A function that lives as long as the process and answers XLA's handshake itself.
    Function(XLA_FFI_Handler),
    /// A function with data.
    Closure(RawClosure),
}

/// A handler that is to be registered.
#[derive(Clone, Debug)]
pub struct Registration<'a> {
    /// The target name in programs.
    pub target: &'a str,
    /// The platform of the plugins that get it.
    pub platform: Platform,
    /// What is called.
    pub entry: Entry,
    /// The stages that it takes part in.
    pub stages: StageSet,
    /// XLA's traits: 1 if calls may become part of a command buffer.
    pub traits: u32,
    /// The package or program that it belongs to, or nothing. An owner may replace its own.
    pub owner: &'a str,
    /// What messages call the handler: the path of the function or of its [`Handler`], or nothing.
    pub name: &'a str,
}

impl<'a> Registration<'a> {
    /// A handler made by [`ffi_handler`](macro@crate::ffi_handler), under a target name, for nobody.
    pub fn of(target: &'a str, platform: Platform, handler: &'static Handler) -> Registration<'a> {
        Registration {
            target,
            platform,
            entry: Entry::Function(handler.entry()),
            stages: handler.stages(),
            traits: handler.traits(),
            owner: "",
            name: handler.path(),
        }
    }

    /// A closure that takes arguments and results of any number and type, and any attributes.
    pub fn closure(
        target: &'a str,
        platform: Platform,
        f: impl Fn(RemainingArgs<'_>, RemainingRets<'_>, Dictionary<'_>) -> super::Result<()>
        + Send
        + Sync
        + 'static,
    ) -> Registration<'a> {
        let entry = closure::entry(f);
        Registration {
            target,
            platform,
            entry,
            stages: StageSet::EXECUTE,
            traits: 0,
            owner: "",
            name: "a closure",
        }
    }
}

/// A target that is registered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Registered {
    /// The target name in programs.
    pub target: String,
    /// Its platform.
    pub platform: Platform,
    /// Who it belongs to, or nothing.
    pub owner: String,
}

/// Where registrations go: this library's registry, unless it has been told of another.
///
/// Several libraries of a process may have a copy of this crate each. XLA has one list of handlers, so one of the copies
/// keeps it, and the others hand theirs over.
pub trait Registrar: Send + Sync {
    /// Registers a handler.
    ///
    /// # Safety
    ///
    /// As for [`register`].
    unsafe fn register(&self, registration: &Registration<'_>) -> Result<()>;

    /// Removes the handlers of an owner; how many there were.
    fn remove_owner(&self, owner: &str) -> usize;

    /// Removes a target, if it belongs to this owner; whether there was one.
    fn remove(&self, target: &str, platform: Platform, owner: &str) -> bool;

    /// All targets, in the order of their names.
    fn registered(&self) -> Vec<Registered>;
}

/// Has another library keep the handlers that are registered from now on.
pub fn set_registrar(registrar: &'static dyn Registrar) {
    table::set_registrar(registrar);
}

/// Registers a handler with all plugins of its platform, those loaded later too.
///
/// The same handler may be registered again. Another one under a name that is taken replaces what belongs to the same
/// owner, if that is named; else it is an error that names both.
///
/// # Errors
///
/// The name is empty or has a NUL, or is one that XLA's compiler knows itself, such as `TopK`; it is taken; there are no
/// slots left; no execute stage; a plugin refuses the handler, whose message is the error's. It stays registered with other
/// plugins that took it.
///
/// # Safety
///
/// The entry takes call frames of XLA from any thread, never unwinds, and returns null or an error made by the frame's
/// API. A function lives as long as the process; the data of a closure live until they are released. On an error a
/// closure's data are released, unless another registrar is in charge and says otherwise.
pub unsafe fn register(registration: &Registration<'_>) -> Result<()> {
    match table::registrar() {
        // SAFETY: by the caller's promise.
        Some(other) => unsafe { other.register(registration) },
        None => table::register(registration, None),
    }
}

/// [`register`] for a client of the plugin with this number. What other plugins say is a warning.
///
/// # Safety
///
/// As for [`register`].
pub(crate) unsafe fn register_for(registration: &Registration<'_>, plugin: usize) -> Result<()> {
    match table::registrar() {
        // SAFETY: by the caller's promise.
        Some(other) => unsafe { other.register(registration) },
        None => table::register(registration, Some(plugin)),
    }
}

/// Registers a handler with all plugins of a platform, `"cpu"` or `"cuda"`, those that get a client later too.
///
/// [`Client::register_ffi_handler`](crate::Client::register_ffi_handler) does the same for the platform of a client, and
/// says more of errors. This is for before there is one.
///
/// ```no_run
/// # use dispatch_runtime::ffi::{self, Handler};
/// # fn example(rotate_add: &'static Handler) -> dispatch_runtime::Result<()> {
/// ffi::registry::register_for_platform("cpu", "rotate_add", rotate_add)?;
/// # Ok(())
/// # }
/// ```
pub fn register_for_platform(platform: &str, target: &str, handler: &'static Handler) -> Result<()> {
    let registration = Registration::of(target, Platform::named(platform)?, handler);
    // SAFETY: a handler's entry takes all frames of XLA, catches panics, and lives as long as the process.
    unsafe { register(&registration) }
}

/// Removes the handlers of an owner, such as a package that is unloaded; how many there were. Programs that call them fail
/// from then on with an error that names the target and the owner. Calls that are running finish.
pub fn remove_owner(owner: &str) -> usize {
    match table::registrar() {
        Some(other) => other.remove_owner(owner),
        None => table::remove(|_, _, whose| whose == owner),
    }
}

/// Removes one target, if it belongs to this owner; whether there was one.
pub fn remove(target: &str, platform: Platform, owner: &str) -> bool {
    match table::registrar() {
        Some(other) => other.remove(target, platform, owner),
        None => table::remove(|t, p, whose| (t, p, whose) == (target, platform, owner)) > 0,
    }
}

/// All targets of the process, in the order of their names.
pub fn registered() -> Vec<Registered> {
    match table::registrar() {
        Some(other) => other.registered(),
        None => table::registered(),
    }
}
