//! Reductions and normalised exponentials of the graph builder, on a real plugin.

use dispatch_runtime::CompileOptions;
use dispatch_runtime::graph::{Graph, Value, keep};
use dispatch_runtime::prelude::*;
use dispatch_tests::cases::Cases;

const INF: f64 = f64::INFINITY;
const NAN: f64 = f64::NAN;

/// The least and the greatest value of a dtype with an order.
fn range(dtype: DType) -> (f64, f64) {
    let bits = dtype.size() as i32 * 8;
    match dtype {
        DType::Bool => (0.0, 1.0),
        DType::I8 | DType::I16 | DType::I32 | DType::I64 => {
            (-(2f64.powi(bits - 1)), 2f64.powi(bits - 1) - 1.0)
        }
        _ if dtype.is_int() => (0.0, 2f64.powi(bits) - 1.0),
        _ => (-INF, INF),
    }
}

#[test]
fn reductions_of_every_dtype_give_the_numbers_of_their_definition() {
    let mut cases = Cases::new();
    for &dtype in DType::ALL {
        let x = cases.input(dtype, &[3.0, 1.0, 2.0, 0.0, 5.0, 4.0], &[2, 3]);
        let (none, one) = (cases.input(dtype, &[], &[2, 0]), cases.input(dtype, &[1.0], &[]));
        if dtype == DType::Bool {
            cases.check("all", &x.all(1), dtype, &[2], &[1.0, 0.0]);
            cases.check("any", &x.any(keep(..)), dtype, &[1, 1], &[1.0]);
            cases.check("all of nothing", &none.all(1), dtype, &[2], &[1.0; 2]);
            cases.check("any of nothing", &none.any(1), dtype, &[2], &[0.0; 2]);
            cases.check("max", &x.max(1), dtype, &[2], &[1.0, 1.0]);
            cases.check("min", &x.min(1), dtype, &[2], &[1.0, 0.0]);
            cases.check("argmin", &x.argmin(1), DType::I32, &[2], &[0.0, 0.0]);
            cases.check("argmax", &x.argmax(1), DType::I32, &[2], &[0.0, 1.0]);
            cases.check("count_nonzero", &x.count_nonzero(..), DType::I64, &[], &[5.0]);
            continue;
        }
        let numbers = |list: &[f64]| match dtype.is_complex() {
            true => list.iter().flat_map(|&x| [x, 0.0]).collect::<Vec<f64>>(),
            false => list.to_vec(),
        };
        cases.check("sum", &x.sum(1), dtype, &[2], &numbers(&[6.0, 9.0]));
        cases.check("sum", &x.sum([-1, 0]), dtype, &[], &numbers(&[15.0]));
        cases.check("sum", &x.sum(keep(0)), dtype, &[1, 3], &numbers(&[3.0, 6.0, 6.0]));
        cases.check("sum", &x.sum([]), dtype, &[2, 3], &numbers(&[3.0, 1.0, 2.0, 0.0, 5.0, 4.0]));
        cases.check("sum of a scalar", &one.sum(..), dtype, &[], &numbers(&[1.0]));
        cases.check("sum of nothing", &none.sum(1), dtype, &[2], &numbers(&[0.0; 2]));
        cases.check("no sums", &none.sum(0), dtype, &[0], &[]);
        cases.check("prod", &x.prod(1), dtype, &[2], &numbers(&[6.0, 0.0]));
        cases.check("prod of nothing", &none.prod(..), dtype, &[], &numbers(&[1.0]));
        cases.check("count_nonzero", &x.count_nonzero(1), DType::I64, &[2], &[3.0, 2.0]);
        let product = x.reduce(1, 0, |a, b| a * b);
        cases.check("reduce", &product, dtype, &[3], &numbers(&[0.0, 5.0, 8.0]));
        if !dtype.is_complex() {
            let (least, most) = range(dtype);
            cases.check("max", &x.max(1), dtype, &[2], &[3.0, 5.0]);
            cases.check("min", &x.min(keep(0)), dtype, &[1, 3], &[0.0, 1.0, 2.0]);
            cases.check("max of nothing", &none.max(1), dtype, &[2], &[least; 2]);
            cases.check("min of nothing", &none.min(1), dtype, &[2], &[most; 2]);
            cases.check("argmax", &x.argmax(1), DType::I32, &[2], &[0.0, 1.0]);
            cases.check("argmin", &x.argmin(-2), DType::I32, &[3], &[1.0, 0.0, 0.0]);
        }
        if dtype.is_float() || dtype.is_complex() {
            let real = [(DType::C64, DType::F32), (DType::C128, DType::F64)];
            let real = real.iter().find(|(from, _)| *from == dtype).map_or(dtype, |(_, to)| *to);
            cases.check("mean", &x.mean(1), dtype, &[2], &numbers(&[2.0, 3.0]));
            let part = if dtype.is_complex() { NAN } else { 0.0 };
            let nothing: Vec<f64> = numbers(&[NAN; 2]).iter().map(|x| x + part).collect();
            cases.check("mean of nothing", &none.mean(1), dtype, &[2], &nothing);
            cases.check("var", &x.var(1, 1), real, &[2], &[1.0, 7.0]);
            cases.check("std", &x.std(1, 0), real, &[2], &[(2f64 / 3.0).sqrt(), (14f64 / 3.0).sqrt()]);
            cases.check("var of one", &one.var(.., 1), real, &[], &[NAN]);
            cases.check("var of one", &one.var(.., 0), real, &[], &[0.0]);
        }
    }
    cases.run();
}

