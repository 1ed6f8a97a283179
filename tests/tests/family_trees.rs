//! Lists and structs of arguments, and the structure of results.

use dispatch_runtime::prelude::*;
use dispatch_tests::{array, first, zeros};

/// A program whose result is the sum of all elements of all arguments, each weighted by its position from 1.
fn weighted_sum(inputs: &[Aval]) -> Result<Program> {
    Program::host(inputs, [Aval::new(DType::F32, [])], |args| {
        let weigh = |(i, x): (usize, &HostView<'_>)| {
            (i + 1) as f32 * x.as_slice::<f32>().unwrap().iter().sum::<f32>()
        };
        Ok(vec![HostArray::new([args.iter().enumerate().map(weigh).sum::<f32>()], [])?])
    })
}

fn one(y: Result<Array>) -> f32 {
    y.unwrap().to_vec::<f32>().unwrap()[0]
}

fn scalar(value: f32) -> Array {
    Client::host().array(&[value], []).unwrap()
}

fn sized(n: i64) -> Array {
    array(Client::host(), DType::F32, &[n])
}

// --- lists

#[test]
fn the_length_of_a_list_is_part_of_the_key() {
    #[dispatch_family]
    fn total(#[dynamic(dtype = f32, shape = [])] xs: Vec<Aval>) -> Result<Program> {
        weighted_sum(&xs)
    }
    let family = Total::new(&Client::host());
    let xs: Vec<Array> = (1..=4).map(|i| scalar(i as f32)).collect();
    for _ in 0..2 {
        for n in 0..=4 {
            let expected: usize = (1..=n).map(|i| i * i).sum();
            assert_eq!(one(family.call(&xs[..n])), expected as f32);
        }
    }
    assert_eq!((family.stats().compiles, family.stats().hits), (5, 5));
    // Vectors, arrays and references to them pass as well.
    assert_eq!(one(family.call(xs.clone())), 30.0);
    assert_eq!(one(family.call([scalar(1.0), scalar(2.0)])), 5.0);
    assert_eq!(one(family.call(&xs)), 30.0);
    assert_eq!(family.stats().compiles, 5);
}

#[test]
fn two_lists_do_not_run_into_each_other() {
    #[dispatch_family]
    fn split(
        #[dynamic(dtype = f32, shape = [])] xs: Vec<Aval>,
        #[dynamic(dtype = f32, shape = [])] ys: Vec<Aval>,
    ) -> Result<Program> {
        zeros(
            &[xs.clone(), ys.clone()].concat(),
            &[Aval::new(DType::F32, [xs.len() as i64, ys.len() as i64])],
        )
    }
    let family = Split::new(&Client::host());
    let xs = vec![scalar(1.0); 3];
    for (i, j) in [(0, 0), (1, 2), (2, 1), (0, 3), (3, 0)] {
        assert_eq!(family.call(&xs[..i], &xs[..j]).unwrap().shape(), [i as i64, j as i64]);
    }
    assert_eq!(family.stats().compiles, 5);
}

#[test]
fn the_arrays_of_a_list_have_one_description() {
    #[dispatch_family]
    fn alike(#[dynamic(dtype = [f32, f64], shape = [n, _])] xs: Vec<Aval>) -> Result<Program> {
        zeros(&xs, &[Aval::new(DType::F32, [n])])
    }
    let client = Client::host();
    let family = Alike::new(&client);
    let x = |dtype, shape: &[i64]| array(client, dtype, shape);
    assert_eq!(family.call([x(DType::F32, &[2, 3]), x(DType::F32, &[2, 0])]).unwrap().shape(), [2]);
    let error = family.call([x(DType::F32, &[2, 3]), x(DType::F64, &[2, 3])]).unwrap_err();
    assert_eq!(error.to_string(), "argument `xs[[2]]`: expected dtype f32, the dtype of `xs[[1]]`, got f64");
    let error =
        family.call([x(DType::F32, &[2, 3]), x(DType::F32, &[2, 3]), x(DType::F32, &[3, 3])]).unwrap_err();
    assert_eq!(error.to_string(), "argument `xs[[3]]`: expected shape [n=2,_] (n from `xs[[1]]`), got [3,3]");
}

#[test]
fn each_free_size_of_a_list_is_part_of_the_key() {
    #[dispatch_family]
    fn free(#[dynamic(dtype = f32, shape = [_])] xs: Vec<Aval>) -> Result<Program> {
        first(&xs)
    }
    let family = Free::new(&Client::host());
    for sizes in [[1, 2], [2, 1], [1, 1], [2, 2], [1, 2]] {
        family.call(sizes.map(sized)).unwrap();
    }
    assert_eq!((family.stats().compiles, family.stats().hits), (4, 1));
}

