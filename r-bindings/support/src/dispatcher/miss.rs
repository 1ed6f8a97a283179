//! A call that misses: R compiles.

use std::cell::Cell;
use std::marker::PhantomData;
use std::time::Instant;

use dispatch_runtime::Error;
use dispatch_runtime::cache::{Pin, Weigh};

use super::Dispatcher;
use super::call::Call;
use super::entry::{self, Entry};
use super::leaves::Leaf;
use super::place;
use super::signature::Structure;
use crate::fault::{Fault, Result};
use crate::ffi::*;
use crate::handle;
use crate::main_thread::MainThread;
use crate::root::Root;
use crate::tree::Tree;
use crate::unwind::protect;
use crate::{compiles, progress};

impl Dispatcher {
    /// The entry of a call that has none: `compile` makes it.
    #[cold]
    #[inline(never)]
    pub(super) fn miss(&self, call: &mut Call<'_>) -> Result<Pin<'_, Entry>> {
        let reason = match compiles::are_told()? {
            true => Some(self.explain_call(call)?),
            false => None,
        };
        let (call, mut failed, mut seconds) = (&*call, None, 0.0);
        let built = Cell::new(false);
        let found = self.cache.get_or_build_words(
            call.words(),
            // Asked for an error, and for the entry, which has its signature.
            || if built.get() { Vec::new() } else { call.parts().unwrap_or_default() },
            || {
                let start = Instant::now();
                let entry = self.build(call);
                seconds = start.elapsed().as_secs_f64();
                built.set(true);
                entry.map_err(|fault| {
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
            compiles::tell(progress::done(entry.is_loaded()), &reason.to_string(), seconds)?;
        }
        Ok(entry)
    }

    fn build(&self, call: &Call<'_>) -> Result<Entry> {
        let args = call.args_with_converted()?;
        let args = args.as_ref().map_or(call.args, Root::get);
        let (tree, leaves) = Tree::split(args, "args")?;
        let structure = call.structure(tree);
        let info = info(call, args, &structure, &leaves.values)?;
        let _under_way = UnderWay::begin(call);
        let answer = place::call(self.callbacks.compile, &[info.get()])?;
        entry::read(call, answer.get(), structure)
    }
}

/// The call whose callback is running, the innermost.
static UNDER_WAY: MainThread<Cell<*const ()>> = MainThread::new(Cell::new(std::ptr::null()));

/// Says that the callback of a call is running, as long as it lives.
struct UnderWay<'a> {
    outer: *const (),
    call: PhantomData<&'a ()>,
}

impl<'a> UnderWay<'a> {
    fn begin(call: &'a Call<'_>) -> UnderWay<'a> {
        let outer = UNDER_WAY.get().replace(std::ptr::from_ref(call).cast());
        UnderWay { outer, call: PhantomData }
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        UNDER_WAY.get().set(self.outer);
    }
}

/// Whether the callback of a dispatcher is running.
pub(crate) fn is_compiling() -> bool {
    !UNDER_WAY.get().get().is_null()
}

/// The arguments of the call whose callback is running: `x f32[4], n 3L`.
pub(crate) fn compiling() -> Option<String> {
    // SAFETY: the call lives as long as it is named there, see `UnderWay`.
    let call: &Call<'_> = unsafe { UNDER_WAY.get().get().cast::<Call<'_>>().as_ref() }?;
    let parts = call.parts().ok()?;
    let leaves = parts.iter().filter_map(|part| {
        let path = part.name.strip_prefix('`')?.strip_suffix('`')?;
        Some(format!("{path} {}", part.value))
    });
    Some(leaves.collect::<Vec<_>>().join(", "))
}

/// What the callback gets.
fn info(call: &Call<'_>, args: SEXP, structure: &Structure, values: &[SEXP]) -> Result<Root> {
    let shared = shared()?;
    let atoms = &call.dispatcher.atoms;
    let tree = &handle::New::of(structure.tree.clone())?;
    let default_device = call.default_device.as_ref().map_or_else(nil, Root::get);
    let context = call.context.as_ref().map_or_else(nil, Root::get);
    let mask = &structure.is_static;
    // SAFETY: what is made is protected until it is part of the list, and has room for what it gets.
    Root::make(|| unsafe {
        let info = Rf_protect(Rf_allocVector(VECSXP, INFO.len() as Length));
        let set = |i, value| {
            SET_VECTOR_ELT(info, i, value);
            value
        };
        set(0, args);
        set(1, tree.make());
        let list = set(2, Rf_allocVector(VECSXP, values.len() as Length));
        let is_static = set(3, Rf_allocVector(LGLSXP, values.len() as Length));
        let avals = set(4, Rf_allocVector(VECSXP, values.len() as Length));
        set(5, default_device);
        set(6, context);
        let mut dynamic = call.leaves().iter();
        let mut last: Option<(Leaf, SEXP)> = None;
        for (i, &value) in values.iter().enumerate() {
            SET_VECTOR_ELT(list, i as Length, value);
            LOGICAL(is_static).add(i).write(mask[i].into());
            if mask[i] {
                continue;
            }
            let Some(&leaf) = dynamic.next() else { continue };
            let seen = call.aval(leaf);
            // One R object may stand in many places: nobody changes it in place.
            if let Some((other, aval)) = last {
                if leaf.is_array == other.is_array && seen == call.aval(other) {
                    SET_VECTOR_ELT(avals, i as Length, aval);
                    continue;
                }
            }
            let aval = Rf_allocVector(VECSXP, AVAL.len() as Length);
            SET_VECTOR_ELT(avals, i as Length, aval);
            SET_VECTOR_ELT(aval, 0, if leaf.is_array { shared.array } else { shared.rdata });
            SET_VECTOR_ELT(aval, 1, atoms.type_name(seen.dtype));
            // No array of R's has a size beyond its integers, but one of a plugin may.
            let is_integer = seen.shape.iter().all(|&n| n <= i32::MAX as u64);
            let kind = if is_integer { INTSXP } else { REALSXP };
            let shape = Rf_allocVector(kind, seen.shape.len() as Length);
            SET_VECTOR_ELT(aval, 2, shape);
            for (k, &n) in seen.shape.iter().enumerate() {
                match is_integer {
                    true => INTEGER(shape).add(k).write(n as i32),
                    false => REAL(shape).add(k).write(n as f64),
                }
            }
            SHALLOW_DUPLICATE_ATTRIB(aval, shared.aval);
            last = Some((leaf, aval));
        }
        SHALLOW_DUPLICATE_ATTRIB(info, shared.info);
        Rf_unprotect(1);
        info
    })
}

const INFO: [&str; 7] = ["args", "in_tree", "leaves", "is_static", "avals", "default_device", "context"];
const AVAL: [&str; 3] = ["kind", "dtype", "shape"];

/// Objects that all these lists share.
#[derive(Clone, Copy)]
struct Shared {
    /// Empty lists with the names.
    info: SEXP,
    aval: SEXP,
    array: SEXP,
    rdata: SEXP,
}

fn shared() -> Result<Shared> {
    static SHARED: MainThread<Cell<Option<Shared>>> = MainThread::new(Cell::new(None));
    if let Some(shared) = SHARED.get().get() {
        return Ok(shared);
    }
    let named = |names: &[&str]| -> Result<SEXP> {
        let names = crate::make::strings(names)?;
        let names = names.get();
        // SAFETY: the list is protected until it is preserved.
        protect(|| unsafe {
            let list = Rf_protect(Rf_allocVector(VECSXP, Rf_xlength(names)));
            MARK_NOT_MUTABLE(names);
            Rf_setAttrib(list, R_NamesSymbol, names);
            R_PreserveObject(list);
            Rf_unprotect(1);
            list
        })
    };
    let (info, aval) = (named(&INFO)?, named(&AVAL)?);
    let (array, rdata) = (crate::make::shared_string("array")?, crate::make::shared_string("rdata")?);
    let shared = Shared { info, aval, array, rdata };
    SHARED.get().set(Some(shared));
    Ok(shared)
}
