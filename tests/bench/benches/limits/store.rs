//! The store: a program of 200 operations, compiled, and loaded from where another process could have left it.

use std::hint::black_box;

use dispatch_bench::harness::{case, pin_to_processor, rounds};
use dispatch_bench::results::Results;
use dispatch_runtime::Client;
use dispatch_runtime::store::Store;

use crate::{MICRO, graph};

/// Compiling without a store, and compiling with one that is opened anew and has the program.
pub fn warm_start(client: Client, results: &mut Results) {
    pin_to_processor(0);
    let program = graph::layers(28, |y| -y.cos().sin());
    assert_eq!(graph::operations(&program), 200);
    let folder = std::env::temp_dir().join(format!("dispatch-bench-store-{}", std::process::id()));
    let store = Store::open(&folder).expect("a folder for temporary files");
    client.set_store(Some(&store));
    client.compile(&program).expect("the program compiles");
    assert_eq!((store.stats().writes, store.stats().failed), (1, 0), "the program is in the store");

    let mut cases = [
        case("compiled", |n| {
            client.set_store(None);
            (0..n).for_each(|_| drop(black_box(client.compile(&program).unwrap())));
        }),
        case("loaded from a store", |n| {
            (0..n).for_each(|_| {
                let store = Store::open(&folder).unwrap();
                client.set_store(Some(&store));
                drop(black_box(client.compile(&program).unwrap()));
                assert_eq!(store.stats().hits, 1, "it was compiled");
            });
        }),
    ];
    let rounds = rounds(&mut cases, 20, 1);
    rounds.print("Store: a program of 200 operations");
    client.set_store(None);
    std::fs::remove_dir_all(&folder).expect("the folder was made here");
    results.report("store: compiling 200 operations", rounds.time(0).median * MICRO * 1e-3, "ms");
    results.report("store: loading them", rounds.time(1).median * MICRO * 1e-3, "ms");
    results.at_most("store: a warm start against compiling", rounds.ratio(1, 0).median, "times", 0.2);
}
