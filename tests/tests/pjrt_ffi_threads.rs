//! Handlers on the threads of a real plugin: errors that come late, handlers that run programs, many calls at once.

mod plugin;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use dispatch_runtime::ffi;
use dispatch_runtime::prelude::*;
use dispatch_runtime::program::Source;
use dispatch_tests::{short, without_hanging};
use plugin::{client, resident};

/// A call of a target, from `%from` to `%to`, both of type f32[4].
fn call(target: &str, from: &str, to: &str) -> String {
    format!(
        "%{to} = \"stablehlo.custom_call\"(%{from}) {{call_target_name = \"{target}\", api_version = 4 : i32,
           has_side_effect = true}} : (tensor<4xf32>) -> tensor<4xf32>\n"
    )
}

fn small(target: &str) -> Executable {
    let call = call(target, "a", "r");
    let text =
        format!("func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {{ {call} return %r : tensor<4xf32> }}");
    client().compile(Source::StableHlo(text)).unwrap()
}

/// A program so heavy that XLA runs it on the threads of its pool, with so many calls that do not depend on each other.
fn large(target: &str, calls: usize) -> Executable {
    let calls_text: String = (0..calls)
        .map(|i| {
            format!(
                "%d{i} = stablehlo.dot %m, %m : (tensor<128x128xf32>, tensor<128x128xf32>) -> tensor<128x128xf32>
                 %s{i} = stablehlo.slice %d{i} [0:1, 0:4] : (tensor<128x128xf32>) -> tensor<1x4xf32>
                 %v{i} = stablehlo.reshape %s{i} : (tensor<1x4xf32>) -> tensor<4xf32>\n{}",
                call(target, &format!("v{i}"), &format!("r{i}"))
            )
        })
        .collect();
    let results: Vec<String> = (0..calls).map(|i| format!("%r{i}")).collect();
    let types = vec!["tensor<4xf32>"; calls].join(", ");
    client()
        .compile(Source::StableHlo(format!(
            "func.func @main(%m: tensor<128x128xf32>) -> ({types}) {{ {calls_text} return {} : {types} }}",
            results.join(", ")
        )))
        .unwrap()
}

fn matrix() -> Array {
    client().array(&[0f32; 128 * 128], [128, 128]).unwrap()
}

fn copy(args: ffi::RemainingArgs<'_>, mut rets: ffi::RemainingRets<'_>) -> ffi::Result<()> {
    rets.get::<f32>(0)?.copy_from_slice(&args.get::<f32>(0)?);
    Ok(())
}

#[test]
fn an_error_on_a_thread_of_the_pool_arrives_at_the_read_back() {
    let caller = thread::current().id();
    client()
        .register_ffi_closure("slow_error", move |_, _, _| {
            assert_ne!(thread::current().id(), caller, "a large program runs on the pool");
            thread::sleep(Duration::from_millis(50));
            Err(ffi::Error::data_loss("after 50 ms"))
        })
        .unwrap();
    let program = large("slow_error", 1);
    let start = Instant::now();
    let out = program.execute(&[&matrix()]).unwrap();
    assert!(start.elapsed() < Duration::from_millis(50), "the launch does not wait");
    let error = out[0].to_vec::<f32>().unwrap_err();
    assert!(
        matches!(&error, Error::Pjrt { status: "DATA_LOSS", message, .. } if message.contains("after 50 ms")),
        "{error}"
    );
    // The program and the pool are as they were.
    out[0].to_vec::<f32>().unwrap_err();
}

