//! What is the program for these arguments? Asking makes it, and leaves the cache alone.

use dispatch_runtime::engine::fake::{FakeEngine, Op};
use dispatch_runtime::prelude::*;
use dispatch_tests::array;

#[derive(InputTree)]
struct Pair<T> {
    #[dynamic(dtype = f32, shape = [n])]
    x: T,
    #[dynamic(dtype = f32, shape = [n])]
    y: T,
}

#[dispatch_family]
fn sum(
    cx: &CompileCx,
    #[dynamic(dtype = [f32, f64], shape = [n])] a: Aval,
    #[dynamic(dtype = any, shape = [..])] rest: Vec<Aval>,
    #[dynamic] pair: Pair<Aval>,
    #[static_arg] fails: bool,
) -> Result<Program> {
    let _ = n;
    if fails {
        return Program::stablehlo("// fake: f32[1] -> f32[1]");
    }
    let rest: Vec<String> = rest.iter().map(|r| format!("{}[{}], ", r.dtype(), r.shape()[0])).collect();
    let (p, k) = (pair.x.shape()[0], pair.y.shape()[0]);
    let all = format!("{}[{}], {}f32[{p}], f32[{k}]", a.dtype(), a.shape()[0], rest.concat());
    Program::stablehlo(format!("// fake: {all} -> f32[]\n// on {}", cx.device()))
}

#[test]
fn inspecting_runs_the_body_and_compiles_but_does_not_touch_the_cache() {
    let (client, state) = FakeEngine::client(2);
    let family = Sum::new(&client);
    let f = |n: i64| Aval::new(DType::F32, [n]);
    let pair = Pair { x: f(3), y: f(3) };
    let inspect = || family.inspect(f(2), [f(7)], &pair, false);

    let inspection = inspect().unwrap();
    let text = "// fake: f32[2], f32[7], f32[3], f32[3] -> f32[]\n// on fake:0";
    assert_eq!(inspection.stablehlo.as_deref(), Some(text));
    assert_eq!(inspection.inputs, [f(2), f(7), f(3), f(3)]);
    assert_eq!(inspection.outputs, [Aval::new(DType::F32, [])]);
    assert_eq!(inspection.target, "fake:0, by the fake engine");
    assert_eq!(state.compiles(), 1);
    assert_eq!(state.live_executables(), 0);
    assert_eq!(family.stats(), Sum::new(&client).stats());

    // An entry in the cache is neither used nor replaced.
    family.warm(f(2), [f(7)], &pair, false).unwrap();
    let before = family.stats();
    assert_eq!(inspect().unwrap(), inspection);
    assert_eq!(family.stats(), before);
    assert_eq!((state.compiles(), state.live_executables()), (3, 1));
    let zeros = |n: i64| array(client, DType::F32, &[n]);
    family.call(zeros(2), [zeros(7)], &Pair { x: zeros(3), y: zeros(3) }, false).unwrap();
    assert_eq!((family.stats().compiles, family.stats().hits), (1, 1));

    // A family on another device says so.
    let second = client.devices().nth(1).unwrap();
    let fixed = Sum::builder(&client).device(second).build().unwrap();
    let inspection = fixed.inspect(f(2), [f(7)], &pair, false).unwrap();
    assert!(inspection.target.starts_with("fake:1, "), "{}", inspection.target);
    drop((family, fixed));
    state.assert_clean();
}

#[test]
fn what_a_call_would_refuse_is_refused_before_the_body_runs() {
    let (client, state) = FakeEngine::client(1);
    let family = Sum::new(&client);
    let f = |n: i64| Aval::new(DType::F32, [n]);
    let error =
        family.inspect(Aval::new(DType::I32, [2]), [], &Pair { x: f(3), y: f(3) }, false).unwrap_err();
    assert_eq!(error.to_string(), "argument `a`: expected dtype f32 or f64, got i32");
    let error = family.inspect(f(2), [], &Pair { x: f(3), y: f(4) }, false).unwrap_err();
    assert_eq!((error.code(), error.argument()), ("shape", Some("pair$y")));
    assert_eq!(state.compiles(), 0);
}

#[test]
fn a_program_that_does_not_fit_and_an_engine_that_fails_are_errors_and_leave_nothing() {
    let (client, state) = FakeEngine::client(1);
    let family = Sum::new(&client);
    let f = |n: i64| Aval::new(DType::F32, [n]);
    let pair = Pair { x: f(3), y: f(3) };
    let inspected = family.inspect(f(2), [], &pair, true).unwrap_err();
    let warmed = family.warm(f(2), [], &pair, true).unwrap_err();
    assert_eq!(inspected.to_string(), warmed.to_string());
    assert_eq!(inspected.code(), "program");

    state.fail(Op::Compile, 1);
    family.inspect(f(2), [], &pair, false).unwrap_err();
    family.inspect(f(2), [], &pair, false).unwrap();
    assert_eq!(state.live_executables(), 0);
    state.assert_clean();
}
