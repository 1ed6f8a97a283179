//! The clients of the process: one per platform, each with one R object for itself and one for each device.
//!
//! They are those of `pjrtdispatch`; in another package these functions ask it (see [`shared`]).

use std::cell::RefCell;
use std::path::PathBuf;

use dispatch_runtime::engine::pjrt::{ClientOptions, PjrtPlugin};
use dispatch_runtime::{Client, Device, Error};

use crate::arg::Arg;
use crate::fault::{Fault, Result};
use crate::ffi::SEXP;
use crate::handle::{self, Handle, Kind};
use crate::main_thread::MainThread;
use crate::shared;

impl Handle for Client {
    fn kind() -> &'static Kind {
        static KIND: Kind = Kind::new("PJRTClient", "pjrtdispatch client 1");
        &KIND
    }
}

impl Handle for Device {
    fn kind() -> &'static Kind {
        static KIND: Kind = Kind::new("PJRTDevice", "pjrtdispatch device 1");
        &KIND
    }
}

/// A client with the objects that R sees of it. The objects live as long as the session.
struct Known {
    platform: String,
    client: Client,
    /// What it was made with.
    options: ClientOptions,
    object: SEXP,
    /// By index.
    devices: Vec<SEXP>,
}

static CLIENTS: MainThread<RefCell<Vec<Known>>> = MainThread::new(RefCell::new(Vec::new()));

/// Looks a client up that there is already.
fn known<T>(mut found: impl FnMut(&Known) -> Option<T>) -> Option<T> {
    CLIENTS.get().borrow().iter().find_map(&mut found)
}

/// The platform that is meant where none is named: `PJRT_PLATFORM`, or `cpu`.
pub fn default_platform() -> String {
    match std::env::var("PJRT_PLATFORM") {
        Ok(name) if !name.is_empty() => name.to_lowercase(),
        _ => "cpu".into(),
    }
}

/// The client of a platform, made with default options if there is none yet.
pub fn of_platform(platform: &str) -> Result<Client> {
    if let Some((room, table)) = shared::room() {
        return room.of_platform(table, platform);
    }
    match known(|k| (k.platform == platform).then_some(k.client)) {
        Some(client) => Ok(client),
        None => create(platform, None, ClientOptions::new()),
    }
}

/// The device that is meant where none is named: the first one of the default platform.
pub fn default_device() -> Result<Device> {
    Ok(of_platform(&default_platform())?.default_device())
}

/// Whether a platform has its client already.
pub fn exists(platform: &str) -> bool {
    known(|k| (k.platform == platform).then_some(())).is_some()
}

/// The client of a platform with these options: a new one, or the one that was made with the same.
///
/// For `pjrtdispatch`.
pub fn with_options(platform: &str, options: ClientOptions) -> Result<Client> {
    let same = |k: &Known| (k.platform == platform && k.options.include(&options)).then_some(k.client);
    match known(same) {
        Some(client) => Ok(client),
        None => create(platform, None, options),
    }
}

/// Makes the client of a platform, from this plugin or the one that is found.
///
/// An error if the platform has one already: there is one client per platform, and options come too late for it. For
/// `pjrtdispatch`.
pub fn create(platform: &str, plugin: Option<PjrtPlugin>, options: ClientOptions) -> Result<Client> {
    if exists(platform) {
        return Err(Fault::new(
            "option",
            format!(
                "there is a client of platform {platform} already, with other options; they count only when it is made"
            ),
        ));
    }
    let options = with_environment(platform, options)?;
    let plugin = match plugin {
        Some(plugin) => plugin,
        None => PjrtPlugin::load(find_plugin(platform)?)?,
    };
    let client = plugin.client(&options)?;
    register(platform, client, options)
}

/// The file of a platform's plugin.
///
/// # Errors
///
/// In the words of R users where there is no such platform.
pub fn find_plugin(platform: &str) -> Result<PathBuf> {
    PjrtPlugin::find(platform).map_err(|error| match error {
        Error::Option { option: "platform", .. } => {
            Fault::new("option", format!("platform: expected \"cpu\" or \"cuda\", got \"{platform}\""))
        }
        error => error.into(),
    })
}

