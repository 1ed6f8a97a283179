//! Execute contexts: what an execution gives to its handlers.
//!
//! A handler that asks for user data crashes XLA if the execution has no context at all. So every program that has custom
//! calls is run with one: with that of the caller's data, or with the client's own, which is empty.

use std::ffi::c_void;
use std::ptr::{NonNull, null_mut};

use super::abi::*;
use super::call::{Plugin, call, destroy_event};
use super::engine::Shared;
use crate::ffi::abi::PJRT_FFI_UserData_Add_Args;
use crate::ffi::{ExecutionData, types};
use crate::{Error, Result};

/// An execute context, and the data in it.
pub(super) struct Context {
    plugin: &'static Plugin,
    ptr: NonNull<PJRT_ExecuteContext>,
    /// What the context points to.
    _data: Box<ExecutionData>,
}

// SAFETY: PJRT's contexts may be used and ended by any thread; the data is, too.
unsafe impl Send for Context {}
// SAFETY: as above; a context does not change once it is made.
unsafe impl Sync for Context {}

impl Context {
    pub fn new(shared: &Shared, data: ExecutionData) -> Result<Context> {
        let plugin = shared.plugin;
        let ffi = plugin.ffi(&shared.platform)?;
        let types = types::of(ffi.api).map_err(|status| Error::Pjrt {
            function: "XLA_FFI_Type_Register",
            status: super::codes::status(status.code),
            message: status.message,
        })?;
        // SAFETY: no pointers among the arguments.
        let made = unsafe { call!(plugin, PJRT_ExecuteContext_Create {}) }?;
        let ptr = NonNull::new(made.context)
            .ok_or_else(|| plugin.broken("PJRT_ExecuteContext_Create gave no context"))?;
        let context = Context { plugin, ptr, _data: Box::new(data) };
        let mut args = PJRT_FFI_UserData_Add_Args {
            struct_size: size_of::<PJRT_FFI_UserData_Add_Args>(),
            extension_start: null_mut(),
            context: ptr.as_ptr(),
            type_id: types.user_data,
            data: std::ptr::from_ref(&*context._data).cast_mut().cast(),
        };
        let add = ffi.user_data_add().ok_or_else(|| plugin.lacks("PJRT_FFI_UserData_Add"))?;
        // SAFETY: the data live as long as the context; nobody writes to them.
        let error = unsafe { add(&raw mut args) };
        plugin.check("PJRT_FFI_UserData_Add", error.cast())?;
        Ok(context)
    }

    pub fn ptr(&self) -> NonNull<PJRT_ExecuteContext> {
        self.ptr
    }

    /// Keeps the context until an execution has ended, which `event` says. It is ours, or null if the execution is over.
    pub fn end_after(self, event: *mut PJRT_Event) {
        if event.is_null() {
            return;
        }
        let plugin = self.plugin;
        let context = Box::into_raw(Box::new(self));
        // SAFETY: the event is ours, and asked before it is ended. The callback is called once, and owns the context.
        unsafe {
            let asked = call!(
                plugin,
                PJRT_Event_OnReady { event: event, callback: Some(over), user_arg: context.cast() }
            );
            if asked.is_err() {
                // Whatever the execution brings, somebody else asks for.
                let _ = call!(plugin, PJRT_Event_Await { event: event });
                drop(Box::from_raw(context));
            }
        }
        destroy_event(plugin, event);
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: the context is ours, and no execution uses it any more. A failure leaves nothing to do.
        let _ = unsafe { call!(self.plugin, PJRT_ExecuteContext_Destroy { context: self.ptr.as_ptr() }) };
    }
}

/// What the plugin calls when an execution has ended.
///
/// # Safety
///
/// `context` is a `Box<Context>`, and `error` null or ours to end.
unsafe extern "C" fn over(error: *mut PJRT_Error, context: *mut c_void) {
    // SAFETY: by the caller's promise.
    let context = unsafe { Box::from_raw(context.cast::<Context>()) };
    let _ = context.plugin.check("PJRT_LoadedExecutable_Execute", error);
    let dropped = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(context)));
    if let Err(panic) = dropped {
        // The data were the user's; nobody is there who could be told.
        std::mem::forget(panic);
    }
}

impl Shared {
    /// The context of executions that are given no data; none if the plugin has no such thing.
    pub(super) fn empty_context(&self) -> Option<NonNull<PJRT_ExecuteContext>> {
        let made = || Context::new(self, ExecutionData::new()).ok();
        self.context.get_or_init(made).as_ref().map(Context::ptr)
    }
}
