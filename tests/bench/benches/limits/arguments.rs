//! What each further array argument adds to a stub beyond what PJRT takes for it.

use std::hint::black_box;

use dispatch_bench::families::{self, Sum2, Sum10, Sum100, Sum100Any, SumList};
use dispatch_bench::harness::{Estimate, case, pin_to_processor, rounds};
use dispatch_bench::raw::Execute;
use dispatch_bench::results::Results;
use dispatch_runtime::program::Source;
use dispatch_runtime::{Array, Client};

use crate::MICRO;

/// Sums of 2, 10 and 100 arrays f32\[4\], as separate arguments and as a list.
pub fn measure(client: Client, results: &mut Results) {
    pin_to_processor(0);
    let arrays: Vec<Array> = (0..100).map(|i| families::array(client, i as f32)).collect();
    let first = |n: usize| &arrays[..n];
    let (two, ten, hundred): (&[Array; 2], &[Array; 10], &[Array; 100]) =
        (first(2).try_into().unwrap(), first(10).try_into().unwrap(), first(100).try_into().unwrap());
    let (sum2, sum10, sum100) = (Sum2::new(&client), Sum10::new(&client), Sum100::new(&client));
    let (list2, list100, any) = (SumList::new(&client), SumList::new(&client), Sum100Any::new(&client));
    let executables = [2, 10, 100].map(|n| client.compile(Source::StableHlo(families::sum_text(n))).unwrap());
    let [mut raw2, mut raw10, mut raw100] = executables.each_ref().map(|executable| {
        let buffers: Vec<_> = first(executable.inputs().len()).iter().map(Array::raw).collect();
        Execute::new(client, executable.compiled(), &buffers)
    });
    let mut cases = [
        case("2: raw", |n| raw2.calls(n)),
        case("2: stub", |n| (0..n).for_each(|_| end(families::call_sum2(&sum2, black_box(two))))),
        case("2: stub, as a list", |n| {
            (0..n).for_each(|_| end(families::call_sum_list(&list2, black_box(first(2)))))
        }),
        case("10: raw", |n| raw10.calls(n)),
        case("10: stub", |n| (0..n).for_each(|_| end(families::call_sum10(&sum10, black_box(ten))))),
        case("100: raw", |n| raw100.calls(n)),
        case("100: stub", |n| (0..n).for_each(|_| end(families::call_sum100(&sum100, black_box(hundred))))),
        case("100: stub, as a list", |n| {
            (0..n).for_each(|_| end(families::call_sum_list(&list100, black_box(hundred))))
        }),
        case("100: stub, generic key", |n| {
            (0..n).for_each(|_| end(families::call_sum100_any(&any, black_box(hundred))))
        }),
    ];
    let rounds = rounds(&mut cases, 1500, 10);
    rounds.print("Arguments: sums of 2, 10 and 100 arrays f32[4]");
    let per_argument = |more: (usize, usize), few: (usize, usize), count: f64| -> Estimate {
        rounds.excess(more, few).scaled(1.0 / count)
    };
    let separate = per_argument((6, 5), (1, 0), 98.0);
    let list = per_argument((7, 5), (2, 0), 98.0);
    let to_ten = per_argument((4, 3), (1, 0), 8.0);
    println!("  per further argument: 2 to 10 {to_ten}; 2 to 100 {separate}; as a list {list}");
    results.at_most("per further array, to 100 arguments", separate.median * MICRO, "µs", 0.005);
    results.at_most("per further array, to a list of 100", list.median * MICRO, "µs", 0.005);
    results.report("per further array, to 10 arguments", to_ten.median * MICRO, "µs");
    results.report("100 arrays: generic key against specialised", rounds.ratio(8, 6).median, "times");
    results.report("100 arrays: generic key minus specialised", rounds.difference(8, 6).median * MICRO, "µs");
}

fn end(result: dispatch_runtime::Result<Array>) {
    drop(black_box(result.unwrap()));
}
