//! Calls of functions that are registered with a plugin: XLA FFI handlers, and the targets that compilers have.
//!
//! [`custom_call()`] says what is called and how. What it gives becomes an operation of a graph by
//! [`CustomCall::call`], a program of its own by [`Program::custom_call`](crate::Program::custom_call), or a line of
//! StableHLO by [`CustomCall::operation`]. All three check the same: what the compiler would crash of, or refuse without
//! a name, does not reach it.

mod attribute;
mod check;
mod text;

pub use attribute::Attribute;

use attribute::{Dictionary, bare};

use crate::aval::short;
use crate::error::counted;
use crate::ffi::Handler;
use crate::{Aval, Error, Result};

/// A call of a function that is registered with the device's plugin under this name, or of a
/// [handler](crate::ffi_handler).
///
/// What a name means is the plugin's affair: an unknown one is an error of the compiler. Of a handler the signature is
/// known. So operands, results and attributes are checked when the call is made, and attributes get the types that it
/// declares: a number that such a type holds, the name of a variant of an enum.
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
pub fn custom_call(target: impl Into<Target>) -> CustomCall {
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

/// What a custom call calls: the name that a function is registered under, or a handler.
#[derive(Clone, Debug)]
pub struct Target {
    name: String,
    handler: Option<&'static Handler>,
}

impl From<&'static Handler> for Target {
    fn from(handler: &'static Handler) -> Target {
        Target { name: handler.target().to_owned(), handler: Some(handler) }
    }
}

impl From<&'static Handler> for CustomCall {
    fn from(handler: &'static Handler) -> CustomCall {
        custom_call(handler)
    }
}

impl From<&str> for Target {
    fn from(name: &str) -> Target {
        Target { name: name.to_owned(), handler: None }
    }
}

impl From<String> for Target {
    fn from(name: String) -> Target {
        Target { name, handler: None }
    }
}

/// What is said of a custom call before it is made; see [`custom_call`].
#[derive(Clone, Debug)]
#[must_use = "it is made by `call`"]
pub struct CustomCall {
    target: Target,
    version: i32,
    attributes: Dictionary,
    config: Option<String>,
    annotations: Dictionary,
    side_effect: bool,
    /// Of the operands and of the results.
    layouts: Option<[Vec<Vec<i64>>; 2]>,
    aliases: Vec<(usize, usize)>,
}

/// Attributes of the operation that have a function of their own, and which it is.
const SAID_OTHERWISE: &[(&str, &str)] = &[
    ("call_target_name", "`custom_call`"),
    ("api_version", "`api_version`"),
    ("backend_config", "`attribute` or `config`"),
    ("has_side_effect", "`side_effect`"),
    ("operand_layouts", "`layouts`"),
    ("result_layouts", "`layouts`"),
    ("output_operand_aliases", "`alias`"),
];

/// An operation in front of its types, in two parts with the operands between them.
pub(crate) struct Text {
    /// `stablehlo.custom_call @target`
    pub head: String,
    /// `{api_version = 4 : i32, …}`
    pub said: String,
}

/// The operands of a call: what they are, and how messages show them.
pub(crate) trait Operands {
    fn avals(&self) -> Vec<&Aval>;

    /// `x: f32[2,3]`, or `f32[2,3]`.
    fn shown(&self, index: usize) -> String;
}

impl Operands for [Aval] {
    fn avals(&self) -> Vec<&Aval> {
        self.iter().collect()
    }

    fn shown(&self, index: usize) -> String {
        short(self[index].dtype(), self[index].shape())
    }
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

    /// An attribute of the operation itself, which the compiler reads: `mhlo.sharding`. What other functions say, such as
    /// `backend_config`, is an error.
    pub fn annotation(mut self, name: impl AsRef<str>, value: impl Into<Attribute>) -> CustomCall {
        self.annotations.set(name.as_ref(), value.into());
        self
    }

    /// Says that the call does more than give its results: it is not left out, nor are two of them one.
    ///
    /// It is part of a graph's program only if a result of the program depends on it.
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

    /// The call as an operation of StableHLO, for a program that is written as text.
    ///
    /// `names` are the operands as they are called there. What stands before the `=`, if there are results, is the
    /// caller's.
    ///
    /// ```
    /// use dispatch_runtime::custom_call::custom_call;
    /// use dispatch_runtime::{Aval, DType};
    ///
    /// let x = Aval::new(DType::F32, [3]);
    /// let line = custom_call("print_tensor")
    ///     .attribute("print_header", "x:")
    ///     .side_effect()
    ///     .operation(&["%arg0"], &[x], &[])?;
    /// assert_eq!(
    ///     line,
    ///     "stablehlo.custom_call @print_tensor(%arg0) {api_version = 4 : i32, backend_config = {print_header = \"x:\"}, \
    ///      has_side_effect = true} : (tensor<3xf32>) -> ()"
    /// );
    /// # Ok::<(), dispatch_runtime::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`CustomCall::call`]; `names` are not as many as the operands.
    pub fn operation(
        &self,
        names: &[impl AsRef<str>],
        operands: &[Aval],
        results: &[Aval],
    ) -> Result<String> {
        let wrong = |reason: String| Error::InvalidProgram { reason: self.named(&reason) };
        let Text { head, said } = self.text(operands, results).map_err(wrong)?;
        if names.len() != operands.len() {
            let (names, operands) = (counted(names.len(), "name"), counted(operands.len(), "operand"));
            return Err(wrong(format!("{names} for {operands}")));
        }
        let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
        let types =
            |avals: &[Aval]| avals.iter().map(|aval| aval.dense().to_string()).collect::<Vec<_>>().join(", ");
        let gives = match results {
            [_] => types(results),
            all => format!("({})", types(all)),
        };
        Ok(format!("{head}({}) {said} : ({}) -> {gives}", names.join(", "), types(operands)))
    }

