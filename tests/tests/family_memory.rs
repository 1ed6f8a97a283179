//! What long use leaves behind: nothing.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use dispatch_runtime::engine::fake::{FakeEngine, NoopEngine, Op};
use dispatch_runtime::prelude::*;
use dispatch_tests::{array, first, resident_kib, short, zeros};

/// Memory is the process's: one test at a time.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Fails if the memory grows by more than this many KiB from the tenth part of the repetitions on.
#[track_caller]
fn flat(repetitions: usize, kib: u64, mut what: impl FnMut(usize)) {
    let early = repetitions / 10;
    (0..early).for_each(&mut what);
    let before = resident_kib();
    (early..repetitions).for_each(&mut what);
    let after = resident_kib();
    assert!(after <= before + kib, "{before} KiB after {early} repetitions, {after} KiB after {repetitions}");
}

#[test]
fn two_hundred_shapes_through_two_places_keep_two_programs() {
    let _alone = alone();
    static LIVE: Mutex<Option<Arc<()>>> = Mutex::new(None);

    /// Each program holds a megabyte, and a count.
    #[dispatch_family(capacity = 2)]
    fn heavy(#[dynamic(dtype = f32, shape = [n])] a: Aval) -> Result<Program> {
        let (data, live) = (vec![n as u8; 1 << 20], LIVE.lock().unwrap().clone());
        Program::host([a.clone()], [a], move |args| {
            assert!(live.is_some() && data[7] == args[0].len() as u8);
            Ok(vec![HostArray::from_view(args[0])])
        })
    }
    let live = Arc::new(());
    *LIVE.lock().unwrap() = Some(live.clone());
    let (client, state) = FakeEngine::client(1);
    let family = Heavy::new(&client);
    let before = resident_kib();
    for round in 0..2 {
        for n in 0..200u64 {
            for _ in 0..2 {
                family.call(array(client, DType::F32, &[n as i64])).unwrap();
            }
            let expected = if round == 0 { (n + 1).min(2) } else { 2 };
            assert_eq!((family.stats().entries, state.live_executables() as u64), (expected, expected));
            // Ours, that in the static, and those of the programs.
            assert_eq!(Arc::strong_count(&live) as u64, 2 + expected);
        }
    }
    let stats = family.stats();
    assert_eq!((stats.compiles, stats.hits, stats.evictions), (400, 400, 398));
    let after = resident_kib();
    assert!(after < before + 20 * 1024, "{before} KiB before, {after} KiB after");
    drop(family);
    assert_eq!(Arc::strong_count(&live), 2);
    state.assert_clean();
}

#[test]
fn failing_compiles_leak_nothing() {
    let _alone = alone();

    #[dispatch_family]
    fn failing(#[dynamic(dtype = f32, shape = [n])] a: Aval, #[static_arg] name: String) -> Result<Program> {
        let _ = (a, name);
        Err(Error::InvalidProgram { reason: "x".repeat(100 + n as usize) })
    }
    #[dispatch_family]
    fn wrong(#[dynamic(dtype = f32, shape = [n])] a: Aval) -> Result<Program> {
        zeros(&[a], &[])
    }
    #[dispatch_family]
    fn uncompiled(#[dynamic(dtype = f32, shape = [n])] a: Aval) -> Result<Program> {
        first(&[a])
    }
    let repetitions = if short() { 10_000 } else { 100_000 };
    let (client, state) = FakeEngine::client(1);
    let (a, b, c) = (Failing::new(&client), Wrong::new(&Client::host()), Uncompiled::new(&client));
    state.fail(Op::Compile, usize::MAX);
    flat(repetitions, 1024, |i| {
        let data = [1f32, 2.0, 3.0];
        assert_eq!(a.call(&data[..i % 3], "relu".to_owned()).unwrap_err().code(), "body");
        assert_eq!(b.call(&data[..i % 3]).unwrap_err().code(), "program");
        assert_eq!(c.call(&data[..i % 3]).unwrap_err().code(), "pjrt");
    });
    assert_eq!((a.stats().entries, b.stats().entries, c.stats().entries), (0, 0, 0));
    assert_eq!(a.stats().misses, repetitions as u64);
    drop((a, b, c));
    state.assert_clean();
}

#[test]
fn panicking_bodies_leak_nothing() {
    let _alone = alone();

    #[dispatch_family]
    fn panicking(#[dynamic(dtype = f32, shape = [n])] a: Aval) -> Result<Program> {
        let held = vec![0u8; 1 << 16];
        assert!(a.rank() > 1 && held.is_empty(), "{n}");
        first(&[a])
    }
    let family = Panicking::new(&Client::host());
    // The usual report of a panic would fill the log.
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| ()));
    flat(if short() { 500 } else { 5000 }, 1024, |i| {
        assert_eq!(family.call(vec![0f32; i % 5]).unwrap_err().code(), "panic");
    });
    std::panic::set_hook(usual);
}