/// A handler that runs another program and waits for it: on the caller's thread, and on all threads of the pool.
#[test]
fn a_handler_that_runs_a_program_gets_its_result_or_an_error_and_never_hangs() {
    without_hanging(|| {
        let client = client();
        client.register_ffi_closure("plain_copy", |args, rets, _| copy(args, rets)).unwrap();
        for (name, inner) in [("large", large("plain_copy", 4)), ("small", small("plain_copy"))] {
            let target = format!("runs_a_{name}_program");
            let input = if name == "small" { client.array(&[0f32; 4], [4]).unwrap() } else { matrix() };
            client
                .register_ffi_closure(&target, move |args, rets, _| {
                    let out = inner.execute(&[&input])?;
                    assert_eq!(out[0].to_vec::<f32>()?, [0.0; 4]);
                    copy(args, rets)
                })
                .unwrap();
            let check = |start: Instant, outcome: Result<Vec<f32>>| {
                assert!(start.elapsed() < Duration::from_secs(1), "{:?}", start.elapsed());
                if let Err(error) = outcome {
                    let error = error.to_string();
                    assert!(error.contains("waiting in an FFI handler for a program"), "{error}");
                }
            };
            // A small program mostly calls its handlers on the thread that executes it, which may wait for anything.
            let x = client.array(&[1f32; 4], [4]).unwrap();
            let start = Instant::now();
            check(start, small(&target).execute(&[&x]).and_then(|outs| outs[0].to_vec::<f32>()));
            for calls in [1, 4] {
                let outer = large(&target, calls);
                for _ in 0..2 {
                    let start = Instant::now();
                    let outs = outer.execute(&[&matrix()]);
                    check(start, outs.and_then(|outs| outs[0].to_vec::<f32>()));
                }
            }
        }
        // The plugin is as it was.
        assert!(large("plain_copy", 2).execute(&[&matrix()]).unwrap()[1].to_vec::<f32>().is_ok());
    });
}

/// The program that a task on the pool runs, in [`runs_on_the_pool`].
static INNER: std::sync::OnceLock<Executable> = std::sync::OnceLock::new();

fn run_inner() -> ffi::Result<()> {
    let inner = INNER.get().expect("it has been compiled");
    assert_eq!(inner.execute(&[&matrix()])?[0].to_vec::<f32>()?.len(), 4);
    Ok(())
}

/// Waits for a program in a task, which the program waits for.
#[ffi_handler]
fn runs_on_the_pool(
    #[arg] _x: ffi::AnyBuffer,
    #[ret] _out: ffi::AnyBufferMut,
    #[ctx] pool: ffi::ThreadPool,
) -> ffi::Future {
    pool.spawn(run_inner)
}

/// Waits for tasks that wait for a program.
#[ffi_handler]
fn scopes_on_the_pool(
    #[arg] _x: ffi::AnyBuffer,
    #[ret] _out: ffi::AnyBufferMut,
    #[ctx] pool: ffi::ThreadPool,
) -> ffi::Result<()> {
    let outcomes = std::sync::Mutex::new(Vec::new());
    pool.scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| outcomes.lock().unwrap().push(run_inner()));
        }
    })?;
    outcomes.into_inner().unwrap().into_iter().collect()
}

#[test]
fn a_task_on_the_pool_that_runs_a_program_gets_its_result_or_an_error_and_never_hangs() {
    without_hanging(|| {
        let client = client();
        client.register_ffi_closure("pool_copy", |args, rets, _| copy(args, rets)).unwrap();
        client.register_ffi_handler("runs_on_the_pool", &RUNS_ON_THE_POOL).unwrap();
        client.register_ffi_handler("scopes_on_the_pool", &SCOPES_ON_THE_POOL).unwrap();
        INNER.get_or_init(|| large("pool_copy", 4));
        for target in ["runs_on_the_pool", "scopes_on_the_pool"] {
            let outs = large(target, 1).execute(&[&matrix()]);
            if let Err(error) = outs.and_then(|outs| outs[0].to_vec::<f32>()) {
                let error = error.to_string();
                assert!(error.contains("waiting in an FFI handler for a program"), "{error}");
            }
        }
        // The plugin is as it was.
        assert!(large("pool_copy", 2).execute(&[&matrix()]).unwrap()[1].to_vec::<f32>().is_ok());
    });
}

/// A typed handler, executed by several threads at once.
#[ffi_handler]
fn scale(
    #[arg(shape = [n])] x: ffi::Buffer<f32>,
    #[ret(shape = [n])] mut out: ffi::BufferMut<f32>,
    #[attr(default = 2.0)] by: f32,
) -> ffi::Result<()> {
    assert_eq!(out.len(), n);
    for (o, x) in out.iter_mut().zip(&x[..]) {
        *o = x * by;
    }
    Ok(())
}

#[test]
fn four_threads_execute_at_once() {
    client().register_ffi_handler("scale", &SCALE).unwrap();
    let executions = if short() { 200 } else { 2000 };
    let program = small("scale");
    thread::scope(|scope| {
        for t in 0..4 {
            let program = &program;
            scope.spawn(move || {
                for i in 0..executions {
                    let x = [t as f32, i as f32, 1.0, -1.0];
                    let input = client().array(&x, [4]).unwrap();
                    let out = program.execute(&[&input]).unwrap()[0].to_vec::<f32>().unwrap();
                    assert_eq!(out, x.map(|x| 2.0 * x));
                }
            });
        }
    });
}