#[test]
fn a_list_of_fixed_length_takes_no_other() {
    const N: usize = 3;

    #[dispatch_family]
    fn triple(
        #[dynamic(dtype = f32, shape = [_])] xs: [Aval; N],
        #[dynamic(dtype = f32, shape = [])] none: [Aval; 0],
    ) -> Result<Program> {
        let [a, b, c] = xs;
        let [] = none;
        weighted_sum(&[a, b, c])
    }
    let family = Triple::new(&Client::host());
    let ones = |n: i64| Client::host().array(&vec![1f32; n as usize], [n]).unwrap();
    assert_eq!(one(family.call(&[ones(1), ones(2), ones(3)], &[])), 14.0);
    assert_eq!(one(family.call(&[ones(3), ones(2), ones(1)], &[])), 10.0);
    assert_eq!(family.stats().compiles, 2);
}

#[test]
fn a_name_that_only_an_empty_list_gives_is_an_error() {
    #[dispatch_family]
    fn lists(
        #[dynamic(dtype = f32, shape = [n])] xs: Vec<Aval>,
        #[dynamic(dtype = f32, shape = [n])] ys: Vec<Aval>,
        #[dynamic(dtype = f32, shape = [_])] zs: Vec<Aval>,
    ) -> Result<Program> {
        zeros(&[xs, ys, zs].concat(), &[Aval::new(DType::F32, [n])])
    }
    let family = Lists::new(&Client::host());
    let text = "argument `xs`: expected shape [n] of at least one array, to know `n`, got an empty list";
    for ys in [vec![], vec![sized(2)]] {
        let error = family.call([], &ys, []).unwrap_err();
        assert_eq!((error.to_string().as_str(), error.code()), (text, "shape"));
    }
    assert_eq!(family.call([sized(2)], [], []).unwrap().shape(), [2]);
}

#[test]
fn an_empty_list_is_fine_if_an_array_gives_the_name() {
    #[dispatch_family]
    fn anchored(
        #[dynamic(dtype = f32, shape = [n])] xs: Vec<Aval>,
        #[dynamic(dtype = dtype(xs), shape = [n])] y: Aval,
    ) -> Result<Program> {
        zeros(&[xs, vec![y]].concat(), &[Aval::new(DType::F32, [n])])
    }
    let family = Anchored::new(&Client::host());
    assert_eq!(family.call([], sized(2)).unwrap().shape(), [2]);
    assert_eq!(family.call([], [1.5, 2.5, 3.5]).unwrap().shape(), [3]);
    let error = family.call([sized(3)], sized(2)).unwrap_err();
    assert_eq!(error.to_string(), "argument `y`: expected shape [n=3] (n from `xs[[1]]`), got [2]");
}

// --- structs

#[derive(InputTree)]
struct Layer<T> {
    #[dynamic(dtype = [f32, f64], shape = [i, o])]
    w: T,
    #[dynamic(dtype = dtype(w), shape = [o])]
    b: T,
}

#[derive(InputTree)]
struct Model<T> {
    #[dynamic(dtype = f32, shape = [])]
    rate: T,
    #[dynamic]
    first: Layer<T>,
    #[dynamic]
    second: Layer<T>,
    #[dynamic(dtype = f32, shape = [_])]
    extra: Vec<T>,
    #[dynamic(dtype = f32, shape = [])]
    pair: [T; 2],
}

#[dispatch_family]
fn trained(#[dynamic] model: Model<Aval>, #[dynamic(dtype = f32, shape = [])] x: Aval) -> Result<Program> {
    let Model { rate, first, second, extra, pair: [p, q] } = model;
    let mut inputs = vec![rate, first.w, first.b, second.w, second.b];
    inputs.extend(extra);
    inputs.extend([p, q, x]);
    weighted_sum(&inputs)
}

fn layer(i: i64, o: i64) -> Layer<Array> {
    Layer { w: array(Client::host(), DType::F32, &[i, o]), b: sized(o) }
}

fn model(first: Layer<Array>, second: Layer<Array>, extra: Vec<Array>) -> Model<Array> {
    Model { rate: scalar(1.0), first, second, extra, pair: [scalar(10.0), scalar(100.0)] }
}

#[test]
fn structs_nest_and_hold_lists_in_the_order_of_their_fields() {
    let family = Trained::new(&Client::host());
    let ones = Client::host().array(&[1f32, 1.0], [2]).unwrap();
    for extra in 0..3 {
        let y = one(family.call(&model(layer(1, 2), layer(3, 4), vec![ones.clone(); extra]), scalar(1000.0)));
        let (extra, sum) = (extra as f32, (1..=extra).map(|i| 2.0 * (5 + i) as f32).sum::<f32>());
        assert_eq!(y, 1.0 + sum + 10.0 * (6.0 + extra) + 100.0 * (7.0 + extra) + 1000.0 * (8.0 + extra));
    }
    assert_eq!(family.stats().compiles, 3);
}

