//! A call that misses: R compiles.

use std::time::Instant;

use dispatch_runtime::cache::{Part, Pin};
use dispatch_runtime::{Error, Explanation};

use super::call::Call;
use super::entry::{self, Entry};
use super::place::{self, Place};
use super::{Dispatcher, WATCHES};
use crate::describe;
use crate::fault::{Fault, Result};
use crate::ffi::*;
use crate::handle;
use crate::root::Root;
use crate::statics;
use crate::tree::Tree;
use crate::unwind::protect;

impl Dispatcher {
    /// The entry of a call that has none: `compile` makes it.
    #[cold]
    #[inline(never)]
    pub(super) fn miss(&self, call: &mut Call<'_>) -> Result<Pin<'_, Entry>> {
        let verbose = is_verbose()?;
        let watched = !WATCHES.get().borrow().is_empty();
        let reason = match verbose || watched {
            true => Some(self.explain_call(call)?),
            false => None,
        };
        let (call, mut failed, mut seconds) = (&*call, None, 0.0);
        let found = self.cache.get_or_build_words(
            call.words(),
            || call.parts().unwrap_or_default(),
            || {
                let start = Instant::now();
                let built = self.build(call);
                seconds = start.elapsed().as_secs_f64();
                built.map_err(|fault| {
                    failed = Some(fault);
                    // Nobody sees it: R has one thread.
                    Error::Option { option: "compile", expected: String::new(), got: String::new() }
                })
            },
        );
        let entry = match (found, failed) {
            (Ok(entry), _) => entry,
            (Err(_), Some(fault)) => return Err(fault),
            (Err(Error::Recursive { key, .. }), None) => {
                let what = if key.is_empty() { String::new() } else { format!(": {key}") };
                return Err(Fault::new(
                    "recursive",
                    format!("`compile` dispatches the very call that it is compiling at this moment{what}"),
                ));
            }
            (Err(error), None) => return Err(error.into()),
        };
        if let Some(reason) = reason {
            if let Some(noted) = WATCHES.get().borrow_mut().last_mut() {
                noted.push(reason.to_string());
            }
            if verbose {
                log(&reason, seconds)?;
            }
        }
        Ok(entry)
    }

    fn build(&self, call: &Call<'_>) -> Result<Entry> {
        let info = info(call)?;
        let answer = place::call(self.callbacks.compile, &[info.get()])?;
        entry::read(call, answer.get())
    }
}

/// Whether compiles are logged.
fn is_verbose() -> Result<bool> {
    // SAFETY: the symbol is one that R keeps; reading an option does not change it.
    let option = protect(|| unsafe { Rf_GetOption1(Rf_install(c"pjrtdispatch.verbose".as_ptr())) })?;
    // SAFETY: the vector has an element.
    Ok(TYPEOF(option) == LGLSXP && Rf_xlength(option) == 1 && unsafe { *LOGICAL_RO(option) } == 1)
}

/// Tells of a compile, as a message that R code can catch.
fn log(reason: &Explanation, seconds: f64) -> Result<()> {
    let text = crate::make::string(&format!("pjrtdispatch: compiled in {seconds:.3} s, {reason}"))?;
    // SAFETY: the function is one of R's, which it keeps.
    let message = protect(|| unsafe { Rf_eval(Rf_install(c"message".as_ptr()), R_BaseEnv) })?;
    place::call(message, &[text.get()])?;
    Ok(())
}

/// What the callback gets.
fn info(call: &Call<'_>) -> Result<Root> {
    let (tree, leaves) = Tree::split(call.args, "args")?;
    let mask = call.static_mask(&tree);
    let tree = Root::new(handle::wrap(tree)?)?;
    let default_device = call.default_device.as_ref().map_or_else(nil, Root::get);
    let context = call.context.as_ref().map_or_else(nil, Root::get);
    let (args, values, mask, tree) = (call.args, &leaves.values, &mask, tree.get());
    // SAFETY: what is made is protected until it is part of the list, and has room for what it gets.
    Root::make(|| unsafe {
        let info = Rf_protect(Rf_allocVector(VECSXP, INFO.len() as Length));
        let set = |i, value| {
            SET_VECTOR_ELT(info, i, value);
            value
        };
        set(0, args);
        set(1, tree);
        let list = set(2, Rf_allocVector(VECSXP, values.len() as Length));
        let is_static = set(3, Rf_allocVector(LGLSXP, values.len() as Length));
        let avals = set(4, Rf_allocVector(VECSXP, values.len() as Length));
        set(5, default_device);
        set(6, context);
        let fields = Rf_protect(names(&AVAL));
        let mut dynamic = call.leaves().iter();
        for (i, &value) in values.iter().enumerate() {
            SET_VECTOR_ELT(list, i as Length, value);
            LOGICAL(is_static).add(i).write(mask[i].into());
            if mask[i] {
                continue;
            }
            let Some(&leaf) = dynamic.next() else { continue };
            let seen = call.aval(leaf);
            let aval = Rf_allocVector(VECSXP, AVAL.len() as Length);
            SET_VECTOR_ELT(avals, i as Length, aval);
            SET_VECTOR_ELT(aval, 0, Rf_ScalarString(crate::make::charsxp(seen.kind)));
            SET_VECTOR_ELT(aval, 1, Rf_ScalarString(crate::make::charsxp(seen.dtype)));
            let shape = Rf_allocVector(INTSXP, seen.shape.len() as Length);
            SET_VECTOR_ELT(aval, 2, shape);
            for (k, &n) in seen.shape.iter().enumerate() {
                // No array of R's has a size beyond; of a plugin's array it would be the largest integer.
                INTEGER(shape).add(k).write(i32::try_from(n as i64).unwrap_or(i32::MAX));
            }
            Rf_setAttrib(aval, R_NamesSymbol, fields);
        }
        Rf_setAttrib(info, R_NamesSymbol, names(&INFO));
        Rf_unprotect(2);
        info
    })
}

const INFO: [&str; 7] = ["args", "in_tree", "leaves", "is_static", "avals", "default_device", "context"];
const AVAL: [&str; 3] = ["kind", "dtype", "shape"];

/// # Safety
///
/// Inside [`protect`]; the result is not protected.
unsafe fn names(names: &[&str]) -> SEXP {
    // SAFETY: by the caller's promise; the vector is protected while its elements are made.
    unsafe {
        let out = Rf_protect(Rf_allocVector(STRSXP, names.len() as Length));
        for (i, name) in names.iter().enumerate() {
            SET_STRING_ELT(out, i as Length, crate::make::charsxp(name));
        }
        Rf_unprotect(1);
        out
    }
}

/// The key of a call for people: the structure if it is not plain, then each leaf, the device and the context.
pub(super) fn parts(call: &Call<'_>) -> Result<Vec<Part>> {
    let (tree, leaves) = Tree::split(call.args, "args")?;
    let mask = call.static_mask(&tree);
    let mut parts = Vec::with_capacity(tree.size() + 3);
    let mut part = |name: String, value: String| parts.push(Part { name, value });
    part("the structure".into(), structure(&tree));
    let mut dynamic = call.leaves().iter();
    for (i, &value) in leaves.values.iter().enumerate() {
        let name = format!("`{}`", tree.path(i));
        match (mask[i], dynamic.as_slice().first()) {
            (false, Some(&leaf)) => {
                dynamic.next();
                let aval = call.aval(leaf);
                let sizes: Vec<String> = aval.shape_i64().map(|n| n.to_string()).collect();
                let kind = if leaf.is_array { "" } else { "bare " };
                part(name, format!("{kind}{}[{}]", aval.dtype, sizes.join(",")));
            }
            _ => part(name, static_text(value)?),
        }
    }
    match &call.place {
        _ if call.dispatcher.move_inputs => {}
        Place::Device(device) => part("the device".into(), device.to_string()),
        Place::Object(device) => part("the device".into(), static_text(device.get())?),
        Place::Unknown => {}
    }
    if let Some(context) = &call.context {
        part("the context".into(), static_text(context.get())?);
    }
    Ok(parts)
}

/// A structure as text: `list(x = *, list(*, *))` without the leaves' values.
fn structure(tree: &Tree) -> String {
    tree.repr()
}

/// A static value: as R writes it if it is short, else what it is, with a number that tells two values apart.
fn static_text(x: SEXP) -> Result<String> {
    // SAFETY: reading the attributes.
    if ALTREP(x) == 0 && unsafe { ATTRIB(x) } == nil() && Rf_xlength(x) == 1 {
        // SAFETY: the vectors have one element.
        unsafe {
            match TYPEOF(x) {
                LGLSXP if *LOGICAL_RO(x) == NA_INTEGER => return Ok("NA".into()),
                LGLSXP => return Ok(if *LOGICAL_RO(x) != 0 { "TRUE" } else { "FALSE" }.into()),
                INTSXP if *INTEGER_RO(x) == NA_INTEGER => return Ok("NA_integer_".into()),
                INTSXP => return Ok(format!("{}L", *INTEGER_RO(x))),
                REALSXP if R_IsNA(*REAL_RO(x)) != 0 => return Ok("NA_real_".into()),
                REALSXP => return Ok(format!("{}", *REAL_RO(x))),
                STRSXP => {
                    if let Some(text) = describe::text(x, 0).filter(|text| text.chars().count() <= 60) {
                        return Ok(format!("{text:?}"));
                    }
                }
                _ => {}
            }
        }
    }
    let mut words = Vec::new();
    statics::encode(x, &mut words)?;
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    for word in words {
        hash = (hash ^ word).wrapping_mul(0x0000_0100_0000_01b3);
        hash ^= hash >> 29;
    }
    Ok(format!("{} ({:06x})", describe::value(x), hash & 0xff_ffff))
}
