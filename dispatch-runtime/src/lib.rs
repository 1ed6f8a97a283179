//! Program families for Rust: one function whose program is compiled again for each combination of input dtypes, shapes
//! and static values, and reused whenever that combination returns, at the cost of the PJRT call.
//!
//! * [`dispatch_family`](macro@dispatch_family) declares a family; its documentation is the reference of the signature
//!   language. [`InputTree`](macro@InputTree), [`OutputTree`](macro@OutputTree) and [`StaticArg`](macro@StaticArg) make
//!   own types of arguments and results.
//! * [`Client`] is a connection to a PJRT plugin ([`Client::cpu`] finds one) or to another [`engine`]; [`Array`] is an
//!   array on one of its devices.
//! * [`graph`] builds programs from values; [`Program`] is what the body of a family returns, made by a graph or from
//!   StableHLO of one's own.
//! * [`skeleton`] bakes a computation once and runs it many times, its memory known beforehand.
//! * [`convert`] takes objects of any class for arrays.
//! * [`store`] keeps compiled programs for the next process.
//! * [`Error`] names the argument that is wrong, what was expected and what came.
//!
//! ```
//! use dispatch_runtime::prelude::*;
//!
//! /// The sum of two vectors.
//! #[dispatch_family(capacity = 64)]
//! fn add(
//!     cx: &CompileCx,
//!     #[dynamic(dtype = [f32, f64], shape = [n])] a: Value,
//!     #[dynamic(dtype = dtype(a), shape = [n])] b: Value,
//! ) -> Result<Program> {
//!     cx.program(a + b)
//! }
//!
//! let client = Client::cpu()?;
//! let family = Add::new(&client);
//! let a = client.array(&[1f32, 2.0, 3.0], [3])?;
//! let sum = family.call(&a, &[10.0, 20.0, 30.0])?;
//! assert_eq!(sum.to_vec::<f32>()?, [11.0, 22.0, 33.0]);
//! # Ok::<(), Error>(())
//! ```
//!
//! # Without a plugin
//!
//! [`Client::host`] runs Rust closures over host arrays ([`Program::host`]) under the same rules.

// Expansions name `::dispatch_runtime`, also in this crate's own tests.
#[allow(unused_extern_crates)]
extern crate self as dispatch_runtime;

#[doc(hidden)]
#[path = "private.rs"]
pub mod __private_0_1;
pub mod array;
mod aval;
pub mod border;
pub mod cache;
pub mod client;
mod compiled;
#[cfg(feature = "convert")]
pub mod convert;
pub mod custom_call;
mod dtype;
pub mod engine;
mod error;
mod executable;
pub mod family;
pub mod ffi;
#[cfg(feature = "graph")]
pub mod graph;
pub mod host;
mod inspection;
pub mod key;
pub mod leaf;
pub mod program;
pub mod signature;
#[cfg(feature = "graph")]
pub mod skeleton;
#[cfg(feature = "store")]
pub mod store;
pub mod tree;
mod warning;

pub use array::Array;
pub use aval::Aval;
pub use cache::{ByBytes, EvictionPolicy, Lru, Stats, Unbounded};
pub use client::{Client, Device};
pub use dispatch_macros::{InputTree, OutputTree, StaticArg, dispatch_family, ffi_handler};
pub use dtype::DType;
pub use engine::pjrt::{ClientOptions, CompileOptions};
pub use error::{Error, Result};
pub use executable::Executable;
pub use family::{CompileCx, DevicePolicy, Difference, Dynamic, Explanation, FamilyBuilder};
pub use host::{Element, HostArray, HostView};
pub use inspection::{Inspection, MemoryStats};
pub use key::StaticKey;
pub use program::Program;
pub use tree::{InputTree, OutputTree, ResultTree};
pub use warning::{WarningHandler, set_warning_handler};

/// What a program that declares families needs: `use dispatch_runtime::prelude::*;`.
pub mod prelude {
    pub use crate::{
        Array, Aval, ByBytes, Client, ClientOptions, CompileCx, DType, Device, DevicePolicy, Dynamic,
        Element, Error, EvictionPolicy, Executable, Explanation, HostArray, HostView, InputTree, Inspection,
        Lru, OutputTree, Program, Result, StaticArg, StaticKey, Stats, Unbounded, dispatch_family,
        ffi_handler,
    };
    #[cfg(feature = "graph")]
    pub use crate::{graph::Value, skeleton::IntoSkeleton};
}

#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;

#[cfg(all(doctest, feature = "graph"))]
#[doc = include_str!("../../docs/ffi.md")]
struct FfiGuide;

#[cfg(all(doctest, feature = "graph", feature = "store"))]
#[doc = include_str!("../../docs/skeletons.md")]
struct SkeletonGuide;

#[cfg(all(doctest, feature = "graph", feature = "convert"))]
#[doc = include_str!("../../docs/converters.md")]
struct ConverterGuide;
