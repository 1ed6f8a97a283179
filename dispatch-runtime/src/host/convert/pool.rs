//! Buffers for converted data, kept by the thread from one conversion to the next.

use std::cell::RefCell;
use std::mem::ManuallyDrop;

/// At most so many buffers are kept by a thread …
const MAX_BUFFERS: usize = 64;

/// … and so many 16-byte words in all of them: 64 MiB. What is larger costs more to fill than to allocate.
const MAX_WORDS: usize = 4 << 20;

thread_local! {
    // Boxed, so that a buffer is one word to whoever holds it: see `Converted`.
    #[allow(clippy::vec_box)]
    static POOL: RefCell<Vec<Box<Words>>> = const { RefCell::new(Vec::new()) };
}

/// A vector of length 0: only its capacity is used, and elements are written before they are read.
type Words = Vec<u128>;

// Words hold elements of any type.
const _: () = assert!(align_of::<u128>() >= align_of::<f64>() && align_of::<u128>() >= align_of::<u64>());

/// Memory for converted elements; goes back to the pool of the thread that drops it.
#[derive(Debug)]
pub(super) struct Scratch(#[allow(clippy::box_collection)] ManuallyDrop<Box<Words>>);

impl Scratch {
    /// Uninitialised memory of at least this many bytes.
    pub(super) fn take(bytes: usize) -> Scratch {
        let words = bytes.div_ceil(size_of::<u128>());
        // Without the pool, as at the end of a thread, buffers are simply allocated.
        let pooled = POOL.try_with(|pool| pick(&mut *pool.try_borrow_mut().ok()?, words)).ok().flatten();
        let mut buffer = pooled.unwrap_or_default();
        if buffer.capacity() < words {
            // Growing it would copy what it holds, which nobody needs.
            *buffer = Vec::new();
            buffer.reserve_exact(words);
        }
        Scratch(ManuallyDrop::new(buffer))
    }

    #[inline]
    pub(super) fn as_ptr(&self) -> *const u8 {
        self.0.as_ptr().cast()
    }

    pub(super) fn as_mut_ptr(&mut self) -> *mut u8 {
        self.0.as_mut_ptr().cast()
    }
}

/// Takes the smallest buffer that is large enough, else the largest one, to be replaced: so a repeated call that
/// takes and gives back in any order allocates once.
#[allow(clippy::vec_box)]
fn pick(pool: &mut Vec<Box<Words>>, words: usize) -> Option<Box<Words>> {
    let fitting = (0..pool.len()).filter(|&i| pool[i].capacity() >= words);
    let index = fitting
        .min_by_key(|&i| pool[i].capacity())
        .or_else(|| (0..pool.len()).max_by_key(|&i| pool[i].capacity()))?;
    Some(pool.swap_remove(index))
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // SAFETY: nobody uses the field again.
        let buffer = unsafe { ManuallyDrop::take(&mut self.0) };
        // The buffer is dropped here if the pool is gone, in use, or full.
        let _ = POOL.try_with(|pool| {
            let Ok(mut pool) = pool.try_borrow_mut() else { return };
            let kept: usize = pool.iter().map(|b| b.capacity()).sum();
            if pool.len() < MAX_BUFFERS && kept + buffer.capacity() <= MAX_WORDS {
                pool.push(buffer);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repeated_pattern_of_sizes_reuses_its_buffers_in_any_order() {
        let addresses = |order: [usize; 3]| {
            let taken = [3000, 10, 500].map(Scratch::take);
            let mut at = taken.each_ref().map(|s| s.as_ptr() as usize);
            let mut taken = taken.map(Some);
            order.iter().for_each(|&i| drop(taken[i].take()));
            at.sort();
            at
        };
        let first = addresses([0, 1, 2]);
        for order in [[0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
            assert_eq!(addresses(order), first);
        }
    }

    #[test]
    fn growing_a_buffer_replaces_it_instead_of_adding_one() {
        std::thread::spawn(|| {
            for n in 1..100 {
                drop(Scratch::take(n * 1000));
            }
            assert_eq!(POOL.with(|pool| pool.borrow().len()), 1);
        })
        .join()
        .unwrap();
    }

    #[test]
    fn a_thread_keeps_a_bounded_amount() {
        std::thread::spawn(|| {
            drop((0..200).map(|_| Scratch::take(32)).collect::<Vec<_>>());
            assert_eq!(POOL.with(|pool| pool.borrow().len()), MAX_BUFFERS);
            drop(Scratch::take(MAX_WORDS * 16 + 1));
            assert!(POOL.with(|pool| pool.borrow().iter().map(|b| b.capacity()).sum::<usize>()) <= MAX_WORDS);
        })
        .join()
        .unwrap();
    }

    #[test]
    fn the_end_of_a_thread_and_reentrance_only_allocate() {
        struct AtExit;
        impl Drop for AtExit {
            fn drop(&mut self) {
                drop(Scratch::take(1000));
            }
        }
        thread_local!(static AT_EXIT: AtExit = const { AtExit });
        std::thread::spawn(|| {
            // Both orders of the two destructors are possible; made first, `AT_EXIT` outlives the pool.
            AT_EXIT.with(|_| {});
            drop(Scratch::take(1000));
            POOL.with(|pool| {
                let _held = pool.borrow_mut();
                drop(Scratch::take(1000));
            });
        })
        .join()
        .unwrap();
    }
}
