//! Converters for other packages, by the table of functions.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr::null_mut;

use dispatch_runtime::convert::Expected;
use dispatch_runtime::engine::pjrt::codes;
use dispatch_runtime::{DType, Device};
use smallvec::SmallVec;

use super::call::{self, Converted, Purpose};
use crate::arg::slice;
use crate::fault::{Fault, Result};
use crate::ffi::*;
use crate::make;
use crate::root::Root;
use crate::shared::abi::{ConvertExpected, OutInfo, Table, Tell, read};
use crate::shared::{Room, device_named, done, guarded};
use crate::view;

/// What another package expects, as it tells it.
pub(super) struct Told<'a> {
    path: std::borrow::Cow<'a, str>,
    dtypes: SmallVec<[DType; 4]>,
    dims: Option<SmallVec<[Option<i64>; 4]>>,
    device: (*const c_void, i32),
    purpose: Purpose,
}

impl Told<'_> {
    /// # Safety
    ///
    /// The struct states its size; its texts and lists live as long as what is given.
    pub unsafe fn read(expected: *const ConvertExpected) -> Result<Self> {
        // SAFETY: by the caller's promise.
        let (wanted, path, codes, dims) = unsafe {
            let wanted = read(expected);
            let rank = usize::try_from(wanted.rank).ok();
            let dims = rank.map(|rank| slice(wanted.dims, rank));
            let path = CStr::from_ptr(wanted.path).to_string_lossy();
            (wanted, path, slice(wanted.dtypes, wanted.dtype_count), dims)
        };
        let dtype = |&code: &i32| {
            codes::dtype(code).ok_or_else(|| Fault::argument("dtype", "expected", "a type of elements", code))
        };
        Ok(Told {
            path,
            dtypes: codes.iter().map(dtype).collect::<Result<_>>()?,
            dims: dims.map(|dims| dims.iter().map(|&n| (n >= 0).then_some(n)).collect()),
            device: (wanted.client, wanted.device),
            purpose: Purpose {
                writes_back: wanted.writes_back != 0,
                donated: wanted.donated != 0,
                keeps_view: wanted.keeps_view != 0,
                ..Purpose::default()
            },
        })
    }

    pub fn expected(&self) -> Expected<'_> {
        let expected = Expected::new(&self.path).dtypes(&self.dtypes);
        match &self.dims {
            Some(dims) => expected.shape(dims),
            None => expected,
        }
    }
}

/// What is expected, for another package.
pub(super) struct Wanted {
    path: CString,
    dtypes: SmallVec<[i32; 4]>,
    dims: Option<SmallVec<[i64; 4]>>,
}

impl Wanted {
    pub fn new(expected: &Expected<'_>) -> Wanted {
        Wanted {
            path: CString::new(expected.path).unwrap_or_default(),
            dtypes: expected.dtypes.iter().map(|&dtype| codes::buffer_type(dtype)).collect(),
            dims: expected.shape.map(|shape| shape.iter().map(|n| n.unwrap_or(-1)).collect()),
        }
    }

    /// Right as long as `self` lives; with the device that data is brought to.
    pub fn told(&self, client: *const c_void, device: i32) -> ConvertExpected {
        ConvertExpected {
            size: size_of::<ConvertExpected>(),
            path: self.path.as_ptr(),
            dtypes: self.dtypes.as_ptr(),
            dtype_count: self.dtypes.len(),
            dims: self.dims.as_ref().map_or(std::ptr::null(), |dims| dims.as_ptr()),
            rank: self.dims.as_ref().map_or(-1, |dims| dims.len() as i64),
            client,
            device,
            writes_back: 0,
            donated: 0,
            keeps_view: 0,
        }
    }
}

/// `convert` of the table.
pub(crate) unsafe extern "C" fn convert_by(
    x: SEXP,
    expected: *const ConvertExpected,
    out: *mut SEXP,
) -> c_int {
    guarded(|| {
        // SAFETY: the caller's struct, which states its size; its texts and lists live during the call.
        let told = unsafe { Told::read(expected)? };
        let mut place = || device_named(told.device.0, told.device.1);
        let made = call::convert_for(x, &told.expected(), told.purpose, &mut place, None)?;
        let object = match &made {
            Some(made) if told.purpose.keeps_view => {
                make::list(&[made.get(), made.converter(), made.view()])?.release()
            }
            Some(made) => make::list(&[made.get(), made.converter()])?.release(),
            None => nil(),
        };
        // SAFETY: the caller's pointer.
        unsafe { out.write(object) };
        Ok(())
    })
}

