//! The hit: a stub against the raw call.

use std::hint::black_box;

use dispatch_bench::families::{self, Add, AddAny};
use dispatch_bench::harness::{case, pin_to_processor, rounds};
use dispatch_bench::raw::{Execute, Upload};
use dispatch_bench::results::Results;
use dispatch_runtime::Client;
use dispatch_runtime::program::Source;

use crate::MICRO;

/// Two arrays and a static argument, f32\[4\].
pub fn measure(client: Client, results: &mut Results) {
    pin_to_processor(0);
    let (a, b) = (families::array(client, 0.0), families::array(client, 1.0));
    let (add, add_any) = (Add::new(&client), AddAny::new(&client));
    let programs = [true, false]
        .map(|negate| client.compile(Source::StableHlo(families::add_text(&a.aval(), negate))).unwrap());
    let raw = |program: usize| Execute::new(client, programs[program].compiled(), &[a.raw(), b.raw()]);
    let (mut first, mut again, mut in_turn) = (raw(0), raw(0), [raw(0), raw(1)]);
    let mut upload = Upload::scalar(client, 0.5);
    let (a, b) = (&a, &b);
    let mut cases = [
        case("raw execute, result ended", |n| first.calls(n)),
        case("the same again", |n| again.calls(n)),
        case("raw, two programs in turn", |n| (0..n).for_each(|i| in_turn[i % 2].call())),
        case("stub", |n| {
            (0..n).for_each(|_| {
                black_box(families::call_add(&add, black_box(a), black_box(b), black_box(true)).unwrap());
            })
        }),
        case("stub, two entries in turn", |n| {
            (0..n).for_each(|i| {
                black_box(
                    families::call_add(&add, black_box(a), black_box(b), black_box(i % 2 == 0)).unwrap(),
                );
            })
        }),
        case("stub with a generic key", |n| {
            (0..n).for_each(|_| {
                black_box(
                    families::call_add_any(&add_any, black_box(a), black_box(b), black_box(true)).unwrap(),
                );
            })
        }),
        case("raw upload of a scalar, ended", |n| (0..n).for_each(|_| upload.call())),
    ];
    let rounds = rounds(&mut cases, 4000, 26);
    rounds.print("Hit: two arrays f32[4] and a static");
    results.report("floor: raw execute, result ended", rounds.time(0).median * MICRO, "µs");
    results.report("floor: raw upload of a scalar, ended", rounds.time(6).median * MICRO, "µs");
    results.report("control: raw minus raw", rounds.difference(1, 0).median * MICRO, "µs");
    results.at_most("hit: stub minus raw execute", rounds.difference(3, 0).median * MICRO, "µs", 0.05);
    results.report("hit, two entries in turn: stub minus raw", rounds.difference(4, 2).median * MICRO, "µs");
    results.report("hit: generic key against specialised", rounds.ratio(5, 3).median, "times");
    results.report("hit: generic key minus specialised", rounds.difference(5, 3).median * MICRO, "µs");
}
