//! Parts of an array whose places are known when the program is made.

use std::fmt;
use std::ops::{Range, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive};

use super::super::axes::{self, Axes};
use super::super::make::op;
use super::super::operand::Arg;
use super::super::poison::{Reason, attempt, build};
use super::super::value::{Types, Value};
use super::join::concatenate;
use crate::Aval;
use crate::aval::shape_text;
use crate::error::counted;

/// What to take of one axis: a range, a range with a [`step`], or one index, which takes the axis away.
///
/// Negative bounds and indices count from the end.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no part of an axis",
    note = "write a range of integers like `..`, `1..3`, `-2..`, `step(.., 2)`, or one index"
)]
pub trait Slice {
    #[doc(hidden)]
    fn part(&self) -> Part;
}

/// What to take of each axis, outermost first: one [`Slice`], or a tuple, an array or a `Vec` of them. Axes without one
/// stay whole.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not say what to take of each axis",
    note = "write a range, or an array or a tuple of them: `1..3`, `[0..2, 1..3]`, `(.., 1..3, -1)`"
)]
pub trait Slices {
    #[doc(hidden)]
    fn parts(&self) -> Vec<Part>;
}

/// What a [`Slice`] says.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub enum Part {
    Index(i64),
    Range { from: Option<i64>, to: Option<i64>, inclusive: bool, step: i64 },
}

/// A range of which not every element is taken.
#[derive(Clone, Copy, Debug)]
pub struct Step<R>(R, i64);

/// Every `n`th element of a range, the first one included.
///
/// ```
/// use dispatch_runtime::DType;
/// use dispatch_runtime::graph::{Value, step};
///
/// let x = Value::iota(DType::F32, [5], 0);
/// assert_eq!(x.slice(step(.., 2)).shape(), [3]);
/// ```
pub fn step<R: Slice>(range: R, n: i64) -> Step<R> {
    Step(range, n)
}

impl Slice for i64 {
    fn part(&self) -> Part {
        Part::Index(*self)
    }
}

impl<R: Slice> Slice for Step<R> {
    fn part(&self) -> Part {
        match self.0.part() {
            Part::Range { from, to, inclusive, step } => {
                Part::Range { from, to, inclusive, step: step.saturating_mul(self.1) }
            }
            index => index,
        }
    }
}

impl Slice for Part {
    fn part(&self) -> Part {
        *self
    }
}

impl<S: Slice + ?Sized> Slice for &S {
    fn part(&self) -> Part {
        (**self).part()
    }
}

macro_rules! ranges {
    ($($range:ty: $self:ident => $from:expr, $to:expr, $inclusive:expr;)*) => {
        $(
            impl Slice for $range {
                fn part(&$self) -> Part {
                    Part::Range { from: $from, to: $to, inclusive: $inclusive, step: 1 }
                }
            }

            impl Slices for $range {
                fn parts(&self) -> Vec<Part> {
                    vec![self.part()]
                }
            }
        )*
    };
}

ranges! {
    RangeFull: self => None, None, false;
    Range<i64>: self => Some(self.start), Some(self.end), false;
    RangeFrom<i64>: self => Some(self.start), None, false;
    RangeTo<i64>: self => None, Some(self.end), false;
    RangeInclusive<i64>: self => Some(*self.start()), Some(*self.end()), true;
    RangeToInclusive<i64>: self => None, Some(self.end), true;
}

impl Slices for i64 {
    fn parts(&self) -> Vec<Part> {
        vec![self.part()]
    }
}

impl<R: Slice> Slices for Step<R> {
    fn parts(&self) -> Vec<Part> {
        vec![self.part()]
    }
}

impl<S: Slice> Slices for [S] {
    fn parts(&self) -> Vec<Part> {
        self.iter().map(S::part).collect()
    }
}

impl<S: Slice, const N: usize> Slices for [S; N] {
    fn parts(&self) -> Vec<Part> {
        self[..].parts()
    }
}

impl<S: Slice> Slices for Vec<S> {
    fn parts(&self) -> Vec<Part> {
        self[..].parts()
    }
}

