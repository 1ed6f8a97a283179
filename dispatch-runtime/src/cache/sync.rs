//! The synchronisation primitives of the cache; under `cfg(loom)` those of the model checker.

#[cfg(loom)]
pub(super) use loom::sync::{
    Arc, Condvar, Mutex, MutexGuard,
    atomic::{AtomicBool, AtomicPtr, AtomicU64, fence},
};
#[cfg(not(loom))]
pub(super) use std::sync::{
    Arc, Condvar, Mutex, MutexGuard,
    atomic::{AtomicBool, AtomicPtr, AtomicU64, fence},
};

use std::sync::PoisonError;

/// Locks, poisoned or not.
///
/// Foreign code that runs under the cache's lock (the eviction policy) is called inside `catch_unwind`, so a panic
/// never leaves a guarded value half changed.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
