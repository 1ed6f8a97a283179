//! Skeletons: a computation that is baked once, and run many times on new inputs.
//!
//! A [`SkeletonSlot`] stands for an input in an expression of [`graph`](crate::graph) values.
//! [`into_skeleton`](IntoSkeleton::into_skeleton) compiles the expression; [`Skeleton::run`] only compares what it is
//! given with the slots, and executes.
//!
//! ```
//! use dispatch_runtime::{prelude::*, skeleton::SkeletonSlot};
//!
//! let client = Client::cpu()?;
//! let x = SkeletonSlot::new(DType::F32, [4]).named("x");
//! let skeleton = (&x * 2.0 + 1.0).into_skeleton(&client, &[&x])?;
//!
//! let a = skeleton.run(&[&client.array(&[0f32, 1.0, 2.0, 3.0], [4])?])?;
//! let b = skeleton.run(&[&client.array(&[5f32; 4], [4])?])?;
//! assert_eq!(a.to_vec::<f32>()?, [1.0, 3.0, 5.0, 7.0]);
//! assert_eq!(b.to_vec::<f32>()?, [11.0; 4]);
//!
//! let error = skeleton.run(&[&client.array(&[5f32; 3], [3])?]).unwrap_err();
//! assert_eq!(error.to_string(), "argument `x`: expected shape [4], got [3]");
//! # Ok::<(), Error>(())
//! ```
//!
//! Inputs are arrays, or data of the host as a [`HostView`](crate::HostView), or [both](Input). Data with strides or an offset
//! is for a slot that [says so](SkeletonSlot::strided).
//!
//! A skeleton takes inputs of one layout. A [`DynamicSkeleton`] makes one for each that comes, and keeps them in the cache
//! that families have.
//!
//! [`Skeleton::compose`] makes a skeleton a part of a larger computation, and [`capture()`] an array a part of a skeleton.
//!
//! A family is the better choice for a function with a name and a signature; a skeleton is for an expression that a
//! program puts together while it runs.

mod bake;
mod capture;
mod compose;
mod dynamic;
#[cfg(feature = "store")]
mod file;
mod input;
mod into;
mod memory;
mod pool;
mod results;
mod run;
mod slot;

use std::fmt;
use std::marker::PhantomData;
use std::panic::Location;
use std::sync::Arc;

pub use bake::Origin;
pub use capture::capture;
pub use compose::Bind;
pub use dynamic::DynamicSkeleton;
#[cfg(feature = "convert")]
pub(crate) use input::Convertible;
pub use input::{Input, ObjectInput, RunInput};
pub use memory::MemoryReport;
pub use pool::{BufferPool, PoolStats};
pub use results::Results;
pub use slot::SkeletonSlot;

use crate::aval::list;
use crate::compiled::{Compiler, by_engine};
use crate::graph::Value;
use crate::program::Source;
use crate::tree::{OutputTree, ResultTree};
use crate::{Array, Aval, Client, Device, Program, Result};
use bake::Baked;

/// A compiled computation with its inputs' layouts fixed, whose results have the structure `O`.
///
/// Made by [`into_skeleton`](IntoSkeleton::into_skeleton); see the [module](self). Any number of threads may run one
/// skeleton at once. A clone is the same skeleton.
pub struct Skeleton<O = Array> {
    baked: Arc<Baked>,
    structure: PhantomData<fn() -> O>,
}

