//! Shapes, slices, joins and indices of the builder, on a real plugin.
//!
//! Whatever moves elements is described by the places that they come from, so that one table serves every dtype.

use dispatch_runtime::graph::{
    Combine, GatherOptions, Graph, ScatterOptions, Value, concatenate, stack, step,
};
use dispatch_runtime::prelude::*;
use dispatch_runtime::{Element, ResultTree};
use half::{bf16, f16};
use num_complex::Complex;

/// Any number of results.
struct All(Vec<Value>);

impl ResultTree<Value> for All {
    type Arrays = ();

    fn leaves(self, leaves: &mut Vec<Value>) {
        leaves.extend(self.0);
    }
}

/// The results, each of the dtype of `T`.
fn run<T: Element>(graph: &Graph, results: Vec<Value>, args: &[HostArray]) -> Vec<HostArray> {
    let avals: Vec<Aval> = results.iter().map(|value| value.aval().clone()).collect();
    let program = graph.program(All(results)).unwrap_or_else(|error| panic!("{error}"));
    let client = Client::cpu().unwrap();
    let executable = client.compile(&program).unwrap_or_else(|error| panic!("{error}\n{program:?}"));
    let args: Vec<Array> =
        args.iter().map(|a| client.upload(a.view(), client.default_device()).unwrap()).collect();
    let results = executable.execute(&args.iter().collect::<Vec<_>>()).unwrap();
    let results: Vec<HostArray> =
        results.iter().map(|a| HostArray::new(a.to_vec::<T>().unwrap(), a.shape()).unwrap()).collect();
    let given: Vec<Aval> = results.iter().map(HostArray::aval).collect();
    assert_eq!(given, avals, "the builder knows what the plugin gives");
    results
}

fn ints(data: &[i32], shape: &[i64]) -> HostArray {
    HostArray::new(data, shape).unwrap()
}

/// Where an element of a result comes from: a place of the argument, or a zero.
type From = i32;
const O: From = -1;

/// Results with their names, and where their elements come from, row by row.
type Case = (&'static str, Value, &'static [i64], Vec<From>);

