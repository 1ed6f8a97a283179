//! Views of host data as objects of R: what a converter gives where the data is not in a plain R vector.
//!
//! A view says where the data is, what it is, and who keeps it: an R object (also what such an object keeps outside of R), a
//! mapped file, or memory of ours that was filled. [`to_buffer`] brings it to a device: shared where the data allows it, else
//! copied once, from where it lies.

mod fill;
mod mapping;
mod memory;
mod missing;
mod part;
mod places;
mod returned;
mod write;

use std::cell::Cell;
use std::sync::Arc;

use dispatch_runtime::convert::{CopyPolicy, Described, Expected};
use dispatch_runtime::{DType, Device, HostView};

use crate::describe;
use crate::fault::{Fault, Result};
use crate::ffi::*;
use crate::handle::{self, Handle, Kind};
use crate::root::Root;
use crate::unwind::protect;
use crate::{Arg, buffer, read};

pub use fill::fill;
pub(crate) use memory::Memory;
pub use part::part;
pub(crate) use places::{same_memory, why_not_written};
pub(crate) use returned::take_back;
pub use write::write;

use mapping::Mapping;

static VIEW: Kind = Kind::new("PJRTHostView", "pjrtdispatch view 1");

/// Host data that an object of R names.
pub struct View {
    region: Region,
    dtype: DType,
    shape: Vec<i64>,
    /// In elements; none if row-major.
    strides: Option<Vec<i64>>,
    /// Of the element whose indices are all 0, in elements.
    offset: usize,
    read_only: bool,
    immutable: bool,
    convertible: bool,
    /// How many elements were filled in, for memory that is filled; the device may have it once all were.
    filled: Option<Filled>,
    is_finished: Cell<bool>,
}

impl Handle for View {
    fn kind() -> &'static Kind {
        &VIEW
    }
}

/// How far memory is filled.
#[derive(Default)]
struct Filled {
    /// How many elements are.
    count: Cell<usize>,
    /// Whether those are rows, or the first in R's order.
    rows: Cell<bool>,
}

/// Memory, and who keeps it.
enum Region {
    /// The object of R that the handle protects. A vector of R is never written to: others may have it as a value.
    Object {
        data: *mut u8,
        bytes: usize,
        is_vector: bool,
        /// Whether it is one of integers, the least of which R has for `NA`.
        has_missing: bool,
    },
    Mapping(Arc<Mapping>),
    Memory(Arc<Memory>),
}

impl Region {
    fn data(&self) -> (*mut u8, usize) {
        match self {
            Region::Object { data, bytes, .. } => (*data, *bytes),
            Region::Mapping(mapping) => (mapping.data(), mapping.len()),
            Region::Memory(memory) => (memory.data(), memory.len()),
        }
    }
}

/// What R says of a view.
pub struct Layout {
    /// The element type.
    pub dtype: DType,
    /// The sizes.
    pub shape: Vec<i64>,
    /// Distances of neighbours in elements, none if row-major.
    pub strides: Option<Vec<i64>>,
    /// The element whose indices are all 0, counted from 0.
    pub offset: usize,
    /// Whether the object that the data is of may not be written to: results are not written back to it.
    pub read_only: bool,
    /// Whether nobody writes to the data for as long as its owner lives.
    pub immutable: bool,
    /// Whether the numbers may be converted where another dtype is expected.
    pub convertible: bool,
}

impl Layout {
    fn over(self, region: Region) -> View {
        let Layout { dtype, shape, strides, offset, read_only, immutable, convertible } = self;
        View {
            region,
            dtype,
            shape,
            strides,
            offset,
            read_only,
            immutable,
            convertible,
            filled: None,
            is_finished: Cell::new(false),
        }
    }
}

impl View {
    /// The data.
    ///
    /// # Safety
    ///
    /// The region is kept meanwhile, and what is boolean holds 0 and 1.
    unsafe fn host(&self) -> Result<HostView<'_>> {
        let (data, bytes) = self.region.data();
        // SAFETY: the region has as many bytes; every content is a value of the numeric types.
        Ok(unsafe {
            HostView::from_parts(self.dtype, &self.shape, self.strides.as_deref(), self.offset, data, bytes)?
        })
    }

    /// Prepares for a copy of the elements. Of a part of a file only a part of the pages is used.
    fn will_be_read(&self) {
        if let Region::Mapping(mapping) = &self.region {
            let bytes = self.shape.iter().product::<i64>() as usize * self.dtype.size();
            if 2 * bytes > mapping.len() {
                mapping.will_be_read();
            }
        }
    }

    /// An error if the data cannot be read: it is gone, was not filled in, or is none of its dtype.
    fn check(&self, path: &str) -> Result<()> {
        let (data, bytes) = self.region.data();
        if let Region::Mapping(mapping) = &self.region {
            mapping.check(path)?;
        }
        if let Some(filled) = &self.filled {
            let (all, done) = (bytes / self.dtype.size(), filled.count.get());
            if done < all {
                let got = format!("a view of which {done} of {all} elements are filled in");
                return Err(Fault::argument("value", path, "data that is complete", got));
            }
        }
        if self.dtype == DType::Bool && bytes > 0 {
            // SAFETY: the region has as many bytes, as was checked above if that can change.
            let content = unsafe { std::slice::from_raw_parts(data, bytes) };
            if content.iter().any(|&byte| byte > 1) {
                return Err(Fault::argument("value", path, "bytes of 0 and 1 for dtype bool", "others"));
            }
        }
        Ok(())
    }
}

