//! Plugins that are old, new, incomplete, or no plugins: always an error that says why, never an abort.

mod plugin;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use dispatch_runtime::engine::pjrt::ClientOptions;
use dispatch_runtime::program::Source;
use dispatch_runtime::{Array, Client, Error};

/// Builds the mock with these definitions, each time as another file, since a library is loaded once.
fn mock(definitions: &[&str]) -> PathBuf {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let name = format!("mock_{}_{}.so", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
    let library = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let built = Command::new("cc")
        .args(["-shared", "-fPIC", "-O1", "-w"])
        .args(definitions.iter().map(|d| format!("-D{d}")))
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("mock/plugin.c"))
        .arg("-o")
        .arg(&library)
        .status()
        .expect("a C compiler");
    assert!(built.success());
    library
}

fn load(path: &Path) -> Result<Client, Error> {
    Client::from_plugin(path, &ClientOptions::new())
}

/// A client of a mock that works, and a reader of its counters. The file is removed; the library stays loaded.
fn loaded(definitions: &[&str]) -> (Client, impl Fn(&str) -> i64 + use<>) {
    let path = mock(definitions);
    let client = load(&path).unwrap();
    // SAFETY: the library is loaded already.
    let library = unsafe { libloading::Library::new(&path) }.unwrap();
    std::fs::remove_file(&path).unwrap();
    (client, move |name: &str| {
        // SAFETY: the mock has a counter of this name and type.
        unsafe { **library.get::<*const i64>(name.as_bytes()).unwrap() }
    })
}

fn refusal(definitions: &[&str]) -> String {
    let path = mock(definitions);
    let error = load(&path).unwrap_err();
    std::fs::remove_file(&path).unwrap();
    assert!(matches!(error.code(), "plugin" | "unimplemented" | "pjrt"), "{error}");
    error.to_string()
}

#[track_caller]
fn says(message: &str, parts: &[&str]) {
    for part in parts {
        assert!(message.contains(part), "expected {part:?} in: {message}");
    }
}

#[test]
fn a_plugin_that_is_too_old_is_refused_with_both_versions() {
    says(&refusal(&["MINOR=40"]), &["PJRT C API 0.40 is too old", "made for 0.54 to 0.115"]);
    says(&refusal(&["MINOR=-3"]), &["PJRT C API 0.-3 is too old"]);
}

#[test]
fn a_plugin_of_another_major_version_is_refused_with_both_versions() {
    says(&refusal(&["MAJOR=1", "MINOR=2"]), &["PJRT C API 1.2 is too new", "0.54 to 0.115"]);
}

#[test]
fn plugins_from_the_oldest_version_on_work() {
    for minor in [54, 55, 70, 81, 106, 115, 116, 400] {
        let (client, _) = loaded(&[&format!("MINOR={minor}")]);
        let a = client.array(&[1f32, 2.0], [2]).unwrap();
        assert_eq!(a.to_vec::<f32>().unwrap(), [1.0, 2.0], "0.{minor}");
        says(&client.to_string(), &[&format!("(PJRT C API 0.{minor})")]);
    }
}

#[test]
fn each_version_is_told_the_size_of_the_structs_that_it_knows() {
    for (minor, size) in [(54, 72), (55, 88), (81, 88), (115, 88), (116, 88 + 64)] {
        let (_, counter) = loaded(&[&format!("MINOR={minor}")]);
        assert_eq!(counter("mock_create_args_size"), size, "0.{minor}");
    }
    // The oldest plugin may insist on its size.
    let _ = loaded(&["MINOR=54", "CREATE_ARGS=72", "EXACT"]);
}

#[test]
fn a_newer_plugin_finds_zeros_where_it_has_added_fields() {
    let (client, counter) = loaded(&["MINOR=130", "CREATE_ARGS=152"]);
    assert_eq!(counter("mock_create_args_size"), 152);
    let a = client.array(&[1f32, 2.0], [2]).unwrap();
    assert_eq!(counter("mock_upload_args_size"), 120 + 64);
    assert_eq!(a.to_vec::<f32>().unwrap(), [1.0, 2.0]);
}

