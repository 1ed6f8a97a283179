//! R packages as folders: a new one, and one with all crates inside.

mod name;
mod new;
mod run;
mod template;
mod vendor;

pub use name::PackageName;
pub use new::{Dependencies, create, toolkit};
pub use vendor::vendor;

use std::io;

/// An error that says what the user gave is wrong.
fn refused(message: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, message.into())
}
