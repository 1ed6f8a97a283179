//! The sizes that an array has to have, as far as they are known before it is there.

use dispatch_runtime::signature::{Dim, Lead, Scope, ShapeSpec};
use smallvec::SmallVec;

use crate::data::Shape;
use crate::fault::Result;

/// Sizes, none where one is not known.
pub(super) type Sizes = SmallVec<[Option<i64>; 4]>;

/// Gives the shape of a field that is there already; none if it is not.
type ShapeOf<'a> = &'a dyn Fn(usize) -> Result<Option<Shape>>;

/// The sizes of a field as far as the signature fixes them, or other arrays of the call do: those with the same shape, and those
/// with a dimension of the same name. None where the number of sizes is not known.
///
/// Where two arrays contradict each other the call fails in any case.
pub(super) fn known(scope: &Scope, field: usize, shape_of: ShapeOf<'_>) -> Result<Option<Sizes>> {
    if scope.fields[field].leaf.is_none() {
        return Ok(None);
    }
    let (root, lead, dims) = resolved(scope, field);
    let same = same_shape(scope, (field, root), shape_of)?;
    if !matches!(lead, Lead::None) {
        return Ok(same.map(|shape| shape.iter().map(|&n| Some(n)).collect()));
    }
    let same = same.filter(|shape| shape.len() == dims.len());
    let size = |(i, dim): (usize, &Dim)| match dim {
        Dim::Fixed(n) => Ok(Some(*n)),
        Dim::Captured(name) => named(scope, (field, *name), shape_of),
        Dim::Any => Ok(same.as_ref().map(|shape| shape[i])),
    };
    dims.iter().enumerate().map(size).collect::<Result<Sizes>>().map(Some)
}

/// Follows `Same` from field to field: the field that says the shape, and what it says.
fn resolved(scope: &Scope, field: usize) -> (usize, Lead, &'static [Dim]) {
    match scope.fields[field].leaf.as_ref().expect("a shape is that of an array, not of a struct").shape {
        ShapeSpec::Same(other) => resolved(scope, other),
        ShapeSpec::Dims(lead, dims) => (field, lead, dims),
    }
}

/// The other fields that are arrays, or lists of such.
fn others(scope: &Scope, field: usize) -> impl Iterator<Item = usize> {
    (0..scope.fields.len()).filter(move |&other| other != field && scope.fields[other].leaf.is_some())
}

/// The shape of the first other array that has to have the same one. Those of a list have dimensions without a name of their own.
fn same_shape(scope: &Scope, (field, root): (usize, usize), shape_of: ShapeOf<'_>) -> Result<Option<Shape>> {
    let is_list = |field: usize| scope.fields[field].is_list;
    if is_list(root) {
        return Ok(None);
    }
    for other in others(scope, field).filter(|&other| !is_list(other)) {
        if resolved(scope, other).0 == root
            && let Some(shape) = shape_of(other)?
        {
            return Ok(Some(shape));
        }
    }
    Ok(None)
}

/// The size that a name has in the first other array with a dimension of that name.
fn named(scope: &Scope, (field, name): (usize, usize), shape_of: ShapeOf<'_>) -> Result<Option<i64>> {
    for other in others(scope, field) {
        let (_, lead, dims) = resolved(scope, other);
        let is = |dim: &Dim| matches!(dim, Dim::Captured(is) if *is == name);
        let Some(at) = dims.iter().position(is) else { continue };
        let Some(shape) = shape_of(other)? else { continue };
        // Leading dimensions come before those that are named.
        let fits = match lead {
            Lead::None => shape.len() == dims.len(),
            _ => shape.len() >= dims.len(),
        };
        if fits {
            return Ok(Some(shape[shape.len() - dims.len() + at]));
        }
    }
    Ok(None)
}
