//! Arrays in the memory of host data.

mod plugin;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use dispatch_runtime::engine::pjrt::mark_donors;
use dispatch_runtime::prelude::*;
use plugin::{add, client, compile, run, values};

/// Room for floats whose first one is at a multiple of 64 bytes.
struct Room {
    all: Vec<f32>,
    first: usize,
}

impl Room {
    fn new(len: usize, value: f32) -> Room {
        let all = vec![value; len + 16];
        let first = all.as_ptr().align_offset(64);
        Room { all, first }
    }

    fn from(&self, skip: usize, len: usize) -> &[f32] {
        &self.all[self.first + skip..][..len]
    }
}

/// Counts how often it is dropped, and keeps the data meanwhile.
struct Keeps(#[allow(dead_code)] Arc<Room>, Arc<AtomicUsize>);

impl Drop for Keeps {
    fn drop(&mut self) {
        self.1.fetch_add(1, Ordering::SeqCst);
    }
}

struct Shared {
    array: Option<Array>,
    is_shared: bool,
    ends: Arc<AtomicUsize>,
    data: Arc<Room>,
}

fn share(len: usize, skip: usize) -> Shared {
    let (data, ends) = (Arc::new(Room::new(len + skip, 1.0)), Arc::new(AtomicUsize::new(0)));
    let owner = Box::new(Keeps(data.clone(), ends.clone()));
    let shape = [len as i64];
    let view = HostView::new(data.from(skip, len), &shape).unwrap();
    // SAFETY: nobody writes to the data, which the owner has a share of.
    let (array, is_shared) = unsafe { client().share(view, owner, client().default_device()) }.unwrap();
    assert_eq!(array.is_shared(), is_shared);
    Shared { array: Some(array), is_shared, ends, data }
}

impl Shared {
    fn ends(&self) -> usize {
        self.ends.load(Ordering::SeqCst)
    }

    /// Waits until the plugin, whose threads may be at it, has given the data back.
    fn wait_for_the_end(&self) {
        let start = Instant::now();
        while self.ends() == 0 && start.elapsed() < Duration::from_secs(10) {
            std::thread::yield_now();
        }
        assert_eq!(self.ends(), 1);
        assert_eq!(Arc::strong_count(&self.data), 1);
    }
}

#[test]
fn aligned_data_is_the_memory_of_the_array_and_is_kept_as_long() {
    for len in [1, 16, 1000, 1 << 20] {
        let mut shared = share(len, 0);
        assert!(shared.is_shared, "{len}");
        let array = shared.array.take().unwrap();
        assert_eq!(values::<f32>(&array), vec![1.0; len]);
        let at = array.with_bytes(|bytes| bytes.as_ptr() as usize).unwrap();
        assert_eq!(at, shared.data.from(0, len).as_ptr() as usize);
        let again = array.clone();
        drop(array);
        assert_eq!((shared.ends(), values::<f32>(&again)[len - 1]), (0, 1.0));
        drop(again);
        shared.wait_for_the_end();
    }
}

#[test]
fn what_cannot_be_shared_is_copied_and_given_back_at_once() {
    for (len, skip) in [(16, 1), (1 << 20, 15), (0, 0)] {
        let shared = share(len, skip);
        assert!(!shared.is_shared);
        assert_eq!(shared.ends(), 1, "{len}");
        assert_eq!(values::<f32>(shared.array.as_ref().unwrap()), vec![1.0; len]);
    }
    // A whole cache line further it is aligned again.
    assert!(share(32, 16).is_shared);

    let (data, ends) = (Arc::new(Room::new(64, 1.0)), Arc::new(AtomicUsize::new(0)));
    let view = HostView::column_major(data.from(0, 64), &[8, 8]).unwrap();
    let owner = Box::new(Keeps(data.clone(), ends.clone()));
    // SAFETY: as above.
    let (array, shared) = unsafe { client().share(view, owner, client().default_device()) }.unwrap();
    assert_eq!((shared, array.shape(), ends.load(Ordering::SeqCst)), (false, &[8i64, 8][..], 1));
}

#[test]
fn an_error_gives_the_data_back() {
    let (data, ends) = (Arc::new(Room::new(64, 1.0)), Arc::new(AtomicUsize::new(0)));
    let view = HostView::new(data.from(0, 64), &[64]).unwrap();
    let owner = Box::new(Keeps(data.clone(), ends.clone()));
    // SAFETY: as above.
    let refused = unsafe { client().share(view, owner, Client::host().default_device()) };
    assert_eq!(refused.unwrap_err().code(), "client");
    assert_eq!(ends.load(Ordering::SeqCst), 1);
}

#[test]
fn data_is_kept_until_the_execution_that_reads_it_has_ended() {
    // Long enough to be running still when the array is dropped.
    let n = 1024usize;
    let ty = format!("tensor<{n}x{n}xf32>");
    let text = format!(
        "func.func @main(%a: {ty}) -> {ty} {{
           %0 = stablehlo.dot %a, %a : ({ty}, {ty}) -> {ty}
           %1 = stablehlo.dot %0, %a : ({ty}, {ty}) -> {ty}
           return %1 : {ty}
         }}"
    );
    let executable = compile(client(), &text);
    for _ in 0..5 {
        let (data, ends) = (Arc::new(Room::new(n * n, 0.5)), Arc::new(AtomicUsize::new(0)));
        let owner = Box::new(Keeps(data.clone(), ends.clone()));
        let shape = [n as i64; 2];
        let view = HostView::new(data.from(0, n * n), &shape).unwrap();
        // SAFETY: as above.
        let (array, shared) = unsafe { client().share(view, owner, client().default_device()) }.unwrap();
        assert!(shared);
        let result = run(&executable, &[&array]);
        drop(array);
        let (ended, ready) = (ends.load(Ordering::SeqCst), result.is_ready().unwrap());
        assert!(ended == 0 || ready, "the data was given back while it was read");
        drop(data);
        let expected = 0.125 * (n * n) as f32;
        assert!(values::<f32>(&result).iter().all(|&x| x == expected));
    }
}

