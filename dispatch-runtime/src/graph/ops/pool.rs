//! Reductions of the windows of an array.

use super::super::axes::{self, Axes};
use super::super::constant::{extreme, zero};
use super::super::make::{Extra, aval, op_many};
use super::super::operand::{Arg, Operand};
use super::super::poison::{Reason, build, first};
use super::super::region::closed_block;
use super::super::value::Value;
use super::elementwise::{Takes, part, same_dtype};
use super::padding::{Along, Padding, Placed, counted_axes};
use crate::DType;
use crate::aval::shape_text;

/// The windows of a pooling: their sizes along some axes, and how they move.
#[derive(Clone, Debug)]
pub struct Window {
    axes: Vec<i64>,
    sizes: Vec<i64>,
    strides: Option<Vec<i64>>,
    dilation: Option<Vec<i64>>,
    padding: Padding,
}

impl Window {
    /// Windows of these sizes along these axes, and of size 1 along the others. They move by 1, without padding.
    ///
    /// A negative axis counts from the end: `Window::new([-2, -1], [3, 3])`.
    pub fn new(axes: impl AsRef<[i64]>, sizes: impl AsRef<[i64]>) -> Window {
        Window {
            axes: axes.as_ref().to_vec(),
            sizes: sizes.as_ref().to_vec(),
            strides: None,
            dilation: None,
            padding: Padding::Valid,
        }
    }

    /// How far it is from a window to the next one, along each of its axes.
    pub fn strides(mut self, strides: impl AsRef<[i64]>) -> Window {
        self.strides = Some(strides.as_ref().to_vec());
        self
    }

    /// How far the elements of a window are from each other, along each of its axes.
    pub fn dilation(mut self, dilation: impl AsRef<[i64]>) -> Window {
        self.dilation = Some(dilation.as_ref().to_vec());
        self
    }

    /// What stands around the array along each of the window's axes: elements that do not count.
    pub fn padding(mut self, padding: impl Into<Padding>) -> Window {
        self.padding = padding.into();
        self
    }

    fn place(&self, value: &Value) -> Result<Layout, Reason> {
        let list = self.axes.list(value.rank())?;
        let each = |given: Option<&Vec<i64>>, name: &str| match given {
            None => Ok(vec![1; list.len()]),
            Some(numbers) if numbers.len() == list.len() => Ok(numbers.clone()),
            Some(numbers) => {
                Err(format!("{name} {} for {} of the window", shape_text(numbers), counted_axes(list.len())))
            }
        };
        let sizes = each(Some(&self.sizes), "sizes")?;
        let strides = each(self.strides.as_ref(), "strides")?;
        let dilation = each(self.dilation.as_ref(), "dilation")?;
        let along = |(i, &axis): (usize, &usize)| Along {
            size: value.shape()[axis],
            window: sizes[i],
            stride: strides[i],
            dilation: dilation[i],
            input_dilation: 1,
        };
        let along: Vec<Along> = list.iter().enumerate().map(along).collect();
        let names: Vec<String> = list.iter().map(|axis| format!("axis {axis}")).collect();
        let placed = self.padding.place(&along, &names)?;
        Ok(Layout { axes: list, along, placed })
    }
}

/// Where the windows of one array are.
struct Layout {
    axes: Vec<usize>,
    along: Vec<Along>,
    placed: Vec<Placed>,
}

impl Layout {
    /// One number for each axis of the array, from those of the window.
    fn spread(&self, rank: usize, other: i64, number: impl Fn(usize) -> i64) -> Vec<i64> {
        let mut all = vec![other; rank];
        self.axes.iter().enumerate().for_each(|(i, &axis)| all[axis] = number(i));
        all
    }

