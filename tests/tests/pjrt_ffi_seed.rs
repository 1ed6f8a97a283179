//! Every example of the documentation of XLA's custom calls, as a handler in Rust on a real plugin.

mod plugin;

use dispatch_runtime::ffi::{
    self, AnyBuffer, AnyBufferMut, AttrValue, Buffer, BufferMut, Dictionary, Handler, RemainingArgs,
    RemainingRets,
};
use dispatch_runtime::prelude::*;
use dispatch_runtime::program::Source;
use plugin::{client, values};

/// Runs a program that is one call of a handler: these operands, results of these types, these attributes.
fn call(handler: &'static Handler, args: &[&Array], results: &[&str], attrs: &str) -> Result<Vec<Array>> {
    let client = client();
    client.register_ffi_handler(handler.target(), handler)?;
    let types: Vec<String> = args.iter().map(|array| array.aval().to_string()).collect();
    let params: Vec<String> = types.iter().enumerate().map(|(i, ty)| format!("%a{i}: {ty}")).collect();
    let operands: Vec<String> = (0..args.len()).map(|i| format!("%a{i}")).collect();
    // A program has a result, also where the call has none.
    let values: Vec<String> = (0..results.len()).map(|i| format!("%0#{i}")).collect();
    let bind = if results.is_empty() { String::new() } else { format!("%0:{} = ", results.len()) };
    let (target, operands) = (handler.target(), operands.join(", "));
    let (params, types, outs) = (params.join(", "), types.join(", "), results.join(", "));
    let mut returned: Vec<&str> = values.iter().map(String::as_str).collect();
    returned.push("%one");
    let mut returned_types = results.to_vec();
    returned_types.push("tensor<i32>");
    let (returned, returned_types) = (returned.join(", "), returned_types.join(", "));
    let text = format!(
        "func.func @main({params}) -> ({returned_types}) {{
           %one = stablehlo.constant dense<1> : tensor<i32>
           {bind}\"stablehlo.custom_call\"({operands}) {{
             call_target_name = \"{target}\", backend_config = {{{attrs}}}, api_version = 4 : i32,
             has_side_effect = true
           }} : ({types}) -> ({outs})
           return {returned} : {returned_types}
         }}"
    );
    let executable = client.compile(Source::StableHlo(text))?;
    let mut results = executable.execute(args)?;
    // An error of a call on a pool thread arrives when something is read.
    results.pop().expect("the constant").to_vec::<i32>()?;
    Ok(results)
}

/// The text of the error of a call.
fn fails(handler: &'static Handler, args: &[&Array], results: &[&str], attrs: &str) -> String {
    call(handler, args, results, attrs).expect_err("the call fails").to_string()
}

#[track_caller]
fn said(message: &str, part: &str) {
    assert!(message.contains(part), "{message}\nhas not: {part}");
}

fn array<T: Element>(data: &[T], shape: impl AsRef<[i64]>) -> Array {
    client().array(data, shape).unwrap()
}

#[ffi_handler(target = "seed.always_error")]
fn always_error() -> ffi::Result<()> {
    Err(ffi::Error::internal("Oops!"))
}

#[ffi_handler(target = "seed.always_success")]
fn always_success() -> ffi::Result<()> {
    Ok(())
}

#[test]
fn always_an_error_and_always_a_success() {
    said(&fails(&ALWAYS_ERROR, &[], &[], ""), "Oops!");
    assert!(call(&ALWAYS_SUCCESS, &[], &[], "").unwrap().is_empty());
    let extra = fails(&ALWAYS_SUCCESS, &[&array(&[1f32], [1])], &[], "");
    said(&extra, "handler `always_success`: expected 0 arguments, got 1");
}

#[ffi_handler(target = "seed.any")]
fn any(#[arg] arg: AnyBuffer, #[ret] mut res: AnyBufferMut) -> ffi::Result<()> {
    res.bytes_mut().copy_from_slice(arg.bytes());
    Ok(())
}

