//! The measures with limits. `make bench` runs them and shows `target/bench/results.json`.
//!
//! Each part runs in processes of its own, and the median of the processes counts: how code and data fall on cache lines
//! is decided when a process starts, and moves some figures by ten nanoseconds.
//!
//! `cargo bench -p dispatch-bench --bench limits -- hit` runs only the parts whose names contain `hit`.

mod arguments;
mod convert;
mod decode;
mod ffi;
mod graph;
mod hit;
mod look_up;
mod miss;
mod scalar;
mod skeleton;
mod store;
mod threads;

use std::process::{Command, Stdio};

use dispatch_bench::results::Results;
use dispatch_runtime::Client;
use dispatch_runtime::engine::fake::NoopEngine;

/// Nanoseconds to microseconds.
const MICRO: f64 = 1e-3;

/// A name, in how many processes it runs, and what it does.
type Part = (&'static str, usize, fn(&mut Results));

const PARTS: [Part; 18] = [
    ("look-up", 5, |results| look_up::measure(NoopEngine::client(1), results)),
    ("hit", 7, |results| hit::measure(plugin(), results)),
    ("arguments", 7, |results| arguments::measure(plugin(), results)),
    ("converters", 7, |results| convert::measure(plugin(), results)),
    ("scalar", 7, |results| scalar::measure(plugin(), results)),
    ("threads", 1, |results| threads::on_nothing(NoopEngine::client(1), results)),
    ("plugin-threads", 1, |results| threads::on_plugin(plugin(), results)),
    ("miss", 1, |results| miss::measure(plugin(), results)),
    ("decode", 5, decode::measure),
    ("ffi-calls", 5, |results| ffi::calls(plugin(), results)),
    ("ffi-rotate", 3, |results| ffi::rotate(plugin(), results)),
    ("skeleton", 7, |results| skeleton::run(plugin(), results)),
    ("skeleton-peer", 3, |results| skeleton::against_candela(plugin(), results)),
    ("store", 3, |results| store::warm_start(plugin(), results)),
    ("graph", 3, graph::build),
    ("graph-miss", 1, |results| graph::miss(plugin(), results)),
    ("graph-jax", 3, |results| graph::against_jax(plugin(), results)),
    ("graph-jax-of-the-same-age", 3, graph::against_jax_of_the_same_age),
];

/// Names the part in the arguments of a process that runs one.
const PART: &str = "--part=";

fn plugin() -> Client {
    Client::cpu().unwrap_or_else(|error| panic!("{error}"))
}

fn main() {
    if !dispatch_bench::asked_to_measure() {
        return;
    }
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let Some(part) = arguments.iter().find_map(|argument| argument.strip_prefix(PART)) {
        let (_, _, measure) = PARTS.iter().find(|(name, ..)| *name == part).expect("the part exists");
        let mut results = Results::new();
        measure(&mut results);
        results.send();
        return;
    }
    println!("{}", plugin());
    let only: Vec<&String> = arguments.iter().filter(|argument| !argument.starts_with('-')).collect();
    let mut results = Results::new();
    for (name, processes, _) in PARTS {
        if only.is_empty() || only.iter().any(|one| name.contains(one.as_str())) {
            results.append(run(name, processes));
        }
    }
    results.write().expect("target/bench/results.json can be written");
}

/// Runs a part in several processes, one after the other, and shows what the first one prints.
fn run(part: &str, processes: usize) -> Results {
    let program = std::env::current_exe().expect("a program knows where it is");
    let each = (0..processes).map(|i| {
        let output = Command::new(&program)
            .args(["--bench", &format!("{PART}{part}")])
            .stderr(Stdio::inherit())
            .output()
            .expect("a program can start itself");
        assert!(output.status.success(), "the part `{part}` failed");
        let (results, text) = Results::read(&String::from_utf8_lossy(&output.stdout));
        if i == 0 {
            print!("{text}");
        }
        results
    });
    Results::medians(each.collect())
}
