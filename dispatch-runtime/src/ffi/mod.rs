//! Handlers: Rust functions that a compiled program calls, by XLA's foreign function interface.

pub mod abi;
pub(crate) mod api;
pub mod registry;
