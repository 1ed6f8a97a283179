//! The fake engine itself: what tests of the dispatch rules trust must be tested.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use dispatch_runtime::engine::RawBuffer;
use dispatch_runtime::engine::fake::{FakeEngine, FakeState, NoopEngine, Op};
use dispatch_runtime::program::Source;
use dispatch_runtime::{Array, Aval, Client, DType, Executable, HostArray, HostView, Program};

fn fake() -> (Client, Arc<FakeState>) {
    FakeEngine::client(2)
}

fn text(signature: &str) -> Source {
    Source::StableHlo(format!("// fake: {signature}\nmodule {{}}"))
}

fn upload(client: Client) -> Array {
    client.array(&[1f32, 2.0], [2]).unwrap()
}

/// What a call of the engine with a broken promise says when it panics.
fn panic_of<T>(call: impl FnOnce() -> T) -> String {
    let panic = catch_unwind(AssertUnwindSafe(call)).err().expect("the engine panics");
    panic
        .downcast_ref::<String>()
        .cloned()
        .or_else(|| panic.downcast_ref::<&str>().map(|s| s.to_string()))
        .unwrap()
}

#[test]
fn everything_asked_for_is_counted_and_everything_alive_too() {
    let (client, state) = fake();
    let executable = client.compile(text("f32[2] -> f32[2], i32[]")).unwrap();
    let x = upload(client);
    let results = executable.execute(&[&x]).unwrap();
    assert_eq!(results[0].to_vec::<f32>().unwrap(), [0.0, 0.0]);
    assert_eq!(results[1].to_vec::<i32>().unwrap(), [0]);
    let moved = x.to_device(client.devices().nth(1).unwrap()).unwrap();
    let counts = [Op::Compile, Op::Execute, Op::Upload, Op::Read, Op::Copy].map(|op| state.count(op));
    assert_eq!(counts, [1, 1, 1, 2, 1]);
    assert_eq!((state.live_buffers(), state.live_executables()), (4, 1));
    assert_eq!(state.last_program().unwrap(), "// fake: f32[2] -> f32[2], i32[]\nmodule {}");
    drop((results, executable, x, moved));
    state.assert_clean();
}

#[test]
fn closures_run_and_are_dropped_with_their_executable() {
    let (client, state) = fake();
    let alive = Arc::new(());
    let captured = alive.clone();
    let aval = Aval::new(DType::F32, [2]);
    let program = Program::<Array>::host([aval.clone()], [aval], move |args| {
        let _ = &captured;
        Ok(vec![HostArray::from_view(args[0])])
    });
    let executable = client.compile(program.unwrap()).unwrap();
    let x = upload(client);
    assert_eq!(executable.execute(&[&x]).unwrap()[0].to_vec::<f32>().unwrap(), [1.0, 2.0]);
    assert_eq!(Arc::strong_count(&alive), 2);
    drop((executable, x));
    assert_eq!(Arc::strong_count(&alive), 1);
    state.assert_clean();
}

#[test]
fn the_next_calls_fail_or_panic_as_told() {
    let (client, state) = fake();
    let source = text("f32[2] -> f32[2]");
    state.fail(Op::Compile, 2);
    for _ in 0..2 {
        let error = client.compile(&source).unwrap_err();
        assert_eq!(
            error.to_string(),
            "PJRT_Client_Compile failed (INTERNAL): the fake engine was told to fail"
        );
    }
    state.panic(Op::Compile, 1);
    assert!(panic_of(|| client.compile(&source)).contains("told to panic"));
    let executable = client.compile(&source).unwrap();
    assert_eq!((state.compiles(), state.failures(Op::Compile)), (4, 3));

    let x = upload(client);
    state.fail(Op::Execute, 1);
    assert_eq!(executable.execute(&[&x]).unwrap_err().code(), "pjrt");
    assert_eq!(executable.execute(&[&x]).unwrap().len(), 1);
    state.fail(Op::Upload, 1);
    assert_eq!(client.array(&[1f32], [1]).unwrap_err().code(), "pjrt");
    state.fail(Op::Read, 1);
    assert!(x.to_vec::<f32>().is_err() && x.to_vec::<f32>().is_ok());
    drop((executable, x));
    state.assert_clean();
}

#[test]
fn a_gate_holds_compiles_and_a_delay_stretches_them() {
    let (client, state) = fake();
    state.close_gate(Op::Compile);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                client.compile(text("-> f32[]")).unwrap();
                done.store(true, Ordering::SeqCst);
            });
        }
        state.await_at_gate(Op::Compile, 2);
        assert!(!done.load(Ordering::SeqCst));
        state.open_gate(Op::Compile);
    });
    assert_eq!((state.compiles(), state.peak_concurrent(Op::Compile)), (2, 2));

    state.delay(Op::Compile, 1, Duration::from_millis(30));
    let start = Instant::now();
    client.compile(text("-> f32[]")).unwrap();
    assert!(start.elapsed() >= Duration::from_millis(30));
}