#[test]
fn sums_wrap_around_or_are_wide_as_documented() {
    let mut cases = Cases::new();
    let x = cases.input(DType::I8, &[100.0, 100.0, -128.0], &[3]);
    cases.check("sum", &x.sum(0), DType::I8, &[], &[72.0]);
    cases.check("prod", &x.prod(0), DType::I8, &[], &[0.0]);
    let ones = vec![1.0; 3001];
    for dtype in [DType::F16, DType::BF16] {
        let x = cases.input(dtype, &ones, &[3001]);
        cases.check("mean", &x.mean(..), dtype, &[], &[1.0]);
        cases.check(
            "sum",
            &x.sum(..).convert(DType::F64),
            DType::F64,
            &[],
            &[if dtype == DType::F16 { 3000.0 } else { 3008.0 }],
        );
        // 3001 squares of 100 are no f16.
        let large = (&x * 100.0).square();
        cases.check("mean", &large.mean(..), dtype, &[], &[1e4]);
    }
    // In one pass the squares would cancel.
    let x = cases.input(DType::F32, &[1e4, 1e4 + 1.0, 1e4 + 2.0], &[3]);
    cases.check("var", &x.var(0, 0), DType::F32, &[], &[2.0 / 3.0]);
    cases.run();
}

#[test]
fn nan_and_infinities_are_found() {
    let mut cases = Cases::new();
    for dtype in [DType::F16, DType::BF16, DType::F32, DType::F64] {
        let rows = [[1.0, NAN, 3.0, NAN], [-INF; 4], [INF, 0.0, INF, -INF], [0.0, -0.0, 2.0, 2.0]];
        let x = cases.input(dtype, rows.as_flattened(), &[4, 4]);
        cases.check("max", &x.max(1), dtype, &[4], &[NAN, -INF, INF, 2.0]);
        cases.check("min", &x.min(1), dtype, &[4], &[NAN, -INF, -INF, 0.0]);
        cases.check("argmax", &x.argmax(1), DType::I32, &[4], &[1.0, 0.0, 0.0, 2.0]);
        cases.check("argmin", &x.argmin(1), DType::I32, &[4], &[1.0, 0.0, 3.0, 0.0]);
        cases.check("sum", &x.sum(1), dtype, &[4], &[NAN, -INF, NAN, 4.0]);
        let last = (2.0 + 2.0 * 2f64.exp()).ln();
        cases.check("logsumexp", &x.logsumexp(1), dtype, &[4], &[NAN, -INF, INF, last]);
        let (low, high) = ((-last).exp(), (2.0 - last).exp());
        let nan = [NAN; 12];
        let with = |row: [f64; 4]| [&nan[..], &row].concat();
        cases.check("softmax", &x.softmax(1), dtype, &[4, 4], &with([low, low, high, high]));
        let (low, high) = (-last, 2.0 - last);
        cases.check("log_softmax", &x.log_softmax(-1), dtype, &[4, 4], &with([low, low, high, high]));
        let none = cases.input(dtype, &[], &[2, 0]);
        cases.check("logsumexp of nothing", &none.logsumexp(1), dtype, &[2], &[-INF; 2]);
        cases.check("softmax of nothing", &none.softmax(1), dtype, &[2, 0], &[]);
        let large = cases.input(dtype, &[2e4, 1e4], &[2]);
        cases.check("logsumexp", &large.logsumexp(keep(..)), dtype, &[1], &[2e4]);
        cases.check("softmax", &large.softmax(..), dtype, &[2], &[1.0, 0.0]);
        let scalar = cases.input(dtype, &[3.0], &[]);
        cases.check("softmax of a scalar", &scalar.softmax(..), dtype, &[], &[1.0]);
    }
    cases.run();
}