/// Adds what the environment says to the options that are not set.
fn with_environment(platform: &str, options: ClientOptions) -> Result<ClientOptions> {
    const COUNT: &str = "cpu_device_count";
    const VARIABLE: &str = "PJRT_CPU_DEVICE_COUNT";
    match std::env::var(VARIABLE) {
        Ok(text) if platform == "cpu" && !text.is_empty() && !options.has(COUNT) => {
            let count: i64 = text.trim().parse().map_err(|_| {
                Fault::new(
                    "option",
                    format!("the variable {VARIABLE} is \"{text}\", which is no number of devices"),
                )
            })?;
            Ok(options.set(COUNT, count))
        }
        _ => Ok(options),
    }
}

/// Makes the objects of a new client.
fn register(platform: &str, client: Client, options: ClientOptions) -> Result<Client> {
    let object = handle::interned(client)?;
    let devices = client.devices().map(handle::interned).collect::<Result<Vec<SEXP>>>()?;
    // R code that ran meanwhile may have made a client of the platform. The first one stays: arrays may be on it.
    if let Some(client) = known(|k| (k.platform == platform).then_some(k.client)) {
        return Ok(client);
    }
    CLIENTS.get().borrow_mut().push(Known {
        platform: platform.to_owned(),
        client,
        options,
        object,
        devices,
    });
    Ok(client)
}

/// The R object of a client.
pub fn client_object(client: Client) -> Result<SEXP> {
    if let Some((room, table)) = shared::room() {
        return room.client_object(table, client);
    }
    match known(|k| (k.client == client).then_some(k.object)) {
        Some(object) => Ok(object),
        None => {
            register(&client.to_string(), client, ClientOptions::new())?;
            client_object(client)
        }
    }
}

/// The R object of a device, the same one for the whole session.
#[inline]
pub fn device_object(device: Device) -> Result<SEXP> {
    let client = device.client();
    match known(|k| (k.client == client).then(|| k.devices[device.index() as usize])) {
        Some(object) => Ok(object),
        None => first_device_object(device),
    }
}

#[cold]
fn first_device_object(device: Device) -> Result<SEXP> {
    match shared::room() {
        Some((room, table)) => room.device_object(table, device),
        None => {
            register(&device.client().to_string(), device.client(), ClientOptions::new())?;
            device_object(device)
        }
    }
}

/// A device by its name: `cpu`, `cpu:1`. The client of the platform is made if there is none yet.
pub fn device_named(name: &str, argument: &str) -> Result<Device> {
    let (platform, index) = match name.split_once(':') {
        None => (name, Some(0)),
        Some((platform, index)) => (platform, index.parse::<usize>().ok()),
    };
    let (Some(index), false) = (index, platform.is_empty()) else {
        return Err(Fault::argument(
            "value",
            argument,
            "a device such as \"cpu\" or \"cpu:0\"",
            quoted(name),
        ));
    };
    let client = of_platform(&platform.to_lowercase()).map_err(|fault| fault.in_argument(argument))?;
    client.devices().nth(index).ok_or_else(|| {
        let names: Vec<String> = client.devices().map(|device| device.to_string()).collect();
        Fault::argument("value", argument, format!("one of the devices {}", names.join(", ")), quoted(name))
    })
}

/// A device that is given as one, as its name, or as `NULL` for the default one.
#[inline]
pub fn read_device(device: Arg<'_>) -> Result<Device> {
    if device.is_null() {
        return default_device();
    }
    if Device::kind().is(device.get()) {
        return device.handle().copied();
    }
    if let Some((room, table)) = shared::room() {
        return room.read_device(table, device.get(), device.name());
    }
    match device.kind() {
        "character" => device_named(&device.string()?, device.name()),
        _ => Err(device.expected("a PJRTDevice or the name of a device")),
    }
}

fn quoted(text: &str) -> String {
    format!("\"{text}\"")
}
