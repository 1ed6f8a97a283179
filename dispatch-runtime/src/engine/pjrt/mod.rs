//! PJRT: plugins, their clients and executables. Everything that knows the PJRT C API is in this folder.
//!
//! A plugin is a shared library with one entry point, `GetPjrtApi`. [`Client::cpu`] finds the CPU plugin,
//! [`Client::from_plugin`] takes any.

#[doc(hidden)]
pub mod abi;
mod call;
#[doc(hidden)]
pub mod codes;
#[cfg(feature = "pjrt")]
mod compat;
mod compile;
mod context;
mod describe;
mod donors;
mod engine;
mod executable;
mod exit;
mod ffi;
mod find;
#[cfg(all(feature = "store", target_os = "linux"))]
mod fingerprint;
mod hlo;
mod inspect;
mod layout;
mod mlir;
mod nested;
mod options;
mod plugin;
mod proto;
mod read;
mod serialize;
mod share;

use std::path::Path;
use std::ptr::NonNull;
use std::sync::{Mutex, PoisonError};

#[cfg(feature = "pjrt")]
pub use compat::Lent;
pub use compile::CompileOptions;
#[doc(hidden)]
pub use donors::mark_donors;
#[cfg(feature = "graph")]
pub(crate) use donors::take_results;
pub use engine::PjrtEngine;
pub use executable::PjrtExecutable;
#[cfg(feature = "graph")]
pub(crate) use mlir::{ModuleText, argument_names};
pub use options::{ClientOptions, OptionValue};
pub use plugin::PjrtPlugin;

use crate::client::{Client, Device};
use crate::compiled;
use crate::executable::Executable;
use crate::program::Source;
use crate::{Error, Result};

/// The client of [`Client::cpu`].
static CPU: Mutex<Option<Client>> = Mutex::new(None);

impl Client {
    /// The client of the default CPU plugin, one for the process.
    ///
    /// The plugin is the file that the variable `PJRT_PLUGIN_PATH_CPU` names, or the one that `scripts/get-plugin`
    /// left in the cache directory, or that of pip's `xla-cpu-pjrt`. An error names every place looked at, and the
    /// command that gets a plugin; the next call looks again.
    pub fn cpu() -> Result<Client> {
        let mut cpu = CPU.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(client) = *cpu {
            return Ok(client);
        }
        let client = Client::for_platform("cpu", &ClientOptions::new())?;
        Ok(*cpu.insert(client))
    }

    /// A new client of the plugin in this file, which lives for the rest of the process, as its plugin does.
    ///
    /// An error if the file is no plugin, or if the version of its PJRT C API is not one that the runtime speaks.
    pub fn from_plugin(path: impl AsRef<Path>, options: &ClientOptions) -> Result<Client> {
        Ok(Client::with_engine(PjrtEngine::new(path.as_ref(), options)?))
    }

    /// A client for a connection that exists already, made by another library of the process: `PJRT_Client*` of a plugin
    /// with the function table `const PJRT_Api*`, loaded from the file at `path`. Buffers of either are buffers of both
    /// (see [`Array::from_owner`](crate::Array::from_owner)).
    ///
    /// # Safety
    ///
    /// The plugin is initialised, the client is one of its own, and both live as long as the process.
    pub unsafe fn adopt_pjrt(
        api: NonNull<abi::PJRT_Api>,
        client: NonNull<abi::PJRT_Client>,
        path: impl AsRef<Path>,
    ) -> Result<Client> {
        // SAFETY: by the caller's promise.
        Ok(Client::with_engine(unsafe { PjrtEngine::adopt(api, client, path.as_ref()) }?))
    }

    /// A new client of a platform's plugin: `"cpu"` or `"cuda"`.
    ///
    /// The plugin is looked for as [`Client::cpu`] says, for `"cuda"` by `PJRT_PLUGIN_PATH_CUDA` and in pip's
    /// `jax-cuda13-pjrt` and `jax-cuda12-pjrt`.
    pub fn for_platform(platform: &str, options: &ClientOptions) -> Result<Client> {
        Client::from_plugin(find::find(platform)?, options)
    }

    /// Compiles a program for a device of this client with options for XLA's compiler, without a cache.
    ///
    /// An error if the client is not one of a plugin.
    pub fn compile_with(
        self,
        program: impl AsRef<Source>,
        device: Device,
        options: &CompileOptions,
    ) -> Result<Executable> {
        if device.client() != self {
            return Err(Error::Client {
                argument: "device".into(),
                expected: self.to_string(),
                got: device.client().to_string(),
            });
        }
        Ok(Executable::new(device, compiled::compile(device, program.as_ref(), Some(options))?))
    }
}
