//! Platforms, as XLA's registry of handlers knows them.

use std::fmt;

use crate::{Error, Result};

/// A platform that handlers are registered for.
///
/// XLA takes a handler for any name of a platform without a word; only these ever call one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Platform {
    /// The CPU: handlers get host memory.
    Host,
    /// NVIDIA's GPUs: handlers get device memory and a stream.
    Cuda,
    /// AMD's GPUs.
    Rocm,
}

impl Platform {
    /// The platform with this name, in any case: `cpu`, `host`, `cuda`, `rocm`.
    ///
    /// ```
    /// use dispatch_runtime::ffi::registry::Platform;
    ///
    /// assert_eq!(Platform::named("CPU")?, Platform::Host);
    /// assert!(Platform::named("tpu").is_err());
    /// # Ok::<(), dispatch_runtime::Error>(())
    /// ```
    pub fn named(name: &str) -> Result<Platform> {
        match name.to_ascii_lowercase().as_str() {
            "cpu" | "host" => Ok(Platform::Host),
            "cuda" => Ok(Platform::Cuda),
            "rocm" => Ok(Platform::Rocm),
            _ => Err(Error::Option {
                option: "platform",
                expected: "one that calls handlers: cpu (or host), cuda, rocm".into(),
                got: format!("{name:?}"),
            }),
        }
    }

    /// The name in XLA's registry.
    pub fn name(self) -> &'static str {
        match self {
            Platform::Host => "Host",
            Platform::Cuda => "CUDA",
            Platform::Rocm => "ROCM",
        }
    }
}

impl Platform {
    /// The name in messages, by which [`Platform::named`] knows it.
    pub fn word(self) -> &'static str {
        match self {
            Platform::Host => "cpu",
            Platform::Cuda => "cuda",
            Platform::Rocm => "rocm",
        }
    }
}

impl fmt::Display for Platform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}
