//! Pools of results whose memory the next runs use.

mod plugin;

use std::collections::HashSet;
use std::sync::{Mutex, OnceLock};

use dispatch_runtime::prelude::*;
use dispatch_runtime::skeleton::{BufferPool, Skeleton, SkeletonSlot};
use dispatch_tests::without_hanging;

/// So many floats are more than what a plugin copies instead of handing it over.
const MANY: usize = 1 << 16;

fn client() -> Client {
    static CLIENT: OnceLock<Client> = OnceLock::new();
    *CLIENT.get_or_init(|| Client::cpu().unwrap())
}

fn f32s(n: usize, x: f32) -> Array {
    client().array(&vec![x; n], [n as i64]).unwrap()
}

/// `x * 2 + 1`.
fn twice_and_one(n: usize) -> Skeleton {
    let x = SkeletonSlot::new(DType::F32, [n as i64]).named("x");
    (&x * 2.0 + 1.0).into_skeleton(&client(), &[&x]).unwrap()
}

fn all(array: &Array, expected: f32) -> bool {
    array.to_vec::<f32>().unwrap().iter().all(|&x| x == expected)
}

fn address(array: &Array) -> usize {
    array.with_bytes(|bytes| bytes.as_ptr() as usize).unwrap()
}

#[test]
fn memory_that_is_given_back_is_used_again() {
    let pool = twice_and_one(MANY).pool(2).unwrap();
    let first = pool.run(&[&f32s(MANY, 0.0)]).unwrap();
    let place = address(&first);
    pool.give_back(first).unwrap();
    let stats = pool.stats();
    assert_eq!((stats.kept, stats.bytes), (1, 4 * MANY as u64));
    for i in 1..6 {
        let y = pool.run(&[&f32s(MANY, i as f32)]).unwrap();
        assert_eq!(address(&y), place);
        assert!(all(&y, 2.0 * i as f32 + 1.0));
        assert_eq!(pool.stats().kept, 0);
        pool.give_back(y).unwrap();
    }
    let stats = pool.stats();
    assert_eq!((stats.runs, stats.reused, stats.given_back, stats.ended), (6, 5, 6, 0));
    // What is kept by the caller is never written to.
    let kept = pool.run(&[&f32s(MANY, 10.0)]).unwrap();
    let other = pool.run(&[&f32s(MANY, 20.0)]).unwrap();
    assert!(all(&kept, 21.0) && all(&other, 41.0));
    assert_ne!(address(&kept), address(&other));
}

#[test]
fn over_its_capacity_a_pool_frees_what_comes() {
    let error = twice_and_one(4).pool(0).unwrap_err();
    assert_eq!(error.to_string(), "option `capacity`: expected at least 1, got 0");

    let pool = twice_and_one(MANY).pool(2).unwrap();
    let results: Vec<Array> = (0..3).map(|_| pool.run(&[&f32s(MANY, 1.0)]).unwrap()).collect();
    results.into_iter().for_each(|result| pool.give_back(result).unwrap());
    let stats = pool.stats();
    assert_eq!((stats.kept, stats.ended, stats.given_back), (2, 1, 3));
    pool.clear();
    assert_eq!((pool.stats().kept, pool.stats().bytes), (0, 0));
    assert!(all(&pool.run(&[&f32s(MANY, 1.0)]).unwrap(), 3.0));
    let shown = format!("{pool:?}");
    assert!(shown.starts_with("BufferPool { skeleton: Skeleton("), "{shown}");
}

#[test]
fn an_array_with_another_handle_is_not_taken() {
    let pool = twice_and_one(MANY).pool(2).unwrap();
    let y = pool.run(&[&f32s(MANY, 1.0)]).unwrap();
    let clone = y.clone();
    let error = pool.give_back(y).unwrap_err();
    assert_eq!((error.code(), error.argument()), ("donated", Some("into")));
    let expected =
        "argument `into`: there is another handle of the array, so its memory cannot be used again";
    assert_eq!(error.to_string(), expected);
    assert_eq!((pool.stats().kept, pool.stats().given_back), (0, 0));
    pool.run(&[&f32s(MANY, 2.0)]).unwrap();
    assert!(all(&clone, 3.0));
    // The clone is the only handle now.
    pool.give_back(clone).unwrap();
    assert_eq!(pool.stats().kept, 1);
}

#[test]
fn an_array_that_shares_the_memory_of_host_data_is_not_taken() {
    #[repr(align(64))]
    struct Aligned([f32; MANY]);
    static DATA: Aligned = Aligned([1.0; MANY]);
    let view = HostView::new(&DATA.0, &[MANY as i64]).unwrap();
    // SAFETY: the data is constant.
    let (shared, _) = unsafe { client().share(view, Box::new(()), client().default_device()) }.unwrap();
    assert!(shared.is_shared());
    let pool = twice_and_one(MANY).pool(2).unwrap();
    let error = pool.give_back(shared).unwrap_err();
    assert_eq!((error.code(), error.argument()), ("donated", Some("into")));
    assert!(error.to_string().contains("the array shares the memory of host data"), "{error}");
    assert_eq!(pool.stats().kept, 0);
}

