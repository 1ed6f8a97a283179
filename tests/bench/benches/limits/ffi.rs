//! Handlers: what a typed one takes more than a function in the style of C, and than the same in StableHLO.

use std::hint::black_box;
use std::ptr::null_mut;

use dispatch_bench::harness::{case, rounds};
use dispatch_bench::results::Results;
use dispatch_runtime::engine::pjrt::PjrtEngine;
use dispatch_runtime::ffi::abi::*;
use dispatch_runtime::ffi::{self, Buffer, BufferMut};
use dispatch_runtime::prelude::*;
use dispatch_runtime::program::Source;

/// How many calls a program has, each of which takes the result of the one before.
const CALLS: usize = 100;

/// A handler that answers the handshake and does nothing else, as XLA itself has it.
unsafe extern "C" fn bare(frame: *mut XLA_FFI_CallFrame) -> *mut XLA_FFI_Error {
    // SAFETY: the frame is the plugin's; at registration it has metadata to write to.
    unsafe {
        let extension = (*frame).extension_start;
        if !extension.is_null() {
            let metadata = (*extension.cast::<XLA_FFI_Metadata_Extension>()).metadata;
            (*metadata).api_version.major_version = MAJOR;
            (*metadata).api_version.minor_version = (*(*frame).api).api_version.minor_version;
        }
    }
    null_mut()
}

/// Registers the bare handler with the plugin, with nothing of the runtime between.
fn register_bare(client: Client) {
    let engine: &PjrtEngine = client.engine().as_any().downcast_ref().expect("a client of a plugin");
    let extension = engine.extension(PJRT_EXTENSION_FFI, "FFI").expect("the plugin calls handlers");
    let (name, platform) = ("bench.bare", "Host");
    let mut args = PJRT_FFI_Register_Handler_Args {
        struct_size: size_of::<PJRT_FFI_Register_Handler_Args>(),
        target_name: name.as_ptr().cast(),
        target_name_size: name.len(),
        handler: Some(bare),
        platform_name: platform.as_ptr().cast(),
        platform_name_size: platform.len(),
        traits: 0,
    };
    // SAFETY: the extension is that of FFI; names live during the call, the handler as long as the process.
    unsafe {
        let register = extension.cast::<PJRT_FFI_Extension>().as_ref().register_handler;
        assert!(register.expect("the plugin registers handlers")(&raw mut args).is_null());
    }
}

#[ffi_handler]
fn two(
    #[arg(shape = [m])] b: Buffer<f32>,
    #[arg(shape = [n])] c: Buffer<f32>,
    #[ret(shape = [n])] out: BufferMut<f32>,
    #[attr(default = 1.0)] scale: f32,
) -> ffi::Result<()> {
    black_box((m, n, &b[..], &c[..], &out[..], scale));
    Ok(())
}

#[ffi_handler]
#[allow(clippy::too_many_arguments)]
fn ten_args(
    #[arg(shape = [m])] b: Buffer<f32>,
    #[arg(shape = [n])] c: Buffer<f32>,
    #[arg(shape = [n])] _c2: Buffer<f32>,
    #[arg(shape = [n])] _c3: Buffer<f32>,
    #[arg(shape = [n])] _c4: Buffer<f32>,
    #[arg(shape = [n])] _c5: Buffer<f32>,
    #[arg(shape = [n])] _c6: Buffer<f32>,
    #[arg(shape = [n])] _c7: Buffer<f32>,
    #[arg(shape = [n])] _c8: Buffer<f32>,
    #[arg(shape = [n])] _c9: Buffer<f32>,
    #[ret(shape = [n])] out: BufferMut<f32>,
    #[attr(default = 1.0)] scale: f32,
) -> ffi::Result<()> {
    black_box((m, n, &b[..], &c[..], &out[..], scale));
    Ok(())
}

