use super::*;
use crate::graph::Graph;

fn reason(value: &Value) -> String {
    let error = value.check().unwrap_err().to_string();
    assert!(error.contains(", at dispatch-runtime/src/graph/ops/random/tests.rs:"), "{error}");
    error.split(", at ").next().unwrap().to_owned()
}

#[test]
fn a_wrong_draw_says_why() {
    let graph = Graph::new();
    let key = Key::from_data(&graph.input("key", &Aval::new(DType::U64, [2])));
    let x = graph.input("x", &Aval::new(DType::F64, [3]));
    let (f32, u8) = (DType::F32, DType::U8);
    for (value, wanted) in [
        (key.bits(f32, [2]), "`bits(key: ui64[2])`: it takes integers, not f32; `convert` the value"),
        (key.bits(u8, [-1]), "`bits(key: ui64[2])`: no array of ui8 has the shape [-1]"),
        (
            key.uniform(DType::Bool, [2], 0, 1),
            "`uniform(key: ui64[2], 0, 1)`: it takes integers or floats, not bool; `convert` the value",
        ),
        (
            key.uniform(u8, [2], 1, 257),
            "`uniform(key: ui64[2], 1, 257)`: 257 is no ui8, which goes from 0 to 255",
        ),
        (
            key.uniform(u8, [2], -1, 7),
            "`uniform(key: ui64[2], -1, 7)`: -1 is no ui8, which goes from 0 to 255",
        ),
        (
            key.uniform(u8, [2], 7, 7),
            "`uniform(key: ui64[2], 7, 7)`: there is no integer from 7 to 7, without 7",
        ),
        (
            key.uniform(u8, [2], 0.0, 7),
            "`uniform(key: ui64[2], 0.0, 7)`: 0.0 is no ui8; write an integer, or `convert` the value",
        ),
        (
            key.uniform(f32, [2], 1, 1.00000001),
            "`uniform(key: ui64[2], 1, 1.00000001)`: there is no f32 from 1 to 1.00000001, without 1.00000001",
        ),
        (
            key.uniform(f32, [2], f64::NAN, 1),
            "`uniform(key: ui64[2], NaN, 1)`: there is no f32 from NaN to 1, without 1",
        ),
        (
            key.uniform(f32, [2], 0, f64::INFINITY),
            "`uniform(key: ui64[2], 0, inf)`: there is no f32 from 0 to inf, without inf",
        ),
        (
            key.uniform(f32, [3], &x, 1),
            "`uniform(key: ui64[2], x: f64[3], 1)`: f64 and f32 are different dtypes; write `.convert(DType::F64)` or `.convert(DType::F32)`",
        ),
        (
            key.uniform(DType::F64, [2], 0, &x),
            "`uniform(key: ui64[2], 0, x: f64[3])`: [3] does not broadcast to [2]",
        ),
        (
            key.normal(u8, [2]),
            "`normal(key: ui64[2])`: it takes floats or complex numbers, not ui8; `convert` the value",
        ),
        (
            key.exponential(DType::C64, []),
            "`exponential(key: ui64[2])`: it takes floats, not c64; `convert` the value",
        ),
        (
            key.bernoulli(1.5, [2]),
            "`bernoulli(key: ui64[2], 1.5)`: a probability is between 0 and 1, 1.5 is not",
        ),
        (
            key.bernoulli(f64::NAN, [2]),
            "`bernoulli(key: ui64[2], NaN)`: a probability is between 0 and 1, NaN is not",
        ),
        (key.bernoulli(&x, [2]), "`bernoulli(key: ui64[2], x: f64[3])`: [3] does not broadcast to [2]"),
        (key.permutation(-1), "`permutation(key: ui64[2])`: there is no order of -1 numbers"),
        (key.permutation(1 << 31), "`permutation(key: ui64[2])`: there is no order of 2147483648 numbers"),
        (key.fold_in(1.5).0, "`fold_in(key: ui64[2], 1.5)`: what is folded in is an integer scalar, not 1.5"),
        (
            key.fold_in(&x).0,
            "`fold_in(key: ui64[2], x: f64[3])`: what is folded in is an integer scalar, not x: f64[3]",
        ),
        (Key::seed(true).0, "`seed(true)`: a seed is an integer, not true"),
        (Key::seed(&x).0, "`seed(x: f64[3])`: a seed is an integer scalar, not x: f64[3]"),
        (Key::from_data(&x).0, "`from_data(x: f64[3])`: a key is ui64[2]"),
        (Key::from_data(&x).split().1.normal(f32, []), "`from_data(x: f64[3])`: a key is ui64[2]"),
    ] {
        assert_eq!(reason(&value), wanted);
    }
    assert_eq!(key.split_n(3).len(), 3);
    assert_eq!(Key::from_data(&x).split_n(3).len(), 3);
    assert_eq!(key.split_n(0).len(), 0);
}

#[test]
fn the_type_of_a_draw_is_what_was_asked_for() {
    let key = Key::seed(1);
    for &dtype in DType::ALL {
        for shape in [&[][..], &[0], &[3], &[2, 0, 3], &[2, 3]] {
            let aval = Aval::new(dtype, shape);
            if dtype.is_int() {
                assert_eq!(key.bits(dtype, shape).check().unwrap().aval(), &aval);
            }
            if dtype.is_int() || dtype.is_float() {
                assert_eq!(key.uniform(dtype, shape, 1, 5).check().unwrap().aval(), &aval);
            }
            if dtype.is_float() || dtype.is_complex() {
                assert_eq!(key.normal(dtype, shape).check().unwrap().aval(), &aval);
            }
            if dtype.is_float() {
                assert_eq!(key.exponential(dtype, shape).check().unwrap().aval(), &aval);
            }
        }
    }
    let huge = key.normal(DType::F16, [i64::MAX / 2]);
    assert!(reason(&huge).starts_with("`normal(ui64[2])`: no array of "), "{}", reason(&huge));
}
