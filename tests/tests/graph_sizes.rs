//! Graphs that are larger than anybody writes by hand: nothing recurses over them, and nothing is quadratic in them.

use dispatch_runtime::graph::{Function, Graph, Key, Value, concatenate};
use dispatch_runtime::prelude::*;

/// Runs a test on a stack that a recursion over a few hundred nodes would end.
fn on_a_small_stack(run: impl FnOnce() + Send + 'static) {
    std::thread::Builder::new().stack_size(256 << 10).spawn(run).unwrap().join().unwrap();
}

fn vector() -> Aval {
    Aval::new(DType::F32, [2])
}

#[test]
fn functions_that_call_functions_may_be_many() {
    on_a_small_stack(|| {
        let mut last = Function::new("f", [&vector()], |[x]| x + 1.0);
        for _ in 0..10_000 {
            let inner = last;
            last = Function::new("f", [&vector()], |[x]| inner.call([&x]) + 1.0);
        }
        let graph = Graph::new();
        let x = graph.input("x", &vector());
        let text = graph.program(last.call([&x])).unwrap().inspect().to_string();
        assert_eq!(text.matches("func.func private @f").count(), 10_001);
        assert!(text.contains("@f_10000("), "each has a name of its own");
    });
}

#[test]
fn names_may_be_equal_and_many() {
    let graph = Graph::new();
    let mut x = graph.input("h", &vector());
    for _ in 0..50_000 {
        x = (x + 1.0).named("h");
    }
    let text = graph.program(x).unwrap().inspect().to_string();
    assert!(text.contains("%h_50000 = "));
}

#[test]
fn blocks_may_stand_behind_many_operations() {
    let graph = Graph::new();
    let mut x = graph.input("x", &vector());
    for i in 0..3_000 {
        x = dispatch_runtime::graph::fori(0, 2, x, |_, x| x.tanh()) + i;
    }
    let text = graph.program(x).unwrap().inspect().to_string();
    assert_eq!(text.matches("stablehlo.while").count(), 3_000);
}

#[test]
fn what_is_too_much_is_an_error_of_readable_length() {
    let keys = Key::seed(1).split_n(usize::MAX);
    let error = keys[0].data().check().unwrap_err().to_string();
    assert!(error.contains("`split_n(") && error.contains("1048576 keys at most"), "{error}");

    let scalar = Value::scalar(1f32);
    let error = concatenate(&vec![scalar; 20_000], 0).check().unwrap_err().to_string();
    assert!(error.contains("and 19988 more)`") && error.len() < 400, "{error}");
}
