//! The operations: what each takes, what it gives, and how it is printed.

mod activation;
mod attribute;
mod broadcast;
mod call;
mod compare;
mod convert;
mod cumulative;
mod dot;
mod einsum;
mod elementwise;
mod gather;
mod index;
mod join;
mod linalg;
mod matrix;
mod operators;
mod random;
mod reduce;
mod scatter;
mod shape;
mod slice;
mod sort;
mod special;
mod windows;

pub use attribute::Attribute;
pub use call::{CustomCall, Results, custom_call, raw};
pub use einsum::einsum;
pub use gather::GatherOptions;
pub use join::{concatenate, stack};
pub use linalg::{Transpose, TriangularOptions};
pub use random::Key;
pub use scatter::{Combine, ScatterOptions};
#[doc(hidden)]
pub use slice::Part;
pub use slice::{Slice, Slices, Step, step};
