//! Constants: numbers, slices, ranges.

use std::fmt::Write;

use half::{bf16, f16};

use super::make::{aval, op};
use super::operand::{Number, Operand, Scalar};
use super::poison::{Reason, build};
use super::value::{Types, Value};
use crate::aval::shape_text;
use crate::host::{Number as Exact, Target as _};
use crate::{Aval, DType};

/// Up to this many elements a constant is printed as numbers, above as bytes.
const READABLE: usize = 64;

impl Value {
    /// An array of one number, which takes the dtype. `full(DType::F32, [], 1)` is a scalar.
    ///
    /// # Errors
    ///
    /// The dtype cannot hold the number, or no array has the shape.
    #[track_caller]
    pub fn full(dtype: DType, shape: impl AsRef<[i64]>, number: impl Operand) -> Value {
        let number = number.operand();
        build("full", &[number], || {
            let shape = shape.as_ref();
            let value = number.at(dtype, shape)?;
            if value.dtype() != dtype {
                return Err(format!("a value of {} does not fill an array of {dtype}", value.dtype()));
            }
            value.broadcast_to_shape(shape)
        })
    }

    /// A scalar with the dtype of the Rust number: `Value::scalar(2.0f32)`.
    #[track_caller]
    #[allow(private_bounds)] // the Rust types of elements, which users know as `Element`
    pub fn scalar<T: Number>(number: T) -> Value {
        build("scalar", &[], || array(&[number], aval(T::DTYPE, &[])?))
    }

    /// Zeros of this dtype and shape (`false` for `bool`).
    #[track_caller]
    pub fn zeros(dtype: DType, shape: impl AsRef<[i64]>) -> Value {
        build("zeros", &[], || splat(zero(dtype), dtype, shape.as_ref()))
    }

    /// Ones of this dtype and shape (`true` for `bool`).
    #[track_caller]
    pub fn ones(dtype: DType, shape: impl AsRef<[i64]>) -> Value {
        build("ones", &[], || splat(one(dtype), dtype, shape.as_ref()))
    }

    /// A row-major slice as an array: `Value::constant(&[1f32, 2.0], [2])`.
    ///
    /// # Errors
    ///
    /// The shape has another number of elements than the slice.
    #[track_caller]
    #[allow(private_bounds)]
    pub fn constant<T: Number>(data: &[T], shape: impl AsRef<[i64]>) -> Value {
        build("constant", &[], || {
            let aval = aval(T::DTYPE, shape.as_ref())?;
            if data.len() != aval.len() {
                return Err(format!(
                    "{} elements do not fill the shape {}",
                    data.len(),
                    shape_text(aval.shape())
                ));
            }
            array(data, aval)
        })
    }

    /// Counts 0, 1, 2 … along an axis.
    ///
    /// # Errors
    ///
    /// The shape has no such axis, or the dtype is `bool`.
    #[track_caller]
    pub fn iota(dtype: DType, shape: impl AsRef<[i64]>, axis: i64) -> Value {
        build("iota", &[], || {
            let aval = aval(dtype, shape.as_ref())?;
            if dtype == DType::Bool {
                return Err("bool does not count".into());
            }
            let axis = super::axes::axis(axis, aval.rank())?;
            Ok(op(format!("stablehlo.iota dim = {axis}"), Types::Same, [], aval))
        })
    }
}

/// The additive identity.
pub(super) fn zero(dtype: DType) -> Scalar {
    number(dtype, 0)
}

/// The multiplicative identity.
pub(super) fn one(dtype: DType) -> Scalar {
    number(dtype, 1)
}

fn number(dtype: DType, x: u8) -> Scalar {
    match dtype {
        DType::Bool => Scalar::Bool(x == 1),
        _ => Scalar::Int(x.into()),
    }
}

/// The least value of a dtype that has an order, or the greatest: infinities for floats.
pub(super) fn extreme(dtype: DType, greatest: bool) -> Option<Scalar> {
    let sign = if greatest { 1.0 } else { -1.0 };
    Some(match dtype {
        DType::Bool => Scalar::Bool(greatest),
        _ if dtype.is_float() => Scalar::Float(f64::INFINITY * sign),
        _ => {
            let (least, most) = int_range(dtype)?;
            Scalar::Int(if greatest { most } else { least })
        }
    })
}

fn int_range(dtype: DType) -> Option<(i128, i128)> {
    let bits = dtype.size() as u32 * 8;
    match dtype {
        DType::I8 | DType::I16 | DType::I32 | DType::I64 => Some((-(1 << (bits - 1)), (1 << (bits - 1)) - 1)),
        DType::U8 | DType::U16 | DType::U32 | DType::U64 => Some((0, (1 << bits) - 1)),
        _ => None,
    }
}

/// An array of one number.
#[track_caller]
pub(super) fn splat(number: Scalar, dtype: DType, shape: &[i64]) -> Result<Value, Reason> {
    let aval = aval(dtype, shape)?;
    let mut text = String::with_capacity(40);
    text.push_str("stablehlo.constant dense<");
    literal(number, dtype, &mut text)?;
    text.push('>');
    Ok(op(text, Types::Same, [], aval))
}

