//! Skeletons as parts of larger computations, on a real plugin.

mod plugin;

use dispatch_runtime::graph::{Function, Graph, Window, fori, if_else, while_loop};
use dispatch_runtime::prelude::*;
use dispatch_runtime::program::Source;
use dispatch_runtime::skeleton::{Bind, DynamicSkeleton, Skeleton, SkeletonSlot, capture};
use plugin::{client, client_with_devices};

fn f32s(data: &[f32]) -> Array {
    client().array(data, [data.len() as i64]).unwrap()
}

fn slot(name: &str, shape: &[i64]) -> SkeletonSlot {
    SkeletonSlot::new(DType::F32, shape).named(name)
}

fn of(array: &Array) -> Vec<f32> {
    array.to_vec().unwrap()
}

/// `x * 2 + 1` for a slot `x`.
fn affine(n: i64) -> Skeleton {
    let x = slot("x", &[n]);
    (&x * 2.0 + 1.0).into_skeleton(&client(), &[&x]).unwrap()
}

/// `a - b`, which tells its inputs apart.
fn difference(n: i64) -> Skeleton {
    let (a, b) = (slot("a", &[n]), slot("b", &[n]));
    (&a - &b).into_skeleton(&client(), &[&a, &b]).unwrap()
}

fn text<O>(skeleton: &Skeleton<O>) -> &str {
    let Source::StableHlo(text) = skeleton.program() else { panic!("no text") };
    text
}

#[test]
fn a_composed_skeleton_gives_what_a_run_gives() {
    let (w, b) = (SkeletonSlot::new(DType::F32, [5, 7]), slot("b", &[7]));
    let x = SkeletonSlot::new(DType::F32, [3, 5]);
    let layer = (x.matmul(&w) + &b).tanh().sum(1);
    let layer = layer.into_skeleton(&client(), &[&x, &w, &b]).unwrap();
    let data = |n: usize| (0..n).map(|i| (i as f32 * 0.7).sin()).collect::<Vec<_>>();
    let (w, b) = (client().array(&data(35), [5, 7]).unwrap(), f32s(&data(7)));
    let x = client().array(&data(15), [3, 5]).unwrap();
    let run = of(&layer.run(&[&x, &w, &b]).unwrap());

    // Of arrays.
    let arrays = layer.compose(&[&x, &w, &b]).unwrap().into_skeleton(&client(), &[]).unwrap();
    assert_eq!(of(&arrays.run::<&Array>(&[]).unwrap()), run);
    // Of values, computed from slots; what is bound and what is a slot still are mixed.
    let half = SkeletonSlot::new(DType::F32, [3, 5]);
    let values = layer.compose(&[&(&half * 2.0), &w, &b]).unwrap() * 1.0;
    let values = values.into_skeleton(&client(), &[&half]).unwrap();
    let halves: Vec<f32> = data(15).iter().map(|x| x / 2.0).collect();
    assert_eq!(of(&values.run(&[&client().array(&halves, [3, 5]).unwrap()]).unwrap()), run);
    assert_eq!(values.captured().len(), 2);
    // Of slots alone.
    let slots =
        [SkeletonSlot::new(DType::F32, [3, 5]), SkeletonSlot::new(DType::F32, [5, 7]), slot("c", &[7])];
    let [p, q, r] = &slots;
    let again = layer.compose(&[p, q, r]).unwrap().into_skeleton(&client(), &[r, q, p]).unwrap();
    assert_eq!(of(&again.run(&[&b, &w, &x]).unwrap()), run);
}

#[test]
fn one_value_is_bound_twice_and_a_skeleton_composed_again() {
    let (difference, x) = (difference(2), slot("x", &[2]));
    let squared = &x * &x;
    let zero = difference.compose(&[&squared, &squared]).unwrap();
    let other = difference.compose(&[&x, &squared]).unwrap();
    let larger = (zero, other).into_skeleton(&client(), &[&x]).unwrap();
    let (zero, other) = larger.run(&[&f32s(&[3.0, 4.0])]).unwrap();
    assert_eq!((of(&zero), of(&other)), (vec![0.0, 0.0], vec![-6.0, -12.0]));
    // Its program stands there once.
    assert_eq!(text(&larger).matches("func.func private").count(), 1, "{}", text(&larger));
    assert_eq!(text(&larger).matches("call @skeleton(").count(), 2, "{}", text(&larger));
}

