//! Arguments and results of another language: what generic code of a binding needs of a family beyond its typed methods.
//!
//! A binding knows no field of the user's structs. So the structs themselves ask a [`TreeSource`] for their fields by
//! name, tell a [`TreeVisitor`] of theirs, and static values are made of a [`StaticValue`].

mod statics;
mod trees;

pub use statics::{ItemKind, Mismatch, StaticItem, StaticValue, variant};
pub(crate) use statics::{empty, number};
pub use trees::{TreeSource, TreeVisitor, exactly};
