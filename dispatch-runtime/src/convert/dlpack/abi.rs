//! The structs of DLPack 1, and of the version before it, as C has them.

use std::ffi::c_void;
use std::mem::{offset_of, size_of};

/// Which DLPack a tensor is of.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DLPackVersion {
    /// Other layouts have another one.
    pub major: u32,
    /// The same layout, with more that can be said.
    pub minor: u32,
}

/// Where data is.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DLDevice {
    /// [`CPU`], or another kind of memory.
    pub device_type: i32,
    /// Which one of them.
    pub device_id: i32,
}

/// What the elements are.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DLDataType {
    /// 0 signed, 1 unsigned, 2 float, 4 bfloat, 5 complex, 6 bool.
    pub code: u8,
    /// Of one element.
    pub bits: u8,
    /// More than 1 for vectors.
    pub lanes: u16,
}

/// A tensor, whose memory is somebody else's.
#[repr(C)]
#[derive(Debug)]
pub struct DLTensor {
    /// The data.
    pub data: *mut c_void,
    /// Where it is.
    pub device: DLDevice,
    /// How many sizes there are.
    pub ndim: i32,
    /// What the elements are.
    pub dtype: DLDataType,
    /// The sizes.
    pub shape: *mut i64,
    /// How far apart neighbours are, in elements; null for row-major.
    pub strides: *mut i64,
    /// Where the first element is.
    pub byte_offset: u64,
}

/// A tensor with who frees it, as DLPack had it before version 1.
#[repr(C)]
#[derive(Debug)]
pub struct DLManagedTensor {
    /// The tensor.
    pub dl_tensor: DLTensor,
    /// The producer's.
    pub manager_ctx: *mut c_void,
    /// Frees it all.
    pub deleter: Option<unsafe extern "C" fn(*mut DLManagedTensor)>,
}

/// A tensor with who frees it.
#[repr(C)]
#[derive(Debug)]
pub struct DLManagedTensorVersioned {
    /// Of which version it is.
    pub version: DLPackVersion,
    /// The producer's.
    pub manager_ctx: *mut c_void,
    /// Frees it all.
    pub deleter: Option<unsafe extern "C" fn(*mut DLManagedTensorVersioned)>,
    /// [`READ_ONLY`] and [`IS_COPIED`].
    pub flags: u64,
    /// The tensor.
    pub dl_tensor: DLTensor,
}

/// Memory of the host.
pub const CPU: i32 = 1;
/// The flag of data that is not to be written to.
pub const READ_ONLY: u64 = 1;
/// The flag of data that was copied for this tensor: nobody else has it.
pub const IS_COPIED: u64 = 2;

const _: () = {
    assert!(size_of::<DLDataType>() == 4 && size_of::<DLDevice>() == 8 && size_of::<DLPackVersion>() == 8);
    assert!(size_of::<DLTensor>() == 48 && size_of::<DLManagedTensor>() == 64);
    assert!(offset_of!(DLTensor, ndim) == 16 && offset_of!(DLTensor, shape) == 24);
    assert!(offset_of!(DLTensor, strides) == 32 && offset_of!(DLTensor, byte_offset) == 40);
    assert!(offset_of!(DLManagedTensor, manager_ctx) == 48);
    assert!(size_of::<DLManagedTensorVersioned>() == 80);
    assert!(offset_of!(DLManagedTensorVersioned, flags) == 24);
    assert!(offset_of!(DLManagedTensorVersioned, dl_tensor) == 32);
};
