//! What compiled programs print: by the custom call `print_tensor`, on whatever thread they run.
//!
//! R prints on its own thread only, and not while a plugin's frames are below: R code may jump over them, or come back to
//! the plugin. So what is printed is copied and waits, and R shows it as soon as the call that is going on returns to R
//! (`after`), or while it waits for a result. What waits is in the copy of this crate that `pjrtdispatch` has, where the
//! custom call is; other packages see its flag, and have it shown by its table.

use std::cell::Cell;
use std::collections::VecDeque;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};
use std::sync::{Mutex, PoisonError};

use dispatch_runtime::{Aval, DType};

use crate::fault::Result;
use crate::ffi::*;
use crate::main_thread::MainThread;
use crate::root::Root;
use crate::unwind::protect;
use crate::{make, read, shared};

/// Elements with lines around them.
pub struct Printed {
    header: String,
    footer: String,
    dtype: DType,
    shape: Vec<i64>,
    /// As words, for they are aligned for every dtype.
    words: Vec<u64>,
    size: usize,
}

impl Printed {
    /// Copies row-major elements. A header or footer without a text is not shown.
    ///
    /// # Panics
    ///
    /// If the bytes are not those of such an array.
    pub fn new(aval: &Aval, bytes: &[u8], header: &str, footer: &str) -> Printed {
        let elements: i64 = aval.shape().iter().product();
        assert_eq!(bytes.len() as i64, elements * aval.dtype().size() as i64, "the bytes of {aval}");
        let mut words = vec![0u64; bytes.len().div_ceil(8)];
        // SAFETY: there is room for as many bytes, in a vector of our own.
        unsafe {
            words.as_mut_ptr().cast::<u8>().copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
        }
        Printed {
            header: header.to_owned(),
            footer: footer.to_owned(),
            dtype: aval.dtype(),
            shape: aval.shape().to_vec(),
            words,
            size: bytes.len(),
        }
    }

    fn show(&self) -> Result<()> {
        let function = SHOW.get().get();
        if function.is_null() {
            return Ok(());
        }
        // SAFETY: the words are these bytes.
        let bytes = unsafe { std::slice::from_raw_parts(self.words.as_ptr().cast::<u8>(), self.size) };
        // SAFETY: they are elements of the array, as was checked, and words are aligned for all of them.
        let data = unsafe { read::shown(self.dtype, &self.shape, bytes) }?;
        let (header, footer) = (make::string(&self.header)?, make::string(&self.footer)?);
        let (data, header, footer) = (data.get(), header.get(), footer.get());
        // SAFETY: the function was preserved, its arguments are rooted, and the call is protected.
        protect(|| unsafe {
            let arguments = Rf_protect(Rf_cons(footer, R_NilValue));
            let arguments = Rf_protect(Rf_cons(header, arguments));
            let arguments = Rf_protect(Rf_cons(data, arguments));
            Rf_eval(Rf_protect(Rf_lcons(function, arguments)), R_BaseEnv);
            Rf_unprotect(4);
        })
    }
}

/// What R has not shown yet, in order.
static QUEUE: Mutex<VecDeque<Printed>> = Mutex::new(VecDeque::new());

/// Whether the queue has something. Written with the queue locked.
pub(crate) static WAITING: AtomicBool = AtomicBool::new(false);

/// [`WAITING`] of the copy that has the queue: ours, unless this package has joined another.
static FLAG: AtomicPtr<AtomicBool> = AtomicPtr::new((&raw const WAITING).cast_mut());

/// The R function `function(data, header, footer)` that shows elements.
static SHOW: MainThread<Cell<SEXP>> = MainThread::new(Cell::new(null_mut()));

/// Remembers the R function that shows elements. For `pjrtdispatch`.
pub fn set_show(function: SEXP) -> Result<()> {
    // SAFETY: `function` is an object of R; preserving it allocates.
    protect(|| unsafe { R_PreserveObject(function) })?;
    let old = SHOW.get().replace(function);
    if !old.is_null() {
        // SAFETY: the old function was preserved when it was set.
        protect(|| unsafe { R_ReleaseObject(old) })?;
    }
    Ok(())
}

/// Has R show something as soon as it can. From any thread.
pub fn print(printed: Printed) {
    let mut queue = QUEUE.lock().unwrap_or_else(PoisonError::into_inner);
    queue.push_back(printed);
    WAITING.store(true, Ordering::Relaxed);
}

fn next() -> Option<Printed> {
    let mut queue = QUEUE.lock().unwrap_or_else(PoisonError::into_inner);
    let next = queue.pop_front();
    WAITING.store(!queue.is_empty(), Ordering::Relaxed);
    next
}

/// The package has joined `pjrtdispatch`, which has the queue and this flag.
///
/// The flag lives as long as the process.
pub(crate) fn watch(flag: *const AtomicBool) {
    FLAG.store(flag.cast_mut(), Ordering::Relaxed);
}

/// Whether something waits to be shown.
#[inline(always)]
fn is_waiting() -> bool {
    // SAFETY: the flag is a static of this library or of one that stays in the process.
    unsafe { &*FLAG.load(Ordering::Relaxed) }.load(Ordering::Relaxed)
}

/// Shows what waits, on R's thread. Should R jump out of that, what comes after it waits on.
#[inline]
pub(crate) fn show_waiting() -> Result<()> {
    if is_waiting() { show_all() } else { Ok(()) }
}

#[cold]
fn show_all() -> Result<()> {
    if let Some((_, table)) = shared::room() {
        return shared::show_printed(table);
    }
    while let Some(printed) = next() {
        printed.show()?;
    }
    Ok(())
}

/// The end of a call from R: shows what waits before R goes on with the value or the error.
#[inline(always)]
pub(crate) fn after(result: Result<SEXP>) -> Result<SEXP> {
    if is_waiting() { show_before(result) } else { result }
}

#[cold]
fn show_before(result: Result<SEXP>) -> Result<SEXP> {
    match result {
        // R is on its way out already; or what was given is no object, but says what else there is to be done.
        Err(crate::Fault::Jump(token)) => Err(crate::Fault::Jump(token)),
        Ok(value) if value.addr() <= 2 => Ok(value),
        Ok(value) => {
            let value = Root::new(value)?;
            show_waiting()?;
            Ok(value.release())
        }
        Err(fault) => {
            show_waiting()?;
            Err(fault)
        }
    }
}
