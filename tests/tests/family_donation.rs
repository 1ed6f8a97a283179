//! Arguments that are given to the program.

use std::sync::{Barrier, Mutex};

use dispatch_runtime::engine::fake::{FakeEngine, Op};
use dispatch_runtime::prelude::*;
use dispatch_runtime::set_warning_handler;
use dispatch_tests::{array, array_on, first};

/// A program that the fake engine reads like XLA: from arguments of these types to results of these.
fn main_text<O>(inputs: &[Aval], results: &[Aval]) -> Result<Program<O>> {
    let inputs: Vec<String> = inputs.iter().enumerate().map(|(i, aval)| format!("%a{i}: {aval}")).collect();
    let results: Vec<String> = results.iter().map(Aval::to_string).collect();
    Program::stablehlo(format!("func.func @main({}) -> ({}) {{ }}", inputs.join(", "), results.join(", ")))
}

#[dispatch_family]
fn step(
    #[dynamic(dtype = f32, shape = [n], donate)] state: Aval,
    #[dynamic(dtype = f32, shape = [n])] x: Aval,
    #[static_arg] fails: bool,
) -> Result<Program> {
    if fails {
        return Err(Error::InvalidProgram { reason: "told to".into() });
    }
    let result = state.clone();
    main_text(&[state, x], &[result])
}

fn floats(client: Client) -> Array {
    array(client, DType::F32, &[4])
}

const GONE: &str = "argument `state`: the array was donated to an earlier call and is gone";

#[test]
fn a_donated_array_and_its_clones_are_gone_after_the_call() {
    let (client, state) = FakeEngine::client(1);
    let family = Step::new(&client);
    for _ in 0..2 {
        let (a, x) = (floats(client), floats(client));
        let clone = a.clone();
        let y = family.call(&a, &x, false).unwrap();
        assert!(a.is_donated() && clone.is_donated() && !x.is_donated() && !y.is_donated());
        for gone in [&a, &clone] {
            let error = family.call(gone, &x, false).unwrap_err();
            assert_eq!((error.to_string().as_str(), error.code()), (GONE, "donated"));
        }
        let error = family.call(&y, &a, false).unwrap_err();
        assert_eq!((error.code(), error.argument()), ("donated", Some("x")));
        assert!(!y.is_donated(), "a refused call gives nothing away");
        assert_eq!(a.to_vec::<f32>().unwrap_err().code(), "donated");
        // What was made of it is an argument like any other.
        family.call(&y, &x, false).unwrap();
    }
    assert_eq!((state.executes(), family.stats().compiles), (4, 1));
    drop(family);
    state.assert_clean();
}

#[test]
fn the_program_is_told_which_arguments_are_donated() {
    let (client, state) = FakeEngine::client(1);
    Step::new(&client).call(floats(client), floats(client), false).unwrap();
    assert_eq!(
        state.last_program().unwrap(),
        "func.func @main(%a0: tensor<4xf32> {jax.buffer_donor = true}, %a1: tensor<4xf32>) -> (tensor<4xf32>) { }"
    );
}

#[test]
fn one_array_cannot_be_donated_and_read_in_one_call() {
    let (client, state) = FakeEngine::client(1);
    let family = Step::new(&client);
    let a = floats(client);
    let error = family.call(&a, a.clone(), false).unwrap_err();
    assert_eq!(
        error.to_string(),
        "argument `state`: the array is donated, so it cannot be passed as `x` too"
    );
    assert_eq!((state.compiles(), a.is_donated()), (0, false));
    family.call(&a, [1.0; 4], false).unwrap();
    state.assert_no_faults();
}

#[test]
fn a_call_that_fails_gives_the_array_back() {
    let (client, state) = FakeEngine::client(1);
    let family = Step::new(&client);
    let (a, x) = (floats(client), floats(client));
    // The body.
    assert_eq!(family.call(&a, &x, true).unwrap_err().code(), "body");
    // The compiler, the upload of another argument, the run.
    for op in [Op::Compile, Op::Upload, Op::Execute] {
        state.fail(op, 1);
        assert_eq!(family.call(&a, [1.0; 4], false).unwrap_err().code(), "pjrt", "{op:?}");
        assert!(!a.is_donated(), "{op:?}");
    }
    assert_eq!(a.to_vec::<f32>().unwrap(), [0.0; 4]);
    family.call(&a, &x, false).unwrap();
    assert!(a.is_donated());
    state.assert_no_faults();
}

#[test]
fn a_closure_that_panics_gives_the_array_back() {
    #[dispatch_family]
    fn panics(#[dynamic(dtype = f32, shape = [n], donate)] a: Aval) -> Result<Program> {
        Program::host([a.clone()], [a], |_| panic!("in a run"))
    }
    let client = Client::host();
    let a = client.array(&[1f32, 2.0], [2]).unwrap();
    assert_eq!(Panics::new(&client).call(&a).unwrap_err().to_string(), "a host closure panicked: in a run");
    assert_eq!(a.to_vec::<f32>().unwrap(), [1.0, 2.0]);
}

