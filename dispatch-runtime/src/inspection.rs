//! What a compiled program is and costs.

use std::fmt;

use crate::aval::list;
use crate::client::Device;
use crate::{Aval, Result, engine};

/// What a compiled program is and costs, from [`Executable::inspect`](crate::Executable::inspect) or the method
/// `inspect` of a family.
///
/// The numbers are the compiler's own reckoning, made without running the program. Where a plugin does not tell how
/// many operations and bytes (of the CPU plugins, those of C API 0.106 and 0.115), they are counted from the compiled
/// program as XLA does it. XLA counts the body of a loop once, however often it runs, and what it hands to a library
/// (`custom-call`) as nothing. What is not known is `None`.
///
/// It prints as a short report: the costs, then the program.
///
/// ```
/// use dispatch_runtime::{Array, Client, Program};
///
/// let program = Program::<Array>::stablehlo(
///     "func.func @main(%a: tensor<8x16xf32>, %b: tensor<16x4xf32>) -> tensor<8x4xf32> {
///        %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]
///          : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32>
///        return %0 : tensor<8x4xf32>
///      }",
/// )?;
/// let inspection = Client::cpu()?.compile(&program)?.inspect()?;
///
/// // A multiplication and an addition for each term.
/// assert_eq!(inspection.flops, Some(2.0 * 8.0 * 16.0 * 4.0));
/// assert_eq!(inspection.memory.unwrap().arguments, 4 * (8 * 16 + 16 * 4));
/// assert!(inspection.optimized_hlo.as_ref().unwrap().contains("ENTRY %main"));
///
/// let report = inspection.to_string(); // what `println!("{inspection}")` shows
/// assert!(report.starts_with("(f32[8,16], f32[16,4]) -> (f32[8,4])"));
/// assert!(report.contains("\nmemory     896 B peak = 768 B arguments + 128 B results + 0 B scratch\n"));
/// # Ok::<(), dispatch_runtime::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Inspection {
    /// Dtype and shape of each argument.
    pub inputs: Vec<Aval>,
    /// Dtype and shape of each result.
    pub outputs: Vec<Aval>,
    /// The device that the program was compiled for, and by what: `cpu:0, by xla_cpu_pjrt.so (PJRT C API 0.81)`.
    pub target: String,
    /// The program before it was compiled, where the inspection began with one: a family's `inspect` has it, that of
    /// an [`Executable`](crate::Executable) has not; see [`Program::inspect`](crate::Program::inspect).
    pub stablehlo: Option<String>,
    /// The program that the compiler made of it, as HLO text. The source file `-` that operations may name is the
    /// StableHLO text.
    pub optimized_hlo: Option<String>,
    /// Operations of one run, one for each element, also those on integers. `exp`, `sqrt`, `tanh` and their like, which
    /// take a series, do not count.
    pub flops: Option<f64>,
    /// Bytes that the operations of one run read and write, each operation counted for itself.
    pub bytes_accessed: Option<f64>,
    /// What one run needs in memory.
    pub memory: Option<MemoryStats>,
}

/// What a compiled program needs in bytes, as the compiler reckons; per run, except for the code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemoryStats {
    /// The arguments.
    pub arguments: u64,
    /// The results, including those that take over an argument's memory.
    pub outputs: u64,
    /// Scratch memory.
    pub temp: u64,
    /// The part of the results that takes over arguments' memory.
    pub alias: u64,
    /// Machine code; 0 where the plugin does not say.
    pub code: u64,
}

impl MemoryStats {
    /// The most that a run holds at once: arguments, results and scratch memory, what is both argument and result
    /// counted once.
    pub fn peak(&self) -> u64 {
        let all = self.arguments.saturating_add(self.outputs).saturating_add(self.temp);
        all.saturating_sub(self.alias)
    }
}

/// Inspects an executable of this device.
pub(crate) fn inspect(executable: &dyn engine::Executable, device: Device) -> Result<Inspection> {
    let mut inspection = executable.inspect()?;
    inspection.inputs = executable.inputs().to_vec();
    inspection.outputs = executable.outputs().to_vec();
    inspection.target = format!("{device}, by {}", device.client().engine().description());
    Ok(inspection)
}

impl fmt::Display for Inspection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} -> {}", list(&self.inputs), list(&self.outputs))?;
        writeln!(f, "on {}", self.target)?;
        writeln!(f)?;
        let known = |text: Option<String>| text.unwrap_or_else(|| "unknown".into());
        writeln!(f, "flops      {}", known(self.flops.map(count)))?;
        writeln!(f, "accessed   {}", known(self.bytes_accessed.map(bytes)))?;
        match &self.memory {
            None => writeln!(f, "memory     unknown")?,
            Some(memory) => writeln!(f, "memory     {memory}")?,
        }
        for (title, program) in [("StableHLO", &self.stablehlo), ("optimized HLO", &self.optimized_hlo)] {
            if let Some(program) = program {
                writeln!(f, "\n-- {title} --\n\n{}", program.trim_end())?;
            }
        }
        Ok(())
    }
}