#[test]
fn what_is_composed_of_composed_skeletons_is_composed() {
    let (affine, difference, x) = (affine(2), difference(2), slot("x", &[2]));
    let inner = affine.compose(&[&affine.compose(&[&x]).unwrap()]).unwrap();
    let made = difference.compose(&[&inner, &x]).unwrap();
    // 4x + 3 - x
    let middle = made.into_skeleton(&client(), &[&x]).unwrap();
    let ten = f32s(&[10.0, 20.0]);
    assert_eq!(of(&middle.run(&[&ten]).unwrap()), [33.0, 63.0]);

    let y = slot("y", &[2]);
    let outer = middle.compose(&[&middle.compose(&[&y]).unwrap()]).unwrap();
    let outer = difference.compose(&[&outer, &affine.compose(&[&ten]).unwrap()]).unwrap();
    let outer = outer.into_skeleton(&client(), &[&y]).unwrap();
    assert_eq!(of(&outer.run(&[&ten]).unwrap()), [102.0 - 21.0, 192.0 - 41.0]);
}

#[derive(OutputTree)]
struct Parts<T> {
    whole: T,
    halves: [T; 2],
    more: More<T>,
}

#[derive(OutputTree)]
struct More<T> {
    total: T,
}

#[test]
fn results_keep_their_structure() {
    let x = slot("x", &[4]);
    let halves = [x.slice(0..2), x.slice(2..4)];
    let parts = Parts { whole: &x + 1.0, halves, more: More { total: x.sum(..) } };
    let parts: Skeleton<Parts<Array>> = parts.into_skeleton(&client(), &[&x]).unwrap();
    let both = (&x * 2.0, [x.max(..)]).into_skeleton(&client(), &[&x]).unwrap();
    let list = Skeleton::<Vec<Array>>::from_program(
        &client(),
        Program::stablehlo(text(&both).to_owned()).unwrap(),
        &[&x],
    )
    .unwrap();
    let nothing = ().into_skeleton(&client(), &[]).unwrap();

    let y = slot("y", &[4]);
    let () = nothing.compose(&[]).unwrap();
    let made: Parts<Value> = parts.compose(&[&y]).unwrap();
    let (doubled, [most]) = both.compose(&[&made.whole]).unwrap();
    let listed: Vec<Value> = list.compose(&[&y]).unwrap();
    let results = (doubled, most + made.more.total, made.halves, [&listed[0], &listed[1]]);
    let larger = results.into_skeleton(&client(), &[&y]).unwrap();
    let (doubled, sum, halves, listed) = larger.run(&[&f32s(&[1.0, 2.0, 3.0, 4.0])]).unwrap();
    assert_eq!((of(&doubled), of(&sum)), (vec![4.0, 6.0, 8.0, 10.0], vec![15.0]));
    assert_eq!((of(&halves[0]), of(&halves[1])), (vec![1.0, 2.0], vec![3.0, 4.0]));
    assert_eq!((of(&listed[0]), of(&listed[1])), (vec![2.0, 4.0, 6.0, 8.0], vec![4.0]));
}