#[test]
fn activations_hold_at_the_edges() {
    let mut cases = Cases::new();
    for dtype in [DType::F16, DType::BF16, DType::F32, DType::F64] {
        let x = cases.input(dtype, &[-INF, -30.0, -1.0, 0.0, 2.0, 60.0, INF, NAN], &[8]);
        let e = 1f64.exp();
        cases.check("relu", &x.relu(), dtype, &[8], &[0.0, 0.0, 0.0, 0.0, 2.0, 60.0, INF, NAN]);
        let softplus =
            [0.0, (-30f64).exp(), (1.0 + 1.0 / e).ln(), 2f64.ln(), 2.126928011042972, 60.0, INF, NAN];
        cases.check("softplus", &x.softplus(), dtype, &[8], &softplus);
        cases.check("logaddexp", &x.logaddexp(0), dtype, &[8], &softplus);
        let twice: Vec<f64> =
            [-INF, -30.0, -1.0, 0.0, 2.0, 60.0, INF, NAN].iter().map(|x| x + 2f64.ln()).collect();
        cases.check("logaddexp", &x.logaddexp(&x), dtype, &[8], &twice);
        let elu = [-1.0, -1.0, 1.0 / e - 1.0, 0.0, 2.0, 60.0, INF, NAN];
        cases.check("elu", &x.elu(), dtype, &[8], &elu);
        let leaky = [-INF, -15.0, -0.5, 0.0, 2.0, 60.0, INF, NAN];
        cases.check("leaky_relu", &x.leaky_relu(0.5), dtype, &[8], &leaky);
        let gelu = [NAN, 0.0, -0.15865525393145707, 0.0, 1.9544997361036416, 60.0, INF, NAN];
        cases.check("gelu", &x.gelu(), dtype, &[8], &gelu);
        let silu =
            [NAN, -30.0 / (1.0 + 30f64.exp()), -1.0 / (1.0 + e), 0.0, 1.7615941559557649, 60.0, INF, NAN];
        cases.check("silu", &x.silu(), dtype, &[8], &silu);
    }
    let x = cases.input(DType::I8, &[-128.0, 3.0], &[2]);
    cases.check("relu", &x.relu(), DType::I8, &[2], &[0.0, 3.0]);
    cases.run();
}

#[test]
fn special_functions_are_those_of_the_tables() {
    let mut cases = Cases::new();
    for dtype in [DType::F16, DType::BF16, DType::F32, DType::F64] {
        let x = cases.input(dtype, &[0.5, -0.25], &[2]);
        let mut check =
            |name: &str, value: Value, expected: [f64; 2]| cases.check(name, &value, dtype, &[2], &expected);
        check("erf", x.erf(), [0.5204998778130465, -0.2763263901682369]);
        check("erfc", x.erfc(), [0.4795001221869535, 1.276326390168237]);
        check("erf_inv", x.erf_inv(), [0.4769362762044699, -0.2253120550121781]);
        check("lgamma", x.lgamma(), [0.5723649429247001, 1.5895753125511862]);
        check("digamma", x.digamma(), [-1.9635100260214235, 2.914139120213528]);
        for (name, value, function) in [
            ("sinh", x.sinh(), f64::sinh as fn(f64) -> f64),
            ("cosh", x.cosh(), f64::cosh),
            ("asin", x.asin(), f64::asin),
            ("acos", x.acos(), f64::acos),
            ("atan", x.atan(), f64::atan),
            ("asinh", x.asinh(), f64::asinh),
            ("acosh", (&x + 1).acosh(), |x| (x + 1.0).acosh()),
            ("atanh", x.atanh(), f64::atanh),
        ] {
            check(name, value, [function(0.5), function(-0.25)]);
        }
    }
    cases.run();
}

