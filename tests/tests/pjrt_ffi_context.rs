//! What handlers ask of their execution, and answers that come later, on a real plugin.

mod plugin;

use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use dispatch_runtime::engine::RunOptions;
use dispatch_runtime::ffi::{self, Buffer, BufferMut, ExecutionData};
use dispatch_runtime::prelude::*;
use dispatch_runtime::program::Source;
use dispatch_runtime::set_warning_handler;
use dispatch_tests::without_hanging;
use plugin::{client, client_with_devices};

/// A program of one call of a target: one argument and one result.
fn text(target: &str, arg: &str, ret: &str, attrs: &str) -> Source {
    Source::StableHlo(format!(
        "func.func @main(%a: {arg}) -> {ret} {{
           %0 = \"stablehlo.custom_call\"(%a) {{call_target_name = \"{target}\", api_version = 4 : i32,
             has_side_effect = true, backend_config = {{{attrs}}}}} : ({arg}) -> {ret}
           return %0 : {ret}
         }}"
    ))
}

fn f32s(target: &str, attrs: &str) -> Executable {
    client().compile(text(target, "tensor<4xf32>", "tensor<4xf32>", attrs)).unwrap()
}

const X: [f32; 4] = [1.0, 2.0, 3.0, 4.0];

fn run(program: &Executable) -> Result<Vec<f32>> {
    let x = program.client().array(&X, [4])?;
    program.execute(&[&x])?[0].to_vec()
}

/// The status and the message of what XLA says.
#[track_caller]
fn failure(result: Result<Vec<f32>>) -> (&'static str, String) {
    match result.unwrap_err() {
        Error::Pjrt { status, message, .. } => (status, message),
        error => panic!("{error:?}"),
    }
}

#[ffi_handler]
fn ids(
    #[arg] _x: Buffer<f32>,
    #[ret] mut out: BufferMut<i64>,
    #[ctx] device: ffi::DeviceOrdinal,
    #[ctx] run: ffi::RunId,
) -> ffi::Result<()> {
    out[0] = device.get().into();
    out[1] = run.get();
    Ok(())
}

#[test]
fn a_handler_knows_its_device_and_its_execution() {
    let client = client_with_devices(2);
    client.register_ffi_handler("ids", &IDS).unwrap();
    for (number, device) in client.devices().enumerate() {
        let call = "\"stablehlo.custom_call\"(%a) {call_target_name = \"ids\", api_version = 4 : i32,
            has_side_effect = true} : (tensor<f32>) -> tensor<2xi64>";
        let text = format!(
            "func.func @main(%a: tensor<f32>) -> (tensor<2xi64>, tensor<2xi64>) {{
               %0 = {call}
               %1 = {call}
               return %0, %1 : tensor<2xi64>, tensor<2xi64>
             }}"
        );
        let program = client.compile_on(Source::StableHlo(text), device).unwrap();
        let x = client.array_on(&[1f32], [], device).unwrap();
        let out = program.execute(&[&x]).unwrap();
        let [first, second] = [0, 1].map(|i| out[i].to_vec::<i64>().unwrap());
        assert_eq!(first, second, "the calls of one execution know the same");
        assert_eq!(first[0], number as i64);
    }
}

#[ffi_handler]
fn pool_add(
    #[arg(shape = [n])] x: Buffer<f32>,
    #[ret(shape = [n])] mut out: BufferMut<f32>,
    #[ctx] pool: ffi::ThreadPool,
    #[attr] how: &str,
) -> ffi::Result<()> {
    let _ = n;
    assert!(pool.num_threads() >= 1);
    let done = AtomicUsize::new(0);
    let outer = pool.scope(|scope| {
        for (i, (o, x)) in out.iter_mut().zip(&x[..]).enumerate() {
            let done = &done;
            scope.spawn(move || {
                *o = x + 1.0;
                match (how, i) {
                    ("panic", 2) => panic!("task {i} cannot"),
                    // Tasks of tasks.
                    ("tree", _) => {
                        for _ in 0..10 {
                            scope.spawn(|| {
                                done.fetch_add(1, Ordering::Relaxed);
                            });
                        }
                    }
                    _ => {}
                }
                done.fetch_add(1, Ordering::Relaxed);
            });
        }
        if how == "outer" {
            panic!("the scope itself");
        }
        5
    })?;
    assert_eq!((outer, done.into_inner()), (5, if how == "tree" { 44 } else { 4 }));
    Ok(())
}

