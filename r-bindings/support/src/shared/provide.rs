//! The side of `pjrtdispatch`: the functions of the table.

mod given;
mod lent;

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::null;

use dispatch_runtime::engine::pjrt::PjrtEngine;
use dispatch_runtime::{Client, Device};

use super::abi::*;
use super::handlers;
use crate::arg::arg;
use crate::fault::{Fault, Result};
use crate::ffi::*;
use crate::main_thread::{self, MainThread};
use crate::unwind::protect;
use crate::{cache, client, compiles, convert, entry, printing, runs};

/// Registers the table with R. Called when `pjrtdispatch` is loaded.
pub fn provide() -> Result<SEXP> {
    // SAFETY: the function lives as long as the process, and has the type that the other side expects.
    protect(|| unsafe {
        let ask: Ask = ask;
        R_RegisterCCallable(
            PACKAGE.as_ptr(),
            NAME.as_ptr(),
            std::mem::transmute::<Ask, unsafe extern "C" fn()>(ask),
        );
    })?;
    Ok(nil())
}

static TABLE: Table = Table {
    size: size_of::<Table>(),
    version: VERSION,
    package_version: VERSION_TEXT.as_ptr().cast(),
    error,
    raise: dispatch_r_raise,
    client: of_platform,
    client_info,
    client_object,
    device: read_device,
    device_object,
    is_buffer: lent::is_buffer,
    buffer: lent::look,
    borrow: lent::borrow,
    retain: lent::retain,
    release: lent::release,
    donation: lent::donation,
    new_buffer: given::new_buffer,
    compiled: compiles::compiled,
    template: given::template,
    new_arrays: given::new_arrays,
    printed: &raw const printing::WAITING,
    show_printed,
    register_handler: handlers::register,
    remove_handlers: handlers::remove,
    handlers: handlers::all,
    running: &raw const runs::STATE,
    go_on,
    cache: cache::tell,
    count_cache: cache::count_by,
    fingerprint,
    convert: convert::convert_by,
    no_converter: convert::no_converter_by,
    convert_out: convert::convert_out_by,
    register_converter: convert::register_by,
    remove_converter: convert::remove_by,
    same_memory: convert::same_memory_by,
};

const VERSION_TEXT: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");

unsafe extern "C" fn ask(version: u32, has: *mut u32) -> *const Table {
    if !has.is_null() {
        // SAFETY: the caller's number.
        unsafe { has.write(VERSION) };
    }
    if version == VERSION { &raw const TABLE } else { null() }
}

/// The error that is kept, and its texts once somebody asks.
struct Kept {
    fault: Fault,
    texts: Option<[CString; 3]>,
}

static KEPT: MainThread<RefCell<Option<Kept>>> = MainThread::new(RefCell::new(None));

/// Runs a function of the table: R's thread only, no panic gets out, an error is kept.
pub(crate) fn guarded(body: impl FnOnce() -> Result<()>) -> c_int {
    match main_thread::check().and_then(|()| entry::caught(body)) {
        Ok(()) => 0,
        Err(fault) => keep(fault),
    }
}

/// Keeps an error until it is asked for, or until the next one.
#[cold]
fn keep(fault: Fault) -> c_int {
    // It cannot be kept where only R's thread looks.
    if !main_thread::is_other() {
        KEPT.get().replace(Some(Kept { fault, texts: None }));
    }
    1
}

unsafe extern "C" fn error(
    code: *mut *const c_char,
    message: *mut *const c_char,
    argument: *mut *const c_char,
) -> c_int {
    if main_thread::is_other() {
        return 0;
    }
    let mut kept = KEPT.get().borrow_mut();
    let Some(Kept { fault, texts }) = kept.as_mut() else { return 0 };
    let Fault::Condition(condition) = fault else { return 2 };
    let texts = texts.get_or_insert_with(|| {
        let argument = condition.argument.as_deref().unwrap_or_default();
        [&condition.code, condition.message.as_str(), argument].map(c_text)
    });
    for (i, out) in [code, message, argument].into_iter().enumerate() {
        let missing = i == 2 && condition.argument.is_none();
        if !out.is_null() {
            // SAFETY: the caller's pointer.
            unsafe { out.write(if missing { null() } else { texts[i].as_ptr() }) };
        }
    }
    1
}

/// A text for C, which ends at a NUL.
fn c_text(text: &str) -> CString {
    CString::new(text.split('\0').next().unwrap_or_default()).unwrap_or_default()
}

/// The error that is kept, on its way: a token to continue by, for `csrc/unwind.c`; null if R could not even raise it.
#[unsafe(no_mangle)]
extern "C" fn dispatch_r_take_error() -> SEXP {
    if main_thread::is_other() {
        return std::ptr::null_mut();
    }
    let kept = KEPT.get().take();
    let fault = kept.map_or_else(|| Fault::new("error", "no function has failed"), |kept| kept.fault);
    match catch_unwind(AssertUnwindSafe(|| fault.raise())) {
        Ok(savvy::Error::Aborted(token)) => token,
        _ => std::ptr::null_mut(),
    }
}

/// What other packages are told of a client; its address names the client. Lives as long as the process.
struct Told {
    client: Client,
    platform: CString,
    path: CString,
    devices: Vec<*mut c_void>,
}

static TOLD: MainThread<RefCell<Vec<&'static Told>>> = MainThread::new(RefCell::new(Vec::new()));