/// Everything that moves elements, of a 2 by 3 array and of `[7, -9, 1]`.
fn moved(x: &Value, i: &Value) -> Vec<Case> {
    let zero = Value::zeros(x.dtype(), []);
    let [first, last] = [0, 1].map(|at| i.slice(at));
    let windows = GatherOptions {
        offset_dims: vec![1],
        collapsed_slice_dims: vec![0],
        start_index_map: vec![1, 0],
        index_vector_dim: 1,
        slice_sizes: vec![1, 2],
        ..GatherOptions::default()
    };
    let put_windows = ScatterOptions {
        update_window_dims: vec![1],
        inserted_window_dims: vec![0],
        scatter_dims_to_operand_dims: vec![1, 0],
        index_vector_dim: 1,
        ..ScatterOptions::default()
    };
    let parts = x.split(1, [1, 0, 2]);
    let places = Value::constant(&[1i64, 1, 0, -5, 9, 9], [3, 2]);
    let row = x.slice((0, ..));
    vec![
        ("reshape", x.reshape([3, -1]), &[3, 2], vec![0, 1, 2, 3, 4, 5]),
        ("flatten", x.flatten(), &[6], vec![0, 1, 2, 3, 4, 5]),
        ("t", x.t(), &[3, 2], vec![0, 3, 1, 4, 2, 5]),
        ("transpose", x.expand_dims(-1).transpose([-1, 1, 0]), &[1, 3, 2], vec![0, 3, 1, 4, 2, 5]),
        ("swap_axes", x.expand_dims(1).swap_axes(0, -1), &[3, 1, 2], vec![0, 3, 1, 4, 2, 5]),
        ("move_axis", x.expand_dims(0).move_axis(0, -1), &[2, 3, 1], vec![0, 1, 2, 3, 4, 5]),
        ("squeeze", x.slice(0..1).squeeze(..), &[3], vec![0, 1, 2]),
        ("slice", x.slice((.., 1..)), &[2, 2], vec![1, 2, 4, 5]),
        ("slice at", x.slice((-1, step(.., 2))), &[2], vec![3, 5]),
        ("slice nothing", x.slice((.., 3..)), &[2, 0], vec![]),
        ("slice_axis", x.slice_axis(-1, -2, 3), &[2, 2], vec![1, 2, 4, 5]),
        ("split", parts[2].clone(), &[2, 2], vec![1, 2, 4, 5]),
        ("split nothing", parts[1].clone(), &[2, 0], vec![]),
        ("reverse", x.reverse(-1), &[2, 3], vec![2, 1, 0, 5, 4, 3]),
        ("reverse all", x.reverse(..), &[2, 3], vec![5, 4, 3, 2, 1, 0]),
        ("roll", x.roll(1, -1), &[2, 3], vec![2, 0, 1, 5, 3, 4]),
        ("roll back", x.roll(-7, 1), &[2, 3], vec![1, 2, 0, 4, 5, 3]),
        (
            "pad",
            x.pad([1, -1], [0, 2], [0, 1], &zero),
            &[3, 6],
            vec![O, O, O, O, O, O, O, 1, O, 2, O, O, O, 4, O, 5, O, O],
        ),
        ("crop", x.pad([0, -1], [-1, -1], [0, 0], &zero), &[1, 1], vec![1]),
        (
            "crop away",
            x.pad([-2, 0], [0, 0], [5, 0], &zero),
            &[5, 3],
            [[O; 12].to_vec(), vec![3, 4, 5]].concat(),
        ),
        (
            "concatenate",
            concatenate(&[x, &parts[1], x], 1),
            &[2, 6],
            vec![0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5],
        ),
        ("stack", stack(&[&row, &x.slice((1, ..))], -1), &[3, 2], vec![0, 3, 1, 4, 2, 5]),
        ("tile", x.tile([2]), &[2, 6], vec![0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5]),
        ("tile more", row.tile([2, 1, 1]), &[2, 1, 3], vec![0, 1, 2, 0, 1, 2]),
        ("tile nothing", x.tile([2, 0]), &[4, 0], vec![]),
        ("repeat", x.repeat(2, -1), &[2, 6], vec![0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5]),
        ("tril", x.tril(0), &[2, 3], vec![0, O, O, 3, 4, O]),
        ("tril all", x.tril(i64::MAX), &[2, 3], vec![0, 1, 2, 3, 4, 5]),
        ("triu", x.triu(1), &[2, 3], vec![O, 1, 2, O, O, 5]),
        ("triu all", x.triu(i64::MIN), &[2, 3], vec![0, 1, 2, 3, 4, 5]),
        ("diagonal", x.diag(), &[2], vec![0, 4]),
        ("diagonals", stack(&[x, x], 0).swap_axes(1, 2).diagonal(), &[2, 2], vec![0, 4, 0, 4]),
        ("diag", row.diag(), &[3, 3], vec![0, O, O, O, 1, O, O, O, 2]),
        ("dynamic_slice", x.dynamic_slice([&last, &first], [1, 2]), &[1, 2], vec![1, 2]),
        ("dynamic_slice none", x.dynamic_slice([&last, &first], [0, 2]), &[0, 2], vec![]),
        (
            "dynamic_update_slice",
            x.dynamic_update_slice(&x.slice((1..2, ..1)), [&last, &first]),
            &[2, 3],
            vec![0, 1, 3, 3, 4, 5],
        ),
        ("take", x.take(i, 1), &[2, 3], vec![2, 0, 1, 5, 3, 4]),
        ("take in front", x.take(&i.expand_dims(1), 0), &[3, 1, 3], vec![3, 4, 5, 0, 1, 2, 3, 4, 5]),
        ("take one", x.take(&first, -1), &[2], vec![2, 5]),
        ("take none", x.take(&i.slice(..0), 0), &[0, 3], vec![]),
        ("take_along", x.take_along(&i.expand_dims(0), 1), &[2, 3], vec![2, 0, 1, 5, 3, 4]),
        ("take_along rows", x.take_along(&i.expand_dims(0), 0), &[1, 3], vec![3, 1, 5]),
        ("gather", x.gather(&places, &windows), &[3, 2], vec![4, 5, 0, 1, 4, 5]),
        ("put", x.put(i, row.slice(..1), 1, Combine::Set), &[2, 3], vec![0, 0, 2, 3, 0, 5]),
        ("put one", x.put(&Value::scalar(0), &row, 0, Combine::Set), &[2, 3], vec![0, 1, 2, 3, 4, 5]),
        ("put none", x.put(&i.slice(..0), &zero, 0, Combine::Set), &[2, 3], vec![0, 1, 2, 3, 4, 5]),
        (
            "put_along",
            x.put_along(&i.expand_dims(0), &zero, 0, Combine::Set),
            &[2, 3],
            vec![0, 1, 2, 3, 4, O],
        ),
        (
            "scatter",
            x.scatter(&places, &x.slice((0, ..2)).tile([3, 1]), &put_windows, Combine::Set),
            &[2, 3],
            vec![0, 1, 2, 3, 0, 1],
        ),
    ]
}

