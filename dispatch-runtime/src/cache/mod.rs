//! The bounded cache of compiled values, blind to what they are and to what the keys mean.
//!
//! A hit ([`Cache::find`]) writes only memory of its own thread: the thread's block of slots for this cache remembers
//! the entries last used, and marks them while they are in use ([`slots`] has the protocol and its proof,
//! [`barrier`] the barrier that makes it cheap, [`local`] how a thread finds its block, [`clock`] how recency is exact
//! without a shared write). All else goes through one lock around [`state`]: the table of entries, the builds
//! in progress ([`flight`]), and the eviction [`policy`].
//!
//! Foreign code (a value's `Drop`, a build, a description) never runs under the lock, except for the eviction policy.

use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

mod barrier;
mod clock;
mod flight;
mod local;
mod pin;
mod policy;
mod slots;
mod state;
mod stats;
mod sync;

pub use pin::Pin;
pub use policy::{ByBytes, EntryId, EvictionPolicy, Lru, Occupancy, Unbounded, Usage};
pub use stats::Stats;

use crate::error::{Error, Result};
use crate::key::{self, Sink, Words};
use flight::Flight;
use local::CacheId;
use pin::Hold;
use slots::{Block, Slot};
use state::{Entry, Garbage, State};
use sync::{Arc, Mutex, MutexGuard, lock};

/// A value that a cache can hold: it knows its size.
pub trait Weigh: Send + Sync + 'static {
    /// The memory that the value takes, in bytes; asked once, when it is built.
    fn bytes(&self) -> u64;
}

/// One part of a key, for people.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Part {
    /// What it is: `shape of a`, `transpose`.
    pub name: String,
    /// Its value as a person would write it.
    pub value: String,
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} = {}", self.name, self.value)
    }
}

/// An entry as [`Cache::entries`] lists it.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Cached {
    /// The key, part by part.
    pub key: Vec<Part>,
    /// How often it was hit.
    pub hits: u64,
    /// Its size.
    pub bytes: u64,
}

/// A bounded map from keys to values that are dear to build.
pub struct Cache<V: Weigh> {
    id: CacheId,
    /// Zero makes all hashes equal, for tests.
    hash_mask: u64,
    /// [`BY_CLOCK`], or the earliest stamp that a hit may get.
    floor: AtomicU64,
    /// On the heap, away from what a hit reads.
    shared: Box<Shared<V>>,
}

struct Shared<V> {
    name: String,
    capacity: usize,
    state: Mutex<State<V>>,
}

/// While several threads have blocks, hits are stamped by the clock. A thread alone counts up from the last change,
/// which costs less and stays behind the clock, so that the stamps of all threads that come later are greater.
const BY_CLOCK: u64 = u64::MAX;

impl<V: Weigh> Cache<V> {
    /// An empty cache for at most so many entries, as far as the policy keeps to it. The name stands in errors.
    ///
    /// # Errors
    ///
    /// [`Error::Option`] if the capacity is zero.
    pub fn new(name: &str, capacity: usize, policy: Box<dyn EvictionPolicy>) -> Result<Self> {
        if capacity == 0 {
            let expected = "at least 1".to_string();
            return Err(Error::Option { option: "capacity", expected, got: "0".to_string() });
        }
        barrier::init();
        clock::init();
        let state = Mutex::new(State::new(policy));
        Ok(Cache {
            id: CacheId::claim(),
            hash_mask: u64::MAX,
            floor: AtomicU64::new(clock::now()),
            shared: Box::new(Shared { name: name.to_string(), capacity, state }),
        })
    }

    /// Makes every hash equal. All answers stay the same; for tests.
    #[doc(hidden)]
    #[must_use]
    pub fn with_colliding_hashes(mut self) -> Self {
        self.hash_mask = 0;
        self
    }

