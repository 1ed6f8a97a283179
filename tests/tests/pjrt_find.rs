//! Where plugins are looked for. Each case runs in a process of its own, with the environment that it is about.

mod plugin;

use std::path::{Path, PathBuf};
use std::process::Command;

use dispatch_runtime::Client;
use dispatch_runtime::engine::pjrt::ClientOptions;

/// Not a test: what the processes below run. Says which plugin was found for the platform, or the error.
#[test]
#[ignore = "run by the other tests, as another process"]
fn child() {
    let platform = std::env::var("DISPATCH_TEST_PLATFORM").unwrap_or_else(|_| "cpu".into());
    match Client::for_platform(&platform, &ClientOptions::new()) {
        Ok(client) => println!("found {}", plugin::engine(client).plugin_path().display()),
        Err(error) => println!("{}: {error}", error.code()),
    }
}

/// What `child` says in an environment of only these variables.
fn find(variables: &[(&str, &Path)]) -> String {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child", "--ignored", "--nocapture", "--test-threads=1"])
        .env_clear()
        .envs(variables.iter().copied())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// A fresh folder for one test.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("find_{name}"));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// Puts a file that is no plugin there: where loading it is tried, it was found.
fn place(path: PathBuf) -> PathBuf {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, "not a library").unwrap();
    path
}

/// The error of loading that file.
fn tried(path: &Path) -> String {
    format!("plugin: cannot use the plugin {}: it is not a shared library", path.display())
}

const CACHED: &str = "plugins/cpu/xla-cpu-pjrt-0.0.1.so";
const INSTALLED: &str = "lib/python3.11/site-packages/xla_plugins/xla_cpu_pjrt/xla_cpu_pjrt.so";

#[track_caller]
fn says(text: &str, part: &str) {
    assert!(text.contains(part), "expected {part:?} in:\n{text}");
}

#[test]
fn the_variable_comes_first() {
    let dir = folder("variable");
    let named = place(dir.join("named.so"));
    place(dir.join(CACHED));
    says(&find(&[("PJRT_PLUGIN_PATH_CPU", &named), ("DISPATCH_CACHE_DIR", &dir)]), &tried(&named));
}

#[test]
fn a_variable_that_names_no_file_is_an_error() {
    let dir = folder("mistyped");
    place(dir.join(CACHED));
    let text = find(&[("PJRT_PLUGIN_PATH_CPU", &dir.join("mistyped.so")), ("DISPATCH_CACHE_DIR", &dir)]);
    says(&text, "plugin: cannot use the plugin");
    says(&text, "mistyped.so: the variable PJRT_PLUGIN_PATH_CPU names it, but it cannot be read");
    // An empty variable is none.
    says(
        &find(&[("PJRT_PLUGIN_PATH_CPU", Path::new("")), ("DISPATCH_CACHE_DIR", &dir)]),
        &tried(&dir.join(CACHED)),
    );
}

#[test]
fn the_cache_directory_comes_second() {
    let dir = folder("cache");
    let (first, second) =
        (place(dir.join("a").join(CACHED)), place(dir.join("b/dispatch-runtime").join(CACHED)));
    let third = place(dir.join("c/.cache/dispatch-runtime").join(CACHED));
    let venv = dir.join("venv");
    place(venv.join(INSTALLED));
    let (a, b, c) = (dir.join("a"), dir.join("b"), dir.join("c"));
    let all = [("DISPATCH_CACHE_DIR", &*a), ("XDG_CACHE_HOME", &*b), ("HOME", &*c), ("VIRTUAL_ENV", &*venv)];
    says(&find(&all), &tried(&first));
    says(&find(&all[1..]), &tried(&second));
    says(&find(&all[2..]), &tried(&third));
}

#[test]
fn packages_of_pip_come_third() {
    let dir = folder("pip");
    let (venv, conda, home) = (dir.join("venv"), dir.join("conda"), dir.join("home"));
    let installed = place(venv.join(INSTALLED));
    let by_conda = place(conda.join(INSTALLED));
    let by_user = place(home.join(".local").join(INSTALLED));
    let all = [("VIRTUAL_ENV", &*venv), ("CONDA_PREFIX", &*conda), ("HOME", &*home)];
    says(&find(&all), &tried(&installed));
    says(&find(&all[1..]), &tried(&by_conda));
    says(&find(&all[2..]), &tried(&by_user));
    // The newest Python first, and 3.9 is older than 3.11.
    let newer = place(venv.join(INSTALLED.replace("3.11", "3.13")));
    place(venv.join(INSTALLED.replace("3.11", "3.9")));
    says(&find(&all), &tried(&newer));
}

