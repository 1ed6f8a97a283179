//! Programs of the builder with any number of results, and arrays as bytes.

use dispatch_runtime::graph::{Graph, Value};
use dispatch_runtime::prelude::*;
use dispatch_runtime::tree::ResultTree;
use half::{bf16, f16};
use num_complex::Complex;

use crate::loaded::same_when_loaded;

/// As many results as there are.
pub struct Results(pub Vec<Value>);

impl ResultTree<Value> for Results {
    type Arrays = ();

    fn leaves(self, leaves: &mut Vec<Value>) {
        leaves.extend(self.0);
    }
}

/// Compiles a program of these values and runs it once.
pub fn run(client: Client, graph: &Graph, values: Vec<Value>, args: &[&HostArray]) -> Result<Vec<HostArray>> {
    let program = graph.program(Results(values))?;
    let executable = client.compile(&program)?;
    let args: Result<Vec<Array>> =
        args.iter().map(|arg| client.upload(arg.view(), client.default_device())).collect();
    let args = args?;
    let results = executable.execute(&args.iter().collect::<Vec<_>>())?;
    if client.platform() == "cpu" {
        same_when_loaded(&program, &executable, &args, &results);
    }
    results.iter().map(to_host).collect()
}

/// Does the same with the Rust type `T` of a dtype.
#[macro_export]
macro_rules! with_element {
    ($dtype:expr, $t:ident => $body:expr) => {{
        macro_rules! arm {
            ($rust:ty) => {{
                type $t = $rust;
                $body
            }};
        }
        match $dtype {
            DType::Bool => arm!(bool),
            DType::I8 => arm!(i8),
            DType::I16 => arm!(i16),
            DType::I32 => arm!(i32),
            DType::I64 => arm!(i64),
            DType::U8 => arm!(u8),
            DType::U16 => arm!(u16),
            DType::U32 => arm!(u32),
            DType::U64 => arm!(u64),
            DType::F16 => arm!(half::f16),
            DType::BF16 => arm!(half::bf16),
            DType::F32 => arm!(f32),
            DType::F64 => arm!(f64),
            DType::C64 => arm!(num_complex::Complex<f32>),
            DType::C128 => arm!(num_complex::Complex<f64>),
        }
    }};
}

/// Copies an array from its device.
pub fn to_host(array: &Array) -> Result<HostArray> {
    with_element!(array.dtype(), T => HostArray::new(array.to_vec::<T>()?, array.shape()))
}

/// An array from its elements' bytes, little-endian and row-major.
pub fn from_bytes(dtype: DType, shape: &[i64], bytes: &[u8]) -> Result<HostArray> {
    with_element!(dtype, T => {
        let elements: Vec<T> = bytes.chunks_exact(dtype.size()).map(T::read_le).collect();
        HostArray::new(elements, shape)
    })
}

/// An element from its bytes.
pub trait ReadLe {
    /// Reads as many bytes as the element has, little-endian.
    fn read_le(bytes: &[u8]) -> Self;
}

macro_rules! read_le {
    ($($rust:ty)*) => {
        $(impl ReadLe for $rust {
            fn read_le(bytes: &[u8]) -> $rust {
                <$rust>::from_le_bytes(bytes.try_into().expect("as many bytes as the element has"))
            }
        })*
    };
}

read_le! { i8 i16 i32 i64 u8 u16 u32 u64 f16 bf16 f32 f64 }

impl ReadLe for bool {
    fn read_le(bytes: &[u8]) -> bool {
        bytes != [0]
    }
}

impl<T: ReadLe> ReadLe for Complex<T> {
    fn read_le(bytes: &[u8]) -> Complex<T> {
        let (re, im) = bytes.split_at(bytes.len() / 2);
        Complex::new(T::read_le(re), T::read_le(im))
    }
}