impl<S: Slices + ?Sized> Slices for &S {
    fn parts(&self) -> Vec<Part> {
        (**self).parts()
    }
}

macro_rules! tuples {
    ($(($($name:ident $i:tt),*);)*) => {
        $(impl<$($name: Slice),*> Slices for ($($name,)*) {
            fn parts(&self) -> Vec<Part> {
                vec![$(self.$i.part()),*]
            }
        })*
    };
}

tuples! {
    ();
    (A 0);
    (A 0, B 1);
    (A 0, B 1, C 2);
    (A 0, B 1, C 2, D 3);
    (A 0, B 1, C 2, D 3, E 4);
    (A 0, B 1, C 2, D 3, E 4, F 5);
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6);
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7);
}

/// As Rust writes it.
impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (from, to, inclusive) = match *self {
            Part::Index(i) => return i.fmt(f),
            Part::Range { from, to, inclusive, .. } => (from, to, inclusive),
        };
        let text = |bound: Option<i64>| bound.map_or(String::new(), |x| x.to_string());
        write!(f, "{}..{}{}", text(from), if inclusive { "=" } else { "" }, text(to))
    }
}

/// A range that lies within an axis.
#[derive(Clone, Copy)]
struct Within {
    start: i64,
    stop: i64,
    step: i64,
}

impl Within {
    fn len(self) -> i64 {
        let n = self.stop - self.start;
        n / self.step + i64::from(n % self.step != 0)
    }

    fn text(self) -> String {
        let Within { start, stop, step } = self;
        if step == 1 { format!("{start}:{stop}") } else { format!("{start}:{stop}:{step}") }
    }
}

/// Finds the part within an axis of this size.
fn within(part: Part, axis: usize, size: i64) -> Result<Within, Reason> {
    let place = |bound: i64| if bound < 0 { bound + size } else { bound };
    let beyond = || format!("{part} is beyond axis {axis}, which has size {size}");
    let (from, to, inclusive, step) = match part {
        Part::Index(i) => {
            let start = place(i);
            let is_inside = (0..size).contains(&start);
            return is_inside.then(|| Within { start, stop: start + 1, step: 1 }).ok_or_else(beyond);
        }
        Part::Range { from, to, inclusive, step } => (from, to, inclusive, step),
    };
    if step < 1 {
        return Err(format!("a step of {step} is less than 1; `reverse` turns an axis around"));
    }
    let start = from.map_or(0, place);
    let stop = to.map_or(size, |to| place(to).saturating_add(i64::from(inclusive)));
    if !(0..=size).contains(&start) || !(0..=size).contains(&stop) {
        return Err(beyond());
    }
    if stop < start {
        return Err(format!("{part} ends before it starts on axis {axis}, which has size {size}"));
    }
    // A step beyond the range takes the first element alone, as any such step does.
    Ok(Within { start, stop, step: step.min((stop - start).max(1)) })
}

impl Value {
    /// A part of the array: of each axis a range, every `n`th element of one ([`step`]), or one index, which takes the
    /// axis away. Negative bounds count from the end; axes that are not mentioned stay whole.
    ///
    /// ```
    /// use dispatch_runtime::DType;
    /// use dispatch_runtime::graph::Value;
    ///
    /// let x = Value::zeros(DType::F32, [4, 5, 6]);
    /// assert_eq!(x.slice(1..3).shape(), [2, 5, 6]);
    /// assert_eq!(x.slice([1..3, 0..5]).shape(), [2, 5, 6]);
    /// assert_eq!(x.slice((.., -2.., 0)).shape(), [4, 2]);
    /// ```
    ///
    /// Clippy takes `1..-1` for an empty range; where that is in the way there is [`Value::slice_axis`].
    ///
    /// # Errors
    ///
    /// A range ends before it starts, or reaches beyond its axis; a step is less than 1; there are more ranges than axes.
    #[track_caller]
    pub fn slice(&self, ranges: impl Slices) -> Value {
        build("slice", &[Arg::Value(self)], || {
            let parts = ranges.parts();
            if parts.len() > self.rank() {
                let dimensions = counted(self.rank(), "dimension");
                return Err(format!("{} for {dimensions}", counted(parts.len(), "range")));
            }
            let whole = Part::Range { from: None, to: None, inclusive: false, step: 1 };
            let parts = parts.into_iter().chain(std::iter::repeat(whole));
            let mut left = Vec::new();
            let mut cuts = Vec::with_capacity(self.rank());
            for ((axis, &size), part) in self.shape().iter().enumerate().zip(parts) {
                let cut = within(part, axis, size)?;
                if !matches!(part, Part::Index(_)) {
                    left.push(cut.len());
                }
                cuts.push(cut);
            }
            self.cut(&cuts).reshape_to(&left)
        })
    }