#[test]
fn tasks_of_a_scope_borrow_and_are_waited_for() {
    client().register_ffi_handler("pool_add", &POOL_ADD).unwrap();
    let plain = f32s("pool_add", "how = \"plain\"");
    let tree = f32s("pool_add", "how = \"tree\"");
    for _ in 0..200 {
        assert_eq!(run(&plain).unwrap(), [2.0, 3.0, 4.0, 5.0]);
        assert_eq!(run(&tree).unwrap(), [2.0, 3.0, 4.0, 5.0]);
    }
}

#[test]
fn a_panic_of_a_task_is_an_internal_error_with_its_text() {
    client().register_ffi_handler("pool_add", &POOL_ADD).unwrap();
    let (status, message) = failure(run(&f32s("pool_add", "how = \"panic\"")));
    assert_eq!(status, "INTERNAL");
    assert!(message.contains("a task on the pool panicked: task 2 cannot"), "{message}");
    let (status, message) = failure(run(&f32s("pool_add", "how = \"outer\"")));
    assert_eq!(status, "INTERNAL");
    assert!(message.contains("the scope itself"), "{message}");
}

static WARNED: AtomicUsize = AtomicUsize::new(0);

/// Schedules a task whose panic is only a warning.
#[ffi_handler]
fn unheard(
    #[arg] x: Buffer<f32>,
    #[ret(like(x))] mut out: BufferMut<f32>,
    #[ctx] pool: ffi::ThreadPool,
) -> ffi::Result<()> {
    out.copy_from_slice(&x);
    pool.schedule(|| panic!("nobody waits for this"));
    Ok(())
}

#[test]
fn a_panic_over_a_warning_does_not_end_the_process() {
    client().register_ffi_handler("unheard", &UNHEARD).unwrap();
    let before = set_warning_handler(|_| {
        WARNED.fetch_add(1, Ordering::SeqCst);
        panic!("nor for this");
    });
    assert_eq!(run(&f32s("unheard", "")).unwrap(), X);
    without_hanging(|| {
        while WARNED.load(Ordering::SeqCst) == 0 {
            thread::yield_now();
        }
    });
    thread::sleep(Duration::from_millis(50));
    set_warning_handler(before);
    assert_eq!(run(&f32s("unheard", "")).unwrap(), X);
}

