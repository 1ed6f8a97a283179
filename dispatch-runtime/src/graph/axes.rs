//! Axes: which dimensions an operation is about.

use std::ops::RangeFull;

use super::poison::Reason;
use crate::error::counted;

/// Which axes an operation is about: one, several, or all of them (`..`).
///
/// A negative axis counts from the end: -1 is the last one. [`keep`] around the axes of a reduction keeps them with size 1.
///
/// ```
/// use dispatch_runtime::DType;
/// use dispatch_runtime::graph::{Value, keep};
///
/// let x = Value::ones(DType::F32, [2, 3, 4]);
/// assert_eq!(x.sum(0).shape(), [3, 4]);
/// assert_eq!(x.sum([0, -1]).shape(), [3]);
/// assert_eq!(x.sum(..).shape(), []);
/// assert_eq!(x.sum(keep(-1)).shape(), [2, 3, 1]);
/// ```
pub trait Axes {
    #[doc(hidden)]
    fn list(&self, rank: usize) -> Result<Vec<usize>, String>;

    /// Whether a reduction keeps the axes with size 1.
    #[doc(hidden)]
    fn keeps(&self) -> bool {
        false
    }

    /// Whether it is `..`, for which some operations have a meaning of their own.
    #[doc(hidden)]
    fn all(&self) -> bool {
        false
    }
}

/// The axes of a reduction that keeps them, with size 1, so that its result broadcasts against its operand.
#[derive(Clone, Copy, Debug)]
pub struct Keep<A>(A);

/// Keeps the axes of a reduction with size 1: `&x - x.mean(keep(1))`.
pub fn keep<A: Axes>(axes: A) -> Keep<A> {
    Keep(axes)
}

impl<A: Axes> Axes for Keep<A> {
    fn list(&self, rank: usize) -> Result<Vec<usize>, String> {
        self.0.list(rank)
    }

    fn keeps(&self) -> bool {
        true
    }
}

impl Axes for i64 {
    fn list(&self, rank: usize) -> Result<Vec<usize>, String> {
        Ok(vec![axis(*self, rank)?])
    }
}

impl Axes for [i64] {
    fn list(&self, rank: usize) -> Result<Vec<usize>, String> {
        let mut list = Vec::with_capacity(self.len());
        for &given in self {
            let axis = axis(given, rank)?;
            if list.contains(&axis) {
                return Err(format!("axis {given} is named twice"));
            }
            list.push(axis);
        }
        Ok(list)
    }
}

impl<const N: usize> Axes for [i64; N] {
    fn list(&self, rank: usize) -> Result<Vec<usize>, String> {
        self[..].list(rank)
    }
}

impl Axes for Vec<i64> {
    fn list(&self, rank: usize) -> Result<Vec<usize>, String> {
        self[..].list(rank)
    }
}

impl<A: Axes + ?Sized> Axes for &A {
    fn list(&self, rank: usize) -> Result<Vec<usize>, String> {
        (**self).list(rank)
    }

    fn keeps(&self) -> bool {
        (**self).keeps()
    }

    fn all(&self) -> bool {
        (**self).all()
    }
}

impl Axes for RangeFull {
    fn list(&self, rank: usize) -> Result<Vec<usize>, String> {
        Ok((0..rank).collect())
    }

    fn all(&self) -> bool {
        true
    }
}

/// An axis that counts from the end if it is negative.
pub(super) fn axis(axis: i64, rank: usize) -> Result<usize, Reason> {
    let n = rank as i64;
    let from_front = if axis < 0 { axis + n } else { axis };
    if (0..n).contains(&from_front) {
        return Ok(from_front as usize);
    }
    Err(format!("there is no axis {axis} among {}", counted(rank, "dimension")))
}

/// `[0, 2]`: sizes or axes as an attribute.
pub(super) fn list<T: std::fmt::Display>(items: &[T]) -> String {
    let items: Vec<String> = items.iter().map(T::to_string).collect();
    format!("[{}]", items.join(", "))
}
