//! Programs of the builder, on a real plugin.

use dispatch_runtime::graph::{Function, Graph, Value, fori, if_else, scan, while_loop};
use dispatch_runtime::prelude::*;
use dispatch_runtime::program::Source;

fn text<O>(program: &Program<O>) -> &str {
    match program.source() {
        Source::StableHlo(text) => text,
        other => panic!("{other:?}"),
    }
}

fn run<O>(program: &Program<O>, args: &[HostArray]) -> Vec<Array> {
    println!("{}", text(program));
    let client = Client::cpu().unwrap();
    let executable = client.compile(program).unwrap();
    let args: Vec<Array> =
        args.iter().map(|a| client.upload(a.view(), client.default_device()).unwrap()).collect();
    executable.execute(&args.iter().collect::<Vec<_>>()).unwrap()
}

#[test]
fn equal_operations_appear_once_and_names_stand_in_the_text() {
    let graph = Graph::new().named("twice");
    let x = graph.input("x", &Aval::new(DType::F32, [2, 3]));
    let row = graph.input("row", &Aval::new(DType::F32, [3]));
    let a = (&x + &row).exp().named("weights");
    let b = (&x + &row).exp() * 2.0;
    let program = graph.program((a, b)).unwrap();
    assert_eq!(
        text(&program),
        "module @twice {
  func.func public @main(%x: tensor<2x3xf32>, %row: tensor<3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>) {
    %0 = stablehlo.broadcast_in_dim %row, dims = [1] : (tensor<3xf32>) -> tensor<2x3xf32>
    %1 = stablehlo.add %x, %0 : tensor<2x3xf32>
    %weights = stablehlo.exponential %1 : tensor<2x3xf32>
    %2 = stablehlo.constant dense<2.0> : tensor<2x3xf32>
    %3 = stablehlo.multiply %weights, %2 : tensor<2x3xf32>
    return %weights, %3 : tensor<2x3xf32>, tensor<2x3xf32>
  }
}
"
    );
    let args = [HostArray::new([0f32; 6], [2, 3]).unwrap(), HostArray::new([0f32, 0.0, 0.0], [3]).unwrap()];
    let results = run(&program, &args);
    assert_eq!(results[1].to_vec::<f32>().unwrap(), [2.0; 6]);
}

#[test]
fn loops_and_branches_use_what_was_made_around_them() {
    let graph = Graph::new();
    let x = graph.input("x", &Aval::new(DType::F32, [2]));
    let scale = x.exp().named("scale");
    let sum = fori(0, 3, x.clone(), |i, sum| {
        let i = i.convert(DType::F32).named("i");
        fori(0, 2, sum, |_, sum| sum * 1.0 + &i * &scale)
    });
    let one = Value::ones(DType::F32, [2]);
    let y = if_else(&Value::scalar(3i32).gt(2), || &sum + &one, || &x + &one);
    let program = graph.program(y).unwrap();
    let results = run(&program, &[HostArray::new([0f32, 0.0], [2]).unwrap()]);
    assert_eq!(results[0].to_vec::<f32>().unwrap(), [7.0, 7.0]);
}

#[test]
fn a_function_is_written_once() {
    let vector = Aval::new(DType::F32, [3]);
    let double = Function::new("scale", [&vector], |[x]| x * 2.0);
    let layer = Function::new("layer", [&vector, &vector], |[x, w]| (double.call([&x]) * w, x));
    let graph = Graph::new();
    let (x, w) = (graph.input("x", &vector), graph.input("w", &vector));
    let (y, _) = layer.call([&x, &w]);
    let (y, z) = layer.call([&y, &w]);
    let program = graph.program((y, z)).unwrap();
    let results = run(
        &program,
        &[HostArray::new([1f32, 2.0, 3.0], [3]).unwrap(), HostArray::new([1f32; 3], [3]).unwrap()],
    );
    assert_eq!(results[0].to_vec::<f32>().unwrap(), [4.0, 8.0, 12.0]);
    assert_eq!(text(&program).matches("func.func private").count(), 2);
}

