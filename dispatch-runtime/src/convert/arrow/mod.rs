//! Columns of other libraries, as the Arrow C data interface describes them
//! (<https://arrow.apache.org/docs/format/CDataInterface.html>).
//!
//! [`Column`] owns what another library exported; [`Arrow`] is the converter that takes it for an array: one of numbers or of
//! booleans has rank 1, and each fixed-size list around them adds a size. [`export`] gives a copy of an [`Array`](crate::Array) to
//! another library, [`export_host`] a [`HostArray`] itself.

mod abi;
mod export;

use std::ffi::CStr;
use std::sync::Arc;

use super::{Converter, Described, Expected};
use crate::{DType, Error, HostArray, HostView, Result};

pub use abi::{ArrowArray, ArrowSchema};
pub use export::{export, export_host};

/// A column that another library exported. It is released once, when neither this nor an array that shares its memory is left,
/// on whatever thread that is.
///
/// ```
/// use dispatch_runtime::convert::{self, arrow};
/// use dispatch_runtime::prelude::*;
///
/// #[dispatch_family]
/// fn total(cx: &CompileCx, #[dynamic(dtype = float, shape = [n])] x: Value) -> Result<Program> {
///     cx.program(x.sum(..))
/// }
/// let _kept = convert::global().register_type("Arrow columns", arrow::Arrow)?;
/// let client = Client::cpu()?;
///
/// // What another library would give.
/// let (mut array, mut schema) = arrow::export(&client.array(&[1f64, 2.0, 4.0], [3])?)?;
/// // SAFETY: both are exported for us, and may be released anywhere.
/// let column = unsafe { arrow::Column::from_raw(&mut array, &mut schema)? };
/// assert_eq!((column.dtype(), column.shape()), (DType::F64, &[3][..]));
/// let total = Total::new(&client).call(convert::object(&column))?;
/// assert_eq!(total.to_vec::<f64>()?, [7.0]);
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug)]
pub struct Column {
    held: Arc<Held>,
    dtype: DType,
    shape: Box<[i64]>,
    values: Values,
}

/// Where a column's values are.
#[derive(Debug)]
enum Values {
    /// So many bytes, with the first value at an index.
    Bytes(*const u8, usize, usize),
    /// Bits, from one of them on.
    Bits(*const u8, usize),
}

/// What was moved to us; released when it is dropped.
#[derive(Debug)]
struct Held {
    array: ArrowArray,
    schema: ArrowSchema,
}

// SAFETY: whoever makes a `Column` promises that it may be released on any thread; else nothing is done with it.
unsafe impl Send for Held {}
// SAFETY: as above.
unsafe impl Sync for Held {}
// SAFETY: the values are only read, and nobody writes to them.
unsafe impl Send for Column {}
// SAFETY: as above.
unsafe impl Sync for Column {}

impl Drop for Held {
    fn drop(&mut self) {
        // SAFETY: both were moved here, and this is their end; a release callback marks what it has released.
        unsafe {
            if let Some(release) = self.array.release {
                release(&raw mut self.array);
            }
            if let Some(release) = self.schema.release {
                release(&raw mut self.schema);
            }
        }
    }
}

impl Column {
    /// Moves a column here: both structs are marked as released, as the interface says. Where that is an error they are
    /// released too.
    ///
    /// # Safety
    ///
    /// Both are as the interface says, or released already; they may be released on any thread, and nobody writes to the
    /// values before that.
    ///
    /// # Errors
    ///
    /// They were released before; values are missing; no dtype is like the values; the lengths do not fit each other.
    pub unsafe fn from_raw(array: &mut ArrowArray, schema: &mut ArrowSchema) -> Result<Column> {
        // SAFETY: a move of the interface is a copy of the struct, after which the source is marked as released.
        let held = unsafe { Held { array: std::ptr::read(array), schema: std::ptr::read(schema) } };
        (array.release, schema.release) = (None, None);
        if held.array.release.is_none() || held.schema.release.is_none() {
            return Err(wrong("a column", "one that was released"));
        }
        let mut shape = Vec::new();
        // SAFETY: by the caller's promise.
        let (dtype, values) =
            unsafe { read(&held.array, &held.schema, (held.array.offset, held.array.length), &mut shape)? };
        let column = Column { held: Arc::new(held), dtype, shape: shape.into(), values };
        column.view()?;
        Ok(column)
    }

    /// The element type.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The sizes: how many there are, and those of the lists.
    pub fn shape(&self) -> &[i64] {
        &self.shape
    }

    /// The values where they are; none for bits.
    fn view(&self) -> Result<Option<HostView<'_>>> {
        let Values::Bytes(data, bytes, first) = self.values else { return Ok(None) };
        // SAFETY: by the interface the buffer holds these values, which is what was measured.
        let view = unsafe { HostView::from_parts(self.dtype, &self.shape, None, first, data, bytes) };
        view.map(Some)
    }
}

