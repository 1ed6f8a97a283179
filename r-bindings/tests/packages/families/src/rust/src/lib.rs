//! Families behind an R package. It links its own copy of the runtime; clients and buffers are those of pjrtdispatch.

// Written by savvy's macro for each function.
#![allow(
    missing_docs,
    unsafe_op_in_unsafe_fn,
    clippy::missing_safety_doc,
    clippy::undocumented_unsafe_blocks
)]

use std::cell::{Cell, OnceCell};

use dispatch_r::{arg, buffer, client, entry, shared, MainThread};
use dispatch_runtime::prelude::*;
use dispatch_runtime::Device;
use savvy::savvy;

/// `scale * x + y`
#[dispatch_family(capacity = 16)]
fn axpy(
    cx: &CompileCx,
    #[dynamic(dtype = [f32, f64], shape = [n])] x: Value,
    #[dynamic(dtype = dtype(x), shape = [n])] y: Value,
    #[dynamic(dtype = dtype(x), shape = [])] scale: Value,
) -> Result<Program> {
    cx.program(x * scale + y)
}

/// `x + x`, in the memory of `x`.
#[dispatch_family(capacity = 16)]
fn doubled(cx: &CompileCx, #[dynamic(dtype = [f32, f64], shape = [..], donate)] x: Value) -> Result<Program> {
    cx.program(&x + &x)
}

struct Families {
    axpy: Axpy,
    doubled: Doubled,
}

fn families() -> dispatch_r::Result<&'static Families> {
    static FAMILIES: MainThread<OnceCell<&'static Families>> = MainThread::new(OnceCell::new());
    if let Some(families) = FAMILIES.get().get() {
        return Ok(families);
    }
    let client = client::of_platform("cpu")?;
    let families = Box::leak(Box::new(Families { axpy: Axpy::new(&client), doubled: Doubled::new(&client) }));
    Ok(FAMILIES.get().get_or_init(|| families))
}

/// Called when the package is loaded.
#[savvy]
fn rs_attach(raise: savvy::Sexp) -> savvy::Result<savvy::Sexp> {
    dispatch_r::attach(raise.0)?;
    entry(shared::join)
}

#[savvy]
fn rs_axpy(x: savvy::Sexp, y: savvy::Sexp, scale: savvy::Sexp) -> savvy::Result<savvy::Sexp> {
    entry(|| {
        let (x, y) = (buffer::get(arg(&x, "x"))?, buffer::get(arg(&y, "y"))?);
        let scale = buffer::get(arg(&scale, "scale"))?;
        buffer::wrap(families()?.axpy.call(&x, &y, &scale)?)
    })
}

#[savvy]
fn rs_doubled(x: savvy::Sexp) -> savvy::Result<savvy::Sexp> {
    entry(|| buffer::wrap(families()?.doubled.call(&buffer::get(arg(&x, "x"))?)?))
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
