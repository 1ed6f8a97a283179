//! What expansions name, and nobody else: no part of this is stable.
//!
//! The module is re-exported under a name with the version, so that a macro crate and a runtime that do not belong
//! together fail when they are compiled.

pub use crate::border::{ItemKind, Mismatch, StaticValue, TreeSource, TreeVisitor, exactly, variant};
pub use crate::cache::{Part, Stats};
pub use crate::engine::RawBuffer;
pub use crate::family::{
    Arg, BodyError, BodyLeaf, BodyLeaves, Buffers, CompileCx, Copies, DeclaredFamily, DevicePolicy, Dynamic,
    Entry, Explanation, Failure, Family, FamilyBuilder, GroupDType, NO_BUFFER, Ready, Request, Settings,
    Temporary, TextFailure, Visitor, buffer, check_back, dim, dim_back, distinct, first_shape, fits,
    fits_lead, lead, nothing_donated, ready, same_array, same_sizes, sources_differ, write_back,
};
pub use crate::ffi::private as ffi;
pub use crate::key::{Described, Sink, StaticKey, expected};
pub use crate::leaf::Leaf;
pub use crate::signature::{
    CheckTree, Checker, DTypeSpec, Dim, Field, FieldSpec, Lead, LeafSpec, Scope, ShapeSpec, field_path,
    item_path,
};
pub use crate::tree::{InputTree, OutputTree, Outputs, Place, ResultTree};
pub use crate::{Array, Aval, Client, DType, Inspection, Program, Result};

use std::fmt;

use crate::aval::shape_text;

/// A family with the options of its declaration.
pub fn declared<F: DeclaredFamily>(client: &Client) -> F {
    match FamilyBuilder::new(client).build() {
        Ok(family) => family,
        // The declaration was checked when it was compiled: what is left is a policy or device given by an expression.
        Err(error) => panic!("{error}"),
    }
}

/// The abstract value of an argument at the dtype of its group.
pub fn aval(leaf: &impl Leaf, dtype: DType) -> Aval {
    Aval::new(dtype, leaf.shape())
}

/// A list for the reference check.
pub fn list_field<'a, L: Leaf>(leaves: &'a [L]) -> Field<'a> {
    Field::List(leaves.iter().map(|leaf| leaf as &dyn Leaf).collect())
}

fn part(name: String, value: impl fmt::Display) -> Part {
    Part { name, value: value.to_string() }
}

/// The dtype of an argument and of those tied to it.
pub fn part_dtype(path: String, dtype: DType) -> Part {
    part(format!("dtype of `{path}`"), dtype)
}

/// `of `a` (n)`: an argument and the captured name, which may be empty.
fn of(path: &str, name: &str) -> String {
    let name = if name.is_empty() { String::new() } else { format!(" ({name})") };
    format!("of `{path}`{name}")
}

/// A size: `at` is its position, `size 2`, and `name` the captured name or nothing.
pub fn part_size(path: String, at: &str, name: &str, size: i64) -> Part {
    part(format!("{at} {}", of(&path, name)), size)
}

/// A leading shape, under the captured name or none.
pub fn part_lead(path: String, name: &str, sizes: &[i64]) -> Part {
    part(format!("leading shape {}", of(&path, name)), shape_text(sizes))
}

/// The length of a list.
pub fn part_len(path: String, len: usize) -> Part {
    part(format!("length of `{path}`"), len)
}

/// A static argument, which `describe` writes, in the spelling of the family's callers.
pub fn part_static(
    family: &Family,
    name: &str,
    describe: impl Fn(&mut fmt::Formatter<'_>) -> fmt::Result,
) -> Part {
    let value = By(describe);
    let value = if family.is_foreign() { format!("{value:#}") } else { value.to_string() };
    part(format!("`{name}`"), value)
}

/// The value of the family's `context` function.
pub fn part_context(describe: impl Fn(&mut fmt::Formatter<'_>) -> fmt::Result) -> Part {
    part("context".to_owned(), By(describe))
}

/// What a function writes.
struct By<F>(F);

impl<F: Fn(&mut fmt::Formatter<'_>) -> fmt::Result> fmt::Display for By<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0(f)
    }
}

/// Writes a variant by its name in Rust, or by that which it has in other languages.
pub fn describe_variant(f: &mut fmt::Formatter<'_>, name: &str, foreign: &str) -> fmt::Result {
    if f.alternate() { write!(f, "{foreign:?}") } else { f.write_str(name) }
}

/// Writes a struct or variant as Rust would; fields without names have an empty one.
pub fn describe_fields(
    f: &mut fmt::Formatter<'_>,
    name: &str,
    fields: &[(&str, &dyn fmt::Display)],
) -> fmt::Result {
    f.write_str(name)?;
    let Some((first, _)) = fields.first() else { return Ok(()) };
    let (open, close) = if first.is_empty() { ("(", ")") } else { (" { ", " }") };
    f.write_str(open)?;
    for (i, (name, value)) in fields.iter().enumerate() {
        let comma = if i > 0 { ", " } else { "" };
        match name.is_empty() {
            true => write!(f, "{comma}{value}")?,
            false => write!(f, "{comma}{name}: {value}")?,
        }
    }
    f.write_str(close)
}
