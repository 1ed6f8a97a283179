//! The part of the PJRT C API that the runtime uses, declared by hand.
//!
//! The function table and the argument structs of `pjrt_c_api.h` only ever grow at their ends, so the declarations
//! here fit every plugin from version 0.54 on: the callers compare sizes before they rely on anything. Names are
//! those of the header. Each struct states its size and the offset of every field; both are asserted at compile time,
//! and the tests compare them with the header of 0.81 and with `pjrt-sys` (0.54).

#![allow(non_camel_case_types, non_snake_case, missing_docs)]

use std::ffi::{c_char, c_int, c_void};
use std::mem::offset_of;

/// The oldest minor version of the C API (major 0) whose layouts are known.
pub const OLDEST_MINOR: c_int = 54;
/// The minor version of the header that the declarations follow.
pub const HEADER_MINOR: c_int = 81;
/// The newest minor version that the declarations have been tested with.
pub const NEWEST_MINOR: c_int = 115;

/// A struct of the C API: plain data that starts with its size and a pointer to extensions.
///
/// # Safety
///
/// The type is `repr(C)`, its first field is a `usize` size, the second an extension pointer, and all-zero bytes are a
/// value.
pub unsafe trait Struct: Copy {
    /// The size in version 0.54, where that is less than the size of the type; 0 if it has no such struct.
    const OLDEST_SIZE: usize;

    /// All fields zero.
    fn zeroed() -> Self {
        // SAFETY: zero bytes are a value, by the contract of the trait.
        unsafe { std::mem::zeroed() }
    }
}

/// What is declared of a struct, for the tests.
pub struct Layout {
    pub name: &'static str,
    pub size: usize,
    /// The size in version 0.54, 0 if it has no such struct.
    pub oldest_size: usize,
    /// Name and offset of each field.
    pub fields: &'static [(&'static str, usize)],
}

