//! Arrays that skeletons hold, on a real plugin.

mod plugin;

use dispatch_runtime::graph::{Function, Graph, fori, if_else};
use dispatch_runtime::prelude::*;
use dispatch_runtime::skeleton::{DynamicSkeleton, Skeleton, SkeletonSlot, capture};
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

#[test]
fn an_array_is_an_operand_and_outlives_its_handle() {
    let (x, w) = (slot("x", &[2]), f32s(&[3.0, 4.0]));
    let made = &x + &capture(&w) + 1.0;
    let skeleton = made.into_skeleton(&client(), &[&x]).unwrap();
    drop(w);
    for round in 0..3 {
        let x = f32s(&[round as f32, 10.0]);
        assert_eq!(of(&skeleton.run(&[&x]).unwrap()), [round as f32 + 4.0, 15.0]);
    }
    assert_eq!(skeleton.inputs(), [Aval::new(DType::F32, [2])]);
    assert_eq!(of(skeleton.captured().next().unwrap()), [3.0, 4.0]);
    assert_eq!(format!("{skeleton:?}"), format!("Skeleton((f32[2]) -> (f32[2]) on {})", skeleton.device()));
}

#[test]
fn an_array_is_one_argument_however_often_it_is_captured() {
    let (a, b) = (f32s(&[1.0, 2.0]), f32s(&[10.0, 20.0]));
    let again = a.clone();
    let made = (capture(&a) - capture(&b), capture(&again) * capture(&b), capture(&a));
    let skeleton = made.into_skeleton(&client(), &[]).unwrap();
    assert_eq!(skeleton.captured().len(), 2);
    assert_eq!(skeleton.memory_report().argument_bytes, 16);
    let (difference, product, same) = skeleton.run::<&Array>(&[]).unwrap();
    assert_eq!((of(&difference), of(&product)), (vec![-9.0, -18.0], vec![10.0, 40.0]));
    // A result is a new array, also where it is a captured one.
    assert_eq!(of(&same), [1.0, 2.0]);
    assert!(same.donate());
    assert_eq!(of(&skeleton.run::<&Array>(&[]).unwrap().2), [1.0, 2.0]);
}

#[test]
fn loops_and_branches_use_captured_arrays() {
    let (x, step) = (slot("x", &[2]), f32s(&[1.0, 2.0]));
    let looped = fori(0, 3, x.value().clone(), |_, sum| sum + capture(&step));
    let inside = if_else(&x.sum(..).gt(0.0), || &x - capture(&step), || capture(&step));
    let skeleton = (looped, inside).into_skeleton(&client(), &[&x]).unwrap();
    let (sum, chosen) = skeleton.run(&[&f32s(&[5.0, 5.0])]).unwrap();
    assert_eq!((of(&sum), of(&chosen)), (vec![8.0, 11.0], vec![4.0, 3.0]));
    assert_eq!(skeleton.captured().len(), 1);
}

#[test]
fn many_captured_arrays_come_behind_many_inputs() {
    let slots: Vec<SkeletonSlot> = (0..6).map(|i| slot(&format!("x{i}"), &[1])).collect();
    let arrays: Vec<Array> = (0..12).map(|i| f32s(&[i as f32])).collect();
    let results: [Value; 12] = std::array::from_fn(|i| &slots[i % 6] * 100.0 + capture(&arrays[i]));
    let skeleton = results.into_skeleton(&client(), &slots.iter().collect::<Vec<_>>()).unwrap();
    let inputs: Vec<&Array> = arrays[3..9].iter().collect();
    for (i, result) in skeleton.run(&inputs).unwrap().iter().enumerate() {
        assert_eq!(of(result), [(i % 6 + 3) as f32 * 100.0 + i as f32]);
    }
}

