//! Programs with custom calls that are serialized and loaded again, on a real plugin: attributes, states and buffers.

mod plugin;

use std::ptr::null_mut;
use std::sync::Mutex;

use dispatch_runtime::engine::RunOptions;
use dispatch_runtime::engine::pjrt::PjrtExecutable;
use dispatch_runtime::engine::pjrt::abi::*;
use dispatch_runtime::ffi::{self, Buffer, BufferMut, Dictionary, ExecutionData};
use dispatch_runtime::prelude::*;
use dispatch_tests::short;
use plugin::{client, compile, engine, pjrt, resident, run, values};

#[track_caller]
fn check(error: *mut PJRT_Error) {
    assert!(error.is_null());
}

fn sized<A: Struct>() -> A {
    let mut args = A::zeroed();
    // SAFETY: the first field of every struct of the C API is its size.
    unsafe { (&raw mut args).cast::<usize>().write(size_of::<A>()) };
    args
}

/// Serializes a program, loads it, and runs what was loaded on one argument for one result of as many bytes.
fn through_bytes(client: Client, program: &PjrtExecutable, x: &Array, out: &mut [f32]) {
    // SAFETY: the table is that of a plugin that is newer than the type; all arguments are what the functions expect, and
    // what they give is ended once.
    unsafe {
        let api = engine(client).api().as_ref();
        let mut get: PJRT_LoadedExecutable_GetExecutable_Args = sized();
        get.loaded_executable = program.loaded().as_ptr();
        check(api.PJRT_LoadedExecutable_GetExecutable.unwrap()(&raw mut get));
        let mut serialize: PJRT_Executable_Serialize_Args = sized();
        serialize.executable = get.executable;
        check(api.PJRT_Executable_Serialize.unwrap()(&raw mut serialize));
        let bytes = std::slice::from_raw_parts(
            serialize.serialized_bytes.cast::<u8>(),
            serialize.serialized_bytes_size,
        )
        .to_vec();
        serialize.serialized_executable_deleter.unwrap()(serialize.serialized_executable);
        let mut destroy: PJRT_Executable_Destroy_Args = sized();
        destroy.executable = get.executable;
        check(api.PJRT_Executable_Destroy.unwrap()(&raw mut destroy));

        let mut args: PJRT_Executable_DeserializeAndLoad_Args = sized();
        args.client = engine(client).client().as_ptr();
        args.serialized_executable = bytes.as_ptr().cast();
        args.serialized_executable_size = bytes.len();
        check(api.PJRT_Executable_DeserializeAndLoad.unwrap()(&raw mut args));
        drop(bytes);

        let (argument, mut result) = (x.raw().as_ptr().cast::<PJRT_Buffer>(), null_mut::<PJRT_Buffer>());
        let (arguments, results) = (&raw const argument, &raw mut result);
        let mut execute: PJRT_LoadedExecutable_Execute_Args = sized();
        execute.executable = args.loaded_executable;
        execute.options = program.execute_options().as_ptr();
        execute.argument_lists = &raw const arguments;
        execute.num_devices = 1;
        execute.num_args = 1;
        execute.output_lists = &raw const results;
        check(api.PJRT_LoadedExecutable_Execute.unwrap()(&raw mut execute));
        let mut read: PJRT_Buffer_ToHostBuffer_Args = sized();
        (read.src, read.dst, read.dst_size) = (result, out.as_mut_ptr().cast(), size_of_val(out));
        check(api.PJRT_Buffer_ToHostBuffer.unwrap()(&raw mut read));
        let mut wait: PJRT_Event_Await_Args = sized();
        wait.event = read.event;
        check(api.PJRT_Event_Await.unwrap()(&raw mut wait));
        let mut end: PJRT_Event_Destroy_Args = sized();
        end.event = read.event;
        check(api.PJRT_Event_Destroy.unwrap()(&raw mut end));
        let mut end: PJRT_Buffer_Destroy_Args = sized();
        end.buffer = result;
        check(api.PJRT_Buffer_Destroy.unwrap()(&raw mut end));
        let mut end: PJRT_LoadedExecutable_Destroy_Args = sized();
        end.executable = args.loaded_executable;
        check(api.PJRT_LoadedExecutable_Destroy.unwrap()(&raw mut end));
    }
}

/// What each call was given.
static SEEN: Mutex<Vec<String>> = Mutex::new(Vec::new());

struct Doubled(i64);

#[ffi_handler(stage = instantiate)]
fn double(#[attr] n: i64, #[attrs] _all: Dictionary) -> ffi::Result<Doubled> {
    Ok(Doubled(n.wrapping_mul(2)))
}

#[ffi_handler(instantiate = double)]
fn decode(
    #[arg(shape = [])] x: Buffer<f32>,
    #[ret(shape = [])] mut out: BufferMut<f32>,
    #[attr] eps: f32,
    #[attr] n: i64,
    #[attr] flag: bool,
    #[attr] s: &str,
    #[attr] v: &[i64],
    #[attr] nested: Dictionary<'_>,
    #[ctx] doubled: ffi::State<Doubled>,
) -> ffi::Result<()> {
    let (a, deep) = (nested.get::<f64>("a")?, nested.get::<Dictionary>("deep")?.get::<&str>("b")?);
    let text = format!("{eps:?} {n} {flag} {s:?} {v:?} {a:?} {deep:?} {}", doubled.0);
    SEEN.lock()?.push(text);
    out[0] = x[0] + 1.0;
    Ok(())
}

