//! Where plugins are found.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use crate::{Error, Result};

mod python;

/// What is known about the plugins of one platform.
struct Platform {
    name: &'static str,
    /// The variable that names a plugin.
    variable: &'static str,
    /// The file that `scripts/get-plugin` leaves in `plugins/<platform>` of the cache directory, if it can.
    cached: Option<&'static str>,
    /// Packages of pip with the library inside `site-packages`, best first.
    packages: &'static [(&'static str, &'static str)],
    /// The commands that get a plugin.
    hint: &'static str,
}

const PLATFORMS: &[Platform] = &[
    Platform {
        name: "cpu",
        variable: "PJRT_PLUGIN_PATH_CPU",
        cached: Some("xla-cpu-pjrt-0.0.1.so"),
        packages: &[("xla-cpu-pjrt", "xla_plugins/xla_cpu_pjrt/xla_cpu_pjrt.so")],
        hint: "scripts/get-plugin (in the project's sources), or: pip install xla-cpu-pjrt",
    },
    Platform {
        name: "cuda",
        variable: "PJRT_PLUGIN_PATH_CUDA",
        cached: None,
        packages: &[
            ("jax-cuda13-pjrt", "jax_plugins/xla_cuda13/xla_cuda_plugin.so"),
            ("jax-cuda12-pjrt", "jax_plugins/xla_cuda12/xla_cuda_plugin.so"),
        ],
        hint: "pip install jax-cuda12-pjrt (or jax-cuda13-pjrt, as the driver allows)",
    },
];

/// The value of a variable that is set to something.
fn variable(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// Finds the plugin of a platform: the variable, the cache directory, pip's packages, in this order.
///
/// A variable that names a file which is not there is an error: falling through to another plugin would hide a typing
/// mistake.
pub(super) fn find(platform: &str) -> Result<PathBuf> {
    let Some(platform) = PLATFORMS.iter().find(|p| p.name == platform) else {
        let known: Vec<String> = PLATFORMS.iter().map(|p| format!("\"{}\"", p.name)).collect();
        return Err(Error::Option {
            option: "platform",
            expected: format!("{} (Client::from_plugin takes the plugin of any other)", known.join(" or ")),
            got: format!("{platform:?}"),
        });
    };
    if let Some(path) = variable(platform.variable) {
        return match path.metadata() {
            Ok(_) => Ok(path),
            Err(e) => Err(Error::Plugin {
                path: path.display().to_string(),
                reason: format!("the variable {} names it, but it cannot be read: {e}", platform.variable),
            }),
        };
    }
    let mut looked = Looked(String::new());
    looked.note(format_args!("the variable {}", platform.variable), "not set");
    if let Some(file) = platform.cached {
        match cache_dir() {
            Some(dir) => {
                let path = dir.join("plugins").join(platform.name).join(file);
                if looked.is_there(&path) {
                    return Ok(path);
                }
            }
            None => looked.note(
                format_args!("the cache directory"),
                "none: DISPATCH_CACHE_DIR, XDG_CACHE_HOME and HOME are not set",
            ),
        }
    }
    let mut seen = Vec::new();
    for source in python::sources() {
        let folders: Vec<PathBuf> = (source.folders)().into_iter().filter(|f| !seen.contains(f)).collect();
        for (_, library) in platform.packages {
            for folder in &folders {
                let path = folder.join(library);
                if path.is_file() {
                    return Ok(path);
                }
            }
        }
        let packages: Vec<&str> = platform.packages.iter().map(|(name, _)| *name).collect();
        let found = match folders.as_slice() {
            [] => "no such folder".to_owned(),
            some => format!(
                "not in {}",
                some.iter().map(|f| f.display().to_string()).collect::<Vec<_>>().join(", ")
            ),
        };
        looked.note(format_args!("pip's {} by {}", packages.join(" or "), source.name), &found);
        seen.extend(folders);
    }
    Err(Error::PluginNotFound {
        platform: platform.name.to_owned(),
        looked: looked.0.trim_end().to_owned(),
        hint: platform.hint.to_owned(),
    })
}

/// The cache directory of the project.
fn cache_dir() -> Option<PathBuf> {
    variable("DISPATCH_CACHE_DIR")
        .or_else(|| Some(variable("XDG_CACHE_HOME")?.join("dispatch-runtime")))
        .or_else(|| Some(variable("HOME")?.join(".cache/dispatch-runtime")))
}

/// The places looked at, a line each.
struct Looked(String);

impl Looked {
    fn note(&mut self, place: std::fmt::Arguments<'_>, what: &str) {
        let _ = writeln!(self.0, "  {place}: {what}");
    }

    fn is_there(&mut self, path: &Path) -> bool {
        let there = path.is_file();
        if !there {
            self.note(format_args!("{}", path.display()), "no such file");
        }
        there
    }
}