#[test]
fn binding_names_the_slot_that_is_wrong() {
    let (x, y) = (slot("x", &[2, 3]), slot("y", &[]));
    let z = SkeletonSlot::new(DType::I32, [1]);
    let skeleton = (&x + &y, &z + 1).into_skeleton(&client(), &[&x, &y, &z]).unwrap();
    let outer = |dtype: DType, shape: &[i64]| SkeletonSlot::new(dtype, shape);
    let (good_x, good_y) = (outer(DType::F32, &[2, 3]), outer(DType::F32, &[]));
    let good_z = client().array(&[1i32], [1]).unwrap();
    let elsewhere = Client::host().array(&[1f32], []).unwrap();
    let array = f32s(&[1.0, 2.0]);
    let cases: [(&[&dyn Bind], &str); 9] = [
        (&[], "the skeleton takes 3 arguments, got 0; argument `x` is missing, f32[2,3]"),
        // The count comes first.
        (&[&good_y, &good_y], "the skeleton takes 3 arguments, got 2; argument 3 is missing, i32[1]"),
        (
            &[&good_x, &good_y, &good_z, &good_z],
            "the skeleton takes 3 arguments, got 4; argument 4 is one too many",
        ),
        (&[&good_y, &good_y, &good_z], "argument `x`: expected shape [2,3], got []"),
        (&[&array, &good_y, &good_z], "argument `x`: expected shape [2,3], got [2]"),
        (&[&good_x, &outer(DType::F32, &[1]), &good_z], "argument `y`: expected shape [], got [1]"),
        (&[&good_x, &outer(DType::F64, &[]), &good_z], "argument `y`: expected dtype f32, got f64"),
        (&[&good_x, &good_y, &good_y], "argument `3`: expected dtype i32, got f32"),
        (&[&good_x, &elsewhere, &good_z], "argument `y`: expected an array of "),
    ];
    for (inputs, expected) in cases {
        let told = skeleton.compose(inputs).err().unwrap().to_string();
        assert!(told.starts_with(expected), "{told}");
        assert_eq!(skeleton.compose_inlined(inputs).err().unwrap().to_string(), told);
    }
    let gone = client().array(&[1f32], []).unwrap();
    assert!(gone.donate());
    let told = skeleton.compose(&[&good_x, &gone, &good_z]).err().unwrap();
    assert_eq!(told.to_string(), "argument `y`: the array was donated to an earlier call and is gone");

    // A wrong operation is told as itself.
    let wrong = &good_x + &slot("other", &[4]);
    let told = skeleton.compose(&[&wrong, &good_y, &good_z]).err().unwrap();
    assert!(told.to_string().starts_with("`add(f32[2,3], other: f32[4])`: "), "{told}");

    let two = client_with_devices(2);
    let x = slot("x", &[1]);
    let skeleton = (&x + 1.0).into_skeleton(&two, &[&x]).unwrap();
    let elsewhere = two.array(&[1f32], [1]).unwrap().to_device(two.devices().nth(1).unwrap()).unwrap();
    let told = skeleton.compose(&[&elsewhere]).unwrap_err();
    assert_eq!((told.code(), told.argument()), ("device", Some("x")));
}

#[test]
fn values_of_several_graphs_are_not_bound_together() {
    let difference = difference(2);
    let (graph, s) = (Graph::new(), slot("s", &[2]));
    let g = graph.input("g", &Aval::new(DType::F32, [2]));
    let told = difference.compose(&[&g, &s]).unwrap_err().to_string();
    let expected = "`compose(g: f32[2], s: f32[2])`: `s: f32[2]` is made of slots for a skeleton, `g: f32[2]` of the \
                    inputs of a graph";
    assert!(told.starts_with(expected), "{told}");
    assert!(told.contains(file!()), "{told}");
}

#[test]
fn a_slot_that_stays_open_has_to_be_declared() {
    let (affine, y) = (affine(2), slot("y", &[2]));
    let made = affine.compose(&[&y]).unwrap();
    let told = made.into_skeleton(&client(), &[]).unwrap_err().to_string();
    assert!(told.contains("slot `y: f32[2]` is missing among the declared slots"), "{told}");
    // A slot of the composed skeleton means nothing outside of it.
    let (x, z) = (slot("x", &[2]), slot("z", &[2]));
    let inner = (&x - 1.0).into_skeleton(&client(), &[&x]).unwrap();
    let made = inner.compose(&[&(&x * &z)]).unwrap() + &x;
    let outer = made.into_skeleton(&client(), &[&x, &z]).unwrap();
    let (x, z) = (f32s(&[2.0, 3.0]), f32s(&[10.0, 100.0]));
    assert_eq!(of(&outer.run(&[&x, &z]).unwrap()), [21.0, 302.0]);
}

