//! What it takes to decode a call of a handler, on frames made by hand: without XLA, and without the function that XLA
//! is given.

use std::hint::black_box;

use dispatch_bench::harness::{case, pin_to_processor, rounds};
use dispatch_bench::results::Results;
use dispatch_runtime::ffi::testing::Frame;
use dispatch_runtime::ffi::{self, Buffer, BufferMut, Entry, abi};
use dispatch_runtime::prelude::*;

#[ffi_handler]
fn two(
    #[arg(dtype = f32, shape = [n])] a: Buffer<f32>,
    #[arg(dtype = f32, shape = [n])] b: Buffer<f32>,
    #[ret(dtype = f32, shape = [n])] mut out: BufferMut<f32>,
    #[attr] scale: f32,
) -> ffi::Result<()> {
    out[0] = a[0] * scale + b[0];
    Ok(())
}

/// As [`two`], with eight arguments more, which it does not read.
#[ffi_handler]
#[allow(clippy::too_many_arguments, unused_variables)]
fn ten(
    #[arg(dtype = f32, shape = [n])] a: Buffer<f32>,
    #[arg(dtype = f32, shape = [n])] b: Buffer<f32>,
    #[arg(dtype = f32, shape = [n])] c: Buffer<f32>,
    #[arg(dtype = f32, shape = [n])] d: Buffer<f32>,
    #[arg(dtype = f32, shape = [n])] e: Buffer<f32>,
    #[arg(dtype = f32, shape = [n])] f: Buffer<f32>,
    #[arg(dtype = f32, shape = [n])] g: Buffer<f32>,
    #[arg(dtype = f32, shape = [n])] h: Buffer<f32>,
    #[arg(dtype = f32, shape = [n])] i: Buffer<f32>,
    #[arg(dtype = f32, shape = [n])] j: Buffer<f32>,
    #[ret(dtype = f32, shape = [n])] mut out: BufferMut<f32>,
    #[attr] scale: f32,
) -> ffi::Result<()> {
    out[0] = a[0] * scale + b[0];
    Ok(())
}

/// As [`two`], with eight attributes more, which it does not read.
#[ffi_handler]
#[allow(clippy::too_many_arguments, unused_variables)]
fn nine(
    #[arg(dtype = f32, shape = [n])] a: Buffer<f32>,
    #[arg(dtype = f32, shape = [n])] b: Buffer<f32>,
    #[ret(dtype = f32, shape = [n])] mut out: BufferMut<f32>,
    #[attr] alpha: f32,
    #[attr] beta: f64,
    #[attr] count: i64,
    #[attr] epsilon: f32,
    #[attr] flag: bool,
    #[attr] iterations: i32,
    #[attr] momentum: f32,
    #[attr] scale: f32,
    #[attr] tolerance: f64,
) -> ffi::Result<()> {
    out[0] = a[0] * scale + b[0];
    Ok(())
}

/// What C would do that trusts its caller.
unsafe extern "C" fn bare(frame: *mut abi::XLA_FFI_CallFrame) -> *mut abi::XLA_FFI_Error {
    // SAFETY: the frame has two arguments, a result and an attribute of f32.
    unsafe {
        let args = (*frame).args.args.cast::<*const abi::XLA_FFI_Buffer>();
        let arg = |i: usize| *(**args.add(i)).data.cast::<f32>();
        let out = (**(*frame).rets.rets.cast::<*const abi::XLA_FFI_Buffer>()).data.cast::<f32>();
        let scale = *(**(*frame).attrs.attrs.cast::<*const abi::XLA_FFI_Scalar>()).value.cast::<f32>();
        *out = arg(0) * scale + arg(1);
    }
    std::ptr::null_mut()
}

fn frame(args: usize, all_attrs: bool) -> Frame {
    let frame = (0..args).fold(Frame::new(), |frame, _| frame.arg(&[1f32; 4], [4])).ret::<f32>([4]);
    let frame = frame.attr("scale", 2f32);
    if !all_attrs {
        return frame;
    }
    let frame = frame.attr("alpha", 1f32).attr("beta", 1f64).attr("count", 1i64).attr("epsilon", 1f32);
    frame.attr("flag", true).attr("iterations", 1i32).attr("momentum", 1f32).attr("tolerance", 1f64)
}

/// Calls with one frame after the other.
pub fn measure(results: &mut Results) {
    pin_to_processor(0);
    let with = |args, all_attrs, entry: Entry| {
        let mut frame = frame(args, all_attrs);
        move |n: usize| {
            let calls = |frame| {
                for _ in 0..n {
                    // SAFETY: the frame is whole, and has what `bare` wants.
                    assert!(unsafe { entry(black_box(frame)) }.is_null());
                }
                std::ptr::null_mut()
            };
            frame.call_with(|_| {}, calls).unwrap();
        }
    };
    let mut cases = [
        case("a bare function in C", with(2, false, bare)),
        case("2 arguments, 1 result, 1 attribute", with(2, false, TWO.entry())),
        case("10 arguments, 1 result, 1 attribute", with(10, false, TEN.entry())),
        case("2 arguments, 1 result, 9 attributes", with(2, true, NINE.entry())),
    ];
    // Each block makes its frame anew: many calls to a block.
    let rounds = rounds(&mut cases, 400, 2000);
    rounds.print("Decoding a call of a handler, without XLA");
    let (argument, attribute) =
        (rounds.difference(2, 1).scaled(1.0 / 8.0), rounds.difference(3, 1).scaled(1.0 / 8.0));
    println!("  per further argument {argument}; attribute {attribute}");
    results.at_most("decode 2 arguments, a result, an attribute", rounds.difference(1, 0).median, "ns", 30.0);
    results.at_most("decode a further argument", argument.median, "ns", 3.0);
    results.at_most("decode a further attribute", attribute.median, "ns", 8.0);
}
