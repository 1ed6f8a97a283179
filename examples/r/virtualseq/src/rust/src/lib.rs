//! What the R package of this name has in Rust: the two programs of the note on converters, and the converter for sequences of
//! integers.

// Written by savvy's macro for each function.
#![allow(
    missing_docs,
    unsafe_op_in_unsafe_fn,
    clippy::missing_safety_doc,
    clippy::undocumented_unsafe_blocks
)]

use dispatch_r::convert::Native;
use dispatch_r::{describe, entry, ffi, make, Root, SEXP};
use dispatch_runtime::convert::Expected;
use dispatch_runtime::prelude::*;
use savvy::savvy;

mod r_families;

/// The sum of integers.
#[dispatch_family(r_export)]
fn total(cx: &CompileCx, #[dynamic(dtype = [i32, i64], shape = [n])] x: Value) -> Result<Program> {
    cx.program(x.sum(..))
}

/// Numbers, of which the first one is replaced by the sum of all. Written back into what was given.
#[dispatch_family(r_export)]
fn first_is_sum(
    cx: &CompileCx,
    #[dynamic(dtype = [f64, f32], shape = [n], write_back)] x: Value,
) -> Result<Program> {
    let sum = x.sum(..).reshape([1]);
    let rest = x.slice(1..n);
    cx.program(dispatch_runtime::graph::concatenate(&[sum, rest], 0))
}

/// The numbers from 1 to the length of the sequence, which is its only element.
fn integers(x: SEXP, expected: &Expected<'_>) -> dispatch_r::Result<Root> {
    match describe::whole_number(x) {
        Some(length) if length >= 0 => make::integers(1..=length),
        _ => Err(expected
            .error(format!("expected the length of a sequence, got {}", describe::value(x)))
            .into()),
    }
}

/// Registers the converter. R calls it when the package is loaded.
#[savvy]
fn rs_register_integers() -> savvy::Result<savvy::Sexp> {
    entry(|| {
        let description = "VirtualIntegerSequence to integer";
        Native::new("VirtualIntegerSequence", description, integers).package("virtualseq").register()?;
        Ok(ffi::nil())
    })
}