fn pjrt_engine(client: Client) -> Result<&'static PjrtEngine> {
    client
        .engine()
        .as_any()
        .downcast_ref()
        .ok_or_else(|| Fault::new("unimplemented", format!("{client} is not one of a PJRT plugin")))
}

/// What was told of a client.
#[inline]
fn told(client: Client) -> Option<&'static Told> {
    TOLD.get().borrow().iter().find(|told| told.client == client).copied()
}

fn tell(client: Client) -> Result<&'static Told> {
    if let Some(told) = told(client) {
        return Ok(told);
    }
    let engine = pjrt_engine(client)?;
    let told: &'static Told = Box::leak(Box::new(Told {
        client,
        platform: c_text(client.platform()),
        path: c_text(&engine.plugin_path().to_string_lossy()),
        devices: (0..).map_while(|i| engine.device(i)).map(|device| device.as_ptr().cast()).collect(),
    }));
    TOLD.get().borrow_mut().push(told);
    Ok(told)
}

/// The client that another package names.
fn named(client: *const c_void) -> Result<Client> {
    let told = TOLD.get().borrow();
    told.iter()
        .find(|told| std::ptr::from_ref::<Told>(told).cast() == client)
        .map(|told| told.client)
        .ok_or_else(|| {
            Fault::argument("type", "client", "one that pjrtdispatch has given out", "another pointer")
        })
}

pub(crate) fn named_device(client: *const c_void, device: i32) -> Result<Device> {
    let client = named(client)?;
    let mut devices = client.devices();
    let count = devices.len();
    usize::try_from(device).ok().and_then(|i| devices.nth(i)).ok_or_else(|| {
        Fault::argument("value", "device", format!("an index from 0 to {}", count - 1), device)
    })
}

/// The name of an argument that the other side gives.
///
/// # Safety
///
/// The text is null or lives during the call.
unsafe fn name<'a>(argument: *const c_char) -> std::borrow::Cow<'a, str> {
    if argument.is_null() {
        return "x".into();
    }
    // SAFETY: by the caller's promise.
    unsafe { CStr::from_ptr(argument) }.to_string_lossy()
}

unsafe extern "C" fn of_platform(platform: *const c_char, out: *mut ClientInfo) -> c_int {
    guarded(|| {
        let platform = match platform.is_null() {
            true => client::default_platform(),
            // SAFETY: the caller's text.
            false => unsafe { name(platform) }.to_lowercase(),
        };
        // SAFETY: the caller's struct, which states its size.
        unsafe { tell_all(client::of_platform(&platform)?, out) }
    })
}

unsafe extern "C" fn client_info(client: *const c_void, out: *mut ClientInfo) -> c_int {
    // SAFETY: the caller's struct, which states its size.
    guarded(|| unsafe { tell_all(named(client)?, out) })
}

/// # Safety
///
/// As for [`fill`].
unsafe fn tell_all(client: Client, out: *mut ClientInfo) -> Result<()> {
    let (told, engine) = (tell(client)?, pjrt_engine(client)?);
    let info = ClientInfo {
        size: 0,
        client: std::ptr::from_ref(told).cast(),
        api: engine.api().as_ptr().cast(),
        pjrt_client: engine.client().as_ptr().cast(),
        platform: told.platform.as_ptr(),
        plugin_path: told.path.as_ptr(),
        devices: told.devices.as_ptr(),
        device_count: told.devices.len(),
    };
    // SAFETY: by the caller's promise.
    unsafe { fill(out, info) };
    Ok(())
}

unsafe extern "C" fn client_object(client: *const c_void, out: *mut SEXP) -> c_int {
    guarded(|| {
        let object = client::client_object(named(client)?)?;
        // SAFETY: the caller's pointer.
        unsafe { out.write(object) };
        Ok(())
    })
}

unsafe extern "C" fn read_device(x: SEXP, argument: *const c_char, out: *mut DeviceInfo) -> c_int {
    guarded(|| {
        // SAFETY: the caller's text.
        let (x, argument) = (savvy::Sexp(x), unsafe { name(argument) });
        let device = client::read_device(arg(&x, &argument))?;
        let client = std::ptr::from_ref(tell(device.client())?).cast();
        // SAFETY: the caller's struct, which states its size.
        unsafe { fill(out, DeviceInfo { size: 0, client, device: device.index() as i32 }) };
        Ok(())
    })
}

unsafe extern "C" fn device_object(client: *const c_void, device: i32, out: *mut SEXP) -> c_int {
    guarded(|| {
        let object = client::device_object(named_device(client, device)?)?;
        // SAFETY: the caller's pointer.
        unsafe { out.write(object) };
        Ok(())
    })
}

unsafe extern "C" fn show_printed() -> c_int {
    guarded(printing::show_waiting)
}

unsafe extern "C" fn fingerprint(client: *const c_void, device: i32, tell: Tell, to: *mut c_void) {
    let asked = catch_unwind(|| {
        // SAFETY: the caller's name of a client is the address of what was told of it, which lives as long as the process.
        let client = unsafe { client.cast::<Told>().as_ref() }?.client;
        let device = usize::try_from(device).ok().filter(|&device| device < client.devices().len())?;
        client.engine().fingerprint(device)
    });
    if let Ok(Some(text)) = asked {
        // SAFETY: the text lives during the call.
        unsafe { tell(to, c_text(&text).as_ptr()) };
    }
}

unsafe extern "C" fn go_on() -> c_int {
    guarded(runs::take)
}
