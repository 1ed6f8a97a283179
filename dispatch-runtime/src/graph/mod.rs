//! A builder for programs: arrays as values, operations as methods, StableHLO as the result.
//!
//! In the body of a family the arguments are values, and [`CompileCx::program`](crate::CompileCx::program) makes the
//! program. On its own, a [`Graph`] does the same:
//!
//! ```
//! use dispatch_runtime::graph::Graph;
//! use dispatch_runtime::prelude::*;
//!
//! let graph = Graph::new();
//! let x = graph.input("x", &Aval::new(DType::F32, [3]));
//! let program = graph.program((&x * 2.0 + 1.0).exp())?;
//!
//! let client = Client::cpu()?;
//! let executable = client.compile(&program)?;
//! let x = client.array(&[-0.5f32, 0.0, 0.5], [3])?;
//! assert_eq!(executable.execute(&[&x])?[0].to_vec::<f32>()?[0], 1.0);
//! # Ok::<(), Error>(())
//! ```
//!
//! # Rules
//!
//! * A Rust number beside a value takes its dtype and has to fit it. Values of different dtypes do not mix: the error
//!   names [`Value::convert`].
//! * Shapes are broadcast as numpy does it, and the program says so.
//! * A wrong operation poisons its result. The first error surfaces where the program is made, with the operands and the
//!   line of the operation.
//! * Equal operations made twice appear once in the program, in the block where they were made first.
//! * The numbers are those of StableHLO: NaN, infinities, signed zeros, integers that wrap around. Denormal floats may
//!   count as zero: CPU plugins take them so when a program runs.

mod axes;
pub(crate) mod compose;
mod constant;
mod control;
mod family;
mod function;
mod make;
mod operand;
mod ops;
mod poison;
mod print;
mod region;
mod scan;
mod scope;
pub(crate) mod slots;
#[cfg(test)]
mod testing;
mod value;
mod walk;

use std::cell::RefCell;
use std::fmt;

pub use crate::custom_call::{Attribute, CustomCall, custom_call};
pub use axes::{Axes, Keep, keep};
pub use control::{Carry, fori, if_else, switch, while_loop};
pub use function::Function;
#[doc(hidden)]
pub use operand::{Arg, Scalar};
pub use operand::{Operand, Operands};
#[doc(hidden)]
pub use ops::Part;
pub use ops::{Combine, GatherOptions, ScatterOptions, Slice, Slices, Step, concatenate, stack, step};
pub use ops::{Conv, Key, Padding, Results, Window, raw};
pub use ops::{Transpose, TriangularOptions, einsum};
pub use scan::scan;
pub use value::Value;

use crate::program::Source;
use crate::tree::ResultTree;
use crate::{Array, Aval, Program, Result};
use scope::Scope;

/// One program under construction: its inputs, and the values made from them.
///
/// Values need no graph until they are handed over, but those of two graphs do not mix, and none outlives its graph's
/// use: an input belongs to one program.
pub struct Graph {
    scope: Scope,
    name: Option<String>,
    inputs: RefCell<Vec<Value>>,
}

impl Graph {
    /// An empty graph.
    #[allow(clippy::new_without_default)] // a graph is an identity, not a value with a usual form
    pub fn new() -> Graph {
        Graph { scope: Scope::new(), name: None, inputs: RefCell::default() }
    }

    /// Names the program: the name stands in its text, and in profiles.
    pub fn named(mut self, name: impl Into<String>) -> Graph {
        self.name = Some(name.into());
        self
    }

    /// Adds an argument to the program; arguments come in the order in which they are added.
    #[track_caller]
    pub fn input(&self, name: impl AsRef<str>, aval: &Aval) -> Value {
        let mut inputs = self.inputs.borrow_mut();
        let input = make::input(aval.clone(), self.scope.id());
        let input = input.named(name);
        inputs.push(input.clone());
        input
    }

    /// The arguments of the program, in order.
    pub fn inputs(&self) -> Vec<Value> {
        self.inputs.borrow().clone()
    }

    /// The program that computes these results: a value, a tuple or an array of them, or a struct that derives
    /// [`OutputTree`](macro@crate::OutputTree).
    ///
    /// # Errors
    ///
    /// The first wrong operation that a result depends on; a value of another graph, or of a loop's closure outside of
    /// the loop.
    pub fn program<R: ResultTree<Value>>(&self, results: R) -> Result<Program<R::Arrays>> {
        let mut values = Vec::new();
        results.leaves(&mut values);
        let outputs: Vec<Aval> = values.iter().map(|value| value.aval().clone()).collect();
        Ok(Program::stablehlo(self.text(&values)?)?.with_outputs(outputs))
    }

    /// The program that computes a list of results whose length is known only at run time, for
    /// [`Client::compile`](crate::Client::compile).
    ///
    /// # Errors
    ///
    /// As [`Graph::program`].
    pub fn source(&self, results: &[Value]) -> Result<Source> {
        self.text(results).map(Source::StableHlo)
    }

    fn text(&self, results: &[Value]) -> Result<String> {
        if let Some(wrong) = poison::first(results) {
            wrong.check()?;
        }
        print::module(self.name.as_deref(), self.scope.id(), &self.inputs.borrow(), &[], results)
    }
}

impl fmt::Debug for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Graph({:?})", self.inputs.borrow())
    }
}

impl ResultTree<Value> for Value {
    type Arrays = Array;

    fn leaves(self, leaves: &mut Vec<Value>) {
        leaves.push(self);
    }
}

impl ResultTree<Value> for &Value {
    type Arrays = Array;

    fn leaves(self, leaves: &mut Vec<Value>) {
        leaves.push(self.clone());
    }
}
