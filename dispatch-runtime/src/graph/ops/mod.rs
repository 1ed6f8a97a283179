//! The operations: what each takes, what it gives, and how it is printed.

mod activation;
mod broadcast;
mod call;
mod compare;
mod conv;
mod convert;
mod cumulative;
mod dot;
mod einsum;
mod elementwise;
mod fft;
mod gather;
mod index;
mod join;
mod linalg;
mod matrix;
mod operators;
mod padding;
mod pool;
mod random;
mod reduce;
mod scatter;
mod shape;
mod slice;
mod sort;
mod special;
mod windows;

pub use call::{Results, raw};
pub use conv::Conv;
pub use einsum::einsum;
pub use gather::GatherOptions;
pub use join::{concatenate, stack};
pub use linalg::{Transpose, TriangularOptions};
pub use padding::Padding;
pub use pool::Window;
pub use random::Key;
pub use scatter::{Combine, ScatterOptions};
#[doc(hidden)]
pub use slice::Part;
pub use slice::{Slice, Slices, Step, step};
