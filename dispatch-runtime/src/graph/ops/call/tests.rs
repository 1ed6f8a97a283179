use super::*;
use crate::custom_call::{Attribute, custom_call};
use crate::graph::Graph;
use crate::program::Source;
use crate::{DType, Result};

fn text(graph: &Graph, value: &Value) -> Result<String> {
    let program = graph.program(value)?;
    let Source::StableHlo(text) = program.source() else { unreachable!() };
    Ok(text.lines().filter(|line| line.contains(" = ")).map(str::trim).collect::<Vec<_>>().join("\n"))
}

fn reason(value: &Value) -> String {
    let error = value.check().unwrap_err().to_string();
    let reason = error.split_once("`: ").expect("an operation and a reason").1;
    assert!(reason.contains(", at dispatch-runtime/src/graph/ops/call/tests.rs:"), "{reason}");
    reason.split(", at ").next().unwrap().to_owned()
}

#[test]
fn a_custom_call_is_printed_with_what_was_said_of_it() {
    let graph = Graph::new();
    let x = graph.input("x", &Aval::new(DType::F32, [2, 3]));
    let y = custom_call("a.b").call(&[&x], x.aval());
    assert_eq!(
        text(&graph, &y).unwrap(),
        "%0 = stablehlo.custom_call @a.b(%x) {api_version = 4 : i32, backend_config = {}} : (tensor<2x3xf32>) -> tensor<2x3xf32>"
    );
    let scalar = Aval::new(DType::I64, []);
    let [_, y] = custom_call("my target")
        .attribute("k", 1i64)
        .attribute("k", 2i64)
        .attribute("cost $0", "5$")
        .annotation("mhlo.note", Attribute::mlir("\"$0\""))
        .side_effect()
        .layouts([vec![0, 1]], [vec![], vec![1, 0]])
        .alias(0, 1)
        .call(&[&x], [&scalar, x.aval()]);
    assert_eq!(
        text(&graph, &y).unwrap(),
        "%0, %1 = stablehlo.custom_call @\"my target\"(%x) {mhlo.note = \"$0\", api_version = 4 : i32, \
         backend_config = {k = 2 : i64, \"cost \\240\" = \"5\\24\"}, has_side_effect = true, \
         operand_layouts = [dense<[0, 1]> : tensor<2xindex>], \
         result_layouts = [dense<> : tensor<0xindex>, dense<[1, 0]> : tensor<2xindex>], \
         output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [1], operand_index = 0, \
         operand_tuple_indices = []>]} : (tensor<2x3xf32>) -> (tensor<i64>, tensor<2x3xf32>)"
    );
    let y = custom_call("old").api_version(2).config("a=\"1\"").call(&[], &scalar);
    assert_eq!(
        text(&graph, &y).unwrap(),
        "%0 = stablehlo.custom_call @old() {api_version = 2 : i32, backend_config = \"a=\\221\\22\"} : () -> tensor<i64>"
    );
}

#[test]
fn only_calls_without_an_effect_are_taken_for_one() {
    let graph = Graph::new();
    let x = graph.input("x", &Aval::new(DType::F32, []));
    let call = custom_call("f");
    let twice = call.call(&[&x], x.aval()) + call.call(&[&x], x.aval());
    assert_eq!(text(&graph, &twice).unwrap().matches("@f").count(), 1);
    let call = call.side_effect();
    let twice = call.call(&[&x], x.aval()) + call.call(&[&x], x.aval());
    assert_eq!(text(&graph, &twice).unwrap().matches("@f").count(), 2);
    let random = || raw("stablehlo.rng $0, $0, $0, distribution = UNIFORM", &[&x], x.aval());
    assert_eq!(text(&graph, &(random() + random())).unwrap().matches("rng").count(), 2);
}

