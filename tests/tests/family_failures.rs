//! Bodies that fail, panic, or dispatch: what callers hear, and what is left behind.

use std::cell::Cell;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};

use dispatch_runtime::engine::fake::{FakeEngine, Op};
use dispatch_runtime::prelude::*;
use dispatch_tests::{array, first, without_hanging, zeros};

// --- a first call that fails

#[test]
fn a_body_that_fails_leaves_nothing_and_the_next_call_tries_again() {
    static FAILS: AtomicBool = AtomicBool::new(true);

    #[dispatch_family]
    fn failing(#[dynamic(dtype = f32, shape = [n])] a: Aval) -> Result<Program> {
        if FAILS.swap(false, SeqCst) {
            return Err(Error::InvalidProgram { reason: format!("{n} is too many") });
        }
        first(&[a])
    }
    let (client, state) = FakeEngine::client(1);
    let family = Failing::new(&client);
    let error = family.call([1f32, 2.0]).unwrap_err();
    assert_eq!(error.to_string(), "the body of family `failing` failed: invalid program: 2 is too many");
    assert_eq!(family.explain([1f32, 2.0]).unwrap(), Explanation::Empty);
    assert_eq!(family.call([1f32, 2.0]).unwrap().to_vec::<f32>().unwrap(), [1.0, 2.0]);
    let stats = family.stats();
    assert_eq!((stats.compiles, stats.misses, stats.hits, stats.entries), (1, 2, 0, 1));
    drop(family);
    state.assert_clean();
}

#[test]
fn a_body_that_panics_is_an_error_with_its_text() {
    static CALLS: AtomicUsize = AtomicUsize::new(0);

    #[dispatch_family]
    fn panicking(#[dynamic(dtype = f32, shape = [n])] a: Aval) -> Result<Program> {
        match CALLS.fetch_add(1, SeqCst) {
            0 => panic!("for size {n}"),
            1 => panic!("without a number"),
            2 => std::panic::panic_any(7),
            _ => first(&[a]),
        }
    }
    let family = Panicking::new(&Client::host());
    for text in [
        "the body of family `panicking` panicked: for size 2",
        "the body of family `panicking` panicked: without a number",
        "the body of family `panicking` panicked: a value that is no text",
    ] {
        let error = family.call([1f32, 2.0]).unwrap_err();
        assert_eq!((error.to_string().as_str(), error.code()), (text, "panic"));
    }
    family.call([1f32, 2.0]).unwrap();
    assert_eq!((family.stats().compiles, family.stats().misses), (1, 4));
}

#[test]
fn a_compiler_that_fails_or_panics_leaves_nothing() {
    #[dispatch_family]
    fn compiled(#[dynamic(dtype = f32, shape = [n])] a: Aval) -> Result<Program> {
        first(&[a])
    }
    let (client, state) = FakeEngine::client(1);
    let family = Compiled::new(&client);
    state.fail(Op::Compile, 1);
    assert_eq!(family.call([1f32]).unwrap_err().code(), "pjrt");
    state.panic(Op::Compile, 1);
    assert_eq!(family.call([1f32]).unwrap_err().code(), "panic");
    assert_eq!((family.stats().entries, state.live_buffers()), (0, 0));
    family.call([1f32]).unwrap();
    drop(family);
    state.assert_clean();
}

#[test]
fn a_run_or_an_upload_that_fails_leaves_the_program() {
    #[dispatch_family]
    fn two(
        #[dynamic(dtype = f32, shape = [n])] a: Aval,
        #[dynamic(dtype = f32, shape = [n])] b: Aval,
    ) -> Result<Program<(Array, Array)>> {
        zeros(&[a.clone(), b.clone()], &[a, b])
    }
    let (client, state) = FakeEngine::client(1);
    let family = Two::new(&client);
    let x = array(client, DType::F32, &[2]);
    for (op, n) in [(Op::Execute, 1), (Op::Upload, 1), (Op::Execute, 2)] {
        state.fail(op, n);
        for _ in 0..n {
            let error = family.call(&x, [1f32, 2.0]).unwrap_err();
            assert_eq!(error.code(), "pjrt");
            assert!(error.to_string().contains("(INTERNAL): the fake engine was told to fail"), "{error}");
        }
    }
    family.call(&x, [1f32, 2.0]).unwrap();
    assert_eq!((family.stats().compiles, state.live_buffers()), (1, 1));
    drop((family, x));
    state.assert_clean();
}

