//! What the body of a family sees: the compile context, and its arguments.

use std::any::Any;
#[cfg(feature = "graph")]
use std::cell::OnceCell;

use crate::Aval;
use crate::client::{Client, Device};

/// What the body of a family may ask about the compile it is called for.
///
/// A body takes it as its first parameter, `cx: &CompileCx`, if it wants to know.
pub struct CompileCx {
    family: &'static str,
    device: Device,
    context: Option<Box<dyn Any>>,
    leaves: Vec<(String, Aval, bool)>,
    #[cfg(feature = "graph")]
    kept: OnceCell<Box<dyn Any>>,
}

impl CompileCx {
    pub(super) fn new(
        family: &'static str,
        device: Device,
        context: Option<Box<dyn Any>>,
        leaves: Vec<(String, Aval, bool)>,
    ) -> CompileCx {
        CompileCx {
            family,
            device,
            context,
            leaves,
            #[cfg(feature = "graph")]
            kept: OnceCell::new(),
        }
    }

    /// The client that compiles.
    pub fn client(&self) -> Client {
        self.device.client()
    }

    /// The device that the program is compiled for.
    pub fn device(&self) -> Device {
        self.device
    }

    /// What the family's `context` function returned for this call, if it declares one that returns a `T`.
    pub fn context<T: 'static>(&self) -> Option<&T> {
        self.context.as_ref()?.downcast_ref()
    }

    /// The name of the family's function.
    pub fn family(&self) -> &'static str {
        self.family
    }

    /// Each array of the call: its path, what it is, and whether it is donated.
    pub(crate) fn leaves(&self) -> &[(String, Aval, bool)] {
        &self.leaves
    }

    /// What a builder of programs keeps from one question of the body to the next, made at the first.
    #[cfg(feature = "graph")]
    pub(crate) fn kept<T: 'static>(&self, make: impl FnOnce() -> T) -> &T {
        let kept = self.kept.get_or_init(|| Box::new(make()));
        kept.downcast_ref().expect("one builder makes a program")
    }
}

/// What the body of a family may see of an array.
#[diagnostic::on_unimplemented(
    message = "the body of a family cannot see an array as `{Self}`",
    label = "not the runtime's `Aval` or `Value`",
    note = "a dynamic argument is an `Aval`, or with the runtime's feature `graph` a `Value`"
)]
pub trait BodyLeaf: Sized {
    /// What it sees of the array at this position, of all those of the call.
    fn of(cx: &CompileCx, index: usize) -> Self;
}

impl BodyLeaf for Aval {
    fn of(cx: &CompileCx, index: usize) -> Aval {
        cx.leaves[index].1.clone()
    }
}

/// The arguments of a body, handed out in the order of the call's arrays.
pub struct BodyLeaves<'a> {
    cx: &'a CompileCx,
    next: usize,
}

impl<'a> BodyLeaves<'a> {
    /// From the first one on.
    pub fn new(cx: &'a CompileCx) -> BodyLeaves<'a> {
        BodyLeaves { cx, next: 0 }
    }

    /// The next array.
    pub fn one<L: BodyLeaf>(&mut self) -> L {
        self.next += 1;
        L::of(self.cx, self.next - 1)
    }

    /// The next arrays, as many as there are in a list.
    pub fn list<L: BodyLeaf>(&mut self, len: usize) -> Vec<L> {
        (0..len).map(|_| self.one()).collect()
    }

    /// The next arrays, of a list whose length is in the signature.
    pub fn array<L: BodyLeaf, const N: usize>(&mut self) -> [L; N] {
        std::array::from_fn(|_| self.one())
    }
}
