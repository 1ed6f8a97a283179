//! Fourier transforms.

use super::super::axes::{self, Axes};
use super::super::make::{aval, op};
use super::super::operand::Arg;
use super::super::poison::{Reason, build};
use super::super::value::{Types, Value};
use super::elementwise::{Takes, part};
use crate::DType;

/// As many axes as XLA transforms at once.
const AT_ONCE: usize = 3;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Fft,
    Ifft,
    Rfft,
    /// With this last size.
    Irfft(i64),
}

impl Value {
    /// The discrete Fourier transform of a complex array along these axes: `Σ x[k] exp(-2πi jk/n)`, without a factor.
    ///
    /// ```
    /// use dispatch_runtime::DType;
    /// use dispatch_runtime::graph::Value;
    ///
    /// let x = Value::ones(DType::C64, [5, 8]);
    /// assert_eq!(x.fft(-1).shape(), [5, 8]);
    /// assert_eq!(x.fft(..).ifft(..).shape(), [5, 8]);
    /// ```
    ///
    /// # Errors
    ///
    /// The array is not complex (`convert` it, or take [`rfft`](Value::rfft)), or an axis has size 0.
    #[track_caller]
    pub fn fft(&self, axes: impl Axes) -> Value {
        build("fft", &[Arg::Value(self)], || self.fourier(Kind::Fft, &axes))
    }

    /// The inverse of [`fft`](Value::fft): `1/n Σ x[k] exp(2πi jk/n)`.
    ///
    /// # Errors
    ///
    /// As [`fft`](Value::fft).
    #[track_caller]
    pub fn ifft(&self, axes: impl Axes) -> Value {
        build("ifft", &[Arg::Value(self)], || self.fourier(Kind::Ifft, &axes))
    }

    /// [`fft`](Value::fft) of a real array. Along the last of the axes named it gives the first `n/2 + 1` numbers: the
    /// others are their conjugates.
    ///
    /// ```
    /// use dispatch_runtime::DType;
    /// use dispatch_runtime::graph::Value;
    ///
    /// let x = Value::ones(DType::F32, [5, 8]);
    /// let y = x.rfft([0, 1]);
    /// assert_eq!((y.dtype(), y.shape()), (DType::C64, &[5, 5][..]));
    /// assert_eq!(y.irfft([0, 1], 8).shape(), [5, 8]);
    /// ```
    ///
    /// # Errors
    ///
    /// The dtype is neither `f32` nor `f64`, no axis is named, or one has size 0.
    #[track_caller]
    pub fn rfft(&self, axes: impl Axes) -> Value {
        build("rfft", &[Arg::Value(self)], || self.fourier(Kind::Rfft, &axes))
    }

    /// The inverse of [`rfft`](Value::rfft): a real array with size `n` along the last of the axes named.
    ///
    /// What is not the transform of a real array there, an imaginary part of the first number for one, does not count.
    ///
    /// # Errors
    ///
    /// The array is not complex, no axis is named, one has size 0, or the last one has another size than `n/2 + 1`.
    #[track_caller]
    pub fn irfft(&self, axes: impl Axes, n: i64) -> Value {
        build("irfft", &[Arg::Value(self)], || self.fourier(Kind::Irfft(n), &axes))
    }

    #[track_caller]
    fn fourier(&self, kind: Kind, axes: &impl Axes) -> Result<Value, Reason> {
        let axes = axes.list(self.rank())?;
        match (kind, self.dtype()) {
            (Kind::Rfft, DType::F32 | DType::F64) => {}
            (Kind::Rfft, other) => {
                return Err(format!("it takes f32 or f64, not {other}; `convert` the value"));
            }
            _ => Takes::COMPLEX.check(self.dtype())?,
        }
        if let Some(axis) = axes.iter().find(|&&axis| self.shape()[axis] == 0) {
            return Err(format!("axis {axis} has size 0"));
        }
        let Some(last) = axes.last() else {
            return match kind {
                Kind::Fft | Kind::Ifft => Ok(self.clone()),
                _ => Err("an axis has to be named, along which the array is real".into()),
            };
        };
        if let Kind::Irfft(n) = kind {
            let size = self.shape()[*last];
            if n < 1 || n / 2 + 1 != size {
                let [odd, even] = [2 * size - 1, 2 * size - 2];
                let sizes = if even > 0 { format!("{even} or {odd}") } else { odd.to_string() };
                return Err(format!("axis {last} of size {size} makes one of size {sizes}, not {n}"));
            }
        }
        // The real one comes first on the way there, and last on the way back.
        let (rest, with_last) = axes.split_at(axes.len().saturating_sub(AT_ONCE));
        let rest = rest.chunks(AT_ONCE);
        match kind {
            Kind::Irfft(_) => {
                let all = rest.fold(self.clone(), |x, axes| x.fourier_of(Kind::Ifft, axes));
                Ok(all.fourier_of(kind, with_last))
            }
            _ => {
                let others = if kind == Kind::Ifft { Kind::Ifft } else { Kind::Fft };
                Ok(rest.fold(self.fourier_of(kind, with_last), |x, axes| x.fourier_of(others, axes)))
            }
        }
    }