#[test]
fn a_call_that_fails_half_way_ends_what_it_has_made() {
    #[dispatch_family(device = fixed)]
    fn three(
        #[dynamic(dtype = f32, shape = [])] a: Aval,
        #[dynamic(dtype = f32, shape = [])] b: Aval,
        #[dynamic(dtype = f32, shape = [])] cs: Vec<Aval>,
    ) -> Result<Program> {
        first(&[vec![a, b], cs].concat())
    }
    let (client, state) = FakeEngine::client(2);
    let family = Three::new(&client);
    let elsewhere = client.array_on(&[1f32], [], client.devices().nth(1).unwrap()).unwrap();
    let list = vec![elsewhere.clone(); 2];
    family.call(&elsewhere, 2.0, &list).unwrap();
    // The first copy is made when the upload fails; the upload is made when the copies of the list fail.
    state.fail(Op::Upload, 1);
    assert_eq!(family.call(&elsewhere, 2.0, &list).unwrap_err().code(), "pjrt");
    assert_eq!(state.live_buffers(), 1);
    state.fail(Op::Copy, 1);
    assert_eq!(family.call(1.0, 2.0, &list).unwrap_err().code(), "pjrt");
    assert_eq!(state.live_buffers(), 1);
    drop((family, list, elsewhere));
    state.assert_clean();
}

// --- every waiter

/// A family whose first call waits for `WAITERS` and then fails as told; whose second succeeds.
macro_rules! awaited {
    ($test:ident, $family:ident, $type:ident, $fail:expr, $code:literal) => {
        #[test]
        fn $test() {
            static CALLS: AtomicUsize = AtomicUsize::new(0);
            const THREADS: usize = 8;

            #[dispatch_family]
            fn $family(#[dynamic(dtype = f32, shape = [n])] a: Aval) -> Result<Program> {
                if CALLS.fetch_add(1, SeqCst) == 0 {
                    // All others are in their calls when the body has slept; what they wait for fails.
                    std::thread::sleep(std::time::Duration::from_millis(200));
                    let fail: fn() -> Result<Program> = $fail;
                    return fail();
                }
                first(&[a])
            }
            without_hanging(|| {
                let (client, state) = FakeEngine::client(1);
                let family = $type::new(&client);
                let start = std::sync::Barrier::new(THREADS);
                let call = || {
                    start.wait();
                    family.call([1f32, 2.0]).map(|_| ()).map_err(|error| (error.code(), error.to_string()))
                };
                let results: Vec<_> = std::thread::scope(|s| {
                    let threads: Vec<_> = (0..THREADS).map(|_| s.spawn(call)).collect();
                    threads.into_iter().map(|thread| thread.join().unwrap()).collect()
                });
                let failed: Vec<_> = results.iter().filter_map(|result| result.as_ref().err()).collect();
                assert_eq!(failed.len(), THREADS, "{results:?}");
                assert!(failed.iter().all(|error| *error == failed[0] && error.0 == $code), "{failed:?}");
                assert_eq!((CALLS.load(SeqCst), family.stats().entries), (1, 0));
                family.call([1f32, 2.0]).unwrap();
                assert_eq!((CALLS.load(SeqCst), family.stats().misses), (2, THREADS as u64 + 1));
                drop(family);
                state.assert_clean();
            });
        }
    };
}

awaited!(
    a_failure_reaches_every_waiter,
    told_to_fail,
    ToldToFail,
    || Err(Error::InvalidProgram { reason: "no".into() }),
    "body"
);
awaited!(a_panic_reaches_every_waiter, told_to_panic, ToldToPanic, || panic!("no"), "panic");

// --- bodies that dispatch

/// A place where a body finds a family: its own, or another.
struct Found<F>(OnceLock<F>);

impl<F> Found<F> {
    const fn new() -> Self {
        Found(OnceLock::new())
    }

    fn put(&self, family: F) -> &F {
        self.0.get_or_init(|| family)
    }

