//! The functions that compiled programs call, of all packages: kept by `pjrtdispatch`, handed over by the others.
//!
//! None of this is R's, so all of it works from any thread, and errors are told at once instead of kept.

use std::borrow::Cow;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::{null, null_mut};
use std::sync::OnceLock;

use dispatch_runtime::ffi::registry::{
    self, Entry, Platform, RawClosure, Registered, Registrar, Registration, StageSet,
};
use dispatch_runtime::{Error, Result};

use super::abi::*;

/// The stages that have a bit.
const STAGES: [i32; 4] = [0, 1, 2, 3];

// The side of `pjrtdispatch`.

/// A text of the other side, empty where there is none.
///
/// # Safety
///
/// Null, or a C string that lives for `'a`.
unsafe fn text<'a>(text: *const c_char) -> Cow<'a, str> {
    match text.is_null() {
        true => Cow::Borrowed(""),
        // SAFETY: by the caller's promise.
        false => unsafe { CStr::from_ptr(text) }.to_string_lossy(),
    }
}

/// A text for the other side.
fn c_text(text: &str) -> CString {
    CString::new(text.replace('\0', "\u{fffd}")).unwrap_or_default()
}

/// See [`Table::register_handler`].
pub(super) unsafe extern "C" fn register(handler: *const NewHandler, tell: Tell, to: *mut c_void) -> c_int {
    // SAFETY: the other side's struct states its size.
    let done = catch_unwind(AssertUnwindSafe(|| unsafe { take(&read(handler)) }));
    let reason = match done {
        Ok(Ok(())) => return 0,
        // Who asked says which target it was.
        Ok(Err(Error::FfiHandler { reason, .. })) => reason,
        Ok(Err(error)) => error.to_string(),
        Err(_) => "internal error: the registration panicked".into(),
    };
    // SAFETY: the other side's function gets a text that lives during the call.
    unsafe { tell(to, c_text(&reason).as_ptr()) };
    1
}

/// # Safety
///
/// The handler is as [`NewHandler`] says.
unsafe fn take(new: &NewHandler) -> Result<()> {
    // SAFETY: by the caller's promise: the texts live during the call, the functions are XLA handlers. Pointers to them
    // have one size and form, whatever their types are called.
    unsafe {
        let entry = match new.call {
            Some(call) => Entry::Closure(RawClosure {
                call: std::mem::transmute::<
                    unsafe extern "C" fn(*mut c_void, *mut c_void) -> *mut c_void,
                    unsafe extern "C" fn(*mut c_void, *mut _) -> *mut _,
                >(call),
                data: new.data,
                release: new.release,
            }),
            None if new.entry.is_null() => {
                return Err(Error::Option {
                    option: "handler",
                    expected: "a function".into(),
                    got: "a null pointer".into(),
                });
            }
            None => Entry::Function(std::mem::transmute::<
                *const c_void,
                unsafe extern "C" fn(*mut _) -> *mut _,
            >(new.entry)),
        };
        let platform = match Platform::named(&text(new.platform)) {
            Ok(platform) => platform,
            Err(error) => {
                // As the registry does with what it refuses.
                if let Some(release) = new.release.filter(|_| new.call.is_some()) {
                    release(new.data);
                }
                return Err(error);
            }
        };
        registry::register(&Registration {
            target: &text(new.target),
            platform,
            entry,
            stages: stages(new.stages),
            traits: new.traits,
            owner: &text(new.owner),
            name: &text(new.name),
        })
    }
}

fn stages(bits: u32) -> StageSet {
    STAGES
        .iter()
        .filter(|&&stage| bits >> stage & 1 == 1)
        .fold(StageSet::default(), |set, &stage| set.with(stage))
}

fn bits(stages: StageSet) -> u32 {
    STAGES.iter().filter(|&&stage| stages.has(stage)).fold(0, |bits, stage| bits | 1 << stage)
}

/// See [`Table::remove_handlers`].
pub(super) unsafe extern "C" fn remove(
    owner: *const c_char,
    target: *const c_char,
    platform: *const c_char,
) -> usize {
    let done = catch_unwind(|| {
        // SAFETY: the texts live during the call.
        let (owner, name, platform) = unsafe { (text(owner), text(target), text(platform)) };
        match target.is_null() {
            true => registry::remove_owner(&owner),
            false => Platform::named(&platform)
                .map_or(0, |platform| usize::from(registry::remove(&name, platform, &owner))),
        }
    });
    done.unwrap_or(0)
}

