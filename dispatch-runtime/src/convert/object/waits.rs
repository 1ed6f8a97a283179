//! Waiting until a device uses borrowed data no more.

use std::sync::{Arc, Condvar, Mutex, PoisonError};

use crate::Array;

/// Borrowed data that a device uses where it is: waits until it does no more.
pub struct Waits {
    pub(super) array: Option<Array>,
    pub(super) end: Arc<End>,
}

#[derive(Default)]
pub(super) struct End {
    is_over: Mutex<bool>,
    changed: Condvar,
}

/// The owner of borrowed data: it only tells that the data is given back.
pub(super) struct Tells(pub Arc<End>);

impl Drop for Tells {
    fn drop(&mut self) {
        *self.0.is_over.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.0.changed.notify_all();
    }
}

impl Drop for Waits {
    fn drop(&mut self) {
        self.array = None;
        let over = self.end.is_over.lock().unwrap_or_else(PoisonError::into_inner);
        drop(self.end.changed.wait_while(over, |over| !*over));
    }
}
