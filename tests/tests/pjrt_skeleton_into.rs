//! Skeletons that consume arrays: those of donated slots, and those that give their memory to the results.

mod plugin;

use std::sync::{Barrier, OnceLock};

use dispatch_runtime::engine::pjrt::PjrtEngine;
use dispatch_runtime::prelude::*;
use dispatch_runtime::skeleton::{DynamicSkeleton, Skeleton, SkeletonSlot, capture};
use dispatch_tests::without_hanging;

/// So many floats are more than what a plugin copies instead of handing it over.
const MANY: usize = 1 << 18;

fn client() -> Client {
    static CLIENT: OnceLock<Client> = OnceLock::new();
    *CLIENT.get_or_init(|| Client::cpu().unwrap())
}

fn f32s(n: usize, x: f32) -> Array {
    client().array(&vec![x; n], [n as i64]).unwrap()
}

fn slot(name: &str, n: usize) -> SkeletonSlot {
    SkeletonSlot::new(DType::F32, [n as i64]).named(name)
}

/// `x * 2 + 1`.
fn twice_and_one(n: usize) -> Skeleton {
    let x = slot("x", n);
    (&x * 2.0 + 1.0).into_skeleton(&client(), &[&x]).unwrap()
}

fn all(array: &Array, expected: f32) -> bool {
    array.to_vec::<f32>().unwrap().iter().all(|&x| x == expected)
}

/// Where the data stands.
fn address(array: &Array) -> usize {
    array.with_bytes(|bytes| bytes.as_ptr() as usize).unwrap()
}

/// Whether the plugin hands memory over however little it is.
fn hands_over_little() -> bool {
    let engine: &PjrtEngine = client().engine().as_any().downcast_ref().unwrap();
    engine.api_minor() >= 106
}

#[test]
fn a_donated_slot_consumes_its_array() {
    for n in [4, MANY] {
        let (state, step) = (slot("state", n).donated(), slot("step", n));
        let skeleton = (&state + &step).into_skeleton(&client(), &[&state, &step]).unwrap();
        assert_eq!(skeleton.donated().collect::<Vec<_>>(), [true, false]);
        let step = f32s(n, 1.0);
        let mut state = f32s(n, 0.0);
        for _ in 0..5 {
            let given = state.clone();
            let before = address(&state);
            state = skeleton.run(&[&state, &step]).unwrap();
            assert_eq!(given.to_vec::<f32>().unwrap_err().code(), "donated");
            if n == MANY {
                assert_eq!(address(&state), before, "the memory was not taken over");
            }
            let error = skeleton.run(&[&given, &step]).unwrap_err();
            let expected = "argument `state`: the array was donated to an earlier call and is gone";
            assert_eq!(error.to_string(), expected);
        }
        assert!(all(&state, 5.0) && all(&step, 1.0));
        // What is donated counts in the memory of a run once.
        assert_eq!(skeleton.memory_report().peak_bytes, 8 * n as u64);
    }
}

#[test]
fn a_donated_array_may_not_be_an_argument_twice() {
    let (x, y) = (slot("x", 4).donated(), slot("y", 4));
    let kept = f32s(4, 3.0);
    let skeleton = (&x + &y + capture(&kept).named("kept")).into_skeleton(&client(), &[&x, &y]).unwrap();
    let a = f32s(4, 1.0);
    let error = skeleton.run(&[&a, &a]).unwrap_err();
    assert_eq!((error.code(), error.argument()), ("donated", Some("x")));
    assert_eq!(error.to_string(), "argument `x`: the run consumes the array, which is also `y`");
    let error = skeleton.run(&[&kept, &a]).unwrap_err();
    assert_eq!(error.to_string(), "argument `x`: the run consumes the array, which is also `kept`");
    // Nothing was consumed.
    assert!(all(&a, 1.0) && all(&kept, 3.0));
    assert!(all(&skeleton.run(&[&a, &kept]).unwrap(), 7.0));
    assert!(all(&kept, 3.0) && a.is_donated());
}

#[test]
fn a_dynamic_skeleton_may_have_donated_slots() {
    let dynamic = DynamicSkeleton::new(&client(), 4, |inputs: &[Aval]| {
        let x = SkeletonSlot::new(inputs[0].dtype(), inputs[0].shape()).donated();
        (&x * 2.0).into_skeleton(&client(), &[&x])
    })
    .unwrap();
    for _ in 0..2 {
        let x = f32s(3, 2.0);
        assert!(all(&dynamic.run(&[&x]).unwrap(), 4.0));
        assert!(x.is_donated());
        let error = dynamic.run(&[&x]).err().unwrap();
        assert_eq!((error.code(), error.argument()), ("donated", Some("1")));
    }
}