/// Makes a skeleton of what is computed from slots.
///
/// For a [`Value`], a tuple or an array of them, or a struct that derives [`OutputTree`](macro@crate::OutputTree).
pub trait IntoSkeleton: ResultTree<Value> {
    /// Compiles the computation for the client's default device. The inputs of a run come in the order of these slots.
    ///
    /// ```
    /// use dispatch_runtime::{prelude::*, skeleton::SkeletonSlot};
    ///
    /// #[derive(OutputTree)]
    /// struct Moments<T> {
    ///     mean: T,
    ///     spread: T,
    /// }
    ///
    /// let client = Client::cpu()?;
    /// let x = SkeletonSlot::new(DType::F64, [4]).named("x");
    /// let shift = SkeletonSlot::new(DType::F64, []).named("shift");
    /// let mean = (&x + &shift).mean(..);
    /// let spread = x.max(..) - x.min(..);
    /// let skeleton = Moments { mean, spread }.into_skeleton(&client, &[&x, &shift])?;
    ///
    /// let x = client.array(&[1.0, 2.0, 3.0, 6.0], [4])?;
    /// let moments = skeleton.run(&[&x, &client.array(&[0.5], [])?])?;
    /// assert_eq!(moments.mean.to_vec::<f64>()?, [3.5]);
    /// assert_eq!(moments.spread.to_vec::<f64>()?, [5.0]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The first wrong operation; by its name, a slot that is declared twice, one that the results use but that is not
    /// declared, and one that they do not use; an input of a [`Graph`](crate::graph::Graph) among what they use; what the
    /// compiler says.
    #[track_caller]
    fn into_skeleton(self, client: &Client, slots: &[&SkeletonSlot]) -> Result<Skeleton<Self::Arrays>>;
}

impl<R: ResultTree<Value>> IntoSkeleton for R {
    #[track_caller]
    fn into_skeleton(self, client: &Client, slots: &[&SkeletonSlot]) -> Result<Skeleton<R::Arrays>> {
        let mut results = Vec::new();
        self.leaves(&mut results);
        let device = client.default_device();
        let baked = bake::bake(slots, &results, Some(R::Arrays::LEAVES), device, Location::caller())?;
        Ok(Skeleton::of(baked))
    }
}

impl<O: Results> Skeleton<O> {
    /// A skeleton of a program that is there already, compiled for the client's default device. The slots are what its
    /// arguments are, in order.
    ///
    /// ```
    /// use dispatch_runtime::{prelude::*, skeleton::{Skeleton, SkeletonSlot}};
    ///
    /// let program = Program::<Array>::stablehlo(
    ///     "func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {
    ///        %0 = stablehlo.negate %a : tensor<2xf32>
    ///        return %0 : tensor<2xf32>
    ///      }",
    /// )?;
    /// let client = Client::cpu()?;
    /// let skeleton = Skeleton::from_program(&client, program, &[&SkeletonSlot::new(DType::F32, [2]).named("a")])?;
    /// assert_eq!(skeleton.run(&[&client.array(&[1f32, -2.0], [2])?])?.to_vec::<f32>()?, [-1.0, 2.0]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// What the compiler says; [`Error::Program`](crate::Error::Program) if the program takes other arguments than the slots,
    /// or gives another number of results than `O` has. `Vec<Array>` has any number.
    pub fn from_program(
        client: &Client,
        program: Program<O>,
        slots: &[&SkeletonSlot],
    ) -> Result<Skeleton<O>> {
        let baked =
            bake::compile(slots, Box::default(), program, O::COUNT, client.default_device(), by_engine)?;
        Ok(Skeleton::of(baked))
    }

    /// A skeleton of a program on any device, which another compiler may compile. Without slots it has those that the
    /// program takes.
    ///
    /// # Safety
    ///
    /// The compiler lets the device's engine compile the program that it is asked for.
    #[doc(hidden)]
    pub unsafe fn compiled_by(
        device: Device,
        program: Program<O>,
        slots: Option<&[SkeletonSlot]>,
        compiler: Compiler,
    ) -> Result<Skeleton<O>> {
        let Some(slots) = slots else {
            return bake::compile_as_is(program, O::COUNT, device, compiler).map(Skeleton::of);
        };
        let slots: Vec<&SkeletonSlot> = slots.iter().collect();
        bake::compile(&slots, Box::default(), program, O::COUNT, device, compiler).map(Skeleton::of)
    }

