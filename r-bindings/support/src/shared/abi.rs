//! What packages agree on: the table of functions, and the structs that they take and fill. `inst/include/pjrtdispatch.h`
//! says the same in C.
//!
//! Nothing here changes but by appending. A struct states its size first, as its maker knows it; the other side touches
//! no more than that. What cannot be appended gets a new [`VERSION`].

use std::ffi::{c_char, c_int, c_void};
use std::sync::atomic::{AtomicBool, AtomicU8};

use crate::ffi::SEXP;

/// The version of the table.
pub const VERSION: u32 = 2;

/// The package and the name under which the function is registered that gives the table: [`Ask`].
pub const PACKAGE: &std::ffi::CStr = c"pjrtdispatch";
/// See [`PACKAGE`].
pub const NAME: &std::ffi::CStr = c"pjrtdispatch_table";

/// Gives the table of a version, or null if this package does not have it; then `has` is the version that it has.
pub type Ask = unsafe extern "C" fn(version: u32, has: *mut u32) -> *const Table;

/// The functions. Those that give an `int` give 0, or 1 and keep an error.
#[repr(C)]
pub struct Table {
    /// The size of the table in bytes.
    pub size: usize,
    /// [`VERSION`].
    pub version: u32,
    /// The version of the package that has the table, for messages.
    pub package_version: *const c_char,

    /// The parts of the error that is kept, and its kind: 0 none, 1 a condition, 2 a jump of R that has to go on. The
    /// texts live until the next call; `argument` may be null.
    pub error: unsafe extern "C" fn(
        code: *mut *const c_char,
        message: *mut *const c_char,
        argument: *mut *const c_char,
    ) -> c_int,
    /// Raises the error that is kept, as a condition of R. Does not return.
    pub raise: unsafe extern "C" fn(),

    /// The client of a platform, made if there is none yet; null is the default platform.
    pub client: unsafe extern "C" fn(platform: *const c_char, out: *mut ClientInfo) -> c_int,
    /// A client that is named.
    pub client_info: unsafe extern "C" fn(client: *const c_void, out: *mut ClientInfo) -> c_int,
    /// The R object of a client, which R never collects.
    pub client_object: unsafe extern "C" fn(client: *const c_void, out: *mut SEXP) -> c_int,
    /// The device that an R object means: a device, the name of one, or `NULL`.
    pub device: unsafe extern "C" fn(x: SEXP, argument: *const c_char, out: *mut DeviceInfo) -> c_int,
    /// The R object of a device, which R never collects.
    pub device_object: unsafe extern "C" fn(client: *const c_void, device: i32, out: *mut SEXP) -> c_int,

    /// Whether an R object is a buffer that is alive: 1 or 0.
    pub is_buffer: unsafe extern "C" fn(x: SEXP) -> c_int,
    /// What a buffer is. It is lent: `out` is right as long as the R object is alive and not released.
    pub buffer: unsafe extern "C" fn(x: SEXP, argument: *const c_char, out: *mut BufferInfo) -> c_int,
    /// `buffer` and `retain` in one, for who is called often: 0, or 1 of what is no buffer that is alive, without an error.
    pub borrow: unsafe extern "C" fn(x: SEXP, out: *mut BufferInfo) -> c_int,
    /// Adds a reference to a buffer, which then outlives its R object. From any thread.
    pub retain: unsafe extern "C" fn(handle: *mut c_void),
    /// Gives a reference of `retain` up. From any thread.
    pub release: unsafe extern "C" fn(handle: *mut c_void),
    /// Asks (0), says (1) or takes back (2) that a buffer is given to a program; 1 if it was before. From any thread.
    pub donation: unsafe extern "C" fn(handle: *mut c_void, what: u32) -> u32,
    /// A new R object, not protected, of a buffer that the caller made. On an error the buffer stays the caller's.
    pub new_buffer: unsafe extern "C" fn(buffer: *const NewBuffer, out: *mut SEXP) -> c_int,

