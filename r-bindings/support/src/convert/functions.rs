//! Calling the functions of a converter.

use std::cell::{Cell, RefCell};

use dispatch_runtime::DType;
use dispatch_runtime::convert::{CopyPolicy, Expected};
use smallvec::SmallVec;

use super::foreign;
use crate::fault::{Fault, Result};
use crate::ffi::*;
use crate::main_thread::MainThread;
use crate::make;
use crate::root::Root;
use crate::unwind::protect;
use crate::{anvl, describe};

/// What is in the list that a converter is to R.
pub(super) struct Function;

const IN: Length = 0;
const OUT: Length = 1;
const PREDICATE: Length = 2;
const DESCRIPTION: Length = 3;
const ID: Length = 4;
/// A list of the function that gets the errors of the others, as R's stack of handlers takes it.
const HANDLERS: Length = 5;
/// A call that is used again, or `NULL`.
const CALL: Length = 6;
const NAMES: [&str; 7] = ["convert_in", "convert_out", "predicate", "description", "id", "handlers", "call"];

/// The R function `function(id)` that makes what gets the errors of a converter's functions.
static HANDLER: MainThread<Cell<Option<SEXP>>> = MainThread::new(Cell::new(None));

/// Remembers the R function that makes handlers, for good.
pub fn set_handler(function: SEXP) -> Result<()> {
    // SAFETY: the function is an object of R that the caller keeps meanwhile.
    protect(|| unsafe { R_PreserveObject(function) })?;
    HANDLER.get().set(Some(function));
    Ok(())
}

impl Function {
    /// The list of a converter that is about to be registered: the functions on the way in and back, and the predicate.
    pub fn list([way_in, way_back, predicate]: [SEXP; 3], description: &str) -> Result<Root> {
        let (id, description) = (make::double(0.0)?, make::string(description)?);
        make::named_list(&[
            (NAMES[0], way_in),
            (NAMES[1], way_back),
            (NAMES[2], predicate),
            (NAMES[3], description.get()),
            (NAMES[4], id.get()),
            (NAMES[5], nil()),
            (NAMES[6], nil()),
        ])
    }

    /// Notes the number in the list, and makes the handler.
    pub fn set_id(list: SEXP, id: u64) -> Result<()> {
        let id = make::double(id as f64)?;
        let maker =
            HANDLER.get().get().ok_or_else(|| Fault::new("detached", "the package was not loaded by R"))?;
        let handler = crate::dispatcher::call(maker, &[id.get(), list])?;
        let (id, handler) = (id.get(), handler.get());
        // SAFETY: the caller keeps the list, which has these elements; the new objects are kept by roots and the list.
        protect(|| unsafe {
            SET_VECTOR_ELT(list, ID, id);
            let handlers = Rf_allocVector(VECSXP, 1);
            SET_VECTOR_ELT(list, HANDLERS, handlers);
            SET_VECTOR_ELT(handlers, 0, handler);
        })
    }

    /// Whether the function on the way in is one of a package in Rust.
    pub fn is_native(list: SEXP) -> bool {
        // SAFETY: the list is from `list`.
        TYPEOF(unsafe { VECTOR_ELT(list, IN) }) == EXTPTRSXP
    }

    /// The function on the way in.
    pub fn way_in(list: SEXP) -> SEXP {
        // SAFETY: the list is from `list`.
        unsafe { VECTOR_ELT(list, IN) }
    }

    /// What the predicate gives for an object that is an argument with this path; none if that is no flag.
    pub fn is_for(list: SEXP, x: SEXP, path: &str) -> Result<Option<bool>> {
        if Function::is_native(list) {
            return foreign::is_for(list, x, path).map(Some);
        }
        let shared = shared()?;
        let running = Running { outer: RUNNING.get().get(), list, path };
        let _running = running.begin();
        // SAFETY: as in `convert_in`; what it gives is read before R may collect it.
        let answer = protect(|| unsafe {
            let call = Rf_protect(Rf_cons(quoted(x), R_NilValue));
            let call = Rf_protect(Rf_lcons(VECTOR_ELT(list, PREDICATE), call));
            shared.handle(VECTOR_ELT(list, HANDLERS));
            let answer = Rf_eval(call, R_GlobalEnv);
            Rf_unprotect(2);
            let is_flag = TYPEOF(answer) == LGLSXP && Rf_xlength(answer) == 1;
            if is_flag { *LOGICAL_RO(answer) } else { NA_INTEGER }
        })?;
        Ok((answer != NA_INTEGER).then_some(answer != 0))
    }

