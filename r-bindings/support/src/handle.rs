//! Handles: objects of R that own or name something of ours.
//!
//! A handle is an external pointer with a class. Its tag is a symbol of its kind, which no R code can give to another
//! pointer; its address is null after `readRDS()`, and after [`release`].
//!
//! A handle is refused by another library than the one that made it, since two libraries may be built from different
//! sources: its address is part of the tag. What packages share goes through [`shared`](crate::shared).

use std::cell::Cell;
use std::ffi::{CString, c_void};
use std::sync::atomic::AtomicU8;

use crate::describe;
use crate::fault::{Fault, Result};
use crate::ffi::*;
use crate::main_thread::{self, MainThread};
use crate::unwind::protect;

/// A kind of handle.
pub struct Kind {
    class: &'static str,
    tag: &'static str,
    symbol: MainThread<Cell<SEXP>>,
    classes: MainThread<Cell<SEXP>>,
}

impl Kind {
    /// A kind with this class. `tag` is its name among all kinds of all libraries.
    pub const fn new(class: &'static str, tag: &'static str) -> Kind {
        Kind {
            class,
            tag,
            symbol: MainThread::new(Cell::new(std::ptr::null_mut())),
            classes: MainThread::new(Cell::new(std::ptr::null_mut())),
        }
    }

