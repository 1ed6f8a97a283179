//! The buffers of a call frame: what they hold and where, before anybody takes them for elements of a type.

use std::ffi::{c_int, c_void};
use std::ptr::NonNull;
use std::slice;

use super::DataType;
use super::abi::{self, XLA_FFI_Buffer};

/// A buffer of a frame, all of whose fields are there.
#[derive(Clone, Copy)]
pub struct Slot<'a>(&'a XLA_FFI_Buffer);

/// What a slot holds, sizes multiplied.
#[derive(Clone, Copy)]
pub(super) struct Extent<'a> {
    pub dims: &'a [i64],
    /// The number of elements.
    pub len: usize,
    pub bytes: usize,
}

impl<'a> Slot<'a> {
    /// The buffer with an index in a list of arguments or results.
    ///
    /// # Safety
    ///
    /// The lists have `size` items; the pointers are null or valid.
    #[inline(always)]
    pub(super) unsafe fn in_list(
        size: i64,
        types: *mut c_int,
        items: *mut *mut c_void,
        i: usize,
    ) -> Option<Slot<'a>> {
        if i >= size as usize {
            return None;
        }
        // SAFETY: `i` is inside of the lists.
        let (kind, buffer) = unsafe { (*types.add(i), (*items.add(i)).cast::<XLA_FFI_Buffer>()) };
        if kind != abi::BUFFER || buffer.is_null() {
            return None;
        }
        // SAFETY: a buffer reaches as far as it says.
        unsafe { ((*buffer).struct_size >= size_of::<XLA_FFI_Buffer>()).then(|| Slot(&*buffer)) }
    }

    /// A buffer that has been read before.
    ///
    /// # Safety
    ///
    /// It is one that [`Slot::in_list`] has given, for `'a`.
    #[inline(always)]
    pub(super) unsafe fn checked(buffer: *mut c_void) -> Slot<'a> {
        // SAFETY: by the contract.
        Slot(unsafe { &*buffer.cast::<XLA_FFI_Buffer>() })
    }

    #[inline(always)]
    pub(super) fn data_type(self) -> DataType {
        DataType(self.0.dtype)
    }

    #[inline(always)]
    pub(super) fn data(self) -> *mut c_void {
        self.0.data
    }

    pub(super) fn raw(self) -> &'a XLA_FFI_Buffer {
        self.0
    }

    #[inline(always)]
    pub(super) fn rank(self) -> i64 {
        self.0.rank
    }

    /// The sizes, if the rank is not negative and they are there.
    #[inline(always)]
    pub(super) fn dims(self) -> Option<&'a [i64]> {
        match self.0.rank {
            0 => Some(&[]),
            rank if rank > 0 && !self.0.dims.is_null() => {
                // SAFETY: `dims` has `rank` items.
                Some(unsafe { slice::from_raw_parts(self.0.dims, rank as usize) })
            }
            _ => None,
        }
    }

    /// How much there is of elements of this size, if it fits into memory.
    #[inline(always)]
    pub(super) fn extent(self, size: usize) -> Option<Extent<'a>> {
        let dims = self.dims()?;
        // Without a way out for each size: a sign and an overflow are looked for at the end, and where the rank is
        // known to be 1, what is left is one comparison.
        let (mut len, mut signs, mut overflow) = (1usize, 0i64, false);
        for &n in dims {
            let (product, over) = len.overflowing_mul(n as usize);
            (len, signs, overflow) = (product, signs | n, overflow | over);
        }
        if signs < 0 || overflow || len > isize::MAX as usize / size.max(1) {
            return None;
        }
        Some(Extent { dims, len, bytes: len * size })
    }

    /// How much there is of the buffer's own elements, packed ones as they are; none of a type that has no meaning.
    #[inline(always)]
    pub(super) fn own_extent(self) -> Option<Extent<'a>> {
        let data_type = self.data_type();
        match data_type.bits()? {
            bits @ 1..8 => {
                let extent = self.extent(1)?;
                debug_assert!(8 % bits == 0);
                Some(Extent { bytes: data_type.bytes(extent.len)?, ..extent })
            }
            bits => self.extent(bits / 8),
        }
    }

    /// A pointer for a slice of the data: not null, aligned, dangling if there is no data.
    #[inline(always)]
    pub(super) fn pointer<T>(self, bytes: usize) -> Option<NonNull<T>> {
        if bytes == 0 {
            return Some(NonNull::dangling());
        }
        NonNull::new(self.0.data.cast::<T>()).filter(|data| data.is_aligned())
    }
}

/// The addresses of a buffer's data, as numbers. Those of no data are in no allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    pub(super) start: usize,
    pub(super) bytes: usize,
}

impl Span {
    /// No data.
    pub const EMPTY: Span = Span { start: 1, bytes: 0 };

    #[inline(always)]
    pub(super) fn new(data: *const u8, bytes: usize) -> Span {
        Span { start: data as usize, bytes }
    }

    #[inline(always)]
    pub(super) fn end(self) -> usize {
        self.start + self.bytes
    }

    /// Whether one begins inside of the other. Distances wrap around: one that is negative is larger than any buffer.
    #[inline(always)]
    pub(super) fn overlaps(self, other: Span) -> bool {
        (other.start.wrapping_sub(self.start) < self.bytes)
            | (self.start.wrapping_sub(other.start) < other.bytes)
    }
}

/// Whether no result shares memory with an argument or another result.
#[inline(always)]
pub fn disjoint<const A: usize, const R: usize>(args: [Span; A], rets: [Span; R]) -> bool {
    let mut shared = false;
    for (i, ret) in rets.iter().enumerate() {
        for arg in &args {
            shared |= ret.overlaps(*arg);
        }
        for other in &rets[i + 1..] {
            shared |= ret.overlaps(*other);
        }
    }
    !shared
}