    pub fn has_out(list: SEXP) -> bool {
        // SAFETY: the list is from `list`.
        unsafe { VECTOR_ELT(list, OUT) != nil() }
    }

    pub fn description(list: SEXP) -> String {
        // SAFETY: the list is from `list`.
        describe::text(unsafe { VECTOR_ELT(list, DESCRIPTION) }, 0).unwrap_or_default()
    }

    /// What the function on the way in gives for an object.
    pub fn convert_in(list: SEXP, x: SEXP, expected: &Expected<'_>) -> Result<Root> {
        if Function::is_native(list) {
            return foreign::convert_in(list, x, expected);
        }
        let shared = shared()?;
        let told = told(expected)?;
        let running = Running { outer: RUNNING.get().get(), list, path: expected.path };
        let _running = running.begin();
        // SAFETY: what is made is protected until it is part of the call; the list is from `list`, and the caller keeps it.
        Root::make(|| unsafe {
            Rf_protect(told);
            let call = Rf_protect(call_of(list, x, told));
            shared.handle(VECTOR_ELT(list, HANDLERS));
            let value = Rf_eval(call, R_GlobalEnv);
            empty(call);
            SET_VECTOR_ELT(list, CALL, call);
            Rf_unprotect(2);
            value
        })
    }

    /// What the function on the way back gives: `convert_out(result, original, info)`.
    pub fn convert_out(
        list: SEXP,
        result: SEXP,
        original: SEXP,
        (function, argument, index): (&str, &str, usize),
    ) -> Result<Root> {
        if Function::is_native(list) {
            return foreign::convert_out(list, result, original, (function, argument, index));
        }
        let shared = shared()?;
        let info = {
            let (function, argument) = (make::string(function)?, make::string(argument)?);
            let index = make::sizes(&[index as i64 + 1])?;
            make::named_list(&[
                ("function", function.get()),
                ("argument", argument.get()),
                ("index", index.get()),
            ])?
        };
        let told = info.get();
        let running = Running { outer: RUNNING.get().get(), list, path: argument };
        let _running = running.begin();
        // SAFETY: as in `convert_in`.
        Root::make(|| unsafe {
            let pairs = Rf_protect(Rf_cons(told, R_NilValue));
            let pairs = Rf_protect(Rf_cons(quoted(original), pairs));
            let call = Rf_protect(Rf_lcons(VECTOR_ELT(list, OUT), Rf_cons(result, pairs)));
            shared.handle(VECTOR_ELT(list, HANDLERS));
            let value = Rf_eval(call, R_GlobalEnv);
            Rf_unprotect(3);
            value
        })
    }
}

/// The call of the function on the way in: the one that the last one that has returned used, or a new one. Until it returns the
/// list has none, so that no other call takes it, also where R jumps out of it and an error may have it.
///
/// # Safety
///
/// Inside [`protect`]; the caller keeps what it gives, and the result is not protected.
unsafe fn call_of(list: SEXP, x: SEXP, told: SEXP) -> SEXP {
    // SAFETY: by the caller's promise; a call that is kept has two arguments.
    unsafe {
        let kept = VECTOR_ELT(list, CALL);
        if kept == R_NilValue {
            let pairs = Rf_protect(Rf_cons(told, R_NilValue));
            let pairs = Rf_cons(quoted(x), pairs);
            let call = Rf_lcons(VECTOR_ELT(list, IN), pairs);
            Rf_unprotect(1);
            return call;
        }
        Rf_protect(kept);
        SET_VECTOR_ELT(list, CALL, R_NilValue);
        let arguments = CDR(kept);
        SETCAR(arguments, quoted(x));
        SETCAR(CDR(arguments), told);
        Rf_unprotect(1);
        kept
    }
}

