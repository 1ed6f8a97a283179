//! `svd`: A [m, n] -> U [m, k], S [k], Vt [k, n].

use dispatch_runtime::ffi::{self, AnyBuffer, AnyBufferMut, Result};
use dispatch_runtime::prelude::ffi_handler;

use super::lapack::{self, Work};
use super::matrix::{for_real, store, zeros, Order, Real, Stack};

/// The reduced singular value decomposition of each matrix.
#[ffi_handler]
pub(super) fn svd(
    #[arg(dtype = [f32, f64], shape = [batch.., m, n])] a: AnyBuffer<'_>,
    #[ret(dtype = dtype(a), shape = [batch.., m, _])] mut u: AnyBufferMut<'_>,
    #[ret(dtype = dtype(a), shape = [batch.., _])] mut s: AnyBufferMut<'_>,
    #[ret(dtype = dtype(a), shape = [batch.., _, n])] mut vt: AnyBufferMut<'_>,
    #[attr(default = false)] row_major: bool,
) -> Result<()> {
    let stack = Stack::new(m, n);
    ffi::check!(u: any [.., _, {m.min(n)}]);
    ffi::check!(s: any [.., {m.min(n)}]);
    ffi::check!(vt: any [.., {m.min(n)}, _]);
    for_real!(a, T => {
        let results = (&mut u.typed_mut()?[..], &mut s.typed_mut()?[..], &mut vt.typed_mut()?[..]);
        decompose::<T>(stack, Order::of(row_major), &a.typed()?, results)
    })
}

/// The reduced singular value decomposition of each matrix. Where a matrix is not finite, or LAPACK finds no answer, its
/// results are NaN: some versions of LAPACK would never end.
pub(super) fn decompose<T: Real>(
    stack: Stack,
    order: Order,
    a: &[T],
    (u, s, vt): (&mut [T], &mut [T], &mut [T]),
) -> Result<()> {
    if a.is_empty() {
        return Ok(());
    }
    let k = stack.rank();
    let (left, right) = (Stack::new(stack.rows, k), Stack::new(k, stack.columns));
    lapack::with(|lapack| {
        let mut matrix = zeros(stack.size())?;
        let (mut u_room, mut s_room, mut vt_room) = (zeros(left.size())?, zeros(k)?, zeros(right.size())?);
        let mut work = Work::new(8 * k)?;
        let results = u.chunks_exact_mut(left.size()).zip(s.chunks_exact_mut(k));
        let results = results.zip(vt.chunks_exact_mut(right.size()));
        for (a, ((u, s), vt)) in a.chunks_exact(stack.size()).zip(results) {
            order.load(a, stack, &mut matrix);
            let rooms = (&mut u_room[..], &mut s_room[..], &mut vt_room[..]);
            let finite = matrix.iter().all(|x| x.is_finite());
            if finite && lapack.gesdd(stack, &mut matrix, rooms, &mut work)? {
                order.store(&u_room, left, u);
                store(&s_room, s);
                order.store(&vt_room, right, vt);
            } else {
                [u, s, vt].into_iter().for_each(|result| result.fill(T::NAN));
            }
        }
        Ok(())
    })
}
