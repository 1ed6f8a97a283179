//! What a look-up gives: a value that stays while it is looked at.

use std::marker::PhantomData;
use std::ops::Deref;
use std::ptr::NonNull;

use super::Shared;
use super::slots::Slot;
use super::state::Entry;
use super::sync::Arc;

/// Keeps an entry from being dropped, evicted or not.
///
/// Stays on its thread.
pub struct Pin<'a, V> {
    hold: Hold<'a, V>,
    shared: &'a Shared<V>,
    not_send: PhantomData<*const ()>,
}

/// An entry and what keeps it alive: a pin without the means to let go.
///
/// Two words, so that the slower part of a look-up returns it in registers.
pub(super) struct Hold<'a, V> {
    entry: NonNull<Entry<V>>,
    /// A slot of this thread that is in use, or if there is none the entry's reference count.
    slot: Option<&'a Slot>,
}

impl<'a, V> Pin<'a, V> {
    /// Pins by a slot.
    ///
    /// # Safety
    ///
    /// This thread has entered the slot, found the entry there, and has not left it since.
    #[inline(always)]
    pub(super) unsafe fn by_slot(entry: &Entry<V>, slot: &'a Slot, shared: &'a Shared<V>) -> Self {
        Pin::from_hold(Hold { entry: NonNull::from(entry), slot: Some(slot) }, shared)
    }

    /// Pins by the reference count.
    pub(super) fn by_count(entry: Arc<Entry<V>>, shared: &'a Shared<V>) -> Self {
        let entry = NonNull::new(Arc::into_raw(entry).cast_mut()).expect("no reference is null");
        Pin::from_hold(Hold { entry, slot: None }, shared)
    }

    /// To be made a pin again.
    #[inline(always)]
    pub(super) fn into_hold(self) -> Hold<'a, V> {
        let Hold { entry, slot } = self.hold;
        std::mem::forget(self);
        Hold { entry, slot }
    }

    /// Undoes [`into_hold`](Self::into_hold).
    #[inline(always)]
    pub(super) fn from_hold(hold: Hold<'a, V>, shared: &'a Shared<V>) -> Self {
        Pin { hold, shared, not_send: PhantomData }
    }
}

impl<V> Deref for Pin<'_, V> {
    type Target = V;

    #[inline(always)]
    fn deref(&self) -> &V {
        // SAFETY: the hold keeps the entry alive until the pin is dropped.
        unsafe { &self.hold.entry.as_ref().value }
    }
}

impl<V> Drop for Pin<'_, V> {
    #[inline(always)]
    fn drop(&mut self) {
        match self.hold.slot {
            Some(slot) => {
                if slot.leave() {
                    self.shared.collect();
                }
            }
            None => self.hold.uncount(),
        }
    }
}

impl<V> Hold<'_, V> {
    #[cold]
    #[inline(never)]
    fn uncount(&self) {
        // SAFETY: the pointer comes from `Arc::into_raw` in `by_count`, and a pin is dropped once.
        drop(unsafe { Arc::from_raw(self.entry.as_ptr().cast_const()) });
    }
}