/// Writes a number as an element of this dtype.
fn literal(given: Scalar, dtype: DType, out: &mut String) -> Result<(), Reason> {
    let wrong = |why: &str| Err(format!("{given} is no {dtype}{why}"));
    let number = match given {
        Scalar::Int(x) if dtype.is_float() => Scalar::Float(x as f64),
        Scalar::Int(x) if dtype.is_complex() => Scalar::Complex(x as f64, 0.0),
        Scalar::Float(x) if dtype.is_complex() => Scalar::Complex(x, 0.0),
        other => other,
    };
    match number {
        Scalar::Bool(x) if dtype == DType::Bool => out.push_str(if x { "true" } else { "false" }),
        Scalar::Int(x) if dtype.is_int() => {
            let (least, most) = int_range(dtype).expect("an integer type has a range");
            if !(least..=most).contains(&x) {
                return wrong(&format!(", which goes from {least} to {most}"));
            }
            let _ = write!(out, "{x}");
        }
        Scalar::Float(_) if dtype.is_float() => {
            if !float(exact(given), dtype, out) {
                return wrong(": it is too large");
            }
        }
        Scalar::Complex(re, im) if dtype.is_complex() => {
            let part = if dtype == DType::C64 { DType::F32 } else { DType::F64 };
            // An integer is rounded once.
            let re = if let Scalar::Int(_) = given { exact(given) } else { Exact::Float(re) };
            out.push('(');
            let re = float(re, part, out);
            out.push(',');
            let im = float(Exact::Float(im), part, out);
            out.push(')');
            if !re || !im {
                return wrong(": it is too large");
            }
        }
        Scalar::Float(_) if dtype.is_int() => return wrong("; write an integer, or `convert` the value"),
        Scalar::Bool(_) => return wrong("; write a number, or `convert` the value"),
        _ => return wrong(""),
    }
    Ok(())
}

/// The number itself, of a scalar that is an integer or a real float.
fn exact(scalar: Scalar) -> Exact {
    match scalar {
        Scalar::Int(x) => match i64::try_from(x) {
            Ok(x) => Exact::Signed(x),
            // Rust's integers beside a value have 64 bits at most.
            Err(_) => Exact::Unsigned(x as u64),
        },
        Scalar::Float(x) => Exact::Float(x),
        Scalar::Bool(_) | Scalar::Complex(..) => unreachable!("neither an integer nor a real float"),
    }
}

/// Writes a number, rounded once to a float dtype; whether it fits: a finite one has to be finite there.
///
/// The shortest decimal text of a value is read back as that value. Infinities and NaN are written by their bits, the only
/// way that MLIR has.
fn float(number: Exact, dtype: DType, out: &mut String) -> bool {
    let rounded = match dtype {
        DType::F16 => f16::from_number(number).map(|x| (u64::from(x.to_bits()), 4, x.to_f64())),
        DType::BF16 => bf16::from_number(number).map(|x| (u64::from(x.to_bits()), 4, x.to_f64())),
        DType::F32 => f32::from_number(number).map(|x| (u64::from(x.to_bits()), 8, f64::from(x))),
        _ => f64::from_number(number).map(|x| (x.to_bits(), 16, x)),
    };
    let Some((bits, width, rounded)) = rounded else { return false };
    if !rounded.is_finite() {
        let _ = write!(out, "0x{bits:0width$X}");
        return true;
    }
    let from = out.len();
    let _ =
        if dtype == DType::F64 { write!(out, "{rounded:?}") } else { write!(out, "{:?}", rounded as f32) };
    // MLIR wants a point in front of an exponent.
    if let Some(e) = out[from..].find('e').filter(|_| !out[from..].contains('.')) {
        out.insert_str(from + e, ".0");
    }
    true
}

/// A constant of these elements, with all their bits.
#[track_caller]
fn array<T: Number>(data: &[T], aval: Aval) -> Result<Value, Reason> {
    // As numbers if they are few. A NaN has bits that no number says; the bytes of booleans would have to be packed.
    let readable = data.len() <= READABLE && !data.iter().any(|x| is_nan(x.scalar()));
    let mut text = String::from("stablehlo.constant dense<");
    if data.is_empty() {
        // MLIR wants nothing here.
    } else if readable || T::DTYPE == DType::Bool {
        nested(data, aval.shape(), &mut text)?;
    } else {
        bytes(data, &mut text);
    }
    text.push('>');
    Ok(op(text, Types::Same, [], aval))
}

fn is_nan(scalar: Scalar) -> bool {
    match scalar {
        Scalar::Float(x) => x.is_nan(),
        Scalar::Complex(re, im) => re.is_nan() || im.is_nan(),
        Scalar::Bool(_) | Scalar::Int(_) => false,
    }
}

fn bytes<T: Number>(data: &[T], out: &mut String) {
    out.reserve(2 * std::mem::size_of_val(data) + 4);
    out.push_str("\"0x");
    // SAFETY: an `Element` is plain data without padding, so its bytes are initialised.
    let bytes =
        unsafe { std::slice::from_raw_parts(data.as_ptr().cast::<u8>(), std::mem::size_of_val(data)) };
    for byte in bytes {
        const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
        out.push(DIGITS[usize::from(byte >> 4)] as char);
        out.push(DIGITS[usize::from(byte & 15)] as char);
    }
    out.push('"');
}

fn nested<T: Number>(data: &[T], shape: &[i64], out: &mut String) -> Result<(), Reason> {
    let Some((&n, inner)) = shape.split_first() else { return literal(data[0].scalar(), T::DTYPE, out) };
    let stride = data.len() / n as usize;
    out.push('[');
    for (i, part) in data.chunks(stride).enumerate() {
        if i > 0 {
            out.push_str(", ");
        }
        nested(part, inner, out)?;
    }
    out.push(']');
    Ok(())
}