#[test]
fn cumulative_reductions_take_in_every_element_up_to_each_one() {
    let mut cases = Cases::new();
    for &dtype in DType::ALL {
        let x = cases.input(dtype, &[1.0, 0.0, 2.0, 3.0, 1.0, 2.0], &[2, 3]);
        if dtype == DType::Bool {
            cases.check("cummax", &x.cummax(1), dtype, &[2, 3], &[1.0; 6]);
            cases.check("cummin", &x.cummin(1), dtype, &[2, 3], &[1.0, 0.0, 0.0, 1.0, 1.0, 1.0]);
            continue;
        }
        let numbers = |list: &[f64]| match dtype.is_complex() {
            true => list.iter().flat_map(|&x| [x, 0.0]).collect::<Vec<f64>>(),
            false => list.to_vec(),
        };
        cases.check("cumsum", &x.cumsum(1), dtype, &[2, 3], &numbers(&[1.0, 1.0, 3.0, 3.0, 4.0, 6.0]));
        cases.check("cumsum", &x.cumsum(0), dtype, &[2, 3], &numbers(&[1.0, 0.0, 2.0, 4.0, 1.0, 4.0]));
        cases.check("cumprod", &x.cumprod(-1), dtype, &[2, 3], &numbers(&[1.0, 0.0, 0.0, 3.0, 3.0, 6.0]));
        let none = x.slice_axis(0, 0, 0);
        cases.check("cumsum of nothing", &none.cumsum(0), dtype, &[0, 3], &[]);
        cases.check("no cumsums", &none.cumsum(1), dtype, &[0, 3], &[]);
        if !dtype.is_complex() {
            cases.check("cummax", &x.cummax(1), dtype, &[2, 3], &[1.0, 1.0, 2.0, 3.0, 3.0, 3.0]);
            cases.check("cummin", &x.cummin(1), dtype, &[2, 3], &[1.0, 0.0, 0.0, 3.0, 1.0, 1.0]);
        }
        if dtype.is_float() {
            let edges = cases.input(dtype, &[-INF, 2e4, 2e4, INF, NAN, 0.0], &[6]);
            let sums = [-INF, 2e4, 2e4 + 2f64.ln(), INF, NAN, NAN];
            cases.check("cumlogsumexp", &edges.cumlogsumexp(0), dtype, &[6], &sums);
            cases.check("cummax", &edges.cummax(0), dtype, &[6], &[-INF, 2e4, 2e4, INF, NAN, NAN]);
        }
    }
    // Long enough for a tree of windows.
    let long: Vec<f64> = (0..1000).map(f64::from).collect();
    let sums: Vec<f64> = (0..1000).map(|i| f64::from(i * (i + 1) / 2)).collect();
    let x = cases.input(DType::I32, &long, &[1000]);
    cases.check("cumsum", &x.cumsum(0), DType::I32, &[1000], &sums);
    let x = cases.input(DType::F64, &long, &[1000, 1]);
    cases.check(
        "cumsum",
        &x.broadcast_to([1000, 2]).cumsum(0).sum(1),
        DType::F64,
        &[1000],
        &sums.iter().map(|x| 2.0 * x).collect::<Vec<_>>(),
    );
    cases.run();
}

#[test]
fn maxima_keep_nan_unless_compile_options_say_otherwise() {
    let graph = Graph::new();
    let [x, y] = ["x", "y"].map(|name| graph.input(name, &Aval::new(DType::F32, [8])));
    let program = graph.program(x.maximum(&y)).unwrap();
    let client = Client::cpu().unwrap();
    let [x, y] = [[1f32; 8], [f32::NAN; 8]].map(|data| client.array(&data, [8]).unwrap());
    // A map entry, field 7, of the flag's name and a message with `true` in field 2.
    let name = "xla_cpu_enable_fast_min_max";
    let entry = [&[0x0a, name.len() as u8], name.as_bytes(), &[0x12, 2, 0x10, 1]].concat();
    let fast = CompileOptions::from_proto([&[0x3a, entry.len() as u8], &*entry].concat()).unwrap();
    let exact = CompileOptions::default();
    for (options, nan) in [(None, true), (Some(exact), true), (Some(fast), false)] {
        let executable = match &options {
            None => client.compile(&program),
            Some(options) => client.compile_with(&program, client.default_device(), options),
        };
        let results = executable.unwrap().execute(&[&x, &y]).unwrap();
        let all_nan = results[0].to_vec::<f32>().unwrap().iter().all(|x| x.is_nan());
        assert_eq!(all_nan, nan, "{options:?}");
    }
}
