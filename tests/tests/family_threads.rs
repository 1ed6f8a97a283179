//! Families under many threads.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Barrier, OnceLock};
use std::thread::scope;
use std::time::Duration;

use dispatch_runtime::engine::fake::{FakeEngine, Op};
use dispatch_runtime::prelude::*;
use dispatch_tests::{first, short, without_hanging};

const THREADS: usize = 8;

/// Gives `n` copies of its static argument.
#[dispatch_family(capacity = 4)]
fn filled(#[dynamic(dtype = f32, shape = [n])] a: Aval, #[static_arg] value: i64) -> Result<Program> {
    Program::host([a.clone()], [a], move |_| {
        Ok(vec![HostArray::new(vec![(1000 * n + value) as f32; n as usize], [n])?])
    })
}

/// Calls, and checks that the program is the one of this key.
fn check(family: &Filled, n: i64, value: i64) {
    let y = family.call(vec![0f32; n as usize], value).unwrap();
    assert_eq!(y.to_vec::<f32>().unwrap(), vec![(1000 * n + value) as f32; n as usize]);
}

#[test]
fn eight_threads_on_one_cold_key_compile_once() {
    without_hanging(|| {
        for colliding in [false, true] {
            let (client, state) = FakeEngine::client(1);
            let builder = Filled::builder(&client);
            let family = if colliding { builder.colliding_hashes() } else { builder }.build().unwrap();
            state.delay(Op::Compile, usize::MAX, Duration::from_millis(50));
            let start = Barrier::new(THREADS);
            scope(|s| {
                for _ in 0..THREADS {
                    s.spawn(|| {
                        start.wait();
                        check(&family, 3, 1);
                    });
                }
            });
            let stats = family.stats();
            assert_eq!((state.compiles(), stats.compiles, stats.entries), (1, 1, 1));
            assert_eq!(stats.hits + stats.misses, THREADS as u64);
            drop(family);
            state.assert_clean();
        }
    });
}

#[test]
fn other_keys_go_on_while_one_compiles() {
    without_hanging(|| {
        let (client, state) = FakeEngine::client(1);
        let family = Filled::new(&client);
        check(&family, 1, 0);
        state.close_gate(Op::Compile);
        scope(|s| {
            // Two different keys compile at the same time, and a compiled one is a hit meanwhile.
            s.spawn(|| check(&family, 2, 0));
            s.spawn(|| check(&family, 3, 0));
            state.await_at_gate(Op::Compile, 2);
            check(&family, 1, 0);
            assert_eq!(family.stats().hits, 1);
            state.open_gate(Op::Compile);
        });
        assert_eq!((state.peak_concurrent(Op::Compile), state.compiles()), (2, 3));
    });
}

#[test]
fn many_keys_from_many_threads_compile_once_each() {
    without_hanging(|| {
        let (client, state) = FakeEngine::client(1);
        let family = Filled::builder(&client).eviction(Unbounded).build().unwrap();
        let start = Barrier::new(THREADS);
        scope(|s| {
            for t in 0..THREADS as i64 {
                let (family, start) = (&family, &start);
                s.spawn(move || {
                    start.wait();
                    for i in 0..200 {
                        let key = (i * 7 + t * 3) % 50;
                        check(family, 1 + key % 5, key);
                    }
                });
            }
        });
        let stats = family.stats();
        assert_eq!((stats.compiles, state.compiles(), stats.entries), (50, 50, 50));
        assert_eq!(stats.hits + stats.misses, 200 * THREADS as u64);
        drop(family);
        state.assert_clean();
    });
}

