//! Conversions of host values allocate nothing once their thread is warm.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use dispatch_runtime::host::Converted;
use dispatch_runtime::{DType, HostView};

struct Counting;

thread_local!(static ALLOCATIONS: Cell<usize> = const { Cell::new(0) });

// SAFETY: the system's allocator does the work; counting allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = ALLOCATIONS.try_with(|n| n.set(n.get() + 1));
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn allocations(run: impl FnOnce()) -> usize {
    let before = ALLOCATIONS.get();
    run();
    ALLOCATIONS.get() - before
}

#[test]
fn scalars_and_arrays_of_the_same_dtype_never_allocate() {
    let data = [1f64; 1000];
    let shape = [10, 100];
    let count = allocations(|| {
        for &dtype in DType::ALL.iter().filter(|&&d| d != DType::C128) {
            assert_eq!(
                Converted::new(HostView::scalar(&1u8), dtype, &String::new).unwrap().view().dtype(),
                dtype
            );
        }
        let view = HostView::new(&data, &shape).unwrap();
        assert_eq!(Converted::new(view, DType::F64, &String::new).unwrap().view().as_ptr(), view.as_ptr());
    });
    assert_eq!(count, 0);
}

#[test]
fn arrays_allocate_on_the_first_call_only() {
    let data = vec![1f64; 100_000];
    let call = || {
        // Three arguments and a scalar that takes two words, alive at once, as in a call.
        let convert = |shape: &'static [i64; 1]| {
            let view = HostView::new(&data[..shape[0] as usize], shape).unwrap();
            Converted::new(view, DType::F32, &String::new).unwrap()
        };
        let all = [convert(&[100_000]), convert(&[10]), convert(&[3000])];
        let scalar = Converted::new(HostView::scalar(&2f32), DType::C128, &String::new).unwrap();
        assert_eq!(all[2].view().as_slice::<f32>().unwrap().len(), 3000);
        assert_eq!(scalar.view().bytes().unwrap().len(), 16);
    };
    assert!(allocations(call) > 0);
    assert_eq!(allocations(|| (0..100).for_each(|_| call())), 0);
}
