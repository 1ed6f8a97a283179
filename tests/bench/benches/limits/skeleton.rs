//! Skeletons: a run against the raw call, a hit of a dynamic one against a run, and a run against candela's skeleton.

use std::hint::black_box;

use dispatch_bench::families;
use dispatch_bench::harness::{case, pin_to_processor, rounds};
use dispatch_bench::raw::Execute;
use dispatch_bench::results::Results;
use dispatch_runtime::prelude::*;
use dispatch_runtime::skeleton::{DynamicSkeleton, Skeleton, SkeletonSlot};

use crate::MICRO;

/// `x * 2 + 1` over so many floats.
fn twice_and_one(client: Client, n: i64) -> Skeleton {
    let x = SkeletonSlot::new(DType::F32, [n]).named("x");
    (&x * 2.0 + 1.0).into_skeleton(&client, &[&x]).expect("the program compiles")
}

#[inline(never)]
fn call<O: OutputTree>(skeleton: &Skeleton<O>, inputs: &[&Array]) -> Result<O> {
    skeleton.run(inputs)
}

type Build = Box<dyn Fn(&[Aval]) -> Result<Skeleton>>;

#[inline(never)]
fn call_dynamic(skeleton: &DynamicSkeleton<Build>, inputs: &[&Array]) -> Result<Array> {
    skeleton.run(inputs)
}

/// One input f32\[4\]: fixed and by layout.
pub fn run(client: Client, results: &mut Results) {
    pin_to_processor(0);
    let (x, other) = (families::array(client, 0.0), client.array(&[1f32; 5], [5]).unwrap());
    let skeleton = twice_and_one(client, 4);
    let build: Build = Box::new(move |inputs: &[Aval]| Ok(twice_and_one(client, inputs[0].shape()[0])));
    let dynamic = DynamicSkeleton::new(&client, 8, build).unwrap();
    let executable = client.compile(skeleton.program().clone()).unwrap();
    let raw = || Execute::new(client, executable.compiled(), &[x.raw()]);
    let (mut first, mut again) = (raw(), raw());
    let (x, other) = (&x, &other);
    let mut cases = [
        case("raw execute, result ended", |n| first.calls(n)),
        case("the same again", |n| again.calls(n)),
        case("skeleton", |n| {
            (0..n).for_each(|_| drop(black_box(call(&skeleton, black_box(&[x])).unwrap())));
        }),
        case("dynamic skeleton, a hit", |n| {
            (0..n).for_each(|_| drop(black_box(call_dynamic(&dynamic, black_box(&[x])).unwrap())));
        }),
        case("dynamic skeleton, two layouts in turn", |n| {
            (0..n).for_each(|i| {
                let input = if i % 2 == 0 { x } else { other };
                drop(black_box(call_dynamic(&dynamic, black_box(&[input])).unwrap()));
            });
        }),
    ];
    let rounds = rounds(&mut cases, 4000, 26);
    rounds.print("Skeletons: `x * 2 + 1` on one f32[4]");
    let more = |case, than| rounds.difference(case, than).median * MICRO;
    results.report("skeleton, control: raw minus raw", more(1, 0), "µs");
    results.at_most("skeleton: run minus raw execute", more(2, 0), "µs", 0.05);
    results.at_most("dynamic skeleton: a hit minus run of a skeleton", more(3, 2), "µs", 0.03);
    results.report("dynamic skeleton, two layouts in turn: minus run of a skeleton", more(4, 2), "µs");
}

/// `x * 2 + 1` over 4 and 10 000 floats, until the result is there, against candela's skeletons.
pub fn against_candela(client: Client, results: &mut Results) {
    // Blocks of many calls: a plugin's thread sleeps while candela runs, and is woken by the first call of a block.
    for (n, blocks, calls) in [(4, 2000, 26), (10_000, 200, 26)] {
        let data: Vec<f32> = (0..n).map(|i| i as f32).collect();
        let x = client.array(&data, [n]).unwrap();
        let skeleton = twice_and_one(client, n);

        let slot = candela::skeleton::SkeletonSlot::new(candela::Layout::new(&[n as usize]));
        let theirs = (&slot * 2.0 + 1.0).into_skeleton(std::slice::from_ref(&slot)).expect("it is baked");
        let tensor = candela::Tensor::from_slice(&data, &[n as usize]);

        let result = skeleton.run(&[&x]).unwrap().to_vec::<f32>().unwrap();
        assert_eq!(theirs.run(&[&tensor]).expect("it runs").data(), &result[..]);
        let mut cases = [
            case("candela", |n| {
                (0..n).for_each(|_| drop(black_box(theirs.run(black_box(&[&tensor])).unwrap())));
            }),
            case("ours, awaited", |n| {
                (0..n).for_each(|_| {
                    let result = call(&skeleton, black_box(&[&x])).unwrap();
                    result.await_ready().unwrap();
                    drop(black_box(result));
                });
            }),
        ];
        let rounds = rounds(&mut cases, blocks, calls);
        rounds.print(&format!("Skeletons: `x * 2 + 1` on f32[{n}] against candela-tensor 0.2.0"));
        let ratio = rounds.ratio(1, 0).median;
        results.report(
            &format!("skeleton, {n} floats: run until ready"),
            rounds.time(1).median * MICRO,
            "µs",
        );
        results.report(&format!("skeleton, {n} floats: candela"), rounds.time(0).median * MICRO, "µs");
        match n {
            10_000 => results.at_most("skeleton, 10 000 floats: run against candela", ratio, "times", 0.3),
            _ => results.report(&format!("skeleton, {n} floats: run against candela"), ratio, "times"),
        }
    }
}