#[test]
fn captured_arrays_come_along() {
    let (w, v) = (f32s(&[10.0, 20.0]), f32s(&[1.0, 2.0]));
    let x = slot("x", &[2]);
    let inner = (&x * capture(&w).named("w") + capture(&v)).into_skeleton(&client(), &[&x]).unwrap();
    let y = slot("y", &[2]);
    // `w` is bound, captured inside, and captured outside: one argument.
    let made = inner.compose(&[&w]).unwrap() - inner.compose(&[&y]).unwrap() + capture(&w);
    let outer = made.into_skeleton(&client(), &[&y]).unwrap();
    assert_eq!(outer.captured().len(), 2);
    drop((inner, v));
    let expected = [101.0 - 31.0 + 10.0, 402.0 - 62.0 + 20.0];
    assert_eq!(of(&outer.run(&[&f32s(&[3.0, 3.0])]).unwrap()), expected);

    assert!(w.donate());
    let told = outer.run(&[&f32s(&[3.0, 3.0])]).unwrap_err();
    assert_eq!((told.code(), told.argument()), ("donated", Some("w")));
    let told = outer.compose(&[&y]).unwrap_err();
    assert_eq!((told.code(), told.argument()), ("donated", Some("w")));
}

#[test]
fn functions_inside_keep_to_themselves() {
    let vector = Aval::new(DType::F32, [2]);
    let triple = Function::new("f", [&vector], |[x]| x * 3.0);
    let nested = Function::new("skeleton", [&vector], move |[x]| triple.call([&x]) + 1.0);
    let x = slot("x", &[2]);
    let inner = (nested.call([&x]) + nested.call([&(&x + 1.0)])).into_skeleton(&client(), &[&x]).unwrap();

    let other = Function::new("f", [&vector], |[x]| x - 100.0);
    let y = slot("y", &[2]);
    let made = other.call([&inner.compose(&[&other.call([&y])]).unwrap()]);
    // A function of the larger program composes too.
    let affine = affine(2);
    let composing = Function::new("skeleton", [&vector], |[x]| affine.compose(&[&x]).unwrap());
    let made = made + composing.call([y.value()]);
    let outer = made.into_skeleton(&client(), &[&y]).unwrap();
    // f(y) = y - 100; inner(x) = 3x + 1 + 3x + 4 = 6x + 5
    let expected = |y: f32| 6.0 * (y - 100.0) + 5.0 - 100.0 + 2.0 * y + 1.0;
    assert_eq!(of(&outer.run(&[&f32s(&[100.0, 103.0])]).unwrap()), [expected(100.0), expected(103.0)]);
}

#[test]
fn loops_and_branches_stand_around_and_inside() {
    let (x, n) = (slot("x", &[2]), SkeletonSlot::new(DType::I32, []));
    let grown =
        while_loop((x.value().clone(), n.value().clone()), |(_, n)| n.gt(0), |(x, n)| (x * 2.0, n - 1));
    let grow = grown.0.into_skeleton(&client(), &[&x, &n]).unwrap();
    let pick = if_else(&x.sum(..).gt(0.0), || &x + 1.0, || &x - 1.0).into_skeleton(&client(), &[&x]).unwrap();

    let (y, one) = (slot("y", &[2]), client().array(&[1i32], []).unwrap());
    let looped = fori(0, 3, y.value().clone(), |_, y| grow.compose(&[&y, &one]).unwrap() + 1.0);
    let chosen =
        if_else(&y.sum(..).gt(0.0), || pick.compose(&[&y]).unwrap(), || grow.compose(&[&y, &one]).unwrap());
    let outer = (looped, chosen, pick.compose(&[&y]).unwrap()).into_skeleton(&client(), &[&y]).unwrap();
    let (looped, chosen, picked) = outer.run(&[&f32s(&[1.0, -2.0])]).unwrap();
    assert_eq!(of(&looped), [15.0, -9.0]);
    assert_eq!((of(&chosen), of(&picked)), (vec![2.0, -4.0], vec![0.0, -3.0]));
}