#[test]
fn a_donated_host_value_is_uploaded_and_gone_with_the_call() {
    let (client, state) = FakeEngine::client(1);
    let family = Step::new(&client);
    let data = [1.0f32; 4];
    drop(family.call(data, [0.0; 4], false).unwrap());
    drop(family.call(data, [0.0; 4], false).unwrap());
    drop(family);
    state.assert_clean();
}

// --- lists and structs

#[derive(InputTree)]
struct Model<T> {
    #[dynamic(dtype = f32, shape = [4], donate)]
    weights: Vec<T>,
    #[dynamic(dtype = f32, shape = [4])]
    rate: T,
    #[dynamic]
    inner: Inner<T>,
}

#[derive(InputTree)]
struct Inner<T> {
    #[dynamic(like(kept), donate)]
    given: T,
    #[dynamic(dtype = f32, shape = [4])]
    kept: T,
}

#[dispatch_family]
fn trained(
    #[dynamic] model: Model<Aval>,
    #[dynamic(dtype = f32, shape = [4], donate)] moments: [Aval; 2],
    #[dynamic(dtype = f32, shape = [4])] x: Aval,
) -> Result<Program<[Array; 5]>> {
    let out = vec![x.clone(); 5];
    let Model { mut weights, rate, inner } = model;
    weights.extend([rate, inner.given, inner.kept]);
    weights.extend(moments);
    weights.push(x);
    main_text(&weights, &out)
}

fn model(client: Client, weights: usize) -> Model<Array> {
    let f = || floats(client);
    let inner = Inner { given: f(), kept: f() };
    Model { weights: (0..weights).map(|_| f()).collect(), rate: f(), inner }
}

#[test]
fn lists_and_fields_of_structs_are_donated_and_their_neighbours_are_not() {
    let (client, state) = FakeEngine::client(1);
    let family = Trained::new(&client);
    for _ in 0..2 {
        let (model, moments, x) = (model(client, 2), [floats(client), floats(client)], floats(client));
        family.call(&model, &moments, &x).unwrap();
        assert!(model.weights.iter().chain(&moments).all(Array::is_donated));
        assert!(model.inner.given.is_donated());
        assert!(!model.rate.is_donated() && !model.inner.kept.is_donated() && !x.is_donated());
    }
    let text = state.last_program().unwrap();
    let marked: Vec<bool> = text.split("%a").skip(1).map(|argument| argument.contains("donor")).collect();
    assert_eq!(marked, [true, true, false, true, false, true, true, false]);
    drop(family);
    state.assert_clean();
}

#[test]
fn a_donated_array_is_refused_by_its_path() {
    let (client, _) = FakeEngine::client(1);
    let family = Trained::new(&client);
    let gone = floats(client);
    Step::new(&client).call(&gone, [0.0; 4], false).unwrap();
    let f = || floats(client);
    let text = |model: Model<Array>, moments: [Array; 2]| {
        family.call(&model, &moments, [0.0; 4]).unwrap_err().to_string()
    };
    let mut spoilt = model(client, 2);
    spoilt.weights[1] = gone.clone();
    assert_eq!(
        text(spoilt, [f(), f()]),
        "argument `model$weights[[2]]`: the array was donated to an earlier call and is gone"
    );
    let mut spoilt = model(client, 0);
    spoilt.inner.kept = gone.clone();
    assert_eq!(
        text(spoilt, [f(), f()]),
        "argument `model$inner$kept`: the array was donated to an earlier call and is gone"
    );
    assert_eq!(
        text(model(client, 0), [f(), gone]),
        "argument `moments[[2]]`: the array was donated to an earlier call and is gone"
    );
}

#[test]
fn an_array_in_two_places_is_refused_if_one_of_them_is_donated() {
    let (client, state) = FakeEngine::client(1);
    let family = Trained::new(&client);
    type Share = fn(&mut Model<Array>, &mut [Array; 2], &mut Array, &Array);
    let refused = |share: Share, text: &str| {
        let (mut model, mut moments, mut x) =
            (model(client, 2), [floats(client), floats(client)], floats(client));
        let one = floats(client);
        share(&mut model, &mut moments, &mut x, &one);
        assert_eq!(family.call(&model, &moments, &x).unwrap_err().to_string(), text);
        assert!(!one.is_donated() && !model.weights[0].is_donated());
    };
    refused(
        |model, _, _, one| model.weights.fill(one.clone()),
        "argument `model$weights[[1]]`: the array is donated, so it cannot be passed as `model$weights[[2]]` too",
    );
    refused(
        |model, _, _, one| (model.weights[1], model.rate) = (one.clone(), one.clone()),
        "argument `model$weights[[2]]`: the array is donated, so it cannot be passed as `model$rate` too",
    );
    refused(
        |_, moments, x, one| (moments[0], *x) = (one.clone(), one.clone()),
        "argument `moments[[1]]`: the array is donated, so it cannot be passed as `x` too",
    );
    refused(
        |model, moments, _, one| (model.inner.kept, moments[1]) = (one.clone(), one.clone()),
        "argument `moments[[2]]`: the array is donated, so it cannot be passed as `model$inner$kept` too",
    );
    // Two places of which none is donated are fine.
    let (mut model, moments, x) = (model(client, 1), [floats(client), floats(client)], floats(client));
    (model.rate, model.inner.kept) = (x.clone(), x.clone());
    family.call(&model, &moments, &x).unwrap();
    state.assert_no_faults();
}

