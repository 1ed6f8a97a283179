//! `orgqr`: packed [m, n], tau [k] -> Q [m, k].

use dispatch_runtime::ffi::{self, AnyBuffer, AnyBufferMut, Result};
use dispatch_runtime::prelude::ffi_handler;

use super::lapack::{self, Work};
use super::matrix::{for_real, zeros, Order, Real, Stack};

/// The first columns of the orthogonal factor of what `geqrf` gave.
#[ffi_handler]
pub(super) fn orgqr(
    #[arg(dtype = [f32, f64], shape = [batch.., m, n])] packed: AnyBuffer<'_>,
    #[arg(dtype = dtype(packed), shape = [batch.., _])] tau: AnyBuffer<'_>,
    #[ret(dtype = dtype(packed), shape = [batch.., m, _])] mut q: AnyBufferMut<'_>,
    #[attr(default = false)] row_major: bool,
) -> Result<()> {
    let stack = Stack::new(m, n);
    ffi::check!(tau: any [.., {m.min(n)}]);
    ffi::check!(q: any [.., _, {m.min(n)}]);
    for_real!(packed, T => {
        unpack::<T>(stack, Order::of(row_major), &packed.typed()?, &tau.typed()?, &mut q.typed_mut()?)
    })
}

/// The orthogonal factors of what `geqrf` packed.
pub(super) fn unpack<T: Real>(
    stack: Stack,
    order: Order,
    packed: &[T],
    tau: &[T],
    q: &mut [T],
) -> Result<()> {
    if packed.is_empty() {
        return Ok(());
    }
    let k = stack.rank();
    let thin = Stack::new(stack.rows, k);
    lapack::with(|lapack| {
        let mut matrix = zeros(stack.size())?;
        let mut factors = zeros(k)?;
        let mut work = Work::default();
        let given = packed.chunks_exact(stack.size()).zip(tau.chunks_exact(k));
        for ((packed, tau), q) in given.zip(q.chunks_exact_mut(thin.size())) {
            order.load(packed, stack, &mut matrix);
            factors.iter_mut().zip(tau).for_each(|(to, from)| *to = from.wide());
            // The reflectors stand in the first columns.
            let reflectors = &mut matrix[..thin.size()];
            lapack.orgqr(stack, reflectors, &factors, &mut work)?;
            order.store(reflectors, thin, q);
        }
        Ok(())
    })
}
