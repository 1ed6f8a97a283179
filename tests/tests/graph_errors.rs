//! What a wrong operation says: the operation with its operands, the reason, and the line of the user.

use dispatch_runtime::graph::{
    Function, Graph, Value, concatenate, einsum, fori, if_else, scan, stack, switch, while_loop,
};
use dispatch_runtime::prelude::*;

/// The message of a value that has to be wrong, without the line, which has to be in this file.
#[track_caller]
fn message(value: &Value) -> String {
    let error = value.check().expect_err("it is wrong");
    assert_eq!(error.code(), "graph");
    let text = error.to_string();
    let (message, line) = text.rsplit_once(", at ").expect("a message says where");
    assert!(line.starts_with("tests/tests/graph_errors.rs:"), "{text}");
    message.to_owned()
}

/// Checks a table of wrong values and their messages.
macro_rules! messages {
    ($($value:expr => $message:literal,)*) => {
        $(assert_eq!(message(&$value), $message);)*
    };
}

struct Inputs {
    _graph: Graph,
    x: Value,
    d: Value,
    v: Value,
    i: Value,
    b: Value,
    s: Value,
    c: Value,
}

fn inputs() -> Inputs {
    let graph = Graph::new();
    let input = |name, dtype, shape: &[i64]| graph.input(name, &Aval::new(dtype, shape));
    Inputs {
        x: input("x", DType::F32, &[2, 3]),
        d: input("d", DType::F64, &[2, 3]),
        v: input("v", DType::F32, &[3]),
        i: input("i", DType::I32, &[2, 3]),
        b: input("b", DType::Bool, &[2, 3]),
        s: input("s", DType::F32, &[]),
        c: input("c", DType::C64, &[3]),
        _graph: graph,
    }
}

#[test]
fn wrong_dtypes() {
    let Inputs { x, d, i, b, c, .. } = &inputs();
    messages! {
        x + d => "`add(x: f32[2,3], d: f64[2,3])`: f32 and f64 are different dtypes; write `.convert(DType::F32)` or `.convert(DType::F64)`",
        x * i => "`mul(x: f32[2,3], i: i32[2,3])`: f32 and i32 are different dtypes; write `.convert(DType::F32)` or `.convert(DType::I32)`",
        x.maximum(c) => "`maximum(x: f32[2,3], c: c64[3])`: f32 and c64 are different dtypes; write `.convert(DType::F32)` or `.convert(DType::C64)`",
        c.lt(c) => "`lt(c: c64[3], c: c64[3])`: complex numbers have no order; compare parts or `abs()`",
        x & x => "`and(x: f32[2,3], x: f32[2,3])`: it takes bool or integers, not f32; `convert` the value",
        !x => "`not(x: f32[2,3])`: it takes bool or integers, not f32; `convert` the value",
        i.exp() => "`exp(i: i32[2,3])`: it takes floats or complex numbers, not i32; `convert` the value",
        b.sum(0) => "`sum(b: bool[2,3])`: it takes integers, floats or complex numbers, not bool; `convert` the value",
        x.any(0) => "`any(x: f32[2,3])`: it takes bool, not f32; `convert` the value",
        x.select(x, x) => "`select(x: f32[2,3], x: f32[2,3], x: f32[2,3])`: the choice has to be bool, not f32",
        b.select(1.0, 2.0) => "`select(b: bool[2,3], 1.0, 2.0)`: two numbers have no dtype; make one of them a value with `Value::scalar`",
        b.select(x, d) => "`select(b: bool[2,3], x: f32[2,3], d: f64[2,3])`: f32 and f64 are different dtypes; write `.convert(DType::F32)` or `.convert(DType::F64)`",
        i.mean(..) => "`mean(i: i32[2,3])`: it takes floats or complex numbers, not i32; `convert` the value",
        x.shl(1) => "`shl(x: f32[2,3], 1)`: it takes integers, not f32; `convert` the value",
        x.real() => "`real(x: f32[2,3])`: it takes complex numbers, not f32; `convert` the value",
        c.convert(DType::F32) => "`convert(c: c64[3])`: a complex number is no f32; take `real()`, `imag()` or `abs()`",
        x.bitcast_convert(DType::Bool) => "`bitcast_convert(x: f32[2,3])`: the bits of f32 are not those of bool",
        x.take(&x.sum(0), 0) => "`take(x: f32[2,3], f32[3])`: indices are integers, not f32",
        x.matmul(&d.t()) => "`matmul(x: f32[2,3], f64[3,2])`: f32 and f64 are different dtypes; write `.convert(DType::F32)` or `.convert(DType::F64)`",
        i.cholesky() => "`cholesky(i: i32[2,3])`: it takes floats or complex numbers, not i32; `convert` the value",
    }
}

