//! Random runs against a plain list.

use proptest::prelude::*;

use super::support::*;

#[derive(Clone, Debug)]
enum Step {
    Get(u64),
    Hold(u64),
    Release(usize),
    Remove(u64),
    Contains(u64),
    Clear,
}

fn step() -> impl Strategy<Value = Step> {
    let k = 0..40u64;
    prop_oneof![
        8 => k.clone().prop_map(Step::Get),
        4 => k.clone().prop_map(Step::Hold),
        4 => any::<usize>().prop_map(Step::Release),
        1 => k.clone().prop_map(Step::Remove),
        1 => k.prop_map(Step::Contains),
        1 => Just(Step::Clear),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// The entries are those of an LRU list; what is held stays readable whatever happens; all else is dropped at once.
    #[test]
    fn a_random_run_agrees_with_a_list(
        capacity in 1..30usize,
        collide in any::<bool>(),
        steps in proptest::collection::vec(step(), 1..200),
    ) {
        let bench = if collide { Bench::colliding(capacity) } else { Bench::new(capacity) };
        let mut model: Vec<u64> = Vec::new();
        let mut held = Vec::new();
        for step in steps {
            match step {
                Step::Get(k) | Step::Hold(k) => {
                    let pin = bench.get(k).unwrap();
                    prop_assert_eq!(pin.read(), k);
                    if matches!(step, Step::Hold(_)) {
                        held.push((k, pin));
                    }
                    let known = model.iter().position(|x| *x == k);
                    known.map(|i| model.remove(i));
                    if model.len() == capacity {
                        model.remove(0);
                    }
                    model.push(k);
                }
                Step::Release(i) if !held.is_empty() => drop(held.swap_remove(i % held.len())),
                Step::Release(_) => {}
                Step::Remove(k) => {
                    prop_assert_eq!(bench.cache.remove(key(k)), model.contains(&k));
                    model.retain(|x| *x != k);
                }
                Step::Contains(k) => prop_assert_eq!(bench.has(k), model.contains(&k)),
                Step::Clear => {
                    bench.cache.clear();
                    model.clear();
                }
            }
            prop_assert_eq!(&bench.by_recency(), &model);
            prop_assert!(held.iter().all(|(k, pin)| pin.read() == *k));
            let mut alive: Vec<*const Value> = held.iter().map(|(_, pin)| &raw const **pin).collect();
            alive.extend(model.iter().map(|&k| &raw const *bench.cache.find(key(k)).unwrap()));
            alive.sort();
            alive.dedup();
            prop_assert_eq!(bench.alive(), alive.len() as i64);
        }
    }
}
