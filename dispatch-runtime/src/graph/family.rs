//! Graph values in the body of a family.

use super::{Graph, Value};
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
}

impl BodyLeaf for Value {
    fn of(cx: &CompileCx, index: usize) -> Value {
        cx.arguments()[index].clone()
    }
}
