//! What the cache allocates, counted by the allocator: nothing on a hit, and nothing that stays.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::thread;

use dispatch_runtime::cache::{Cache, Lru, Weigh};
use dispatch_runtime::key::Sink;

/// The system's allocator, with the calls and the bytes of each thread counted.
struct Counting;

thread_local! {
    static CALLS: Cell<u64> = const { Cell::new(0) };
    static BYTES: Cell<i64> = const { Cell::new(0) };
}

fn count(bytes: i64) {
    CALLS.with(|calls| calls.set(calls.get() + 1));
    BYTES.with(|sum| sum.set(sum.get() + bytes));
}

// SAFETY: passes everything on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as i64);
        // SAFETY: the caller's promises are those that the system's allocator asks for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        count(-(layout.size() as i64));
        // SAFETY: as in `alloc`.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

struct Value(u64);

impl Weigh for Value {
    fn bytes(&self) -> u64 {
        8
    }
}

fn cache(capacity: usize) -> Cache<Value> {
    Cache::new("counted", capacity, Box::new(Lru)).unwrap()
}

/// Dispatches a key of `n` words that ends in `k`.
fn call(cache: &Cache<Value>, n: u64, k: u64) {
    let key = |sink: &mut Sink<'_>| (0..n).for_each(|i| sink.word(if i + 1 == n { k } else { 0 }));
    let build = || Ok(Value(k));
    let pin = cache.find(key).unwrap_or_else(|| cache.get_or_build(key, Vec::new, build).unwrap());
    assert_eq!(pin.0, k);
}

#[test]
fn a_hit_allocates_nothing() {
    let cache = cache(64);
    for n in [1, 4, 64, 65, 1000] {
        // As many as there are slots, and more: those are found in the table.
        for keys in [1, 2, 16, 40] {
            (0..keys).for_each(|k| call(&cache, n, k));
            let before = CALLS.get();
            (0..1000).for_each(|i| call(&cache, n, i % keys));
            assert_eq!(CALLS.get() - before, 0, "{keys} keys of {n} words");
        }
    }
}

#[test]
fn caches_that_come_and_go_leave_nothing() {
    let life = |i: u64| {
        let cache = cache(2);
        (0..4).for_each(|k| call(&cache, 3, i + k));
    };
    (0..100).for_each(life);
    let before = BYTES.get();
    (0..100_000).for_each(life);
    // The tests beside this one take and free places in the threads' tables, hence some slack: two bytes for a cache.
    let more = BYTES.get() - before;
    assert!(more < 200_000, "{more} bytes more");
}

#[test]
fn many_caches_at_once_leave_no_more_than_their_places() {
    let round = || {
        let caches: Vec<_> = (0..100).map(|_| cache(2)).collect();
        caches.iter().for_each(|cache| call(cache, 3, 1));
    };
    round();
    let before = BYTES.get();
    (0..100).for_each(|_| round());
    let more = BYTES.get() - before;
    assert!(more < 20_000, "{more} bytes more");
}

#[test]
fn failing_builds_leave_nothing() {
    let cache = cache(2);
    let fail = |i: u64| {
        let key = |sink: &mut Sink<'_>| sink.word(i % 7);
        let error = dispatch_runtime::Error::InvalidProgram { reason: i.to_string() };
        assert!(cache.find(key).is_none());
        assert!(cache.get_or_build(key, Vec::new, || Err(error)).is_err());
    };
    (0..100).for_each(fail);
    let before = BYTES.get();
    (0..100_000).for_each(fail);
    assert_eq!(BYTES.get(), before);
}

#[test]
fn misses_and_evictions_leave_nothing() {
    let cache = cache(4);
    (0..1000).for_each(|k| call(&cache, 3, 1000 + k));
    let before = BYTES.get();
    (0..20_000).for_each(|k| call(&cache, 3, 1000 + k % 1000));
    assert_eq!(BYTES.get(), before);
}

#[test]
fn threads_that_come_and_go_leave_nothing() {
    let cache = cache(4);
    let life = |k: u64| {
        // The thread counts its own; what it leaves in the cache is what matters, so the sums are added up.
        thread::scope(|scope| {
            let thread = scope.spawn(|| {
                (0..6).for_each(|i| call(&cache, 3, k + i));
                BYTES.get()
            });
            thread.join().unwrap()
        })
    };
    (0..10).for_each(|k| assert!(life(k) != 0));
    // Each thread frees the block of the one before and makes its own: on balance nothing but its own table.
    let first = life(10);
    for k in 11..200 {
        assert_eq!(life(k), first);
    }
}
