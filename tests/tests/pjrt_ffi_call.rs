//! Calls of handlers that programs are made with: by the body of a family, by a graph, and as a program of their own; what
//! is wrong with a call is found before the compiler sees it.

mod plugin;

use std::sync::Mutex;

use dispatch_runtime::custom_call::{Attribute, CustomCall};
use dispatch_runtime::ffi::{
    self, AnyBuffer, AnyBufferMut, AttrValue, Buffer, BufferMut, Dictionary, RemainingArgs, RemainingRets,
};
use dispatch_runtime::graph::{Graph, custom_call};
use dispatch_runtime::prelude::*;
use dispatch_runtime::program::Source;
use plugin::client;

/// `out[i] = scale * b[i % m] + c[i]`
#[ffi_handler(target = "call_rotate_add")]
fn rotate_add(
    #[arg(shape = [m])] b: Buffer<f32>,
    #[arg(shape = [n])] c: Buffer<f32>,
    #[ret(shape = [n])] mut out: BufferMut<f32>,
    #[attr(default = 1.0)] scale: f32,
) -> ffi::Result<()> {
    for (o, c) in out.chunks_mut(m.max(1)).zip(c.chunks(m.max(1))) {
        for ((o, b), c) in o.iter_mut().zip(&b[..]).zip(c) {
            *o = scale * b + c;
        }
    }
    Ok(())
}

#[dispatch_family]
fn rotated(
    cx: &CompileCx,
    #[dynamic(dtype = f32, shape = [_])] b: Value,
    #[dynamic(dtype = f32, shape = [_])] c: Value,
) -> Result<Program> {
    let once = cx.call(&ROTATE_ADD, &[&b, &c], c.aval());
    let twice = cx.call(custom_call(&ROTATE_ADD).attribute("scale", 2), &[&b, &once], c.aval());
    cx.program(twice)
}

#[test]
fn the_body_of_a_family_calls_a_handler() {
    let family = Rotated::new(&client());
    for n in [128, 2048] {
        let b: Vec<f32> = (0..128).map(|i| i as f32).collect();
        let c: Vec<f32> = (0..n).map(|i| 1000.0 * i as f32).collect();
        let expected: Vec<f32> = c.iter().enumerate().map(|(i, c)| 3.0 * b[i % 128] + c).collect();
        assert_eq!(family.call(&b, &c).unwrap().to_vec::<f32>().unwrap(), expected);
    }
    assert_eq!(family.call([1.0], [0f32; 0]).unwrap().shape(), [0]);
}

#[derive(Clone, Copy, Debug, PartialEq, AttrValue)]
#[repr(i32)]
enum Mode {
    Low = -7,
    High = 9,
}

#[derive(Clone, Debug, PartialEq, AttrValue)]
struct Range<'a> {
    lo: i64,
    name: &'a str,
}

/// What the last call of `read_all` was given.
static SEEN: Mutex<String> = Mutex::new(String::new());

#[ffi_handler(target = "call_read_all")]
fn read_all(
    #[arg(shape = [])] x: Buffer<f32>,
    #[ret(shape = [])] mut out: BufferMut<f32>,
    #[attr] eps: f32,
    #[attr] n: i64,
    #[attr] small: u8,
    #[attr] flag: bool,
    #[attr] s: &str,
    #[attr] v: &[i64],
    #[attr] w: &[f32],
    #[attr] mode: Mode,
    #[attr] range: Range<'_>,
    #[attr] nested: Dictionary<'_>,
    #[attr] maybe: Option<f64>,
) -> ffi::Result<()> {
    let inner = nested.get::<Dictionary<'_>>("inner")?.get::<u64>("u")?;
    *SEEN.lock().unwrap() =
        format!("{eps:?} {n} {small} {flag} {s:?} {v:?} {w:?} {mode:?} {range:?} {inner} {maybe:?}");
    out[0] = x[0];
    Ok(())
}

fn whole_call() -> CustomCall {
    custom_call(&READ_ALL)
        // A number takes the declared type, if that holds it.
        .attribute("eps", 0.1f64)
        .attribute("n", i64::MIN)
        .attribute("small", 255i64)
        .attribute("flag", true)
        .attribute("s", "é \"$0\" \n")
        .attribute("v", [1i32, -2])
        .attribute("w", [f64::NEG_INFINITY, 0.5])
        .attribute("mode", "High")
        .attribute("range", Attribute::dictionary([("name", "".into()), ("lo", 5u8.into())]))
        .attribute("nested", Attribute::mlir("{inner = {u = 18446744073709551615 : ui64}, other = false}"))
}

