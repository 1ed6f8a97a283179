//! Parts of a view as data of R, for who looks at some elements of a large one.

use dispatch_runtime::HostView;

use super::View;
use crate::fault::{Fault, Result};
use crate::{Arg, Root, read};

/// The elements of a part of a view as a vector or array of R, not protected: along each dimension so many from a place on, counted
/// from 0. Nothing else of the view is read.
pub fn part(view: Arg<'_>, from: &[i64], sizes: &[i64]) -> Result<Root> {
    let (x, path) = (view.handle::<View>()?, view.name());
    let (strides, offset) = x.layout_of(from, sizes).ok_or_else(|| {
        let got = format!("{sizes:?} elements from {from:?} on");
        Fault::argument("value", "from", format!("a part of {:?} elements", x.shape), got)
    })?;
    // From here on R runs no code, so what is checked then still holds while it is read.
    let out = read::room(x.dtype, sizes)?;
    x.check(path)?;
    let (data, bytes) = x.region.data();
    // SAFETY: the handle keeps the object, the view the rest; booleans were checked.
    let host = unsafe { HostView::from_parts(x.dtype, sizes, Some(&strides), offset, data, bytes)? };
    read::fill_in(&out, host);
    Ok(out)
}

impl View {
    /// The strides of a part and where it begins, in elements; none if it is not inside.
    fn layout_of(&self, from: &[i64], sizes: &[i64]) -> Option<(Vec<i64>, usize)> {
        let rank = self.shape.len();
        let ends = from.iter().zip(sizes).zip(&self.shape);
        let inside = |((&from, &size), &n): ((&i64, &i64), &i64)| {
            from >= 0 && size >= 0 && from.checked_add(size).is_some_and(|end| end <= n)
        };
        if from.len() != rank || sizes.len() != rank || !ends.into_iter().all(inside) {
            return None;
        }
        let size = self.dtype.size() as i64;
        let strides: Vec<i64> = self.steps().iter().map(|&step| step as i64 / size).collect();
        // Of nothing no element is read, wherever it begins.
        let first = if sizes.contains(&0) {
            self.offset as i64
        } else {
            self.offset as i64 + from.iter().zip(&strides).map(|(from, stride)| from * stride).sum::<i64>()
        };
        Some((strides, usize::try_from(first).ok()?))
    }
}
