//! The hand-written declarations of the PJRT C API against the header of 0.81 and the bindings of 0.54.

mod plugin;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use dispatch_runtime::DType;
use dispatch_runtime::engine::pjrt::{abi, codes};

/// The header that comes with the default plugin.
fn header() -> Option<PathBuf> {
    let headers = plugin::cached_plugins().into_iter().map(|library| library.with_extension("h"));
    headers.into_iter().find(|header| header.is_file())
}

/// The name that a field has in C. Unions are anonymous there, so their first member stands for them.
fn c_name(of: &str, field: &str) -> String {
    match (of, field) {
        ("PJRT_NamedValue", "value") => "string_value".into(),
        ("PJRT_Buffer_MemoryLayout", "layout") => "tiled".into(),
        _ => field.trim_start_matches("r#").into(),
    }
}

#[test]
fn layouts_are_those_of_the_header() {
    let Some(header) = header() else {
        println!("skipped: scripts/get-plugin gets the header with the default plugin");
        return;
    };
    let mut program = format!("#include \"{}\"\n#include <stdio.h>\nint main(void) {{\n", header.display());
    let mut expected = BTreeMap::new();
    let mut print = |key: String, value: i64, expression: String| {
        writeln!(program, "printf(\"{key} %lld\\n\", (long long)({expression}));").unwrap();
        expected.insert(key, value);
    };
    for layout in abi::LAYOUTS {
        let name = layout.name;
        print(name.into(), layout.size as i64, format!("sizeof({name})"));
        for &(field, offset) in layout.fields {
            let field = c_name(name, field);
            print(format!("{name}.{field}"), offset as i64, format!("offsetof({name}, {field})"));
        }
    }
    for &(function, offset) in abi::TABLE {
        print(format!("PJRT_Api.{function}"), offset as i64, format!("offsetof(PJRT_Api, {function})"));
    }
    let base = size_of::<abi::PJRT_Extension_Base>();
    print("PJRT_Extension_Base".into(), base as i64, "sizeof(PJRT_Extension_Base)".into());
    print("minor".into(), abi::HEADER_MINOR.into(), "PJRT_API_MINOR".into());
    let mut constant = |name: &str, value: i32| print(name.into(), value.into(), name.into());
    constant("PJRT_NamedValue_kString", abi::named_value::STRING);
    constant("PJRT_NamedValue_kInt64", abi::named_value::INT64);
    constant("PJRT_NamedValue_kInt64List", abi::named_value::INT64_LIST);
    constant("PJRT_NamedValue_kFloat", abi::named_value::FLOAT);
    constant("PJRT_NamedValue_kBool", abi::named_value::BOOL);
    constant("PJRT_HostBufferSemantics_kImmutableOnlyDuringCall", abi::IMMUTABLE_ONLY_DURING_CALL);
    constant("PJRT_Buffer_MemoryLayout_Type_Tiled", abi::LAYOUT_TILED);
    constant("PJRT_Buffer_MemoryLayout_Type_Strides", abi::LAYOUT_STRIDES);
    for &dtype in DType::ALL {
        let name = match dtype {
            DType::Bool => "PRED".to_owned(),
            _ => dtype.name().to_uppercase().replace('I', "S"),
        };
        constant(&format!("PJRT_Buffer_Type_{name}"), codes::buffer_type(dtype));
        assert_eq!(codes::dtype(codes::buffer_type(dtype)), Some(dtype));
    }
    for code in 0..=16 {
        constant(&format!("PJRT_Error_Code_{}", codes::status(code)), code);
    }
    program.push_str("return 0; }\n");
    let found: BTreeMap<String, i64> = output_of(&program)
        .lines()
        .map(|line| line.split_once(' ').unwrap())
        .map(|(key, value)| (key.to_owned(), value.parse().unwrap()))
        .collect();
    assert_eq!(found, expected);
}

/// Compiles and runs a C program.
fn output_of(program: &str) -> String {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let (source, binary) = (folder.join("layouts.c"), folder.join("layouts"));
    std::fs::write(&source, program).unwrap();
    assert!(Command::new("cc").arg(&source).arg("-o").arg(&binary).status().expect("a C compiler").success());
    let output = Command::new(&binary).output().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap()
}