    /// How many elements of the array there are in each window: an array that broadcasts to the result.
    #[track_caller]
    fn counts(&self, dtype: DType, rank: usize) -> Result<Value, Reason> {
        let mut counts = Value::ones(dtype, []);
        for ((&axis, along), placed) in self.axes.iter().zip(&self.along).zip(&self.placed) {
            let Along { size, window, stride, dilation, .. } = *along;
            if placed.low <= 0 && placed.high <= 0 {
                counts *= window as f64;
                continue;
            }
            // The first and the last element of a window that lie in the array, counted from 0.
            let start = Value::iota(DType::I64, [placed.windows], 0) * stride;
            let before = (placed.low - &start).maximum(0);
            let left = (size - 1 + placed.low - start).maximum(-dilation);
            let (first, last) = match dilation {
                1 => (before, left),
                // Divided without negative numbers, which would be rounded towards zero.
                _ => ((before + (dilation - 1)) / dilation, (left + dilation) / dilation - 1),
            };
            let along_axis = (last.minimum(window - 1) - first + 1).maximum(0).convert(dtype);
            let mut shape = vec![1; rank];
            shape[axis] = placed.windows;
            counts *= along_axis.reshape_to(&shape)?;
        }
        Ok(counts)
    }
}

impl Value {
    /// Reduces each window to one element by a closure that combines two scalars; `init` has to be its neutral element, for
    /// it also stands for the padding.
    ///
    /// The order in which elements are combined is not said.
    ///
    /// ```
    /// use dispatch_runtime::DType;
    /// use dispatch_runtime::graph::{Value, Window};
    ///
    /// let x = Value::ones(DType::I32, [6]);
    /// let products = x.reduce_window(1, &Window::new([0], [3]).strides([2]), |a, b| a * b);
    /// assert_eq!(products.shape(), [2]);
    /// ```
    ///
    /// # Errors
    ///
    /// `init` is no scalar of the same dtype, the closure gives something else or uses a value from outside; there is no
    /// such axis, or a list has another length than there are axes, or a number is out of range.
    #[track_caller]
    pub fn reduce_window(
        &self,
        init: impl Operand,
        window: &Window,
        combine: impl FnOnce(Value, Value) -> Value,
    ) -> Value {
        let init = init.operand();
        build("reduce_window", &[Arg::Value(self), init], || self.windows(init, window, combine))
    }

    #[track_caller]
    fn windows(
        &self,
        init: Arg<'_>,
        window: &Window,
        combine: impl FnOnce(Value, Value) -> Value,
    ) -> Result<Value, Reason> {
        let init = init.at(self.dtype(), &[])?;
        same_dtype(self, &init)?;
        if init.rank() > 0 {
            return Err(format!("it starts from a scalar, not from {init:?}"));
        }
        let scalar = init.aval().clone();
        let mut layout = window.place(self)?;
        let block = closed_block(&[scalar.clone(), scalar.clone()], |values| {
            let [a, b] = <[Value; 2]>::try_from(values).expect("a block has as many values as types");
            vec![combine(a, b)]
        });
        if let Some(wrong) = first(&block.results) {
            return Ok(wrong.clone());
        }
        block.check_closed(&[scalar])?;

        let rank = self.rank();
        let mut shape = self.shape().to_vec();
        layout.axes.iter().zip(&layout.placed).for_each(|(&axis, placed)| shape[axis] = placed.windows);
        let shape = aval(self.dtype(), &shape)?;
        let mut array = self.clone();
        if layout.placed.iter().any(|axis| axis.low < 0 || axis.high < 0) {
            // Some compilers do not survive a window that begins inside the array.
            let low = layout.spread(rank, 0, |i| layout.placed[i].low);
            let high = layout.spread(rank, 0, |i| layout.placed[i].high);
            array = self.pad(low, high, vec![0; rank], &init);
            layout.placed.iter_mut().for_each(|axis| (axis.low, axis.high) = (0, 0));
        }
        let numbers = |name: &str, number: &dyn Fn(usize) -> i64| {
            let all: Vec<String> = layout.spread(rank, 1, number).iter().map(i64::to_string).collect();
            let colon = if all.is_empty() { "" } else { ": " };
            format!("{name} = array<i64{colon}{}>", all.join(", "))
        };
        let low = layout.spread(rank, 0, |i| layout.placed[i].low);
        let high = layout.spread(rank, 0, |i| layout.placed[i].high);
        let pads: Vec<String> = low.iter().zip(high).map(|(low, high)| axes::list(&[*low, high])).collect();
        let pads = if pads.is_empty() { String::new() } else { axes::list(&pads) };
        let text = format!(
            "\"stablehlo.reduce_window\"($0, $1) <{{{}, {}, {}, padding = dense<{pads}> : tensor<{rank}x2xi64>}}> ($r0)",
            numbers("window_dimensions", &|i| layout.along[i].window),
            numbers("window_strides", &|i| layout.along[i].stride),
            numbers("window_dilations", &|i| layout.along[i].dilation),
        );
        let extra = Extra { blocks: vec![block], ..Extra::default() };
        Ok(op_many(text, &[array, init], [shape], extra)?.remove(0))
    }