    /// A program of one call, whose arguments are the operands and whose results are those of the call.
    pub(crate) fn program(&self, operands: &[Aval], results: &[Aval]) -> Result<String> {
        let list = |n: usize, sign: &str| (0..n).map(|i| format!("%{sign}{i}")).collect::<Vec<_>>();
        let (arguments, values) = (list(operands.len(), "arg"), list(results.len(), ""));
        let operation = self.operation(&arguments, operands, results)?;
        let typed: Vec<String> =
            arguments.iter().zip(operands).map(|(name, aval)| format!("{name}: {aval}")).collect();
        let types: Vec<String> = results.iter().map(Aval::to_string).collect();
        let (given, types) = (values.join(", "), types.join(", "));
        let (before, after) = match results {
            [] => (String::new(), String::new()),
            _ => (format!("{given} = "), format!(" {given} : {types}")),
        };
        Ok(format!(
            "module {{\n  func.func public @main({}) -> ({types}) {{\n    {before}{operation}\n    return{after}\n  }}\n}}\n",
            typed.join(", ")
        ))
    }

    /// A reason under the name of what is called.
    pub(crate) fn named(&self, reason: &str) -> String {
        match self.target.handler {
            Some(handler) => format!("handler `{}`: {reason}", handler.name()),
            None => format!("target `{}`: {reason}", self.target.name),
        }
    }

    /// The handler that is called, if it is known.
    #[cfg(feature = "graph")]
    pub(crate) fn handler(&self) -> Option<&'static Handler> {
        self.target.handler
    }

    #[cfg(feature = "graph")]
    pub(crate) fn has_side_effect(&self) -> bool {
        self.side_effect
    }

    /// The text of the call, or what is wrong with it.
    pub(crate) fn text(&self, operands: &(impl Operands + ?Sized), results: &[Aval]) -> Result<Text, String> {
        if self.target.name.is_empty() {
            return Err("a target needs a name".into());
        }
        let mut said = self.annotations.clone();
        if let Some((name, way)) =
            SAID_OTHERWISE.iter().find(|(name, _)| said.names().any(|said| said == *name))
        {
            return Err(format!("`{name}` is no annotation; it is said by {way}"));
        }
        if self.attributes.names().chain(said.names()).any(str::is_empty) {
            return Err("an attribute needs a name".into());
        }
        // What is usual is left out: some targets of version 1 are known by having nothing but what they need.
        if self.version != 1 {
            said.set("api_version", self.version.into());
        }
        if let Some(config) = self.backend_config(operands, results)? {
            said.set("backend_config", config);
        }
        if self.side_effect {
            said.set("has_side_effect", true.into());
        }
        if let Some([for_operands, for_results]) = &self.layouts {
            let results: Vec<&Aval> = results.iter().collect();
            said.set("operand_layouts", layouts("operand", for_operands, &operands.avals())?);
            said.set("result_layouts", layouts("result", for_results, &results)?);
        }
        if !self.aliases.is_empty() {
            said.set("output_operand_aliases", self.aliases(operands, results)?);
        }
        Ok(Text {
            head: format!("stablehlo.custom_call @{}", bare(&self.target.name)),
            said: said.to_string(),
        })
    }

    fn backend_config(
        &self,
        operands: &(impl Operands + ?Sized),
        results: &[Aval],
    ) -> Result<Option<Attribute>, String> {
        match (self.version, &self.config) {
            (1..=3, _) if self.target.handler.is_some() => {
                Err(format!("it is called by version 4, not {}", self.version))
            }
            (1..=3, _) if !self.attributes.is_empty() => {
                Err(format!("version {} takes a `config`, not attributes", self.version))
            }
            (1..=3, config) => Ok(config.as_deref().map(Attribute::from)),
            (4, Some(_)) => Err("version 4 takes attributes, not a `config`".into()),
            (4, None) => {
                let attributes = self.attributes.deliverable()?;
                let attributes = match self.target.handler {
                    Some(handler) => check::check(handler.spec(), operands, results, &attributes)?,
                    None => attributes,
                };
                Ok(Some(attributes.into()))
            }
            _ => Err(format!("there is no version {}, only 1 to 4", self.version)),
        }
    }

    fn aliases(&self, operands: &(impl Operands + ?Sized), results: &[Aval]) -> Result<Attribute, String> {
        let avals = operands.avals();
        let mut list = Vec::new();
        for &(i, j) in &self.aliases {
            let (Some(operand), Some(result)) = (avals.get(i), results.get(j)) else {
                let (operands, results) = (counted(avals.len(), "operand"), counted(results.len(), "result"));
                return Err(format!(
                    "result {j} cannot take the memory of operand {i}: there are {operands} and {results}"
                ));
            };
            if *operand != result {
                let (result, operand) = (short(result.dtype(), result.shape()), operands.shown(i));
                return Err(format!(
                    "result {j}, {result}, cannot take the memory of operand {i}, {operand}"
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
fn layouts(what: &str, layouts: &[Vec<i64>], avals: &[&Aval]) -> Result<Attribute, String> {
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
