//! One thread.

use super::support::*;
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
            let listed: Vec<_> = bench.cache.entries().iter().map(|e| e.key[0].value.clone()).collect();
            assert_eq!(listed, model.iter().rev().map(u64::to_string).collect::<Vec<_>>());
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
