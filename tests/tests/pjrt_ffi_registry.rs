//! Handlers in the registry of the process, on a real plugin: what is registered, refused, replaced and removed.

mod plugin;

use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicUsize, Ordering};

use dispatch_runtime::ffi::abi::*;
use dispatch_runtime::ffi::registry::{self, Entry, Platform, RawClosure, Registration, StageSet};
use dispatch_runtime::program::Source;
use dispatch_runtime::{Client, ClientOptions, Error, Result};
use plugin::{client, compile, run, values};

type Frame = *mut XLA_FFI_CallFrame;

/// Answers the handshake for a handler written by hand; whether it was one.
unsafe fn handshake(frame: Frame, minor: i32) -> bool {
    // SAFETY: the frame is one of a plugin, and its metadata are ours to write to.
    unsafe {
        let extension = (*frame).extension_start;
        if extension.is_null() {
            return false;
        }
        assert_eq!((*extension).kind, EXTENSION_METADATA);
        let metadata = (*extension.cast::<XLA_FFI_Metadata_Extension>()).metadata;
        let own = if minor == 0 { (*(*frame).api).api_version.minor_version } else { minor };
        (*metadata).api_version.major_version = 0;
        (*metadata).api_version.minor_version = own;
        (*metadata).traits = 0;
        true
    }
}

/// Writes its first argument plus `n` to its first result, f32.
unsafe fn add(frame: Frame, n: f32) {
    // SAFETY: the programs of this file call handlers with one argument and one result of the same shape.
    unsafe {
        let argument = &*(*(*frame).args.args).cast::<XLA_FFI_Buffer>();
        let result = &*(*(*frame).rets.rets).cast::<XLA_FFI_Buffer>();
        let count = (0..argument.rank).map(|i| *argument.dims.add(i as usize)).product::<i64>() as usize;
        for i in 0..count {
            *result.data.cast::<f32>().add(i) = *argument.data.cast::<f32>().add(i) + n;
        }
    }
}

unsafe extern "C" fn add_1(frame: Frame) -> *mut XLA_FFI_Error {
    // SAFETY: the frame is one of a plugin.
    unsafe {
        if !handshake(frame, 0) {
            add(frame, 1.0);
        }
    }
    null_mut()
}

unsafe extern "C" fn add_2(frame: Frame) -> *mut XLA_FFI_Error {
    // SAFETY: the frame is one of a plugin.
    unsafe {
        if !handshake(frame, 0) {
            add(frame, 2.0);
        }
    }
    null_mut()
}

/// Of an interface of the future.
unsafe extern "C" fn too_new(frame: Frame) -> *mut XLA_FFI_Error {
    // SAFETY: the frame is one of a plugin.
    unsafe { handshake(frame, 99) };
    null_mut()
}

/// A closure's call: its data is the number to add.
unsafe extern "C" fn add_data(data: *mut c_void, frame: Frame) -> *mut XLA_FFI_Error {
    // SAFETY: the frame is one of a plugin, and the data what `closure` makes.
    unsafe { add(frame, *data.cast::<f32>()) };
    null_mut()
}

static RELEASED: AtomicUsize = AtomicUsize::new(0);

unsafe extern "C" fn release(data: *mut c_void) {
    // SAFETY: the data are what `closure` makes.
    drop(unsafe { Box::from_raw(data.cast::<f32>()) });
    RELEASED.fetch_add(1, Ordering::SeqCst);
}

fn function<'a>(
    target: &'a str,
    function: XLA_FFI_Handler,
    owner: &'a str,
    name: &'a str,
) -> Registration<'a> {
    Registration {
        target,
        platform: Platform::Host,
        entry: Entry::Function(function),
        stages: StageSet::EXECUTE,
        traits: 0,
        owner,
        name,
    }
}

fn register(registration: &Registration<'_>) -> Result<()> {
    // SAFETY: the handlers of this file are what they have to be.
    unsafe { registry::register(registration) }
}

fn closure<'a>(target: &'a str, n: f32, owner: &'a str) -> Registration<'a> {
    let data = Box::into_raw(Box::new(n)).cast();
    let closure = RawClosure { call: add_data, data, release: Some(release) };
    Registration { entry: Entry::Closure(closure), ..function(target, add_1, owner, "") }
}

fn text(target: &str) -> String {
    format!(
        "func.func @main(%a: tensor<3xf32>) -> tensor<3xf32> {{
           %0 = \"stablehlo.custom_call\"(%a) {{call_target_name = \"{target}\", api_version = 4 : i32}}
             : (tensor<3xf32>) -> tensor<3xf32>
           return %0 : tensor<3xf32>
         }}"
    )
}

fn call(client: Client, target: &str) -> Result<Vec<f32>> {
    let program = client.compile(Source::StableHlo(text(target)))?;
    let x = client.array(&[1f32, 2.0, 3.0], [3])?;
    program.execute(&[&x])?[0].to_vec::<f32>()
}

