//! Counts what a hit allocates beyond its outputs, in a process of its own: counting slows allocation down.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::hint::black_box;

use dispatch_bench::families::{self, Add, AddScalar, Sum100, SumList};
use dispatch_bench::results::Results;
use dispatch_runtime::{Array, Client};

/// The system's allocator, counting per thread, so that PJRT's threads do not disturb.
struct Counting;

thread_local! {
    static COUNT: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: every call goes to the system's allocator as it is.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.set(COUNT.get() + 1);
        // SAFETY: by the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        COUNT.set(COUNT.get() + 1);
        // SAFETY: by the caller's promise.
        unsafe { System.realloc(memory, layout, size) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: by the caller's promise.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Allocations of Rust per call, after the first calls.
fn count(call: impl Fn(usize)) -> f64 {
    const CALLS: usize = 10_000;
    (0..100).for_each(&call);
    let before = COUNT.get();
    (0..CALLS).for_each(&call);
    (COUNT.get() - before) as f64 / CALLS as f64
}

fn main() {
    if !dispatch_bench::asked_to_measure() {
        return;
    }
    let client = Client::cpu().unwrap_or_else(|error| panic!("{error}"));
    let arrays: Vec<Array> = (0..100).map(|i| families::array(client, i as f32)).collect();
    let hundred: &[Array; 100] = arrays[..].try_into().unwrap();
    let (a, b) = (&arrays[0], &arrays[1]);
    let (add, add_scalar) = (Add::new(&client), AddScalar::new(&client));
    let (sum, sum_list) = (Sum100::new(&client), SumList::new(&client));

    // An output is one allocation: its handle. The rest of an output is PJRT's.
    let output = count(|_| drop(black_box(client.array(&[1f32; 4], [4]).unwrap())));
    let cases: [(&str, f64); 5] = [
        ("two arrays", count(|_| drop(black_box(families::call_add(&add, a, b, true).unwrap())))),
        (
            "two entries in turn",
            count(|i| drop(black_box(families::call_add(&add, a, b, i % 2 == 0).unwrap()))),
        ),
        (
            "a host scalar",
            count(|_| drop(black_box(families::call_add_scalar(&add_scalar, a, b, 0.5, true).unwrap()))),
        ),
        ("100 arrays", count(|_| drop(black_box(families::call_sum100(&sum, hundred).unwrap())))),
        ("a list of 100", count(|_| drop(black_box(families::call_sum_list(&sum_list, hundred).unwrap())))),
    ];
    println!("\nAllocations per hit, of which an array takes {output}");
    let mut most = 0f64;
    for (name, allocations) in cases {
        println!("  {name:32} {allocations}");
        most = most.max(allocations - output);
    }
    let mut results = Results::new();
    results.at_most("allocations of a hit beyond its output", most, "allocations", 0.0);
    results.write().expect("target/bench/results.json can be written");
}
