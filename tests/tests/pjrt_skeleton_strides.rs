//! Host data as inputs of skeletons: exact layouts, strides and offsets, in the key of a dynamic skeleton too.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use dispatch_runtime::prelude::*;
use dispatch_runtime::skeleton::{DynamicSkeleton, Input, Skeleton, SkeletonSlot};

fn client() -> Client {
    static CLIENT: OnceLock<Client> = OnceLock::new();
    *CLIENT.get_or_init(|| Client::cpu().unwrap())
}

fn f32s(array: &Array) -> Vec<f32> {
    array.to_vec().unwrap()
}

const DATA: [f32; 6] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];

fn slot(shape: &[i64]) -> SkeletonSlot {
    SkeletonSlot::new(DType::F32, shape).named("x")
}

/// `10 * x`.
fn tenfold(slot: SkeletonSlot) -> Skeleton {
    (&slot * 10.0).into_skeleton(&client(), &[&slot]).unwrap()
}

fn view<'a>(shape: &'a [i64], strides: &'a [i64], offset: usize) -> HostView<'a> {
    HostView::strided(&DATA, shape, strides, offset).unwrap()
}

#[test]
fn a_slot_takes_host_data_of_exactly_its_strides_and_offset() {
    let columns = tenfold(slot(&[2, 3]).strided([1, 2], 0));
    let column_major = HostView::column_major(&DATA, &[2, 3]).unwrap();
    assert_eq!(f32s(&columns.run(&[column_major]).unwrap()), [10.0, 30.0, 50.0, 20.0, 40.0, 60.0]);
    assert_eq!(f32s(&columns.run(&[view(&[2, 3], &[1, 2], 0)]).unwrap())[1], 30.0);

    let from_second = tenfold(slot(&[2]).strided([2], 1));
    assert_eq!(f32s(&from_second.run(&[view(&[2], &[2], 1)]).unwrap()), [20.0, 40.0]);
    let backwards = tenfold(slot(&[3]).strided([-2], 5));
    assert_eq!(f32s(&backwards.run(&[view(&[3], &[-2], 5)]).unwrap()), [60.0, 40.0, 20.0]);
    let again = tenfold(slot(&[2, 2]).strided([0, 3], 0));
    assert_eq!(f32s(&again.run(&[view(&[2, 2], &[0, 3], 0)]).unwrap()), [10.0, 40.0, 10.0, 40.0]);
    let one = tenfold(slot(&[]).strided([], 4));
    assert_eq!(f32s(&one.run(&[view(&[], &[], 4)]).unwrap()), [50.0]);
    let none = tenfold(slot(&[0, 2]));
    assert_eq!(f32s(&none.run(&[view(&[0, 2], &[7, -9], 3)]).unwrap()), []);

    assert_eq!(backwards.inputs(), [Aval::strided(DType::F32, [3], [-2], 5).unwrap()]);
    let told =
        format!("Skeleton((f32[3] with strides [-2] from offset 5) -> (f32[3]) on {})", backwards.device());
    assert_eq!(format!("{backwards:?}"), told);
}