    /// The class.
    pub fn class(&self) -> &'static str {
        self.class
    }

    /// The tag, a symbol, which R never collects; null before the first handle.
    #[inline(always)]
    fn symbol(&self) -> SEXP {
        self.symbol.get().get()
    }

    /// Tag and class vector, made at first use.
    #[inline]
    pub(crate) fn prepare(&self) -> Result<(SEXP, SEXP)> {
        let (symbol, classes) = (self.symbol(), self.classes.get().get());
        if symbol.is_null() { self.first() } else { Ok((symbol, classes)) }
    }

    #[cold]
    fn first(&self) -> Result<(SEXP, SEXP)> {
        let library = &raw const LIBRARY;
        let tag = CString::new(format!("{} of {library:p}", self.tag)).expect("a tag without NUL");
        let (tag, class) = (&tag, self.class);
        // SAFETY: the class vector is protected until it is preserved. It is shared by all handles, so it must not
        // be changed in place.
        let (symbol, classes) = protect(|| unsafe {
            let symbol = Rf_install(tag.as_ptr());
            let classes = Rf_protect(Rf_ScalarString(crate::make::charsxp(class)));
            MARK_NOT_MUTABLE(classes);
            R_PreserveObject(classes);
            Rf_unprotect(1);
            (symbol, classes)
        })?;
        self.symbol.get().set(symbol);
        self.classes.get().set(classes);
        Ok((symbol, classes))
    }

    /// Whether this is a handle of this kind, alive or not.
    #[inline]
    pub fn is(&self, x: SEXP) -> bool {
        let symbol = self.symbol();
        // SAFETY: the type is that of external pointers.
        TYPEOF(x) == EXTPTRSXP && unsafe { R_ExternalPtrTag(x) } == symbol && !symbol.is_null()
    }

    /// The address of a handle of this kind, which has its class; none if it is something else, or dead.
    #[inline]
    pub fn address_of(&self, x: SEXP) -> Option<*mut c_void> {
        if !self.is(x) || !self.has_class(x) {
            return None;
        }
        // SAFETY: `x` is an external pointer.
        let address = unsafe { R_ExternalPtrAddr(x) };
        (!address.is_null()).then_some(address)
    }

    /// The address of a handle of this kind, which has its class.
    #[inline]
    pub fn address(&self, x: SEXP, argument: &str) -> Result<*mut c_void> {
        self.address_of(x).ok_or_else(|| self.refused(x, argument))
    }

    /// Whether the object has this class, alone or among others.
    #[inline]
    fn has_class(&self, x: SEXP) -> bool {
        // As it is made here, the class is the first attribute, and the shared vector.
        // SAFETY: attributes are a list of pairs, and of none the parts are `NULL`. Whoever has an object is on R's thread.
        let as_made = unsafe {
            let first = ATTRIB(x);
            CAR(first) == self.classes.get_here().get() && TAG(first) == R_ClassSymbol
        };
        as_made || describe::has_class(x, self.class)
    }

    #[cold]
    pub(crate) fn refused(&self, x: SEXP, argument: &str) -> Fault {
        let expected = describe::with_article(self.class);
        let is_pointer = TYPEOF(x) == EXTPTRSXP;
        let named = describe::class(x).as_deref() == Some(self.class);
        if !is_pointer || !(named || self.is(x)) {
            let got = describe::value(x);
            let holds_one = self.class == "PJRTBuffer" && describe::has_class(x, "AnvlArray");
            let got = if holds_one { format!("{got}, whose buffer is its `$data`") } else { got };
            return Fault::argument("type", argument, expected, got);
        }
        // SAFETY: `x` is an external pointer.
        let (tag, is_dead) = unsafe { (R_ExternalPtrTag(x), R_ExternalPtrAddr(x).is_null()) };
        // Of another process the library has another address.
        let is_sibling = named && self.tag.rsplit_once(' ').is_some_and(|(kind, _)| starts_with(tag, kind));
        if !(self.is(x) || is_sibling && is_dead) {
            let got = match is_sibling {
                _ if !named => describe::value(x),
                true => "one of another copy of this toolkit".into(),
                false => "one that this package did not make".into(),
            };
            return Fault::argument("type", argument, expected, got);
        }
        if !self.has_class(x) {
            return Fault::argument(
                "type",
                argument,
                expected,
                format!("{} without its class", describe::value(x)),
            );
        }
        // SAFETY: `x` is an external pointer.
        let got = match unsafe { R_ExternalPtrProtected(x) } == tag {
            true => "one that was released",
            false => "one from another session: it was saved and loaded, and its content is gone",
        };
        Fault::argument("dead", argument, format!("{expected} that is alive"), got)
    }

    /// Whether this is a handle of this kind that was released.
    pub(crate) fn is_released(&self, x: SEXP) -> bool {
        // SAFETY: a handle is an external pointer.
        self.is(x) && unsafe { R_ExternalPtrAddr(x).is_null() && R_ExternalPtrProtected(x) == self.symbol() }
    }

    /// Takes the address out of a handle of this kind, and notes that somebody wanted so.
    pub(crate) fn mark_released(&self, x: SEXP) {
        debug_assert!(self.is(x));
        // SAFETY: a handle is an external pointer; storing does not allocate.
        unsafe {
            R_ClearExternalPtr(x);
            R_SetExternalPtrProtected(x, self.symbol());
        }
    }

    /// A new handle that points to `address`.
    ///
    /// On a failure nobody owns what `address` points to.
    #[inline]
    pub(crate) fn make(
        &self,
        address: *mut c_void,
        finalizer: Option<unsafe extern "C" fn(SEXP)>,
    ) -> Result<SEXP> {
        let (symbol, classes) = self.prepare()?;
        // SAFETY: the pointer is protected until it has its class and its finalizer.
        protect(|| unsafe { self.build(address, symbol, classes, finalizer) })
    }

    /// # Safety
    ///
    /// Inside [`protect`]; `symbol` and `classes` are those of the kind.
    #[inline(always)]
    pub(crate) unsafe fn build(
        &self,
        address: *mut c_void,
        symbol: SEXP,
        classes: SEXP,
        finalizer: Option<unsafe extern "C" fn(SEXP)>,
    ) -> SEXP {
        // SAFETY: by the caller's promise. The address comes last, so that no finalizer runs for a handle that a
        // failure left unfinished.
        unsafe {
            let pointer = Rf_protect(R_MakeExternalPtr(std::ptr::null_mut(), symbol, R_NilValue));
            Rf_setAttrib(pointer, R_ClassSymbol, classes);
            if let Some(finalizer) = finalizer {
                // Not at the end of the session: finalizers of users, which run then, may still dispatch.
                R_RegisterCFinalizerEx(pointer, finalizer, 0);
            }
            R_SetExternalPtrAddr(pointer, address);
            Rf_unprotect(1);
            pointer
        }
    }
}

/// Whether an external pointer is a handle of any kind, of this library or another one.
pub(crate) fn is_any(pointer: SEXP) -> bool {
    // SAFETY: the caller's object is an external pointer.
    TYPEOF(pointer) == EXTPTRSXP && starts_with(unsafe { R_ExternalPtrTag(pointer) }, "pjrtdispatch ")
}

/// Whether a symbol's name starts with a text.
fn starts_with(symbol: SEXP, text: &str) -> bool {
    // SAFETY: the name of a symbol is a string.
    TYPEOF(symbol) == SYMSXP
        && unsafe { std::ffi::CStr::from_ptr(R_CHAR(PRINTNAME(symbol))) }
            .to_bytes()
            .starts_with(text.as_bytes())
}

