//! One thread.

use super::support::*;
use crate::Error;
use crate::cache::*;

/// Checks a long random run against a list in order of recency.
fn exact_against_a_model(make: impl Fn(usize) -> Bench) {
    let mut random = Random(88_172_645_463_325_252);
    for capacity in [1usize, 2, 3, 5, 8, 17, 40] {
        for keys in [2u64, 6, 20, 90] {
            let bench = make(capacity);
            let mut model: Vec<u64> = Vec::new();
            let mut hits = 0;
            for step in 0..2000 {
                let k = random.below(keys);
                let at = model.iter().position(|x| *x == k);
                assert_eq!(bench.touch(k), at.is_none(), "capacity {capacity}, {keys} keys, step {step}");
                match at {
                    Some(i) => {
                        model.remove(i);
                        hits += 1;
                    }
                    None if model.len() == capacity => {
                        let victim = model.remove(0);
                        assert!(!bench.has(victim));
                    }
                    None => {}
                }
                model.push(k);
                assert_eq!(bench.cache.len(), model.len());
                assert_eq!((bench.retired(), bench.alive()), (0, model.len() as i64));
                assert!(model.iter().all(|&k| bench.has(k)));
            }
            assert_eq!(bench.by_recency(), model);
            let stats = bench.cache.stats();
            assert_eq!((stats.hits, stats.misses), (hits, 2000 - hits));
            assert_eq!(stats.compiles - stats.evictions, stats.entries);
        }
    }
}

#[test]
fn lru_is_exact() {
    exact_against_a_model(Bench::new);
}

#[test]
fn lru_is_exact_when_all_hashes_collide() {
    exact_against_a_model(Bench::colliding);
}

#[test]
fn capacity_zero_is_an_error() {
    let error = Cache::<Value>::new("bench", 0, Box::new(Lru)).err().unwrap();
    assert_eq!(error.to_string(), "option `capacity`: expected at least 1, got 0");
    assert!(matches!(error, Error::Option { option: "capacity", .. }));
}

#[test]
fn each_look_up_is_a_hit_or_a_miss() {
    let bench = Bench::new(2);
    assert!(bench.cache.find(key(1)).is_none());
    assert_eq!(bench.cache.stats(), Stats::default());
    assert!(bench.touch(1));
    assert!(!bench.touch(1));
    let built_again =
        bench.cache.get_or_build(key(1), || described(1), || panic!("it is there")).map(|pin| pin.read());
    assert_eq!(built_again.unwrap(), 1);
    assert!(bench.touch(2) && bench.touch(3));
    let stats = bench.cache.stats();
    let expected = Stats { hits: 2, misses: 3, compiles: 3, loads: 0, evictions: 1, entries: 2, bytes: 2 };
    assert_eq!(stats, expected);
    assert_eq!(stats.to_string(), "2 hits, 3 misses, 3 compiles, 1 evictions; 2 entries of 2 bytes");
}

#[test]
fn contains_changes_nothing() {
    let bench = Bench::new(2);
    bench.touch(1);
    bench.touch(2);
    let before = bench.cache.stats();
    for _ in 0..10 {
        assert!(bench.has(1) && !bench.has(3));
    }
    assert_eq!(bench.cache.stats(), before);
    bench.touch(3);
    assert!(!bench.has(1) && bench.has(2));
}

#[test]
fn entries_are_listed_by_recency_with_their_hits() {
    let bench = Bench::new(8);
    for k in [1, 2, 3, 1, 1, 2] {
        bench.touch(k);
    }
    let list: Vec<_> = bench.cache.entries().into_iter().map(|e| (e.key[0].to_string(), e.hits)).collect();
    assert_eq!(list, [("k = 2".to_string(), 1), ("k = 1".to_string(), 2), ("k = 3".to_string(), 0)]);
}

#[test]
fn keys_of_any_length_are_told_apart() {
    let bench = Bench::new(64);
    let lengths = [0, 1, 2, 63, 64, 65, 200, 1000];
    for round in 0..3 {
        for n in lengths {
            for last in 0..2 {
                let encode = move |sink: &mut Sink<'_>| {
                    (0..n).for_each(|i| sink.word(if i + 1 == n { last } else { 7 }))
                };
                let id = if n == 0 { 0 } else { n * 2 + last };
                let build = || Ok(Value::new(id, &bench.ledger));
                let found = bench.cache.find(encode);
                assert_eq!(found.is_some(), round > 0 || n == 0 && last == 1);
                let pin = found.unwrap_or_else(|| bench.cache.get_or_build(encode, Vec::new, build).unwrap());
                assert_eq!(pin.read(), id);
            }
        }
    }
}

#[test]
fn more_keys_than_slots_may_be_pinned_at_once() {
    for bench in [Bench::new(100), Bench::colliding(100)] {
        let pins: Vec<_> = (0..50).map(|k| bench.get(k).unwrap()).collect();
        let again: Vec<_> = (0..50).map(|k| bench.get(k).unwrap()).collect();
        bench.cache.clear();
        assert_eq!((bench.cache.len(), bench.alive()), (0, 50));
        for (k, (pin, again)) in pins.iter().zip(&again).enumerate() {
            assert_eq!((pin.read(), again.read()), (k as u64, k as u64));
        }
        drop(pins);
        assert_eq!(bench.alive(), 50);
        assert!(again.iter().enumerate().all(|(k, pin)| pin.read() == k as u64));
        drop(again);
        assert_eq!((bench.alive(), bench.retired()), (0, 0));
    }
}

#[test]
fn an_entry_evicted_in_use_stays_until_its_last_pin_goes() {
    let bench = Bench::new(1);
    let first = bench.get(1).unwrap();
    let second = bench.get(1).unwrap();
    assert!(bench.touch(2) && bench.touch(3));
    assert_eq!((first.read(), bench.alive(), bench.cache.len()), (1, 2, 1));
    drop(first);
    assert_eq!((second.read(), bench.alive()), (1, 2));
    drop(second);
    assert_eq!(bench.alive(), 1);
    assert!(bench.touch(1));
}

#[test]
fn an_entry_removed_in_use_is_built_anew_beside_the_old_one() {
    let bench = Bench::new(4);
    let old = bench.get(1).unwrap();
    assert!(bench.cache.remove(key(1)) && !bench.cache.remove(key(1)));
    let new = bench.get(1).unwrap();
    assert_eq!((old.read(), new.read(), bench.built(), bench.cache.len()), (1, 1, 2, 1));
    assert!(!std::ptr::eq(&*old, &*new));
    drop(old);
    assert_eq!(bench.alive(), 1);
}

#[test]
fn removed_and_cleared_entries_are_no_evictions() {
    let bench = Bench::new(4);
    (0..4).for_each(|k| assert!(bench.touch(k)));
    bench.cache.remove(key(2));
    bench.cache.clear();
    assert_eq!((bench.alive(), bench.cache.is_empty()), (0, true));
    let stats = bench.cache.stats();
    assert_eq!((stats.evictions, stats.compiles, stats.entries, stats.bytes), (0, 4, 0, 0));
    assert!(bench.touch(2));
}