impl fmt::Display for MemoryStats {
    /// `1.5 KiB peak = 1 KiB arguments + 256 B results + 256 B scratch`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let size = |n: u64| bytes(n as f64);
        write!(f, "{} peak = {} arguments", size(self.peak()), size(self.arguments))?;
        write!(f, " + {} results + {} scratch", size(self.outputs), size(self.temp))?;
        if self.alias > 0 {
            write!(f, " - {} shared by both", size(self.alias))?;
        }
        if self.code > 0 {
            write!(f, "; {} of code", size(self.code))?;
        }
        Ok(())
    }
}

/// `1024`, `1.5 M`: below a million every digit, from there on three.
fn count(n: f64) -> String {
    match n {
        n if n < 1e6 => n.to_string(),
        n => scaled(n, 1000.0, &["", " k", " M", " G", " T", " P"]),
    }
}

/// `912 B`, `1.02 KiB`.
fn bytes(n: f64) -> String {
    scaled(n, 1024.0, &[" B", " KiB", " MiB", " GiB", " TiB", " PiB"])
}

/// A number in the unit that leaves it below `step`, with three digits.
fn scaled(n: f64, step: f64, units: &[&str]) -> String {
    let (mut n, mut unit) = (n, 0);
    // What would be written as 1000 or more goes to the next unit, also when it is rounded to that.
    while unit + 1 < units.len() && n >= step.min(999.5) {
        (n, unit) = (n / step, unit + 1);
    }
    let decimals = match n {
        n if unit == 0 || n >= 99.95 => 0,
        n if n >= 9.995 => 1,
        _ => 2,
    };
    let text = format!("{n:.decimals$}");
    let text = if decimals > 0 { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text}{}", units[unit])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DType;

    #[test]
    fn sizes_and_counts_have_three_digits_and_a_unit() {
        let sizes = [0.0, 1.0, 912.0, 1000.0, 1024.0, 1040.0, 1536.0, 10_240.0, 1e5, 1048576.0, 3e9, 1e18];
        let texts = [
            "0 B", "1 B", "912 B", "0.98 KiB", "1 KiB", "1.02 KiB", "1.5 KiB", "10 KiB", "97.7 KiB", "1 MiB",
            "2.79 GiB", "888 PiB",
        ];
        assert_eq!(sizes.map(bytes), texts);
        assert_eq!(
            [0.0, 1024.0, 999_999.0, 1e6, 2.5e9, 999.9e6].map(count),
            ["0", "1024", "999999", "1 M", "2.5 G", "1 G"]
        );
    }

    #[test]
    fn the_peak_counts_shared_memory_once() {
        let memory = MemoryStats { arguments: 100, outputs: 50, temp: 30, alias: 40, code: 7 };
        assert_eq!(memory.peak(), 140);
        assert_eq!(
            memory.to_string(),
            "140 B peak = 100 B arguments + 50 B results + 30 B scratch - 40 B shared by both; 7 B of code"
        );
        // What a plugin says need not make sense, but neither does a panic.
        assert_eq!(MemoryStats { alias: 1, ..Default::default() }.peak(), 0);
        assert_eq!(MemoryStats { arguments: u64::MAX, outputs: 1, ..Default::default() }.peak(), u64::MAX);
    }

    #[test]
    fn a_report_says_what_is_known_and_what_is_not() {
        let mut inspection = Inspection {
            inputs: vec![Aval::new(DType::F32, [2, 3]), Aval::new(DType::I64, [])],
            target: "cpu:0, by a test".into(),
            ..Default::default()
        };
        assert_eq!(
            inspection.to_string(),
            "(f32[2,3], i64[]) -> ()\non cpu:0, by a test\n\n\
             flops      unknown\naccessed   unknown\nmemory     unknown\n"
        );
        inspection.flops = Some(1052.0);
        inspection.bytes_accessed = Some(1040.0);
        inspection.memory = Some(MemoryStats { arguments: 768, outputs: 16, ..Default::default() });
        inspection.stablehlo = Some("module {}\n".into());
        inspection.optimized_hlo = Some("HloModule m\n".into());
        assert_eq!(
            inspection.to_string(),
            "(f32[2,3], i64[]) -> ()\non cpu:0, by a test\n\n\
             flops      1052\naccessed   1.02 KiB\n\
             memory     784 B peak = 768 B arguments + 16 B results + 0 B scratch\n\
             \n-- StableHLO --\n\nmodule {}\n\n-- optimized HLO --\n\nHloModule m\n"
        );
    }
}
