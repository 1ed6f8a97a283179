use super::*;
use crate::program::Source;
use crate::{Array, DType, Program};

fn attributes(text: &str) -> Result<String, String> {
    let call = custom_call("f").attribute("a", Attribute::mlir(text));
    let said = call.text(&[][..] as &[Aval], &[])?.said;
    let (_, config) = said.split_once("backend_config = {a = ").expect("the attribute");
    Ok(config.strip_suffix("}}").expect("the end of both dictionaries").to_owned())
}

#[test]
fn what_a_handler_reads_is_printed_as_it_is_delivered() {
    for (given, printed) in [
        ("true", "true"),
        ("1 : i1", "true"),
        ("0 : i1", "false"),
        ("-5", "-5 : i64"),
        ("0xFF : i8", "-1 : i8"),
        ("0xFF : ui8", "255 : ui8"),
        ("-9223372036854775808", "-9223372036854775808 : i64"),
        ("0xFFFFFFFFFFFFFFFF", "-1 : i64"),
        ("1.5", "0x3FF8000000000000 : f64"),
        ("1.0e-3 : f32", "0x3A83126F : f32"),
        ("0x7FC00001 : f32", "0x7FC00001 : f32"),
        ("\"a\\22\\n\\C3\\A9\"", "\"a\\22\\0A\\C3\\A9\""),
        ("array<i64>", "array<i64>"),
        ("array<i64: 1, -2>", "array<i64: 1, -2>"),
        ("array<f32: 0.5,  1.0e+1>", "array<f32: 0x3F000000, 0x41200000>"),
        ("array<ui8>", "dense<> : tensor<0xui8>"),
        ("array<ui64: 1, 1>", "dense<[1, 1]> : tensor<2xui64>"),
        ("dense<> : tensor<0xui8>", "dense<> : tensor<0xui8>"),
        ("dense<[ 1, 0xFF]>:tensor< 2xui8 >", "dense<[1, 255]> : tensor<2xui8>"),
        ("dense<[1.5, -2.0]> : tensor<2xf32>", "array<f32: 0x3FC00000, 0xC0000000>"),
        ("{}", "{}"),
        ("{ \"b c\" = {d = 1 : ui16}, e = \"\" }", "{\"b c\" = {d = 1 : ui16}, e = \"\"}"),
    ] {
        assert_eq!(attributes(given).as_deref(), Ok(printed), "{given}");
    }
}

