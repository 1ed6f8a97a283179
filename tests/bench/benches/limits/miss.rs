//! The miss: what a first call takes beyond compiling.

use std::hint::black_box;

use dispatch_bench::families::{self, Add};
use dispatch_bench::harness::{case, pin_to_processor, rounds};
use dispatch_bench::raw::Compile;
use dispatch_bench::results::Results;
use dispatch_runtime::Client;

use crate::MICRO;

/// A call of a family that was cleared, against the raw compile, execute and end of the same program.
pub fn measure(client: Client, results: &mut Results) {
    pin_to_processor(0);
    let (a, b) = (families::array(client, 0.0), families::array(client, 1.0));
    let family = Add::new(&client);
    let text = || families::add_text(&a.aval(), true);
    let mut raw = Compile::new(client, text(), &[&a, &b]);
    let mut cases = [
        case("raw compile and execute", |n| (0..n).for_each(|_| raw.call())),
        case("stub, cleared", |n| {
            (0..n).for_each(|_| {
                family.clear();
                black_box(families::call_add(&family, &a, &b, true).unwrap());
            })
        }),
    ];
    let rounds = rounds(&mut cases, 800, 1);
    rounds.print("Miss: compiling the addition of two arrays f32[4]");
    let overhead = rounds.ratio(1, 0);
    println!("  stub / raw {:.4} (parts {:.4} to {:.4})", overhead.median, overhead.low, overhead.high);
    results.report("floor: raw compile and execute", rounds.time(0).median * MICRO, "µs");
    results.at_most("miss: stub beyond raw compile", (overhead.median - 1.0) * 100.0, "%", 1.0);
}
