//! Converters that are functions of this package in Rust.

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char, c_int, c_void};

use dispatch_runtime::convert::{CopyPolicy, Expected};

use super::border::Told;
use super::{foreign, registry};
use crate::fault::{Fault, Result};
use crate::ffi::*;
use crate::main_thread::MainThread;
use crate::root::Root;
use crate::shared::abi::{ConvertExpected, NewConverter, OutInfo, Tell, read};
use crate::{entry, make, shared};

/// A converter in Rust, for the objects of an R class, as [`Native::register`] takes it.
///
/// ```text
/// // In a function that R calls from `.onLoad()`, after `attach_families()`:
/// Native::new("VirtualIntegerSequence", "VirtualIntegerSequence to integer", |x, expected| {
///     let length = /* … read from `x` … */;
///     make::integers(length)
/// })
/// .package("virtualseq")
/// .register()?;
/// ```
///
/// It is called on R's thread, and gives an R vector or array, a buffer, or an `AnvlArray`. It goes when the package is
/// detached.
pub struct Native {
    rule: Rule,
    description: String,
    package: Option<String>,
    scope: Option<String>,
    copy: CopyPolicy,
    way_in: Box<In>,
    way_back: Option<Box<Out>>,
}

/// Which objects one is for.
enum Rule {
    Class(String),
    Predicate(Box<Predicate>),
}

