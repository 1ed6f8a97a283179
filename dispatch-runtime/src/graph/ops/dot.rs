//! Products of vectors, matrices and arrays.

use super::super::axes::{self, Axes};
use super::super::make::{aval, op};
use super::super::operand::Arg;
use super::super::poison::{Reason, build};
use super::super::value::{Types, Value};
use super::elementwise::{Takes, same_dtype};
use crate::aval::shape_text;

/// Names for the axes of an operand of [`contract`]: what has the same label in both is one index.
pub(super) type Label = u32;

impl Value {
    /// The sum of products along the `contract` axes of both, for each index of the `batch` axes of both. Axes are paired
    /// in order. The result has the batch axes, the other axes of `self`, and the other axes of `other`.
    ///
    /// Integers wrap around in their own dtype; the product of `bool`s is "and", their sum is "or". The sum of no
    /// products is 0.
    ///
    /// ```
    /// use dispatch_runtime::DType;
    /// use dispatch_runtime::graph::Value;
    ///
    /// let a = Value::ones(DType::F32, [8, 2, 3]);
    /// let b = Value::ones(DType::F32, [8, 3, 4]);
    /// assert_eq!(a.dot_general(&b, (&[0], &[0]), (&[-1], &[-2])).shape(), [8, 2, 4]);
    /// ```
    ///
    /// # Errors
    ///
    /// The dtypes differ; paired axes differ in number or size; an axis is not there, or named twice.
    #[track_caller]
    pub fn dot_general(&self, other: &Value, batch: (&[i64], &[i64]), contract: (&[i64], &[i64])) -> Value {
        build("dot_general", &[Arg::Value(self), Arg::Value(other)], || {
            same_dtype(self, other)?;
            let batch = pairs("batch", self, other, batch)?;
            let contract = pairs("contract", self, other, contract)?;
            let twice =
                |batch: &[usize], contract: &[usize]| batch.iter().find(|a| contract.contains(a)).copied();
            if let Some(axis) = twice(&batch.0, &contract.0).or_else(|| twice(&batch.1, &contract.1)) {
                return Err(format!("axis {axis} is named as batch axis and as contracted axis"));
            }
            general(self, other, batch, contract)
        })
    }

    /// The matrix product by the rules of numpy: of two matrices `[m, k]` and `[k, n]` it is `[m, n]`. Axes before the last
    /// two are broadcast, a vector on the left is a row, one on the right a column, and that axis is not in the result.
    ///
    /// ```
    /// use dispatch_runtime::DType;
    /// use dispatch_runtime::graph::Value;
    ///
    /// let (a, x) = (Value::ones(DType::F32, [5, 2, 3]), Value::ones(DType::F32, [3]));
    /// assert_eq!(a.matmul(&x).shape(), [5, 2]);
    /// assert_eq!(x.matmul(&x).shape(), []);
    /// ```
    ///
    /// # Errors
    ///
    /// The dtypes differ; one is a scalar; the inner sizes differ; the other axes do not broadcast.
    #[track_caller]
    pub fn matmul(&self, other: &Value) -> Value {
        build("matmul", &[Arg::Value(self), Arg::Value(other)], || {
            same_dtype(self, other)?;
            if self.rank() == 0 || other.rank() == 0 {
                return Err("a scalar is no matrix; use `*`".into());
            }
            const M: Label = 0;
            const K: Label = 1;
            const N: Label = 2;
            let batch = |value: &Value, matrix: usize| {
                let n = value.rank().saturating_sub(matrix);
                // Counted from the end, so that they are aligned there.
                (0..n).map(|i| (n - 1 - i) as Label + 3).collect::<Vec<_>>()
            };
            let (mut a, mut b) = (batch(self, 2), batch(other, 2));
            let mut out = if a.len() > b.len() { a.clone() } else { b.clone() };
            if self.rank() > 1 {
                a.push(M);
                out.push(M);
            }
            a.push(K);
            b.push(K);
            if other.rank() > 1 {
                b.push(N);
                out.push(N);
            }
            let (inner, rows) =
                (self.shape()[self.rank() - 1], other.shape()[other.rank().saturating_sub(2)]);
            if inner != rows {
                return Err(format!("the inner sizes {inner} and {rows} differ"));
            }
            contract(self, &a, other, &b, &out)
        })
    }

    /// The product by the rules of `numpy.dot`: the sum of products along the last axis of `self` and the last but one of
    /// `other` (the only one of a vector). With a scalar it is the product. Nothing is broadcast: of `[a, b, k]` and
    /// `[c, k, d]` it is `[a, b, c, d]`.
    ///
    /// # Errors
    ///
    /// The dtypes differ; the sizes of the two axes differ.
    #[track_caller]
    pub fn dot(&self, other: &Value) -> Value {
        build("dot", &[Arg::Value(self), Arg::Value(other)], || {
            same_dtype(self, other)?;
            if self.rank() == 0 || other.rank() == 0 {
                return general(self, other, Pairs::default(), Pairs::default());
            }
            let (last, inner) = (self.rank() - 1, other.rank().saturating_sub(2));
            let (n, m) = (self.shape()[last], other.shape()[inner]);
            if n != m {
                return Err(format!("the inner sizes {n} and {m} differ"));
            }
            general(self, other, Pairs::default(), (vec![last], vec![inner]))
        })
    }

