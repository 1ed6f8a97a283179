//! What the compiler says of a program: its text, its costs, its memory.

use super::abi::*;
use super::call::{call, slice};
use super::describe::{self, Owned};
use super::hlo;
use crate::{Error, Inspection, MemoryStats, Result};

/// Asks the plugin for all that it knows. What it does not tell is absent; a broken answer is an error.
pub(super) fn inspect(executable: &Owned) -> Result<Inspection> {
    let module = module(executable)?;
    let told = if_told(costs(executable))?.unwrap_or_default();
    let counted = module.as_ref().map(hlo::Module::costs);
    Ok(Inspection {
        optimized_hlo: module.as_ref().map(hlo::Module::text),
        flops: told.flops.or(counted.map(|costs| costs.flops)),
        bytes_accessed: told.bytes_accessed.or(counted.map(|costs| costs.bytes)),
        memory: if_told(memory_stats(executable))?,
        ..Inspection::default()
    })
}

/// The compiled module, unless the plugin does not give it.
fn module(executable: &Owned) -> Result<Option<hlo::Module>> {
    let Some(module) = describe::optimized(executable, 0)? else { return Ok(None) };
    hlo::Module::read(module.bytes()).map(Some).map_err(|e| describe::unreadable(executable, &e))
}

/// Flops and bytes counted from the compiled module, whatever the plugin says.
pub(super) fn counted_costs(executable: &Owned) -> Result<Option<(f64, f64)>> {
    Ok(module(executable)?.map(|module| module.costs()).map(|costs| (costs.flops, costs.bytes)))
}

/// Nothing instead of the error of a plugin that lacks a function, or that cannot answer for this program.
pub(super) fn if_told<T>(answer: Result<T>) -> Result<Option<T>> {
    match answer {
        Ok(answer) => Ok(Some(answer)),
        Err(Error::Unimplemented { .. } | Error::Pjrt { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

#[derive(Default)]
struct Costs {
    flops: Option<f64>,
    bytes_accessed: Option<f64>,
}

/// The analysis of costs, a list of properties by name.
fn costs(executable: &Owned) -> Result<Costs> {
    let mut costs = Costs::default();
    // SAFETY: the executable is alive; the properties and their names live as long and are copied.
    unsafe {
        let answer =
            call!(executable.plugin, PJRT_Executable_GetCostAnalysis { executable: executable.ptr() })?;
        for property in slice(answer.properties, answer.num_properties) {
            match slice(property.name.cast::<u8>(), property.name_size) {
                b"flops" => costs.flops = number(property),
                b"bytes accessed" => costs.bytes_accessed = number(property),
                _ => {}
            }
        }
    }
    Ok(costs)
}

/// The value of a property that counts something. XLA writes -1 for what it cannot count.
///
/// # Safety
///
/// The value is of the type that the property states.
unsafe fn number(property: &PJRT_NamedValue) -> Option<f64> {
    // SAFETY: by the caller's promise.
    let number = unsafe {
        match property.r#type {
            named_value::FLOAT => f64::from(property.value.float_value),
            named_value::INT64 => property.value.int64_value as f64,
            _ => return None,
        }
    };
    (number >= 0.0).then_some(number)
}

/// The compiler's account of a program's memory.
pub(super) fn memory_stats(executable: &Owned) -> Result<MemoryStats> {
    // SAFETY: the executable is alive.
    let stats = unsafe {
        call!(executable.plugin, PJRT_Executable_GetCompiledMemoryStats { executable: executable.ptr() })
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
