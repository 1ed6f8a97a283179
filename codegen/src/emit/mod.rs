//! What a generator writes to files at build time.
//!
//! Every file is deterministic, says `@generated` in its first line, and is written only if its text has changed, so
//! that nothing is built again without a reason.

mod files;
mod wrappers;

pub use files::{Difference, Files};
pub use wrappers::{RPackage, wrappers};
