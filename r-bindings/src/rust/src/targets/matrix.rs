//! Matrices between XLA's buffers and LAPACK's arrays.

use dispatch_runtime::ffi::{Error, Result};
use dispatch_runtime::host::{to_column_major, to_row_major};

/// The matrices of a buffer: the last two dimensions are a matrix's, those before count them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stack {
    pub rows: usize,
    pub columns: usize,
}

impl Stack {
    pub fn new(rows: usize, columns: usize) -> Stack {
        Stack { rows, columns }
    }

    /// The elements of one matrix.
    pub fn size(self) -> usize {
        self.rows * self.columns
    }

    /// The smaller of the two sizes.
    pub fn rank(self) -> usize {
        self.rows.min(self.columns)
    }
}

/// How the elements of a matrix follow each other in a buffer, which XLA's call does not tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// As in LAPACK and R: programs ask for it by the layouts of the call.
    Columns,
    /// XLA's own, where a call writes no layouts.
    Rows,
}

impl Order {
    pub fn of(row_major: bool) -> Order {
        if row_major {
            Order::Rows
        } else {
            Order::Columns
        }
    }

    /// Copies a matrix out of a buffer.
    pub fn load<T: Real>(self, from: &[T], stack: Stack, to: &mut [f64]) {
        assert!(from.len() == stack.size() && to.len() == stack.size(), "a matrix of another size");
        match self {
            Order::Columns => from.iter().zip(to).for_each(|(&from, to)| *to = from.wide()),
            // SAFETY: there are as many elements on both sides.
            Order::Rows => unsafe { to_column_major(from.as_ptr(), &shape(stack), to.as_mut_ptr(), T::wide) },
        }
    }

    /// Copies a matrix into a buffer.
    pub fn store<T: Real>(self, from: &[f64], stack: Stack, to: &mut [T]) {
        assert!(from.len() == stack.size() && to.len() == stack.size(), "a matrix of another size");
        match self {
            Order::Columns => store(from, to),
            // SAFETY: there are as many elements on both sides.
            Order::Rows => unsafe { to_row_major(from.as_ptr(), &shape(stack), to.as_mut_ptr(), T::rounded) },
        }
    }
}

/// Copies numbers into a buffer.
pub(super) fn store<T: Real>(from: &[f64], to: &mut [T]) {
    from.iter().zip(to).for_each(|(&from, to)| *to = T::rounded(from));
}

fn shape(stack: Stack) -> [i64; 2] {
    [stack.rows as i64, stack.columns as i64]
}

/// A number as buffers have them. R's LAPACK knows doubles only: smaller ones are computed as such and rounded once.
pub(super) trait Real: Copy {
    const NAN: Self;
    fn wide(self) -> f64;
    fn rounded(value: f64) -> Self;
}

impl Real for f64 {
    const NAN: f64 = f64::NAN;

    fn wide(self) -> f64 {
        self
    }

    fn rounded(value: f64) -> f64 {
        value
    }
}

impl Real for f32 {
    const NAN: f32 = f32::NAN;

    fn wide(self) -> f64 {
        self.into()
    }

    fn rounded(value: f64) -> f32 {
        value as f32
    }
}

/// Computes with `$type` as that of the buffer's elements, which is `f32` or `f64`.
macro_rules! for_real {
    ($buffer:ident, $type:ident => $compute:expr) => {
        match $buffer.dtype() {
            Some(dispatch_runtime::DType::F32) => {
                type $type = f32;
                $compute
            }
            _ => {
                type $type = f64;
                $compute
            }
        }
    };
}
pub(super) use for_real;

/// Room for as many numbers.
pub(super) fn zeros<T: Copy + Default>(count: usize) -> Result<Vec<T>> {
    let mut room = Vec::new();
    room.try_reserve_exact(count).map_err(|_| {
        let bytes = count.saturating_mul(size_of::<T>());
        Error::resource_exhausted(format!("there is no memory for {bytes} bytes of working space"))
    })?;
    room.resize(count, T::default());
    Ok(room)
}
