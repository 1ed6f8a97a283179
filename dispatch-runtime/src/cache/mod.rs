//! The bounded cache of compiled values, blind to what they are and to what the keys mean.
//!
//! A hit ([`Cache::find`]) writes only memory of its own thread: the thread's block of slots for this cache remembers
//! the entries last used, and marks them while they are in use. `slots` has the protocol and its proof, `barrier` the
//! barrier that makes it cheap, `local` how a thread finds its block, `clock` how recency is exact without a shared
//! write; `lookup` puts them together. All else goes through one lock around `state`: the table of entries, the builds
//! in progress (`flight`, `building`), and the eviction `policy`.
//!
//! No foreign code runs under the lock (a value's `Drop`, a build, the encoding or description of a key), except for
//! the eviction policy.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

mod barrier;
mod building;
mod clock;
mod flight;
mod local;
mod lookup;
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
use crate::key::{Sink, Words};
use local::CacheId;
use state::{Entry, Garbage, State};
use sync::Mutex;

/// A value that a cache can hold: it knows its size.
pub trait Weigh: Send + Sync + 'static {
    /// The memory that the value takes, in bytes; asked once, when it is built.
    fn bytes(&self) -> u64;

    /// Whether it was made before, and only loaded: for the counters.
    fn is_loaded(&self) -> bool {
        false
    }
}

impl<T: Weigh> Weigh for Arc<T> {
    fn bytes(&self) -> u64 {
        T::bytes(self)
    }

    fn is_loaded(&self) -> bool {
        T::is_loaded(self)
    }
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
    /// `lookup::BY_CLOCK`, or the earliest stamp that a hit may get.
    floor: AtomicU64,
    /// On the heap, away from what a hit reads.
    shared: Box<Shared<V>>,
}

struct Shared<V> {
    name: String,
    capacity: usize,
    state: Mutex<State<V>>,
}

impl<V: Weigh> Cache<V> {
    /// An empty cache for at most so many entries, as far as the policy keeps to it. The name stands in errors:
    /// ``family `add` ``.
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
        self.get_or_build_words(Words::new().record(key), describe, build)
    }

    /// [`find`](Self::find) with the words of a key that the caller has encoded already, and keeps for a miss.
    #[inline]
    pub fn find_words(&self, key: &[u64]) -> Option<Pin<'_, V>> {
        self.find_through(self.block(), key)
    }

    /// [`get_or_build`](Self::get_or_build) with the words of a key that the caller has encoded already.
    ///
    /// # Errors
    ///
    /// As there.
    pub fn get_or_build_words(
        &self,
        key: &[u64],
        describe: impl FnOnce() -> Vec<Part>,
        build: impl FnOnce() -> Result<V>,
    ) -> Result<Pin<'_, V>> {
        let (mut describe, mut build) = (Some(describe), Some(build));
        self.get_or_build_in(
            self.block(),
            key,
            &mut || describe.take().expect("a key is described once")(),
            &mut || build.take().expect("an entry is built once")(),
        )
    }

    /// [`contains`](Self::contains) with the words of a key that the caller has encoded already.
    pub fn contains_words(&self, key: &[u64]) -> bool {
        self.lock().find(self.hash(key), key).is_some()
    }

    /// Whether there is an entry with this key; changes neither recency nor counters.
    pub fn contains(&self, key: impl FnOnce(&mut Sink<'_>)) -> bool {
        let mut words = Words::new();
        self.contains_words(words.record(key))
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
