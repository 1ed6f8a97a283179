//! Operations that the builder does not know: custom calls, and StableHLO as text.

use super::super::make::{self, Extra};
use super::super::operand::Arg;
use super::super::poison::{Reason, attempt};
use super::super::value::Value;
use super::attribute::{Attribute, Dictionary, bare};
use crate::Aval;
use crate::aval::short;
use crate::error::counted;

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
    let avals = results.avals();
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

/// A call of a function that is registered with the device's plugin under this name.
///
/// What the name means is the plugin's affair: an unknown one is an error of the compiler.
///
/// ```
/// use dispatch_runtime::graph::{Graph, custom_call};
/// use dispatch_runtime::prelude::*;
///
/// // A target of the compiler itself, known everywhere.
/// let graph = Graph::new();
/// let x = graph.input("x", &Aval::new(DType::F32, [4]));
/// let [values, indices] = custom_call("TopK")
///     .api_version(1)
///     .call(&[&x], [Aval::new(DType::F32, [2]), Aval::new(DType::I32, [2])]);
/// let client = Client::cpu()?;
/// let executable = client.compile(graph.program((values, indices))?)?;
/// let x = client.array(&[1f32, 4.0, 2.0, 3.0], [4])?;
/// let results = executable.execute(&[&x])?;
/// assert_eq!(results[0].to_vec::<f32>()?, [4.0, 3.0]);
/// assert_eq!(results[1].to_vec::<i32>()?, [1, 3]);
/// # Ok::<(), Error>(())
/// ```
pub fn custom_call(target: impl Into<String>) -> CustomCall {
    CustomCall {
        target: target.into(),
        version: 4,
        attributes: Dictionary::default(),
        config: None,
        annotations: Dictionary::default(),
        side_effect: false,
        layouts: None,
        aliases: Vec::new(),
    }
}

/// What is said of a custom call before it is made; see [`custom_call`].
#[derive(Clone, Debug)]
#[must_use = "it is made by `call`"]
pub struct CustomCall {
    target: String,
    version: i32,
    attributes: Dictionary,
    config: Option<String>,
    annotations: Dictionary,
    side_effect: bool,
    /// Of the operands and of the results.
    layouts: Option<[Vec<Vec<i64>>; 2]>,
    aliases: Vec<(usize, usize)>,
}

impl CustomCall {
    /// How the target is called: 4, the usual, is a typed XLA FFI handler; 1 to 3 are older, untyped conventions.
    pub fn api_version(mut self, version: i32) -> CustomCall {
        self.version = version;
        self
    }

    /// An attribute that an FFI handler (version 4) reads by name; the last one of a name counts.
    pub fn attribute(mut self, name: impl AsRef<str>, value: impl Into<Attribute>) -> CustomCall {
        self.attributes.set(name.as_ref(), value.into());
        self
    }

    /// The string that a target of the versions 1 to 3 gets.
    pub fn config(mut self, text: impl Into<String>) -> CustomCall {
        self.config = Some(text.into());
        self
    }

    /// An attribute of the operation itself, which the compiler reads: `mhlo.sharding`.
    pub fn annotation(mut self, name: impl AsRef<str>, value: impl Into<Attribute>) -> CustomCall {
        self.annotations.set(name.as_ref(), value.into());
        self
    }

    /// Says that the call does more than give its results: it is not left out, nor are two of them one.
    ///
    /// It is part of the program only if a result of the program depends on it.
    pub fn side_effect(mut self) -> CustomCall {
        self.side_effect = true;
        self
    }

    /// The order of dimensions in memory that the target wants for each operand and result, innermost first: `[1, 0]` is
    /// a row-major matrix, which is what it gets where nothing is said.
    pub fn layouts(
        mut self,
        operands: impl IntoIterator<Item = Vec<i64>>,
        results: impl IntoIterator<Item = Vec<i64>>,
    ) -> CustomCall {
        self.layouts = Some([operands.into_iter().collect(), results.into_iter().collect()]);
        self
    }

    /// Lets a result take the memory of an operand, which is copied before if it is used elsewhere.
    pub fn alias(mut self, operand: usize, result: usize) -> CustomCall {
        self.aliases.push((operand, result));
        self
    }

    /// Makes the call.
    ///
    /// # Errors
    ///
    /// The target has no name, the version is none of 1 to 4 or does not go with [`attribute`](CustomCall::attribute) or
    /// [`config`](CustomCall::config), a layout is no order of the dimensions, or an alias is of two types.
    ///
    /// # Panics
    ///
    /// There is no result, so that nothing could carry the call into a program.
    #[track_caller]
    pub fn call<R: Results>(&self, operands: &[&Value], results: R) -> R::Values {
        make_call("custom_call", operands, results, |results| {
            let text = self.text(operands, results);
            let text = text.map_err(|reason| format!("target `{}`: {reason}", self.target))?;
            Ok((text, self.side_effect))
        })
    }

