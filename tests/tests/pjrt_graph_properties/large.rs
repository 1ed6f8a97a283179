//! Long chains and deep graphs: nothing recurses over nodes.

use dispatch_runtime::graph::{Graph, Value, if_else};
use dispatch_runtime::prelude::*;
use dispatch_runtime::program::Source;
use dispatch_tests::graphs::run;

/// A chain of operations in which equal ones do not become one.
fn chain(x: &Value, n: usize) -> Value {
    (0..n).fold(x.clone(), |value, i| match i % 3 {
        0 => value + x,
        1 => value ^ 5,
        _ => value * 3,
    })
}

#[test]
fn a_chain_of_a_thousand_operations_runs() {
    let graph = Graph::new();
    let x = graph.input("x", &Aval::new(DType::I32, [2]));
    let args = [HostArray::new([1i32, -7], [2]).unwrap()];
    let got = run(Client::cpu().unwrap(), &graph, vec![chain(&x, 1000)], &[&args[0]]).unwrap();
    let expected = [1i32, -7].map(|x| {
        (0..1000).fold(x, |value, i| match i % 3 {
            0 => value.wrapping_add(x),
            1 => value ^ 5,
            _ => value.wrapping_mul(3),
        })
    });
    assert_eq!(got[0].as_slice::<i32>().unwrap(), expected);
}

/// On a stack of 256 KiB, which 100 000 frames would leave.
fn on_a_small_stack(test: impl FnOnce() + Send + 'static) {
    std::thread::Builder::new().stack_size(256 << 10).spawn(test).unwrap().join().unwrap();
}

#[test]
fn a_graph_of_a_hundred_thousand_levels_is_built_printed_and_dropped() {
    on_a_small_stack(|| {
        let graph = Graph::new();
        let x = graph.input("x", &Aval::new(DType::I32, [2]));
        let y = chain(&x, 100_000);
        let program = graph.program(&y).unwrap();
        let Source::StableHlo(text) = program.source() else { unreachable!("a graph makes StableHLO") };
        assert!(text.matches("stablehlo.").count() > 100_000);
        assert!(y.check().is_ok());
        drop((y, program));
        // Also where the graph ends before its values.
        let y = chain(&x, 100_000);
        drop((x, graph));
        drop(y);
    });
}

#[test]
fn a_wrong_value_at_the_bottom_of_a_deep_graph_is_the_one_reported() {
    on_a_small_stack(|| {
        let graph = Graph::new();
        let x = graph.input("x", &Aval::new(DType::I32, [2]));
        let y = chain(&x.reshape([3]), 100_000);
        let error = graph.program(&y).unwrap_err().to_string();
        assert!(error.starts_with("`reshape(x: i32[2])`: "), "{error}");
    });
}

#[test]
fn a_deep_graph_in_a_branch_that_uses_values_from_outside_is_printed() {
    on_a_small_stack(|| {
        let graph = Graph::new();
        let x = graph.input("x", &Aval::new(DType::I32, [2]));
        let outside = chain(&x, 20_000);
        let y = if_else(&x.sum(..).gt(0), || chain(&outside, 50_000), || outside.clone());
        graph.program(&y).unwrap();
    });
}