/// A type that has handles, which are boxes of this library.
pub trait Handle: 'static {
    /// The kind of the handles.
    fn kind() -> &'static Kind;
}

/// What a handle points to.
#[repr(C)]
struct Boxed<T> {
    /// The address of [`LIBRARY`] in the library that made the handle.
    library: *const AtomicU8,
    value: T,
}

/// Its address names this library; atomic, so that no linker merges it with another one.
static LIBRARY: AtomicU8 = AtomicU8::new(0);

/// A new handle, which R owns.
pub fn wrap<T: Handle>(value: T) -> Result<SEXP> {
    let new = New::of(value)?;
    // SAFETY: the handle is made once.
    protect(|| unsafe { new.make() })
}

/// A handle that is about to be made.
pub(crate) struct New<T: Handle> {
    boxed: *mut Boxed<T>,
    /// Tag and class.
    kind: (SEXP, SEXP),
    is_made: Cell<bool>,
}

impl<T: Handle> New<T> {
    pub fn of(value: T) -> Result<New<T>> {
        let kind = T::kind().prepare()?;
        let boxed = Box::into_raw(Box::new(Boxed { library: &raw const LIBRARY, value }));
        Ok(New { boxed, kind, is_made: Cell::new(false) })
    }

    /// The handle, not protected; R owns it.
    ///
    /// # Safety
    ///
    /// Inside [`protect`], and once.
    #[inline]
    pub unsafe fn make(&self) -> SEXP {
        // SAFETY: by the caller's promise.
        let handle =
            unsafe { T::kind().build(self.boxed.cast(), self.kind.0, self.kind.1, Some(finalize::<T>)) };
        self.is_made.set(true);
        handle
    }
}

impl<T: Handle> Drop for New<T> {
    fn drop(&mut self) {
        if !self.is_made.get() {
            // SAFETY: no handle has the box, so it is still ours.
            drop(unsafe { Box::from_raw(self.boxed) });
        }
    }
}

/// A new handle that is never collected, for what lives as long as the session.
pub fn interned<T: Handle>(value: T) -> Result<SEXP> {
    let boxed = Box::into_raw(Box::new(Boxed { library: &raw const LIBRARY, value }));
    let handle = T::kind().make(boxed.cast(), None)?;
    // SAFETY: the handle is protected until it is preserved.
    protect(|| unsafe {
        Rf_protect(handle);
        R_PreserveObject(handle);
        Rf_unprotect(1);
    })?;
    Ok(handle)
}

/// What a handle of this kind points to.
///
/// # Safety
///
/// R keeps `x` alive for `'a`.
#[inline]
pub unsafe fn get<'a, T: Handle>(x: SEXP, argument: &str) -> Result<&'a T> {
    let address = T::kind().address(x, argument)?;
    // SAFETY: the tag says that the address is that of a box whose first field is the library's address. The rest is
    // only looked at if that is this library, which then made the box from a `T`.
    unsafe {
        if *address.cast::<*const AtomicU8>() == &raw const LIBRARY {
            return Ok(&(*address.cast::<Boxed<T>>()).value);
        }
    }
    Err(Fault::argument(
        "type",
        argument,
        describe::with_article(T::kind().class),
        "one that belongs to another package",
    ))
}

/// [`get`] of something that may be `NULL`.
///
/// # Safety
///
/// As for [`get`].
#[inline]
pub unsafe fn get_opt<'a, T: Handle>(x: SEXP, argument: &str) -> Result<Option<&'a T>> {
    // SAFETY: by the caller's promise.
    if x == nil() { Ok(None) } else { unsafe { get(x, argument) }.map(Some) }
}

/// R has collected a handle. This runs inside R's collector: it must not call R beyond the pointer, nor panic.
unsafe extern "C" fn finalize<T: Handle>(x: SEXP) {
    // In a forked child the plugin's threads are gone, and its locks may be held: leave everything as it is.
    if main_thread::is_forked() {
        return;
    }
    // SAFETY: the finalizer was registered for a handle of this type; R calls it once.
    unsafe {
        let address = R_ExternalPtrAddr(x);
        if !address.is_null() {
            R_ClearExternalPtr(x);
            drop(Box::from_raw(address.cast::<Boxed<T>>()));
        }
    }
}
