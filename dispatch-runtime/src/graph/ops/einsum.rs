//! Sums of products in the notation of Einstein.

use std::borrow::Borrow;

use super::super::operand::Arg;
use super::super::poison::{Reason, build};
use super::super::value::Value;
use super::dot::{Label, arranged, contract, summed};
use super::elementwise::same_dtype;
use crate::error::counted;

/// The labels of the axes behind `...` start here, counted from the last one: letters are below.
const ELLIPSIS: Label = 1 << 21;

/// The sum of products that the terms say: `"ij,jk->ik"` is the matrix product.
///
/// There is a term for each operand, with a letter for each of its axes; axes with the same letter are one index. The
/// letters behind `->` are the axes of the result, and what is not among them is summed over. A letter twice in one
/// term takes the diagonal. `...` stands for any number of axes, which are broadcast. Without `->` the result has the
/// axes of `...` and then, in the order of the alphabet, every letter that occurs once. Spaces mean nothing.
///
/// The operands are multiplied two by two, the cheapest pair first. Of `bool`s the product is "and" and the sum is "or".
///
/// ```
/// use dispatch_runtime::DType;
/// use dispatch_runtime::graph::{Value, einsum};
///
/// let (a, b) = (Value::ones(DType::F32, [2, 3]), Value::ones(DType::F32, [3, 4]));
/// assert_eq!(einsum("ij,jk->ik", &[&a, &b]).shape(), [2, 4]);
/// assert_eq!(einsum("ii", &[Value::eye(DType::F32, 3)]).shape(), []);
/// ```
///
/// # Errors
///
/// The terms do not fit the operands or each other; operands differ in dtype; axes of one letter differ in size.
#[track_caller]
pub fn einsum<V: Borrow<Value>>(terms: &str, operands: &[V]) -> Value {
    let operands: Vec<&Value> = operands.iter().map(Borrow::borrow).collect();
    let args: Vec<Arg<'_>> = operands.iter().map(|&value| Arg::Value(value)).collect();
    build("einsum", &args, || {
        let (inputs, out) = parse(terms, &operands).map_err(|reason| format!("in \"{terms}\", {reason}"))?;
        for other in &operands[1..] {
            same_dtype(operands[0], other)?;
        }
        let mut terms: Vec<(Value, Vec<Label>)> = Vec::with_capacity(operands.len());
        for (value, labels) in operands.into_iter().zip(inputs) {
            terms.push(diagonals(value.clone(), labels));
        }
        while terms.len() > 1 {
            let (i, j) = cheapest(&terms);
            let (b, b_labels) = terms.remove(j);
            let (a, a_labels) = terms.remove(i);
            let used =
                |label: &Label| out.contains(label) || terms.iter().any(|(_, labels)| labels.contains(label));
            let labels: Vec<Label> =
                if terms.is_empty() { out.clone() } else { union(&a_labels, &b_labels, used) };
            let product = contract(&a, &a_labels, &b, &b_labels, &labels)?;
            terms.insert(i, (product, labels));
        }
        let (value, labels) = terms.remove(0);
        let (value, labels) = summed(&value, &labels, |label| out.contains(&label))?;
        Ok(arranged(&value, &labels, &out))
    })
}

