//! Another program as an operation of this one.

use std::sync::Arc;

use super::function::Definition;
use super::make::{self, Extra};
use super::operand::Arg;
use super::poison::attempt;
use super::value::Value;
use crate::engine::pjrt::ModuleText;
use crate::{Aval, Result};

/// What keeps XLA from writing the called function where it is called. It is the one thing that does so on all plugins:
/// `stablehlo.optimization_barrier` is gone before operations are fused, on CPU plugins up to 0.106 at least. A compiler that
/// does not know the attribute would fuse, and compute the same.
const SEAL: &str = " {mhlo.frontend_attributes = {inlineable = \"false\"}}";

/// Calls the `@main` of another program, whose arguments and results are of the types that are handed over. Nothing is
/// fused across a sealed call.
///
/// # Errors
///
/// The first poison among the operands; values of several graphs.
#[track_caller]
pub(crate) fn call(
    program: &Arc<ModuleText>,
    operands: &[Value],
    results: &[Aval],
    sealed: bool,
) -> Result<Vec<Value>> {
    if results.is_empty() {
        return Ok(Vec::new());
    }
    let args: Vec<Arg<'_>> = operands.iter().map(Arg::Value).collect();
    let called = attempt("compose", &args, || {
        let seal = if sealed { SEAL } else { "" };
        let text = format!("call @$f({}){seal}", make::places(operands.len()));
        let function = Some(Definition::Text(program.clone()));
        let extra = Extra { function, impure: program.has_effect, ..Extra::default() };
        make::op_many(text, operands, results.iter().cloned(), extra)
    });
    called.map_err(|poisoned| poisoned.check().expect_err("a failed attempt gives a poison"))
}