    /// Notes why a program was compiled, unless it is null, for `expect_no_compile()`; 1 if anybody watches.
    pub compiled: unsafe extern "C" fn(why: *const c_char) -> c_int,

    /// A new R object, not protected: an `AnvlArray` without data, of the client, device, dtype and sizes that are given.
    /// It serves [`new_arrays`](Table::new_arrays) as often as its maker likes to keep it.
    pub template: unsafe extern "C" fn(like: *const NewBuffer, out: *mut SEXP) -> c_int,
    /// New `AnvlArray`s for buffers that the caller made, each like its template: one, or a list of other than one, not
    /// protected. `owners` is null if all buffers are given away. On an error all buffers stay the caller's.
    pub new_arrays: unsafe extern "C" fn(
        buffers: *const *mut c_void,
        owners: *const BufferOwner,
        templates: *const SEXP,
        count: usize,
        out: *mut SEXP,
    ) -> c_int,

    /// Whether programs have printed what R has not shown yet. From any thread.
    pub printed: *const AtomicBool,
    /// Shows what programs have printed.
    pub show_printed: unsafe extern "C" fn() -> c_int,

    /// Registers a function that compiled programs call, with the plugins of its platform that are loaded, and later with
    /// those that will be; 1 if it is refused, and then the reason was told. From any thread.
    pub register_handler:
        unsafe extern "C" fn(handler: *const NewHandler, tell: Tell, to: *mut c_void) -> c_int,
    /// Removes the handlers of an owner, or with a target and its platform that one, if it is the owner's; how many there
    /// were. Programs that call them fail from then on, with an error that says so. From any thread.
    pub remove_handlers:
        unsafe extern "C" fn(owner: *const c_char, target: *const c_char, platform: *const c_char) -> usize,
    /// Tells all targets in the order of their names: `visit(to, target, platform, owner)`. From any thread.
    pub handlers: unsafe extern "C" fn(visit: VisitHandler, to: *mut c_void),

    /// Who starts a program on R's thread writes 1 here, and afterwards what was there before. If it is 2 then, R has jumped
    /// out of an R function that the program called, and `go_on` follows.
    pub running: *const AtomicU8,
    /// Keeps that jump as the error, if there is one: 1, else 0.
    pub go_on: unsafe extern "C" fn() -> c_int,

    /// Where the user wants compiled programs to be kept, as it is now; asked before each compile.
    pub cache: unsafe extern "C" fn(out: *mut CacheInfo) -> c_int,
    /// Takes a function that says what was done in a directory by who keeps programs there without this table. It is called
    /// on R's thread, as long as the process lives.
    pub count_cache: unsafe extern "C" fn(counts: CountCache),
    /// Tells what, besides program and options, decides what is compiled for a device, in a text to be compared: programs
    /// may be exchanged by processes where it is the same. Not told where that is not known. From any thread.
    pub fingerprint: unsafe extern "C" fn(client: *const c_void, device: i32, tell: Tell, to: *mut c_void),

    /// What a converter makes of an object: a new list, not protected, of what it gave (an R vector or array, a buffer, or an
    /// `AnvlArray`) and the converter, and if that is asked for the view of the host's memory that was given, or `NULL`; `NULL` if
    /// there is no converter for the object.
    pub convert: unsafe extern "C" fn(x: SEXP, expected: *const ConvertExpected, out: *mut SEXP) -> c_int,
    /// Tells why there is none, with those that are registered.
    pub no_converter: unsafe extern "C" fn(x: SEXP, tell: Tell, to: *mut c_void) -> c_int,
    /// What the converter that `convert` gave makes of a result for the object that it converted: an object, not protected.
    pub convert_out: unsafe extern "C" fn(
        converter: SEXP,
        result: SEXP,
        original: SEXP,
        info: *const OutInfo,
        out: *mut SEXP,
    ) -> c_int,
    /// Registers a converter that is a function of a package in Rust or C; its number. `data` is released in any case.
    pub register_converter: unsafe extern "C" fn(new: *const NewConverter, out: *mut u64) -> c_int,
    /// Removes the converter of a number: 1 if it was there, else 0. Calls that use it go on.
    pub remove_converter: unsafe extern "C" fn(id: u64) -> c_int,
    /// Whether two views that `convert` gave are of the same memory, or share some of it: 1, else 0.
    pub same_memory: unsafe extern "C" fn(a: SEXP, b: SEXP) -> c_int,
}