#[test]
fn attributes_of_every_kind_arrive_as_they_are_declared() {
    let client = client();
    client.register_ffi_handler("call_read_all", &READ_ALL).unwrap();
    let scalar = Aval::new(DType::F32, []);
    let x = client.array(&[3f32], []).unwrap();
    let seen = |call: &CustomCall| {
        let program = Program::<Array>::custom_call(call, [scalar.clone()], [scalar.clone()]).unwrap();
        let out = client.compile(program).unwrap().execute(&[&x]).unwrap();
        assert_eq!(out[0].to_vec::<f32>().unwrap(), [3.0]);
        SEEN.lock().unwrap().clone()
    };
    let rest = "-9223372036854775808 255 true \"é \\\"$0\\\" \\n\" [1, -2] [-inf, 0.5]";
    assert_eq!(
        seen(&whole_call()),
        format!("0.1 {rest} High Range {{ lo: 5, name: \"\" }} 18446744073709551615 None")
    );
    let call = whole_call().attribute("mode", -7i64).attribute("maybe", 1).attribute("eps", f32::NAN);
    assert_eq!(
        seen(&call),
        format!("NaN {rest} Low Range {{ lo: 5, name: \"\" }} 18446744073709551615 Some(1.0)")
    );
}

#[ffi_handler(target = "call_any")]
fn any_of(
    #[arg(dtype = int, shape = [..])] x: AnyBuffer,
    #[arg(dtype = dtype(x), shape = shape(x))] y: Option<AnyBuffer>,
    #[arg] rest: RemainingArgs,
    #[ret(dtype = dtype(x), shape = shape(x))] mut out: AnyBufferMut,
    #[ret] mut more: RemainingRets,
) -> ffi::Result<()> {
    out.bytes_mut().copy_from_slice(y.as_ref().map_or(x.bytes(), |y| y.bytes()));
    for i in 0..more.len() {
        more.any(i)?.bytes_mut().copy_from_slice(rest.any(i)?.bytes());
    }
    Ok(())
}

/// The reason of the error that a call in a graph has, after the handler's name.
fn reason(call: &CustomCall, operands: &[Aval], results: Vec<Aval>) -> String {
    let graph = Graph::new();
    let inputs: Vec<Value> = operands.iter().map(|aval| graph.input("x", aval)).collect();
    let made = call.call(&inputs.iter().collect::<Vec<_>>(), results);
    let error = graph.program(made[0].clone()).unwrap_err();
    assert!(matches!(error, Error::Graph { .. }), "{error:?}");
    let text = error.to_string();
    let (_, reason) = text.split_once("`: handler `").expect("the handler's name");
    reason.split_once("`: ").unwrap().1.split(", at ").next().unwrap().to_owned()
}

