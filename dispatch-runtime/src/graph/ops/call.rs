//! Operations that the builder does not know: custom calls, and StableHLO as text.

use super::super::make::{self, Extra};
use super::super::operand::Arg;
use super::super::poison::{Reason, attempt};
use super::super::value::Value;
use crate::custom_call::{CustomCall, Operands, Text};
use crate::error::counted;
use crate::{Aval, Client};

/// What an operation of the user gives: the dtype and shape of one value, or of several.
///
/// `Aval` gives a [`Value`], `[Aval; N]` an array of values, `Vec<Aval>` and `&[Aval]` a `Vec`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not say what an operation gives",
    label = "not an `Aval`, an array or a `Vec` of them"
)]
pub trait Results {
    /// The values of these results.
    type Values;

    #[doc(hidden)]
    fn avals(&self) -> Vec<Aval>;

    #[doc(hidden)]
    fn values(&self, values: &mut dyn Iterator<Item = Value>) -> Self::Values;
}

impl Results for Aval {
    type Values = Value;

    fn avals(&self) -> Vec<Aval> {
        vec![self.clone()]
    }

    fn values(&self, values: &mut dyn Iterator<Item = Value>) -> Value {
        values.next().expect("one value for each result")
    }
}

impl<T: Results<Values = Value>, const N: usize> Results for [T; N] {
    type Values = [Value; N];

    fn avals(&self) -> Vec<Aval> {
        self.iter().flat_map(T::avals).collect()
    }

    fn values(&self, values: &mut dyn Iterator<Item = Value>) -> [Value; N] {
        std::array::from_fn(|i| self[i].values(values))
    }
}

impl<T: Results<Values = Value>> Results for [T] {
    type Values = Vec<Value>;

    fn avals(&self) -> Vec<Aval> {
        self.iter().flat_map(T::avals).collect()
    }

    fn values(&self, values: &mut dyn Iterator<Item = Value>) -> Vec<Value> {
        self.iter().map(|result| result.values(values)).collect()
    }
}

impl<T: Results<Values = Value>> Results for Vec<T> {
    type Values = Vec<Value>;

    fn avals(&self) -> Vec<Aval> {
        self[..].avals()
    }

    fn values(&self, values: &mut dyn Iterator<Item = Value>) -> Vec<Value> {
        self[..].values(values)
    }
}

impl<T: Results + ?Sized> Results for &T {
    type Values = T::Values;

    fn avals(&self) -> Vec<Aval> {
        (**self).avals()
    }

    fn values(&self, values: &mut dyn Iterator<Item = Value>) -> T::Values {
        (**self).values(values)
    }
}

/// One operation as StableHLO text, for what the builder has no method for.
///
/// The text is what stands in front of the types, with `$0`, `$1` … in the places of the operands and `$$` for a dollar;
/// the types are added. XLA reads it, so a wrong text is an error of the compiler. Two of them are never taken for one,
/// and one that no result of the program depends on is left out.
///
/// ```
/// use dispatch_runtime::graph::{Graph, raw};
/// use dispatch_runtime::{Aval, DType};
///
/// let graph = Graph::new();
/// let x = graph.input("x", &Aval::new(DType::F32, [3]));
/// let y = raw("stablehlo.reduce_precision $0, format = e5m2", &[&x], x.aval());
/// let [min, max] = raw(
///     "\"stablehlo.optimization_barrier\"($0, $1)",
///     &[&x.minimum(&y), &x.maximum(&y)],
///     [x.aval(), x.aval()],
/// );
/// graph.program((min, max))?;
/// # Ok::<(), dispatch_runtime::Error>(())
/// ```
///
/// # Errors
///
/// The text has a place without an operand, or an operand has no place.
///
/// # Panics
///
/// There is no result, so that nothing could carry the operation into a program.
#[track_caller]
pub fn raw<R: Results>(text: impl AsRef<str>, operands: &[&Value], results: R) -> R::Values {
    let text = text.as_ref();
    make_call("raw", operands, results, |_| {
        places(text, operands.len())?;
        Ok((text.to_owned(), true))
    })
}

