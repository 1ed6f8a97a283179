//! Families as functions of R: what the generated Rust of an author's package stands on.
//!
//! Each family that is exported has a [`Slot`]: its instances, one for each client that was asked for, made at first use.
//! [`export!`](crate::export) makes the slot and the function that R calls, without savvy's wrapper, which costs as much
//! as all the rest. One call:
//!
//! | step | where | what happens |
//! |---|---|---|
//! | find | `mod.rs` | the client of the first array, else that of the default platform, has an instance of the family |
//! | read | `args.rs`, `nested.rs`, `statics.rs` | the arguments become what the family's own `call` takes: arrays, R data that is uploaded once it was checked ([`Input`]), structs, static values |
//! | call | the stub | as from Rust: check, key, cache, run |
//! | compile | `compiler` | on a miss, the body runs here and the compiler on another thread, so that the user can interrupt |
//! | convert | `converted.rs` | what is no array and no data is asked of the converters that `pjrtdispatch` has, and kept for the call |
//! | give | `results.rs` | the buffers are given to `pjrtdispatch`, which makes the R objects; lists and names are added here |
//!
//! [`attach`] opens the slots of a package when it is loaded, [`detach`] closes them when it is unloaded. [`ask`] is what
//! `family_stats()` and its like know of a family.

mod about;
mod args;
mod converted;
mod export;
mod input;
mod nested;
mod results;
mod sizes;
mod statics;

use std::cell::{Cell, RefCell};

use dispatch_runtime::family::{DeclaredFamily, Explanation, Family, FamilyBuilder};
use dispatch_runtime::signature::Scope;
use dispatch_runtime::{Array, Aval, Client};

#[doc(hidden)]
pub use about::About;
pub use about::ask;
pub use args::{Args, Formal, Kind};
#[doc(hidden)]
pub use export::{Absent, absent, plain};
pub use input::Input;
pub use results::Results;

use crate::compiler::Made;
use crate::fault::{Fault, Result};
use crate::ffi::*;
use crate::main_thread::MainThread;
use crate::{compiler, compiles, convert, entry, progress, shared};
use args::Shared;
use converted::Conversions;
use results::Templates;

/// A family that is a function of R; made by [`export!`](crate::export).
pub trait Exported: DeclaredFamily + 'static {
    /// The function's name in R.
    const NAME: &'static str;
    /// Its arguments, in order.
    const FORMALS: &'static [Formal];

    /// Where its instances are.
    fn slot() -> &'static Slot<Self>;

    /// The family's `call`; the results go to `results`.
    fn call_from_r(&self, args: &Args<'_, Array>, results: &mut Results) -> Result<()>;

    /// The family's `explain`.
    fn explain_from_r(&self, args: &Args<'_, Array>) -> Result<Explanation>;

    /// The family's `warm`.
    fn warm_from_r(&self, args: &Args<'_, Aval>) -> Result<()>;
}

/// The instances of an exported family.
pub struct Slot<F: 'static> {
    state: MainThread<State<F>>,
}

struct State<F: 'static> {
    /// Whether the package is loaded.
    is_open: Cell<bool>,
    /// By client. Each lives for ever: calls may be on their way while the package is unloaded. They are few: a package
    /// that is loaded again begins with new ones.
    instances: RefCell<Vec<(Client, &'static F)>>,
    templates: Templates,
}

impl<F: 'static> Slot<F> {
    /// A slot that is closed.
    #[allow(clippy::new_without_default)] // for statics only
    pub const fn new() -> Slot<F> {
        Slot {
            state: MainThread::new(State {
                is_open: Cell::new(false),
                instances: RefCell::new(Vec::new()),
                templates: Templates::new(),
            }),
        }
    }
}

impl<F: Exported> Slot<F> {
    /// What the R function does; the arguments are those that it was called with, kept by R. For
    /// [`export!`](crate::export).
    #[inline]
    pub fn call(&self, values: &[SEXP]) -> SEXP {
        entry::direct(|| {
            let state = self.opened()?;
            self.attempt(state, values)
        })
    }

    #[inline]
    fn attempt(&self, state: &State<F>, values: &[SEXP]) -> Result<SEXP> {
        let mut is_last = false;
        loop {
            match self.once(state, values) {
                // R holds buffers that nobody refers to any more, and does not know how large they are.
                Err(fault) if !is_last && fault.is_exhausted() => crate::memory::collect()?,
                done => return done,
            }
            is_last = true;
        }
    }

    #[inline]
    fn once(&self, state: &State<F>, values: &[SEXP]) -> Result<SEXP> {
        let shared = Shared::new()?;
        let mut results = Results::new();
        let converted = Conversions::default();
        self.with_args(state, &shared, values, &converted, |family, args| {
            family.call_from_r(args, &mut results)
        })?;
        results.finish(&state.templates, &shared, F::NAME, &converted)
    }