#[test]
fn another_layout_is_an_error_by_the_name_of_the_slot() {
    let (dense, columns) = (tenfold(slot(&[2, 2])), tenfold(slot(&[2, 2]).strided([1, 2], 1)));
    let cases: [(&Skeleton, HostView<'_>, &str); 8] = [
        (&dense, view(&[2, 2], &[1, 2], 0), "expected row-major data, got strides [1,2]"),
        (&dense, view(&[2, 2], &[2, 1], 1), "expected row-major data, got strides [2,1] from offset 1"),
        (&dense, view(&[2, 2], &[3, 1], 0), "expected row-major data, got strides [3,1]"),
        (&columns, view(&[2, 2], &[2, 1], 0), "expected strides [1,2] from offset 1, got row-major data"),
        (&columns, view(&[2, 2], &[1, 2], 0), "expected strides [1,2] from offset 1, got strides [1,2]"),
        (
            &columns,
            view(&[2, 2], &[1, 3], 1),
            "expected strides [1,2] from offset 1, got strides [1,3] from offset 1",
        ),
        // Dtype and shape come first.
        (&columns, view(&[4], &[1], 1), "expected shape [2,2], got [4]"),
        (&columns, HostView::new(&[1f64; 4], &[2, 2]).unwrap(), "expected dtype f32, got f64"),
    ];
    for (skeleton, view, expected) in cases {
        let error = skeleton.run(&[view]).unwrap_err();
        assert_eq!(error.to_string(), format!("argument `x`: {expected}"));
        assert_eq!(error.argument(), Some("x"));
        assert_eq!(error.code() == "layout", expected.contains("row-major") || expected.contains("strides"));
    }
    assert!(dense.run(&[view(&[2, 2], &[2, 1], 0)]).is_ok());

    // Arrays are dense.
    let array = client().array(&[1f32; 4], [2, 2]).unwrap();
    let error = columns.run(&[&array]).unwrap_err();
    let told = "argument `x`: expected strides [1,2] from offset 1, got an array, which is row-major";
    assert_eq!((error.to_string().as_str(), error.code()), (told, "layout"));
    assert!(dense.run(&[&array]).is_ok());
    let error = columns.run::<&Array>(&[]).unwrap_err();
    assert!(error.to_string().ends_with("argument `x` is missing, f32[2,2]"), "{error}");
}

#[test]
fn a_layout_has_one_form_for_slots_and_views() {
    // What is dense is dense, whatever strides say so; nobody steps along a size of 1.
    let dense = tenfold(slot(&[2, 1, 3]).strided([3, 99, 1], 0));
    let array = client().array(&DATA, [2, 1, 3]).unwrap();
    for result in [
        dense.run(&[&array]),
        dense.run(&[HostView::new(&DATA, &[2, 1, 3]).unwrap()]),
        dense.run(&[view(&[2, 1, 3], &[3, -5, 1], 0)]),
    ] {
        assert_eq!(f32s(&result.unwrap()), [10.0, 20.0, 30.0, 40.0, 50.0, 60.0]);
    }
    let columns = tenfold(slot(&[2, 1, 3]).strided([1, 1, 2], 0));
    let column_major = HostView::column_major(&DATA, &[2, 1, 3]).unwrap();
    assert_eq!(f32s(&columns.run(&[column_major]).unwrap())[1], 30.0);
    assert!(columns.run(&[view(&[2, 1, 3], &[1, 4, 2], 0)]).is_ok());
    let same =
        |shape: &[i64], strides: &[i64]| Aval::strided(DType::F32, shape, strides, 0).unwrap().is_dense();
    assert!(same(&[1], &[17]) && same(&[0, 4], &[1, 1]) && same(&[2, 2], &[2, 1]) && !same(&[2, 2], &[1, 2]));
}

#[test]
fn strides_that_no_data_has_are_an_error_of_the_slot() {
    let told = |slot: SkeletonSlot| match (&slot + 1.0).into_skeleton(&client(), &[&slot]) {
        Err(Error::Graph { operation, reason, at }) => {
            assert!(at.starts_with(file!()), "{at}");
            assert_eq!(operation, "strided(x: f32[2,3])");
            reason
        }
        other => panic!("{other:?}"),
    };
    let x = || slot(&[2, 3]);
    assert_eq!(told(x().strided([1], 0)), "expected one stride for each dimension of [2,3], got [1]");
    assert_eq!(
        told(x().strided([-1, 1], 0)),
        "expected strides and an offset inside of some data, got strides [-1,1] from offset 0, which reach element -1"
    );
    assert!(
        told(x().strided([i64::MAX, i64::MAX], 0)).starts_with("expected strides and an offset inside of")
    );
    assert!(told(x().strided([3, 1], usize::MAX)).starts_with("expected strides and an offset inside of"));
    // The name may come last.
    let unnamed = SkeletonSlot::new(DType::F32, [2, 3]).strided([1], 0);
    assert_eq!(
        told(unnamed.named("y").named("x")),
        "expected one stride for each dimension of [2,3], got [1]"
    );
    // One that is poisoned already stays so.
    let impossible = SkeletonSlot::new(DType::F32, [-1]).strided([1], 0);
    let error = (&impossible + 1.0).into_skeleton(&client(), &[&impossible]).unwrap_err();
    assert!(error.to_string().starts_with("`slot()`: no array of f32 has the shape [-1]"), "{error}");
}

#[test]
fn arrays_and_host_data_are_mixed() {
    let (x, y) = (slot(&[3]), SkeletonSlot::new(DType::F32, [3]).strided([2], 1).named("y"));
    let made = (&x - &y, x.value()).into_skeleton(&client(), &[&x, &y]).unwrap();
    let array = client().array(&[10f32, 20.0, 30.0], [3]).unwrap();
    let odd = view(&[3], &[2], 1);
    let (difference, same) = made.run(&[Input::from(&array), odd.into()]).unwrap();
    assert_eq!((f32s(&difference), f32s(&same)), (vec![8.0, 16.0, 24.0], vec![10.0, 20.0, 30.0]));
    let dense = HostView::new(&DATA[..3], &[3]).unwrap();
    assert_eq!(f32s(&made.run(&[dense, odd]).unwrap().0), [-1.0, -2.0, -3.0]);
    // The array stays the caller's.
    assert_eq!(f32s(&array), [10.0, 20.0, 30.0]);

    let wrong = made.run(&[odd.into(), Input::from(&array)]).unwrap_err();
    assert_eq!(wrong.to_string(), "argument `x`: expected row-major data, got strides [2] from offset 1");
    let elsewhere = Client::host().array(&[1f32; 3], [3]).unwrap();
    let wrong = made.run(&[Input::from(&elsewhere), odd.into()]).unwrap_err();
    assert_eq!((wrong.code(), wrong.argument()), ("client", Some("x")));
    assert!(array.donate());
    let wrong = made.run(&[Input::from(&array), odd.into()]).unwrap_err();
    assert_eq!((wrong.code(), wrong.argument()), ("donated", Some("x")));
    assert_eq!(made.run(&[dense]).unwrap_err().code(), "argument_count");

    // More inputs than have room on the stack.
    let slots: Vec<SkeletonSlot> = (0..20).map(|_| SkeletonSlot::new(DType::F32, [])).collect();
    let sum = slots.iter().skip(1).fold(slots[0].value().clone(), |sum, slot| sum * 2.0 + slot);
    let sum = sum.into_skeleton(&client(), &slots.iter().collect::<Vec<_>>()).unwrap();
    let one = client().array(&[1f32], []).unwrap();
    let inputs: Vec<Input<'_>> = (0..20)
        .map(|i| if i % 2 == 0 { Input::from(&one) } else { HostView::scalar(&DATA[0]).into() })
        .collect();
    assert_eq!(f32s(&sum.run(&inputs).unwrap()), [(1 << 20) as f32 - 1.0]);
}

/// The sum of all elements, of whatever layout, and how often it was built.
fn sums(builds: &AtomicUsize) -> DynamicSkeleton<impl Fn(&[Aval]) -> Result<Skeleton> + '_> {
    let build = |inputs: &[Aval]| {
        builds.fetch_add(1, Relaxed);
        let slots: Vec<SkeletonSlot> = inputs.iter().map(SkeletonSlot::of).collect();
        let weigh = |(i, slot): (i32, &SkeletonSlot)| slot.sum(..) * 10f32.powi(i);
        let sum = (0..).zip(&slots).map(weigh).reduce(|a, b| a + b).unwrap();
        sum.into_skeleton(&client(), &slots.iter().collect::<Vec<_>>())
    };
    DynamicSkeleton::new(&client(), 8, build).unwrap()
}

