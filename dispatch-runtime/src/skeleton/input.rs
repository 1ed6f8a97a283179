//! What a run is given.

use smallvec::SmallVec;

use crate::leaf::{Leaf, LeafKind};
use crate::{Array, DType, Device, HostView, Result};

/// One input of a run: an array on the device, or data of the host, which is uploaded for the run.
///
/// A run takes a list of `&Array`, or of [`HostView`]; where they are mixed, of inputs.
///
/// ```
/// use dispatch_runtime::{prelude::*, skeleton::{Input, SkeletonSlot}};
///
/// let client = Client::cpu()?;
/// let (x, w) = (SkeletonSlot::new(DType::F32, [2]), SkeletonSlot::new(DType::F32, [2]));
/// let dot = (&x * &w).sum(..).into_skeleton(&client, &[&x, &w])?;
///
/// let weights = client.array(&[10f32, 20.0], [2])?;
/// let x = HostView::new(&[1f32, 2.0], &[2])?;
/// assert_eq!(dot.run(&[Input::from(x), Input::from(&weights)])?.to_vec::<f32>()?, [50.0]);
/// assert_eq!(dot.run(&[x, x])?.to_vec::<f32>()?, [5.0]);
/// assert_eq!(dot.run(&[&weights, &weights])?.to_vec::<f32>()?, [500.0]);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub enum Input<'a> {
    /// An array on a device.
    Array(&'a Array),
    /// Data of the host.
    Host(HostView<'a>),
}

impl<'a> From<&'a Array> for Input<'a> {
    fn from(array: &'a Array) -> Input<'a> {
        Input::Array(array)
    }
}

impl<'a> From<HostView<'a>> for Input<'a> {
    fn from(view: HostView<'a>) -> Input<'a> {
        Input::Host(view)
    }
}

/// What a list of inputs is made of: `&Array`, [`HostView`] or [`Input`], which is either. A list without any does not say
/// which: `run::<&Array>(&[])`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no input of a skeleton",
    label = "neither `&Array`, `HostView` nor `Input`",
    note = "pass `&[&a, &b]`, `&[view]`, or where they are mixed `&[Input::from(&a), view.into()]`"
)]
pub trait RunInput: Leaf + sealed::Given {}

impl RunInput for &Array {}
impl RunInput for HostView<'_> {}
impl RunInput for Input<'_> {}

pub(super) mod sealed {
    use super::*;

    /// What becomes a list of arrays for a run.
    pub trait Given: Sized {
        /// The input, whichever it is.
        fn input(&self) -> Input<'_>;

        /// The inputs, if their type says that all are arrays.
        #[inline(always)]
        fn arrays(inputs: &[Self]) -> Option<&[&Array]> {
            let _ = inputs;
            None
        }

        /// Calls with the inputs as arrays: those that are, and what is uploaded to the device for this call.
        fn as_arrays<R>(
            inputs: &[Self],
            device: Device,
            call: impl FnOnce(&[&Array]) -> Result<R>,
        ) -> Result<R>;
    }
}

use sealed::Given;

impl Given for &Array {
    #[inline(always)]
    fn input(&self) -> Input<'_> {
        Input::Array(self)
    }

    #[inline(always)]
    fn arrays(inputs: &[Self]) -> Option<&[&Array]> {
        Some(inputs)
    }

    #[inline(always)]
    fn as_arrays<R>(inputs: &[Self], _: Device, call: impl FnOnce(&[&Array]) -> Result<R>) -> Result<R> {
        call(inputs)
    }
}

impl Given for HostView<'_> {
    fn input(&self) -> Input<'_> {
        Input::Host(*self)
    }

    fn as_arrays<R>(inputs: &[Self], device: Device, call: impl FnOnce(&[&Array]) -> Result<R>) -> Result<R> {
        uploaded(inputs, device, call)
    }
}

impl Given for Input<'_> {
    fn input(&self) -> Input<'_> {
        *self
    }

    fn as_arrays<R>(inputs: &[Self], device: Device, call: impl FnOnce(&[&Array]) -> Result<R>) -> Result<R> {
        uploaded(inputs, device, call)
    }
}

/// So many inputs have room on the stack.
const NEAR: usize = 8;

/// Calls with the inputs as arrays. What is uploaded ends after the call, whose work with it goes on.
fn uploaded<I: Given, R>(
    inputs: &[I],
    device: Device,
    call: impl FnOnce(&[&Array]) -> Result<R>,
) -> Result<R> {
    let mut made: SmallVec<[Array; NEAR]> = SmallVec::new();
    for input in inputs {
        if let Input::Host(view) = input.input() {
            made.push(device.client().upload(view, device)?);
        }
    }
    let mut made = made.iter();
    let arrays: SmallVec<[&Array; NEAR]> = inputs
        .iter()
        .map(|input| match input.input() {
            Input::Array(array) => array,
            Input::Host(_) => made.next().expect("one for each view"),
        })
        .collect();
    call(&arrays)
}

impl Leaf for Input<'_> {
    fn kind(&self) -> LeafKind<'_> {
        match self {
            Input::Array(array) => LeafKind::Device(array),
            Input::Host(_) => LeafKind::Host,
        }
    }

    fn tag(&self) -> u32 {
        match self {
            Input::Array(array) => Leaf::tag(*array),
            Input::Host(view) => view.tag(),
        }
    }

    fn dtype(&self) -> DType {
        match self {
            Input::Array(array) => array.dtype(),
            Input::Host(view) => view.dtype(),
        }
    }

    fn shape(&self) -> &[i64] {
        match self {
            Input::Array(array) => array.shape(),
            Input::Host(view) => view.shape(),
        }
    }

    fn layout(&self) -> Option<(Vec<i64>, usize)> {
        match self {
            Input::Array(_) => None,
            Input::Host(view) => Leaf::layout(view),
        }
    }
}
