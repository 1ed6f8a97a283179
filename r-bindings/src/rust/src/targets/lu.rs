//! `lu`: A [m, n] -> LU [m, n], pivots i32 [k].

use dispatch_runtime::ffi::{self, AnyBuffer, AnyBufferMut, BufferMut, Result};
use dispatch_runtime::prelude::ffi_handler;

use super::lapack;
use super::matrix::{for_real, zeros, Order, Real, Stack};

/// The triangular factors of each matrix with its rows swapped, in one; `pivots` are the swaps, rows from 1 on.
#[ffi_handler]
pub(super) fn lu(
    #[arg(dtype = [f32, f64], shape = [batch.., m, n])] a: AnyBuffer<'_>,
    #[ret(dtype = dtype(a), shape = [batch.., m, n])] mut lu: AnyBufferMut<'_>,
    #[ret(dtype = i32, shape = [batch.., _])] mut pivots: BufferMut<'_, i32>,
    #[attr(default = false)] row_major: bool,
) -> Result<()> {
    let stack = Stack::new(m, n);
    ffi::check!(pivots: any [.., {m.min(n)}]);
    for_real!(a, T => factor::<T>(stack, Order::of(row_major), &a.typed()?, &mut lu.typed_mut()?, &mut pivots))
}

/// The triangular factors of each matrix, in one, and which rows were swapped.
pub(super) fn factor<T: Real>(
    stack: Stack,
    order: Order,
    a: &[T],
    lu: &mut [T],
    pivots: &mut [i32],
) -> Result<()> {
    if a.is_empty() {
        return Ok(());
    }
    lapack::with(|lapack| {
        let mut matrix = zeros(stack.size())?;
        let results = lu.chunks_exact_mut(stack.size()).zip(pivots.chunks_exact_mut(stack.rank()));
        for (a, (lu, pivots)) in a.chunks_exact(stack.size()).zip(results) {
            order.load(a, stack, &mut matrix);
            lapack.getrf(stack, &mut matrix, pivots)?;
            order.store(&matrix, stack, lu);
        }
        Ok(())
    })
}
