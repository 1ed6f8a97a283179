//! Dynamic skeletons with policies of their users', and with builds that fail, while threads ask, remove and clear.

mod plugin;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Barrier, Mutex, OnceLock};
use std::time::Duration;

use dispatch_runtime::cache::{EntryId, Occupancy, Usage};
use dispatch_runtime::prelude::*;
use dispatch_runtime::skeleton::{DynamicSkeleton, Skeleton, SkeletonSlot};
use dispatch_tests::without_hanging;

fn client() -> Client {
    static CLIENT: OnceLock<Client> = OnceLock::new();
    *CLIENT.get_or_init(|| Client::cpu().unwrap())
}

fn f32s(n: usize) -> Array {
    client().array(&vec![1f32; n], [n as i64]).unwrap()
}

/// `2 * inputs[0]`.
fn twice(inputs: &[Aval]) -> Result<Skeleton> {
    let x = SkeletonSlot::of(&inputs[0]).named("x");
    (&x * 2).into_skeleton(&client(), &[&x])
}

/// Writes down how it is called, and does what `choose` says.
struct Spy<C> {
    log: Arc<Mutex<Vec<String>>>,
    /// The entries, in the order in which they came, numbered from 1.
    known: Vec<EntryId>,
    choose: C,
}

impl<C> Spy<C> {
    fn new(choose: C) -> (Spy<C>, Arc<Mutex<Vec<String>>>) {
        let log = Arc::default();
        (Spy { log: Arc::clone(&log), known: Vec::new(), choose }, log)
    }

    fn number(&self, id: EntryId) -> usize {
        self.known.iter().position(|&known| known == id).expect("it came in") + 1
    }

    fn say(&self, what: String) {
        self.log.lock().unwrap().push(what);
    }
}

impl<C: FnMut(&Occupancy<'_>) -> Option<EntryId> + Send + 'static> EvictionPolicy for Spy<C> {
    fn victim(&mut self, occupancy: &Occupancy<'_>) -> Option<EntryId> {
        let victim = (self.choose)(occupancy);
        let name = victim.map_or("none".into(), |id| self.number(id).to_string());
        self.say(format!("victim of {}: {name}", occupancy.entries.len()));
        victim
    }

    fn inserted(&mut self, entry: &Usage) {
        self.known.push(entry.id);
        self.say(format!("inserted {}", self.number(entry.id)));
    }

    fn removed(&mut self, entry: &Usage) {
        self.say(format!("removed {}", self.number(entry.id)));
    }
}

fn drain(log: &Mutex<Vec<String>>) -> Vec<String> {
    std::mem::take(&mut log.lock().unwrap())
}

#[test]
fn the_hooks_are_called_in_the_documented_order() {
    let (spy, log) = Spy::new(|occupancy: &Occupancy<'_>| {
        (occupancy.entries.len() >= occupancy.capacity).then(|| occupancy.least_recent())?
    });
    let dynamic = DynamicSkeleton::with_policy(&client(), 2, spy, twice).unwrap();
    let [a, b, c] = [1, 2, 3].map(f32s);
    dynamic.run(&[&a]).unwrap();
    assert_eq!(drain(&log), ["inserted 1"], "nobody to evict");
    dynamic.run(&[&b]).unwrap();
    assert_eq!(drain(&log), ["victim of 1: none", "inserted 2"]);
    // Hits, and questions, say nothing.
    dynamic.run(&[&a]).unwrap();
    assert!(dynamic.contains(&[&b]) && drain(&log).is_empty());
    dynamic.run(&[&c]).unwrap();
    assert_eq!(drain(&log), ["victim of 2: 2", "removed 2", "victim of 1: none", "inserted 3"]);
    assert!(dynamic.remove(&[&a]) && !dynamic.remove(&[&a]));
    assert_eq!(drain(&log), ["removed 1"]);
    dynamic.clear();
    assert_eq!(drain(&log), ["removed 3"]);
    // A build that fails is no insertion.
    dynamic.run(&[&f32s(4), &f32s(4)]).err().unwrap();
    assert!(drain(&log).is_empty());
}

