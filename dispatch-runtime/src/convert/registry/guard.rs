//! Who keeps a converter registered.

use std::fmt;
use std::sync::Arc;

use super::super::entry::Entry;
use super::Registry;

/// Keeps a converter registered: it is removed when this is dropped.
#[must_use = "the converter is removed when this is dropped: keep it, or call `keep()`"]
pub struct Registered<C> {
    /// None once it is kept for good.
    registry: Option<Registry<C>>,
    entry: Arc<Entry<C>>,
}

impl<C> Registered<C> {
    pub(super) fn new(registry: Registry<C>, entry: Arc<Entry<C>>) -> Registered<C> {
        Registered { registry: Some(registry), entry }
    }

    /// The converter.
    pub fn entry(&self) -> &Arc<Entry<C>> {
        &self.entry
    }

    /// Leaves the converter registered for good, or until somebody removes it; its id.
    pub fn keep(mut self) -> u64 {
        self.registry = None;
        self.entry.id
    }
}

impl<C> Drop for Registered<C> {
    fn drop(&mut self) {
        if let Some(registry) = &self.registry {
            registry.remove_if_there(self.entry.id);
        }
    }
}

impl<C> fmt::Debug for Registered<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Registered").field(&self.entry).finish()
    }
}
