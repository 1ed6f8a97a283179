//! What `#[ffi_handler]` makes, on call frames made by hand.

use dispatch_runtime::ffi::testing::Frame;
use dispatch_runtime::ffi::{
    self, Aliased, AnyBuffer, AnyBufferMut, AttrValue, Buffer, BufferMut, Dictionary, Handler, RemainingArgs,
    RemainingRets, Token,
};
use dispatch_runtime::prelude::*;

/// The text of the error of a call.
fn fails(frame: Frame, handler: &Handler) -> String {
    let mut frame = frame;
    frame.call(handler).unwrap_err().message
}

/// `b`, again and again, times `scale`, plus `c`.
#[ffi_handler]
fn rotate_add(
    #[arg(dtype = f32, shape = [m])] b: Buffer<f32>,
    #[arg(dtype = f32, shape = [n])] c: Buffer<f32>,
    #[ret(dtype = f32, shape = [n])] mut out: BufferMut<f32>,
    /// The factor.
    #[attr(default = 1.0)]
    scale: f32,
) -> ffi::Result<()> {
    for (o, c) in out.chunks_mut(m).zip(c.chunks(m)) {
        for ((o, b), c) in o.iter_mut().zip(&b[..]).zip(c) {
            *o = b * scale + c;
        }
    }
    Ok(())
}

#[test]
fn a_handler_decodes_checks_and_runs() {
    let frame = || Frame::new().arg(&[1f32, 2.0], [2]).arg(&[10f32, 20.0, 30.0], [3]);
    let mut call = frame().ret::<f32>([3]);
    call.call(&ROTATE_ADD).unwrap();
    assert_eq!(call.result::<f32>(0), [11.0, 22.0, 31.0]);
    let mut call = frame().ret::<f32>([3]).attr("scale", 2f32);
    call.call(&ROTATE_ADD).unwrap();
    assert_eq!(call.result::<f32>(0), [12.0, 24.0, 32.0]);
    assert_eq!(
        fails(frame().ret::<f32>([2]), &ROTATE_ADD),
        "handler `rotate_add`: result `out`: expected shape [n=3] (n from `c`), got [2]"
    );
    assert_eq!(
        fails(frame().ret::<f64>([3]), &ROTATE_ADD),
        "handler `rotate_add`: result `out`: expected dtype f32, got f64"
    );
    assert_eq!((ROTATE_ADD.name(), ROTATE_ADD.target()), ("rotate_add", "rotate_add"));
}

#[ffi_handler]
fn ties(
    #[arg(dtype = float, shape = [batch.., m])] x: AnyBuffer,
    #[arg(dtype = dtype(x), shape = shape(x))] y: AnyBuffer,
    #[arg(shape = [batch.., 2, _])] z: Buffer<i32>,
    #[ret(like(x))] out: AnyBufferMut,
    #[ret] mut sizes: BufferMut<i64>,
) -> ffi::Result<()> {
    let _ = (y, z, out.rank());
    sizes[0] = batch.iter().product::<usize>() as i64;
    sizes[1] = m as i64;
    Ok(())
}

#[test]
fn buffers_are_tied_to_each_other() {
    let x = [0f64; 12];
    let frame = |y: &[i64], z: &[i64]| {
        let z_data = vec![0i32; z.iter().product::<i64>() as usize];
        Frame::new()
            .arg(&x, [2, 3, 2])
            .arg(&vec![0f64; y.iter().product::<i64>() as usize], y)
            .arg(&z_data, z)
    };
    let mut call = frame(&[2, 3, 2], &[2, 3, 2, 5]).ret::<f64>([2, 3, 2]).ret::<i64>([2]);
    call.call(&TIES).unwrap();
    assert_eq!(call.result::<i64>(1), [6, 2]);
    let wrong = |call: Frame, want: &str| assert_eq!(fails(call, &TIES), format!("handler `ties`: {want}"));
    wrong(
        frame(&[2, 3, 3], &[2, 3, 2, 5]).ret::<f64>([2, 3, 2]).ret::<i64>([2]),
        "argument `y`: expected shape [2,3,2], the shape of `x`, got [2,3,3]",
    );
    wrong(
        frame(&[2, 3, 2], &[2, 2, 2, 5]).ret::<f64>([2, 3, 2]).ret::<i64>([2]),
        "argument `z`: expected shape [batch..=[2,3],2,_] (batch from `x`), got [2,2,2,5]",
    );
    wrong(
        frame(&[2, 3, 2], &[2, 3, 2, 5]).ret::<f32>([2, 3, 2]).ret::<i64>([2]),
        "result `out`: expected dtype f64, the dtype of `x`, got f32",
    );
}

