//! The module, its computations and instructions.

use std::collections::HashMap;

use super::proto::{Computation, Instruction, Metadata, Module};
use super::{attributes, braced, joined, list, literal, shape};

/// Writes a module.
pub struct Printer<'a> {
    module: &'a Module,
    /// The names of computations and of instructions, by their ids.
    computations: HashMap<i64, &'a str>,
    instructions: HashMap<i64, &'a str>,
}

impl<'a> Printer<'a> {
    pub fn new(module: &'a Module) -> Printer<'a> {
        let computations = module.computations.iter();
        let instructions = computations.clone().flat_map(|computation| &computation.instructions);
        Printer {
            module,
            computations: computations.map(|c| (c.id, c.name.as_str())).collect(),
            instructions: instructions.map(|i| (i.id, i.name.as_str())).collect(),
        }
    }

    /// The module: a line about it, then each computation.
    pub fn module(&self) -> String {
        let mut out = format!("HloModule {}", self.module.name);
        for attribute in self.module_attributes() {
            out.push_str(", ");
            out.push_str(&attribute);
        }
        out.push('\n');
        for computation in &self.module.computations {
            out.push('\n');
            self.computation(computation, &mut out);
        }
        out
    }

    fn module_attributes(&self) -> Vec<String> {
        let mut all = Vec::new();
        if self.module.schedule.is_some() {
            all.push("is_scheduled=true".into());
        }
        let aliases = self.module.input_output_alias.iter().flat_map(|alias| &alias.entries).map(|entry| {
            let (output, index) = (braced(&entry.output_shape_index), braced(&entry.parameter_shape_index));
            let kind = if entry.kind == 2 { "must-alias" } else { "may-alias" };
            format!("{output}: ({}, {index}, {kind})", entry.parameter_number)
        });
        let aliases: Vec<String> = aliases.collect();
        if !aliases.is_empty() {
            all.push(format!("input_output_alias={{ {} }}", aliases.join(", ")));
        }
        let donors = self.module.buffer_donor.iter().flat_map(|donor| &donor.entries);
        let donors: Vec<String> = donors
            .map(|entry| format!("({}, {})", entry.parameter_number, braced(&entry.parameter_shape_index)))
            .collect();
        if !donors.is_empty() {
            all.push(format!("buffer_donor={{ {} }}", donors.join(", ")));
        }
        if let Some(program) = &self.module.host_program_shape {
            let parameters = list(program.parameters.iter().map(|p| shape::text(p, true)));
            let result = program.result.as_ref().map(|result| shape::text(result, true)).unwrap_or_default();
            all.push(format!("entry_computation_layout={{({parameters})->{result}}}"));
        }
        all
    }

    fn computation(&self, computation: &Computation, out: &mut String) {
        if computation.id == self.module.entry_computation_id {
            out.push_str("ENTRY ");
        }
        let program = computation.program_shape.clone().unwrap_or_default();
        let parameters = program.parameters.iter().enumerate().map(|(i, parameter)| {
            let name = program.parameter_names.get(i).map_or("", |name| name);
            format!("{name}: {}", shape::text(parameter, false))
        });
        let result = program.result.as_ref().map(|result| shape::text(result, false)).unwrap_or_default();
        out.push_str(&format!("%{} ({}) -> {result} {{\n", computation.name, joined(parameters, ", ")));
        for instruction in self.in_order(computation) {
            let root = if instruction.id == computation.root_id { "ROOT " } else { "" };
            out.push_str(&format!("  {root}{}\n", self.instruction(instruction)));
        }
        out.push('}');
        if !matches!(&*computation.execution_thread, "" | "main") {
            out.push_str(&format!(", execution_thread={:?}", computation.execution_thread));
        }
        out.push('\n');
    }

    /// The instructions in the order in which they run, where there is a schedule.
    fn in_order(&self, computation: &'a Computation) -> Vec<&'a Instruction> {
        let mut instructions: Vec<&Instruction> = computation.instructions.iter().collect();
        let sequence = self.module.schedule.as_ref().and_then(|s| s.sequences.get(&computation.id));
        if let Some(sequence) = sequence {
            let ids = sequence.instruction_ids.iter().enumerate();
            let places: HashMap<i64, usize> = ids.map(|(place, &id)| (id, place)).collect();
            // What the schedule forgets comes last.
            instructions.sort_by_key(|i| places.get(&i.id).copied().unwrap_or(usize::MAX));
        }
        instructions
    }

    /// `%sum = f32[2]{0} add(%a, %b), metadata={…}`.
    fn instruction(&self, instruction: &Instruction) -> String {
        let shape = instruction.shape.as_ref().map(|s| shape::text(s, true)).unwrap_or_default();
        let operands = match &*instruction.opcode {
            "parameter" => instruction.parameter_number.to_string(),
            "constant" => instruction.literal.as_ref().map_or("{...}".into(), literal::text),
            _ => list(instruction.operand_ids.iter().map(|&id| self.value(id))),
        };
        let mut text = format!("%{} = {shape} {}({operands})", instruction.name, instruction.opcode);
        for attribute in attributes::of(instruction, self) {
            text.push_str(", ");
            text.push_str(&attribute);
        }
        text
    }

    /// The name of an instruction.
    pub fn value(&self, id: i64) -> String {
        name(&self.instructions, id)
    }

    /// The name of a computation.
    pub fn called(&self, id: i64) -> String {
        name(&self.computations, id)
    }

    /// Configuration for the backend that stands in the module's table.
    pub fn payload(&self, id: i64) -> Option<&'a [u8]> {
        usize::try_from(id).ok().and_then(|i| self.module.payloads.get(i)).map(Vec::as_slice)
    }

    /// File and line that an operation comes from.
    pub fn source(&self, metadata: &'a Metadata) -> Option<(&'a str, i32)> {
        if !metadata.source_file.is_empty() {
            return Some((&metadata.source_file, metadata.source_line));
        }
        let index = self.module.stack_frame_index.as_ref()?;
        let frame = one_based(&index.stack_frames, metadata.stack_frame_id)?;
        let location = one_based(&index.file_locations, frame.file_location_id)?;
        Some((one_based(&index.file_names, location.file_name_id)?, location.line))
    }
}

fn one_based<T>(items: &[T], id: i32) -> Option<&T> {
    items.get(usize::try_from(id).ok()?.checked_sub(1)?)
}

/// Names may be reused in a broken module, ids stand for nothing: neither is a reason to give no text at all.
fn name(names: &HashMap<i64, &str>, id: i64) -> String {
    match names.get(&id) {
        Some(name) => format!("%{name}"),
        None => format!("%?{id}"),
    }
}
