//! What conversions must give, computed slowly and in another way: decimal digits, tables and wide integers.

use crate::DType;

/// The value of an element.
#[derive(Clone, Copy, Debug)]
pub(super) enum Exact {
    Int(i128),
    Real(f64),
    Complex(f64, f64),
}

impl Exact {
    /// The same value with the same sign of zero; all NaN are one.
    pub(super) fn same(self, other: Exact) -> bool {
        let real = |a: f64, b: f64| a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan());
        match (self, other) {
            (Exact::Int(a), Exact::Int(b)) => a == b,
            (Exact::Real(a), Exact::Real(b)) => real(a, b),
            (Exact::Complex(a, b), Exact::Complex(c, d)) => real(a, c) && real(b, d),
            _ => false,
        }
    }
}

/// The value of an element whose bytes are the first of a word.
pub(super) fn exact(dtype: DType, element: u128) -> Exact {
    let bytes = element.to_ne_bytes();
    macro_rules! read {
        ($t:ty, $at:expr) => {
            <$t>::from_ne_bytes(bytes[$at..$at + size_of::<$t>()].try_into().unwrap())
        };
    }
    match dtype {
        DType::Bool => Exact::Int(i128::from(bytes[0])),
        DType::I8 => Exact::Int(read!(i8, 0).into()),
        DType::I16 => Exact::Int(read!(i16, 0).into()),
        DType::I32 => Exact::Int(read!(i32, 0).into()),
        DType::I64 => Exact::Int(read!(i64, 0).into()),
        DType::U8 => Exact::Int(read!(u8, 0).into()),
        DType::U16 => Exact::Int(read!(u16, 0).into()),
        DType::U32 => Exact::Int(read!(u32, 0).into()),
        DType::U64 => Exact::Int(read!(u64, 0).into()),
        DType::F16 | DType::BF16 => Exact::Real(half(dtype, read!(u16, 0))),
        DType::F32 => Exact::Real(read!(f32, 0).into()),
        DType::F64 => Exact::Real(read!(f64, 0)),
        DType::C64 => Exact::Complex(read!(f32, 0).into(), read!(f32, 4).into()),
        DType::C128 => Exact::Complex(read!(f64, 0), read!(f64, 8)),
    }
}

/// What an element of the dtype must be for a value; none where it must be refused.
pub(super) fn expected(value: Exact, to: DType) -> Option<Exact> {
    Some(match (value, to) {
        (Exact::Complex(re, im), DType::C64) => Exact::Complex(real_to_f32(re)?, real_to_f32(im)?),
        (Exact::Complex(re, im), DType::C128) => Exact::Complex(re, im),
        (Exact::Complex(..), _) => return None,
        (real, DType::C64) => Exact::Complex(to_float(real, DType::F32)?, 0.0),
        (real, DType::C128) => Exact::Complex(to_float(real, DType::F64)?, 0.0),
        (real, DType::F16 | DType::BF16 | DType::F32 | DType::F64) => Exact::Real(to_float(real, to)?),
        (Exact::Int(i), _) => Exact::Int(in_range(i, to)?),
        (Exact::Real(x), _) if x.is_finite() && x.fract() == 0.0 => {
            // What does not fit into 128 bits fits into no dtype.
            Exact::Int(in_range(format!("{x:.0}").parse().ok()?, to)?)
        }
        (Exact::Real(_), _) => return None,
    })
}

