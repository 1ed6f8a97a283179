//! A skeleton as an operation of a larger computation.

use std::panic::Location;
use std::sync::Arc;

use super::bake::Baked;
use super::{Results, Skeleton, SkeletonSlot};
use crate::engine::pjrt::ModuleText;
use crate::executable::{check_layout, check_place};
use crate::graph::{Value, compose, slots};
use crate::program::Source;
use crate::{Array, Error, Result};

/// What a slot of a composed skeleton can be bound to: an [`Array`], which is then [captured](super::capture()), a [`Value`],
/// such as a result of another `compose`, or a slot of the computation around it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be bound to a slot",
    label = "not an array, a graph value or a slot",
    note = "bind an `&Array`, a `&Value` or a `&SkeletonSlot`"
)]
pub trait Bind {
    #[doc(hidden)]
    fn bound(&self) -> Bound<'_>;
}

/// What is bound, by reference.
#[doc(hidden)]
#[derive(Clone, Copy)]
pub enum Bound<'a> {
    Array(&'a Array),
    Value(&'a Value),
}

impl Bind for Array {
    fn bound(&self) -> Bound<'_> {
        Bound::Array(self)
    }
}

impl Bind for Value {
    fn bound(&self) -> Bound<'_> {
        Bound::Value(self)
    }
}

impl Bind for SkeletonSlot {
    fn bound(&self) -> Bound<'_> {
        Bound::Value(self.value())
    }
}

impl<T: Bind + ?Sized> Bind for &T {
    fn bound(&self) -> Bound<'_> {
        (**self).bound()
    }
}

impl<O: Results> Skeleton<O> {
    /// The results of the skeleton for these inputs, one for each slot, as values of a larger computation. Nothing runs.
    ///
    /// The inputs may be mixed: arrays, values, results of other skeletons, slots of the larger computation.
    ///
    /// ```
    /// use dispatch_runtime::{prelude::*, skeleton::SkeletonSlot};
    ///
    /// let client = Client::cpu()?;
    /// let (x, w) = (SkeletonSlot::new(DType::F32, [2]), SkeletonSlot::new(DType::F32, [2]));
    /// let scaled = (&x * &w + 1.0).into_skeleton(&client, &[&x, &w])?;
    ///
    /// let weights = client.array(&[10f32, 20.0], [2])?;
    /// let y = SkeletonSlot::new(DType::F32, [2]).named("y");
    /// let once = scaled.compose(&[&y, &weights])?;
    /// let twice = scaled.compose(&[&(&once - 1.0), &y])?;
    /// let larger = (twice * 0.5).into_skeleton(&client, &[&y])?;
    ///
    /// let y = client.array(&[1f32, 2.0], [2])?;
    /// assert_eq!(larger.run(&[&y])?.to_vec::<f32>()?, [5.5, 40.5]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// The program of the skeleton is a function of the larger program, which stands there once however often it is
    /// composed, and it is sealed: the compiler computes its inputs, then calls it, and fuses nothing across that seam. So it
    /// computes the very bits that a run does, at the price of memory for what goes in and comes out; see
    /// [`compose_inlined`](Skeleton::compose_inlined).
    ///
    /// The larger computation may become a skeleton or, where nothing is captured, the program of a family or a
    /// [`Graph`](crate::graph::Graph). It consumes nothing for [donated](SkeletonSlot::donated) slots of the composed skeleton.
    ///
    /// # Errors
    ///
    /// As those of [`run`](Skeleton::run): too few or too many inputs; else, by the name of the slot, the first that has not
    /// exactly the slot's layout, or that is an array of another client or device, or donated. The first wrong operation among
    /// the values; values of several graphs. A program of the skeleton that is no StableHLO text.
    #[track_caller]
    pub fn compose(&self, inputs: &[&dyn Bind]) -> Result<O::With<Value>> {
        self.baked.compose(inputs, true).map(O::with_all)
    }

    /// [`compose`](Skeleton::compose) without the seal: the compiler sees the larger computation as a whole, as if the
    /// skeleton's expression stood there.
    ///
    /// ```
    /// use dispatch_runtime::{prelude::*, skeleton::SkeletonSlot};
    ///
    /// let client = Client::cpu()?;
    /// let x = SkeletonSlot::new(DType::F32, [1000]);
    /// let inner = (&x * 2.0).into_skeleton(&client, &[&x])?;
    ///
    /// let (y, z) = (SkeletonSlot::new(DType::F32, [1000]), SkeletonSlot::new(DType::F32, []));
    /// let sealed = inner.compose(&[&(&y + &z)])?.sum(..).into_skeleton(&client, &[&y, &z])?;
    /// let inlined = inner.compose_inlined(&[&(&y + &z)])?.sum(..).into_skeleton(&client, &[&y, &z])?;
    /// assert!(sealed.memory_report().peak_bytes > inlined.memory_report().peak_bytes);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As those of `compose`.
    #[track_caller]
    pub fn compose_inlined(&self, inputs: &[&dyn Bind]) -> Result<O::With<Value>> {
        self.baked.compose(inputs, false).map(O::with_all)
    }
}

impl Baked {
    /// Each result of the program for these inputs.
    #[track_caller]
    pub fn compose(&self, inputs: &[&dyn Bind], sealed: bool) -> Result<Vec<Value>> {
        self.check_bound(inputs)?;
        self.check_captured()?;
        let module = self.module()?;
        let bound = inputs.iter().map(|input| match input.bound() {
            Bound::Array(array) => slots::capture(array),
            Bound::Value(value) => value.clone(),
        });
        let captured = self.captured.iter().map(|captured| {
            let value = slots::capture(&captured.array);
            match &captured.name {
                Some(name) => value.named(name),
                None => value,
            }
        });
        let operands: Vec<Value> = bound.chain(captured).collect();
        compose::call(module, &operands, self.outputs(), sealed)
    }

    /// The error of the first of these inputs that cannot be bound to its slot.
    fn check_bound(&self, inputs: &[&dyn Bind]) -> Result<()> {
        self.check_count(inputs.len())?;
        for (i, (input, aval)) in inputs.iter().zip(self.inputs()).enumerate() {
            match input.bound() {
                Bound::Array(array) => {
                    check_place(|| self.path(i), array, self.device())?;
                    check_layout(|| self.path(i), array, aval)?;
                }
                Bound::Value(value) => check_layout(|| self.path(i), value.check()?.aval(), aval)?,
            }
        }
        Ok(())
    }

    /// The program as text that can stand in another one; read once.
    #[track_caller]
    fn module(&self) -> Result<&Arc<ModuleText>> {
        let read = || match &self.source {
            Source::StableHlo(text) => ModuleText::new(text.clone()).map(Arc::new),
            other => Err(format!("is no StableHLO text, but {other}")),
        };
        let at = Location::caller();
        self.module.get_or_init(read).as_ref().map_err(|reason| Error::Graph {
            operation: "compose".into(),
            reason: format!("the program of the skeleton {reason}"),
            at: at.to_string(),
        })
    }
}
