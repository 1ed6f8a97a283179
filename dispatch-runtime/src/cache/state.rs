//! What the cache holds under its lock.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use hashbrown::HashTable;

use super::policy::{EntryId, EvictionPolicy, Occupancy, Usage};
use super::slots::Block;
use super::stats::Stats;
use super::sync::Arc;
use super::{Part, barrier, flight::Flight};
use crate::key;

/// A value with its key.
pub(super) struct Entry<V> {
    pub hash: u64,
    pub key: Box<[u64]>,
    pub parts: Vec<Part>,
    pub bytes: u64,
    pub loaded: bool,
    pub value: V,
}

/// What is dropped after unlocking, because its `Drop` is foreign code.
pub(super) struct Garbage<V> {
    entries: Vec<Arc<Entry<V>>>,
    panics: Vec<Box<dyn Any + Send>>,
}

impl<V> Garbage<V> {
    pub fn new() -> Self {
        Garbage { entries: Vec::new(), panics: Vec::new() }
    }
}

/// An entry that has left the table while it was, or may have been, in use.
struct Retired<V> {
    entry: Arc<Entry<V>>,
    /// The slots through which it may be in use.
    waits: Vec<(Arc<Block>, usize)>,
}

pub(super) struct State<V> {
    /// Indices into `entries` and `usage`.
    table: HashTable<usize>,
    entries: Vec<Arc<Entry<V>>>,
    usage: Vec<Usage>,
    retired: Vec<Retired<V>>,
    blocks: Vec<Arc<Block>>,
    flights: Vec<Arc<Flight<Arc<Entry<V>>>>>,
    policy: Box<dyn EvictionPolicy>,
    next_id: u64,
    stats: Stats,
}

impl<V> State<V> {
    pub fn new(policy: Box<dyn EvictionPolicy>) -> Self {
        State {
            table: HashTable::new(),
            entries: Vec::new(),
            usage: Vec::new(),
            retired: Vec::new(),
            blocks: Vec::new(),
            flights: Vec::new(),
            policy,
            next_id: 0,
            stats: Stats::default(),
        }
    }

    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn find(&self, hash: u64, key: &[u64]) -> Option<usize> {
        self.table.find(hash, |&i| key::equal(&self.entries[i].key, key)).copied()
    }

    pub fn entry(&self, i: usize) -> &Arc<Entry<V>> {
        &self.entries[i]
    }

    /// Counts a hit that no slot has counted.
    pub fn count_hit(&mut self, i: usize, stamp: u64) {
        self.stats.hits += 1;
        self.usage[i].hits += 1;
        self.usage[i].last_use = self.usage[i].last_use.max(stamp);
    }

    pub fn count_miss(&mut self) {
        self.stats.misses += 1;
    }

    /// The counters, up to date.
    pub fn stats(&mut self) -> Stats {
        self.harvest_all();
        self.stats.entries = self.entries.len() as u64;
        self.stats
    }

    /// The entries with their usage, the last used first.
    pub fn by_recency(&mut self) -> Vec<(&Entry<V>, Usage)> {
        self.harvest_all();
        let mut list: Vec<_> = self.entries.iter().map(|e| &**e).zip(self.usage.iter().copied()).collect();
        list.sort_unstable_by_key(|(_, usage)| std::cmp::Reverse((usage.last_use, usage.id)));
        list
    }

    // --- blocks

    pub fn add_block(&mut self, block: Arc<Block>) {
        self.prune();
        self.blocks.push(block);
    }

    /// The blocks of the threads that use slots of this cache.
    pub fn blocks(&self) -> &[Arc<Block>] {
        &self.blocks
    }

    /// Forgets the blocks of threads that have ended: those that nobody else holds.
    fn prune(&mut self) {
        let mut blocks = std::mem::take(&mut self.blocks);
        blocks.retain_mut(|block| {
            let gone = Arc::get_mut(block).is_some();
            if gone {
                self.harvest(block);
            }
            !gone
        });
        self.blocks = blocks;
    }

    /// Brings the usage of all entries up to date with the hits through slots.
    fn harvest_all(&mut self) {
        let blocks = std::mem::take(&mut self.blocks);
        blocks.iter().for_each(|block| self.harvest(block));
        self.blocks = blocks;
    }

    fn harvest(&mut self, block: &Block) {
        for i in 0..block.slots().len() {
            self.harvest_slot(block, i);
        }
    }

    /// Adds what the slot has counted to its entry. To be called before the slot's entry changes.
    pub fn harvest_slot(&mut self, block: &Block, i: usize) {
        let slot = &block.slots()[i];
        let (stamp, hits) = slot.harvest();
        self.stats.hits += hits;
        let entry = slot.entry().cast_const().cast::<Entry<V>>();
        if entry.is_null() {
            return;
        }
        // SAFETY: under the lock, a slot's entry is one of the table's, which keeps it alive.
        let hash = unsafe { (*entry).hash };
        let Some(&i) = self.table.find(hash, |&i| std::ptr::eq(&*self.entries[i], entry)) else {
            unreachable!("a slot holds an entry of the table")
        };
        self.usage[i].hits += hits;
        self.usage[i].last_use = self.usage[i].last_use.max(stamp);
    }

    // --- coming and going

