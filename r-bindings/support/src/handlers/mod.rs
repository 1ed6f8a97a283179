//! Functions that compiled programs call: those in the Rust code of packages, C functions that R has pointers to, and R
//! functions.
//!
//! All are kept in one list of the process, by the runtime of `pjrtdispatch` (see [`shared`](crate::shared)). Nothing
//! here starts a plugin: what is registered before one is loaded, the plugin gets with its first client.

mod closure;

use std::ffi::c_void;

use dispatch_runtime::ffi::Handler;
use dispatch_runtime::ffi::registry::{self, Entry, Platform, Registration, StageSet};

pub use closure::register_r;

use crate::arg::{Arg, Element};
use crate::entry::entry;
use crate::fault::{Fault, Result};
use crate::ffi::*;
use crate::handle::is_any;

/// How messages name a package as the owner of handlers; packages that are loaded again replace their own by it.
pub fn owner(package: &str) -> String {
    format!("package {package}")
}

/// Called when a package is loaded, after [`family::attach`](crate::family::attach): [`register`].
pub fn attach(package: &str, handlers: &[&'static Handler]) -> savvy::Result<savvy::Sexp> {
    entry(|| register(package, handlers).map(|()| nil()))
}

/// Called when a package is unloaded: programs that call its handlers fail from then on, with an error that says why.
pub fn detach(package: &str) -> savvy::Result<savvy::Sexp> {
    entry(|| {
        remove(package);
        Ok(nil())
    })
}

/// Registers the handlers of a package for the CPU.
///
/// An error if a target has the name of another package's, which names both; then none of the package's is registered.
pub fn register(package: &str, handlers: &[&'static Handler]) -> Result<()> {
    let owner = owner(package);
    for handler in handlers {
        let of = Registration::of(handler.target(), Platform::Host, handler);
        // SAFETY: a handler of this runtime is what the registry takes.
        let done = unsafe { registry::register(&Registration { owner: &owner, ..of }) };
        if let Err(error) = done {
            registry::remove_owner(&owner);
            return Err(error.into());
        }
    }
    Ok(())
}

/// Removes the handlers that belong to a package; how many there were.
pub fn remove(package: &str) -> usize {
    registry::remove_owner(&owner(package))
}

/// Registers C functions, `XLA_FFI_Handler*`s in external pointers of R, by the names of their platforms; none if one of the
/// pointers or names is wrong.
pub fn register_pointers(
    target: &str,
    pointers: &[(String, Element<'_>)],
    package: Option<&str>,
) -> Result<()> {
    let checked = pointers.iter().map(|(platform, pointer)| {
        let path = format!("handler${platform}");
        Ok((platform_named(platform)?, address(pointer.arg(&path))?))
    });
    let checked = checked.collect::<Result<Vec<_>>>()?;
    for (i, (platform, _)) in checked.iter().enumerate() {
        if let Some(first) = checked[..i].iter().position(|(other, _)| other == platform) {
            let got = format!("{:?} and {:?}", pointers[first].0, pointers[i].0);
            return Err(Fault::argument("value", "handler", "one pointer for each platform", got));
        }
    }
    let owner = package.map(owner).unwrap_or_default();
    for (platform, address) in checked {
        // SAFETY: R has no other way to tell that a pointer is one to a handler; the help says what it has to be. Pointers
        // to functions have one size and form.
        unsafe {
            let entry = std::mem::transmute::<*mut c_void, unsafe extern "C" fn(*mut _) -> *mut _>(address);
            registry::register(&Registration {
                target,
                platform,
                entry: Entry::Function(entry),
                stages: StageSet::EXECUTE,
                traits: 0,
                owner: &owner,
                name: "",
            })?;
        }
    }
    Ok(())
}

fn platform_named(name: &str) -> Result<Platform> {
    Platform::named(name).map_err(|_| {
        let expected = "names of platforms, \"host\" or \"cuda\"";
        Fault::argument("value", "handler", expected, format!("{name:?}"))
    })
}

fn address(pointer: Arg<'_>) -> Result<*mut c_void> {
    const WANTED: &str = "an external pointer to an XLA FFI handler";
    if TYPEOF(pointer.get()) != EXTPTRSXP || is_any(pointer.get()) {
        return Err(pointer.expected(WANTED));
    }
    // SAFETY: the object is a pointer.
    let address = unsafe { R_ExternalPtrAddr(pointer.get()) };
    if address.is_null() {
        let got = "a null pointer: pointers do not outlive the session that made them";
        return Err(Fault::argument("value", pointer.name(), WANTED, got));
    }
    Ok(address)
}
