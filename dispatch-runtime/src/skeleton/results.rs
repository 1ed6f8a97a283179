//! What a run gives.

use crate::Array;
use crate::border::TreeVisitor;
use crate::tree::{OutputTree, Outputs};

/// The results of a skeleton: an [`OutputTree`], or a list of arrays, for a program that alone says how many there are.
///
/// ```
/// use dispatch_runtime::{prelude::*, skeleton::{Skeleton, SkeletonSlot}};
///
/// let program = Program::stablehlo(
///     "func.func @main(%a: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
///        %0 = stablehlo.negate %a : tensor<2xf32>
///        return %0, %a : tensor<2xf32>, tensor<2xf32>
///      }",
/// )?;
/// let client = Client::cpu()?;
/// let skeleton = Skeleton::<Vec<Array>>::from_program(&client, program, &[&SkeletonSlot::new(DType::F32, [2])])?;
/// let results = skeleton.run(&[&client.array(&[1f32, -2.0], [2])?])?;
/// assert_eq!(results.len(), 2);
/// assert_eq!(results[0].to_vec::<f32>()?, [-1.0, 2.0]);
/// # Ok::<(), Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the results of a skeleton",
    label = "not a structure of arrays",
    note = "results are `Array`, tuples of them, a struct with `#[derive(OutputTree)]`, written `Fit<Array>`, or `Vec<Array>`"
)]
pub trait Results: Sized {
    /// How many arrays it holds; none if that is the program's to say.
    #[doc(hidden)]
    const COUNT: Option<usize>;

    /// The same structure of other leaves: what [`compose`](super::Skeleton::compose) gives has values for arrays.
    type With<L>;

    /// Takes all results of a run.
    #[doc(hidden)]
    fn take_all(outputs: &mut Outputs<'_>) -> Self;

    /// The structure of these leaves, as many as it has.
    #[doc(hidden)]
    fn with_all<L>(leaves: Vec<L>) -> Self::With<L>;

    /// Its arrays, in the order in which `take_all` takes them.
    #[doc(hidden)]
    fn give_all(self) -> Vec<Array>;
}

impl<O: OutputTree> Results for O {
    const COUNT: Option<usize> = Some(O::LEAVES);
    type With<L> = O::With<L>;

    #[inline(always)]
    fn take_all(outputs: &mut Outputs<'_>) -> O {
        O::take(outputs)
    }

    fn with_all<L>(leaves: Vec<L>) -> O::With<L> {
        let mut leaves = leaves.into_iter();
        O::with_leaves(&mut || leaves.next().expect("a leaf for each array"))
    }

    fn give_all(self) -> Vec<Array> {
        let mut leaves = Leaves(Vec::with_capacity(O::LEAVES));
        self.give(&mut leaves);
        leaves.0
    }
}

/// Collects the arrays of a structure.
struct Leaves(Vec<Array>);

impl TreeVisitor for Leaves {
    fn array(&mut self, array: Array) {
        self.0.push(array);
    }

    fn begin(&mut self, _: usize, _: Option<&'static [&'static str]>) {}

    fn end(&mut self) {}
}

impl Results for Vec<Array> {
    const COUNT: Option<usize> = None;
    type With<L> = Vec<L>;

    #[inline]
    fn take_all(outputs: &mut Outputs<'_>) -> Vec<Array> {
        outputs.rest()
    }

    fn with_all<L>(leaves: Vec<L>) -> Vec<L> {
        leaves
    }

    fn give_all(self) -> Vec<Array> {
        self
    }
}
