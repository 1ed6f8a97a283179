//! Families whose bodies compute with graph values, on a real plugin: the default one, or the one that
//! `PJRT_PLUGIN_PATH_CPU` names.

mod plugin;

use dispatch_runtime::prelude::*;
use plugin::{client, values};

/// `1 / (1 + exp(-x beta))`
#[dispatch_family(capacity = 8)]
fn predict(
    cx: &CompileCx,
    #[dynamic(dtype = [f32, f64], shape = [n, p])] x: Value,
    #[dynamic(dtype = dtype(x), shape = [p])] beta: Value,
) -> Result<Program> {
    assert_eq!((n, p), (3, 2));
    cx.program((x.matmul(&beta) * -1.0).exp().add(1.0).recip())
}

#[test]
fn a_body_computes_with_values_and_runs_once_for_each_key() {
    let client = client();
    let family = Predict::new(&client);
    let x = client.array(&[0f32, 0.0, 1.0, 0.0, 0.0, 1.0], [3, 2]).unwrap();
    let beta = [2.0, -1.0];
    let expected = [0f64, 2.0, -1.0].map(|eta| 1.0 / (1.0 + (-eta).exp()));
    for _ in 0..2 {
        let y = family.call(&x, beta).unwrap();
        let near = |(y, expected): (f32, f64)| (f64::from(y) - expected).abs() < 1e-6;
        assert!(values::<f32>(&y).into_iter().zip(expected).all(near), "{y:?}");
    }
    assert_eq!((family.stats().compiles, family.stats().hits), (1, 1));
    let x = client.array(&[0f64, 0.0, 1.0, 0.0, 0.0, 1.0], [3, 2]).unwrap();
    let y = family.call(&x, beta).unwrap();
    assert!(values::<f64>(&y).into_iter().zip(expected).all(|(y, e)| (y - e).abs() < 1e-12), "{y:?}");
    assert_eq!(family.stats().compiles, 2);
}

#[test]
fn values_and_abstract_values_stand_side_by_side() {
    #[dispatch_family]
    fn scaled(
        cx: &CompileCx,
        #[dynamic(dtype = f32, shape = [n])] x: Aval,
        #[dynamic(dtype = f32, shape = [])] by: Value,
        #[static_arg] plus: f32,
        #[dynamic(like(x))] z: Value,
    ) -> Result<Program> {
        assert_eq!((x.shape(), by.shape(), z.shape(), n), (&[2][..], &[][..], &[2][..], 2));
        // What a body sees as an abstract value is an argument of the program as well.
        let [x, _, _] = cx.arguments() else { panic!("three arguments") };
        cx.program(x * &by + plus - &z)
    }
    let family = Scaled::new(&client());
    assert_eq!(values::<f32>(&family.call([1.0, 2.0], 3.0, 0.5, [1.0, 1.0]).unwrap()), [2.5, 5.5]);
    assert_eq!(values::<f32>(&family.call([1.0, 2.0], 3.0, 1.0, [0.0, 1.0]).unwrap()), [4.0, 6.0]);
    assert_eq!(family.stats().compiles, 2);
}

#[test]
fn a_list_of_values_has_the_length_of_the_call() {
    #[dispatch_family]
    fn weighted(
        cx: &CompileCx,
        #[dynamic(dtype = f64, shape = [n])] xs: Vec<Value>,
        #[dynamic(dtype = f64, shape = [n])] start: Value,
        #[dynamic(dtype = f64, shape = [])] pair: [Value; 2],
    ) -> Result<Program> {
        let [scale, shift] = pair;
        let sum = xs.iter().enumerate().fold(start, |sum, (i, x)| sum + x * (i + 1) as f64);
        cx.program(sum * scale + shift)
    }
    let client = client();
    let family = Weighted::new(&client);
    let vector = |x: f64| client.array(&[x, -x], [2]).unwrap();
    let pair = [client.array(&[10f64], []).unwrap(), client.array(&[0.5f64], []).unwrap()];
    for _ in 0..2 {
        let none: [Array; 0] = [];
        assert_eq!(values::<f64>(&family.call(none, vector(1.0), &pair).unwrap()), [10.5, -9.5]);
        let xs = [vector(1.0), vector(2.0), vector(3.0)];
        assert_eq!(values::<f64>(&family.call(&xs, vector(0.0), &pair).unwrap()), [140.5, -139.5]);
    }
    assert_eq!((family.stats().compiles, family.stats().hits), (2, 2));
}