#[ffi_handler]
#[allow(clippy::too_many_arguments)]
fn nine_attrs(
    #[arg(shape = [m])] b: Buffer<f32>,
    #[arg(shape = [n])] c: Buffer<f32>,
    #[ret(shape = [n])] out: BufferMut<f32>,
    #[attr] alpha: i64,
    #[attr] beta: f64,
    #[attr] epsilon: f32,
    #[attr] flag: bool,
    #[attr] mode: &str,
    #[attr] order: i32,
    #[attr(default = 1.0)] scale: f32,
    #[attr] sizes: &[i64],
    #[attr] weight: f64,
) -> ffi::Result<()> {
    black_box((m, n, &b[..], &c[..], &out[..], scale));
    black_box((alpha, beta, epsilon, flag, mode, order, sizes, weight));
    Ok(())
}

const ATTRS: &str = "alpha = 1 : i64, beta = 2.0 : f64, epsilon = 0.1 : f32, flag = true, mode = \"fast\", order = 3 : i32, \
     scale = 2.0 : f32, sizes = array<i64: 1, 2, 3>, weight = 0.5 : f64";

/// A program of [`CALLS`] calls in a row, of so many arguments.
fn chain(client: Client, target: &str, args: usize, attrs: &str) -> Executable {
    let more = ", %b".repeat(args - 1);
    let types = vec!["tensor<4xf32>"; args].join(", ");
    let mut text = "func.func @main(%r0: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {\n".to_owned();
    for i in 0..CALLS {
        text += &format!(
            "%r{} = \"stablehlo.custom_call\"(%r{i}{more}) {{call_target_name = \"{target}\", api_version = 4 : i32, \
             backend_config = {{{attrs}}}}} : ({types}) -> tensor<4xf32>\n",
            i + 1
        );
    }
    text += &format!("return %r{CALLS} : tensor<4xf32> }}");
    client.compile(Source::StableHlo(text)).expect("the program is valid")
}

/// The nanoseconds of one call in a chain.
pub fn calls(client: Client, results: &mut Results) {
    register_bare(client);
    for (target, handler) in [("bench.two", &TWO), ("bench.ten", &TEN_ARGS), ("bench.nine", &NINE_ATTRS)] {
        client.register_ffi_handler(target, handler).expect("the handler can be registered");
    }
    let scale = "scale = 2.0 : f32";
    let programs = [
        ("bare: 2 arguments, 1 attribute", chain(client, "bench.bare", 2, scale)),
        ("typed: 2 arguments, 1 attribute", chain(client, "bench.two", 2, scale)),
        ("bare: 10 arguments", chain(client, "bench.bare", 10, scale)),
        ("typed: 10 arguments", chain(client, "bench.ten", 10, scale)),
        ("bare: 9 attributes", chain(client, "bench.bare", 2, ATTRS)),
        ("typed: 9 attributes", chain(client, "bench.nine", 2, ATTRS)),
    ];
    let x = client.array(&[1f32; 4], [4]).expect("an array is uploaded");
    let mut cases: Vec<_> = programs
        .iter()
        .map(|(name, program)| {
            case(format!("{CALLS} calls, {name}"), |n| {
                for _ in 0..n {
                    drop(black_box(program.execute(&[&x, &x]).expect("the program runs")));
                }
            })
        })
        .collect();
    let rounds = rounds(&mut cases, 400, 30);
    rounds.print("Programs of custom calls");
    let call = 1.0 / CALLS as f64;
    let typed = rounds.difference(1, 0).scaled(call);
    let argument = rounds.excess((3, 2), (1, 0)).scaled(call / 8.0);
    let attribute = rounds.excess((5, 4), (1, 0)).scaled(call / 8.0);
    println!("  a typed call takes {typed} ns more, an argument {argument}, an attribute {attribute}");
    results.at_most("FFI call: typed, 2 arguments and 1 attribute, minus bare", typed.median, "ns", 30.0);
    results.at_most("FFI call: a further argument", argument.median, "ns", 3.0);
    results.at_most("FFI call: a further attribute", attribute.median, "ns", 8.0);
}

