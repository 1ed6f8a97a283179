//! Clients.

use dispatch_r::runtime::{Client, Device};
use dispatch_r::{arg, client, entry, make, Fault, Handle, SEXP};
use savvy::savvy;

use crate::plugin::read_options;

/// The client of a platform; options only where it is made by this.
#[savvy]
fn rs_client(
    platform: savvy::Sexp,
    options: savvy::Sexp,
    argument: savvy::Sexp,
) -> savvy::Result<savvy::Sexp> {
    entry(|| {
        let argument = arg(&argument, "argument").string()?;
        let platform = match arg(&platform, &argument).optional() {
            Some(platform) => platform.string()?.to_lowercase(),
            None => client::default_platform(),
        };
        let options = read_options(arg(&options, "..."))?;
        let client = match options.is_empty() {
            true => client::of_platform(&platform),
            false => client::with_options(&platform, options),
        }
        .map_err(|fault| fault.in_argument(&argument))?;
        client::client_object(client)
    })
}

/// The client of a device, or of itself.
#[savvy]
fn rs_client_of(x: savvy::Sexp) -> savvy::Result<savvy::Sexp> {
    entry(|| {
        let x = arg(&x, "x");
        if Client::kind().is(x.get()) {
            return x.handle::<Client>().map(|_| x.get());
        }
        if Device::kind().is(x.get()) {
            return client::client_object(x.handle::<Device>()?.client());
        }
        Err(x.expected("a PJRTClient, a PJRTDevice or the name of a platform"))
    })
}

/// Whether the client of a platform was made already.
#[savvy]
fn rs_client_exists(platform: savvy::Sexp) -> savvy::Result<savvy::Sexp> {
    entry(|| {
        let platform = match arg(&platform, "platform").optional() {
            Some(platform) => platform.string()?.to_lowercase(),
            None => client::default_platform(),
        };
        Ok(make::flag(client::exists(&platform))?.release())
    })
}

#[savvy]
fn rs_client_platform(client: savvy::Sexp) -> savvy::Result<savvy::Sexp> {
    entry(|| {
        let client: &Client = arg(&client, "x").handle()?;
        Ok(make::string(client.platform())?.release())
    })
}

#[savvy]
fn rs_client_description(client: savvy::Sexp) -> savvy::Result<savvy::Sexp> {
    entry(|| {
        let client: &Client = arg(&client, "x").handle()?;
        Ok(make::string(&client.engine().description())?.release())
    })
}

#[savvy]
fn rs_client_devices(client: savvy::Sexp) -> savvy::Result<savvy::Sexp> {
    entry(|| {
        let client: &Client = arg(&client, "x").handle()?;
        let devices = client.devices().map(client::device_object).collect::<Result<Vec<SEXP>, Fault>>()?;
        Ok(make::list(&devices)?.release())
    })
}
