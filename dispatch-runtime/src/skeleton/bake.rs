//! From slots and results to a compiled program.

use std::panic::Location;

use super::MemoryReport;
use crate::array::{head, tag};
use crate::cache::Weigh;
use crate::compiled::{Compiled, Compiler, Demand, by_engine};
use crate::engine::pjrt::argument_names;
use crate::graph::{Value, slots};
use crate::program::Source;
use crate::{Aval, Client, Device, Error, Program, Result};

/// A skeleton without the structure of its results.
pub(super) struct Baked {
    pub client: Client,
    /// What the head of an array is that fits: for each slot.
    pub heads: Box<[u64]>,
    pub compiled: Compiled,
    /// What was compiled.
    pub source: Source,
    pub names: Box<[Option<String>]>,
    pub memory: MemoryReport,
}

impl Baked {
    pub fn inputs(&self) -> &[Aval] {
        self.compiled.executable().inputs()
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
}

/// The name of a slot, or its position, counted from 1.
fn path(name: Option<&str>, slot: usize) -> String {
    name.map_or_else(|| (slot + 1).to_string(), str::to_owned)
}

/// Compiles what computes `values` from `slots`; `results` is their number, by their type.
pub(super) fn bake(
    slots: &[Value],
    values: &[Value],
    results: Option<usize>,
    device: Device,
    at: &'static Location<'static>,
) -> Result<Baked> {
    check(slots, values, at)?;
    compile(slots, slots::program::<()>(slots, values)?, results, device, by_engine)
}

/// Compiles a program that takes these slots.
pub(super) fn compile<O>(
    slots: &[Value],
    program: Program<O>,
    results: Option<usize>,
    device: Device,
    compiler: Compiler,
) -> Result<Baked> {
    let names: Box<[_]> = slots.iter().map(Value::name).collect();
    let leaves: Vec<_> = (slots.iter().zip(&names).enumerate())
        .map(|(i, (slot, name))| (path(name.as_deref(), i), slot.aval().clone(), false))
        .collect();
    let demand = Demand { owner: OWNER, device, leaves: Some(&leaves), results };
    let (compiled, source) = demand.compile(program, compiler)?;
    finish(device, compiled, source, names)
}

/// Compiles a program for the arguments that it takes, under the names that its text has for them.
pub(super) fn compile_as_is<O>(
    program: Program<O>,
    results: Option<usize>,
    device: Device,
    compiler: Compiler,
) -> Result<Baked> {
    let (compiled, source) =
        Demand { owner: OWNER, device, leaves: None, results }.compile(program, compiler)?;
    let count = compiled.executable().inputs().len();
    let names = match &source {
        Source::StableHlo(text) => argument_names(text).filter(|names| names.len() == count),
        _ => None,
    };
    finish(device, compiled, source, names.unwrap_or_else(|| vec![None; count]).into())
}

const OWNER: &str = "the skeleton";

fn finish(device: Device, compiled: Compiled, source: Source, names: Box<[Option<String>]>) -> Result<Baked> {
    let executable = compiled.executable();
    let memory = MemoryReport::new(executable.inputs(), executable.outputs(), executable.memory()?);
    let heads = executable.inputs().iter().map(|aval| head(tag(aval.dtype(), aval.rank()), device.index()));
    Ok(Baked { client: device.client(), heads: heads.collect(), compiled, source, names, memory })
}

/// An error unless the slots are what the values depend on, each declared once.
fn check(slots: &[Value], values: &[Value], at: &'static Location<'static>) -> Result<()> {
    let wrong =
        |reason: String| Err(Error::Graph { operation: "into_skeleton".into(), reason, at: at.to_string() });
    for (i, slot) in slots.iter().enumerate() {
        slot.check()?;
        if let Some(first) = slots[..i].iter().position(|other| slots::same(other, slot)) {
            let positions = format!("as {} and {}", first + 1, i + 1);
            return wrong(format!("{} is declared twice, {positions}", told(slot)));
        }
    }
    let used = slots::inputs(values)?;
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
        None => Ok(()),
    }
}

/// ``slot `x: f32[4]` ``; one without a name is known by the line that made it.
fn told(slot: &Value) -> String {
    match slot.name() {
        Some(_) => format!("slot `{slot:?}`"),
        None => format!("slot `{slot:?}`, made at {},", slots::line(slot)),
    }
}