#[test]
fn names_captured_in_a_struct_stay_in_it() {
    let family = Trained::new(&Client::host());
    for (first, second) in [((1, 2), (1, 2)), ((1, 2), (2, 1)), ((2, 1), (1, 2)), ((5, 6), (7, 8))] {
        family.call(&model(layer(first.0, first.1), layer(second.0, second.1), vec![]), 0.0).unwrap();
    }
    assert_eq!(family.stats().compiles, 4);
}

#[test]
fn a_struct_is_refused_by_the_path_of_its_field() {
    let family = Trained::new(&Client::host());
    let text = |model: Model<Array>| family.call(&model, 0.0).unwrap_err().to_string();
    let bad = Layer { w: array(Client::host(), DType::F32, &[2, 3]), b: sized(2) };
    assert_eq!(
        text(model(layer(1, 2), bad, vec![])),
        "argument `model$second$b`: expected shape [o=3] (o from `model$second$w`), got [2]"
    );
    let bad = Layer { w: array(Client::host(), DType::F64, &[2, 3]), b: sized(3) };
    assert_eq!(
        text(model(bad, layer(1, 1), vec![])),
        "argument `model$first$b`: expected dtype f64, the dtype of `model$first$w`, got f32"
    );
    assert_eq!(
        text(model(layer(1, 1), layer(1, 1), vec![sized(1), scalar(1.0)])),
        "argument `model$extra[[2]]`: expected shape [_], got []"
    );
    assert_eq!(family.stats().misses, 0);
}

#[test]
fn warm_and_explain_take_structs_too() {
    let family = Trained::new(&Client::host());
    let aval = |shape: &[i64]| Aval::new(DType::F32, shape);
    let layer_aval = || Layer { w: aval(&[2, 3]), b: aval(&[3]) };
    let shapes = Model {
        rate: aval(&[]),
        first: layer_aval(),
        second: layer_aval(),
        extra: vec![aval(&[4])],
        pair: [aval(&[]), aval(&[])],
    };
    family.warm(&shapes, aval(&[])).unwrap();
    let now = model(layer(2, 3), layer(2, 3), vec![sized(4)]);
    assert_eq!(family.explain(&now, 0.0).unwrap(), Explanation::Hit);
    family.call(&now, 0.0).unwrap();
    assert_eq!(family.stats().compiles, 1);
    let other = model(layer(2, 3), layer(2, 5), vec![sized(4), sized(9)]);
    assert_eq!(
        family.explain(&other, 0.0).unwrap().to_string(),
        concat!(
            "miss: size 2 of `model$second$w` (o) is 5, the nearest entry has 3; ",
            "length of `model$extra` is 2, the nearest entry has 1; ",
            "size 1 of `model$extra[[2]]` is 9, the nearest entry has none"
        )
    );
}

#[test]
fn one_array_may_stand_in_several_places() {
    let family = Trained::new(&Client::host());
    let x = scalar(1.0);
    let m = Model {
        rate: x.clone(),
        first: layer(0, 0),
        second: layer(0, 0),
        extra: vec![],
        pair: [x.clone(), x.clone()],
    };
    assert_eq!(one(family.call(&m, &x)), 1.0 + 6.0 + 7.0 + 8.0);
}

#[test]
fn a_struct_may_hold_leading_dimensions_and_references() {
    #[derive(InputTree)]
    struct Batch<T> {
        #[dynamic(dtype = any, shape = [batch.., n])]
        x: T,
        #[dynamic(dtype = bool, shape = [batch..])]
        mask: T,
        #[dynamic(like(x))]
        y: T,
        #[dynamic(dtype = int, shape = shape(mask))]
        index: Vec<T>,
    }
    #[dispatch_family]
    fn masked(#[dynamic] batch: Batch<Aval>) -> Result<Program> {
        let Batch { x, mask, y, index } = batch;
        let out = x.clone();
        zeros(&[vec![x, mask, y], index].concat(), &[out])
    }
    let client = Client::host();
    let family = Masked::new(&client);
    let make = |x: &[i64], mask: &[i64], y: &[i64], index: &[i64]| Batch {
        x: array(client, DType::C64, x),
        mask: array(client, DType::Bool, mask),
        y: array(client, DType::C64, y),
        index: vec![array(client, DType::U16, index); 2],
    };
    assert_eq!(family.call(&make(&[2, 3], &[2], &[2, 3], &[2])).unwrap().shape(), [2, 3]);
    assert_eq!(family.call(&make(&[9], &[], &[9], &[])).unwrap().shape(), [9]);
    let path = |batch: Batch<Array>| family.call(&batch).unwrap_err().argument().unwrap().to_owned();
    assert_eq!(path(make(&[], &[], &[], &[])), "batch$x");
    assert_eq!(path(make(&[2, 3], &[3], &[2, 3], &[2])), "batch$mask");
    assert_eq!(path(make(&[2, 3], &[2], &[3, 2], &[2])), "batch$y");
    assert_eq!(path(make(&[2, 3], &[2], &[2, 3], &[])), "batch$index[[1]]");
}

