//! The Rust types of array elements.

use half::{bf16, f16};
use num_complex::Complex;

use crate::DType;

/// A Rust type that is the element type of an array: `bool`, the integers, [`half::f16`], [`half::bf16`], `f32`,
/// `f64`, and [`num_complex::Complex`] of `f32` or `f64`.
///
/// # Safety
///
/// The type is plain data without padding, its size is that of [`Element::DTYPE`], and all-zero bytes are a value.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not the element type of an array",
    label = "not an element type",
    note = "element types are bool, i8 to i64, u8 to u64, f32, f64, half::f16, half::bf16 and num_complex::Complex<f32 or f64>"
)]
pub unsafe trait Element: Copy + Send + Sync + 'static {
    /// The dtype.
    const DTYPE: DType;
}

macro_rules! elements {
    ($($rust:ty = $dtype:ident;)*) => {
        $(
            // SAFETY: plain data of the size that the assertion below compares; zero is a value of each.
            unsafe impl Element for $rust {
                const DTYPE: DType = DType::$dtype;
            }
            const _: () = assert!(size_of::<$rust>() == DType::$dtype.size());
            const _: () = assert!(align_of::<$rust>() == DType::$dtype.align());
        )*
    };
}

elements! {
    bool = Bool;
    i8 = I8;
    i16 = I16;
    i32 = I32;
    i64 = I64;
    u8 = U8;
    u16 = U16;
    u32 = U32;
    u64 = U64;
    f16 = F16;
    bf16 = BF16;
    f32 = F32;
    f64 = F64;
    Complex<f32> = C64;
    Complex<f64> = C128;
}