#[test]
fn a_donated_argument_is_given_to_a_result_of_its_kind_only() {
    let (client, state) = fake();
    let marked = "func.func @main(%0: tensor<2xf32> {jax.buffer_donor = true}, %1: tensor<2xf32> \
                  {jax.buffer_donor = true}, %2: tensor<3xf32> {jax.buffer_donor = true}) -> tensor<2xf32> {";
    let source = Source::StableHlo(marked.into());
    assert_eq!(client.compile(&source).unwrap().compiled().aliased(), [true, false, false]);
    let comment = text("f32[2], f32[2] donated -> f32[2]");
    assert_eq!(client.compile(&comment).unwrap().compiled().aliased(), [false, true]);
    state.set_alias_donors(false);
    assert_eq!(client.compile(&source).unwrap().compiled().aliased(), [false; 3]);
}

fn donating(client: Client) -> Executable {
    client.compile(text("f32[2] donated, f32[2] -> f32[2]")).unwrap()
}

#[test]
fn a_donated_array_is_consumed_and_its_later_use_is_named() {
    let (client, state) = fake();
    let executable = donating(client);
    let (x, y) = (upload(client), upload(client));
    let clone = x.clone();
    let out = executable.execute(&[&x, &y]).unwrap().remove(0);
    assert!(x.is_donated() && clone.is_donated() && !y.is_donated() && !out.is_donated());
    let error = executable.execute(&[&y, &clone]).unwrap_err();
    assert_eq!(error.to_string(), "argument `2`: the array was donated to an earlier call and is gone");
    assert_eq!((clone.to_vec::<f32>().unwrap_err().code(), y.is_donated()), ("donated", false));
    drop((executable, x, y, clone, out));
    state.assert_clean();
}

#[test]
fn a_donated_array_passed_twice_is_refused_and_nothing_is_lost() {
    let (client, state) = fake();
    let executable = donating(client);
    let x = upload(client);
    let error = executable.execute(&[&x, &x.clone()]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "argument `2`: the array is also argument 1, and the program consumes argument 1"
    );
    assert_eq!((state.executes(), x.to_vec::<f32>().unwrap()), (0, vec![1.0, 2.0]));

    let both = client.compile(text("f32[2] donated, f32[2] donated -> f32[2], f32[2]")).unwrap();
    assert_eq!(both.execute(&[&x, &x]).unwrap_err().code(), "donated");
    assert!(!x.is_donated());
}

#[test]
fn of_two_threads_that_donate_one_array_one_gets_it() {
    let (client, state) = fake();
    let executable = client.compile(text("f32[2] donated, f32[2] donated -> f32[2], f32[2]")).unwrap();
    for _ in 0..200 {
        let (shared, mine, yours) = (upload(client), upload(client), upload(client));
        let won = std::thread::scope(|scope| {
            let other = scope.spawn(|| executable.execute(&[&yours, &shared]).is_ok());
            [executable.execute(&[&mine, &shared]).is_ok(), other.join().unwrap()]
        });
        // The loser keeps its own array.
        assert_eq!(won.iter().filter(|&&w| w).count(), 1);
        assert_eq!([mine.is_donated(), yours.is_donated()], won);
    }
    drop(executable);
    state.assert_clean();
}

// What follows breaks the promises that callers of an engine make, which the fake engine survives: its buffers are
// numbers, and its executables are never freed.

#[test]
fn a_use_after_the_end_of_a_buffer_is_a_fault() {
    let (client, state) = fake();
    let engine = client.engine();
    let buffer = engine.upload(HostView::scalar(&1f32), 0).unwrap();
    let mut out = [0; 4];
    // SAFETY: the buffer is alive, then destroyed by its owner; the rest is for the fake engine to survive.
    unsafe {
        engine.destroy(buffer);
        assert!(panic_of(|| engine.read(buffer, (DType::F32, &[]), &mut out)).contains("destroyed"));
        assert!(panic_of(|| engine.copy(buffer, 0)).contains("destroyed"));
        assert!(panic_of(|| engine.is_ready(buffer)).contains("destroyed"));
        engine.destroy(buffer);
    }
    assert_eq!(state.faults().len(), 4);
    assert!(panic_of(|| state.assert_clean()).contains("4 faults"));
    assert_eq!(state.take_faults().len(), 4);
    state.assert_clean();
}

#[test]
fn a_buffer_of_another_client_is_a_fault() {
    let ((client, _), (other, state)) = (fake(), fake());
    let buffer = client.engine().upload(HostView::scalar(&1f32), 0).unwrap();
    // SAFETY: broken on purpose.
    assert!(panic_of(|| unsafe { other.engine().await_ready(buffer) }).contains("not of this client"));
    assert_eq!(state.faults().len(), 1);
    // SAFETY: the buffer is ours.
    unsafe { client.engine().destroy(buffer) };
}