fn check_moved<T: Element>(elements: [T; 6]) {
    let graph = Graph::new();
    let x = graph.input("x", &Aval::new(T::DTYPE, [2, 3]));
    let i = graph.input("i", &Aval::new(DType::I32, [3]));
    let mut cases = moved(&x, &i);
    // Variants, whose names are two words, are compiled for one dtype: that takes its time.
    cases.retain(|(name, ..)| T::DTYPE == DType::I32 || !name.contains(' '));
    let values = cases.iter().map(|(_, value, ..)| value.clone()).collect();
    let x = HostArray::new(elements, [2, 3]).unwrap();
    let results = run::<T>(&graph, values, &[x.clone(), ints(&[7, -9, 1], &[3])]);
    let (bytes, size) = (x.bytes().to_vec(), T::DTYPE.size());
    for ((name, _, shape, from), result) in cases.into_iter().zip(results) {
        let element = |&from: &From| match from {
            O => vec![0; size],
            from => bytes[from as usize * size..][..size].to_vec(),
        };
        let expected: Vec<u8> = from.iter().flat_map(element).collect();
        assert_eq!(result.shape(), shape, "{name} of {}", T::DTYPE);
        assert_eq!(result.bytes(), expected, "{name} of {}", T::DTYPE);
    }
}

#[test]
fn elements_of_every_dtype_are_moved_as_they_are() {
    check_moved([true, false, true, true, false, true]);
    check_moved([i8::MIN, -1, 2, 3, 4, i8::MAX]);
    check_moved([i16::MIN, -1, 2, 3, 4, i16::MAX]);
    check_moved([i32::MIN, -1, 2, 3, 4, i32::MAX]);
    check_moved([i64::MIN, -1, 2, 3, 4, i64::MAX]);
    check_moved([1, 2, 3, 4, 5, u8::MAX]);
    check_moved([1, 2, 3, 4, 5, u16::MAX]);
    check_moved([1, 2, 3, 4, 5, u32::MAX]);
    check_moved([1, 2, 3, 4, 5, u64::MAX]);
    let floats = [-0.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 5.5, -6.0];
    check_moved(floats.map(f16::from_f64));
    check_moved(floats.map(bf16::from_f64));
    check_moved(floats.map(|x| x as f32));
    check_moved(floats);
    check_moved(floats.map(|x| Complex::new(x as f32, 1.0)));
    check_moved(floats.map(|x| Complex::new(-0.0, x)));
}