    /// Runs the computation on these inputs, one for each slot, in the order in which the slots were declared: `&Array`,
    /// [`HostView`](crate::HostView) or, mixed, [`Input`].
    ///
    /// Nothing is planned, compiled or allocated but the results, which may still be computing when this returns. Host data
    /// is uploaded for the run.
    ///
    /// # Errors
    ///
    /// Before anything runs: too few or too many inputs; else, by the name of the slot, the first that is of another client
    /// or device, was donated, or has not exactly the slot's layout. A slot without a name is told by its position,
    /// counted from 1; an input of a [donated](SkeletonSlot::donated) slot that stands for another slot too. After that: what
    /// the plugin says.
    #[inline]
    pub fn run<I: RunInput>(&self, inputs: &[I]) -> Result<O> {
        if !I::arrays(inputs).is_some_and(|arrays| self.baked.fits(arrays)) {
            self.baked.check(inputs)?;
        }
        // SAFETY: the inputs were checked, and what is uploaded of them goes to the client's device; the skeleton was made
        // with results of the structure `O`.
        I::as_arrays(inputs, self.baked.device(), &self.baked.donated, |arrays| unsafe {
            self.baked.run(arrays)
        })
    }
}

impl<O> Skeleton<O> {
    fn of(baked: Baked) -> Skeleton<O> {
        Skeleton { baked: Arc::new(baked), structure: PhantomData }
    }

    /// What a run needs in memory, as the compiler reckons: known before the first run.
    ///
    /// ```
    /// use dispatch_runtime::{prelude::*, skeleton::{MemoryReport, SkeletonSlot}};
    ///
    /// let x = SkeletonSlot::new(DType::F32, [4]);
    /// let skeleton = (&x * 2.0 + 1.0).into_skeleton(&Client::cpu()?, &[&x])?;
    /// assert_eq!(
    ///     skeleton.memory_report(),
    ///     MemoryReport { peak_bytes: 32, output_bytes: 16, argument_bytes: 16, allocations: 1 }
    /// );
    /// # Ok::<(), Error>(())
    /// ```
    pub fn memory_report(&self) -> MemoryReport {
        self.baked.memory
    }

    /// The program that was compiled.
    pub fn program(&self) -> &Source {
        &self.baked.source
    }

    /// Dtype and shape of each input, and strides and offset where it has some, in the order of the slots.
    pub fn inputs(&self) -> &[Aval] {
        self.baked.inputs()
    }

    /// Dtype and shape of each result.
    pub fn outputs(&self) -> &[Aval] {
        self.baked.outputs()
    }

    /// The name of each slot, where it has one.
    pub fn names(&self) -> impl ExactSizeIterator<Item = Option<&str>> {
        self.baked.names.iter().map(Option::as_deref)
    }

    /// The arrays that it [captured](capture), each once: the arguments of its program behind those of the slots.
    pub fn captured(&self) -> impl ExactSizeIterator<Item = &Array> {
        self.baked.captured.iter().map(|captured| &captured.array)
    }

    /// For each input, whether a run [consumes](SkeletonSlot::donated) it.
    pub fn donated(&self) -> impl ExactSizeIterator<Item = bool> {
        (0..self.baked.heads.len()).map(|i| self.baked.donated.contains(&i))
    }

    /// Whether it was made by this process, or comes from a file.
    pub fn origin(&self) -> &Origin {
        &self.baked.origin
    }

    /// The client that compiled it.
    pub fn client(&self) -> Client {
        self.baked.client
    }

    /// The device that it runs on.
    pub fn device(&self) -> Device {
        self.baked.device()
    }
}

impl<O> Clone for Skeleton<O> {
    fn clone(&self) -> Skeleton<O> {
        Skeleton { baked: self.baked.clone(), structure: PhantomData }
    }
}

impl<O> fmt::Debug for Skeleton<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Skeleton({} -> {} on {})", list(self.inputs()), list(self.outputs()), self.device())
    }
}