#[test]
fn what_a_handler_does_not_take_is_found_when_the_program_is_made() {
    let f32s = |shape: &[i64]| Aval::new(DType::F32, shape);
    let call = custom_call(&ROTATE_ADD);
    let (b, c) = (f32s(&[2]), f32s(&[4]));
    let good = [b.clone(), c.clone()];
    let out = || vec![f32s(&[4])];
    let cases: [(CustomCall, &[Aval], Vec<Aval>, &str); 13] = [
        (call.clone(), &good[..1], out(), "expected 2 arguments, got 1, without `c`"),
        (call.clone(), &[b.clone(), c.clone(), c.clone()], out(), "expected 2 arguments, got 3"),
        (call.clone(), &good, vec![c.clone(), c.clone()], "expected 1 result, got 2"),
        (
            call.clone(),
            &[Aval::new(DType::F64, [2]), c.clone()],
            out(),
            "argument `b`: expected dtype f32, got f64",
        ),
        (call.clone(), &[b.clone(), f32s(&[2, 2])], out(), "argument `c`: expected shape [n], got [2,2]"),
        (call.clone(), &good, vec![f32s(&[5])], "result `out`: expected shape [n=4] (n from `c`), got [5]"),
        (
            call.clone().attribute("scael", 1.0f32),
            &good,
            out(),
            "attribute `scael`: `rotate_add` has no such attribute; did you mean `scale`?",
        ),
        (
            call.clone().attribute("threads", 1i64),
            &good,
            out(),
            "attribute `threads`: `rotate_add` has no such attribute; it takes `scale`",
        ),
        (call.clone().attribute("scale", "2"), &good, out(), "attribute `scale`: expected f32, got string"),
        (
            call.clone().attribute("scale", 16777217i64),
            &good,
            out(),
            "attribute `scale`: expected f32, got 16777217",
        ),
        (
            call.clone().attribute("scale", Attribute::mlir("1 : index")),
            &good,
            out(),
            "attribute `scale` = 1 : index: the compiler crashes of an attribute of the type `index`; make it `i64`",
        ),
        (call.clone().api_version(3), &good, out(), "it is called by version 4, not 3"),
        (
            call.clone().alias(0, 0),
            &good,
            out(),
            "result 0, f32[4], cannot take the memory of operand 0, x: f32[2]",
        ),
    ];
    for (call, operands, results, wanted) in cases {
        assert_eq!(reason(&call, operands, results), wanted);
    }
    let scalar = [f32s(&[])];
    let all = |call: CustomCall| reason(&call, &scalar, scalar.to_vec());
    assert_eq!(all(custom_call(&READ_ALL)), "attribute `eps`: expected f32, got none");
    assert_eq!(all(whole_call().attribute("small", -1i64)), "attribute `small`: expected u8, got -1");
    assert_eq!(all(whole_call().attribute("n", 0.5f64)), "attribute `n`: expected i64, got 0.5");
    assert_eq!(all(whole_call().attribute("v", [1.5f64])), "attribute `v`: expected array of i64, got 1.5");
    assert_eq!(all(whole_call().attribute("v", 1i64)), "attribute `v`: expected array of i64, got i64");
    assert_eq!(
        all(whole_call().attribute("mode", 3i32)),
        "attribute `mode`: expected Mode (i32: -7 Low, 9 High), got 3"
    );
    assert_eq!(
        all(whole_call().attribute("mode", "Hihg")),
        "attribute `mode`: expected Mode (i32: -7 Low, 9 High), got \"Hihg\""
    );
    let range = Attribute::dictionary([("lo", 1i64.into())]);
    assert_eq!(
        all(whole_call().attribute("range", range)),
        "attribute `range.name`: expected string, got none"
    );
    let range = Attribute::dictionary([("lo", 1i64.into()), ("nam", "".into())]);
    assert_eq!(
        all(whole_call().attribute("range", range)),
        "attribute `range.nam`: `Range` has no such attribute; did you mean `name`?"
    );

    let (i, j) = (Aval::new(DType::I32, [2]), Aval::new(DType::I64, [2]));
    let any = custom_call(&ANY_OF);
    assert_eq!(
        reason(&any, std::slice::from_ref(&c), vec![c.clone()]),
        "argument `x`: expected dtype i8, i16, i32, i64, u8, u16, u32 or u64, got f32"
    );
    assert_eq!(
        reason(&any, &[i.clone(), j.clone()], vec![i.clone()]),
        "argument `y`: expected dtype i32, the dtype of `x`, got i64"
    );
    assert_eq!(
        reason(&any, std::slice::from_ref(&i), vec![j]),
        "result `out`: expected dtype i32, the dtype of `x`, got i64"
    );
    assert_eq!(reason(&any, &[], vec![i]), "expected at least 1 argument, got 0, without `x`");
}

#[test]
fn optional_and_remaining_operands_and_64_of_them_are_passed() {
    let client = client();
    client.register_ffi_handler("call_any", &ANY_OF).unwrap();
    let aval = Aval::new(DType::I32, [2]);
    for n in [1, 2, 3, 64] {
        let graph = Graph::new();
        let inputs: Vec<Value> = (0..n).map(|i| graph.input(format!("x{i}"), &aval)).collect();
        let results = vec![aval.clone(); n.max(2) - 1];
        let given = custom_call(&ANY_OF).call(&inputs.iter().collect::<Vec<_>>(), results);
        let program = client.compile(graph.source(&given).unwrap()).unwrap();
        let args: Vec<Array> = (0..n as i32).map(|i| client.array(&[i, -i], [2]).unwrap()).collect();
        let out = program.execute(&args.iter().collect::<Vec<_>>()).unwrap();
        for (i, out) in out.iter().enumerate() {
            let from = (i as i32 + 1).min(n as i32 - 1);
            assert_eq!(out.to_vec::<i32>().unwrap(), [from, -from], "{n} operands, result {i}");
        }
    }
}