#[test]
fn a_reduction_composes_nothing() {
    let (x, y) = (slot("x", &[]), slot("y", &[]));
    let add = (&x + &y).into_skeleton(&client(), &[&x, &y]).unwrap();
    let z = slot("z", &[4]);
    let made = z.reduce_window(0.0, &Window::new([0], [2]), |a, b| add.compose(&[&a, &b]).unwrap());
    let told = made.check().unwrap_err().to_string();
    assert!(
        told.contains("the closure has a composed skeleton in it, which XLA cannot compile there"),
        "{told}"
    );
}

#[dispatch_family]
fn shifted(cx: &CompileCx, #[dynamic(dtype = f32, shape = [n])] x: Value) -> Result<Program<(Array, Array)>> {
    let slot = SkeletonSlot::new(DType::F32, [n]);
    let inner = (&slot * 2.0 + 1.0).into_skeleton(&cx.client(), &[&slot])?;
    cx.program((inner.compose(&[&x])?, inner.compose_inlined(&[&(&x + 1.0)])? + 1.0))
}

#[test]
fn families_and_graphs_compose_what_captures_nothing() {
    let family = Shifted::new(&client());
    for n in [2, 3] {
        let (a, b) = family.call(&vec![1f32; n][..]).unwrap();
        assert_eq!((of(&a), of(&b)), (vec![3.0; n], vec![6.0; n]));
    }
    let graph = Graph::new();
    let x = graph.input("x", &Aval::new(DType::F32, [2]));
    let program = graph.program(affine(2).compose(&[&x]).unwrap()).unwrap();
    let executable = client().compile(&program).unwrap();
    assert_eq!(of(&executable.execute(&[&f32s(&[1.0, 2.0])]).unwrap()[0]), [3.0, 5.0]);

    let told = graph.program(difference(2).compose(&[&x, &f32s(&[1.0, 2.0])]).unwrap()).unwrap_err();
    let expected = "`capture(f32[2])`: an array is captured by a skeleton only; for a family or a graph it has to be \
                    an argument";
    assert!(told.to_string().starts_with(expected), "{told}");
    assert!(told.to_string().contains(file!()), "{told}");
}

#[test]
fn a_dynamic_skeleton_composes_by_the_layouts_of_what_is_bound() {
    let build = |inputs: &[Aval]| {
        if inputs[0].rank() == 0 {
            return Err(Error::InvalidProgram { reason: "no scalars".into() });
        }
        let x = SkeletonSlot::new(inputs[0].dtype(), inputs[0].shape());
        x.sum(..).into_skeleton(&client(), &[&x])
    };
    let dynamic = DynamicSkeleton::new(&client(), 4, build).unwrap();
    let (x, three) = (slot("x", &[2]), f32s(&[1.0, 2.0, 3.0]));
    let made = dynamic.compose(&[&x]).unwrap() * dynamic.compose_inlined(&[&three]).unwrap();
    let outer = (made + dynamic.compose(&[&(&x + 1.0)]).unwrap()).into_skeleton(&client(), &[&x]).unwrap();
    assert_eq!((dynamic.len(), dynamic.stats().compiles, dynamic.stats().hits), (2, 2, 1));
    // What was composed does not depend on the cache any more.
    dynamic.clear();
    assert_eq!(of(&outer.run(&[&f32s(&[3.0, 4.0])]).unwrap()), [7.0 * 6.0 + 9.0]);

    assert_eq!(dynamic.compose(&[&slot("s", &[])]).unwrap_err().to_string(), "invalid program: no scalars");
    assert!(dynamic.is_empty());
    let elsewhere = Client::host().array(&[1f32], [1]).unwrap();
    assert_eq!(dynamic.compose(&[&elsewhere]).unwrap_err().argument(), Some("1"));
    let wrong = &x + &slot("other", &[3]);
    assert_eq!(dynamic.compose(&[&wrong]).unwrap_err().code(), "graph");
}

#[test]
fn threads_compose_one_skeleton() {
    let affine = affine(2);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let y = slot("y", &[2]);
                let outer = affine.compose(&[&affine.compose(&[&y]).unwrap()]).unwrap();
                let outer = outer.into_skeleton(&client(), &[&y]).unwrap();
                assert_eq!(of(&outer.run(&[&f32s(&[0.0, 1.0])]).unwrap()), [3.0, 7.0]);
            });
        }
    });
}

