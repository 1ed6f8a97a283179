//! What the tests on a real plugin share.
#![allow(dead_code)] // each test target uses a part

use std::path::PathBuf;

use dispatch_runtime::engine::pjrt::{ClientOptions, PjrtEngine, PjrtExecutable};
use dispatch_runtime::program::Source;
use dispatch_runtime::{Array, Client, Element, Executable};

/// The client of the plugin under test: the default one, or the one that `PJRT_PLUGIN_PATH_CPU` names.
pub fn client() -> Client {
    Client::cpu().expect("scripts/get-plugin gets the plugin that these tests need")
}

/// A new client of that plugin with this number of devices.
pub fn client_with_devices(count: i64) -> Client {
    Client::for_platform("cpu", &ClientOptions::new().set("cpu_device_count", count)).unwrap()
}

pub fn engine(client: Client) -> &'static PjrtEngine {
    client.engine().as_any().downcast_ref().expect("a client of a plugin")
}

pub fn compile(client: Client, text: &str) -> Executable {
    client.compile_on(Source::StableHlo(text.to_owned()), client.default_device()).unwrap()
}

pub fn pjrt(executable: &Executable) -> &PjrtExecutable {
    executable.compiled().as_any().downcast_ref().expect("an executable of a plugin")
}

/// Runs a program and gives its only result.
pub fn run(executable: &Executable, args: &[&Array]) -> Array {
    let mut results = executable.execute(args).unwrap();
    assert_eq!(results.len(), 1);
    results.pop().unwrap()
}

pub fn values<T: Element>(array: &Array) -> Vec<T> {
    array.to_vec().unwrap()
}

/// `%a + %b` for arguments of this type.
pub fn add(ty: &str) -> String {
    format!(
        "module {{ func.func @main(%a: {ty}, %b: {ty}) -> {ty} {{
           %0 = stablehlo.add %a, %b : {ty}
           return %0 : {ty}
         }} }}"
    )
}

/// All plugins in the cache directory; those that `scripts/get-plugin all` got.
pub fn cached_plugins() -> Vec<PathBuf> {
    let variable = |name| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    let cache = variable("DISPATCH_CACHE_DIR")
        .or_else(|| Some(variable("XDG_CACHE_HOME")?.join("dispatch-runtime")))
        .or_else(|| Some(variable("HOME")?.join(".cache/dispatch-runtime")));
    let Some(files) = cache.and_then(|dir| std::fs::read_dir(dir.join("plugins/cpu")).ok()) else {
        return Vec::new();
    };
    let mut files: Vec<PathBuf> = files.filter_map(|file| Some(file.ok()?.path())).collect();
    files.retain(|file| file.extension().is_some_and(|e| e == "so"));
    files.sort();
    files
}

/// Resident memory of this process in bytes.
pub fn resident() -> usize {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    text.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
}
