//! Parts of an array whose place the program computes, and what all indexing shares.

use super::super::axes;
use super::super::make::{aval, op, places};
use super::super::operand::{Arg, Operands};
use super::super::poison::{Reason, build};
use super::super::value::{Types, Value};
use super::elementwise::same_dtype;
use crate::aval::shape_text;
use crate::error::counted;
use crate::{Aval, DType};

impl Value {
    /// A part of the array that has these sizes and starts at these places, one for each axis.
    ///
    /// A start is an integer scalar or a Rust integer. It is moved so that the part lies within the array: one below 0
    /// is 0, one too large is the last at which there is such a part.
    ///
    /// # Errors
    ///
    /// There are more or fewer starts or sizes than axes; a start is no integer scalar, or they differ in dtype; a size is
    /// larger than its axis.
    #[track_caller]
    pub fn dynamic_slice(&self, starts: impl Operands, sizes: impl AsRef<[i64]>) -> Value {
        let sizes = sizes.as_ref();
        let starts = starts.operands();
        let args: Vec<Arg<'_>> = std::iter::once(Arg::Value(self)).chain(starts.iter().copied()).collect();
        build("dynamic_slice", &args, || {
            let starts = scalars(&starts, self.rank())?;
            within(sizes, self.shape(), "the part")?;
            if sizes == self.shape() {
                return Ok(self.clone());
            }
            let starts_text = places(1 + starts.len());
            let text = format!("stablehlo.dynamic_slice {starts_text}, sizes = {}", axes::list(sizes));
            let operands = std::iter::once(self).chain(&starts);
            Ok(op(text, Types::Function, operands, aval(self.dtype(), sizes)?))
        })
    }

    /// The array with `update` in the place of a part of it, which starts at these places, one for each axis.
    ///
    /// A start is an integer scalar or a Rust integer. It is moved so that the part lies within the array: one below 0
    /// is 0, one too large is the last at which there is such a part.
    ///
    /// # Errors
    ///
    /// There are more or fewer starts than axes; a start is no integer scalar, or they differ in dtype; `update` has
    /// another dtype or rank, or is larger than the array along an axis.
    #[track_caller]
    pub fn dynamic_update_slice(&self, update: &Value, starts: impl Operands) -> Value {
        let starts = starts.operands();
        let operands = [Arg::Value(self), Arg::Value(update)];
        let args: Vec<Arg<'_>> = operands.into_iter().chain(starts.iter().copied()).collect();
        build("dynamic_update_slice", &args, || {
            let starts = scalars(&starts, self.rank())?;
            same_dtype(self, update)?;
            within(update.shape(), self.shape(), "the update")?;
            if update.shape() == self.shape() {
                return Ok(update.clone());
            }
            let text = format!("stablehlo.dynamic_update_slice {}", places(2 + starts.len()));
            let operands = [self, update].into_iter().chain(&starts);
            Ok(op(text, Types::Function, operands, self.aval().clone()))
        })
    }

    /// Vectors of zeros with a 1 (`true`) at the index, along a new last axis of `classes` places; zeros alone where the
    /// index is negative or too large.
    ///
    /// ```
    /// use dispatch_runtime::DType;
    /// use dispatch_runtime::graph::Value;
    ///
    /// let labels = Value::constant(&[0, 2, 1], [3]);
    /// assert_eq!(labels.one_hot(DType::F32, 10).shape(), [3, 10]);
    /// ```
    ///
    /// # Errors
    ///
    /// The value is no integer, or `classes` is negative.
    #[track_caller]
    pub fn one_hot(&self, dtype: DType, classes: i64) -> Value {
        build("one_hot", &[Arg::Value(self)], || {
            let indices = indices(self)?;
            let shape: Vec<i64> = self.shape().iter().copied().chain([classes]).collect();
            aval(dtype, &shape)?;
            let indices = if counter(classes) == DType::I64 { indices.convert(DType::I64) } else { indices };
            let classes = Value::iota(indices.dtype(), [classes], 0);
            Ok(indices.expand_dims(-1).eq(classes).convert(dtype))
        })
    }
}

/// The dtype in which to count up to `n`.
pub(super) fn counter(n: i64) -> DType {
    if n <= i64::from(i32::MAX) { DType::I32 } else { DType::I64 }
}

/// Indices in a dtype that can count any axis: of narrower ones a compiler may ask whether they reach the end of an
/// axis, which they cannot say.
#[track_caller]
pub(super) fn indices(indices: &Value) -> Result<Value, Reason> {
    Ok(indices.convert(index_dtype(indices.dtype())?))
}