#[ffi_handler]
fn optional(
    #[arg] x: Buffer<f32>,
    #[arg(dtype = f32, shape = shape(x))] y: Option<AnyBuffer>,
    #[arg] rest: RemainingArgs,
    #[ret] mut n: BufferMut<i64>,
    #[ret(shape = shape(x))] more: Option<BufferMut<f32>>,
    #[ret] others: RemainingRets,
) -> ffi::Result<()> {
    n.copy_from_slice(&[x.len() as i64, y.is_some() as i64, rest.len() as i64, others.len() as i64]);
    if let Some(mut more) = more {
        more.fill(7.0);
    }
    Ok(())
}

#[test]
fn arguments_and_results_may_be_absent_or_more() {
    let x = [1f32, 2.0];
    let mut call = Frame::new().arg(&x, [2]).ret::<i64>([4]);
    call.call(&OPTIONAL).unwrap();
    assert_eq!(call.result::<i64>(0), [2, 0, 0, 0]);
    let mut call =
        Frame::new().arg(&x, [2]).arg(&x, [2]).arg(&x, [1, 2]).ret::<i64>([4]).ret::<f32>([2]).ret::<u8>([1]);
    call.call(&OPTIONAL).unwrap();
    assert_eq!(call.result::<i64>(0), [2, 1, 1, 1]);
    assert_eq!(call.result::<f32>(1), [7.0, 7.0]);
    let wrong = Frame::new().arg(&x, [2]).arg(&x, [1, 2]).ret::<i64>([4]);
    assert_eq!(
        fails(wrong, &OPTIONAL),
        "handler `optional`: argument `y`: expected shape [2], the shape of `x`, got [1,2]"
    );
}

/// What is done.
#[derive(AttrValue, Debug, PartialEq)]
#[repr(i32)]
enum Command {
    Add = 0,
    Mul = 5,
}

#[derive(AttrValue, Debug, PartialEq)]
struct Range<'a> {
    lo: i64,
    #[attr(name = "high", default = 42)]
    hi: i64,
    name: Option<&'a str>,
}

#[ffi_handler(target = "all.attributes")]
#[allow(clippy::float_cmp)]
fn attributes(
    #[attr] zeta: bool,
    #[attr] command: Command,
    #[attr(name = "in")] range: Range,
    #[attr] v: &[i64],
    #[attr] s: Option<&str>,
    #[attr(default = "none")] t: &str,
    #[attr] nested: Dictionary,
    #[attr(default = &[1, 2])] w: &[i32],
    #[ret] mut out: BufferMut<i64>,
) -> ffi::Result<()> {
    let text = format!("{zeta} {command:?} {range:?} {v:?} {s:?} {t} {w:?} {}", nested.get::<f32>("eps")?);
    out[0] = text.len() as i64;
    Err(ffi::Error::invalid_argument(text))
}

#[test]
fn attributes_of_every_kind() {
    use dispatch_runtime::ffi::testing::Value;
    let frame = || {
        Frame::new()
            .ret::<i64>([1])
            .attr("zeta", true)
            .attr("command", 5i32)
            .attr("in", Value::from(vec![("high", 3i64.into()), ("lo", 1i64.into())]))
            .attr("v", &[1i64, 2][..])
            .attr("nested", Value::from(vec![("eps", 0.5f32.into())]))
    };
    assert_eq!(
        fails(frame(), &ATTRIBUTES),
        "true Mul Range { lo: 1, hi: 3, name: None } [1, 2] None none [1, 2] 0.5"
    );
    let set = frame().attr("s", "é").attr("t", "x").attr("w", &[3i32][..]);
    assert_eq!(
        fails(set, &ATTRIBUTES),
        "true Mul Range { lo: 1, hi: 3, name: None } [1, 2] Some(\"é\") x [3] 0.5"
    );
    let wrong = fails(frame().attr("t", 3i32), &ATTRIBUTES);
    assert_eq!(wrong, "handler `attributes`: attribute `t`: expected string, got i32");
    assert_eq!(ATTRIBUTES.target(), "all.attributes");
}

#[ffi_handler]
fn everything(#[attrs] all: Dictionary, #[attr] b: i64, #[arg] token: Token) -> ffi::Result<()> {
    let _ = token;
    Err(ffi::Error::internal(format!("{} {b}", all.len())))
}

#[test]
fn who_takes_all_attributes_is_told_of_any() {
    let call = Frame::new().token_arg().attr("a", 1i32).attr("b", 5i64).attr("c", "x");
    assert_eq!(fails(call, &EVERYTHING), "3 5");
    let wrong = Frame::new().token_arg().attr("a", 1i32);
    assert_eq!(fails(wrong, &EVERYTHING), "handler `everything`: attribute `b`: expected i64, got none");
}