/// Heavy enough for XLA to run its operations on the threads of its pool, all of which then are in handlers that wait.
#[test]
fn scopes_on_all_threads_of_the_pool_wait_for_each_other() {
    without_hanging(|| {
        let client = client();
        client.register_ffi_handler("pool_add", &POOL_ADD).unwrap();
        let calls: String = (0..16)
            .map(|i| {
                format!(
                    "%d{i} = stablehlo.dot %m, %m : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
                     %s{i} = stablehlo.slice %d{i} [0:1, 0:4] : (tensor<64x64xf32>) -> tensor<1x4xf32>
                     %v{i} = stablehlo.reshape %s{i} : (tensor<1x4xf32>) -> tensor<4xf32>
                     %r{i} = \"stablehlo.custom_call\"(%v{i}) {{call_target_name = \"pool_add\", api_version = 4 : i32,
                       has_side_effect = true, backend_config = {{how = \"tree\"}}}} : (tensor<4xf32>) -> tensor<4xf32>\n"
                )
            })
            .collect();
        let program = client
            .compile(Source::StableHlo(format!(
                "func.func @main(%m: tensor<64x64xf32>) -> tensor<4xf32> {{ {calls} return %r15 : tensor<4xf32> }}"
            )))
            .unwrap();
        let m = client.array(&[0f32; 64 * 64], [64, 64]).unwrap();
        let all: Vec<Array> = (0..20).map(|_| program.execute(&[&m]).unwrap().remove(0)).collect();
        for out in all {
            assert_eq!(out.to_vec::<f32>().unwrap(), [1.0; 4]);
        }
    });
}

static MADE: AtomicUsize = AtomicUsize::new(0);
static DROPPED: AtomicUsize = AtomicUsize::new(0);

/// Counts its calls.
struct Plan {
    add: f32,
    calls: AtomicI64,
}

impl Drop for Plan {
    fn drop(&mut self) {
        DROPPED.fetch_add(1, Ordering::SeqCst);
    }
}

#[ffi_handler(stage = instantiate)]
fn make_plan(#[attr] add: f32) -> ffi::Result<Plan> {
    if add < 0.0 {
        return Err(ffi::Error::out_of_range("`add` is negative"));
    }
    MADE.fetch_add(1, Ordering::SeqCst);
    Ok(Plan { add, calls: AtomicI64::new(0) })
}

#[ffi_handler(instantiate = make_plan)]
fn planned(
    #[arg(shape = [n])] x: Buffer<f32>,
    #[ret(shape = [n])] mut out: BufferMut<f32>,
    #[attr] add: f32,
    #[ctx] plan: ffi::State<Plan>,
) -> ffi::Result<()> {
    let _ = n;
    assert_eq!(add, plan.add);
    let call = plan.calls.fetch_add(1, Ordering::SeqCst) as f32;
    for (o, x) in out.iter_mut().zip(&x[..]) {
        *o = x + plan.add + 100.0 * call;
    }
    Ok(())
}

#[test]
fn a_state_is_made_once_shared_by_all_executions_and_dropped_once() {
    let client = client();
    client.register_ffi_handler("planned", &PLANNED).unwrap();
    let before = (MADE.load(Ordering::SeqCst), DROPPED.load(Ordering::SeqCst));
    let programs = [1.0, 2.0].map(|add| f32s("planned", &format!("add = {add:?} : f32")));
    for call in 0..3 {
        for (program, add) in programs.iter().zip([1.0, 2.0]) {
            assert_eq!(run(program).unwrap()[0], 1.0 + add + 100.0 * call as f32);
        }
    }
    let made = MADE.load(Ordering::SeqCst) - before.0;
    assert!(made >= 2, "{made}");
    drop(programs);
    // XLA lets go of a program in a thread of its own.
    for _ in 0..200 {
        if DROPPED.load(Ordering::SeqCst) - before.1 == made {
            break;
        }
        thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(DROPPED.load(Ordering::SeqCst) - before.1, made);
    // What the stage says appears when the program is compiled.
    let error =
        client.compile(text("planned", "tensor<4xf32>", "tensor<4xf32>", "add = -1.0 : f32")).unwrap_err();
    assert!(error.to_string().contains("`add` is negative"), "{error}");
}

struct Other;

#[ffi_handler]
fn stateless(
    #[arg] _x: Buffer<f32>,
    #[ret] mut _out: BufferMut<f32>,
    #[ctx] _other: ffi::State<Other>,
) -> ffi::Result<()> {
    Ok(())
}

#[ffi_handler(instantiate = make_plan)]
fn of_another_type(
    #[arg] _x: Buffer<f32>,
    #[ret] mut _out: BufferMut<f32>,
    #[attr] add: f32,
    #[ctx] _other: ffi::State<Other>,
) -> ffi::Result<()> {
    let _ = add;
    Ok(())
}

#[test]
fn a_state_that_nobody_made_or_of_another_type_is_an_error() {
    client().register_ffi_handler("stateless", &STATELESS).unwrap();
    client().register_ffi_handler("of_another_type", &OF_ANOTHER_TYPE).unwrap();
    let (_, message) = failure(run(&f32s("stateless", "")));
    assert!(message.contains("handler `stateless`: `_other`"), "{message}");
    let (_, message) = failure(run(&f32s("of_another_type", "add = 1.0 : f32")));
    assert!(message.contains("Other"), "{message}");
}

struct Log(Mutex<Vec<f32>>);

#[ffi_handler]
fn log(
    #[arg(shape = [n])] x: Buffer<f32>,
    #[ret(shape = [n])] mut out: BufferMut<f32>,
    #[ctx] log: ffi::UserData<Log>,
) -> ffi::Result<()> {
    let _ = n;
    log.0.lock()?.push(x[0]);
    out.copy_from_slice(&x);
    Ok(())
}

#[test]
fn an_execution_gives_its_handlers_user_data() {
    let client = client();
    client.register_ffi_handler("log", &LOG).unwrap();
    let program = f32s("log", "");
    let log = Arc::new(Log(Mutex::default()));
    let data = ExecutionData::new().with("something else").with_shared(log.clone());
    let options = RunOptions { user_data: Some(&data), ..RunOptions::default() };
    for i in 0..5 {
        let x = client.array(&[i as f32; 4], [4]).unwrap();
        assert_eq!(program.execute_with(&[&x], options).unwrap()[0].to_vec::<f32>().unwrap(), [i as f32; 4]);
    }
    assert_eq!(*log.0.lock().unwrap(), [0.0, 1.0, 2.0, 3.0, 4.0]);
    // Without, it is an error and no crash.
    let (status, message) = failure(run(&program));
    assert_eq!(status, "FAILED_PRECONDITION");
    assert!(message.contains("handler `log`: `log`: expected user data of type `"), "{message}");
    let other = ExecutionData::new().with(1u8);
    let x = client.array(&X, [4]).unwrap();
    let options = RunOptions { user_data: Some(&other), ..RunOptions::default() };
    let error = program.execute_with(&[&x], options).and_then(|out| out[0].to_vec::<f32>()).unwrap_err();
    assert!(error.to_string().contains("[\"u8\"]"), "{error}");
    // A program may write the name of the operation with escaped signs, also as what is no text.
    let Source::StableHlo(escaped) = text("log", "tensor<4xf32>", "tensor<4xf32>", "") else {
        unreachable!()
    };
    let escaped = escaped.replace("custom_call\"", "custom\\5Fcall\"");
    for source in [Source::StableHlo(escaped.clone()), Source::Bytecode(escaped.into_bytes())] {
        let program = client.compile(source).unwrap();
        assert_eq!(failure(run(&program)).0, "FAILED_PRECONDITION");
        let options = RunOptions { user_data: Some(&data), ..RunOptions::default() };
        assert_eq!(program.execute_with(&[&x], options).unwrap()[0].to_vec::<f32>().unwrap(), X);
    }
    assert_eq!(log.0.lock().unwrap().len(), 7);
    // The executions have let go of it.
    drop(data);
    for _ in 0..200 {
        if Arc::strong_count(&log) == 1 {
            return;
        }
        thread::sleep(Duration::from_millis(10));
    }
    panic!("an execution that is over keeps its data");
}

#[ffi_handler]
fn on_gpus(
    #[arg] _x: Buffer<f32>,
    #[ret] mut _out: BufferMut<f32>,
    #[ctx] stream: ffi::Stream,
) -> ffi::Result<()> {
    assert!(!stream.as_ptr().is_null());
    Ok(())
}

#[ffi_handler]
fn scratchy(
    #[arg] _x: Buffer<f32>,
    #[ret] mut _out: BufferMut<f32>,
    #[ctx] scratch: ffi::Scratch,
) -> ffi::Result<()> {
    scratch.allocate(16, 16).map(|_| ())
}

#[test]
fn what_only_gpus_have_is_unimplemented() {
    client().register_ffi_handler("on_gpus", &ON_GPUS).unwrap();
    client().register_ffi_handler("scratchy", &SCRATCHY).unwrap();
    for (target, name, what) in [("on_gpus", "stream", "stream"), ("scratchy", "scratch", "scratch memory")] {
        let (status, message) = failure(run(&f32s(target, "")));
        assert_eq!(status, "UNIMPLEMENTED", "{message}");
        assert!(
            message.contains(&format!("handler `{target}`: `{name}`: this platform has no {what}")),
            "{message}"
        );
    }
}

/// What a task does that goes on after a panic in which its promise is dropped.
fn panic_and_catch(promise: ffi::Promise) {
    let _ = catch_unwind(AssertUnwindSafe(move || {
        let _promise = promise;
        panic!("nobody reads this");
    }));
}

#[ffi_handler]
fn later(
    #[arg] _x: Buffer<f32>,
    #[ret] mut out: BufferMut<f32>,
    #[attr] how: &str,
    #[ctx] pool: ffi::ThreadPool,
) -> ffi::Result<ffi::Future> {
    out.fill(7.0);
    let (promise, future) = ffi::promise();
    let wait = || thread::sleep(Duration::from_millis(5));
    match how {
        "now" => promise.complete(Ok(())),
        "now, wrong" => promise.complete(Err(ffi::Error::data_loss("at once"))),
        "later" => drop(thread::spawn(move || {
            wait();
            promise.complete(Ok(()));
        })),
        "wrong" => drop(thread::spawn(move || {
            wait();
            promise.complete(Err(ffi::Error::data_loss("all of it")));
        })),
        "dropped" => drop(thread::spawn(move || {
            wait();
            drop(promise);
        })),
        "panic" => drop(thread::spawn(move || {
            let _promise = promise;
            wait();
            panic_any(1);
        })),
        "pool" => return Ok(pool.spawn(|| Ok(()))),
        "pool, wrong" => return Ok(pool.spawn(|| Err(ffi::Error::aborted("in the pool")))),
        "pool, panic" => return Ok(pool.spawn(|| panic!("the pool is empty"))),
        "pool, promise" => pool.schedule(move || {
            let _promise = promise;
            panic!("no answer today");
        }),
        "pool, caught" => pool.schedule(move || panic_and_catch(promise)),
        "pool, caught twice" => pool.schedule(move || {
            struct Drops(Option<ffi::Promise>);
            impl Drop for Drops {
                fn drop(&mut self) {
                    panic_and_catch(self.0.take().unwrap());
                }
            }
            let _ = catch_unwind(AssertUnwindSafe(move || {
                let _drops = Drops(Some(promise));
                panic!("the outer one");
            }));
        }),
        "scope, caught" => {
            let promise = Mutex::new(Some(promise));
            pool.scope(|scope| {
                scope.spawn(|| panic_and_catch(promise.lock().unwrap().take().unwrap()));
            })?;
        }
        "spawn, caught" => {
            let spawned = pool.spawn(move || {
                panic_and_catch(promise);
                Ok(())
            });
            drop(spawned);
        }
        "handler, caught" => panic_and_catch(promise),
        "none" => return Err(ffi::Error::cancelled("no future")),
        _ => panic!("no future either"),
    }
    Ok(future)
}

#[test]
fn an_answer_may_come_later_from_any_thread_and_always_comes() {
    without_hanging(|| {
        client().register_ffi_handler("later", &LATER).unwrap();
        type Outcome = Result<(), (&'static str, &'static str)>;
        const CAUGHT: &str = "the task that had promised an answer panicked, and went on without it";
        let cases: [(&str, Outcome); 17] = [
            ("now", Ok(())),
            ("now, wrong", Err(("DATA_LOSS", "at once"))),
            ("later", Ok(())),
            ("wrong", Err(("DATA_LOSS", "all of it"))),
            ("dropped", Err(("INTERNAL", "the promise of an answer was dropped without one"))),
            ("panic", Err(("INTERNAL", "the thread that had promised an answer panicked"))),
            ("pool", Ok(())),
            ("pool, wrong", Err(("ABORTED", "in the pool"))),
            ("pool, panic", Err(("INTERNAL", "a task on the pool panicked: the pool is empty"))),
            (
                "pool, promise",
                Err(("INTERNAL", "the task that had promised an answer panicked: no answer today")),
            ),
            ("pool, caught", Err(("INTERNAL", CAUGHT))),
            ("pool, caught twice", Err(("INTERNAL", CAUGHT))),
            ("scope, caught", Err(("INTERNAL", CAUGHT))),
            ("spawn, caught", Err(("INTERNAL", CAUGHT))),
            ("handler, caught", Err(("INTERNAL", "the thread that had promised an answer panicked"))),
            ("none", Err(("CANCELLED", "no future"))),
            ("neither", Err(("INTERNAL", "no future either"))),
        ];
        for (how, expected) in cases {
            let program = f32s("later", &format!("how = \"{how}\""));
            for _ in 0..5 {
                match expected {
                    Ok(()) => assert_eq!(run(&program).unwrap(), [7.0; 4], "{how}"),
                    Err((code, text)) => {
                        let (status, message) = failure(run(&program));
                        assert_eq!(status, code, "{how}: {message}");
                        assert!(message.contains(text), "{how}: {message}");
                    }
                }
            }
        }
    });
}
