//! Memory of results that is used again.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::{Results, RunInput, Skeleton};
use crate::executable::{check_layout, check_place};
use crate::{Array, Aval, Error, Result};

/// Results of a skeleton that were given back, and whose memory its next runs use.
///
/// Made by [`Skeleton::pool`]. Any number of threads may use one pool at once.
///
/// ```
/// use dispatch_runtime::{prelude::*, skeleton::SkeletonSlot};
///
/// let client = Client::cpu()?;
/// let x = SkeletonSlot::new(DType::F32, [1 << 16]).named("x");
/// let pool = (&x * 2.0 + 1.0).into_skeleton(&client, &[&x])?.pool(2)?;
/// for i in 0..5 {
///     let y = pool.run(&[&client.array(&vec![i as f32; 1 << 16], [1 << 16])?])?;
///     assert_eq!(y.to_vec::<f32>()?[7], 2.0 * i as f32 + 1.0);
///     pool.give_back(y)?;
/// }
/// let stats = pool.stats();
/// assert_eq!((stats.runs, stats.reused, stats.kept), (5, 4, 1));
/// # Ok::<(), Error>(())
/// ```
///
/// It pays where results are so large that the system has to find memory for them. A run of `x * 2 + 1` through a pool takes
/// about 0.3 times as long as one of the skeleton for 64 MiB of results, 0.7 for 16 MiB, with the default plugin 0.8 to 0.9
/// from 256 KiB on, and gains nothing below. Where [`reuses_memory`](Skeleton::reuses_memory) says no, a pool keeps nothing and
/// runs as the skeleton does.
pub struct BufferPool<O = Array> {
    skeleton: Skeleton<O>,
    /// The distinct layouts of results.
    shelves: Box<[Shelf]>,
    /// The shelf of each result.
    places: Box<[usize]>,
    spare: Mutex<Box<[Vec<Array>]>>,
    counters: Counters,
}

/// Arrays of one layout.
struct Shelf {
    layout: Aval,
    /// How many it may hold.
    capacity: usize,
    /// How many a run takes.
    needed: usize,
}

#[derive(Default)]
struct Counters {
    runs: AtomicU64,
    reused: AtomicU64,
    given_back: AtomicU64,
    ended: AtomicU64,
}

/// What a [`BufferPool`] did, and what it holds.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[non_exhaustive]
pub struct PoolStats {
    /// Runs that succeeded.
    pub runs: u64,
    /// Those of them whose results got the memory of arrays in the pool.
    pub reused: u64,
    /// Arrays that were given back.
    pub given_back: u64,
    /// Those of them that the pool had no room or no use for.
    pub ended: u64,
    /// Arrays that it holds.
    pub kept: usize,
    /// Their size.
    pub bytes: u64,
}

impl<O: Results> Skeleton<O> {
    /// An empty pool for the results of so many runs.
    ///
    /// # Errors
    ///
    /// The capacity is 0.
    pub fn pool(&self, capacity: usize) -> Result<BufferPool<O>> {
        if capacity == 0 {
            return Err(Error::Option { option: "capacity", expected: "at least 1".into(), got: "0".into() });
        }
        let mut shelves: Vec<Shelf> = Vec::new();
        let places = self.outputs().iter().map(|layout| {
            let known = shelves.iter().position(|shelf| shelf.layout == *layout);
            let place = known.unwrap_or_else(|| {
                shelves.push(Shelf { layout: layout.clone(), capacity: 0, needed: 0 });
                shelves.len() - 1
            });
            let shelf = &mut shelves[place];
            (shelf.capacity, shelf.needed) = (shelf.capacity.saturating_add(capacity), shelf.needed + 1);
            place
        });
        let places = places.collect();
        let spare = Mutex::new(shelves.iter().map(|_| Vec::new()).collect());
        Ok(BufferPool {
            skeleton: self.clone(),
            shelves: shelves.into(),
            places,
            spare,
            counters: Counters::default(),
        })
    }
}