    /// The product of each element with each one of `other`, a matrix; both are read as vectors, row by row.
    ///
    /// # Errors
    ///
    /// The dtypes differ, or are `bool`.
    #[track_caller]
    pub fn outer(&self, other: &Value) -> Value {
        build("outer", &[Arg::Value(self), Arg::Value(other)], || {
            same_dtype(self, other)?;
            Takes::NUMBERS.check(self.dtype())?;
            general(&self.flatten(), &other.flatten(), Pairs::default(), Pairs::default())
        })
    }
}

/// The same axes, in order, of the left and of the right operand.
type Pairs = (Vec<usize>, Vec<usize>);

/// Pairs of axes as the user names them.
fn pairs(what: &str, a: &Value, b: &Value, (left, right): (&[i64], &[i64])) -> Result<Pairs, Reason> {
    if left.len() != right.len() {
        return Err(format!("the {what} axes {left:?} and {right:?} differ in number"));
    }
    let pairs = (left.list(a.rank())?, right.list(b.rank())?);
    for (&i, &j) in pairs.0.iter().zip(&pairs.1) {
        let (n, m) = (a.shape()[i], b.shape()[j]);
        if n != m {
            return Err(format!("the {what} axes {i} and {j} differ in size: {n} and {m}"));
        }
    }
    Ok(pairs)
}

/// A `dot_general` whose axes are right.
fn general(a: &Value, b: &Value, batch: Pairs, contract: Pairs) -> Result<Value, Reason> {
    let others = |value: &Value, batch: &[usize], contract: &[usize]| {
        let free = (0..value.rank()).filter(|axis| !batch.contains(axis) && !contract.contains(axis));
        free.map(|axis| value.shape()[axis]).collect::<Vec<_>>()
    };
    let mut shape: Vec<i64> = batch.0.iter().map(|&axis| a.shape()[axis]).collect();
    shape.extend(others(a, &batch.0, &contract.0));
    shape.extend(others(b, &batch.1, &contract.1));
    let pair = |name: &str, (left, right): &Pairs| {
        format!(", {name} = {} x {}", axes::list(left), axes::list(right))
    };
    let batching = if batch.0.is_empty() { String::new() } else { pair("batching_dims", &batch) };
    let text = format!("stablehlo.dot_general $0, $1{batching}{}", pair("contracting_dims", &contract));
    Ok(op(text, Types::Function, [a, b], aval(a.dtype(), &shape)?))
}

/// The sum of the products of two operands with labelled axes, over every label that is not in the result.
///
/// An operand has a label once. A label has one size in both, or is broadcast from 1.
pub(super) fn contract(
    a: &Value,
    a_labels: &[Label],
    b: &Value,
    b_labels: &[Label],
    out: &[Label],
) -> Result<Value, Reason> {
    let (a, a_labels) = without_ones(a, a_labels, b, b_labels)?;
    let (b, b_labels) = without_ones(b, b_labels, &a, &a_labels)?;
    let (a, a_labels) = summed(&a, &a_labels, |label| out.contains(&label) || b_labels.contains(&label))?;
    let (b, b_labels) = summed(&b, &b_labels, |label| out.contains(&label) || a_labels.contains(&label))?;
    let (mut batch, mut inner) = (Pairs::default(), Pairs::default());
    let (mut labels, mut free) = (Vec::new(), Vec::new());
    for (i, &label) in a_labels.iter().enumerate() {
        let Some(j) = b_labels.iter().position(|&other| other == label) else {
            free.push(label);
            continue;
        };
        if a.shape()[i] != b.shape()[j] {
            let shapes = [&a, &b].map(|value| shape_text(value.shape()));
            return Err(format!("{} and {} do not broadcast", shapes[0], shapes[1]));
        }
        let pairs = if out.contains(&label) { &mut batch } else { &mut inner };
        pairs.0.push(i);
        pairs.1.push(j);
        if out.contains(&label) {
            labels.push(label);
        }
    }
    labels.extend(free);
    labels.extend(b_labels.iter().filter(|label| !a_labels.contains(label)));
    Ok(arranged(&general(&a, &b, batch, inner)?, &labels, out))
}

