//! What a number of R becomes in another element type; the rules are at the head of `upload.rs`.

use crate::ffi::NA_INTEGER;
use crate::make::na_real;

/// A cast that never fails.
pub(super) trait Cast<T> {
    fn cast(self) -> T;
}

macro_rules! casts {
    ($($type:ty),*) => {$(
        impl Cast<$type> for f64 {
            #[inline(always)]
            fn cast(self) -> $type {
                self as $type
            }
        }
        impl Cast<$type> for i32 {
            #[inline(always)]
            fn cast(self) -> $type {
                self.clamp_into()
            }
        }
        impl Cast<$type> for i64 {
            #[inline(always)]
            fn cast(self) -> $type {
                self.clamp_into()
            }
        }
    )*};
}

/// An integer as the nearest one of another type.
trait ClampInto<T> {
    fn clamp_into(self) -> T;
}

macro_rules! clamps {
    ($from:ty => $($type:ty),*) => {$(
        impl ClampInto<$type> for $from {
            #[inline(always)]
            fn clamp_into(self) -> $type {
                (self as i128).clamp(<$type>::MIN as i128, <$type>::MAX as i128) as $type
            }
        }
    )*};
}

casts!(i8, i16, i32, i64, u8, u16, u32, u64);
clamps!(i32 => i8, i16, i32, u8, u16, u32, u64);
clamps!(i64 => i8, i16, i32, i64, u8, u16, u32, u64);

/// What is missing stays so: `i64` has an `NA` of its own.
impl ClampInto<i64> for i32 {
    #[inline(always)]
    fn clamp_into(self) -> i64 {
        if self == NA_INTEGER { i64::MIN } else { self.into() }
    }
}

impl Cast<f64> for f64 {
    #[inline(always)]
    fn cast(self) -> f64 {
        self
    }
}

impl Cast<f64> for i32 {
    #[inline(always)]
    fn cast(self) -> f64 {
        if self == NA_INTEGER { na_real() } else { self.into() }
    }
}

impl Cast<f64> for i64 {
    #[inline(always)]
    fn cast(self) -> f64 {
        if self == i64::MIN { na_real() } else { self as f64 }
    }
}

impl Cast<f32> for f64 {
    #[inline(always)]
    fn cast(self) -> f32 {
        self as f32
    }
}

impl Cast<f32> for i32 {
    #[inline(always)]
    fn cast(self) -> f32 {
        if self == NA_INTEGER { f32::NAN } else { self as f32 }
    }
}

impl Cast<f32> for i64 {
    #[inline(always)]
    fn cast(self) -> f32 {
        if self == i64::MIN { f32::NAN } else { self as f32 }
    }
}

/// A float on the way to a shorter one: where it is not the number itself, it is the next one toward zero with its last
/// bit set. So the number is rounded only once, when the shorter float is made; half a step of that is told apart from a
/// little more and a little less.
#[derive(Clone, Copy)]
struct Sticky(f32);

impl Cast<Sticky> for f64 {
    #[inline(always)]
    fn cast(self) -> Sticky {
        let near = self as f32;
        if f64::from(near) == self || self.is_nan() {
            return Sticky(near);
        }
        let beyond = f64::from(near).abs() > self.abs();
        Sticky(f32::from_bits((near.to_bits() - u32::from(beyond)) | 1))
    }
}

impl Cast<Sticky> for i32 {
    #[inline(always)]
    fn cast(self) -> Sticky {
        Cast::<f64>::cast(self).cast()
    }
}

impl Cast<Sticky> for i64 {
    #[inline(always)]
    fn cast(self) -> Sticky {
        // Of 64 bits a double holds 53; the last of those says whether there is anything in the rest.
        const REST: u64 = (1 << 11) - 1;
        let size = self.unsigned_abs();
        let head = size & !REST | u64::from(size & REST != 0) << 11;
        let exact = if size < 1 << 53 { size as f64 } else { head as f64 };
        if self == i64::MIN { Sticky(f32::NAN) } else { exact.copysign(self as f64).cast() }
    }
}

macro_rules! by_way_of {
    ($($through:ty: $type:ty => $from:expr),*) => {$(
        impl<S: Cast<$through>> Cast<$type> for S {
            #[inline(always)]
            fn cast(self) -> $type {
                $from(self.cast())
            }
        }
    )*};
}

by_way_of!(
    Sticky: half::f16 => |x: Sticky| half::f16::from_f32(x.0),
    Sticky: half::bf16 => |x: Sticky| half::bf16::from_f32(x.0),
    f64: bool => |x: f64| x != 0.0,
    f32: num_complex::Complex<f32> => |re: f32| num_complex::Complex { re, im: 0.0 },
    f64: num_complex::Complex<f64> => |re: f64| num_complex::Complex { re, im: 0.0 }
);
