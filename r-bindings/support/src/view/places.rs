//! Where the elements of a view are: whether results can be written there, and whether another view is of the same memory.

use dispatch_runtime::host::Places;

use super::{Region, View};
use crate::fault::Result;
use crate::ffi::*;
use crate::handle;

/// What places are counted in.
#[derive(PartialEq, Eq)]
enum Space {
    /// The memory of the process.
    Memory,
    /// The file of this device and number, wherever it is mapped, and however often.
    File(u64, u64),
}

impl View {
    /// Whether elements have a place in common.
    pub(super) fn repeats(&self) -> bool {
        self.places().1.repeat()
    }

    fn places(&self) -> (Space, Places) {
        let (space, start) = match &self.region {
            Region::Mapping(mapping) => {
                let (device, number, start) = mapping.place();
                (Space::File(device, number), start as usize)
            }
            region => (Space::Memory, region.data().0 as usize),
        };
        let size = self.dtype.size();
        let distances: Vec<i64> = self.steps().iter().map(|&step| step as i64).collect();
        (space, Places::new(start + self.offset * size, size, &self.shape, &distances))
    }
}

/// What an object is, if it is a view that no result can be written to.
pub(crate) fn why_not_written(x: SEXP) -> Result<Option<&'static str>> {
    if !super::is(x) {
        return Ok(None);
    }
    // SAFETY: the caller keeps the object.
    let view = unsafe { handle::get::<View>(x, "view") }?;
    Ok(match () {
        () if view.read_only => Some("data that is read-only"),
        () if view.repeats() => Some("elements that share memory"),
        () => None,
    })
}

/// Whether two views have memory in common, or the same part of a file. What an object of R keeps outside of the process, or maps
/// by itself, is known by its address only.
pub(crate) fn same_memory(a: SEXP, b: SEXP) -> Result<bool> {
    // SAFETY: the caller keeps the objects.
    let (a, b) = unsafe { (handle::get::<View>(a, "a")?, handle::get::<View>(b, "b")?) };
    let ((in_a, a), (in_b, b)) = (a.places(), b.places());
    Ok(in_a == in_b && a.meet(&b))
}