#[test]
fn results_get_the_memory_of_given_arrays() {
    for n in [4, MANY] {
        let skeleton = twice_and_one(n);
        assert_eq!(skeleton.reuses_memory(), n == MANY || hands_over_little());
        let x = f32s(n, 1.0);
        let mut y = f32s(n, 0.0);
        for _ in 0..5 {
            let (given, before) = (y.clone(), address(&y));
            y = skeleton.run_into(&[&x], y).unwrap();
            assert!(all(&y, 3.0));
            assert_eq!(given.to_vec::<f32>().unwrap_err().code(), "donated");
            if skeleton.reuses_memory() {
                assert_eq!(address(&y), before, "the memory was not used again");
            }
        }
        // The input stays, and runs without given memory go on.
        assert!(all(&skeleton.run(&[&x]).unwrap(), 3.0) && all(&x, 1.0));
    }
}

#[test]
fn each_result_gets_the_memory_that_is_given_for_it() {
    #[derive(OutputTree)]
    struct Parts<T> {
        half: T,
        pair: [T; 2],
        flag: T,
    }
    let n = MANY;
    let (x, kept) = (slot("x", n), f32s(n, 10.0));
    // A result that is an input, one that stands twice, and one of another dtype.
    let sum = &x + capture(&kept);
    let parts = Parts { half: x.value().clone(), pair: [sum.clone(), sum], flag: x.value().lt(2.0) };
    let skeleton = parts.into_skeleton(&client(), &[&x]).unwrap();
    let run = |value: f32, into: Parts<Array>| skeleton.run_into(&[&f32s(n, value)], into).unwrap();
    let first = skeleton.run(&[&f32s(n, 0.0)]).unwrap();
    let places =
        |parts: &Parts<Array>| [&parts.half, &parts.pair[0], &parts.pair[1], &parts.flag].map(address);
    let expected = places(&first);
    let second = run(1.0, first);
    assert_eq!(places(&second), expected);
    let third = run(5.0, second);
    assert_eq!(places(&third), expected);
    assert!(all(&third.half, 5.0) && all(&third.pair[0], 15.0) && all(&third.pair[1], 15.0));
    assert!(third.flag.to_vec::<bool>().unwrap().iter().all(|&flag| !flag));
    assert!(all(&kept, 10.0));
}

#[test]
fn donated_slots_and_given_memory_go_together() {
    let x = slot("x", MANY).donated();
    let skeleton = (&x * 2.0).into_skeleton(&client(), &[&x]).unwrap();
    let (x, into) = (f32s(MANY, 4.0), f32s(MANY, 0.0));
    let place = address(&into);
    let y = skeleton.run_into(&[&x], into).unwrap();
    assert!(all(&y, 8.0) && x.is_donated());
    assert_eq!(address(&y), place);

    let error = skeleton.run_into(&[&y], y.clone()).unwrap_err();
    assert_eq!(error.to_string(), "argument `x`: the run consumes the array, which is also `into`");
    assert!(all(&y, 8.0));
}

