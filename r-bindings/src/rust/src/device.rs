//! Devices.

use dispatch_r::runtime::Device;
use dispatch_r::{arg, client, entry, make};
use savvy::savvy;

/// A device from a device, its name, or `NULL` for the default one.
#[savvy]
fn rs_device(device: savvy::Sexp, argument: savvy::Sexp) -> savvy::Result<savvy::Sexp> {
    entry(|| {
        let argument = arg(&argument, "argument").string()?;
        client::device_object(client::read_device(arg(&device, &argument))?)
    })
}

#[savvy]
fn rs_device_name(device: savvy::Sexp) -> savvy::Result<savvy::Sexp> {
    entry(|| {
        let device: &Device = arg(&device, "x").handle()?;
        Ok(make::string(&device.to_string())?.release())
    })
}

#[savvy]
fn rs_device_client(device: savvy::Sexp) -> savvy::Result<savvy::Sexp> {
    entry(|| {
        let device: &Device = arg(&device, "x").handle()?;
        client::client_object(device.client())
    })
}

#[savvy]
fn rs_device_platform(device: savvy::Sexp) -> savvy::Result<savvy::Sexp> {
    entry(|| {
        let device: &Device = arg(&device, "x").handle()?;
        Ok(make::string(device.client().platform())?.release())
    })
}

/// Whether two devices are the same one.
#[savvy]
fn rs_device_equal(a: savvy::Sexp, b: savvy::Sexp) -> savvy::Result<savvy::Sexp> {
    entry(|| {
        let a: &Device = arg(&a, "e1").handle()?;
        let b: &Device = arg(&b, "e2").handle()?;
        Ok(make::flag(a == b)?.release())
    })
}
