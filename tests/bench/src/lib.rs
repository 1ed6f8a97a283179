//! What the benchmarks share: families to call, the raw calls to compare them with, and how to compare.
//!
//! The benchmarks themselves are `benches/limits`, `benches/allocations.rs`, `benches/r.rs` and `benches/plots.rs`.

pub mod baselines;
pub mod families;
pub mod harness;
pub mod peer;
pub mod raw;
pub mod results;
pub mod threads;

/// Whether the process was asked to measure: `cargo bench` passes `--bench`, `cargo test` does not.
pub fn asked_to_measure() -> bool {
    std::env::args().any(|argument| argument == "--bench")
}
