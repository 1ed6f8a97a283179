//! A compiled module as text.
//!
//! The C API gives the module as a message only, so its text is written here, in the form that XLA itself prints and
//! reads. Two things differ: an operation says the file and line that it comes from instead of a number in a table of
//! stack frames, and floating-point constants are written with the fewest digits that tell them apart. What belongs to
//! programs for several devices, such as shardings, is left out.

mod attributes;
mod literal;
mod proto;
mod shape;
mod text;

use prost::{DecodeError, Message};

/// The text of a serialized `xla.HloModuleProto`.
pub(super) fn text(module: &[u8]) -> Result<String, DecodeError> {
    Ok(text::Printer::new(&proto::Module::decode(module)?).module())
}

/// `a, b, /*index=5*/c`: XLA numbers every fifth element of a long list.
fn list(items: impl IntoIterator<Item = String>) -> String {
    let mut out = String::new();
    for (i, item) in items.into_iter().enumerate() {
        if i > 0 {
            out.push_str(", ");
        }
        if i > 0 && i % 5 == 0 {
            out.push_str(&format!("/*index={i}*/"));
        }
        out.push_str(&item);
    }
    out
}

/// `{0,2}`.
fn braced(numbers: &[i64]) -> String {
    format!("{{{}}}", joined(numbers, ","))
}

/// `0x2`.
fn joined(items: impl IntoIterator<Item = impl ToString>, separator: &str) -> String {
    items.into_iter().map(|item| item.to_string()).collect::<Vec<_>>().join(separator)
}

#[cfg(test)]
mod tests;
