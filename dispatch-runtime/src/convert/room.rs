//! Memory for data that is given to other libraries.

/// DLPack asks for data that begins at a multiple of 256 bytes, Arrow for 64.
#[repr(C, align(256))]
#[derive(Clone, Copy)]
struct Block([u8; 256]);

/// A copy of some bytes, where other libraries can use them.
pub(super) struct Room(Box<[Block]>);

impl Room {
    pub fn of(bytes: &[u8]) -> Room {
        let mut blocks = vec![Block([0; 256]); bytes.len().div_ceil(256)].into_boxed_slice();
        // SAFETY: the blocks have no padding, and are as many bytes or more; they are new, so nothing overlaps.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), blocks.as_mut_ptr().cast(), bytes.len()) };
        Room(blocks)
    }

    pub fn as_mut_ptr(&mut self) -> *mut u8 {
        self.0.as_mut_ptr().cast()
    }
}