/// The labels of each operand's axes and of the result's.
fn parse(terms: &str, operands: &[&Value]) -> Result<(Vec<Vec<Label>>, Vec<Label>), Reason> {
    let terms: String = terms.chars().filter(|c| !c.is_whitespace()).collect();
    let (left, right) = match terms.split_once("->") {
        Some((left, right)) => (left, Some(right)),
        None => (&*terms, None),
    };
    let left: Vec<&str> = left.split(',').collect();
    if operands.is_empty() || left.len() != operands.len() {
        let (terms, operands) = (counted(left.len(), "term"), counted(operands.len(), "operand"));
        return Err(format!("{terms} for {operands}"));
    }
    let mut inputs = Vec::with_capacity(left.len());
    let mut sizes: Vec<(Label, i64)> = Vec::new();
    let mut most = 0;
    for (term, operand) in left.into_iter().zip(operands) {
        let letters = term.replacen("...", "", 1).chars().count();
        let has_ellipsis = term.contains("...");
        let Some(n) = operand.rank().checked_sub(letters).filter(|n| has_ellipsis || *n == 0) else {
            let (letters, dimensions) = (counted(letters, "letter"), counted(operand.rank(), "dimension"));
            return Err(format!("`{term}` has {letters} for {operand:?} with {dimensions}"));
        };
        most = most.max(n);
        let labels = labels(term, n)?;
        for (&label, &size) in labels.iter().zip(operand.shape()) {
            match sizes.iter_mut().find(|(known, _)| *known == label) {
                None => sizes.push((label, size)),
                Some((_, known)) if *known == size => {}
                Some((_, known)) if label >= ELLIPSIS && (*known == 1 || size == 1) => {
                    *known = size.max(*known)
                }
                Some((_, known)) if label >= ELLIPSIS => {
                    return Err(format!(
                        "the axes of `...` do not broadcast: there are sizes {known} and {size}"
                    ));
                }
                Some((_, known)) => {
                    let letter = char::from_u32(label).unwrap_or_default();
                    return Err(format!("`{letter}` has the sizes {known} and {size}"));
                }
            }
        }
        inputs.push(labels);
    }
    let out = match right {
        Some(right) => explicit(right, most, &sizes)?,
        None => implicit(&inputs, most),
    };
    Ok((inputs, out))
}

/// The labels of a term in which `...` stands for `n` axes.
fn labels(term: &str, n: usize) -> Result<Vec<Label>, Reason> {
    let mut labels = Vec::with_capacity(term.len() + n);
    let (front, back) = match term.split_once("...") {
        Some((front, back)) => (front, Some(back)),
        None => (term, None),
    };
    let letter = |c: char| match c.is_alphabetic() {
        true => Ok(c as Label),
        false => Err(format!("`{c}` is no letter")),
    };
    for c in front.chars() {
        labels.push(letter(c)?);
    }
    if let Some(back) = back {
        labels.extend(ellipsis(n));
        for c in back.chars() {
            labels.push(letter(c)?);
        }
    }
    Ok(labels)
}

fn ellipsis(n: usize) -> impl Iterator<Item = Label> {
    (0..n as Label).rev().map(|i| ELLIPSIS + i)
}

/// The labels of the result behind `->`.
fn explicit(term: &str, ellipsis: usize, sizes: &[(Label, i64)]) -> Result<Vec<Label>, Reason> {
    if ellipsis > 0 && !term.contains("...") {
        return Err("the result lacks the `...` of the operands".into());
    }
    let labels = labels(term, ellipsis)?;
    for (i, &label) in labels.iter().enumerate() {
        let letter = char::from_u32(label).unwrap_or_default();
        if !sizes.iter().any(|(known, _)| *known == label) {
            return Err(format!("`{letter}` of the result is in no operand"));
        }
        if labels[..i].contains(&label) {
            return Err(format!("`{letter}` is twice in the result"));
        }
    }
    Ok(labels)
}

/// The labels of the result if they are not said.
fn implicit(inputs: &[Vec<Label>], most: usize) -> Vec<Label> {
    let all = || inputs.iter().flatten().copied().filter(|&label| label < ELLIPSIS);
    let mut once: Vec<Label> =
        all().filter(|label| all().filter(|other| other == label).count() == 1).collect();
    once.sort_unstable();
    ellipsis(most).chain(once).collect()
}

/// The operand with each label once.
fn diagonals(mut value: Value, mut labels: Vec<Label>) -> (Value, Vec<Label>) {
    while let Some((i, j)) = twice(&labels) {
        let mut order: Vec<usize> = (0..labels.len()).filter(|axis| *axis != i && *axis != j).collect();
        let mut left: Vec<Label> = order.iter().map(|&axis| labels[axis]).collect();
        order.extend([i, j]);
        left.push(labels[i]);
        (value, labels) = (value.in_order(&order).diagonal(), left);
    }
    (value, labels)
}

fn twice(labels: &[Label]) -> Option<(usize, usize)> {
    let second =
        |i: usize| labels[i + 1..].iter().position(|other| *other == labels[i]).map(|j| (i, i + 1 + j));
    (0..labels.len()).find_map(second)
}

