//! Skeletons on a real plugin: baking, running, knowing the cost.

use dispatch_runtime::graph::{Function, Graph, fori};
use dispatch_runtime::prelude::*;
use dispatch_runtime::skeleton::{MemoryReport, Skeleton, SkeletonSlot};

fn slot(name: &str, shape: &[i64]) -> SkeletonSlot {
    SkeletonSlot::new(DType::F32, shape).named(name)
}

/// The operation that an error of the graph names, why it is wrong, and that it was told at a line of this file.
#[track_caller]
fn reason<T>(result: Result<T>) -> String {
    match result.err().unwrap() {
        Error::Graph { operation, reason, at } => {
            assert!(at.starts_with(file!()), "{at}");
            format!("{operation}: {reason}")
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_chain_of_scalars_runs_again_and_again() {
    let client = Client::cpu().unwrap();
    let x = slot("x", &[4]);
    let skeleton = (&x * 2.0 + 1.0).into_skeleton(&client, &[&x]).unwrap();
    for _ in 0..3 {
        let a = skeleton.run(&[&client.array(&[0f32, 1.0, 2.0, 3.0], [4]).unwrap()]).unwrap();
        let b = skeleton.run(&[&client.array(&[5f32; 4], [4]).unwrap()]).unwrap();
        assert_eq!(a.to_vec::<f32>().unwrap(), [1.0, 3.0, 5.0, 7.0]);
        assert_eq!(b.to_vec::<f32>().unwrap(), [11.0; 4]);
    }
    assert_eq!(skeleton.inputs(), [Aval::new(DType::F32, [4])]);
    assert_eq!(skeleton.outputs(), [Aval::new(DType::F32, [4])]);
    assert_eq!(skeleton.names().collect::<Vec<_>>(), [Some("x")]);
    assert_eq!(format!("{skeleton:?}"), format!("Skeleton((f32[4]) -> (f32[4]) on {})", skeleton.device()));
}

#[test]
fn a_baked_product_with_a_reduction_equals_that_of_a_graph() {
    let client = Client::cpu().unwrap();
    let row = |a: &Value, b: &Value| a.matmul(b).sum(1).sqrt();
    let (a, b) = (SkeletonSlot::new(DType::F64, [3, 5]), SkeletonSlot::new(DType::F64, [5, 2]));
    let skeleton = row(&a, &b).into_skeleton(&client, &[&a, &b]).unwrap();
    let graph = Graph::new();
    let (a, b) = (graph.input("a", a.aval()), graph.input("b", b.aval()));
    let unbaked = client.compile(graph.program(row(&a, &b)).unwrap()).unwrap();

    let data = |n: i32| (0..n).map(|i| f64::from(i).sin().abs()).collect::<Vec<_>>();
    let a = client.array(&data(15), [3, 5]).unwrap();
    let b = client.array(&data(10), [5, 2]).unwrap();
    let expected = unbaked.execute(&[&a, &b]).unwrap()[0].to_vec::<f64>().unwrap();
    assert_eq!(skeleton.run(&[&a, &b]).unwrap().to_vec::<f64>().unwrap(), expected);
    assert!(expected.iter().all(|x| *x > 0.0));
}

#[test]
fn inputs_come_in_the_order_of_the_slots() {
    let client = Client::cpu().unwrap();
    let (x, y) = (slot("x", &[]), slot("y", &[]));
    let skeleton = (&x - &y).into_skeleton(&client, &[&y, &x]).unwrap();
    let (one, ten) = (client.array(&[1f32], []).unwrap(), client.array(&[10f32], []).unwrap());
    assert_eq!(skeleton.run(&[&one, &ten]).unwrap().to_vec::<f32>().unwrap(), [9.0]);
}

#[test]
fn slots_are_operands_on_either_side() {
    let client = Client::cpu().unwrap();
    let (x, y) = (slot("x", &[2]), slot("y", &[2]));
    let also_x = x.clone();
    let made = (
        x.clone() + &y,
        2.0 - &x,
        -&x * y.clone(),
        1f32 / also_x,
        x.maximum(&y),
        &(&x * 1.0) % &y,
        x.value(), // a slot itself
    );
    let skeleton = made.into_skeleton(&client, &[&x, &y]).unwrap();
    let (a, b) = (client.array(&[1f32, 4.0], [2]).unwrap(), client.array(&[3f32, 2.0], [2]).unwrap());
    let (sum, rest, product, inverse, greater, modulo, same) = skeleton.run(&[&a, &b]).unwrap();
    let of = |array: Array| array.to_vec::<f32>().unwrap();
    assert_eq!((of(sum), of(rest), of(product)), (vec![4.0, 6.0], vec![1.0, -2.0], vec![-3.0, -8.0]));
    assert_eq!((of(inverse), of(greater), of(modulo)), (vec![1.0, 0.25], vec![3.0, 4.0], vec![1.0, 0.0]));
    // What a run gives is a new array, also where nothing is computed.
    assert_eq!(of(same), [1.0, 4.0]);
    assert_eq!(of(a), [1.0, 4.0]);
}

#[test]
fn loops_and_functions_use_slots() {
    let client = Client::cpu().unwrap();
    let (x, step) = (slot("x", &[2]), slot("step", &[]));
    let twice = Function::new("twice", [&Aval::new(DType::F32, [2])], |[x]| x * 2.0);
    let looped = fori(0, 3, x.value().clone(), |_, sum| twice.call([&sum]) + &step);
    let skeleton = looped.into_skeleton(&client, &[&x, &step]).unwrap();
    let (a, one) = (client.array(&[0f32, 1.0], [2]).unwrap(), client.array(&[1f32], []).unwrap());
    assert_eq!(skeleton.run(&[&a, &one]).unwrap().to_vec::<f32>().unwrap(), [7.0, 15.0]);
}

#[test]
fn no_slots_and_many_slots_and_results_run() {
    let client = Client::cpu().unwrap();
    let constant = Value::ones(DType::I32, [2]).into_skeleton(&client, &[]).unwrap();
    assert_eq!(constant.run::<&Array>(&[]).unwrap().to_vec::<i32>().unwrap(), [1, 1]);
    let nothing = ().into_skeleton(&client, &[]).unwrap();
    nothing.run::<&Array>(&[]).unwrap();

    let slots: Vec<SkeletonSlot> = (0..20).map(|_| slot("same", &[])).collect();
    let results: [Value; 20] = std::array::from_fn(|i| &slots[i] * (i as f32));
    let skeleton = results.into_skeleton(&client, &slots.iter().collect::<Vec<_>>()).unwrap();
    let arrays: Vec<Array> = (0..20).map(|i| client.array(&[i as f32], []).unwrap()).collect();
    let inputs: Vec<&Array> = arrays.iter().collect();
    for _ in 0..2 {
        let squares = skeleton.run(&inputs).unwrap();
        for (i, square) in squares.iter().enumerate() {
            assert_eq!(square.to_vec::<f32>().unwrap(), [(i * i) as f32]);
        }
    }
}

#[derive(OutputTree)]
struct Parts<T> {
    whole: T,
    halves: [T; 2],
}

#[test]
fn results_keep_their_structure() {
    let client = Client::cpu().unwrap();
    let x = slot("x", &[4]);
    let parts = Parts { whole: &x + 1.0, halves: [x.slice(0..2), x.slice(2..4)] };
    let skeleton: Skeleton<Parts<Array>> = parts.into_skeleton(&client, &[&x]).unwrap();
    let parts = skeleton.run(&[&client.array(&[1f32, 2.0, 3.0, 4.0], [4]).unwrap()]).unwrap();
    assert_eq!(parts.whole.to_vec::<f32>().unwrap(), [2.0, 3.0, 4.0, 5.0]);
    assert_eq!(parts.halves[0].to_vec::<f32>().unwrap(), [1.0, 2.0]);
    assert_eq!(parts.halves[1].to_vec::<f32>().unwrap(), [3.0, 4.0]);
}

#[test]
fn baking_names_the_slot_that_is_wrong() {
    let client = Client::cpu().unwrap();
    let (x, y) = (slot("x", &[2]), slot("y", &[]));
    let sum = &x + &y;
    let cases: [(&[&SkeletonSlot], &str); 4] = [
        (&[&x], "slot `y: f32[]` is missing among the declared slots"),
        (&[], "slot `x: f32[2]` is missing among the declared slots"),
        (&[&x, &y, &x.clone()], "slot `x: f32[2]` is declared twice, as 1 and 3"),
        (&[&x, &y, &slot("z", &[3])], "slot `z: f32[3]` is declared, but no result depends on it"),
    ];
    for (slots, expected) in cases {
        assert_eq!(reason((&sum).into_skeleton(&client, slots)), format!("into_skeleton: {expected}"));
    }

    let unnamed = SkeletonSlot::new(DType::I8, []);
    let line = format!("made at {}:{}:", file!(), line!() - 1);
    let told = reason((&unnamed + 1).into_skeleton(&client, &[]));
    assert!(told.starts_with(&format!("into_skeleton: slot `i8[]`, {line}")), "{told}");
    assert!(told.ends_with(", is missing among the declared slots"), "{told}");

    // A slot that only the body of a loop uses is used.
    let in_a_loop = fori(0, 2, x.value().clone(), |_, sum| sum + &y);
    let told = reason(in_a_loop.into_skeleton(&client, &[&x]));
    assert_eq!(told, "into_skeleton: slot `y: f32[]` is missing among the declared slots");
}

#[test]
fn a_wrong_operation_is_told_before_the_slots() {
    let client = Client::cpu().unwrap();
    let (x, y) = (slot("x", &[2]), slot("y", &[3]));
    assert!(reason((&x + &y).into_skeleton(&client, &[])).starts_with("add(x: f32[2], y: f32[3]): "));
    let in_a_loop = fori(0, 2, x.value().clone(), |_, sum| sum + (&x + &y).sum(..));
    assert!(reason(in_a_loop.into_skeleton(&client, &[])).starts_with("add(x: f32[2], y: f32[3]): "));

    let impossible = SkeletonSlot::new(DType::F32, [-1]);
    let told = reason((&impossible + 1.0).into_skeleton(&client, &[&impossible]));
    assert_eq!(told, "slot(): no array of f32 has the shape [-1]");
    assert_eq!(reason(Value::ones(DType::F32, []).into_skeleton(&client, &[&impossible])), told);
    let impossible = impossible.named("x");
    let told = reason((&impossible + 1.0).into_skeleton(&client, &[&impossible]));
    assert_eq!(told, "slot(x): no array of f32 has the shape [-1]");
}

#[test]
fn slots_are_evaluated_by_skeletons_only() {
    let client = Client::cpu().unwrap();
    let graph = Graph::new();
    let (x, a) = (slot("x", &[2]), graph.input("a", &Aval::new(DType::F32, [2])));
    assert_eq!(
        reason(graph.program(&x + 1.0)),
        "input(x): it is a slot, which only a skeleton gives data to"
    );
    for mixed in [&x + &a, &a + &x] {
        let told = reason(mixed.check());
        assert!(
            told.ends_with(
                "`x: f32[2]` is made of slots for a skeleton, `a: f32[2]` of the inputs of a graph"
            ),
            "{told}"
        );
    }
    assert_eq!(
        reason((&a + 1.0).into_skeleton(&client, &[])),
        "into_skeleton: the results depend on `a: f32[2]`, which is no slot but an input of a graph"
    );
}

#[test]
fn a_run_checks_the_count_and_then_each_layout_by_the_name_of_its_slot() {
    let client = Client::cpu().unwrap();
    let (x, y, z) = (slot("x", &[2, 3]), slot("y", &[]), SkeletonSlot::new(DType::I32, [1]));
    let made = (&x + &y, &z + 1);
    let skeleton = made.into_skeleton(&client, &[&x, &y, &z]).unwrap();
    let f32s = |shape: &[i64]| {
        client.upload(HostArray::zeros(DType::F32, shape).view(), client.default_device()).unwrap()
    };
    let (good_x, good_y, good_z) = (f32s(&[2, 3]), f32s(&[]), client.array(&[1i32], [1]).unwrap());
    let f64 = client.array(&[1f64], []).unwrap();
    let elsewhere = Client::host().array(&[1f32], []).unwrap();
    let cases: [(&[&Array], &str); 9] = [
        (&[], "the skeleton takes 3 arguments, got 0; argument `x` is missing, f32[2,3]"),
        // The count comes first.
        (&[&good_y, &good_y], "the skeleton takes 3 arguments, got 2; argument 3 is missing, i32[1]"),
        (
            &[&good_x, &good_y, &good_z, &good_z],
            "the skeleton takes 3 arguments, got 4; argument 4 is one too many",
        ),
        // As many elements, in another shape or rank.
        (&[&f32s(&[3, 2]), &good_y, &good_z], "argument `x`: expected shape [2,3], got [3,2]"),
        (&[&f32s(&[6]), &good_y, &good_z], "argument `x`: expected shape [2,3], got [6]"),
        (&[&good_x, &f32s(&[1]), &good_z], "argument `y`: expected shape [], got [1]"),
        (&[&good_x, &f64, &good_z], "argument `y`: expected dtype f32, got f64"),
        (&[&good_x, &good_y, &good_y], "argument `3`: expected dtype i32, got f32"),
        (&[&good_x, &elsewhere, &good_z], "argument `y`: expected an array of "),
    ];
    for (inputs, expected) in cases {
        let told = skeleton.run(inputs).err().unwrap().to_string();
        assert!(told.starts_with(expected), "{told}");
    }

    let gone = f32s(&[]);
    assert!(gone.donate());
    let told = skeleton.run(&[&good_x, &gone, &good_z]).err().unwrap();
    assert_eq!((told.code(), told.argument()), ("donated", Some("y")));
    // Nothing was lost.
    skeleton.run(&[&good_x, &good_y, &good_z]).unwrap();
}

#[test]
fn the_memory_is_known_before_a_run() {
    let client = Client::cpu().unwrap();
    let report =
        |made: Value, slots: &[&SkeletonSlot]| made.into_skeleton(&client, slots).unwrap().memory_report();
    let x = slot("x", &[1000]);
    let fused = report(&x * 2.0 + 1.0, &[&x]);
    let expected =
        MemoryReport { peak_bytes: 8000, output_bytes: 4000, argument_bytes: 4000, allocations: 1 };
    assert_eq!(fused, expected);

    // What is sorted and then summed up needs scratch memory.
    let y = SkeletonSlot::new(DType::F64, []);
    let sorted = report((&x.sort(0) - x.sort(0).reverse(0)).sum(..).convert(DType::F64) + &y, &[&x, &y]);
    assert_eq!((sorted.output_bytes, sorted.argument_bytes), (8, 4008));
    assert_eq!(sorted.allocations, 2);
    assert!(sorted.peak_bytes >= 4016 + 4000, "{sorted:?}");

    // Several results come with a table of pointers.
    let two = (&x + 1.0, &x + 2.0).into_skeleton(&client, &[&x]).unwrap().memory_report();
    let expected =
        MemoryReport { peak_bytes: 12016, output_bytes: 8016, argument_bytes: 4000, allocations: 2 };
    assert_eq!(two, expected);
}

#[test]
fn one_skeleton_runs_on_several_threads() {
    let client = Client::cpu().unwrap();
    let x = slot("x", &[3]);
    let skeleton = (&x * 2.0).into_skeleton(&client, &[&x]).unwrap();
    std::thread::scope(|scope| {
        for t in 0..4 {
            let skeleton = &skeleton;
            scope.spawn(move || {
                let array = client.array(&[t as f32; 3], [3]).unwrap();
                for _ in 0..100 {
                    let twice = skeleton.run(&[&array]).unwrap();
                    assert_eq!(twice.to_vec::<f32>().unwrap(), [2.0 * t as f32; 3]);
                }
            });
        }
    });
}

#[test]
fn a_program_that_is_there_already_becomes_a_skeleton_of_its_slots() {
    let client = Client::cpu().unwrap();
    let x = slot("x", &[4]);
    let baked = (&x * 2.0 + 1.0).into_skeleton(&client, &[&x]).unwrap();
    let program = || Program::<Array>::stablehlo(baked.program().to_string()).unwrap();
    let again = Skeleton::from_program(&client, program(), &[&x]).unwrap();
    let input = client.array(&[0f32, 1.0, 2.0, 3.0], [4]).unwrap();
    assert_eq!(again.run(&[&input]).unwrap().to_vec::<f32>().unwrap(), [1.0, 3.0, 5.0, 7.0]);
    assert_eq!(again.memory_report(), baked.memory_report());

    let wrong = Skeleton::from_program(&client, program(), &[&slot("x", &[5])]).unwrap_err();
    assert_eq!(
        wrong.to_string(),
        "the program of the skeleton must take `x` as tensor<5xf32>, it takes tensor<4xf32>"
    );
    let none = Skeleton::from_program(&client, program(), &[]).unwrap_err();
    assert_eq!(none.to_string(), "the program of the skeleton must take 0 arguments, it takes 1");
    let impossible = Skeleton::from_program(&client, program(), &[&slot("x", &[-4])]).unwrap_err();
    assert!(matches!(impossible, Error::Graph { .. }), "{impossible}");
}
