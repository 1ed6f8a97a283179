//! Where compiled programs are kept across R processes: `options(pjrtdispatch.cache = dir)`.
//!
//! The option is read before each compile, and the client's store is what it says then. `pjrtdispatch` reads it; the copies of
//! the runtime in other packages ask for the directory by the table, and open it themselves. Each counts on its own, and
//! `pjrtdispatch` adds that up.

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char, c_int};
use std::path::{Path, PathBuf};

use dispatch_runtime::Client;
use dispatch_runtime::store::Store;

use crate::arg::{Arg, arg};
use crate::describe;
use crate::fault::{Fault, Result};
use crate::ffi::*;
use crate::main_thread::{self, MainThread};
use crate::shared::abi::{CacheCounts, CacheInfo, CountCache, fill, read};
use crate::unwind::protect;
use crate::{make, shared};

const CACHE: &str = "pjrtdispatch.cache";
const BYTES: &str = "pjrtdispatch.cache_bytes";

/// The bound unless the user has set one.
const MOST: u64 = 1 << 30;

/// The stores of this copy, which stay open with their counters, and the directories that could not be opened.
static STORES: MainThread<RefCell<Vec<Known>>> = MainThread::new(RefCell::new(Vec::new()));

struct Known {
    path: String,
    max_bytes: u64,
    /// None if it could not be opened, of which the user was told.
    store: Option<Store>,
}

/// Gives a client the store that the user wants at this moment. Before a compile, on R's thread.
///
/// A directory that cannot be used is a warning, once: programs are compiled as without it.
pub(crate) fn apply(client: Client) -> Result<()> {
    let wanted = match shared::room() {
        Some((_, table)) => shared::cache(table)?,
        None => wanted()?,
    };
    let store = match &wanted {
        Some((path, max_bytes)) => opened(path, *max_bytes)?,
        None => None,
    };
    client.set_store(store.as_ref());
    Ok(())
}

/// The store in a directory, opened if it is not yet.
fn opened(path: &str, max_bytes: u64) -> Result<Option<Store>> {
    let is = |known: &&mut Known| known.path == path && known.max_bytes == max_bytes;
    let mut told = false;
    if let Some(known) = STORES.get().borrow_mut().iter_mut().find(is) {
        if let Some(store) = &known.store {
            return Ok(Some(store.clone()));
        }
        told = true;
    }
    let (store, error) = match Store::builder(path).max_bytes(max_bytes).open() {
        Ok(store) => (Some(store), None),
        Err(error) => (None, Some(error)),
    };
    let mut stores = STORES.get().borrow_mut();
    stores.retain(|known| known.path != path || known.max_bytes != max_bytes);
    stores.push(Known { path: path.to_owned(), max_bytes, store: store.clone() });
    drop(stores);
    match error {
        Some(error) if !told => warn(&format!("{error}; programs are compiled as without a cache"))?,
        _ => {}
    }
    Ok(store)
}

/// A warning of R without a call.
fn warn(text: &str) -> Result<()> {
    let (text, no) = (make::string(&format!("pjrtdispatch: {text}"))?, make::flag(false)?);
    let (text, no) = (text.get(), no.get());
    // SAFETY: the call is protected while it is evaluated; text and flag are kept.
    protect(|| unsafe {
        let arguments = Rf_protect(Rf_cons(text, Rf_cons(no, R_NilValue)));
        SET_TAG(CDR(arguments), Rf_install(c"call.".as_ptr()));
        let call = Rf_lcons(Rf_install(c"warning".as_ptr()), arguments);
        Rf_eval(Rf_protect(call), R_BaseEnv);
        Rf_unprotect(2);
    })
}

/// What the user's options say: a directory and the most bytes in it.
fn wanted() -> Result<Option<(String, u64)>> {
    let path = savvy::Sexp(option(c"pjrtdispatch.cache")?);
    let Some(path) = arg(&path, CACHE).optional() else { return Ok(None) };
    let text = path.string().ok().filter(|text| !text.is_empty());
    let text = text.ok_or_else(|| wrong(CACHE, "the path of a directory, or NULL", path))?;
    let max_bytes = savvy::Sexp(option(c"pjrtdispatch.cache_bytes")?);
    let max_bytes = match arg(&max_bytes, BYTES).optional() {
        None => MOST,
        // Beyond the numbers of 64 bits is no bound.
        Some(given) => match given.double() {
            Ok(bytes) if bytes >= 0.0 => bytes as u64,
            _ => return Err(wrong(BYTES, "a number of bytes, or NULL", given)),
        },
    };
    Ok(Some((expanded(&text)?, max_bytes)))
}

/// The value of an option, which R keeps as long as it is set; `NULL` if it is not.
fn option(name: &CStr) -> Result<SEXP> {
    // SAFETY: the name of a symbol, which R keeps for ever; reading an option neither allocates nor fails.
    protect(|| unsafe { Rf_GetOption1(Rf_install(name.as_ptr())) })
}

