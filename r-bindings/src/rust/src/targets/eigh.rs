//! `eigh`: A [n, n] -> vectors [n, n], values [n].

use dispatch_runtime::ffi::{AnyBuffer, AnyBufferMut, Result};
use dispatch_runtime::prelude::ffi_handler;

use super::lapack::{self, Work};
use super::matrix::{for_real, store, zeros, Order, Real, Stack};

/// The eigenvectors and the ascending eigenvalues of each symmetric matrix, whose lower triangle is read.
#[ffi_handler]
pub(super) fn eigh(
    #[arg(dtype = [f32, f64], shape = [batch.., n, n])] a: AnyBuffer<'_>,
    #[ret(dtype = dtype(a), shape = [batch.., n, n])] mut vectors: AnyBufferMut<'_>,
    #[ret(dtype = dtype(a), shape = [batch.., n])] mut values: AnyBufferMut<'_>,
    #[attr(default = false)] row_major: bool,
) -> Result<()> {
    for_real!(a, T => {
        decompose::<T>(n, Order::of(row_major), &a.typed()?, &mut vectors.typed_mut()?, &mut values.typed_mut()?)
    })
}

/// The eigenvectors and eigenvalues of each symmetric matrix, of which the lower triangle is read. Where that is not
/// finite, or LAPACK finds no answer, both results are NaN.
pub(super) fn decompose<T: Real>(
    n: usize,
    order: Order,
    a: &[T],
    vectors: &mut [T],
    values: &mut [T],
) -> Result<()> {
    if a.is_empty() {
        return Ok(());
    }
    let stack = Stack::new(n, n);
    lapack::with(|lapack| {
        let (mut matrix, mut values_room) = (zeros(stack.size())?, zeros(n)?);
        let mut work = Work::new(3 + 5 * n)?;
        let results = vectors.chunks_exact_mut(stack.size()).zip(values.chunks_exact_mut(n));
        for (a, (vectors, values)) in a.chunks_exact(stack.size()).zip(results) {
            order.load(a, stack, &mut matrix);
            let mut columns = matrix.chunks_exact(n).enumerate();
            let finite = columns.all(|(j, column)| column[j..].iter().all(|x| x.is_finite()));
            if finite && lapack.syevd(n, &mut matrix, &mut values_room, &mut work)? {
                order.store(&matrix, stack, vectors);
                store(&values_room, values);
            } else {
                vectors.fill(T::NAN);
                values.fill(T::NAN);
            }
        }
        Ok(())
    })
}