impl<O: Results> BufferPool<O> {
    /// [`Skeleton::run`], with the results in memory that was given back, if there is enough for all of them.
    ///
    /// # Errors
    ///
    /// Those of `run`; those of compiling the second form that [`Skeleton::run_into`] tells of. After an error the pool has
    /// what it had.
    pub fn run<I: RunInput>(&self, inputs: &[I]) -> Result<O> {
        let Some(given) = self.take() else {
            let results = self.skeleton.run(inputs)?;
            self.counters.runs.fetch_add(1, Relaxed);
            return Ok(results);
        };
        let run = self.skeleton.run_into_arrays(inputs, &given);
        match &run {
            Ok(_) => {
                self.counters.runs.fetch_add(1, Relaxed);
                self.counters.reused.fetch_add(1, Relaxed);
            }
            Err(_) => drop(self.put(given)),
        }
        run
    }

    /// Gives results back, for later runs to use their memory. They may still be computing, or be used by programs that run.
    ///
    /// # Errors
    ///
    /// The first of them to which there is another handle, such as a clone, which [shares](crate::Client::share) the memory of
    /// host data, which was donated, or which is no result of this skeleton by its layout, client or device; named as
    /// [`Skeleton::run_into`] does. Then the pool takes none of them.
    pub fn give_back(&self, results: O) -> Result<()> {
        let arrays = results.give_all();
        for (i, array) in arrays.iter().enumerate() {
            let path = || self.skeleton.baked.given_path(i);
            let Some(&place) = self.places.get(i) else {
                return Err(Error::Donated {
                    argument: path(),
                    reason: "no result has this position".into(),
                });
            };
            check_place(path, array, self.skeleton.device())?;
            check_layout(path, array, &self.shelves[place].layout)?;
            if !array.is_only() {
                let reason = match array.is_shared() {
                    true => array.donation_refused(),
                    false => "there is another handle of the array, so its memory cannot be used again",
                };
                return Err(Error::Donated { argument: path(), reason: reason.into() });
            }
        }
        let given = arrays.len() as u64;
        let ended = self.put(arrays);
        self.counters.given_back.fetch_add(given, Relaxed);
        self.counters.ended.fetch_add(ended.len() as u64, Relaxed);
        Ok(())
    }

    /// Arrays for all results of a run, in order; none if there are too few.
    fn take(&self) -> Option<Vec<Array>> {
        let mut spare = self.lock();
        let mut shelves = self.shelves.iter().zip(spare.iter());
        if self.places.is_empty() || shelves.any(|(shelf, spare)| spare.len() < shelf.needed) {
            return None;
        }
        Some(self.places.iter().map(|&place| spare[place].pop().expect("there are enough")).collect())
    }

    /// Keeps arrays, one for each result; gives those back that there is no room for, to be dropped outside of the lock.
    fn put(&self, arrays: Vec<Array>) -> Vec<Array> {
        if !self.skeleton.reuses_memory() {
            return arrays;
        }
        let mut over = Vec::new();
        let mut spare = self.lock();
        for (array, &place) in arrays.into_iter().zip(&self.places) {
            match spare[place].len() < self.shelves[place].capacity {
                true => spare[place].push(array),
                false => over.push(array),
            }
        }
        over
    }
}

impl<O> BufferPool<O> {
    /// The skeleton that it runs.
    pub fn skeleton(&self) -> &Skeleton<O> {
        &self.skeleton
    }

    /// Frees the memory that it holds.
    pub fn clear(&self) {
        let kept: Vec<Array> = self.lock().iter_mut().flat_map(std::mem::take).collect();
        drop(kept);
    }

    /// What it did, and what it holds.
    pub fn stats(&self) -> PoolStats {
        let spare = self.lock();
        let kept = |shelf: &Shelf, arrays: &Vec<Array>| (shelf.layout.size_bytes() * arrays.len()) as u64;
        PoolStats {
            runs: self.counters.runs.load(Relaxed),
            reused: self.counters.reused.load(Relaxed),
            given_back: self.counters.given_back.load(Relaxed),
            ended: self.counters.ended.load(Relaxed),
            kept: spare.iter().map(Vec::len).sum(),
            bytes: self.shelves.iter().zip(spare.iter()).map(|(shelf, arrays)| kept(shelf, arrays)).sum(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Box<[Vec<Array>]>> {
        // Nothing that may panic runs under the lock but allocation, between whole steps.
        self.spare.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<O> fmt::Debug for BufferPool<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BufferPool")
            .field("skeleton", &self.skeleton)
            .field("stats", &self.stats())
            .finish_non_exhaustive()
    }
}