    /// Reads the arguments for the instance of their client.
    #[inline]
    fn with_args<L, R>(
        &self,
        state: &State<F>,
        shared: &Shared,
        values: &[SEXP],
        converted: &Conversions,
        run: impl FnOnce(&F, &Args<'_, L>) -> Result<R>,
    ) -> Result<R> {
        let first = args::first_array(shared, F::FORMALS, values)?;
        let client = match &first {
            Some(first) => first.array.client(),
            None => crate::client::of_platform(&crate::client::default_platform())?,
        };
        let family = state.instance(client)?;
        let result = {
            let args = Args::new(values, F::FORMALS, F::scope(), family.family(), *shared, converted, first);
            run(family, &args)
        };
        let result = compiler::done(result, |made| tell(F::NAME, family.family(), made));
        result.map_err(|fault| converted.blame(fault))
    }

    #[inline]
    fn opened(&self) -> Result<&State<F>> {
        let state = self.state.get();
        if state.is_open.get() { Ok(state) } else { Err(closed(F::NAME)) }
    }
}

/// Tells why a family has compiled.
fn tell(name: &str, family: &Family, made: Made) -> Result<()> {
    if !compiles::are_told()? {
        return Ok(());
    }
    // The entry was used last; what it was before is what the others are.
    let keys = family.keys();
    let reason = match keys.split_first() {
        Some((new, others)) => Explanation::nearest(new, others).to_string(),
        None => "miss".into(),
    };
    compiles::tell(progress::done(made.is_loaded), &format!("{name}(): {reason}"), made.took.as_secs_f64())
}

#[cold]
fn closed(name: &str) -> Fault {
    Fault::new(
        "unloaded",
        format!("the package of `{name}()` was unloaded: load it again, and take the function from there"),
    )
}

impl<F: Exported> State<F> {
    #[inline]
    fn instance(&self, client: Client) -> Result<&'static F> {
        let instances = self.instances.borrow();
        match instances.iter().find(|(known, _)| *known == client) {
            Some((_, family)) => Ok(family),
            None => {
                drop(instances);
                self.make(client)
            }
        }
    }

    #[cold]
    fn make(&self, client: Client) -> Result<&'static F> {
        // SAFETY: the function lets the device's engine compile the program that it is asked for.
        let family =
            unsafe { FamilyBuilder::<F>::new(&client).foreign().compiler(compiler::compile) }.build()?;
        let family: &'static F = Box::leak(Box::new(family));
        self.instances.borrow_mut().push((client, family));
        Ok(family)
    }
}

/// An exported family, whichever it is.
pub trait Function {
    /// Its name in R.
    fn name(&self) -> &'static str;

    /// Opens or closes its slot.
    #[doc(hidden)]
    fn set_open(&self, is_open: bool);

    /// What [`ask`] is asked about; an error if the function cannot be called.
    #[doc(hidden)]
    fn about(&self) -> Result<&dyn About>;
}

impl<F: Exported> Function for Slot<F> {
    fn name(&self) -> &'static str {
        F::NAME
    }

    fn set_open(&self, is_open: bool) {
        let state = self.state.get();
        state.is_open.set(is_open);
        if !is_open {
            let instances = state.instances.take();
            instances.iter().for_each(|(_, family)| family.family().clear());
            state.templates.clear();
        }
    }

    fn about(&self) -> Result<&dyn About> {
        self.opened()?;
        Ok(self)
    }
}

// Short, as these are compiled with every family of an author's package.
impl<F: Exported> About for Slot<F> {
    fn formals(&self) -> &'static [Formal] {
        F::FORMALS
    }

    fn capacity(&self) -> usize {
        F::settings().capacity
    }

    fn instances(&self) -> Vec<&'static Family> {
        self.state.get().instances.borrow().iter().map(|(_, family)| family.family()).collect()
    }

    fn declare(&self, visit: &mut dyn FnMut(String, &'static Scope, usize)) {
        F::declare(visit);
    }

    fn declare_statics(&self, visit: &mut dyn FnMut(&'static str, String)) {
        F::declare_statics(visit);
    }

    fn explain(&self, values: &[SEXP]) -> Result<Explanation> {
        let converted = Conversions::default();
        let explain = |family: &F, args: &Args<'_, Array>| family.explain_from_r(args);
        self.with_args(self.opened()?, &Shared::new()?, values, &converted, explain)
    }

    fn warm(&self, values: &[SEXP]) -> Result<()> {
        let converted = Conversions::default();
        let warm = |family: &F, args: &Args<'_, Aval>| family.warm_from_r(args);
        self.with_args(self.opened()?, &Shared::new()?, values, &converted, warm)
    }
}

/// The function of a family, for the list of a package's functions.
pub fn function<F: Exported>() -> &'static dyn Function {
    F::slot()
}

/// Called when a package is loaded, with pjrtdispatch's function that raises conditions: joins what packages share, and
/// opens the package's functions. Nothing is started and nothing compiled.
pub fn attach(raise: SEXP, functions: &[&dyn Function]) -> savvy::Result<savvy::Sexp> {
    entry::attach(raise)?;
    entry::entry(|| {
        shared::join()?;
        functions.iter().for_each(|function| function.set_open(true));
        Ok(nil())
    })
}

/// Called when a package is unloaded: forgets the compiled programs and what was counted, and closes the package's
/// functions. A function that somebody kept gives an error from then on; what it computed before stays.
pub fn detach(functions: &[&dyn Function]) -> savvy::Result<savvy::Sexp> {
    entry::entry(|| {
        functions.iter().for_each(|function| function.set_open(false));
        convert::forget_natives()?;
        compiler::forget();
        Ok(nil())
    })
}
