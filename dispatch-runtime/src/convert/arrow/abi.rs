//! The structs of the Arrow C data interface, as C has them.

use std::ffi::{c_char, c_void};
use std::mem::{offset_of, size_of};

/// What the type of a column is.
#[repr(C)]
#[derive(Debug)]
pub struct ArrowSchema {
    /// The type: `g` for doubles, `+w:3` for lists of three.
    pub format: *const c_char,
    /// Its name, or null.
    pub name: *const c_char,
    /// Not looked at.
    pub metadata: *const c_char,
    /// Not looked at.
    pub flags: i64,
    /// 1 for a list.
    pub n_children: i64,
    /// Their types.
    pub children: *mut *mut ArrowSchema,
    /// Null, but for columns of codes.
    pub dictionary: *mut ArrowSchema,
    /// Frees it; none once it was moved.
    pub release: Option<unsafe extern "C" fn(*mut ArrowSchema)>,
    /// The producer's.
    pub private_data: *mut c_void,
}

/// What a column holds.
#[repr(C)]
#[derive(Debug)]
pub struct ArrowArray {
    /// How many values or lists there are.
    pub length: i64,
    /// How many of them are missing; -1 if nobody counted.
    pub null_count: i64,
    /// So many come before the first one.
    pub offset: i64,
    /// 2 for values, 1 for lists.
    pub n_buffers: i64,
    /// 1 for lists.
    pub n_children: i64,
    /// Bits of what is there, or null if all is; the values.
    pub buffers: *mut *const c_void,
    /// What the lists hold.
    pub children: *mut *mut ArrowArray,
    /// Null, but for columns of codes.
    pub dictionary: *mut ArrowArray,
    /// Frees it; none once it was moved.
    pub release: Option<unsafe extern "C" fn(*mut ArrowArray)>,
    /// The producer's.
    pub private_data: *mut c_void,
}

const _: () = {
    assert!(size_of::<ArrowSchema>() == 72 && size_of::<ArrowArray>() == 80);
    assert!(offset_of!(ArrowSchema, flags) == 24 && offset_of!(ArrowSchema, children) == 40);
    assert!(offset_of!(ArrowSchema, release) == 56);
    assert!(offset_of!(ArrowArray, buffers) == 40 && offset_of!(ArrowArray, children) == 48);
    assert!(offset_of!(ArrowArray, release) == 64);
};
