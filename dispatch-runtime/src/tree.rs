//! The structure of arguments and results.

use crate::array::{TAG, head};
use crate::border::{TreeSource, TreeVisitor};
use crate::cache::Part;
use crate::client::Client;
use crate::engine::RawBuffer;
use crate::family::{BodyLeaf, BodyLeaves, Compiled};
use crate::key::Sink;
use crate::leaf::Leaf;
use crate::signature::{CheckTree, Field, Scope};
use crate::{Array, Aval};

/// The structure of a program's results: [`Array`], `()`, tuples and arrays of structures, and structs that derive
/// [`OutputTree`](macro@crate::OutputTree).
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a structure of results",
    label = "not a structure of arrays",
    note = "results are `Array`, tuples of them, or a struct with `#[derive(OutputTree)]`, written `Fit<Array>`"
)]
pub trait OutputTree: Sized {
    /// How many arrays it holds.
    const LEAVES: usize;

    /// The same structure of other leaves: `Fit<Value>` of `Fit<Array>`.
    type With<L>;

    /// The structure of the next leaves, in the order of the arrays.
    #[doc(hidden)]
    fn with_leaves<L>(next: &mut dyn FnMut() -> L) -> Self::With<L>;

    /// Takes its arrays from the results of a program, in order.
    #[doc(hidden)]
    fn take(outputs: &mut Outputs<'_>) -> Self;

    /// Gives its arrays away, in order, with their structure.
    #[doc(hidden)]
    fn give(self, to: &mut dyn TreeVisitor);

    /// Shows its arrays, in order.
    #[doc(hidden)]
    fn each(&self, see: &mut dyn FnMut(&Array));
}

/// A structure of results before they are arrays, each leaf an `L` or a reference to one: what the body of a family hands
/// to a builder of programs.
///
/// A builder implements it for its own leaf type `L`, with [`Array`] as [`Arrays`](ResultTree::Arrays), and takes any
/// `impl ResultTree<L>` as the results of a program. `()`, tuples, arrays, and structs that derive
/// [`OutputTree`](macro@crate::OutputTree) then are structures of `L` too.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the results of a program",
    label = "not a structure of `{L}`",
    note = "results are `{L}`, tuples and arrays of them, or a struct with `#[derive(OutputTree)]`"
)]
pub trait ResultTree<L>: Sized {
    /// The same structure of arrays: what a call returns.
    type Arrays: OutputTree;

    /// Appends its leaves, in the order in which [`Arrays`](ResultTree::Arrays) takes its arrays.
    fn leaves(self, leaves: &mut Vec<L>);
}

/// The results of one run, handed out one by one.
pub struct Outputs<'a> {
    compiled: &'a Compiled,
    client: Client,
    buffers: &'a [Option<RawBuffer>],
    next: usize,
}

impl<'a> Outputs<'a> {
    /// # Safety
    ///
    /// `buffers` are the results of one run of `compiled`, owned by the caller, who gives them up.
    #[inline(always)]
    pub(crate) unsafe fn new(
        compiled: &'a Compiled,
        client: Client,
        buffers: &'a [Option<RawBuffer>],
    ) -> Outputs<'a> {
        Outputs { compiled, client, buffers, next: 0 }
    }

    #[inline(always)]
    fn next(&mut self) -> Array {
        let i = self.next;
        self.next += 1;
        let (aval, buffer) = (&self.compiled.outputs()[i], self.buffers[i]);
        let buffer = buffer.expect("an engine fills every result of a successful run");
        // SAFETY: by `new` the buffer is ours, each is taken once, and dtype and shape are those that the executable
        // gives at this position, on its device.
        unsafe { Array::from_raw(self.client, buffer, self.compiled.device(), aval.dtype(), aval.shape()) }
    }
}

impl Outputs<'_> {
    /// All that were not taken yet.
    #[cfg(feature = "graph")]
    pub(crate) fn rest(&mut self) -> Vec<Array> {
        (self.next..self.buffers.len()).map(|_| self.next()).collect()
    }
}

