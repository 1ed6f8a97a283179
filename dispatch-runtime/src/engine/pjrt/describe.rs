//! Finding out what was compiled: arguments, results, which argument's memory a result takes over, the size.

use std::ptr::NonNull;

use prost::Message;

use super::abi::*;
use super::call::{Plugin, Roomy, call, slice};
use super::codes::dtype;
use super::{mlir, proto};
use crate::program::Source;
use crate::{Aval, Error, Result};

/// What the runtime knows of a compiled program.
pub(super) struct Description {
    pub inputs: Vec<Aval>,
    pub outputs: Vec<Aval>,
    /// Per argument: whether a result takes over its memory.
    pub aliased: Vec<bool>,
    /// Whether some result may not be row-major.
    pub relayout: bool,
    pub size_bytes: u64,
}

/// Owns the `PJRT_Executable` that describes a loaded one.
pub(super) struct Owned {
    pub plugin: &'static Plugin,
    executable: NonNull<PJRT_Executable>,
}

impl Owned {
    pub fn of(plugin: &'static Plugin, loaded: NonNull<PJRT_LoadedExecutable>) -> Result<Owned> {
        // SAFETY: the loaded executable is alive; what it gives is ours.
        let made = unsafe {
            call!(plugin, PJRT_LoadedExecutable_GetExecutable { loaded_executable: loaded.as_ptr() })
        }?;
        let executable = NonNull::new(made.executable)
            .ok_or_else(|| plugin.broken("PJRT_LoadedExecutable_GetExecutable gave nothing"))?;
        Ok(Owned { plugin, executable })
    }

    pub fn ptr(&self) -> *mut PJRT_Executable {
        self.executable.as_ptr()
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        // SAFETY: it is ours and not used again; a failure leaves nothing to do.
        let _ = unsafe { call!(self.plugin, PJRT_Executable_Destroy { executable: self.ptr() }) };
    }
}

/// Describes a compiled program.
///
/// The C API tells of results only. The arguments are those of `@main`, so a plain text tells them as well as the
/// compiled module, which takes 0.1 to 0.2 ms to get, because it has gone cold in the caches: up to 1 % of a small
/// compile. Text that is not plain, bytecode, and a program with compile options are described by the module.
pub(super) fn describe(executable: &Owned, source: &Source, with_options: bool) -> Result<Description> {
    let outputs = outputs(executable)?;
    if let Source::StableHlo(text) = source {
        if let (false, Some(inputs)) = (with_options, plain_inputs(text)) {
            let aliased = vec![false; inputs.len()];
            let size_bytes = size_bytes(executable, text.len());
            return Ok(Description { inputs, outputs, aliased, relayout: false, size_bytes });
        }
    }
    let likely = match source {
        Source::StableHlo(text) => text.len(),
        Source::Bytecode(bytes) => 4 * bytes.len(),
        Source::Hlo(bytes) => bytes.len(),
        Source::Host { .. } => 0,
    };
    let Some(module) = optimized(executable, likely)? else {
        return from_text(executable, source, outputs);
    };
    let program = proto::Module::decode(module.bytes()).map_err(|e| unreadable(executable, &e))?;
    let shape = program.host_program_shape.unwrap_or_default();
    let inputs = inputs(&shape)?;
    let mut aliased = vec![false; inputs.len()];
    for entry in program.input_output_alias.unwrap_or_default().entries {
        if let Some(alias) = aliased.get_mut(entry.parameter_number as usize) {
            *alias = true;
        }
    }
    let result = shape.result.unwrap_or_default();
    let results =
        if result.tuple_shapes.is_empty() { std::slice::from_ref(&result) } else { &result.tuple_shapes };
    let relayout = !outputs.is_empty() && !results.iter().all(proto::Shape::is_row_major);
    let size_bytes = size_bytes(executable, module.bytes().len());
    Ok(Description { inputs, outputs, aliased, relayout, size_bytes })
}

