//! Skeletons that an R function makes when inputs of new layouts come.

use std::cell::Cell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use dispatch_runtime::cache::Stats;
use dispatch_runtime::skeleton::DynamicSkeleton;
use dispatch_runtime::{Array, Aval, Device, Explanation, Lru};

use super::{Skeleton, inputs};
use crate::arg::Arg;
use crate::dispatcher::call;
use crate::fault::{Fault, Result, in_dots};
use crate::ffi::*;
use crate::handle::{self, Handle, Kind};
use crate::main_thread::MainThread;
use crate::root::Root;
use crate::runs::Pause;
use crate::{buffer, client, compiler, compiles, describe, make, memory, runs};

type Build = Box<dyn Fn(&[Aval]) -> dispatch_runtime::Result<Skeleton>>;

/// A cache of skeletons, which an R function makes.
pub struct Dynamic {
    skeletons: DynamicSkeleton<Build, Lru, Vec<Array>>,
    device: Device,
    /// How long a skeleton took that was made, of which nobody was told yet.
    took: Rc<Cell<Option<Duration>>>,
}

impl Handle for Dynamic {
    fn kind() -> &'static Kind {
        static KIND: Kind = Kind::new("PJRTDynamicSkeleton", "pjrtdispatch dynamic skeleton 1");
        &KIND
    }
}

/// How many R functions are making a skeleton at this moment, one within the other.
static BUILDING: MainThread<Cell<u32>> = MainThread::new(Cell::new(0));

/// Whether an R function is making a skeleton for one of these: then the compile is told of with its reason.
pub(super) fn is_building() -> bool {
    BUILDING.get().get() > 0
}

struct Building;

impl Building {
    fn begin() -> Building {
        BUILDING.get().set(BUILDING.get().get() + 1);
        Building
    }
}

impl Drop for Building {
    fn drop(&mut self) {
        BUILDING.get().set(BUILDING.get().get() - 1);
    }
}

impl Dynamic {
    /// A new one without skeletons, as an R object.
    pub fn create(build: Arg<'_>, capacity: Arg<'_>) -> Result<SEXP> {
        let function = build.get();
        if !matches!(TYPEOF(function), CLOSXP | BUILTINSXP | SPECIALSXP) {
            return Err(build.expected("a function"));
        }
        let capacity = match capacity.integer()? {
            capacity if capacity < 1 => {
                return Err(Fault::argument("value", "capacity", "a number from 1 on", capacity));
            }
            capacity => usize::try_from(capacity).unwrap_or(usize::MAX),
        };
        let device = client::default_device()?;
        let took = Rc::new(Cell::new(None));
        let noted = took.clone();
        // The handle keeps the function: a root would keep for ever what refers to the handle in turn.
        let build: Build = Box::new(move |layouts| {
            let start = Instant::now();
            let made = build_by(function, layouts).map_err(compiler::leave)?;
            noted.set(Some(start.elapsed()));
            Ok(made)
        });
        let skeletons = DynamicSkeleton::with_policy(&device.client(), capacity, Lru, build)?;
        let object = handle::wrap(Dynamic { skeletons, device, took })?;
        // SAFETY: the object is a pointer; storing does not allocate.
        unsafe { R_SetExternalPtrProtected(object, function) };
        Ok(object)
    }

    /// Runs the skeleton for the layouts of these inputs, which is made first if it is not there.
    pub fn run(&self, given: Arg<'_>) -> Result<SEXP> {
        let inputs = inputs::in_any_layout(given, self.device)?;
        let args: inputs::Few<&Array> = inputs.iter().collect();
        let results = memory::with_retry(|| -> Result<Vec<Array>> {
            let (results, left) = runs::run(|| self.skeletons.run(&args));
            left?;
            compiler::done(results.map_err(|error| in_dots(error).into()), |_| Ok(()))
        })?;
        drop(args);
        drop(inputs);
        if let Some(took) = self.took.take() {
            self.tell(took)?;
        }
        buffer::wrap_all(results, true)
    }

    /// Tells why a skeleton was made, the last one.
    fn tell(&self, took: Duration) -> Result<()> {
        if !compiles::are_told()? {
            return Ok(());
        }
        let keys: Vec<_> = self.skeletons.entries().into_iter().map(|entry| entry.key).collect();
        let reason = match keys.split_first() {
            Some((new, others)) => Explanation::nearest(new, others).to_string(),
            None => "miss".into(),
        };
        compiles::tell("built", &format!("dynamic skeleton: {reason}"), took.as_secs_f64())
    }

    /// Hits, misses, compiles, evictions, entries and bytes.
    pub fn stats(&self) -> Stats {
        self.skeletons.stats()
    }

    /// How many skeletons it keeps at most.
    pub fn capacity(&self) -> usize {
        self.skeletons.capacity()
    }

    /// Forgets all skeletons.
    pub fn clear(&self) {
        self.skeletons.clear();
    }

    /// The layouts that there are skeletons for, the last used first.
    pub fn layouts(&self) -> Vec<String> {
        let layout = |entry: dispatch_runtime::cache::Cached| {
            let inputs: Vec<String> = entry.key.into_iter().map(|part| part.value).collect();
            format!("({})", inputs.join(", "))
        };
        self.skeletons.entries().into_iter().map(layout).collect()
    }
}

/// The skeleton that the R function makes for these layouts.
fn build_by(function: SEXP, layouts: &[Aval]) -> Result<Skeleton> {
    let (_pause, _building) = (Pause::begin(), Building::begin());
    let layouts = layouts.iter().map(layout).collect::<Result<Vec<Root>>>()?;
    let layouts = make::list(&layouts.iter().map(Root::get).collect::<Vec<_>>())?;
    let made = call(function, &[layouts.get()])?;
    if !Skeleton::kind().is(made.get()) {
        let expected = "a function that gives what pjrt_skeleton() makes";
        return Err(Fault::argument("type", "build", expected, describe::value(made.get())));
    }
    // SAFETY: the root keeps the object.
    unsafe { handle::get::<Skeleton>(made.get(), "build") }.cloned()
}

/// `list(dtype = "f32", shape = c(2L, 3L))`
fn layout(aval: &Aval) -> Result<Root> {
    let (dtype, shape) = (make::string(aval.dtype().r_name())?, make::sizes(aval.shape())?);
    make::named_list(&[("dtype", dtype.get()), ("shape", shape.get())])
}
