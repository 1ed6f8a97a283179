//! Program families: one function whose program is compiled again for each combination of input dtypes, shapes and
//! static values, and reused whenever that combination returns.

// Expansions name `::dispatch_runtime`, also in this crate's own tests.
#[allow(unused_extern_crates)]
extern crate self as dispatch_runtime;

pub mod array;
mod aval;
pub mod cache;
pub mod client;
mod dtype;
pub mod engine;
mod error;
mod executable;
pub mod family;
pub mod host;
pub mod key;
#[doc(hidden)]
#[path = "private.rs"]
pub mod __private_0_1;
pub mod program;
pub mod signature;
pub mod tree;
mod warning;

pub use array::Array;
pub use aval::Aval;
pub use cache::{ByBytes, EvictionPolicy, Lru, Stats, Unbounded};
pub use client::{Client, Device};
pub use dispatch_macros::{InputTree, OutputTree, StaticArg, dispatch_family};
pub use dtype::DType;
pub use error::{Error, Result};
pub use executable::Executable;
pub use family::{CompileCx, DevicePolicy, Difference, Dynamic, Explanation, FamilyBuilder};
pub use host::{Element, HostArray, HostView};
pub use key::StaticKey;
pub use program::Program;
pub use tree::{InputTree, OutputTree};
pub use warning::{WarningHandler, set_warning_handler};

/// What a program that declares families needs: `use dispatch_runtime::prelude::*;`.
pub mod prelude {
    pub use crate::{
        Array, Aval, ByBytes, Client, CompileCx, DType, Device, DevicePolicy, Dynamic, Element, Error, EvictionPolicy,
        Executable, Explanation, HostArray, HostView, InputTree, Lru, OutputTree, Program, Result, StaticArg,
        StaticKey, Stats, Unbounded, dispatch_family,
    };
}

#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;
