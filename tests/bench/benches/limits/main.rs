//! The measures with limits. `make bench` runs them and shows `target/bench/results.json`.

mod arguments;
mod hit;
mod look_up;
mod miss;
mod scalar;
mod threads;

use dispatch_bench::harness::pin_to_processor;
use dispatch_bench::results::Results;
use dispatch_runtime::Client;
use dispatch_runtime::engine::fake::NoopEngine;

/// Nanoseconds to microseconds.
const MICRO: f64 = 1e-3;

fn main() {
    if !dispatch_bench::asked_to_measure() {
        return;
    }
    let pjrt = Client::cpu().unwrap_or_else(|error| panic!("{error}"));
    let noop = NoopEngine::client(1);
    println!("{pjrt}");
    let mut results = Results::new();
    let only: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    let wanted = |name: &str| only.is_empty() || only.iter().any(|one| name.contains(one.as_str()));
    if wanted("threads") {
        threads::measure(pjrt, noop, &mut results);
    }
    pin_to_processor(0);
    if wanted("look_up") {
        look_up::measure(noop, &mut results);
    }
    if wanted("hit") {
        hit::measure(pjrt, &mut results);
    }
    if wanted("arguments") {
        arguments::measure(pjrt, &mut results);
    }
    if wanted("scalar") {
        scalar::measure(pjrt, &mut results);
    }
    if wanted("miss") {
        miss::measure(pjrt, &mut results);
    }
    results.write().expect("target/bench/results.json can be written");
}
