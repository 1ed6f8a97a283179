//! Who hears of compiles: `expect_no_compile()` and the log.
//!
//! A watch is of the whole process, so it lives in `pjrtdispatch`; the other packages tell it by its table.

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char};

use crate::fault::Result;
use crate::main_thread::MainThread;
use crate::{progress, shared};

/// Why programs were compiled: a list for each of those who want to know, the innermost last.
static WATCHES: MainThread<RefCell<Vec<Vec<String>>>> = MainThread::new(RefCell::new(Vec::new()));

/// Begins to note compiles.
pub fn watch() {
    WATCHES.get().borrow_mut().push(Vec::new());
}

/// Ends the last [`watch`]; what was noted since it began. The one around it hears of that too.
pub fn unwatch() -> Vec<String> {
    let mut watches = WATCHES.get().borrow_mut();
    let noted = watches.pop().unwrap_or_default();
    if let Some(outer) = watches.last_mut() {
        outer.extend_from_slice(&noted);
    }
    noted
}

/// Whether anybody wants to hear of a compile, so that its reason has to be found.
pub(crate) fn are_told() -> Result<bool> {
    Ok(is_watched() || progress::is_verbose()?)
}

/// A program was made: what was [done](progress::done), why, and how long it took.
pub(crate) fn tell(done: &str, reason: &str, seconds: f64) -> Result<()> {
    match shared::room() {
        Some((_, table)) => {
            let reason = CString::new(reason.replace('\0', "?")).expect("a text without NUL");
            // SAFETY: the text is ours.
            unsafe { (table.compiled)(reason.as_ptr()) };
        }
        None => note(reason),
    }
    match progress::is_verbose()? {
        true => progress::log(&format!("{done} in {seconds:.3} s, {reason}")),
        false => Ok(()),
    }
}

fn is_watched() -> bool {
    match shared::room() {
        // SAFETY: null is a question.
        Some((_, table)) => unsafe { (table.compiled)(std::ptr::null()) != 0 },
        None => !WATCHES.get().borrow().is_empty(),
    }
}

fn note(reason: &str) {
    if let Some(noted) = WATCHES.get().borrow_mut().last_mut() {
        noted.push(reason.to_owned());
    }
}

/// What the table has for other packages: notes why a program of theirs was compiled, unless it is null; 1 if anybody
/// watches.
///
/// # Safety
///
/// The text is null or lives during the call.
pub(crate) unsafe extern "C" fn compiled(why: *const c_char) -> std::ffi::c_int {
    if crate::main_thread::is_other() {
        return 0;
    }
    if !why.is_null() {
        // SAFETY: by the caller's promise.
        note(&unsafe { CStr::from_ptr(why) }.to_string_lossy());
    }
    (!WATCHES.get().borrow().is_empty()).into()
}
