//! From slots and results to a compiled program.

use std::panic::Location;
use std::sync::{Arc, OnceLock};

use super::into::Into;
use super::{MemoryReport, SkeletonSlot};
use crate::array::{head, tag};
use crate::cache::Weigh;
use crate::compiled::{Compiled, Compiler, Demand, by_engine};
use crate::engine;
use crate::engine::pjrt::{ModuleText, argument_names};
use crate::executable::check_place;
use crate::graph::Value;
use crate::graph::slots::{self, Sources};
use crate::program::Source;
use crate::{Array, Aval, Client, Device, Error, Program, Result};

/// A skeleton without the structure of its results.
pub(super) struct Baked {
    pub client: Client,
    /// What the head of an array is that fits: for each slot.
    pub heads: Box<[u64]>,
    /// What each input has to be.
    pub inputs: Box<[Aval]>,
    pub compiled: Compiled,
    /// What was compiled, without marks of what is donated.
    pub source: Source,
    /// The slots whose arrays a run consumes.
    pub donated: Box<[usize]>,
    /// The form of the program that writes to given memory.
    pub into: Into,
    pub names: Box<[Option<String>]>,
    /// The arguments behind those of the slots.
    pub captured: Box<[Captured]>,
    /// The program as text for others, once somebody composes it.
    pub module: OnceLock<Result<Arc<ModuleText>, String>>,
    pub memory: MemoryReport,
    pub origin: Origin,
}

/// Where a [`Skeleton`](super::Skeleton) comes from; from [`origin`](super::Skeleton::origin).
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Origin {
    /// It was made by this process. Its program may still have been in the client's store.
    Baked,
    /// It comes from a file, compiled.
    Loaded,
    /// It comes from a file, but its program was compiled anew.
    Recompiled {
        /// Why the compiled program in the file was not used.
        reason: String,
    },
}

/// An array that the program takes besides its inputs. It lives as long as the skeleton.
pub(super) struct Captured {
    pub array: Array,
    pub name: Option<String>,
}

impl Captured {
    /// For messages: the name, or the position among the captured arrays.
    pub fn path(&self, i: usize) -> String {
        match &self.name {
            Some(name) => name.clone(),
            None => format!("captured array {}", i + 1),
        }
    }
}

impl Baked {
    pub fn inputs(&self) -> &[Aval] {
        &self.inputs
    }

    pub fn outputs(&self) -> &[Aval] {
        self.compiled.outputs()
    }

    pub fn device(&self) -> Device {
        self.client.device_at(self.compiled.device())
    }

    /// The name of a slot, or its position.
    pub fn path(&self, slot: usize) -> String {
        path(self.names[slot].as_deref(), slot)
    }
}

impl Weigh for Baked {
    fn bytes(&self) -> u64 {
        self.compiled.bytes()
    }

    fn is_loaded(&self) -> bool {
        self.compiled.is_loaded()
    }
}

/// The name of a slot, or its position, counted from 1.
fn path(name: Option<&str>, slot: usize) -> String {
    name.map_or_else(|| (slot + 1).to_string(), str::to_owned)
}

/// Compiles what computes `values` from `slots`; `results` is their number, by their type.
pub(super) fn bake(
    slots: &[&SkeletonSlot],
    values: &[Value],
    results: Option<usize>,
    device: Device,
    at: &'static Location<'static>,
) -> Result<Baked> {
    let arguments: Vec<Value> = slots.iter().map(|slot| slot.value().clone()).collect();
    let captured = check(&arguments, values, at)?;
    let program = slots::program::<()>(&arguments, &captured, values)?;
    let captured = captured.into_iter().map(|(array, values)| {
        // A name that one of its values has is that of the array.
        Captured { name: values.iter().find_map(Value::name), array }
    });
    compile(slots, captured.collect(), program, results, device, by_engine)
}

