//! A handler as a value.

use std::ffi::c_int;
use std::fmt;

use super::abi;
use super::api::StageSet;
use super::entry::{self, Declared};
use super::spec::Spec;

/// The C function behind a handler.
pub type Entry = unsafe extern "C" fn(*mut abi::XLA_FFI_CallFrame) -> *mut abi::XLA_FFI_Error;

/// A function that compiled programs can call, made by [`ffi_handler`](macro@crate::ffi_handler).
pub struct Handler {
    spec: &'static Spec,
    entry: Entry,
    declared: fn() -> &'static str,
}

impl Handler {
    /// The handler of a declaration.
    #[doc(hidden)]
    pub const fn new<D: Declared>() -> Handler {
        Handler { spec: D::SPEC, entry: entry::entry::<D>, declared: std::any::type_name::<D> }
    }

    /// The name of the function.
    pub fn name(&self) -> &'static str {
        self.spec.name
    }

    /// The path of the `static`, which tells it from handlers of the same name elsewhere.
    pub fn path(&self) -> &'static str {
        // Its declaration is a type inside of it.
        let declared = (self.declared)();
        declared.rsplit_once("::").map_or(declared, |(path, _)| path)
    }

    /// The name under which programs call it, unless it is registered under another.
    pub fn target(&self) -> &'static str {
        self.spec.target
    }

    /// The signature as data.
    #[doc(hidden)]
    pub fn spec(&self) -> &'static Spec {
        self.spec
    }

    /// The C function, which answers the handshake and serves every stage that the handler has.
    pub fn entry(&self) -> Entry {
        self.entry
    }

    /// The stages that the handler has a function for.
    pub fn stages(&self) -> StageSet {
        let set = StageSet::default().with(self.spec.stage as c_int);
        let others = (0..abi::stage::EXECUTE).filter(|stage| self.spec.stages.get(*stage).is_some());
        others.fold(set, StageSet::with)
    }

    /// The bits of `XLA_FFI_Handler_Traits`.
    pub fn traits(&self) -> u32 {
        if self.spec.command_buffer { abi::COMMAND_BUFFER_COMPATIBLE } else { 0 }
    }
}

impl fmt::Debug for Handler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handler").field("name", &self.name()).field("target", &self.target()).finish()
    }
}
