//! From values to StableHLO text: `schedule` puts the nodes in order, `text` writes them.

mod names;
mod schedule;
mod text;

use super::scope::ScopeId;
use super::value::Value;
use crate::{Error, Result};

/// The text of a program with these inputs and results.
pub(super) fn module(
    name: Option<&str>,
    scope: ScopeId,
    inputs: &[Value],
    results: &[Value],
) -> Result<String, Error> {
    let module = schedule::schedule(scope, inputs, results)?;
    Ok(text::write(name, &module))
}