#[test]
fn attributes_and_states_of_a_serialized_program_are_exact() {
    let client = client();
    client.register_ffi_handler("loaded.decode", &DECODE).unwrap();
    let program = compile(
        client,
        "func.func @main(%x: tensor<f32>) -> tensor<f32> {
           %0 = \"stablehlo.custom_call\"(%x) {call_target_name = \"loaded.decode\", api_version = 4 : i32,
             backend_config = {eps = 1.0e-6 : f32, n = -9007199254740993 : i64, flag = true, s = \"\\C3\\A9\",
               v = array<i64: 1, 2>, nested = {a = 0.1 : f64, deep = {b = \"\"}}}} : (tensor<f32>) -> tensor<f32>
           return %0 : tensor<f32>
         }",
    );
    let x = client.array(&[2f32], []).unwrap();
    assert_eq!(values::<f32>(&run(&program, &[&x])), [3.0]);
    let mut out = [0f32];
    through_bytes(client, pjrt(&program), &x, &mut out);
    assert_eq!(out, [3.0]);
    let expected = "1e-6 -9007199254740993 true \"é\" [1, 2] 0.1 \"\" -18014398509481986";
    assert_eq!(*SEEN.lock().unwrap(), [expected, expected]);
}

#[ffi_handler]
fn plus_one(
    #[arg(shape = [rows, cols])] x: Buffer<f32>,
    #[ret(shape = [rows, cols])] mut out: BufferMut<f32>,
) -> ffi::Result<()> {
    assert_eq!((x.len(), out.len()), (rows * cols, rows * cols));
    for (o, x) in out.iter_mut().zip(&x[..]) {
        *o = x + 1.0;
    }
    Ok(())
}

#[test]
fn buffers_may_be_empty_and_a_result_the_argument_itself() {
    let client = client();
    client.register_ffi_handler("loaded.plus_one", &PLUS_ONE).unwrap();
    let alias = ", output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], \
                 operand_index = 0, operand_tuple_indices = []>]";
    for (shape, alias) in [([0, 3], ""), ([0, 3], alias), ([2, 2], ""), ([2, 2], alias)] {
        let ty = format!("tensor<{}x{}xf32>", shape[0], shape[1]);
        let program = compile(
            client,
            &format!(
                "func.func @main(%x: {ty}) -> {ty} {{
                   %0 = \"stablehlo.custom_call\"(%x) {{call_target_name = \"loaded.plus_one\",
                     api_version = 4 : i32{alias}}} : ({ty}) -> {ty}
                   return %0 : {ty}
                 }}"
            ),
        );
        let data = &[1f32, 2.0, 3.0, 4.0][..(shape[0] * shape[1]) as usize];
        let x = client.array(data, shape).unwrap();
        for _ in 0..3 {
            let expected: Vec<f32> = data.iter().map(|x| x + 1.0).collect();
            assert_eq!(values::<f32>(&run(&program, &[&x])), expected);
            // The caller's array is as it was.
            assert_eq!(values::<f32>(&x), data);
        }
    }
}

/// Answers from a thread of the pool, as its data say.
#[ffi_handler]
fn answer(
    #[arg] _x: Buffer<f32>,
    #[ret] mut out: BufferMut<f32>,
    #[ctx] good: ffi::UserData<bool>,
    #[ctx] pool: ffi::ThreadPool,
) -> ffi::Future {
    out[0] = 5.0;
    let good = *good;
    pool.spawn(move || if good { Ok(()) } else { Err(ffi::Error::aborted("no good")) })
}

#[test]
fn answers_that_come_later_and_data_leave_nothing_behind() {
    let client = client();
    client.register_ffi_handler("loaded.answer", &ANSWER).unwrap();
    let program = compile(
        client,
        "func.func @main(%x: tensor<f32>) -> tensor<f32> {
           %0 = \"stablehlo.custom_call\"(%x) {call_target_name = \"loaded.answer\", api_version = 4 : i32}
             : (tensor<f32>) -> tensor<f32>
           return %0 : tensor<f32>
         }",
    );
    let x = client.array(&[2f32], []).unwrap();
    let call = |i: usize| {
        // Large data would be seen soon if an execution kept them.
        let data = ExecutionData::new().with(i % 3 > 0).with(vec![1u8; 10_000]);
        let options = RunOptions { user_data: Some(&data), ..RunOptions::default() };
        match program.execute_with(&[&x], options).and_then(|out| out[0].to_vec::<f32>()) {
            Ok(out) => assert!(i % 3 > 0 && out == [5.0]),
            Err(error) => assert!(i % 3 == 0 && error.to_string().contains("no good"), "{error}"),
        }
    };
    let executions = if short() { 2_000 } else { 20_000 };
    (0..executions / 4).for_each(call);
    let before = resident();
    (0..executions).for_each(call);
    let grown = resident().saturating_sub(before);
    assert!(grown < 3_000_000, "{executions} executions took {grown} bytes");
}