/// See [`Table::handlers`].
pub(super) unsafe extern "C" fn all(visit: VisitHandler, to: *mut c_void) {
    let Ok(all) = catch_unwind(registry::registered) else { return };
    for Registered { target, platform, owner } in all {
        let (target, platform, owner) = (c_text(&target), c_text(platform.name()), c_text(&owner));
        // SAFETY: the other side's function gets texts that live during the call.
        unsafe { visit(to, target.as_ptr(), platform.as_ptr(), owner.as_ptr()) };
    }
}

// The side of the others.

/// Has the runtime of this package hand over what is registered with it.
pub(super) fn hand_over(table: &'static Table) {
    static OTHER: OnceLock<Other> = OnceLock::new();
    registry::set_registrar(OTHER.get_or_init(|| Other(table)));
}

struct Other(&'static Table);

/// Notes the reason that is told.
unsafe extern "C" fn note(to: *mut c_void, reason: *const c_char) {
    // SAFETY: the string of `register`, and a text that lives during the call.
    unsafe { *to.cast::<String>() = text(reason).into_owned() }
}

/// Notes one target.
unsafe extern "C" fn collect(
    to: *mut c_void,
    target: *const c_char,
    platform: *const c_char,
    owner: *const c_char,
) {
    // SAFETY: the list of `registered`, and texts that live during the call.
    let (all, target, platform, owner) =
        unsafe { (&mut *to.cast::<Vec<Registered>>(), text(target), text(platform), text(owner)) };
    // Platforms that this library does not know call none of its handlers.
    if let Ok(platform) = Platform::named(&platform) {
        all.push(Registered { target: target.into_owned(), platform, owner: owner.into_owned() });
    }
}

impl Registrar for Other {
    unsafe fn register(&self, registration: &Registration<'_>) -> Result<()> {
        let [target, owner, name] = [registration.target, registration.owner, registration.name].map(c_text);
        let platform = c_text(registration.platform.name());
        let mut new = NewHandler {
            size: size_of::<NewHandler>(),
            target: target.as_ptr(),
            platform: platform.as_ptr(),
            entry: null(),
            call: None,
            data: null_mut(),
            release: None,
            stages: bits(registration.stages),
            traits: registration.traits,
            owner: owner.as_ptr(),
            name: name.as_ptr(),
        };
        match registration.entry {
            Entry::Function(function) => new.entry = function as *const c_void,
            Entry::Closure(RawClosure { call, data, release }) => {
                // SAFETY: pointers to functions have one size and form.
                new.call = Some(unsafe {
                    std::mem::transmute::<
                        unsafe extern "C" fn(*mut c_void, *mut _) -> *mut _,
                        unsafe extern "C" fn(*mut c_void, *mut c_void) -> *mut c_void,
                    >(call)
                });
                (new.data, new.release) = (data, release);
            }
        }
        let mut reason = String::new();
        // SAFETY: the struct and its texts live during the call; the functions are as the caller promises.
        match unsafe { (self.0.register_handler)(&new, note, (&raw mut reason).cast()) } {
            0 => Ok(()),
            _ => Err(Error::FfiHandler {
                target: registration.target.to_owned(),
                platform: registration.platform.word(),
                reason,
            }),
        }
    }

    fn remove_owner(&self, owner: &str) -> usize {
        // SAFETY: the text lives during the call.
        unsafe { (self.0.remove_handlers)(c_text(owner).as_ptr(), null(), null()) }
    }

    fn remove(&self, target: &str, platform: Platform, owner: &str) -> bool {
        let [target, platform, owner] = [target, platform.name(), owner].map(c_text);
        // SAFETY: the texts live during the call.
        unsafe { (self.0.remove_handlers)(owner.as_ptr(), target.as_ptr(), platform.as_ptr()) > 0 }
    }

    fn registered(&self) -> Vec<Registered> {
        let mut all: Vec<Registered> = Vec::new();
        // SAFETY: the function gets the list that it expects.
        unsafe { (self.0.handlers)(collect, (&raw mut all).cast()) };
        all
    }
}
