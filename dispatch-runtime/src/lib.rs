//! Program families: one function whose program is compiled again for each combination of input dtypes, shapes and
//! static values, and reused whenever that combination returns.

pub mod array;
mod aval;
pub mod cache;
pub mod client;
mod dtype;
pub mod engine;
mod error;
mod executable;
pub mod host;
pub mod key;
pub mod program;

pub use array::Array;
pub use aval::Aval;
pub use client::{Client, Device};
pub use dtype::DType;
pub use error::{Error, Result};
pub use executable::Executable;
pub use host::{Element, HostArray, HostView};
pub use key::StaticKey;
pub use program::Program;
