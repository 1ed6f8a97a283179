//! Values of the graph builder and what they should be, many of them in one program: compiling one costs 25 ms.

use dispatch_runtime::graph::{Graph, Value};
use dispatch_runtime::prelude::*;

use crate::loaded::same_when_loaded;
use dispatch_runtime::ResultTree;

/// A program whose results are compared with numbers.
///
/// Inputs come as arguments, so that XLA's constant folding computes nothing ahead.
pub struct Cases {
    graph: Graph,
    inputs: Vec<HostArray>,
    cases: Vec<Case>,
}

struct Case {
    name: String,
    value: Value,
    expected: Vec<f64>,
    tolerance: f64,
}

/// As many results as there are; [`Cases::run`] takes them from the executable, not from a call.
struct All(Vec<Value>);

impl ResultTree<Value> for All {
    type Arrays = Array;

    fn leaves(self, leaves: &mut Vec<Value>) {
        leaves.extend(self.0);
    }
}

impl Default for Cases {
    fn default() -> Cases {
        Cases::new()
    }
}

impl Cases {
    /// No inputs and no results yet.
    pub fn new() -> Cases {
        Cases { graph: Graph::new(), inputs: Vec::new(), cases: Vec::new() }
    }

    /// An argument of the program, converted to a dtype.
    pub fn input(&mut self, dtype: DType, data: &[f64], shape: &[i64]) -> Value {
        let name = format!("x{}", self.inputs.len());
        self.inputs.push(HostArray::new(data, shape).unwrap());
        self.graph.input(name, &Aval::new(DType::F64, shape)).convert(dtype)
    }

    /// A value, its dtype and shape, and its elements row by row; the parts of complex numbers follow each other.
    pub fn check(&mut self, name: &str, value: &Value, dtype: DType, shape: &[i64], expected: &[f64]) {
        value.check().unwrap();
        assert_eq!((value.dtype(), value.shape()), (dtype, shape), "{name}");
        let tolerance = match dtype {
            DType::BF16 => 1e-2,
            DType::F16 => 1e-3,
            DType::F32 | DType::C64 => 1e-6,
            DType::F64 | DType::C128 => 1e-13,
            _ => 0.0,
        };
        let mut case = |name: String, value: Value, expected: Vec<f64>| {
            self.cases.push(Case { name, value: value.convert(DType::F64), expected, tolerance });
        };
        if dtype.is_complex() {
            let part = |i: usize| expected.iter().skip(i).step_by(2).copied().collect();
            case(format!("real part of {name} of {dtype}"), value.real(), part(0));
            case(format!("imaginary part of {name} of {dtype}"), value.imag(), part(1));
        } else {
            case(format!("{name} of {dtype}"), value.clone(), expected.to_vec());
        }
    }

    /// Compiles the program, runs it, and compares every result.
    pub fn run(self) {
        let values: Vec<Value> = self.cases.iter().map(|case| case.value.clone()).collect();
        let program = self.graph.program(All(values)).unwrap();
        let client = Client::cpu().unwrap();
        let executable = client.compile(&program).unwrap();
        let device = client.default_device();
        let inputs: Vec<Array> =
            self.inputs.iter().map(|input| client.upload(input.view(), device).unwrap()).collect();
        let results = executable.execute(&inputs.iter().collect::<Vec<_>>()).unwrap();
        same_when_loaded(&program, &executable, &inputs, &results);
        let mut wrong = Vec::new();
        for (case, result) in self.cases.iter().zip(&results) {
            let got = result.to_vec::<f64>().unwrap();
            let equal = |(got, expected): (&f64, &f64)| {
                got == expected
                    || (got.is_nan() && expected.is_nan())
                    || (got - expected).abs() <= case.tolerance * expected.abs().max(1.0)
            };
            if got.len() != case.expected.len() || !got.iter().zip(&case.expected).all(equal) {
                wrong.push(format!("{}: {got:?} instead of {:?}", case.name, case.expected));
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}
