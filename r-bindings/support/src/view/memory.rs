//! Memory that a device can use as it is.

use std::alloc::{Layout, alloc, dealloc};
use std::ptr::NonNull;

use dispatch_runtime::{Aval, DType};

use crate::describe;
use crate::fault::{Fault, Result};

/// What XLA's CPU client wants of an address before it takes the memory as it is.
const ALIGNMENT: usize = 64;

/// Room for the elements of an array, aligned; nobody writes to it once a device has it.
pub(crate) struct Memory {
    at: NonNull<u8>,
    layout: Layout,
    bytes: usize,
}

// SAFETY: plain memory. It is written on R's thread, and only before it is shared.
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

impl Memory {
    /// Room that was not written to yet.
    pub fn new(dtype: DType, shape: &[i64]) -> Result<Memory> {
        let none = || {
            let expected = format!("a shape with few enough elements of {dtype} for the memory of the host");
            Fault::argument("shape", "shape", expected, describe::sizes(shape))
        };
        let bytes = Aval::try_new(dtype, shape).ok_or_else(none)?.size_bytes();
        let layout = Layout::from_size_align(bytes.max(1), ALIGNMENT).map_err(|_| none())?;
        // SAFETY: the size is not 0.
        let at = NonNull::new(unsafe { alloc(layout) }).ok_or_else(none)?;
        Ok(Memory { at, layout, bytes })
    }

    pub fn data(&self) -> *mut u8 {
        self.at.as_ptr()
    }

    pub fn len(&self) -> usize {
        self.bytes
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout, once.
        unsafe { dealloc(self.at.as_ptr(), self.layout) };
    }
}