#[derive(InputTree)]
struct Layer<T> {
    #[dynamic(dtype = f32, shape = [inputs, outputs])]
    weights: T,
    #[dynamic(dtype = f32, shape = [outputs])]
    bias: T,
}

#[derive(InputTree)]
struct Model<T> {
    #[dynamic]
    first: Layer<T>,
    #[dynamic(dtype = f32, shape = [_])]
    noise: Vec<T>,
    #[dynamic]
    last: Layer<T>,
    #[dynamic(dtype = f32, shape = [])]
    range: [T; 2],
}

#[dispatch_family]
fn network(
    cx: &CompileCx,
    #[dynamic] model: Model<Value>,
    #[dynamic(dtype = f32, shape = [batch, _])] x: Value,
    #[dynamic] like: Layer<Aval>,
) -> Result<Program> {
    fn dense(layer: &Layer<Value>, x: &Value) -> Value {
        x * &layer.weights + &layer.bias
    }
    assert_eq!(x.shape()[0], batch);
    assert_eq!(like.weights, *model.last.weights.aval());
    let [low, high] = &model.range;
    let hidden = model.noise.iter().fold(dense(&model.first, &x), |sum, noise| sum + noise);
    cx.program(dense(&model.last, &hidden).clamp(low, high))
}

fn layer(client: Client, [inputs, outputs]: [i64; 2], weight: f32) -> Layer<Array> {
    Layer {
        weights: client.array(&vec![weight; (inputs * outputs) as usize], [inputs, outputs]).unwrap(),
        bias: client.array(&vec![1f32; outputs as usize], [outputs]).unwrap(),
    }
}

#[test]
fn structs_of_values_nest_and_keep_their_names_to_themselves() {
    let client = client();
    let family = Network::new(&client);
    let scalar = |x: f32| client.array(&[x], []).unwrap();
    let model = |noise: &[f32]| Model {
        first: layer(client, [1, 2], 1.0),
        noise: noise.iter().map(|&x| client.array(&[x; 2], [2]).unwrap()).collect(),
        last: layer(client, [5, 2], 0.5),
        range: [scalar(-1.0), scalar(100.0)],
    };
    let like = layer(client, [5, 2], 0.0);
    let x = client.array(&[2f32], [1, 1]).unwrap();
    // (2 * 1 + 1 + noise) * 0.5 + 1
    assert_eq!(values::<f32>(&family.call(&model(&[]), &x, &like).unwrap()), [2.5; 10]);
    assert_eq!(values::<f32>(&family.call(&model(&[1.0, 2.0]), &x, &like).unwrap()), [4.0; 10]);
    assert_eq!(values::<f32>(&family.call(&model(&[1.0, 1000.0]), &x, &like).unwrap()), [100.0; 10]);
    assert_eq!((family.stats().compiles, family.stats().hits), (2, 1));

    let mut wrong = model(&[]);
    wrong.last.bias = scalar(0.0);
    assert_eq!(family.call(&wrong, &x, &like).unwrap_err().argument(), Some("model$last$bias"));
}

#[derive(OutputTree)]
struct Fit<T> {
    coef: T,
    path: [T; 2],
    inner: Inner<T>,
}

#[derive(OutputTree)]
struct Inner<T> {
    residuals: T,
}

