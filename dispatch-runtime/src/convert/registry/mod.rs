//! What is registered, and what becomes of it.

mod choice;
mod guard;

use std::fmt;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

#[cfg(loom)]
use loom::sync::{
    RwLock,
    atomic::{AtomicU64, AtomicUsize},
};
#[cfg(not(loom))]
use std::sync::{
    RwLock,
    atomic::{AtomicU64, AtomicUsize},
};

use super::entry::{Entry, Match, Registration, Which};
use crate::{Error, Result};

pub use choice::Subject;
pub use guard::Registered;

/// Converters by what they are for. A clone is the same registry.
///
/// A [scope](Registry::scope) stands over another registry: its converters come before those below it that are as good.
///
/// Where no converter is active, finding that out takes one relaxed load for each registry of the stack. Else a look-up takes
/// the list as it is at that moment, and works on that: converters may come and go meanwhile, and whoever has found one keeps
/// it.
pub struct Registry<C>(Arc<Level<C>>);

struct Level<C> {
    below: Option<Registry<C>>,
    /// Changed as a whole, so that readers hold the lock only to take their share.
    entries: RwLock<Arc<[Arc<Entry<C>>]>>,
    /// How many of them are active.
    active: AtomicUsize,
    /// Goes up with each change.
    version: AtomicU64,
}

impl<C> Clone for Registry<C> {
    fn clone(&self) -> Registry<C> {
        Registry(self.0.clone())
    }
}

impl<C> Default for Registry<C> {
    fn default() -> Registry<C> {
        Registry::new()
    }
}

impl<C> Registry<C> {
    /// An empty registry with nothing below it.
    pub fn new() -> Registry<C> {
        Registry::over(None)
    }

    /// An empty registry over this one, which it keeps.
    pub fn scope(&self) -> Registry<C> {
        Registry::over(Some(self.clone()))
    }

    fn over(below: Option<Registry<C>>) -> Registry<C> {
        Registry(Arc::new(Level {
            below,
            entries: RwLock::new(Arc::new([])),
            active: AtomicUsize::new(0),
            version: AtomicU64::new(0),
        }))
    }

    /// The registry that this one stands over.
    pub fn below(&self) -> Option<&Registry<C>> {
        self.0.below.as_ref()
    }

    /// This registry and those below it, top down.
    fn stack(&self) -> impl Iterator<Item = &Registry<C>> {
        std::iter::successors(Some(self), |registry| registry.below())
    }

