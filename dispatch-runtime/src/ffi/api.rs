//! The functions that a plugin shows to handlers, called with the layouts of its version.
//!
//! An [`Api`] is the `XLA_FFI_Api*` of a call frame. Its functions are looked up in the table only as far as that reaches;
//! the few structs that changed between versions are told apart here, nowhere else.

use std::ffi::{CStr, CString, c_int, c_void};
use std::ptr::{NonNull, null_mut};

use super::abi::*;

/// What XLA says is wrong: a code of absl and a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Status {
    pub code: c_int,
    pub message: String,
}

impl From<Status> for super::Error {
    #[cold]
    fn from(status: Status) -> super::Error {
        let code = super::ErrorCode::ALL.iter().find(|code| **code as c_int == status.code);
        super::Error::new(code.copied().unwrap_or(super::ErrorCode::Unknown), status.message)
    }
}

impl Status {
    /// The status of a function that a plugin lacks; code 12 is UNIMPLEMENTED.
    #[cold]
    fn lacks(api: Api, function: &str) -> Status {
        let message = format!("the plugin's XLA FFI API 0.{} lacks {function}", api.minor());
        Status { code: 12, message }
    }
}

/// The functions of one plugin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub(crate) struct Api(NonNull<XLA_FFI_Api>);

// SAFETY: the table does not change, lives as long as its plugin, which is never unloaded, and takes calls from any
// thread.
unsafe impl Send for Api {}
// SAFETY: as above.
unsafe impl Sync for Api {}

/// A function of the table; null or none if the table does not reach that far.
macro_rules! field {
    ($api:expr, $name:ident) => {
        $api.read(std::mem::offset_of!(XLA_FFI_Api, $name), |table| table.$name)
    };
}

/// A struct with its size and these fields; all others are zero.
macro_rules! args {
    ($name:ident { $($field:ident: $value:expr),* $(,)? }) => {
        $name { struct_size: size_of::<$name>(), $($field: $value,)* ..$name::zeroed() }
    };
}

impl Api {
    /// The table that a call frame or a handshake shows.
    ///
    /// # Safety
    ///
    /// `table` is null or the table of a plugin, which lives as long as the process.
    pub unsafe fn new(table: *const XLA_FFI_Api) -> Option<Api> {
        let api = Api(NonNull::new(table.cast_mut())?);
        // SAFETY: every table states its size first.
        let size = unsafe { (&raw const (*api.0.as_ptr()).struct_size).read() };
        (size >= std::mem::offset_of!(XLA_FFI_Api, internal_api)).then_some(api)
    }

    /// Reads the field at this offset, which `field` gives and which is a pointer or an optional function; that is only
    /// for its type, because a table shorter than the struct must not be referred to as one.
    #[inline]
    fn read<F: Copy>(self, offset: usize, field: fn(&XLA_FFI_Api) -> F) -> F {
        let _ = field;
        const { assert!(size_of::<F>() == size_of::<usize>()) };
        let table = self.0.as_ptr();
        // SAFETY: every table states its size first, and is read only as far as it reaches. Zero is a null pointer or no
        // function.
        unsafe {
            let size = (&raw const (*table).struct_size).read();
            if offset + size_of::<F>() > size {
                return std::mem::zeroed();
            }
            table.byte_add(offset).cast::<F>().read()
        }
    }

    /// Major and minor version.
    #[inline]
    pub fn version(self) -> (c_int, c_int) {
        // SAFETY: `new` has seen that the table reaches behind the version.
        let version = unsafe { (&raw const (*self.0.as_ptr()).api_version).read() };
        (version.major_version, version.minor_version)
    }

    #[inline]
    pub fn minor(self) -> c_int {
        self.version().1
    }

    /// Makes an error, which whoever it is given to owns. Null if the plugin has no function for that.
    #[cold]
    pub fn error(self, code: c_int, message: &str) -> *mut XLA_FFI_Error {
        let Some(create) = field!(self, XLA_FFI_Error_Create) else { return null_mut() };
        // The text ends at a NUL, which none of ours has at another place.
        let message = CString::new(message.replace('\0', "\u{fffd}")).unwrap_or_default();
        let mut args = args!(XLA_FFI_Error_Create_Args { message: message.as_ptr(), errc: code });
        // SAFETY: the text lives during the call, which copies it.
        unsafe { create(&raw mut args) }
    }

    /// Reads an error and ends it. Null is success.
    ///
    /// # Safety
    ///
    /// `error` is null or an error of this plugin that is ours.
    #[inline]
    pub unsafe fn check(self, error: *mut XLA_FFI_Error) -> Result<(), Status> {
        match NonNull::new(error) {
            None => Ok(()),
            // SAFETY: by the caller's promise.
            Some(error) => Err(unsafe { self.take(error) }),
        }
    }

