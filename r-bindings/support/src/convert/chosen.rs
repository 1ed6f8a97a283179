//! The converters that were chosen last, for objects of the same classes.

use std::cell::RefCell;
use std::sync::{Arc, Weak};

use dispatch_runtime::convert::Match;

use super::registry::{Entry, Scope};
use crate::fault::Result;
use crate::ffi::*;
use crate::main_thread::MainThread;
use crate::root::Root;

/// How many are remembered, at a place that the first class says.
const PLACES: usize = 8;

/// What was chosen for objects with a class attribute. It is chosen again as long as the registry has not changed: a converter
/// that was found by a class is that of all objects with the same classes.
struct Chosen {
    classes: Root,
    version: u64,
    entry: Weak<Entry>,
}

static LAST: MainThread<RefCell<[Option<Chosen>; PLACES]>> =
    MainThread::new(RefCell::new([const { None }; PLACES]));

/// The class attribute of an object that has all its classes there; none of others.
#[inline]
fn classes_of(x: SEXP) -> Option<SEXP> {
    // SAFETY: reading a flag, and an attribute.
    unsafe {
        if Rf_isObject(x) == 0 || IS_S4_OBJECT(x) != 0 {
            return None;
        }
        let classes = Rf_getAttrib(x, R_ClassSymbol);
        (TYPEOF(classes) == STRSXP && ALTREP(classes) == 0 && Rf_xlength(classes) > 0).then_some(classes)
    }
}

#[inline]
fn place_of(classes: SEXP) -> usize {
    // SAFETY: a vector that has an element. Where a string of R is, is a multiple of 8.
    unsafe { STRING_ELT(classes, 0) }.addr() / 64 % PLACES
}

/// Whether two vectors have the same strings: R has each but once, as long as something refers to it.
#[inline]
fn are_same(a: SEXP, b: SEXP) -> bool {
    let n = Rf_xlength(a);
    // SAFETY: vectors of strings with as many elements.
    n == Rf_xlength(b) && (0..n).all(|i| unsafe { STRING_ELT(a, i) == STRING_ELT(b, i) })
}

/// The converter that the registry has chosen for such an object before, and would again.
#[inline]
pub(super) fn again(x: SEXP, registry: &Scope) -> Option<Arc<Entry>> {
    let classes = classes_of(x)?;
    let last = LAST.get().borrow();
    let chosen = last[place_of(classes)].as_ref()?;
    match chosen.version == registry.version() && are_same(chosen.classes.get(), classes) {
        true => chosen.entry.upgrade(),
        false => None,
    }
}

/// Remembers what the registry has chosen for an object when it was of this version.
#[cold]
pub(super) fn remember(x: SEXP, version: u64, entry: &Arc<Entry>) -> Result<()> {
    let (Some(classes), Match::Class(_)) = (classes_of(x), entry.rule()) else { return Ok(()) };
    // Code of C may change the object's own in place.
    // SAFETY: a vector that the object keeps.
    let classes = Root::make(|| unsafe { Rf_shallow_duplicate(classes) })?;
    let place = place_of(classes.get());
    let chosen = Chosen { classes, version, entry: Arc::downgrade(entry) };
    let before = LAST.get().borrow_mut()[place].replace(chosen);
    drop(before);
    Ok(())
}
