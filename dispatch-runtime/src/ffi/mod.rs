//! Handlers: Rust functions that a compiled program calls, by XLA's foreign function interface.

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
pub use error::{Error, ErrorCode, Result};
pub use frame::Call;
pub(crate) use future::answers_are_pending;
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
    pub use super::frame::{Span, disjoint};
    pub use super::pattern::{Captures, Constraint, Pattern, PatternDim, PatternLead, size};
    pub use super::spec::{AttrSpec, Param, Spec, Stages, StateType};
    pub use super::*;
    pub use crate::DType;
    pub use crate::family::{dim, dim_back, lead, same_sizes};
    pub use crate::signature::{DTypeSpec, Dim, FieldSpec, Lead, LeafSpec, Scope, ShapeSpec};
}
