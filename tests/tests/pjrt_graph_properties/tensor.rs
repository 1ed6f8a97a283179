//! Arrays of the reference interpreter: exact numbers, one after the other, at a dtype that they are wrapped or rounded to.

use dispatch_runtime::prelude::*;
use half::{bf16, f16};

/// An element. A truth value is 0 or 1.
#[derive(Clone, Copy, Debug)]
pub enum Num {
    Int(i128),
    Float(f64),
}

use Num::{Float, Int};

#[derive(Clone, Debug)]
pub struct Tensor {
    pub dtype: DType,
    pub shape: Vec<i64>,
    pub data: Vec<Num>,
}

/// The result is not exact: compilers may round differently, so no program of these tests has it.
#[derive(Debug)]
pub struct Inexact;

impl Num {
    pub fn int(self) -> i128 {
        match self {
            Int(x) => x,
            Float(x) => x as i128,
        }
    }

    pub fn float(self) -> f64 {
        match self {
            Int(x) => x as f64,
            Float(x) => x,
        }
    }

    pub fn is_true(self) -> bool {
        self.int() != 0
    }

    /// An integer wrapped to a dtype; a float that has to be one of the dtype.
    pub fn at(self, dtype: DType) -> Result<Num, Inexact> {
        let bits = 8 * dtype.size() as u32;
        Ok(match self {
            Int(x) if dtype == DType::Bool => Int(i128::from(x != 0)),
            Int(x) => {
                let low = x & ((1 << bits) - 1);
                Int(if is_signed(dtype) && low >> (bits - 1) == 1 { low - (1 << bits) } else { low })
            }
            Float(x) => {
                let (rounded, least) = match dtype {
                    DType::F16 => (f16::from_f64(x).to_f64(), 6.2e-5),
                    DType::BF16 => (bf16::from_f64(x).to_f64(), 1.2e-38),
                    DType::F32 => (f64::from(x as f32), 1.2e-38),
                    _ => (x, 2.3e-308),
                };
                let exact = x.is_nan() || rounded == x && (x == 0.0 || x.abs() >= least);
                // Sums of sums stay exact too.
                let small = !x.is_finite() || x.abs() < if dtype == DType::F64 { 1e15 } else { 1e6 };
                if exact && small { Float(rounded) } else { return Err(Inexact) }
            }
        })
    }
}

pub fn is_signed(dtype: DType) -> bool {
    matches!(dtype, DType::I8 | DType::I16 | DType::I32 | DType::I64)
}

impl Tensor {
    /// Elements by their indices, wrapped or rounded.
    pub fn make(dtype: DType, shape: &[i64], mut at: impl FnMut(&[i64]) -> Num) -> Result<Tensor, Inexact> {
        let n: i64 = shape.iter().product();
        let data: Result<Vec<Num>, Inexact> = (0..n).map(|i| at(&indices(i, shape)).at(dtype)).collect();
        Ok(Tensor { dtype, shape: shape.to_vec(), data: data? })
    }

    pub fn scalar(dtype: DType, x: Num) -> Tensor {
        Tensor { dtype, shape: Vec::new(), data: vec![x] }
    }

    pub fn get(&self, index: &[i64]) -> Num {
        let place = index.iter().zip(&self.shape).fold(0, |place, (i, n)| place * n + i);
        self.data[place as usize]
    }

    /// The element that stands there when the array is broadcast.
    pub fn broadcast(&self, index: &[i64]) -> Num {
        let index = &index[index.len() - self.shape.len()..];
        let index: Vec<i64> =
            index.iter().zip(&self.shape).map(|(i, n)| if *n == 1 { 0 } else { *i }).collect();
        self.get(&index)
    }

    pub fn aval(&self) -> Aval {
        Aval::new(self.dtype, &self.shape)
    }

    pub fn to_host(&self) -> HostArray {
        use dispatch_tests::with_element;
        trait From_ {
            fn of(x: Num) -> Self;
        }
        macro_rules! ints {
            ($($t:ty)*) => { $(impl From_ for $t { fn of(x: Num) -> $t { x.int() as $t } })* };
        }
        ints! { i8 i16 i32 i64 u8 u16 u32 u64 }
        impl From_ for bool {
            fn of(x: Num) -> bool {
                x.is_true()
            }
        }
        macro_rules! floats {
            ($($t:ty: $from:expr;)*) => { $(impl From_ for $t { fn of(x: Num) -> $t { $from(x.float()) } })* };
        }
        floats! {
            f16: f16::from_f64;
            bf16: bf16::from_f64;
            f32: |x| x as f32;
            f64: |x| x;
            num_complex::Complex<f32>: |x| num_complex::Complex::new(x as f32, 0.0);
            num_complex::Complex<f64>: |x| num_complex::Complex::new(x, 0.0);
        }
        with_element!(self.dtype, T => {
            let data: Vec<T> = self.data.iter().map(|&x| T::of(x)).collect();
            HostArray::new(data, &self.shape).unwrap()
        })
    }

    /// Whether an array is this one. NaN is NaN, and zeros are alike.
    pub fn is(&self, got: &HostArray) -> bool {
        if got.aval() != self.aval() {
            return false;
        }
        let own = self.to_host();
        macro_rules! equal {
            ($($t:ty),*) => {
                match self.dtype {
                    $(<$t as Element>::DTYPE => {
                        let (a, b) = (own.as_slice::<$t>().unwrap(), got.as_slice::<$t>().unwrap());
                        // Only NaN is not itself.
                        #[allow(clippy::eq_op)]
                        a.iter().zip(b).all(|(a, b)| a == b || a != a && b != b)
                    })*
                    other => unreachable!("no random program has {other}"),
                }
            };
        }
        equal!(bool, i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64)
    }
}

/// Where the `i`th element stands.
pub fn indices(mut i: i64, shape: &[i64]) -> Vec<i64> {
    let mut index = vec![0; shape.len()];
    for (place, n) in index.iter_mut().zip(shape).rev() {
        *place = i % n;
        i /= n;
    }
    index
}