    /// # Safety
    ///
    /// `error` is an error of this plugin that is ours.
    #[cold]
    unsafe fn take(self, error: NonNull<XLA_FFI_Error>) -> Status {
        let function = field!(self, XLA_FFI_Error_GetMessage);
        // What an error does not say, before 0.4: 2 is UNKNOWN.
        let mut status = Status { code: 2, message: String::new() };
        if !function.is_null() {
            // SAFETY: by its version the function takes this struct; the text lives as long as the error and is copied.
            unsafe {
                let message = if self.minor() < 4 {
                    let get: Procedure<XLA_FFI_Error_GetMessage_Args> = std::mem::transmute(function);
                    let mut args = args!(XLA_FFI_Error_GetMessage_Args { error: error.as_ptr() });
                    get(&raw mut args);
                    args.message
                } else {
                    let get: Procedure<XLA_FFI_Error_GetDetails_Args> = std::mem::transmute(function);
                    let mut args = args!(XLA_FFI_Error_GetDetails_Args { error: error.as_ptr() });
                    get(&raw mut args);
                    status.code = args.errc;
                    args.message
                };
                if !message.is_null() {
                    status.message = CStr::from_ptr(message).to_string_lossy().trim_end().to_owned();
                }
            }
        }
        if let Some(destroy) = field!(self, XLA_FFI_Error_Destroy) {
            let mut args = args!(XLA_FFI_Error_Destroy_Args { error: error.as_ptr() });
            // SAFETY: the error is ours and not used again.
            unsafe { destroy(&raw mut args) };
        }
        status
    }

    /// Registers a handler: one function for all its stages.
    ///
    /// # Safety
    ///
    /// The function lives as long as the process, and takes the frames of this plugin.
    pub unsafe fn register_handler(
        self,
        name: &str,
        platform: &str,
        handler: XLA_FFI_Handler,
        stages: StageSet,
        traits: u32,
    ) -> Result<(), Status> {
        let function =
            field!(self, XLA_FFI_Handler_Register).ok_or_else(|| Status::lacks(self, "Handler_Register"))?;
        let of = |stage| stages.has(stage).then_some(handler);
        let (instantiate, prepare) = (of(stage::INSTANTIATE), of(stage::PREPARE));
        let (initialize, execute) = (of(stage::INITIALIZE), of(stage::EXECUTE));
        // SAFETY: by its version the function takes this struct; the names live during the call.
        unsafe {
            let error = if self.minor() < 4 {
                let bundle = XLA_FFI_Handler_Bundle_4 { instantiate, prepare, initialize, execute };
                let mut args = args!(XLA_FFI_Handler_Register_Args_4 {
                    name: span(name),
                    platform: span(platform),
                    bundle: bundle,
                    traits: traits,
                });
                function((&raw mut args).cast())
            } else {
                let record = of(stage::RECORD);
                let bundle = XLA_FFI_Handler_Bundle { instantiate, prepare, initialize, execute, record };
                let mut args = args!(XLA_FFI_Handler_Register_Args {
                    name: span(name),
                    platform: span(platform),
                    bundle: bundle,
                    traits: traits,
                });
                function((&raw mut args).cast())
            };
            self.check(error)
        }
    }

    /// A new type of states and user data; `deleter` ends a value, from 0.3 on.
    pub fn register_type(self, name: &str, deleter: Option<Deleter>) -> Result<i64, Status> {
        let function =
            field!(self, XLA_FFI_Type_Register).ok_or_else(|| Status::lacks(self, "Type_Register"))?;
        let mut id = XLA_FFI_TypeId { type_id: 0 };
        let info = args!(XLA_FFI_TypeInfo { deleter: deleter });
        let mut args = args!(XLA_FFI_Type_Register_Args {
            name: span(name),
            type_id: &raw mut id,
            type_info: &raw const info,
        });
        // SAFETY: names and structs live during the call, which copies what it keeps.
        unsafe {
            let error = function(&raw mut args);
            self.check(error)?;
        }
        Ok(id.type_id)
    }
}

/// What an execution is known by to the functions of its plugin, for as long as the call lasts.
pub(crate) type Context = *mut XLA_FFI_ExecutionContext;

/// Calls a function with its arguments and gives these back: `ask!(api, XLA_FFI_RunId_Get, Args { ctx: ctx })`.
macro_rules! ask {
    ($api:expr, $name:ident, $args:ident { $($field:ident: $value:expr),* $(,)? }) => {{
        let api: Api = $api;
        match field!(api, $name) {
            None => Err(Status::lacks(api, stringify!($name))),
            Some(function) => {
                let mut args = args!($args { $($field: $value),* });
                let error = function(&raw mut args);
                api.check(error).map(|()| args)
            }
        }
    }};
}

