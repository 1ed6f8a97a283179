//! What goes wrong on the way between R and the runtime.

use std::borrow::Cow;
use std::cell::Cell;

use dispatch_runtime::Error;

use crate::ffi::*;
use crate::main_thread::MainThread;
use crate::unwind::{Token, protect};

/// An error of the glue to R.
#[derive(Debug)]
pub enum Fault {
    /// To be raised as an R condition.
    Condition(Box<Condition>),
    /// R is on its way out of this call already: an error or an interrupt in R code that was called, or a `return`
    /// across it. It has to reach the entry; dropping it makes R go on as if nothing had happened.
    Jump(Token),
}

/// A result whose error is a [`Fault`] unless another is named.
pub type Result<T, E = Fault> = std::result::Result<T, E>;

/// What an R condition of the class `pjrtdispatch_error` says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// A short name of the kind of error that never changes; see [`Error::code`].
    pub code: Cow<'static, str>,
    /// The message.
    pub message: String,
    /// The path of the argument that is wrong, where one is.
    pub argument: Option<String>,
}

impl Fault {
    /// A condition that concerns no argument.
    #[cold]
    pub fn new(code: &'static str, message: impl Into<String>) -> Fault {
        Fault::Condition(Box::new(Condition { code: code.into(), message: message.into(), argument: None }))
    }

    /// Whether the memory of a device is exhausted: [`memory::is_exhausted`](crate::memory) of the error that it was.
    #[inline]
    pub(crate) fn is_exhausted(&self) -> bool {
        match self {
            Fault::Condition(condition) => {
                condition.code == "pjrt" && condition.message.contains("RESOURCE_EXHAUSTED")
            }
            Fault::Jump(_) => false,
        }
    }

    /// ``argument `x`: expected a string, got NULL``.
    #[cold]
    pub fn argument(
        code: &'static str,
        argument: impl Into<String>,
        expected: impl std::fmt::Display,
        got: impl std::fmt::Display,
    ) -> Fault {
        let argument = argument.into();
        Fault::Condition(Box::new(Condition {
            code: code.into(),
            message: format!("argument `{argument}`: expected {expected}, got {got}"),
            argument: Some(argument),
        }))
    }

    /// An error of the runtime that calls its only argument `self`, under the name that R users know.
    #[cold]
    pub fn named(error: Error, argument: &str) -> Fault {
        error.with_argument(argument).into()
    }

    /// The fault with the name of the argument, if it concerns none yet and is one of memory or of a plugin.
    #[cold]
    pub fn in_argument(mut self, argument: &str) -> Fault {
        if let Fault::Condition(condition) = &mut self {
            condition.argument.get_or_insert_with(|| argument.to_owned());
        }
        self
    }

    /// Raises the error in R, with the call of the user.
    ///
    /// The answer is for the C wrapper that called the entry, where R goes on.
    #[cold]
    pub(crate) fn raise(self) -> savvy::Error {
        let condition = match self {
            Fault::Jump(token) => return savvy::Error::Aborted(token.tagged()),
            Fault::Condition(condition) => condition,
        };
        let (code, message) = (&*condition.code, &*condition.message);
        let argument = condition.argument.as_deref();
        let raise = RAISE.get().get();
        let raised = match raise.is_null() {
            true => Ok(()),
            // SAFETY: the function was preserved by `attach`, and every new object is protected until it is in the
            // call.
            false => protect(|| unsafe {
                let string = |text: &str| Rf_protect(Rf_ScalarString(crate::make::charsxp(text)));
                let argument = match argument {
                    Some(text) => string(text),
                    None => Rf_protect(R_NilValue),
                };
                let arguments = Rf_protect(Rf_cons(argument, R_NilValue));
                let arguments = Rf_protect(Rf_cons(string(message), arguments));
                let arguments = Rf_protect(Rf_cons(string(code), arguments));
                Rf_eval(Rf_protect(Rf_lcons(raise, arguments)), R_BaseEnv);
                Rf_unprotect(7);
            }),
        };
        match raised {
            Err(Fault::Jump(token)) => savvy::Error::Aborted(token.tagged()),
            // The function of R always jumps; without it the message at least arrives.
            _ => savvy::Error::new(&condition.message),
        }
    }
}

/// The R function that raises a condition.
static RAISE: MainThread<Cell<SEXP>> = MainThread::new(Cell::new(std::ptr::null_mut()));

/// Remembers the R function `function(code, message, argument)` that raises a condition.
pub(crate) fn set_raise(function: SEXP) -> Result<()> {
    // SAFETY: `function` is an object of R; preserving it allocates.
    protect(|| unsafe { R_PreserveObject(function) })?;
    let old = RAISE.get().replace(function);
    if !old.is_null() {
        // SAFETY: the old function was preserved when it was set.
        protect(|| unsafe { R_ReleaseObject(old) })?;
    }
    Ok(())
}

/// `2.5 at index [1, 0]`, where the runtime counts from 0, as R counts: `2.5 as element [2, 1]`.
fn counted_from_one(got: String) -> String {
    let Some((value, index)) = got.rsplit_once(" at index ") else { return got };
    let one = |at: &str| at.parse::<u64>().ok().map(|at| (at + 1).to_string());
    let inside = index.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    let position = match inside {
        None => one(index),
        Some(all) => {
            let all: Option<Vec<String>> = all.split(", ").map(one).collect();
            all.map(|all| format!("[{}]", all.join(", ")))
        }
    };
    match position {
        Some(position) => format!("{value} as element {position}"),
        None => got,
    }
}

impl From<Error> for Fault {
    #[cold]
    fn from(error: Error) -> Fault {
        let error = match error {
            Error::Value { argument, expected, got } => {
                Error::Value { argument, expected, got: counted_from_one(got) }
            }
            Error::PluginNotFound { platform, looked, hint } => {
                let here = if platform == "cuda" { "install_pjrt(cuda = \"12\")" } else { "install_pjrt()" };
                Error::PluginNotFound { platform, looked, hint: format!("{here}; outside of R: {hint}") }
            }
            error => error,
        };
        Fault::Condition(Box::new(Condition {
            code: error.code().into(),
            argument: match &error {
                Error::Option { option, .. } => Some((*option).to_owned()),
                error => error.argument().map(str::to_owned),
            },
            message: error.to_string(),
        }))
    }
}

/// An error of a run whose arguments are R's dots: what the runtime counts is told as R users count.
#[cold]
pub fn in_dots(error: Error) -> Error {
    match error.argument().filter(|path| path.parse::<usize>().is_ok()) {
        Some(position) => {
            let path = format!("...[[{position}]]");
            error.with_argument(path)
        }
        None => error,
    }
}
