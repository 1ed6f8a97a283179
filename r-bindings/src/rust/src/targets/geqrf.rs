//! `geqrf`: A [m, n] -> packed [m, n], tau [k].

use dispatch_runtime::ffi::{self, AnyBuffer, AnyBufferMut, Result};
use dispatch_runtime::prelude::ffi_handler;

use super::lapack::{self, Work};
use super::matrix::{for_real, store, zeros, Order, Real, Stack};

/// Householder's QR of each matrix: R in the upper triangle, the reflectors below it, their factors in `tau`.
#[ffi_handler]
pub(super) fn geqrf(
    #[arg(dtype = [f32, f64], shape = [batch.., m, n])] a: AnyBuffer<'_>,
    #[ret(dtype = dtype(a), shape = [batch.., m, n])] mut packed: AnyBufferMut<'_>,
    #[ret(dtype = dtype(a), shape = [batch.., _])] mut tau: AnyBufferMut<'_>,
    #[attr(default = false)] row_major: bool,
) -> Result<()> {
    let stack = Stack::new(m, n);
    ffi::check!(tau: any [.., {m.min(n)}]);
    for_real!(a, T => {
        factor::<T>(stack, Order::of(row_major), &a.typed()?, &mut packed.typed_mut()?, &mut tau.typed_mut()?)
    })
}

/// Householder's QR of each matrix, packed as LAPACK does it.
pub(super) fn factor<T: Real>(
    stack: Stack,
    order: Order,
    a: &[T],
    packed: &mut [T],
    tau: &mut [T],
) -> Result<()> {
    if a.is_empty() {
        return Ok(());
    }
    lapack::with(|lapack| {
        let (mut matrix, mut factors) = (zeros(stack.size())?, zeros(stack.rank())?);
        let mut work = Work::default();
        let results = packed.chunks_exact_mut(stack.size()).zip(tau.chunks_exact_mut(stack.rank()));
        for (a, (packed, tau)) in a.chunks_exact(stack.size()).zip(results) {
            order.load(a, stack, &mut matrix);
            lapack.geqrf(stack, &mut matrix, &mut factors, &mut work)?;
            order.store(&matrix, stack, packed);
            store(&factors, tau);
        }
        Ok(())
    })
}
