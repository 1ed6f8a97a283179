//! The protocols under every interleaving and every outcome of the memory model, as far as the model checker goes.
//!
//! `RUSTFLAGS="--cfg loom" cargo test -p dispatch-runtime --release --lib loom`

use loom::cell::UnsafeCell;
use loom::sync::Arc as LoomArc;
use loom::thread;
use std::sync::Arc as PlainArc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use super::slots::Block;
use super::sync::Arc;
use super::*;

/// How many values are alive, and how many were built. Not part of the model.
#[derive(Default)]
struct Ledger {
    alive: AtomicUsize,
    built: AtomicUsize,
}

/// A value whose `Drop` the model checker holds against its uses.
struct Value {
    /// Outlives the entry, so that a use after the drop is a message and not a crash.
    cell: PlainArc<UnsafeCell<u64>>,
    ledger: PlainArc<Ledger>,
}

// SAFETY: the model checker stops the test if the cell is read and written without order.
unsafe impl Send for Value {}
// SAFETY: as for `Send`.
unsafe impl Sync for Value {}

impl Value {
    fn read(&self) -> u64 {
        // SAFETY: the model checker stops the test if anything writes meanwhile.
        self.cell.with(|key| unsafe { *key })
    }
}

impl Drop for Value {
    fn drop(&mut self) {
        // SAFETY: the model checker stops the test if anything reads meanwhile.
        self.cell.with_mut(|key| unsafe { *key = u64::MAX });
        self.ledger.alive.fetch_sub(1, SeqCst);
    }
}

impl Weigh for Value {
    fn bytes(&self) -> u64 {
        1
    }
}

/// A cache, and one block for each thread.
#[derive(Clone)]
struct Model {
    cache: LoomArc<Cache<Value>>,
    ledger: PlainArc<Ledger>,
}

impl Model {
    fn new(capacity: usize) -> Model {
        let cache = Cache::new("loom", capacity, Box::new(Lru)).unwrap();
        Model { cache: LoomArc::new(cache), ledger: PlainArc::default() }
    }

    /// The block of a thread.
    fn block(&self) -> Arc<Block> {
        let block = Arc::new(Block::new(self.cache.id.serial));
        self.cache.adopt(block.clone());
        block
    }

    fn value(&self, k: u64) -> Value {
        self.ledger.alive.fetch_add(1, SeqCst);
        self.ledger.built.fetch_add(1, SeqCst);
        Value { cell: PlainArc::new(UnsafeCell::new(k)), ledger: self.ledger.clone() }
    }

    fn find<'a>(&'a self, block: &'a Block, k: u64) -> Option<Pin<'a, Value>> {
        self.cache.find_through(Some(block), &[k])
    }

    fn build<'a>(
        &'a self,
        block: Option<&'a Block>,
        k: u64,
        mut build: impl FnMut() -> Result<()>,
    ) -> Result<Pin<'a, Value>> {
        let build = &mut || build().map(|()| self.value(k));
        self.cache.get_or_build_in(block, &[k], &mut Vec::new, build)
    }

    fn get<'a>(&'a self, block: Option<&'a Block>, k: u64) -> Result<Pin<'a, Value>> {
        self.build(block, k, || Ok(()))
    }

    fn alive(&self) -> usize {
        self.ledger.alive.load(SeqCst)
    }
}

/// Runs the model in every way, or in every way with at most so many preemptions.
fn check(preemptions: Option<usize>, model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = preemptions;
    let executions = PlainArc::new(AtomicUsize::new(0));
    let count = executions.clone();
    builder.check(move || {
        count.fetch_add(1, SeqCst);
        model();
    });
    println!("{} executions", executions.load(SeqCst));
}