/// Adds what was done in a directory to the counts.
pub type CountCache = unsafe extern "C" fn(path: *const c_char, counts: *mut CacheCounts);

/// Gets a text that lives during the call.
pub type Tell = unsafe extern "C" fn(to: *mut c_void, text: *const c_char);

/// Gets one target, its platform and its owner, texts that live during the call.
pub type VisitHandler = unsafe extern "C" fn(
    to: *mut c_void,
    target: *const c_char,
    platform: *const c_char,
    owner: *const c_char,
);

// SAFETY: the table is a constant of the library that has it.
unsafe impl Sync for Table {}

/// Where compiled programs are kept across processes.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CacheInfo {
    /// The size of this struct; set by who asks.
    pub size: usize,
    /// The directory, a text that lives until the next call; null if nothing is kept.
    pub path: *const c_char,
    /// The most bytes that the entries may take.
    pub max_bytes: u64,
}

/// What was done in such a directory, by one process.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct CacheCounts {
    /// The size of this struct; set by who asks.
    pub size: usize,
    /// Programs that were loaded.
    pub hits: u64,
    /// Programs that were compiled.
    pub misses: u64,
    /// Programs that were written.
    pub writes: u64,
    /// Files that were not taken.
    pub refused: u64,
    /// Entries that were removed for the bound.
    pub evicted: u64,
    /// Times that the directory could not be used.
    pub failed: u64,
}

/// A client. Its pointers live as long as the process.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ClientInfo {
    /// The size of this struct; set by who asks.
    pub size: usize,
    /// Names the client to the functions.
    pub client: *const c_void,
    /// `const PJRT_Api*`
    pub api: *const c_void,
    /// `PJRT_Client*`
    pub pjrt_client: *mut c_void,
    /// The platform in lower case.
    pub platform: *const c_char,
    /// The plugin's library.
    pub plugin_path: *const c_char,
    /// `PJRT_Device*`, in the order of the numbers in names such as `cpu:1`.
    pub devices: *const *mut c_void,
    /// How many devices there are.
    pub device_count: usize,
}

/// A device.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DeviceInfo {
    /// The size of this struct; set by who asks.
    pub size: usize,
    /// The client, as [`ClientInfo::client`].
    pub client: *const c_void,
    /// The index among its devices.
    pub device: i32,
}

/// A buffer of `pjrtdispatch`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct BufferInfo {
    /// The size of this struct; set by who asks.
    pub size: usize,
    /// Names the buffer to `retain`, `release` and `donation`.
    pub handle: *mut c_void,
    /// `PJRT_Buffer*`
    pub buffer: *mut c_void,
    /// The client, as [`ClientInfo::client`].
    pub client: *const c_void,
    /// The index among its devices.
    pub device: i32,
    /// A `PJRT_Buffer_Type`.
    pub dtype: i32,
    /// `rank` sizes, outermost first.
    pub dims: *const i64,
    /// The number of dimensions.
    pub rank: usize,
    /// 1 if it was given to a program, else 0.
    pub donated: i32,
}

