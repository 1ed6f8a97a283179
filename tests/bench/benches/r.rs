//! The R package against its floors: `tests/bench/r/measure.R`, each part in processes of its own, as `limits` does.
//!
//! `make bench` names a library of R that has the package, and the plugin. Without them nothing is measured.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs};

use dispatch_bench::results::Results;

/// A library of R in which the package is installed.
const LIBRARY: &str = "DISPATCH_BENCH_R_LIB";

/// The plugin, with its header beside it.
const PLUGIN: &str = "PJRT_PLUGIN_PATH_CPU";

/// A name, and in how many processes it runs.
const PARTS: [(&str, usize); 13] = [
    ("hit", 3),
    ("generated", 3),
    ("arguments", 3),
    ("converter", 3),
    ("functions", 3),
    ("leaves", 3),
    ("closure", 3),
    ("miss", 3),
    ("jax", 2),
    ("copies", 1),
    ("bigmatrix", 1),
    ("hdf5", 1),
    ("famglm", 1),
];

fn main() {
    if !dispatch_bench::asked_to_measure() {
        return;
    }
    let (Some(library), Some(plugin)) = (env::var_os(LIBRARY), env::var_os(PLUGIN)) else {
        println!("\nThe R package: skipped (`make bench` installs it and sets {LIBRARY} and {PLUGIN})");
        return;
    };
    let plugin = PathBuf::from(plugin);
    let floors = compile(&plugin);
    let arguments: Vec<String> = env::args().skip(1).collect();
    let only: Vec<&String> = arguments.iter().filter(|argument| !argument.starts_with('-')).collect();
    let mut results = Results::new();
    for (part, processes) in PARTS {
        let asked = only.is_empty() || only.iter().any(|one| part.contains(one.as_str()));
        if asked && (part != "jax" || dispatch_bench::peer::is_there()) {
            let each = (0..processes).map(|i| measure(part, &library, &floors, &plugin, i == 0));
            results.append(Results::medians(each.collect()));
        }
    }
    results.write().expect("target/bench/results.json can be written");
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("r")
}

/// Compiles the floors with R's own compiler and flags.
fn compile(plugin: &Path) -> PathBuf {
    let built = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/bench/r");
    fs::create_dir_all(&built).expect("a folder can be made");
    // Objects are put beside the source.
    fs::copy(folder().join("floors.c"), built.join("floors.c")).expect("the source can be copied");
    let header = plugin.with_extension("h");
    let output = Command::new("R")
        .args(["CMD", "SHLIB", "floors.c"])
        .env("PKG_CPPFLAGS", format!(r#"-DPLUGIN_HEADER='"{}"'"#, header.display()))
        .current_dir(&built)
        .output()
        .expect("R starts");
    assert!(output.status.success(), "floors.c: {}", String::from_utf8_lossy(&output.stderr));
    built.join("floors.so")
}

/// What one process measures.
fn measure(part: &str, library: &std::ffi::OsStr, floors: &Path, plugin: &Path, is_shown: bool) -> Results {
    let output = Command::new("Rscript")
        .arg("--vanilla")
        .arg(folder().join("measure.R"))
        .arg(part)
        .args([floors, plugin])
        .env("R_LIBS", library)
        .stderr(Stdio::inherit())
        .output()
        .expect("Rscript starts");
    assert!(output.status.success(), "the part `{part}` failed");
    let (results, text) = Results::read(&String::from_utf8_lossy(&output.stdout));
    if is_shown {
        print!("{text}");
    }
    results
}
