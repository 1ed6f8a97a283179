//! Compiling, and finding out what was compiled.

use std::ptr::NonNull;

use prost::Message;

use super::abi::*;
use super::call::{Plugin, Roomy, call, dtype, slice};
use super::engine::Shared;
use super::executable::{Loaded, MemoryStats, PjrtExecutable};
use super::proto;
use crate::program::Source;
use crate::{Aval, Error, Result};

/// Compiles a program for a device of the client.
pub(super) fn compile(shared: &'static Shared, source: &Source, device: usize) -> Result<PjrtExecutable> {
    let code: &[u8] = match source {
        Source::StableHlo(text) => text.as_bytes(),
        Source::Bytecode(bytes) => bytes,
        Source::Host { .. } => {
            return Err(Error::InvalidProgram {
                reason: format!(
                    "it is a function on the host, which only the host engine runs, not {}",
                    shared.plugin.description()
                ),
            });
        }
    };
    let loaded = load(shared, code, &shared.compile_options[device])?;
    let executable = Owned::of(shared.plugin, loaded.1)?;
    let outputs = outputs(&executable)?;
    let module = module(&executable)?;
    let shape = module.host_program_shape.unwrap_or_default();
    let inputs = inputs(&shape)?;
    let mut aliased = vec![false; inputs.len()];
    for entry in module.input_output_alias.unwrap_or_default().entries {
        if let Some(alias) = aliased.get_mut(entry.parameter_number as usize) {
            *alias = true;
        }
    }
    let size_bytes = size_bytes(&executable);
    Ok(PjrtExecutable {
        shared,
        device: shared.handles[device],
        inputs,
        outputs,
        aliased,
        size_bytes,
        loaded,
    })
}

fn load(shared: &'static Shared, code: &[u8], options: &[u8]) -> Result<Loaded> {
    let plugin = shared.plugin;
    let mut program: Roomy<PJRT_Program> = Roomy::new(plugin);
    program.args.code = code.as_ptr().cast_mut().cast();
    program.args.code_size = code.len();
    program.args.format = c"mlir".as_ptr();
    program.args.format_size = 4;
    // SAFETY: code, format and options live during the call, which does not write to them.
    let made = unsafe {
        call!(
            plugin,
            PJRT_Client_Compile {
                client: shared.client.as_ptr(),
                program: &raw const program.args,
                compile_options: options.as_ptr().cast(),
                compile_options_size: options.len(),
            }
        )
    }?;
    let loaded = NonNull::new(made.executable)
        .ok_or_else(|| unexpected(plugin, "PJRT_Client_Compile gave no executable".into()))?;
    Ok(Loaded(shared, loaded))
}

/// Owns the `PJRT_Executable` that describes a loaded one.
struct Owned {
    plugin: &'static Plugin,
    executable: NonNull<PJRT_Executable>,
}

impl Owned {
    fn of(plugin: &'static Plugin, loaded: NonNull<PJRT_LoadedExecutable>) -> Result<Owned> {
        // SAFETY: the loaded executable is alive; what it gives is ours.
        let made = unsafe {
            call!(plugin, PJRT_LoadedExecutable_GetExecutable { loaded_executable: loaded.as_ptr() })
        }?;
        let executable = NonNull::new(made.executable)
            .ok_or_else(|| unexpected(plugin, "PJRT_LoadedExecutable_GetExecutable gave nothing".into()))?;
        Ok(Owned { plugin, executable })
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        // SAFETY: it is ours and not used again; a failure leaves nothing to do.
        let _ =
            unsafe { call!(self.plugin, PJRT_Executable_Destroy { executable: self.executable.as_ptr() }) };
    }
}

fn unexpected(plugin: &Plugin, reason: String) -> Error {
    Error::Plugin { path: plugin.path.clone(), reason }
}