#[test]
fn a_dynamic_skeleton_is_keyed_by_strides_and_offset() {
    let builds = AtomicUsize::new(0);
    let dynamic = sums(&builds);
    let run = |view| f32s(&dynamic.run(&[view]).unwrap())[0];
    let layouts = [
        (view(&[2, 2], &[2, 1], 0), 10.0),
        (view(&[2, 2], &[2, 1], 1), 14.0),
        (view(&[2, 2], &[1, 2], 0), 10.0),
        (view(&[2, 2], &[1, 2], 2), 18.0),
        (view(&[2, 2], &[3, 1], 0), 12.0),
        (view(&[2, 2], &[0, 1], 4), 22.0),
        (view(&[4], &[1], 0), 10.0),
    ];
    for (i, (view, sum)) in layouts.into_iter().enumerate() {
        assert!(!dynamic.contains(&[view]));
        assert_eq!((run(view), builds.load(Relaxed)), (sum, i + 1), "{view:?}");
        assert_eq!((run(view), builds.load(Relaxed)), (sum, i + 1), "{view:?}");
        assert!(dynamic.contains(&[view]) && dynamic.contains(&[view.aval()]));
    }
    // Dense views and arrays are the same, and other words for one layout too.
    let array = client().array(&DATA[2..], [2, 2]).unwrap();
    assert_eq!(f32s(&dynamic.run(&[&array]).unwrap()), [18.0]);
    assert_eq!(run(HostView::column_major(&DATA[..4], &[2, 2]).unwrap()), 10.0);
    assert_eq!(builds.load(Relaxed), 7);
    assert!(dynamic.contains(&[&array]) && dynamic.contains(&[Input::from(&array)]));

    let named: Vec<String> = dynamic.entries().iter().map(|entry| entry.key[0].value.clone()).collect();
    let listed = |key: &str| named.iter().any(|name| name == key);
    assert!(listed("f32[2,2] with strides [1,2] from offset 2") && listed("f32[2,2]"), "{named:?}");
    assert!(dynamic.remove(&[view(&[2, 2], &[1, 2], 2)]) && !dynamic.remove(&[view(&[2, 2], &[1, 2], 2)]));
    assert!(dynamic.contains(&[view(&[2, 2], &[1, 2], 0)]));
    assert_eq!(dynamic.len(), 6);
}

