//! Loading a plugin: the library, its entry point, its version.

use std::collections::HashMap;
use std::ffi::c_int;
use std::path::{Path, PathBuf};
use std::ptr::NonNull;
use std::sync::{Mutex, OnceLock, PoisonError};

use super::abi::*;
use super::call::{ErrorFunctions, Plugin, call, slice, slot, string};
#[cfg(all(feature = "store", target_os = "linux"))]
use super::fingerprint::AtLoad;
use super::{ClientOptions, OptionValue, find};
use crate::client::Client;
use crate::{Error, Result};

/// A plugin that is loaded, for the rest of the process: what it says of itself, and clients of it.
///
/// Two are equal if they are the same one.
#[derive(Clone, Copy, Debug)]
pub struct PjrtPlugin(&'static Plugin);

impl PjrtPlugin {
    /// Finds the plugin of a platform, `"cpu"` or `"cuda"`, as [`Client::for_platform`] does, without loading it.
    pub fn find(platform: &str) -> Result<PathBuf> {
        find::find(platform)
    }

    /// Loads the plugin in this file, unless it is loaded already.
    pub fn load(path: impl AsRef<Path>) -> Result<PjrtPlugin> {
        load(path.as_ref()).map(PjrtPlugin)
    }

    /// The path, as it was given or found.
    pub fn path(self) -> &'static Path {
        Path::new(&self.0.path)
    }

    /// Major and minor version of the plugin's PJRT C API.
    pub fn api_version(self) -> (i32, i32) {
        (0, self.0.minor)
    }

    /// What the plugin says of itself, such as `xla_version` and the StableHLO versions that it reads.
    pub fn attributes(self) -> Result<Vec<(String, OptionValue)>> {
        // SAFETY: no pointers among the arguments; the attributes live as long as the plugin and are copied.
        unsafe {
            let given = call!(self.0, PJRT_Plugin_Attributes {})?;
            let values = slice(given.attributes, given.num_attributes);
            Ok(values
                .iter()
                .filter_map(|value| Some((string(value.name, value.name_size), OptionValue::read(value)?)))
                .collect())
        }
    }

    /// A new client of the plugin, which lives for the rest of the process.
    pub fn client(self, options: &ClientOptions) -> Result<Client> {
        Client::from_plugin(self.path(), options)
    }
}

impl PartialEq for PjrtPlugin {
    fn eq(&self, other: &PjrtPlugin) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}

impl Eq for PjrtPlugin {}

/// The plugins of this process by canonical path. A plugin is loaded and initialised once and never unloaded: it keeps
/// threads and pointers of its own.
static PLUGINS: Mutex<Option<HashMap<PathBuf, &'static Plugin>>> = Mutex::new(None);

/// Loads a plugin, or gives the one that was loaded from this file before.
pub(super) fn load(path: &Path) -> Result<&'static Plugin> {
    let fail = |reason: String| Error::Plugin { path: path.display().to_string(), reason };
    let canonical = path.canonicalize().map_err(|e| fail(format!("the file cannot be read: {e}")))?;
    let mut plugins = PLUGINS.lock().unwrap_or_else(PoisonError::into_inner);
    let plugins = plugins.get_or_insert_default();
    if let Some(plugin) = plugins.get(&canonical) {
        return Ok(plugin);
    }
    #[cfg(all(feature = "store", target_os = "linux"))]
    let at_load = AtLoad::before_loading(&canonical);
    let api = open(&canonical).map_err(fail)?;
    #[allow(unused_mut)]
    let mut plugin = inspect(api, path).map_err(fail)?;
    #[cfg(all(feature = "store", target_os = "linux"))]
    plugin.at_load.replace(at_load);
    let plugin: &'static Plugin = Box::leak(Box::new(plugin));
    // SAFETY: no pointers among the arguments; this is the first call to the plugin.
    unsafe { call!(plugin, PJRT_Plugin_Initialize {}) }?;
    plugins.insert(canonical, plugin);
    Ok(plugin)
}

