//! The builder: what making a program takes, what it adds to a miss, and a program against JAX.

use std::hint::black_box;
use std::path::Path;

use dispatch_bench::harness::{case, pin_to_processor, rounds};
use dispatch_bench::peer::Peer;
use dispatch_bench::raw::Compile;
use dispatch_bench::results::Results;
use dispatch_runtime::graph::{Graph, Value};
use dispatch_runtime::prelude::*;
use dispatch_runtime::program::Source;
use mlp::{Iris, Train, initial};

use crate::MICRO;

/// Building and printing 1 000 operations of common kinds.
pub fn build(results: &mut Results) {
    pin_to_processor(0);
    let mut cases = [case("1 000 operations", |n| (0..n).for_each(|_| drop(black_box(thousand()))))];
    assert_eq!(operations(&thousand()), 1000);
    let rounds = rounds(&mut cases, 200, 5);
    rounds.print("Builder: a graph from its inputs to its text");
    results.at_most("builder: 1 000 operations", rounds.time(0).median * MICRO * 1e-3, "ms", 1.0);
}

/// 1 000 operations.
fn thousand() -> Program {
    // The bias is broadcast once for all layers; with these five it is a round number.
    layers(142, |y| -(-y.cos().sin()).abs())
}

/// A chain of layers, in which nothing is computed twice: seven operations each, one for all, and what follows the last.
pub fn layers(count: usize, end: impl FnOnce(Value) -> Value) -> Program {
    let graph = Graph::new();
    let x = graph.input("x", &Aval::new(DType::F32, [128, 64]));
    let bias = graph.input("bias", &Aval::new(DType::F32, [64]));
    let mut y = x.clone();
    let mut scale = 1.0;
    for _ in 0..count {
        scale += 0.001;
        y = (&y * scale + &bias).tanh();
        y = y.maximum(&x) - y.exp();
    }
    graph.program(end(y)).expect("the graph is right")
}

pub fn operations<O>(program: &Program<O>) -> usize {
    let Source::StableHlo(text) = program.source() else { unreachable!("graphs give text") };
    text.matches("stablehlo.").count()
}

/// The example of the builder's documentation.
#[dispatch_family]
fn predict(
    cx: &CompileCx,
    #[dynamic(dtype = [f32, f64], shape = [n, p])] x: Value,
    #[dynamic(dtype = dtype(x), shape = [p])] beta: Value,
) -> Result<Program> {
    cx.program((x.matmul(&beta) * -1.0).exp().add(1.0).recip())
}

/// A call of a family that was cleared, against the raw compile, execute and end of the same program.
pub fn miss(client: Client, results: &mut Results) {
    pin_to_processor(0);
    let x = client.array(&[0.5f32; 12], [4, 3]).expect("twelve elements");
    let beta = client.array(&[1f32, -1.0, 2.0], [3]).expect("three elements");
    let family = Predict::new(&client);
    let inspection = family.inspect(x.aval(), beta.aval()).expect("the program compiles");
    let text = inspection.stablehlo.expect("it is text");
    let mut raw = Compile::new(client, text, &[&x, &beta]);
    let mut cases = [
        case("raw compile and execute", |n| (0..n).for_each(|_| raw.call())),
        case("stub, cleared", |n| {
            (0..n).for_each(|_| {
                family.clear();
                black_box(family.call(&x, &beta).unwrap());
            })
        }),
    ];
    let rounds = rounds(&mut cases, 800, 1);
    rounds.print("Miss of a family with the builder");
    let overhead = rounds.ratio(1, 0);
    println!("  stub / raw {:.4} (parts {:.4} to {:.4})", overhead.median, overhead.low, overhead.high);
    results.at_most("miss: `predict` beyond raw compile", (overhead.median - 1.0) * 100.0, "%", 2.0);
}

/// The plugin whose XLA is about as old as that of the JAX which `make bench` gets.
const PLUGIN_OF_JAX_AGE: &str = "DISPATCH_BENCH_PLUGIN";

/// A training step of the example `mlp` against the same step under JAX's `jit`, on the default plugin.
pub fn against_jax(client: Client, results: &mut Results) {
    if let Some([step, ratio]) = step_against_jax(client) {
        results.report("mlp: a step", step, "µs");
        results.report("mlp: a step on the default plugin against jax.jit", ratio, "times");
    }
}

/// The same on a plugin with an XLA of the same age, so that runtimes are compared and not compilers.
pub fn against_jax_of_the_same_age(results: &mut Results) {
    let Some(path) = std::env::var_os(PLUGIN_OF_JAX_AGE) else {
        println!("\n`mlp` on a plugin of JAX's age: skipped (`make bench` gets it)");
        return;
    };
    let client = Client::from_plugin(path, &ClientOptions::new()).expect("the plugin loads");
    if let Some([_, ratio]) = step_against_jax(client) {
        results.at_most("mlp: a step against jax.jit", ratio, "times", 1.0);
    }
}

/// Microseconds of a step, and the ratio to JAX; nothing if there is no JAX.
fn step_against_jax(client: Client) -> Option<[f64; 2]> {
    let table = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/rust/mlp/data/iris.csv");
    let Some(mut peer) = Peer::start("mlp.py", &[&table]) else {
        println!("\n`mlp` against JAX: skipped, because there is no JAX (`make bench` gets it)");
        return None;
    };
    let iris =
        Iris::read(&std::fs::read_to_string(&table).expect("the table is there")).expect("it is right");
    let (n, features, classes) = (iris.rows as i64, iris.features as i64, iris.species.len() as i64);
    let family = Train::new(&client);
    let x = client.array(&iris.x, [n, features]).expect("the table is rectangular");
    let labels = client.array(&iris.labels, [n, classes]).expect("the table is rectangular");
    let mut network = initial(&client, features, 16, classes).expect("the network fits");

    // Both start from the same network, so both learn the same.
    let mut step = |n: usize| {
        let mut loss = None;
        for _ in 0..n {
            let trained = family.call(&network, &x, &labels, 0.5).expect("a step");
            network = trained.network;
            loss = Some(trained.loss);
        }
        network.w1.await_ready().expect("a step");
        loss
    };
    let ours = step(200).expect("there were steps").to_vec::<f32>().expect("a loss")[0];
    let theirs: f32 = peer.run(200).parse().expect("a loss");
    assert!((ours - theirs).abs() < 1e-3 * theirs, "the steps differ: {ours} and {theirs}");

    let mut cases = [case("jax.jit", |n| drop(peer.run(n))), case("dispatch", |n| drop(step(n)))];
    let rounds = rounds(&mut cases, 150, 100);
    rounds.print("A training step of `mlp`, f32, batch 150");
    let ratio = rounds.ratio(1, 0);
    println!("  dispatch / JAX {:.4} (parts {:.4} to {:.4})", ratio.median, ratio.low, ratio.high);
    Some([rounds.time(1).median * MICRO, ratio.median])
}