/// `no_converter` of the table.
pub(crate) unsafe extern "C" fn no_converter_by(x: SEXP, tell: Tell, to: *mut c_void) -> c_int {
    guarded(|| {
        let text = CString::new(call::none_for(x, None)?).unwrap_or_default();
        // SAFETY: the text lives during the call.
        unsafe { tell(to, text.as_ptr()) };
        Ok(())
    })
}

/// `same_memory` of the table.
pub(crate) unsafe extern "C" fn same_memory_by(a: SEXP, b: SEXP) -> c_int {
    let mut is_same = false;
    let failed = guarded(|| {
        is_same = view::same_memory(a, b)?;
        Ok(())
    });
    c_int::from(failed == 0 && is_same)
}

/// `convert_out` of the table.
pub(crate) unsafe extern "C" fn convert_out_by(
    converter: SEXP,
    result: SEXP,
    original: SEXP,
    info: *const OutInfo,
    out: *mut SEXP,
) -> c_int {
    guarded(|| {
        // SAFETY: the caller's struct, which states its size; its texts live during the call.
        let (function, argument, index) = unsafe {
            let info = read(info);
            let text = |text: *const c_char| CStr::from_ptr(text).to_string_lossy();
            (text(info.function), text(info.argument), info.index)
        };
        let made = call::convert_out(converter, result, original, (&function, &argument, index))?;
        // SAFETY: the caller's pointer.
        unsafe { out.write(made.release()) };
        Ok(())
    })
}

impl Room {
    /// What a converter makes of an object; none if there is none for it.
    #[cold]
    pub(crate) fn convert(
        &self,
        table: &Table,
        x: SEXP,
        expected: &Expected<'_>,
        purpose: Purpose,
        device: Device,
    ) -> Result<Option<Converted>> {
        let wanted = Wanted::new(expected);
        let mut told = wanted.told(self.name(device.client())?, device.index() as i32);
        (told.writes_back, told.donated) = (purpose.writes_back.into(), purpose.donated.into());
        told.keeps_view = purpose.keeps_view.into();
        let mut pair = nil();
        // SAFETY: struct and pointer are ours; the caller keeps `x`.
        done(table, unsafe { (table.convert)(x, &told, &mut pair) })?;
        if pair == nil() {
            return Ok(None);
        }
        let pair = Root::new(pair)?;
        // SAFETY: it is a list of two, or of three where the view is wanted.
        let (value, converter, view) = unsafe {
            let view = if purpose.keeps_view { VECTOR_ELT(pair.get(), 2) } else { nil() };
            (VECTOR_ELT(pair.get(), 0), VECTOR_ELT(pair.get(), 1), view)
        };
        let view = if view == nil() { None } else { Some(Root::new(view)?) };
        Ok(Some(Converted::new(Root::new(value)?, Root::new(converter)?, view)))
    }

    /// Why there is no converter for an object.
    #[cold]
    pub(crate) fn no_converter(&self, table: &Table, x: SEXP) -> Result<String> {
        unsafe extern "C" fn note(to: *mut c_void, text: *const c_char) {
            // SAFETY: the text of below, and one that lives during the call.
            unsafe { *to.cast::<String>() = CStr::from_ptr(text).to_string_lossy().into_owned() }
        }
        let mut text = String::new();
        // SAFETY: the function gets the text that it expects; the caller keeps `x`.
        done(table, unsafe { (table.no_converter)(x, note, (&raw mut text).cast()) })?;
        Ok(text)
    }

    /// What a converter makes of a result.
    #[cold]
    pub(crate) fn convert_out(
        &self,
        table: &Table,
        converter: SEXP,
        result: SEXP,
        original: SEXP,
        (function, argument, index): (&str, &str, usize),
    ) -> Result<Root> {
        let text = |text: &str| CString::new(text).unwrap_or_default();
        let (function, argument) = (text(function), text(argument));
        let info = OutInfo {
            size: size_of::<OutInfo>(),
            function: function.as_ptr(),
            argument: argument.as_ptr(),
            index,
        };
        let mut out = null_mut();
        // SAFETY: struct and pointer are ours; the caller keeps the objects.
        done(table, unsafe { (table.convert_out)(converter, result, original, &info, &mut out) })?;
        Root::new(out)
    }
}