    #[track_caller]
    fn cut(&self, cuts: &[Within]) -> Value {
        let shape: Vec<i64> = cuts.iter().map(|cut| cut.len()).collect();
        if shape == self.shape() {
            return self.clone();
        }
        let texts: Vec<String> = cuts.iter().map(|cut| cut.text()).collect();
        let text = format!("stablehlo.slice $0 [{}]", texts.join(", "));
        op(text, Types::Function, [self], Aval::new(self.dtype(), shape))
    }

    /// [`Value::slice`] along one axis: from `start` to `stop`, without `stop`.
    ///
    /// # Errors
    ///
    /// There is no such axis; the range ends before it starts, or reaches beyond the axis.
    #[track_caller]
    pub fn slice_axis(&self, axis: i64, start: i64, stop: i64) -> Value {
        build("slice_axis", &[Arg::Value(self)], || {
            self.part_of_axis(axes::axis(axis, self.rank())?, start..stop)
        })
    }

    #[track_caller]
    pub(super) fn part_of_axis(&self, axis: usize, part: impl Slice) -> Result<Value, Reason> {
        let whole = |&size: &i64| Within { start: 0, stop: size, step: 1 };
        let mut cuts: Vec<Within> = self.shape().iter().map(whole).collect();
        cuts[axis] = within(part.part(), axis, self.shape()[axis])?;
        Ok(self.cut(&cuts))
    }

    /// The consecutive parts of an axis that have these sizes.
    ///
    /// ```
    /// use dispatch_runtime::DType;
    /// use dispatch_runtime::graph::Value;
    ///
    /// let parts = Value::zeros(DType::F32, [2, 7]).split(-1, [3, 4]);
    /// assert_eq!(parts[1].shape(), [2, 4]);
    /// ```
    ///
    /// # Errors
    ///
    /// There is no such axis; a size is negative; the sizes do not add up to that of the axis.
    #[track_caller]
    pub fn split(&self, axis: i64, sizes: impl AsRef<[i64]>) -> Vec<Value> {
        let sizes = sizes.as_ref();
        let parts = attempt("split", &[Arg::Value(self)], || {
            let axis = axes::axis(axis, self.rank())?;
            let size = self.shape()[axis];
            let total = sizes.iter().try_fold(0i64, |sum, &n| sum.checked_add(n).filter(|_| n >= 0));
            if total != Some(size) {
                let sizes = shape_text(sizes);
                return Err(format!("the sizes {sizes} do not make up axis {axis}, which has size {size}"));
            }
            let mut start = 0;
            let mut next = |n: i64| {
                let from = start;
                start += n;
                self.part_of_axis(axis, from..start)
            };
            sizes.iter().map(|&n| next(n)).collect::<Result<Vec<_>, _>>()
        });
        parts.unwrap_or_else(|poisoned| vec![poisoned; sizes.len()])
    }

    /// The elements in the opposite order along these axes.
    ///
    /// # Errors
    ///
    /// There is no such axis, or one is named twice.
    #[track_caller]
    pub fn reverse(&self, axes: impl Axes) -> Value {
        build("reverse", &[Arg::Value(self)], || {
            let axes = axes.list(self.rank())?;
            if axes.is_empty() {
                return Ok(self.clone());
            }
            let text = format!("stablehlo.reverse $0, dims = {}", axes::list(&axes));
            Ok(op(text, Types::Same, [self], self.aval().clone()))
        })
    }