/// Takes the arguments out of a call.
///
/// # Safety
///
/// The call has two, and is not running.
unsafe fn empty(call: SEXP) {
    // SAFETY: by the caller's promise; storing does not allocate.
    unsafe {
        SETCAR(CDR(call), R_NilValue);
        SETCAR(CDR(CDR(call)), R_NilValue);
    }
}

/// An object as an argument of a call: what R would evaluate is quoted.
///
/// # Safety
///
/// Inside [`protect`]; the caller keeps `x`, and the result is not protected.
pub(super) unsafe fn quoted(x: SEXP) -> SEXP {
    match TYPEOF(x) {
        // SAFETY: `cons` protects what it gets.
        SYMSXP | LANGSXP | PROMSXP | BCODESXP => unsafe {
            Rf_lcons(Rf_install(c"quote".as_ptr()), Rf_cons(x, R_NilValue))
        },
        _ => x,
    }
}

const EXPECTED: [&str; 4] = ["dtype", "shape", "path", "copy"];

/// What the last converter was asked for, and the list that says it: the same place in the user's code asks for the same.
struct Last {
    path: String,
    dtypes: SmallVec<[DType; 4]>,
    shape: Option<SmallVec<[Option<i64>; 4]>>,
    copy: CopyPolicy,
    list: Root,
}

static LAST: MainThread<RefCell<Option<Last>>> = MainThread::new(RefCell::new(None));

/// What is expected as a list of R, which nobody changes in place, and which is kept until something else is expected.
fn told(expected: &Expected<'_>) -> Result<SEXP> {
    if let Some(last) = &*LAST.get().borrow() {
        let is_same = last.path == expected.path
            && last.dtypes[..] == *expected.dtypes
            && last.shape.as_deref() == expected.shape
            && last.copy == expected.copy;
        if is_same {
            return Ok(last.list.get());
        }
    }
    let list = new_told(expected)?;
    let told = list.get();
    let last = Last {
        path: expected.path.to_owned(),
        dtypes: expected.dtypes.into(),
        shape: expected.shape.map(Into::into),
        copy: expected.copy,
        list,
    };
    let before = LAST.get().replace(Some(last));
    drop(before);
    Ok(told)
}

#[cold]
fn new_told(expected: &Expected<'_>) -> Result<Root> {
    let (shared, atoms) = (shared()?, anvl::atoms()?);
    // SAFETY: what is made is part of the list at once, and the list is protected.
    Root::make(|| unsafe {
        let told = Rf_protect(Rf_allocVector(VECSXP, EXPECTED.len() as Length));
        match expected.dtypes {
            [] => {}
            [dtype] => _ = SET_VECTOR_ELT(told, 0, atoms.type_name(dtype.r_name())),
            dtypes => {
                let names = Rf_allocVector(STRSXP, dtypes.len() as Length);
                SET_VECTOR_ELT(told, 0, names);
                for (i, dtype) in dtypes.iter().enumerate() {
                    SET_STRING_ELT(names, i as Length, make::charsxp(dtype.r_name()));
                }
            }
        }
        if let Some(shape) = expected.shape {
            let sizes = Rf_allocVector(INTSXP, shape.len() as Length);
            SET_VECTOR_ELT(told, 1, sizes);
            let size = |n: Option<i64>| n.and_then(|n| i32::try_from(n).ok()).unwrap_or(NA_INTEGER);
            shape.iter().enumerate().for_each(|(i, &n)| INTEGER(sizes).add(i).write(size(n)));
        }
        SET_VECTOR_ELT(told, 2, Rf_ScalarString(make::charsxp(expected.path)));
        SET_VECTOR_ELT(told, 3, Rf_ScalarString(make::charsxp(super::policy_name(expected.copy))));
        SHALLOW_DUPLICATE_ATTRIB(told, shared.expected);
        MARK_NOT_MUTABLE(told);
        Rf_unprotect(1);
        told
    })
}

