//! Telling the user of compiles.

use std::cell::Cell;
use std::ffi::CString;
use std::time::Duration;

use crate::fault::Result;
use crate::ffi::*;
use crate::main_thread::MainThread;
use crate::root::Root;
use crate::unwind::protect;

/// Whether compiles are logged: `options(pjrtdispatch.verbose = TRUE)`.
pub(crate) fn is_verbose() -> Result<bool> {
    static SYMBOL: MainThread<Cell<SEXP>> = MainThread::new(Cell::new(std::ptr::null_mut()));
    if SYMBOL.get().get().is_null() {
        // SAFETY: R keeps symbols for ever.
        SYMBOL.get().set(protect(|| unsafe { Rf_install(c"pjrtdispatch.verbose".as_ptr()) })?);
    }
    // SAFETY: the object is a symbol; reading an option neither allocates nor fails.
    let option = unsafe { Rf_GetOption1(SYMBOL.get().get()) };
    // SAFETY: the vector has an element.
    Ok(TYPEOF(option) == LGLSXP && Rf_xlength(option) == 1 && unsafe { *LOGICAL_RO(option) } == 1)
}

/// Logs a line, as a message that R code can catch.
pub(crate) fn log(text: &str) -> Result<()> {
    let text = crate::make::string(&format!("pjrtdispatch: {text}"))?;
    let text = text.get();
    // SAFETY: the call is protected while it is evaluated; the text is kept.
    protect(|| unsafe {
        let call = Rf_lcons(Rf_install(c"message".as_ptr()), Rf_cons(text, R_NilValue));
        Rf_eval(Rf_protect(call), R_BaseEnv);
        Rf_unprotect(1);
    })
}

/// What was done to a program, for the log: it was compiled, or loaded from the user's cache.
pub(crate) fn done(is_loaded: bool) -> &'static str {
    if is_loaded { "loaded" } else { "compiled" }
}

/// How long a compile takes before it is shown, and how often the line is written anew.
const FIRST: Duration = Duration::from_secs(1);
const AGAIN: Duration = Duration::from_millis(500);

/// The longest line, so that it does not wrap.
const WIDTH: usize = 79;

/// A line that says what is going on, in an interactive session.
pub(crate) struct Progress<F> {
    what: F,
    text: Option<String>,
    next: Duration,
    /// Of the line that is shown.
    width: usize,
}

impl<F: Fn() -> String> Progress<F> {
    /// Shows nothing yet; `what` is asked when there is something to show.
    pub fn new(what: F) -> Progress<F> {
        Progress { what, text: None, next: FIRST, width: 0 }
    }

    /// So much time has passed.
    pub fn step(&mut self, passed: Duration) -> Result<()> {
        if passed < self.next {
            return Ok(());
        }
        if self.text.is_none() && !is_interactive()? {
            self.next = Duration::MAX;
            return Ok(());
        }
        self.next = passed + AGAIN;
        let what = self.text.get_or_insert_with(&self.what);
        let line = format!("compiling for {} s, Ctrl-C ends it: {what}", passed.as_secs());
        let line = shortened(&line);
        let width = line.chars().count();
        write(&format!("\r{line}{}", " ".repeat(self.width.saturating_sub(width))))?;
        self.width = self.width.max(width);
        Ok(())
    }

    /// Takes the line away.
    pub fn end(&mut self) -> Result<()> {
        match std::mem::take(&mut self.width) {
            0 => Ok(()),
            width => write(&format!("\r{}\r", " ".repeat(width))),
        }
    }
}

/// A text that fits into one line.
fn shortened(text: &str) -> String {
    if text.chars().count() <= WIDTH {
        return text.to_owned();
    }
    text.chars().take(WIDTH - 3).chain("...".chars()).collect()
}

/// Whether somebody sits at the session.
fn is_interactive() -> Result<bool> {
    let answer = Root::make(|| unsafe {
        // SAFETY: the call is protected while it is evaluated.
        let call = Rf_protect(Rf_lcons(Rf_install(c"interactive".as_ptr()), R_NilValue));
        let answer = Rf_eval(call, R_BaseEnv);
        Rf_unprotect(1);
        answer
    })?;
    let answer = answer.get();
    // SAFETY: the vector has an element.
    Ok(TYPEOF(answer) == LGLSXP && Rf_xlength(answer) == 1 && unsafe { *LOGICAL_RO(answer) } == 1)
}

/// Writes to the console's error stream.
fn write(text: &str) -> Result<()> {
    let text = CString::new(text.replace('\0', "?")).expect("a text without NUL");
    let text = &text;
    // SAFETY: the format takes one string.
    protect(|| unsafe { REprintf(c"%s".as_ptr(), text.as_ptr()) })
}
