//! Broadcasting as numpy does it: shapes are aligned at their ends, and a size of 1 is repeated.

use super::super::axes;
use super::super::make::{aval, op};
use super::super::operand::Arg;
use super::super::poison::{Reason, build};
use super::super::value::{Types, Value};
use crate::aval::shape_text;

impl Value {
    /// Repeats the array to a larger shape: sizes are aligned at the ends, a size of 1 and a missing one are repeated.
    ///
    /// # Errors
    ///
    /// A size is neither 1 nor that of the new shape.
    #[track_caller]
    pub fn broadcast_to(&self, shape: impl AsRef<[i64]>) -> Value {
        build("broadcast_to", &[Arg::Value(self)], || self.broadcast_to_shape(shape.as_ref()))
    }

    /// [`Value::broadcast_to`] where a wrong shape is part of another operation's error.
    #[track_caller]
    pub(in super::super) fn broadcast_to_shape(&self, shape: &[i64]) -> Result<Value, Reason> {
        if self.shape() == shape {
            return Ok(self.clone());
        }
        let from = self.shape();
        let fits = from.len() <= shape.len()
            && from.iter().rev().zip(shape.iter().rev()).all(|(from, to)| *from == 1 || from == to);
        if !fits {
            return Err(format!("{} does not broadcast to {}", shape_text(from), shape_text(shape)));
        }
        let dims: Vec<usize> = (shape.len() - from.len()..shape.len()).collect();
        let text = format!("stablehlo.broadcast_in_dim $0, dims = {}", axes::list(&dims));
        Ok(op(text, Types::Function, [self], aval(self.dtype(), shape)?))
    }
}

/// The shape to which two shapes are broadcast.
pub(in super::super) fn common_shape(a: &[i64], b: &[i64]) -> Result<Vec<i64>, Reason> {
    let rank = a.len().max(b.len());
    let size = |shape: &[i64], i: usize| (i + shape.len()).checked_sub(rank).map_or(1, |i| shape[i]);
    let pair = |i: usize| match (size(a, i), size(b, i)) {
        (1, n) | (n, 1) => Some(n),
        (n, m) => (n == m).then_some(n),
    };
    let shape: Option<Vec<i64>> = (0..rank).map(pair).collect();
    shape.ok_or_else(|| format!("{} and {} do not broadcast", shape_text(a), shape_text(b)))
}
