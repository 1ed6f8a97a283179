//! Handlers: Rust functions that a compiled program calls, by XLA's foreign function interface.
//!
//! [`ffi_handler`](macro@crate::ffi_handler) makes a handler of a function. What a call passes is checked against the
//! signature before the function runs, in the language that families have too, so its body need not check anything.
//!
//! ```
//! use dispatch_runtime::{ffi::{self, Buffer, BufferMut}, prelude::*};
//!
//! /// `b`, again and again, times `scale`, plus `c`.
//! #[ffi_handler]
//! fn rotate_add(
//!     #[arg(dtype = f32, shape = [m])] b: Buffer<f32>,
//!     #[arg(dtype = f32, shape = [n])] c: Buffer<f32>,
//!     #[ret(dtype = f32, shape = [n])] mut out: BufferMut<f32>,
//!     #[attr(default = 1.0)] scale: f32,
//! ) -> ffi::Result<()> {
//!     if m == 0 {
//!         return Err(ffi::Error::invalid_argument("`b` is empty"));
//!     }
//!     for (o, c) in out.chunks_mut(m).zip(c.chunks(m)) {
//!         for ((o, b), c) in o.iter_mut().zip(&b[..]).zip(c) {
//!             *o = b * scale + c;
//!         }
//!     }
//!     Ok(())
//! }
//!
//! let client = Client::cpu()?;
//! client.register_ffi_handler("rotate_add", &ROTATE_ADD)?;
//! let text = r#"func.func @main(%b: tensor<2xf32>, %c: tensor<4xf32>) -> tensor<4xf32> {
//!   %0 = "stablehlo.custom_call"(%b, %c) {
//!     call_target_name = "rotate_add", backend_config = {scale = 2.0 : f32}, api_version = 4 : i32
//!   } : (tensor<2xf32>, tensor<4xf32>) -> tensor<4xf32>
//!   return %0 : tensor<4xf32>
//! }"#;
//! let program = client.compile(Program::<Array>::stablehlo(text)?)?;
//! let (b, c) = (client.array(&[1f32, 2.0], [2])?, client.array(&[10f32, 20.0, 30.0, 40.0], [4])?);
//! assert_eq!(program.execute(&[&b, &c])?[0].to_vec::<f32>()?, [12.0, 24.0, 32.0, 44.0]);
//! # Ok::<(), Error>(())
//! ```
//!
//! # Parameters
//!
//! | marked | types | what comes |
//! |---|---|---|
//! | `#[arg(dtype = …, shape = …)]`, `#[arg(like(a))]` | [`Buffer<T>`](Buffer) | a shared slice with a shape |
//! | | [`AnyBuffer`] | the same of a dtype known at run time: `any`, a choice, a class, `dtype(a)` |
//! | | [`Aliased`] | an argument whose contents a result takes over |
//! | | [`Token`] | orders calls, no data |
//! | | `Option` of these, behind the plain ones | none if the call has fewer arguments |
//! | | [`RemainingArgs`], the last | all that are left, each of any dtype |
//! | `#[ret(…)]` | [`BufferMut<T>`](BufferMut), [`AnyBufferMut`], [`Token`], `Option` of these, [`RemainingRets`] | the memory that the results are written to |
//! | `#[attr]`, `#[attr(name = "…", default = …)]` | what implements [`AttrValue`], `Option` of it | a constant of the program, of exactly this type: an `i32` is no `i64` |
//! | `#[attrs]` | [`Dictionary`] | all attributes, decoded when asked for; then those that nobody declares are no error |
//! | `#[ctx]` | [`ThreadPool`], [`DeviceOrdinal`], [`RunId`], [`UserData`], [`State`], [`Stream`], [`Scratch`] | what the execution provides; the last two not on a CPU |
//!
//! Buffers are dense and in row-major order. One without elements is an empty slice, whatever its address. XLA has
//! element types that Rust has not (`f8e4m3fn`, `i4`); an [`AnyBuffer`] of `dtype = any` takes them, shows their
//! [`DataType`] and gives their bytes. [`check!`] states in a body what a signature cannot.
//!
//! # Errors
//!
//! A handler returns [`Error`]s: one of sixteen [codes](ErrorCode) and a text. `?` makes one of any other error, with
//! the code INTERNAL. A call that does not fit the signature is an error too, which names the handler, the argument or
//! attribute, what was expected and what came. A panic is an INTERNAL error with its text.
//!
//! The error of a call arrives where the program is executed, or later, where one of its results is read.
//!
//! # Threads
//!
//! XLA calls handlers from any thread and several at a time: small programs on the thread that executes them, large
//! ones on threads of its own. A handler that leaves work to others returns a [`Future`].
//!
//! A handler may run a program itself. On the thread that executes its own it gets the result. On a thread of the plugin
//! the other program comes after its own, so waiting for it is an error (`unimplemented`) after half a second at most. A
//! handler that waits for a thread of its own which waits for the program is not helped so.
//!
//! # Memory that is shared
//!
//! A program may give a result the memory of an argument (`output_operand_aliases`). Rust forbids to read that through
//! one slice and write it through another, and nothing in a signature tells whether a program will do so. Therefore:
//!
//! * An argument in the memory of a result is copied before the call, and the handler sees the copy. So every handler gives
//!   the right results in every program. Where nothing is shared this costs one comparison.
//! * A handler that works in place says so: `#[ret(…, alias = x)]` beside `#[arg(…)] x: Aliased`. The result then begins with
//!   the contents of `x`, which is not read otherwise: it is in place already where the program aliases the two, and is
//!   copied there where it does not.
//! * Two results in one memory are an error.
//!
//! ```
//! use dispatch_runtime::{ffi::{self, Aliased, BufferMut}, prelude::*};
//!
//! #[ffi_handler]
//! fn double(
//!     #[arg(dtype = f32, shape = [_])] x: Aliased,
//!     #[ret(like(x), alias = x)] mut out: BufferMut<f32>,
//! ) -> ffi::Result<()> {
//!     out.iter_mut().for_each(|v| *v *= 2.0);
//!     Ok(())
//! }
//! # let _ = &DOUBLE;
//! ```
//!
//! A `bool` is a byte of 0 or 1, and another byte would be no value of the type in Rust. Programs make no other, but a
//! buffer can be uploaded with one: as a [`Buffer<bool>`](Buffer) that is an error, and what the memory of a
//! `BufferMut<bool>` happens to hold is made into `bool`s first. Both take a pass over the data; [`AnyBuffer`] gives the
//! bytes as they are. What a handler leaves there is read as `bool`s again, every byte but 0 as true.
//!
//! Elements of fewer than 8 bits, which Rust has no type for, stand packed in the bytes of an [`AnyBuffer`]: two `i4` in
//! each, the first in the lower bits. [`DataType::bits`] says how many an element has.
//!
//! # Other platforms
//!
//! A handler for CUDA is the same source, with buffers in the memory of the device, which the processor cannot read: it
//! takes [`AnyBuffer`] and [`AnyBufferMut`], gives their addresses and the [`Stream`] to others, and leaves alone what
//! reads or copies data: slices, `bool`s, results that take over an argument. Nothing of this has been run on such a
//! device.