fn index_dtype(dtype: DType) -> Result<DType, Reason> {
    match dtype {
        DType::I64 | DType::U64 => Ok(dtype),
        DType::U32 => Ok(DType::I64),
        dtype if dtype.is_int() => Ok(DType::I32),
        dtype => Err(format!("indices are integers, not {dtype}")),
    }
}

/// The start of a part on each axis.
#[track_caller]
fn scalars(starts: &[Arg<'_>], rank: usize) -> Result<Vec<Value>, Reason> {
    if starts.len() != rank {
        let dimensions = counted(rank, "dimension");
        return Err(format!("{} for {dimensions}", counted(starts.len(), "start")));
    }
    let given = starts.iter().find_map(Arg::value).map_or(DType::I64, Value::dtype);
    let scalar = |start: &Arg<'_>| {
        let Some(value) = start.value() else { return start.at(index_dtype(given)?, &[]) };
        if !value.dtype().is_int() || value.rank() > 0 {
            return Err(format!("a start has to be an integer scalar, not {value:?}"));
        }
        if value.dtype() != given {
            return Err(format!("the starts have to be of one dtype, not {given} and {}", value.dtype()));
        }
        indices(value)
    };
    starts.iter().map(scalar).collect()
}

/// Whether a part of these sizes fits into an array.
fn within(sizes: &[i64], shape: &[i64], what: &str) -> Result<(), Reason> {
    let fits = sizes.len() == shape.len() && sizes.iter().zip(shape).all(|(n, size)| (0..=*size).contains(n));
    if fits {
        return Ok(());
    }
    Err(format!("{what} has the shape {}, which does not fit into {}", shape_text(sizes), shape_text(shape)))
}

/// Zeros where nothing can be taken, since there is no place for it.
#[track_caller]
pub(super) fn nothing(result: &Aval) -> Option<Value> {
    (result.len() == 0).then(|| Value::zeros(result.dtype(), result.shape()))
}

#[cfg(test)]
mod tests {
    use super::super::super::Graph;
    use super::super::super::operand::{Arg, Scalar};
    use super::super::super::testing::{assert_wrong, input, printed};
    use crate::DType;

    #[test]
    fn wrong_starts_and_indices_are_errors() {
        let graph = Graph::new();
        let x = input(&graph, "x", DType::F32, &[2, 3]);
        let i = input(&graph, "i", DType::I32, &[]);
        let j = input(&graph, "j", DType::I64, &[]);
        let f = input(&graph, "f", DType::F32, &[]);
        assert_wrong([
            (x.dynamic_slice([&i], [1, 1]), "dynamic_slice(x: f32[2,3], i: i32[]): 1 start for 2 dimensions"),
            (
                x.dynamic_slice([&i, &j], [1, 1]),
                "dynamic_slice(x: f32[2,3], i: i32[], j: i64[]): the starts have to be of one dtype, not i32 and i64",
            ),
            (
                x.dynamic_slice([&f, &f], [1, 1]),
                "dynamic_slice(x: f32[2,3], f: f32[], f: f32[]): a start has to be an integer scalar, not f: f32[]",
            ),
            (
                x.dynamic_slice([0, 0], [1, 4]),
                "dynamic_slice(x: f32[2,3], 0, 0): the part has the shape [1,4], which does not fit into [2,3]",
            ),
            (
                x.dynamic_update_slice(&f, [0, 0]),
                "dynamic_update_slice(x: f32[2,3], f: f32[], 0, 0): the update has the shape [], which does not fit into [2,3]",
            ),
            (f.one_hot(DType::F32, 3), "one_hot(f: f32[]): indices are integers, not f32"),
            (i.one_hot(DType::F32, -1), "one_hot(i: i32[]): no array of f32 has the shape [-1]"),
        ]);
    }

    #[test]
    fn a_start_that_is_a_number_may_stand_beside_a_narrow_value() {
        let graph = Graph::new();
        let x = input(&graph, "x", DType::F32, &[300, 3]);
        let i = input(&graph, "i", DType::U8, &[]);
        assert_eq!(
            printed(&graph, &x.dynamic_slice([Arg::Scalar(Scalar::Int(260)), Arg::Value(&i)], [1, 2])),
            "%0 = stablehlo.constant dense<260> : tensor<i32>\n\
             %1 = stablehlo.convert %i : (tensor<ui8>) -> tensor<i32>\n\
             %2 = stablehlo.dynamic_slice %x, %0, %1, sizes = [1, 2] : (tensor<300x3xf32>, tensor<i32>, tensor<i32>) -> tensor<1x2xf32>"
        );
    }
}