#[test]
fn buffers_of_any_dtype_and_rank() {
    let x = array(&[1f32, 2.0, 3.0, 4.0], [2, 2]);
    assert_eq!(values::<f32>(&call(&ANY, &[&x], &["tensor<2x2xf32>"], "").unwrap()[0]), [1.0, 2.0, 3.0, 4.0]);
    let x = array(&[true, false], [2, 1, 1]);
    assert_eq!(values::<bool>(&call(&ANY, &[&x], &["tensor<2x1x1xi1>"], "").unwrap()[0]), [true, false]);
    let x = array(&[-7i64], []);
    assert_eq!(values::<i64>(&call(&ANY, &[&x], &["tensor<i64>"], "").unwrap()[0]), [-7]);
}

#[ffi_handler(target = "seed.f32")]
fn any_rank(#[arg] arg: Buffer<f32>, #[ret] mut res: BufferMut<f32>) -> ffi::Result<()> {
    res.copy_from_slice(&arg);
    Ok(())
}

#[ffi_handler(target = "seed.f32_rank_2")]
fn rank_2(
    #[arg(shape = [_, _])] arg: Buffer<f32>,
    #[ret(shape = [_, _])] mut res: BufferMut<f32>,
) -> ffi::Result<()> {
    res.copy_from_slice(&arg);
    Ok(())
}

#[test]
fn buffers_of_one_dtype_and_rank() {
    let (x, y) = (array(&[1f32, 2.0], [2]), array(&[1f32, 2.0], [1, 2]));
    assert_eq!(values::<f32>(&call(&ANY_RANK, &[&x], &["tensor<2xf32>"], "").unwrap()[0]), [1.0, 2.0]);
    assert_eq!(values::<f32>(&call(&RANK_2, &[&y], &["tensor<1x2xf32>"], "").unwrap()[0]), [1.0, 2.0]);
    said(
        &fails(&RANK_2, &[&x], &["tensor<1x2xf32>"], ""),
        "handler `rank_2`: argument `arg`: expected shape [_,_], got [2]",
    );
    said(
        &fails(&RANK_2, &[&array(&[1f64, 2.0], [1, 2])], &["tensor<1x2xf32>"], ""),
        "handler `rank_2`: argument `arg`: expected dtype f32, got f64",
    );
}

#[ffi_handler(target = "seed.match")]
fn matched(#[arg] input: AnyBuffer, #[ret] output: AnyBufferMut) -> ffi::Result<()> {
    ffi::check!(input: f32 [rows, cols]);
    ffi::check!(output: f32 [{rows}, {cols}]);
    output.typed::<f32>()?.copy_from_slice(&input.typed::<f32>()?);
    Ok(())
}

