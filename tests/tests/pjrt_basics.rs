//! Arrays and programs on a real plugin.

mod plugin;

use dispatch_runtime::engine::Engine;
use dispatch_runtime::program::{Program, Source};
use dispatch_runtime::{Array, Aval, DType, Element, Error, HostArray, HostView};
use half::{bf16, f16};
use num_complex::Complex;
use plugin::{add, client, compile, engine, pjrt, run, values};

/// Uploads, reads back, sends through a program that returns its argument, and reads again.
fn round_trip<T: Element + PartialEq + std::fmt::Debug>(data: &[T]) {
    let client = client();
    let shapes: &[&[i64]] =
        if data.len() == 1 { &[&[], &[1], &[1, 1]] } else { &[&[6], &[2, 3], &[3, 1, 2], &[1, 6]] };
    for &shape in shapes {
        let array = client.array(data, shape).unwrap();
        assert_eq!((array.dtype(), array.shape()), (T::DTYPE, shape));
        assert_eq!(values::<T>(&array), data);
        let ty = array.aval().to_string();
        let same = compile(client, &format!("func.func @main(%a: {ty}) -> {ty} {{ return %a : {ty} }}"));
        assert_eq!((same.inputs(), same.outputs()), (&[array.aval()][..], &[array.aval()][..]));
        assert_eq!(values::<T>(&run(&same, &[&array])), data);
    }
}

macro_rules! round_trips {
    ($($name:ident: $one:expr, $six:expr;)*) => {
        $(#[test]
        fn $name() {
            round_trip(&[$one]);
            round_trip(&$six);
        })*
    };
}

round_trips! {
    bool_comes_back: true, [true, false, false, true, true, false];
    i8_comes_back: -1i8, [0i8, 1, -1, i8::MIN, i8::MAX, 5];
    i16_comes_back: -1i16, [0i16, 1, -1, i16::MIN, i16::MAX, 5];
    i32_comes_back: -1i32, [0i32, 1, -1, i32::MIN, i32::MAX, 5];
    i64_comes_back: -1i64, [0i64, 1, -1, i64::MIN, i64::MAX, 5];
    u8_comes_back: 255u8, [0u8, 1, 2, 3, u8::MAX, 5];
    u16_comes_back: 1u16, [0u16, 1, 2, 3, u16::MAX, 5];
    u32_comes_back: 1u32, [0u32, 1, 2, 3, u32::MAX, 5];
    u64_comes_back: 1u64, [0u64, 1, 2, 3, u64::MAX, 5];
    f16_comes_back: f16::from_f32(1.5), [0.0, -0.5, 1.0, 65504.0, f32::INFINITY, 3.0].map(f16::from_f32);
    bf16_comes_back: bf16::from_f32(1.5), [0.0, -0.5, 1.0, 3e38, f32::INFINITY, 3.0].map(bf16::from_f32);
    f32_comes_back: 1.5f32, [0.0f32, -0.0, 1.0, f32::MIN_POSITIVE, f32::INFINITY, f32::MAX];
    f64_comes_back: 1.5f64, [0.0f64, -0.0, 0.1, f64::MIN_POSITIVE, f64::INFINITY, f64::MAX];
    c64_comes_back: Complex::new(1f32, 2.0), [0, 1, 2, 3, 4, 5].map(|n| Complex::new(n as f32, -1.0));
    c128_comes_back: Complex::new(1f64, 2.0), [0, 1, 2, 3, 4, 5].map(|n| Complex::new(n as f64, -1.0));
}

#[test]
fn empty_arrays_go_through_programs() {
    let client = client();
    for shape in [&[0i64][..], &[0, 3], &[3, 0], &[2, 0, 4]] {
        let empty = client.array::<f32>(&[], shape).unwrap();
        assert_eq!(values::<f32>(&empty), [0f32; 0]);
        let sum = run(&compile(client, &add(&empty.aval().to_string())), &[&empty, &empty]);
        assert_eq!((sum.shape(), values::<f32>(&sum)), (shape, vec![]));
    }
}

#[test]
fn three_results_and_no_arguments() {
    let client = client();
    let text = "func.func @main() -> (tensor<f32>, tensor<2xi32>, tensor<0xi1>) {
        %0 = stablehlo.constant dense<1.5> : tensor<f32>
        %1 = stablehlo.constant dense<[3, 4]> : tensor<2xi32>
        %2 = stablehlo.constant dense<> : tensor<0xi1>
        return %0, %1, %2 : tensor<f32>, tensor<2xi32>, tensor<0xi1>
    }";
    let executable = compile(client, text);
    assert_eq!(executable.inputs(), []);
    let expected = [Aval::new(DType::F32, []), Aval::new(DType::I32, [2]), Aval::new(DType::Bool, [0])];
    assert_eq!(executable.outputs(), expected);
    let results = executable.execute(&[]).unwrap();
    assert_eq!(values::<f32>(&results[0]), [1.5]);
    assert_eq!(values::<i32>(&results[1]), [3, 4]);
    assert_eq!(values::<bool>(&results[2]), [false; 0]);
}