#[ffi_handler]
fn rotate_add(
    #[arg(dtype = f32, shape = [m])] b: Buffer<f32>,
    #[arg(dtype = f32, shape = [n])] c: Buffer<f32>,
    #[ret(dtype = f32, shape = [n])] mut out: BufferMut<f32>,
    #[attr(default = 1.0)] scale: f32,
) -> ffi::Result<()> {
    assert_eq!(out.len(), n);
    for (o, c) in out.chunks_mut(m).zip(c.chunks(m)) {
        for ((o, b), c) in o.iter_mut().zip(&b[..]).zip(c) {
            *o = b * scale + c;
        }
    }
    Ok(())
}

/// `rotate_add` of a million floats against the same in StableHLO.
pub fn rotate(client: Client, results: &mut Results) {
    const N: usize = 1_000_000;
    const M: usize = 64;
    client.register_ffi_handler("bench.rotate_add", &ROTATE_ADD).expect("the handler can be registered");
    let (k, compile) =
        (N / M, |text: String| client.compile(Source::StableHlo(text)).expect("a valid program"));
    let handler = compile(format!(
        "func.func @main(%b: tensor<{M}xf32>, %c: tensor<{N}xf32>) -> tensor<{N}xf32> {{
           %0 = \"stablehlo.custom_call\"(%b, %c) {{call_target_name = \"bench.rotate_add\", api_version = 4 : i32,
             backend_config = {{scale = 2.0 : f32}}}} : (tensor<{M}xf32>, tensor<{N}xf32>) -> tensor<{N}xf32>
           return %0 : tensor<{N}xf32>
         }}"
    ));
    let stablehlo = compile(format!(
        "func.func @main(%b: tensor<{M}xf32>, %c: tensor<{N}xf32>) -> tensor<{N}xf32> {{
           %s = stablehlo.constant dense<2.0> : tensor<{M}xf32>
           %0 = stablehlo.multiply %b, %s : tensor<{M}xf32>
           %1 = stablehlo.broadcast_in_dim %0, dims = [1] : (tensor<{M}xf32>) -> tensor<{k}x{M}xf32>
           %2 = stablehlo.reshape %c : (tensor<{N}xf32>) -> tensor<{k}x{M}xf32>
           %3 = stablehlo.add %1, %2 : tensor<{k}x{M}xf32>
           %4 = stablehlo.reshape %3 : (tensor<{k}x{M}xf32>) -> tensor<{N}xf32>
           return %4 : tensor<{N}xf32>
         }}"
    ));
    let b: Vec<f32> = (0..M).map(|i| i as f32).collect();
    let c: Vec<f32> = (0..N).map(|i| (i % 1000) as f32).collect();
    let (b, c) =
        (client.array(&b, [M as i64]).expect("uploaded"), client.array(&c, [N as i64]).expect("uploaded"));
    let values = |program: &Executable| -> Vec<f32> {
        program.execute(&[&b, &c]).and_then(|out| out[0].to_vec()).expect("the program runs")
    };
    assert_eq!(values(&handler), values(&stablehlo));
    let run = |program: &Executable, n: usize| {
        for _ in 0..n {
            program.execute(&[&b, &c]).expect("the program runs")[0].await_ready().expect("and ends");
        }
    };
    let mut cases = [case("StableHLO", |n| run(&stablehlo, n)), case("a handler", |n| run(&handler, n))];
    let rounds = rounds(&mut cases, 100, 6);
    rounds.print("rotate_add of 1e6 floats");
    let ratio = rounds.ratio(1, 0);
    println!("  the handler takes {ratio} times as long");
    results.at_most("FFI call: rotate_add of 1e6 floats against StableHLO", ratio.median, "times", 1.2);
}