#[ffi_handler(target = "call_flat")]
fn flat(
    #[arg(dtype = any, shape = [..])] x: AnyBuffer,
    #[ret(dtype = dtype(x), shape = [..])] mut out: AnyBufferMut,
) -> ffi::Result<()> {
    let bytes = x.bytes().to_vec();
    out.bytes_mut().copy_from_slice(&bytes);
    Ok(())
}

#[test]
fn layouts_and_aliases_reach_the_compiler() {
    let client = client();
    client.register_ffi_handler("call_flat", &FLAT).unwrap();
    let matrix = Aval::new(DType::F32, [2, 3]);
    // The operand column by column, the result row by row.
    let call = custom_call(&FLAT).layouts([vec![0, 1]], [vec![1, 0]]);
    let program = Program::<Array>::custom_call(&call, [matrix.clone()], [matrix.clone()]).unwrap();
    let x = client.array(&[0f32, 1.0, 2.0, 3.0, 4.0, 5.0], [2, 3]).unwrap();
    let out = client.compile(program).unwrap().execute(&[&x]).unwrap();
    assert_eq!(out[0].to_vec::<f32>().unwrap(), [0.0, 3.0, 1.0, 4.0, 2.0, 5.0]);
    assert_eq!(x.to_vec::<f32>().unwrap(), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
    for shape in [&[2, 3][..], &[0, 3]] {
        let aval = Aval::new(DType::F32, shape);
        let program =
            Program::<Array>::custom_call(&custom_call(&FLAT).alias(0, 0), [aval.clone()], [aval.clone()])
                .unwrap();
        let x = client.array(&[0f32, 1.0, 2.0, 3.0, 4.0, 5.0][..aval.len()], shape).unwrap();
        let out = client.compile(program).unwrap().execute(&[&x]).unwrap();
        assert_eq!(out[0].to_vec::<f32>().unwrap(), x.to_vec::<f32>().unwrap());
    }
}

#[ffi_handler(target = "call_rotate_add", instantiate = no_such_thing)]
fn other(#[ret] mut out: BufferMut<f32>) -> ffi::Result<()> {
    out.fill(0.0);
    Ok(())
}

#[ffi_handler(stage = instantiate)]
fn no_such_thing() -> ffi::Result<u8> {
    Ok(1)
}

#[dispatch_family]
fn clashes(cx: &CompileCx, #[dynamic(dtype = f32, shape = [_])] x: Value) -> Result<Program> {
    cx.program(cx.call(&ROTATE_ADD, &[&x, &x], x.aval()) + cx.call(&OTHER, &[], x.aval()))
}

#[test]
fn two_handlers_of_one_target_are_an_error_of_the_body() {
    let error = Clashes::new(&client()).call([1.0f32]).unwrap_err().to_string();
    for name in ["`call()`", "`pjrt_ffi_call::ROTATE_ADD`", "`pjrt_ffi_call::OTHER`"] {
        assert!(error.contains(name), "{error}");
    }
}

#[test]
fn a_program_that_names_no_registered_target_says_which_there_are() {
    let client = client();
    client.register_ffi_handler("call_flat", &FLAT).unwrap();
    let graph = Graph::new();
    let x = graph.input("x", &Aval::new(DType::F32, [2]));
    let Source::StableHlo(text) = graph.source(&[custom_call("call_nobody").call(&[&x], x.aval())]).unwrap()
    else {
        unreachable!()
    };
    let error = client.compile(Source::StableHlo(text)).unwrap_err().to_string();
    assert!(error.contains("call_nobody") && error.contains("call_flat"), "{error}");
}

#[test]
fn an_index_in_a_program_written_by_hand_is_an_error_instead_of_the_end_of_the_process() {
    let client = client();
    client.register_ffi_handler("call_flat", &FLAT).unwrap();
    let text = "func.func @main(%x: tensor<f32>) -> tensor<f32> {
        %y = stablehlo.custom_call @call_flat(%x) {api_version = 4 : i32, backend_config = {v = 1 : index}}
          : (tensor<f32>) -> tensor<f32>
        return %y : tensor<f32> }";
    let error = client.compile(Source::StableHlo(text.into())).unwrap_err().to_string();
    assert!(error.contains("type `index`, as in {v = 1 : index}; make it `i64`"), "{error}");
}