#[test]
fn what_a_run_would_consume_is_kept_where_it_is_composed() {
    let state = slot("state", &[2]).donated();
    let step = (&state * 2.0).into_skeleton(&client(), &[&state]).unwrap();
    let array = f32s(&[1.0, 2.0]);
    let both = step.compose(&[&array]).unwrap() + step.compose(&[&(&slot("y", &[2]) + 0.0)]).unwrap();
    assert!(both.into_skeleton(&client(), &[]).is_err());
    let outer = step.compose(&[&step.compose(&[&array]).unwrap()]).unwrap();
    let outer = (outer, capture(&array)).into_skeleton(&client(), &[]).unwrap();
    for _ in 0..2 {
        let (stepped, same) = outer.run::<&Array>(&[]).unwrap();
        assert_eq!((of(&stepped), of(&same)), (vec![4.0, 8.0], vec![1.0, 2.0]));
    }
    // A slot of the larger computation that is consumed is an input of the composed one as any.
    let outer = step.compose(&[&state]).unwrap() + &state;
    let outer = outer.into_skeleton(&client(), &[&state]).unwrap();
    assert_eq!(of(&outer.run(&[&array]).unwrap()), [3.0, 6.0]);
    assert!(array.is_donated());

    // The program's own marks mean nothing within another one.
    for mark in ["jax.buffer_donor = true", "tf.aliasing_output = 0 : i32"] {
        let text = format!(
            "func.func @main(%x: tensor<2xf32> {{{mark}}}) -> tensor<2xf32> {{
               %0 = stablehlo.negate %x : tensor<2xf32>
               return %0 : tensor<2xf32>
             }}"
        );
        let state = slot("state", &[2]).donated();
        let program = Program::<Array>::stablehlo(text).unwrap();
        let negated = Skeleton::from_program(&client(), program, &[&state]).unwrap();
        let (y, array) = (slot("y", &[2]), f32s(&[1.0, 2.0]));
        let made = negated.compose(&[&y]).unwrap() + negated.compose_inlined(&[&array]).unwrap() + &y;
        let outer = made.into_skeleton(&client(), &[&y]).unwrap();
        assert_eq!(of(&outer.run(&[&array]).unwrap()), [-1.0, -2.0]);
        assert_eq!(of(&outer.run(&[&array]).unwrap()), [-1.0, -2.0]);
    }
}

#[test]
fn a_value_is_dense_whatever_a_slot_wants() {
    let columns = SkeletonSlot::new(DType::F32, [2, 2]).strided([1, 2], 0).named("x");
    let inner = (&columns * 2.0).into_skeleton(&client(), &[&columns]).unwrap();
    let (dense, same) = (SkeletonSlot::new(DType::F32, [2, 2]), columns.clone());
    let array = client().array(&[1f32, 2.0, 3.0, 4.0], [2, 2]).unwrap();
    for bound in [&dense as &dyn Bind, &same, &(&same + 1.0), &array] {
        let told = inner.compose(&[bound]).unwrap_err().to_string();
        assert_eq!(told, "argument `x`: expected strides [1,2], got an array, which is row-major");
    }
    // In the larger computation such a slot is the array that its data is.
    let doubled = (&dense * 2.0).into_skeleton(&client(), &[&dense]).unwrap();
    let outer = doubled.compose(&[&columns]).unwrap().into_skeleton(&client(), &[&columns]).unwrap();
    let view = HostView::column_major(&[1f32, 2.0, 3.0, 4.0], &[2, 2]).unwrap();
    assert_eq!(of(&outer.run(&[view]).unwrap()), [2.0, 6.0, 4.0, 8.0]);
    let by_layout = DynamicSkeleton::new(&client(), 1, |inputs: &[Aval]| {
        let x = SkeletonSlot::of(&inputs[0]);
        (&x * 3.0).into_skeleton(&client(), &[&x])
    })
    .unwrap();
    let outer = by_layout.compose(&[&columns]).unwrap().into_skeleton(&client(), &[&columns]).unwrap();
    assert_eq!(of(&outer.run(&[view]).unwrap()), [3.0, 9.0, 6.0, 12.0]);
}
