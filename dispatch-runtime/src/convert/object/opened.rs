//! An object whose converter was asked.

use std::cell::{Cell, OnceCell};
use std::sync::Arc;

use super::super::described::{Described, Obstacle, bytes};
use super::super::rust::AnyConverter;
use super::super::{CopyPolicy, Entry, Expected};
use super::waits::{End, Tells, Waits};
use crate::leaf::{Leaf, LeafKind};
use crate::{Array, Client, DType, Device, Result};

/// An object with what its converter gave.
pub struct Opened<'a> {
    pub entry: Arc<Entry<AnyConverter>>,
    pub described: Described<'a>,
    pub policy: CopyPolicy,
    /// The dtype that its array has where no signature says another: what was expected, if that is one dtype, else its own.
    pub dtype: DType,
    /// Whether a program may write into the array that is made of it, and whether a result is written back into it.
    pub purpose: (bool, bool),
    /// An array in the memory of the data, which has its owner; the view is that of the same memory.
    pub shared: OnceCell<Array>,
    /// How it was used so that it serves no other call: its data is gone with the owner, since the device could not use it where
    /// it was, or is no longer that of the object.
    pub spent: Cell<Option<&'static str>>,
}

impl<'a> Opened<'a> {
    /// An error unless what was found serves for this argument too.
    pub fn again(&self, expected: &Expected<'_>, purpose: (bool, bool)) -> Result<()> {
        let spent = self.spent.get();
        if spent.is_none() {
            self.described.check(expected, self.entry.description())?;
        }
        let dtype = expected.dtype().unwrap_or(self.described.dtype());
        let used = match spent {
            Some(how) => how.to_owned(),
            None if dtype != self.dtype => format!("converted to {}", self.dtype),
            None if purpose != self.purpose => "passed where it is used in another way".to_owned(),
            None => return Ok(()),
        };
        Err(expected.error(format!("the object was {used} before: pass another `object(…)`")))
    }

    pub fn expected<'e>(&self, path: &'e str) -> Expected<'e> {
        Expected::new(path).copy(self.policy)
    }

    /// Whether the data is to be in the array's memory; an error if it has to be and cannot. `donated` says that a program may
    /// write into the array, where that was not known when the object was converted.
    pub fn shares(&self, dtype: DType, client: Client, donated: bool, path: &str) -> Result<bool> {
        let waits = self.policy == CopyPolicy::Never;
        // What may change meanwhile is copied wherever it may be: nothing else has to be found out.
        if !waits && !self.described.is_immutable() {
            return Ok(false);
        }
        let reason = match (self.purpose.0 || donated, self.purpose.1) {
            (true, _) => Some(Obstacle::Donated),
            // What is written back changes, so no device may rely on it.
            (_, true) => Some(Obstacle::Written),
            _ => self.described.why_not_shared(dtype, client, waits),
        };
        match (self.policy, reason) {
            (CopyPolicy::Always, _) | (CopyPolicy::IfNeeded, Some(_)) => Ok(false),
            (_, None) => Ok(true),
            (CopyPolicy::Never, Some(reason)) => {
                Err(self.described.may_not_copy(&self.expected(path), self.entry.description(), reason))
            }
        }
    }

    /// An array of the data on a device, in its memory; with what has to be waited for, if the data is only borrowed.
    pub fn share(&self, device: Device, path: &str) -> Result<(Array, Option<Waits>)> {
        if let Some(array) = self.shared.get() {
            return Ok((self.on(array, device)?, None));
        }
        let view = self.described.view().expect("data of the host");
        let immutable = self.described.is_immutable();
        let owner = if immutable { self.described.take_owner() } else { None };
        let (array, shared, waits) = match owner {
            Some(owner) => {
                self.spent.set(Some("used up"));
                // SAFETY: the data is the same for as long as its owner lives, as the converter has declared.
                let (array, shared) = unsafe { device.client().share(view, owner, device)? };
                if shared {
                    self.spent.set(None);
                }
                // The owner is with this array, so it stays for as long as the view.
                let _ = self.shared.set(array.clone());
                (array, shared, None)
            }
            None => {
                let end = Arc::new(End::default());
                let owner = Box::new(Tells(end.clone()));
                // SAFETY: the object is borrowed, and with it the data, until the end was waited for, and nobody writes to
                // it so long.
                let (array, shared) = unsafe { device.client().share(view, owner, device)? };
                (array.clone(), shared, Some(Waits { array: Some(array), end }))
            }
        };
        if !shared {
            self.entry.count_copied(bytes(&array));
            self.described.check_copied(&self.expected(path), self.entry.description(), &array)?;
        }
        Ok((array, waits))
    }

    /// The array that has the data's owner, on a device.
    fn on(&self, array: &Array, device: Device) -> Result<Array> {
        if array.device() == device {
            return Ok(array.clone());
        }
        let array = array.to_device(device)?;
        self.entry.count_copied(bytes(&array));
        Ok(array)
    }
}

impl Leaf for Opened<'_> {
    fn kind(&self) -> LeafKind<'_> {
        match self.described.as_array() {
            Some(array) => LeafKind::Device(array),
            None => LeafKind::Host,
        }
    }

    fn tag(&self) -> u32 {
        match self.described.as_array() {
            Some(array) => array.tag(),
            None => crate::array::tag(self.described.dtype(), self.described.shape().len()),
        }
    }

    fn dtype(&self) -> DType {
        self.described.dtype()
    }

    fn shape(&self) -> &[i64] {
        self.described.shape()
    }

    fn converter(&self) -> Option<&str> {
        Some(self.entry.description())
    }
}