#[test]
fn a_policy_that_never_evicts_lets_the_cache_grow() {
    let (spy, _) = Spy::new(|_: &Occupancy<'_>| None);
    let dynamic = DynamicSkeleton::with_policy(&client(), 1, spy, twice).unwrap();
    for n in 1..=4 {
        dynamic.run(&[&f32s(n)]).unwrap();
    }
    assert_eq!((dynamic.len(), dynamic.stats().evictions), (4, 0));
}

#[test]
fn a_policy_that_evicts_all_leaves_the_new_entry() {
    let (spy, _) = Spy::new(|occupancy: &Occupancy<'_>| Some(occupancy.entries[0].id));
    let dynamic = DynamicSkeleton::with_policy(&client(), 8, spy, twice).unwrap();
    for n in 1..=4 {
        let y = dynamic.run(&[&f32s(n)]).unwrap();
        assert_eq!(y.to_vec::<f32>().unwrap(), vec![2.0; n]);
        assert_eq!(dynamic.len(), 1);
    }
    assert_eq!(dynamic.stats().evictions, 3);
}

/// Panics wherever it is called, once it is told to.
struct Bomb(Arc<AtomicBool>);

impl Bomb {
    fn tick(&self) {
        assert!(!self.0.load(Relaxed), "a policy that panics");
    }
}

impl EvictionPolicy for Bomb {
    fn victim(&mut self, occupancy: &Occupancy<'_>) -> Option<EntryId> {
        self.tick();
        Lru.victim(occupancy)
    }

    fn inserted(&mut self, _: &Usage) {
        self.tick();
    }

    fn removed(&mut self, _: &Usage) {
        self.tick();
    }
}

#[test]
fn a_policy_that_panics_in_every_hook_poisons_nothing() {
    let lit = Arc::new(AtomicBool::new(true));
    let dynamic = DynamicSkeleton::with_policy(&client(), 2, Bomb(lit.clone()), twice).unwrap();
    let check = |n: usize| {
        assert_eq!(dynamic.run(&[&f32s(n)]).unwrap().to_vec::<f32>().unwrap(), vec![2.0; n]);
    };
    [1, 2, 3, 1].into_iter().for_each(check);
    assert_eq!(dynamic.len(), 2, "the least recently used goes instead");
    assert!(dynamic.contains(&[&f32s(3)]) && dynamic.contains(&[&f32s(1)]));
    assert!(dynamic.remove(&[&f32s(3)]));
    dynamic.clear();
    assert!(dynamic.is_empty());
    // It is asked again later.
    lit.store(false, Relaxed);
    [1, 2, 1, 3].into_iter().for_each(check);
    assert!(dynamic.contains(&[&f32s(1)]) && !dynamic.contains(&[&f32s(2)]));
}

#[test]
fn everybody_who_waits_for_a_build_that_fails_gets_its_error() {
    without_hanging(|| {
        for panics in [false, true] {
            let builds = AtomicUsize::new(0);
            let dynamic = DynamicSkeleton::new(&client(), 8, |inputs: &[Aval]| {
                if builds.fetch_add(1, Relaxed) > 0 {
                    return twice(inputs);
                }
                std::thread::sleep(Duration::from_millis(100));
                assert!(!panics, "it does not work");
                Err(Error::InvalidProgram { reason: "it does not work".into() })
            })
            .unwrap();
            let start = Barrier::new(4);
            let failed: usize = std::thread::scope(|scope| {
                let ask = || {
                    start.wait();
                    match dynamic.run(&[&f32s(2)]) {
                        Ok(y) => assert_eq!(y.to_vec::<f32>().unwrap(), [2.0, 2.0]),
                        Err(error) => {
                            assert_eq!(error.code(), if panics { "panic" } else { "invalid_program" });
                            assert!(error.to_string().ends_with("it does not work"), "{error}");
                            return 1;
                        }
                    }
                    0
                };
                let threads: Vec<_> = (0..4).map(|_| scope.spawn(ask)).collect();
                threads.into_iter().map(|thread| thread.join().unwrap()).sum()
            });
            // Who came late enough tries again; the first one did not.
            assert!(failed >= 1);
            assert_eq!(dynamic.run(&[&f32s(2)]).unwrap().to_vec::<f32>().unwrap(), [2.0, 2.0]);
            assert_eq!(dynamic.len(), 1);
        }
    });
}

#[test]
fn threads_run_while_others_remove_and_clear() {
    without_hanging(|| {
        let builds = AtomicUsize::new(0);
        let dynamic = DynamicSkeleton::new(&client(), 2, |inputs: &[Aval]| {
            builds.fetch_add(1, Relaxed);
            twice(inputs)
        })
        .unwrap();
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let runners: Vec<_> = (0..2)
                .map(|thread| {
                    let dynamic = &dynamic;
                    scope.spawn(move || {
                        for i in 0..40 {
                            let n = 1 + (i + thread) % 3;
                            let y = dynamic.run(&[&f32s(n)]).unwrap();
                            assert_eq!(y.to_vec::<f32>().unwrap(), vec![2.0; n]);
                        }
                    })
                })
                .collect();
            scope.spawn(|| {
                let mut i = 0;
                while !done.load(Relaxed) {
                    i += 1;
                    match i % 4 {
                        0 => dynamic.clear(),
                        n => drop(dynamic.remove(&[Aval::new(DType::F32, [n as i64])])),
                    }
                    assert!(dynamic.len() <= 2);
                    std::thread::sleep(Duration::from_millis(5));
                }
            });
            runners.into_iter().for_each(|runner| runner.join().unwrap());
            done.store(true, Relaxed);
        });
        assert_eq!(dynamic.stats().compiles as usize, builds.load(Relaxed));
        dynamic.clear();
        assert!(dynamic.is_empty());
    });
}

#[test]
fn a_skeleton_that_is_removed_while_it_is_built_serves_who_waits() {
    without_hanging(|| {
        let building = Barrier::new(2);
        let removed = Barrier::new(2);
        let dynamic = DynamicSkeleton::new(&client(), 2, |inputs: &[Aval]| {
            if inputs[0].len() == 5 {
                building.wait();
                removed.wait();
            }
            twice(inputs)
        })
        .unwrap();
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| dynamic.run(&[&f32s(5)]).unwrap().to_vec::<f32>().unwrap());
            building.wait();
            assert!(!dynamic.remove(&[&f32s(5)]), "it is not there yet");
            dynamic.clear();
            // Other layouts go on meanwhile.
            assert_eq!(dynamic.run(&[&f32s(2)]).unwrap().to_vec::<f32>().unwrap(), [2.0, 2.0]);
            removed.wait();
            assert_eq!(waits.join().unwrap(), [2.0; 5]);
        });
    });
}