/// Dtype and shape of the arguments of a text whose arguments are plain tensors, and in which nothing hints at other
/// layouts or at arguments that a result may take over, be it on an argument or on the module.
fn plain_inputs(text: &str) -> Option<Vec<Aval>> {
    if ["layout", "alias", "donor"].iter().any(|hint| text.contains(hint)) || !is_unambiguous(text) {
        return None;
    }
    let arguments = mlir::main_arguments(text).ok()?;
    arguments.into_iter().map(|argument| mlir::tensor(&text[argument.ty])).collect()
}

/// Whether the `@main` that our scanner finds is surely the one that XLA compiles: no name is escaped or quoted, no
/// function is in the generic form, there is no module in the module, and the name stands once.
fn is_unambiguous(text: &str) -> bool {
    let hints = ["\\", "@\"", "sym_name", "\"func.func\"", "\"builtin.module\""];
    !hints.iter().any(|hint| text.contains(hint))
        && text.matches("module").count() <= 1
        && text.matches("@main").count() == 1
}

/// Whether an argument has an attribute by which a result may take over its memory.
fn may_alias(text: &str, argument: &mlir::Argument) -> bool {
    let attributes = argument.attributes.clone().map_or("", |range| &text[range]);
    attributes.contains("donor") || attributes.contains("alias")
}

/// The description that the text gives where the plugin does not give the module. What the text cannot tell is taken
/// for what costs most: results in any layout, arguments that are gone if they may be.
fn from_text(executable: &Owned, source: &Source, outputs: Vec<Aval>) -> Result<Description> {
    let unknown = |reason: String| Error::Unimplemented {
        what: format!("PJRT_Executable_OptimizedProgram, which tells the arguments of a program ({reason})"),
        by: executable.plugin.description(),
    };
    let text = match source {
        Source::StableHlo(text) => text,
        Source::Hlo(_) => return Err(unknown("its HLO does not".into())),
        _ => return Err(unknown("its bytecode does not".into())),
    };
    if !is_unambiguous(text) {
        return Err(unknown("its text has more than one candidate for `@main`, or quoted names".into()));
    }
    let arguments = mlir::main_arguments(text).map_err(unknown)?;
    let aliased = arguments.iter().map(|argument| may_alias(text, argument)).collect();
    let mut inputs = Vec::with_capacity(arguments.len());
    for (i, argument) in arguments.into_iter().enumerate() {
        let ty = &text[argument.ty];
        inputs.push(mlir::tensor(ty).ok_or_else(|| unsupported("argument", i, &format!("the type {ty}")))?);
    }
    let size_bytes = size_bytes(executable, text.len());
    Ok(Description { inputs, outputs, aliased, relayout: true, size_bytes })
}

/// The position counts from 1, as everywhere in messages about compiled programs.
fn unsupported(what: &str, index: usize, has: &str) -> Error {
    Error::InvalidProgram {
        reason: format!("{what} {} has {has}, which the runtime does not support", index + 1),
    }
}

/// Dtype and shape of each result.
fn outputs(executable: &Owned) -> Result<Vec<Aval>> {
    let plugin = executable.plugin;
    // SAFETY: the executable is alive; the lists live as long and are copied.
    unsafe {
        let types = call!(plugin, PJRT_Executable_OutputElementTypes { executable: executable.ptr() })?;
        let types = slice(types.output_types, types.num_output_types);
        let shapes = call!(plugin, PJRT_Executable_OutputDimensions { executable: executable.ptr() })?;
        let ranks = slice(shapes.dim_sizes, shapes.num_outputs);
        let mut sizes = slice(shapes.dims, ranks.iter().sum());
        if types.len() != ranks.len() {
            return Err(plugin.broken("it gives other numbers of dtypes and of shapes of results"));
        }
        let mut outputs = Vec::with_capacity(types.len());
        for (i, (&kind, &rank)) in types.iter().zip(ranks).enumerate() {
            let (shape, rest) = sizes.split_at(rank);
            sizes = rest;
            let dtype = dtype(kind).ok_or_else(|| {
                unsupported("result", i, &format!("an element type (PJRT_Buffer_Type {kind})"))
            })?;
            if shape.iter().any(|&n| n < 0) {
                return Err(unsupported("result", i, "a dynamic shape"));
            }
            let aval = Aval::try_new(dtype, shape);
            outputs.push(aval.ok_or_else(|| unsupported("result", i, &format!("the shape {shape:?}")))?);
        }
        Ok(outputs)
    }
}