#[test]
fn numbers_that_do_not_fit() {
    let Inputs { x, i, b, .. } = &inputs();
    messages! {
        x + 1e300 => "`add(x: f32[2,3], 1e300)`: 1e300 is no f32: it is too large",
        i + 1.5 => "`add(i: i32[2,3], 1.5)`: 1.5 is no i32; write an integer, or `convert` the value",
        i * (1i64 << 40) => "`mul(i: i32[2,3], 1099511627776)`: 1099511627776 is no i32, which goes from -2147483648 to 2147483647",
        b & 1 => "`and(b: bool[2,3], 1)`: 1 is no bool",
        x + true => "`add(x: f32[2,3], true)`: true is no f32; write a number, or `convert` the value",
        x.convert(DType::U8) - -1 => "`sub(ui8[2,3], -1)`: -1 is no ui8, which goes from 0 to 255",
        x.convert(DType::F16) * 70000 => "`mul(f16[2,3], 70000)`: 70000 is no f16: it is too large",
        Value::full(DType::I8, [2], 200) => "`full(200)`: 200 is no i8, which goes from -128 to 127",
        Value::constant(&[1f32, 2.0], [3]) => "`constant()`: 2 elements do not fill the shape [3]",
        x.clamp(0.0, 1e39) => "`clamp(x: f32[2,3], 0.0, 1e39)`: 1e39 is no f32: it is too large",
    }
}

#[test]
fn wrong_shapes() {
    let Inputs { x, v, s, b, .. } = &inputs();
    messages! {
        x + &v.reshape([3, 1]) => "`add(x: f32[2,3], f32[3,1])`: [2,3] and [3,1] do not broadcast",
        x.add(Value::zeros(DType::F32, [4])) => "`add(x: f32[2,3], f32[4])`: [2,3] and [4] do not broadcast",
        x.reshape([7]) => "`reshape(x: f32[2,3])`: [7] has 7 elements, not 6",
        x.reshape([-1, -1]) => "`reshape(x: f32[2,3])`: only one size can be -1, not [-1,-1]",
        x.transpose([0]) => "`transpose(x: f32[2,3])`: [0] names 1 of 2 dimensions",
        x.transpose([0, 0]) => "`transpose(x: f32[2,3])`: axis 0 is named twice",
        v.t() => "`t(v: f32[3])`: it takes a matrix, not 1 dimension",
        x.sum(2) => "`sum(x: f32[2,3])`: there is no axis 2 among 2 dimensions",
        x.sum([0, -2]) => "`sum(x: f32[2,3])`: axis -2 is named twice",
        x.argmax(-3) => "`argmax(x: f32[2,3])`: there is no axis -3 among 2 dimensions",
        x.broadcast_to([3, 2]) => "`broadcast_to(x: f32[2,3])`: [2,3] does not broadcast to [3,2]",
        x.expand_dims(4) => "`expand_dims(x: f32[2,3])`: there is no axis 4 among 3 dimensions",
        x.squeeze(0) => "`squeeze(x: f32[2,3])`: axis 0 has size 2, not 1",
        x.slice([0..3, 0..1]) => "`slice(x: f32[2,3])`: 0..3 is beyond axis 0, which has size 2",
        concatenate(&[x, v], 0) => "`concatenate(x: f32[2,3], v: f32[3])`: [2,3] and [3] differ in more than the size of axis 0",
        stack(&[v, s], 0) => "`stack(v: f32[3], s: f32[])`: [3] and [] are different shapes",
        concatenate::<Value>(&[], 0) => "`concatenate()`: it takes one value at least",
        x.matmul(x) => "`matmul(x: f32[2,3], x: f32[2,3])`: the inner sizes 3 and 2 differ",
        s.matmul(v) => "`matmul(s: f32[], v: f32[3])`: a scalar is no matrix; use `*`",
        einsum("ij,jk->ik", &[x, x]) => "`einsum(x: f32[2,3], x: f32[2,3])`: in \"ij,jk->ik\", `j` has the sizes 3 and 2",
        einsum("ij,j->ik", &[x, v]) => "`einsum(x: f32[2,3], v: f32[3])`: in \"ij,j->ik\", `k` of the result is in no operand",
        einsum("ij->i", &[x, v]) => "`einsum(x: f32[2,3], v: f32[3])`: in \"ij->i\", 1 term for 2 operands",
        x.cholesky() => "`cholesky(x: f32[2,3])`: it takes a square matrix, not [2,3]",
        Value::iota(DType::F32, [2], 1) => "`iota()`: there is no axis 1 among 1 dimension",
        Value::zeros(DType::F32, [-1]) => "`zeros()`: no array of f32 has the shape [-1]",
        Value::zeros(DType::F64, [1 << 40, 1 << 40]) => "`zeros()`: no array of f64 has the shape [1099511627776,1099511627776]",
        if_else(b, || x.clone(), || x.clone()) => "`if(b: bool[2,3])`: the condition has to be a bool[], not b: bool[2,3]",
        x.top_k(4).0 => "`top_k(x: f32[2,3])`: there are 3 elements along the last axis, not 4",
        x.dynamic_slice([0], [1, 1]) => "`dynamic_slice(x: f32[2,3], 0)`: 1 start for 2 dimensions",
    }
}

