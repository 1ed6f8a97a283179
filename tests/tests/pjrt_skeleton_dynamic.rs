//! Skeletons by the layouts of their inputs, on a real plugin.

mod plugin;

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Barrier, OnceLock};

use dispatch_runtime::cache::{EntryId, Occupancy};
use dispatch_runtime::prelude::*;
use dispatch_runtime::skeleton::{DynamicSkeleton, Skeleton, SkeletonSlot};
use dispatch_tests::without_hanging;

fn client() -> Client {
    static CLIENT: OnceLock<Client> = OnceLock::new();
    *CLIENT.get_or_init(|| Client::cpu().unwrap())
}

fn f32s(n: usize) -> Array {
    client().array(&vec![1f32; n], [n as i64]).unwrap()
}

/// `2 * inputs[0]`.
fn twice(inputs: &[Aval]) -> Result<Skeleton> {
    let x = SkeletonSlot::new(inputs[0].dtype(), inputs[0].shape()).named("x");
    (&x * 2).into_skeleton(&client(), &[&x])
}

#[test]
fn each_list_of_layouts_has_its_skeleton_which_is_built_once() {
    let builds = AtomicUsize::new(0); // borrowed by the build function
    let sum = DynamicSkeleton::new(&client(), 8, |inputs: &[Aval]| {
        builds.fetch_add(1, Relaxed);
        let slots: Vec<_> = inputs.iter().map(|aval| SkeletonSlot::new(aval.dtype(), aval.shape())).collect();
        let total = slots.iter().map(|slot| slot.convert(DType::F64).sum(..)).reduce(|a, b| a + b);
        total
            .unwrap_or(Value::zeros(DType::F64, []))
            .into_skeleton(&client(), &slots.iter().collect::<Vec<_>>())
    })
    .unwrap();
    let run = |inputs: &[&Array]| sum.run(inputs).unwrap().to_vec::<f64>().unwrap()[0];

    let (a, b) = (f32s(2), f32s(3));
    let whole = client().array(&[7i32, 8], [2]).unwrap();
    let matrix = client().array(&[1f32, 2.0], [1, 2]).unwrap();
    let calls: [(&[&Array], f64); 8] = [
        (&[&a], 2.0),
        (&[&b], 3.0),
        (&[&whole], 15.0),
        (&[&matrix], 3.0),
        (&[&a, &b], 5.0),
        (&[&b, &a], 5.0),
        (&[&a, &a], 4.0),
        (&[], 0.0),
    ];
    for _ in 0..2 {
        for (inputs, expected) in calls {
            assert_eq!(run(inputs), expected);
        }
        assert_eq!((builds.load(Relaxed), sum.len()), (8, 8));
    }
    // New data of a layout that was there.
    assert_eq!(run(&[&client().array(&[10f32, 20.0], [2]).unwrap()]), 30.0);
    let stats = sum.stats();
    assert_eq!((stats.compiles, stats.misses, stats.hits, stats.evictions), (8, 8, 9, 0));
    assert!(stats.bytes > 0);
    assert_eq!(sum.entries()[0].key[0].to_string(), "input 1 = f32[2]");
    let shown = format!("{sum:?}");
    assert!(shown.starts_with("DynamicSkeleton { capacity: 8, stats: "), "{shown}");
}

#[test]
fn contains_and_remove_take_arrays_and_layouts() {
    let dynamic = DynamicSkeleton::new(&client(), 8, twice).unwrap();
    let (a, b) = (f32s(2), f32s(3));
    assert!(dynamic.is_empty());
    dynamic.run(&[&a]).unwrap();
    dynamic.run(&[&b]).unwrap();
    let before = dynamic.stats();
    assert!(dynamic.contains(&[&a]) && dynamic.contains(&[a.aval()]) && dynamic.contains(&[&b.aval()]));
    assert!(!dynamic.contains(&[&a, &a]));
    assert!(!dynamic.contains(&[Aval::new(DType::F64, [2])]));
    assert!(!dynamic.contains::<Aval>(&[]));
    assert_eq!(dynamic.stats(), before);

    assert!(dynamic.remove(&[&a]));
    assert!(!dynamic.remove(&[&a]));
    assert!(!dynamic.remove(&[&b, &a]));
    assert!(!dynamic.contains(&[&a]) && dynamic.contains(&[&b]));
    assert!(dynamic.remove(&[b.aval()]));
    assert_eq!((dynamic.len(), dynamic.capacity()), (0, 8));
    assert_eq!(dynamic.run(&[&a]).unwrap().to_vec::<f32>().unwrap(), [2.0, 2.0]);
    assert_eq!(dynamic.stats().compiles, 3);
    dynamic.clear();
    assert!(dynamic.is_empty() && !dynamic.contains(&[&a]));
}