#[test]
fn scalars_and_empty_arrays_have_shapes_too() {
    let graph = Graph::new();
    let s = graph.input("s", &Aval::new(DType::I32, []));
    let e = graph.input("e", &Aval::new(DType::I32, [0, 3]));
    let none: [i64; 0] = [];
    let starts: [&Value; 0] = [];
    let cases = vec![
        (s.reshape([1, -1]), vec![1, 1], vec![5]),
        (s.flatten(), vec![1], vec![5]),
        (s.transpose(none), vec![], vec![5]),
        (s.expand_dims(-1), vec![1], vec![5]),
        (s.squeeze(..), vec![], vec![5]),
        (s.slice(()), vec![], vec![5]),
        (s.reverse(..), vec![], vec![5]),
        (s.pad(none, none, none, 0), vec![], vec![5]),
        (stack(&[&s, &s], 0), vec![2], vec![5, 5]),
        (s.tile(none), vec![], vec![5]),
        (s.tile([2, 1]), vec![2, 1], vec![5, 5]),
        (s.dynamic_slice(starts, none), vec![], vec![5]),
        (s.dynamic_update_slice(&(&s + 1), starts), vec![], vec![6]),
        (s.one_hot(DType::I32, 6), vec![6], vec![0, 0, 0, 0, 0, 1]),
        (
            s.gather(
                &Value::zeros(DType::I32, [2, 0]),
                &GatherOptions { index_vector_dim: 1, ..Default::default() },
            ),
            vec![2],
            vec![5, 5],
        ),
        (
            s.scatter(
                &Value::zeros(DType::I32, [2, 0]),
                &Value::ones(DType::I32, [2]),
                &ScatterOptions { index_vector_dim: 1, ..Default::default() },
                Combine::Add,
            ),
            vec![],
            vec![7],
        ),
        (e.reshape([3, 0]), vec![3, 0], vec![]),
        (e.flatten(), vec![0], vec![]),
        (e.t(), vec![3, 0], vec![]),
        (e.slice((.., 0)), vec![0], vec![]),
        (e.reverse(..), vec![0, 3], vec![]),
        (e.roll(2, 0), vec![0, 3], vec![]),
        (e.roll(2, 1), vec![0, 3], vec![]),
        (e.pad([1, 0], [0, 0], [3, 0], 7), vec![1, 3], vec![7, 7, 7]),
        (concatenate(&[&e, &e], 0), vec![0, 3], vec![]),
        (stack(&[&e, &e], 0), vec![2, 0, 3], vec![]),
        (e.tile([2, 2]), vec![0, 6], vec![]),
        (e.repeat(2, 1), vec![0, 6], vec![]),
        (e.tril(0), vec![0, 3], vec![]),
        (e.diag(), vec![0], vec![]),
        (e.flatten().diag(), vec![0, 0], vec![]),
        (Value::eye(DType::I32, 0), vec![0, 0], vec![]),
        (Value::eye(DType::I32, 2), vec![2, 2], vec![1, 0, 0, 1]),
        (e.dynamic_slice([&s, &s], [0, 1]), vec![0, 1], vec![]),
        (e.dynamic_update_slice(&e.slice((.., ..1)), [&s, &s]), vec![0, 3], vec![]),
        (e.take(&s, 1), vec![0], vec![]),
        (e.take(&Value::zeros(DType::I32, [0]), 0), vec![0, 3], vec![]),
        (e.take_along(&e, 0), vec![0, 3], vec![]),
        (e.put(&Value::zeros(DType::I32, [2]), 1, 0, Combine::Add), vec![0, 3], vec![]),
        (e.put_along(&e, 1, 1, Combine::Set), vec![0, 3], vec![]),
        (e.one_hot(DType::I32, 2), vec![0, 3, 2], vec![]),
        (s.one_hot(DType::I32, 0), vec![0], vec![]),
    ];
    let values = cases.iter().map(|(value, ..)| value.clone()).collect();
    let results = run::<i32>(&graph, values, &[ints(&[5], &[]), ints(&[], &[0, 3])]);
    for (i, ((_, shape, elements), result)) in cases.into_iter().zip(results).enumerate() {
        assert_eq!(
            (result.shape(), result.as_slice::<i32>().unwrap()),
            (&shape[..], &elements[..]),
            "case {i}"
        );
    }
}