/// Another thread hits through its slot, twice and nested, while this one takes the entry out.
#[test]
fn a_pinned_entry_outlives_its_removal() {
    check(None, || {
        let model = Model::new(2);
        drop(model.get(None, 1).unwrap());
        let block = model.block();
        drop(model.find(&block, 1).unwrap());
        let other = thread::spawn({
            let (model, block) = (model.clone(), block.clone());
            move || {
                if let Some(pin) = model.find(&block, 1) {
                    assert_eq!(pin.read(), 1);
                    if let Some(again) = model.find(&block, 1) {
                        drop(pin);
                        assert_eq!(again.read(), 1);
                    }
                }
            }
        });
        assert!(model.cache.remove(|sink| sink.word(1)));
        other.join().unwrap();
        // Nobody has called the cache since: the last pin itself freed the entry.
        assert_eq!(model.alive(), 0);
    });
}

/// The same when the entry makes room for another one, and when all are cleared.
#[test]
fn a_pinned_entry_outlives_eviction_and_clear() {
    check(None, || {
        let model = Model::new(1);
        drop(model.get(None, 1).unwrap());
        let block = model.block();
        drop(model.find(&block, 1).unwrap());
        let other = thread::spawn({
            let (model, block) = (model.clone(), block.clone());
            move || {
                if let Some(pin) = model.find(&block, 1) {
                    assert_eq!(pin.read(), 1);
                }
            }
        });
        let mine = model.block();
        assert_eq!(model.get(Some(&mine), 2).unwrap().read(), 2);
        model.cache.clear();
        other.join().unwrap();
        assert_eq!((model.alive(), model.cache.len()), (0, 0));
    });
}

/// A slot that waited for its pin is filled anew with another entry, which is evicted in turn.
#[test]
fn a_slot_is_used_again_after_an_eviction() {
    check(None, || {
        let model = Model::new(1);
        drop(model.get(None, 1).unwrap());
        let block = model.block();
        drop(model.find(&block, 1).unwrap());
        let other = thread::spawn({
            let (model, block) = (model.clone(), block.clone());
            move || {
                let held = model.find(&block, 1);
                assert_eq!(model.get(Some(&block), 2).unwrap().read(), 2);
                if let Some(pin) = held {
                    assert_eq!(pin.read(), 1);
                }
                assert!(model.find(&block, 2).is_none_or(|pin| pin.read() == 2));
            }
        });
        model.cache.remove(|sink| sink.word(1));
        model.cache.remove(|sink| sink.word(2));
        other.join().unwrap();
        assert_eq!(model.alive(), model.cache.len());
    });
}

/// A block has one slot here: while it is in use, another entry is pinned by count.
#[test]
fn a_slot_in_use_is_not_given_away() {
    check(None, || {
        let model = Model::new(2);
        drop(model.get(None, 1).unwrap());
        drop(model.get(None, 2).unwrap());
        let block = model.block();
        drop(model.find(&block, 1).unwrap());
        let other = thread::spawn({
            let (model, block) = (model.clone(), block.clone());
            move || {
                let first = model.find(&block, 1);
                let second = model.find(&block, 2).unwrap();
                assert!(first.is_none_or(|pin| pin.read() == 1));
                assert_eq!(second.read(), 2);
            }
        });
        model.cache.remove(|sink| sink.word(1));
        other.join().unwrap();
        assert_eq!((model.alive(), model.cache.len()), (1, 1));
    });
}

/// A thread makes its block known, finds the entry in the table and pins it, while another takes the entry out.
#[test]
fn registration_races_with_removal() {
    check(None, || {
        let model = Model::new(2);
        drop(model.get(None, 1).unwrap());
        let other = thread::spawn({
            let model = model.clone();
            move || {
                let block = model.block();
                if let Some(pin) = model.find(&block, 1) {
                    assert_eq!(pin.read(), 1);
                }
                assert!(model.find(&block, 1).is_none_or(|pin| pin.read() == 1));
            }
        });
        assert!(model.cache.remove(|sink| sink.word(1)));
        other.join().unwrap();
        assert_eq!(model.alive(), 0);
    });
}

