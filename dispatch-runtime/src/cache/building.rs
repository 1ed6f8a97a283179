//! What a miss does: build, or wait for the one who builds.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::flight::Flight;
use super::pin::Pin;
use super::slots::Block;
use super::state::{Entry, Garbage};
use super::sync::Arc;
use super::{Cache, Part, Weigh};
use crate::error::{Error, Result};

impl<V: Weigh> Cache<V> {
    #[cold]
    #[inline(never)]
    pub(super) fn get_or_build_in<'a>(
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
            Ok(Arc::new(Entry {
                hash,
                key,
                parts: describe(),
                bytes: value.bytes(),
                loaded: value.is_loaded(),
                value,
            }))
        };
        // Unwind safe: the closure changes nothing of the cache, what it has made is lost, and it is not called again.
        let made = catch_unwind(AssertUnwindSafe(make));
        let outcome = made.as_ref().map_or_else(|payload| Err(self.panicked(&**payload)), Result::clone);

        let mut garbage = Garbage::new();
        let mut state = self.lock();
        state.collect(&mut garbage);
        state.remove_flight(flight);
        let pin = outcome.clone().map(|entry| {
            let stamp = self.stamp(&state, block);
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
            callee: format!("the body of {}", self.shared.name),
            message: message.unwrap_or("a value that is no text").to_string(),
        }
    }
}
