//! Products of the graph builder, on a real plugin.

use dispatch_runtime::graph::Value;
use dispatch_runtime::prelude::*;
use dispatch_tests::cases::Cases;

/// The numbers 1, 2, 3 …, as many as the shape has.
fn count(cases: &mut Cases, dtype: DType, shape: &[i64]) -> (Value, Vec<f64>) {
    let n = shape.iter().product::<i64>();
    let numbers: Vec<f64> = (1..=n).map(|i| i as f64).collect();
    (cases.input(dtype, &numbers, shape), numbers)
}

/// As the expected parts of numbers, which a complex one has two of.
fn parts(dtype: DType, numbers: &[f64]) -> Vec<f64> {
    match dtype.is_complex() {
        true => numbers.iter().flat_map(|&x| [x, 0.0]).collect(),
        false => numbers.to_vec(),
    }
}

#[test]
fn matmul_follows_the_rules_of_numpy_for_every_dtype() {
    let mut cases = Cases::new();
    for &dtype in DType::ALL {
        if dtype == DType::Bool {
            let a = cases.input(dtype, &[1.0, 1.0, 0.0, 1.0, 0.0, 0.0], &[3, 2]);
            let b = cases.input(dtype, &[1.0, 0.0, 1.0, 0.0], &[2, 2]);
            cases.check("matmul", &a.matmul(&b), dtype, &[3, 2], &[1.0, 0.0, 1.0, 0.0, 0.0, 0.0]);
            continue;
        }
        let (a, _) = count(&mut cases, dtype, &[2, 3]);
        let (b, _) = count(&mut cases, dtype, &[3, 2]);
        let (v, _) = count(&mut cases, dtype, &[3]);
        let mut check = |name: &str, value: Value, shape: &[i64], expected: &[f64]| {
            cases.check(name, &value, dtype, shape, &parts(dtype, expected));
        };
        check("matrices", a.matmul(&b), &[2, 2], &[22.0, 28.0, 49.0, 64.0]);
        check("a column", a.matmul(&v), &[2], &[14.0, 32.0]);
        check("a row", v.matmul(&b), &[2], &[22.0, 28.0]);
        check("vectors", v.matmul(&v), &[], &[14.0]);
        check("outer", v.outer(&v), &[3, 3], &[1.0, 2.0, 3.0, 2.0, 4.0, 6.0, 3.0, 6.0, 9.0]);
        let (none, few) = (a.slice_axis(1, 0, 0), b.slice_axis(0, 0, 0));
        check("no products", none.matmul(&few), &[2, 2], &[0.0; 4]);
        check("no rows", few.matmul(&a), &[0, 3], &[]);
    }
    cases.run();
}

#[test]
fn batch_axes_are_broadcast() {
    let mut cases = Cases::new();
    let (a, x) = count(&mut cases, DType::F64, &[2, 1, 2, 3]);
    let (b, y) = count(&mut cases, DType::F64, &[4, 3, 2]);
    let mut expected = Vec::new();
    for (i, j) in (0..2).flat_map(|i| (0..4).map(move |j| (i, j))) {
        for (m, n) in (0..2).flat_map(|m| (0..2).map(move |n| (m, n))) {
            expected.push((0..3).map(|k| x[6 * i + 3 * m + k] * y[6 * j + 2 * k + n]).sum::<f64>());
        }
    }
    cases.check("batches", &a.matmul(&b), DType::F64, &[2, 4, 2, 2], &expected);
    let ones = Value::ones(DType::F64, [4, 2, 3]);
    let sums: Vec<f64> =
        y.chunks(6).flat_map(|y| [y[0] + y[2] + y[4], y[1] + y[3] + y[5]].repeat(2)).collect();
    cases.check("equal batches", &ones.matmul(&b), DType::F64, &[4, 2, 2], &sums);
    let vector = Value::ones(DType::F64, [3]);
    let sums: Vec<f64> = y.chunks(6).flat_map(|y| [y[0] + y[2] + y[4], y[1] + y[3] + y[5]]).collect();
    cases.check("a row and a batch", &vector.matmul(&b), DType::F64, &[4, 2], &sums);
    // A size of 1 that is summed over is no broadcast one.
    let column = Value::ones(DType::F64, [5, 2, 1]).matmul(&Value::ones(DType::F64, [1, 1, 3]));
    cases.check("inner size 1", &column, DType::F64, &[5, 2, 3], &[1.0; 30]);
    cases.check("no batches", &a.slice_axis(0, 0, 0).matmul(&b), DType::F64, &[0, 4, 2, 2], &[]);
    cases.run();
}

#[test]
fn general_products_have_batch_axes_first() {
    let mut cases = Cases::new();
    let (a, x) = count(&mut cases, DType::F64, &[2, 3, 4]);
    let (b, y) = count(&mut cases, DType::F64, &[3, 4, 2]);
    let mut expected = Vec::new();
    for (i, j) in (0..3).flat_map(|i| (0..2).map(move |j| (i, j))) {
        for k in 0..2 {
            expected.push((0..4).map(|l| x[12 * j + 4 * i + l] * y[8 * i + 2 * l + k]).sum::<f64>());
        }
    }
    let product = a.dot_general(&b, (&[1], &[0]), (&[-1], &[1]));
    cases.check("dot_general", &product, DType::F64, &[3, 2, 2], &expected);
    let (two, three) = (cases.input(DType::F64, &[2.0], &[]), cases.input(DType::F64, &[3.0], &[]));
    cases.check("scalars", &two.dot(&three), DType::F64, &[], &[6.0]);
    let twice: Vec<f64> = x.iter().map(|x| 2.0 * x).collect();
    cases.check("a scalar", &two.dot(&a), DType::F64, &[2, 3, 4], &twice);
    let (v, _) = count(&mut cases, DType::F64, &[4]);
    let rows: Vec<f64> = x.chunks(4).map(|x| (0..4).map(|l| x[l] * (l + 1) as f64).sum()).collect();
    cases.check("a vector", &a.dot(&v), DType::F64, &[2, 3], &rows);
    let sums: Vec<f64> = x.chunks(4).flat_map(|x| [x.iter().sum::<f64>(); 3]).collect();
    let dot = a.dot(&Value::ones(DType::F64, [3, 4, 1]));
    cases.check("arrays", &dot, DType::F64, &[2, 3, 3, 1], &sums);
    cases.run();
}