/// An operand without the axes of size 1 that are broadcast against the other operand.
fn without_ones(
    value: &Value,
    labels: &[Label],
    other: &Value,
    other_labels: &[Label],
) -> Result<(Value, Vec<Label>), Reason> {
    let stays = |i: &usize| {
        let other_size = other_labels.iter().position(|label| *label == labels[*i]).map(|j| other.shape()[j]);
        value.shape()[*i] != 1 || other_size.is_none_or(|n| n == 1)
    };
    let stay: Vec<usize> = (0..labels.len()).filter(stays).collect();
    let shape: Vec<i64> = stay.iter().map(|&i| value.shape()[i]).collect();
    Ok((value.reshape_to(&shape)?, stay.iter().map(|&i| labels[i]).collect()))
}

/// An operand summed along the axes whose labels are not used further.
pub(super) fn summed(
    value: &Value,
    labels: &[Label],
    used: impl Fn(Label) -> bool,
) -> Result<(Value, Vec<Label>), Reason> {
    let (stay, go): (Vec<usize>, Vec<usize>) = (0..labels.len()).partition(|&i| used(labels[i]));
    if go.is_empty() {
        return Ok((value.clone(), labels.to_vec()));
    }
    let go: Vec<i64> = go.into_iter().map(|axis| axis as i64).collect();
    let sum = if value.dtype() == crate::DType::Bool { value.any(go) } else { value.sum(go) };
    Ok((sum, stay.into_iter().map(|i| labels[i]).collect()))
}

/// An operand with its axes in another order.
pub(super) fn arranged(value: &Value, labels: &[Label], order: &[Label]) -> Value {
    let place =
        |label: &Label| labels.iter().position(|other| other == label).expect("a result's label is there");
    value.in_order(&order.iter().map(place).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::super::super::{Graph, Value};
    use super::super::reduce::tests::{printed, refused};
    use crate::{Aval, DType};

    #[test]
    fn batch_axes_are_not_repeated_for_a_product() {
        let graph = Graph::new();
        let a = graph.input("a", &Aval::new(DType::F32, [5, 2, 3]));
        let b = graph.input("b", &Aval::new(DType::F32, [3, 4]));
        assert_eq!(
            printed(&graph, &a.matmul(&b)),
            [
                "%0 = stablehlo.dot_general %a, %b, contracting_dims = [2] x [0] : (tensor<5x2x3xf32>, tensor<3x4xf32>) -> tensor<5x2x4xf32>"
            ]
        );
        assert_eq!(
            printed(&graph, &a.dot_general(&a, (&[0], &[0]), (&[2], &[-1]))),
            [
                "%0 = stablehlo.dot_general %a, %a, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<5x2x3xf32>, tensor<5x2x3xf32>) -> tensor<5x2x2xf32>"
            ]
        );
    }

    #[test]
    fn wrong_products_are_refused() {
        let graph = Graph::new();
        let a = graph.input("a", &Aval::new(DType::F32, [2, 3]));
        let b = graph.input("b", &Aval::new(DType::F32, [4, 2, 3]));
        let (scalar, short) = (Value::scalar(1f32), Value::scalar(1i8));
        for (wrong, expected) in [
            (a.matmul(&a), "`matmul(a: f32[2,3], a: f32[2,3])`: the inner sizes 3 and 2 differ"),
            (a.matmul(&scalar), "`matmul(a: f32[2,3], f32[])`: a scalar is no matrix; use `*`"),
            (
                b.matmul(&Value::zeros(DType::F32, [5, 3, 1])),
                "`matmul(b: f32[4,2,3], f32[5,3,1])`: [4,2,3] and [5,3,1] do not broadcast",
            ),
            (
                a.dot(&short),
                "`dot(a: f32[2,3], i8[])`: f32 and i8 are different dtypes; write `.convert(DType::F32)` or `.convert(DType::I8)`",
            ),
            (a.dot(&b), "`dot(a: f32[2,3], b: f32[4,2,3])`: the inner sizes 3 and 2 differ"),
            (
                a.dot_general(&b, (&[0], &[0]), (&[1], &[2])),
                "`dot_general(a: f32[2,3], b: f32[4,2,3])`: the batch axes 0 and 0 differ in size: 2 and 4",
            ),
            (
                a.dot_general(&b, (&[], &[]), (&[0, 1], &[1])),
                "`dot_general(a: f32[2,3], b: f32[4,2,3])`: the contract axes [0, 1] and [1] differ in number",
            ),
            (
                a.dot_general(&b, (&[1], &[2]), (&[-1], &[-1])),
                "`dot_general(a: f32[2,3], b: f32[4,2,3])`: axis 1 is named as batch axis and as contracted axis",
            ),
            (
                Value::zeros(DType::F32, [1 << 31]).outer(&Value::zeros(DType::F32, [1 << 31])),
                "`outer(f32[2147483648], f32[2147483648])`: no array of f32 has the shape [2147483648,2147483648]",
            ),
        ] {
            assert_eq!(refused(&wrong), expected);
        }
    }
}
