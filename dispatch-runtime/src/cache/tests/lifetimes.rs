//! Caches, threads, values and pins that end in an unusual order.

use std::cell::RefCell;
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::thread;

use super::support::*;
use crate::cache::*;

#[test]
fn caches_that_come_and_go_are_not_mixed_up() {
    for i in 0..2000 {
        let (a, b) = (Bench::new(2), Bench::new(2));
        for k in [i, i + 1] {
            assert!(a.touch(k) && b.touch(k + 1) && !a.touch(k) && !b.touch(k + 1));
        }
        drop(a);
        assert!(!b.touch(i + 1) && !b.touch(i + 2));
        let c = Bench::new(2);
        assert!(c.touch(i) && !b.touch(i + 2) && !c.touch(i));
        drop(b);
        assert_eq!((c.alive(), c.ledger.built.load(std::sync::atomic::Ordering::SeqCst)), (1, 1));
    }
}

#[test]
fn a_dropped_cache_drops_its_values() {
    let bench = Bench::new(8);
    (0..8).for_each(|k| bench.call(k));
    let Bench { cache, ledger } = bench;
    drop(cache);
    assert_eq!(ledger.alive.load(std::sync::atomic::Ordering::SeqCst), 0);
}

#[test]
fn a_forgotten_pin_keeps_its_entry_and_no_other() {
    let bench = Bench::new(2);
    std::mem::forget(bench.get(1).unwrap());
    for k in 2..50 {
        assert!(bench.touch(k) && !bench.touch(k));
    }
    assert_eq!((bench.retired(), bench.alive()), (1, 3));
    thread::scope(|scope| drop(scope.spawn(|| std::mem::forget(bench.get(49).unwrap()))));
    (0..10).for_each(|k| bench.call(k));
    assert_eq!((bench.cache.len(), bench.alive()), (2, 4));

    // The blocks with forgotten pins are leaked when their threads end; known here, so that leak checkers are content.
    static LEAKED: Mutex<Vec<sync::Arc<slots::Block>>> = Mutex::new(Vec::new());
    LEAKED.lock().unwrap().extend_from_slice(bench.cache.lock().blocks());
    let Bench { cache, ledger } = bench;
    drop(cache);
    assert_eq!(ledger.alive.load(std::sync::atomic::Ordering::SeqCst), 0);
}

/// A value whose `Drop` looks into the cache, and dispatches.
struct Nosy {
    k: u64,
    cache: Weak<Cache<Nosy>>,
}

impl Weigh for Nosy {
    fn bytes(&self) -> u64 {
        1
    }
}

impl Nosy {
    fn get<'a>(cache: &'a Arc<Cache<Nosy>>, k: u64) -> Pin<'a, Nosy> {
        let build = || Ok(Nosy { k, cache: Arc::downgrade(cache) });
        cache.find(key(k)).unwrap_or_else(|| cache.get_or_build(key(k), Vec::new, build).unwrap())
    }
}

impl Drop for Nosy {
    fn drop(&mut self) {
        if let Some(cache) = self.cache.upgrade() {
            assert!(!cache.contains(key(self.k)) || self.k < 100);
            assert!(cache.len() <= cache.capacity());
            if self.k >= 100 {
                assert_eq!(Nosy::get(&cache, self.k - 100).k, self.k - 100);
            }
        }
    }
}

#[test]
fn values_are_dropped_outside_the_lock() {
    let cache = Arc::new(Cache::<Nosy>::new("nosy", 2, Box::new(Lru)).unwrap());
    for k in 100..120 {
        assert_eq!(Nosy::get(&cache, k).k, k);
    }
    Nosy::get(&cache, 200);
    cache.remove(key(200));
    let pin = Nosy::get(&cache, 201);
    cache.clear();
    drop(pin);
    Nosy::get(&cache, 202);
    cache.clear();
    let others = cache.clone();
    thread::spawn(move || Nosy::get(&others, 203).k).join().unwrap();
    cache.clear();
    assert!(cache.stats().entries <= 2);
}

/// Holds a pin while its thread ends, and then uses the cache once more.
struct Last {
    pin: Option<Pin<'static, Value>>,
    bench: &'static Bench,
}

impl Drop for Last {
    fn drop(&mut self) {
        assert_eq!(self.pin.take().unwrap().read(), 1);
        assert_eq!(self.bench.get(1).unwrap().read(), 1);
        assert_eq!(self.bench.get(2).unwrap().read(), 2);
    }
}

#[test]
fn a_pin_may_outlive_the_slots_of_its_thread() {
    thread_local!(static LAST: RefCell<Option<Last>> = const { RefCell::new(None) });
    static BENCH: OnceLock<Bench> = OnceLock::new();
    let bench = BENCH.get_or_init(|| Bench::new(3));
    for evict in [false, true] {
        for before in [false, true] {
            let end = move || {
                // Thread-locals are destroyed in the order, or against the order, of their first use.
                if before {
                    LAST.with_borrow(|_| ());
                }
                let pin = bench.get(1).unwrap();
                LAST.set(Some(Last { pin: Some(pin), bench }));
                if evict {
                    bench.cache.clear();
                }
            };
            thread::spawn(end).join().unwrap();
            (0..20).for_each(|k| assert_eq!(bench.get(k).unwrap().read(), k));
            assert_eq!((bench.retired(), bench.alive()), (0, 3));
        }
    }
    bench.cache.clear();
    assert_eq!((bench.retired(), bench.alive()), (0, 0));
}

#[test]
fn pins_and_caches_cross_threads_as_they_should() {
    fn shared<T: Send + Sync + std::panic::RefUnwindSafe>() {}
    shared::<Cache<Value>>();
    shared::<Stats>();
}