#[test]
fn over_capacity_the_least_recently_used_goes() {
    let dynamic = DynamicSkeleton::new(&client(), 2, twice).unwrap();
    let [a, b, c] = [1, 2, 3].map(f32s);
    dynamic.run(&[&a]).unwrap();
    dynamic.run(&[&b]).unwrap();
    dynamic.run(&[&a]).unwrap(); // a hit, now `b` is the older one
    dynamic.run(&[&c]).unwrap();
    assert!(dynamic.contains(&[&a]) && !dynamic.contains(&[&b]) && dynamic.contains(&[&c]));
    assert_eq!((dynamic.len(), dynamic.stats().evictions), (2, 1));

    let unbounded = DynamicSkeleton::with_policy(&client(), 1, Unbounded, twice).unwrap();
    for array in [&a, &b, &c] {
        unbounded.run(&[array]).unwrap();
    }
    assert_eq!((unbounded.len(), unbounded.stats().evictions), (3, 0));
}

#[test]
fn a_capacity_of_zero_is_an_error_when_it_is_made() {
    let error = DynamicSkeleton::new(&client(), 0, twice).unwrap_err();
    assert_eq!(error.to_string(), "option `capacity`: expected at least 1, got 0");
}

/// Panics, or names an entry that is gone.
struct Broken {
    gone: Option<EntryId>,
    panics: bool,
}

impl EvictionPolicy for Broken {
    fn victim(&mut self, occupancy: &Occupancy<'_>) -> Option<EntryId> {
        assert!(!self.panics, "a broken policy");
        let first = *self.gone.get_or_insert(occupancy.entries[0].id);
        (occupancy.entries.len() >= occupancy.capacity).then_some(first)
    }

    fn removed(&mut self, _: &dispatch_runtime::cache::Usage) {
        panic!("a broken hook");
    }
}

#[test]
fn a_broken_policy_does_no_harm() {
    for panics in [true, false] {
        let policy = Broken { gone: None, panics };
        let dynamic = DynamicSkeleton::with_policy(&client(), 2, policy, twice).unwrap();
        for n in [1, 2, 3, 4, 1, 2, 3, 4] {
            assert_eq!(dynamic.run(&[&f32s(n)]).unwrap().to_vec::<f32>().unwrap(), vec![2.0; n]);
            assert!(dynamic.len() <= 2);
        }
        dynamic.clear();
        assert!(dynamic.is_empty());
    }
}

#[test]
fn a_failing_or_panicking_build_leaves_nothing() {
    let attempts = AtomicUsize::new(0);
    let dynamic =
        DynamicSkeleton::new(&client(), 4, |inputs: &[Aval]| match attempts.fetch_add(1, Relaxed) {
            0 => Err(Error::InvalidProgram { reason: "not yet".into() }),
            1 => panic!("not now"),
            _ => twice(inputs),
        })
        .unwrap();
    let a = f32s(2);
    assert_eq!(dynamic.run(&[&a]).err().unwrap().to_string(), "invalid program: not yet");
    assert_eq!(
        dynamic.run(&[&a]).err().unwrap().to_string(),
        "the body of the dynamic skeleton panicked: not now"
    );
    assert!(dynamic.is_empty() && !dynamic.contains(&[&a]));
    assert_eq!(dynamic.run(&[&a]).unwrap().to_vec::<f32>().unwrap(), [2.0, 2.0]);
    assert_eq!((dynamic.stats().compiles, dynamic.stats().misses), (1, 3));
}