/// Objects that all calls share.
#[derive(Clone, Copy)]
struct Shared {
    /// An empty list with the names.
    expected: SEXP,
    /// `.addCondHands`, with all arguments but the handlers: what R's `withCallingHandlers()` calls.
    add_handlers: SEXP,
}

impl Shared {
    /// Has errors from here to the end of the [`protect`] go to these handlers first. `withCallingHandlers()` does the same in
    /// several times the time of all else that is done for an object.
    ///
    /// # Safety
    ///
    /// Inside [`protect`], whose context puts back R's stack of handlers when it ends.
    unsafe fn handle(self, handlers: SEXP) {
        // SAFETY: the call was made in `shared`, and has these arguments. R code that runs in between makes no such call
        // before this one has read its arguments.
        unsafe {
            let arguments = CDR(CAR(CDR(self.add_handlers)));
            SETCAR(CDR(arguments), handlers);
            Rf_eval(self.add_handlers, R_BaseEnv);
            SETCAR(CDR(arguments), R_NilValue);
        }
    }
}

fn shared() -> Result<Shared> {
    static SHARED: MainThread<Cell<Option<Shared>>> = MainThread::new(Cell::new(None));
    if let Some(shared) = SHARED.get().get() {
        return Ok(shared);
    }
    let (names, class) = (make::strings(&EXPECTED)?, make::string("error")?);
    let (names, class) = (names.get(), class.get());
    // SAFETY: what is made is protected until it is preserved.
    let shared = protect(|| unsafe {
        let expected = Rf_protect(Rf_allocVector(VECSXP, EXPECTED.len() as Length));
        MARK_NOT_MUTABLE(names);
        Rf_setAttrib(expected, R_NamesSymbol, names);
        // .Internal(.addCondHands("error", handlers, globalenv, NULL, TRUE))
        let yes = Rf_protect(Rf_ScalarLogical(1));
        let mut call = Rf_protect(Rf_cons(yes, R_NilValue));
        for argument in [R_NilValue, R_GlobalEnv, R_NilValue, class] {
            call = Rf_protect(Rf_cons(argument, call));
        }
        let call = Rf_protect(Rf_lcons(Rf_install(c".addCondHands".as_ptr()), call));
        let call = Rf_protect(Rf_cons(call, R_NilValue));
        let add_handlers = Rf_protect(Rf_lcons(Rf_install(c".Internal".as_ptr()), call));
        R_PreserveObject(expected);
        R_PreserveObject(add_handlers);
        Rf_unprotect(10);
        Shared { expected, add_handlers }
    })?;
    SHARED.get().set(Some(shared));
    Ok(shared)
}

/// The functions that are running, the innermost one first.
static RUNNING: MainThread<Cell<*const Running<'static>>> = MainThread::new(Cell::new(std::ptr::null()));

/// Says that a function of a converter runs, as long as it lives, and stays where it is.
struct Running<'a> {
    outer: *const Running<'static>,
    list: SEXP,
    path: &'a str,
}

impl Running<'_> {
    /// Names it as the innermost one; it has to stay where it is until what is given is dropped.
    #[inline]
    fn begin(&self) -> Ends<'_> {
        RUNNING.get().set(std::ptr::from_ref(self).cast());
        Ends(self.outer, std::marker::PhantomData)
    }
}

struct Ends<'a>(*const Running<'static>, std::marker::PhantomData<&'a ()>);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        RUNNING.get().set(self.0);
    }
}

/// The path of the argument that the innermost running function of the converter of this number is called for.
pub fn running_path(id: f64) -> Option<String> {
    let mut at = RUNNING.get().get();
    // SAFETY: what is named there lives until it ends, and its list has the number.
    while let Some(running) = unsafe { at.as_ref() } {
        // SAFETY: as above.
        if unsafe { *REAL_RO(VECTOR_ELT(running.list, ID)) } == id {
            return Some(running.path.to_owned());
        }
        at = running.outer;
    }
    None
}