/// Values that were made once and are kept by the program's author, whoever uses them first.
#[test]
fn a_constant_is_shared_by_functions_closures_and_the_program_in_any_order() {
    let vector = Aval::new(DType::F32, [3]);
    for first in 0..4 {
        let table = std::cell::OnceCell::new();
        let table = || table.get_or_init(|| Value::constant(&[1f32, 2.0, 3.0], [3])).clone();
        let factor = std::cell::OnceCell::new();
        let factor = || factor.get_or_init(|| Value::scalar(2f32)).clone();
        let graph = Graph::new();
        let x = graph.input("x", &vector);
        if first == 1 {
            drop((table(), factor()));
        }
        let f = Function::new("f", [&vector], |[a]| a * table() * factor());
        let g = Function::new("g", [&vector], |[a]| f.call([&(a + table())]) - table());
        let reduced = x.reduce(0.0, .., |a, b| a + b * factor());
        let looped = fori(0, 2, &x + table(), |_, x| (x + table()) * factor());
        let results = match first {
            0 => [f.call([&(&x + table())]), g.call([&x]), reduced + factor(), looped],
            2 => [f.call([&(&x + table())]), g.call([&x]), factor() + reduced, looped],
            _ => {
                let sum = reduced + factor();
                [f.call([&(&x + table())]), g.call([&x]), sum, looped]
            }
        };
        let program = graph.program(results).unwrap();
        let results = run(&program, &[HostArray::new([1f32, 1.0, 1.0], [3]).unwrap()]);
        let values: Vec<Vec<f32>> = results.iter().map(|result| result.to_vec().unwrap()).collect();
        assert_eq!(values[0], [4.0, 12.0, 24.0]);
        assert_eq!(values[1], [3.0, 10.0, 21.0]);
        assert_eq!(values[2], [8.0]);
        assert_eq!(values[3], [14.0, 24.0, 34.0]);
    }
}

/// A value that a closure made of nothing, kept and used outside: computed on both sides.
#[test]
fn what_a_closed_closure_makes_may_be_used_outside_too() {
    let graph = Graph::new();
    let x = graph.input("x", &Aval::new(DType::F32, [3]));
    let mut kept = None;
    let sum = x.reduce(0.0, .., |a, b| {
        let three = Value::iota(DType::F32, [3], 0).sum(..);
        kept = Some(three.clone());
        a + b * three
    });
    let kept = kept.unwrap();
    let program = graph.program((&x * &kept, &kept + &sum, &sum + &kept)).unwrap();
    let results = run(&program, &[HostArray::new([1f32, 1.0, 1.0], [3]).unwrap()]);
    assert_eq!(results[0].to_vec::<f32>().unwrap(), [3.0, 3.0, 3.0]);
    assert_eq!(results[1].to_vec::<f32>().unwrap(), results[2].to_vec::<f32>().unwrap());
}

/// Two plugins end the process if they fold such a division.
#[test]
fn a_constant_may_be_divided_by_a_constant_zero() {
    let numbers = Value::constant(&[1i64, 5, i64::MIN], [3]);
    let zeros = Value::zeros(DType::I64, [3]);
    let least = Value::constant(&[i32::MIN, 7], [2]);
    let looped = fori(0, 3, Value::ones(DType::I64, []), |i, x| &x / (&i - &i) + x % &(&i - &i));
    let results = [&numbers / &zeros, &numbers % 0, &least / -1, &least % (least.clone() - &least), looped];
    let executable = Client::cpu().unwrap().compile(Graph::new().source(&results).unwrap()).unwrap();
    let results = executable.execute(&[]).unwrap();
    assert_eq!(results[0].to_vec::<i64>().unwrap(), [-1, -1, -1]);
    assert_eq!(results[1].to_vec::<i64>().unwrap(), [1, 5, i64::MIN]);
    assert_eq!(results[2].to_vec::<i32>().unwrap(), [i32::MIN, -7]);
    assert_eq!(results[3].to_vec::<i32>().unwrap(), [i32::MIN, 7]);
    assert_eq!(results[4].to_vec::<i64>().unwrap(), [-2]);
}

#[test]
fn a_loop_runs_while_its_condition_holds() {
    let graph = Graph::new();
    let x = graph.input("x", &Aval::new(DType::F32, []));
    let (y, n) = while_loop((x, Value::scalar(0i32)), |(x, _)| x.ge(1.0), |(x, n)| (x * 0.5, n + 1));
    let results = run(&graph.program([y, n]).unwrap(), &[HostArray::new([10f32], []).unwrap()]);
    assert_eq!(results[1].to_vec::<i32>().unwrap(), [4]);
}

#[test]
fn a_scan_keeps_what_each_round_gives() {
    let graph = Graph::new();
    let x = graph.input("x", &Aval::new(DType::F32, [3, 2]));
    let y = graph.input("y", &Aval::new(DType::F32, [3]));
    let init = (Value::zeros(DType::F32, [2]), Value::scalar(0i32));
    let ((sum, count), (products, counts)) = scan(init, (x.clone(), y), |(sum, count), (x, y)| {
        let next = &sum + &x;
        ((next, &count + 1), (x * y, count))
    });
    // Along an axis of size 0 there is no round.
    let none = scan(sum.clone(), x.slice(0..0), |sum, x| (&sum + x, sum)).1;
    let program = graph.program([sum, count, products, counts, none]).unwrap();
    let x = HostArray::new([1f32, 2.0, 3.0, 4.0, 5.0, 6.0], [3, 2]).unwrap();
    let results = run(&program, &[x, HostArray::new([1f32, 10.0, 100.0], [3]).unwrap()]);
    assert_eq!(results[0].to_vec::<f32>().unwrap(), [9.0, 12.0]);
    assert_eq!(results[1].to_vec::<i32>().unwrap(), [3]);
    assert_eq!(results[2].to_vec::<f32>().unwrap(), [1.0, 2.0, 30.0, 40.0, 500.0, 600.0]);
    assert_eq!(results[3].to_vec::<i32>().unwrap(), [0, 1, 2]);
    assert_eq!(results[4].shape(), [0, 2]);
}