type Predicate = dyn Fn(SEXP) -> Result<bool>;
type In = dyn Fn(SEXP, &Expected<'_>) -> Result<Root>;
type Out = dyn Fn(SEXP, SEXP, (&str, &str, usize)) -> Result<Root>;

/// The functions of one.
struct Functions {
    way_in: Box<In>,
    way_back: Option<Box<Out>>,
    predicate: Option<Box<Predicate>>,
}

/// What this package has registered.
static OWN: MainThread<RefCell<Vec<u64>>> = MainThread::new(RefCell::new(Vec::new()));

impl Native {
    /// A converter for the objects of a class. What its function fails with names the converter and the argument.
    pub fn new(
        class: &str,
        description: &str,
        way_in: impl Fn(SEXP, &Expected<'_>) -> Result<Root> + 'static,
    ) -> Native {
        Native::of(Rule::Class(class.into()), description, way_in)
    }

    /// A converter for the objects that a predicate holds of: `Native::matching("lists of two", |x| Ok(…), |x, expected| …)`. It
    /// comes after those for the classes of an object.
    pub fn matching(
        description: &str,
        predicate: impl Fn(SEXP) -> Result<bool> + 'static,
        way_in: impl Fn(SEXP, &Expected<'_>) -> Result<Root> + 'static,
    ) -> Native {
        Native::of(Rule::Predicate(Box::new(predicate)), description, way_in)
    }

    fn of(
        rule: Rule,
        description: &str,
        way_in: impl Fn(SEXP, &Expected<'_>) -> Result<Root> + 'static,
    ) -> Native {
        Native {
            rule,
            description: description.into(),
            package: None,
            scope: None,
            copy: CopyPolicy::IfNeeded,
            way_in: Box::new(way_in),
            way_back: None,
        }
    }

    /// What takes the place of a result that is written back: a function of the result, the object, and the names of function and
    /// argument with the argument's position, counted from 0.
    pub fn convert_out(
        self,
        way_back: impl Fn(SEXP, SEXP, (&str, &str, usize)) -> Result<Root> + 'static,
    ) -> Native {
        Native { way_back: Some(Box::new(way_back)), ..self }
    }

    /// The package that it belongs to.
    pub fn package(self, package: &str) -> Native {
        Native { package: Some(package.into()), ..self }
    }

    /// Makes it a converter for the calls from the code of a package only, such as the one that it belongs to. There it comes
    /// before those for every call.
    pub fn scope(self, package: &str) -> Native {
        Native { scope: Some(package.into()), ..self }
    }

    /// Whether data may be copied.
    pub fn copy(self, copy: CopyPolicy) -> Native {
        Native { copy, ..self }
    }

    /// Registers it, for every call unless it has a [scope](Native::scope); its number.
    ///
    /// # Errors
    ///
    /// The class or the description is empty, a text has a NUL, or the scope is not the name of a package.
    pub fn register(self) -> Result<u64> {
        let text = |name: &'static str, text: &str| {
            let wrong = |_| Fault::argument("value", name, "a text without NUL", format!("{text:?}"));
            CString::new(text).map_err(wrong)
        };
        let (class, predicate) = match self.rule {
            Rule::Class(class) => (Some(text("class", &class)?), None),
            Rule::Predicate(predicate) => (None, Some(predicate)),
        };
        let description = text("description", &self.description)?;
        let package = self.package.as_deref().map(|package| text("package", package)).transpose()?;
        let scope = self.scope.as_deref().map(|scope| text("scope", scope)).transpose()?;
        let pointer = |text: &Option<CString>| text.as_ref().map_or(std::ptr::null(), |text| text.as_ptr());
        let (has_back, has_predicate) = (self.way_back.is_some(), predicate.is_some());
        let functions = Box::new(Functions { way_in: self.way_in, way_back: self.way_back, predicate });
        let new = NewConverter {
            size: size_of::<NewConverter>(),
            class: pointer(&class),
            description: description.as_ptr(),
            package: pointer(&package),
            copy: match self.copy {
                CopyPolicy::Never => 0,
                CopyPolicy::IfNeeded => 1,
                CopyPolicy::Always => 2,
            },
            convert_in: Some(call_in),
            convert_out: has_back.then_some(call_out),
            data: Box::into_raw(functions).cast(),
            release: Some(release),
            scope: pointer(&scope),
            predicate: has_predicate.then_some(call_predicate),
        };
        let mut id = 0;
        match shared::room() {
            // SAFETY: struct and number are ours. Whatever comes of it, the other side releases the functions.
            Some((_, table)) => shared::done(table, unsafe { (table.register_converter)(&new, &mut id) })?,
            // SAFETY: as above; the texts are those of this function.
            None => id = unsafe { foreign::registered(&new) }?,
        }
        OWN.get().borrow_mut().push(id);
        Ok(id)
    }
}

/// Removes what this package has registered.
pub(crate) fn forget_natives() -> Result<()> {
    let own = OWN.get().take();
    for id in own {
        match shared::room() {
            // SAFETY: the function takes any number.
            Some((_, table)) => _ = unsafe { (table.remove_converter)(id) },
            None => _ = registry::remove_number(id),
        }
    }
    Ok(())
}

/// Tells the other side what became of a call.
fn answer(made: Result<Root>, out: *mut SEXP, tell: Tell, to: *mut c_void) -> c_int {
    match made {
        Ok(value) => {
            // SAFETY: the caller's pointer.
            unsafe { out.write(value.release()) };
            0
        }
        Err(Fault::Condition(condition)) => {
            let text = CString::new(condition.message.replace('\0', " ")).unwrap_or_default();
            // SAFETY: the text lives during the call.
            unsafe { tell(to, text.as_ptr()) };
            1
        }
        Err(Fault::Jump(token)) => {
            // SAFETY: the caller's pointer.
            unsafe { out.write(token.tagged()) };
            2
        }
    }
}

unsafe extern "C" fn call_in(
    data: *mut c_void,
    x: SEXP,
    expected: *const ConvertExpected,
    out: *mut SEXP,
    tell: Tell,
    to: *mut c_void,
) -> c_int {
    let made = entry::caught(|| {
        // SAFETY: the data is that of `register`, which is released later; the caller's struct states its size.
        let (functions, told) = unsafe { (&*data.cast::<Functions>(), Told::read(expected)?) };
        (functions.way_in)(x, &told.expected())
    });
    answer(made, out, tell, to)
}

unsafe extern "C" fn call_out(
    data: *mut c_void,
    result: SEXP,
    original: SEXP,
    info: *const OutInfo,
    out: *mut SEXP,
    tell: Tell,
    to: *mut c_void,
) -> c_int {
    let made = entry::caught(|| {
        // SAFETY: as in `call_in`; the texts live during the call.
        let (functions, function, argument, index) = unsafe {
            let info = read(info);
            let text = |text: *const c_char| CStr::from_ptr(text).to_string_lossy();
            (&*data.cast::<Functions>(), text(info.function), text(info.argument), info.index)
        };
        match &functions.way_back {
            Some(way_back) => way_back(result, original, (&function, &argument, index)),
            None => Root::new(nil()),
        }
    });
    answer(made, out, tell, to)
}

unsafe extern "C" fn call_predicate(
    data: *mut c_void,
    x: SEXP,
    out: *mut SEXP,
    tell: Tell,
    to: *mut c_void,
) -> c_int {
    let made = entry::caught(|| {
        // SAFETY: as in `call_in`.
        let functions = unsafe { &*data.cast::<Functions>() };
        let holds = functions.predicate.as_ref().map_or(Ok(false), |predicate| predicate(x))?;
        make::flag(holds)
    });
    answer(made, out, tell, to)
}

unsafe extern "C" fn release(data: *mut c_void) {
    // SAFETY: the data is that of `register`, and nobody uses it any more.
    drop(unsafe { Box::from_raw(data.cast::<Functions>()) });
}
