//! Calls, random numbers, Fourier transforms, convolutions and windows of the builder, on a real plugin.

use dispatch_runtime::graph::{Attribute, Graph, Value, custom_call, raw};
use dispatch_runtime::prelude::*;

/// Computes values that need no argument.
fn run<const N: usize>(values: [Value; N]) -> Vec<Array> {
    let client = Client::cpu().unwrap();
    let program = Graph::new().program(values).unwrap();
    client.compile(&program).unwrap().execute(&[]).unwrap()
}

fn f32s(array: &Array) -> Vec<f32> {
    array.to_vec().unwrap()
}

fn vector(dtype: DType, n: i64) -> Aval {
    Aval::new(dtype, [n])
}

#[test]
fn targets_of_the_compiler_are_called() {
    let x = Value::constant(&[0.5f32, -1.0, 2.0], [3]);
    let noted = custom_call("Sharding").api_version(1).annotation("mhlo.sharding", "{replicated}");
    let same = noted.call(&[&x], x.aval());
    let [top, at] =
        custom_call("TopK").api_version(1).call(&[&x], [vector(DType::F32, 2), vector(DType::I32, 2)]);
    let said = Attribute::dictionary([("k", 1i64.into()), ("largest", true.into())]);
    let greatest = custom_call("mhlo.topk").api_version(1).annotation("mhlo.attributes", said);
    let [one, one_at] = greatest.call(&[&x], [vector(DType::F32, 1), vector(DType::I32, 1)]);
    let results = run([same, top, at, one, one_at]);
    assert_eq!(f32s(&results[0]), [0.5, -1.0, 2.0]);
    assert_eq!(f32s(&results[1]), [2.0, 0.5]);
    assert_eq!(results[2].to_vec::<i32>().unwrap(), [2, 0]);
    assert_eq!(f32s(&results[3]), [2.0]);
    assert_eq!(results[4].to_vec::<i32>().unwrap(), [2]);
}

#[test]
fn everything_that_is_said_of_a_call_is_read_by_the_plugin() {
    let x = Value::constant(&[0.5f32, -1.0], [1, 2]);
    let scalar = Value::scalar(1i64);
    let typed = custom_call("no such $target")
        .attribute("flag", true)
        .attribute("i8", -1i8)
        .attribute("i16", i16::MIN)
        .attribute("i32", i32::MIN)
        .attribute("i64", i64::MIN)
        .attribute("u8", u8::MAX)
        .attribute("u16", u16::MAX)
        .attribute("u32", u32::MAX)
        .attribute("u64", u64::MAX)
        .attribute("f32", f32::NEG_INFINITY)
        .attribute("f64", f64::NAN)
        .attribute("text", "quotes \" and \\ and \n and ü and $0")
        .attribute("i64s", [i64::MIN, 1])
        .attribute("u64s", [u64::MAX])
        .attribute("u8s", vec![255u8, 0])
        .attribute("f32s", [1.5f32, f32::INFINITY])
        .attribute("f64s", &[-0.0f64, f64::NAN][..])
        .attribute("none", Vec::<i32>::new())
        .attribute("nested", Attribute::dictionary([("a b", Attribute::from(1i32)), ("c", "d".into())]))
        .attribute("not a name", Attribute::mlir("{a = 1 : i8, b = \"$\"}"))
        .side_effect()
        .layouts([vec![0, 1], vec![]], [vec![1, 0], vec![]])
        .alias(0, 0);
    let untyped =
        |version: i32| custom_call("none").api_version(version).config("a \"config\" $0").alias(1, 1);
    let calls = [typed, untyped(1), untyped(2), untyped(3)];
    let reasons = [
        "the program calls `no such $target`, but no FFI handler of that name is registered for platform cpu",
        "No registered implementation for untyped custom call to none",
    ];
    for (i, call) in calls.iter().enumerate() {
        let [y, z] = call.call(&[&x, &scalar], [x.aval(), scalar.aval()]);
        let program = Graph::new().program([y, z]).unwrap();
        let error = Client::cpu().unwrap().compile(&program).unwrap_err().to_string();
        assert!(error.contains(reasons[i.min(1)]), "{error}");
    }
}

#[test]
fn raw_text_stands_in_the_program() {
    let x = Value::constant(&[0.1f32, 3.0, f32::NAN], [3]);
    let rounded = raw("stablehlo.reduce_precision $0, format = e8m2", &[&x], x.aval());
    let zero = Value::scalar(0f32);
    let sum = "\"stablehlo.reduce\"($0, $1) <{dimensions = array<i64: 0>}> ({
        ^bb0(%raw_a: tensor<f32>, %raw_b: tensor<f32>):
          %raw_c = stablehlo.add %raw_a, %raw_b : tensor<f32>
          stablehlo.return %raw_c : tensor<f32>
        })";
    let sum = raw(sum, &[&Value::constant(&[1f32, 2.0], [2]), &zero], zero.aval());
    let [a, b]: [Value; 2] =
        raw("\"stablehlo.optimization_barrier\"($0, $1)", &[&x, &sum], [x.aval(), sum.aval()]);
    let results = run([rounded, a, b]);
    assert_eq!(f32s(&results[0])[..2], [0.09375, 3.0]);
    assert!(f32s(&results[0])[2].is_nan());
    assert_eq!(f32s(&results[1])[..2], [0.1, 3.0]);
    assert_eq!(f32s(&results[2]), [3.0]);
}