    /// Whether no converter is active, here or below.
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.stack().all(|level| level.0.active.load(Ordering::Relaxed) == 0)
    }

    /// A number that is another one after every change, here or below: of what is registered, and of what is active.
    #[inline]
    pub fn version(&self) -> u64 {
        // Each goes up only, so the sum changes if any does.
        self.stack().map(|level| level.0.version.load(Ordering::Acquire)).fold(0, u64::wrapping_add)
    }

    /// Registers a converter, active, until the guard is dropped.
    ///
    /// # Errors
    ///
    /// The description, or the name of the class, is empty or blank.
    pub fn register(&self, what: Registration<C>) -> Result<Registered<C>> {
        let empty = |option, expected: &str, got: &str| {
            Err(Error::Option { option, expected: expected.into(), got: format!("{got:?}") })
        };
        if what.description.trim().is_empty() {
            return empty("description", "a text that tells the converter from others", &what.description);
        }
        if let Match::Class(class) = &what.rule
            && class.trim().is_empty()
        {
            return empty("class", "the name of a class", class);
        }
        static NEXT: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(1);
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        let entry = Arc::new(Entry::new(id, what));
        self.change(|entries| ((entries.iter().cloned().chain([entry.clone()])).collect(), 1));
        Ok(Registered::new(self.clone(), entry))
    }

    /// Removes a converter of this registry: it is used no more, but by calls that have found it already.
    ///
    /// # Errors
    ///
    /// There is none of this name, or two have the description.
    pub fn remove<'a>(&self, which: impl Into<Which<'a>>) -> Result<Arc<Entry<C>>> {
        let which = which.into();
        self.try_change(|entries| {
            let found = find(entries, which)?;
            Ok((without(entries, found.id), -i64::from(found.is_active()), found))
        })
    }

    /// Removes a converter, if it is still there. Dropped outside of the lock, by whoever holds it last.
    fn remove_if_there(&self, id: u64) {
        let _: Result<Arc<Entry<C>>> = self.remove(Which::Id(id));
    }

    /// Makes a converter of this registry active, or inactive, so that it is ignored; whether it was active.
    ///
    /// # Errors
    ///
    /// There is none of this name, or two have the description.
    pub fn set_active<'a>(&self, which: impl Into<Which<'a>>, active: bool) -> Result<bool> {
        let which = which.into();
        self.try_change(|entries| {
            let found = find(entries, which)?;
            let was = found.active.swap(active, Ordering::Relaxed);
            Ok((entries.clone(), i64::from(active) - i64::from(was), was))
        })
    }

    /// A converter of this registry.
    ///
    /// # Errors
    ///
    /// There is none of this name, or two have the description.
    pub fn get<'a>(&self, which: impl Into<Which<'a>>) -> Result<Arc<Entry<C>>> {
        find(&self.entries(), which.into())
    }

    /// The converters of this registry, active or not, in the order in which they came.
    pub fn entries(&self) -> Arc<[Arc<Entry<C>>]> {
        self.0.entries.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// How many converters are in this registry, active or not.
    pub fn len(&self) -> usize {
        self.entries().len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn change(&self, change: impl FnOnce(&Arc<[Arc<Entry<C>>]>) -> (Arc<[Arc<Entry<C>>]>, i64)) {
        let changed: Result<()> = self.try_change(|entries| {
            let (entries, active) = change(entries);
            Ok((entries, active, ()))
        });
        changed.expect("this change cannot fail");
    }

    /// Puts another list in place, with the change of the number of active converters.
    fn try_change<R>(
        &self,
        change: impl FnOnce(&Arc<[Arc<Entry<C>>]>) -> Result<(Arc<[Arc<Entry<C>>]>, i64, R)>,
    ) -> Result<R> {
        let level = &*self.0;
        let mut entries = level.entries.write().unwrap_or_else(PoisonError::into_inner);
        let (after, active, result) = change(&entries)?;
        // What goes is dropped after the lock: a converter is foreign code.
        let before = std::mem::replace(&mut *entries, after);
        level.active.fetch_add(active as usize, Ordering::Relaxed);
        level.version.fetch_add(1, Ordering::Release);
        drop(entries);
        drop(before);
        Ok(result)
    }
}

impl<C> fmt::Debug for Registry<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registry")
            .field("entries", &self.entries())
            .field("version", &self.version())
            .finish_non_exhaustive()
    }
}

fn without<C>(entries: &[Arc<Entry<C>>], id: u64) -> Arc<[Arc<Entry<C>>]> {
    entries.iter().filter(|entry| entry.id != id).cloned().collect()
}

fn find<C>(entries: &[Arc<Entry<C>>], which: Which<'_>) -> Result<Arc<Entry<C>>> {
    let wrong = |expected: String, got: String| Err(Error::Option { option: "converter", expected, got });
    let found = match which {
        Which::Id(id) => entries.iter().find(|entry| entry.id == id),
        Which::Index(index) => entries.get(index),
        Which::Description(text) => {
            let mut all = entries.iter().filter(|entry| entry.description() == text);
            let found = all.next();
            if all.next().is_some() {
                return wrong("a description that only one converter has".into(), format!("{text:?}"));
            }
            found
        }
    };
    let Some(found) = found else {
        let got = match which {
            Which::Id(id) => format!("the id {id}"),
            Which::Index(index) => format!("the index {index}"),
            Which::Description(text) => format!("{text:?}"),
        };
        let all: Vec<String> = entries.iter().map(|entry| format!("{:?}", entry.description())).collect();
        return match all.is_empty() {
            true => wrong("a registered converter".into(), format!("{got}, but none is registered")),
            false => wrong(format!("a registered converter ({})", all.join(", ")), got),
        };
    };
    Ok(found.clone())
}
