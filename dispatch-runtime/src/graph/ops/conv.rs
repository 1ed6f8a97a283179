//! Convolutions.

use super::super::axes;
use super::super::make::{aval, op};
use super::super::operand::Arg;
use super::super::poison::{Reason, build};
use super::super::value::{Types, Value};
use super::elementwise::{Takes, same_dtype};
use super::padding::{Along, Padding, Placed, counted_axes};
use crate::aval::shape_text;
use crate::error::counted;

/// How a kernel moves over an array; see [`Value::conv`].
#[derive(Clone, Debug)]
pub struct Conv {
    layout: String,
    strides: Option<Vec<i64>>,
    padding: Padding,
    dilation: Option<Vec<i64>>,
    input_dilation: Option<Vec<i64>>,
    groups: i64,
    batch_groups: i64,
    flip: bool,
}

impl Conv {
    /// A convolution with strides of 1 and without padding, of arrays with these axes: `"NCHW,OIHW->NCHW"`.
    ///
    /// `N` counts the examples and `C` the channels of the array and of the result, `O` and `I` are the channels that the
    /// kernel gives and takes. Any other letter is an axis along which the kernel moves; there may be any number of them.
    /// The order in which they stand in the array's part is that of [`strides`](Conv::strides) and the like.
    pub fn new(layout: impl Into<String>) -> Conv {
        Conv {
            layout: layout.into(),
            strides: None,
            padding: Padding::Valid,
            dilation: None,
            input_dilation: None,
            groups: 1,
            batch_groups: 1,
            flip: false,
        }
    }

    /// How far the kernel moves at a time, along each axis.
    pub fn strides(mut self, strides: impl AsRef<[i64]>) -> Conv {
        self.strides = Some(strides.as_ref().to_vec());
        self
    }

    /// What stands around the array: zeros, so many in front of each axis and behind it, or as many as
    /// [`Padding::Same`] says.
    pub fn padding(mut self, padding: impl Into<Padding>) -> Conv {
        self.padding = padding.into();
        self
    }

    /// How far the elements of the kernel are from each other, along each axis.
    pub fn dilation(mut self, dilation: impl AsRef<[i64]>) -> Conv {
        self.dilation = Some(dilation.as_ref().to_vec());
        self
    }

    /// How far the elements of the array are moved from each other before, with zeros between: the stride of the
    /// convolution whose transpose this is.
    pub fn input_dilation(mut self, dilation: impl AsRef<[i64]>) -> Conv {
        self.input_dilation = Some(dilation.as_ref().to_vec());
        self
    }

    /// Divides the channels into groups, each of which has its part of the kernel's outputs: `C = groups * I`.
    pub fn groups(mut self, groups: i64) -> Conv {
        self.groups = groups;
        self
    }

    /// Divides the examples into groups, each of which has its part of the kernel's outputs. The result has
    /// `N / groups` examples.
    pub fn batch_groups(mut self, groups: i64) -> Conv {
        self.batch_groups = groups;
        self
    }

    /// Turns the kernel around along each axis: what mathematics calls a convolution.
    pub fn flip(mut self) -> Conv {
        self.flip = true;
        self
    }
}