#[test]
fn a_program_without_results_runs() {
    let executable = compile(client(), "func.func @main(%a: tensor<f32>) { return }");
    let a = client().array(&[1f32], []).unwrap();
    assert_eq!(executable.execute(&[&a]).unwrap().len(), 0);
}

#[test]
fn a_hundred_arguments_keep_their_order() {
    let client = client();
    let names: Vec<String> = (0..100).map(|i| format!("%a{i}: tensor<f32>")).collect();
    let text =
        format!("func.func @main({}) -> tensor<f32> {{ return %a73 : tensor<f32> }}", names.join(", "));
    let executable = compile(client, &text);
    let args: Vec<Array> = (0..100).map(|i| client.array(&[i as f32], []).unwrap()).collect();
    assert_eq!(values::<f32>(&run(&executable, &args.iter().collect::<Vec<_>>())), [73.0]);
}

#[test]
fn a_slice_that_changes_after_the_upload_does_not_change_the_array() {
    let client = client();
    let mut data: Vec<f64> = (0..100_000).map(f64::from).collect();
    let array = client.array(&data, [100_000]).unwrap();
    data.fill(-1.0);
    drop(data);
    assert!(values::<f64>(&array).iter().zip(0..).all(|(&x, i)| x == f64::from(i)));
}

#[test]
fn results_outlive_their_executable() {
    let client = client();
    // Large enough for the plugin's thread pool, so that it may still run when the executable is dropped.
    let a = client.array(&vec![1f32; 1 << 20], [1 << 20]).unwrap();
    let mut sums = Vec::new();
    for _ in 0..3 {
        let executable = compile(client, &add("tensor<1048576xf32>"));
        sums.push(run(&executable, &[&a, &a]));
    }
    drop(a);
    for sum in sums {
        assert!(values::<f32>(&sum).iter().all(|&x| x == 2.0));
    }
}

#[test]
fn readiness_can_be_asked_and_awaited() {
    let client = client();
    let a = client.array(&vec![1f32; 1 << 20], [1 << 20]).unwrap();
    let sum = run(&compile(client, &add("tensor<1048576xf32>")), &[&a, &a]);
    sum.await_ready().unwrap();
    assert!(sum.is_ready().unwrap());
}

#[test]
fn text_that_is_no_program_is_an_error_with_the_compilers_message() {
    let error =
        client().compile_on(Source::StableHlo("garbage".into()), client().default_device()).unwrap_err();
    let Error::Pjrt { function, message, .. } = &error else { panic!("{error}") };
    assert_eq!((*function, error.code()), ("PJRT_Client_Compile", "pjrt"));
    assert!(message.contains("garbage"), "{message}");
    assert!(!message.ends_with(char::is_whitespace), "{message:?}");
}

#[test]
fn programs_with_types_that_the_runtime_lacks_are_named() {
    let compile = |text: &str| {
        client()
            .compile_on(Source::StableHlo(text.into()), client().default_device())
            .unwrap_err()
            .to_string()
    };
    let argument = compile(
        "func.func @main(%a: tensor<i1>, %b: tensor<2xf8E5M2>) -> tensor<2xf32> {
           %0 = stablehlo.convert %b : (tensor<2xf8E5M2>) -> tensor<2xf32>
           return %0 : tensor<2xf32> }",
    );
    assert!(argument.contains("argument 2 has an element type"), "{argument}");
    let result = compile(
        "func.func @main(%b: tensor<2xf32>) -> tensor<2xf8E5M2> {
           %0 = stablehlo.convert %b : (tensor<2xf32>) -> tensor<2xf8E5M2>
           return %0 : tensor<2xf8E5M2> }",
    );
    assert!(result.contains("result 1 has an element type"), "{result}");
}

#[test]
fn a_program_on_the_host_is_refused() {
    let program =
        Program::<Array>::host([], [Aval::new(DType::F32, [])], |_| Ok(vec![HostArray::new([1f32], [])?]))
            .unwrap();
    let error = client().compile_on(program.source(), client().default_device()).unwrap_err();
    assert_eq!(error.code(), "invalid_program");
    assert!(error.to_string().contains("(PJRT C API 0."), "{error}");
}