/// A buffer of another package.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct NewBuffer {
    /// The size of this struct; set by who asks.
    pub size: usize,
    /// `PJRT_Buffer*`
    pub buffer: *mut c_void,
    /// The client, as [`ClientInfo::client`].
    pub client: *const c_void,
    /// The index among its devices.
    pub device: i32,
    /// A `PJRT_Buffer_Type`.
    pub dtype: i32,
    /// `rank` sizes, outermost first; null if the rank is 0.
    pub dims: *const i64,
    /// The number of dimensions.
    pub rank: usize,
    /// Null if the buffer is given away, for `pjrtdispatch` to destroy. Else it stays another's, who is told by these
    /// functions, on any thread, and whose library has to stay in the process.
    pub owner: *mut c_void,
    /// As `donation` of the table; null if the owner need not know.
    pub donation: Option<unsafe extern "C" fn(owner: *mut c_void, what: u32) -> u32>,
    /// Called once, when the last reference goes.
    pub release: Option<unsafe extern "C" fn(owner: *mut c_void)>,
}

/// A function that compiled programs call: an `XLA_FFI_Handler` (XLA's `xla/ffi/api/c_api.h`), or one with data of its own.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct NewHandler {
    /// The size of this struct; set by who asks.
    pub size: usize,
    /// The name that programs call it by.
    pub target: *const c_char,
    /// `cpu` or `cuda`.
    pub platform: *const c_char,
    /// The function, which answers XLA's handshake itself and whose library stays in the process; null if there is `call`.
    pub entry: *const c_void,
    /// The function, called with `data` and the call frame, for the stages below only.
    pub call: Option<unsafe extern "C" fn(data: *mut c_void, frame: *mut c_void) -> *mut c_void>,
    /// See `call`.
    pub data: *mut c_void,
    /// Called once, on any thread, when nobody will use `data` any more: also if the handler is refused.
    pub release: Option<unsafe extern "C" fn(data: *mut c_void)>,
    /// The stages that it takes part in, a bit each: 1 instantiate, 2 prepare, 4 initialize, 8 execute.
    pub stages: u32,
    /// XLA's traits: 1 if calls may become part of a command buffer.
    pub traits: u32,
    /// Who may replace and remove it, such as `package famglm`; null is nobody.
    pub owner: *const c_char,
    /// What messages call the function; may be null.
    pub name: *const c_char,
}

/// Who owns a buffer of another package, as in [`NewBuffer`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct BufferOwner {
    /// As [`NewBuffer::owner`].
    pub owner: *mut c_void,
    /// As [`NewBuffer::donation`].
    pub donation: Option<unsafe extern "C" fn(owner: *mut c_void, what: u32) -> u32>,
    /// As [`NewBuffer::release`].
    pub release: Option<unsafe extern "C" fn(owner: *mut c_void)>,
}

/// What an argument has to be that is converted.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ConvertExpected {
    /// The size of this struct; set by who asks.
    pub size: usize,
    /// The path of the argument, such as `params$w`.
    pub path: *const c_char,
    /// The dtypes that it may have, `PJRT_Buffer_Type`s; none if that is not known.
    pub dtypes: *const i32,
    /// How many they are.
    pub dtype_count: usize,
    /// The sizes, -1 where any will do.
    pub dims: *const i64,
    /// How many they are; -1 if that is not known.
    pub rank: i64,
    /// The client whose device data is brought to, as [`ClientInfo::client`].
    pub client: *const c_void,
    /// The index among its devices.
    pub device: i32,
    /// 1 if a result is written back into the object, which must not be read-only then.
    pub writes_back: i32,
    /// 1 if a program may write into the array, which must not be the object's own memory then.
    pub donated: i32,
    /// 1 if the view of the host's memory that the converter gives is wanted too, for `same_memory`.
    pub keeps_view: i32,
}