#[test]
fn a_call_that_fails_gives_all_arrays_of_lists_and_structs_back() {
    let (client, state) = FakeEngine::client(1);
    let family = Trained::new(&client);
    let (model, moments, x) = (model(client, 2), [floats(client), floats(client)], floats(client));
    for op in [Op::Compile, Op::Execute, Op::Execute] {
        state.fail(op, 1);
        assert_eq!(family.call(&model, &moments, &x).unwrap_err().code(), "pjrt");
        assert!(
            !model.weights.iter().chain(&moments).any(Array::is_donated) && !model.inner.given.is_donated()
        );
    }
    family.call(&model, &moments, &x).unwrap();
    state.assert_no_faults();
}

// --- devices

#[test]
fn a_fixed_family_gives_copies_to_the_program_and_the_arrays_are_gone_all_the_same() {
    #[dispatch_family(device = fixed)]
    fn moved(#[dynamic(dtype = f32, shape = [n], donate)] a: Aval) -> Result<Program> {
        let all = [a];
        main_text(&all, &all)
    }
    let (client, state) = FakeEngine::client(2);
    let [d0, d1] = [0, 1].map(|i| client.devices().nth(i).unwrap());
    let family = Moved::builder(&client).device(d1).build().unwrap();
    for device in [d0, d1] {
        let a = array_on(device, DType::F32, &[4]);
        assert_eq!(family.call(&a).unwrap().device(), d1);
        assert!(a.is_donated());
    }
    drop(family);
    state.assert_clean();
}

// --- warnings

static WARNINGS: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// The warnings about a family since the last time.
fn warnings(family: &str) -> Vec<String> {
    set_warning_handler(|text| WARNINGS.lock().unwrap().push(text.to_owned()));
    let mut all = WARNINGS.lock().unwrap();
    let (own, others) = all.drain(..).partition(|text| text.contains(&format!("`{family}`")));
    *all = others;
    own
}

#[test]
fn a_donation_without_use_is_reported_once() {
    #[dispatch_family]
    fn in_vain(
        #[dynamic(dtype = f32, shape = [n], donate)] a: Aval,
        #[dynamic(dtype = f32, shape = [n], donate)] b: Aval,
    ) -> Result<Program> {
        main_text(&[a.clone(), b], &[a])
    }
    let (client, state) = FakeEngine::client(1);
    let family = InVain::new(&client);
    assert!(warnings("in_vain").is_empty());
    for _ in 0..3 {
        family.call(floats(client), floats(client)).unwrap();
    }
    let text = concat!(
        "family `in_vain`: the donated argument `b` (tensor<4xf32>) cannot be used for any result: ",
        "no result is left that has its size and layout"
    );
    assert_eq!(warnings("in_vain"), [text]);
    // Each other program says it anew.
    state.set_alias_donors(false);
    let five = array(client, DType::F32, &[5]);
    family.call(&five, array(client, DType::F32, &[5])).unwrap();
    assert_eq!(warnings("in_vain").len(), 2);
    assert!(five.is_donated(), "given away, used or not");
}

// --- threads

#[test]
fn of_two_calls_that_donate_one_array_one_gets_it() {
    let (client, state) = FakeEngine::client(1);
    let family = Step::new(&client);
    let x = floats(client);
    family.call(floats(client), &x, false).unwrap();
    for _ in 0..200 {
        let (a, start) = (floats(client), Barrier::new(2));
        let call = || {
            start.wait();
            family.call(&a, &x, false)
        };
        let results = std::thread::scope(|s| {
            let other = s.spawn(call);
            [call(), other.join().unwrap()]
        });
        assert_eq!(results.iter().filter(|result| result.is_ok()).count(), 1);
        let error = results.into_iter().find_map(Result::err).unwrap();
        assert_eq!((error.code(), error.argument()), ("donated", Some("state")));
    }
    state.assert_no_faults();
}

#[test]
fn on_the_host_engine_a_donated_array_is_gone_too() {
    #[dispatch_family]
    fn given(#[dynamic(dtype = f32, shape = [n], donate)] a: Aval) -> Result<Program> {
        first(&[a])
    }
    let client = Client::host();
    let a = client.array(&[1f32, 2.0], [2]).unwrap();
    let y = Given::new(&client).call(&a).unwrap();
    assert_eq!((y.to_vec::<f32>().unwrap(), a.is_donated()), (vec![1.0, 2.0], true));
}