impl Value {
    /// Moves a kernel over the array: at each place, the sum of the products of what lies on each other, over all
    /// channels. The kernel is not turned around unless [`Conv::flip`] says so.
    ///
    /// Integers wrap around on the device; where both are constants and the compiler does the sum, narrow ones may stop at
    /// the dtype's bounds instead.
    ///
    /// ```
    /// use dispatch_runtime::DType;
    /// use dispatch_runtime::graph::{Conv, Padding, Value};
    ///
    /// let images = Value::ones(DType::F32, [8, 3, 32, 32]);
    /// let kernel = Value::ones(DType::F32, [16, 3, 5, 5]);
    /// let conv = Conv::new("NCHW,OIHW->NCHW").strides([2, 2]).padding(Padding::Same);
    /// assert_eq!(images.conv(&kernel, &conv).shape(), [8, 16, 16, 16]);
    ///
    /// // One axis, channels last, each channel for itself.
    /// let sound = Value::ones(DType::F32, [1, 100, 2]);
    /// let kernel = Value::ones(DType::F32, [7, 1, 2]);
    /// let conv = Conv::new("NWC,WIO->NWC").groups(2).padding([(3, 3)]);
    /// assert_eq!(sound.conv(&kernel, &conv).shape(), [1, 100, 2]);
    /// ```
    ///
    /// # Errors
    ///
    /// The two are of different dtypes or of `bool`, the layout does not go with their shapes, the channels with each
    /// other or with the groups; a list has another length than there are axes to move along, or a number is out of range.
    #[track_caller]
    pub fn conv(&self, kernel: &Value, options: &Conv) -> Value {
        build("conv", &[Arg::Value(self), Arg::Value(kernel)], || {
            same_dtype(self, kernel)?;
            Takes::NUMBERS.check(self.dtype())?;
            let layout = Layout::parse(&options.layout)?;
            layout.check_ranks(self, kernel)?;
            let axes = layout.axes.len();
            let each = |given: &Option<Vec<i64>>, name: &str| match given {
                None => Ok(vec![1; axes]),
                Some(list) if list.len() == axes => Ok(list.clone()),
                Some(list) => {
                    Err(format!("{name} {} for {} to move along", shape_text(list), counted_axes(axes)))
                }
            };
            let strides = each(&options.strides, "strides")?;
            let dilation = each(&options.dilation, "dilation")?;
            let mut input_dilation = each(&options.input_dilation, "input dilation")?;
            if matches!(options.padding, Padding::Same | Padding::SameLower)
                && input_dilation.iter().any(|&n| n != 1)
            {
                return Err("with an input dilation, `Same` says too little: write the padding".into());
            }
            let along: Vec<Along> = (0..axes)
                .map(|i| Along {
                    size: self.shape()[layout.array.axes[i]],
                    window: kernel.shape()[layout.kernel.axes[i]],
                    stride: strides[i],
                    dilation: dilation[i],
                    input_dilation: input_dilation[i],
                })
                .collect();
            let names: Vec<String> = layout.axes.iter().map(|axis| format!("axis {axis}")).collect();
            let mut placed = options.padding.place(&along, &names)?;
            let shape = layout.result_shape(self, kernel, options, &placed)?;

            let mut array = self.clone();
            if placed.iter().any(|axis| axis.low < 0 || axis.high < 0) {
                // Some compilers do not survive a window that begins inside the array.
                array = layout.padded(self, &placed, &input_dilation);
                input_dilation.fill(1);
                placed.iter_mut().for_each(|axis| (axis.low, axis.high) = (0, 0));
            }
            let pads: Vec<String> =
                placed.iter().map(|axis| format!("[{}, {}]", axis.low, axis.high)).collect();
            let text = format!(
                "stablehlo.convolution($0, $1) dim_numbers = {}, window = {{stride = {}, pad = [{}], lhs_dilate = {}, \
                 rhs_dilate = {}, reverse = {}}} {{batch_group_count = {} : i64, feature_group_count = {} : i64}}",
                layout.numbers(),
                axes::list(&strides),
                pads.join(", "),
                axes::list(&input_dilation),
                axes::list(&dilation),
                axes::list(&vec![options.flip; axes]),
                options.batch_groups,
                options.groups,
            );
            Ok(op(text, Types::Function, [&array, kernel], aval(self.dtype(), &shape)?))
        })
    }
}

/// Which axis of the array, the kernel and the result is what.
struct Layout {
    /// The letters of the axes to move along.
    axes: Vec<char>,
    array: Part,
    kernel: Part,
    result: Part,
}

/// The axes of one array: two with a meaning, `N` and `C` or `O` and `I`, and those to move along.
struct Part {
    text: String,
    first: usize,
    second: usize,
    axes: Vec<usize>,
}

impl Part {
    fn parse(text: &str, [first, second]: [char; 2], axes: &[char], layout: &str) -> Result<Part, Reason> {
        let wrong = |why: String| format!("the layout `{layout}` {why}");
        let place = |letter: char| {
            let mut places = text.chars().enumerate().filter(|(_, c)| *c == letter).map(|(i, _)| i);
            match (places.next(), places.next()) {
                (Some(place), None) => Ok(place),
                (None, _) => Err(wrong(format!("has no `{letter}` in `{text}`"))),
                _ => Err(wrong(format!("has several `{letter}` in `{text}`"))),
            }
        };
        let (first, second) = (place(first)?, place(second)?);
        let axes: Vec<usize> = axes.iter().map(|&axis| place(axis)).collect::<Result<_, _>>()?;
        let known = |place: &usize| *place == first || *place == second || axes.contains(place);
        if let Some((_, letter)) = text.chars().enumerate().find(|(place, _)| !known(place)) {
            return Err(wrong(format!("has `{letter}` in `{text}`, which the array does not have")));
        }
        Ok(Part { text: text.to_owned(), first, second, axes })
    }

