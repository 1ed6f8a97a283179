//! Families behind an R package. It links its own copy of the runtime; clients and buffers are those of pjrtdispatch.

// Written by savvy's macro for each function.
#![allow(
    missing_docs,
    unsafe_op_in_unsafe_fn,
    clippy::missing_safety_doc,
    clippy::undocumented_unsafe_blocks
)]

use std::cell::Cell;

use dispatch_r::convert::Native;
use dispatch_r::{arg, buffer, client, describe, entry, make, Fault, MainThread};
use dispatch_runtime::prelude::*;
use dispatch_runtime::Device;
use savvy::savvy;

mod handlers;
mod names;
mod r_families;
mod structures;

/// `scale * x + y`
#[dispatch_family(r_export, capacity = 16)]
fn axpy(
    cx: &CompileCx,
    #[dynamic(dtype = [f32, f64], shape = [n])] x: Value,
    #[dynamic(dtype = dtype(x), shape = [n])] y: Value,
    #[dynamic(dtype = dtype(x), shape = [])] scale: Value,
) -> Result<Program> {
    cx.program(x * scale + y)
}

/// `x + x`, in the memory of `x`.
#[dispatch_family(r_export, capacity = 16)]
fn doubled(cx: &CompileCx, #[dynamic(dtype = [f32, f64], shape = [..], donate)] x: Value) -> Result<Program> {
    cx.program(&x + &x)
}

/// `x + y`, times a number: what the benchmark calls.
#[dispatch_family(r_export, capacity = 16)]
fn plus(
    cx: &CompileCx,
    #[dynamic(dtype = f32, shape = [n])] x: Value,
    #[dynamic(dtype = f32, shape = [n])] y: Value,
    #[static_arg(default = 1)] times: i32,
) -> Result<Program> {
    let sum = x + y;
    cx.program(if times == 1 { sum } else { sum * times })
}

/// `x + y`, written back into `x`.
#[dispatch_family(r_export)]
fn add_to(
    cx: &CompileCx,
    #[dynamic(dtype = f64, shape = [n], write_back)] x: Value,
    #[dynamic(dtype = f64, shape = [n])] y: Value,
) -> Result<Program> {
    cx.program(x + y)
}

/// The sum of `x`, and its double, which is written back into it.
#[dispatch_family(r_export)]
fn sum_and_double(
    cx: &CompileCx,
    #[dynamic(dtype = f64, shape = [n], write_back = 1)] x: Value,
) -> Result<Program<(Array, Array)>> {
    cx.program((x.sum(..), &x + &x))
}

/// `y` and `x`, written back into `x` and `y`.
#[dispatch_family(r_export)]
fn swap(
    cx: &CompileCx,
    #[dynamic(dtype = f64, shape = [n], write_back = 0)] x: Value,
    #[dynamic(dtype = f64, shape = [n], write_back = 1)] y: Value,
) -> Result<Program<(Array, Array)>> {
    cx.program((y, x))
}

/// The sum of two arrays of any shape; what is the dtype and the rank of bare R data.
#[dispatch_family(r_export)]
fn sum_of(
    cx: &CompileCx,
    #[dynamic(dtype = any, shape = [..])] x: Value,
    #[dynamic(dtype = dtype(x), shape = [..])] y: Value,
) -> Result<Program> {
    cx.program(x.sum(..) + y.sum(..))
}

/// `x + y` of arrays of any shape.
#[dispatch_family(r_export)]
fn plus_any(
    cx: &CompileCx,
    #[dynamic(dtype = f32, shape = [..])] x: Value,
    #[dynamic(dtype = f32, shape = shape(x))] y: Value,
) -> Result<Program> {
    cx.program(x + y)
}

/// An array as it is, where the dtype and the rank are of choice.
#[dispatch_family(r_export)]
fn same_vector(
    cx: &CompileCx,
    #[dynamic(dtype = [f32, f64, i32, bool], shape = [n])] x: Value,
) -> Result<Program> {
    cx.program(x)
}

/// A matrix as it is.
#[dispatch_family(r_export)]
fn same_matrix(
    cx: &CompileCx,
    #[dynamic(dtype = [f32, i64, c128], shape = [_, _])] x: Value,
) -> Result<Program> {
    cx.program(x)
}

/// `x` plus one, as an integer.
#[dispatch_family(r_export)]
fn next_integer(
    cx: &CompileCx,
    #[dynamic(dtype = [i32, u8, i64], shape = [..])] x: Value,
) -> Result<Program> {
    cx.program(x + 1)
}

/// A number that says which value each static argument had.
#[dispatch_family(r_export)]
#[allow(clippy::too_many_arguments)]
fn statics(
    cx: &CompileCx,
    #[dynamic(dtype = f32, shape = [])] x: Value,
    #[static_arg(default = true)] flag: bool,
    #[static_arg(default = 1)] byte: u8,
    #[static_arg(default = 2)] count: i64,
    #[static_arg(default = 0.5)] rate: f64,
    #[static_arg(default = 0.25)] single: f32,
    #[static_arg(default = "a".into())] name: String,
    #[static_arg(default = None)] limit: Option<u16>,
    #[static_arg(default = vec![1, 2])] sizes: Vec<i32>,
    #[static_arg(default = [0.0, 1.0])] range: [f64; 2],
    #[static_arg(default = Link::Logit)] link: Link,
) -> Result<Program> {
    let sizes = sizes.iter().enumerate().map(|(i, n)| (i + 1) as f64 * f64::from(*n)).sum::<f64>();
    let parts = [
        f64::from(u8::from(flag)),
        f64::from(byte),
        count as f64,
        rate,
        f64::from(single),
        name.len() as f64,
        limit.map_or(-1.0, f64::from),
        sizes,
        range[0] + 10.0 * range[1],
        f64::from(link == Link::CauchyLog),
    ];
    let parts = parts.map(|part| part as f32);
    cx.program(Value::constant(&parts, [parts.len() as i64]) + x)
}

