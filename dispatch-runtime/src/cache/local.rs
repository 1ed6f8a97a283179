//! Each thread's table of its blocks, indexed by cache.
//!
//! Indices are given to caches when they are made and again to others once they are dropped, so a thread's table is as
//! long as the most caches that ever were alive at once. A seat may still hold the block of a cache that is gone;
//! the block's serial number, which is never given twice, tells.

use std::cell::{Cell, RefCell};
use std::sync::{Mutex, PoisonError};

use super::slots::Block;
use super::sync::Arc;

/// The identity of a cache: its index in the threads' tables, and its serial number.
pub(super) struct CacheId {
    pub index: usize,
    pub serial: u64,
}

struct Ids {
    free: Vec<usize>,
    next_index: usize,
    next_serial: u64,
}

static IDS: Mutex<Ids> = Mutex::new(Ids { free: Vec::new(), next_index: 0, next_serial: 1 });

impl CacheId {
    pub fn claim() -> CacheId {
        let mut ids = IDS.lock().unwrap_or_else(PoisonError::into_inner);
        let index = ids.free.pop().unwrap_or(ids.next_index);
        ids.next_index = ids.next_index.max(index + 1);
        ids.next_serial += 1;
        CacheId { index, serial: ids.next_serial - 1 }
    }
}

impl Drop for CacheId {
    fn drop(&mut self) {
        IDS.lock().unwrap_or_else(PoisonError::into_inner).free.push(self.index);
    }
}

type Seat = Option<Arc<Block>>;

/// The seats for the hit path: no destructor, so that reading it needs no check.
struct View {
    seats: Cell<*const Seat>,
    len: Cell<usize>,
}

/// The owner of the seats.
struct Table {
    seats: Vec<Seat>,
    /// Registrations since the last sweep.
    registered: usize,
}

thread_local! {
    static VIEW: View = const { View { seats: Cell::new(std::ptr::null()), len: Cell::new(0) } };
    static TABLE: RefCell<Table> = const { RefCell::new(Table { seats: Vec::new(), registered: 0 }) };
}

/// This thread's block of the cache, or null.
///
/// It lives at least as long as the thread's table and the cache do.
#[inline(always)]
pub(super) fn block(id: &CacheId) -> *const Block {
    VIEW.with(|view| {
        if id.index < view.len.get() {
            // SAFETY: `view` describes the seats of this thread's table whenever no function of this module runs.
            if let Some(block) = unsafe { &*view.seats.get().add(id.index) } {
                if block.serial == id.serial {
                    return &raw const **block;
                }
            }
        }
        std::ptr::null()
    })
}

/// Puts a new block into this thread's table. `None` if the thread is ending and has no table any more.
pub(super) fn register(id: &CacheId) -> Option<Arc<Block>> {
    let block = Arc::new(Block::new(id.serial));
    let in_table = TABLE.try_with(|table| table.borrow_mut().insert(id.index, block.clone()));
    in_table.is_ok().then_some(block)
}

impl Table {
    fn insert(&mut self, index: usize, block: Arc<Block>) {
        self.registered += 1;
        if self.registered > self.seats.len() {
            self.sweep();
        }
        if index >= self.seats.len() {
            self.seats.resize_with(index + 1, || None);
        }
        self.seats[index] = Some(block);
        VIEW.with(|view| {
            view.seats.set(self.seats.as_ptr());
            view.len.set(self.seats.len());
        });
    }

    /// Frees the blocks of caches that are gone: those that nobody else holds.
    fn sweep(&mut self) {
        self.registered = 0;
        for seat in &mut self.seats {
            seat.take_if(|block| Arc::get_mut(block).is_some());
        }
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        VIEW.with(|view| {
            view.seats.set(std::ptr::null());
            view.len.set(0);
        });
        for block in self.seats.drain(..).flatten() {
            // A pin in some thread-local that is destroyed later, or one that was forgotten. The cache frees blocks
            // that it alone holds, and this one may be written to once more; so it must stay for ever.
            if block.slots().iter().any(|slot| slot.busy()) {
                std::mem::forget(block);
            }
        }
    }
}