/// Answers as its argument says.
#[ffi_handler]
fn moody(
    #[arg(shape = [_])] x: ffi::Buffer<f32>,
    #[ret(shape = [_])] mut out: ffi::BufferMut<f32>,
) -> ffi::Result<()> {
    match x[0] as i32 {
        0 => out.fill(1.0),
        1 => return Err(ffi::Error::aborted("not in the mood")),
        2 => panic!("in a bad mood"),
        _ => return Err(std::io::Error::other("no mood at all").into()),
    }
    Ok(())
}

#[test]
fn panics_errors_and_successes_in_any_order_leave_nothing_behind() {
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if info.payload().downcast_ref::<&str>() != Some(&"in a bad mood") {
            hook(info);
        }
    }));
    client().register_ffi_handler("moody", &MOODY).unwrap();
    let executions = if short() { 5_000 } else { 100_000 };
    let program = small("moody");
    let moods = [0, 1, 2, 3].map(|mood| client().array(&[mood as f32; 4], [4]).unwrap());
    let mut state = 42u64;
    let counts = [0; 4].map(AtomicUsize::new);
    let mut call = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let mood = (state >> 60) as usize % 4;
        counts[mood].fetch_add(1, Ordering::Relaxed);
        let outcome = program.execute(&[&moods[mood]]).and_then(|out| out[0].to_vec::<f32>());
        match (mood, outcome) {
            (0, Ok(out)) => assert_eq!(out, [1.0; 4]),
            (mood, Err(Error::Pjrt { status, message, .. })) => {
                let expected = [
                    ("", ""),
                    ("ABORTED", "not in the mood"),
                    ("INTERNAL", "handler `moody` panicked: in a bad mood"),
                    ("INTERNAL", "no mood at all"),
                ];
                assert_eq!(status, expected[mood].0);
                assert!(message.contains(expected[mood].1), "{message}");
            }
            (_, outcome) => panic!("{outcome:?}"),
        }
    };
    (0..executions / 10).for_each(|_| call());
    let before = resident();
    (0..executions).for_each(|_| call());
    let grown = resident().saturating_sub(before);
    // Less than 20 bytes an execution: an error's text alone is longer.
    assert!(grown < 2_000_000, "{executions} executions took {grown} bytes");
    assert!(counts.iter().all(|count| count.load(Ordering::Relaxed) > executions / 8));
}

/// Says when the closure that owns it is dropped.
struct Owned(Arc<AtomicUsize>, f32);

impl Drop for Owned {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn a_closure_that_is_replaced_or_removed_lives_on_in_the_calls_that_use_it() {
    let client = client();
    let dropped = Arc::new(AtomicUsize::new(0));
    let register = |n: usize| {
        let owned = Owned(dropped.clone(), n as f32);
        client.register_ffi_closure("replaced_often", move |_, mut rets, _| {
            let before = owned.1;
            thread::yield_now();
            assert_eq!((owned.0.load(Ordering::SeqCst) < 1_000_000, owned.1), (true, before));
            rets.get::<f32>(0)?.fill(owned.1);
            Ok(())
        })
    };
    register(0).unwrap();
    // It belongs to nobody, so nobody may replace it.
    assert_eq!(register(1).unwrap_err().code(), "ffi_handler");
    assert_eq!(dropped.load(Ordering::SeqCst), 1);
    let program = small("replaced_often");
    let x = client.array(&[0f32; 4], [4]).unwrap();
    let times = if short() { 200 } else { 2_000 };
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    match program.execute(&[&x]).and_then(|out| out[0].to_vec::<f32>()) {
                        Ok(out) => assert!(out[0] < times as f32 && out == [out[0]; 4]),
                        Err(error) => {
                            assert!(error.to_string().contains("`replaced_often` is gone"), "{error}")
                        }
                    }
                }
            });
        }
        for n in 0..times {
            assert!(client.remove_ffi_handler("replaced_often"));
            register(n).unwrap();
        }
        over.store(true, Ordering::Relaxed);
    });
    assert!(client.remove_ffi_handler("replaced_often"));
    assert_eq!(dropped.load(Ordering::SeqCst), times + 2);
}
