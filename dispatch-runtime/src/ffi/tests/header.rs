//! The hand-written declarations against the header of API 0.3, which comes with the JAX that the benchmarks compare with.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;
use std::process::Command;

use crate::ffi::{ErrorCode, abi};

fn header() -> Option<PathBuf> {
    let variable = |name| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    let cache = variable("DISPATCH_CACHE_DIR")
        .or_else(|| Some(variable("XDG_CACHE_HOME")?.join("dispatch-runtime")))
        .or_else(|| Some(variable("HOME")?.join(".cache/dispatch-runtime")))?;
    let folders = std::fs::read_dir(cache.join("peers")).ok()?.flatten();
    let headers = folders.map(|folder| folder.path().join("jaxlib/include/xla/ffi/api/c_api.h"));
    headers.into_iter().find(|header| {
        std::fs::read_to_string(header).is_ok_and(|text| text.contains("#define XLA_FFI_API_MINOR 3"))
    })
}

/// The name that a struct has in 0.3; none if it has another layout there, or is not in this header.
fn c_name(name: &str) -> Option<&str> {
    match name {
        "XLA_FFI_Handler_Bundle" | "XLA_FFI_Handler_Register_Args" | "XLA_FFI_Error_GetDetails_Args" => None,
        name if name.ends_with("_2") || name.starts_with("PJRT") => None,
        name => Some(name.strip_suffix("_4").unwrap_or(name)),
    }
}

/// Prints a value by C, and keeps what Rust has for it.
struct Compared {
    program: String,
    expected: BTreeMap<String, i64>,
}

impl Compared {
    fn value(&mut self, expression: &str, value: i64) {
        let key = expression.replace(' ', "");
        writeln!(self.program, "printf(\"{key} %lld\\n\", (long long)({expression}));").unwrap();
        self.expected.insert(key, value);
    }
}

#[test]
fn layouts_and_numbers_are_those_of_the_header() {
    let (Some(header), Ok(_)) = (header(), Command::new("cc").arg("--version").output()) else {
        println!("skipped: it needs a C compiler, and the header, which scripts/get-jax gets");
        return;
    };
    let program = format!("#include \"{}\"\n#include <stdio.h>\nint main(void) {{\n", header.display());
    let mut compared = Compared { program, expected: BTreeMap::new() };
    for layout in abi::LAYOUTS {
        let Some(name) = c_name(layout.name) else { continue };
        // 0.5 has two functions more.
        let newer = |field: &str| matches!(field, "XLA_FFI_FindExtension" | "XLA_FFI_CustomOptions");
        let size = if name == "XLA_FFI_Api" { layout.size - 16 } else { layout.size };
        compared.value(&format!("sizeof({name})"), size as i64);
        for &(field, offset) in layout.fields.iter().filter(|(field, _)| !newer(field)) {
            compared.value(&format!("offsetof({name}, {field})"), offset as i64);
        }
    }
    compared.value(
        "offsetof(XLA_FFI_Extension_Base, type)",
        std::mem::offset_of!(abi::XLA_FFI_Extension_Base, kind) as i64,
    );
    compared.value("sizeof(XLA_FFI_Extension_Base)", size_of::<abi::XLA_FFI_Extension_Base>() as i64);
    compared.value("XLA_FFI_CallFrame_STRUCT_SIZE + 8", abi::CALL_FRAME_SIZE as i64 + 8);
    compared.value("XLA_FFI_Metadata_STRUCT_SIZE", abi::METADATA_SIZE as i64);
    for (name, code) in abi::data_type::ALL {
        compared.value(&format!("XLA_FFI_DataType_{name}"), i64::from(*code));
    }
    for code in ErrorCode::ALL {
        compared.value(&format!("XLA_FFI_Error_Code_{}", code.name()), *code as i64);
    }
    for (name, value) in [
        ("XLA_FFI_Extension_Metadata", abi::EXTENSION_METADATA),
        ("XLA_FFI_ArgType_BUFFER", abi::BUFFER),
        ("XLA_FFI_RetType_BUFFER", abi::BUFFER),
        ("XLA_FFI_AttrType_ARRAY", abi::attr_type::ARRAY),
        ("XLA_FFI_AttrType_DICTIONARY", abi::attr_type::DICTIONARY),
        ("XLA_FFI_AttrType_SCALAR", abi::attr_type::SCALAR),
        ("XLA_FFI_AttrType_STRING", abi::attr_type::STRING),
        ("XLA_FFI_ExecutionStage_INSTANTIATE", abi::stage::INSTANTIATE),
        ("XLA_FFI_ExecutionStage_PREPARE", abi::stage::PREPARE),
        ("XLA_FFI_ExecutionStage_INITIALIZE", abi::stage::INITIALIZE),
        ("XLA_FFI_ExecutionStage_EXECUTE", abi::stage::EXECUTE),
        ("XLA_FFI_HANDLER_TRAITS_COMMAND_BUFFER_COMPATIBLE", abi::COMMAND_BUFFER_COMPATIBLE as i32),
    ] {
        compared.value(name, i64::from(value));
    }
    compared.program.push_str("return 0; }\n");
    let folder = std::env::temp_dir();
    let name = format!("ffi-layouts-{}", std::process::id());
    let (source, binary) = (folder.join(format!("{name}.c")), folder.join(&name));
    std::fs::write(&source, &compared.program).unwrap();
    assert!(Command::new("cc").arg(&source).arg("-o").arg(&binary).status().unwrap().success());
    let output = String::from_utf8(Command::new(&binary).output().unwrap().stdout).unwrap();
    for file in [source, binary] {
        std::fs::remove_file(file).unwrap();
    }
    let found: BTreeMap<String, i64> = output
        .lines()
        .map(|line| line.split_once(' ').unwrap())
        .map(|(key, value)| (key.to_owned(), value.parse().unwrap()))
        .collect();
    assert_eq!(found, compared.expected);
}