/// Dtype and shape of each result.
fn outputs(executable: &Owned) -> Result<Vec<Aval>> {
    let (plugin, executable) = (executable.plugin, executable.executable.as_ptr());
    // SAFETY: the executable is alive; the lists live as long and are copied.
    unsafe {
        let types = call!(plugin, PJRT_Executable_OutputElementTypes { executable: executable })?;
        let types = slice(types.output_types, types.num_output_types);
        let shapes = call!(plugin, PJRT_Executable_OutputDimensions { executable: executable })?;
        let ranks = slice(shapes.dim_sizes, shapes.num_outputs);
        let mut sizes = slice(shapes.dims, ranks.iter().sum());
        if types.len() != ranks.len() {
            return Err(unexpected(
                plugin,
                format!("it gives {} dtypes and {} shapes of results", types.len(), ranks.len()),
            ));
        }
        let mut outputs = Vec::with_capacity(types.len());
        for (i, (&kind, &rank)) in types.iter().zip(ranks).enumerate() {
            let (shape, rest) = sizes.split_at(rank);
            sizes = rest;
            let dtype = dtype(kind).ok_or_else(|| Error::InvalidProgram {
                reason: format!(
                    "result {i} has an element type that the runtime does not have (PJRT_Buffer_Type {kind})"
                ),
            })?;
            outputs.push(Aval::new(dtype, shape));
        }
        Ok(outputs)
    }
}

/// The compiled module.
fn module(executable: &Owned) -> Result<proto::Module> {
    let plugin = executable.plugin;
    let mut program: Roomy<PJRT_Program> = Roomy::new(plugin);
    let ask = |program: &mut Roomy<PJRT_Program>| {
        // SAFETY: the executable is alive; `code` is null or has the size that the plugin asked for.
        unsafe {
            call!(
                plugin,
                PJRT_Executable_OptimizedProgram {
                    executable: executable.executable.as_ptr(),
                    program: &raw mut program.args,
                }
            )
        }
    };
    ask(&mut program)?;
    let mut code = vec![0u8; program.code_size];
    program.args.code = code.as_mut_ptr().cast();
    ask(&mut program)?;
    // SAFETY: the plugin owns the name of the format; it lives as long as the plugin.
    let format = unsafe { slice(program.format.cast::<u8>(), program.format_size) };
    let wrong =
        |e: prost::DecodeError| unexpected(plugin, format!("its optimized program cannot be read: {e}"));
    match format {
        b"hlo_with_config" => {
            Ok(proto::ModuleWithConfig::decode(&*code).map_err(wrong)?.module.unwrap_or_default())
        }
        b"hlo" => proto::Module::decode(&*code).map_err(wrong),
        other => Err(unexpected(
            plugin,
            format!("its optimized program has the unknown format {:?}", String::from_utf8_lossy(other)),
        )),
    }
}

fn inputs(shape: &proto::ProgramShape) -> Result<Vec<Aval>> {
    let aval = |(i, shape): (usize, &proto::Shape)| {
        shape.aval().ok_or_else(|| Error::InvalidProgram {
            reason: format!("argument {i} has a dtype or a shape that the runtime does not have"),
        })
    };
    shape.parameters.iter().enumerate().map(aval).collect()
}

fn size_bytes(executable: &Owned) -> u64 {
    // SAFETY: the executable is alive.
    let size = unsafe {
        call!(
            executable.plugin,
            PJRT_Executable_SizeOfGeneratedCodeInBytes { executable: executable.executable.as_ptr() }
        )
    };
    size.map_or(0, |size| size.size_in_bytes.max(0) as u64)
}

/// The compiler's account of a program's memory.
pub(super) fn memory_stats(
    shared: &'static Shared,
    loaded: NonNull<PJRT_LoadedExecutable>,
) -> Result<MemoryStats> {
    let executable = Owned::of(shared.plugin, loaded)?;
    // SAFETY: the executable is alive.
    let stats = unsafe {
        call!(
            shared.plugin,
            PJRT_Executable_GetCompiledMemoryStats { executable: executable.executable.as_ptr() }
        )
    }?;
    let bytes = |size: i64| size.max(0) as u64;
    Ok(MemoryStats {
        arguments: bytes(stats.argument_size_in_bytes),
        outputs: bytes(stats.output_size_in_bytes),
        temp: bytes(stats.temp_size_in_bytes),
        alias: bytes(stats.alias_size_in_bytes),
        code: bytes(stats.generated_code_size_in_bytes),
    })
}
