//! Objects of any class as arguments, and results back into them.
//!
//! A *converter* is for the objects of a class, of a Rust type, or for those that its predicate holds of. It is registered in a
//! [`Registry`]; when an object stands where an array is expected, the registry says which converter is for it, and
//! [`Described`] is what the converter gives: where the data is, what it is, and who keeps it. [`Expected`] is what it is asked
//! for.

pub mod arrow;
mod described;
pub mod dlpack;
mod entry;
mod expected;
mod object;
mod registry;
mod room;
mod rust;

#[cfg(all(test, loom))]
mod loom_tests;
#[cfg(all(test, not(loom)))]
mod tests;

pub use described::Described;
pub use entry::{Entry, Match, Registration, Which};
pub use expected::Expected;
pub use object::{Object, object};
pub use registry::{Registered, Registry, Subject};

pub use rust::{AnyConverter, Converter, Converters, global};

pub use crate::family::OutInfo;
pub use crate::host::Owner;

use std::any::Any;

/// Whether an object's data may be copied on its way to a device.
///
/// What is not copied is in the same memory afterwards: the device reads it where the object has it. On the CPU that is possible
/// for data that is row-major, begins at a multiple of 64 bytes, has the dtype that is expected, and is declared
/// [immutable](Described::immutable).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum CopyPolicy {
    /// An error, which says why, if a copy is needed.
    Never,
    /// Only if it is needed, and then once, from where the data lies to the device.
    #[default]
    IfNeeded,
    /// Also if it is not needed: nothing that happens to the object later can be seen.
    Always,
}

/// What comes of a result.
#[derive(Debug, Default)]
pub enum Out {
    /// A new object.
    Object(Box<dyn Any>),
    /// The object that was the argument holds the result.
    Written,
    /// Nothing.
    #[default]
    Nothing,
}