#[test]
fn an_error_of_execute_names_the_function_and_gives_no_result() {
    let client = client();
    let executable = compile(client, &add("tensor<2xf32>"));
    let a = engine(client).upload(HostView::new(&[1f32, 2.0], &[2]).unwrap(), 0).unwrap();
    let mut outs = [None];
    for _ in 0..3 {
        // Past the checks of `Executable::execute`: the plugin itself finds the wrong number of arguments.
        let error = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            // SAFETY: the argument is alive; the plugin checks the number before it reads any.
            unsafe { executable.compiled().execute(&[a], &mut outs) }
        }));
        // With debug assertions the runtime finds it first.
        if let Ok(result) = error {
            let error = result.unwrap_err();
            assert!(
                matches!(
                    &error,
                    Error::Pjrt { function: "PJRT_LoadedExecutable_Execute", status: "INVALID_ARGUMENT", .. }
                ),
                "{error}"
            );
        }
        assert!(outs[0].is_none());
    }
    // SAFETY: the buffer is ours.
    unsafe { client.engine().destroy(a) };
}

#[test]
fn the_plain_text_and_the_compiled_module_describe_the_same_program() {
    let client = client();
    let texts = [
        add("tensor<2x3xf32>"),
        "module @jit_f attributes {mhlo.num_partitions = 1 : i32} {
           func.func private @g(%arg0: tensor<4xf32>) -> tensor<4xf32> { return %arg0 : tensor<4xf32> }
           func.func public @main(%arg0: tensor<4xf32> {jax.arg_info = \"x\"} loc(\"x\"), %unused: tensor<0x2xi1>)
               -> (tensor<4xf32> {jax.result_info = \"\"}) { // %no: tensor<f32>
             %0 = call @g(%arg0) : (tensor<4xf32>) -> tensor<4xf32>
             return %0 : tensor<4xf32>
           } }"
        .into(),
        "!t = tensor<2xcomplex<f64>>
         func.func @main(%a: !t, %b: tensor<ui8>) -> !t { return %a : !t }"
            .into(),
    ];
    for text in texts {
        let plain = compile(client, &text);
        // A comment with one of the words that may change arguments: described by the module.
        let module = compile(client, &format!("{text}\n// layout"));
        assert_eq!((plain.inputs(), plain.outputs()), (module.inputs(), module.outputs()), "{text}");
        assert_eq!(plain.compiled().aliased(), module.compiled().aliased(), "{text}");
    }
}

#[test]
fn executables_have_a_size_that_grows_with_constants() {
    let client = client();
    let constant = |n: usize| {
        let numbers: Vec<String> = (0..n).map(|i| format!("{i}.5")).collect();
        let ty = format!("tensor<{n}xf32>");
        format!(
            "func.func @main(%a: {ty}) -> {ty} {{
               %c = stablehlo.constant dense<[{}]> : {ty}
               %0 = stablehlo.add %a, %c : {ty}
               return %0 : {ty} }}",
            numbers.join(", ")
        )
    };
    let size = |n| compile(client, &constant(n)).compiled().size_bytes();
    let (small, large) = (size(2), size(10_000));
    assert!(small > 10_000, "{small}");
    assert!(large >= small + 40_000, "{small} {large}");
}

#[test]
fn memory_statistics_count_arguments_and_results() {
    let executable = compile(client(), &add("tensor<1000xf32>"));
    let stats = pjrt(&executable).memory_stats().unwrap();
    assert_eq!((stats.arguments, stats.outputs, stats.alias), (8000, 4000, 0));
}

#[test]
fn messages_name_plugin_and_version() {
    let description = client().engine().description();
    assert!(description.contains(".so (PJRT C API 0."), "{description}");
    assert!(client().to_string().starts_with("client cpu of "), "{}", client());
    assert_eq!(client().default_device().to_string(), "cpu:0");
}

#[test]
fn extensions_are_found_or_missed_by_name() {
    let engine = engine(client());
    assert!(engine.api_minor() >= 54);
    // `PJRT_Extension_Type_FFI`; all three CPU plugins have it.
    assert!(engine.extension(5, "FFI").is_ok());
    let error = engine.extension(9999, "Imaginary").unwrap_err();
    assert_eq!(error.code(), "unimplemented");
    assert!(error.to_string().contains("the extension Imaginary"), "{error}");
}

#[test]
fn plugins_leave_the_shared_options_of_executions_alone() {
    let client = client();
    let executable = compile(client, &add("tensor<2xf32>"));
    let options = pjrt(&executable).execute_options();
    // SAFETY: the options live as long as the client, and nothing in this process writes to them.
    let bytes = || unsafe { std::slice::from_raw_parts(options.as_ptr().cast::<u8>(), 112).to_vec() };
    let before = bytes();
    assert!(before[8..].iter().all(|&byte| byte == 0));
    let a = client.array(&[1f32, 2.0], [2]).unwrap();
    for _ in 0..100 {
        run(&executable, &[&a, &a]);
    }
    assert_eq!(bytes(), before);
}