#[cfg(feature = "pjrt")]
mod oldest {
    use std::mem::offset_of;

    use dispatch_runtime::engine::pjrt::abi;

    macro_rules! sizes {
        ($($name:ident)*) => { [$((stringify!($name), size_of::<pjrt_sys::$name>())),*] };
    }

    macro_rules! offsets {
        ($($name:ident)*) => { [$((stringify!($name), offset_of!(pjrt_sys::PJRT_Api, $name))),*] };
    }

    #[test]
    fn sizes_are_those_of_the_oldest_version() {
        assert_eq!(pjrt_sys::PJRT_API_MINOR as i32, abi::OLDEST_MINOR);
        let oldest = sizes! {
            PJRT_Api_Version PJRT_Error_Destroy_Args PJRT_Error_Message_Args PJRT_Error_GetCode_Args
            PJRT_NamedValue PJRT_Plugin_Initialize_Args PJRT_Plugin_Attributes_Args PJRT_Event_Destroy_Args
            PJRT_Event_OnReady_Args PJRT_Event_IsReady_Args PJRT_Event_Await_Args PJRT_Client_Create_Args
            PJRT_Client_Destroy_Args
            PJRT_Client_PlatformName_Args PJRT_Client_PlatformVersion_Args
            PJRT_Client_AddressableDevices_Args PJRT_Program PJRT_Client_Compile_Args
            PJRT_Client_BufferFromHostBuffer_Args PJRT_Device_GetDescription_Args
            PJRT_DeviceDescription_Id_Args PJRT_Device_LocalHardwareId_Args PJRT_Executable_Destroy_Args
            PJRT_Executable_NumOutputs_Args PJRT_Executable_OutputElementTypes_Args
            PJRT_Executable_OutputDimensions_Args PJRT_Executable_SizeOfGeneratedCodeInBytes_Args
            PJRT_Executable_GetCostAnalysis_Args PJRT_Executable_OptimizedProgram_Args
            PJRT_Executable_Serialize_Args PJRT_Executable_DeserializeAndLoad_Args
            PJRT_Executable_GetCompiledMemoryStats_Args PJRT_LoadedExecutable_Destroy_Args
            PJRT_LoadedExecutable_GetExecutable_Args PJRT_ExecuteContext_Create_Args PJRT_ExecuteContext_Destroy_Args
            PJRT_ExecuteOptions PJRT_LoadedExecutable_Execute_Args
            PJRT_Buffer_MemoryLayout_Tiled PJRT_Buffer_MemoryLayout_Strides PJRT_Buffer_MemoryLayout
            PJRT_Buffer_Destroy_Args PJRT_Buffer_GetMemoryLayout_Args PJRT_Buffer_OnDeviceSizeInBytes_Args
            PJRT_Buffer_CopyToDevice_Args PJRT_Buffer_ToHostBuffer_Args PJRT_Buffer_ReadyEvent_Args
            PJRT_Buffer_IncreaseExternalReferenceCount_Args PJRT_Buffer_DecreaseExternalReferenceCount_Args
            PJRT_Buffer_OpaqueDeviceMemoryDataPointer_Args
        };
        let declared: Vec<_> = abi::LAYOUTS
            .iter()
            .map(|layout| (layout.name, layout.oldest_size))
            .filter(|&(_, size)| size > 0)
            .collect();
        assert_eq!(declared, oldest);
    }