#[test]
fn a_call_that_fails_names_the_array_and_consumes_nothing() {
    let n = MANY;
    let (x, kept) = (slot("x", n), f32s(n, 1.0));
    let skeleton = (&x + capture(&kept).named("kept"), x.exp()).into_skeleton(&client(), &[&x]).unwrap();
    let (x, a, b) = (f32s(n, 0.0), f32s(n, 0.0), f32s(n, 0.0));
    let gone = f32s(n, 0.0);
    assert!(gone.donate());
    let other = plugin::client_with_devices(2);
    let data = vec![0f32; n];
    let elsewhere = other.array(&data, [n as i64]).unwrap();
    let wrong = client().array(&vec![0f64; n], [n as i64]).unwrap();
    let refused = |into: (&Array, &Array), code: &str, message: &str| {
        let error = skeleton.run_into(&[&x], (into.0.clone(), into.1.clone())).err().unwrap();
        assert_eq!(error.code(), code, "{error}");
        assert!(error.to_string().contains(message), "{error}");
        assert!(!x.is_donated() && !a.is_donated() && !b.is_donated() && !kept.is_donated());
    };
    refused((&a, &gone), "donated", "argument `into 2`: the array was donated to an earlier call");
    refused((&f32s(2, 0.0), &b), "shape", &format!("argument `into 1`: expected shape [{n}], got [2]"));
    refused((&a, &wrong), "dtype", "argument `into 2`: expected dtype f32, got f64");
    refused((&a, &elsewhere), "client", "argument `into 2`");
    refused((&a, &a), "donated", "argument `into 1`: the run consumes the array, which is also `into 2`");
    refused((&x, &b), "donated", "argument `into 1`: the run consumes the array, which is also `x`");
    refused((&a, &kept), "donated", "argument `into 2`: the run consumes the array, which is also `kept`");
    // A wrong input is told first.
    let error = skeleton.run_into(&[&f32s(1, 0.0)], (a.clone(), b.clone())).err().unwrap();
    assert_eq!(error.argument(), Some("x"));
    let (y, _) = skeleton.run_into(&[&x], (a, b)).unwrap();
    assert!(all(&y, 1.0));

    // A list may have the wrong length.
    let text = match skeleton.program() {
        dispatch_runtime::program::Source::StableHlo(text) => text.clone(),
        other => panic!("{other}"),
    };
    let (x_slot, kept_slot) = (slot("x", n), slot("kept", n));
    let program = Program::<Vec<Array>>::stablehlo(text);
    let list =
        Skeleton::<Vec<Array>>::from_program(&client(), program.unwrap(), &[&x_slot, &kept_slot]).unwrap();
    let error = list.run_into(&[&x, &kept], vec![y.clone()]).err().unwrap();
    assert_eq!(error.code(), "argument_count", "{error}");
    assert!(error.to_string().contains("argument `into 2` is missing"), "{error}");
    let results = list.run_into(&[&x, &kept], vec![y, f32s(n, 0.0)]).unwrap();
    assert!(all(&results[0], 1.0) && all(&results[1], 1.0));
}

#[test]
fn a_program_that_is_no_text_is_refused_and_the_host_engine_takes_new_memory() {
    let aval = Aval::new(DType::F32, [2]);
    let program = Program::<Array>::host([aval.clone()], [aval], |args| {
        let doubled: Vec<f32> = args[0].as_slice::<f32>().unwrap().iter().map(|x| 2.0 * x).collect();
        Ok(vec![HostArray::new(doubled, [2])?])
    });
    let host = Client::host();
    let x = SkeletonSlot::new(DType::F32, [2]);
    let skeleton = Skeleton::from_program(&host, program.unwrap(), &[&x]).unwrap();
    assert!(!skeleton.reuses_memory());
    let into = host.array(&[0f32; 2], [2]).unwrap();
    let given = into.clone();
    let y = skeleton.run_into(&[&host.array(&[1f32, 2.0], [2]).unwrap()], into).unwrap();
    assert_eq!(y.to_vec::<f32>().unwrap(), [2.0, 4.0]);
    assert!(given.is_donated());
}

#[test]
fn threads_share_one_second_form() {
    without_hanging(|| {
        let skeleton = twice_and_one(MANY);
        let start = Barrier::new(4);
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let (skeleton, start) = (&skeleton, &start);
                scope.spawn(move || {
                    let x = f32s(MANY, thread as f32);
                    let mut y = f32s(MANY, 0.0);
                    start.wait();
                    for _ in 0..20 {
                        y = skeleton.run_into(&[&x], y).unwrap();
                    }
                    assert!(all(&y, 2.0 * thread as f32 + 1.0));
                });
            }
        });
    });
}

#[test]
fn host_data_runs_into_given_memory_and_through_donated_slots() {
    let (x, y) = (slot("x", MANY).donated(), SkeletonSlot::new(DType::F32, [2, 2]).strided([1, 2], 0));
    let total = y.sum(1).sum(..);
    let skeleton = (&x * &total).into_skeleton(&client(), &[&x, &y]).unwrap();
    let data = vec![2f32; MANY];
    let column_major = HostView::column_major(&[1f32, 2.0, 3.0, 4.0], &[2, 2]).unwrap();
    let view = HostView::new(&data, &[MANY as i64]).unwrap();
    let into = f32s(MANY, 0.0);
    let place = address(&into);
    let result = skeleton.run_into(&[view, column_major], into).unwrap();
    assert!(all(&result, 20.0));
    assert_eq!(address(&result), place);
}

#[test]
fn a_skeleton_with_donated_slots_is_composed_without_consuming() {
    let x = slot("x", 4).donated();
    let inner = (&x * 2.0).into_skeleton(&client(), &[&x]).unwrap();
    let y = slot("y", 4);
    let outer = (inner.compose(&[&y]).unwrap() + &y).into_skeleton(&client(), &[&y]).unwrap();
    let y = f32s(4, 1.0);
    assert!(all(&outer.run(&[&y]).unwrap(), 3.0) && !y.is_donated());
}