#[test]
fn results_are_handed_over_in_the_structure_that_a_call_returns() {
    #[dispatch_family]
    fn fitted(cx: &CompileCx, #[dynamic(dtype = f32, shape = [n])] x: Value) -> Result<Program<Fit<Array>>> {
        let path = [&x * 2.0, &x * 3.0];
        cx.program(Fit { inner: Inner { residuals: &x * 4.0 }, path, coef: x })
    }
    #[dispatch_family]
    #[allow(clippy::type_complexity)]
    fn all(
        cx: &CompileCx,
        #[dynamic(dtype = f32, shape = [])] x: Value,
    ) -> Result<Program<(Array, (Inner<Array>, [Array; 2]), (), Fit<Array>)>> {
        let times = |n: i32| &x * n;
        let fit = Fit { coef: times(5), path: [times(6), times(7)], inner: Inner { residuals: times(8) } };
        cx.program((&x, (Inner { residuals: times(2) }, [times(3), times(4)]), (), fit))
    }
    #[dispatch_family]
    fn nothing(cx: &CompileCx, #[dynamic(dtype = f32, shape = [])] x: Value) -> Result<Program<()>> {
        drop(x);
        cx.program(())
    }
    let client = client();
    let Fit { coef, path: [a, b], inner } = Fitted::new(&client).call([1.0, -1.0]).unwrap();
    let got = [coef, a, b, inner.residuals].map(|y| values::<f32>(&y));
    assert_eq!(got, [[1.0, -1.0], [2.0, -2.0], [3.0, -3.0], [4.0, -4.0]]);

    let (a, (inner, [b, c]), (), fit) = All::new(&client).call(1.0).unwrap();
    let Fit { coef, path: [p, q], inner: last } = fit;
    let all = [a, inner.residuals, b, c, coef, p, q, last.residuals].map(|y| values::<f32>(&y)[0]);
    assert_eq!(all, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]);

    Nothing::new(&client).call(1.0).unwrap();
}

#[test]
fn a_donated_value_gives_its_memory_to_a_result() {
    #[derive(InputTree)]
    struct State<T> {
        #[dynamic(dtype = f32, shape = [_], donate)]
        mean: T,
        #[dynamic(dtype = f32, shape = [])]
        decay: T,
    }
    #[dispatch_family]
    fn update(
        cx: &CompileCx,
        #[dynamic(dtype = f32, shape = [n], donate)] x: Value,
        #[dynamic] state: State<Value>,
    ) -> Result<Program<(Array, Array)>> {
        cx.program((&x + 1.0, state.mean * state.decay))
    }
    let client = client();
    let family = Update::new(&client);
    let mut x = client.array(&[1f32; 4], [4]).unwrap();
    let mut state =
        State { mean: client.array(&[8f32, 4.0], [2]).unwrap(), decay: client.array(&[0.5f32], []).unwrap() };
    for _ in 0..2 {
        let (y, mean) = family.call(&x, &state).unwrap();
        for gone in [&x, &state.mean] {
            assert_eq!(gone.to_vec::<f32>().unwrap_err().code(), "donated");
        }
        (x, state.mean) = (y, mean);
    }
    assert_eq!((values::<f32>(&x), values::<f32>(&state.mean)), (vec![3.0; 4], vec![2.0, 1.0]));
    assert_eq!(family.stats().compiles, 1);

    let aval = |shape: &[i64]| Aval::new(DType::F32, shape);
    let inspection = family.inspect(aval(&[4]), &State { mean: aval(&[2]), decay: aval(&[]) }).unwrap();
    let text = inspection.stablehlo.unwrap();
    assert_eq!(text.matches("jax.buffer_donor").count(), 2, "{text}");
    assert_eq!(inspection.memory.unwrap().alias, 4 * 4 + 2 * 4);
}

#[test]
fn arguments_that_nothing_depends_on_are_arguments_of_the_program_all_the_same() {
    #[dispatch_family]
    fn second(
        cx: &CompileCx,
        #[dynamic(dtype = any, shape = [..])] _unused: Aval,
        #[dynamic(dtype = f32, shape = [])] y: Value,
        #[dynamic(dtype = i8, shape = [2])] _values: Vec<Value>,
    ) -> Result<Program> {
        cx.program(&y)
    }
    let family = Second::new(&client());
    let i8s = client().array(&[1i8, 2], [2]).unwrap();
    assert_eq!(values::<f32>(&family.call([true, false], 7.0, [i8s.clone(), i8s]).unwrap()), [7.0]);
    let (bools, f32, i8s) =
        (Aval::new(DType::Bool, [2]), Aval::new(DType::F32, []), Aval::new(DType::I8, [2]));
    let inspection = family.inspect(&bools, &f32, [i8s.clone(), i8s.clone()]).unwrap();
    assert_eq!(inspection.inputs, [bools, f32.clone(), i8s.clone(), i8s]);
    assert_eq!(inspection.outputs, [f32]);
}