/// Taking and putting with indices of one dtype, along an axis longer than the narrow ones can count.
fn check_indices<T: Element>(indices: &[T], places: &[i128]) {
    let n = indices.len() as i64;
    let graph = Graph::new();
    let x = graph.input("x", &Aval::new(DType::I32, [300]));
    let i = graph.input("i", &Aval::new(T::DTYPE, [n]));
    let by_dynamic_slice: Vec<Value> = (0..n).map(|at| x.dynamic_slice([i.slice(at)], [2])).collect();
    let by_update: Vec<Value> =
        (0..n).map(|at| x.dynamic_update_slice(&Value::full(DType::I32, [2], -1), [i.slice(at)])).collect();
    let values = vec![
        x.take(&i, 0),
        x.take_along(&i, 0),
        x.put(&i, -1, 0, Combine::Set),
        x.put_along(&i, -1, 0, Combine::Set),
        concatenate(&by_dynamic_slice, 0),
        stack(&by_update, 0),
        i.one_hot(DType::I32, 300),
    ];
    let x: Vec<i32> = (0..300).collect();
    let args = [HostArray::new(&x, [300]).unwrap(), HostArray::new(indices, [n]).unwrap()];
    let results = run::<i32>(&graph, values, &args);

    let clamp = |place: i128, last: i128| place.clamp(0, last) as i32;
    let taken: Vec<i32> = places.iter().map(|&place| clamp(place, 299)).collect();
    let put: Vec<i32> = x.iter().map(|&x| if places.contains(&x.into()) { -1 } else { x }).collect();
    let starts = places.iter().map(|&place| clamp(place, 298));
    let sliced: Vec<i32> = starts.clone().flat_map(|start| [start, start + 1]).collect();
    let updated: Vec<i32> = starts
        .flat_map(|start| (0..300).map(move |x| if x == start || x == start + 1 { -1 } else { x }))
        .collect();
    let hot: Vec<i32> =
        places.iter().flat_map(|&place| (0..300).map(move |x| i32::from(place == i128::from(x)))).collect();
    let names =
        ["take", "take_along", "put", "put_along", "dynamic_slice", "dynamic_update_slice", "one_hot"];
    let expected = [&taken, &taken, &put, &put, &sliced, &updated, &hot];
    for ((name, expected), result) in names.into_iter().zip(expected).zip(results) {
        assert_eq!(result.as_slice::<i32>().unwrap(), expected, "{name} by {}", T::DTYPE);
    }
}

#[test]
fn an_index_of_any_dtype_is_moved_into_the_array_or_left_out() {
    macro_rules! check {
        ($($int:ty: $($index:expr),*;)*) => {
            $(check_indices::<$int>(&[$($index),*], &[$($index as i128),*]);)*
        };
    }
    check! {
        i8: 0, 5, i8::MAX, -1, i8::MIN;
        u8: 0, 5, 127, 128, 200, u8::MAX;
        i16: 0, 299, 300, i16::MAX, -1, i16::MIN;
        u16: 0, 299, 300, u16::MAX;
        i32: 0, 299, 300, i32::MAX, -1, i32::MIN;
        u32: 0, 299, 300, u32::MAX;
        i64: 0, 299, 300, i64::MAX, -1, i64::MIN;
        u64: 0, 299, 300, u64::MAX;
    }
}