#[test]
fn what_no_handler_gets_is_refused_by_name_before_the_compiler_sees_it() {
    const READS: &str = "a handler reads bool, i8 to i64, ui8 to ui64, f32, f64, strings, arrays of those numbers, and dictionaries";
    for (given, wanted) in [
        ("1 : index", "the compiler crashes of an attribute of the type `index`; make it `i64`"),
        ("array<index: 1>", "the compiler crashes of an attribute of the type `index`; make it `i64`"),
        (
            "{b = {c = 1 : index}}",
            "`b`: `c`: the compiler crashes of an attribute of the type `index`; make it `i64`",
        ),
        ("1.0 : f16", "`f16` reaches no handler; make it `f32`"),
        ("1.0 : bf16", "`bf16` reaches no handler; make it `f32`"),
        ("array<i1: true>", &format!("an array of `i1` reaches no handler: {READS}")),
        ("1 : i4", &format!("`i4` is no type that reaches a handler: {READS}")),
        ("1 : i128", &format!("`i128` is no type that reaches a handler: {READS}")),
        ("[1, 2]", &format!("a list is none of what a handler can be given: {READS}")),
        ("unit", &format!("a unit is none of what a handler can be given: {READS}")),
        ("{b}", &format!("`b` without a value is a unit, which reaches no handler: {READS}")),
        ("@main", &format!("a symbol is none of what a handler can be given: {READS}")),
        ("tensor<2xf32>", &format!("`tensor<2xf32>` is none of what a handler can be given: {READS}")),
        ("#a.b<c>", &format!("`#a.b<c>` is none of what a handler can be given: {READS}")),
        ("dense<1> : tensor<i64>", "a handler gets no such `dense`; write `array<i64: 1, 2>`"),
        ("dense<1> : tensor<2xi64>", "a handler gets no such `dense`; write `array<i64: 1, 2>`"),
        ("dense<[1, 2]> : tensor<3xi64>", "a handler gets no such `dense`; write `array<i64: 1, 2>`"),
        ("dense<[[1], [2]]> : tensor<2x1xi64>", "a handler gets no such `dense`; write `array<i64: 1, 2>`"),
        ("dense<[1]> : tensor<1x1xi64>", &format!("`1xi64>` is no type that reaches a handler: {READS}")),
        (
            "dense<[1]> : tensor<1xindex>",
            "the compiler crashes of an attribute of the type `index`; make it `i64`",
        ),
        ("dense<[300]> : tensor<1xui8>", "`300` is no `ui8`"),
        ("300 : i8", "`300` is no `i8`"),
        ("0x1FF : i8", "`0x1FF` is no `i8`"),
        ("-1 : ui8", "`-1` is no `ui8`"),
        ("1.0e40 : f32", "`1.0e40` is no `f32`"),
        ("1.5 : i32", "`1.5` is no `i32`"),
        ("\"a", "a string without its end"),
        ("1 2", "`2` behind the attribute"),
        ("{a = 1, a = 2}", "`a` stands twice in a dictionary"),
        ("", &format!("`` is none of what a handler can be given: {READS}")),
    ] {
        assert_eq!(attributes(given), Err(format!("attribute `a` = {given}: {wanted}")));
    }
    let deep = |n: usize| format!("{}1 : i64{}", "{n = ".repeat(n), "}".repeat(n));
    assert!(attributes(&deep(100)).is_ok());
    for n in [101, 200_000] {
        let error = attributes(&deep(n)).unwrap_err();
        assert!(error.ends_with("more than 100 dictionaries inside of each other"), "{error}");
        assert!(error.starts_with("attribute `a` = {n = {n = ") && error.len() < 1000, "{error}");
    }
    let nested =
        |n: usize| (0..n).fold(Attribute::from(1), |inside, _| Attribute::dictionary([("n", inside)]));
    let text = |n| custom_call("f").attribute("a", nested(n)).text(&[][..] as &[Aval], &[]).map(|_| ());
    assert_eq!(text(100), Ok(()));
    assert_eq!(text(101), Err("more than 100 dictionaries inside of each other".to_owned()));
    let nested = Attribute::dictionary([("b", Attribute::mlir("1 : index"))]);
    let call = custom_call("f").attribute("a", nested);
    let error = call.text(&[][..] as &[Aval], &[]).map(|text| text.said).unwrap_err();
    assert_eq!(
        error,
        "attribute `a.b` = 1 : index: the compiler crashes of an attribute of the type `index`; make it `i64`"
    );
    // The compiler reads those of older conventions, and annotations, by itself.
    let index = Attribute::mlir("1 : index");
    assert!(custom_call("f").annotation("a.b", index).text(&[][..] as &[Aval], &[]).is_ok());
}

#[test]
fn a_program_of_one_call_has_its_operands_and_results() {
    let (x, y) = (Aval::new(DType::F32, [2, 3]), Aval::new(DType::I64, []));
    let call = custom_call("f").layouts([vec![0, 1], vec![]], [vec![0, 1]]).alias(0, 0);
    let program = Program::<Array>::custom_call(&call, [x.clone(), y.clone()], [x.clone()]).unwrap();
    let Source::StableHlo(text) = program.source() else { unreachable!() };
    assert_eq!(
        text.lines().map(str::trim).collect::<Vec<_>>(),
        [
            "module {",
            "func.func public @main(%arg0: tensor<2x3xf32>, %arg1: tensor<i64>) -> (tensor<2x3xf32>) {",
            "%0 = stablehlo.custom_call @f(%arg0, %arg1) {api_version = 4 : i32, backend_config = {}, operand_layouts \
             = [dense<[0, 1]> : tensor<2xindex>, dense<> : tensor<0xindex>], result_layouts = [dense<[0, 1]> : \
             tensor<2xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], \
             operand_index = 0, operand_tuple_indices = []>]} : (tensor<2x3xf32>, tensor<i64>) -> tensor<2x3xf32>",
            "return %0 : tensor<2x3xf32>",
            "}",
            "}",
        ]
    );
    let program = Program::<()>::custom_call(&custom_call("g").side_effect(), [y.clone()], []).unwrap();
    assert!(
        program.source().to_string().contains(": (tensor<i64>) -> ()\n    return\n"),
        "{}",
        program.source()
    );
    let error =
        call.operation(&["%a"], &[x.clone(), y.clone()], std::slice::from_ref(&x)).unwrap_err().to_string();
    assert_eq!(error, "invalid program: target `f`: 1 name for 2 operands");
    let error =
        Program::<Array>::custom_call(&custom_call("f").alias(0, 0), [x], [y]).unwrap_err().to_string();
    assert_eq!(
        error,
        "invalid program: target `f`: result 0, i64[], cannot take the memory of operand 0, f32[2,3]"
    );
}