    fn get(&self) -> &F {
        self.0.get().unwrap()
    }
}

#[test]
fn a_body_may_dispatch_another_family() {
    static INNER: Found<Inner> = Found::new();

    #[dispatch_family]
    fn inner(#[dynamic(dtype = f32, shape = [n])] a: Aval) -> Result<Program> {
        first(&[a])
    }
    #[dispatch_family(capacity = 1)]
    fn outer(#[dynamic(dtype = f32, shape = [n])] a: Aval) -> Result<Program> {
        let constant = INNER.get().call(vec![7f32; n as usize])?.to_vec::<f32>()?;
        Program::host([a.clone()], [a], move |args| {
            let sum = args[0].as_slice::<f32>().unwrap().iter().zip(&constant).map(|(a, b)| a + b);
            Ok(vec![HostArray::new(sum.collect::<Vec<_>>(), args[0].shape())?])
        })
    }
    let client = Client::host();
    INNER.put(Inner::new(&client));
    let family = Outer::new(&client);
    assert_eq!(family.call([1f32, 2.0]).unwrap().to_vec::<f32>().unwrap(), [8.0, 9.0]);
    assert_eq!(family.call([1f32]).unwrap().to_vec::<f32>().unwrap(), [8.0]);
    assert_eq!((INNER.get().stats().compiles, family.stats().evictions), (2, 1));
}

#[test]
fn a_body_may_dispatch_another_key_of_its_family() {
    static OWN: Found<Factorial> = Found::new();

    #[dispatch_family(capacity = 2)]
    fn factorial(#[static_arg] n: i64) -> Result<Program> {
        let before = if n == 0 { 1.0 } else { n as f64 * OWN.get().call(n - 1)?.to_vec::<f64>()?[0] };
        Program::host([], [Aval::new(DType::F64, [])], move |_| Ok(vec![HostArray::new([before], [])?]))
    }
    let (client, state) = FakeEngine::client(1);
    let family = OWN.put(Factorial::new(&client));
    assert_eq!(family.call(10).unwrap().to_vec::<f64>().unwrap(), [3628800.0]);
    // Keys 0 to 8 were evicted while those that had asked for them were compiled.
    let stats = family.stats();
    assert_eq!((stats.compiles, stats.entries, stats.evictions, state.live_executables()), (11, 2, 9, 2));
    assert_eq!(family.call(12).unwrap().to_vec::<f64>().unwrap(), [479001600.0]);
    state.assert_no_faults();
}

#[test]
fn a_body_that_asks_for_its_own_key_gets_a_clear_error() {
    static OWN: Found<Itself> = Found::new();

    #[dispatch_family]
    fn itself(
        #[dynamic(dtype = [f32, f64], shape = [n])] a: Aval,
        #[static_arg] recurs: bool,
    ) -> Result<Program, Box<dyn std::error::Error>> {
        if recurs {
            OWN.get().call(vec![0f32; n as usize], recurs)?;
        }
        Ok(first(&[a])?)
    }
    without_hanging(|| {
        let family = OWN.put(Itself::new(&Client::host()));
        let error = family.call([1f32, 2.0], true).unwrap_err();
        assert_eq!(
            error.to_string(),
            concat!(
                "family `itself` is asked for the program that it is compiling at this moment: ",
                "device = host:0, dtype of `a` = f32, size 1 of `a` (n) = 2, `recurs` = true"
            )
        );
        assert_eq!(error.code(), "recursive");
        // Another dtype is another key: the inner call is refused, and so is the outer one, for the same reason.
        assert_eq!(family.call([1f64, 2.0], true).unwrap_err().code(), "recursive");
        assert_eq!(family.stats().entries, 0);
        family.call([1f32, 2.0], false).unwrap();
    });
}

#[test]
fn a_body_may_go_on_after_it_was_refused_its_own_key() {
    static OWN: Found<Patient> = Found::new();

    #[dispatch_family]
    fn patient(#[dynamic(dtype = f32, shape = [n])] a: Aval) -> Result<Program> {
        assert_eq!(OWN.get().call(vec![0f32; n as usize]).unwrap_err().code(), "recursive");
        first(&[a])
    }
    without_hanging(|| {
        let family = OWN.put(Patient::new(&Client::host()));
        assert_eq!(family.call([1f32, 2.0]).unwrap().to_vec::<f32>().unwrap(), [1.0, 2.0]);
        assert_eq!((family.stats().entries, family.stats().compiles), (1, 1));
    });
}

