//! Programs of the builder, on a real plugin.

use dispatch_runtime::graph::{Function, Graph, Value, fori, if_else, while_loop};
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

#[test]
fn a_loop_runs_while_its_condition_holds() {
    let graph = Graph::new();
    let x = graph.input("x", &Aval::new(DType::F32, []));
    let (y, n) = while_loop((x, Value::scalar(0i32)), |(x, _)| x.ge(1.0), |(x, n)| (x * 0.5, n + 1));
    let results = run(&graph.program([y, n]).unwrap(), &[HostArray::new([10f32], []).unwrap()]);
    assert_eq!(results[1].to_vec::<i32>().unwrap(), [4]);
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
    let other = Graph::new();
    let z = other.input("z", &Aval::new(DType::F32, [3]));
    println!("{}", (&x + &z).check().unwrap_err());
    println!("{}", graph.program(&z).unwrap_err());
    drop(other);
    println!("{}", (&x + &z).check().unwrap_err());
    println!("{}", graph.program(&z).unwrap_err());
    println!("{}", (&x + 1e300).check().unwrap_err());
    println!("{}", (x.convert(DType::I8) + 300).check().unwrap_err());
    println!("{}", (x.convert(DType::I8) + 1.5).check().unwrap_err());
    println!("{}", (x.convert(DType::Bool) + true).check().unwrap_err());
    let mut escaped = None;
    let _ = fori(0, 2, x.clone(), |_, x| {
        escaped = Some(&x + 1.0);
        x
    });
    println!("{}", graph.program(escaped.unwrap()).unwrap_err());
}
