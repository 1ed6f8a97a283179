//! Every operation of the builder against results that numpy computed, see `tests/oracle/README.md`.

mod compare;
mod coverage;
mod data;
mod operations;
mod tolerances;
mod windows;

use std::collections::BTreeMap;

use dispatch_runtime::graph::{Graph, Value};
use dispatch_runtime::prelude::*;
use dispatch_tests::graphs::run;
use dispatch_tests::short;

use data::{Case, Group};

/// So many cases stand in one program: a compilation has a price of its own, and a large one takes longer than its parts.
const CASES: usize = 400;

/// The groups and their data.
macro_rules! groups {
    ($($group:ident)*) => {
        $(#[test]
        fn $group() {
            check(include_str!(concat!("../../oracle/data/", stringify!($group), ".txt")));
        })*

        /// The text of every group.
        const DATA: &[&str] = &[$(include_str!(concat!("../../oracle/data/", stringify!($group), ".txt"))),*];
    };
}

groups! {
    elementwise movement indexing reductions sorting special products matrices windows
}

#[track_caller]
fn check(text: &'static str) {
    let client = Client::cpu().unwrap();
    let mut group = Group::parse(text);
    if short() {
        // Each operation still has a case: they stand together, at one dtype behind the other.
        group.cases = group.cases.into_iter().step_by(3).collect();
    }
    let wrong: Vec<String> =
        group.cases.chunks(CASES).flat_map(|cases| wrong_cases(client, &group, cases)).collect();
    let shown = wrong.iter().take(60).map(|line| format!("\n  {line}")).collect::<String>();
    assert!(wrong.is_empty(), "{} of {} cases are wrong:{shown}", wrong.len(), group.cases.len());
}

/// Runs some cases in one program, and says what is wrong with each that is.
fn wrong_cases(client: Client, group: &Group, cases: &[Case]) -> Vec<String> {
    let graph = Graph::new();
    let mut inputs: BTreeMap<usize, Value> = BTreeMap::new();
    let (mut args, mut values, mut wrong) = (Vec::new(), Vec::new(), Vec::new());
    let mut checks = Vec::new();
    for case in cases {
        let operands = case.inputs.iter().map(|&i| {
            let input = inputs.entry(i).or_insert_with(|| {
                args.push(&group.arrays[i]);
                graph.input(format!("a{i}"), &group.arrays[i].aval())
            });
            input.clone()
        });
        let operands: Vec<Value> = operands.collect();
        let arrays: Vec<&HostArray> = case.inputs.iter().map(|&i| &group.arrays[i]).collect();
        let made = operations::build(case, &operands, &arrays);
        assert_eq!(made.len(), case.outputs.len(), "{}", case.line);
        if let Some(error) = made.iter().find_map(|value| value.check().err()) {
            wrong.push(format!("{}: {error}", case.line));
            continue;
        }
        let tolerance = tolerances::of(case.operation, made[0].dtype());
        checks.extend(case.outputs.iter().map(|&output| (case, output, tolerance)));
        values.extend(made);
    }
    let results = match run(client, &graph, values, &args) {
        Ok(results) => results,
        // The program as a whole was refused: say which case it is.
        Err(error) if cases.len() == 1 => return vec![format!("{}: {error}", cases[0].line)],
        Err(_) => return cases.chunks(1).flat_map(|case| wrong_cases(client, group, case)).collect(),
    };
    for (result, (case, output, tolerance)) in results.iter().zip(checks) {
        if let Some(difference) = compare::difference(result, &group.arrays[output], tolerance) {
            wrong.push(format!("{}: {difference}; {}", case.line, describe(group, case)));
        }
    }
    wrong
}

/// The operands' dtypes and shapes.
fn describe(group: &Group, case: &Case) -> String {
    let operands: Vec<String> =
        case.inputs.iter().map(|&i| format!("{:?}", group.arrays[i].aval())).collect();
    operands.join(", ")
}
