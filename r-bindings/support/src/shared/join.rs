//! The side of any other package.

use std::cell::{Cell, RefCell};
use std::ffi::{CStr, CString, c_char, c_void};
use std::path::Path;
use std::ptr::{NonNull, null, null_mut};

use dispatch_runtime::array::Owner;
use dispatch_runtime::engine::RawBuffer;
use dispatch_runtime::engine::pjrt::{PjrtEngine, codes};
use dispatch_runtime::{Array, Client, Device};

use super::abi::*;
use super::handlers;
use crate::arg::slice;
use crate::fault::{Condition, Fault, Result};
use crate::ffi::*;
use crate::main_thread::MainThread;
use crate::root::Root;
use crate::unwind::protect;
use crate::{printing, runs};

/// Joins what `pjrtdispatch` shares. A package calls it when it is loaded, after [`attach`](crate::attach), and has
/// `pjrtdispatch` among its imports, so that it is loaded first.
///
/// An error if `pjrtdispatch` has another version of the table.
pub fn join() -> Result<SEXP> {
    // SAFETY: R raises an error if the function is not there; what is registered under this name is an `Ask`.
    let ask = protect(|| unsafe { R_GetCCallable(PACKAGE.as_ptr(), NAME.as_ptr()) })?;
    let Some(ask) = ask else { return Err(Fault::new("version", "pjrtdispatch gives no functions")) };
    // SAFETY: as above.
    let ask = unsafe { std::mem::transmute::<unsafe extern "C" fn(), Ask>(ask) };
    let mut has = 0;
    // SAFETY: the number is ours.
    let table = unsafe { ask(VERSION, &mut has) };
    // SAFETY: the table lives as long as the process.
    let table = unsafe { table.as_ref() };
    let Some(table) = table.filter(|table| table.size >= size_of::<Table>()) else {
        let what = match table {
            // It has a version of this number, but less of it: the functions that were appended since are missing.
            Some(table) => {
                format!("the one installed has {} of the {} bytes of that", table.size, size_of::<Table>())
            }
            None => format!("the one installed has version {has}"),
        };
        return Err(Fault::new(
            "version",
            format!(
                "this package shares buffers by version {VERSION} of the interface of pjrtdispatch, {what}: install the two \
                 anew, the package last"
            ),
        ));
    };
    ROOM.get().table.set(Some(table));
    printing::watch(table.printed);
    runs::watch(table.running);
    handlers::hand_over(table);
    // SAFETY: the function lives as long as the process, as this library does.
    unsafe { (table.count_cache)(crate::cache::count) };
    Ok(nil())
}

/// What this package has of what is shared.
pub(crate) struct Room {
    table: Cell<Option<&'static Table>>,
    clients: RefCell<Vec<Known>>,
}

/// A client of ours for one of `pjrtdispatch`.
#[derive(Clone, Copy)]
struct Known {
    client: Client,
    name: *const c_void,
}

static ROOM: MainThread<Room> =
    MainThread::new(Room { table: Cell::new(None), clients: RefCell::new(Vec::new()) });

/// The room of a package that has joined; none in `pjrtdispatch` itself.
#[inline]
pub(crate) fn room() -> Option<(&'static Room, &'static Table)> {
    let room = ROOM.get();
    room.table.get().map(|table| (room, table))
}

/// [`room`] of a package that has to have joined.
#[inline]
pub(crate) fn joined() -> Result<(&'static Room, &'static Table)> {
    room().ok_or_else(|| {
        Fault::new("detached", "the package has not joined pjrtdispatch: it was not loaded by R")
    })
}