/// A converter that is a function of a package in Rust or C, called on R's thread.
///
/// The functions give 0, or 1 after they have told what went wrong, or 2 with the continuation token of a jump of R, whose lowest
/// bit is set, in place of the object. They do not jump themselves.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct NewConverter {
    /// The size of this struct; set by who asks.
    pub size: usize,
    /// The class of the objects; null where there is a predicate.
    pub class: *const c_char,
    /// What it is, for people.
    pub description: *const c_char,
    /// The package that it belongs to; null if it is none's.
    pub package: *const c_char,
    /// Whether data may be copied: 0 never, 1 if it is needed, 2 always.
    pub copy: u32,
    /// Gives an R vector or array, a buffer or an `AnvlArray`, not protected, for an object.
    pub convert_in: Option<
        unsafe extern "C" fn(
            data: *mut c_void,
            x: SEXP,
            expected: *const ConvertExpected,
            out: *mut SEXP,
            tell: Tell,
            to: *mut c_void,
        ) -> c_int,
    >,
    /// Gives an object, not protected, for a result that is written back; null if there is nothing to be given.
    pub convert_out: Option<
        unsafe extern "C" fn(
            data: *mut c_void,
            result: SEXP,
            original: SEXP,
            info: *const OutInfo,
            out: *mut SEXP,
            tell: Tell,
            to: *mut c_void,
        ) -> c_int,
    >,
    /// Given to the functions.
    pub data: *mut c_void,
    /// Called once, when nobody will use `data` any more.
    pub release: Option<unsafe extern "C" fn(data: *mut c_void)>,
    /// The package for calls from whose code it is; null if it is for all.
    pub scope: *const c_char,
    /// In place of a class: gives `TRUE` or `FALSE` for an object, whether the converter is for it.
    pub predicate: Option<
        unsafe extern "C" fn(
            data: *mut c_void,
            x: SEXP,
            out: *mut SEXP,
            tell: Tell,
            to: *mut c_void,
        ) -> c_int,
    >,
}

/// What a result is converted for.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct OutInfo {
    /// The size of this struct; set by who asks.
    pub size: usize,
    /// The name of the function.
    pub function: *const c_char,
    /// The name of the argument.
    pub argument: *const c_char,
    /// Its position among the arguments, counted from 0.
    pub index: usize,
}

/// A struct that states its size first, as its maker knows it.
///
/// # Safety
///
/// The first field is `size: usize`, and all are plain.
pub unsafe trait Stated: Copy {}
// SAFETY: see the structs.
unsafe impl Stated for ClientInfo {}
// SAFETY: as above.
unsafe impl Stated for DeviceInfo {}
// SAFETY: as above.
unsafe impl Stated for BufferInfo {}
// SAFETY: as above.
unsafe impl Stated for NewBuffer {}
// SAFETY: as above.
unsafe impl Stated for NewHandler {}
// SAFETY: as above.
unsafe impl Stated for CacheInfo {}
// SAFETY: as above.
unsafe impl Stated for CacheCounts {}
// SAFETY: as above.
unsafe impl Stated for ConvertExpected {}
// SAFETY: as above.
unsafe impl Stated for OutInfo {}
// SAFETY: as above.
unsafe impl Stated for NewConverter {}

/// Fills a struct of the other side, as far as that one knows it.
///
/// # Safety
///
/// `out` points to as many writable bytes as it states.
pub unsafe fn fill<T: Stated>(out: *mut T, value: T) {
    let head = size_of::<usize>();
    // SAFETY: by the caller's promise; the size itself stays as it was stated.
    unsafe {
        let size = out.cast::<usize>().read();
        if size == size_of::<T>() {
            // The usual case, for which the compiler needs no call of `memcpy`.
            out.write(value);
            out.cast::<usize>().write(size);
            return;
        }
        let size = size.clamp(head, size_of::<T>());
        let from = (&raw const value).cast::<u8>().add(head);
        from.copy_to_nonoverlapping(out.cast::<u8>().add(head), size - head);
    }
}

/// Reads a struct of the other side; what that one does not know is zero.
///
/// # Safety
///
/// `given` points to as many readable bytes as it states, and zero is a value of every field.
pub unsafe fn read<T: Stated>(given: *const T) -> T {
    let mut value = std::mem::MaybeUninit::<T>::zeroed();
    // SAFETY: by the caller's promise.
    unsafe {
        let size = given.cast::<usize>().read().min(size_of::<T>());
        given.cast::<u8>().copy_to_nonoverlapping(value.as_mut_ptr().cast::<u8>(), size);
        value.assume_init()
    }
}
