//! What a run is given.

use std::any::Any;
use std::fmt;

use smallvec::SmallVec;

use crate::leaf::{Leaf, LeafKind};
use crate::{Array, Aval, DType, Device, HostView, Result};

/// One input of a run: an array on the device, data of the host, which is uploaded for the run, or an object that a
/// [converter](crate::convert) is for.
///
/// A run takes a list of `&Array`, of [`HostView`], or of objects; where they are mixed, of inputs.
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
    /// An object, from [`convert::object`](crate::convert::object()).
    Object(ObjectInput<'a>),
}

/// An object as an input of a run.
#[derive(Clone, Copy, Debug)]
pub struct ObjectInput<'a>(&'a dyn Convertible);

/// An object that becomes an array for a run. Nobody else implements or calls it: a run relies on what comes of it, and what
/// it borrows is given back at the end of the run.
pub(crate) trait Convertible: fmt::Debug {
    /// Has it converted, for an input of this name. `slot` is what that has to be, and whether the run consumes it, if it is
    /// known.
    fn convert(&self, path: &str, slot: Option<(&Aval, bool)>) -> Result<()>;

    /// What it was converted to.
    fn converted(&self) -> Input<'_>;

    /// The array that it is for one run, which may consume it, and what has to live until the run has started.
    fn array(&self, path: &str, device: Device, donated: bool) -> Result<(Array, Option<Box<dyn Any>>)>;
}

impl<'a> ObjectInput<'a> {
    pub(super) fn convert(self, path: &str, slot: Option<(&Aval, bool)>) -> Result<()> {
        self.0.convert(path, slot)
    }

    pub(super) fn converted(self) -> Input<'a> {
        self.0.converted()
    }
}

impl<'a> Input<'a> {
    /// The sizes, for as long as the input is borrowed.
    fn sizes(self) -> &'a [i64] {
        match self {
            Input::Array(array) => array.shape(),
            Input::Host(view) => view.shape(),
            Input::Object(object) => object.converted().sizes(),
        }
    }
}

#[cfg(feature = "convert")]
impl<'a> From<&'a crate::convert::Object<'_>> for Input<'a> {
    fn from(object: &'a crate::convert::Object<'_>) -> Input<'a> {
        Input::Object(ObjectInput(object))
    }
}

#[cfg(feature = "convert")]
impl Leaf for crate::convert::Object<'_> {
    fn kind(&self) -> LeafKind<'_> {
        LeafKind::Host
    }

    fn tag(&self) -> u32 {
        self.converted().tag()
    }

    fn dtype(&self) -> DType {
        self.converted().dtype()
    }

    fn shape(&self) -> &[i64] {
        self.converted().sizes()
    }
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

/// What a list of inputs is made of: `&Array`, [`HostView`], `&Object` or [`Input`], which is any of them. A list without any does not say
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
#[cfg(feature = "convert")]
impl RunInput for &crate::convert::Object<'_> {}

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

        /// Calls with the inputs as arrays: those that are, and what is uploaded to the device for this call. Those of these
        /// numbers are donated.
        fn as_arrays<R>(
            inputs: &[Self],
            device: Device,
            donated: &[usize],
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
    fn as_arrays<R>(
        inputs: &[Self],
        _: Device,
        _: &[usize],
        call: impl FnOnce(&[&Array]) -> Result<R>,
    ) -> Result<R> {
        call(inputs)
    }
}

impl Given for HostView<'_> {
    fn input(&self) -> Input<'_> {
        Input::Host(*self)
    }

    fn as_arrays<R>(
        inputs: &[Self],
        device: Device,
        donated: &[usize],
        call: impl FnOnce(&[&Array]) -> Result<R>,
    ) -> Result<R> {
        uploaded(inputs, device, donated, call)
    }
}

impl Given for Input<'_> {
    fn input(&self) -> Input<'_> {
        *self
    }

    fn as_arrays<R>(
        inputs: &[Self],
        device: Device,
        donated: &[usize],
        call: impl FnOnce(&[&Array]) -> Result<R>,
    ) -> Result<R> {
        uploaded(inputs, device, donated, call)
    }
}

#[cfg(feature = "convert")]
impl Given for &crate::convert::Object<'_> {
    fn input(&self) -> Input<'_> {
        Input::Object(ObjectInput(*self))
    }

    fn as_arrays<R>(
        inputs: &[Self],
        device: Device,
        donated: &[usize],
        call: impl FnOnce(&[&Array]) -> Result<R>,
    ) -> Result<R> {
        uploaded(inputs, device, donated, call)
    }
}

/// So many inputs have room on the stack.
const NEAR: usize = 8;

/// Calls with the inputs as arrays; objects are converted already. What is uploaded ends after the call, whose work with it
/// goes on.
fn uploaded<I: Given, R>(
    inputs: &[I],
    device: Device,
    donated: &[usize],
    call: impl FnOnce(&[&Array]) -> Result<R>,
) -> Result<R> {
    // Declared first, so dropped last: what is held may wait until nobody uses the arrays.
    let mut held: SmallVec<[Box<dyn Any>; NEAR]> = SmallVec::new();
    let mut made: SmallVec<[Array; NEAR]> = SmallVec::new();
    for (i, input) in inputs.iter().enumerate() {
        match input.input() {
            Input::Array(_) => {}
            Input::Host(view) => made.push(device.client().upload(view, device)?),
            Input::Object(object) => {
                let (array, until) = object.0.array(&(i + 1).to_string(), device, donated.contains(&i))?;
                made.push(array);
                held.extend(until);
            }
        }
    }
    let mut made = made.iter();
    let arrays: SmallVec<[&Array; NEAR]> = inputs
        .iter()
        .map(|input| match input.input() {
            Input::Array(array) => array,
            Input::Host(_) | Input::Object(_) => made.next().expect("one for each that is no array"),
        })
        .collect();
    call(&arrays)
}

impl Leaf for Input<'_> {
    fn kind(&self) -> LeafKind<'_> {
        match self {
            Input::Array(array) => LeafKind::Device(array),
            Input::Host(_) | Input::Object(_) => LeafKind::Host,
        }
    }

    fn tag(&self) -> u32 {
        match self {
            Input::Array(array) => Leaf::tag(*array),
            Input::Host(view) => view.tag(),
            Input::Object(object) => object.converted().tag(),
        }
    }

    fn dtype(&self) -> DType {
        match self {
            Input::Array(array) => array.dtype(),
            Input::Host(view) => view.dtype(),
            Input::Object(object) => object.converted().dtype(),
        }
    }

    fn shape(&self) -> &[i64] {
        match self {
            Input::Array(array) => array.shape(),
            Input::Host(view) => view.shape(),
            Input::Object(object) => object.converted().sizes(),
        }
    }

    fn layout(&self) -> Option<(Vec<i64>, usize)> {
        match self {
            // What objects are converted to is made dense.
            Input::Array(_) | Input::Object(_) => None,
            Input::Host(view) => Leaf::layout(view),
        }
    }
}
