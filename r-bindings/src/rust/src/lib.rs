//! The functions behind the R package pjrtdispatch.
//!
//! Each reads its arguments, calls what the crates `dispatch-r` and `dispatch-runtime` have, and makes an R value;
//! [`entry`](dispatch_r::entry) turns errors into R conditions. The R functions are in `R/`, one file per class, as
//! here; `init.c`, `api.h` and `R/000-wrappers.R` are made from this crate by `make generate`.

// Written by savvy's macro for each function.
#![allow(
    missing_docs,
    unsafe_op_in_unsafe_fn,
    clippy::missing_safety_doc,
    clippy::undocumented_unsafe_blocks
)]

mod buffer;
mod cache;
mod client;
mod converter;
mod device;
mod dispatcher;
mod handler;
mod plugin;
mod program;
mod promise;
mod session;
mod skeleton;
mod targets;
mod tree;
mod view;
