//! Which converter is for an object.
//!
//! The registry does not know what objects are: a [`Subject`] says its classes, and whether a converter's own predicate
//! holds for it. So Rust objects and those of other languages are chosen for by the same rules.

use std::any::TypeId;
use std::sync::{Arc, PoisonError};

use smallvec::SmallVec;

use super::super::entry::{Entry, Match};
use super::Registry;
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

impl<C> Registry<C> {
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
