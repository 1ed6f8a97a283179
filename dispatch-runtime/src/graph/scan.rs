//! A loop over the first axis of arrays that keeps what each round gives.

use super::control::{Carry, fori};
use super::operand::Arg;
use super::poison::{self, attempt};
use super::region::block;
use super::value::Value;
use crate::Aval;
use crate::aval::short;

/// Goes along the first axis of `xs`: each round takes the state and the next part of every array, and gives the next state
/// and an output. Gives the last state and the outputs of all rounds, stacked along a new first axis.
///
/// The closure is called twice, once to learn what it gives.
///
/// ```
/// use dispatch_runtime::graph::{Graph, scan};
/// use dispatch_runtime::prelude::*;
///
/// // Exponential smoothing.
/// let graph = Graph::new();
/// let x = graph.input("x", &Aval::new(DType::F32, [4]));
/// let (last, all) = scan(Value::scalar(0f32), x, |state, x| {
///     let next = state * 0.5 + x * 0.5;
///     (next.clone(), next)
/// });
/// let client = Client::cpu()?;
/// let executable = client.compile(graph.program((last, all))?)?;
/// let x = client.array(&[8f32, 8.0, 8.0, 8.0], [4])?;
/// let results = executable.execute(&[&x])?;
/// assert_eq!(results[0].to_vec::<f32>()?, [7.5]);
/// assert_eq!(results[1].to_vec::<f32>()?, [4.0, 6.0, 7.0, 7.5]);
/// # Ok::<(), Error>(())
/// ```
///
/// # Errors
///
/// There is nothing to go along (for that there is [`fori`]), or the first axes differ; a round gives another dtype or
/// shape of the state than it takes.
#[track_caller]
pub fn scan<S: Carry, X: Carry, Y: Carry>(init: S, xs: X, mut round: impl FnMut(S, X) -> (S, Y)) -> (S, Y) {
    let (state, inputs) = (init.list(), xs.list());
    let parts: Vec<Aval> = inputs.iter().map(part).collect();
    let types: Vec<Aval> = state.iter().map(|value| value.aval().clone()).chain(parts).collect();
    let (mut structure, mut same) = (None, true);
    let trial = block(&types, |values| {
        let mut values = values.into_iter();
        let state = init.rebuild(&mut values);
        let (state, output) = round(state, xs.rebuild(&mut values));
        same = init.same_structure(&state);
        let given = state.list().into_iter().chain(output.list()).collect();
        structure = Some(output);
        given
    });
    let structure = structure.expect("a block runs its closure");

    let shown: Vec<Arg<'_>> = state.iter().chain(&inputs).map(Arg::Value).collect();
    // Not in a closure, which would be the caller of what it calls.
    let made = match poison::first(&trial.results) {
        Some(wrong) => Err(wrong.clone()),
        None => attempt("scan", &shown, || {
            let length = length(&inputs)?;
            if !same {
                return Err("a round gives the state in another structure".into());
            }
            let outputs = &trial.results[state.len()..];
            let room = |output: &Value| {
                let shape: Vec<i64> = std::iter::once(length).chain(output.shape().iter().copied()).collect();
                Value::zeros(output.dtype(), shape)
            };
            let rooms: Vec<Value> = outputs.iter().map(room).collect();
            let start = (init.clone(), structure.rebuild(&mut rooms.into_iter()));
            if length == 0 {
                return Ok(start);
            }
            Ok(fori(0, length, start, |i, (state, rooms)| {
                let mut parts = inputs.iter().map(|input| at(input, &i));
                let (state, output) = round(state, xs.rebuild(&mut parts));
                let (rooms, output) = (rooms.list(), output.list());
                let mut filled = rooms.iter().zip(&output).map(|(room, output)| put(room, &i, output));
                (state, structure.rebuild(&mut filled))
            }))
        }),
    };
    made.unwrap_or_else(|wrong| {
        let mut repeated = std::iter::repeat(wrong);
        (init.rebuild(&mut repeated), structure.rebuild(&mut repeated))
    })
}

/// What a round sees of an array: of a scalar, which has no axis to go along, the scalar.
fn part(input: &Value) -> Aval {
    Aval::new(input.dtype(), input.shape().get(1..).unwrap_or_default())
}

fn length(inputs: &[Value]) -> Result<i64, String> {
    let first = inputs.first().ok_or("there is no array to go along")?;
    let size = |input: &Value| input.shape().first().copied();
    match inputs.iter().find(|input| size(input).is_none() || size(input) != size(first)) {
        None => Ok(size(first).expect("none is a scalar")),
        Some(other) if size(other).is_none() => Err("a scalar has no axis to go along".into()),
        Some(other) => Err(format!(
            "the first axes of {} and {} differ",
            short(first.dtype(), first.shape()),
            short(other.dtype(), other.shape())
        )),
    }
}

/// The place of round `i` in an array.
fn starts(i: &Value, rank: usize) -> Vec<Value> {
    let zero = Value::zeros(i.dtype(), []);
    std::iter::once(i.clone()).chain(std::iter::repeat_n(zero, rank - 1)).collect()
}

fn at(input: &Value, i: &Value) -> Value {
    let part = part(input);
    let sizes: Vec<i64> = std::iter::once(1).chain(part.shape().iter().copied()).collect();
    input.dynamic_slice(starts(i, input.rank()), sizes).reshape(part.shape())
}

fn put(room: &Value, i: &Value, output: &Value) -> Value {
    room.dynamic_update_slice(&output.expand_dims(0), starts(i, room.rank()))
}
