//! One build per key: the others wait for it, unless they would wait for ever.
//!
//! A *flight* is a build in progress, owned by the thread that runs it. A build may dispatch other keys, of this cache
//! or another, and so wait for other threads' flights. Waiting that closes a circle would never end: the thread's own
//! flight (a build that asks for its own key), or thread A waiting for B's flight while B waits for A's. So each
//! thread records, in one list for the process, the flight it is about to wait for, and first follows the owners:
//! from the flight to its owner, from there to the flight that the owner waits for, and so on. If this leads back to
//! the thread itself it does not wait.
//!
//! No circle is missed: checks are made and records are added under one lock, and the thread of a circle that is the
//! last to add its record sees all the others. No circle is seen where there is none: a record whose flight has landed
//! does not count, and a thread that adds a record has marked its own landed flights before, so that whoever sees the
//! record sees the marks.
//!
//! A build that hands work to another thread and waits for it by other means is not seen here: if that thread asks for
//! the key that is being built, both wait for ever.

use std::sync::atomic::Ordering::Relaxed;

use super::sync::{Arc, AtomicBool, Condvar, Mutex, lock};
use crate::error::Result;

/// A build in progress.
pub(super) struct Flight<T> {
    /// The hash of its key.
    pub hash: u64,
    /// The key.
    pub key: Box<[u64]>,
    ticket: Arc<Ticket>,
    outcome: Mutex<Option<Result<T>>>,
    landed: Condvar,
}

/// What the wait-for graph knows of a flight.
struct Ticket {
    owner: ThreadTag,
    landed: AtomicBool,
}

impl<T: Clone> Flight<T> {
    /// A flight of this thread.
    pub fn new(hash: u64, key: Box<[u64]>) -> Self {
        let ticket = Arc::new(Ticket { owner: current(), landed: AtomicBool::new(false) });
        Flight { hash, key, ticket, outcome: Mutex::new(None), landed: Condvar::new() }
    }

    /// Gives the outcome to all who wait.
    pub fn land(&self, outcome: Result<T>) {
        self.ticket.landed.store(true, Relaxed);
        *lock(&self.outcome) = Some(outcome);
        self.landed.notify_all();
    }

    /// Waits for the outcome. `None` at once if that would never end.
    pub fn wait(&self) -> Option<Result<T>> {
        let _record = Record::add(&self.ticket)?;
        let mut outcome = lock(&self.outcome);
        loop {
            if let Some(outcome) = &*outcome {
                return Some(outcome.clone());
            }
            outcome = self.landed.wait(outcome).unwrap_or_else(std::sync::PoisonError::into_inner);
        }
    }
}

/// The record that this thread waits for a flight, taken back when dropped.
struct Record;

impl Record {
    /// `None` if the flight waits, through whatever chain of owners, for this thread.
    fn add(ticket: &Arc<Ticket>) -> Option<Record> {
        let me = current();
        let mut waits = lock(&WAITS);
        let mut next = Some(ticket);
        while let Some(ticket) = next {
            if ticket.landed.load(Relaxed) {
                break;
            }
            if ticket.owner == me {
                return None;
            }
            next = waits.iter().find(|(thread, _)| *thread == ticket.owner).map(|(_, ticket)| ticket);
        }
        waits.push((me, ticket.clone()));
        Some(Record)
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        let me = current();
        lock(&WAITS).retain(|(thread, _)| *thread != me);
    }
}

#[cfg(not(loom))]
static WAITS: Mutex<Vec<(ThreadTag, Arc<Ticket>)>> = Mutex::new(Vec::new());

#[cfg(loom)]
loom::lazy_static! {
    static ref WAITS: Mutex<Vec<(ThreadTag, Arc<Ticket>)>> = Mutex::new(Vec::new());
}

/// Tells threads apart, also in destructors of thread-locals, where `std::thread::current` panics.
#[cfg(not(loom))]
type ThreadTag = u64;

#[cfg(not(loom))]
fn current() -> ThreadTag {
    use std::{cell::Cell, sync::atomic::AtomicU64};
    static LAST: AtomicU64 = AtomicU64::new(0);
    thread_local!(static TAG: Cell<u64> = const { Cell::new(0) });
    TAG.with(|tag| {
        if tag.get() == 0 {
            tag.set(LAST.fetch_add(1, Relaxed) + 1);
        }
        tag.get()
    })
}

#[cfg(loom)]
type ThreadTag = loom::thread::ThreadId;

#[cfg(loom)]
fn current() -> ThreadTag {
    loom::thread::current().id()
}
