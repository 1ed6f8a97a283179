//! A compiled module: its text, and what it costs.
//!
//! The C API gives the module as a message only, so its text is written here, in the form that XLA itself prints and
//! reads. Two things differ: an operation says the file and line that it comes from instead of a number in a table of
//! stack frames, and floating-point constants are written with the fewest digits that tell them apart. What belongs to
//! programs for several devices, such as shardings, is left out.

mod attributes;
mod cost;
mod literal;
mod proto;
mod shape;
mod text;

use prost::{DecodeError, Message};

pub(super) use cost::Costs;

/// A compiled module.
pub(super) struct Module(proto::Module);

impl Module {
    /// Reads a serialized `xla.HloModuleProto`.
    pub fn read(module: &[u8]) -> Result<Module, DecodeError> {
        proto::Module::decode(module).map(Module)
    }

    pub fn text(&self) -> String {
        text::Printer::new(&self.0).module()
    }

    /// What a run of it costs, counted here.
    pub fn costs(&self) -> Costs {
        cost::of(&self.0)
    }
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