#[test]
fn eviction_under_fire_never_frees_a_program_in_use() {
    without_hanging(|| {
        let (client, state) = FakeEngine::client(2);
        let family = Filled::builder(&client).capacity(2).build().unwrap();
        let devices: Vec<Device> = client.devices().collect();
        let rounds = if short() { 300 } else { 2000 };
        let start = Barrier::new(THREADS);
        scope(|s| {
            for t in 0..THREADS as u64 {
                let (family, start, devices) = (&family, &start, &devices);
                s.spawn(move || {
                    start.wait();
                    let mut random = t.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
                    for i in 0..rounds {
                        random ^= random << 13;
                        random ^= random >> 7;
                        random ^= random << 17;
                        let (n, value) = ((random % 3) as i64, (random >> 8) as i64 % 3);
                        let device = devices[(random >> 16) as usize % 2];
                        let x = client.array_on(&vec![0f32; n as usize], [n], device).unwrap();
                        let y = family.call(&x, value).unwrap();
                        assert_eq!(y.device(), device);
                        assert_eq!(y.to_vec::<f32>().unwrap(), vec![(1000 * n + value) as f32; n as usize]);
                        match i % 64 {
                            13 => family.clear(),
                            29 => drop(family.explain(&x, value).unwrap()),
                            _ => assert!(family.stats().entries <= 2),
                        }
                    }
                });
            }
        });
        let stats = family.stats();
        assert_eq!(stats.hits + stats.misses, THREADS as u64 * rounds);
        assert!(stats.evictions > 100, "{stats}");
        drop(family);
        state.assert_clean();
    });
}

#[test]
fn failures_under_fire_leave_nothing() {
    without_hanging(|| {
        let (client, state) = FakeEngine::client(1);
        let family = Filled::builder(&client).capacity(2).build().unwrap();
        let stop = AtomicBool::new(false);
        scope(|s| {
            for t in 0..4 {
                let (family, stop) = (&family, &stop);
                s.spawn(move || {
                    let mut i = t;
                    while !stop.load(SeqCst) {
                        i += 1;
                        match family.call(vec![0f32; 1 + i % 3], 0) {
                            Ok(y) => assert_eq!(y.to_vec::<f32>().unwrap()[0], 1000.0 * (1 + i % 3) as f32),
                            Err(error) => assert!(["pjrt", "panic"].contains(&error.code()), "{error}"),
                        }
                    }
                });
            }
            let rounds = if short() { 20 } else { 100 };
            let both = || state.failures(Op::Compile) > 0 && state.failures(Op::Execute) > 0;
            for i in 0.. {
                if i >= rounds && both() {
                    break;
                }
                match i % 3 {
                    0 => state.fail(Op::Compile, 2),
                    1 => state.panic(Op::Compile, 2),
                    _ => state.fail(Op::Execute, 2),
                }
                std::thread::sleep(Duration::from_millis(2));
            }
            stop.store(true, SeqCst);
        });
        drop(family);
        state.assert_clean();
    });
}

#[test]
fn a_family_may_be_dropped_by_another_thread_than_made_it() {
    let (client, state) = FakeEngine::client(1);
    let family = Filled::new(&client);
    check(&family, 1, 1);
    std::thread::spawn(move || {
        check(&family, 1, 1);
        check(&family, 2, 1);
        drop(family);
    })
    .join()
    .unwrap();
    state.assert_clean();
}

// --- cycles

static FIRST: OnceLock<Ping> = OnceLock::new();
static SECOND: OnceLock<Pong> = OnceLock::new();
static MEET: OnceLock<Barrier> = OnceLock::new();
static BODIES: AtomicUsize = AtomicUsize::new(0);

#[dispatch_family]
fn ping(#[dynamic(dtype = f32, shape = [n])] a: Aval) -> Result<Program> {
    if BODIES.fetch_add(1, SeqCst) < 2 {
        MEET.get().unwrap().wait();
    }
    SECOND.get().unwrap().call(vec![0f32; n as usize])?;
    first(&[a])
}

#[dispatch_family]
fn pong(#[dynamic(dtype = f32, shape = [n])] a: Aval) -> Result<Program> {
    if BODIES.fetch_add(1, SeqCst) < 2 {
        MEET.get().unwrap().wait();
    }
    if BODIES.load(SeqCst) < 100 {
        FIRST.get().unwrap().call(vec![0f32; n as usize])?;
    }
    first(&[a])
}

