//! What tests of operations need.

use super::{Graph, Value};
use crate::program::Source;
use crate::{Aval, DType, Error};

/// An argument of a program.
pub(super) fn input(graph: &Graph, name: &str, dtype: DType, shape: &[i64]) -> Value {
    graph.input(name, &Aval::new(dtype, shape))
}

/// The operations of a program that computes a value, a line each, with the value's shape.
pub(super) fn printed(graph: &Graph, value: &Value) -> String {
    let program = graph.program(value).unwrap_or_else(|error| panic!("{error}"));
    let Source::StableHlo(text) = program.source() else { unreachable!("a graph gives text") };
    let lines = text.lines().filter(|line| line.contains("stablehlo.") || line.contains("^bb"));
    lines.map(str::trim).collect::<Vec<_>>().join("\n")
}

/// Asserts why each of these values is wrong, and that the error names the line that made it.
#[track_caller]
pub(super) fn assert_wrong<const N: usize>(cases: [(Value, &str); N]) {
    let here = std::panic::Location::caller().file();
    for (value, expected) in cases {
        match value.check() {
            Err(Error::Graph { operation, reason, at }) => {
                assert_eq!(format!("{operation}: {reason}"), expected);
                assert!(at.starts_with(here), "{operation} is reported at {at}");
            }
            other => panic!("{other:?} instead of {expected}"),
        }
    }
}