/// A compiled module, a serialized `xla.HloModuleProto`, in what the plugin gave around it.
pub(super) struct Optimized {
    code: Vec<u8>,
}

impl Optimized {
    pub fn bytes(&self) -> &[u8] {
        proto::first_field(&self.code).expect("looked at when it was made")
    }
}

/// The compiled module, or nothing if the plugin does not give it. `likely` is about half of its size in bytes.
pub(super) fn optimized(executable: &Owned, likely: usize) -> Result<Option<Optimized>> {
    let plugin = executable.plugin;
    let ask = |code: Option<&mut Vec<u8>>| {
        let mut program: Roomy<PJRT_Program> = Roomy::new(plugin);
        if let Some(code) = code {
            program.args.code = code.as_mut_ptr().cast();
            program.args.code_size = code.len();
        }
        // SAFETY: the executable is alive; `code` is null or has the size that is stated.
        unsafe {
            call!(
                plugin,
                PJRT_Executable_OptimizedProgram {
                    executable: executable.ptr(),
                    program: &raw mut program.args,
                }
            )
        }?;
        Ok::<_, Error>(program)
    };
    // Asking for the size costs as much as asking for the code, so first try with as much room as such a program is
    // likely to need. The plugin does not say how much it wrote, but no field of a message has the number 0.
    let mut code = vec![0u8; 16 * 1024 + 2 * likely];
    let program = match ask(Some(&mut code)) {
        Err(Error::Unimplemented { .. }) | Err(Error::Pjrt { status: "UNIMPLEMENTED", .. }) => {
            return Ok(None);
        }
        Err(Error::Pjrt { status: "INVALID_ARGUMENT", .. }) => {
            code = vec![0u8; ask(None)?.code_size];
            ask(Some(&mut code))?
        }
        other => other?,
    };
    // SAFETY: the plugin owns the name of the format, which lives as long as the plugin.
    let format = unsafe { slice(program.format.cast::<u8>(), program.format_size) };
    match format {
        b"hlo_with_config" if proto::first_field(&code).is_some() => Ok(Some(Optimized { code })),
        b"hlo_with_config" => Err(plugin.broken("its optimized program has no module")),
        other => {
            let format = String::from_utf8_lossy(other);
            Err(plugin.broken(&format!("its optimized programs have the unknown format {format:?}")))
        }
    }
}

/// The error of a module that is no message.
pub(super) fn unreadable(executable: &Owned, error: &prost::DecodeError) -> Error {
    executable.plugin.broken(&format!("its optimized program cannot be read: {error}"))
}

/// Dtype and shape of each argument, which must be row-major, as all arrays of the runtime are.
fn inputs(shape: &proto::ProgramShape) -> Result<Vec<Aval>> {
    let aval = |(i, shape): (usize, &proto::Shape)| {
        if !shape.is_row_major() {
            let order = &shape.layout.as_ref().expect("a layout that is not row-major").minor_to_major;
            return Err(unsupported(
                "argument",
                i,
                &format!("the layout {order:?} (from the fastest dimension)"),
            ));
        }
        shape.aval().ok_or_else(|| {
            unsupported(
                "argument",
                i,
                &format!("an element type (xla.PrimitiveType {}) or a dynamic shape", shape.element_type),
            )
        })
    };
    shape.parameters.iter().enumerate().map(aval).collect()
}

/// What the smallest executables cost on the CPU plugins, in heap and code: 80 to 150 KiB, measured.
const BASE_SIZE: u64 = 96 * 1024;

/// The bytes that keeping an executable costs.
///
/// A plugin may say how large its code is, but the CPU plugins say 0, and serializing a program to learn its size costs
/// a thirtieth of compiling it. So the size of the program counts, as text or module: it has the constants, and grows
/// with the code.
fn size_bytes(executable: &Owned, program: usize) -> u64 {
    // SAFETY: the executable is alive.
    let code = unsafe {
        call!(executable.plugin, PJRT_Executable_SizeOfGeneratedCodeInBytes { executable: executable.ptr() })
    };
    BASE_SIZE + program as u64 + code.map_or(0, |code| code.size_in_bytes.max(0) as u64)
}
