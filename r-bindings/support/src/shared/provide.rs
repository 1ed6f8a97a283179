//! The side of `pjrtdispatch`: the functions of the table.

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::{NonNull, null};

use dispatch_runtime::array::{Donation, Owner};
use dispatch_runtime::engine::RawBuffer;
use dispatch_runtime::engine::pjrt::{PjrtEngine, codes};
use dispatch_runtime::{Array, Aval, Client, DType, Device};
use smallvec::SmallVec;

use super::abi::*;
use super::handlers;
use crate::anvl::{self, FIELDS};
use crate::arg::{arg, slice};
use crate::fault::{Fault, Result};
use crate::ffi::*;
use crate::handle::{self, Handle, Kind};
use crate::main_thread::{self, MainThread};
use crate::root::Root;
use crate::unwind::protect;
use crate::{buffer, client, compiles, entry, memory, printing};

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
    is_buffer,
    buffer: look,
    borrow,
    retain,
    release,
    donation,
    new_buffer,
    compiled: compiles::compiled,
    template,
    new_arrays,
    printed: &raw const printing::WAITING,
    show_printed,
    register_handler: handlers::register,
    remove_handlers: handlers::remove,
    handlers: handlers::all,
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
fn guarded(body: impl FnOnce() -> Result<()>) -> c_int {
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

fn named_device(client: *const c_void, device: i32) -> Result<Device> {
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

unsafe extern "C" fn is_buffer(x: SEXP) -> c_int {
    (!main_thread::is_other() && buffer::BUFFER.address_of(x).is_some()).into()
}

unsafe extern "C" fn look(x: SEXP, argument: *const c_char, out: *mut BufferInfo) -> c_int {
    guarded(|| {
        // SAFETY: the caller's text.
        let address = buffer::BUFFER.address(x, &unsafe { name(argument) })?;
        // SAFETY: the address of a buffer is that of an array's handle; the caller keeps the R object.
        let handle = unsafe { NonNull::new_unchecked(address) };
        // SAFETY: as above.
        let array = unsafe { Array::from_handle_ref(&handle) };
        // SAFETY: the caller's struct, which states its size.
        unsafe { fill(out, info(address, array, tell(array.client())?)) };
        Ok(())
    })
}

/// What a buffer is, whose client is known to other packages.
#[inline]
fn info(handle: *mut c_void, array: &Array, told: &'static Told) -> BufferInfo {
    BufferInfo {
        size: 0,
        handle,
        buffer: array.raw().as_ptr(),
        client: std::ptr::from_ref(told).cast(),
        device: array.device().index() as i32,
        dtype: codes::buffer_type(array.dtype()),
        // Part of the handle, which the R object keeps.
        dims: array.shape().as_ptr(),
        rank: array.rank(),
        donated: array.is_donated().into(),
    }
}

// Each argument of each call comes here: the good path runs nothing that could fail or panic, so that it needs no guard.
unsafe extern "C" fn borrow(x: SEXP, out: *mut BufferInfo) -> c_int {
    if main_thread::check().is_err() {
        return 1;
    }
    let Some(handle) = buffer::BUFFER.address_of(x).and_then(NonNull::new) else { return 1 };
    // SAFETY: the address of a buffer is that of an array's handle; the caller keeps the R object.
    let array = unsafe { Array::from_handle_ref(&handle) };
    let Some(told) = told(array.client()) else { return borrow_first(x, out) };
    // SAFETY: the caller's struct, which states its size.
    unsafe { fill(out, info(handle.as_ptr(), array, told)) };
    std::mem::forget(array.clone());
    0
}

/// [`borrow`] of the first buffer of a client.
#[cold]
fn borrow_first(x: SEXP, out: *mut BufferInfo) -> c_int {
    // SAFETY: the caller's struct, which states its size; the handle that it gets is alive.
    unsafe {
        if look(x, null(), out) != 0 {
            return 1;
        }
        retain((*out).handle);
    }
    0
}

unsafe extern "C" fn retain(handle: *mut c_void) {
    if let Some(handle) = NonNull::new(handle) {
        // SAFETY: the caller's handle is alive; the new reference is the caller's.
        std::mem::forget(unsafe { Array::from_handle_ref(&handle).clone() });
    }
}

unsafe extern "C" fn release(handle: *mut c_void) {
    // In a forked child the plugin's threads are gone.
    if let (Some(handle), false) = (NonNull::new(handle), main_thread::is_forked()) {
        // SAFETY: the caller gives up a reference.
        drop(unsafe { Array::from_handle(handle) });
    }
}

unsafe extern "C" fn donation(handle: *mut c_void, what: u32) -> u32 {
    let Some(handle) = NonNull::new(handle) else { return 1 };
    // SAFETY: the caller's handle is alive.
    let array = unsafe { Array::from_handle_ref(&handle) };
    if what == Donation::Give as u32 {
        (!array.donate()).into()
    } else if what == Donation::TakeBack as u32 {
        // SAFETY: the caller says that the donation was its own, and has failed.
        unsafe { array.take_back() };
        1
    } else {
        array.is_donated().into()
    }
}

/// A buffer of the other side that was looked at.
#[derive(Clone, Copy)]
struct Given<'a> {
    device: Device,
    dtype: DType,
    shape: &'a [i64],
    new: NewBuffer,
}

impl Given<'_> {
    /// What the other side says of a buffer, whatever that is.
    ///
    /// # Safety
    ///
    /// As for [`read`], and the sizes are there.
    unsafe fn described(given: *const NewBuffer) -> Result<Self> {
        // SAFETY: by the caller's promise; zero is "absent" in every field.
        let new = unsafe { read(given) };
        let device = named_device(new.client, new.device)?;
        let wrong = |name: &str, expected: &str, got: String| {
            Fault::argument("value", name.to_owned(), expected, got)
        };
        let dtype = codes::dtype(new.dtype)
            .ok_or_else(|| wrong("dtype", "a PJRT_Buffer_Type that R has", new.dtype.to_string()))?;
        let shape: &[i64] = match new.rank {
            0 => &[],
            rank if rank > 1000 || new.dims.is_null() => {
                return Err(wrong("dims", "the sizes of a buffer", format!("rank {rank} at {:p}", new.dims)));
            }
            // SAFETY: the caller's sizes.
            rank => unsafe { std::slice::from_raw_parts(new.dims, rank) },
        };
        if let Some(size) = shape.iter().find(|&&size| size < 0) {
            return Err(wrong("dims", "sizes of 0 or more", size.to_string()));
        }
        Ok(Given { device, dtype, shape, new })
    }
}

