//! What a generator writes to files at build time.
//!
//! Every file is deterministic, says `@generated` in its first line, and is written only if its text has changed, so
//! that nothing is built again without a reason.

mod files;
mod help;
mod namespace;
mod package;
mod r;
mod rust;
mod wrappers;

pub use files::{Difference, Files};
pub use package::RPackage;
pub use r::r_side;
pub use rust::rust;

pub(crate) use wrappers::wrappers;