#[test]
fn names_of_any_kind_stand_in_a_program() {
    let graph = Graph::new().named("my-model v1.0 \"ü\"");
    let names = ["a-b", "1st", "", "x", "x", "x_1", "%0", "é\n", "loc(\"q\")", "b$w[[2]]"];
    let vector = Aval::new(DType::F32, [2]);
    let inputs: Vec<Value> = names.iter().map(|name| graph.input(name, &vector)).collect();
    let double = Function::new("a-b", [&vector], |[x]| (x * 2.0).named("x"));
    let twice = Function::new("main", [&vector], |[x]| x * 3.0);
    let sum = inputs.iter().fold(Value::zeros(DType::F32, [2]), |sum, x| (sum + x).named("sum"));
    let program = graph.program([double.call([&sum]), twice.call([&sum])]).unwrap();
    let args: Vec<HostArray> = names.iter().map(|_| HostArray::new([1f32, 2.0], [2]).unwrap()).collect();
    let results = run(&program, &args);
    assert_eq!(results[0].to_vec::<f32>().unwrap(), [20.0, 40.0]);
    assert_eq!(results[1].to_vec::<f32>().unwrap(), [30.0, 60.0]);
}

#[test]
fn numbers_are_rounded_once_and_keep_their_bits() {
    use half::{bf16, f16};
    let tie = |place: i32| 1.0 + 2f64.powi(-place) + 2f64.powi(-40);
    let nan = f32::from_bits(0x7F80_0001);
    let results = [
        Value::full(DType::F16, [], tie(11)),
        Value::full(DType::BF16, [], tie(8)),
        Value::full(DType::F32, [], (1i64 << 60) + (1 << 36) + 1),
        Value::full(DType::F16, [], 65519.999999),
        Value::constant(&[nan, 1.0], [2]),
        Value::scalar(nan),
        Value::scalar(u64::MAX),
        Value::scalar(i64::MIN),
        Value::scalar(-0.0f64),
        Value::full(DType::C64, [], (1i64 << 60) + (1 << 36) + 1),
    ];
    let graph = Graph::new();
    let client = Client::cpu().unwrap();
    let executable = client.compile(graph.source(&results).unwrap()).unwrap();
    let results = executable.execute(&[]).unwrap();
    assert_eq!(results[0].to_vec::<f16>().unwrap()[0].to_bits(), 0x3C01);
    assert_eq!(results[1].to_vec::<bf16>().unwrap()[0].to_bits(), 0x3F81);
    assert_eq!(results[2].to_vec::<f32>().unwrap(), [((1i64 << 60) + (1 << 36) + 1) as f32]);
    assert_eq!(results[3].to_vec::<f16>().unwrap(), [f16::MAX]);
    assert_eq!(results[4].to_vec::<f32>().unwrap()[0].to_bits(), nan.to_bits());
    assert_eq!(results[5].to_vec::<f32>().unwrap()[0].to_bits(), nan.to_bits());
    assert_eq!(results[6].to_vec::<u64>().unwrap(), [u64::MAX]);
    assert_eq!(results[7].to_vec::<i64>().unwrap(), [i64::MIN]);
    assert!(results[8].to_vec::<f64>().unwrap()[0].is_sign_negative());
    let complex = results[9].to_vec::<num_complex::Complex32>().unwrap()[0];
    assert_eq!((complex.re, complex.im), (((1i64 << 60) + (1 << 36) + 1) as f32, 0.0));
}

#[test]
fn a_wrong_operation_is_reported_where_the_program_is_made() {
    let graph = Graph::new();
    let x = graph.input("x", &Aval::new(DType::F32, [2, 3]));
    let y = graph.input("y", &Aval::new(DType::F64, [3]));
    let line = line!() + 1;
    let wrong = (&x * &y).exp() + x.add(Value::zeros(DType::F32, [4]));
    let error = graph.program(&wrong).unwrap_err();
    assert_eq!(error.code(), "graph");
    assert_eq!(
        error.to_string(),
        format!(
            "`mul(x: f32[2,3], y: f64[3])`: f32 and f64 are different dtypes; write `.convert(DType::F32)` or `.convert(DType::F64)`, at tests/tests/pjrt_graph.rs:{line}:17"
        )
    );
}