    fn text(&self, operands: &[&Value], results: &[Aval]) -> Result<String, Reason> {
        if self.target.is_empty() {
            return Err("a target needs a name".into());
        }
        let mut said = self.annotations.clone();
        if self.attributes.names().chain(said.names()).any(str::is_empty) {
            return Err("an attribute needs a name".into());
        }
        // What is usual is left out: some targets of version 1 are known by having nothing but what they need.
        if self.version != 1 {
            said.set("api_version", self.version.into());
        }
        if let Some(config) = self.backend_config()? {
            said.set("backend_config", config);
        }
        if self.side_effect {
            said.set("has_side_effect", true.into());
        }
        if let Some([for_operands, for_results]) = &self.layouts {
            let operands: Vec<&Aval> = operands.iter().map(|value| value.aval()).collect();
            let results: Vec<&Aval> = results.iter().collect();
            said.set("operand_layouts", layouts("operand", for_operands, &operands)?);
            said.set("result_layouts", layouts("result", for_results, &results)?);
        }
        if !self.aliases.is_empty() {
            said.set("output_operand_aliases", self.aliases(operands, results)?);
        }
        // What an annotation says may contain dollars, which are no places.
        let said = said.to_string().replace('$', "$$");
        Ok(format!("stablehlo.custom_call @{}({}) {said}", bare(&self.target), make::places(operands.len())))
    }

    fn backend_config(&self) -> Result<Option<Attribute>, Reason> {
        match (self.version, &self.config) {
            (1..=3, _) if !self.attributes.is_empty() => {
                Err(format!("version {} takes a `config`, not attributes", self.version))
            }
            (1..=3, config) => Ok(config.as_deref().map(Attribute::from)),
            (4, Some(_)) => Err("version 4 takes attributes, not a `config`".into()),
            (4, None) => Ok(Some(Attribute::mlir(self.attributes.to_string()))),
            _ => Err(format!("there is no version {}, only 1 to 4", self.version)),
        }
    }

    fn aliases(&self, operands: &[&Value], results: &[Aval]) -> Result<Attribute, Reason> {
        let mut list = Vec::new();
        for &(i, j) in &self.aliases {
            let (Some(operand), Some(result)) = (operands.get(i), results.get(j)) else {
                let (operands, results) =
                    (counted(operands.len(), "operand"), counted(results.len(), "result"));
                return Err(format!(
                    "result {j} cannot take the memory of operand {i}: there are {operands} and {results}"
                ));
            };
            if operand.aval() != result {
                let result = short(result.dtype(), result.shape());
                return Err(format!(
                    "result {j}, {result}, cannot take the memory of operand {i}, {operand:?}"
                ));
            }
            if self.aliases.iter().filter(|&&(k, l)| k == i || l == j).count() > 1 {
                return Err(format!("operand {i} or result {j} has two aliases"));
            }
            let place = if results.len() == 1 { String::new() } else { j.to_string() };
            list.push(format!(
                "#stablehlo.output_operand_alias<output_tuple_indices = [{place}], operand_index = {i}, operand_tuple_indices = []>"
            ));
        }
        Ok(Attribute::mlir(format!("[{}]", list.join(", "))))
    }
}

/// The layouts of operands or results as an attribute.
fn layouts(what: &str, layouts: &[Vec<i64>], avals: &[&Aval]) -> Result<Attribute, Reason> {
    if layouts.len() != avals.len() {
        return Err(format!("{} for {}", counted(layouts.len(), "layout"), counted(avals.len(), what)));
    }
    let mut list = Vec::new();
    for (i, (layout, aval)) in layouts.iter().zip(avals).enumerate() {
        let mut sorted = layout.clone();
        sorted.sort_unstable();
        if !sorted.iter().copied().eq(0..aval.rank() as i64) {
            let aval = short(aval.dtype(), aval.shape());
            return Err(format!("the layout {layout:?} is no order of the dimensions of {what} {i}, {aval}"));
        }
        // MLIR has no `dense<[]>` without elements.
        let order = if layout.is_empty() { String::new() } else { format!("{layout:?}") };
        list.push(format!("dense<{order}> : tensor<{}xindex>", layout.len()));
    }
    Ok(Attribute::mlir(format!("[{}]", list.join(", "))))
}

#[cfg(test)]
mod tests;
