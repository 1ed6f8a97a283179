//! What a run costs in memory.

use crate::{Aval, MemoryStats};

/// What one run of a [`Skeleton`](super::Skeleton) needs in memory, as the compiler reckons; from
/// [`memory_report`](super::Skeleton::memory_report).
///
/// A plugin that tells nothing of the memory of its programs leaves what is certain: the arguments and the results, as if
/// there were no scratch memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MemoryReport {
    /// The most that a run holds at once: arguments, results and scratch memory, what is both argument and result counted
    /// once.
    pub peak_bytes: u64,
    /// The results; several come with a table of pointers to them, of 8 bytes each.
    pub output_bytes: u64,
    /// The arguments.
    pub argument_bytes: u64,
    /// How often a run allocates: once for each result, and once for scratch memory if there is any.
    pub allocations: u64,
}

impl MemoryReport {
    /// The report on a program, of which the compiler says this much.
    pub(super) fn new(inputs: &[Aval], outputs: &[Aval], stats: Option<MemoryStats>) -> MemoryReport {
        let bytes = |avals: &[Aval]| avals.iter().map(|aval| aval.size_bytes() as u64).sum();
        let stats = stats.unwrap_or_else(|| MemoryStats {
            arguments: bytes(inputs),
            outputs: bytes(outputs),
            ..MemoryStats::default()
        });
        MemoryReport {
            peak_bytes: stats.peak(),
            output_bytes: stats.outputs,
            argument_bytes: stats.arguments,
            allocations: outputs.len() as u64 + u64::from(stats.temp > 0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DType;

    #[test]
    fn scratch_memory_is_one_allocation_more_and_shared_memory_counts_once() {
        let x = [Aval::new(DType::F32, [4]), Aval::new(DType::F32, [])];
        let stats = MemoryStats { arguments: 20, outputs: 16, temp: 64, alias: 16, code: 1000 };
        let report = MemoryReport::new(&x, &x[..1], Some(stats));
        let expected = MemoryReport { peak_bytes: 84, output_bytes: 16, argument_bytes: 20, allocations: 2 };
        assert_eq!(report, expected);

        let unknown = MemoryReport::new(&x, &x[..1], None);
        let expected = MemoryReport { peak_bytes: 36, output_bytes: 16, argument_bytes: 20, allocations: 1 };
        assert_eq!(unknown, expected);
    }
}