#[test]
fn running_with_other_arguments_than_declared_is_a_fault() {
    let (client, state) = fake();
    let engine = client.engine();
    let executable = engine.compile(&text("f32[2] donated, f32[2] -> f32[2]"), 0).unwrap();
    let data = [1f32, 2.0];
    let shape = [2];
    let pair = HostView::new(&data, &shape).unwrap();
    let upload = |view, device| engine.upload(view, device).unwrap();
    let (good, scalar, far) = (upload(pair, 0), upload(HostView::scalar(&1f32), 0), upload(pair, 1));
    let run = |args: &[RawBuffer], outs: &mut [Option<RawBuffer>]| {
        // SAFETY: broken on purpose.
        panic_of(|| unsafe { executable.execute(args, outs) })
    };
    let mut outs = [None];
    assert!(run(&[good], &mut outs).contains("2 arguments"));
    assert!(run(&[good, scalar], &mut outs).contains("argument 2 takes f32[2]"));
    assert!(run(&[far, good], &mut outs).contains("argument 1 is on device 1"));
    assert!(run(&[good, good], &mut outs).contains("passed twice"));
    assert!(run(&[good, good], &mut []).contains("1 results"));
    assert_eq!((state.faults().len(), outs), (5, [None]));
}

#[test]
fn a_consumed_buffer_may_only_be_destroyed() {
    let (client, state) = fake();
    let engine = client.engine();
    let executable = engine.compile(&text("f32[] donated -> f32[]"), 0).unwrap();
    let buffer = engine.upload(HostView::scalar(&1f32), 0).unwrap();
    let mut outs = [None];
    // SAFETY: the first run is in order; the second is broken on purpose; both buffers are ours.
    unsafe {
        executable.execute(&[buffer], &mut outs).unwrap();
        assert!(panic_of(|| executable.execute(&[buffer], &mut [None])).contains("after its donation"));
        engine.destroy(buffer);
        engine.destroy(outs[0].unwrap());
    }
    assert_eq!(state.take_faults().len(), 1);
    drop(executable);
    state.assert_clean();
}

#[test]
fn a_use_after_the_end_of_an_executable_is_a_fault() {
    let (client, state) = fake();
    let executable = client.engine().compile(&text("-> f32[]"), 0).unwrap();
    let stale: *const dyn dispatch_runtime::engine::Executable = &*executable;
    drop(executable);
    // SAFETY: a fake executable has no size, so that this reads no freed memory; its record is never freed.
    let stale = unsafe { &*stale };
    assert!(panic_of(|| stale.outputs().len()).contains("after its end"));
    // SAFETY: broken on purpose.
    assert!(panic_of(|| unsafe { stale.execute(&[], &mut [None]) }).contains("after its end"));
    assert_eq!((state.faults().len(), state.live_executables()), (2, 0));
}

#[test]
fn an_executable_destroyed_while_it_runs_is_a_fault() {
    let (client, state) = fake();
    state.close_gate(Op::Execute);
    let executable = client.engine().compile(&text("-> f32[]"), 0).unwrap();
    let running: &'static dyn dispatch_runtime::engine::Executable = {
        let pointer: *const dyn dispatch_runtime::engine::Executable = &*executable;
        // SAFETY: as above.
        unsafe { &*pointer }
    };
    let thread = std::thread::spawn(move || {
        // SAFETY: it takes no arguments and gives one result.
        unsafe { running.execute(&[], &mut [None]) }.unwrap();
    });
    state.await_at_gate(Op::Execute, 1);
    drop(executable);
    state.open_gate(Op::Execute);
    thread.join().unwrap();
    assert!(state.take_faults()[0].contains("destroyed while it ran"));
}

#[test]
fn memory_stays_flat_however_many_buffers_came_and_went() {
    let (client, state) = fake();
    let executable = client.compile(text("f32[2] -> f32[2]")).unwrap();
    let mut x = upload(client);
    for _ in 0..10_000 {
        x = executable.execute(&[&x]).unwrap().remove(0);
    }
    assert_eq!((state.live_buffers(), state.executes()), (1, 10_000));
}

#[test]
fn the_noop_engine_gives_what_programs_declare() {
    let client = NoopEngine::client(1);
    let executable = client.compile(text("f32[2] -> f32[2], f64[]")).unwrap();
    let results = executable.execute(&[&upload(client)]).unwrap();
    assert_eq!((results.len(), results[0].to_vec::<f32>().unwrap()), (2, vec![0.0, 0.0]));
    assert_eq!(results[1].aval().to_string(), "tensor<f64>");
}