/// The plugin with this function table, which was loaded from this file and initialised by somebody else in the process.
pub(super) fn adopt(api: NonNull<PJRT_Api>, path: &Path) -> Result<&'static Plugin> {
    let fail = |reason: String| Error::Plugin { path: path.display().to_string(), reason };
    let mut plugins = PLUGINS.lock().unwrap_or_else(PoisonError::into_inner);
    let plugins = plugins.get_or_insert_default();
    if let Some(plugin) = plugins.values().find(|plugin| plugin.api == api) {
        return Ok(plugin);
    }
    #[allow(unused_mut)]
    let mut plugin = inspect(api, path).map_err(fail)?;
    #[cfg(all(feature = "store", target_os = "linux"))]
    (plugin.at_load = AtLoad::of_loaded(path));
    let plugin: &'static Plugin = Box::leak(Box::new(plugin));
    // The file may be gone by now. Whoever loads it anew gets the plugin that the process has.
    plugins.insert(path.canonicalize().unwrap_or_else(|_| path.to_owned()), plugin);
    Ok(plugin)
}

/// Opens the library with local symbol visibility, so that several plugins, each with its own copy of XLA, fit into
/// one process, and asks it for its function table.
fn open(path: &Path) -> Result<NonNull<PJRT_Api>, String> {
    if !path.is_file() {
        return Err("it is not a file".into());
    }
    // SAFETY: running the library's initialisers is what loading a plugin means; the caller chose the file.
    let library =
        unsafe { open_library(path) }.map_err(|e| format!("it is not a shared library: {}", text(&e)))?;
    // SAFETY: every plugin exports `GetPjrtApi` with this signature.
    let entry = unsafe { library.get::<unsafe extern "C" fn() -> *mut PJRT_Api>(b"GetPjrtApi\0") }
        .map(|symbol| *symbol)
        .map_err(|_| "it is not a PJRT plugin: the symbol GetPjrtApi is missing".to_owned())?;
    std::mem::forget(library);
    // SAFETY: the function takes nothing and returns the plugin's table.
    NonNull::new(unsafe { entry() }).ok_or_else(|| "GetPjrtApi returned no function table".into())
}

#[cfg(unix)]
unsafe fn open_library(path: &Path) -> Result<libloading::Library, libloading::Error> {
    use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
    // SAFETY: by the caller's promise.
    unsafe { Library::open(Some(path), RTLD_NOW | RTLD_LOCAL) }.map(Into::into)
}

#[cfg(not(unix))]
unsafe fn open_library(path: &Path) -> Result<libloading::Library, libloading::Error> {
    // SAFETY: by the caller's promise.
    unsafe { libloading::Library::new(path) }
}

/// What the system's loader says, which libloading keeps behind a source.
fn text(error: &libloading::Error) -> String {
    let source = std::error::Error::source(error).map(|e| format!(": {e}")).unwrap_or_default();
    format!("{error}{source}")
}

/// Reads version and error functions of a table, as far as it reaches.
fn inspect(api: NonNull<PJRT_Api>, path: &Path) -> Result<Plugin, String> {
    let table = api.as_ptr();
    // SAFETY: every table states its size first.
    let size = unsafe { (&raw const (*table).struct_size).read() };
    let smallest = std::mem::offset_of!(PJRT_Api, PJRT_Error_Destroy);
    if size < smallest {
        return Err(format!(
            "its function table has {size} bytes, too few to state a version; this runtime is made for PJRT C API \
             0.{OLDEST_MINOR} to 0.{NEWEST_MINOR}"
        ));
    }
    // SAFETY: the table reaches past the version.
    let version = unsafe { (&raw const (*table).pjrt_api_version).read() };
    let (major, minor) = (version.major_version, version.minor_version);
    if major != 0 || minor < OLDEST_MINOR {
        let age = if (major, minor) < (0, OLDEST_MINOR) { "old" } else { "new" };
        return Err(format!(
            "its PJRT C API {major}.{minor} is too {age}; this runtime is made for 0.{OLDEST_MINOR} to \
             0.{NEWEST_MINOR} and takes newer 0.x"
        ));
    }
    let errors = error_functions(api).ok_or_else(|| {
        format!("its PJRT C API 0.{minor} lacks a function that reads errors; the table has {size} bytes")
    })?;
    Ok(Plugin {
        api,
        minor: minor as c_int,
        path: path.display().to_string(),
        errors,
        #[cfg(all(feature = "store", target_os = "linux"))]
        at_load: None,
        ffi: OnceLock::new(),
    })
}

/// The functions that every call needs, if the table has them.
fn error_functions(api: NonNull<PJRT_Api>) -> Option<ErrorFunctions> {
    macro_rules! read {
        ($name:ident) => {
            slot(api, std::mem::offset_of!(PJRT_Api, $name), |table| table.$name)
        };
    }
    Some(ErrorFunctions {
        destroy: read!(PJRT_Error_Destroy)?,
        message: read!(PJRT_Error_Message)?,
        code: read!(PJRT_Error_GetCode)?,
    })
}