/// The pair of terms whose product takes the fewest steps, the first one of several.
fn cheapest(terms: &[(Value, Vec<Label>)]) -> (usize, usize) {
    let pairs = (0..terms.len()).flat_map(|i| (i + 1..terms.len()).map(move |j| (i, j)));
    let steps = |&(i, j): &(usize, usize)| {
        let (a, b) = (&terms[i], &terms[j]);
        let size = |(value, labels): &(Value, Vec<Label>), label: &Label| {
            labels.iter().position(|other| other == label).map_or(1, |axis| value.shape()[axis])
        };
        let all = union(&a.1, &b.1, |_| true);
        all.iter().map(|label| size(a, label).max(size(b, label)) as u128).fold(1, u128::saturating_mul)
    };
    pairs.min_by_key(steps).expect("there are two terms")
}

/// The labels of two terms, as far as they are used.
fn union(a: &[Label], b: &[Label], used: impl Fn(&Label) -> bool) -> Vec<Label> {
    a.iter().chain(b.iter().filter(|label| !a.contains(label))).copied().filter(|label| used(label)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::super::{Graph, Value, einsum};
    use super::super::reduce::tests::{printed, refused};
    use crate::{Aval, DType};

    #[test]
    fn the_cheapest_product_comes_first() {
        let graph = Graph::new();
        let a = graph.input("a", &Aval::new(DType::F32, [50, 60]));
        let b = graph.input("b", &Aval::new(DType::F32, [60, 70]));
        let c = graph.input("c", &Aval::new(DType::F32, [70]));
        assert_eq!(
            printed(&graph, &einsum("ij,jk,k->i", &[&a, &b, &c])),
            [
                "%0 = stablehlo.dot_general %b, %c, contracting_dims = [1] x [0] : (tensor<60x70xf32>, tensor<70xf32>) -> tensor<60xf32>",
                "%1 = stablehlo.dot_general %a, %0, contracting_dims = [1] x [0] : (tensor<50x60xf32>, tensor<60xf32>) -> tensor<50xf32>",
            ]
        );
    }

    #[test]
    fn wrong_terms_are_refused() {
        let graph = Graph::new();
        let a = graph.input("a", &Aval::new(DType::F32, [2, 3]));
        let one = |terms: &str| refused(&einsum(terms, &[&a]));
        for (terms, expected) in [
            ("ij,jk", "2 terms for 1 operand"),
            ("ijk", "`ijk` has 3 letters for a: f32[2,3] with 2 dimensions"),
            ("i", "`i` has 1 letter for a: f32[2,3] with 2 dimensions"),
            ("ii", "`i` has the sizes 2 and 3"),
            ("i1->i", "`1` is no letter"),
            ("......ij", "`......ij` has 5 letters for a: f32[2,3] with 2 dimensions"),
            ("ij->ik", "`k` of the result is in no operand"),
            ("ij->ii", "`i` is twice in the result"),
            ("i...->i", "the result lacks the `...` of the operands"),
            ("ij->i->j", "`-` is no letter"),
        ] {
            assert_eq!(one(terms), format!("`einsum(a: f32[2,3])`: in \"{terms}\", {expected}"));
        }
        let two = |terms: &str, other: &Value| refused(&einsum(terms, &[&a, other]));
        assert_eq!(
            two("ij,ij", &a.t()),
            "`einsum(a: f32[2,3], f32[3,2])`: in \"ij,ij\", `i` has the sizes 2 and 3"
        );
        assert_eq!(
            two("...,...", &a.t()),
            "`einsum(a: f32[2,3], f32[3,2])`: in \"...,...\", the axes of `...` do not broadcast: there are sizes 2 and 3"
        );
        assert_eq!(
            two("ij,ij", &a.convert(DType::F64)),
            "`einsum(a: f32[2,3], f64[2,3])`: f32 and f64 are different dtypes; write `.convert(DType::F32)` or `.convert(DType::F64)`"
        );
        let nothing: [&Value; 0] = [];
        assert_eq!(refused(&einsum("", &nothing)), "`einsum()`: in \"\", 1 term for 0 operands");
    }
}
