//! Builds that fail, panic, nest, and wait for each other.

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Barrier, Mutex};
use std::thread;

use super::support::*;
use crate::cache::*;
use crate::{Error, Result};

fn failure(reason: &str) -> Error {
    Error::InvalidProgram { reason: reason.into() }
}

impl Bench {
    fn build(&self, k: u64, build: impl FnOnce() -> Result<()>) -> Result<Pin<'_, Value>> {
        self.cache.get_or_build(key(k), || described(k), || build().map(|()| Value::new(k, &self.ledger)))
    }

    /// Waits until so many calls have missed. Each has then found the build in progress, or is the one that builds.
    fn await_misses(&self, n: u64) {
        while self.cache.stats().misses < n {
            thread::yield_now();
        }
    }
}

#[test]
fn a_failed_build_leaves_nothing_and_is_tried_again() {
    let bench = Bench::new(2);
    for i in 0..1000 {
        let error = bench.build(1, || Err(failure(&i.to_string()))).err().unwrap();
        assert_eq!(error.to_string(), format!("invalid program: {i}"));
        assert_eq!((bench.cache.len(), bench.has(1)), (0, false));
    }
    assert!(bench.touch(1));
    let stats = bench.cache.stats();
    assert_eq!((stats.misses, stats.compiles), (1001, 1));
}

#[test]
fn a_panicking_build_is_an_error_with_its_text() {
    let bench = Bench::new(2);
    let plain = || panic!("plain");
    let formatted = || panic!("with {}", 5);
    let other = || std::panic::panic_any(7);
    let builds: [(&dyn Fn() -> Result<()>, _); 3] =
        [(&plain, "plain"), (&formatted, "with 5"), (&other, "a value that is no text")];
    for (build, text) in builds {
        let error = bench.build(1, build).err().unwrap();
        assert_eq!(error.to_string(), format!("the body of family `bench` panicked: {text}"));
    }
    let error =
        bench.cache.get_or_build(key(1), || panic!("words"), || Ok(Value::new(1, &bench.ledger))).err();
    assert_eq!(error.unwrap().code(), "panic");
    assert_eq!((bench.cache.len(), bench.alive()), (0, 0));
    assert!(bench.touch(1));
}

#[test]
fn every_waiter_gets_the_error_of_the_one_build() {
    for panics in [false, true] {
        let bench = Bench::new(2);
        let builds = AtomicUsize::new(0);
        let call = || {
            let build = || {
                builds.fetch_add(1, SeqCst);
                bench.await_misses(8);
                if panics { panic!("no luck") } else { Err(failure("no luck")) }
            };
            bench.build(1, build).err().unwrap().to_string()
        };
        let errors: Vec<_> = thread::scope(|scope| {
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(call)).collect();
            threads.into_iter().map(|t| t.join().unwrap()).collect()
        });
        let expected =
            if panics { "the body of family `bench` panicked: no luck" } else { "invalid program: no luck" };
        assert!(errors.iter().all(|e| e == expected), "{errors:?}");
        assert_eq!((builds.load(SeqCst), bench.cache.len()), (1, 0));
        assert!(bench.touch(1));
    }
}

#[test]
fn other_keys_go_on_while_one_is_built() {
    let bench = Bench::new(4);
    let started = Barrier::new(2);
    let done = Barrier::new(2);
    thread::scope(|scope| {
        scope.spawn(|| {
            let build = || {
                started.wait();
                done.wait();
                Ok(())
            };
            assert_eq!(bench.build(1, build).unwrap().read(), 1);
        });
        started.wait();
        assert!(bench.touch(2) && !bench.touch(2) && !bench.has(1));
        assert_eq!(bench.cache.stats().entries, 1);
        done.wait();
    });
    assert!(!bench.touch(1));
}

#[test]
fn a_build_may_use_other_keys_and_evict_them() {
    let bench = Bench::new(1);
    let pin = bench.build(1, || {
        for k in 10..40 {
            assert!(bench.touch(k));
            assert!(bench.cache.len() <= 1);
        }
        let nested = bench.build(2, || bench.get(3).map(|pin| assert_eq!(pin.read(), 3)))?;
        assert_eq!(nested.read(), 2);
        Ok(())
    });
    assert_eq!((pin.unwrap().read(), bench.cache.len(), bench.alive()), (1, 1, 1));
}

#[test]
fn a_build_that_asks_for_its_own_key_is_an_error() {
    let bench = Bench::new(4);
    let error = bench.build(1, || bench.get(1).map(drop)).err().unwrap();
    let text = "family `bench` is asked for the program that it is compiling at this moment: k = 1";
    assert_eq!(error.to_string(), text);
    assert!(bench.touch(1));
    bench.cache.clear();

    // Two caches: the first one's build asks the second one, whose build asks the first one.
    let other = Bench::new(4);
    let error = bench.build(1, || other.build(1, || bench.get(1).map(drop)).map(drop)).err().unwrap();
    assert_eq!(error.to_string(), text);
    assert_eq!((bench.alive(), other.alive()), (0, 0));
    assert!(bench.touch(1) && other.touch(1));
}

