//! Element types.

use std::fmt;
use std::str::FromStr;

use crate::Error;

macro_rules! dtypes {
    ($($variant:ident = $code:literal, $rust:literal, $r:literal, $mlir:literal, $size:literal, $about:literal;)*) => {
        /// The element type of an array.
        ///
        /// Printing a `DType` gives the name that R users see (`ui8` for [`DType::U8`]); [`DType::name`] gives the
        /// name of the signature language (`u8`) and [`DType::mlir`] the StableHLO element type.
        ///
        /// ```
        /// use dispatch_runtime::DType;
        ///
        /// assert_eq!(DType::U8.to_string(), "ui8");
        /// assert_eq!(DType::U8.name(), "u8");
        /// assert_eq!(DType::C64.mlir(), "complex<f32>");
        /// assert_eq!("bf16".parse::<DType>()?, DType::BF16);
        /// # Ok::<(), dispatch_runtime::Error>(())
        /// ```
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum DType {
            $(#[doc = $about] $variant = $code,)*
        }

        impl DType {
            /// Every element type, in the order of their codes.
            pub const ALL: &'static [DType] = &[$(DType::$variant,)*];

            /// The name in the signature language and in Rust: `u8`, `f32`, `c64`.
            pub const fn name(self) -> &'static str {
                match self { $(DType::$variant => $rust,)* }
            }

            /// The name that R users see: `ui8` where Rust says `u8`, otherwise the same as [`DType::name`].
            pub const fn r_name(self) -> &'static str {
                match self { $(DType::$variant => $r,)* }
            }

            /// The StableHLO element type: `i1` for `bool`, `complex<f32>` for `c64`.
            pub const fn mlir(self) -> &'static str {
                match self { $(DType::$variant => $mlir,)* }
            }

            /// Bytes of one element in memory; a `bool` takes one.
            pub const fn size(self) -> usize {
                match self { $(DType::$variant => $size,)* }
            }
        }
    };
}

// The codes are ours and part of every key: append, never renumber.
dtypes! {
    Bool = 1, "bool", "bool", "i1", 1, "Booleans, one byte each.";
    I8 = 2, "i8", "i8", "i8", 1, "8-bit signed integers.";
    I16 = 3, "i16", "i16", "i16", 2, "16-bit signed integers.";
    I32 = 4, "i32", "i32", "i32", 4, "32-bit signed integers.";
    I64 = 5, "i64", "i64", "i64", 8, "64-bit signed integers.";
    U8 = 6, "u8", "ui8", "ui8", 1, "8-bit unsigned integers.";
    U16 = 7, "u16", "ui16", "ui16", 2, "16-bit unsigned integers.";
    U32 = 8, "u32", "ui32", "ui32", 4, "32-bit unsigned integers.";
    U64 = 9, "u64", "ui64", "ui64", 8, "64-bit unsigned integers.";
    F16 = 10, "f16", "f16", "f16", 2, "IEEE half precision, [`half::f16`].";
    BF16 = 11, "bf16", "bf16", "bf16", 2, "Brain floats, [`half::bf16`].";
    F32 = 12, "f32", "f32", "f32", 4, "Single precision.";
    F64 = 13, "f64", "f64", "f64", 8, "Double precision.";
    C64 = 14, "c64", "c64", "complex<f32>", 8, "Complex numbers of two `f32`, [`num_complex::Complex32`].";
    C128 = 15, "c128", "c128", "complex<f64>", 16, "Complex numbers of two `f64`, [`num_complex::Complex64`].";
}

impl DType {
    /// The bytes that an element's address is a multiple of, as its Rust type demands.
    pub const fn align(self) -> usize {
        match self.is_complex() {
            // Two floats in a row.
            true => self.size() / 2,
            false => self.size(),
        }
    }

    /// Whether this is one of `f16`, `bf16`, `f32`, `f64` (the class `float` of the signature language).
    pub const fn is_float(self) -> bool {
        matches!(self, DType::F16 | DType::BF16 | DType::F32 | DType::F64)
    }

    /// Whether this is a signed or unsigned integer type (the class `int` of the signature language).
    pub const fn is_int(self) -> bool {
        self as u8 >= DType::I8 as u8 && self as u8 <= DType::U64 as u8
    }

    /// Whether this is `c64` or `c128`.
    pub const fn is_complex(self) -> bool {
        matches!(self, DType::C64 | DType::C128)
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.r_name())
    }
}

impl fmt::Debug for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for DType {
    type Err = Error;

    /// Reads a name of either language: `u8` and `ui8` are the same type.
    fn from_str(name: &str) -> Result<Self, Error> {
        DType::ALL
            .iter()
            .copied()
            .find(|d| d.name() == name || d.r_name() == name)
            .ok_or_else(|| Error::UnknownDType { name: name.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_reads_back() {
        for &d in DType::ALL {
            assert_eq!(d.name().parse::<DType>().unwrap(), d);
            assert_eq!(d.to_string().parse::<DType>().unwrap(), d);
        }
        assert_eq!("f33".parse::<DType>().unwrap_err().code(), "unknown_dtype");
    }

    #[test]
    fn classes_are_disjoint_and_leave_bool_out() {
        for &d in DType::ALL {
            let n = d.is_float() as u8 + d.is_int() as u8 + d.is_complex() as u8;
            assert_eq!(n, (d != DType::Bool) as u8, "{d}");
        }
    }
}