#[test]
fn a_handler_is_called() {
    register(&function("called", add_1, "", "add_1")).unwrap();
    let client = client();
    assert_eq!(call(client, "called").unwrap(), [2.0, 3.0, 4.0]);
    assert!(client.registered_ffi_handlers().contains(&"called".to_owned()));
    // Again the same.
    register(&function("called", add_1, "", "add_1")).unwrap();
    assert_eq!(call(client, "called").unwrap(), [2.0, 3.0, 4.0]);
}

#[test]
fn another_function_under_a_name_that_is_taken_is_an_error_naming_both() {
    client();
    register(&function("taken", add_1, "one", "first::f")).unwrap();
    let error = register(&function("taken", add_2, "two", "second::g")).unwrap_err();
    assert_eq!(error.code(), "ffi_handler");
    assert_eq!(
        error.to_string(),
        "cannot register the FFI handler `taken` for platform cpu: the name is taken: `first::f` of one is \
         registered under it, and `second::g` of two is another handler"
    );
    assert_eq!(call(client(), "taken").unwrap(), [2.0, 3.0, 4.0]);
    // Without owners nobody may replace anything.
    register(&function("nobody's", add_1, "", "f")).unwrap();
    register(&function("nobody's", add_2, "", "g")).unwrap_err();
}

#[test]
fn an_owner_replaces_its_own_handler() {
    let client = client();
    register(&function("replaced", add_1, "pkg", "")).unwrap();
    let program = compile(client, &text("replaced"));
    let x = client.array(&[1f32, 2.0, 3.0], [3]).unwrap();
    assert_eq!(values::<f32>(&run(&program, &[&x])), [2.0, 3.0, 4.0]);
    register(&function("replaced", add_2, "pkg", "")).unwrap();
    // Programs that are compiled call the new one too.
    assert_eq!(values::<f32>(&run(&program, &[&x])), [3.0, 4.0, 5.0]);
}

#[test]
fn what_an_owner_leaves_is_a_clear_error_until_it_comes_back() {
    let client = client();
    register(&function("left", add_1, "leaver", "")).unwrap();
    register(&function("left too", add_1, "leaver", "")).unwrap();
    register(&function("stays", add_1, "stayer", "")).unwrap();
    let program = compile(client, &text("left"));
    assert_eq!(registry::remove_owner("leaver"), 2);
    assert_eq!(registry::remove_owner("leaver"), 0);
    let x = client.array(&[1f32, 2.0, 3.0], [3]).unwrap();
    let error = program.execute(&[&x]).and_then(|out| out[0].to_vec::<f32>()).unwrap_err();
    let expected = "the FFI handler `left` is gone: leaver, which registered it, was unloaded or removed it";
    assert!(
        matches!(&error, Error::Pjrt { status: "FAILED_PRECONDITION", message, .. } if message.contains(expected)),
        "{error}"
    );
    // A program that would call it is refused when it is compiled.
    let error = client.compile(Source::StableHlo(text("left too"))).unwrap_err();
    assert!(error.to_string().contains("`left too` is gone"), "{error}");
    assert!(!client.registered_ffi_handlers().contains(&"left".to_owned()));
    assert_eq!(call(client, "stays").unwrap(), [2.0, 3.0, 4.0]);
    // Somebody else may have the name now.
    register(&function("left", add_2, "heir", "")).unwrap();
    assert_eq!(values::<f32>(&run(&program, &[&x])), [3.0, 4.0, 5.0]);
}

#[test]
fn a_handler_of_another_version_is_refused_in_the_words_of_the_plugin() {
    client();
    let error = register(&function("too new", too_new, "", "too_new")).unwrap_err();
    assert_eq!(error.code(), "ffi_handler");
    assert!(error.to_string().contains("the plugin refuses `too_new`: "), "{error}");
    assert!(error.to_string().contains("99"), "{error}");
    // Its name and its slot are free again.
    register(&function("too new", add_1, "", "add_1")).unwrap();
    assert_eq!(call(client(), "too new").unwrap(), [2.0, 3.0, 4.0]);
}

#[test]
fn wrong_registrations_are_refused() {
    let says = |registration: &Registration<'_>, what: &str| {
        let error = register(registration).unwrap_err().to_string();
        assert!(error.contains(what), "{error}");
    };
    says(&function("", add_1, "", ""), "must not be empty");
    says(&function("a\0b", add_1, "", ""), "must not contain NUL");
    let stages = StageSet::default().with(stage::INSTANTIATE);
    says(&Registration { stages, ..function("no stage", add_1, "", "") }, "no execute stage");
    let error = Platform::named("tpu").unwrap_err().to_string();
    assert!(error.contains("\"tpu\"") && error.contains("cuda"), "{error}");
    // Data come to an end with a registration that fails, too.
    let before = RELEASED.load(Ordering::SeqCst);
    register(&closure("", 1.0, "")).unwrap_err();
    assert!(RELEASED.load(Ordering::SeqCst) > before);
}

