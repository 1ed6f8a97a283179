//! What tells apart the compilers whose programs must not be exchanged: the plugin's build, its settings, the machine.
//!
//! Finer is right, coarser is wrong: a difference that does not matter wastes a compile, one that is not seen gives other
//! numbers or an illegal instruction. What is not known for sure gives no fingerprint at all.

mod environment;
mod file;
mod machine;

use std::fmt::Write;
use std::sync::OnceLock;

pub(super) use environment::Environment;
pub(super) use file::PluginFile;

use super::ClientOptions;
use super::call::{Plugin, call, string};
use super::engine::Shared;

/// What a plugin's fingerprint is made of, as it was when the plugin was loaded.
#[derive(Debug)]
pub(super) struct AtLoad {
    environment: Environment,
    file: Option<PluginFile>,
}

impl AtLoad {
    /// To be asked before the plugin's library is opened.
    pub fn before_loading(path: &std::path::Path) -> AtLoad {
        AtLoad { environment: Environment::now(), file: PluginFile::at(path) }
    }

    /// For a plugin that somebody else has loaded earlier: what it has seen then is known only if nothing has changed
    /// since the process began.
    pub fn of_loaded(path: &std::path::Path) -> Option<AtLoad> {
        let environment = Environment::now();
        (Environment::at_start()? == environment).then(|| AtLoad { environment, file: PluginFile::at(path) })
    }
}

/// What a client adds to that.
pub(super) struct OfClient {
    /// The options that it was made with; none of a client that somebody else made.
    options: Option<ClientOptions>,
    /// What tells the plugin's build from others, once asked for.
    library: OnceLock<Option<String>>,
    /// The other copy of this crate whose client it is.
    owner: OnceLock<Box<AskOwner>>,
}

/// What an owner says of one of its client's devices.
pub(super) type AskOwner = dyn Fn(usize) -> Option<String> + Send + Sync;

impl OfClient {
    pub fn new(options: Option<&ClientOptions>) -> OfClient {
        OfClient { options: options.cloned(), library: OnceLock::new(), owner: OnceLock::new() }
    }

    /// The first owner counts.
    pub fn set_owner(&self, owner: Box<AskOwner>) {
        let _ = self.owner.set(owner);
    }
}

/// The fingerprint of a client's compiler for a device.
pub(super) fn of(shared: &'static Shared, device: usize) -> Option<String> {
    // What decides for other platforms (the model of the device, its driver) is not known here.
    if shared.platform != "cpu" {
        return None;
    }
    if let Some(owner) = shared.fingerprint.owner.get() {
        // It was there when the plugin was loaded. What this copy adds is itself, and its options.
        let options = hex(&shared.compile_options[device]);
        return Some(format!("{}runtime {}\noptions {options}\n", owner(device)?, env!("CARGO_PKG_VERSION")));
    }
    let loaded = shared.plugin.at_load.as_ref()?;
    // XLA reads its flags once, some time after it was loaded.
    let environment = loaded.environment.text().filter(|_| loaded.environment == Environment::now())?;
    let OfClient { options, library: known, .. } = &shared.fingerprint;
    let library = known.get_or_init(|| library(shared.plugin, loaded.file.as_ref()?)).as_ref()?;

    let mut text = String::new();
    let mut line = |name: &str, value: &str| writeln!(text, "{name} {value}").expect("a string takes all");
    line("runtime", env!("CARGO_PKG_VERSION"));
    line("api", &shared.plugin.minor.to_string());
    line("version", &version(shared)?);
    line("library", library);
    line("platform", &shared.platform);
    line("machine", machine::text()?);
    line("environment", &environment);
    match options {
        Some(options) => line("client", &format!("{options:?}")),
        None => line("client", "of another"),
    }
    line("device", &shared.devices[device].id.to_string());
    line("options", &hex(&shared.compile_options[device]));
    Some(text)
}

/// The library's file, if it is still the one that was loaded.
fn library(plugin: &Plugin, file: &PluginFile) -> Option<String> {
    let inside = plugin.errors.destroy as usize;
    file.is_mapped_at(inside).then(|| file.text()).flatten()
}

/// What the plugin says of its own version.
fn version(shared: &Shared) -> Option<String> {
    // SAFETY: the client is alive; the version lives as long and is copied.
    unsafe {
        let told =
            call!(shared.plugin, PJRT_Client_PlatformVersion { client: shared.client.as_ptr() }).ok()?;
        Some(string(told.platform_version, told.platform_version_size).escape_default().to_string())
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("a string takes all");
        text
    })
}