#[test]
fn wrong_loops_and_branches() {
    let Inputs { x, v, s, i, .. } = &inputs();
    let positive = s.gt(0.0);
    let function = Function::new("f", [v.aval()], |[v]| v.exp());
    let captures = Function::new("g", [v.aval()], |[w]| w + v);
    messages! {
        if_else(&positive, || x.clone(), || v.clone()) => "`if(bool[])`: the other branch gives v: f32[3], not f32[2,3]",
        if_else(&positive, || vec![x.clone()], || vec![x.clone(), x.clone()])[0] => "`if(bool[])`: the other branch gives 2 values, not 1",
        if_else(&positive, || x + 1, || x + i) => "`add(x: f32[2,3], i: i32[2,3])`: f32 and i32 are different dtypes; write `.convert(DType::F32)` or `.convert(DType::I32)`",
        while_loop(x.clone(), |x| x.gt(0.0), |x| x) => "`while(x: f32[2,3])`: the condition has to be a bool[], not bool[2,3]",
        while_loop(x.clone(), |x| x.gt(0.0).any(..), |x| x.sum(0)) => "`while(x: f32[2,3])`: a round gives f32[3], not f32[2,3]",
        fori(0, 3, x.clone(), |_, x| x.convert(DType::F64)) => "`fori(0, 3, x: f32[2,3])`: a round gives f64[2,3], not f32[2,3]",
        fori(0.5, 3, x.clone(), |_, x| x) => "`fori(0.5, 3, x: f32[2,3])`: 0.5 is no i64; write an integer, or `convert` the value",
        fori(0, s, x.clone(), |_, x| x) => "`fori(0, s: f32[], x: f32[2,3])`: the bounds have to be integer scalars of one dtype",
        while_loop((vec![s.clone()], vec![s.clone(), s.clone()]), |_| positive.clone(), |(a, b)| (b, a)).0[0] => "`while(s: f32[], s: f32[], s: f32[])`: a round gives the values in another structure",
        if_else(&positive, || (vec![s.clone()], vec![]), || (vec![], vec![s.clone()])).0[0] => "`if(bool[])`: the other branch gives the values in another structure",
        scan(s.clone(), (x.clone(), v.clone()), |s, (_, v)| (s + v, ())).0 => "`scan(s: f32[], x: f32[2,3], v: f32[3])`: the first axes of f32[2,3] and f32[3] differ",
        scan(s.clone(), s.clone(), |s, x| (s + x, ())).0 => "`scan(s: f32[], s: f32[])`: a scalar has no axis to go along",
        scan(s.clone(), v.clone(), |s, v| (s.gt(v), ())).0 => "`scan(0, 3, s: f32[])`: a round gives bool[], not f32[]",
        x.reduce(0.0, .., |a, b| fori(0, 2, a, |_, a| a + &b)) => "`reduce(x: f32[2,3], 0.0)`: the closure has `stablehlo.while` in it, which XLA cannot compile there",
        x.reduce(0.0, .., |a, b| stack(&[a, b], 0).sort(0).slice(1)) => "`reduce(x: f32[2,3], 0.0)`: the closure has `stablehlo.sort` in it, which XLA cannot compile there",
        x.reduce(0.0, .., |a, b| a + b + s) => "`reduce(x: f32[2,3], 0.0)`: the closure uses s: f32[] from outside; it may use its arguments and constants alone",
        switch(&positive, 2, |_| x.clone()) => "`switch(bool[])`: the index has to be an i32[]",
        switch(&Value::scalar(1i32), 0, |_| x.clone()) => "`switch(i32[])`: there is no branch",
        function.call([x]) => "`call(x: f32[2,3])`: argument 1 of `f` is f32[3]",
        captures.call([v]) => "`function(v: f32[3])`: the body of `g` uses this value from outside; make it an argument",
    }
}