#[test]
fn a_captured_array_that_is_donated_is_an_error_of_the_run() {
    let x = slot("x", &[1]);
    let (named, unnamed, one) = (f32s(&[1.0]), f32s(&[2.0]), f32s(&[3.0]));
    let made = &x + capture(&unnamed) + capture(&named).named("w");
    let skeleton = made.into_skeleton(&client(), &[&x]).unwrap();
    assert_eq!(of(&skeleton.run(&[&one]).unwrap()), [6.0]);

    assert!(named.donate());
    let error = skeleton.run(&[&one]).unwrap_err();
    assert_eq!(error.to_string(), "argument `w`: the array was donated to an earlier call and is gone");
    // An input that is wrong comes first.
    assert_eq!(skeleton.run::<&Array>(&[]).unwrap_err().code(), "argument_count");
    // SAFETY: this test has donated the array, to nobody.
    unsafe { named.take_back() };
    assert!(unnamed.donate());
    assert_eq!(skeleton.run(&[&one]).unwrap_err().argument(), Some("captured array 1"));

    let gone = capture(&unnamed).check().unwrap_err().to_string();
    let expected = "`capture()`: f32[1] on cpu:0 was donated to an earlier call and is gone";
    assert!(gone.starts_with(expected), "{gone}");
    assert!(gone.contains(file!()), "{gone}");
}

#[test]
fn an_entry_of_a_dynamic_skeleton_holds_what_it_captured() {
    let shift = f32s(&[10.0]);
    let dynamic = DynamicSkeleton::new(&client(), 4, |inputs: &[Aval]| {
        let x = SkeletonSlot::new(inputs[0].dtype(), inputs[0].shape());
        (&x + capture(&shift)).into_skeleton(&client(), &[&x])
    })
    .unwrap();
    for _ in 0..2 {
        assert_eq!(of(&dynamic.run(&[&f32s(&[1.0])]).unwrap()), [11.0]);
        assert_eq!(of(&dynamic.run(&[&f32s(&[1.0, 2.0])]).unwrap()), [11.0, 12.0]);
    }
    assert!(shift.donate());
    assert_eq!(dynamic.run(&[&f32s(&[1.0])]).unwrap_err().code(), "donated");
}

#[test]
fn only_skeletons_capture() {
    let w = f32s(&[1.0]);
    let graph = Graph::new();
    let x = graph.input("x", &Aval::new(DType::F32, [1]));
    let error = graph.program(&x + capture(&w).named("w")).unwrap_err().to_string();
    let expected = "`capture(f32[1], w)`: an array is captured by a skeleton only; for a family or a graph it has to \
                    be an argument";
    assert!(error.starts_with(expected), "{error}");

    let function = Function::new("f", [x.aval()], |[x]| x + capture(&w));
    let error = function.call([&x]).check().unwrap_err().to_string();
    assert!(error.contains("the body of `f` uses this value from outside; make it an argument"), "{error}");
}

#[test]
fn a_captured_array_is_of_the_client_and_on_the_device_of_the_skeleton() {
    let of_another = Client::host().array(&[1f32], [1]).unwrap();
    let error = (capture(&of_another) + 1.0).into_skeleton(&client(), &[]).unwrap_err();
    assert_eq!((error.code(), error.argument()), ("client", Some("captured array 1")));

    let two = client_with_devices(2);
    let elsewhere = two.array(&[1f32], [1]).unwrap().to_device(two.devices().nth(1).unwrap()).unwrap();
    let made = (capture(&elsewhere) + 1.0).named("y");
    let error = made.into_skeleton(&two, &[]).unwrap_err();
    assert_eq!((error.code(), error.argument()), ("device", Some("captured array 1")));
}

#[test]
fn threads_run_a_skeleton_that_captured() {
    let (x, w) = (slot("x", &[]), f32s(&[2.0, 3.0]));
    let skeleton: Skeleton = (&x * capture(&w)).into_skeleton(&client(), &[&x]).unwrap();
    std::thread::scope(|scope| {
        for t in 0..4 {
            let skeleton = &skeleton;
            scope.spawn(move || {
                let array = client().array(&[t as f32], []).unwrap();
                for _ in 0..100 {
                    assert_eq!(of(&skeleton.run(&[&array]).unwrap()), [2.0 * t as f32, 3.0 * t as f32]);
                }
            });
        }
    });
}