/// The array that owns a buffer, or refers to its owner.
///
/// # Safety
///
/// The buffer is one of the device's plugin, has this dtype and shape, and is given up here, once. The owner, if there is
/// one, is as [`NewBuffer`] says.
#[inline]
unsafe fn take_over(
    device: Device,
    dtype: DType,
    shape: &[i64],
    buffer: NonNull<c_void>,
    owner: Option<BufferOwner>,
) -> Array {
    let (client, index) = (device.client(), device.index());
    // SAFETY: by the caller's promise.
    unsafe {
        let buffer = RawBuffer::new(buffer);
        match owner {
            Some(BufferOwner { owner: object, donation, release: Some(release) }) => {
                let owner = Owner { object, donation: donation.unwrap_or(unasked), release };
                Array::from_owner(client, buffer, index, dtype, shape, owner)
            }
            _ => Array::from_raw(client, buffer, index, dtype, shape),
        }
    }
}

/// The buffer that the other side gives.
#[inline]
fn given(buffer: *mut c_void) -> Result<NonNull<c_void>> {
    NonNull::new(buffer).ok_or_else(|| Fault::argument("value", "buffer", "a PJRT_Buffer", "null"))
}

unsafe extern "C" fn new_buffer(new: *const NewBuffer, out: *mut SEXP) -> c_int {
    guarded(|| {
        // SAFETY: the caller's struct, which states its size.
        let Given { device, dtype, shape, new } = unsafe { Given::described(new) }?;
        let buffer = given(new.buffer)?;
        let owner = BufferOwner { owner: new.owner, donation: new.donation, release: new.release };
        memory::make_room()?;
        // Nothing is taken over before it is sure that nothing fails any more.
        let object = buffer::reserve()?;
        // SAFETY: the caller's buffer is one of the client's plugin, and has this dtype and shape. The object was reserved
        // for it, nothing of R has run since, and the pointer is the caller's.
        unsafe {
            buffer::complete(object, take_over(device, dtype, shape, buffer, Some(owner)));
            out.write(object);
        }
        Ok(())
    })
}

/// What the arrays of a template are: its `$data`, which no array has.
struct Like {
    device: Device,
    dtype: DType,
    shape: Box<[i64]>,
}

impl Handle for Like {
    fn kind() -> &'static Kind {
        static KIND: Kind = Kind::new("PJRTTemplate", "pjrtdispatch template 1");
        &KIND
    }
}