    /// The entry with this key, if there is one, kept alive by the answer. Counts as a hit if so, else as nothing.
    ///
    /// Takes no lock and allocates nothing if the thread has used the entry lately.
    #[inline]
    pub fn find(&self, key: impl FnOnce(&mut Sink<'_>)) -> Option<Pin<'_, V>> {
        let mut words = Words::new();
        self.find_through(self.block(), words.record(key))
    }

    /// [`find`](Self::find) through the slots of a block.
    #[inline(always)]
    fn find_through<'a>(&'a self, block: Option<&'a Block>, key: &[u64]) -> Option<Pin<'a, V>> {
        if let Some(block) = block {
            if let Some(pin) = self.pin(block, block.last(), key) {
                return Some(pin);
            }
        }
        self.find_beyond_last(block, key).map(|hold| Pin::from_hold(hold, &self.shared))
    }

    /// The entry with this key, built if there is none.
    ///
    /// One thread builds, outside all locks; others that ask for the same key meanwhile wait, and get the same entry or
    /// the same error. A build that fails or panics leaves nothing behind, and the next call tries again. It may use
    /// the cache, for other keys. `describe` gives the key for [`entries`](Self::entries) and errors.
    ///
    /// Counts as a hit if the entry is there, else as a miss.
    ///
    /// # Errors
    ///
    /// That of the build; [`Error::Panic`] if it panics; [`Error::Recursive`] if the key is being built by this very
    /// thread, or by one that waits, through other builds, for this one.
    pub fn get_or_build(
        &self,
        key: impl FnOnce(&mut Sink<'_>),
        describe: impl FnOnce() -> Vec<Part>,
        build: impl FnOnce() -> Result<V>,
    ) -> Result<Pin<'_, V>> {
        let (mut describe, mut build) = (Some(describe), Some(build));
        self.get_or_build_in(
            self.block(),
            Words::new().record(key),
            &mut || describe.take().expect("a key is described once")(),
            &mut || build.take().expect("an entry is built once")(),
        )
    }

    /// Whether there is an entry with this key; changes neither recency nor counters.
    pub fn contains(&self, key: impl FnOnce(&mut Sink<'_>)) -> bool {
        let mut words = Words::new();
        let key = words.record(key);
        let hash = self.hash(key);
        self.lock().find(hash, key).is_some()
    }

    /// Takes out the entry with this key; false if there is none. If it is in use it is dropped after that. A build in
    /// progress is not touched, its entry will enter the cache.
    pub fn remove(&self, key: impl FnOnce(&mut Sink<'_>)) -> bool {
        let mut words = Words::new();
        let key = words.record(key);
        let hash = self.hash(key);
        let mut garbage = Garbage::new();
        let mut state = self.lock();
        let found = state.find(hash, key);
        if let Some(i) = found {
            state.remove(i, &mut garbage);
        }
        drop(state);
        found.is_some()
    }

    /// Takes out all entries. Those in use are dropped after that. Builds in progress are not touched, their entries
    /// will enter the cache.
    pub fn clear(&self) {
        let mut garbage = Garbage::new();
        let mut state = self.lock();
        state.clear(&mut garbage);
        drop(state);
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.lock().len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The capacity it was made with.
    pub fn capacity(&self) -> usize {
        self.shared.capacity
    }

    /// The counters.
    pub fn stats(&self) -> Stats {
        self.lock().stats()
    }

    /// What is in the cache, the last used first.
    pub fn entries(&self) -> Vec<Cached> {
        let cached = |(entry, usage): (&Entry<V>, Usage)| Cached {
            key: entry.parts.clone(),
            hits: usage.hits,
            bytes: usage.bytes,
        };
        self.lock().by_recency().into_iter().map(cached).collect()
    }

    // --- the hit path

    /// Pins the slot's entry if it has this key.
    #[inline(always)]
    fn pin<'a>(&'a self, block: &'a Block, slot: &'a Slot, key: &[u64]) -> Option<Pin<'a, V>> {
        let entry = slot.enter().cast_const().cast::<Entry<V>>();
        // SAFETY: blocks with this cache's serial number hold entries of this cache, and the slot that has been entered keeps its entry alive.
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
    fn hash(&self, key: &[u64]) -> u64 {
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
    fn block(&self) -> Option<&Block> {
        // SAFETY: the block lives as long as the thread's table and the cache do. The cache is borrowed for the life of the
        // answer. The table goes when the thread ends, and with it the last users of the answer, except for pins, which
        // keep the block alive themselves: see `Table::drop`.
        unsafe { local::block(&self.id).as_ref() }
    }

    // --- under the lock

    fn lock(&self) -> MutexGuard<'_, State<V>> {
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
    fn adopt(&self, block: Arc<Block>) {
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
    fn hit<'a>(&'a self, state: &mut State<V>, i: usize, block: Option<&'a Block>) -> Pin<'a, V> {
        let stamp = self.stamp(block);
        state.count_hit(i, stamp);
        self.pin_in_table(state, i, block, stamp)
    }

    /// The time of something that happens under the lock.
    fn stamp(&self, block: Option<&Block>) -> u64 {
        match block {
            Some(block) => block.tick(self.now()),
            None => {
                let now = clock::now();
                if self.floor.load(Relaxed) != BY_CLOCK {
                    self.floor.store(now + 1, Relaxed);
                }
                now
            }
        }
    }

    /// Chooses how hits are stamped, as threads with blocks have come or gone.
    fn set_floor(&self, state: &State<V>) {
        let alone = state.blocks() <= 1;
        self.floor.store(if alone { clock::now() + 1 } else { BY_CLOCK }, Relaxed);
    }

    /// Pins an entry in the table by a slot of the block, or else by its reference count.
    fn pin_in_table<'a>(
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

    #[cold]
    #[inline(never)]
    fn get_or_build_in<'a>(
        &'a self,
        block: Option<&'a Block>,
        key: &[u64],
        describe: &mut dyn FnMut() -> Vec<Part>,
        build: &mut dyn FnMut() -> Result<V>,
    ) -> Result<Pin<'a, V>> {
        let hash = self.hash(key);
        let mut garbage = Garbage::new();
        let mut state = self.lock();
        state.collect(&mut garbage);
        if let Some(i) = state.find(hash, key) {
            let pin = self.hit(&mut state, i, block);
            drop(state);
            return Ok(pin);
        }
        state.count_miss();
        if let Some(flight) = state.flight(hash, key).cloned() {
            drop(state);
            drop(garbage);
            return match flight.wait() {
                Some(outcome) => outcome.map(|entry| Pin::by_count(entry, &self.shared)),
                None => Err(self.recursive(&describe())),
            };
        }
        let flight = Arc::new(Flight::new(hash, key.into()));
        state.add_flight(flight.clone());
        drop(state);
        drop(garbage);
        self.build(block, &flight, describe, build)
    }

    /// Builds the entry of this thread's flight.
    fn build<'a>(
        &'a self,
        block: Option<&'a Block>,
        flight: &Arc<Flight<Arc<Entry<V>>>>,
        describe: &mut dyn FnMut() -> Vec<Part>,
        build: &mut dyn FnMut() -> Result<V>,
    ) -> Result<Pin<'a, V>> {
        let make = || -> Result<Arc<Entry<V>>> {
            let value = build()?;
            let (hash, key) = (flight.hash, flight.key.clone());
            Ok(Arc::new(Entry { hash, key, parts: describe(), bytes: value.bytes(), value }))
        };
        // Unwind safe: the closure changes nothing of the cache, what it has made is lost, and it is not called again.
        let made = catch_unwind(AssertUnwindSafe(make));
        let outcome = made.as_ref().map_or_else(|payload| Err(self.panicked(&**payload)), Result::clone);

        let mut garbage = Garbage::new();
        let mut state = self.lock();
        state.collect(&mut garbage);
        state.remove_flight(flight);
        let pin = outcome.clone().map(|entry| {
            let stamp = self.stamp(block);
            let i = state.insert(entry, stamp, self.shared.capacity, &mut garbage);
            self.set_floor(&state);
            self.pin_in_table(&mut state, i, block, stamp)
        });
        drop(state);
        flight.land(outcome);
        pin
    }

    fn recursive(&self, key: &[Part]) -> Error {
        let key = key.iter().map(Part::to_string).collect::<Vec<_>>().join(", ");
        Error::Recursive { family: self.shared.name.clone(), key }
    }

    fn panicked(&self, payload: &(dyn Any + Send)) -> Error {
        let text = payload.downcast_ref::<&str>().copied();
        let message = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
        Error::Panic {
            callee: format!("the body of family `{}`", self.shared.name),
            message: message.unwrap_or("a value that is no text").to_string(),
        }
    }
}

impl<V> Shared<V> {
    /// Drops the retired entries that are no longer in use.
    #[cold]
    #[inline(never)]
    fn collect(&self) {
        let mut garbage = Garbage::new();
        let mut state = lock(&self.state);
        state.collect(&mut garbage);
        drop(state);
    }
}

impl<V: Weigh> fmt::Debug for Cache<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Shared { name, capacity, .. } = &*self.shared;
        f.debug_struct("Cache")
            .field("name", name)
            .field("capacity", capacity)
            .field("stats", &self.stats())
            .finish_non_exhaustive()
    }
}

#[cfg(all(test, loom))]
mod loom_tests;
#[cfg(all(test, not(loom)))]
mod tests;