impl Drop for Outputs<'_> {
    /// Ends the results that nobody took: a structure takes all of its own, so this is for a panic in between.
    #[inline(always)]
    fn drop(&mut self) {
        for _ in self.next..self.buffers.len() {
            drop(self.next());
        }
    }
}

impl OutputTree for Array {
    const LEAVES: usize = 1;
    type With<L> = L;

    fn with_leaves<L>(next: &mut dyn FnMut() -> L) -> L {
        next()
    }

    #[inline(always)]
    fn take(outputs: &mut Outputs<'_>) -> Array {
        outputs.next()
    }

    #[inline]
    fn give(self, to: &mut dyn TreeVisitor) {
        to.array(self);
    }

    fn each(&self, see: &mut dyn FnMut(&Array)) {
        see(self);
    }
}

impl<O: OutputTree, const N: usize> OutputTree for [O; N] {
    const LEAVES: usize = N * O::LEAVES;
    type With<L> = [O::With<L>; N];

    fn with_leaves<L>(next: &mut dyn FnMut() -> L) -> [O::With<L>; N] {
        std::array::from_fn(|_| O::with_leaves(next))
    }

    #[inline]
    fn take(outputs: &mut Outputs<'_>) -> [O; N] {
        std::array::from_fn(|_| O::take(outputs))
    }

    fn give(self, to: &mut dyn TreeVisitor) {
        to.begin(N, None);
        self.into_iter().for_each(|item| item.give(to));
        to.end();
    }

    fn each(&self, see: &mut dyn FnMut(&Array)) {
        self.iter().for_each(|item| item.each(see));
    }
}

impl<L, R: ResultTree<L>, const N: usize> ResultTree<L> for [R; N] {
    type Arrays = [R::Arrays; N];

    fn leaves(self, leaves: &mut Vec<L>) {
        self.into_iter().for_each(|item| item.leaves(leaves));
    }
}

impl OutputTree for () {
    const LEAVES: usize = 0;
    type With<L> = ();

    fn with_leaves<L>(_: &mut dyn FnMut() -> L) {}

    #[inline]
    fn take(_: &mut Outputs<'_>) {}

    fn give(self, to: &mut dyn TreeVisitor) {
        to.begin(0, None);
        to.end();
    }

    fn each(&self, _: &mut dyn FnMut(&Array)) {}
}

impl<L> ResultTree<L> for () {
    type Arrays = ();

    fn leaves(self, _: &mut Vec<L>) {}
}

macro_rules! tuples {
    ($(($($name:ident $i:tt),+);)*) => {
        $(impl<$($name: OutputTree),+> OutputTree for ($($name,)+) {
            const LEAVES: usize = 0 $(+ $name::LEAVES)+;
            type With<Leaf> = ($($name::With<Leaf>,)+);

            fn with_leaves<Leaf>(next: &mut dyn FnMut() -> Leaf) -> ($($name::With<Leaf>,)+) {
                ($($name::with_leaves(next),)+)
            }

            #[inline]
            fn take(outputs: &mut Outputs<'_>) -> Self {
                ($($name::take(outputs),)+)
            }

            fn give(self, to: &mut dyn TreeVisitor) {
                to.begin([$($i),+].len(), None);
                $(self.$i.give(to);)+
                to.end();
            }

            fn each(&self, see: &mut dyn FnMut(&Array)) {
                $(self.$i.each(see);)+
            }
        }

        impl<Leaf, $($name: ResultTree<Leaf>),+> ResultTree<Leaf> for ($($name,)+) {
            type Arrays = ($($name::Arrays,)+);

            fn leaves(self, leaves: &mut Vec<Leaf>) {
                $(self.$i.leaves(leaves);)+
            }
        })*
    };
}

tuples! {
    (A 0);
    (A 0, B 1);
    (A 0, B 1, C 2);
    (A 0, B 1, C 2, D 3);
    (A 0, B 1, C 2, D 3, E 4);
    (A 0, B 1, C 2, D 3, E 4, F 5);
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6);
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7);
}

