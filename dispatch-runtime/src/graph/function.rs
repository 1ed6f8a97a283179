//! Functions of a program, called from several places and printed once.

use std::fmt;
use std::rc::Rc;
use std::sync::Arc;

use super::control::Carry;
use super::make::{self, Extra};
use super::operand::Arg;
use super::poison::{attempt, build, first};
use super::region::{self, Block};
use super::value::Value;
use crate::Aval;
use crate::aval::short;
use crate::engine::pjrt::ModuleText;

/// A function that a program calls: written once in its text, however often it is called.
///
/// The body is a closure that gets the arguments and gives a value, a tuple or an array of values. It cannot use values
/// from outside: what it needs is an argument.
///
/// ```
/// use dispatch_runtime::graph::{Function, Graph};
/// use dispatch_runtime::program::Source;
/// use dispatch_runtime::{Aval, DType};
///
/// let vector = Aval::new(DType::F32, [3]);
/// let scale = Function::new("scale", [&vector, &vector], |[x, w]| x * w + 1.0);
///
/// let graph = Graph::new();
/// let (x, w) = (graph.input("x", &vector), graph.input("w", &vector));
/// let y = scale.call([&scale.call([&x, &w]), &w]);
/// let program = graph.program(y)?;
/// let Source::StableHlo(text) = program.source() else { unreachable!() };
/// assert_eq!(text.matches("func.func private @scale").count(), 1);
/// assert_eq!(text.matches("call @scale(").count(), 2);
/// # Ok::<(), dispatch_runtime::Error>(())
/// ```
#[derive(Clone)]
pub struct Function<const N: usize, R = Value> {
    body: Rc<Body>,
    /// What the body gave: its structure, and its error if it has one.
    results: R,
}

/// A function as it is printed.
#[derive(Clone)]
pub(super) enum Definition {
    /// Made by a closure.
    Built(Rc<Body>),
    /// The `@main` of another program.
    Text(Arc<ModuleText>),
}

pub(super) struct Body {
    name: String,
    pub block: Block,
}

impl Definition {
    /// The name that it is to have.
    pub fn name(&self) -> &str {
        match self {
            Definition::Built(body) => &body.name,
            Definition::Text(_) => "skeleton",
        }
    }

    /// The block that a closure made.
    pub fn block(&self) -> Option<&Block> {
        match self {
            Definition::Built(body) => Some(&body.block),
            Definition::Text(_) => None,
        }
    }

    /// Whether two are the same function, not just equal ones.
    pub fn same(&self, other: &Definition) -> bool {
        self.address() == other.address()
    }

    /// What tells the function from others.
    pub fn address(&self) -> *const () {
        match self {
            Definition::Built(body) => Rc::as_ptr(body).cast(),
            Definition::Text(text) => Arc::as_ptr(text).cast(),
        }
    }

    /// The block, if this is the last one that holds it.
    pub fn into_block(self) -> Option<Block> {
        match self {
            Definition::Built(body) => Rc::into_inner(body).map(|body| body.block),
            Definition::Text(_) => None,
        }
    }
}

impl<const N: usize, R: Carry> Function<N, R> {
    /// A function with arguments of these dtypes and shapes.
    ///
    /// # Errors
    ///
    /// The function gives poisoned values if the body is wrong or uses a value from outside.
    #[track_caller]
    pub fn new(
        name: impl Into<String>,
        arguments: [&Aval; N],
        body: impl FnOnce([Value; N]) -> R,
    ) -> Function<N, R> {
        let (name, types) = (name.into(), arguments.map(Aval::dense));
        let mut results = None;
        let block = region::block(&types, |values| {
            let given = body(values.try_into().expect("one value for each argument"));
            let list = given.list();
            results = Some(given);
            list
        });
        let mut results = results.expect("a block runs its closure");
        if let Some(captured) = block.captured() {
            let wrong = build("function", &[Arg::Value(captured)], || {
                Err(format!("the body of `{name}` uses this value from outside; make it an argument"))
            });
            results = results.rebuild(&mut block.results.iter().map(|_| wrong.clone()));
        }
        Function { body: Rc::new(Body { name, block }), results }
    }

    /// Calls the function.
    ///
    /// # Errors
    ///
    /// An argument has another dtype or shape than the function takes.
    #[track_caller]
    pub fn call(&self, arguments: [&Value; N]) -> R {
        let wrong = first(&self.results.list()).cloned();
        let called = match wrong {
            Some(wrong) => Err(wrong),
            None => attempt("call", &arguments.map(Arg::Value), || {
                let wanted = &self.body.block.arguments.results;
                let mut pairs = arguments.iter().zip(wanted).enumerate();
                if let Some((i, (_, aval))) = pairs.find(|(_, (value, aval))| value.aval() != *aval) {
                    let (name, i) = (&self.body.name, i + 1);
                    let aval = short(aval.dtype(), aval.shape());
                    return Err(format!("argument {i} of `{name}` is {aval}"));
                }
                let operands: Vec<Value> = arguments.iter().map(|&value| value.clone()).collect();
                let text = format!("call @$f({})", make::places(operands.len()));
                let results = self.results.list();
                let results = results.iter().map(|value| value.aval().clone());
                let function = Some(Definition::Built(self.body.clone()));
                make::op_many(text, &operands, results, Extra { function, ..Extra::default() })
            }),
        };
        match called {
            Ok(values) => self.results.rebuild(&mut values.into_iter()),
            Err(wrong) => self.results.rebuild(&mut std::iter::repeat(wrong)),
        }
    }
}

impl<const N: usize, R: Carry> fmt::Debug for Function<N, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let arguments = &self.body.block.arguments.results;
        write!(f, "{}{arguments:?} -> {:?}", self.body.name, self.results.list())
    }
}
