//! Two threads against one, and against two with raw calls.

use std::hint::black_box;
use std::sync::Mutex;
use std::time::Duration;

use dispatch_bench::baselines::Usual;
use dispatch_bench::families::{self, Add, LookUp};
use dispatch_bench::raw::Execute;
use dispatch_bench::results::Results;
use dispatch_bench::threads::{Case, case, two_threads};
use dispatch_runtime::program::Source;
use dispatch_runtime::{Array, Client};

/// Two arrays of each thread's own.
fn arrays(client: Client) -> [[Array; 2]; 2] {
    [0.0, 4.0].map(|first| [families::array(client, first), families::array(client, first + 1.0)])
}

/// `n` hits; the static argument of the `i`-th is `negate(i)`.
fn hits(family: &Add, [a, b]: &[Array; 2], n: usize, negate: impl Fn(usize) -> bool) {
    for i in 0..n {
        black_box(families::call_add(family, black_box(a), black_box(b), black_box(negate(i))).unwrap());
    }
}

/// On an engine that does nothing: what dispatch shares between threads.
pub fn on_nothing(client: Client, results: &mut Results) {
    let (arrays, longer) =
        (arrays(client), [1, 2].map(|n| client.array(&vec![0f32; 4 + n], [4 + n as i64]).unwrap()));
    let longer = longer.map(|array| [array.clone(), array]);
    let (add, look_up, usual) = (Add::new(&client), LookUp::new(&client), Usual::new(client));
    let cases: [Case<'_>; 6] = [
        case("control: arithmetic", |_, n| {
            (0..n * 10).fold(1u64, |x, _| black_box(x.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 5));
        }),
        case("one entry, same arrays", |_, n| hits(&add, &arrays[0], n, |_| true)),
        case("one entry, own arrays", |thread, n| hits(&add, &arrays[thread], n, |_| true)),
        case("two own entries in turn, own arrays", |thread, n| {
            hits(&add, &longer[thread], n, |i| i % 2 == 0)
        }),
        case("one entry, no result", |_, n| {
            let [a, b] = &arrays[0];
            (0..n).for_each(|_| {
                families::call_look_up(&look_up, black_box(a), black_box(b), black_box(true)).unwrap()
            });
        }),
        case("mutex, hash map and counted reference", |_, n| {
            let [a, b] = &arrays[0];
            (0..n).for_each(|_| usual.call(black_box(a), black_box(b), black_box(true)).unwrap());
        }),
    ];
    let Some(threads) = two_threads(&cases, 400, 100, Duration::from_micros(300)) else {
        println!("\nTwo threads: this machine has one processor, so nothing was measured");
        return;
    };
    threads.print("Two threads on an engine that does nothing");
    results.report("control: two threads against one, arithmetic", threads.speedup(0).median, "times");
    let one = threads.speedup(1).median.min(threads.speedup(2).median);
    results.at_least("two threads against one, one entry", one, 1.8);
    results.at_least("two threads against one, two own entries each", threads.speedup(3).median, 1.8);
    results.report("two threads against one, mutex and hash map", threads.speedup(5).median, "times");
}

/// On PJRT: what callers get.
pub fn on_plugin(client: Client, results: &mut Results) {
    let arrays = arrays(client);
    let add = Add::new(&client);
    let executable =
        client.compile(Source::StableHlo(families::add_text(&arrays[0][0].aval(), true))).unwrap();
    let raw = |arrays: &[Array; 2]| {
        let buffers = arrays.each_ref().map(Array::raw);
        Mutex::new(Execute::new(client, executable.compiled(), &buffers))
    };
    let shared = [raw(&arrays[0]), raw(&arrays[0])];
    let own = [raw(&arrays[0]), raw(&arrays[1])];
    let cases: [Case<'_>; 4] = [
        case("raw, same arrays", |thread, n| shared[thread].lock().unwrap().calls(n)),
        case("stub, same arrays", |_, n| hits(&add, &arrays[0], n, |_| true)),
        case("raw, own arrays", |thread, n| own[thread].lock().unwrap().calls(n)),
        case("stub, own arrays", |thread, n| hits(&add, &arrays[thread], n, |_| true)),
    ];
    let Some(threads) = two_threads(&cases, 400, 5, Duration::from_micros(700)) else { return };
    threads.print("Two threads on PJRT");
    let (same, own) = (threads.against(1, 0), threads.against(3, 2));
    println!("  stub against raw, two threads: same arrays {same}, own arrays {own}");
    results.at_least("two threads on PJRT, stub against raw, same arrays", same.median, 0.9);
    results.at_least("two threads on PJRT, stub against raw, own arrays", own.median, 0.9);
}