#[test]
fn an_index_is_found_behind_aliases_and_escaped_names() {
    let client = client();
    client.register_ffi_handler("call_flat", &FLAT).unwrap();
    for (aliases, name, attributes) in [
        ("#a = 3 : index", "backend_config", "{v = #a}"),
        ("#a = {v = 3 : index}", "backend_config", "#a"),
        ("!t = index", "backend_config", "{v = 3 : !t}"),
        ("!t = index\n#a = {v = 3 : !t}", "mhlo.backend_config", "#a"),
        ("", "\"backend\\5Fconfig\"", "{v = 3 : index}"),
    ] {
        for op in ["custom_call", "custom\\5Fcall"] {
            let text = format!(
                "{aliases}
                module {{ func.func @main(%x: tensor<f32>) -> tensor<f32> {{
                  %y = \"stablehlo.{op}\"(%x) {{call_target_name = \"call_flat\", api_version = 4 : i32,
                    {name} = {attributes}}} : (tensor<f32>) -> tensor<f32>
                  return %y : tensor<f32> }} }}"
            );
            for source in [Source::StableHlo(text.clone()), Source::Bytecode(text.clone().into_bytes())] {
                let error = client.compile(source).unwrap_err().to_string();
                assert!(error.contains("type `index`, as in {"), "{text}: {error}");
            }
        }
    }
}

#[test]
fn a_call_of_a_handler_without_its_version_says_what_to_write() {
    let client = client();
    client.register_ffi_handler("call_flat", &FLAT).unwrap();
    let text = |target: &str, version: &str| {
        Source::StableHlo(format!(
            "func.func @main(%x: tensor<f32>) -> tensor<f32> {{
              %y = stablehlo.custom_call @{target}(%x) {{{version}}} : (tensor<f32>) -> tensor<f32>
              return %y : tensor<f32> }}"
        ))
    };
    for version in ["", "api_version = 1 : i32", "api_version = 2 : i32", "api_version = 3 : i32"] {
        let error = client.compile(text("call_flat", version)).unwrap_err().to_string();
        for words in ["`call_flat`", "registered as a typed FFI handler", "write `api_version = 4 : i32`"] {
            assert!(error.contains(words), "{version}: {error}");
        }
        // Of what is registered nowhere nobody knows which version it has.
        let error = client.compile(text("call_untyped_nobody", version)).unwrap_err().to_string();
        assert!(error.contains("call_untyped_nobody") && !error.contains("typed FFI"), "{error}");
    }
}

#[ffi_handler(target = "call_unsigned")]
fn unsigned(
    #[ret(shape = [])] mut out: BufferMut<f32>,
    #[attr] a: &[u8],
    #[attr] b: &[u16],
    #[attr] c: &[u32],
    #[attr] d: &[u64],
    #[attr] more: Dictionary<'_>,
) -> ffi::Result<()> {
    let inner = more.get::<&[u64]>("inner")?;
    *READ.lock().unwrap() = format!("{a:?} {b:?} {c:?} {d:?} {inner:?}");
    out[0] = 1.0;
    Ok(())
}

static READ: Mutex<String> = Mutex::new(String::new());

#[test]
fn arrays_of_unsigned_numbers_arrive() {
    let client = client();
    client.register_ffi_handler("call_unsigned", &UNSIGNED).unwrap();
    let seen = |call: CustomCall| {
        let program = Program::<Array>::custom_call(&call, [], [Aval::new(DType::F32, [])]).unwrap();
        client.compile(program).unwrap().execute(&[]).unwrap()[0].to_vec::<f32>().unwrap();
        READ.lock().unwrap().clone()
    };
    let call = custom_call(&UNSIGNED)
        .attribute("a", [0u8, 255])
        .attribute("b", [u16::MAX])
        // All the same: MLIR keeps those once.
        .attribute("c", [7u32, 7, 7])
        .attribute("d", [1u64, u64::MAX, 3])
        .attribute("more", Attribute::dictionary([("inner", [1u64 << 63, 1 << 63].into())]));
    assert_eq!(
        seen(call),
        "[0, 255] [65535] [7, 7, 7] [1, 18446744073709551615, 3] [9223372036854775808, 9223372036854775808]"
    );
    let call = custom_call(&UNSIGNED)
        .attribute("a", Vec::<i64>::new())
        .attribute("b", Vec::<u16>::new())
        .attribute("c", Attribute::mlir("array<ui32>"))
        .attribute("d", Attribute::mlir("array<ui64: 0xFFFFFFFFFFFFFFFF>"))
        .attribute("more", Attribute::dictionary([("inner", Attribute::mlir("array<ui64: 5, 5>"))]));
    assert_eq!(seen(call), "[] [] [] [18446744073709551615] [5, 5]");
}

