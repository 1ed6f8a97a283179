//! Graph values in the body of a family.

use super::{CustomCall, Graph, Results, Value};
use crate::family::{BodyLeaf, CompileCx};
use crate::tree::ResultTree;
use crate::{Program, Result};

/// The program that a body is making.
struct Body {
    graph: Graph,
    arguments: Vec<Value>,
}

impl CompileCx {
    fn body(&self) -> &Body {
        self.kept(|| {
            let graph = Graph::new().named(self.family());
            let arguments = self.leaves().iter().map(|(path, aval, _)| graph.input(path, aval)).collect();
            Body { graph, arguments }
        })
    }

    /// The arguments of the program: a graph value for each array of the call, in order, also for those that the body
    /// sees as an [`Aval`](crate::Aval). The arrays of lists and structs stand one after the other.
    pub fn arguments(&self) -> &[Value] {
        &self.body().arguments
    }

    /// The program that computes these results from the arguments: what a body with graph values ends with.
    ///
    /// The results are a [`Value`], a tuple or an array of them, or a struct that derives `OutputTree`. The program takes
    /// every array of the call, whether it is used or not.
    ///
    /// # Errors
    ///
    /// The first wrong operation that the results depend on.
    pub fn program<R: ResultTree<Value>>(&self, results: R) -> Result<Program<R::Arrays>> {
        self.body().graph.program(results)
    }

    /// A call of a handler, which is registered with the client of the family, so that the program finds it.
    ///
    /// A handler is what [`ffi_handler`](macro@crate::ffi_handler) makes; [`custom_call`](crate::graph::custom_call) says more
    /// of the call: attributes, layouts, aliases, side effects.
    ///
    /// ```
    /// use dispatch_runtime::graph::custom_call;
    /// use dispatch_runtime::{ffi::{self, Buffer, BufferMut}, prelude::*};
    ///
    /// /// `out[i] = scale * b[i % m] + c[i]`
    /// #[ffi_handler]
    /// fn rotate_add(
    ///     #[arg(shape = [m])] b: Buffer<f32>,
    ///     #[arg(shape = [n])] c: Buffer<f32>,
    ///     #[ret(shape = [n])] mut out: BufferMut<f32>,
    ///     #[attr(default = 1.0)] scale: f32,
    /// ) -> ffi::Result<()> {
    ///     for (o, c) in out.chunks_mut(m).zip(c.chunks(m)) {
    ///         for ((o, b), c) in o.iter_mut().zip(&b[..]).zip(c) {
    ///             *o = b * scale + c;
    ///         }
    ///     }
    ///     Ok(())
    /// }
    ///
    /// #[dispatch_family]
    /// fn rotated(
    ///     cx: &CompileCx,
    ///     #[dynamic(dtype = f32, shape = [_])] b: Value,
    ///     #[dynamic(dtype = f32, shape = [_])] c: Value,
    /// ) -> Result<Program> {
    ///     let once = cx.call(&ROTATE_ADD, &[&b, &c], c.aval());
    ///     // A number takes the type that the handler declares.
    ///     let twice = cx.call(custom_call(&ROTATE_ADD).attribute("scale", 2), &[&b, &once], c.aval());
    ///     cx.program(twice)
    /// }
    ///
    /// let client = Client::cpu()?;
    /// let sum = Rotated::new(&client).call(&[1.0, 2.0], &[10.0, 20.0, 30.0, 40.0])?;
    /// assert_eq!(sum.to_vec::<f32>()?, [13.0, 26.0, 33.0, 46.0]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`CustomCall::call`]; operands, results and attributes are none that the handler takes; another handler is
    /// registered under its name.
    ///
    /// # Panics
    ///
    /// There is no result, so that nothing could carry the call into a program.
    #[track_caller]
    pub fn call<R: Results>(
        &self,
        call: impl Into<CustomCall>,
        operands: &[&Value],
        results: R,
    ) -> R::Values {
        call.into().call_on(self.client(), operands, results)
    }
}

impl BodyLeaf for Value {
    fn of(cx: &CompileCx, index: usize) -> Value {
        cx.arguments()[index].clone()
    }
}
