//! Converters that are functions of a package in Rust or C.

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char, c_int, c_void};

use dispatch_runtime::convert::{CopyPolicy, Expected};
use smallvec::SmallVec;

use super::border::{Told, Wanted};
use super::functions::Function;
use super::reach::Reach;
use super::registry;
use crate::entry;
use crate::fault::{Condition, Fault, Result};
use crate::ffi::*;
use crate::handle::{self, Handle, Kind};
use crate::main_thread::MainThread;
use crate::root::Root;
use crate::shared::abi::{ConvertExpected, NewConverter, OutInfo, Tell, read};
use crate::shared::{self, guarded};
use crate::unwind::Token;

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
    class: String,
    description: String,
    package: Option<String>,
    scope: Option<String>,
    copy: CopyPolicy,
    way_in: Box<In>,
    way_back: Option<Box<Out>>,
}

type In = dyn Fn(SEXP, &Expected<'_>) -> Result<Root>;
type Out = dyn Fn(SEXP, SEXP, (&str, &str, usize)) -> Result<Root>;

/// The functions of one.
struct Functions {
    way_in: Box<In>,
    way_back: Option<Box<Out>>,
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
        Native {
            class: class.into(),
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
        let text = |text: &str| {
            CString::new(text).map_err(|_| Fault::argument("value", "class", "texts without NUL", "another"))
        };
        let (class, description) = (text(&self.class)?, text(&self.description)?);
        let package = self.package.as_deref().map(text).transpose()?;
        let scope = self.scope.as_deref().map(text).transpose()?;
        let pointer = |text: &Option<CString>| text.as_ref().map_or(std::ptr::null(), |text| text.as_ptr());
        let has_back = self.way_back.is_some();
        let functions = Box::new(Functions { way_in: self.way_in, way_back: self.way_back });
        let new = NewConverter {
            size: size_of::<NewConverter>(),
            class: class.as_ptr(),
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
        };
        let mut id = 0;
        match shared::room() {
            // SAFETY: struct and number are ours. Whatever comes of it, the other side releases the functions.
            Some((_, table)) => shared::done(table, unsafe { (table.register_converter)(&new, &mut id) })?,
            // SAFETY: as above; the texts are those of this function.
            None => id = unsafe { registered(&new) }?,
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

unsafe extern "C" fn release(data: *mut c_void) {
    // SAFETY: the data is that of `register`, and nobody uses it any more.
    drop(unsafe { Box::from_raw(data.cast::<Functions>()) });
}

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
unsafe fn registered(new: *const NewConverter) -> Result<u64> {
    // SAFETY: by the caller's promise.
    let (new, class, description, package, scope) = unsafe {
        let new = read(new);
        let text = |text: *const c_char| (!text.is_null()).then(|| CStr::from_ptr(text).to_string_lossy());
        (
            new,
            text(new.class).unwrap_or_default(),
            text(new.description).unwrap_or_default(),
            text(new.package),
            text(new.scope),
        )
    };
    // First of all, as it releases the data, whatever comes of the rest.
    let handle = Root::new(handle::wrap(Foreign(new))?)?;
    if new.convert_in.is_none() {
        return Err(Fault::argument("value", "convert_in", "a function", "none"));
    }
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
    let list = Function::list([handle.get(), way_back, nil()], &description)?;
    registry::add_native(&class, &description, package.as_deref(), copy, &reach, &list)
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