#[test]
fn a_program_cannot_consume_what_is_shared() {
    for n in [4usize, 1 << 18] {
        let text = mark_donors(&add(&format!("tensor<{n}xf32>")), &[true, false]).unwrap();
        let executable = compile(client(), &text);
        let shared = share(n, 0);
        let (array, step) =
            (shared.array.as_ref().unwrap(), client().array(&vec![1f32; n], [n as i64]).unwrap());
        let error = executable.execute(&[array, &step]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "argument `1`: the array shares the memory of host data, which no program may write into: \
             copy it to donate it"
        );
        // It is as whole as before, and so is what was to be consumed beside it.
        assert_eq!(values::<f32>(&run(&executable, &[&step, array])), vec![2.0; n]);
        assert_eq!(shared.data.from(0, n), vec![1.0; n]);
    }
}

#[dispatch_family]
fn step(
    cx: &CompileCx,
    #[dynamic(dtype = f32, shape = [n], donate)] a: Value,
    #[dynamic(dtype = f32, shape = [n], donate)] b: Value,
) -> Result<Program<(Array, Array)>> {
    cx.program((&a + &b, &a - &b))
}

#[test]
fn a_family_cannot_consume_what_is_shared() {
    let family = Step::new(&client());
    let shared = share(8, 0);
    let array = shared.array.as_ref().unwrap();
    let other = client().array(&[1f32; 8], [8]).unwrap();
    let error = family.call(&other, array).unwrap_err();
    assert_eq!((error.code(), error.argument()), ("donated", Some("b")));
    assert!(error.to_string().contains("copy it to donate it"), "{error}");
    assert!(!other.is_donated() && !array.is_donated() && !array.is_only());
    // Lent to another shared object it is refused in the same words.
    // SAFETY: the owner keeps the buffer, whose dtype and shape these are.
    let lent =
        unsafe { Array::from_owner(client(), array.raw(), 0, DType::F32, &[8], array.clone().into_owner()) };
    let error = family.call(&other, &lent).unwrap_err();
    assert!(error.to_string().contains("copy it to donate it"), "{error}");
    assert!(!lent.is_donated() && !other.is_donated());
    assert_eq!(shared.data.from(0, 8), [1.0; 8]);
}

#[test]
fn an_owner_that_panics_harms_nobody() {
    struct Panics;
    impl Drop for Panics {
        fn drop(&mut self) {
            panic!("an owner's own affair");
        }
    }
    let data = Room::new(16, 2.0);
    let view = HostView::new(data.from(0, 16), &[16]).unwrap();
    // SAFETY: the data lives as long as this function, whose end is later than that of the array.
    let (array, shared) =
        unsafe { client().share(view, Box::new(Panics), client().default_device()) }.unwrap();
    assert!(shared);
    assert_eq!(values::<f32>(&array), [2.0; 16]);
    drop(array);
    assert_eq!(values::<f32>(&client().array(&[1f32], [1]).unwrap()), [1.0]);
}

#[test]
fn every_owner_is_dropped_once() {
    let ends = Arc::new(AtomicUsize::new(0));
    let executable = compile(client(), &add("tensor<64xf32>"));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for i in 0..2500 {
                    let data = Arc::new(Room::new(64, i as f32));
                    let owner = Box::new(Keeps(data.clone(), ends.clone()));
                    let view = HostView::new(data.from(0, 64), &[64]).unwrap();
                    // SAFETY: nobody writes to the data, which the owner has a share of.
                    let (array, shared) =
                        unsafe { client().share(view, owner, client().default_device()) }.unwrap();
                    drop(data);
                    assert!(shared);
                    let sum = run(&executable, &[&array, &array]);
                    drop(array);
                    assert_eq!(values::<f32>(&sum)[63], 2.0 * i as f32);
                }
            });
        }
    });
    let start = Instant::now();
    while ends.load(Ordering::SeqCst) < 10_000 && start.elapsed() < Duration::from_secs(10) {
        std::thread::yield_now();
    }
    assert_eq!(ends.load(Ordering::SeqCst), 10_000);
}