    #[test]
    fn the_table_starts_with_that_of_the_oldest_version() {
        let oldest = offsets! {
            PJRT_Error_Destroy PJRT_Error_Message PJRT_Error_GetCode PJRT_Plugin_Initialize
            PJRT_Plugin_Attributes PJRT_Event_Destroy PJRT_Event_IsReady PJRT_Event_Error PJRT_Event_Await
            PJRT_Event_OnReady PJRT_Client_Create PJRT_Client_Destroy PJRT_Client_PlatformName
            PJRT_Client_ProcessIndex PJRT_Client_PlatformVersion PJRT_Client_Devices
            PJRT_Client_AddressableDevices PJRT_Client_LookupDevice PJRT_Client_LookupAddressableDevice
            PJRT_Client_AddressableMemories PJRT_Client_Compile PJRT_Client_DefaultDeviceAssignment
            PJRT_Client_BufferFromHostBuffer PJRT_DeviceDescription_Id PJRT_DeviceDescription_ProcessIndex
            PJRT_DeviceDescription_Attributes PJRT_DeviceDescription_Kind
            PJRT_DeviceDescription_DebugString PJRT_DeviceDescription_ToString PJRT_Device_GetDescription
            PJRT_Device_IsAddressable PJRT_Device_LocalHardwareId PJRT_Device_AddressableMemories
            PJRT_Device_DefaultMemory PJRT_Device_MemoryStats PJRT_Memory_Id PJRT_Memory_Kind
            PJRT_Memory_DebugString PJRT_Memory_ToString PJRT_Memory_AddressableByDevices
            PJRT_Executable_Destroy PJRT_Executable_Name PJRT_Executable_NumReplicas
            PJRT_Executable_NumPartitions PJRT_Executable_NumOutputs
            PJRT_Executable_SizeOfGeneratedCodeInBytes PJRT_Executable_GetCostAnalysis
            PJRT_Executable_OutputMemoryKinds PJRT_Executable_OptimizedProgram PJRT_Executable_Serialize
            PJRT_LoadedExecutable_Destroy PJRT_LoadedExecutable_GetExecutable
            PJRT_LoadedExecutable_AddressableDevices PJRT_LoadedExecutable_Delete
            PJRT_LoadedExecutable_IsDeleted PJRT_LoadedExecutable_Execute
            PJRT_Executable_DeserializeAndLoad PJRT_LoadedExecutable_Fingerprint PJRT_Buffer_Destroy
            PJRT_Buffer_ElementType PJRT_Buffer_Dimensions PJRT_Buffer_UnpaddedDimensions
            PJRT_Buffer_DynamicDimensionIndices PJRT_Buffer_GetMemoryLayout PJRT_Buffer_OnDeviceSizeInBytes
            PJRT_Buffer_Device PJRT_Buffer_Memory PJRT_Buffer_Delete PJRT_Buffer_IsDeleted
            PJRT_Buffer_CopyToDevice PJRT_Buffer_ToHostBuffer PJRT_Buffer_IsOnCpu PJRT_Buffer_ReadyEvent
            PJRT_Buffer_UnsafePointer PJRT_Buffer_IncreaseExternalReferenceCount
            PJRT_Buffer_DecreaseExternalReferenceCount PJRT_Buffer_OpaqueDeviceMemoryDataPointer
            PJRT_CopyToDeviceStream_Destroy PJRT_CopyToDeviceStream_AddChunk
            PJRT_CopyToDeviceStream_TotalBytes PJRT_CopyToDeviceStream_GranuleSize
            PJRT_CopyToDeviceStream_CurrentBytes PJRT_TopologyDescription_Create
            PJRT_TopologyDescription_Destroy PJRT_TopologyDescription_PlatformName
            PJRT_TopologyDescription_PlatformVersion PJRT_TopologyDescription_GetDeviceDescriptions
            PJRT_TopologyDescription_Serialize PJRT_TopologyDescription_Attributes PJRT_Compile
            PJRT_Executable_OutputElementTypes PJRT_Executable_OutputDimensions PJRT_Buffer_CopyToMemory
            PJRT_Client_CreateViewOfDeviceBuffer PJRT_Executable_Fingerprint
            PJRT_Client_TopologyDescription PJRT_Executable_GetCompiledMemoryStats PJRT_Memory_Kind_Id
            PJRT_ExecuteContext_Create PJRT_ExecuteContext_Destroy
        };
        assert_eq!(abi::TABLE[..oldest.len()], oldest);
        assert_eq!(40 + 8 * oldest.len(), size_of::<pjrt_sys::PJRT_Api>());
    }
}