#[test]
fn sizes_are_captured_and_the_output_checked() {
    let x = array(&[1f32, 2.0, 3.0, 4.0, 5.0, 6.0], [2, 3]);
    let out = call(&MATCHED, &[&x], &["tensor<2x3xf32>"], "").unwrap();
    assert_eq!(values::<f32>(&out[0]), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    said(
        &fails(&MATCHED, &[&x], &["tensor<3x2xf32>"], ""),
        "`output`: expected shape [rows=2,cols=3], got [3,2]",
    );
    said(
        &fails(&MATCHED, &[&array(&[1i32], [1])], &["tensor<1xf32>"], ""),
        "`input`: expected dtype f32, got i32",
    );
}

#[ffi_handler(target = "seed.activations")]
fn activations(#[arg] input: AnyBuffer, #[attr] index: u64, #[attr] size: u64) -> ffi::Result<()> {
    ffi::check!(input: f32, rank = 4, dim(0) = 1, dim(3) = 128);
    ffi::check!(input: dim(index as usize) = {size});
    Ok(())
}

#[test]
fn single_dimensions_are_checked_by_index() {
    let x = array(&[0f32; 256], [1, 2, 1, 128]);
    call(&ACTIVATIONS, &[&x], &[], "index = 1 : ui64, size = 2 : ui64").unwrap();
    said(
        &fails(&ACTIVATIONS, &[&x], &[], "index = 1 : ui64, size = 3 : ui64"),
        "`input`: expected dim(1) = size=3, got 2 in shape [1,2,1,128]",
    );
    said(
        &fails(&ACTIVATIONS, &[&array(&[0f32; 128], [1, 128])], &[], "index = 1 : ui64, size = 3 : ui64"),
        "`input`: expected rank 4, got 2",
    );
}

#[ffi_handler(target = "seed.square")]
fn square(
    #[arg(dtype = f32, shape = [n, n])] matrix: AnyBuffer,
    #[ret] mut trace: BufferMut<f32>,
) -> ffi::Result<()> {
    trace[0] = matrix.typed::<f32>()?.iter().step_by(n + 1).sum();
    Ok(())
}

#[test]
fn a_name_twice_is_a_square_matrix() {
    let x = array(&[1f32, 2.0, 3.0, 4.0], [2, 2]);
    assert_eq!(values::<f32>(&call(&SQUARE, &[&x], &["tensor<f32>"], "").unwrap()[0]), [5.0]);
    let x = array(&[1f32, 2.0], [1, 2]);
    said(&fails(&SQUARE, &[&x], &["tensor<f32>"], ""), "argument `matrix`: expected shape [n,n], got [1,2]");
}

#[ffi_handler(target = "seed.same_shape")]
fn same_shape(
    #[arg(shape = [rows, cols])] lhs: Buffer<f32>,
    #[arg(shape = [rows, cols])] rhs: Buffer<f32>,
) -> ffi::Result<()> {
    let _ = (lhs, rhs);
    Ok(())
}

#[ffi_handler(target = "seed.sort_buffers")]
fn sort_buffers(
    #[arg] keys: AnyBuffer,
    #[arg] values: AnyBuffer,
    #[ret] keys_output: AnyBufferMut,
) -> ffi::Result<()> {
    ffi::check!(values: shape(keys));
    ffi::check!(keys_output: like(keys));
    Ok(())
}

#[test]
fn shapes_are_the_same_and_buffers_alike() {
    let (x, y) = (array(&[1f32, 2.0], [1, 2]), array(&[1f32, 2.0], [2, 1]));
    call(&SAME_SHAPE, &[&x, &x], &[], "").unwrap();
    said(
        &fails(&SAME_SHAPE, &[&x, &y], &[], ""),
        "argument `rhs`: expected shape [rows=1,cols=2] (rows, cols from `lhs`), got [2,1]",
    );
    let n = array(&[1i32, 2], [1, 2]);
    call(&SORT_BUFFERS, &[&x, &n], &["tensor<1x2xf32>"], "").unwrap();
    said(
        &fails(&SORT_BUFFERS, &[&x, &y], &["tensor<1x2xf32>"], ""),
        "`values`: expected shape [1,2], the shape of `keys`, got [2,1]",
    );
    said(
        &fails(&SORT_BUFFERS, &[&x, &n], &["tensor<1x2xi32>"], ""),
        "`keys_output`: expected dtype f32, the dtype of `keys`, got i32",
    );
}

#[ffi_handler(target = "seed.indices")]
fn indices(#[arg] indices: AnyBuffer, #[ret] mut sum: BufferMut<i64>) -> ffi::Result<()> {
    ffi::check!(indices: [i32, i64], rank = [1, 2]);
    sum[0] = match indices.dtype() {
        Some(DType::I32) => indices.typed::<i32>()?.iter().map(|i| i64::from(*i)).sum(),
        _ => indices.typed::<i64>()?.iter().sum(),
    };
    Ok(())
}

#[test]
fn indices_are_of_either_dtype() {
    let sum = |x: Array| values::<i64>(&call(&INDICES, &[&x], &["tensor<i64>"], "").unwrap()[0])[0];
    assert_eq!((sum(array(&[1i32, 2], [2])), sum(array(&[3i64, 4], [2, 1]))), (3, 7));
    let wrong = |x: Array| fails(&INDICES, &[&x], &["tensor<i64>"], "");
    said(&wrong(array(&[1u32], [1])), "`indices`: expected dtype i32 or i64, got u32");
    said(&wrong(array(&[1i32], [])), "`indices`: expected rank 1 or 2, got 0");
}

#[ffi_handler(target = "seed.variadic")]
fn variadic(#[arg] args: RemainingArgs, #[ret] mut results: RemainingRets) -> ffi::Result<()> {
    let arg = args.get::<f32>(0)?;
    results.get::<f32>(0)?.copy_from_slice(&arg);
    Ok(())
}

#[ffi_handler(target = "seed.after_regular")]
fn after_regular(
    #[arg] arg: AnyBuffer,
    #[arg] args: RemainingArgs,
    #[ret] mut ret: BufferMut<i64>,
    #[ret] results: RemainingRets,
) -> ffi::Result<()> {
    ret[0] = (arg.rank() * 100 + args.len() * 10 + results.len()) as i64;
    for (i, mut result) in results.into_all().enumerate() {
        result.bytes_mut().copy_from_slice(args.any(i)?.bytes());
    }
    Ok(())
}

#[test]
fn arguments_and_results_of_any_number() {
    let (x, n) = (array(&[1f32, 2.0], [2]), array(&[3i32], [1]));
    assert_eq!(values::<f32>(&call(&VARIADIC, &[&x, &n], &["tensor<2xf32>"], "").unwrap()[0]), [1.0, 2.0]);
    said(&fails(&VARIADIC, &[], &["tensor<2xf32>"], ""), "argument `args[0]`: there are only 0");
    said(&fails(&VARIADIC, &[&n], &["tensor<2xf32>"], ""), "argument `args[0]`: expected dtype f32, got i32");
    let out =
        call(&AFTER_REGULAR, &[&x, &n, &x], &["tensor<i64>", "tensor<1xi32>", "tensor<2xf32>"], "").unwrap();
    assert_eq!(values::<i64>(&out[0]), [122]);
    assert_eq!((values::<i32>(&out[1]), values::<f32>(&out[2])), (vec![3], vec![1.0, 2.0]));
    said(
        &fails(&AFTER_REGULAR, &[], &["tensor<i64>"], ""),
        "handler `after_regular`: expected at least 1 argument, got 0, without `arg`",
    );
}

#[ffi_handler(target = "seed.attributes")]
fn attributes(
    #[arg(shape = [])] buffer: Buffer<f32>,
    #[ret(shape = [])] mut out: BufferMut<f32>,
    #[attr] i32: i32,
    #[attr] str: &str,
) -> ffi::Result<()> {
    out[0] = buffer[0] + i32 as f32 + str.len() as f32;
    Ok(())
}

#[test]
fn attributes_are_decoded() {
    let x = array(&[0.5f32], []);
    let out = call(&ATTRIBUTES, &[&x], &["tensor<f32>"], "i32 = 42 : i32, str = \"string\"").unwrap();
    assert_eq!(values::<f32>(&out[0]), [48.5]);
    let wrong = |attrs| fails(&ATTRIBUTES, &[&x], &["tensor<f32>"], attrs);
    said(
        &wrong("i32 = 42 : i64, str = \"s\""),
        "handler `attributes`: attribute `i32`: expected i32, got i64",
    );
    said(&wrong("i32 = 42 : i32"), "attribute `str`: expected string, got none");
    said(
        &wrong("i32 = 42 : i32, str = \"s\", more = 1 : i32"),
        "attribute `more`: `attributes` has no such attribute; it takes `i32`, `str`",
    );
    said(&wrong("i32 = 42 : i32, srt = \"s\""), "did you mean `str`?");
    // Also behind all that are declared, and where none is.
    said(
        &wrong("i32 = 42 : i32, str = \"s\", zeta = 1 : i32"),
        "attribute `zeta`: `attributes` has no such attribute",
    );
    said(
        &fails(&ALWAYS_SUCCESS, &[], &[], "a = 1 : i32"),
        "attribute `a`: `always_success` has no such attribute",
    );
}

#[derive(AttrValue, Debug, PartialEq)]
#[repr(i32)]
enum Command {
    Add = 0,
    Mul = 1,
}

#[ffi_handler(target = "seed.enum")]
fn command(
    #[arg(shape = [])] x: Buffer<f32>,
    #[ret(shape = [])] mut out: BufferMut<f32>,
    #[attr] command: Command,
) -> ffi::Result<()> {
    out[0] = match command {
        Command::Add => x[0] + x[0],
        Command::Mul => x[0] * x[0],
    };
    Ok(())
}

#[test]
fn an_enum_is_an_integer_of_its_type() {
    let x = array(&[3f32], []);
    let run = |attrs| call(&COMMAND, &[&x], &["tensor<f32>"], attrs);
    assert_eq!(values::<f32>(&run("command = 0 : i32").unwrap()[0]), [6.0]);
    assert_eq!(values::<f32>(&run("command = 1 : i32").unwrap()[0]), [9.0]);
    said(
        &run("command = 2 : i32").unwrap_err().to_string(),
        "attribute `command`: expected Command (i32: 0 Add, 1 Mul), got 2",
    );
    said(
        &run("command = 1 : i64").unwrap_err().to_string(),
        "attribute `command`: expected Command (i32: 0 Add, 1 Mul), got i64",
    );
}

#[derive(AttrValue)]
struct Range {
    lo: i64,
    hi: i64,
}

#[ffi_handler(target = "seed.struct")]
fn range(#[ret(shape = [])] mut out: BufferMut<i64>, #[attr] range: Range) -> ffi::Result<()> {
    out[0] = range.hi - range.lo;
    Ok(())
}

#[ffi_handler(target = "seed.dictionary")]
fn dictionary(#[ret(shape = [])] mut out: BufferMut<i64>, #[attrs] attrs: Dictionary) -> ffi::Result<()> {
    let range = attrs.get::<Range>("range")?;
    out[0] = range.hi - range.lo + i64::from(attrs.get::<i32>("i32")?);
    Ok(())
}

#[test]
fn a_struct_is_a_dictionary_and_all_attributes_are_one() {
    let both = "range = {lo = 2 : i64, hi = 42 : i64}";
    assert_eq!(values::<i64>(&call(&RANGE, &[], &["tensor<i64>"], both).unwrap()[0]), [40]);
    let wrong = |attrs| fails(&RANGE, &[], &["tensor<i64>"], attrs);
    said(&wrong("range = {lo = 2 : i64}"), "attribute `range.hi`: expected i64, got none");
    said(&wrong("range = {lo = 2 : i64, hi = 3 : i32}"), "attribute `range.hi`: expected i64, got i32");
    said(&wrong("range = {lo = 2 : i64, hi = 3 : i64, mid = 3 : i64}"), "`Range` has no such attribute");
    let all = format!("{both}, i32 = 1 : i32, unused = \"x\"");
    assert_eq!(values::<i64>(&call(&DICTIONARY, &[], &["tensor<i64>"], &all).unwrap()[0]), [41]);
    said(&fails(&DICTIONARY, &[], &["tensor<i64>"], "i32 = 1 : i32"), "attribute `range`: expected Range");
}

#[ffi_handler(target = "do_custom_call")]
fn do_custom_call(
    #[arg(shape = [d0])] in0: Buffer<f32>,
    #[arg(shape = [d1])] in1: Buffer<f32>,
    #[ret(shape = [d1])] mut out: BufferMut<f32>,
) -> ffi::Result<()> {
    for i in 0..d1 {
        out[i] = in0[i % d0] + in1[i];
    }
    Ok(())
}

#[test]
fn a_is_b_modulo_128_plus_c() {
    let b: Vec<f32> = (0..128).map(|i| i as f32).collect();
    let c: Vec<f32> = (0..2048).map(|i| 1000.0 + i as f32).collect();
    let out =
        call(&DO_CUSTOM_CALL, &[&array(&b, [128]), &array(&c, [2048])], &["tensor<2048xf32>"], "").unwrap();
    let expected: Vec<f32> = (0..2048).map(|i| b[i % 128] + c[i]).collect();
    assert_eq!(values::<f32>(&out[0]), expected);
    said(
        &fails(&DO_CUSTOM_CALL, &[&array(&b, [128]), &array(&c, [2048])], &["tensor<2047xf32>"], ""),
        "result `out`: expected shape [d1=2048] (d1 from `in1`), got [2047]",
    );
}

#[ffi_handler(target = "seed.tuples")]
fn tuples(
    #[arg(shape = [32])] a: Buffer<f32>,
    #[arg(shape = [64])] b: Buffer<f32>,
    #[arg(shape = [128])] c: Buffer<f32>,
    #[arg(shape = [256])] d: Buffer<f32>,
    #[ret(shape = [512])] mut x: BufferMut<f32>,
    #[ret(shape = [1024])] mut temporary: BufferMut<f32>,
) -> ffi::Result<()> {
    temporary.fill(a[0] + b[0] + c[0] + d[0]);
    x.copy_from_slice(&temporary[..512]);
    Ok(())
}

/// Tuples arrive flattened: `(f32[32], (f32[64], f32[128]), f32[256])` are four arguments, `(f32[512], f32[1024])` two
/// results, of which the second may be memory that only the handler uses.
#[test]
fn tuples_are_flattened() {
    let client = client();
    client.register_ffi_handler("seed.tuples", &TUPLES).unwrap();
    let text = "func.func @main(%a: tensor<32xf32>, %b: tensor<64xf32>, %c: tensor<128xf32>, %d: tensor<256xf32>)
           -> tensor<512xf32> {
         %bc = stablehlo.tuple %b, %c : tuple<tensor<64xf32>, tensor<128xf32>>
         %t = stablehlo.tuple %a, %bc, %d
           : tuple<tensor<32xf32>, tuple<tensor<64xf32>, tensor<128xf32>>, tensor<256xf32>>
         %r = \"stablehlo.custom_call\"(%t) {call_target_name = \"seed.tuples\", api_version = 4 : i32}
           : (tuple<tensor<32xf32>, tuple<tensor<64xf32>, tensor<128xf32>>, tensor<256xf32>>)
           -> tuple<tensor<512xf32>, tensor<1024xf32>>
         %x = stablehlo.get_tuple_element %r[0] : (tuple<tensor<512xf32>, tensor<1024xf32>>) -> tensor<512xf32>
         return %x : tensor<512xf32>
       }";
    let executable = client.compile(Source::StableHlo(text.into())).unwrap();
    let args = [(1f32, 32), (2.0, 64), (4.0, 128), (8.0, 256)].map(|(v, n)| array(&vec![v; n], [n as i64]));
    let results = executable.execute(&args.each_ref()).unwrap();
    assert_eq!(values::<f32>(&results[0]), [15f32; 512]);
}

#[rustfmt::skip]
#[ffi_handler]
fn rotate_add(
    #[arg(dtype = f32, shape = [m])] b: Buffer<f32>,
    #[arg(dtype = f32, shape = [n])] c: Buffer<f32>,
    #[ret(dtype = f32, shape = [n])] mut out: BufferMut<f32>,
    #[attr(default = 1.0)]           scale: f32,
) -> ffi::Result<()> {
    // m and n are usize in a handler; arguments are slices, the result is one to write into
    for (o, c) in out.chunks_mut(m).zip(c.chunks(m)) {
        for ((o, b), c) in o.iter_mut().zip(&b[..]).zip(c) { *o = b * scale + c; }
    }
    Ok(())
}

#[test]
fn a_vector_is_added_again_and_again() {
    let (b, c) = (array(&[1f32, 2.0], [2]), array(&[10f32, 20.0, 30.0, 40.0, 50.0], [5]));
    let run = |attrs| values::<f32>(&call(&ROTATE_ADD, &[&b, &c], &["tensor<5xf32>"], attrs).unwrap()[0]);
    assert_eq!(run(""), [11.0, 22.0, 31.0, 42.0, 51.0]);
    assert_eq!(run("scale = 10.0 : f32"), [20.0, 40.0, 40.0, 60.0, 60.0]);
    let empty = client().array::<f32>(&[], [0]).unwrap();
    assert_eq!(values::<f32>(&call(&ROTATE_ADD, &[&b, &empty], &["tensor<0xf32>"], "").unwrap()[0]), []);
}

#[ffi_handler(target = "seed.later")]
fn later(#[arg] x: AnyBuffer, #[attr] rows: u64) -> ffi::Future {
    ffi::check!(x: f32 [{rows}]);
    let (promise, future) = ffi::promise();
    std::thread::spawn(move || promise.complete(Ok(())));
    future
}

#[test]
fn a_check_fails_in_a_function_that_answers_later() {
    let x = array(&[1f32, 2.0], [2]);
    call(&LATER, &[&x], &[], "rows = 2 : ui64").unwrap();
    said(&fails(&LATER, &[&x], &[], "rows = 3 : ui64"), "`x`: expected shape [rows=3], got [2]");
}

struct Plan {
    table: Vec<i64>,
}

#[ffi_handler(stage = instantiate)]
fn make_plan(#[attr] size: i64) -> ffi::Result<Plan> {
    if size < 0 {
        return Err(ffi::Error::invalid_argument(format!("`size` is {size}")));
    }
    Ok(Plan { table: (0..size).collect() })
}

#[ffi_handler(target = "seed.planned", instantiate = make_plan)]
fn planned(
    #[ret] mut out: BufferMut<i64>,
    #[ctx] plan: ffi::State<'_, Plan>,
    #[attr(default = 1)] factor: i64,
) -> ffi::Result<()> {
    out[0] = plan.table.iter().sum::<i64>() * factor;
    Ok(())
}

/// The attributes of a call are those of all its stages together.
#[test]
fn a_plan_is_made_when_the_program_is_loaded() {
    let run = |attrs| call(&PLANNED, &[], &["tensor<i64>"], attrs);
    assert_eq!(values::<i64>(&run("size = 5 : i64").unwrap()[0]), [10]);
    assert_eq!(values::<i64>(&run("size = 5 : i64, factor = 3 : i64").unwrap()[0]), [30]);
    said(&run("size = -1 : i64").unwrap_err().to_string(), "`size` is -1");
    said(&run("").unwrap_err().to_string(), "handler `make_plan`: attribute `size`: expected i64, got none");
    said(
        &run("size = 5 : i64, fatcor = 3 : i64").unwrap_err().to_string(),
        "handler `planned`: attribute `fatcor`: `planned` has no such attribute; did you mean `factor`?",
    );
}

#[ffi_handler(target = "seed.stream")]
fn with_stream(#[ctx] stream: ffi::Stream) -> ffi::Result<()> {
    let _ = stream;
    Ok(())
}

#[ffi_handler(target = "seed.scratch")]
fn with_scratch(#[ctx] scratch: ffi::Scratch) -> ffi::Result<()> {
    let _ = scratch;
    Ok(())
}

#[ffi_handler(target = "seed.ids")]
fn with_ids(
    #[ctx] device: ffi::DeviceOrdinal,
    #[ctx] run: ffi::RunId,
    #[ctx] pool: ffi::ThreadPool,
) -> ffi::Result<()> {
    let _ = (device, run, pool);
    Ok(())
}

#[test]
fn what_only_other_platforms_have_is_unimplemented() {
    said(&fails(&WITH_STREAM, &[], &[], ""), "`stream`");
    said(&fails(&WITH_SCRATCH, &[], &[], ""), "`scratch`");
    call(&WITH_IDS, &[], &[], "").unwrap();
}
