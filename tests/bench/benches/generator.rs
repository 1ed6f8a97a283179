//! The generator and the expansions: what an author waits for. Needs cargo, and no network once the project is built.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use dispatch_bench::harness::median;
use dispatch_bench::results::Results;

const FAMILIES: usize = 100;

fn main() {
    if !dispatch_bench::asked_to_measure() {
        return;
    }
    let mut results = Results::new();
    update(&mut results);
    expansion(&mut results);
    results.write().expect("target/bench/results.json can be written");
}

/// `cargo run -p dispatch-codegen -- update` of a package, with the command as cargo builds it unless asked otherwise.
fn update(results: &mut Results) {
    let package = folder("package");
    put(&package.join("DESCRIPTION"), "Package: hundred\nVersion: 0.1.0\nImports: pjrtdispatch\n");
    put(&package.join("src/rust/Cargo.toml"), "[package]\nname = \"hundred\"\n");
    let mut lib = String::from("mod r_families;\n");
    for module in 0..10 {
        writeln!(lib, "mod m{module};").expect("a string takes all");
        let families = (0..FAMILIES / 10).map(|i| family(module * 10 + i, true));
        put(
            &package.join(format!("src/rust/src/m{module}.rs")),
            &(PRELUDE.to_owned() + &families.collect::<String>()),
        );
    }
    put(&package.join("src/rust/src/lib.rs"), &lib);
    let run = || {
        let mut command = cargo(root());
        command.args(["run", "--quiet", "-p", "dispatch-codegen", "--", "update"]).arg(&package);
        seconds(command)
    };
    // Builds the command, and writes all files.
    run();
    let generated = ["R", "man", "NAMESPACE", "src/init.c", "src/rust/api.h", "src/rust/src/r_families.rs"];
    let (mut anew, mut again) = (Vec::new(), Vec::new());
    for _ in 0..7 {
        for file in generated.map(|file| package.join(file)) {
            if file.is_dir() { fs::remove_dir_all(file) } else { fs::remove_file(file) }
                .expect("a generated file is there");
        }
        anew.push(run());
        again.push(run());
    }
    println!("\nupdate of a package of {FAMILIES} families, by cargo run");
    println!("  all files anew {:.2} s, nothing to write {:.2} s", median(&anew), median(&again));
    results.at_most("update: 100 families", median(&anew), "s", 2.0);
    results.report("update: 100 families, nothing to write", median(&again), "s");
}

/// Building a crate with some families and with one, which differ by what the attribute makes of a family, and its
/// body.
fn expansion(results: &mut Results) {
    const MORE: usize = 10;
    let package = folder("expansion");
    let runtime = root().join("dispatch-runtime");
    let manifest = format!(
        "[package]\nname = \"expansion\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[workspace]\n\
         [dependencies]\ndispatch-runtime = {{ path = {runtime:?} }}\n"
    );
    put(&package.join("Cargo.toml"), &manifest);
    fs::copy(root().join("Cargo.lock"), package.join("Cargo.lock")).expect("the project has a lock file");
    let build = |families: usize, profile: &str| {
        let families: String = (0..families).map(|number| family(number, false)).collect();
        put(&package.join("src/lib.rs"), &(PRELUDE.to_owned() + &families));
        let mut command = cargo(&package);
        command.args(["build", "--quiet", "--offline", "--profile", profile]);
        seconds(command)
    };
    println!("\nbuilding the expansion of a family");
    for profile in ["dev", "release"] {
        // Builds the runtime.
        build(1, profile);
        let pairs: Vec<f64> = (0..3)
            .map(|_| {
                let few = build(1, profile);
                (build(1 + MORE, profile) - few) / MORE as f64
            })
            .collect();
        println!("  {profile}: {:.3} s", median(&pairs));
        results.at_most(
            &format!("expansion: compile time of a family, {profile}"),
            median(&pairs),
            "s",
            0.15,
        );
    }
}

const PRELUDE: &str = "#![allow(dead_code)]\nuse dispatch_runtime::prelude::*;\n";

/// A family as authors write them: two arrays, two statics, and a body on the builder.
fn family(number: usize, exported: bool) -> String {
    let options = if exported { "r_export, capacity = 64" } else { "capacity = 64" };
    format!(
        r#"
/// Fit number {number}
///
/// Does the fit `{number}` of **x** and y.
///
/// # Examples
///
/// ```r
/// fit_{number}(matrix(1:4, 2), c(1, 2))
/// ```
#[dispatch_family({options})]
pub fn fit_{number}(
    cx: &CompileCx,
    /// The values.
    #[dynamic(dtype = [f64, f32], shape = [n, p])]
    x: Value,
    /// The others.
    #[dynamic(dtype = dtype(x), shape = [n])]
    y: Value,
    /// How many steps.
    #[static_arg(default = 25)]
    iterations: i64,
    /// The link.
    #[static_arg(default = "logit".into())]
    link: String,
) -> Result<Program> {{
    let mut total = &x * (p as f64);
    for i in 0..iterations {{
        total = total + &x * (i as f64);
        total = if link == "logit" {{ total.exp() }} else {{ total.sqrt() }};
    }}
    cx.program(total + y.reshape([n, 1]))
}}
"#
    )
}

/// The root of the project.
fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// A folder of this benchmark's own, empty.
fn folder(name: &str) -> PathBuf {
    let folder = root().join("target/bench/generator").join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("the folder for results can be written");
    folder
}

fn put(file: &Path, text: &str) {
    fs::create_dir_all(file.parent().expect("a file is in a folder")).expect("a folder can be made");
    fs::write(file, text).expect("a file can be written");
}

/// Cargo as it was started for this, without what it has set for a benchmark.
fn cargo(folder: &Path) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(folder);
    // Whatever is built for the project is used.
    let target = std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| root().join("target").into());
    command.env("CARGO_TARGET_DIR", target);
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy().into_owned();
        if name.starts_with("CARGO_PKG") || name == "CARGO_MANIFEST_DIR" {
            command.env_remove(name);
        }
    }
    command
}

/// How long a command takes, which succeeds.
fn seconds(mut command: Command) -> f64 {
    let begin = Instant::now();
    let output = command.output().expect("cargo can be started");
    let seconds = begin.elapsed().as_secs_f64();
    assert!(output.status.success(), "{command:?}\n{}", String::from_utf8_lossy(&output.stderr));
    seconds
}