impl Like {
    /// What a template says.
    ///
    /// # Safety
    ///
    /// R keeps the template for `'a`.
    #[inline]
    unsafe fn of<'a>(template: SEXP) -> Result<&'a Like> {
        if TYPEOF(template) == VECSXP && Rf_xlength(template) == FIELDS.len() as Length {
            // SAFETY: the list has the element, and keeps it.
            return unsafe { handle::get(VECTOR_ELT(template, 0), "templates") };
        }
        Err(Fault::argument("type", "templates", "what `template` gave", "another object"))
    }

    /// # Safety
    ///
    /// As for [`take_over`].
    #[inline]
    unsafe fn take_over(&self, buffer: NonNull<c_void>, owner: Option<BufferOwner>) -> Array {
        // SAFETY: by the caller's promise.
        unsafe { take_over(self.device, self.dtype, &self.shape, buffer, owner) }
    }
}

unsafe extern "C" fn template(like: *const NewBuffer, out: *mut SEXP) -> c_int {
    guarded(|| {
        // SAFETY: the caller's struct, which states its size.
        let like = unsafe { Given::described(like) }?;
        let (atoms, aval) = (anvl::atoms()?, Aval::new(like.dtype, like.shape));
        let (aval, device) = (&aval, client::device_object(like.device)?);
        let like = handle::wrap(Like { device: like.device, dtype: like.dtype, shape: like.shape.into() })?;
        let like = Root::new(like)?;
        let kept = like.get();
        // SAFETY: the list is protected while it is filled, R never collects the device, and the pointer is the caller's.
        let object = protect(|| unsafe {
            let object = Rf_protect(Rf_allocVector(VECSXP, FIELDS.len() as Length));
            SET_VECTOR_ELT(object, 0, kept);
            anvl::make_template(object, atoms, aval, device);
            Rf_unprotect(1);
            object
        })?;
        // SAFETY: the caller's pointer.
        unsafe { out.write(object) };
        Ok(())
    })
}

unsafe extern "C" fn new_arrays(
    buffers: *const *mut c_void,
    owners: *const BufferOwner,
    templates: *const SEXP,
    count: usize,
    out: *mut SEXP,
) -> c_int {
    guarded(|| {
        // SAFETY: the caller's buffers and templates, as many.
        let (buffers, templates) = unsafe { (slice(buffers, count), slice(templates, count)) };
        // SAFETY: as many owners, if there are any.
        let owner = |i: usize| unsafe { (!owners.is_null()).then(|| *owners.add(i)) };
        memory::make_room()?;
        let (symbol, classes) = buffer::BUFFER.prepare()?;
        // One without data yet, not protected.
        // SAFETY: inside `protect`; each new object is kept by one that is protected, and has room for what it gets.
        let unfinished = |template: SEXP| unsafe {
            let array = Rf_protect(Rf_allocVector(VECSXP, FIELDS.len() as Length));
            anvl::fill(array, template, symbol, classes);
            Rf_unprotect(1);
            array
        };
        if let ([template], [buffer]) = (templates, buffers) {
            // SAFETY: the caller keeps the template.
            let (like, buffer) = (unsafe { Like::of(*template) }?, given(*buffer)?);
            let template = *template;
            let array = protect(|| unfinished(template))?;
            // SAFETY: the caller's buffer is one of the device's plugin, and has this dtype and shape. The object was made for
            // it, nothing of R has run since, and the pointer is the caller's.
            unsafe {
                buffer::complete(VECTOR_ELT(array, 0), like.take_over(buffer, owner(0)));
                out.write(array);
            }
            return Ok(());
        }
        let all: SmallVec<[_; 4]> = templates
            .iter()
            .zip(buffers)
            // SAFETY: the caller keeps the templates.
            .map(|(&template, &buffer)| Ok((unsafe { Like::of(template) }?, given(buffer)?)))
            .collect::<Result<_>>()?;
        // SAFETY: the list is protected, and has room for what it gets.
        let list = protect(|| unsafe {
            let list = Rf_protect(Rf_allocVector(VECSXP, count as Length));
            for (i, &template) in templates.iter().enumerate() {
                SET_VECTOR_ELT(list, i as Length, unfinished(template));
            }
            Rf_unprotect(1);
            list
        })?;
        for (i, (like, buffer)) in all.into_iter().enumerate() {
            // SAFETY: as for one.
            unsafe {
                let array = VECTOR_ELT(list, i as Length);
                buffer::complete(VECTOR_ELT(array, 0), like.take_over(buffer, owner(i)));
            }
        }
        // SAFETY: the caller's pointer.
        unsafe { out.write(list) };
        Ok(())
    })
}

/// For an owner who need not know of donations.
unsafe extern "C" fn unasked(_: *mut c_void, _: u32) -> u32 {
    0
}

unsafe extern "C" fn show_printed() -> c_int {
    guarded(printing::show_waiting)
}