/// A thread ends, and its block with it, while another evicts what it has used and registers.
#[test]
fn a_thread_ends_while_its_entry_is_evicted() {
    check(None, || {
        let model = Model::new(1);
        drop(model.get(None, 1).unwrap());
        let block = model.block();
        let other = thread::spawn({
            let model = model.clone();
            move || {
                assert!(model.find(&block, 1).is_none_or(|pin| pin.read() == 1));
                drop(block);
            }
        });
        drop(model.get(None, 2).unwrap());
        let mine = model.block();
        assert_eq!(model.find(&mine, 2).unwrap().read(), 2);
        other.join().unwrap();
        let last = model.block();
        assert_eq!((model.alive(), model.cache.lock().blocks().len()), (1, 2));
        drop(last);
    });
}

/// A pin by count is let go while the entry is taken out.
#[test]
fn a_counted_entry_outlives_its_removal() {
    check(None, || {
        let model = Model::new(2);
        drop(model.get(None, 1).unwrap());
        let other = thread::spawn({
            let model = model.clone();
            move || assert_eq!(model.get(None, 1).unwrap().read(), 1)
        });
        model.cache.remove(|sink| sink.word(1));
        other.join().unwrap();
        assert_eq!(model.alive(), model.cache.len());
    });
}

#[test]
fn two_threads_that_miss_one_key_build_it_once() {
    check(None, || {
        let model = Model::new(2);
        let other = thread::spawn({
            let model = model.clone();
            move || assert_eq!(model.get(None, 1).unwrap().read(), 1)
        });
        assert_eq!(model.get(None, 1).unwrap().read(), 1);
        other.join().unwrap();
        assert_eq!(model.ledger.built.load(SeqCst), 1);
        let stats = model.cache.stats();
        assert_eq!((stats.hits + stats.misses, stats.compiles), (2, 1));
    });
}

#[test]
fn a_failed_build_is_reported_to_all_who_waited_and_tried_again_by_others() {
    check(None, || {
        let model = Model::new(2);
        let attempts = PlainArc::new(AtomicUsize::new(0));
        let run = {
            let (model, attempts) = (model.clone(), attempts.clone());
            move || {
                let fail = || {
                    let attempt = attempts.fetch_add(1, SeqCst);
                    Err(Error::InvalidProgram { reason: attempt.to_string() })
                };
                let error = model.build(None, 1, fail).err().expect("it fails");
                let Error::InvalidProgram { reason } = error else { panic!("{error}") };
                reason
            }
        };
        let other = thread::spawn(run.clone());
        let (mine, theirs) = (run(), other.join().unwrap());
        assert_eq!(mine != theirs, attempts.load(SeqCst) == 2);
        assert_eq!(model.get(None, 1).unwrap().read(), 1);
    });
}

/// Each of two threads builds a key and asks for the other one's.
#[test]
fn a_circle_of_builds_is_an_error_and_no_deadlock() {
    check(None, || {
        let model = Model::new(2);
        let run = |model: Model, k: u64| {
            model
                .build(None, k, || model.build(None, 3 - k, || model.get(None, k).map(drop)).map(drop))
                .map(drop)
        };
        let other = thread::spawn({
            let model = model.clone();
            move || run(model, 2)
        });
        let outcomes = [run(model.clone(), 1), other.join().unwrap()];
        assert!(
            outcomes.iter().all(|outcome| matches!(outcome, Err(Error::Recursive { .. }))),
            "{outcomes:?}"
        );
        assert_eq!(model.alive(), 0);
    });
}

/// A thread that waits for a build of another one's which has just ended is no longer in its way.
#[test]
fn an_old_wait_is_no_circle() {
    check(Some(3), || {
        let model = Model::new(4);
        let other = thread::spawn({
            let model = model.clone();
            move || model.build(None, 2, || model.get(None, 1).map(drop)).map(drop).unwrap()
        });
        drop(model.get(None, 1).unwrap());
        drop(model.build(None, 2, || model.get(None, 1).map(drop)).unwrap());
        other.join().unwrap();
        assert_eq!(model.ledger.built.load(SeqCst), 2);
    });
}