/// Reads so many values from one of them on, adding their sizes to `shape`.
///
/// # Safety
///
/// Both are as the interface says.
unsafe fn read(
    array: &ArrowArray,
    schema: &ArrowSchema,
    (first, length): (i64, i64),
    shape: &mut Vec<i64>,
) -> Result<(DType, Values)> {
    if first < 0 || length < 0 || !schema.dictionary.is_null() {
        let got = if schema.dictionary.is_null() { "a negative length or offset" } else { "codes" };
        return Err(wrong("a column of numbers, booleans or lists of them", got));
    }
    // SAFETY: by the interface.
    let format = unsafe { CStr::from_ptr(schema.format) }.to_string_lossy();
    let buffer = |i: i64| match i < array.n_buffers && !array.buffers.is_null() {
        // SAFETY: there are as many as it says.
        true => unsafe { (*array.buffers.add(i as usize)).cast::<u8>() },
        false => std::ptr::null(),
    };
    // SAFETY: the bits of validity are there for all values, if they are there.
    let missing = unsafe { missing(array.null_count, buffer(0), first, length) };
    if missing != 0 {
        return Err(wrong("a column without missing values", format!("null_count {missing}")));
    }
    shape.push(length);
    if let Some(size) = format.strip_prefix("+w:") {
        let size = size.parse::<i64>().ok().filter(|&size| size >= 0);
        let size = size.ok_or_else(|| wrong("the length of lists", format!("format `{format}`")))?;
        if (array.n_children, schema.n_children) != (1, 1) {
            return Err(wrong("lists of one type", format!("{} children", array.n_children)));
        }
        // SAFETY: there is one of each.
        let (child, of) = unsafe { (&**array.children, &**schema.children) };
        let product = |n: i64| n.checked_mul(size);
        // The child's length counts from its own offset on, so the lists before the first one are part of it.
        let part = || {
            let (before, all) = (product(first)?, product(length)?);
            let first = before.checked_add(child.offset)?;
            (before.checked_add(all)? <= child.length).then_some((first, all))
        };
        let Some((first, all)) = part() else {
            let got = format!("{length} lists of {size} from list {first} on in {} values", child.length);
            return Err(wrong("lists within their values", got));
        };
        let at = shape.len();
        // SAFETY: as this one.
        let found = unsafe { read(child, of, (first, all), shape)? };
        // What is the length there is the size of a list here.
        shape[at] = size;
        return Ok(found);
    }
    let Some(&(_, dtype)) = FORMATS.iter().find(|(known, _)| *known == format) else {
        return Err(wrong("values of a dtype", format!("format `{format}`")));
    };
    let (first, length) = (first as usize, length as usize);
    let values = match dtype {
        DType::Bool if length > 0 && buffer(1).is_null() => return Err(wrong("values", "a null pointer")),
        DType::Bool => Values::Bits(buffer(1), first),
        _ => Values::Bytes(buffer(1), (first + length).saturating_mul(dtype.size()), first),
    };
    Ok((dtype, values))
}

/// How many of the values are missing.
///
/// # Safety
///
/// `bits` is null, or holds a bit for each of them.
unsafe fn missing(told: i64, bits: *const u8, first: i64, length: i64) -> i64 {
    match told {
        0 => 0,
        _ if bits.is_null() => told.max(0),
        // SAFETY: by the caller's promise.
        _ => (first..first + length).filter(|&i| unsafe { !bit(bits, i as usize) }).count() as i64,
    }
}

/// # Safety
///
/// There is such a bit.
unsafe fn bit(bits: *const u8, i: usize) -> bool {
    // SAFETY: by the caller's promise.
    unsafe { *bits.add(i / 8) >> (i % 8) & 1 == 1 }
}

/// The converter for [`Column`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Arrow;

impl Converter<Column> for Arrow {
    fn convert_in<'a>(&self, column: &'a Column, expected: &Expected<'_>) -> Result<Described<'a>> {
        if let Some(view) = column.view()? {
            // SAFETY: the owner holds the column, which is as it is until it is released.
            return Ok(
                unsafe { Described::shared(view, Box::new(column.held.clone())).immutable() }.read_only()
            );
        }
        let Values::Bits(bits, first) = column.values else { unreachable!("what has no view is bits") };
        if expected.copy == super::CopyPolicy::Never {
            return Err(expected.error("Arrow's booleans are bits, so they cannot be used without a copy"));
        }
        let count = column.shape.iter().product::<i64>() as usize;
        // SAFETY: the column has so many values.
        let values: Vec<bool> = (first..first + count).map(|i| unsafe { bit(bits, i) }).collect();
        Ok(Described::owned(HostArray::new(values, &column.shape)?).read_only())
    }
}

/// Which types of Arrow are which dtype.
const FORMATS: [(&str, DType); 12] = [
    ("b", DType::Bool),
    ("c", DType::I8),
    ("C", DType::U8),
    ("s", DType::I16),
    ("S", DType::U16),
    ("i", DType::I32),
    ("I", DType::U32),
    ("l", DType::I64),
    ("L", DType::U64),
    ("e", DType::F16),
    ("f", DType::F32),
    ("g", DType::F64),
];

#[cold]
fn wrong(expected: &str, got: impl Into<String>) -> Error {
    Error::Value { argument: "column".into(), expected: expected.into(), got: got.into() }
}
