//! Dispatchers: a cache of compiled programs for the calls of one R function.
//!
//! `Dispatcher::dispatch` walks through the arguments once (`call`): each is checked, and written as words of the
//! key (`anvl`: what an array is; `place`: where the call runs; `wrong`: errors with their paths). A hit runs the entry
//! at once (`run`, `results`); a miss calls back into R (`miss`), and what R gives is read by its fields (`answer`),
//! checked, and becomes an entry (`entry`), which keeps its objects of R (`held`) and can say what its key is
//! (`signature`, `leaves`).
//!
//! R code may run in the middle of a call: callbacks, and finalizers whenever R allocates. It may dispatch again, or
//! release a buffer. So a call keeps R objects, and the buffers are read from them just before the program runs, with
//! nothing of R in between.

mod answer;
mod call;
mod converted;
mod direct;
mod entry;
mod held;
mod leaves;
mod miss;
mod place;
mod results;
mod run;
mod signature;
mod wrong;

use std::cell::{Cell, OnceCell, RefCell};
use std::rc::{Rc, Weak};

use dispatch_runtime::cache::Cache;
use dispatch_runtime::{Device, Explanation, Lru, Stats};

use crate::arg::Arg;
use crate::convert::Scope;
use crate::fault::{Fault, Result};
use crate::ffi::*;
use crate::handle::{self, Handle, Kind};
use crate::root::Root;
pub use direct::native_symbol;

use crate::anvl::{self, Atoms};
use call::{Call, Scratch};
use direct::Room;
use entry::{Engine, Entry};
use held::Held;
pub(crate) use held::Kept;
pub(crate) use miss::{compiling, is_compiling};
pub(crate) use place::call;
use signature::Signature;

/// A family of programs that R code compiles.
pub struct Dispatcher {
    cache: Cache<Entry>,
    /// What R calls the backend, a string of R's cache.
    backend: SEXP,
    /// Whether the backend is ours.
    is_pjrt: bool,
    move_inputs: bool,
    callbacks: Callbacks,
    /// Names of static arguments, strings of R's cache.
    statics: Vec<SEXP>,
    /// Whether all those are ASCII: then equal names are the same object, whatever their encoding.
    statics_are_ascii: bool,
    atoms: Atoms,
    /// Keeps the R objects above alive, and those of the entries. The handle of the dispatcher refers to it, so that R
    /// can collect what refers to the dispatcher in turn.
    held: Held,
    scratch: Cell<Option<Box<Scratch>>>,
    /// Converters for its calls only.
    converters: OnceCell<Scope>,
    /// Those of the entries that are alive, and of some that are not, the latest last.
    signatures: RefCell<Vec<Weak<Signature>>>,
}

/// R functions; `NULL` where there is none.
struct Callbacks {
    compile: SEXP,
    default_device: SEXP,
    extractor: SEXP,
    context: SEXP,
}

impl Handle for Dispatcher {
    fn kind() -> &'static Kind {
        static KIND: Kind = Kind::new("Dispatcher", "pjrtdispatch dispatcher 1");
        &KIND
    }
}

/// The arguments of the R function `dispatcher()`.
#[allow(missing_docs)]
pub struct Options<'a> {
    pub capacity: Arg<'a>,
    pub compile: Arg<'a>,
    pub statics: Arg<'a>,
    pub backend: Arg<'a>,
    pub move_inputs: Arg<'a>,
    pub default_device: Arg<'a>,
    pub extractor: Arg<'a>,
    pub context: Arg<'a>,
}

/// A function, or `NULL` where it is optional; `takes` is the one argument that it gets, if it gets one.
fn function(x: Arg<'_>, optional: bool, takes: Option<&str>) -> Result<SEXP> {
    match TYPEOF(x.get()) {
        // SAFETY: the object is a closure.
        CLOSXP if takes.is_some() && unsafe { FORMALS(x.get()) } == nil() => {
            let expected = format!("a function of one argument ({})", takes.unwrap_or_default());
            Err(Fault::argument("value", x.name(), expected, "one without arguments"))
        }
        CLOSXP | BUILTINSXP | SPECIALSXP => Ok(x.get()),
        NILSXP if optional => Ok(x.get()),
        _ if optional => Err(x.expected("a function or NULL")),
        _ => Err(x.expected("a function")),
    }
}