#[test]
fn a_body_may_ask_its_family_what_it_has_and_clear_it() {
    static OWN: Found<Curious> = Found::new();

    #[dispatch_family]
    fn curious(#[dynamic(dtype = f32, shape = [n])] a: Aval) -> Result<Program> {
        let family = OWN.get();
        assert_eq!(family.stats().entries, n as u64 - 1);
        assert_ne!(family.explain(vec![0f32; n as usize]).unwrap(), Explanation::Hit);
        if n == 3 {
            family.clear();
        }
        first(&[a])
    }
    without_hanging(|| {
        let family = OWN.put(Curious::new(&Client::host()));
        for n in 1..=3 {
            family.call(vec![0f32; n]).unwrap();
        }
        assert_eq!(family.stats().entries, 1);
    });
}

// --- eviction during use

#[test]
fn a_program_evicted_while_it_runs_ends_as_usual() {
    #[dispatch_family(capacity = 1)]
    fn busy(#[dynamic(dtype = f32, shape = [n])] a: Aval) -> Result<Program> {
        first(&[a])
    }
    without_hanging(|| {
        let (client, state) = FakeEngine::client(1);
        let family = Busy::new(&client);
        family.call([0f32]).unwrap();
        state.close_gate(Op::Execute);
        std::thread::scope(|s| {
            let running = s.spawn(|| family.call([5f32]).unwrap().to_vec::<f32>().unwrap());
            state.await_at_gate(Op::Execute, 1);
            // Only compiles: a run would stop at the gate too.
            for n in 2..5 {
                family.warm(Aval::new(DType::F32, [n])).unwrap();
            }
            assert_eq!((family.stats().entries, state.live_executables()), (1, 2));
            state.open_gate(Op::Execute);
            assert_eq!(running.join().unwrap(), [5.0]);
        });
        // The evicted one goes at the latest when the cache is used again.
        family.warm(Aval::new(DType::F32, [9])).unwrap();
        assert_eq!(state.live_executables(), 1);
        drop(family);
        state.assert_clean();
    });
}

#[test]
fn a_closure_may_evict_the_program_that_it_belongs_to() {
    static OWN: Found<SelfEvicting> = Found::new();
    thread_local!(static DEPTH: Cell<i64> = const { Cell::new(0) });

    #[dispatch_family(capacity = 1)]
    fn self_evicting(#[dynamic(dtype = f32, shape = [n])] a: Aval) -> Result<Program> {
        Program::host([a.clone()], [a], move |args| {
            if n < 4 {
                DEPTH.set(DEPTH.get() + 1);
                OWN.get().call(vec![1f32; n as usize + 1])?;
            }
            Ok(vec![HostArray::from_view(args[0])])
        })
    }
    let (client, state) = FakeEngine::client(1);
    let family = OWN.put(SelfEvicting::new(&client));
    assert_eq!(family.call([5f32]).unwrap().to_vec::<f32>().unwrap(), [5.0]);
    assert_eq!((DEPTH.get(), family.stats().compiles, family.stats().entries), (3, 4, 1));
    family.clear();
    state.assert_clean();
}

#[test]
fn clearing_while_a_program_runs_waits_for_nothing() {
    #[dispatch_family]
    fn cleared(#[dynamic(dtype = f32, shape = [n])] a: Aval) -> Result<Program> {
        first(&[a])
    }
    without_hanging(|| {
        let (client, state) = FakeEngine::client(1);
        let family = Cleared::new(&client);
        state.close_gate(Op::Execute);
        std::thread::scope(|s| {
            let running = s.spawn(|| family.call([5f32]).unwrap().to_vec::<f32>().unwrap());
            state.await_at_gate(Op::Execute, 1);
            family.clear();
            assert_eq!(family.stats().entries, 0);
            state.open_gate(Op::Execute);
            assert_eq!(running.join().unwrap(), [5.0]);
        });
        drop(family);
        state.assert_clean();
    });
}