#[test]
fn what_is_put_in_one_place_is_combined() {
    let graph = Graph::new();
    let x = graph.input("x", &Aval::new(DType::F32, [3]));
    let u = graph.input("u", &Aval::new(DType::F32, [4]));
    let i = Value::constant(&[2u8, 0, 2, 9], [4]);
    let put = |combine| x.put(&i, &u, 0, combine);
    let along = ScatterOptions {
        inserted_window_dims: vec![0],
        scatter_dims_to_operand_dims: vec![0],
        index_vector_dim: 1,
        ..ScatterOptions::default()
    };
    let two = Value::scalar(2f32);
    // Constants of a closure are computed in it, also if the program has them outside.
    let with = x.scatter_with(&i, &u, &along, |old, new| old * 2.0 + new);
    let with_outer = x.scatter_with(&i, &u, &along, |old, new| old * &two + new);
    let values = vec![
        put(Combine::Add),
        put(Combine::Mul),
        put(Combine::Min),
        put(Combine::Max),
        with,
        with_outer,
        &x * &two,
    ];
    let args = [
        HostArray::new([10f32, 20.0, 30.0], [3]).unwrap(),
        HostArray::new([1f32, f32::NAN, -2.0, 5.0], [4]).unwrap(),
    ];
    let results = run::<f32>(&graph, values, &args);
    let expected = [
        [f32::NAN, 20.0, 29.0],
        [f32::NAN, 20.0, -60.0],
        [f32::NAN, 20.0, -2.0],
        [f32::NAN, 20.0, 30.0],
        [f32::NAN, 20.0, (30.0 * 2.0 + 1.0) * 2.0 - 2.0],
        [f32::NAN, 20.0, (30.0 * 2.0 + 1.0) * 2.0 - 2.0],
        [20.0, 40.0, 60.0],
    ];
    for (result, expected) in results.iter().zip(expected) {
        assert_eq!(format!("{:?}", result.as_slice::<f32>().unwrap()), format!("{expected:?}"));
    }

    // Every dtype that combines, in each way that it does.
    for combine in [Combine::Add, Combine::Mul, Combine::Min, Combine::Max] {
        let graph = Graph::new();
        let is_taken = |dtype: DType| match combine {
            Combine::Add | Combine::Mul => dtype != DType::Bool,
            _ => !dtype.is_complex(),
        };
        let dtypes: Vec<DType> = DType::ALL.iter().copied().filter(|&dtype| is_taken(dtype)).collect();
        let put = |&dtype: &DType| {
            let one = Value::ones(dtype, [2]);
            one.put(&Value::scalar(1), one.slice(0), 0, combine).convert(DType::C128)
        };
        let results = run::<Complex<f64>>(&graph, dtypes.iter().map(put).collect(), &[]);
        let expected = [1.0, if combine == Combine::Add { 2.0 } else { 1.0 }].map(|x| Complex::new(x, 0.0));
        for (dtype, result) in dtypes.iter().zip(results) {
            assert_eq!(result.as_slice::<Complex<f64>>().unwrap(), expected, "{combine:?} of {dtype}");
        }
    }
}

#[test]
fn ones_stand_in_their_places_in_every_dtype() {
    let graph = Graph::new();
    let i = graph.input("i", &Aval::new(DType::I8, [2]));
    let made = |&dtype: &DType| {
        let values = [Value::eye(dtype, 2), i.one_hot(dtype, 2)];
        assert!(values.iter().all(|value| value.dtype() == dtype));
        values.map(|value| value.convert(DType::C128))
    };
    let values = DType::ALL.iter().flat_map(made).collect();
    let args = [HostArray::new([1i8, -1], [2]).unwrap()];
    let results = run::<Complex<f64>>(&graph, values, &args);
    let complex = |numbers: [f64; 4]| numbers.map(|x| Complex::new(x, 0.0));
    for (dtype, pair) in DType::ALL.iter().zip(results.chunks(2)) {
        let [eye, hot] = [0, 1].map(|i| pair[i].as_slice::<Complex<f64>>().unwrap());
        assert_eq!(eye, complex([1.0, 0.0, 0.0, 1.0]), "eye of {dtype}");
        assert_eq!(hot, complex([0.0, 1.0, 0.0, 0.0]), "one_hot of {dtype}");
    }
}