/// The error that the other side keeps.
#[cold]
fn failed(table: &Table) -> Fault {
    let mut texts: [*const c_char; 3] = [null(); 3];
    let [code, message, argument] = &mut texts;
    // SAFETY: the pointers are ours.
    if unsafe { (table.error)(code, message, argument) } == 1 {
        let [code, message, argument] = texts.map(|text| {
            // SAFETY: the texts live until the next call.
            (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
        });
        return Fault::Condition(Box::new(Condition {
            code: code.unwrap_or_default().into(),
            message: message.unwrap_or_default(),
            argument,
        }));
    }
    let raise = table.raise;
    // SAFETY: the function makes R jump, which ends here.
    match protect(|| unsafe { raise() }) {
        Err(jump) => jump,
        Ok(()) => Fault::new("error", "pjrtdispatch failed and does not say how"),
    }
}

/// Has `pjrtdispatch` show what programs have printed.
pub(crate) fn show_printed(table: &Table) -> Result<()> {
    // SAFETY: the function takes nothing.
    done(table, unsafe { (table.show_printed)() })
}

/// The jump out of a program that `pjrtdispatch` keeps.
pub(crate) fn go_on(table: &Table) -> Result<()> {
    // SAFETY: the function takes nothing.
    done(table, unsafe { (table.go_on)() })
}

/// Where the user wants compiled programs to be kept, and the most bytes there.
pub(crate) fn cache(table: &Table) -> Result<Option<(String, u64)>> {
    let mut info = CacheInfo { size: size_of::<CacheInfo>(), path: null(), max_bytes: 0 };
    // SAFETY: the struct is ours.
    done(table, unsafe { (table.cache)(&mut info) })?;
    if info.path.is_null() {
        return Ok(None);
    }
    // SAFETY: the text lives until the next call.
    let path = unsafe { CStr::from_ptr(info.path) };
    Ok(Some((path.to_string_lossy().into_owned(), info.max_bytes)))
}

/// What `pjrtdispatch` says of a device of its client.
fn fingerprint(table: &'static Table, client: usize, device: usize) -> Option<String> {
    unsafe extern "C" fn note(to: *mut c_void, text: *const c_char) {
        // SAFETY: the option of below, and a text that lives during the call.
        unsafe { *to.cast::<Option<String>>() = Some(CStr::from_ptr(text).to_string_lossy().into_owned()) }
    }
    let mut told: Option<String> = None;
    let (client, device) = (client as *const c_void, i32::try_from(device).ok()?);
    // SAFETY: the client is one that the other side has named; the function gets the option that it expects.
    unsafe { (table.fingerprint)(client, device, note, (&raw mut told).cast()) };
    told
}

/// To be filled by the other side.
fn empty_client() -> ClientInfo {
    ClientInfo {
        size: size_of::<ClientInfo>(),
        client: null(),
        api: null(),
        pjrt_client: null_mut(),
        platform: null(),
        plugin_path: null(),
        devices: null(),
        device_count: 0,
    }
}

/// To be filled by the other side.
fn empty_buffer() -> BufferInfo {
    BufferInfo {
        size: size_of::<BufferInfo>(),
        handle: null_mut(),
        buffer: null_mut(),
        client: null(),
        device: 0,
        dtype: 0,
        dims: null(),
        rank: 0,
        donated: 0,
    }
}

/// The error of what `pjrtdispatch` tells that is of no use.
#[cold]
fn unknown(what: &str) -> Fault {
    Fault::new("version", format!("pjrtdispatch tells {what}"))
}

#[inline]
pub(crate) fn done(table: &Table, status: std::ffi::c_int) -> Result<()> {
    if status == 0 { Ok(()) } else { Err(failed(table)) }
}

impl Room {
    /// The client of a platform.
    pub(crate) fn of_platform(&self, table: &'static Table, platform: &str) -> Result<Client> {
        let platform = CString::new(platform)
            .map_err(|_| Fault::argument("value", "platform", "the name of a platform", "a text with NUL"))?;
        let mut info = empty_client();
        // SAFETY: text and struct are ours.
        done(table, unsafe { (table.client)(platform.as_ptr(), &mut info) })?;
        self.adopted(table, &info)
    }

    /// Our client for one that the other side names.
    fn client(&self, table: &'static Table, name: *const c_void) -> Result<Client> {
        if let Some(known) = self.clients.borrow().iter().find(|known| known.name == name) {
            return Ok(known.client);
        }
        let mut info = empty_client();
        // SAFETY: the struct is ours.
        done(table, unsafe { (table.client_info)(name, &mut info) })?;
        self.adopted(table, &info)
    }

    /// Our client for the one that is told of.
    fn adopted(&self, table: &'static Table, info: &ClientInfo) -> Result<Client> {
        if let Some(known) = self.clients.borrow().iter().find(|known| known.name == info.client) {
            return Ok(known.client);
        }
        let pointer = |p: *mut c_void| NonNull::new(p).ok_or_else(|| unknown("nothing of its client"));
        // SAFETY: text and pointers live as long as the process, and belong to an initialised plugin.
        let client = unsafe {
            let path = CStr::from_ptr(info.plugin_path).to_string_lossy();
            let (api, client) = (pointer(info.api.cast_mut())?, pointer(info.pjrt_client)?);
            Client::adopt_pjrt(api.cast(), client.cast(), Path::new(&*path))?
        };
        let engine = client.engine().as_any().downcast_ref::<PjrtEngine>();
        let name = info.client as usize;
        if let Some(engine) = engine {
            engine.ask_for_fingerprint(move |device| fingerprint(table, name, device));
        }
        self.clients.borrow_mut().push(Known { client, name: info.client });
        Ok(client)
    }

    /// How the other side names one of our clients.
    pub(crate) fn name(&self, client: Client) -> Result<*const c_void> {
        self.clients.borrow().iter().find(|known| known.client == client).map(|known| known.name).ok_or_else(
            || {
                Fault::new(
                    "client",
                    format!("{client} is not one that packages share: ask for it by its platform"),
                )
            },
        )
    }

    /// The device that an R object means.
    pub(crate) fn read_device(&self, table: &'static Table, x: SEXP, argument: &str) -> Result<Device> {
        let argument = CString::new(argument).unwrap_or_default();
        let mut info = DeviceInfo { size: size_of::<DeviceInfo>(), client: null(), device: 0 };
        // SAFETY: text and struct are ours; the caller keeps `x`.
        done(table, unsafe { (table.device)(x, argument.as_ptr(), &mut info) })?;
        let client = self.client(table, info.client)?;
        client
            .devices()
            .nth(info.device as usize)
            .ok_or_else(|| Fault::new("client", "pjrtdispatch names a device that its client does not have"))
    }

    /// The R object of a client.
    pub(crate) fn client_object(&self, table: &Table, client: Client) -> Result<SEXP> {
        let mut object = nil();
        let name = self.name(client)?;
        // SAFETY: the pointer is ours.
        done(table, unsafe { (table.client_object)(name, &mut object) })?;
        Ok(object)
    }

    /// The R object of a device.
    pub(crate) fn device_object(&self, table: &Table, device: Device) -> Result<SEXP> {
        let mut object = nil();
        let (name, index) = (self.name(device.client())?, device.index() as i32);
        // SAFETY: the pointer is ours.
        done(table, unsafe { (table.device_object)(name, index, &mut object) })?;
        Ok(object)
    }

    /// Whether an R object is a buffer that is alive.
    pub(crate) fn is_buffer(&self, table: &Table, x: SEXP) -> bool {
        // SAFETY: the caller keeps `x`.
        unsafe { (table.is_buffer)(x) != 0 }
    }

    /// The array of a buffer: a reference to the same `PJRT_Buffer`.
    pub(crate) fn get(&self, table: &'static Table, x: SEXP, path: &str) -> Result<Array> {
        match self.seen(table, x)? {
            Some(array) => Ok(array),
            None => Err(self.refused(table, x, path)),
        }
    }

    /// [`Room::get`]; none of what is no buffer, or no longer one. Allocates nothing.
    #[inline]
    pub(crate) fn seen(&self, table: &'static Table, x: SEXP) -> Result<Option<Array>> {
        let mut info = empty_buffer();
        // SAFETY: the struct is ours; the caller keeps `x`.
        if unsafe { (table.borrow)(x, &mut info) } != 0 {
            return Ok(None);
        }
        let made = (|| {
            let client = self.client(table, info.client)?;
            let dtype = codes::dtype(info.dtype).ok_or_else(|| unknown("a buffer of another type"))?;
            let buffer = NonNull::new(info.buffer).ok_or_else(|| unknown("nothing of a buffer"))?;
            let owner = Owner { object: info.handle, donation: table.donation, release: table.release };
            // SAFETY: the sizes live as long as the handle, to which there is a reference now; the rest is as
            // `pjrtdispatch` says.
            Ok(unsafe {
                let shape = slice(info.dims, info.rank);
                let (buffer, device) = (RawBuffer::new(buffer), info.device as u32);
                Array::lent(client, buffer, device, dtype, shape, owner, info.donated != 0)
            })
        })();
        made.map(Some).inspect_err(|_| {
            // SAFETY: no array has taken the reference over.
            unsafe { (table.release)(info.handle) };
        })
    }

    /// Why an object is no buffer, in the words of the other side.
    #[cold]
    pub(crate) fn refused(&self, table: &Table, x: SEXP, path: &str) -> Fault {
        let path = CString::new(path).unwrap_or_default();
        // SAFETY: text and struct are ours; the caller keeps `x`.
        match unsafe { (table.buffer)(x, path.as_ptr(), &mut empty_buffer()) } {
            0 => Fault::new("error", "a buffer was refused that is one"),
            _ => failed(table),
        }
    }

    /// A template of the results that are like this one.
    pub(crate) fn template(&self, table: &Table, array: &Array) -> Result<Root> {
        let like = self.describe(array)?;
        let mut object = nil();
        // SAFETY: struct and pointer are ours; `array` keeps the sizes during the call.
        done(table, unsafe { (table.template)(&like, &mut object) })?;
        Root::new(object)
    }

    /// An array of ours as the other side wants it told. Nobody owns its buffer yet.
    pub(crate) fn describe(&self, array: &Array) -> Result<NewBuffer> {
        let (shape, device) = (array.shape(), array.device());
        Ok(NewBuffer {
            size: size_of::<NewBuffer>(),
            buffer: array.raw().as_ptr(),
            client: self.name(device.client())?,
            device: device.index() as i32,
            dtype: codes::buffer_type(array.dtype()),
            dims: shape.as_ptr(),
            rank: shape.len(),
            owner: null_mut(),
            donation: None,
            release: None,
        })
    }

    /// New `AnvlArray`s like these templates: one, or a list of another number, not protected. There are as many owners as
    /// buffers, or none. On an error the buffers stay the caller's.
    #[inline]
    pub(crate) fn new_arrays(
        &self,
        table: &Table,
        buffers: &[*mut c_void],
        owners: &[BufferOwner],
        templates: &[SEXP],
    ) -> Result<SEXP> {
        debug_assert_eq!(buffers.len(), templates.len());
        let owners = if owners.is_empty() { null() } else { owners.as_ptr() };
        let mut object = nil();
        // SAFETY: lists and pointer are ours, and the caller keeps the templates.
        done(table, unsafe {
            (table.new_arrays)(buffers.as_ptr(), owners, templates.as_ptr(), buffers.len(), &mut object)
        })?;
        Ok(object)
    }

    /// A new R object, not protected, that has a reference to an array of ours.
    pub(crate) fn wrap(&self, table: &Table, array: Array) -> Result<SEXP> {
        let mut new = self.describe(&array)?;
        let owner = array.clone().into_owner();
        (new.owner, new.donation, new.release) = (owner.object, Some(owner.donation), Some(owner.release));
        let mut object = nil();
        // SAFETY: struct and pointer are ours; `array` keeps the sizes during the call.
        done(table, unsafe { (table.new_buffer)(&new, &mut object) }).inspect_err(|_| {
            // SAFETY: on an error the reference is still ours.
            unsafe { (owner.release)(owner.object) };
        })?;
        Ok(object)
    }
}