#[test]
fn what_is_no_result_is_not_taken() {
    let pool = twice_and_one(MANY).pool(2).unwrap();
    let other = plugin::client_with_devices(2);
    let gone = f32s(MANY, 0.0);
    assert!(gone.donate());
    let data = vec![0f32; MANY];
    let cases = [
        (f32s(3, 0.0), "shape"),
        (client().array(&vec![0i32; MANY], [MANY as i64]).unwrap(), "dtype"),
        (other.array(&data, [MANY as i64]).unwrap(), "client"),
        (gone, "donated"),
    ];
    for (array, code) in cases {
        let error = pool.give_back(array).unwrap_err();
        assert_eq!((error.code(), error.argument()), (code, Some("into")), "{error}");
    }
    assert_eq!(pool.stats(), Default::default());
    // An array of the layout is as good as a result.
    pool.give_back(f32s(MANY, 0.0)).unwrap();
    assert!(all(&pool.run(&[&f32s(MANY, 1.0)]).unwrap(), 3.0));
    assert_eq!(pool.stats().reused, 1);
}

#[test]
fn a_run_that_fails_takes_nothing_from_the_pool() {
    let pool = twice_and_one(MANY).pool(2).unwrap();
    pool.give_back(f32s(MANY, 0.0)).unwrap();
    let error = pool.run(&[&f32s(3, 0.0)]).unwrap_err();
    assert_eq!(error.argument(), Some("x"));
    let stats = pool.stats();
    assert_eq!((stats.kept, stats.runs, stats.reused, stats.ended), (1, 0, 0, 0));
}

#[test]
fn several_results_share_what_has_their_layout() {
    let x = SkeletonSlot::new(DType::F32, [MANY as i64]).named("x");
    let skeleton = (x.exp(), [&x + 1.0, &x * 3.0]).into_skeleton(&client(), &[&x]).unwrap();
    let pool = skeleton.pool(1).unwrap();
    let (exp, [sum, product]) = pool.run(&[&f32s(MANY, 1.0)]).unwrap();
    let places: HashSet<usize> = [&exp, &sum, &product].map(address).into();
    pool.give_back((exp, [sum, product])).unwrap();
    assert_eq!(pool.stats().kept, 3);
    let (exp, [sum, product]) = pool.run(&[&f32s(MANY, 0.0)]).unwrap();
    assert!(all(&exp, 1.0) && all(&sum, 1.0) && all(&product, 0.0));
    assert_eq!(HashSet::from([&exp, &sum, &product].map(address)), places);

    // One array that stands twice cannot be given back: it has two handles.
    let error = pool.give_back((exp.clone(), [exp, sum])).unwrap_err();
    assert_eq!(error.argument(), Some("into 1"));
    assert_eq!(pool.stats().kept, 0);
}

#[test]
fn where_memory_is_not_handed_over_a_pool_keeps_nothing() {
    let skeleton = twice_and_one(4);
    let pool = skeleton.pool(2).unwrap();
    for i in 0..4 {
        let y = pool.run(&[&f32s(4, i as f32)]).unwrap();
        assert!(all(&y, 2.0 * i as f32 + 1.0));
        pool.give_back(y).unwrap();
    }
    let stats = pool.stats();
    let expected = if skeleton.reuses_memory() { (4, 3, 0, 1) } else { (4, 0, 4, 0) };
    assert_eq!((stats.runs, stats.reused, stats.ended, stats.kept), expected);
}

#[test]
fn threads_share_a_pool_and_never_an_array() {
    without_hanging(|| {
        let pool: BufferPool = twice_and_one(MANY).pool(3).unwrap();
        let places = Mutex::new(HashSet::new());
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let (pool, places) = (&pool, &places);
                scope.spawn(move || {
                    for i in 0..25 {
                        let value = (100 * thread + i) as f32;
                        let held = pool.run(&[&f32s(MANY, value)]).unwrap();
                        let other = pool.run(&[&f32s(MANY, -value)]).unwrap();
                        places.lock().unwrap().insert(address(&held));
                        assert!(all(&held, 2.0 * value + 1.0), "somebody wrote to memory in use");
                        assert!(all(&other, -2.0 * value + 1.0), "somebody wrote to memory in use");
                        pool.give_back(other).unwrap();
                        pool.give_back(held).unwrap();
                    }
                });
            }
        });
        let stats = pool.stats();
        assert_eq!((stats.runs, stats.given_back), (200, 200));
        assert!(stats.kept <= 3 && stats.reused > 0);
        assert_eq!(stats.given_back - stats.ended, stats.reused + stats.kept as u64);
    });
}

#[test]
fn results_are_given_back_while_they_are_computed_and_read() {
    let pool = twice_and_one(MANY).pool(2).unwrap();
    let reader = twice_and_one(MANY);
    for i in 0..50 {
        let y = pool.run(&[&f32s(MANY, i as f32)]).unwrap();
        let read = reader.run(&[&y]).unwrap();
        pool.give_back(y).unwrap();
        let next = pool.run(&[&f32s(MANY, -1.0)]).unwrap();
        assert!(all(&read, 4.0 * i as f32 + 3.0), "round {i}");
        assert!(all(&next, -1.0));
        pool.give_back(next).unwrap();
    }
    assert!(pool.stats().reused >= 50);
}
