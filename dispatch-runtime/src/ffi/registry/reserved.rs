//! Target names that XLA's compiler knows itself.
//!
//! It never calls a handler of such a name: it ends the process (`TopK` of other results than its own), computes what it
//! means by it (`__onednn$softmax`), takes the call away (`Sharding`), or refuses the program. Found by compiling a call of
//! every name in the CPU plugins that may be one, under which no handler was missing.

/// The names.
const NAMES: &[&str] = &[
    "ApproxTopK",
    "CreateBuffer",
    "Eigh",
    "GetRngSeed",
    "LayoutConstraint",
    "MoveToDevice",
    "MoveToHost",
    "PadToStatic",
    "Pin",
    "ProductOfElementaryHouseholderReflectors",
    "Qr",
    "SPMDFullToShardShape",
    "SPMDShardToFullShape",
    "SetBound",
    "ShardBarrierFrom",
    "ShardBarrierTo",
    "Sharding",
    "SliceToDynamic",
    "TopK",
    "Unpin",
    "annotate_device_placement",
    "control_dep",
    "ragged_all_to_all",
];

/// What other names begin with.
const PREFIXES: &[&str] = &["__onednn$", "__xla_internal_", "xla.sdy."];

/// Whether the compiler keeps a name to itself.
pub(super) fn is_reserved(target: &str) -> bool {
    NAMES.contains(&target) || PREFIXES.iter().any(|prefix| target.starts_with(prefix))
}