#[test]
fn a_closure_lives_as_long_as_it_is_registered() {
    let client = client();
    register(&closure("closure", 10.0, "closures")).unwrap();
    assert_eq!(call(client, "closure").unwrap(), [11.0, 12.0, 13.0]);
    register(&closure("closure", 20.0, "closures")).unwrap();
    assert_eq!(call(client, "closure").unwrap(), [21.0, 22.0, 23.0]);
    assert!(registry::remove("closure", Platform::Host, "closures"));
    assert!(!registry::remove("closure", Platform::Host, "closures"));
    call(client, "closure").unwrap_err();
    assert!(RELEASED.load(Ordering::SeqCst) >= 2);
}

#[test]
fn a_target_that_nobody_registered_is_an_error_with_those_that_are() {
    let client = client();
    register(&function("is_there", add_1, "", "")).unwrap();
    let error = call(client, "is_not_there").unwrap_err();
    let Error::FfiTarget { target, platform, registered } = &error else { panic!("{error:?}") };
    assert_eq!((error.code(), target.as_str(), platform.as_str()), ("ffi_target", "is_not_there", "cpu"));
    assert!(registered.contains(&"is_there".to_owned()));
    assert!(error.to_string().contains("calls `is_not_there`, but no FFI handler"), "{error}");
    assert!(error.to_string().contains("is_there"), "{error}");
}

#[test]
fn a_plugin_that_is_loaded_later_knows_what_was_registered_before() {
    register(&function("early", add_1, "", "")).unwrap();
    register(&function("early and gone", add_1, "somebody", "")).unwrap();
    registry::remove_owner("somebody");
    for path in plugin::cached_plugins() {
        let client = Client::from_plugin(&path, &ClientOptions::new()).unwrap();
        assert_eq!(call(client, "early").unwrap(), [2.0, 3.0, 4.0], "{}", path.display());
        let known = client.registered_ffi_handlers();
        assert!(known.contains(&"early".to_owned()) && !known.contains(&"early and gone".to_owned()));
        // And one that is registered for it is known to those that were there before.
        register(&function("late", add_2, "", "")).unwrap();
        assert_eq!(call(client, "late").unwrap(), [3.0, 4.0, 5.0]);
    }
    assert_eq!(call(client(), "late").unwrap(), [3.0, 4.0, 5.0]);
}

#[test]
fn a_client_without_a_plugin_calls_no_handlers() {
    let error = Client::host().register_ffi_closure("none", |_, _, _| Ok(())).unwrap_err();
    assert_eq!(error.code(), "unimplemented");
    assert_eq!(Client::host().registered_ffi_handlers(), [""; 0]);
}

#[test]
fn handlers_of_another_platform_are_none_of_the_client() {
    let client = client();
    register(&Registration { platform: Platform::Cuda, ..function("on_cuda", add_1, "", "") }).unwrap();
    assert!(!client.registered_ffi_handlers().contains(&"on_cuda".to_owned()));
    assert!(registry::registered().iter().any(|t| t.target == "on_cuda" && t.platform == Platform::Cuda));
    assert_eq!(call(client, "on_cuda").unwrap_err().code(), "ffi_target");
}

#[test]
fn names_that_the_compiler_knows_itself_are_refused() {
    let client = client();
    for name in
        ["TopK", "Sharding", "SliceToDynamic", "MoveToHost", "__onednn$softmax", "xla.sdy.ShardingGroup"]
    {
        let error = client.register_ffi_closure(name, |_, _, _| Ok(())).unwrap_err().to_string();
        assert!(
            error.contains(name) && error.contains("XLA's compiler knows a target of this name itself"),
            "{error}"
        );
        let error = register(&function(name, add_1, "owner", "add_1")).unwrap_err().to_string();
        assert!(error.contains("take another name"), "{error}");
        assert!(!client.remove_ffi_handler(name));
    }
    for name in ["topk", "MyTopK", "sharding", "__onednn"] {
        client.register_ffi_closure(name, |_, _, _| Ok(())).unwrap();
        assert!(client.remove_ffi_handler(name));
    }
}

macro_rules! scale {
    ($module:ident, $by:literal) => {
        mod $module {
            use dispatch_runtime::ffi::{self, BufferMut};
            use dispatch_runtime::prelude::*;

            #[ffi_handler]
            pub fn scale(#[ret] mut out: BufferMut<f32>) -> ffi::Result<()> {
                out.iter_mut().for_each(|o| *o *= $by);
                Ok(())
            }
        }
    };
}

scale!(twice, 2.0);
scale!(thrice, 3.0);

#[test]
fn handlers_of_one_name_are_told_apart_by_their_paths() {
    let client = client();
    client.register_ffi_handler("one_name", &twice::SCALE).unwrap();
    client.register_ffi_handler("one_name", &twice::SCALE).unwrap();
    let error = client.register_ffi_handler("one_name", &thrice::SCALE).unwrap_err().to_string();
    assert!(
        error.ends_with(
            "`pjrt_ffi_registry::twice::SCALE` is registered under it, and `pjrt_ffi_registry::thrice::SCALE` is another \
             handler"
        ),
        "{error}"
    );
}