#[test]
fn values_of_other_graphs_and_closures() {
    let Inputs { x, .. } = &inputs();
    let other = Graph::new();
    let z = other.input("z", &Aval::new(DType::F32, [3]));
    assert_eq!(
        message(&(x + &z)),
        "`add(x: f32[2,3], z: f32[3])`: `x: f32[2,3]` and `z: f32[3]` are values of two graphs"
    );
    let program = |graph: &Graph, value: &Value| {
        let text = graph.program(value).unwrap_err().to_string();
        text.rsplit_once(", at tests/tests/graph_errors.rs:").expect("a message says where").0.to_owned()
    };
    assert_eq!(program(&other, x), "`input(x)`: it is an input of another graph");
    drop(other);
    assert_eq!(
        message(&(x + &z)),
        "`add(x: f32[2,3], z: f32[3])`: `x: f32[2,3]` and `z: f32[3]` are values of two graphs; the graph of `z: f32[3]` has ended"
    );
    assert_eq!(
        message(&(&z + x)),
        "`add(z: f32[3], x: f32[2,3])`: `z: f32[3]` and `x: f32[2,3]` are values of two graphs; the graph of `z: f32[3]` has ended"
    );

    let graph = Graph::new();
    let y = graph.input("y", &Aval::new(DType::F32, [3]));
    assert_eq!(
        program(&graph, &z),
        "`input(z)`: its graph has ended; a value cannot be kept for another program"
    );
    let mut escaped = None;
    let looped = fori(0, 2, y.clone(), |_, y| {
        escaped = Some(&y + 1.0);
        y
    });
    assert_eq!(
        program(&graph, &escaped.clone().unwrap()),
        "`stablehlo.add`: an argument of a loop, a branch or a function is used outside of it"
    );
    assert_eq!(
        program(&graph, &(looped + escaped.unwrap())),
        "`stablehlo.add`: an argument of a loop, a branch or a function is used outside of it"
    );
}

#[test]
fn the_first_of_several_errors_is_reported() {
    let graph = Graph::new();
    let x = graph.input("x", &Aval::new(DType::F32, [2]));
    let second = |first: &Value| first + x.reshape([3]);
    let first = x.reshape([5]);
    let later = x.reshape([7]);
    let error = graph.program((later, second(&first).exp())).unwrap_err().to_string();
    assert!(error.starts_with("`reshape(x: f32[2])`: ") && error.contains("[5]"), "{error}");
    // Also where a branch is wrong after its condition.
    let wrong = if_else(&first.sum(..).gt(0.0), || x.reshape([3]), || x.clone());
    assert!(message(&wrong).contains("[5]"));
}

#[test]
fn an_operation_made_of_others_reports_itself() {
    let Inputs { x, i, .. } = &inputs();
    for (wrong, name) in
        [(i.softmax(0), "softmax"), (x.log_softmax(5), "log_softmax"), (i.logsumexp(0), "logsumexp")]
    {
        let message = message(&wrong);
        assert!(message.starts_with(&format!("`{name}(")), "{message}");
    }
}