#[test]
fn a_plugin_that_wants_larger_structs_is_refused_with_both_versions() {
    let message = refusal(&["MINOR=300", "CREATE_ARGS=400"]);
    says(
        &message,
        &["it has PJRT C API 0.300", "made for 0.54 to 0.115", "PJRT_Client_Create", "expected 400"],
    );
}

#[test]
fn a_table_that_is_too_short_names_the_first_missing_function() {
    says(&refusal(&["TABLE_BYTES=16"]), &["function table has 16 bytes", "0.54 to 0.115"]);
    says(&refusal(&["TABLE_BYTES=56"]), &["lacks a function that reads errors", "0.81"]);
    says(&refusal(&["TABLE_BYTES=80"]), &["is not implemented by mock_", "(PJRT C API 0.81)"]);
}

#[test]
fn a_missing_function_is_named_with_the_version() {
    says(&refusal(&["MISSING=1"]), &["lacks a function that reads errors"]);
    says(
        &refusal(&["MISSING=3", "MINOR=99"]),
        &["PJRT_Plugin_Initialize is not implemented by mock_", "(PJRT C API 0.99)"],
    );
    says(&refusal(&["MISSING=55"]), &["PJRT_LoadedExecutable_Execute is not implemented"]);
    // One that is not always needed is missed where it is.
    let (client, _) = loaded(&["MISSING=20"]);
    let source = Source::StableHlo("func.func @main() { return }".into());
    let error = client.compile_on(source, client.default_device()).unwrap_err();
    assert_eq!(error.code(), "unimplemented");
    says(&error.to_string(), &["PJRT_Client_Compile is not implemented by mock_"]);
    let (client, _) = loaded(&["MISSING=72"]);
    let a = client.array(&[1f32], [1]).unwrap();
    says(&a.await_ready().unwrap_err().to_string(), &["PJRT_Buffer_ReadyEvent is not implemented"]);
}

#[test]
fn a_missing_extension_is_named_with_the_version() {
    let (client, _) = loaded(&["MINOR=90"]);
    let error = plugin::engine(client).extension(5, "FFI").unwrap_err();
    assert_eq!(error.code(), "unimplemented");
    says(
        &error.to_string(),
        &["the extension FFI of the PJRT C API is not implemented by mock_", "(PJRT C API 0.90)"],
    );
}

#[test]
fn a_file_that_is_no_plugin_is_refused() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let path = folder.join("no_plugin.so");
    std::fs::write(&path, "not a library").unwrap();
    says(
        &load(&path).unwrap_err().to_string(),
        &["cannot use the plugin", "no_plugin.so", "not a shared library"],
    );
    std::fs::write(&path, "").unwrap();
    says(&load(&path).unwrap_err().to_string(), &["not a shared library"]);
    std::fs::remove_file(&path).unwrap();
    says(&load(&path).unwrap_err().to_string(), &["cannot be read"]);
    says(&load(folder).unwrap_err().to_string(), &["is not a file"]);
    says(&refusal(&["NO_ENTRY"]), &["not a PJRT plugin", "GetPjrtApi is missing"]);
    says(&refusal(&["NO_TABLE"]), &["returned no function table"]);
}