/// Whether each operand has a place in the text, and each place an operand.
fn places(text: &str, operands: usize) -> Result<(), Reason> {
    let mut used = vec![false; operands];
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        rest = &rest[at + 1..];
        if let Some(after) = rest.strip_prefix('$') {
            rest = after;
            continue;
        }
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        if digits == 0 {
            return Err(
                "a `$` in the text is followed by the number of an operand; write `$$` for a dollar".into()
            );
        }
        let place: Option<usize> = rest[..digits].parse().ok();
        match place.and_then(|place| used.get_mut(place)) {
            Some(used) => *used = true,
            None => {
                let operands = counted(operands, "operand");
                return Err(format!("`${}` in the text is none of {operands}", &rest[..digits]));
            }
        }
        rest = &rest[digits..];
    }
    match used.iter().position(|used| !used) {
        Some(i) => Err(format!("operand {i} has no place; write `${i}` into the text")),
        None => Ok(()),
    }
}

/// Makes an operation whose text, and whether it has an effect of its own, are found with the results' types.
#[track_caller]
fn make_call<R: Results>(
    name: &'static str,
    operands: &[&Value],
    results: R,
    text: impl FnOnce(&[Aval]) -> Result<(String, bool), Reason>,
) -> R::Values {
    let avals: Vec<Aval> = results.avals().iter().map(Aval::dense).collect();
    assert!(!avals.is_empty(), "`{name}` needs a result: without one nothing can depend on it");
    let args: Vec<Arg<'_>> = operands.iter().map(|&value| Arg::Value(value)).collect();
    let made = attempt(name, &args, || {
        let (text, impure) = text(&avals)?;
        let operands: Vec<Value> = operands.iter().map(|&value| value.clone()).collect();
        make::op_many(text, &operands, avals, Extra { impure, ..Extra::default() })
    });
    match made {
        Ok(values) => results.values(&mut values.into_iter()),
        Err(poisoned) => results.values(&mut std::iter::repeat(poisoned)),
    }
}

impl CustomCall {
    /// Makes the call.
    ///
    /// # Errors
    ///
    /// The target has no name, the version is none of 1 to 4 or does not go with [`attribute`](CustomCall::attribute) or
    /// [`config`](CustomCall::config), an attribute is none that a handler can be given, a layout is no order of the
    /// dimensions, or an alias is of two types.
    ///
    /// # Panics
    ///
    /// There is no result, so that nothing could carry the call into a program.
    #[track_caller]
    pub fn call<R: Results>(&self, operands: &[&Value], results: R) -> R::Values {
        make_call("custom_call", operands, results, |results| self.line(operands, results))
    }

    /// Registers the handler, if it is known, with a client, and makes the call.
    #[track_caller]
    pub(in super::super) fn call_on<R: Results>(
        &self,
        client: Client,
        operands: &[&Value],
        results: R,
    ) -> R::Values {
        make_call("call", operands, results, |results| {
            if let Some(handler) = self.handler() {
                let registered = client.register_ffi_handler(handler.target(), handler);
                registered.map_err(|error| error.to_string())?;
            }
            self.line(operands, results)
        })
    }

    /// The operation with places for its operands, and whether it has an effect.
    fn line(&self, operands: &[&Value], results: &[Aval]) -> Result<(String, bool), Reason> {
        let Text { head, said } = self.text(operands, results).map_err(|reason| self.named(&reason))?;
        // What an annotation says may contain dollars, which are no places.
        let (places, said) = (make::places(operands.len()), said.replace('$', "$$"));
        Ok((format!("{head}({places}) {said}"), self.has_side_effect()))
    }
}

impl Operands for [&Value] {
    fn avals(&self) -> Vec<&Aval> {
        self.iter().map(|value| value.aval()).collect()
    }

    fn shown(&self, index: usize) -> String {
        format!("{:?}", self[index])
    }
}

#[cfg(test)]
mod tests;