/// Functions for a call: `ctx` is that of a call which lasts.
impl Api {
    /// Has the pool run a task.
    ///
    /// # Safety
    ///
    /// The context is that of a call which lasts; the task may be run with the data, once, by any thread. It is not run
    /// when this is an error.
    pub unsafe fn schedule(self, ctx: Context, task: XLA_FFI_Task, data: *mut c_void) -> Result<(), Status> {
        // SAFETY: by the caller's promise.
        unsafe {
            ask!(
                self,
                XLA_FFI_ThreadPool_Schedule,
                XLA_FFI_ThreadPool_Schedule_Args { ctx: ctx, task: Some(task), data: data }
            )
        }
        .map(|_| ())
    }

    /// How many threads the pool has.
    ///
    /// # Safety
    ///
    /// The context is that of a call which lasts.
    pub unsafe fn num_threads(self, ctx: Context) -> Result<i64, Status> {
        let mut threads = 0;
        // SAFETY: by the caller's promise; the number lives during the call.
        unsafe {
            ask!(
                self,
                XLA_FFI_ThreadPool_NumThreads,
                XLA_FFI_ThreadPool_NumThreads_Args { ctx: ctx, num_threads: &raw mut threads }
            )
        }
        .map(|_| threads)
    }

    /// The number of the execution.
    ///
    /// # Safety
    ///
    /// The context is that of a call which lasts.
    pub unsafe fn run_id(self, ctx: Context) -> Result<i64, Status> {
        // SAFETY: by the caller's promise.
        unsafe { ask!(self, XLA_FFI_RunId_Get, XLA_FFI_RunId_Get_Args { ctx: ctx }) }.map(|args| args.run_id)
    }

    /// The number of the device.
    ///
    /// # Safety
    ///
    /// The context is that of a call which lasts.
    pub unsafe fn device_ordinal(self, ctx: Context) -> Result<i32, Status> {
        // SAFETY: by the caller's promise.
        unsafe { ask!(self, XLA_FFI_DeviceOrdinal_Get, XLA_FFI_DeviceOrdinal_Get_Args { ctx: ctx }) }
            .map(|args| args.device_ordinal)
    }

    /// The stream of the platform.
    ///
    /// # Safety
    ///
    /// The context is that of a call which lasts.
    pub unsafe fn stream(self, ctx: Context) -> Result<*mut c_void, Status> {
        // SAFETY: by the caller's promise.
        unsafe { ask!(self, XLA_FFI_Stream_Get, XLA_FFI_Stream_Get_Args { ctx: ctx }) }
            .map(|args| args.stream)
    }

    /// Memory of the device.
    ///
    /// # Safety
    ///
    /// The context is that of a call which lasts.
    pub unsafe fn allocate(self, ctx: Context, size: usize, alignment: usize) -> Result<*mut c_void, Status> {
        // SAFETY: by the caller's promise.
        unsafe {
            ask!(
                self,
                XLA_FFI_DeviceMemory_Allocate,
                XLA_FFI_DeviceMemory_Allocate_Args { ctx: ctx, size: size, alignment: alignment }
            )
        }
        .map(|args| args.data)
    }

    /// Ends memory of [`Api::allocate`].
    ///
    /// # Safety
    ///
    /// The context is that of a call which lasts; the memory is from it, of this size, and not used again.
    pub unsafe fn free(self, ctx: Context, size: usize, data: *mut c_void) -> Result<(), Status> {
        // SAFETY: by the caller's promise.
        unsafe {
            ask!(
                self,
                XLA_FFI_DeviceMemory_Free,
                XLA_FFI_DeviceMemory_Free_Args { ctx: ctx, size: size, data: data }
            )
        }
        .map(|_| ())
    }

    /// The data of this type that the execution was given.
    ///
    /// # Safety
    ///
    /// The context is that of a call which lasts, of an execution with an execute context.
    pub unsafe fn user_data(self, ctx: Context, id: i64) -> Result<*mut c_void, Status> {
        let mut id = XLA_FFI_TypeId { type_id: id };
        // SAFETY: by the caller's promise; the type lives during the call.
        unsafe {
            ask!(
                self,
                XLA_FFI_ExecutionContext_Get,
                XLA_FFI_ExecutionContext_Get_Args { ctx: ctx, type_id: &raw mut id }
            )
        }
        .map(|args| args.data)
    }

