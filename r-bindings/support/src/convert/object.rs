//! An object of R that a converter is looked for.

use dispatch_runtime::convert::{Expected, Subject};
use smallvec::SmallVec;

use super::functions::Function;
use super::registry::Converter;
use crate::describe;
use crate::fault::{Fault, Result};
use crate::ffi::*;
use crate::root::Root;
use crate::string;

/// An object with its classes.
pub(super) struct Object<'a> {
    x: SEXP,
    classes: SmallVec<[ClassName; 4]>,
    /// Keeps the classes where the object itself does not.
    _kept: Option<Root>,
    /// The argument that it is, for messages.
    path: &'a str,
    /// An error of a predicate, which the runtime cannot carry.
    failed: std::cell::Cell<Option<Fault>>,
}

/// A text that R keeps, or ours.
enum ClassName {
    Kept(&'static str),
    Own(String),
}

impl<'a> Object<'a> {
    /// The object, which the caller keeps. The class attribute says the classes; of an S4 object also those that its class
    /// extends, and of what has no class the implicit ones.
    pub fn of(x: SEXP, path: &'a str) -> Result<Object<'a>> {
        // SAFETY: reading a flag, and the class attribute, which is a character vector.
        let is_s3 = Rf_isObject(x) != 0 && unsafe { IS_S4_OBJECT(x) } == 0;
        let (classes, kept) = match is_s3 {
            // SAFETY: as above.
            true => (unsafe { Rf_getAttrib(x, R_ClassSymbol) }, None),
            false => {
                let classes = all_classes(x)?;
                (classes.get(), Some(classes))
            }
        };
        let classes = (0..Rf_xlength(classes)).filter_map(|i| class(classes, i)).collect();
        Ok(Object { x, classes, _kept: kept, path, failed: std::cell::Cell::new(None) })
    }

    /// What a predicate has failed with.
    pub fn failed(&self) -> Option<Fault> {
        self.failed.take()
    }
}

/// One of the classes, without a copy if it is in ASCII, as they are.
fn class(classes: SEXP, i: Length) -> Option<ClassName> {
    if TYPEOF(classes) != STRSXP || ALTREP(classes) != 0 {
        return describe::text(classes, i).map(ClassName::Own);
    }
    // SAFETY: the vector has the element, which ends in NUL and lives as long as the object or the root, whichever the
    // name goes with.
    unsafe {
        let name = STRING_ELT(classes, i);
        let bytes: &'static std::ffi::CStr = std::ffi::CStr::from_ptr(R_CHAR(name));
        match bytes.to_str() {
            Ok(text) if text.is_ascii() => Some(ClassName::Kept(text)),
            // What is no text is no converter's class, but a class that messages tell.
            _ => Some(ClassName::Own(match string::utf8(name) {
                Ok(Some(text)) => text.to_owned(),
                _ => bytes.to_string_lossy().into_owned(),
            })),
        }
    }
}

/// What R's `.class2()` gives.
fn all_classes(x: SEXP) -> Result<Root> {
    // SAFETY: the call is protected while it is made and evaluated.
    Root::make(|| unsafe {
        let call = Rf_cons(super::functions::quoted(x), R_NilValue);
        let call = Rf_protect(Rf_lcons(Rf_install(c".class2".as_ptr()), Rf_protect(call)));
        let classes = Rf_eval(call, R_BaseEnv);
        Rf_unprotect(2);
        classes
    })
}

impl Subject<Converter> for Object<'_> {
    fn classes(&self) -> impl Iterator<Item = &str> {
        self.classes.iter().map(|class| match class {
            ClassName::Kept(text) => text,
            ClassName::Own(text) => text.as_str(),
        })
    }

    fn satisfies(&self, converter: &Converter) -> dispatch_runtime::Result<bool> {
        match Function::is_for(converter.list, self.x, self.path) {
            Ok(Some(answer)) => Ok(answer),
            Ok(None) => {
                let description = Function::description(converter.list);
                let why =
                    format!("the predicate of the converter `{description}` gives neither TRUE nor FALSE");
                Err(self.carry(Expected::new(self.path).error(why).into()))
            }
            Err(fault) => Err(self.carry(fault)),
        }
    }
}

impl Object<'_> {
    #[cold]
    fn carry(&self, fault: Fault) -> dispatch_runtime::Error {
        self.failed.set(Some(fault));
        // Nobody sees it.
        dispatch_runtime::Error::Option { option: "predicate", expected: String::new(), got: String::new() }
    }
}
