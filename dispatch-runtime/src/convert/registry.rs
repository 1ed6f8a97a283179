//! Which converter is for an object.
//!
//! The registry does not know what objects are: a [`Subject`] says its classes, and whether a converter's own predicate
//! holds for it. So Rust objects and those of other languages are chosen for by the same rules.

use std::any::TypeId;
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

use smallvec::SmallVec;

use super::entry::{Entry, Match, Registration, Which};
use crate::{Error, Result};

/// An object that a converter is looked for.
pub trait Subject<C> {
    /// Its classes, its own first, then those that it inherits from, nearest first.
    fn classes(&self) -> impl Iterator<Item = &str>;

    /// Its type, if it is an object of this program.
    fn type_id(&self) -> Option<TypeId> {
        None
    }

    /// Whether the predicate of a converter that was registered by [`Match::Predicate`] holds for it. Called without any
    /// lock: the predicate may register converters, and dispatch.
    fn satisfies(&self, converter: &C) -> Result<bool>;
}

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
        Ok(Registered { registry: Some(self.clone()), entry })
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

    /// The active converter for an object; none if there is none, here or below.
    ///
    /// One for its type comes first, then those for its classes in their order, then those whose predicate holds. Of those
    /// that are equal so far the one in the nearest registry is taken.
    ///
    /// # Errors
    ///
    /// Two are equal, and in one registry: the error names both, and the argument by `path`. Whatever a predicate fails with.
    #[inline]
    pub fn choose<S: Subject<C>>(&self, subject: &S, path: &str) -> Result<Option<Arc<Entry<C>>>> {
        if self.is_idle() {
            return Ok(None);
        }
        self.look_up(subject, path)
    }

    fn look_up<S: Subject<C>>(&self, subject: &S, path: &str) -> Result<Option<Arc<Entry<C>>>> {
        if let Some(found) = subject.type_id().and_then(|id| self.only_for_type(id)) {
            return Ok(Some(found));
        }
        Registry::choose_from(self.stack(), subject, path)
    }

    /// The nearest converter for a type, unless there are two at once: to compare types runs no foreign code, so it is done
    /// under the lock, without a share of the list.
    fn only_for_type(&self, id: TypeId) -> Option<Arc<Entry<C>>> {
        for level in self.stack() {
            let entries = level.0.entries.read().unwrap_or_else(PoisonError::into_inner);
            let is_for_it = |entry: &&Arc<Entry<C>>| {
                matches!(entry.what.rule, Match::Type(own) if own == id) && entry.is_active()
            };
            let mut fitting = entries.iter().filter(is_for_it);
            match (fitting.next(), fitting.next()) {
                (None, _) => {}
                (Some(found), None) => return Some(found.clone()),
                (Some(_), Some(_)) => return None,
            }
        }
        None
    }

    /// [`Registry::choose`] from these registries alone, the nearest first, without those below them.
    ///
    /// # Errors
    ///
    /// As [`Registry::choose`].
    pub fn choose_from<'a, S: Subject<C>>(
        levels: impl IntoIterator<Item = &'a Registry<C>>,
        subject: &S,
        path: &str,
    ) -> Result<Option<Arc<Entry<C>>>>
    where
        C: 'a,
    {
        let levels: SmallVec<[_; 2]> = levels.into_iter().map(Registry::entries).collect();
        let first = |fits: &dyn Fn(&Entry<C>) -> Result<bool>, for_what: &dyn Fn() -> String| {
            for entries in &levels {
                let mut found: Option<&Arc<Entry<C>>> = None;
                for entry in entries.iter().filter(|entry| entry.is_active()) {
                    match found {
                        _ if !fits(entry)? => {}
                        None => found = Some(entry),
                        Some(other) => return Err(ambiguous(path, &for_what(), other, entry)),
                    }
                }
                if found.is_some() {
                    return Ok(found.cloned());
                }
            }
            Ok(None)
        };
        if let Some(id) = subject.type_id() {
            let found = first(&|entry| Ok(entry.what.rule == Match::Type(id)), &|| "its type".into())?;
            if found.is_some() {
                return Ok(found);
            }
        }
        for class in subject.classes() {
            let fits = |entry: &Entry<C>| Ok(matches!(&entry.what.rule, Match::Class(name) if name == class));
            let found = first(&fits, &|| format!("class `{class}`"))?;
            if found.is_some() {
                return Ok(found);
            }
        }
        let fits = |entry: &Entry<C>| match entry.what.rule {
            Match::Predicate => (subject.satisfies(&entry.what.converter))
                .map_err(|error| predicate_failed(path, entry.description(), error)),
            _ => Ok(false),
        };
        first(&fits, &|| "it by their predicates".into())
    }

    /// The error of an object that no converter is for, which lists those that there are.
    #[cold]
    pub fn none_for<S: Subject<C>>(&self, subject: &S, path: &str) -> Error {
        Error::Converter { argument: path.into(), reason: Registry::reason_none(self.stack(), subject) }
    }

    /// Why none of these registries has a converter for an object, in words.
    #[cold]
    pub fn reason_none<'a, S: Subject<C>>(
        levels: impl IntoIterator<Item = &'a Registry<C>>,
        subject: &S,
    ) -> String
    where
        C: 'a,
    {
        let classes: Vec<String> = subject.classes().map(|class| format!("`{class}`")).collect();
        let class = match classes.len() {
            0 => "an object without a class".to_owned(),
            _ => format!("an object of class {}", classes.join(", ")),
        };
        let (mut active, mut inactive) = (Vec::new(), Vec::new());
        for entry in levels.into_iter().flat_map(|level| level.entries().to_vec()) {
            let description = entry.description();
            let what = match &entry.what.rule {
                // `bit64::integer64` says its class.
                Match::Class(class) if description.rsplit("::").next() != Some(class) => {
                    format!("`{description}` for class `{class}`")
                }
                _ => format!("`{description}`"),
            };
            (if entry.is_active() { &mut active } else { &mut inactive }).push(what);
        }
        let mut reason = format!("no converter is registered for {class}; ");
        reason += &match active.is_empty() {
            true => "none is active".to_owned(),
            false => format!("registered are: {}", active.join(", ")),
        };
        if !inactive.is_empty() {
            reason += &format!("; inactive: {}", inactive.join(", "));
        }
        reason
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

#[cold]
fn predicate_failed(path: &str, converter: &str, error: Error) -> Error {
    let reason = match error {
        Error::Interrupted => return error,
        Error::Converter { argument, reason } if argument == path => reason,
        error => error.to_string(),
    };
    Error::Converter {
        argument: path.into(),
        reason: format!("the predicate of the converter `{converter}` failed: {reason}"),
    }
}

#[cold]
fn ambiguous<C>(path: &str, for_what: &str, a: &Entry<C>, b: &Entry<C>) -> Error {
    let name = |entry: &Entry<C>| match entry.package() {
        Some(package) => format!("`{}` of package {package}", entry.description()),
        None => format!("`{}`", entry.description()),
    };
    Error::Converter {
        argument: path.into(),
        reason: format!(
            "two converters are for {for_what}, {} and {}: remove one, or make it inactive",
            name(a),
            name(b)
        ),
    }
}

/// Keeps a converter registered: it is removed when this is dropped.
#[must_use = "the converter is removed when this is dropped: keep it, or call `keep()`"]
pub struct Registered<C> {
    /// None once it is kept for good.
    registry: Option<Registry<C>>,
    entry: Arc<Entry<C>>,
}

impl<C> Registered<C> {
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