#[ffi_handler]
fn checked(
    #[arg] x: AnyBuffer,
    #[arg] y: AnyBuffer,
    #[ret] mut out: BufferMut<i64>,
    #[attr(default = 128)] width: u64,
) -> ffi::Result<()> {
    ffi::check!(x: [f32, f64] [rows, {width as usize}]; y: dtype(x), rank = [1, 2], dim(0) = rows);
    ffi::check!(out: [4]);
    out.copy_from_slice(&[rows as i64, x.rank() as i64, y.rank() as i64, 0]);
    Ok(())
}

#[test]
fn patterns_check_and_bind() {
    let x = |n: usize| vec![0f32; n];
    let mut call = Frame::new().arg(&x(256), [2, 128]).arg(&x(2), [2]).ret::<i64>([4]);
    call.call(&CHECKED).unwrap();
    assert_eq!(call.result::<i64>(0), [2, 2, 1, 0]);
    let wrong = |call: Frame, want: &str| assert_eq!(fails(call, &CHECKED), want);
    let out = |frame: Frame| frame.ret::<i64>([4]);
    wrong(out(Frame::new().arg(&[1i32], [1]).arg(&x(2), [2])), "`x`: expected dtype f32 or f64, got i32");
    wrong(
        out(Frame::new().arg(&x(256), [2, 128]).arg(&[1f64], [1])),
        "`y`: expected dtype f32, the dtype of `x`, got f64",
    );
    wrong(
        out(Frame::new().arg(&x(256), [2, 128]).arg(&x(3), [3])),
        "`y`: expected dim(0) = rows=2, got 3 in shape [3]",
    );
    wrong(
        out(Frame::new().arg(&x(256), [2, 128]).arg(&x(2), [2, 1, 1])),
        "`y`: expected rank 1 or 2, got 3, shape [2,1,1]",
    );
    wrong(
        out(Frame::new().arg(&x(3), [3, 1]).arg(&x(2), [2])),
        "`x`: expected shape [rows,width as usize=128], got [3,1]",
    );
}

#[test]
fn the_function_is_still_a_function() {
    fn callable<'a, F: Fn(AnyBuffer<'a>, AnyBuffer<'a>, BufferMut<'a, i64>, u64) -> ffi::Result<()>>(_: F) {}
    callable(checked);
}

#[ffi_handler]
fn reverse(#[arg] x: Buffer<f32>, #[ret(like(x))] mut out: BufferMut<f32>) -> ffi::Result<()> {
    for (o, x) in out.iter_mut().zip(x.iter().rev()) {
        *o = *x;
    }
    Ok(())
}

#[ffi_handler]
fn double(
    #[arg(dtype = f32)] x: Aliased,
    #[ret(like(x), alias = x)] mut out: BufferMut<f32>,
) -> ffi::Result<()> {
    assert_eq!(x.shape(), out.shape());
    out.iter_mut().for_each(|v| *v *= 2.0);
    Ok(())
}

#[test]
fn results_overwrite_no_argument_unless_they_take_it_over() {
    let frame = || Frame::new().arg(&[1f32, 2.0, 3.0], [3]);
    for handler in [&REVERSE, &DOUBLE] {
        let mut apart = frame().ret::<f32>([3]);
        let mut together = frame().ret_in(0);
        apart.call(handler).unwrap();
        together.call(handler).unwrap();
        let expected = if std::ptr::eq(handler, &REVERSE) { [3.0, 2.0, 1.0] } else { [2.0, 4.0, 6.0] };
        assert_eq!(
            (apart.result::<f32>(0), together.result::<f32>(0)),
            (expected.to_vec(), expected.to_vec())
        );
    }
    assert!(fails(frame().ret::<f32>([2]), &DOUBLE).contains("result `out`: expected shape [3]"));
}

#[ffi_handler]
fn defaults(
    #[attr(default = FORTY)] n: i64,
    #[attr(name = "in.side", default = Command::Mul)] command: Command,
    #[ret(shape = [])] mut out: BufferMut<i64>,
) -> ffi::Result<()> {
    const { assert!(FORTY == 40) };
    out[0] = n + command as i64;
    Ok(())
}

const FORTY: i64 = 40;

#[test]
fn defaults_stand_for_what_is_absent() {
    let run = |frame: Frame| {
        let mut frame = frame.ret::<i64>([]);
        frame.call(&DEFAULTS).unwrap();
        frame.result::<i64>(0)[0]
    };
    assert_eq!(run(Frame::new()), 45);
    assert_eq!(run(Frame::new().attr("n", 1i64)), 6);
    assert_eq!(run(Frame::new().attr("in.side", 0i32)), 40);
    assert_eq!(run(Frame::new().attr("n", 2i64).attr("in.side", 0i32)), 2);
}