pub mod abi;
mod any;
pub(crate) mod api;
mod attribute;
mod buffer;
mod check;
mod context;
mod data_type;
mod entry;
mod error;
mod frame;
mod future;
mod handler;
mod mend;
mod pattern;
pub mod registry;
mod remaining;
mod slot;
mod spec;
#[cfg(any(test, feature = "fake"))]
pub mod testing;
#[cfg(test)]
mod tests;
pub(crate) mod types;

pub use any::{Aliased, AnyBuffer, AnyBufferMut, Token};
pub use attribute::{Attr, AttrValue, Dictionary, Items, Pointer};
pub use buffer::{Argument, Buffer, BufferMut, Described, Output};
pub(crate) use check::{check_count, check_dtypes, nearest};
pub use context::{
    DeviceOrdinal, ExecutionData, FromCall, RunId, Scope, Scratch, State, Stream, ThreadPool, UserData,
};
pub use data_type::DataType;
pub use dispatch_macros::{AttrValue, ffi_check as check};
pub use entry::Answer;
pub(crate) use entry::in_handler;
pub use error::{Error, ErrorCode, Result};
pub use frame::Call;
pub use future::{Future, Promise, promise};
pub use handler::{Entry, Handler};
pub use pattern::Failed;
pub use remaining::{RemainingArgs, RemainingRets};
pub use spec::Stage;

/// A [`Token`] as a result.
pub type TokenMut = Token;

/// What expansions name; see [`crate::__private_0_1`].
#[doc(hidden)]
pub mod private {
    pub use super::any::inherit;
    pub use super::attribute::{AttrType, Cursor, integer_type};
    pub use super::buffer::{Rank, Want, leading, span};
    pub use super::context::leave;
    pub use super::entry::{Declared, enter};
    pub use super::pattern::{Captures, Constraint, Pattern, PatternDim, PatternLead, size};
    pub use super::slot::{Span, disjoint};
    pub use super::spec::{AttrSpec, Param, Spec, Stages};
    pub use super::*;
    pub use crate::DType;
    pub use crate::family::{dim, dim_back, lead, same_sizes};
    pub use crate::signature::{DTypeSpec, Dim, FieldSpec, Lead, LeafSpec, Scope, ShapeSpec};
}