    /// Leaves a state for later stages. XLA owns it then, and ends it with the deleter: with this one in 0.2, later with
    /// that of its type.
    ///
    /// # Safety
    ///
    /// The context is that of a call of this stage which lasts; the state is of the type, ours, and ended by the deleter.
    pub unsafe fn set_state(
        self,
        ctx: Context,
        stage: c_int,
        id: i64,
        state: *mut c_void,
        deleter: Deleter,
    ) -> Result<(), Status> {
        let function = field!(self, XLA_FFI_State_Set).ok_or_else(|| Status::lacks(self, "State_Set"))?;
        let mut id = XLA_FFI_TypeId { type_id: id };
        let type_id = &raw mut id;
        // SAFETY: by its version the function takes this struct; the type lives during the call.
        unsafe {
            let error = if self.minor() < 3 {
                if stage != stage::INSTANTIATE {
                    return Err(Status::lacks(self, "a state of another stage than instantiate"));
                }
                let deleter = Some(deleter);
                let mut args = args!(XLA_FFI_State_Set_Args_2 {
                    ctx: ctx,
                    type_id: type_id,
                    state: state,
                    deleter: deleter,
                });
                function((&raw mut args).cast())
            } else {
                let mut args =
                    args!(XLA_FFI_State_Set_Args { ctx: ctx, stage: stage, type_id: type_id, state: state });
                function((&raw mut args).cast())
            };
            self.check(error)
        }
    }

    /// The state of this type that a stage has left.
    ///
    /// # Safety
    ///
    /// The context is that of a call which lasts.
    pub unsafe fn state(self, ctx: Context, stage: c_int, id: i64) -> Result<*mut c_void, Status> {
        let function = field!(self, XLA_FFI_State_Get).ok_or_else(|| Status::lacks(self, "State_Get"))?;
        let mut id = XLA_FFI_TypeId { type_id: id };
        let type_id = &raw mut id;
        // SAFETY: by its version the function takes this struct; the type lives during the call.
        unsafe {
            if self.minor() < 3 {
                if stage != stage::INSTANTIATE {
                    return Err(Status::lacks(self, "a state of another stage than instantiate"));
                }
                let mut args = args!(XLA_FFI_State_Get_Args_2 { ctx: ctx, type_id: type_id });
                let error = function((&raw mut args).cast());
                self.check(error).map(|()| args.state)
            } else {
                let mut args = args!(XLA_FFI_State_Get_Args { ctx: ctx, stage: stage, type_id: type_id });
                let error = function((&raw mut args).cast());
                self.check(error).map(|()| args.state)
            }
        }
    }

    /// A new future. It has to be completed once, by [`Api::complete`], after it was given to XLA; that ends it.
    pub fn future(self) -> Result<*mut XLA_FFI_Future, Status> {
        // SAFETY: no pointers among the arguments.
        let made = unsafe { ask!(self, XLA_FFI_Future_Create, XLA_FFI_Future_Create_Args {}) }?;
        if made.future.is_null() {
            return Err(Status::lacks(self, "Future_Create"));
        }
        Ok(made.future)
    }

    /// Completes a future, with an error or without.
    ///
    /// # Safety
    ///
    /// The future is of this plugin, and is not completed yet; it is not used again.
    pub unsafe fn complete(self, future: *mut XLA_FFI_Future, answer: Result<(), Status>) {
        // A failure of these would be a fault of ours, and nobody could be told.
        // SAFETY: by the caller's promise; an error becomes XLA's.
        let _ = unsafe {
            match answer {
                Ok(()) => ask!(
                    self,
                    XLA_FFI_Future_SetAvailable,
                    XLA_FFI_Future_SetAvailable_Args { future: future }
                )
                .map(|_| ()),
                Err(Status { code, message }) => {
                    let error = self.error(code, &message);
                    ask!(
                        self,
                        XLA_FFI_Future_SetError,
                        XLA_FFI_Future_SetError_Args { future: future, error: error }
                    )
                    .map(|_| ())
                }
            }
        };
    }
}

/// Stages of a handler: a set of the numbers in [`stage`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StageSet(u8);

impl StageSet {
    /// The execution alone.
    pub const EXECUTE: StageSet = StageSet(1 << stage::EXECUTE);

    /// The set with another stage.
    pub const fn with(self, stage: c_int) -> StageSet {
        StageSet(self.0 | 1 << stage)
    }

    /// Whether the stage is in it.
    pub const fn has(self, stage: c_int) -> bool {
        0 <= stage && stage < 8 && self.0 & (1 << stage) != 0
    }

    /// Whether all of the others are among them.
    pub const fn contain(self, others: StageSet) -> bool {
        others.0 & !self.0 == 0
    }
}

/// A text as XLA takes it, as long as it lives.
pub(crate) fn span(text: &str) -> XLA_FFI_ByteSpan {
    XLA_FFI_ByteSpan { ptr: text.as_ptr().cast(), len: text.len() }
}
