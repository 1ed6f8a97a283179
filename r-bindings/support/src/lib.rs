//! What an R package needs to use the runtime: R's values as arguments, handles that R's collector owns, errors as
//! R conditions.
//!
//! R leaves C code by `longjmp`, which must not pass Rust's frames, and runs on one thread. So there are two doors:
//!
//! * [`entry`] is how R comes in. It refuses a forked process and another thread, catches panics, and raises a
//!   [`Fault`] as an R condition.
//! * [`protect`] is how Rust goes out. Everything of R's API that can fail, allocate or run R code is called inside;
//!   a jump becomes [`Fault::Jump`], which takes its way through Rust as any other error and is continued by the
//!   C wrapper that called the entry.
//!
//! A package calls [`attach`] and then [`shared::join`] when it is loaded. From then on its clients and buffers are those
//! of the package `pjrtdispatch`, and of every other package that is built so.

// R's API takes and gives plain pointers to objects of R. Every value that comes in from R is one, and the functions
// here that take one from Rust say what else they ask for.
#![allow(clippy::not_unsafe_ptr_arg_deref)]

mod anvl;
mod arg;
mod background;
pub mod buffer;
pub mod cache;
pub mod client;
mod compiler;
pub mod compiles;
pub mod convert;
mod data;
pub mod describe;
pub mod dispatcher;
mod entry;
pub mod executable;
pub mod family;
mod fault;
pub mod ffi;
pub mod floats;
pub mod given;
mod handle;
pub mod handlers;
mod main_thread;
pub mod make;
pub mod memory;
pub mod printing;
mod progress;
mod read;
mod root;
pub mod runs;
pub mod shared;
pub mod skeleton;
mod slot;
pub mod statics;
mod string;
pub mod tree;
mod unwind;
mod upload;
pub mod view;

pub use arg::{Arg, Element, arg};
pub use data::{Data, Shape, shape_of};
pub use dispatch_runtime as runtime;
pub use entry::{attach, entry};
pub use fault::{Condition, Fault, Result, in_dots};
pub use ffi::SEXP;
pub use handle::{Handle, Kind, get, get_opt, interned, wrap};
pub use main_thread::MainThread;
pub use read::{as_array, as_raw, integers};
pub use root::Root;
pub use unwind::{check_interrupt, protect};
pub use upload::{Check, allowed, converted, default_dtype, upload, upload_data, zeros};