#[cold]
fn wrong(option: &str, expected: &str, got: Arg<'_>) -> Fault {
    let got = match got.string() {
        Ok(text) => format!("\"{text}\""),
        Err(_) => describe::value(got.get()),
    };
    Fault::new("option", format!("option `{option}`: expected {expected}, got {got}"))
}

/// A path with the user's home for `~`.
fn expanded(path: &str) -> Result<String> {
    let given = CString::new(path).expect("R's strings have no NUL");
    let given = &given;
    // SAFETY: a text of ours.
    let text = protect(|| unsafe { R_ExpandFileName(given.as_ptr()) })?;
    // SAFETY: the text lives until the next call.
    Ok(unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
}

/// What there is to tell of the user's cache; none if nothing is kept. For `pjrtdispatch`.
pub struct Cache {
    /// The directory.
    pub path: PathBuf,
    /// The bound.
    pub max_bytes: u64,
    /// What is there.
    pub entries: u64,
    /// The sum of their sizes.
    pub bytes: u64,
    /// What this process has done there, in all packages.
    pub counts: CacheCounts,
}

/// The user's store, and its bound; an error if there is none. For `pjrtdispatch`.
fn current() -> Result<Store> {
    let Some((path, max_bytes)) = wanted()? else {
        let how = "compiled programs are not kept: `options(pjrtdispatch.cache = dir)` has them kept in a directory";
        return Err(Fault::new("option", how));
    };
    // What is wrong with the directory is an error here.
    match opened(&path, max_bytes)? {
        Some(store) => Ok(store),
        None => Ok(Store::builder(&path).max_bytes(max_bytes).open()?),
    }
}

/// Looks at the user's cache.
pub fn look() -> Result<Cache> {
    let store = current()?;
    let path = store.path().to_owned();
    let mut counts = CacheCounts { size: size_of::<CacheCounts>(), ..CacheCounts::default() };
    let name = path_text(&path);
    // SAFETY: text and struct are ours; the functions live as long as the process.
    unsafe {
        count(name.as_ptr(), &mut counts);
        OTHERS.get().borrow().iter().for_each(|other| other(name.as_ptr(), &mut counts));
    }
    let stats = store.stats();
    Ok(Cache { path, max_bytes: store.max_bytes(), entries: stats.entries, bytes: stats.bytes, counts })
}

/// Removes all entries of the user's cache; how many.
pub fn clear() -> Result<u64> {
    Ok(current()?.clear()?)
}

/// The functions of other packages that count what they do.
static OTHERS: MainThread<RefCell<Vec<CountCache>>> = MainThread::new(RefCell::new(Vec::new()));

/// The directory that was told last.
static TOLD: MainThread<RefCell<Option<CString>>> = MainThread::new(RefCell::new(None));

fn path_text(path: &Path) -> CString {
    CString::new(&*path.to_string_lossy()).unwrap_or_default()
}

/// See [`Table::cache`](crate::shared::abi::Table).
///
/// # Safety
///
/// The struct states its size.
pub(crate) unsafe extern "C" fn tell(out: *mut CacheInfo) -> c_int {
    shared::guarded(|| {
        let store = match wanted()? {
            Some((path, max_bytes)) => opened(&path, max_bytes)?,
            None => None,
        };
        let mut told = TOLD.get().borrow_mut();
        *told = store.as_ref().map(|store| path_text(store.path()));
        let path = told.as_ref().map_or(std::ptr::null(), |path| path.as_ptr());
        let max_bytes = store.as_ref().map_or(0, Store::max_bytes);
        // SAFETY: by the caller's promise.
        unsafe { fill(out, CacheInfo { size: 0, path, max_bytes }) };
        Ok(())
    })
}

/// See [`Table::count_cache`](crate::shared::abi::Table).
pub(crate) unsafe extern "C" fn count_by(counts: CountCache) {
    if main_thread::is_other() {
        return;
    }
    let mut others = OTHERS.get().borrow_mut();
    // A package that is loaded again has the same library.
    if !others.iter().any(|&other| std::ptr::fn_addr_eq(other, counts)) {
        others.push(counts);
    }
}

/// Adds what this copy has done in a directory.
///
/// # Safety
///
/// The path is a text, and the counts state their size.
pub(crate) unsafe extern "C" fn count(path: *const c_char, counts: *mut CacheCounts) {
    if main_thread::is_other() {
        return;
    }
    // SAFETY: by the caller's promise.
    let (path, mut sum) = unsafe { (CStr::from_ptr(path), read(counts)) };
    for store in STORES.get().borrow().iter().filter_map(|known| known.store.as_ref()) {
        if path_text(store.path()).as_c_str() == path {
            let stats = store.stats();
            sum.hits += stats.hits;
            sum.misses += stats.misses;
            sum.writes += stats.writes;
            sum.refused += stats.refused;
            sum.evicted += stats.evicted;
            sum.failed += stats.failed;
        }
    }
    // SAFETY: as above.
    unsafe { fill(counts, sum) };
}
