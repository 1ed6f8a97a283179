//! Converters that are functions of a package in Rust or C, as the registry has them.

use std::ffi::{CStr, CString, c_char, c_int, c_void};

use dispatch_runtime::convert::{CopyPolicy, Expected, Match};
use smallvec::SmallVec;

use super::border::Wanted;
use super::functions::Function;
use super::reach::Reach;
use super::registry;
use crate::arg;
use crate::fault::{Condition, Fault, Result};
use crate::ffi::*;
use crate::handle::{self, Handle, Kind};
use crate::root::Root;
use crate::shared::abi::{NewConverter, OutInfo, read};
use crate::shared::guarded;
use crate::unwind::Token;

/// Functions of another package, which a handle of R has.
struct Foreign(NewConverter);

impl Handle for Foreign {
    fn kind() -> &'static Kind {
        static KIND: Kind = Kind::new("PJRTNativeConverter", "pjrtdispatch native converter 1");
        &KIND
    }
}

impl Drop for Foreign {
    fn drop(&mut self) {
        if let Some(release) = self.0.release {
            // SAFETY: the data is given back once, as its maker wants.
            unsafe { release(self.0.data) };
        }
    }
}

/// Registers what another package describes.
///
/// # Safety
///
/// The struct states its size; its texts live during the call, its functions for ever.
pub(super) unsafe fn registered(new: *const NewConverter) -> Result<u64> {
    // SAFETY: by the caller's promise.
    let (new, class, description, package, scope) = unsafe {
        let new = read(new);
        let text = |text: *const c_char| (!text.is_null()).then(|| CStr::from_ptr(text).to_string_lossy());
        (new, text(new.class), text(new.description).unwrap_or_default(), text(new.package), text(new.scope))
    };
    // First of all, as it releases the data, whatever comes of the rest.
    let handle = Root::new(handle::wrap(Foreign(new))?)?;
    if new.convert_in.is_none() {
        return Err(Fault::argument("value", "convert_in", "a function", "none"));
    }
    let rule = match (class, new.predicate) {
        (Some(class), None) => Match::class(&*class),
        (None, Some(_)) => Match::Predicate,
        (Some(_), Some(_)) => {
            return Err(Fault::argument("value", "predicate", "none where there is a class", "one"));
        }
        (None, None) => return Err(Fault::argument("value", "class", "a class or a predicate", "none")),
    };
    let reach = match scope {
        Some(scope) => Reach::package(scope.into_owned(), "scope")?,
        None => Reach::All,
    };
    let copy = match new.copy {
        0 => CopyPolicy::Never,
        2 => CopyPolicy::Always,
        _ => CopyPolicy::IfNeeded,
    };
    let way_back = if new.convert_out.is_some() { handle.get() } else { nil() };
    let predicate = if new.predicate.is_some() { handle.get() } else { nil() };
    let list = Function::list([handle.get(), way_back, predicate], &description)?;
    registry::add_native(rule, &description, package.as_deref(), copy, &reach, &list)
}

/// `register_converter` of the table.
pub(crate) unsafe extern "C" fn register_by(new: *const NewConverter, out: *mut u64) -> c_int {
    guarded(|| {
        // SAFETY: the caller's struct and number.
        unsafe { out.write(registered(new)?) };
        Ok(())
    })
}

/// `remove_converter` of the table.
pub(crate) unsafe extern "C" fn remove_by(id: u64) -> c_int {
    let mut was_there = false;
    let failed = guarded(|| {
        was_there = registry::remove_number(id);
        Ok(())
    });
    c_int::from(failed == 0 && was_there)
}

unsafe extern "C" fn note(to: *mut c_void, text: *const c_char) {
    // SAFETY: the text of `call`, and one that lives during the call.
    unsafe { *to.cast::<String>() = CStr::from_ptr(text).to_string_lossy().into_owned() }
}

/// Calls a function of the converter with room for its answer.
fn call(
    list: SEXP,
    path: &str,
    run: impl FnOnce(&NewConverter, &mut SEXP, *mut c_void) -> c_int,
) -> Result<Root> {
    // SAFETY: the caller keeps the list, which keeps the handle.
    let foreign: &Foreign = unsafe { handle::get(Function::way_in(list), "convert_in") }?;
    let (mut out, mut text) = (nil(), String::new());
    match run(&foreign.0, &mut out, (&raw mut text).cast()) {
        0 => Root::new(out),
        2 => Err(Fault::Jump(Token::adopt(out))),
        _ => Err(failed(list, path, &text)),
    }
}

#[cold]
fn failed(list: SEXP, path: &str, text: &str) -> Fault {
    let name = Function::description(list);
    let text = text.strip_prefix(&format!("argument `{path}`: ")).unwrap_or(text);
    Fault::Condition(Box::new(Condition {
        code: "converter".into(),
        message: format!("argument `{path}`: the converter `{name}` failed: {text}"),
        argument: Some(path.to_owned()),
    }))
}

/// What the function on the way in gives for an object.
pub(super) fn convert_in(list: SEXP, x: SEXP, expected: &Expected<'_>) -> Result<Root> {
    let wanted = Wanted::new(expected);
    call(list, expected.path, |new, out, to| match new.convert_in {
        // SAFETY: the struct is ours, and lives during the call; the function gets the data that it was registered with.
        Some(way_in) => unsafe { way_in(new.data, x, &wanted.told(std::ptr::null(), 0), out, note, to) },
        None => 0,
    })
}

/// What the function on the way back gives for a result.
pub(super) fn convert_out(
    list: SEXP,
    result: SEXP,
    original: SEXP,
    (function, argument, index): (&str, &str, usize),
) -> Result<Root> {
    let texts: SmallVec<[CString; 2]> =
        [function, argument].iter().map(|text| CString::new(*text).unwrap_or_default()).collect();
    let info = OutInfo {
        size: size_of::<OutInfo>(),
        function: texts[0].as_ptr(),
        argument: texts[1].as_ptr(),
        index,
    };
    call(list, argument, |new, out, to| match new.convert_out {
        // SAFETY: as in `convert_in`.
        Some(way_back) => unsafe { way_back(new.data, result, original, &info, out, note, to) },
        None => 0,
    })
}

/// What the predicate gives for an object.
pub(super) fn is_for(list: SEXP, x: SEXP, path: &str) -> Result<bool> {
    let answer = call(list, path, |new, out, to| match new.predicate {
        // SAFETY: as in `convert_in`.
        Some(predicate) => unsafe { predicate(new.data, x, out, note, to) },
        None => 0,
    })?;
    let value = savvy::Sexp(answer.get());
    arg(&value, "predicate").flag()
}