/// A new handle; `owner` is kept by it.
fn wrap(view: View, owner: SEXP) -> Result<SEXP> {
    let view = Root::new(handle::wrap(view)?)?;
    if owner != nil() {
        // SAFETY: both objects are alive; storing does not allocate.
        unsafe { R_SetExternalPtrProtected(view.get(), owner) };
    }
    Ok(view.release())
}

/// A view after its layout was found to be inside of the region.
fn checked(view: View, owner: SEXP) -> Result<SEXP> {
    // SAFETY: the region is kept by the caller. Nothing is read.
    unsafe { view.host()? };
    wrap(view, owner)
}

/// A view of the data of an R vector, which the view keeps.
pub fn of_vector(data: Arg<'_>, layout: Layout) -> Result<SEXP> {
    let x = data.get();
    let size = match TYPEOF(x) {
        RAWSXP => 1,
        INTSXP | LGLSXP => 4,
        REALSXP => 8,
        CPLXSXP => 16,
        _ => return Err(data.expected("a raw, integer, double or complex vector")),
    };
    let has = TYPEOF(x);
    let fits = match layout.dtype {
        _ if has == RAWSXP => true,
        DType::I32 | DType::U32 => has == INTSXP,
        DType::F64 => has == REALSXP && !describe::has_class(x, "integer64"),
        DType::I64 | DType::U64 => has == REALSXP && describe::has_class(x, "integer64"),
        DType::C128 => has == CPLXSXP,
        _ => false,
    };
    if !fits {
        let expected = format!("a vector whose elements are {}, or a raw one", layout.dtype);
        return Err(Fault::argument("dtype", data.name(), expected, describe::value(x)));
    }
    let length = Rf_xlength(x) as usize;
    // SAFETY: a vector; one in a compact form is expanded here. From now on R copies it before it is changed, since the
    // view refers to it.
    let at = protect(|| unsafe {
        MARK_NOT_MUTABLE(x);
        if length == 0 { std::ptr::null() } else { DATAPTR_RO(x) }
    })?;
    let has_missing = has != RAWSXP && matches!(layout.dtype, DType::I32 | DType::I64);
    let region =
        Region::Object { data: at.cast_mut().cast(), bytes: length * size, is_vector: true, has_missing };
    checked(layout.over(region), x)
}

/// A view of `bytes` bytes at an address that an R object keeps where they are.
///
/// # Safety
///
/// As long as R keeps `owner`, the bytes are there.
pub unsafe fn of_address(address: usize, bytes: usize, layout: Layout, owner: Arg<'_>) -> Result<SEXP> {
    let data = std::ptr::with_exposed_provenance_mut(address);
    let region = Region::Object { data, bytes, is_vector: false, has_missing: false };
    checked(layout.over(region), owner.get())
}

/// A view of a part of a file, which is mapped: `bytes` bytes from `start` on. Only one that is writable can be
/// [written](write()) to.
pub fn of_file(path: Arg<'_>, (start, bytes): (u64, usize), layout: Layout, writable: bool) -> Result<SEXP> {
    let mapping = Mapping::new(path, start, bytes, writable)?;
    checked(layout.over(Region::Mapping(mapping)), nil())
}

/// A view of new memory that is filled piece by piece, see [`fill`].
pub fn to_fill(dtype: DType, shape: Vec<i64>) -> Result<SEXP> {
    let memory = Memory::new(dtype, &shape)?;
    let layout = Layout {
        dtype,
        shape,
        strides: None,
        offset: 0,
        read_only: false,
        immutable: true,
        convertible: true,
    };
    let view = View { filled: Some(Filled::default()), ..layout.over(Region::Memory(Arc::new(memory))) };
    wrap(view, nil())
}

/// Whether an object is a view.
pub fn is(x: SEXP) -> bool {
    VIEW.address_of(x).is_some()
}

/// Element type and sizes of a view.
pub fn aval(view: Arg<'_>) -> Result<(DType, Vec<i64>)> {
    let view = view.handle::<View>()?;
    Ok((view.dtype, view.shape.clone()))
}

