//! Random programs of the builder: right ones compute what a slow interpreter says, wrong ones are refused by the builder.

mod generate;
mod interpret;
mod large;
mod moves;
mod program;
mod random;
mod tensor;
mod wrong;

use std::collections::BTreeMap;

use dispatch_runtime::graph::{Graph, Value};
use dispatch_runtime::prelude::*;
use dispatch_runtime::program::Source;
use dispatch_tests::graphs::{Results, run};
use dispatch_tests::short;

use generate::Program;
use random::Random;

/// So many random programs are results of one module.
const TOGETHER: u64 = 50;

#[test]
fn random_programs_compute_what_the_interpreter_says() {
    let client = Client::cpu().unwrap();
    let modules = if short() { 2 } else { 20 };
    let mut counts = BTreeMap::new();
    for module in 0..modules {
        let seeds = module * TOGETHER..(module + 1) * TOGETHER;
        let programs: Vec<(u64, Program)> =
            seeds.map(|seed| (seed, generate::program(&mut Random::new(seed), 12))).collect();
        programs.iter().for_each(|(_, program)| program::count(&program.body, &mut counts));
        check(client, &programs);
    }
    println!("{counts:?}");
    let rare: Vec<_> = counts.iter().filter(|(_, n)| **n < 5 && !short()).collect();
    assert!(counts.len() >= 70 || short(), "random programs are made of {} operations only", counts.len());
    assert!(rare.is_empty(), "random programs hardly have {rare:?}");
}

/// Runs programs as one; those that are wrong are shown by themselves.
fn check(client: Client, programs: &[(u64, Program)]) {
    let graph = Graph::new();
    let values: Vec<Value> = programs
        .iter()
        .flat_map(|(seed, program)| {
            let input = |(i, x): (usize, &tensor::Tensor)| graph.input(format!("p{seed}_{i}"), &x.aval());
            results(program, program.inputs.iter().enumerate().map(input).collect())
        })
        .collect();
    let args: Vec<HostArray> =
        programs.iter().flat_map(|(_, program)| program.inputs.iter().map(tensor::Tensor::to_host)).collect();
    let expected =
        programs.iter().flat_map(|(seed, program)| program.expected.iter().map(move |x| (seed, x)));
    let got = run(client, &graph, values, &args.iter().collect::<Vec<_>>());
    let got = got.unwrap_or_else(|error| panic!("programs from {}: {error}", programs[0].0));
    for ((seed, expected), got) in expected.zip(&got) {
        if !expected.is(got) {
            let (_, program) = programs.iter().find(|(s, _)| s == seed).expect("a program of these");
            panic!("program {seed} gives {got:?} instead of {expected:?}\n{}", text(program));
        }
    }
}

/// The results of a program, by the builder.
fn results(program: &Program, mut env: Vec<Value>) -> Vec<Value> {
    for node in &program.body.nodes {
        let value = program::build_node(node, &env);
        if let Err(error) = value.check() {
            panic!("a right operation is refused: {error}, {node:?}");
        }
        env.push(value);
    }
    let values: Vec<Value> = program.results.iter().map(|&i| env[i].clone()).collect();
    for (value, expected) in values.iter().zip(&program.expected) {
        assert_eq!(*value.aval(), expected.aval(), "{}", text(program));
    }
    values
}

/// A program as the builder prints it, with its arguments.
fn text(program: &Program) -> String {
    let graph = Graph::new();
    let inputs = program.inputs.iter().map(|x| graph.input("x", &x.aval())).collect();
    let mut env: Vec<Value> = inputs;
    for node in &program.body.nodes {
        let value = program::build_node(node, &env);
        env.push(value);
    }
    let values = program.results.iter().map(|&i| env[i].clone()).collect();
    match graph.program(Results(values)).unwrap().source() {
        Source::StableHlo(text) => format!("{:?}\n{text}", program.inputs),
        other => format!("{other:?}"),
    }
}
