//! What is registered: a converter, what it is for, and how often it was used.

use std::any::TypeId;
use std::fmt;
use std::sync::atomic::Ordering;

#[cfg(loom)]
use loom::sync::atomic::{AtomicBool, AtomicU64};
#[cfg(not(loom))]
use std::sync::atomic::{AtomicBool, AtomicU64};

use super::CopyPolicy;

/// Which objects a converter is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Match {
    /// Those of this class, and of classes that inherit from it.
    Class(String),
    /// Those of this type.
    Type(TypeId),
    /// Those of which it says so itself.
    Predicate,
}

impl Match {
    /// Objects of a class, by its name.
    pub fn class(name: impl Into<String>) -> Match {
        Match::Class(name.into())
    }
}

/// What is registered: a converter, and what it is for.
#[derive(Debug)]
pub struct Registration<C> {
    pub(super) rule: Match,
    pub(super) description: String,
    package: Option<String>,
    copy: CopyPolicy,
    pub(super) converter: C,
}

impl<C> Registration<C> {
    /// A converter for the objects that the rule says. By the description people tell it from others.
    pub fn new(rule: Match, description: impl Into<String>, converter: C) -> Registration<C> {
        let description = description.into();
        Registration { rule, description, package: None, copy: CopyPolicy::IfNeeded, converter }
    }

    /// Who it belongs to.
    pub fn package(self, package: impl Into<String>) -> Registration<C> {
        Registration { package: Some(package.into()), ..self }
    }

    /// Whether its data may be copied, where the call does not say.
    pub fn copy(self, copy: CopyPolicy) -> Registration<C> {
        Registration { copy, ..self }
    }
}

/// A converter in a [`Registry`](super::Registry), with what is known of it. It stays usable by whoever holds it after it was removed.
pub struct Entry<C> {
    pub(super) id: u64,
    pub(super) what: Registration<C>,
    pub(super) active: AtomicBool,
    calls: AtomicU64,
    copied: AtomicU64,
}

impl<C> Entry<C> {
    /// A new one, active, which nobody has asked yet.
    pub(super) fn new(id: u64, what: Registration<C>) -> Entry<C> {
        let (active, calls, copied) = (AtomicBool::new(true), AtomicU64::new(0), AtomicU64::new(0));
        Entry { id, what, active, calls, copied }
    }

    /// Its number: no other converter of the process has it, now or later.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Which objects it is for.
    pub fn rule(&self) -> &Match {
        &self.what.rule
    }

    /// What it is, for people.
    pub fn description(&self) -> &str {
        &self.what.description
    }

    /// Who registered it, where that was said.
    pub fn package(&self) -> Option<&str> {
        self.what.package.as_deref()
    }

    /// Whether its data may be copied, where the call does not say.
    pub fn copy(&self) -> CopyPolicy {
        self.what.copy
    }

    /// The converter.
    pub fn converter(&self) -> &C {
        &self.what.converter
    }

    /// Whether objects are given to it.
    pub fn is_active(&self) -> bool {
        self.active.load(Ordering::Relaxed)
    }

    /// How many objects it converted.
    pub fn calls(&self) -> u64 {
        self.calls.load(Ordering::Relaxed)
    }

    /// How many bytes were copied on the host for them, by the converter or on the way to the device.
    pub fn bytes_copied(&self) -> u64 {
        self.copied.load(Ordering::Relaxed)
    }

    /// Counts a conversion, and the bytes that were copied for it.
    pub fn count(&self, copied: u64) {
        self.calls.fetch_add(1, Ordering::Relaxed);
        self.count_copied(copied);
    }

    /// Counts more bytes that were copied for a conversion.
    pub fn count_copied(&self, bytes: u64) {
        if bytes > 0 {
            self.copied.fetch_add(bytes, Ordering::Relaxed);
        }
    }
}

impl<C> fmt::Debug for Entry<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entry")
            .field("id", &self.id)
            .field("rule", &self.what.rule)
            .field("description", &self.what.description)
            .field("active", &self.is_active())
            .finish_non_exhaustive()
    }
}

/// How a converter is named: by its [id](Entry::id), by its position in [`Registry::entries`](super::Registry::entries), counted from 0, or by its
/// description.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which<'a> {
    /// By its number.
    Id(u64),
    /// By its position, counted from 0.
    Index(usize),
    /// By its description, which only one has.
    Description(&'a str),
}

impl From<usize> for Which<'_> {
    fn from(index: usize) -> Self {
        Which::Index(index)
    }
}

impl<'a> From<&'a str> for Which<'a> {
    fn from(description: &'a str) -> Self {
        Which::Description(description)
    }
}