#[test]
fn refused_calls_leak_nothing() {
    let _alone = alone();

    #[dispatch_family]
    fn refusing(
        #[dynamic(dtype = f32, shape = [n])] a: Aval,
        #[dynamic(dtype = i32, shape = [n])] b: Aval,
        #[dynamic(dtype = f32, shape = [n])] cs: Vec<Aval>,
    ) -> Result<Program> {
        let _ = n;
        first(&[vec![a, b], cs].concat())
    }
    let client = Client::host();
    let family = Refusing::new(&client);
    let x = array(client, DType::F32, &[2]);
    flat(if short() { 10_000 } else { 100_000 }, 1024, |_| {
        assert_eq!(family.call(&x, [1], []).unwrap_err().code(), "shape");
        assert_eq!(family.call(&x, &x, []).unwrap_err().code(), "dtype");
        assert_eq!(family.call(&x, [1.5, 2.0], [x.clone(), x.clone()]).unwrap_err().code(), "value");
    });
}

#[derive(InputTree)]
struct Pair<T> {
    #[dynamic(dtype = f32, shape = [2])]
    a: T,
    #[dynamic(dtype = f32, shape = [2])]
    b: Vec<T>,
}

#[dispatch_family]
fn flat_call(
    #[dynamic(dtype = [f32, f64], shape = [n])] a: Aval,
    #[dynamic(dtype = f32, shape = [])] b: Aval,
    #[static_arg] name: String,
) -> Result<Program<(Array, Array)>> {
    let _ = name;
    let results = [a.clone(), b.clone()];
    zeros(&[a, b], &results).map(|program| program.with_outputs(results))
}

#[dispatch_family]
fn nested_call(
    #[dynamic] pair: Pair<Aval>,
    #[dynamic(dtype = i64, shape = [..])] x: Aval,
) -> Result<Program> {
    first(&[vec![pair.a], pair.b, vec![x]].concat())
}

fn dispatches(client: Client, repetitions: usize) {
    let (flat_call, nested_call) = (FlatCall::new(&client), NestedCall::new(&client));
    let x = array(client, DType::F32, &[2]);
    let pair = Pair { a: x.clone(), b: vec![x.clone(); 3] };
    flat(repetitions / 2, 1024, |i| {
        let name = if i % 2 == 0 { "even" } else { "odd" };
        flat_call.call(&x, 0.5, name.to_owned()).unwrap();
        nested_call.call(&pair, (&[1, 2, 3, 4], [2, 2])).unwrap();
    });
    let (flat_stats, nested_stats) = (flat_call.stats(), nested_call.stats());
    assert_eq!((flat_stats.misses + flat_stats.hits, flat_stats.compiles), (repetitions as u64 / 2, 2));
    assert_eq!((nested_stats.misses + nested_stats.hits, nested_stats.compiles), (repetitions as u64 / 2, 1));
}

#[test]
fn a_million_dispatches_leave_memory_flat() {
    let _alone = alone();
    dispatches(NoopEngine::client(1), if short() { 100_000 } else { 1_000_000 });
}

#[test]
fn many_dispatches_on_an_engine_that_counts_leave_nothing() {
    let _alone = alone();
    let (client, state) = FakeEngine::client(1);
    dispatches(client, if short() { 10_000 } else { 100_000 });
    state.assert_clean();
}

#[test]
fn families_come_and_go() {
    let _alone = alone();
    let client = NoopEngine::client(1);
    let x = array(client, DType::F32, &[2]);
    flat(if short() { 2_000 } else { 20_000 }, 1024, |_| {
        let family = FlatCall::new(&client);
        family.call(&x, 0.5, "x".to_owned()).unwrap();
        family.call(&x, 0.5, "x".to_owned()).unwrap();
    });
}

#[test]
fn threads_come_and_go() {
    let _alone = alone();
    let client = NoopEngine::client(1);
    let family = FlatCall::new(&client);
    let x = array(client, DType::F32, &[2]);
    flat(if short() { 200 } else { 2000 }, 2048, |i| {
        std::thread::scope(|s| {
            s.spawn(|| family.call(&x, 0.5, (i % 100).to_string()).unwrap());
        });
    });
    assert_eq!(family.stats().hits + family.stats().misses, if short() { 200 } else { 2000 });
}

#[test]
fn a_loop_that_feeds_its_output_back_compiles_once() {
    let _alone = alone();

    #[dispatch_family]
    fn next(#[dynamic(dtype = f64, shape = [n])] x: Aval) -> Result<Program> {
        let _ = n;
        Program::host([x.clone()], [x], |args| {
            let next: Vec<f64> = args[0].as_slice::<f64>().unwrap().iter().map(|x| x + 1.0).collect();
            Ok(vec![HostArray::new(next, args[0].shape())?])
        })
    }
    let (client, state) = FakeEngine::client(1);
    let family = Next::new(&client);
    let mut x = client.array(&[0.0, 0.5], [2]).unwrap();
    for _ in 0..1000 {
        x = family.call(&x).unwrap();
        assert_eq!(state.live_buffers(), 1);
    }
    assert_eq!(x.to_vec::<f64>().unwrap(), [1000.0, 1000.5]);
    assert_eq!((family.stats().compiles, family.stats().hits), (1, 999));
}
