//! Eviction policies, good and bad.

use std::sync::{Arc, Mutex};

use super::support::*;
use crate::cache::*;

#[test]
fn unbounded_never_evicts() {
    let bench = Bench::with(2, Box::new(Unbounded));
    (0..100).for_each(|k| assert!(bench.touch(k)));
    (0..100).for_each(|k| assert!(!bench.touch(k)));
    assert_eq!((bench.cache.len(), bench.cache.capacity(), bench.cache.stats().evictions), (100, 2, 0));
}

#[test]
fn by_bytes_keeps_to_the_budget_in_order_of_recency() {
    let bench = Bench::with(100, Box::new(ByBytes(10)));
    let mut model: Vec<(u64, u64)> = Vec::new();
    let mut random = Random(7);
    for _ in 0..3000 {
        let k = random.below(12);
        let bytes = 1 + k % 5;
        bench.get_sized(k, bytes).unwrap();
        if let Some(i) = model.iter().position(|e| e.0 == k) {
            model.remove(i);
        } else {
            while model.iter().map(|e| e.1).sum::<u64>() + bytes > 10 {
                model.remove(0);
            }
        }
        model.push((k, bytes));
        assert_eq!(bench.cache.stats().bytes, model.iter().map(|e| e.1).sum::<u64>());
        assert!((0..12).all(|k| bench.has(k) == model.iter().any(|e| e.0 == k)));
    }
}

#[test]
fn by_bytes_lets_a_giant_stay_alone() {
    let bench = Bench::with(100, Box::new(ByBytes(10)));
    (0..5).for_each(|k| drop(bench.get_sized(k, 2)));
    drop(bench.get_sized(9, 50));
    assert_eq!((bench.cache.len(), bench.has(9), bench.cache.stats().bytes), (1, true, 50));
    drop(bench.get_sized(1, 2));
    assert_eq!((bench.cache.len(), bench.has(1)), (1, true));
    drop(bench.get_sized(2, u64::MAX));
    drop(bench.get_sized(3, u64::MAX));
    assert_eq!((bench.cache.len(), bench.has(3)), (1, true));
}

#[test]
fn by_bytes_keeps_to_the_capacity_too() {
    let bench = Bench::with(3, Box::new(ByBytes(1000)));
    (0..10).for_each(|k| drop(bench.get_sized(k, 1)));
    assert_eq!((bench.cache.len(), bench.has(7)), (3, true));
}

/// A policy given by a function from the occupancy to a victim.
struct Odd<F>(F);

impl<F: FnMut(&Occupancy<'_>) -> Option<EntryId> + Send + 'static> EvictionPolicy for Odd<F> {
    fn victim(&mut self, occupancy: &Occupancy<'_>) -> Option<EntryId> {
        self.0(occupancy)
    }
}

/// Whatever it answers, the cache stays a least-recently-used one of its capacity.
fn falls_back_to_lru(victim: impl FnMut(&Occupancy<'_>) -> Option<EntryId> + Send + 'static) {
    let bench = Bench::with(3, Box::new(Odd(victim)));
    let mut model: Vec<u64> = Vec::new();
    let mut random = Random(99);
    for _ in 0..500 {
        let k = random.below(7);
        bench.touch(k);
        model.retain(|x| *x != k);
        model.push(k);
        if model.len() > 3 {
            model.remove(0);
        }
        assert!((0..7).all(|k| bench.has(k) == model.contains(&k)));
        assert_eq!((bench.cache.len(), bench.alive()), (model.len(), model.len() as i64));
    }
}

#[test]
fn a_policy_that_panics_does_no_harm() {
    falls_back_to_lru(|_| panic!("no policy"));
}

#[test]
fn a_policy_that_names_strangers_does_no_harm() {
    falls_back_to_lru(|_| Some(EntryId(u64::MAX)));
}

#[test]
fn a_policy_that_names_the_departed_does_no_harm() {
    let mut first = None;
    falls_back_to_lru(move |occupancy| {
        if occupancy.entries.len() < occupancy.capacity {
            return None;
        }
        let first = first.get_or_insert(occupancy.least_recent().unwrap());
        Some(*first)
    });
}

#[test]
fn a_policy_that_never_has_enough_leaves_one_entry() {
    let bench = Bench::with(3, Box::new(Odd(|occupancy: &Occupancy<'_>| Some(occupancy.entries[0].id))));
    for k in 0..100 {
        assert!(bench.touch(k));
        assert_eq!((bench.cache.len(), bench.alive()), (1, 1));
    }
}

/// Writes down every call, and evicts the entry with the fewest hits.
struct Log(Arc<Mutex<Vec<String>>>);

impl EvictionPolicy for Log {
    fn victim(&mut self, occupancy: &Occupancy<'_>) -> Option<EntryId> {
        let Occupancy { entries, bytes, capacity, incoming } = occupancy;
        self.0.lock().unwrap().push(format!("victim of {} with {bytes} for {incoming}", entries.len()));
        let fewest = entries.iter().min_by_key(|e| (e.hits, e.id)).unwrap();
        (entries.len() >= *capacity).then_some(fewest.id)
    }

    fn inserted(&mut self, entry: &Usage) {
        self.0.lock().unwrap().push(format!("inserted {}", entry.bytes));
        assert_ne!(entry.bytes, 40, "a hook may panic");
    }

    fn removed(&mut self, entry: &Usage) {
        self.0.lock().unwrap().push(format!("removed {} after {} hits", entry.bytes, entry.hits));
        assert_ne!(entry.bytes, 10, "a hook may panic");
    }
}

#[test]
fn hooks_are_called_in_the_order_that_is_promised() {
    let log = Arc::<Mutex<Vec<String>>>::default();
    let bench = Bench::with(2, Box::new(Log(log.clone())));
    for k in [2, 1, 2, 3, 4] {
        bench.get_sized(k, k * 10).unwrap();
    }
    bench.cache.remove(key(2));
    bench.cache.clear();
    let expected = [
        "inserted 20",
        "victim of 1 with 20 for 10",
        "inserted 10",
        "victim of 2 with 30 for 30",
        "removed 10 after 0 hits",
        "victim of 1 with 20 for 30",
        "inserted 30",
        "victim of 2 with 50 for 40",
        "removed 30 after 0 hits",
        "victim of 1 with 20 for 40",
        "inserted 40",
        "removed 20 after 1 hits",
        "removed 40 after 0 hits",
    ];
    assert_eq!(*log.lock().unwrap(), expected);
}