    /// Moves the elements along an axis by `shift` places; those that leave it at one end enter it at the other.
    ///
    /// # Errors
    ///
    /// There is no such axis.
    #[track_caller]
    pub fn roll(&self, shift: i64, axis: i64) -> Value {
        build("roll", &[Arg::Value(self)], || {
            let axis = axes::axis(axis, self.rank())?;
            let size = self.shape()[axis];
            let shift = shift.checked_rem_euclid(size).unwrap_or(0);
            if shift == 0 {
                return Ok(self.clone());
            }
            let end = self.part_of_axis(axis, size - shift..)?;
            Ok(concatenate(&[&end, &self.part_of_axis(axis, ..size - shift)?], axis as i64))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{assert_wrong, input, printed};
    use super::super::super::{Graph, step};
    use crate::DType;

    #[test]
    fn a_part_beyond_the_array_is_an_error() {
        let graph = Graph::new();
        let x = input(&graph, "x", DType::F32, &[2, 3]);
        let split = |sizes: &[i64]| x.split(1, sizes).remove(0);
        assert_wrong([
            (x.slice(0..3), "slice(x: f32[2,3]): 0..3 is beyond axis 0, which has size 2"),
            (x.slice((.., ..=3)), "slice(x: f32[2,3]): ..=3 is beyond axis 1, which has size 3"),
            (x.slice((.., 3)), "slice(x: f32[2,3]): 3 is beyond axis 1, which has size 3"),
            (x.slice(-3..), "slice(x: f32[2,3]): -3.. is beyond axis 0, which has size 2"),
            (
                x.slice(..=i64::MAX),
                "slice(x: f32[2,3]): ..=9223372036854775807 is beyond axis 0, which has size 2",
            ),
            (
                x.slice(i64::MIN),
                "slice(x: f32[2,3]): -9223372036854775808 is beyond axis 0, which has size 2",
            ),
            (
                x.slice((.., -1..1)),
                "slice(x: f32[2,3]): -1..1 ends before it starts on axis 1, which has size 3",
            ),
            (
                x.slice(step(.., 0)),
                "slice(x: f32[2,3]): a step of 0 is less than 1; `reverse` turns an axis around",
            ),
            (x.slice((.., .., 0)), "slice(x: f32[2,3]): 3 ranges for 2 dimensions"),
            (x.slice_axis(2, 0, 1), "slice_axis(x: f32[2,3]): there is no axis 2 among 2 dimensions"),
            (split(&[1, 1]), "split(x: f32[2,3]): the sizes [1,1] do not make up axis 1, which has size 3"),
            (split(&[4, -1]), "split(x: f32[2,3]): the sizes [4,-1] do not make up axis 1, which has size 3"),
            (x.reverse([0, -2]), "reverse(x: f32[2,3]): axis -2 is named twice"),
            (x.roll(1, 2), "roll(x: f32[2,3]): there is no axis 2 among 2 dimensions"),
        ]);
    }

    #[test]
    fn ranges_are_printed_as_they_lie_within_the_array() {
        let graph = Graph::new();
        let x = input(&graph, "x", DType::F32, &[8, 3]);
        assert_eq!(
            printed(&graph, &x.slice((step(-7..=-2, 2), -1))),
            "%0 = stablehlo.slice %x [1:7:2, 2:3] : (tensor<8x3xf32>) -> tensor<3x1xf32>\n\
             %1 = stablehlo.reshape %0 : (tensor<3x1xf32>) -> tensor<3xf32>"
        );
        assert_eq!(
            printed(&graph, &x.slice(step(1.., i64::MAX))),
            "%0 = stablehlo.slice %x [1:8:7, 0:3] : (tensor<8x3xf32>) -> tensor<1x3xf32>"
        );
        assert_eq!(printed(&graph, &x.slice(vec![0..8, 0..3]).roll(-16, 0).reverse([0; 0])), "");
    }
}