    /// One transform along as many axes as XLA takes at once; they are moved to the end, where it wants them, and back.
    #[track_caller]
    fn fourier_of(&self, kind: Kind, axes: &[usize]) -> Value {
        build("fft", &[Arg::Value(self)], || {
            let order: Vec<usize> =
                (0..self.rank()).filter(|axis| !axes.contains(axis)).chain(axes.iter().copied()).collect();
            let moved = self.in_order(&order);
            let mut lengths: Vec<i64> = axes.iter().map(|&axis| self.shape()[axis]).collect();
            let mut shape = moved.shape().to_vec();
            let last = shape.last_mut().expect("a transform has an axis");
            let (name, dtype) = match kind {
                Kind::Fft => ("FFT", self.dtype()),
                Kind::Ifft => ("IFFT", self.dtype()),
                Kind::Rfft => {
                    *last = *last / 2 + 1;
                    ("RFFT", if self.dtype() == DType::F32 { DType::C64 } else { DType::C128 })
                }
                Kind::Irfft(n) => {
                    *last = n;
                    *lengths.last_mut().expect("a transform has an axis") = n;
                    ("IRFFT", part(self.dtype()).expect("a complex number has parts"))
                }
            };
            let text = format!("stablehlo.fft $0, type = {name}, length = {}", axes::list(&lengths));
            let transformed = op(text, Types::Function, [&moved], aval(dtype, &shape)?);
            let mut back = vec![0; order.len()];
            order.iter().enumerate().for_each(|(to, &from)| back[from] = to);
            Ok(transformed.in_order(&back))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Aval;
    use crate::graph::Graph;

    #[test]
    fn a_wrong_transform_says_why() {
        let graph = Graph::new();
        let x = graph.input("x", &Aval::new(DType::F32, [2, 5]));
        let z = graph.input("z", &Aval::new(DType::C64, [2, 3, 0]));
        for (value, wanted) in [
            (x.fft(0), "`fft(x: f32[2,5])`: it takes complex numbers, not f32; `convert` the value"),
            (z.rfft(0), "`rfft(z: c64[2,3,0])`: it takes f32 or f64, not c64; `convert` the value"),
            (z.fft(..), "`fft(z: c64[2,3,0])`: axis 2 has size 0"),
            (z.ifft(3), "`ifft(z: c64[2,3,0])`: there is no axis 3 among 3 dimensions"),
            (z.ifft([0, -3]), "`ifft(z: c64[2,3,0])`: axis -3 is named twice"),
            (x.rfft([]), "`rfft(x: f32[2,5])`: an axis has to be named, along which the array is real"),
            (z.irfft(1, 3), "`irfft(z: c64[2,3,0])`: axis 1 of size 3 makes one of size 4 or 5, not 3"),
            (z.irfft(0, -1), "`irfft(z: c64[2,3,0])`: axis 0 of size 2 makes one of size 2 or 3, not -1"),
            (
                x.rfft(1).irfft([1, 0], i64::MAX),
                "`irfft(c64[2,3])`: axis 0 of size 2 makes one of size 2 or 3, not 9223372036854775807",
            ),
        ] {
            let error = value.check().unwrap_err().to_string();
            assert_eq!(error.split(", at dispatch-runtime/src/graph/ops/fft.rs:").next().unwrap(), wanted);
        }
        let y = x.rfft(0).check().unwrap().clone();
        assert_eq!((y.dtype(), y.shape()), (DType::C64, &[2, 5][..]));
        assert_eq!(z.fft([]).shape(), z.shape());
    }
}