    /// `[b, f, 0, 1]`.
    fn numbers(&self, first: &str, second: &str) -> String {
        let name = |place: usize| match self.axes.iter().position(|&axis| axis == place) {
            Some(i) => i.to_string(),
            None if place == self.first => first.to_owned(),
            None => second.to_owned(),
        };
        axes::list(&(0..self.axes.len() + 2).map(name).collect::<Vec<_>>())
    }
}

impl Layout {
    fn parse(layout: &str) -> Result<Layout, Reason> {
        let text: String = layout.chars().filter(|c| !c.is_whitespace()).collect();
        let parts = text.split_once("->").and_then(|(from, to)| Some((from.split_once(',')?, to)));
        let Some(((array, kernel), result)) = parts else {
            return Err(format!("the layout `{layout}` is not of the form `NCHW,OIHW->NCHW`"));
        };
        let axes: Vec<char> = array.chars().filter(|c| !matches!(c, 'N' | 'C')).collect();
        if let Some(sign) = axes.iter().find(|c| !c.is_ascii_alphabetic() || matches!(c, 'O' | 'I')) {
            return Err(format!(
                "the layout `{layout}` has `{sign}` in `{array}`, which is no axis to move along"
            ));
        }
        Ok(Layout {
            array: Part::parse(array, ['N', 'C'], &axes, layout)?,
            kernel: Part::parse(kernel, ['O', 'I'], &axes, layout)?,
            result: Part::parse(result, ['N', 'C'], &axes, layout)?,
            axes,
        })
    }

    fn check_ranks(&self, array: &Value, kernel: &Value) -> Result<(), Reason> {
        for (part, value, name) in [(&self.array, array, "array"), (&self.kernel, kernel, "kernel")] {
            if value.rank() != part.axes.len() + 2 {
                let dimensions = counted(value.rank(), "dimension");
                return Err(format!("the layout of the {name} is `{}`, but it has {dimensions}", part.text));
            }
        }
        Ok(())
    }

    /// `[b, f, 0]x[o, i, 0]->[b, f, 0]`.
    fn numbers(&self) -> String {
        let [array, result] = [&self.array, &self.result].map(|part| part.numbers("b", "f"));
        format!("{array}x{}->{result}", self.kernel.numbers("o", "i"))
    }

    /// The array with its padding.
    #[track_caller]
    fn padded(&self, array: &Value, placed: &[Placed], dilation: &[i64]) -> Value {
        let [mut low, mut high, mut interior] = [(); 3].map(|()| vec![0; array.rank()]);
        for (i, &axis) in self.array.axes.iter().enumerate() {
            (low[axis], high[axis], interior[axis]) = (placed[i].low, placed[i].high, dilation[i] - 1);
        }
        array.pad(low, high, interior, 0)
    }

    fn result_shape(
        &self,
        array: &Value,
        kernel: &Value,
        options: &Conv,
        placed: &[Placed],
    ) -> Result<Vec<i64>, Reason> {
        let (groups, batch_groups) = (options.groups, options.batch_groups);
        for (name, n) in [("groups", groups), ("batch groups", batch_groups)] {
            if n < 1 {
                return Err(format!("there are {n} {name}; there has to be at least 1"));
            }
        }
        if groups > 1 && batch_groups > 1 {
            return Err("channels and examples cannot both be divided into groups".into());
        }
        let (examples, channels) = (array.shape()[self.array.first], array.shape()[self.array.second]);
        let (gives, takes) = (kernel.shape()[self.kernel.first], kernel.shape()[self.kernel.second]);
        if takes.checked_mul(groups) != Some(channels) {
            let each = if groups > 1 { format!(" for each of {groups} groups") } else { String::new() };
            return Err(format!(
                "the array has {}, the kernel takes {takes}{each}",
                counted(channels as usize, "channel")
            ));
        }
        for (what, n, parts) in [
            ("channels that the kernel gives", gives, groups),
            ("channels that the kernel gives", gives, batch_groups),
            ("examples", examples, batch_groups),
        ] {
            if n % parts != 0 {
                return Err(format!("the {n} {what} are not divided by {parts} groups"));
            }
        }
        let mut shape = vec![0; self.result.axes.len() + 2];
        shape[self.result.first] = examples / batch_groups;
        shape[self.result.second] = gives;
        self.result.axes.iter().zip(placed).for_each(|(&axis, placed)| shape[axis] = placed.windows);
        Ok(shape)
    }
}

#[cfg(test)]
mod tests;