#[test]
fn a_skeleton_for_other_inputs_is_an_error_and_is_not_kept() {
    let wrong = |build: &(dyn Fn(&[Aval]) -> Result<Skeleton> + Sync), expected: &str| {
        let dynamic = DynamicSkeleton::new(&client(), 4, build).unwrap();
        for _ in 0..2 {
            let error = dynamic.run(&[&f32s(2)]).err().unwrap();
            assert_eq!(error.to_string(), format!("the program of the dynamic skeleton {expected}"));
            assert!(dynamic.is_empty());
        }
        assert_eq!((dynamic.stats().misses, dynamic.stats().compiles), (2, 0));
    };
    wrong(
        &|_| twice(&[Aval::new(DType::F32, [3])]),
        "must take `x` as tensor<2xf32>, which it was built for, it takes tensor<3xf32>",
    );
    wrong(
        &|_| twice(&[Aval::new(DType::F64, [2])]),
        "must take `x` as tensor<2xf32>, which it was built for, it takes tensor<2xf64>",
    );
    wrong(
        &|_| Value::ones(DType::F32, [2]).into_skeleton(&client(), &[]),
        "must take 1 argument, it takes 0",
    );
    let other = plugin::client_with_devices(2);
    let device = other.default_device();
    let elsewhere = move |inputs: &[Aval]| {
        let x = SkeletonSlot::new(inputs[0].dtype(), inputs[0].shape());
        (&x * 2).into_skeleton(&other, &[&x])
    };
    wrong(
        &elsewhere,
        &format!("must run on {}, it runs on {device} of another client", client().default_device()),
    );
}

#[test]
fn inputs_are_checked_before_the_cache_is_asked() {
    let dynamic = DynamicSkeleton::new(&client(), 4, twice).unwrap();
    let gone = f32s(2);
    assert!(gone.donate());
    let host = Client::host().array(&[1f32], [1]).unwrap();
    for (inputs, code) in [(&gone, "donated"), (&host, "client")] {
        let error = dynamic.run(&[&f32s(1), inputs]).err().unwrap();
        assert_eq!((error.code(), error.argument()), (code, Some("2")));
    }
    assert_eq!(dynamic.stats().misses, 0);
}

#[test]
fn threads_that_miss_one_key_build_once() {
    without_hanging(|| {
        let builds = AtomicUsize::new(0);
        let dynamic = DynamicSkeleton::new(&client(), 8, |inputs: &[Aval]| {
            builds.fetch_add(1, Relaxed);
            std::thread::sleep(std::time::Duration::from_millis(30));
            twice(inputs)
        })
        .unwrap();
        let start = Barrier::new(4);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    start.wait();
                    for n in [1, 2] {
                        assert_eq!(dynamic.run(&[&f32s(n)]).unwrap().to_vec::<f32>().unwrap(), vec![2.0; n]);
                    }
                });
            }
        });
        assert_eq!((builds.load(Relaxed), dynamic.stats().compiles, dynamic.len()), (2, 2, 2));
    });
}

#[test]
fn a_build_may_run_other_layouts_but_not_its_own() {
    without_hanging(|| {
        type Build = fn(&[Aval]) -> Result<Skeleton>;
        static INNER: OnceLock<DynamicSkeleton<Build>> = OnceLock::new();
        fn build(inputs: &[Aval]) -> Result<Skeleton> {
            let n = inputs[0].len();
            if n > 0 {
                let smaller = INNER.get().unwrap().run(&[&f32s(if n == 7 { 7 } else { n - 1 })])?;
                assert_eq!(smaller.len(), n - 1);
            }
            twice(inputs)
        }
        let dynamic = INNER.get_or_init(|| DynamicSkeleton::new(&client(), 8, build as Build).unwrap());
        dynamic.run(&[&f32s(3)]).unwrap();
        assert_eq!(dynamic.len(), 4);
        assert_eq!(
            dynamic.run(&[&f32s(7)]).err().unwrap().to_string(),
            "the dynamic skeleton is asked for the program that it is compiling at this moment: input 1 = f32[7]"
        );
        assert_eq!(dynamic.len(), 4);
    });
}

#[test]
fn results_have_the_structure_of_the_built_skeletons() {
    let dynamic = DynamicSkeleton::new(&client(), 8, |inputs: &[Aval]| {
        let x = SkeletonSlot::new(inputs[0].dtype(), inputs[0].shape());
        (x.sum(..), [x.max(..), x.min(..)]).into_skeleton(&client(), &[&x])
    })
    .unwrap();
    let (sum, [max, min]) = dynamic.run(&[&client().array(&[1i32, 5, -2], [3]).unwrap()]).unwrap();
    assert_eq!([sum, max, min].map(|array| array.to_vec::<i32>().unwrap()[0]), [4, 5, -2]);
}