#[test]
fn an_interpreter_is_asked_last_and_not_for_ever() {
    let dir = folder("interpreter");
    let packages = dir.join("somewhere");
    let installed = place(packages.join("xla_plugins/xla_cpu_pjrt/xla_cpu_pjrt.so"));
    let bin = dir.join("bin");
    let python = place(bin.join("python3"));
    let script = |text: String| {
        use std::os::unix::fs::PermissionsExt;
        std::fs::write(&python, text).unwrap();
        std::fs::set_permissions(&python, std::fs::Permissions::from_mode(0o755)).unwrap();
    };
    script(format!("#!/bin/sh\necho {}\n", packages.display()));
    let environment = [("PATH", &*bin), ("HOME", &*dir)];
    // Only where this machine has no such package of its own.
    let found = find(&environment);
    if !found.contains("/usr/") {
        says(&found, &tried(&installed));
    }
    script("#!/bin/sh\necho /nowhere\nexec /bin/sleep 60\n".into());
    let start = std::time::Instant::now();
    find(&environment);
    assert!(start.elapsed().as_secs() < 30);
}

#[test]
fn where_nothing_is_found_every_place_is_named() {
    let dir = folder("nothing");
    let nowhere = dir.join("nowhere");
    std::fs::create_dir_all(dir.join(".local/lib/python3.11/site-packages")).unwrap();
    let text = find(&[("HOME", &dir), ("VIRTUAL_ENV", &nowhere), ("PATH", &nowhere)]);
    if text.starts_with("found") || text.contains("\nfound") {
        return; // this machine has the package for all users
    }
    says(&text, "plugin_not_found: no PJRT plugin found for platform cpu; looked at:");
    says(&text, "the variable PJRT_PLUGIN_PATH_CPU: not set");
    says(&text, &format!("{}: no such file", dir.join(".cache/dispatch-runtime").join(CACHED).display()));
    says(&text, "pip's xla-cpu-pjrt by VIRTUAL_ENV: no such folder");
    says(&text, &format!("by HOME: not in {}", dir.join(".local/lib/python3.11/site-packages").display()));
    says(&text, "by python3 in PATH");
    says(&text, "get one with: scripts/get-plugin (in the project's sources), or: pip install xla-cpu-pjrt");

    says(
        &find(&[("PATH", &nowhere)]),
        "the cache directory: none: DISPATCH_CACHE_DIR, XDG_CACHE_HOME and HOME are not set",
    );
}

#[test]
fn cuda_is_looked_for_in_the_same_way() {
    let dir = folder("cuda");
    let cuda = ("DISPATCH_TEST_PLATFORM", Path::new("cuda"));
    let named = place(dir.join("named.so"));
    says(&find(&[cuda, ("PJRT_PLUGIN_PATH_CUDA", &named)]), &tried(&named));
    let gone = find(&[cuda, ("PJRT_PLUGIN_PATH_CUDA", &dir.join("gone.so"))]);
    says(&gone, "the variable PJRT_PLUGIN_PATH_CUDA names it, but it cannot be read");

    let venv = dir.join("venv");
    let packages = venv.join("lib/python3.12/site-packages/jax_plugins");
    let twelve = place(packages.join("xla_cuda12/xla_cuda_plugin.so"));
    says(&find(&[cuda, ("VIRTUAL_ENV", &venv)]), &tried(&twelve));
    let thirteen = place(packages.join("xla_cuda13/xla_cuda_plugin.so"));
    says(&find(&[cuda, ("VIRTUAL_ENV", &venv)]), &tried(&thirteen));

    let text = find(&[cuda, ("HOME", &dir), ("PATH", &dir)]);
    says(&text, "no PJRT plugin found for platform cuda");
    says(&text, "pip install jax-cuda12-pjrt");
}

#[test]
fn an_unknown_platform_is_an_error() {
    let text = find(&[("DISPATCH_TEST_PLATFORM", Path::new("tpu"))]);
    says(&text, "option: option `platform`: expected \"cpu\" or \"cuda\"");
    says(&text, "got \"tpu\"");
}
