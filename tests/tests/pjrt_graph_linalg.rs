//! Einstein sums, sorting and linear algebra of the graph builder, on a real plugin.

use dispatch_runtime::graph::{Transpose, TriangularOptions, Value, einsum};
use dispatch_runtime::prelude::*;
use dispatch_tests::cases::Cases;

const INF: f64 = f64::INFINITY;
const NAN: f64 = f64::NAN;

/// As the expected parts of numbers, which a complex one has two of.
fn parts(dtype: DType, numbers: &[f64]) -> Vec<f64> {
    match dtype.is_complex() {
        true => numbers.iter().flat_map(|&x| [x, 0.0]).collect(),
        false => numbers.to_vec(),
    }
}

#[test]
fn einsum_sums_the_products_that_its_terms_say() {
    let mut cases = Cases::new();
    for &dtype in DType::ALL.iter().filter(|&&dtype| dtype != DType::Bool) {
        let a = cases.input(dtype, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 3]);
        let b = cases.input(dtype, &[1.0, 0.0, 2.0, 1.0], &[2, 2]);
        let v = cases.input(dtype, &[1.0, 2.0, 3.0], &[3]);
        let s = cases.input(dtype, &[2.0], &[]);
        let mut check = |terms: &str, operands: &[&Value], shape: &[i64], expected: &[f64]| {
            cases.check(terms, &einsum(terms, operands), dtype, shape, &parts(dtype, expected));
        };
        check("ij,ik->jk", &[&a, &b], &[3, 2], &[9.0, 4.0, 12.0, 5.0, 15.0, 6.0]);
        check("ji,jk,i", &[&a, &b, &v], &[2], &[78.0, 32.0]);
        check("ij,jk", &[&b, &a], &[2, 3], &[1.0, 2.0, 3.0, 6.0, 9.0, 12.0]);
        check("ba", &[&a], &[3, 2], &[1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
        check("ii", &[&b], &[], &[2.0]);
        check("i i -> i", &[&b], &[2], &[1.0, 1.0]);
        check("ij->", &[&a], &[], &[21.0]);
        check("...j,j->...", &[&a, &v], &[2], &[14.0, 32.0]);
        check("...,...", &[&a, &s], &[2, 3], &[2.0, 4.0, 6.0, 8.0, 10.0, 12.0]);
        check(",i", &[&s, &v], &[3], &[2.0, 4.0, 6.0]);
        check("ij,i...->j...", &[&b, &a], &[2, 3], &[9.0, 12.0, 15.0, 4.0, 5.0, 6.0]);
    }
    let b = cases.input(DType::Bool, &[1.0, 0.0, 0.0, 0.0], &[2, 2]);
    cases.check("or of and", &einsum("ij,jk->i", &[&b, &b]), DType::Bool, &[2], &[1.0, 0.0]);
    // Sizes of 1 behind `...` are broadcast; a letter that is summed over is not.
    let column = Value::ones(DType::F32, [4, 1, 2]);
    let row = Value::ones(DType::F32, [3, 2]);
    let sum = einsum("...k,...k", &[&column, &row]);
    cases.check("broadcast", &sum, DType::F32, &[4, 3], &[2.0; 12]);
    let cube = cases.input(DType::F64, &(0..27).map(f64::from).collect::<Vec<_>>(), &[3, 3, 3]);
    cases.check("a diagonal of space", &einsum("iii->i", &[&cube]), DType::F64, &[3], &[0.0, 13.0, 26.0]);
    cases.check(
        "a diagonal of planes",
        &einsum("iji->ji", &[&cube]),
        DType::F64,
        &[3, 3],
        &[0.0, 10.0, 20.0, 3.0, 13.0, 23.0, 6.0, 16.0, 26.0],
    );
    let none = cube.slice_axis(2, 0, 0);
    cases.check("nothing", &einsum("ijk,ijk->i", &[&none, &none]), DType::F64, &[3], &[0.0; 3]);
    cases.run();
}

#[test]
fn sorting_is_stable_and_has_nan_last() {
    let mut cases = Cases::new();
    for &dtype in DType::ALL.iter().filter(|dtype| !dtype.is_complex()) {
        let x = cases.input(dtype, &[1.0, 0.0, 1.0, 0.0, 0.0, 1.0], &[2, 3]);
        cases.check("sort", &x.sort(1), dtype, &[2, 3], &[0.0, 1.0, 1.0, 0.0, 0.0, 1.0]);
        cases.check("sort", &x.sort_descending(0), dtype, &[2, 3], &[1.0, 0.0, 1.0, 0.0, 0.0, 1.0]);
        cases.check("argsort", &x.argsort(-1), DType::I32, &[2, 3], &[1.0, 0.0, 2.0, 0.0, 1.0, 2.0]);
        let falling = x.argsort_descending(1);
        cases.check("argsort_descending", &falling, DType::I32, &[2, 3], &[0.0, 2.0, 1.0, 2.0, 0.0, 1.0]);
        let (values, places) = x.top_k(2);
        cases.check("top_k", &values, dtype, &[2, 2], &[1.0, 1.0, 1.0, 0.0]);
        cases.check("top_k", &places, DType::I32, &[2, 2], &[0.0, 2.0, 2.0, 0.0]);
        let none = x.slice_axis(1, 0, 0);
        cases.check("sort of nothing", &none.sort(1), dtype, &[2, 0], &[]);
        cases.check("argsort of nothing", &none.argsort(1), DType::I32, &[2, 0], &[]);
        cases.check("top_k of nothing", &none.top_k(0).1, DType::I32, &[2, 0], &[]);
    }
    for dtype in [DType::F16, DType::BF16, DType::F32, DType::F64] {
        let x = cases.input(dtype, &[NAN, 0.0, INF, -0.0, -INF, NAN, 2.0], &[7]);
        cases.check("sort", &x.sort(0), dtype, &[7], &[-INF, 0.0, -0.0, 2.0, INF, NAN, NAN]);
        let places = [4.0, 1.0, 3.0, 6.0, 2.0, 0.0, 5.0];
        cases.check("argsort", &x.argsort(0), DType::I32, &[7], &places);
        let letters = cases.input(DType::C64, &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &[7]);
        cases.check(
            "sort_by_key",
            &letters.sort_by_key(&x, 0),
            DType::C64,
            &[7],
            &parts(DType::C64, &places),
        );
        cases.check(
            "sort_descending",
            &x.sort_descending(0),
            dtype,
            &[7],
            &[NAN, NAN, INF, 2.0, 0.0, 0.0, -INF],
        );
        let (values, places) = x.top_k(3);
        cases.check("top_k", &values, dtype, &[3], &[NAN, NAN, INF]);
        cases.check("top_k", &places, DType::I32, &[3], &[0.0, 5.0, 2.0]);
    }
    // The sign of NaN means nothing: 0/0 gives one with a sign on some machines.
    for dtype in [DType::F16, DType::F32, DType::F64] {
        let x = cases.input(dtype, &[-NAN, -0.0, 0.0, 1.0, NAN], &[5]);
        let places = [0.0, 4.0, 3.0, 1.0, 2.0];
        cases.check("argsort_descending", &x.argsort_descending(0), DType::I32, &[5], &places);
        let (values, top) = x.top_k(5);
        cases.check("top_k", &top, DType::I32, &[5], &places);
        cases.check("signs", &values.slice(3..).recip(), dtype, &[2], &[-INF, INF]);
        cases.check("argmax", &x.argmax(0), DType::I32, &[], &[0.0]);
    }
    let x = cases.input(DType::I64, &[f64::from(i32::MIN), 5.0, -1.0], &[3, 1]);
    cases.check("sort", &x.sort(0), DType::I64, &[3, 1], &[f64::from(i32::MIN), -1.0, 5.0]);
    cases.run();
}

#[test]
fn systems_of_equations_are_solved() {
    let mut cases = Cases::new();
    let floats = [DType::F16, DType::BF16, DType::F32, DType::F64, DType::C64, DType::C128];
    for dtype in floats {
        // Above the diagonal stands what is not read.
        let spd = cases.input(dtype, &[4.0, 99.0, 2.0, 10.0], &[2, 2]);
        let mut check = |name: &str, value: &Value, shape: &[i64], expected: &[f64]| {
            cases.check(name, value, dtype, shape, &parts(dtype, expected));
        };
        check("cholesky", &spd.cholesky(), &[2, 2], &[2.0, 0.0, 1.0, 3.0]);
        let lower = spd.cholesky();
        let b = Value::full(dtype, [2, 1], 2);
        let solve = |options: TriangularOptions| lower.triangular_solve(&b, options);
        let options = TriangularOptions::default();
        check("lower", &solve(options), &[2, 1], &[1.0, 1.0 / 3.0]);
        let transposed = TriangularOptions { transpose: Transpose::Yes, ..options };
        check("transposed", &solve(transposed), &[2, 1], &[2.0 / 3.0, 2.0 / 3.0]);
        let unit = TriangularOptions { unit_diagonal: true, ..options };
        check("unit diagonal", &solve(unit), &[2, 1], &[2.0, 0.0]);
        let row = Value::full(dtype, [1, 2], 2);
        let right = TriangularOptions { left_side: false, ..options };
        check("right", &lower.triangular_solve(&row, right), &[1, 2], &[2.0 / 3.0, 2.0 / 3.0]);
        let upper = TriangularOptions { lower: false, ..options };
        check("upper", &lower.t().triangular_solve(&b, upper), &[2, 1], &[2.0 / 3.0, 2.0 / 3.0]);
        let vector = Value::full(dtype, [2], 2);
        check("a vector", &lower.triangular_solve(&vector, options), &[2], &[1.0, 1.0 / 3.0]);
        check("solve_spd", &spd.solve_spd(&vector), &[2], &[4.0 / 9.0, 1.0 / 9.0]);
        check(
            "inverse_spd",
            &spd.inverse_spd(),
            &[2, 2],
            &[10.0 / 36.0, -2.0 / 36.0, -2.0 / 36.0, 4.0 / 36.0],
        );
        let several = spd.broadcast_to([3, 2, 2]);
        check("several", &several.solve_spd(&b), &[3, 2, 1], &[4.0 / 9.0, 1.0 / 9.0].repeat(3));
        check("several vectors", &several.solve_spd(&vector), &[3, 2], &[4.0 / 9.0, 1.0 / 9.0].repeat(3));
        let none = several.slice_axis(0, 0, 0);
        check("no matrices", &none.solve_spd(&b), &[0, 2, 1], &[]);
        check("empty matrices", &Value::zeros(dtype, [2, 0, 0]).cholesky(), &[2, 0, 0], &[]);
        let real = if dtype == DType::C64 { DType::F32 } else { DType::F64 };
        let real = if dtype.is_complex() { real } else { dtype };
        cases.check("logdet_spd", &several.logdet_spd(), real, &[3], &[36f64.ln(); 3]);
        let not = cases.input(dtype, &[-1.0, 0.0, 0.0, 1.0], &[2, 2]);
        let has_nan = not.cholesky().is_nan().any(..);
        cases.check("not positive definite", &has_nan, DType::Bool, &[], &[1.0]);
        let empty = Value::zeros(dtype, [0, 0]).logdet_spd();
        cases.check("the determinant of nothing", &empty, real, &[], &[0.0]);
    }
    // With numbers that are not real, the transposed and the adjoint matrix differ.
    let a = cases.input(DType::F64, &[1.0, 0.0, 0.0, 1.0], &[2, 2]).complex(cases.input(
        DType::F64,
        &[0.0, 0.0, 1.0, 0.0],
        &[2, 2],
    ));
    let b = Value::ones(DType::C128, [2]);
    let solve = |transpose: Transpose| {
        a.triangular_solve(&b, TriangularOptions { transpose, ..TriangularOptions::default() })
    };
    cases.check("transposed", &solve(Transpose::Yes), DType::C128, &[2], &[1.0, -1.0, 1.0, 0.0]);
    cases.check("adjoint", &solve(Transpose::Adjoint), DType::C128, &[2], &[1.0, 1.0, 1.0, 0.0]);
    let spd = a.matmul(&a.t().conj());
    let back = spd.matmul(&spd.solve_spd(&b).expand_dims(-1));
    cases.check("solve_spd", &back, DType::C128, &[2, 1], &[1.0, 0.0, 1.0, 0.0]);
    cases.run();
}