#[test]
fn a_build_that_recovers_from_asking_for_its_own_key_succeeds() {
    let bench = Bench::new(4);
    let pin = bench.build(1, || {
        assert!(matches!(bench.get(1), Err(Error::Recursive { .. })));
        Ok(())
    });
    assert_eq!(pin.unwrap().read(), 1);
}

/// Thread i builds key i of its own cache, and then asks for the next thread's.
#[test]
fn a_circle_of_builds_over_threads_is_an_error_and_no_deadlock() {
    for n in [2, 3, 5] {
        for _ in 0..20 {
            let benches: Vec<_> = (0..n).map(|_| Bench::new(4)).collect();
            let all_build = Barrier::new(n);
            let outcomes: Vec<_> = thread::scope(|scope| {
                let (benches, all_build) = (&benches, &all_build);
                let run = |i: usize| {
                    move || {
                        let build = || {
                            all_build.wait();
                            benches[(i + 1) % n].get(1).map(drop)
                        };
                        benches[i].build(1, build).map(drop)
                    }
                };
                let threads: Vec<_> = (0..n).map(|i| scope.spawn(run(i))).collect();
                threads.into_iter().map(|t| t.join().unwrap()).collect()
            });
            // One closed the circle; its error went to the one that waited for it, and so on around.
            assert!(outcomes.iter().all(|o| matches!(o, Err(Error::Recursive { .. }))), "{outcomes:?}");
            assert!(benches.iter().all(|bench| bench.alive() == 0 && bench.touch(1)));
        }
    }
}

/// Builds that depend on each other without a circle, under threads that ask for all of them in any order.
#[test]
fn builds_that_depend_on_others_never_fail() {
    for seed in 1..50 {
        let bench = Bench::new(64);
        thread::scope(|scope| {
            for t in 0..4 {
                let bench = &bench;
                scope.spawn(move || {
                    fn get(bench: &Bench, k: u64) -> Result<()> {
                        if bench.cache.find(key(k)).is_some() {
                            return Ok(());
                        }
                        let build = || {
                            if k < 2 { Ok(()) } else { get(bench, k - 1).and_then(|()| get(bench, k / 2)) }
                        };
                        bench.build(k, build).map(|pin| assert_eq!(pin.read(), k))
                    }
                    let mut random = Random(seed * 4 + t + 1);
                    (0..10).for_each(|_| get(bench, random.below(30)).unwrap());
                });
            }
        });
        assert_eq!(bench.built(), bench.cache.len() as i64);
    }
}

#[test]
fn a_clear_during_a_build_keeps_nothing_from_its_waiters() {
    let bench = Bench::new(4);
    thread::scope(|scope| {
        let waiter = scope.spawn(|| {
            bench.await_misses(1);
            bench.build(1, || panic!("it is being built")).unwrap().read()
        });
        let pin = bench.build(1, || {
            bench.await_misses(2);
            bench.cache.clear();
            assert!(!bench.cache.remove(key(1)));
            Ok(())
        });
        assert_eq!((pin.unwrap().read(), waiter.join().unwrap()), (1, 1));
    });
    assert!(!bench.touch(1));
}

#[test]
fn waiters_get_the_entry_even_if_it_is_evicted_at_once() {
    for _ in 0..50 {
        let bench = Bench::new(1);
        let evict = |_: &Pin<'_, Value>| assert!(bench.touch(2));
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    bench.await_misses(1);
                    assert_eq!(bench.build(1, || Ok(())).unwrap().read(), 1);
                });
            }
            let pin = bench.build(1, || {
                bench.await_misses(4);
                Ok(())
            });
            evict(&pin.unwrap());
        });
        assert_eq!(bench.alive(), bench.cache.len() as i64);
    }
}

/// A panic whose payload is a nuisance when dropped: it uses the cache.
#[test]
fn the_payload_of_a_panic_is_dropped_outside_the_lock() {
    struct Payload(Arc<Mutex<Vec<u64>>>, Arc<Bench>);
    impl Drop for Payload {
        fn drop(&mut self) {
            assert!(!self.1.has(1));
            self.0.lock().unwrap().push(1);
        }
    }
    let (log, bench) = (Arc::default(), Arc::new(Bench::new(2)));
    let payload = Payload(Arc::clone(&log), bench.clone());
    assert!(bench.build(1, || std::panic::panic_any(payload)).is_err());
    assert_eq!(*log.lock().unwrap(), [1]);
}