/// How a mean depends on a number.
#[derive(Clone, Debug, PartialEq, StaticArg)]
enum Link {
    Logit,
    CauchyLog,
}

/// What the body does when it is called.
#[derive(Clone, Debug, PartialEq, StaticArg)]
enum Mode {
    Fail,
    Panic,
    Recurse,
    CallAnother,
}

/// A body that goes wrong, or calls a family itself.
#[dispatch_family(r_export)]
fn wayward(
    cx: &CompileCx,
    #[dynamic(dtype = f32, shape = [n])] x: Value,
    #[static_arg] mode: Mode,
) -> Result<Program, Box<dyn std::error::Error>> {
    match mode {
        Mode::Fail => return Err("the body has no program for this".into()),
        Mode::Panic => panic!("the body panicked"),
        Mode::Recurse => {
            let family = Wayward::new(&cx.client());
            family.call(vec![1f32; n as usize], Mode::Recurse)?;
        }
        Mode::CallAnother => {
            let ones = vec![1f32; n as usize];
            let sum = Axpy::new(&cx.client()).call(&ones, &ones, 2f32)?.to_vec::<f32>()?;
            return Ok(cx.program(x * sum[0])?);
        }
    }
    Ok(cx.program(x)?)
}

/// A program that takes long to compile: many multiplications of matrices, all different.
#[dispatch_family(r_export)]
fn slow(
    cx: &CompileCx,
    #[dynamic(dtype = f32, shape = [n, n])] x: Value,
    #[static_arg(default = 200)] steps: i32,
) -> Result<Program> {
    let mut y = x.clone();
    for i in 0..steps {
        y = y.matmul(&x).tanh() + f64::from(i);
    }
    cx.program(y)
}

/// Everything on the family's own device.
#[dispatch_family(r_export, device = fixed)]
fn on_first(
    cx: &CompileCx,
    #[dynamic(dtype = f32, shape = [n])] x: Value,
    #[dynamic(dtype = f32, shape = [n])] y: Value,
) -> Result<Program> {
    cx.program(x - y)
}

/// Only in a build that nobody makes.
#[cfg(target_os = "none")]
#[dispatch_family(r_export)]
fn never(cx: &CompileCx, #[dynamic(dtype = f32, shape = [])] x: Value) -> Result<Program> {
    cx.program(x)
}

#[savvy]
fn rs_client_of(platform: savvy::Sexp) -> savvy::Result<savvy::Sexp> {
    entry(|| client::client_object(client::of_platform(&arg(&platform, "platform").string()?)?))
}

#[savvy]
fn rs_device_of(device: savvy::Sexp) -> savvy::Result<savvy::Sexp> {
    entry(|| client::device_object(client::read_device(arg(&device, "device"))?))
}

/// Takes only a device that this library made, and there is none.
#[savvy]
fn rs_own_device(x: savvy::Sexp) -> savvy::Result<savvy::Sexp> {
    entry(|| {
        let device: &Device = arg(&x, "x").handle()?;
        Ok(dispatch_r::make::string(&device.to_string())?.release())
    })
}

#[savvy]
fn rs_upload(x: savvy::Sexp, device: savvy::Sexp) -> savvy::Result<savvy::Sexp> {
    entry(|| {
        let device: Device = client::read_device(arg(&device, "device"))?;
        let values: Vec<f32> = arg(&x, "x").integers()?.into_iter().map(|value| value as f32).collect();
        buffer::wrap(device.client().array_on(&values, [values.len() as i64], device)?)
    })
}

#[savvy]
fn rs_same(x: savvy::Sexp) -> savvy::Result<savvy::Sexp> {
    entry(|| buffer::wrap(buffer::get(arg(&x, "x"))?))
}

#[savvy]
fn rs_hold(x: savvy::Sexp) -> savvy::Result<savvy::Sexp> {
    static HELD: MainThread<Cell<Option<Array>>> = MainThread::new(Cell::new(None));
    entry(|| {
        let new = arg(&x, "x").optional().map(buffer::get).transpose()?;
        Ok(dispatch_r::make::flag(HELD.get().replace(new).is_some())?.release())
    })
}

/// Registers a converter for the calls from the code of a package only: the numbers from 1 to the one that the object is.
#[savvy]
fn rs_register_for(package: savvy::Sexp) -> savvy::Result<savvy::Sexp> {
    entry(|| {
        let scope = arg(&package, "package").string()?;
        let id = Native::new("counted", "numbers in Rust", |x, _| {
            make::integers(1..=describe::whole_number(x).unwrap_or(0))
        })
        .package("families")
        .scope(&scope)
        .register()?;
        Ok(make::double(id as f64)?.release())
    })
}

/// Registers a converter for what its predicate says to be a pair, or one whose predicate fails.
#[savvy]
fn rs_register_if(fails: savvy::Sexp) -> savvy::Result<savvy::Sexp> {
    entry(|| {
        let fails = arg(&fails, "fails").flag()?;
        let is_pair = move |x| match fails {
            true => Err(Fault::new("value", "it does not know")),
            false => Ok(describe::has_class(x, "pair")),
        };
        let id = Native::matching("pairs in Rust", is_pair, |_, _| make::integers(1..=2))
            .package("families")
            .register()?;
        Ok(make::double(id as f64)?.release())
    })
}
