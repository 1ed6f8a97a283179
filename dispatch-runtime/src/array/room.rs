//! The memory of handles: on cache lines of its own, and used again by the thread that gave it back.
//!
//! A hit makes a handle for each result and drops it soon after, and its check reads the handle of each argument.
//! After a run of XLA little of either is in the processor's first cache, so a handle whose hot fields share one line
//! is worth a third of the check, and a spare one half of `malloc` and `free`.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::cell::Cell;
use std::ptr::{NonNull, null_mut};

use super::Handle;

/// The size of a cache line.
const LINE: usize = 64;

/// What an allocator aligns to without extra cost.
const CHEAP: usize = 16;

/// Where a handle's room holds the address that the allocator gave.
const ORIGIN: usize = 2 * LINE - size_of::<usize>();

/// How much a room holds.
pub(super) const SIZE: usize = ORIGIN;

/// How many spare rooms a thread keeps.
const SPARE: usize = 64;

const _: () = assert!(size_of::<Handle>() <= ORIGIN && align_of::<Handle>() <= LINE);

/// The rooms that a thread has to spare, each with the address of the next one in its first word.
struct Spare {
    first: Cell<*mut u8>,
    len: Cell<usize>,
    /// Whether rooms are kept: from the first one that is given back until the thread ends.
    open: Cell<bool>,
}

/// Frees the spare rooms when the thread ends. Apart from [`Spare`], so that reading that needs no check.
struct Close;

thread_local! {
    static ROOMS: Spare =
        const { Spare { first: Cell::new(null_mut()), len: Cell::new(0), open: Cell::new(false) } };
    static CLOSE: Close = const { Close };
}

/// Memory for one handle, not initialised.
#[inline]
pub(super) fn take() -> NonNull<Handle> {
    ROOMS.with(|rooms| match NonNull::new(rooms.first.get()) {
        Some(room) => {
            // SAFETY: a spare room is ours, and its first word is the address of the next one.
            rooms.first.set(unsafe { room.cast::<*mut u8>().read() });
            rooms.len.set(rooms.len.get() - 1);
            room.cast()
        }
        None => new(),
    })
}

/// Gives the memory of a handle back.
///
/// # Safety
///
/// `handle` is from [`take`] of this copy of the crate, on whatever thread, and is not used any more.
#[inline]
pub(super) unsafe fn give(handle: NonNull<Handle>) {
    let room = handle.cast::<u8>();
    ROOMS.with(|rooms| {
        if rooms.len.get() < SPARE && (rooms.open.get() || open(rooms)) {
            // SAFETY: the room is ours by the caller's promise, and has space for a word.
            unsafe { room.cast::<*mut u8>().write(rooms.first.get()) };
            rooms.first.set(room.as_ptr());
            rooms.len.set(rooms.len.get() + 1);
        } else {
            // SAFETY: the room is ours by the caller's promise.
            unsafe { free(room) };
        }
    });
}

/// Begins to keep rooms; false if the thread is ending.
#[cold]
fn open(rooms: &Spare) -> bool {
    rooms.open.set(CLOSE.try_with(|_| ()).is_ok());
    rooms.open.get()
}

impl Drop for Close {
    fn drop(&mut self) {
        ROOMS.with(|rooms| {
            rooms.open.set(false);
            while let Some(room) = NonNull::new(rooms.first.get()) {
                // SAFETY: a spare room is ours, its first word is the address of the next one, and it leaves the list.
                unsafe {
                    rooms.first.set(room.cast::<*mut u8>().read());
                    free(room);
                }
            }
            rooms.len.set(0);
        });
    }
}

/// Room for two lines wherever the allocator's cheap alignment puts it.
const LAYOUT: Layout = match Layout::from_size_align(3 * LINE - CHEAP, CHEAP) {
    Ok(layout) => layout,
    Err(_) => unreachable!(),
};

#[cold]
fn new() -> NonNull<Handle> {
    // SAFETY: the layout is not empty. The aligned address is at most `LINE - CHEAP` behind the origin, so two lines
    // fit, and the word at `ORIGIN` is in the second one.
    unsafe {
        let origin = alloc(LAYOUT);
        if origin.is_null() {
            handle_alloc_error(LAYOUT);
        }
        let room = origin.add(origin.align_offset(LINE));
        room.add(ORIGIN).cast::<*mut u8>().write(origin);
        NonNull::new_unchecked(room.cast())
    }
}

/// # Safety
///
/// `room` is from [`new`] and not used any more.
unsafe fn free(room: NonNull<u8>) {
    // SAFETY: by the caller's promise; nobody has written to the word at `ORIGIN` since.
    unsafe { dealloc(room.add(ORIGIN).cast::<*mut u8>().read(), LAYOUT) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn give_all(rooms: Vec<NonNull<Handle>>) {
        // SAFETY: each is from `take` and is not used.
        rooms.into_iter().for_each(|room| unsafe { give(room) });
    }

    #[test]
    fn rooms_are_aligned_apart_and_used_again() {
        let rooms: Vec<_> = (0..3 * SPARE).map(|_| take()).collect();
        let mut addresses: Vec<usize> = rooms.iter().map(|room| room.as_ptr() as usize).collect();
        addresses.sort_unstable();
        assert!(addresses.iter().all(|a| a % LINE == 0));
        assert!(addresses.windows(2).all(|w| w[1] - w[0] >= 2 * LINE));
        let last = *rooms.last().unwrap();
        give_all(rooms);
        assert_eq!(ROOMS.with(|rooms| rooms.len.get()), SPARE, "no more are kept");
        let again = take();
        assert_ne!(again, last, "the last ones given back found the list full");
        give_all(vec![again]);
    }

    #[test]
    fn rooms_may_be_given_back_by_another_thread_that_then_ends() {
        let rooms: Vec<usize> = (0..10).map(|_| take().as_ptr() as usize).collect();
        std::thread::spawn(move || {
            give_all(rooms.into_iter().map(|a| NonNull::new(a as *mut Handle).unwrap()).collect());
        })
        .join()
        .unwrap();
    }
}
