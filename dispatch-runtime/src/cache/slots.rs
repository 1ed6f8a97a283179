//! Per-thread blocks of slots: how a hit finds its entry and keeps it alive without a shared write.
//!
//! # The protocol
//!
//! A [`Block`] belongs to one thread and one cache. Each of its [`Slot`]s is a hazard pointer: it remembers an entry
//! that the thread has used, and says whether the thread is using it.
//!
//! | who | may write | when |
//! |---|---|---|
//! | the owner thread | `in_use` | any time |
//! | the owner thread | `entry`, an entry | under the cache's lock, while `in_use` is 0 and the entry is in the table |
//! | any thread | `entry`, null | under the cache's lock, after it took the entry out of the table |
//!
//! *Pin* ([`Slot::enter`], no lock): `in_use += 1`; light barrier; load `entry`. Not null: the entry may be used until
//! the unpin. Null: unpin.
//!
//! *Unpin* ([`Slot::leave`], no lock): `in_use -= 1` (release); light barrier; load `entry`. Null: the entry was
//! evicted meanwhile and may be waiting for this slot, so the caller collects.
//!
//! *Evict* (under the lock): take the entry out of the table; store null in the slots that hold it; heavy barrier; the
//! entry is retired, together with those slots as what it waits for.
//!
//! *Collect* (under the lock): a retired entry waits no longer for a slot whose `in_use` (acquire) is 0. When it waits
//! for none it is freed, after unlocking.
//!
//! # Why no entry is freed in use
//!
//! Take a pin that loaded entry E from slot S, and the eviction of E.
//!
//! 1. The eviction finds E in S: the owner stored it there under the lock, when E was in the table, and does not
//!    replace it while `in_use` is above 0. So S is among the slots that E waits for.
//! 2. The pin stored `in_use`, then loaded E and not null. By the barriers the loads of `in_use` that follow the
//!    eviction's heavy barrier see that store, or a later one of the owner.
//! 3. If one of them sees 0, then from a later store: the unpin's, or one after it. Release and acquire make
//!    the use of E happen before the freeing.
//! 4. No later pin of S loads E: the slot holds null, or what a later fill stored, and E is no longer in the table.
//!
//! # Why every retired entry is freed soon
//!
//! If the eviction's own collect sees `in_use` above 0, it has not seen the store of 0. By the barriers the unpin then
//! sees the null, and collects. A fill takes a slot only after a collect under the same lock, so that no entry waits
//! for a slot that has come to serve another one.
//!
//! The fields that only count (stamps, hits, tags) are no part of the protocol. They are written by the owner and read
//! by others under the lock, who may see them late by the calls in flight.

use std::sync::atomic::{
    AtomicU32, AtomicU64 as Counter,
    Ordering::{Acquire, Relaxed, Release},
};

use super::sync::{AtomicPtr, AtomicU64};
use super::{barrier, clock};

/// Slots per block: how many entries a thread can alternate between without the lock.
pub(super) const SLOTS: usize = if cfg!(loom) { 1 } else { 16 };

/// A hazard pointer of one thread, on a cache line of its own; see the [module documentation](self).
#[repr(align(64))]
pub(super) struct Slot {
    in_use: AtomicU64,
    entry: AtomicPtr<()>,
    /// When the owner last hit the entry. Written by the owner.
    stamp: Counter,
    /// Hits through this slot, of whatever entry. Written by the owner.
    hits: Counter,
    /// How many of the hits the cache has counted. Written under the lock.
    counted: Counter,
}

impl Slot {
    fn new() -> Self {
        Slot {
            in_use: AtomicU64::new(0),
            entry: AtomicPtr::new(std::ptr::null_mut()),
            stamp: Counter::new(0),
            hits: Counter::new(0),
            counted: Counter::new(0),
        }
    }

    /// Pins the entry, if there is one. The owner calls it, and [`leave`](Self::leave) whatever the answer.
    #[inline(always)]
    pub fn enter(&self) -> *mut () {
        let pins = self.in_use.load(Relaxed);
        self.in_use.store(pins + 1, Relaxed);
        barrier::light();
        // Relaxed: the owner itself stored the pointer, so it sees what is behind it.
        self.entry.load(Relaxed)
    }

    /// Undoes one [`enter`](Self::enter). True if the entry has gone: then the caller must collect.
    #[inline(always)]
    #[must_use]
    pub fn leave(&self) -> bool {
        let pins = self.in_use.load(Relaxed);
        self.in_use.store(pins - 1, Release);
        barrier::light();
        self.entry.load(Relaxed).is_null()
    }

    /// Whether the owner uses the entry, or the one that was taken away.
    pub fn busy(&self) -> bool {
        self.in_use.load(Acquire) != 0
    }

