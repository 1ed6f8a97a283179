//! What runs of skeletons allocate on the side of Rust, counted by the allocator: nothing.

mod plugin;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use dispatch_runtime::prelude::*;
use dispatch_runtime::skeleton::{DynamicSkeleton, SkeletonSlot};
use plugin::client;

/// The system's allocator, with the calls of each thread counted. A plugin has an allocator of its own.
struct Counting;

thread_local! {
    static CALLS: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: passes everything on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        CALLS.with(|calls| calls.set(calls.get() + 1));
        // SAFETY: the caller's promises are those that the system's allocator asks for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: as in `alloc`.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Fails if this allocates when it is done again.
#[track_caller]
fn allocates_nothing(mut what: impl FnMut()) {
    (0..3).for_each(|_| what());
    let before = CALLS.get();
    (0..10).for_each(|_| what());
    assert_eq!(CALLS.get() - before, 0);
}

/// `x * 2 + 1` for each of `N` scalars.
fn many<const N: usize>(slots: &[SkeletonSlot]) -> [Value; N] {
    std::array::from_fn(|i| &slots[i] * 2.0 + 1.0)
}

fn scalars(n: usize) -> Vec<SkeletonSlot> {
    (0..n).map(|_| SkeletonSlot::new(DType::F32, [])).collect()
}

#[test]
fn a_run_allocates_nothing() {
    let client = client();
    let array = client.array(&[1f32], []).unwrap();
    let slots = scalars(1);
    let [one] = many(&slots);
    let skeleton = one.into_skeleton(&client, &[&slots[0]]).unwrap();
    allocates_nothing(|| drop(skeleton.run(&[&array]).unwrap()));

    let slots = scalars(40);
    let skeleton = many::<40>(&slots).into_skeleton(&client, &slots.iter().collect::<Vec<_>>()).unwrap();
    let inputs = [&array; 40];
    allocates_nothing(|| drop(skeleton.run(&inputs).unwrap()));
}

#[test]
fn a_hit_of_a_dynamic_skeleton_allocates_nothing() {
    let client = client();
    let dynamic = DynamicSkeleton::new(&client, 8, |inputs: &[Aval]| {
        let slots = scalars(inputs.len());
        let total = slots.iter().fold(Value::scalar(0f32), |sum, slot| sum + slot);
        total.into_skeleton(&client, &slots.iter().collect::<Vec<_>>())
    })
    .unwrap();
    let array = client.array(&[1f32], []).unwrap();
    let inputs = [&array; 100];
    for n in [1, 3, 100] {
        allocates_nothing(|| drop(dynamic.run(&inputs[..n]).unwrap()));
        assert_eq!(dynamic.run(&inputs[..n]).unwrap().to_vec::<f32>().unwrap(), [n as f32]);
    }
}