macro_rules! opaque {
    ($($name:ident)*) => { $(#[repr(C)] pub struct $name { private: [u8; 0] })* };
}

opaque! {
    PJRT_Error PJRT_Event PJRT_Client PJRT_Device PJRT_Memory PJRT_DeviceDescription PJRT_Executable
    PJRT_LoadedExecutable PJRT_Buffer PJRT_ExecuteContext PJRT_SerializedExecutable
}

/// A node of the list of extensions: an extension of some `kind` starts with it.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct PJRT_Extension_Base {
    pub struct_size: usize,
    pub kind: c_int,
    pub next: *mut PJRT_Extension_Base,
}

macro_rules! structs {
    (@oldest $size:literal) => { $size };
    (@oldest $size:literal $oldest:literal) => { $oldest };
    ($($name:ident = $size:literal $(($oldest:literal))? { $($field:ident: $type:ty = $offset:literal,)* })*) => {
        $(
            #[repr(C)]
            #[derive(Clone, Copy)]
            pub struct $name {
                pub struct_size: usize,
                pub extension_start: *mut PJRT_Extension_Base,
                $(pub $field: $type,)*
            }
            // SAFETY: pointers, integers, floats and unions of them, behind the two common fields.
            unsafe impl Struct for $name {
                const OLDEST_SIZE: usize = structs!(@oldest $size $($oldest)?);
            }
            const _: () = {
                assert!(size_of::<$name>() == $size);
                assert!(offset_of!($name, struct_size) == 0 && offset_of!($name, extension_start) == 8);
                $(assert!(offset_of!($name, $field) == $offset);)*
            };
        )*
        /// The layout of every struct declared here.
        pub const LAYOUTS: &[Layout] = &[$(Layout {
            name: stringify!($name),
            size: $size,
            oldest_size: $name::OLDEST_SIZE,
            fields: &[$((stringify!($field), $offset)),*],
        }),*];
    };
}

structs! {
    PJRT_Api_Version = 24 { major_version: c_int = 16, minor_version: c_int = 20, }

    PJRT_Error_Destroy_Args = 24 { error: *mut PJRT_Error = 16, }
    PJRT_Error_Message_Args = 40 { error: *const PJRT_Error = 16, message: *const c_char = 24, message_size: usize = 32, }
    PJRT_Error_GetCode_Args = 32 { error: *const PJRT_Error = 16, code: c_int = 24, }

    PJRT_NamedValue = 56 {
        name: *const c_char = 16, name_size: usize = 24, r#type: c_int = 32, value: PJRT_NamedValue_Value = 40,
        value_size: usize = 48,
    }

    PJRT_Plugin_Initialize_Args = 16 {}
    PJRT_Plugin_Attributes_Args = 32 { attributes: *const PJRT_NamedValue = 16, num_attributes: usize = 24, }

    PJRT_Event_Destroy_Args = 24 { event: *mut PJRT_Event = 16, }
    PJRT_Event_OnReady_Args = 40 {
        event: *mut PJRT_Event = 16, callback: Option<OnReady> = 24, user_arg: *mut c_void = 32,
    }
    PJRT_Event_IsReady_Args = 32 { event: *mut PJRT_Event = 16, is_ready: bool = 24, }
    PJRT_Event_Await_Args = 24 { event: *mut PJRT_Event = 16, }

    PJRT_Client_Create_Args = 88 (72) {
        create_options: *const PJRT_NamedValue = 16, num_options: usize = 24, kv_get_callback: *const c_void = 32,
        kv_get_user_arg: *mut c_void = 40, kv_put_callback: *const c_void = 48, kv_put_user_arg: *mut c_void = 56,
        client: *mut PJRT_Client = 64, kv_try_get_callback: *const c_void = 72, kv_try_get_user_arg: *mut c_void = 80,
    }
    PJRT_Client_Destroy_Args = 24 { client: *mut PJRT_Client = 16, }
    PJRT_Client_PlatformName_Args = 40 {
        client: *mut PJRT_Client = 16, platform_name: *const c_char = 24, platform_name_size: usize = 32,
    }
    PJRT_Client_PlatformVersion_Args = 40 {
        client: *mut PJRT_Client = 16, platform_version: *const c_char = 24, platform_version_size: usize = 32,
    }
    PJRT_Client_AddressableDevices_Args = 40 {
        client: *mut PJRT_Client = 16, addressable_devices: *const *mut PJRT_Device = 24,
        num_addressable_devices: usize = 32,
    }
    PJRT_Program = 48 {
        code: *mut c_char = 16, code_size: usize = 24, format: *const c_char = 32, format_size: usize = 40,
    }
    PJRT_Client_Compile_Args = 56 {
        client: *mut PJRT_Client = 16, program: *const PJRT_Program = 24, compile_options: *const c_char = 32,
        compile_options_size: usize = 40, executable: *mut PJRT_LoadedExecutable = 48,
    }
    PJRT_Client_BufferFromHostBuffer_Args = 120 {
        client: *mut PJRT_Client = 16, data: *const c_void = 24, r#type: c_int = 32, dims: *const i64 = 40,
        num_dims: usize = 48, byte_strides: *const i64 = 56, num_byte_strides: usize = 64,
        host_buffer_semantics: c_int = 72, device: *mut PJRT_Device = 80, memory: *mut PJRT_Memory = 88,
        device_layout: *mut PJRT_Buffer_MemoryLayout = 96, done_with_host_buffer: *mut PJRT_Event = 104,
        buffer: *mut PJRT_Buffer = 112,
    }
    PJRT_Client_CreateUninitializedBuffer_Args = 80 (0) {
        client: *mut PJRT_Client = 16, shape_dims: *const i64 = 24, shape_num_dims: usize = 32,
        shape_element_type: c_int = 40, shape_layout: *mut PJRT_Buffer_MemoryLayout = 48,
        device: *mut PJRT_Device = 56, memory: *mut PJRT_Memory = 64, buffer: *mut PJRT_Buffer = 72,
    }

    PJRT_Device_GetDescription_Args = 32 {
        device: *mut PJRT_Device = 16, device_description: *mut PJRT_DeviceDescription = 24,
    }
    PJRT_DeviceDescription_Id_Args = 32 { device_description: *mut PJRT_DeviceDescription = 16, id: c_int = 24, }
    PJRT_Device_LocalHardwareId_Args = 32 { device: *mut PJRT_Device = 16, local_hardware_id: c_int = 24, }

    PJRT_Executable_Destroy_Args = 24 { executable: *mut PJRT_Executable = 16, }
    PJRT_Executable_NumOutputs_Args = 32 { executable: *mut PJRT_Executable = 16, num_outputs: usize = 24, }
    PJRT_Executable_OutputElementTypes_Args = 40 {
        executable: *mut PJRT_Executable = 16, output_types: *const c_int = 24, num_output_types: usize = 32,
    }
    PJRT_Executable_OutputDimensions_Args = 48 {
        executable: *mut PJRT_Executable = 16, num_outputs: usize = 24, dims: *const i64 = 32,
        dim_sizes: *const usize = 40,
    }
    PJRT_Executable_SizeOfGeneratedCodeInBytes_Args = 32 {
        executable: *mut PJRT_Executable = 16, size_in_bytes: i64 = 24,
    }
    PJRT_Executable_GetCostAnalysis_Args = 40 {
        executable: *mut PJRT_Executable = 16, num_properties: usize = 24, properties: *const PJRT_NamedValue = 32,
    }
    PJRT_Executable_OptimizedProgram_Args = 32 {
        executable: *mut PJRT_Executable = 16, program: *mut PJRT_Program = 24,
    }
    PJRT_Executable_Serialize_Args = 56 {
        executable: *const PJRT_Executable = 16, serialized_bytes: *const c_char = 24,
        serialized_bytes_size: usize = 32, serialized_executable: *mut PJRT_SerializedExecutable = 40,
        serialized_executable_deleter: Option<unsafe extern "C" fn(*mut PJRT_SerializedExecutable)> = 48,
    }
    PJRT_Executable_DeserializeAndLoad_Args = 64 (48) {
        client: *mut PJRT_Client = 16, serialized_executable: *const c_char = 24,
        serialized_executable_size: usize = 32, loaded_executable: *mut PJRT_LoadedExecutable = 40,
        overridden_serialized_compile_options: *const c_char = 48,
        overridden_serialized_compile_options_size: usize = 56,
    }
    PJRT_Executable_GetCompiledMemoryStats_Args = 112 (104) {
        executable: *mut PJRT_Executable = 16, generated_code_size_in_bytes: i64 = 24,
        argument_size_in_bytes: i64 = 32, output_size_in_bytes: i64 = 40, alias_size_in_bytes: i64 = 48,
        temp_size_in_bytes: i64 = 56, host_generated_code_size_in_bytes: i64 = 64,
        host_argument_size_in_bytes: i64 = 72, host_output_size_in_bytes: i64 = 80, host_alias_size_in_bytes: i64 = 88,
        host_temp_size_in_bytes: i64 = 96, peak_memory_in_bytes: i64 = 104,
    }

    PJRT_LoadedExecutable_Destroy_Args = 24 { executable: *mut PJRT_LoadedExecutable = 16, }
    PJRT_LoadedExecutable_GetExecutable_Args = 32 {
        loaded_executable: *mut PJRT_LoadedExecutable = 16, executable: *mut PJRT_Executable = 24,
    }
    PJRT_ExecuteContext_Create_Args = 24 { context: *mut PJRT_ExecuteContext = 16, }
    PJRT_ExecuteContext_Destroy_Args = 24 { context: *mut PJRT_ExecuteContext = 16, }
    PJRT_ExecuteOptions = 112 (72) {
        send_callbacks: *mut c_void = 16, recv_callbacks: *mut c_void = 24, num_send_ops: usize = 32,
        num_recv_ops: usize = 40, launch_id: c_int = 48, non_donatable_input_indices: *const i64 = 56,
        num_non_donatable_input_indices: usize = 64, context: *mut PJRT_ExecuteContext = 72,
        call_location: *const c_char = 80, num_tasks: usize = 88, task_ids: *mut c_int = 96,
        incarnation_ids: *mut i64 = 104,
    }
    PJRT_LoadedExecutable_Execute_Args = 80 {
        executable: *mut PJRT_LoadedExecutable = 16, options: *mut PJRT_ExecuteOptions = 24,
        argument_lists: *const *const *mut PJRT_Buffer = 32, num_devices: usize = 40, num_args: usize = 48,
        output_lists: *const *mut *mut PJRT_Buffer = 56, device_complete_events: *mut *mut PJRT_Event = 64,
        execute_device: *mut PJRT_Device = 72,
    }

    PJRT_Buffer_MemoryLayout_Tiled = 56 {
        minor_to_major: *const i64 = 16, minor_to_major_size: usize = 24, tile_dims: *const i64 = 32,
        tile_dim_sizes: *const usize = 40, num_tiles: usize = 48,
    }
    PJRT_Buffer_MemoryLayout_Strides = 32 { byte_strides: *const i64 = 16, num_byte_strides: usize = 24, }
    PJRT_Buffer_MemoryLayout = 80 { layout: PJRT_Buffer_MemoryLayout_Union = 16, r#type: c_int = 72, }

    PJRT_Buffer_Destroy_Args = 24 { buffer: *mut PJRT_Buffer = 16, }
    PJRT_Buffer_GetMemoryLayout_Args = 104 { buffer: *mut PJRT_Buffer = 16, layout: PJRT_Buffer_MemoryLayout = 24, }
    PJRT_Buffer_OnDeviceSizeInBytes_Args = 32 { buffer: *mut PJRT_Buffer = 16, on_device_size_in_bytes: usize = 24, }
    PJRT_Buffer_CopyToDevice_Args = 40 {
        buffer: *mut PJRT_Buffer = 16, dst_device: *mut PJRT_Device = 24, dst_buffer: *mut PJRT_Buffer = 32,
    }
    PJRT_Buffer_ToHostBuffer_Args = 56 {
        src: *mut PJRT_Buffer = 16, host_layout: *mut PJRT_Buffer_MemoryLayout = 24, dst: *mut c_void = 32,
        dst_size: usize = 40, event: *mut PJRT_Event = 48,
    }
    PJRT_Buffer_ReadyEvent_Args = 32 { buffer: *mut PJRT_Buffer = 16, event: *mut PJRT_Event = 24, }
    PJRT_Buffer_IncreaseExternalReferenceCount_Args = 24 { buffer: *mut PJRT_Buffer = 16, }
    PJRT_Buffer_DecreaseExternalReferenceCount_Args = 24 { buffer: *mut PJRT_Buffer = 16, }
    PJRT_Buffer_OpaqueDeviceMemoryDataPointer_Args = 32 {
        buffer: *mut PJRT_Buffer = 16, device_memory_ptr: *mut c_void = 24,
    }
}

/// The value of a [`PJRT_NamedValue`]; its `type` says which.
#[repr(C)]
#[derive(Clone, Copy)]
pub union PJRT_NamedValue_Value {
    pub string_value: *const c_char,
    pub int64_value: i64,
    pub int64_array_value: *const i64,
    pub float_value: f32,
    pub bool_value: bool,
}

/// The content of a [`PJRT_Buffer_MemoryLayout`]; its `type` says which.
#[repr(C)]
#[derive(Clone, Copy)]
pub union PJRT_Buffer_MemoryLayout_Union {
    pub tiled: PJRT_Buffer_MemoryLayout_Tiled,
    pub strides: PJRT_Buffer_MemoryLayout_Strides,
}

/// `PJRT_NamedValue_Type`.
pub mod named_value {
    use std::ffi::c_int;
    pub const STRING: c_int = 0;
    pub const INT64: c_int = 1;
    pub const INT64_LIST: c_int = 2;
    pub const FLOAT: c_int = 3;
    pub const BOOL: c_int = 4;
}

/// `PJRT_HostBufferSemantics_kImmutableOnlyDuringCall`.
pub const IMMUTABLE_ONLY_DURING_CALL: c_int = 0;
/// `PJRT_HostBufferSemantics_kImmutableZeroCopy`.
pub const IMMUTABLE_ZERO_COPY: c_int = 2;
/// `PJRT_Buffer_MemoryLayout_Type_Tiled`.
pub const LAYOUT_TILED: c_int = 0;
/// `PJRT_Buffer_MemoryLayout_Type_Strides`.
pub const LAYOUT_STRIDES: c_int = 1;

/// `PJRT_Event_OnReadyCallback`.
pub type OnReady = unsafe extern "C" fn(error: *mut PJRT_Error, user_arg: *mut c_void);

/// A function of the table: takes its argument struct and returns an error or null.
pub type Function<A> = unsafe extern "C" fn(*mut A) -> *mut PJRT_Error;

macro_rules! table {
    (@type) => { *const c_void };
    (@type $args:ident) => { Option<Function<$args>> };
    (@type $args:ident void) => { Option<unsafe extern "C" fn(*mut $args)> };
    ($($name:ident $(($($args:tt)*))?,)*) => {
        /// The function table of a plugin; the plugin's may be shorter or longer. Functions that the runtime does not
        /// use are plain pointers.
        #[repr(C)]
        pub struct PJRT_Api {
            pub struct_size: usize,
            pub extension_start: *mut PJRT_Extension_Base,
            pub pjrt_api_version: PJRT_Api_Version,
            $(pub $name: table!(@type $($($args)*)?),)*
        }

        /// The functions of the table with their offsets, for the tests.
        pub const TABLE: &[(&str, usize)] = &[$((stringify!($name), offset_of!(PJRT_Api, $name))),*];
    };
}

table! {
    PJRT_Error_Destroy(PJRT_Error_Destroy_Args void),
    PJRT_Error_Message(PJRT_Error_Message_Args void),
    PJRT_Error_GetCode(PJRT_Error_GetCode_Args),
    PJRT_Plugin_Initialize(PJRT_Plugin_Initialize_Args),
    PJRT_Plugin_Attributes(PJRT_Plugin_Attributes_Args),
    PJRT_Event_Destroy(PJRT_Event_Destroy_Args),
    PJRT_Event_IsReady(PJRT_Event_IsReady_Args),
    PJRT_Event_Error,
    PJRT_Event_Await(PJRT_Event_Await_Args),
    PJRT_Event_OnReady(PJRT_Event_OnReady_Args),
    PJRT_Client_Create(PJRT_Client_Create_Args),
    PJRT_Client_Destroy(PJRT_Client_Destroy_Args),
    PJRT_Client_PlatformName(PJRT_Client_PlatformName_Args),
    PJRT_Client_ProcessIndex,
    PJRT_Client_PlatformVersion(PJRT_Client_PlatformVersion_Args),
    PJRT_Client_Devices,
    PJRT_Client_AddressableDevices(PJRT_Client_AddressableDevices_Args),
    PJRT_Client_LookupDevice,
    PJRT_Client_LookupAddressableDevice,
    PJRT_Client_AddressableMemories,
    PJRT_Client_Compile(PJRT_Client_Compile_Args),
    PJRT_Client_DefaultDeviceAssignment,
    PJRT_Client_BufferFromHostBuffer(PJRT_Client_BufferFromHostBuffer_Args),
    PJRT_DeviceDescription_Id(PJRT_DeviceDescription_Id_Args),
    PJRT_DeviceDescription_ProcessIndex,
    PJRT_DeviceDescription_Attributes,
    PJRT_DeviceDescription_Kind,
    PJRT_DeviceDescription_DebugString,
    PJRT_DeviceDescription_ToString,
    PJRT_Device_GetDescription(PJRT_Device_GetDescription_Args),
    PJRT_Device_IsAddressable,
    PJRT_Device_LocalHardwareId(PJRT_Device_LocalHardwareId_Args),
    PJRT_Device_AddressableMemories,
    PJRT_Device_DefaultMemory,
    PJRT_Device_MemoryStats,
    PJRT_Memory_Id,
    PJRT_Memory_Kind,
    PJRT_Memory_DebugString,
    PJRT_Memory_ToString,
    PJRT_Memory_AddressableByDevices,
    PJRT_Executable_Destroy(PJRT_Executable_Destroy_Args),
    PJRT_Executable_Name,
    PJRT_Executable_NumReplicas,
    PJRT_Executable_NumPartitions,
    PJRT_Executable_NumOutputs(PJRT_Executable_NumOutputs_Args),
    PJRT_Executable_SizeOfGeneratedCodeInBytes(PJRT_Executable_SizeOfGeneratedCodeInBytes_Args),
    PJRT_Executable_GetCostAnalysis(PJRT_Executable_GetCostAnalysis_Args),
    PJRT_Executable_OutputMemoryKinds,
    PJRT_Executable_OptimizedProgram(PJRT_Executable_OptimizedProgram_Args),
    PJRT_Executable_Serialize(PJRT_Executable_Serialize_Args),
    PJRT_LoadedExecutable_Destroy(PJRT_LoadedExecutable_Destroy_Args),
    PJRT_LoadedExecutable_GetExecutable(PJRT_LoadedExecutable_GetExecutable_Args),
    PJRT_LoadedExecutable_AddressableDevices,
    PJRT_LoadedExecutable_Delete,
    PJRT_LoadedExecutable_IsDeleted,
    PJRT_LoadedExecutable_Execute(PJRT_LoadedExecutable_Execute_Args),
    PJRT_Executable_DeserializeAndLoad(PJRT_Executable_DeserializeAndLoad_Args),
    PJRT_LoadedExecutable_Fingerprint,
    PJRT_Buffer_Destroy(PJRT_Buffer_Destroy_Args),
    PJRT_Buffer_ElementType,
    PJRT_Buffer_Dimensions,
    PJRT_Buffer_UnpaddedDimensions,
    PJRT_Buffer_DynamicDimensionIndices,
    PJRT_Buffer_GetMemoryLayout(PJRT_Buffer_GetMemoryLayout_Args),
    PJRT_Buffer_OnDeviceSizeInBytes(PJRT_Buffer_OnDeviceSizeInBytes_Args),
    PJRT_Buffer_Device,
    PJRT_Buffer_Memory,
    PJRT_Buffer_Delete,
    PJRT_Buffer_IsDeleted,
    PJRT_Buffer_CopyToDevice(PJRT_Buffer_CopyToDevice_Args),
    PJRT_Buffer_ToHostBuffer(PJRT_Buffer_ToHostBuffer_Args),
    PJRT_Buffer_IsOnCpu,
    PJRT_Buffer_ReadyEvent(PJRT_Buffer_ReadyEvent_Args),
    PJRT_Buffer_UnsafePointer,
    PJRT_Buffer_IncreaseExternalReferenceCount(PJRT_Buffer_IncreaseExternalReferenceCount_Args),
    PJRT_Buffer_DecreaseExternalReferenceCount(PJRT_Buffer_DecreaseExternalReferenceCount_Args),
    PJRT_Buffer_OpaqueDeviceMemoryDataPointer(PJRT_Buffer_OpaqueDeviceMemoryDataPointer_Args),
    PJRT_CopyToDeviceStream_Destroy,
    PJRT_CopyToDeviceStream_AddChunk,
    PJRT_CopyToDeviceStream_TotalBytes,
    PJRT_CopyToDeviceStream_GranuleSize,
    PJRT_CopyToDeviceStream_CurrentBytes,
    PJRT_TopologyDescription_Create,
    PJRT_TopologyDescription_Destroy,
    PJRT_TopologyDescription_PlatformName,
    PJRT_TopologyDescription_PlatformVersion,
    PJRT_TopologyDescription_GetDeviceDescriptions,
    PJRT_TopologyDescription_Serialize,
    PJRT_TopologyDescription_Attributes,
    PJRT_Compile,
    PJRT_Executable_OutputElementTypes(PJRT_Executable_OutputElementTypes_Args),
    PJRT_Executable_OutputDimensions(PJRT_Executable_OutputDimensions_Args),
    PJRT_Buffer_CopyToMemory,
    PJRT_Client_CreateViewOfDeviceBuffer,
    PJRT_Executable_Fingerprint,
    PJRT_Client_TopologyDescription,
    PJRT_Executable_GetCompiledMemoryStats(PJRT_Executable_GetCompiledMemoryStats_Args),
    PJRT_Memory_Kind_Id,
    PJRT_ExecuteContext_Create(PJRT_ExecuteContext_Create_Args),
    PJRT_ExecuteContext_Destroy(PJRT_ExecuteContext_Destroy_Args),
    PJRT_Buffer_CopyRawToHost,
    PJRT_AsyncHostToDeviceTransferManager_Destroy,
    PJRT_AsyncHostToDeviceTransferManager_TransferData,
    PJRT_Client_CreateBuffersForAsyncHostToDevice,
    PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer,
    PJRT_AsyncHostToDeviceTransferManager_Device,
    PJRT_AsyncHostToDeviceTransferManager_BufferCount,
    PJRT_AsyncHostToDeviceTransferManager_BufferSize,
    PJRT_AsyncHostToDeviceTransferManager_SetBufferError,
    PJRT_AsyncHostToDeviceTransferManager_AddMetadata,
    PJRT_Client_DmaMap,
    PJRT_Client_DmaUnmap,
    PJRT_Client_CreateUninitializedBuffer(PJRT_Client_CreateUninitializedBuffer_Args),
}

/// The table starts with its size, the extensions and the version, then comes one pointer after the other.
const _: () = {
    assert!(offset_of!(PJRT_Api, pjrt_api_version) == 16);
    let mut i = 0;
    while i < TABLE.len() {
        assert!(TABLE[i].1 == 40 + 8 * i);
        i += 1;
    }
};
