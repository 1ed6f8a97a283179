//! Writing an array back to where a view's data lies.

use dispatch_runtime::host::Converted;
use dispatch_runtime::{Array, HostView};

use super::{Region, View};
use crate::fault::{Fault, Result};
use crate::{Arg, buffer, describe};

/// Writes the elements of a buffer to the places of the view's data, at the view's dtype. Nothing is written if that cannot
/// hold one of them.
pub fn write(view: Arg<'_>, array: &Array) -> Result<()> {
    let name = view.name();
    let view = view.handle::<View>()?;
    let is_open = match &view.region {
        Region::Object { is_vector, .. } => !is_vector,
        Region::Mapping(mapping) => mapping.is_writable(),
        Region::Memory(_) => false,
    };
    if view.read_only || !is_open {
        return Err(Fault::argument(
            "read_only",
            name,
            "data that may be written to",
            "data that is read-only",
        ));
    }
    if view.repeats() {
        let expected = "data whose elements have a place each";
        return Err(Fault::argument("strides", name, expected, "elements that share memory"));
    }
    if array.shape() != view.shape {
        let expected = format!("a result of shape {}", describe::sizes(&view.shape));
        return Err(Fault::argument("shape", name, expected, describe::sizes(array.shape())));
    }
    if let Region::Mapping(mapping) = &view.region {
        mapping.check(name)?;
    }
    buffer::wait(array, name)?;
    array
        .with_bytes(|bytes| {
            // SAFETY: these are the elements of the array, row-major.
            let host = unsafe { HostView::from_raw(array.dtype(), array.shape(), bytes.as_ptr()) };
            let converted = Converted::new(host, view.dtype, &|| name.to_owned())?;
            let from = converted.view().as_ptr();
            let (to, _) = view.region.data();
            let size = view.dtype.size();
            // SAFETY: the layout was found to be inside of the region, whose owner lets it be written to.
            unsafe { scatter(from, &view.shape, &view.steps(), size, to.add(view.offset * size)) };
            Ok(())
        })
        .and_then(|done: dispatch_runtime::Result<()>| done)
        .map_err(|error| Fault::named(error, name))
}

impl View {
    /// The distance of neighbours along each dimension in bytes.
    pub(super) fn steps(&self) -> Vec<isize> {
        let size = self.dtype.size() as isize;
        match &self.strides {
            Some(strides) => strides.iter().map(|&stride| stride as isize * size).collect(),
            None => {
                let mut step = size;
                let mut steps: Vec<isize> = self
                    .shape
                    .iter()
                    .rev()
                    .map(|&n| {
                        let this = step;
                        step *= n as isize;
                        this
                    })
                    .collect();
                steps.reverse();
                steps
            }
        }
    }
}

/// Writes dense elements to where the steps say.
///
/// # Safety
///
/// `from` has as many elements as the shape says, `to` is the place of the first, and the steps stay inside of its memory.
unsafe fn scatter(from: *const u8, shape: &[i64], steps: &[isize], size: usize, to: *mut u8) {
    // SAFETY: by the caller's promise, for each part of the array.
    unsafe {
        let ([n, shape @ ..], [step, steps @ ..]) = (shape, steps) else {
            return to.copy_from_nonoverlapping(from, size);
        };
        let inner: usize = shape.iter().product::<i64>() as usize * size;
        if shape.is_empty() {
            return match size {
                8 => row::<[u8; 8]>(from, *n, *step, to),
                4 => row::<[u8; 4]>(from, *n, *step, to),
                2 => row::<[u8; 2]>(from, *n, *step, to),
                1 => row::<[u8; 1]>(from, *n, *step, to),
                _ => row::<[u8; 16]>(from, *n, *step, to),
            };
        }
        for i in 0..*n as usize {
            scatter(from.add(i * inner), shape, steps, size, to.offset(i as isize * step));
        }
    }
}

/// # Safety
///
/// As for [`scatter`], of one dimension.
unsafe fn row<T: Copy>(from: *const u8, n: i64, step: isize, to: *mut u8) {
    for i in 0..n as usize {
        // SAFETY: by the caller's promise; bytes need no alignment.
        unsafe { to.offset(i as isize * step).cast::<T>().write(from.cast::<T>().add(i).read()) };
    }
}