/// A struct of arrays that is one argument of a family; made by `#[derive(InputTree)]`, and by nothing else: what its
/// hidden methods answer is relied upon.
///
/// The struct has one type parameter for its leaves: the body of a family sees `P<Aval>` or, with the feature `graph`,
/// `P<Value>`, a call takes `&P<Array>`, `warm` takes `&P<Aval>`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a structure of arguments",
    label = "not a structure of arrays",
    note = "add `#[derive(InputTree)]` to the struct and describe each field with `#[dynamic(…)]`"
)]
pub trait InputTree: CheckTree {
    /// What the struct holds: [`Array`] in a call.
    type Leaf: Leaf;

    /// The same struct of other leaves.
    type With<L>;

    /// Whether any of its arrays is donated.
    #[doc(hidden)]
    const DONATES: bool;

    /// Whether every array is what its field declares, and fits the call; the specialised check.
    #[doc(hidden)]
    fn accepts(&self, place: &mut Place) -> bool;

    /// The part of the key that this struct contributes.
    #[doc(hidden)]
    fn encode(&self, sink: &mut Sink<'_>);

    /// Visits every leaf in order, with whether it is donated.
    #[doc(hidden)]
    fn visit<'a>(&'a self, visit: &mut dyn FnMut(&'a Self::Leaf, bool));

    /// What the body of a family sees: the struct with the next of its leaves.
    #[doc(hidden)]
    fn seen<L: BodyLeaf>(&self, leaves: &mut BodyLeaves<'_>) -> Self::With<L>;

    /// The struct of what another language has for its fields.
    #[doc(hidden)]
    fn build<S: TreeSource<Self::Leaf>>(source: S) -> Result<Self, S::Error>
    where
        Self: Sized;

    /// Shows what each field that is an array or a list of arrays has to be: its path, and its scope with its index there.
    #[doc(hidden)]
    fn declare(path: &str, visit: &mut dyn FnMut(String, &'static Scope, usize))
    where
        Self: Sized;

    /// The struct for the reference check.
    #[doc(hidden)]
    fn field(&self) -> Field<'_>
    where
        Self: Sized,
    {
        Field::Tree(self)
    }

    /// Appends every array: its path, its abstract value, and whether it is donated.
    #[doc(hidden)]
    fn leaves(&self, path: &str, leaves: &mut Vec<(String, Aval, bool)>);

    /// Describes the part of the key, for `explain`.
    #[doc(hidden)]
    fn describe(&self, path: &str, parts: &mut Vec<Part>);
}

/// Where a call runs, as far as its arguments have said: the same client for all, and one device unless inputs move.
pub struct Place {
    pub(crate) client: Client,
    pub(crate) moves: bool,
    /// The device of the first array.
    pub(crate) device: Option<u32>,
}

impl Place {
    /// Nothing known yet.
    #[inline(always)]
    pub(crate) fn new(client: Client, moves: bool) -> Place {
        Place { client, moves, device: None }
    }

    /// Whether an array fits: these bits of its tag, its client, alive, on the device of the arrays before it.
    #[inline(always)]
    pub fn accepts(&mut self, array: &Array, tag: u32, bits: u32) -> bool {
        let found = array.head();
        let device = *self.device.get_or_insert((found >> 32) as u32);
        // Only the rest of the tag is free: a donated array has a bit that no expected head has.
        let free = u64::from(TAG & !bits);
        let here = found & !free == head(tag, device) && array.client() == self.client;
        here || elsewhere(array, tag, bits, self.client, self.moves)
    }
}

/// Whether an array that is on another device, or unfit, fits a call that moves its inputs.
#[cold]
fn elsewhere(array: &Array, tag: u32, bits: u32, client: Client, moves: bool) -> bool {
    moves && array.tag() & bits == tag && array.client() == client && !array.is_donated()
}