#[test]
fn keys_of_strided_and_dense_inputs_do_not_run_into_each_other() {
    let builds = AtomicUsize::new(0);
    let dynamic = sums(&builds);
    // The words behind a strided input could be those of another one.
    let (scalar, vector) = (view(&[], &[], 1), view(&[2], &[1], 0));
    let lists: [(&[HostView<'_>], f32); 6] = [
        (&[vector, scalar], 23.0),
        (&[scalar, vector], 32.0),
        (&[view(&[], &[], 0), vector], 31.0),
        (&[view(&[], &[], 2), vector], 33.0),
        (&[view(&[2], &[0], 1), view(&[], &[], 0)], 14.0),
        (&[view(&[2], &[2], 0)], 4.0),
    ];
    for (i, (inputs, sum)) in lists.into_iter().enumerate() {
        assert_eq!(f32s(&dynamic.run(inputs).unwrap()), [sum]);
        assert_eq!(builds.load(Relaxed), i + 1);
    }
}

#[test]
fn a_build_function_that_leaves_the_strides_out_is_told() {
    let dynamic = DynamicSkeleton::new(&client(), 8, |inputs: &[Aval]| {
        let x = SkeletonSlot::new(inputs[0].dtype(), inputs[0].shape()).named("x");
        (&x * 2.0).into_skeleton(&client(), &[&x])
    })
    .unwrap();
    let (columns, rows) = (view(&[2, 2], &[1, 2], 0), view(&[2, 2], &[2, 1], 0));
    for _ in 0..2 {
        let error = dynamic.run(&[columns]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the program of the dynamic skeleton must take `x` as tensor<2x2xf32, strided<[1, 2]>>, \
             which it was built for, it takes tensor<2x2xf32>"
        );
    }
    assert!(dynamic.is_empty());
    assert_eq!(f32s(&dynamic.run(&[rows]).unwrap()), [2.0, 4.0, 6.0, 8.0]);

    // Slots of a layout that nobody gave.
    let columns_only = DynamicSkeleton::new(&client(), 8, |inputs: &[Aval]| {
        let x = SkeletonSlot::new(inputs[0].dtype(), inputs[0].shape()).strided([1, 2], 0);
        (&x * 2.0).into_skeleton(&client(), &[&x])
    })
    .unwrap();
    assert_eq!(columns_only.run(&[rows]).unwrap_err().code(), "program");
    assert_eq!(f32s(&columns_only.run(&[columns]).unwrap()), [2.0, 6.0, 4.0, 8.0]);
    let array = client().array(&DATA[..4], [2, 2]).unwrap();
    assert_eq!(columns_only.run(&[&array]).unwrap_err().code(), "program");
}

#[test]
fn a_slot_with_strides_is_bound_to_no_value() {
    let columns = tenfold(slot(&[2, 2]).strided([1, 2], 0));
    let y = SkeletonSlot::new(DType::F32, [2, 2]).named("y");
    let array = client().array(&DATA[..4], [2, 2]).unwrap();
    for error in [columns.compose(&[&y]).unwrap_err(), columns.compose(&[&array]).unwrap_err()] {
        assert_eq!((error.code(), error.argument()), ("layout", Some("x")));
    }
    // Inside of a graph an input is the array that it stands for.
    let x = slot(&[2, 2]).strided([1, 2], 0);
    let inner = tenfold(slot(&[2, 2]));
    let outer = inner.compose(&[&x]).unwrap().into_skeleton(&client(), &[&x]).unwrap();
    let result = outer.run(&[HostView::column_major(&DATA[..4], &[2, 2]).unwrap()]).unwrap();
    assert_eq!(f32s(&result), [10.0, 30.0, 20.0, 40.0]);
}

/// Tells elements apart by where they stand.
#[dispatch_family(capacity = 8)]
fn ordered(
    cx: &CompileCx,
    #[dynamic(dtype = f32, shape = [m, n])] x: Value,
    #[dynamic(dtype = f32, shape = [m, n])] y: Value,
) -> Result<Program> {
    assert!(m * n > 0);
    cx.program(x * 10.0 + y)
}

#[test]
fn families_take_host_views_of_any_layout() {
    let family = Ordered::new(&client());
    let columns = HostView::column_major(&DATA, &[2, 3]).unwrap();
    let doubles: Vec<f64> = (1..=12).map(f64::from).collect();
    // Of another dtype as well, which is converted.
    let every_second = HostView::strided(&doubles, &[2, 3], &[6, 2], 1).unwrap();
    let result = family.call(columns, every_second).unwrap();
    assert_eq!(f32s(&result), [12.0, 34.0, 56.0, 28.0, 50.0, 72.0]);
    let array = client().array(&DATA, [2, 3]).unwrap();
    let result = family.call(&array, columns).unwrap();
    assert_eq!(f32s(&result), [11.0, 23.0, 35.0, 42.0, 54.0, 66.0]);
    // A program takes what is dense, so there is one for all layouts.
    assert_eq!(family.stats().compiles, 1);

    let wrong = [1.0, 2.0, 3.0, 4.0, 1e300, 6.0];
    let wrong = HostView::column_major(&wrong, &[2, 3]).unwrap();
    let told = family.call(&array, wrong).unwrap_err().to_string();
    assert!(told.starts_with("argument `y`: expected a magnitude of at most 3.4028235e38 (f32)"), "{told}");
    assert!(told.ends_with("at index [0, 2]"), "{told}");
    assert!(family.call(&array, HostView::strided(&DATA, &[3, 2], &[1, 3], 0).unwrap()).is_err());
}

#[test]
fn host_data_for_a_donated_slot_is_consumed_by_the_run_only() {
    let x = slot(&[2, 2]).strided([1, 2], 0).donated();
    let y = SkeletonSlot::new(DType::F32, [2, 2]).named("y");
    let skeleton = (&x * 10.0 + &y).into_skeleton(&client(), &[&x, &y]).unwrap();
    let columns = HostView::column_major(&DATA[..4], &[2, 2]).unwrap();
    let y = client().array(&[1f32; 4], [2, 2]).unwrap();
    for _ in 0..3 {
        let result = skeleton.run(&[columns.into(), Input::from(&y)]).unwrap();
        assert_eq!(f32s(&result), [11.0, 31.0, 21.0, 41.0]);
    }
    let room = client().array(&[0f32; 4], [2, 2]).unwrap();
    let result = skeleton.run_into(&[columns.into(), Input::from(&y)], room).unwrap();
    assert_eq!(f32s(&result), [11.0, 31.0, 21.0, 41.0]);
    let wrong = skeleton.run_into(&[HostView::new(&DATA[..4], &[2, 2]).unwrap(); 2], result).unwrap_err();
    assert_eq!((wrong.code(), wrong.argument()), ("layout", Some("x")));
}