/// Compiles a program that takes these slots, and behind them these arrays.
pub(super) fn compile<O>(
    slots: &[&SkeletonSlot],
    captured: Box<[Captured]>,
    program: Program<O>,
    results: Option<usize>,
    device: Device,
    compiler: impl FnOnce(Device, &Source) -> Result<Box<dyn engine::Executable>>,
) -> Result<Baked> {
    slots.iter().try_for_each(|slot| slot.value().check().map(drop))?;
    let names: Box<[_]> = slots.iter().map(|slot| slot.value().name()).collect();
    for (i, captured) in captured.iter().enumerate() {
        check_place(|| captured.path(i), &captured.array, device)?;
    }
    let leaves: Vec<_> = (slots.iter().zip(&names).enumerate())
        .map(|(i, (slot, name))| (path(name.as_deref(), i), slot.aval().clone(), slot.is_donated()))
        .chain(captured.iter().enumerate().map(|(i, c)| (c.path(i), c.array.aval(), false)))
        .collect();
    let demand = Demand { owner: OWNER, device, leaves: Some(&leaves), results };
    let donated: Box<[usize]> = (0..slots.len()).filter(|&i| slots[i].is_donated()).collect();
    let unmarked = (!donated.is_empty()).then(|| program.source().clone());
    let (compiled, source) = demand.compile(program, compiler)?;
    let inputs = slots.iter().map(|slot| slot.layout()).collect();
    finish(device, compiled, unmarked.unwrap_or(source), names, inputs, captured, donated)
}

/// Compiles a program for the arguments that it takes, under the names that its text has for them. Donated are those whose
/// memory it takes over.
pub(super) fn compile_as_is<O>(
    program: Program<O>,
    results: Option<usize>,
    device: Device,
    compiler: Compiler,
) -> Result<Baked> {
    let (compiled, source) =
        Demand { owner: OWNER, device, leaves: None, results }.compile(program, compiler)?;
    let inputs: Box<[Aval]> = compiled.executable().inputs().into();
    let names = match &source {
        Source::StableHlo(text) => argument_names(text).filter(|names| names.len() == inputs.len()),
        _ => None,
    };
    let names = names.unwrap_or_else(|| vec![None; inputs.len()]);
    let aliased = compiled.executable().aliased();
    let donated = (0..inputs.len()).filter(|&i| aliased[i]).collect();
    finish(device, compiled, source, names.into(), inputs, Box::default(), donated)
}

pub(super) const OWNER: &str = "the skeleton";

/// The head that no array has: arrays are dense, so none is for a slot that wants strides.
const NO_HEAD: u64 = u64::MAX;

fn finish(
    device: Device,
    compiled: Compiled,
    source: Source,
    names: Box<[Option<String>]>,
    inputs: Box<[Aval]>,
    captured: Box<[Captured]>,
    donated: Box<[usize]>,
) -> Result<Baked> {
    let executable = compiled.executable();
    let memory = MemoryReport::new(executable.inputs(), executable.outputs(), executable.memory()?);
    let heads = inputs.iter().map(|aval| match aval.is_dense() {
        true => head(tag(aval.dtype(), aval.rank()), device.index()),
        false => NO_HEAD,
    });
    Ok(Baked {
        client: device.client(),
        heads: heads.collect(),
        inputs,
        compiled,
        source,
        donated,
        into: Into::default(),
        names,
        captured,
        module: OnceLock::new(),
        memory,
        origin: Origin::Baked,
    })
}

/// The arrays that the values capture; an error unless the slots are the inputs that they depend on, each declared once.
fn check(
    slots: &[Value],
    values: &[Value],
    at: &'static Location<'static>,
) -> Result<Vec<(Array, Vec<Value>)>> {
    let wrong =
        |reason: String| Err(Error::Graph { operation: "into_skeleton".into(), reason, at: at.to_string() });
    for (i, slot) in slots.iter().enumerate() {
        slot.check()?;
        if let Some(first) = slots[..i].iter().position(|other| slots::same(other, slot)) {
            let positions = format!("as {} and {}", first + 1, i + 1);
            return wrong(format!("{} is declared twice, {positions}", told(slot)));
        }
    }
    let Sources { inputs: used, captured } = slots::sources(values)?;
    for input in &used {
        if !slots::is_slot(input) {
            return wrong(format!(
                "the results depend on `{input:?}`, which is no slot but an input of a graph"
            ));
        }
        if !slots.iter().any(|slot| slots::same(slot, input)) {
            return wrong(format!("{} is missing among the declared slots", told(input)));
        }
    }
    match slots.iter().find(|slot| !used.iter().any(|input| slots::same(slot, input))) {
        Some(unused) => wrong(format!("{} is declared, but no result depends on it", told(unused))),
        None => Ok(captured),
    }
}

/// ``slot `x: f32[4]` ``; one without a name is known by the line that made it.
fn told(slot: &Value) -> String {
    match slot.name() {
        Some(_) => format!("slot `{slot:?}`"),
        None => format!("slot `{slot:?}`, made at {},", slots::line(slot)),
    }
}