#[test]
fn statics_decide_what_the_body_computes() {
    #[derive(Clone, StaticArg)]
    enum Link {
        Identity,
        Power { by: u32 },
    }
    #[dispatch_family]
    fn linked(
        cx: &CompileCx,
        #[dynamic(dtype = float, shape = [..])] x: Value,
        #[static_arg] link: Link,
    ) -> Result<Program> {
        cx.program(match link {
            Link::Identity => x,
            Link::Power { by } => (1..by).fold(x.clone(), |power, _| power * &x),
        })
    }
    let family = Linked::new(&client());
    let x = [1f32, 2.0];
    for _ in 0..2 {
        assert_eq!(values::<f32>(&family.call(x, Link::Identity).unwrap()), [1.0, 2.0]);
        assert_eq!(values::<f32>(&family.call(x, Link::Power { by: 3 }).unwrap()), [1.0, 8.0]);
    }
    assert_eq!((family.stats().compiles, family.stats().hits), (2, 2));
}

#[test]
fn programs_are_compiled_ahead_and_misses_are_explained() {
    let client = client();
    let family = Predict::new(&client);
    let (x, beta) = (Aval::new(DType::F32, [3, 2]), Aval::new(DType::F32, [2]));
    family.warm(&x, &beta).unwrap();
    assert_eq!(family.stats().compiles, 1);
    let array = client.array(&[0f32; 6], [3, 2]).unwrap();
    assert!(matches!(family.explain(&array, [0.0, 0.0]).unwrap(), Explanation::Hit));
    assert_eq!(values::<f32>(&family.call(&array, [0.0, 0.0]).unwrap()), [0.5; 3]);
    assert_eq!((family.stats().compiles, family.stats().hits), (1, 1));
    let array = client.array(&[0f64; 6], [3, 2]).unwrap();
    assert_eq!(
        family.explain(&array, [0.0, 0.0]).unwrap().to_string(),
        "miss: dtype of `x` is f64, the nearest entry has f32"
    );

    let family = Network::new(&client);
    let aval = |shape: &[i64]| Aval::new(DType::F32, shape);
    let layer =
        |[inputs, outputs]: [i64; 2]| Layer { weights: aval(&[inputs, outputs]), bias: aval(&[outputs]) };
    let model = Model {
        first: layer([1, 2]),
        noise: vec![aval(&[2])],
        last: layer([5, 2]),
        range: [aval(&[]), aval(&[])],
    };
    family.warm(&model, aval(&[1, 1]), &layer([5, 2])).unwrap();
    assert_eq!(family.stats().compiles, 1);
}

#[test]
fn a_wrong_operation_is_an_error_of_the_body_and_leaves_nothing_behind() {
    #[dispatch_family]
    fn wrong(
        cx: &CompileCx,
        #[dynamic(dtype = f32, shape = [n])] x: Value,
        #[dynamic(dtype = f32, shape = [m])] y: Value,
    ) -> Result<Program> {
        let _ = (n, m);
        cx.program((x + y).exp())
    }
    let family = Wrong::new(&client());
    let error = family.call([1.0, 2.0], [1.0, 2.0, 3.0]).unwrap_err();
    assert_eq!(error.code(), "body", "{error}");
    assert!(error.to_string().contains("add(x: f32[2], y: f32[3])"), "{error}");
    assert_eq!(family.stats().entries, 0);
    assert_eq!(values::<f32>(&family.call([1.0, 2.0], [-1.0, -2.0]).unwrap()), [1.0, 1.0]);
}