    /// The entry; under the lock.
    pub fn entry(&self) -> *mut () {
        self.entry.load(Relaxed)
    }

    /// Takes the entry away; under the lock, and to be followed by [`barrier::heavy`].
    pub fn vacate(&self) {
        self.entry.store(std::ptr::null_mut(), Relaxed);
    }

    /// The last hit of the entry, and how many hits came since the last call; under the lock.
    pub fn harvest(&self) -> (u64, u64) {
        let hits = self.hits.load(Relaxed);
        let new = hits - self.counted.load(Relaxed);
        self.counted.store(hits, Relaxed);
        (self.stamp.load(Relaxed), new)
    }
}

/// The slots of one thread in one cache.
///
/// Aligned so that no two threads write to one pair of cache lines, which processors fetch together.
#[repr(align(128))]
pub(super) struct Block {
    /// The cache's serial number.
    pub serial: u64,
    /// The slot last hit.
    last: AtomicU32,
    /// The last stamp given.
    tick: Counter,
    /// A part of the hash of each slot's key, so that a look-up touches few slots. Used by the owner only.
    tags: [AtomicU32; SLOTS],
    slots: [Slot; SLOTS],
}

impl Block {
    /// An empty block for a cache, whose stamps begin now.
    pub fn new(serial: u64) -> Self {
        Block {
            serial,
            last: AtomicU32::new(0),
            tick: Counter::new(clock::now()),
            tags: [const { AtomicU32::new(0) }; SLOTS],
            slots: std::array::from_fn(|_| Slot::new()),
        }
    }

    /// The slots.
    pub fn slots(&self) -> &[Slot; SLOTS] {
        &self.slots
    }

    /// The slot last hit.
    #[inline(always)]
    pub fn last(&self) -> &Slot {
        &self.slots[self.last.load(Relaxed) as usize % SLOTS]
    }

    /// The slots that may hold the key with this hash, likeliest first.
    #[inline(always)]
    pub fn candidates(&self, hash: u64) -> impl Iterator<Item = &Slot> {
        let tag = tag(hash);
        probe(tag).filter(move |&i| self.tags[i].load(Relaxed) == tag).map(|i| &self.slots[i])
    }

    /// Remembers that the slot was hit, at the time `now` or just after the last one.
    #[inline(always)]
    pub fn touch(&self, slot: &Slot, now: u64) {
        slot.stamp.store(self.tick(now), Relaxed);
        slot.hits.store(slot.hits.load(Relaxed) + 1, Relaxed);
    }

    /// Makes the slot the first one to be tried.
    #[inline(always)]
    pub fn set_last(&self, slot: &Slot) {
        let offset = std::ptr::from_ref(slot) as usize - self.slots.as_ptr() as usize;
        self.last.store((offset / size_of::<Slot>()) as u32, Relaxed);
    }

    /// The stamp of something that this thread does now.
    #[inline(always)]
    pub fn tick(&self, now: u64) -> u64 {
        let tick = now.max(self.tick.load(Relaxed) + 1);
        self.tick.store(tick, Relaxed);
        tick
    }

    /// Which slot is for an entry that is to be used now: the one that has it, else a free one, else the one whose last
    /// hit is longest ago. `None` if all are in use. The owner calls it, under the lock.
    pub fn choose(&self, hash: u64, entry: *mut ()) -> Option<usize> {
        let free = || probe(tag(hash)).filter(|&i| !self.slots[i].busy());
        (0..SLOTS)
            .find(|&i| self.slots[i].entry() == entry)
            .or_else(|| free().find(|&i| self.slots[i].entry().is_null()))
            .or_else(|| free().min_by_key(|&i| self.slots[i].stamp.load(Relaxed)))
    }

    /// Puts an entry of the table into a slot given by [`choose`](Self::choose), and pins it. The owner calls it, under
    /// the lock.
    pub fn fill(&self, i: usize, hash: u64, entry: *mut (), stamp: u64) {
        let slot = &self.slots[i];
        debug_assert!(slot.entry() == entry || !slot.busy());
        self.set_last(slot);
        self.tags[i].store(tag(hash), Relaxed);
        slot.stamp.store(stamp, Relaxed);
        slot.in_use.store(slot.in_use.load(Relaxed) + 1, Relaxed);
        slot.entry.store(entry, Relaxed);
    }
}

fn tag(hash: u64) -> u32 {
    (hash >> 32) as u32
}

/// All slots, from the one that the tag points at.
#[inline(always)]
fn probe(tag: u32) -> impl Iterator<Item = usize> {
    (0..SLOTS).map(move |step| (tag as usize + step) % SLOTS)
}