#[test]
fn a_plugin_that_cannot_start_says_why() {
    let path = mock(&["INIT_FAILS"]);
    for _ in 0..2 {
        let error = load(&path).unwrap_err();
        assert_eq!(error.to_string(), "PJRT_Plugin_Initialize failed (UNAVAILABLE): the mock cannot start");
    }
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn a_client_without_devices_is_refused_and_destroyed() {
    let path = mock(&["NO_DEVICES"]);
    says(&load(&path).unwrap_err().to_string(), &["its client has no device"]);
    // SAFETY: the library is loaded already, and has this counter.
    unsafe {
        let library = libloading::Library::new(&path).unwrap();
        assert_eq!(**library.get::<*const i64>(b"mock_clients").unwrap(), 0);
    }
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn errors_events_and_buffers_are_destroyed_once() {
    let (client, counter) = loaded(&[]);
    for _ in 0..3 {
        // 13 elements fail to upload, 4 fail to be computed.
        assert_eq!(
            client.array(&[0f32; 13], [13]).unwrap_err().to_string(),
            "PJRT_Client_BufferFromHostBuffer failed (RESOURCE_EXHAUSTED): the mock has no room for 13"
        );
        let failed = client.array(&[0f32; 4], [4]).unwrap();
        for error in [failed.await_ready().unwrap_err(), failed.to_vec::<f32>().unwrap_err()] {
            assert_eq!(error.to_string(), "PJRT_Event_Await failed (INTERNAL): the mock computed nothing");
        }
        let fine = client.array(&[0f32; 5], [5]).unwrap();
        assert!(fine.is_ready().unwrap());
        assert_eq!(fine.to_vec::<f32>().unwrap(), [0.0; 5]);
        assert_eq!(client.engine().devices()[0].id, 7);
    }
    for name in ["mock_errors", "mock_events", "mock_buffers"] {
        assert_eq!(counter(name), 0, "{name}");
    }
}

#[test]
fn every_layout_is_read_row_major_in_place_and_by_copy() {
    let data: Vec<u16> = (0..6).collect();
    // In place; by copy, for want of a pointer; by copy, from a device.
    for way in [&[][..], &["MISSING=76"], &["MISSING=74"], &["ON_DEVICE"]] {
        for order in ["ORDER=0", "ORDER=1", "ORDER=2"] {
            let (client, counter) = loaded(&[way, &[order]].concat());
            let a = client.array(&data, [2, 3]).unwrap();
            assert_eq!(a.to_vec::<u16>().unwrap(), data, "{way:?} {order}");
            drop(a);
            assert_eq!((counter("mock_events"), counter("mock_errors")), (0, 0));
        }
        let (client, _) = loaded(&[way, &["ORDER=3"]].concat());
        let a = client.array(&data, [2, 3]).unwrap();
        says(&a.to_vec::<u16>().unwrap_err().to_string(), &["a buffer with a tiled layout"]);
    }
    let (client, _) = loaded(&["ON_DEVICE"]);
    assert_eq!((client.platform(), client.default_device().to_string()), ("mock", "mock:5".into()));
}

fn compile(client: Client, text: &str) -> Result<dispatch_runtime::Executable, Error> {
    client.compile_on(Source::StableHlo(text.into()), client.default_device())
}

#[test]
fn a_plugin_without_modules_is_asked_for_the_text_alone() {
    for definition in ["MODULE=0", "MISSING=48"] {
        let (client, counter) = loaded(&[definition]);
        // "layout" makes the text one that the module should describe.
        let text = "func.func @main(%a: tensor<2xf32> {jax.buffer_donor = true}, %b: tensor<i1>) { return } // layout";
        let executable = compile(client, text).unwrap();
        assert_eq!(format!("{:?}", executable.inputs()), "[tensor<2xf32>, tensor<i1>]");
        assert_eq!(executable.compiled().aliased(), [true, false]);
        let strange =
            compile(client, "func.func @main(%a: !stablehlo.token) { return } // layout").unwrap_err();
        says(&strange.to_string(), &["argument 1 has the type !stablehlo.token"]);
        let source = Source::Bytecode(b"ML\xefR".to_vec());
        let unknown = client.compile_on(source, client.default_device()).unwrap_err();
        says(&unknown.to_string(), &["PJRT_Executable_OptimizedProgram", "bytecode", "(PJRT C API 0.81)"]);
        drop(executable);
        assert_eq!((counter("mock_executables"), counter("mock_errors")), (0, 0));
    }
}

#[test]
fn modules_that_cannot_be_read_are_errors() {
    let text = "func.func @main() { return } // layout";
    says(
        &compile(loaded(&["MODULE=1"]).0, text).unwrap_err().to_string(),
        &["its optimized program has no module"],
    );
    says(&compile(loaded(&["MODULE=2"]).0, text).unwrap_err().to_string(), &["unknown format \"poem\""]);
}

#[test]
fn a_module_of_any_size_is_read() {
    let (client, counter) = loaded(&["MODULE=3"]);
    let executable = compile(client, "func.func @main(%a: !x) { return } // layout").unwrap();
    assert_eq!(
        format!("{:?} {:?}", executable.inputs(), executable.outputs()),
        "[tensor<2xf32>] [tensor<2xf32>]"
    );
    assert_eq!(counter("mock_errors"), 0);
}

#[test]
fn an_inspection_tells_what_the_plugin_tells() {
    let text = "func.func @main(%a: tensor<2xf32>) { return }";
    let inspect = |definitions: &[&str]| {
        let (client, counter) = loaded(definitions);
        let inspection = compile(client, text).unwrap().inspect().unwrap();
        assert_eq!((counter("mock_executables"), counter("mock_errors")), (0, 0), "{definitions:?}");
        assert_eq!((inspection.optimized_hlo, inspection.memory), (None, None), "{definitions:?}");
        assert_eq!(
            format!("{:?} {:?}", inspection.inputs, inspection.outputs),
            "[tensor<2xf32>] [tensor<2xf32>]"
        );
        (inspection.flops, inspection.bytes_accessed)
    };
    assert_eq!(inspect(&["COSTS=2"]), (Some(1.5e6), Some(8000.0)));
    // No function, a table that ends before it, an error, an impossible count, a list that is not there.
    for definition in ["MISSING=46", "COSTS=0", "COSTS=1", "COSTS=3", "COSTS=4"] {
        assert_eq!(inspect(&[definition]), (None, None), "{definition}");
    }
    assert_eq!(inspect(&["MISSING=96", "COSTS=2"]), (Some(1.5e6), Some(8000.0)));
}

#[test]
fn an_inspection_of_a_module_that_cannot_be_read_is_an_error() {
    let text = "func.func @main(%a: tensor<2xf32>) { return }";
    for (definition, part) in [
        ("MODULE=1", "its optimized program has no module"),
        ("MODULE=2", "unknown format \"poem\""),
        // Its computations are zeros.
        ("MODULE=3", "its optimized program cannot be read: "),
    ] {
        let (client, counter) = loaded(&[definition]);
        let error = compile(client, text).unwrap().inspect().unwrap_err();
        assert_eq!(error.code(), "plugin");
        says(&error.to_string(), &[part, "(PJRT C API 0.81)"]);
        assert_eq!((counter("mock_executables"), counter("mock_errors")), (0, 0));
    }
}

#[test]
fn a_run_that_fails_leaves_nothing() {
    let (client, counter) = loaded(&[]);
    let executable = compile(client, "func.func @main(%a: tensor<2xf32>) { return }").unwrap();
    let a: Array = client.array(&[1f32, 2.0], [2]).unwrap();
    assert_eq!(
        executable.execute(&[&a]).unwrap_err().to_string(),
        "PJRT_LoadedExecutable_Execute failed (INTERNAL): the mock does not run programs"
    );
    drop((a, executable));
    for name in ["mock_errors", "mock_events", "mock_buffers", "mock_executables"] {
        assert_eq!(counter(name), 0, "{name}");
    }
}

#[test]
fn a_plugin_is_loaded_once_however_it_is_named() {
    let path = mock(&[]);
    let link = path.with_extension("link.so");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    let (one, two) = (load(&path).unwrap(), load(&link).unwrap());
    assert_ne!(one, two);
    assert_eq!(plugin::engine(one).api(), plugin::engine(two).api());
    std::fs::remove_file(&path).unwrap();
    std::fs::remove_file(&link).unwrap();
}
