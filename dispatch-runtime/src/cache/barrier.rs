//! An asymmetric barrier: almost free for the many hits, dear for the rare evictions.
//!
//! A hit announces its use of a slot and then looks whether the slot still has its entry; an eviction takes the entry
//! out of the slot and then looks whether the slot is in use. Each side stores, then loads what the other stores.
//! One of them must see the other (the store-buffer pattern of Dekker's algorithm), for which each side needs a full
//! barrier between its store and its load.
//!
//! On Linux the barrier of the hits is only one for the compiler ([`light`]), because the eviction runs
//! `membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED)` ([`heavy`]): the kernel executes a full barrier on every processor
//! that runs a thread of this process, and threads that do not run have passed one when they were switched out.
//! So at some point P between the eviction's store and its load, each other thread executes a full barrier.
//! The hit's store is before or after its thread's P. Before: the barrier publishes it, and the eviction's load,
//! which comes after P, sees it. After: so is the hit's load, and the barrier makes it see the eviction's store, which
//! came before P. The compiler fence keeps the two accesses of the hit in this order in the machine code, which is all
//! the argument needs of the hit; this is the asymmetric fence of C++ P1202 and of userspace RCU.
//!
//! Where the system call is missing or refused, both sides execute a sequentially consistent fence. By the rules of
//! such fences one of the two comes first in their total order, and the loads after the second one see the stores
//! before the first.

use std::sync::atomic::Ordering::SeqCst;
#[cfg(not(loom))]
use std::sync::atomic::{AtomicBool, Ordering::Relaxed, compiler_fence};

use super::sync::fence;

/// Whether [`heavy`] reaches the other threads by itself. Written by [`init`] only, before any slot exists.
#[cfg(not(loom))]
static ASYMMETRIC: AtomicBool = AtomicBool::new(false);

/// Chooses the kind of barrier; every cache calls it when it is made, hence before its first hit.
#[cfg(not(loom))]
pub(super) fn init() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| ASYMMETRIC.store(!without_membarrier() && membarrier::register(), Relaxed));
}

/// The tests run once more as if the system call were missing.
#[cfg(not(loom))]
fn without_membarrier() -> bool {
    cfg!(test) && std::env::var_os("DISPATCH_TEST_WITHOUT_MEMBARRIER").is_some()
}

#[cfg(loom)]
pub(super) fn init() {}

/// The barrier of a hit, between its store and its load.
#[cfg(not(loom))]
#[inline(always)]
pub(super) fn light() {
    if ASYMMETRIC.load(Relaxed) { compiler_fence(SeqCst) } else { fence(SeqCst) }
}

#[cfg(loom)]
pub(super) fn light() {
    fence(SeqCst);
}

/// The barrier of an eviction, between its stores and its loads. False if the kernel refused it: then nothing is known
/// about the other threads.
#[must_use]
pub(super) fn heavy() -> bool {
    fence(SeqCst);
    #[cfg(not(loom))]
    if ASYMMETRIC.load(Relaxed) {
        // A forked child may have to register anew.
        return membarrier::run() || membarrier::register() && membarrier::run();
    }
    true
}

#[cfg(all(target_os = "linux", not(miri), not(loom)))]
mod membarrier {
    /// Asks the kernel for the right to call [`run`]; false if it does not know how.
    pub fn register() -> bool {
        call(libc::MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED)
    }

    /// A full barrier on every thread of this process.
    pub fn run() -> bool {
        call(libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED)
    }

    fn call(command: libc::c_int) -> bool {
        // SAFETY: membarrier takes three integers and touches no memory of ours.
        unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) == 0 }
    }
}

#[cfg(all(not(all(target_os = "linux", not(miri))), not(loom)))]
mod membarrier {
    pub fn register() -> bool {
        false
    }

    pub fn run() -> bool {
        false
    }
}
