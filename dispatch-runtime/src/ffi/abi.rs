//! The C interface of XLA FFI, declared by hand: the call frame, the API that a plugin shows to a handler, and the part
//! of PJRT that registers handlers.
//!
//! The names are those of `xla/ffi/api/c_api.h`, the layouts those of API 0.2 to 0.5 on a 64-bit machine. Structs only
//! grow at their ends; what differs between versions is said where it does. Each struct states its size and the
//! offset of every field, which is asserted at compile time and compared with the header in the tests.
//!
//! A struct's own `struct_size` says how far it reaches. XLA leaves the padding at the end out of it, and in a few
//! places fields too: the `future` of a call frame lies behind the size that the frame declares.

#![allow(non_camel_case_types, non_snake_case, missing_docs)]

use std::ffi::{c_char, c_int, c_void};
use std::mem::offset_of;

use crate::engine::pjrt::abi::{PJRT_ExecuteContext, PJRT_Extension_Base};

/// The major version of the API that the declarations follow.
pub const MAJOR: c_int = 0;
/// The newest minor version that the declarations follow, and that a handler says it speaks.
pub const MINOR: c_int = 5;
/// The oldest minor version that a plugin may speak.
pub const OLDEST_MINOR: c_int = 2;

/// What is declared of a struct, for the tests.
pub struct Layout {
    pub name: &'static str,
    pub size: usize,
    /// Name and offset of each field.
    pub fields: &'static [(&'static str, usize)],
}

