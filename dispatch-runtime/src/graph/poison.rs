//! Wrong operations: an error that travels with the values made from it.

use std::cell::Cell;
use std::panic::Location;
use std::rc::Rc;
use std::sync::Arc;

use smallvec::smallvec;

use super::operand::Arg;
use super::region;
use super::scope;
use super::value::{Kind, Node, Value};
use crate::{Aval, Error};

/// Of so many operands an error shows each.
const MOST_SHOWN: usize = 12;

/// Why an operation is wrong, in words that follow `operation: `.
pub(super) type Reason = String;

/// What a wrong operation gives.
#[derive(Clone)]
pub(super) struct Poison {
    pub error: Arc<Error>,
    /// Counts up, so that the first of several is known.
    pub order: u64,
}

/// The operation that a user asked for: what it is made of reports under its name, at its line.
#[derive(Clone, Copy)]
struct Asked {
    operation: &'static str,
    at: &'static Location<'static>,
}

thread_local! {
    static ASKED: Cell<Option<Asked>> = const { Cell::new(None) };
    static ORDER: Cell<u64> = const { Cell::new(0) };
}

/// Sets the operation that was asked for, until dropped.
struct Asking(Option<Asked>);

impl Asking {
    fn set(asked: Option<Asked>) -> Asking {
        Asking(ASKED.replace(asked))
    }
}

impl Drop for Asking {
    fn drop(&mut self) {
        ASKED.set(self.0);
    }
}

/// The line that asked for the operation which is being made.
#[track_caller]
pub(super) fn line() -> &'static Location<'static> {
    ASKED.get().map_or(Location::caller(), |asked| asked.at)
}

/// Runs a closure of the user, whose operations are asked for by the user again.
pub(super) fn in_user_code<R>(run: impl FnOnce() -> R) -> R {
    let _asking = Asking::set(None);
    run()
}

/// Makes what an operation gives from operands that are right; the poisoned value if one of them, or the operation, is
/// wrong.
///
/// Operations that are made of others call this too: the outermost one gives its name and its line to the error.
#[track_caller]
pub(super) fn attempt<R>(
    operation: &'static str,
    operands: &[Arg<'_>],
    make: impl FnOnce() -> Result<R, Reason>,
) -> Result<R, Value> {
    let asked = ASKED.get().unwrap_or(Asked { operation, at: Location::caller() });
    let poisons = operands.iter().filter_map(|arg| arg.value()).filter_map(|v| Some((v, v.poison()?)));
    if let Some((first, _)) = poisons.min_by_key(|(_, poison)| poison.order) {
        return Err(first.clone());
    }
    let _asking = Asking::set(Some(asked));
    let scopes = scope::common(operands.iter().filter_map(|arg| arg.value()));
    scopes.and_then(|_| make()).map_err(|reason| poisoned(asked, operands, &reason))
}

/// [`attempt`] for one value.
#[track_caller]
pub(super) fn build(
    operation: &'static str,
    operands: &[Arg<'_>],
    make: impl FnOnce() -> Result<Value, Reason>,
) -> Value {
    attempt(operation, operands, make).unwrap_or_else(|poisoned| poisoned)
}

/// [`attempt`] for several values.
#[track_caller]
pub(super) fn build_many<const N: usize>(
    operation: &'static str,
    operands: &[Arg<'_>],
    make: impl FnOnce() -> Result<[Value; N], Reason>,
) -> [Value; N] {
    attempt(operation, operands, make).unwrap_or_else(|poisoned| std::array::from_fn(|_| poisoned.clone()))
}

#[cold]
fn poisoned(asked: Asked, operands: &[Arg<'_>], reason: &str) -> Value {
    let mut shown: Vec<String> = operands.iter().take(MOST_SHOWN).map(Arg::to_string).collect();
    if operands.len() > MOST_SHOWN {
        shown.push(format!("and {} more", operands.len() - MOST_SHOWN));
    }
    let error = Error::Graph {
        operation: format!("{}({})", asked.operation, shown.join(", ")),
        reason: reason.into(),
        at: asked.at.to_string(),
    };
    // A guess, for code that looks at the shape before anything is checked.
    let guess = operands.iter().find_map(|arg| arg.value()).map(|value| value.aval().clone());
    let order = ORDER.replace(ORDER.get() + 1);
    let guess = guess.unwrap_or_else(|| Aval::new(crate::DType::F32, []));
    value(Poison { error: Arc::new(error), order }, guess, asked.at)
}

fn value(poison: Poison, guess: Aval, at: &'static Location<'static>) -> Value {
    Value {
        node: Rc::new(Node {
            kind: Kind::Poison(poison),
            operands: smallvec![],
            results: smallvec![guess],
            blocks: Vec::new(),
            scope: None,
            region: region::current(),
            at,
            names: Default::default(),
            mark: Cell::default(),
        }),
        result: 0,
    }
}

/// The poison with another text for its operation, made from what is before the parenthesis; any other value as it is.
pub(super) fn told_as(poisoned: Value, tell: impl FnOnce(&str) -> String) -> Value {
    let Some(Poison { error, order }) = poisoned.poison() else { return poisoned };
    let Error::Graph { operation, reason, at } = &**error else { return poisoned };
    let operation = tell(operation.split('(').next().unwrap_or_default());
    let error = Error::Graph { operation, reason: reason.clone(), at: at.clone() };
    value(Poison { error: Arc::new(error), order: *order }, poisoned.aval().clone(), poisoned.node.at)
}

/// The first of the poisons among these values.
pub(super) fn first<'a>(values: impl IntoIterator<Item = &'a Value>) -> Option<&'a Value> {
    let poisons = values.into_iter().filter_map(|v| Some((v, v.poison()?.order)));
    poisons.min_by_key(|(_, order)| *order).map(|(value, _)| value)
}
