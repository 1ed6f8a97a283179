//! Many threads.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Barrier, mpsc};
use std::thread;

use super::support::*;

#[test]
fn one_cold_key_is_built_once_by_eight_threads() {
    for round in 0..100 {
        let bench = if round % 2 == 0 { Bench::new(64) } else { Bench::colliding(64) };
        let start = Barrier::new(8);
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    start.wait();
                    (0..20).for_each(|k| assert_eq!(bench.get(k).unwrap().read(), k));
                });
            }
        });
        let stats = bench.cache.stats();
        assert_eq!((bench.built(), stats.compiles, stats.hits + stats.misses), (20, 20, 160));
    }
}

/// A thread that does what it is told.
struct Worker(mpsc::Sender<Box<dyn FnOnce() + Send>>);

impl Worker {
    fn new<'scope>(scope: &'scope thread::Scope<'scope, '_>) -> Worker {
        let (tell, told) = mpsc::channel::<Box<dyn FnOnce() + Send>>();
        scope.spawn(move || told.into_iter().for_each(|job| job()));
        Worker(tell)
    }

    /// Does the job and waits for its end.
    fn run(&self, job: impl FnOnce() + Send + 'static) {
        let (done, wait) = mpsc::channel();
        let job = move || {
            job();
            done.send(()).unwrap();
        };
        self.0.send(Box::new(job)).unwrap();
        wait.recv().unwrap();
    }
}

/// Calls in any order on several threads, one after the other: recency is exact.
#[test]
fn recency_is_exact_across_threads() {
    for capacity in [2, 5, 20] {
        let bench = Arc::new(Bench::new(capacity));
        let mut model: Vec<u64> = Vec::new();
        let mut random = Random(3 + capacity as u64);
        thread::scope(|scope| {
            let mut workers: Vec<_> = (0..3).map(|_| Worker::new(scope)).collect();
            for _ in 0..600 {
                let (k, times) = (random.below(30), 1 + random.below(50));
                let job = {
                    let bench = bench.clone();
                    move || (0..times).for_each(|_| bench.call(k))
                };
                match random.below(5) {
                    0 => job(),
                    1 => thread::scope(|scope| scope.spawn(job).join().unwrap()),
                    _ => workers[random.below(3) as usize].run(job),
                }
                if random.below(50) == 0 {
                    // A thread that ends leaves the others alone.
                    workers[random.below(3) as usize] = Worker::new(scope);
                }
                model.retain(|x| *x != k);
                model.push(k);
                if model.len() > capacity {
                    model.remove(0);
                }
                assert_eq!(bench.by_recency(), model);
            }
        });
    }
}

#[test]
fn one_late_hit_counts_more_than_a_thousand_early_ones() {
    for early_is_alone in [false, true] {
        let bench = Bench::new(2);
        thread::scope(|scope| {
            let idle = mpsc::channel::<()>();
            if !early_is_alone {
                let bench = &bench;
                let (ready, wait) = mpsc::channel();
                scope.spawn(move || {
                    bench.cache.find(key(9));
                    ready.send(()).unwrap();
                    idle.1.recv().ok()
                });
                wait.recv().unwrap();
            }
            bench.touch(2);
            (0..1000).for_each(|_| bench.call(1));
            scope.spawn(|| assert!(!bench.touch(2))).join().unwrap();
            bench.touch(3);
            assert!(!bench.has(1) && bench.has(2));
            drop(idle.0);
        });
    }
}

#[test]
fn a_thread_that_only_builds_needs_no_slots_and_what_it_uses_is_recent() {
    let bench = Bench::new(2);
    for k in 0..20 {
        bench.touch(100);
        let build = || {
            bench.cache.get_or_build(key(k), || described(k), || Ok(Value::new(k, &bench.ledger))).map(drop)
        };
        thread::scope(|scope| scope.spawn(build).join().unwrap().unwrap());
        assert_eq!(bench.cache.entries()[0].key, described(k));
        bench.call(100);
        assert_eq!(bench.cache.entries()[0].key, described(100));
        thread::scope(|scope| scope.spawn(build).join().unwrap().unwrap());
        assert_eq!(bench.cache.entries()[0].key, described(k));
        bench.call(100);
        assert_eq!(bench.cache.entries()[0].key, described(100));
        assert!(!bench.touch(k));
        assert_eq!(bench.blocks(), 1);
    }
}

#[test]
fn hits_of_all_threads_are_counted_also_of_those_that_have_ended() {
    let bench = Bench::new(4);
    bench.touch(1);
    for _ in 0..20 {
        thread::scope(|scope| {
            (0..3).for_each(|_| drop(scope.spawn(|| (0..100).for_each(|_| bench.call(1)))));
        });
    }
    let stats = bench.cache.stats();
    assert_eq!((stats.hits, stats.misses, bench.cache.entries()[0].hits), (6000, 1, 6000));
}

#[test]
fn threads_that_come_and_go_leave_nothing() {
    let bench = Bench::new(4);
    for k in 0..500 {
        // Joined, because a scope does not wait for the thread-locals of its threads.
        thread::scope(|scope| scope.spawn(|| bench.call(k % 6)).join().unwrap());
        assert_eq!(bench.blocks(), 1);
    }
    assert_eq!((bench.retired(), bench.alive()), (0, 4));
}

/// Calls, evictions, removals, and threads that come and go, all at once.
fn under_fire(calls: u64) {
    for capacity in [1, 2, 4, 20] {
        let bench = Bench::new(capacity);
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            let callers: Vec<_> = (0..4)
                .map(|t| {
                    let bench = &bench;
                    scope.spawn(move || {
                        let mut random = Random(99 + t);
                        let mut done = 0;
                        while done < calls {
                            let k = random.below(30);
                            let held = (random.below(4) == 0).then(|| bench.get(random.below(30)).unwrap());
                            for _ in 0..=random.below(40) {
                                assert_eq!(bench.get(k).unwrap().read(), k);
                                done += 1;
                            }
                            held.inspect(|pin| assert!(pin.read() < 30));
                        }
                    })
                })
                .collect();
            scope.spawn(|| {
                let mut random = Random(5);
                while !stop.load(Relaxed) {
                    thread::scope(|scope| {
                        drop(
                            scope.spawn(|| (0..6).for_each(|k| assert_eq!(bench.get(k).unwrap().read(), k))),
                        );
                    });
                    match random.below(8) {
                        0 => bench.cache.clear(),
                        _ => drop(bench.cache.remove(key(random.below(30)))),
                    }
                    assert!(bench.cache.len() <= capacity);
                }
            });
            callers.into_iter().for_each(|caller| caller.join().unwrap());
            stop.store(true, Relaxed);
        });
        assert_eq!((bench.retired(), bench.alive()), (0, bench.cache.len() as i64));
        let stats = bench.cache.stats();
        assert_eq!(stats.compiles as i64, bench.built());
        assert_eq!(bench.cache.entries().iter().map(|e| e.bytes).sum::<u64>(), stats.bytes);
        bench.cache.clear();
        assert_eq!(bench.alive(), 0);
    }
}

#[test]
fn entries_are_right_and_alive_under_fire() {
    under_fire(10_000);
}

/// The same on a system without `membarrier`, in a process of its own.
#[test]
fn entries_are_right_and_alive_under_fire_without_membarrier() {
    let test = "cache::tests::threads::entries_are_right_and_alive_under_fire";
    let output = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env("DISPATCH_TEST_WITHOUT_MEMBARRIER", "1")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && text.contains("1 passed"),
        "{text}{}",
        String::from_utf8_lossy(&output.stderr)
    );
}
