//! From values to StableHLO text: `schedule` puts the nodes in order, `text` writes them.

mod names;
mod schedule;
mod text;

use super::scope::ScopeId;
use super::value::Value;
use crate::{Error, Result};

/// The text of a program with these inputs and results. Each of `captured` are the values of one captured array.
pub(super) fn module(
    name: Option<&str>,
    scope: ScopeId,
    inputs: &[Value],
    captured: &[&[Value]],
    results: &[Value],
) -> Result<String, Error> {
    let module = schedule::schedule(scope, inputs, captured, results)?;
    Ok(text::write(name, &module))
}
