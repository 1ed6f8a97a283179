//! Memory for data that is given to other libraries.

use crate::HostArray;

/// DLPack asks for data that begins at a multiple of 256 bytes, Arrow for 64.
#[repr(C, align(256))]
#[derive(Clone, Copy)]
pub(super) struct Block([u8; 256]);

/// Bytes that nobody else has, where other libraries can use them.
pub(super) enum Room {
    /// A copy.
    Copy(Box<[Block]>),
    /// The elements of an array that was given away, where they are.
    Given(HostArray),
}

impl Room {
    /// A copy of some bytes.
    pub fn of(bytes: &[u8]) -> Room {
        let mut blocks = vec![Block([0; 256]); bytes.len().div_ceil(256)].into_boxed_slice();
        // SAFETY: the blocks have no padding, and are as many bytes or more; they are new, so nothing overlaps.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), blocks.as_mut_ptr().cast(), bytes.len()) };
        Room::Copy(blocks)
    }

    pub fn as_mut_ptr(&mut self) -> *mut u8 {
        match self {
            Room::Copy(blocks) => blocks.as_mut_ptr().cast(),
            // SAFETY: nothing is written here. A library that does later writes what it was told that the elements are, and
            // the array is used for nothing else any more.
            Room::Given(array) => unsafe { array.bytes_mut() }.as_mut_ptr(),
        }
    }
}