/// A buffer, not protected, of a view that a converter gave, and how many bytes were copied on the host for it.
///
/// Its memory is that of the view where the data is row-major, aligned to 64 bytes, of the dtype that is expected, and
/// immutable; else the data is copied once, from where it lies to the device.
pub fn to_buffer(
    view: SEXP,
    expected: &Expected<'_>,
    converter: &str,
    policy: CopyPolicy,
    device: Device,
) -> Result<(SEXP, u64)> {
    take_back();
    let kept = Root::new(view)?;
    // SAFETY: the root keeps the view.
    let view = unsafe { handle::get::<View>(kept.get(), expected.path)? };
    view.check(expected.path)?;
    missing::refuse(view, expected.path)?;
    // SAFETY: the handle keeps the object, the view the rest; booleans were checked.
    let host = unsafe { view.host()? };
    // What may be shared has use for a part of the pages only.
    if !view.immutable {
        view.will_be_read();
    }
    // Mapped or filled memory is kept by whom it is shared with, an object of R by a root that comes back.
    let owner: Box<dyn dispatch_runtime::host::Owner> = match &view.region {
        Region::Mapping(mapping) => Box::new(mapping.clone()),
        Region::Memory(memory) => Box::new(memory.clone()),
        Region::Object { .. } => {
            // SAFETY: the handle is an external pointer.
            Box::new(returned::Lent::new(unsafe { R_ExternalPtrProtected(kept.get()) })?)
        }
    };
    // SAFETY: the owner keeps the data where it is, and R runs no code while it is read.
    let mut described = unsafe { Described::shared(host, owner) };
    if view.immutable {
        // SAFETY: whoever made the view has promised so; filled memory is written to no more once it is finished.
        described = unsafe { described.immutable() };
    }
    view.is_finished.set(true);
    if view.filled.is_some() {
        described = described.copied(view.region.data().1 as u64);
    }
    if view.convertible {
        described = described.convertible();
    }
    let (array, copied) = described.into_array(&expected.copy(policy), converter, device)?;
    let out = buffer::wrap(array)?;
    take_back();
    Ok((out, copied))
}

/// The elements of a view that a converter gave as a vector or array of R, in R's order, for who takes nothing else; and how
/// many bytes were copied on the host before that.
pub(crate) fn to_data(view: SEXP, expected: &Expected<'_>, converter: &str) -> Result<(Root, u64)> {
    let kept = Root::new(view)?;
    // SAFETY: the root keeps the view.
    let view = unsafe { handle::get::<View>(kept.get(), expected.path)? };
    let refused = |why: String| Err(expected.error(format!("the converter `{converter}` {why}")).into());
    if expected.copy == CopyPolicy::Never {
        let why = "may not copy, but a backend other than \"pjrt\" takes data of R, which is a copy";
        return refused(why.into());
    }
    if !read::is_plain(view.dtype) {
        let why = "and a backend other than \"pjrt\" takes what is logical, integer or double in R";
        return refused(format!("gave dtype {}, {why}", view.dtype));
    }
    // From here on R runs no code, so what is checked then still holds while it is read.
    let out = read::room(view.dtype, &view.shape)?;
    view.check(expected.path)?;
    // SAFETY: the handle keeps the object, the view the rest; booleans were checked.
    let host = unsafe { view.host()? };
    view.will_be_read();
    read::fill_in(&out, host);
    let filled = if view.filled.is_some() { view.region.data().1 } else { 0 };
    Ok((out, filled as u64))
}

/// Whether an object is a view of one element without dimensions.
pub(crate) fn is_scalar(x: SEXP) -> Result<bool> {
    // SAFETY: the caller keeps the object.
    Ok(is(x) && unsafe { handle::get::<View>(x, "view") }?.shape.is_empty())
}

/// What is told of a view.
pub fn about(view: Arg<'_>) -> Result<String> {
    let view = view.handle::<View>()?;
    let sizes: Vec<String> = view.shape.iter().map(ToString::to_string).collect();
    let mut text = format!("{}[{}]", view.dtype.r_name(), sizes.join(","));
    match &view.strides {
        Some(strides) => {
            let strides: Vec<String> = strides.iter().map(ToString::to_string).collect();
            text += &format!(", strides ({})", strides.join(", "));
        }
        None => text += ", row-major",
    }
    if view.offset > 0 {
        text += &format!(" from element {} on", view.offset + 1);
    }
    text += &match &view.region {
        Region::Object { .. } => ", of an R object".to_owned(),
        Region::Mapping(_) => ", of a file".to_owned(),
        Region::Memory(memory) => {
            let all = memory.len() / view.dtype.size();
            match view.filled.as_ref().map_or(all, |filled| filled.count.get()) {
                done if done < all => format!(", {done} of {all} elements filled in"),
                _ => ", filled in".to_owned(),
            }
        }
    };
    for (flag, is) in [("read-only", view.read_only), ("immutable", view.immutable)] {
        if is {
            text += &format!(", {flag}");
        }
    }
    Ok(text)
}

/// For tests of what is kept: how many objects of R are lent to devices and have not come back.
pub fn lent() -> usize {
    returned::lent()
}