#[test]
fn two_families_that_wait_for_each_other_get_a_clear_error_and_no_hang() {
    without_hanging(|| {
        let client = Client::host();
        let ping = FIRST.get_or_init(|| Ping::new(&client));
        let pong = SECOND.get_or_init(|| Pong::new(&client));
        MEET.get_or_init(|| Barrier::new(2));
        let (a, b) = scope(|s| {
            let a = s.spawn(|| ping.call([1f32, 2.0]).map(|_| ()));
            let b = s.spawn(|| pong.call([1f32, 2.0]).map(|_| ()));
            (a.join().unwrap(), b.join().unwrap())
        });
        for error in [a.unwrap_err(), b.unwrap_err()] {
            assert_eq!(error.code(), "recursive");
            assert!(
                error.to_string().contains("is asked for the program that it is compiling at this moment")
            );
        }
        assert_eq!((ping.stats().entries, pong.stats().entries), (0, 0));
        // In one thread it is the same.
        assert_eq!(ping.call([1f32]).unwrap_err().code(), "recursive");
        // Once the cycle is broken, all is well.
        BODIES.store(100, SeqCst);
        ping.call([1f32, 2.0]).unwrap();
        pong.call([1f32, 2.0]).unwrap();
        assert_eq!((ping.stats().entries, pong.stats().entries), (1, 1));
    });
}

#[test]
fn threads_that_wait_for_each_others_other_keys_do_not_hang() {
    static OWN: OnceLock<Chain> = OnceLock::new();

    /// Each size asks for the one below.
    #[dispatch_family]
    fn chain(#[dynamic(dtype = f32, shape = [n])] a: Aval) -> Result<Program> {
        std::thread::sleep(Duration::from_millis(1));
        if n > 0 {
            OWN.get().unwrap().call(vec![0f32; n as usize - 1])?;
        }
        first(&[a])
    }
    without_hanging(|| {
        let family = OWN.get_or_init(|| Chain::new(&Client::host()));
        scope(|s| {
            for t in 0..THREADS {
                s.spawn(move || drop(family.call(vec![0f32; 12 - t]).unwrap()));
            }
        });
        assert_eq!((family.stats().compiles, family.stats().entries), (13, 13));
    });
}

/// A thread-local whose destructor calls a family, when this thread's spare room for long keys may be gone already.
#[test]
fn a_thread_that_ends_can_still_call_with_a_long_key() {
    #[dispatch_family]
    fn labelled(#[static_arg] label: String) -> Result<Program> {
        Program::host([], [Aval::new(DType::I64, [])], move |_| {
            Ok(vec![HostArray::new([label.len() as i64], [])?])
        })
    }
    type Job = Box<dyn FnOnce()>;
    struct AtEnd(std::cell::RefCell<Option<Job>>);
    impl Drop for AtEnd {
        fn drop(&mut self) {
            (self.0.take().expect("a job for the end"))();
        }
    }
    thread_local!(static AT_END: AtEnd = const { AtEnd(std::cell::RefCell::new(None)) });

    let family = std::sync::Arc::new(Labelled::new(&Client::host()));
    let label = "long ".repeat(200);
    family.call(label.clone()).unwrap();
    let (send, receive) = std::sync::mpsc::channel();
    let (there, name) = (family.clone(), label.clone());
    std::thread::spawn(move || {
        // Destructors run in the reverse order of first use: this one last, after those that the call registers.
        let at_end: Job = Box::new({
            let (there, name) = (there.clone(), name.clone());
            move || send.send(there.call(name).and_then(|y| y.to_vec::<i64>())).unwrap()
        });
        AT_END.with(|end| end.0.replace(Some(at_end)));
        there.call(name).unwrap();
    })
    .join()
    .unwrap();
    assert_eq!(receive.recv().unwrap().unwrap(), [label.len() as i64]);
    assert_eq!(family.stats().compiles, 1);
}
