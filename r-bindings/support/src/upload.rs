//! R data to buffers.
//!
//! The element types that R data may become: a double any; an integer or integer64 any but `bool`; a logical only
//! `bool`; a complex number only a complex type.
//!
//! Unless somebody [checks](Check), a value that the type does not hold becomes what a cast makes of it: numbers outside
//! the range of an integer type become its nearest end, a fraction is cut off, `NaN` is 0 (`TRUE` as a `bool`). A missing
//! integer is the least number of an integer type, `NaN` in a float type (`NA` in those that R has too), a missing
//! logical is `TRUE`. Rounding is to the
//! nearest, in one step.

mod cast;
mod check;
mod compact;
mod place;

pub(crate) use place::place;

use dispatch_runtime::convert::Expected;
use dispatch_runtime::host::Element;
use dispatch_runtime::{Array, DType, Device, HostArray, HostView};

use cast::Cast;

use crate::data::{Data, EXPECTED, Shape, Type, shape_of};
use crate::fault::{Fault, Result};
use crate::ffi::*;
use crate::given::buffer_of;
use crate::{Arg, arg, buffer, convert, describe, memory};

/// Which values are refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    /// None.
    Nothing,
    /// Those that an integer type or `bool` does not hold, and those that would become infinite. Missing values in a
    /// float type are `NaN`.
    Wrong,
    /// Those too, missing values in all types but `f64` and `c128`, and integers that a float type would round.
    Lost,
}

/// The dtype of R data that names none.
pub fn default_dtype(data: &Data<'_>) -> DType {
    match data.kind() {
        Type::Logical => DType::Bool,
        Type::Integer => DType::I32,
        Type::Double => DType::F32,
        Type::Integer64 => DType::I64,
        Type::Complex => DType::C64,
    }
}

/// Whether R data can be uploaded at a dtype.
pub fn allowed(data: &Data<'_>, dtype: DType) -> bool {
    match data.kind() {
        Type::Logical => dtype == DType::Bool,
        Type::Integer | Type::Integer64 => dtype != DType::Bool,
        Type::Double => true,
        Type::Complex => dtype.is_complex(),
    }
}

/// A buffer, not protected, of what a converter makes of data that is none of R's, with the shape and the dtype that were asked
/// for; none if it is R's data. Values that the dtype does not hold are refused in any case.
pub fn converted(
    data: Arg<'_>,
    dtype: Option<DType>,
    shape: Option<&[i64]>,
    device: Device,
    check: bool,
) -> Result<Option<SEXP>> {
    if Data::is_one(data.get()) {
        return Ok(None);
    }
    let dims: Option<Vec<Option<i64>>> = shape.map(|shape| shape.iter().map(|&n| Some(n)).collect());
    let expected = Expected::new(data.name()).dtypes(dtype.as_slice());
    let expected = match &dims {
        Some(dims) => expected.shape(dims),
        None => expected,
    };
    match convert::convert(data.get(), &expected, &mut || Ok(device), None)? {
        Some(made) => {
            let check = if check { Check::Lost } else { Check::Wrong };
            let buffer = || match buffer_of(made.get())? {
                Some(buffer) => Ok(buffer),
                None => {
                    let value = savvy::Sexp(made.get());
                    buffer::wrap(upload_value(arg(&value, data.name()), dtype, shape, device, check)?)
                }
            };
            buffer().map(Some).map_err(|fault| made.blame(fault, data.name()))
        }
        None => {
            let why = convert::none_for(data.get(), None)?;
            let got = format!("{}{why}", describe::value(data.get()));
            Err(Fault::argument("type", data.name(), EXPECTED, got))
        }
    }
}

/// Copies an R vector or array to a device.
///
/// `shape` is that of the data unless it is given; then the data has as many elements, or one, which fills the array.
pub fn upload(
    data: Arg<'_>,
    dtype: Option<DType>,
    shape: Option<&[i64]>,
    device: Device,
    check: bool,
) -> Result<Array> {
    let check = if check { Check::Lost } else { Check::Nothing };
    upload_value(data, dtype, shape, device, check)
}

fn upload_value(
    data: Arg<'_>,
    dtype: Option<DType>,
    shape: Option<&[i64]>,
    device: Device,
    check: Check,
) -> Result<Array> {
    let values = Data::of(data)?;
    // SAFETY: the argument is a vector.
    let own = unsafe { shape_of(data.get())? };
    let shape = match shape {
        None => own,
        Some(shape) => fitting(shape, values.len())?,
    };
    let dtype = dtype.unwrap_or_else(|| default_dtype(&values));
    upload_data(values, dtype, &shape, device, check, data.name())
}

/// A shape that was asked for, if the data fits or is one element.
fn fitting(shape: &[i64], length: usize) -> Result<Shape> {
    let size = shape.iter().try_fold(1i64, |size, &n| size.checked_mul(n));
    if length == 1 || size == Some(length as i64) {
        return Ok(Shape::from_slice(shape));
    }
    Err(Fault::argument("shape", "shape", format!("the shape of {length} elements"), describe::sizes(shape)))
}