    /// Inserts an entry whose key is not in the table, and gives its index.
    pub fn insert(
        &mut self,
        entry: Arc<Entry<V>>,
        stamp: u64,
        capacity: usize,
        garbage: &mut Garbage<V>,
    ) -> usize {
        self.harvest_all();
        let gone = self.make_room(entry.bytes, capacity, garbage);
        self.stats.evictions += gone.len() as u64;
        self.retire(gone, garbage);
        self.prune();

        let (i, loaded) = (self.entries.len(), entry.loaded);
        let usage = Usage { id: EntryId(self.next_id), last_use: stamp, hits: 0, bytes: entry.bytes };
        let entries = &mut self.entries;
        entries.push(entry);
        self.table.insert_unique(entries[i].hash, i, |&i| entries[i].hash);
        self.usage.push(usage);
        self.next_id += 1;
        self.stats.compiles += 1;
        self.stats.loads += u64::from(loaded);
        self.stats.bytes += usage.bytes;
        guarded(garbage, || self.policy.inserted(&usage));
        i
    }

    /// Lets the policy choose victims and takes them out of the table.
    fn make_room(&mut self, incoming: u64, capacity: usize, garbage: &mut Garbage<V>) -> Vec<Arc<Entry<V>>> {
        let mut gone = Vec::new();
        while !self.entries.is_empty() {
            let occupancy = Occupancy { entries: &self.usage, bytes: self.stats.bytes, capacity, incoming };
            let victim = match guarded(garbage, || self.policy.victim(&occupancy)) {
                Some(None) => return gone,
                Some(Some(id)) => self.usage.iter().position(|usage| usage.id == id),
                None => None,
            };
            match victim {
                Some(i) => gone.push(self.detach(i, garbage)),
                // It panicked, or named an entry that is not there: do without it this time.
                None => {
                    while self.entries.len() >= capacity {
                        gone.push(self.detach(self.least_recent(), garbage));
                    }
                    return gone;
                }
            }
        }
        gone
    }

    /// Where the entry is whose last use is longest ago; there must be one.
    fn least_recent(&self) -> usize {
        let order = |&i: &usize| (self.usage[i].last_use, self.usage[i].id);
        (0..self.usage.len()).min_by_key(order).expect("an empty cache evicts nothing")
    }

    /// Takes an entry out of the table; it must be retired then.
    fn detach(&mut self, i: usize, garbage: &mut Garbage<V>) -> Arc<Entry<V>> {
        let hash = self.entries[i].hash;
        self.table.find_entry(hash, |&j| j == i).expect("each entry is in the table").remove();
        let entry = self.entries.swap_remove(i);
        let usage = self.usage.swap_remove(i);
        let moved = self.entries.len();
        if i < moved {
            let hash = self.entries[i].hash;
            *self.table.find_mut(hash, |&j| j == moved).expect("each entry is in the table") = i;
        }
        self.stats.bytes -= usage.bytes;
        guarded(garbage, || self.policy.removed(&usage));
        entry
    }

    pub fn remove(&mut self, i: usize, garbage: &mut Garbage<V>) {
        self.harvest_all();
        let entry = self.detach(i, garbage);
        self.retire(vec![entry], garbage);
    }

    pub fn clear(&mut self, garbage: &mut Garbage<V>) {
        self.harvest_all();
        let gone = (0..self.entries.len()).rev().map(|i| self.detach(i, garbage)).collect();
        self.retire(gone, garbage);
    }

    /// Takes entries that have left the table from all slots, and frees those that are not in use.
    fn retire(&mut self, gone: Vec<Arc<Entry<V>>>, garbage: &mut Garbage<V>) {
        if gone.is_empty() {
            return;
        }
        let mut gone: Vec<_> = gone.into_iter().map(|entry| Retired { entry, waits: Vec::new() }).collect();
        let mut in_slots = false;
        for block in &self.blocks {
            for (i, slot) in block.slots().iter().enumerate().filter(|(_, slot)| !slot.entry().is_null()) {
                let entry = slot.entry().cast_const().cast();
                if let Some(retired) = gone.iter_mut().find(|retired| std::ptr::eq(&*retired.entry, entry)) {
                    slot.vacate();
                    retired.waits.push((block.clone(), i));
                    in_slots = true;
                }
            }
        }
        if in_slots && !barrier::heavy() {
            // Nothing is known about the other threads: keep the entries for ever rather than free one in use.
            std::mem::forget(gone);
            return;
        }
        self.retired.append(&mut gone);
        self.collect(garbage);
    }

    /// Frees the retired entries that are no longer in use.
    pub fn collect(&mut self, garbage: &mut Garbage<V>) {
        let mut i = 0;
        while i < self.retired.len() {
            let waits = &mut self.retired[i].waits;
            waits.retain(|(block, slot)| block.slots()[*slot].busy());
            if waits.is_empty() {
                garbage.entries.push(self.retired.swap_remove(i).entry);
            } else {
                i += 1;
            }
        }
    }

    // --- flights

    pub fn flight(&self, hash: u64, key: &[u64]) -> Option<&Arc<Flight<Arc<Entry<V>>>>> {
        self.flights.iter().find(|flight| flight.hash == hash && key::equal(&flight.key, key))
    }

    pub fn add_flight(&mut self, flight: Arc<Flight<Arc<Entry<V>>>>) {
        self.flights.push(flight);
    }

    pub fn remove_flight(&mut self, flight: &Arc<Flight<Arc<Entry<V>>>>) {
        self.flights.retain(|other| !Arc::ptr_eq(other, flight));
    }

    #[cfg(test)]
    pub fn retired(&self) -> usize {
        self.retired.len()
    }
}

/// Calls the policy. `None` if it panics.
///
/// Unwind safe because nothing of the cache is borrowed mutably by the policy, and what becomes of the policy's own
/// state is its own matter: whatever it answers later is checked again.
fn guarded<V, T>(garbage: &mut Garbage<V>, call: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(call)).map_err(|payload| garbage.panics.push(payload)).ok()
}