fn in_range(i: i128, to: DType) -> Option<i128> {
    let bits = 8 * to.size() as u32;
    let (min, max) = match to {
        DType::Bool => (0, 1),
        DType::U8 | DType::U16 | DType::U32 | DType::U64 => (0, (1 << bits) - 1),
        _ => (-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
    };
    (min..=max).contains(&i).then_some(i)
}

fn to_float(value: Exact, to: DType) -> Option<f64> {
    match (value, to) {
        // The standard library reads decimal numbers with one correct rounding.
        (Exact::Int(i), DType::F64) => Some(i.to_string().parse().unwrap()),
        (Exact::Int(i), DType::F32) => Some(i.to_string().parse::<f32>().unwrap().into()),
        (Exact::Real(x), DType::F64) => Some(x),
        (Exact::Real(x), DType::F32) => real_to_f32(x),
        (Exact::Int(i), _) => {
            let nearest = nearest_half(to, |v| compare_int(v, i.unsigned_abs()))?;
            Some(if i < 0 { -nearest } else { nearest })
        }
        (Exact::Real(x), _) if x.is_finite() => {
            let nearest = nearest_half(to, |v| v.partial_cmp(&x.abs()).unwrap())?;
            Some(nearest.copysign(x))
        }
        (Exact::Real(x), _) => Some(x),
        (Exact::Complex(..), _) => unreachable!("complex numbers are not converted to real ones"),
    }
}

fn real_to_f32(x: f64) -> Option<f64> {
    if f64::from(x as f32) == x || x.is_nan() {
        return Some(x);
    }
    // All digits of the number: the shortest ones that identify it may be on the other side of a tie.
    let y: f32 = format!("{x:.1074}").parse().unwrap();
    y.is_finite().then_some(y.into())
}

/// The value of a half by its definition.
fn half(dtype: DType, bits: u16) -> f64 {
    let (mantissa, bias) = if dtype == DType::F16 { (10, 15) } else { (7, 127) };
    let field = i32::from(bits >> mantissa & ((1 << (15 - mantissa)) - 1));
    let fraction = f64::from(bits & ((1 << mantissa) - 1)) / f64::from(1 << mantissa);
    let magnitude = match field {
        0 => fraction * 2f64.powi(1 - bias),
        _ if field == 2 * bias + 1 && fraction == 0.0 => f64::INFINITY,
        _ if field == 2 * bias + 1 => f64::NAN,
        _ => (1.0 + fraction) * 2f64.powi(field - bias),
    };
    if bits >> 15 == 1 { -magnitude } else { magnitude }
}

/// All values from 0 on in order of their bits, and behind them the one that would be next if it were not infinite.
pub(super) fn halves(dtype: DType) -> &'static [f64] {
    use std::sync::LazyLock;
    static F16: LazyLock<Vec<f64>> = LazyLock::new(|| all(DType::F16, 0x7C00, 2f64.powi(16)));
    static BF16: LazyLock<Vec<f64>> = LazyLock::new(|| all(DType::BF16, 0x7F80, 2f64.powi(128)));
    fn all(dtype: DType, end: u16, next: f64) -> Vec<f64> {
        (0..end).map(|bits| half(dtype, bits)).chain([next]).collect()
    }
    if dtype == DType::F16 { &F16 } else { &BF16 }
}

/// The half nearest to a magnitude that is given by how others compare with it; none if that is infinity.
fn nearest_half(dtype: DType, compare: impl Fn(f64) -> std::cmp::Ordering) -> Option<f64> {
    use std::cmp::Ordering::{Equal, Greater, Less};
    let values = halves(dtype);
    let above = values.partition_point(|&v| compare(v) != Greater);
    let below = above - 1;
    if compare(values[below]) == Equal && above < values.len() {
        return Some(values[below]);
    }
    if above == values.len() {
        return None;
    }
    let chosen = match compare((values[below] + values[above]) / 2.0) {
        Greater => below,
        Less => above,
        Equal => below + below % 2,
    };
    (chosen + 1 < values.len()).then(|| values[chosen])
}

/// Compares a float that is not negative with an integer, both exactly.
fn compare_int(v: f64, i: u128) -> std::cmp::Ordering {
    // The cast is exact for the whole part, saturating beyond any integer that comes here.
    (v as u128).cmp(&i).then(if v.fract() > 0.0 {
        std::cmp::Ordering::Greater
    } else {
        std::cmp::Ordering::Equal
    })
}