impl Dispatcher {
    /// A new dispatcher, as an R object.
    pub fn create(options: &Options<'_>) -> Result<SEXP> {
        let capacity = options.capacity.integer()?;
        if capacity < 1 {
            return Err(Fault::argument("value", "capacity", "a number from 1 on", capacity));
        }
        let statics = options.statics.strings()?;
        if statics.iter().any(String::is_empty) {
            return Err(Fault::argument("value", "static", "names of arguments", "an empty one"));
        }
        let backend = options.backend.string()?;
        let is_pjrt = backend == "pjrt";
        let move_inputs = options.move_inputs.flag()?;
        let callbacks = Callbacks {
            compile: function(options.compile, false, Some("`info`"))?,
            default_device: function(options.default_device, true, None)?,
            extractor: function(options.extractor, true, Some("an array"))?,
            context: function(options.context, true, None)?,
        };
        if callbacks.default_device == nil() && !move_inputs {
            return Err(Fault::argument(
                "value",
                "default_device",
                "a function unless `move_inputs` is TRUE",
                "NULL",
            ));
        }
        if callbacks.extractor == nil() && !is_pjrt {
            let expected =
                format!("a function, as for every backend other than \"pjrt\" (this is \"{backend}\")");
            return Err(Fault::argument("value", "extractor", expected, "NULL"));
        }
        let atoms = *anvl::atoms()?;
        // In UTF-8, where the user's may have another encoding.
        let names = crate::make::strings(&statics)?;
        let backend_name = crate::make::string(&backend)?;
        let objects = [
            callbacks.compile,
            callbacks.default_device,
            callbacks.extractor,
            callbacks.context,
            names.get(),
            backend_name.get(),
        ];
        let held = Held::new(&objects)?;
        // Rooted until the handle refers to it.
        let root = Root::new(held.list())?;
        let statics_are_ascii = statics.iter().all(|name| name.is_ascii());
        // SAFETY: the vectors have as many strings, which `held` keeps.
        let (statics, backend) = unsafe {
            let statics = (0..statics.len() as Length).map(|i| STRING_ELT(names.get(), i)).collect();
            (statics, STRING_ELT(backend_name.get(), 0))
        };
        let dispatcher = Dispatcher {
            cache: Cache::new(
                "the dispatcher",
                usize::try_from(capacity).unwrap_or(usize::MAX),
                Box::new(Lru),
            )?,
            backend,
            is_pjrt,
            move_inputs,
            callbacks,
            statics,
            statics_are_ascii,
            atoms,
            held,
            scratch: Cell::new(None),
            converters: OnceCell::new(),
            signatures: RefCell::default(),
        };
        let object = handle::wrap(dispatcher)?;
        // SAFETY: the object is a pointer; storing does not allocate.
        unsafe { R_SetExternalPtrProtected(object, root.get()) };
        Ok(object)
    }

    /// Runs a call: the R function `dispatch()`. What an R function has to be called for at the end is left in `last`.
    #[inline]
    fn dispatch(&self, args: SEXP, last: Room<'_>) -> Result<SEXP> {
        let mut call = Call::new(self, args);
        call.walk()?;
        let entry = match self.cache.find_words(call.words()) {
            Some(entry) => entry,
            None => self.miss(&mut call)?,
        };
        match &entry.engine {
            Engine::Pjrt(program) => call.run_program(program),
            // What was converted is kept until the function has returned.
            Engine::Closure(function) if call.has_converted() => call.run_closure(*function),
            Engine::Closure(function) => match last.leave(*function, call.leaves()) {
                Some(left) => Ok(left),
                None => call.run_closure(*function),
            },
        }
    }

    /// Whether its arrays are ours.
    fn backend_is_pjrt(&self) -> bool {
        self.is_pjrt
    }

    /// The device of calls without an array, if there is a function that says it.
    fn default_device(&self) -> Result<Option<Device>> {
        if self.callbacks.default_device == nil() {
            return Ok(None);
        }
        let device = call(self.callbacks.default_device, &[])?;
        place::pjrt_device(device.get()).map(Some)
    }

    /// The converters for its calls only, if there were ever any.
    fn scope(&self) -> Option<&Scope> {
        self.converters.get()
    }

    /// The converters for its calls only.
    pub(crate) fn own_scope(&self) -> &Scope {
        self.converters.get_or_init(Scope::new)
    }

    /// Keeps an object as long as the dispatcher lives, and what is given lives.
    pub(crate) fn keep(&self, object: SEXP) -> Result<Kept> {
        Ok(Kept::Dispatcher { _slot: self.held.keep(object)? })
    }

    /// Hits, misses, compiles, evictions, entries and bytes.
    pub fn stats(&self) -> Stats {
        self.cache.stats()
    }

    /// How many programs it keeps at most.
    pub fn capacity(&self) -> usize {
        self.cache.capacity()
    }

    /// The name of the backend.
    pub fn backend(&self) -> String {
        String::from_utf8_lossy(crate::statics::string_bytes(self.backend).map_or(&[], |(_, bytes)| bytes))
            .into()
    }

    /// Forgets every program.
    pub fn clear(&self) {
        self.cache.clear();
    }

    /// Whether a call would hit, and if not, what is new about it.
    pub fn explain(&self, args: SEXP) -> Result<Explanation> {
        let mut call = Call::new(self, args);
        call.walk()?;
        self.explain_call(&call)
    }

    fn explain_call(&self, call: &Call<'_>) -> Result<Explanation> {
        if self.cache.contains_words(call.words()) {
            return Ok(Explanation::Hit);
        }
        let signatures: Vec<Rc<Signature>> =
            self.signatures.borrow().iter().rev().filter_map(Weak::upgrade).collect();
        let entries = signatures.iter().map(|signature| signature.parts()).collect::<Result<Vec<_>>>()?;
        Ok(Explanation::nearest(&call.parts()?, &entries))
    }

    /// Remembers the signature of a new entry as long as that lives.
    fn remember(&self, signature: &Rc<Signature>) {
        let mut signatures = self.signatures.borrow_mut();
        // As many as there are entries may be dead: looking at them all costs as little for each as adding it did.
        if signatures.len() >= 2 * self.cache.len() + 8 {
            signatures.retain(|signature| signature.strong_count() > 0);
        }
        signatures.push(Rc::downgrade(signature));
    }
}