// --- results

#[test]
fn results_are_arrays_tuples_and_structs_of_them() {
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

    /// Results 1, 2, … as scalars.
    fn numbered<O>(n: usize) -> Result<Program<O>> {
        Program::host([], vec![Aval::new(DType::F32, []); n], move |_| {
            (1..=n).map(|i| HostArray::new([i as f32], [])).collect()
        })
    }

    #[dispatch_family]
    fn no_result() -> Result<Program<()>> {
        numbered(0)
    }
    #[dispatch_family]
    fn one_in_a_tuple() -> Result<Program<(Array,)>> {
        numbered(1)
    }
    #[dispatch_family]
    fn three() -> Result<Program<(Array, Array, Array)>> {
        numbered(3)
    }
    #[dispatch_family]
    fn listed() -> Result<Program<[Array; 3]>> {
        numbered(3)
    }
    #[dispatch_family]
    fn fitted() -> Result<Program<Fit<Array>>> {
        numbered(4)
    }
    #[dispatch_family]
    #[allow(clippy::type_complexity)]
    fn nested() -> Result<Program<(Array, (Inner<Array>, [Array; 2]), Fit<Array>)>> {
        numbered(8)
    }
    let client = Client::host();
    let number = |y: Array| y.to_vec::<f32>().unwrap()[0];

    let () = NoResult::new(&client).call().unwrap();
    let (y,) = OneInATuple::new(&client).call().unwrap();
    assert_eq!(number(y), 1.0);
    let (a, b, c) = Three::new(&client).call().unwrap();
    assert_eq!([a, b, c].map(number), [1.0, 2.0, 3.0]);
    assert_eq!(Listed::new(&client).call().unwrap().map(number), [1.0, 2.0, 3.0]);

    let Fit { coef, path: [p, q], inner } = Fitted::new(&client).call().unwrap();
    assert_eq!([coef, p, q, inner.residuals].map(number), [1.0, 2.0, 3.0, 4.0]);

    let (a, (inner, [b, c]), fit) = Nested::new(&client).call().unwrap();
    assert_eq!([a, inner.residuals, b, c].map(number), [1.0, 2.0, 3.0, 4.0]);
    let Fit { coef, path: [p, q], inner } = fit;
    assert_eq!([coef, p, q, inner.residuals].map(number), [5.0, 6.0, 7.0, 8.0]);
}

#[test]
fn a_long_list_of_results_is_an_array() {
    #[dispatch_family]
    fn hundred() -> Result<Program<[Array; 100]>> {
        zeros(&[], &vec![Aval::new(DType::F32, []); 100])
    }
    assert_eq!(Hundred::new(&Client::host()).call().unwrap().len(), 100);
}

#[test]
fn results_under_construction_have_the_structure_of_the_arrays_that_they_become() {
    use dispatch_runtime::{OutputTree, ResultTree};

    #[derive(Debug, PartialEq)]
    struct Node(u8);

    impl ResultTree<Node> for Node {
        type Arrays = Array;
        fn leaves(self, leaves: &mut Vec<Node>) {
            leaves.push(self);
        }
    }

    impl ResultTree<Node> for &Node {
        type Arrays = Array;
        fn leaves(self, leaves: &mut Vec<Node>) {
            leaves.push(Node(self.0));
        }
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

    fn leaves<R: ResultTree<Node, Arrays = O>, O: OutputTree>(results: R, _: fn() -> Option<O>) -> Vec<u8> {
        let mut leaves = Vec::new();
        results.leaves(&mut leaves);
        assert_eq!(leaves.len(), O::LEAVES);
        leaves.into_iter().map(|node| node.0).collect()
    }
    let fit = || Fit { coef: Node(1), path: [Node(2), Node(3)], inner: Inner { residuals: Node(4) } };
    assert_eq!(leaves((), || None::<()>), []);
    assert_eq!(leaves(Node(7), || None::<Array>), [7]);
    assert_eq!(leaves(fit(), || None::<Fit<Array>>), [1, 2, 3, 4]);
    let mixed = (Node(0), fit(), [(Node(5),), (Node(6),)], &Node(7));
    assert_eq!(leaves(mixed, || None::<(Array, Fit<Array>, [(Array,); 2], Array)>), [0, 1, 2, 3, 4, 5, 6, 7]);
    let borrowed = Inner { residuals: &Node(8) };
    assert_eq!(leaves(borrowed, || None::<Inner<Array>>), [8]);
}
