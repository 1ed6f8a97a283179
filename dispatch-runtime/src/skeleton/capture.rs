//! Arrays that a skeleton holds.

use crate::Array;
use crate::graph::{Value, slots};

/// An array as a value: a skeleton that is made of it holds the array, and every run uses it.
///
/// ```
/// use dispatch_runtime::{prelude::*, skeleton::{SkeletonSlot, capture}};
///
/// let client = Client::cpu()?;
/// let weights = client.array(&[1f32, 2.0, 3.0], [3])?;
/// let x = SkeletonSlot::new(DType::F32, [3]).named("x");
/// let skeleton = (&x * capture(&weights)).sum(..).into_skeleton(&client, &[&x])?;
///
/// let x = client.array(&[1f32, 1.0, 10.0], [3])?;
/// assert_eq!(skeleton.run(&[&x])?.to_vec::<f32>()?, [33.0]);
/// assert_eq!(skeleton.captured().len(), 1);
/// # Ok::<(), Error>(())
/// ```
///
/// The data is not copied, and stands in no program: the array is an argument that the skeleton gives, one for each
/// distinct array, and part of `argument_bytes` in its [`MemoryReport`](super::MemoryReport). A [name](Value::named) stands
/// in messages. Only skeletons capture: in a family or a [`Graph`](crate::graph::Graph) the array has to be an argument.
///
/// # Errors
///
/// An array that was donated before gives a [poisoned](Value::check) value, and one that is donated after the skeleton was
/// made is the error of a run. One of another client, or not on the skeleton's device, is the error of
/// [`into_skeleton`](super::IntoSkeleton::into_skeleton).
#[track_caller]
pub fn capture(array: &Array) -> Value {
    slots::capture(array)
}
