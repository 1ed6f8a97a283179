//! Arrays for other libraries.

use std::ffi::c_void;

use super::super::room::Room;
use super::abi::{ArrowArray, ArrowSchema};
use super::{FORMATS, wrong};
use crate::{Array, DType, HostArray, Result};

/// An array for another library: a copy, that library's own, which has to be released. A value without sizes is a column of
/// one; each size after the first makes fixed-size lists.
///
/// # Errors
///
/// Arrow has no type like the dtype: brain floats and complex numbers; the array cannot be read.
pub fn export(array: &Array) -> Result<(ArrowArray, ArrowSchema)> {
    let format = format_of(array.dtype())?;
    let room = array.with_bytes(|bytes| match array.dtype() {
        DType::Bool => Room::of(&packed(bytes)),
        _ => Room::of(bytes),
    })?;
    Ok(column(room, format, array.shape()))
}

/// An array of the host for another library, which gets its memory, as [`export`] gives a copy. Only booleans are copied, since
/// Arrow has them as bits.
///
/// The values begin at a multiple of 16 bytes. What is copied does at one of 256.
///
/// ```
/// use dispatch_runtime::HostArray;
/// use dispatch_runtime::convert::arrow;
///
/// let array = HostArray::new([1f32, 2.0], [2])?;
/// let memory = array.bytes().as_ptr();
/// let (mut array, mut schema) = arrow::export_host(array)?;
/// // SAFETY: both are exported for us, and have a buffer of values.
/// unsafe {
///     assert_eq!((*array.buffers.add(1)).cast(), memory);
///     drop(arrow::Column::from_raw(&mut array, &mut schema)?);
/// }
/// # Ok::<(), dispatch_runtime::Error>(())
/// ```
///
/// # Errors
///
/// Arrow has no type like the dtype: brain floats and complex numbers.
pub fn export_host(array: HostArray) -> Result<(ArrowArray, ArrowSchema)> {
    let format = format_of(array.dtype())?;
    let shape = Box::from(array.shape());
    let room = match array.dtype() {
        DType::Bool => Room::of(&packed(array.bytes())),
        _ => Room::Given(array),
    };
    Ok(column(room, format, &shape))
}

fn format_of(dtype: DType) -> Result<&'static str> {
    let found = FORMATS.iter().find(|(_, known)| *known == dtype);
    found
        .map(|&(format, _)| format)
        .ok_or_else(|| wrong("a dtype that Arrow has a type for", dtype.to_string()))
}

/// A column of these values, which belong to it alone.
fn column(room: Room, format: &str, shape: &[i64]) -> (ArrowArray, ArrowSchema) {
    let shape = if shape.is_empty() { &[1][..] } else { shape };
    let count = |rank: usize| shape[..rank].iter().product::<i64>();
    let mut column = Node::array(count(shape.len()), Some(room), None);
    let mut schema = Node::schema(format, None);
    for rank in (1..shape.len()).rev() {
        column = Node::array(count(rank), None, Some(column));
        schema = Node::schema(&format!("+w:{}", shape[rank]), Some(schema));
    }
    (column, schema)
}

/// Bytes of 0 or 1 as bits.
fn packed(bytes: &[u8]) -> Vec<u8> {
    bytes.chunks(8).map(|eight| eight.iter().rev().fold(0, |all, bit| all << 1 | bit)).collect()
}

/// What an exported struct points to.
struct Node<T> {
    room: Option<Room>,
    buffers: [*const c_void; 2],
    format: std::ffi::CString,
    child: Option<Box<T>>,
    children: [*mut T; 1],
}

impl<T> Node<T> {
    /// One whose children are its child, if it has one.
    fn new(room: Option<Room>, format: &str, child: Option<T>) -> Box<Node<T>> {
        let format = std::ffi::CString::new(format).expect("a format has no zero byte");
        let mut node = Box::new(Node {
            room,
            buffers: [std::ptr::null(); 2],
            format,
            child: child.map(Box::new),
            children: [std::ptr::null_mut()],
        });
        if let Some(child) = &mut node.child {
            node.children = [&raw mut **child];
        }
        if let Some(room) = &mut node.room {
            node.buffers[1] = room.as_mut_ptr().cast();
        }
        node
    }

    fn counts(&self) -> (i64, *mut *mut T, i64) {
        let n = i64::from(self.child.is_some());
        let children = if n == 0 { std::ptr::null() } else { self.children.as_ptr() };
        (n, children.cast_mut(), if self.room.is_some() { 2 } else { 1 })
    }
}

impl Node<ArrowArray> {
    fn array(length: i64, room: Option<Room>, child: Option<ArrowArray>) -> ArrowArray {
        let node = Node::new(room, "", child);
        let (n_children, children, n_buffers) = node.counts();
        let buffers = node.buffers.as_ptr().cast_mut();
        ArrowArray {
            length,
            null_count: 0,
            offset: 0,
            n_buffers,
            n_children,
            buffers,
            children,
            dictionary: std::ptr::null_mut(),
            release: Some(release_array),
            private_data: Box::into_raw(node).cast(),
        }
    }
}

impl Node<ArrowSchema> {
    fn schema(format: &str, child: Option<ArrowSchema>) -> ArrowSchema {
        let node = Node::new(None, format, child);
        let (n_children, children, _) = node.counts();
        ArrowSchema {
            format: node.format.as_ptr(),
            name: c"".as_ptr(),
            metadata: std::ptr::null(),
            flags: 0,
            n_children,
            children,
            dictionary: std::ptr::null_mut(),
            release: Some(release_schema),
            private_data: Box::into_raw(node).cast(),
        }
    }
}

/// # Safety
///
/// `array` is from [`column`], or was moved from there, and is not released.
unsafe extern "C" fn release_array(array: *mut ArrowArray) {
    // SAFETY: by the caller's promise; a child that was moved away is marked as released.
    unsafe {
        let node = Box::from_raw((*array).private_data.cast::<Node<ArrowArray>>());
        if let [child] = node.children
            && !child.is_null()
            && let Some(release) = (*child).release
        {
            release(child);
        }
        (*array).release = None;
    }
}

/// # Safety
///
/// `schema` is from [`column`], or was moved from there, and is not released.
unsafe extern "C" fn release_schema(schema: *mut ArrowSchema) {
    // SAFETY: by the caller's promise; a child that was moved away is marked as released.
    unsafe {
        let node = Box::from_raw((*schema).private_data.cast::<Node<ArrowSchema>>());
        if let [child] = node.children
            && !child.is_null()
            && let Some(release) = (*child).release
        {
            release(child);
        }
        (*schema).release = None;
    }
}