    /// The greatest element of each window; NaN if there is one. Of a window in the padding: the least number of the dtype.
    ///
    /// ```
    /// use dispatch_runtime::DType;
    /// use dispatch_runtime::graph::{Padding, Value, Window};
    ///
    /// let images = Value::ones(DType::F32, [8, 3, 31, 31]);
    /// let window = Window::new([-2, -1], [2, 2]).strides([2, 2]).padding(Padding::Same);
    /// assert_eq!(images.max_pool(&window).shape(), [8, 3, 16, 16]);
    /// ```
    ///
    /// # Errors
    ///
    /// The dtype is complex, or the window does not go with the array: see [`reduce_window`](Value::reduce_window).
    #[track_caller]
    pub fn max_pool(&self, window: &Window) -> Value {
        build("max_pool", &[Arg::Value(self)], || {
            Takes::ORDERED.check(self.dtype())?;
            let least = extreme(self.dtype(), false).expect("a dtype with an order has a least number");
            self.windows(Arg::Scalar(least), window, |a, b| a.maximum(b))
        })
    }

    /// The least element of each window; NaN if there is one. Of a window in the padding: the greatest number of the dtype.
    ///
    /// # Errors
    ///
    /// As [`max_pool`](Value::max_pool).
    #[track_caller]
    pub fn min_pool(&self, window: &Window) -> Value {
        build("min_pool", &[Arg::Value(self)], || {
            Takes::ORDERED.check(self.dtype())?;
            let greatest = extreme(self.dtype(), true).expect("a dtype with an order has a greatest number");
            self.windows(Arg::Scalar(greatest), window, |a, b| a.minimum(b))
        })
    }

    /// The sum of each window. Integers wrap around; `f16` and `bf16` are added as `f32`.
    ///
    /// # Errors
    ///
    /// The dtype is `bool`, or the window does not go with the array: see [`reduce_window`](Value::reduce_window).
    #[track_caller]
    pub fn sum_pool(&self, window: &Window) -> Value {
        build("sum_pool", &[Arg::Value(self)], || {
            Takes::NUMBERS.check(self.dtype())?;
            Ok(self.widened().window_sum(window)?.convert(self.dtype()))
        })
    }

    /// The mean of each window: of the elements in the array, for the padding does not count. NaN of a window without any.
    ///
    /// # Errors
    ///
    /// The dtype is an integer or `bool`, or the window does not go with the array: see
    /// [`reduce_window`](Value::reduce_window).
    #[track_caller]
    pub fn avg_pool(&self, window: &Window) -> Value {
        build("avg_pool", &[Arg::Value(self)], || {
            Takes::ANALYTIC.check(self.dtype())?;
            let layout = window.place(self)?;
            let sum = self.widened().window_sum(window)?;
            let counts = layout.counts(part(sum.dtype()).unwrap_or(sum.dtype()), self.rank())?;
            Ok((&sum / counts.convert(sum.dtype())).convert(self.dtype()))
        })
    }

    /// The array at a dtype in which sums are exact enough.
    #[track_caller]
    fn widened(&self) -> Value {
        match self.dtype() {
            DType::F16 | DType::BF16 => self.convert(DType::F32),
            _ => self.clone(),
        }
    }

    #[track_caller]
    fn window_sum(&self, window: &Window) -> Result<Value, Reason> {
        self.windows(Arg::Scalar(zero(self.dtype())), window, |a, b| a + b)
    }
}

#[cfg(test)]
mod tests;