#[test]
fn a_wrong_custom_call_says_why() {
    let graph = Graph::new();
    let x = graph.input("x", &Aval::new(DType::F32, [2, 3]));
    let cases: [(CustomCall, &str); 14] = [
        (custom_call(""), "target ``: a target needs a name"),
        (custom_call("f").attribute("", true), "target `f`: an attribute needs a name"),
        (custom_call("f").api_version(5), "target `f`: there is no version 5, only 1 to 4"),
        (
            custom_call("f").api_version(1).attribute("a", 1i8),
            "target `f`: version 1 takes a `config`, not attributes",
        ),
        (custom_call("f").config("a"), "target `f`: version 4 takes attributes, not a `config`"),
        (custom_call("f").layouts([], [vec![1, 0]]), "target `f`: 0 layouts for 1 operand"),
        (
            custom_call("f").layouts([vec![1, 0]], [vec![0, 0]]),
            "target `f`: the layout [0, 0] is no order of the dimensions of result 0, f32[2,3]",
        ),
        (
            custom_call("f").layouts([vec![0]], [vec![0, 1]]),
            "target `f`: the layout [0] is no order of the dimensions of operand 0, f32[2,3]",
        ),
        (
            custom_call("f").alias(0, 1),
            "target `f`: result 1 cannot take the memory of operand 0: there are 1 operand and 1 result",
        ),
        (
            custom_call("f").alias(1, 0),
            "target `f`: result 0 cannot take the memory of operand 1: there are 1 operand and 1 result",
        ),
        (custom_call("f").alias(0, 0).alias(0, 0), "target `f`: operand 0 or result 0 has two aliases"),
        (custom_call("f").annotation("", 1u8), "target `f`: an attribute needs a name"),
        (
            custom_call("f").annotation("call_target_name", "g"),
            "target `f`: `call_target_name` is no annotation; it is said by `custom_call`",
        ),
        (
            custom_call("f").annotation("backend_config", 1u8),
            "target `f`: `backend_config` is no annotation; it is said by `attribute` or `config`",
        ),
    ];
    for (call, wanted) in cases {
        assert_eq!(reason(&call.call(&[&x], x.aval())), wanted);
    }
    let wrong = custom_call("f").alias(0, 0).call(&[&x], Aval::new(DType::F32, [3]));
    assert_eq!(
        reason(&wrong),
        "target `f`: result 0, f32[3], cannot take the memory of operand 0, x: f32[2,3]"
    );
    let [a, b] = custom_call("").call(&[&x], [x.aval(), x.aval()]);
    assert!(a.check().is_err() && b.check().is_err());
}

#[test]
fn the_places_of_a_raw_text_are_its_operands() {
    let graph = Graph::new();
    let x = graph.input("x", &Aval::new(DType::F32, [2]));
    let y = raw("stablehlo.custom_call @a($0, $1) {b = \"$$1\"}", &[&x, &x], x.aval());
    assert_eq!(
        text(&graph, &y).unwrap(),
        "%0 = stablehlo.custom_call @a(%x, %x) {b = \"$1\"} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>"
    );
    let cases = [
        ("stablehlo.tanh $1", "`$1` in the text is none of 1 operand"),
        (
            "stablehlo.tanh $99999999999999999999999",
            "`$99999999999999999999999` in the text is none of 1 operand",
        ),
        ("stablehlo.tanh", "operand 0 has no place; write `$0` into the text"),
        ("stablehlo.tanh $$0", "operand 0 has no place; write `$0` into the text"),
    ];
    for (text, wanted) in cases {
        assert_eq!(reason(&raw(text, &[&x], x.aval())), wanted);
    }
    for text in ["$r0", "$f", "$0 $", "$ 0"] {
        assert_eq!(
            reason(&raw(text, &[&x], x.aval())),
            "a `$` in the text is followed by the number of an operand; write `$$` for a dollar"
        );
    }
}

#[test]
#[should_panic(expected = "`raw` needs a result")]
fn an_operation_without_a_result_could_never_be_part_of_a_program() {
    let none: Vec<Aval> = Vec::new();
    raw("a", &[], none);
}

#[test]
fn values_of_two_graphs_do_not_meet_in_a_call() {
    let (one, two) = (Graph::new(), Graph::new());
    let (x, y) = (one.input("x", &Aval::new(DType::F32, [])), two.input("y", &Aval::new(DType::F32, [])));
    let call = custom_call("f").call(&[&x, &y], x.aval());
    assert_eq!(reason(&call), "`x: f32[]` and `y: f32[]` are values of two graphs");
}
