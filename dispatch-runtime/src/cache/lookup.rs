//! How a look-up finds its entry and pins it: the slot last hit, the other slots, the table.

use std::sync::atomic::Ordering::Relaxed;

use super::pin::{Hold, Pin};
use super::slots::{Block, Slot};
use super::state::{Entry, Garbage, State};
use super::sync::{Arc, MutexGuard, lock};
use super::{Cache, Shared, Weigh, clock, local};
use crate::key;

/// While several threads have blocks, hits are stamped by the clock. A thread alone counts up from the last change,
/// which costs less and stays behind the clock, so that the stamps of all threads that come later are greater.
const BY_CLOCK: u64 = u64::MAX;

impl<V: Weigh> Cache<V> {
    /// [`find`](Self::find) through the slots of a block.
    #[inline(always)]
    pub(super) fn find_through<'a>(&'a self, block: Option<&'a Block>, key: &[u64]) -> Option<Pin<'a, V>> {
        if let Some(block) = block {
            if let Some(pin) = self.pin(block, block.last(), key) {
                return Some(pin);
            }
        }
        self.find_beyond_last(block, key).map(|hold| Pin::from_hold(hold, &self.shared))
    }

    /// Pins the slot's entry if it has this key.
    #[inline(always)]
    fn pin<'a>(&'a self, block: &'a Block, slot: &'a Slot, key: &[u64]) -> Option<Pin<'a, V>> {
        let entry = slot.enter().cast_const().cast::<Entry<V>>();
        // SAFETY: blocks with this cache's serial number hold entries of this cache, and a slot that has been entered
        // keeps its entry alive.
        if let Some(entry) = unsafe { entry.as_ref() } {
            if key::equal(&entry.key, key) {
                block.touch(slot, self.now());
                // SAFETY: entered above.
                return Some(unsafe { Pin::by_slot(entry, slot, &self.shared) });
            }
        }
        if slot.leave() {
            self.shared.collect();
        }
        None
    }

    /// The rest of [`find`](Self::find): the other slots, then the table.
    #[inline(never)]
    fn find_beyond_last<'a>(&'a self, block: Option<&'a Block>, key: &[u64]) -> Option<Hold<'a, V>> {
        let hash = self.hash(key);
        if let Some(block) = block {
            for slot in block.candidates(hash) {
                if let Some(pin) = self.pin(block, slot, key) {
                    block.set_last(slot);
                    return Some(pin.into_hold());
                }
            }
        }
        self.find_in_table(block.or_else(|| self.register()), hash, key).map(Pin::into_hold)
    }

    #[inline(always)]
    pub(super) fn hash(&self, key: &[u64]) -> u64 {
        key::hash(key) & self.hash_mask
    }

    #[inline(always)]
    fn now(&self) -> u64 {
        match self.floor.load(Relaxed) {
            BY_CLOCK => clock::now(),
            floor => floor,
        }
    }

    #[inline(always)]
    pub(super) fn block(&self) -> Option<&Block> {
        // SAFETY: the block lives as long as the thread's table and the cache do. The cache is borrowed for the life of
        // the answer. The table goes when the thread ends, when no call of the cache is under way in it; a pin may be
        // left, and keeps the block for ever: see `Table::drop`.
        unsafe { local::block(&self.id).as_ref() }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State<V>> {
        lock(&self.shared.state)
    }

    /// Makes a block for this thread. `None` if the thread is ending.
    #[cold]
    fn register(&self) -> Option<&Block> {
        let block = local::register(&self.id)?;
        self.adopt(block);
        self.block()
    }

    /// Lets evictions know of a block.
    pub(super) fn adopt(&self, block: Arc<Block>) {
        let mut state = self.lock();
        state.add_block(block);
        self.set_floor(&state);
    }

    #[cold]
    #[inline(never)]
    fn find_in_table<'a>(&'a self, block: Option<&'a Block>, hash: u64, key: &[u64]) -> Option<Pin<'a, V>> {
        let mut garbage = Garbage::new();
        let mut state = self.lock();
        state.collect(&mut garbage);
        let found = state.find(hash, key);
        let pin = found.map(|i| self.hit(&mut state, i, block));
        drop(state);
        drop(garbage);
        pin
    }

    /// Counts a hit of an entry in the table and pins it.
    pub(super) fn hit<'a>(&'a self, state: &mut State<V>, i: usize, block: Option<&'a Block>) -> Pin<'a, V> {
        let stamp = self.stamp(state, block);
        state.count_hit(i, stamp);
        self.pin_in_table(state, i, block, stamp)
    }

    /// The time of something that happens under the lock.
    pub(super) fn stamp(&self, state: &State<V>, block: Option<&Block>) -> u64 {
        match block {
            Some(block) => block.tick(self.now()),
            None => {
                let now = clock::now();
                self.set_floor(state);
                now
            }
        }
    }

    /// Chooses how the hits to come are stamped: by the clock, or from now on upwards. To be called when threads with
    /// blocks have come or gone, and when one without a block was given a stamp.
    pub(super) fn set_floor(&self, state: &State<V>) {
        let alone = state.blocks().len() <= 1;
        self.floor.store(if alone { clock::now() + 1 } else { BY_CLOCK }, Relaxed);
    }

    /// Pins an entry in the table by a slot of the block, or else by its reference count.
    pub(super) fn pin_in_table<'a>(
        &'a self,
        state: &mut State<V>,
        i: usize,
        block: Option<&'a Block>,
        stamp: u64,
    ) -> Pin<'a, V> {
        let entry = state.entry(i).clone();
        let address: *const Entry<V> = &*entry;
        let address = address.cast_mut().cast::<()>();
        let Some((block, slot)) = block.and_then(|b| Some((b, b.choose(entry.hash, address)?))) else {
            return Pin::by_count(entry, &self.shared);
        };
        state.harvest_slot(block, slot);
        block.fill(slot, entry.hash, address, stamp);
        // SAFETY: filling a slot enters it.
        unsafe { Pin::by_slot(&entry, &block.slots()[slot], &self.shared) }
    }
}

impl<V> Shared<V> {
    /// Drops the retired entries that are no longer in use.
    #[cold]
    #[inline(never)]
    pub(super) fn collect(&self) {
        let mut garbage = Garbage::new();
        let mut state = lock(&self.state);
        state.collect(&mut garbage);
        drop(state);
    }
}
