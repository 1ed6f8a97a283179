//! Changes of dtype.

use super::super::make::{aval, op};
use super::super::operand::Arg;
use super::super::poison::build;
use super::super::value::{Types, Value};
use crate::{Aval, DType};

impl Value {
    /// The elements at another dtype: floats are rounded to the nearest value, a number is `true` unless it is 0, and
    /// `true` is 1. A float out of an integer's range gives whatever the device gives.
    ///
    /// # Errors
    ///
    /// A complex number to a real dtype: take `real()`, `imag()` or `abs()`.
    #[track_caller]
    pub fn convert(&self, dtype: DType) -> Value {
        build("convert", &[Arg::Value(self)], || {
            if dtype == self.dtype() {
                return Ok(self.clone());
            }
            if self.dtype().is_complex() && !dtype.is_complex() {
                return Err(format!("a complex number is no {dtype}; take `real()`, `imag()` or `abs()`"));
            }
            let result = Aval::try_new(dtype, self.shape());
            let result = result.ok_or_else(|| format!("no array of {dtype} is that large"))?;
            Ok(op("stablehlo.convert $0", Types::Function, [self], result))
        })
    }

    /// The same bits read as another dtype. A narrower dtype adds a last dimension, a wider one takes it away.
    ///
    /// # Errors
    ///
    /// A `bool` or complex dtype, or a last size that does not make up the wider dtype.
    #[track_caller]
    pub fn bitcast_convert(&self, dtype: DType) -> Value {
        build("bitcast_convert", &[Arg::Value(self)], || {
            let (from, to) = (self.dtype(), dtype);
            if from == to {
                return Ok(self.clone());
            }
            if from == DType::Bool || to == DType::Bool || from.is_complex() || to.is_complex() {
                return Err(format!("the bits of {from} are not those of {to}"));
            }
            let mut shape = self.shape().to_vec();
            if from.size() > to.size() {
                shape.push((from.size() / to.size()) as i64);
            } else if from.size() < to.size() {
                let n = (to.size() / from.size()) as i64;
                if shape.pop() != Some(n) {
                    return Err(format!("the last size has to be {n}, as many {from} as make up one {to}"));
                }
            }
            Ok(op("stablehlo.bitcast_convert $0", Types::Function, [self], aval(to, &shape)?))
        })
    }
}