macro_rules! opaque {
    ($($name:ident)*) => { $(#[repr(C)] pub struct $name { private: [u8; 0] })* };
}

opaque! { XLA_FFI_Error XLA_FFI_ExecutionContext XLA_FFI_Future XLA_FFI_InternalApi }

/// An extension of some `kind` starts with it.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct XLA_FFI_Extension_Base {
    pub struct_size: usize,
    pub kind: c_int,
    pub next: *mut XLA_FFI_Extension_Base,
}

macro_rules! structs {
    ($($(#[$about:meta])* $name:ident = $size:literal { $($field:ident: $type:ty = $offset:literal,)* })*) => {
        $(
            $(#[$about])*
            #[repr(C)]
            #[derive(Clone, Copy)]
            pub struct $name { $(pub $field: $type,)* }
            const _: () = {
                assert!(size_of::<$name>() == $size);
                $(assert!(offset_of!($name, $field) == $offset);)*
            };
            impl $name {
                /// All fields zero, null or none.
                pub const fn zeroed() -> Self {
                    // SAFETY: integers, pointers, optional functions and structs of them, all of which may be zero.
                    unsafe { std::mem::zeroed() }
                }
            }
        )*
        /// The layout of every struct declared here.
        pub const LAYOUTS: &[Layout] = &[$(Layout {
            name: stringify!($name),
            size: $size,
            fields: &[$((stringify!($field), $offset)),*],
        }),*];
    };
}

type Extension = *mut XLA_FFI_Extension_Base;

/// A handler: takes a call frame and returns an error, which then belongs to XLA, or null.
pub type XLA_FFI_Handler = unsafe extern "C" fn(frame: *mut XLA_FFI_CallFrame) -> *mut XLA_FFI_Error;
/// What a thread pool runs.
pub type XLA_FFI_Task = unsafe extern "C" fn(data: *mut c_void);
/// What deletes a state.
pub type Deleter = unsafe extern "C" fn(object: *mut c_void);
/// A function of the API: takes its argument struct and returns an error or null.
pub type Function<A> = unsafe extern "C" fn(*mut A) -> *mut XLA_FFI_Error;
/// A function of the API that cannot fail.
pub type Procedure<A> = unsafe extern "C" fn(*mut A);
/// A function of the PJRT extension; the error is a `PJRT_Error`.
pub type PjrtFunction<A> = unsafe extern "C" fn(*mut A) -> *mut c_void;

structs! {
    XLA_FFI_Api_Version = 24 {
        struct_size: usize = 0, extension_start: Extension = 8, major_version: c_int = 16, minor_version: c_int = 20,
    }

    // What a call frame is made of.

    XLA_FFI_CallFrame = 176 {
        struct_size: usize = 0, extension_start: Extension = 8, api: *const XLA_FFI_Api = 16,
        ctx: *mut XLA_FFI_ExecutionContext = 24, stage: c_int = 32, args: XLA_FFI_Args = 40, rets: XLA_FFI_Rets = 80,
        attrs: XLA_FFI_Attrs = 120, future: *mut XLA_FFI_Future = 168,
    }
    XLA_FFI_Args = 40 {
        struct_size: usize = 0, extension_start: Extension = 8, size: i64 = 16, types: *mut c_int = 24,
        args: *mut *mut c_void = 32,
    }
    XLA_FFI_Rets = 40 {
        struct_size: usize = 0, extension_start: Extension = 8, size: i64 = 16, types: *mut c_int = 24,
        rets: *mut *mut c_void = 32,
    }
    /// Sorted by name, bytewise.
    XLA_FFI_Attrs = 48 {
        struct_size: usize = 0, extension_start: Extension = 8, size: i64 = 16, types: *mut c_int = 24,
        names: *mut *mut XLA_FFI_ByteSpan = 32, attrs: *mut *mut c_void = 40,
    }
    XLA_FFI_Buffer = 48 {
        struct_size: usize = 0, extension_start: Extension = 8, dtype: c_int = 16, data: *mut c_void = 24,
        rank: i64 = 32, dims: *mut i64 = 40,
    }
    /// Not NUL-terminated.
    XLA_FFI_ByteSpan = 16 { ptr: *const c_char = 0, len: usize = 8, }
    XLA_FFI_Scalar = 16 { dtype: c_int = 0, value: *mut c_void = 8, }
    XLA_FFI_Array = 24 { dtype: c_int = 0, size: usize = 8, data: *mut c_void = 16, }

    // The handshake at registration.

    /// Set in the frame, with the kind [`EXTENSION_METADATA`], when the plugin asks for a handler's metadata.
    XLA_FFI_Metadata_Extension = 32 {
        extension_base: XLA_FFI_Extension_Base = 0, metadata: *mut XLA_FFI_Metadata = 24,
    }
    /// The state's type is there only if `struct_size` reaches behind the traits.
    XLA_FFI_Metadata = 48 {
        struct_size: usize = 0, api_version: XLA_FFI_Api_Version = 8, traits: u32 = 32,
        state_type_id: XLA_FFI_TypeId = 40,
    }
    XLA_FFI_TypeId = 8 { type_id: i64 = 0, }

    // Arguments of the functions of the API.

    XLA_FFI_Error_Create_Args = 32 {
        struct_size: usize = 0, extension_start: Extension = 8, message: *const c_char = 16, errc: c_int = 24,
    }
    /// Up to 0.3.
    XLA_FFI_Error_GetMessage_Args = 32 {
        struct_size: usize = 0, extension_start: Extension = 8, error: *mut XLA_FFI_Error = 16,
        message: *const c_char = 24,
    }
    /// From 0.4, in the place of `GetMessage`.
    XLA_FFI_Error_GetDetails_Args = 40 {
        struct_size: usize = 0, extension_start: Extension = 8, error: *mut XLA_FFI_Error = 16,
        message: *const c_char = 24, errc: c_int = 32,
    }
    XLA_FFI_Error_Destroy_Args = 24 {
        struct_size: usize = 0, extension_start: Extension = 8, error: *mut XLA_FFI_Error = 16,
    }
    /// Up to 0.3.
    XLA_FFI_Handler_Bundle_4 = 32 {
        instantiate: Option<XLA_FFI_Handler> = 0, prepare: Option<XLA_FFI_Handler> = 8,
        initialize: Option<XLA_FFI_Handler> = 16, execute: Option<XLA_FFI_Handler> = 24,
    }
    /// From 0.4.
    XLA_FFI_Handler_Bundle = 40 {
        instantiate: Option<XLA_FFI_Handler> = 0, prepare: Option<XLA_FFI_Handler> = 8,
        initialize: Option<XLA_FFI_Handler> = 16, execute: Option<XLA_FFI_Handler> = 24,
        record: Option<XLA_FFI_Handler> = 32,
    }
    /// Up to 0.3.
    XLA_FFI_Handler_Register_Args_4 = 88 {
        struct_size: usize = 0, extension_start: Extension = 8, name: XLA_FFI_ByteSpan = 16,
        platform: XLA_FFI_ByteSpan = 32, bundle: XLA_FFI_Handler_Bundle_4 = 48, traits: u32 = 80,
    }
    /// From 0.4.
    XLA_FFI_Handler_Register_Args = 96 {
        struct_size: usize = 0, extension_start: Extension = 8, name: XLA_FFI_ByteSpan = 16,
        platform: XLA_FFI_ByteSpan = 32, bundle: XLA_FFI_Handler_Bundle = 48, traits: u32 = 88,
    }
    XLA_FFI_TypeInfo = 24 { struct_size: usize = 0, extension_start: Extension = 8, deleter: Option<Deleter> = 16, }
    XLA_FFI_Type_Register_Args = 48 {
        struct_size: usize = 0, extension_start: Extension = 8, name: XLA_FFI_ByteSpan = 16,
        type_id: *mut XLA_FFI_TypeId = 32, type_info: *const XLA_FFI_TypeInfo = 40,
    }
    /// Called `InvokeContext_Get` by newer headers.
    XLA_FFI_ExecutionContext_Get_Args = 40 {
        struct_size: usize = 0, extension_start: Extension = 8, ctx: *mut XLA_FFI_ExecutionContext = 16,
        type_id: *mut XLA_FFI_TypeId = 24, data: *mut c_void = 32,
    }
    /// 0.2, which reads the deleter: the later form crashes it.
    XLA_FFI_State_Set_Args_2 = 48 {
        struct_size: usize = 0, extension_start: Extension = 8, ctx: *mut XLA_FFI_ExecutionContext = 16,
        type_id: *mut XLA_FFI_TypeId = 24, state: *mut c_void = 32, deleter: Option<Deleter> = 40,
    }
    /// From 0.3.
    XLA_FFI_State_Set_Args = 48 {
        struct_size: usize = 0, extension_start: Extension = 8, ctx: *mut XLA_FFI_ExecutionContext = 16,
        stage: c_int = 24, type_id: *mut XLA_FFI_TypeId = 32, state: *mut c_void = 40,
    }
    /// 0.2.
    XLA_FFI_State_Get_Args_2 = 40 {
        struct_size: usize = 0, extension_start: Extension = 8, ctx: *mut XLA_FFI_ExecutionContext = 16,
        type_id: *mut XLA_FFI_TypeId = 24, state: *mut c_void = 32,
    }
    /// From 0.3.
    XLA_FFI_State_Get_Args = 48 {
        struct_size: usize = 0, extension_start: Extension = 8, ctx: *mut XLA_FFI_ExecutionContext = 16,
        stage: c_int = 24, type_id: *mut XLA_FFI_TypeId = 32, state: *mut c_void = 40,
    }
    XLA_FFI_Stream_Get_Args = 32 {
        struct_size: usize = 0, extension_start: Extension = 8, ctx: *mut XLA_FFI_ExecutionContext = 16,
        stream: *mut c_void = 24,
    }
    XLA_FFI_DeviceMemory_Allocate_Args = 48 {
        struct_size: usize = 0, extension_start: Extension = 8, ctx: *mut XLA_FFI_ExecutionContext = 16,
        size: usize = 24, alignment: usize = 32, data: *mut c_void = 40,
    }
    XLA_FFI_DeviceMemory_Free_Args = 40 {
        struct_size: usize = 0, extension_start: Extension = 8, ctx: *mut XLA_FFI_ExecutionContext = 16,
        size: usize = 24, data: *mut c_void = 32,
    }
    XLA_FFI_ThreadPool_Schedule_Args = 40 {
        struct_size: usize = 0, extension_start: Extension = 8, ctx: *mut XLA_FFI_ExecutionContext = 16,
        task: Option<XLA_FFI_Task> = 24, data: *mut c_void = 32,
    }
    XLA_FFI_ThreadPool_NumThreads_Args = 32 {
        struct_size: usize = 0, extension_start: Extension = 8, ctx: *mut XLA_FFI_ExecutionContext = 16,
        num_threads: *mut i64 = 24,
    }
    XLA_FFI_Future_Create_Args = 24 {
        struct_size: usize = 0, extension_start: Extension = 8, future: *mut XLA_FFI_Future = 16,
    }
    XLA_FFI_Future_SetAvailable_Args = 24 {
        struct_size: usize = 0, extension_start: Extension = 8, future: *mut XLA_FFI_Future = 16,
    }
    /// The error then belongs to XLA.
    XLA_FFI_Future_SetError_Args = 32 {
        struct_size: usize = 0, extension_start: Extension = 8, future: *mut XLA_FFI_Future = 16,
        error: *mut XLA_FFI_Error = 24,
    }
    XLA_FFI_RunId_Get_Args = 32 {
        struct_size: usize = 0, extension_start: Extension = 8, ctx: *mut XLA_FFI_ExecutionContext = 16,
        run_id: i64 = 24,
    }
    XLA_FFI_DeviceOrdinal_Get_Args = 32 {
        struct_size: usize = 0, extension_start: Extension = 8, ctx: *mut XLA_FFI_ExecutionContext = 16,
        device_ordinal: i32 = 24,
    }

    /// The functions that a plugin shows to a handler: 192 bytes in 0.2 and 0.3, 200 in 0.4, 208 in 0.5. A function is
    /// there if `struct_size` reaches behind it.
    XLA_FFI_Api = 208 {
        struct_size: usize = 0, extension_start: Extension = 8, api_version: XLA_FFI_Api_Version = 16,
        internal_api: *const XLA_FFI_InternalApi = 40,
        XLA_FFI_Error_Create: Option<Function<XLA_FFI_Error_Create_Args>> = 48,
        // `GetMessage` up to 0.3, `GetDetails` from 0.4: the version says which arguments it takes.
        XLA_FFI_Error_GetMessage: *const c_void = 56,
        XLA_FFI_Error_Destroy: Option<Procedure<XLA_FFI_Error_Destroy_Args>> = 64,
        XLA_FFI_Handler_Register: Option<Function<c_void>> = 72,
        XLA_FFI_Stream_Get: Option<Function<XLA_FFI_Stream_Get_Args>> = 80,
        XLA_FFI_Type_Register: Option<Function<XLA_FFI_Type_Register_Args>> = 88,
        XLA_FFI_ExecutionContext_Get: Option<Function<XLA_FFI_ExecutionContext_Get_Args>> = 96,
        // Of two layouts, as `Handler_Register`.
        XLA_FFI_State_Set: Option<Function<c_void>> = 104,
        XLA_FFI_State_Get: Option<Function<c_void>> = 112,
        XLA_FFI_DeviceMemory_Allocate: Option<Function<XLA_FFI_DeviceMemory_Allocate_Args>> = 120,
        XLA_FFI_DeviceMemory_Free: Option<Function<XLA_FFI_DeviceMemory_Free_Args>> = 128,
        XLA_FFI_ThreadPool_Schedule: Option<Function<XLA_FFI_ThreadPool_Schedule_Args>> = 136,
        XLA_FFI_ThreadPool_NumThreads: Option<Function<XLA_FFI_ThreadPool_NumThreads_Args>> = 144,
        XLA_FFI_Future_Create: Option<Function<XLA_FFI_Future_Create_Args>> = 152,
        XLA_FFI_Future_SetAvailable: Option<Function<XLA_FFI_Future_SetAvailable_Args>> = 160,
        XLA_FFI_Future_SetError: Option<Function<XLA_FFI_Future_SetError_Args>> = 168,
        XLA_FFI_RunId_Get: Option<Function<XLA_FFI_RunId_Get_Args>> = 176,
        XLA_FFI_DeviceOrdinal_Get: Option<Function<XLA_FFI_DeviceOrdinal_Get_Args>> = 184,
        XLA_FFI_FindExtension: *const c_void = 192,
        XLA_FFI_CustomOptions: *const c_void = 200,
    }

    // The FFI extension of PJRT, of kind `PJRT_EXTENSION_FFI`.

    PJRT_FFI_Extension = 48 {
        base: PJRT_Extension_Base = 0,
        type_register: Option<PjrtFunction<PJRT_FFI_Type_Register_Args>> = 24,
        user_data_add: Option<PjrtFunction<PJRT_FFI_UserData_Add_Args>> = 32,
        register_handler: Option<PjrtFunction<PJRT_FFI_Register_Handler_Args>> = 40,
    }
    PJRT_FFI_Type_Register_Args = 48 {
        struct_size: usize = 0, extension_start: *mut c_void = 8, type_name: *const c_char = 16,
        type_name_size: usize = 24, type_id: i64 = 32, type_info: *const c_void = 40,
    }
    PJRT_FFI_UserData_Add_Args = 40 {
        struct_size: usize = 0, extension_start: *mut c_void = 8, context: *mut PJRT_ExecuteContext = 16,
        type_id: i64 = 24, data: *mut c_void = 32,
    }
    /// Without an `extension_start`. Returns no error when the handler is rejected.
    PJRT_FFI_Register_Handler_Args = 56 {
        struct_size: usize = 0, target_name: *const c_char = 8, target_name_size: usize = 16,
        handler: Option<XLA_FFI_Handler> = 24, platform_name: *const c_char = 32, platform_name_size: usize = 40,
        traits: u32 = 48,
    }
}

/// The size that a call frame declares, which leaves out its `future`.
pub const CALL_FRAME_SIZE: usize = 168;
/// The size that metadata declare up to the traits, that is, without the type of the state.
pub const METADATA_SIZE: usize = 36;
/// `XLA_FFI_Extension_Metadata`.
pub const EXTENSION_METADATA: c_int = 1;
/// `XLA_FFI_ArgType_BUFFER`, `XLA_FFI_RetType_BUFFER`.
pub const BUFFER: c_int = 1;
/// `XLA_FFI_HANDLER_TRAITS_COMMAND_BUFFER_COMPATIBLE`.
pub const COMMAND_BUFFER_COMPATIBLE: u32 = 1;
/// `PJRT_Extension_Type_FFI`.
pub const PJRT_EXTENSION_FFI: c_int = 5;

/// `XLA_FFI_AttrType`.
pub mod attr_type {
    use std::ffi::c_int;
    pub const ARRAY: c_int = 1;
    pub const DICTIONARY: c_int = 2;
    pub const SCALAR: c_int = 3;
    pub const STRING: c_int = 4;
}

/// `XLA_FFI_ExecutionStage`.
pub mod stage {
    use std::ffi::c_int;
    pub const INSTANTIATE: c_int = 0;
    pub const PREPARE: c_int = 1;
    pub const INITIALIZE: c_int = 2;
    pub const EXECUTE: c_int = 3;
    /// From 0.4.
    pub const RECORD: c_int = 4;
}

macro_rules! data_types {
    ($($name:ident = $code:literal, $text:literal;)*) => {
        /// `XLA_FFI_DataType`. Not the numbering of `PJRT_Buffer_Type`.
        pub mod data_type {
            use std::ffi::c_int;
            $(pub const $name: c_int = $code;)*

            /// The names of the header with their numbers, for the tests.
            pub const ALL: &[(&str, c_int)] = &[$((stringify!($name), $code)),*];

            /// The name that messages use, if the number has a meaning.
            pub const fn name(code: c_int) -> Option<&'static str> {
                match code { $($code => Some($text),)* _ => None }
            }
        }
    };
}

data_types! {
    INVALID = 0, "invalid";
    PRED = 1, "bool";
    S8 = 2, "i8";
    S16 = 3, "i16";
    S32 = 4, "i32";
    S64 = 5, "i64";
    U8 = 6, "u8";
    U16 = 7, "u16";
    U32 = 8, "u32";
    U64 = 9, "u64";
    F16 = 10, "f16";
    F32 = 11, "f32";
    F64 = 12, "f64";
    C64 = 15, "c64";
    BF16 = 16, "bf16";
    TOKEN = 17, "token";
    C128 = 18, "c128";
    F8E5M2 = 19, "f8e5m2";
    F8E4M3FN = 20, "f8e4m3fn";
    S4 = 21, "i4";
    U4 = 22, "u4";
    F8E4M3B11FNUZ = 23, "f8e4m3b11fnuz";
    F8E5M2FNUZ = 24, "f8e5m2fnuz";
    F8E4M3FNUZ = 25, "f8e4m3fnuz";
    S2 = 26, "i2";
    U2 = 27, "u2";
    F8E4M3 = 28, "f8e4m3";
    F8E3M4 = 29, "f8e3m4";
    S1 = 30, "s1";
    U1 = 31, "u1";
    F4E2M1FN = 32, "f4e2m1fn";
    F8E8M0FNU = 33, "f8e8m0fnu";
}

/// The functions of the API stand one after the other behind the version.
const _: () = {
    assert!(offset_of!(XLA_FFI_Api, internal_api) + 8 == offset_of!(XLA_FFI_Api, XLA_FFI_Error_Create));
    assert!(offset_of!(XLA_FFI_CallFrame, future) == CALL_FRAME_SIZE);
    assert!(offset_of!(XLA_FFI_Metadata, traits) + size_of::<u32>() == METADATA_SIZE);
};