/// Refuses data that the dtype does not hold, as [`Check::Wrong`] says.
pub(crate) fn check(values: &Data<'_>, dtype: DType, path: &str) -> Result<()> {
    Check::Wrong.all(*values, dtype, path)
}

/// Copies R data to a device; it has as many elements as the shape says, or one. `path` is for messages.
pub fn upload_data(
    values: Data<'_>,
    dtype: DType,
    shape: &[i64],
    device: Device,
    check: Check,
    path: &str,
) -> Result<Array> {
    if !allowed(&values, dtype) {
        return Err(Fault::argument(
            "dtype",
            path,
            match values.kind() {
                Type::Logical => "dtype bool for logical data".to_owned(),
                Type::Complex => "dtype c64 or c128 for complex data".to_owned(),
                _ => format!("any dtype but bool for {} data", values.name()),
            },
            dtype,
        ));
    }
    // What has to be made first is made once, piece by piece, to be checked and copied.
    if !matches!(values, Data::Compact(_)) {
        check.all(values, dtype, path)?;
    }
    let to = Target { shape, device, fills: values.len() == 1 && shape.iter().any(|&n| n != 1) };
    macro_rules! number {
        ($values:expr) => {
            number!(@ $values, I8 = i8, I16 = i16, I32 = i32, I64 = i64, U8 = u8, U16 = u16, U32 = u32,
                U64 = u64, F16 = half::f16, BF16 = half::bf16, F32 = f32, F64 = f64, Bool = bool,
                C64 = num_complex::Complex<f32>, C128 = num_complex::Complex<f64>)
        };
        (@ $values:expr, $($dtype:ident = $type:ty),*) => {
            match dtype {
                $(DType::$dtype => to.convert::<_, $type>($values, |x| x.cast()),)*
            }
        };
    }
    match values {
        Data::Logical(values) => to.convert(values, |x| x != 0),
        Data::Double(values) if dtype == DType::F64 => to.as_is(values),
        Data::Double(values) => number!(values),
        Data::Integer(values) if dtype == DType::I32 => to.as_is(values),
        Data::Integer(values) => number!(values),
        Data::Integer64(values) if dtype == DType::I64 => to.as_is(values),
        Data::Integer64(values) => number!(values),
        Data::Complex(values) if dtype == DType::C128 => {
            to.convert(values, |[re, im]| num_complex::Complex { re, im })
        }
        Data::Complex(values) => {
            to.convert(values, |[re, im]| num_complex::Complex { re: re as f32, im: im as f32 })
        }
        Data::Compact(values) => compact::upload(values, dtype, shape, device, check, path),
    }
    .map_err(|fault| fault.in_argument(path))
}

/// Where data goes.
struct Target<'a> {
    shape: &'a [i64],
    device: Device,
    /// Whether one element fills the array.
    fills: bool,
}

/// How many elements are converted without an allocation.
const SMALL: usize = 16;

impl Target<'_> {
    fn as_is<T: Element>(&self, values: &[T]) -> Result<Array> {
        if self.fills {
            return self.convert(values, |x| x);
        }
        self.upload(values)
    }

    fn convert<S: Copy, T: Element>(&self, values: &[S], convert: impl Fn(S) -> T + Copy) -> Result<Array> {
        if self.fills {
            let mut host = zeros(T::DTYPE, self.shape)?;
            host.as_mut_slice().expect("its own type").fill(convert(values[0]));
            let client = self.device.client();
            return memory::with_retry(|| client.upload(host.view(), self.device));
        }
        if values.len() <= SMALL {
            let small: smallvec::SmallVec<[T; SMALL]> = values.iter().map(|&x| convert(x)).collect();
            return self.upload(&small);
        }
        let mut converted = Vec::new();
        converted.try_reserve_exact(values.len()).map_err(|_| no_memory(values.len() * size_of::<T>()))?;
        converted.extend(values.iter().map(|&x| convert(x)));
        self.upload(&converted)
    }

    fn upload<T: Element>(&self, values: &[T]) -> Result<Array> {
        let view = HostView::column_major(values, self.shape)?;
        memory::with_retry(|| self.device.client().upload(view, self.device))
    }
}

/// Zeros on the host; an error where there is no memory for so many.
pub fn zeros(dtype: DType, shape: &[i64]) -> Result<HostArray> {
    HostArray::try_zeros(dtype, shape).map_err(|_| {
        let expected = format!("a shape with few enough elements of {dtype} for the memory of the host");
        Fault::argument("shape", "shape", expected, describe::sizes(shape))
    })
}

/// R goes on where Rust would end the process.
#[cold]
fn no_memory(bytes: usize) -> Fault {
    Fault::new("memory", format!("there is no memory for another {bytes} bytes on the host"))
}
