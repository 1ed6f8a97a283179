//! Validation, key and look-up alone, and other ways to do them.

use std::hint::black_box;

use dispatch_bench::baselines::Usual;
use dispatch_bench::families::{self, Add, AddAny, LookUp, LookUpAny};
use dispatch_bench::harness::{case, pin_to_processor, rounds};
use dispatch_bench::results::Results;
use dispatch_runtime::Client;

use crate::MICRO;

/// On an engine that does nothing, a call without results is the look-up and two virtual calls.
pub fn measure(client: Client, results: &mut Results) {
    pin_to_processor(0);
    let (a, b) = (families::array(client, 0.0), families::array(client, 1.0));
    let (look_up, look_up_any, usual) = (LookUp::new(&client), LookUpAny::new(&client), Usual::new(client));
    let (add, add_any) = (Add::new(&client), AddAny::new(&client));
    let (a, b) = (&a, &b);
    let mut cases = [
        case("an empty loop", |n| (0..n).for_each(|_| _ = black_box((black_box(a), black_box(b), true)))),
        case("look-up", |n| {
            (0..n).for_each(|_| {
                families::call_look_up(&look_up, black_box(a), black_box(b), black_box(true)).unwrap()
            })
        }),
        case("look-up, two entries in turn", |n| {
            (0..n).for_each(|i| {
                families::call_look_up(&look_up, black_box(a), black_box(b), black_box(i % 2 == 0)).unwrap();
            })
        }),
        case("look-up, generic key", |n| {
            (0..n).for_each(|_| {
                families::call_look_up_any(&look_up_any, black_box(a), black_box(b), black_box(true))
                    .unwrap();
            })
        }),
        case("mutex, hash map and counted reference", |n| {
            (0..n).for_each(|_| usual.call(black_box(a), black_box(b), black_box(true)).unwrap())
        }),
        case("whole hit, one result", |n| {
            (0..n).for_each(|_| {
                drop(black_box(
                    families::call_add(&add, black_box(a), black_box(b), black_box(true)).unwrap(),
                ));
            })
        }),
        case("whole hit, one result, generic key", |n| {
            (0..n).for_each(|_| {
                drop(black_box(
                    families::call_add_any(&add_any, black_box(a), black_box(b), black_box(true)).unwrap(),
                ));
            })
        }),
    ];
    let rounds = rounds(&mut cases, 1500, 500);
    rounds.print("Look-up on an engine that does nothing");
    let look_up = rounds.difference(1, 0);
    results.at_most("look-up alone", look_up.median * MICRO, "µs", 0.03);
    results.report("look-up alone, two entries in turn", rounds.difference(2, 0).median * MICRO, "µs");
    results.report("look-up, generic key against specialised", rounds.ratio(3, 1).median, "times");
    results.report("look-up, mutex and hash map against ours", rounds.ratio(4, 1).median, "times");
    results.report("whole hit on an engine that does nothing", rounds.difference(5, 0).median * MICRO, "µs");
}