struct UpTo(i64);

#[ffi_handler(stage = instantiate)]
fn make_up_to(#[attr] up_to: i64, #[attr(default = 1)] step: i64, #[attr] shared: i32) -> ffi::Result<UpTo> {
    Ok(UpTo(up_to * step + i64::from(shared)))
}

#[ffi_handler(target = "call_counts", instantiate = make_up_to)]
fn counts(
    #[arg(shape = [n])] _x: Buffer<f32>,
    #[ret(shape = [n])] mut out: BufferMut<f32>,
    #[attr(default = 0)] shared: i32,
    #[ctx] state: ffi::State<'_, UpTo>,
) -> ffi::Result<()> {
    out.fill(state.0 as f32 + 1000.0 * shared as f32);
    Ok(())
}

#[ffi_handler(target = "call_quarrels", instantiate = make_up_to)]
fn quarrels(#[ret] mut out: BufferMut<f32>, #[attr(default = 0)] shared: i64) -> ffi::Result<()> {
    out.fill(shared as f32);
    Ok(())
}

#[dispatch_family]
fn counted(cx: &CompileCx, #[dynamic(dtype = f32, shape = [_])] x: Value) -> Result<Program> {
    let call = custom_call(&COUNTS).attribute("up_to", 10).attribute("shared", 2).attribute("step", 3u8);
    cx.program(cx.call(call, &[&x], x.aval()))
}

#[test]
fn attributes_of_the_other_stages_are_those_of_the_call() {
    let client = client();
    client.register_ffi_handler("call_counts", &COUNTS).unwrap();
    client.register_ffi_handler("call_quarrels", &QUARRELS).unwrap();
    assert_eq!(Counted::new(&client).call([0f32]).unwrap().to_vec::<f32>().unwrap(), [2032.0]);
    let f32s = Aval::new(DType::F32, [2]);
    let made = |call: CustomCall| {
        Program::<Array>::custom_call(&call, [f32s.clone()], [f32s.clone()])
            .map_err(|error| error.to_string())
    };
    let whole = custom_call(&COUNTS).attribute("up_to", 10).attribute("shared", 2);
    let x = client.array(&[0f32; 2], [2]).unwrap();
    let out = client.compile(made(whole.clone()).unwrap()).unwrap().execute(&[&x]).unwrap();
    assert_eq!(out[0].to_vec::<f32>().unwrap(), [2012.0; 2]);
    for (call, words) in [
        (custom_call(&COUNTS).attribute("shared", 2), "attribute `up_to`: expected i64, got none"),
        // It has a default in one stage, and none in the other.
        (custom_call(&COUNTS).attribute("up_to", 2), "attribute `shared`: expected i32, got none"),
        (whole.clone().attribute("up_to", "x"), "attribute `up_to`: expected i64, got string"),
        (
            whole.clone().attribute("stepp", 2),
            "attribute `stepp`: `counts` has no such attribute; did you mean `step`?",
        ),
        (whole.attribute("else", 2), "it takes `shared`, `step`, `up_to`"),
    ] {
        let error = made(call).unwrap_err();
        assert!(error.contains(words), "{error}");
    }
    let call = custom_call(&QUARRELS).attribute("up_to", 10).attribute("shared", 2);
    let error = Program::<Array>::custom_call(&call, [], [f32s.clone()]).unwrap_err().to_string();
    assert!(
        error.contains(
            "attribute `shared`: expected i32, as `make_up_to` of the stage instantiate reads it, got i64"
        ),
        "{error}"
    );
}
