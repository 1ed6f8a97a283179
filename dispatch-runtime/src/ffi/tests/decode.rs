//! What a handler says of calls that are wrong, and what it makes of those that look so.

use super::by_hand::ROTATE_ADD;
use super::by_hand_more::{EVERYTHING, SCALE_IN_PLACE, everything_frame};
use super::declare::declare;
use crate::ffi::testing::{Frame, Value};
use crate::ffi::{self, AnyBuffer, AnyBufferMut, Buffer, BufferMut, DataType, Dictionary};

/// The text of the error, without the handler's name.
fn message(frame: &mut Frame, handler: &ffi::Handler) -> String {
    let message = frame.call(handler).unwrap_err().message;
    let own = format!("handler `{}`: ", handler.name());
    message.strip_prefix(&own).unwrap_or_else(|| panic!("{message}")).to_owned()
}

fn rotate() -> Frame {
    Frame::new().arg(&[1f32, 2.0], [2]).arg(&[10f32, 20.0, 30.0], [3]).ret::<f32>([3])
}

#[test]
fn the_number_of_buffers_is_checked() {
    let text = |mut frame: Frame| message(&mut frame, &ROTATE_ADD);
    assert_eq!(
        text(Frame::new().arg(&[1f32], [1]).ret::<f32>([1])),
        "expected 2 arguments, got 1, without `c`"
    );
    assert_eq!(text(rotate().arg(&[1f32], [1])), "expected 2 arguments, got 3");
    assert_eq!(text(rotate().ret::<f32>([1])), "expected 1 result, got 2");
    let none = Frame::new().arg(&[1f32], [1]).arg(&[1f32], [1]);
    assert_eq!(text(none), "expected 1 result, got 0, without `out`");
    let mut few = Frame::new().arg(&[1f64], [1]).ret::<f64>([1]);
    assert_eq!(message(&mut few, &EVERYTHING), "expected at least 3 arguments, got 1, without `b`");
}

#[test]
fn dtypes_and_shapes_are_checked() {
    let text = |mut frame: Frame| message(&mut frame, &ROTATE_ADD);
    let frame = |b: Frame| b.arg(&[1f32, 2.0, 3.0], [3]).ret::<f32>([3]);
    assert_eq!(text(frame(Frame::new().arg(&[1f64], [1]))), "argument `b`: expected dtype f32, got f64");
    assert_eq!(
        text(frame(Frame::new().arg_bytes(20, &[0; 2], [2]))),
        "argument `b`: expected dtype f32, got f8e4m3fn"
    );
    assert_eq!(
        text(frame(Frame::new().arg_bytes(99, &[0; 2], [2]))),
        "argument `b`: expected dtype f32, got an unknown type (99)"
    );
    assert_eq!(text(frame(Frame::new().token_arg())), "argument `b`: expected dtype f32, got token");
    assert_eq!(
        text(frame(Frame::new().arg(&[1f32; 4], [2, 2]))),
        "argument `b`: expected shape [m], got [2,2]"
    );
    let out = Frame::new().arg(&[1f32], [1]).arg(&[1f32; 3], [3]).ret::<f32>([4]);
    assert_eq!(text(out), "result `out`: expected shape [n=3] (n from `c`), got [4]");
    let mut tied = everything_frame();
    tied.raw_arg(1).dtype = 11;
    assert_eq!(
        message(&mut tied, &EVERYTHING),
        "argument `b`: expected dtype f64, the dtype of `a`, got f32"
    );
    let mut choice = everything_frame();
    choice.raw_arg(0).dtype = 5;
    assert_eq!(message(&mut choice, &EVERYTHING), "argument `a`: expected dtype f32 or f64, got i64");
    let mut token = everything_frame();
    (token.raw_arg(2).dtype, token.raw_arg(2).rank) = (6, 0);
    assert!(
        message(&mut token, &EVERYTHING)
            .starts_with("argument `order`: expected a token, got a buffer of u8")
    );
}

#[test]
fn attributes_are_checked_by_name() {
    let text = |frame: Frame| message(&mut { frame }, &EVERYTHING);
    let with = |name: &str, value: Value| {
        let frame =
            Frame::new().arg(&[0f64; 6], [2, 3]).arg(&[0f64; 10], [5, 1, 2]).token_arg().ret::<f64>([2, 3]);
        let attrs: [(&str, Value); 4] = [
            ("mode", 7i32.into()),
            ("range", vec![("lo", Value::from(-1i64)), ("hi", Value::from(3i64))].into()),
            ("in", Value::from(&[0.5f32, 2.0][..])),
            ("nested", vec![("é", Value::from("ü"))].into()),
        ];
        let others = attrs.into_iter().filter(|(other, _)| *other != name);
        others.fold(frame, |frame, (name, value)| frame.attr(name, value)).attr(name, value)
    };
    let cases: [(&str, Value, &str); 13] = [
        ("mode", 7i64.into(), "attribute `mode`: expected Mode (i32: 0 Sum, 7 Product), got i64"),
        ("mode", 3i32.into(), "attribute `mode`: expected Mode (i32: 0 Sum, 7 Product), got 3"),
        ("mode", "Sum".into(), "attribute `mode`: expected Mode (i32: 0 Sum, 7 Product), got string"),
        ("in", Value::from(&[1f64][..]), "attribute `in`: expected array of f32, got array of f64"),
        ("in", 1f32.into(), "attribute `in`: expected array of f32, got f32"),
        ("eps", 1f32.into(), "attribute `eps`: expected f64, got f32"),
        ("nested", true.into(), "attribute `nested`: expected dictionary, got bool"),
        (
            "range",
            1i64.into(),
            "attribute `range`: expected Range (dictionary of hi: i64, lo: i64, unit: string), got i64",
        ),
        (
            "range",
            vec![("lo", Value::from(1i32)), ("hi", Value::from(1i64))].into(),
            "attribute `range.lo`: expected i64, got i32",
        ),
        ("range", vec![("lo", Value::from(1i64))].into(), "attribute `range.hi`: expected i64, got none"),
        (
            "range",
            vec![("lo", Value::from(1i64)), ("ho", Value::from(1i64))].into(),
            "attribute `range.ho`: `Range` has no such attribute; did you mean `hi`?",
        ),
        (
            "range",
            vec![("lo", Value::from(1i64)), ("hi", Value::from(1i64)), ("step", Value::from(1i64))].into(),
            "attribute `range.step`: `Range` has no such attribute; it takes `hi`, `lo`, `unit`",
        ),
        ("nested", Value::Null(2), "attribute `nested`: it has no value"),
    ];
    for (name, value, expected) in cases {
        assert_eq!(text(with(name, value)), expected);
    }
    let text = |frame: Frame| message(&mut { frame }, &SCALE_IN_PLACE);
    let frame = || Frame::new().arg(&[1f32], [1]).ret::<f32>([1]);
    assert_eq!(text(frame()), "attribute `by`: expected f32, got none");
    assert_eq!(
        text(frame().attr("yb", 1f32)),
        "attribute `yb`: `scale_in_place` has no such attribute; did you mean `by`?"
    );
    assert_eq!(
        text(frame().attr("by", 1f32).attr("zeta", 1f32)),
        "attribute `zeta`: `scale_in_place` has no such attribute; it takes `by`"
    );
    assert_eq!(text(frame().attr("by", 1f32).attr("by", 1f32)), "attribute `by`: it is given twice");
    // A wrong type that would be UB to read.
    let frame = with(
        "range",
        vec![("lo", Value::from(1i64)), ("hi", 1i64.into()), ("unit", Value::String(vec![0xFF]))].into(),
    );
    assert_eq!(
        message(&mut { frame }, &EVERYTHING),
        "attribute `range.unit`: expected string, got a string that is not UTF-8"
    );
}

#[test]
fn attributes_in_another_order_are_an_error() {
    let mut frame = everything_frame();
    frame.sorted = false;
    let expected = "malformed call frame: its attributes are not sorted by name";
    assert_eq!(message(&mut frame, &EVERYTHING), format!("attribute `range`: {expected}"));
    let mut frame = Frame::new().arg(&[1f32], [1]).ret::<f32>([1]).attr("z", 1i8).attr("by", 1f32);
    frame.sorted = false;
    assert_eq!(message(&mut frame, &SCALE_IN_PLACE), expected);
}

#[test]
fn malformed_buffers_are_named() {
    let text = |damage: fn(&mut Frame)| {
        let mut frame = rotate();
        damage(&mut frame);
        message(&mut frame, &ROTATE_ADD)
    };
    assert_eq!(text(|f| f.raw_arg(0).rank = -1), "argument `b`: its rank is -1");
    assert_eq!(
        text(|f| f.raw_arg(0).dims = std::ptr::null_mut()),
        "argument `b`: its rank is 1, but its sizes are null"
    );
    assert_eq!(
        text(|f| f.raw_arg(0).data = std::ptr::null_mut()),
        "argument `b`: its data are null, though there are 8 bytes"
    );
    assert_eq!(text(|f| f.raw_arg(1).struct_size = 40), "argument `c`: it is no buffer, or a malformed one");
    assert_eq!(text(|f| *f.arg_kind(1) = 2), "argument `c`: it is no buffer, or a malformed one");
    let misaligned = text(|f| {
        let data = &mut f.raw_arg(0).data;
        *data = data.wrapping_byte_add(1);
    });
    assert!(misaligned.ends_with(" are not aligned to 4 bytes"), "{misaligned}");
    let mut absurd = Frame::new().arg(&[0f32; 0], [0]).arg(&[0f32; 0], [0, i64::MAX, 4]).ret::<f32>([0]);
    assert!(message(&mut absurd, &ROTATE_ADD).starts_with("argument `c`: "), "a product that overflows");
    // No product shows the sign of this one.
    let hidden = Frame::new().arg(&[0f32; 0], [0]).arg_bytes(11, &[], [-1, 0]).ret::<f32>([0]);
    assert_eq!(message(&mut { hidden }, &ROTATE_ADD), "argument `c`: no array has the shape [-1,0]");
    let negative = Frame::new().arg_bytes(11, &[], [-3]).arg(&[0f32; 0], [0]).ret::<f32>([0]);
    assert_eq!(message(&mut { negative }, &ROTATE_ADD), "argument `b`: no array has the shape [-3]");
}

#[test]
fn malformed_frames_are_errors() {
    let text = |damage: fn(&mut ffi::abi::XLA_FFI_CallFrame)| {
        // SAFETY: the frame is whole.
        let error = rotate().call_with(damage, |frame| unsafe { ROTATE_ADD.entry()(frame) }).unwrap_err();
        assert_eq!(error.code, 13);
        error.message
    };
    let malformed = |text: &str| format!("malformed call frame: {text}");
    assert_eq!(text(|f| f.struct_size = 160), malformed("it takes 168 bytes, but says 160"));
    assert_eq!(text(|f| f.args.size = -2), malformed("it has -2 arguments"));
    assert_eq!(text(|f| f.rets.struct_size = 32), malformed("its results take 40 bytes, but say 32"));
    assert_eq!(
        text(|f| f.rets.rets = std::ptr::null_mut()),
        malformed("it has 1 results, but a null pointer for them")
    );
    // SAFETY: null is no frame.
    assert!(unsafe { ROTATE_ADD.entry()(std::ptr::null_mut()) }.is_null());
}

#[test]
fn empty_and_null_buffers_are_empty_slices() {
    declare! {
        static COUNT = fn count(a: Buffer<'_, f32>, b: AnyBuffer<'_>; out: BufferMut<'_, f64>, any: AnyBufferMut<'_>) {
            assert_eq!((a.len(), a.shape(), &a[..]), (0, &[0, 3][..], &[][..]));
            assert_eq!((b.len(), b.shape(), b.bytes()), (0, &[2, 0][..], &[][..]));
            assert_eq!(b.typed::<i16>()?.as_slice(), &[]);
            assert_eq!((out.into_slice().len(), any.bytes().len()), (0, 0));
            Ok(())
        }
    }
    let mut frame =
        Frame::new().arg(&[0f32; 0], [0, 3]).arg(&[0i16; 0], [2, 0]).ret::<f64>([0]).ret_bytes(19, 0, [0, 0]);
    assert!(frame.raw_arg(0).data.is_null());
    frame.call(&COUNT).unwrap();
    let any = |dims: [i64; 2]| Frame::new().arg(&[0f32; 0], [0, 3]).arg_bytes(3, &[], dims).ret::<f64>([0]);
    let mut negative = any([-1, 0]).ret_bytes(19, 0, [0, 0]);
    assert_eq!(message(&mut negative, &COUNT), "argument `b`: no array has the shape [-1,0]");
    // Not aligned, but nothing is there.
    frame.raw_arg(0).data = 3 as *mut _;
    frame.call(&COUNT).unwrap();
}

#[test]
fn an_argument_in_the_memory_of_a_result_is_read_as_it_was() {
    // Written before it is read, which gives other numbers if both are one.
    declare! {
        static SHIFT = fn shift(x: Buffer<'_, f32>; out: BufferMut<'_, f32>) {
            out.fill(0.0);
            for (o, x) in out[1..].iter_mut().zip(&x[..]) {
                *o = *x;
            }
            Ok(())
        }
    }
    let mut frame = Frame::new().arg(&[1f32, 2.0, 3.0], [3]).ret_in(0);
    frame.call(&SHIFT).unwrap();
    assert_eq!(frame.result::<f32>(0), [0.0, 1.0, 2.0]);
    // A part of it, as no XLA does.
    let mut part = Frame::new().arg(&[1f32, 2.0, 3.0, 4.0], [4]).ret_in(0);
    part.raw_ret(0).data = part.raw_ret(0).data.wrapping_byte_add(4);
    *part.raw_dims(0, false) = 3;
    part.call(&SHIFT).unwrap();
    assert_eq!(part.result::<f32>(0), [0.0, 1.0, 2.0]);
}

#[test]
fn results_that_share_memory_are_an_error() {
    declare! {
        static TWO = fn two(x: Buffer<'_, f32>; a: BufferMut<'_, f32>, b: BufferMut<'_, f32>) {
            a.copy_from_slice(&x);
            b.copy_from_slice(&x);
            Ok(())
        }
    }
    let mut frame = Frame::new().arg(&[1f32], [1]).ret_in(0).ret_in(0);
    assert_eq!(message(&mut frame, &TWO), "result `b`: it shares memory with result `a`");
}

#[test]
fn what_a_result_takes_over_is_as_large() {
    let mut frame = Frame::new().arg(&[1f32, 2.0], [2]).ret::<f32>([2]).attr("by", 2f32);
    frame.raw_arg(0).dtype = 12;
    assert_eq!(message(&mut frame, &SCALE_IN_PLACE), "argument `x`: expected dtype f32, got f64");
}

#[test]
fn bytes_that_are_no_bools_are_no_bools() {
    declare! {
        static NOT = fn not(x: Buffer<'_, bool>; out: BufferMut<'_, bool>) {
            for (o, x) in out.iter_mut().zip(&x[..]) {
                *o = !x;
            }
            Ok(())
        }
    }
    let mut good = Frame::new().arg(&[true, false, true], [3]).ret::<bool>([3]);
    good.call(&NOT).unwrap();
    assert_eq!(good.result::<bool>(0), [false, true, false]);
    let mut bad = Frame::new().arg_bytes(1, &[1, 0, 2], [3]).ret::<bool>([3]);
    assert_eq!(message(&mut bad, &NOT), "argument `x`: expected bool, got the byte 2 at element 2");
    declare! {
        static VIEW = fn view(x: AnyBuffer<'_>; ) {
            assert_eq!(x.bytes(), [1, 0, 2]);
            x.typed::<bool>()?;
            Ok(())
        }
    }
    let mut any = Frame::new().arg_bytes(1, &[1, 0, 2], [3]);
    let error = any.call(&VIEW).unwrap_err();
    assert_eq!(error.message, "argument `x`: expected bool, got another byte at element 2");
    let mut attr = Frame::new().arg(&[1f32], [1]).ret::<f32>([1]).attr("by", Value::Scalar(1, vec![2]));
    assert_eq!(message(&mut attr, &SCALE_IN_PLACE), "attribute `by`: expected f32, got bool");
}

#[test]
fn types_that_rust_does_not_have_are_bytes() {
    declare! {
        static COPY = fn copy(x: AnyBuffer<'_>; out: AnyBufferMut<'_>) {
            assert_eq!((x.dtype(), x.data_type().to_string()), (None, "f8e5m2".to_owned()));
            out.bytes_mut().copy_from_slice(x.bytes());
            let error = x.typed::<f32>().map(|_| ()).unwrap_err();
            assert_eq!(error.message(), "argument `x`: expected dtype f32, got f8e5m2");
            Ok(())
        }
    }
    let mut frame = Frame::new().arg_bytes(19, &[1, 2, 3], [3]).ret_bytes(19, 3, [3]);
    frame.call(&COPY).unwrap();
    let mut unknown = Frame::new().arg_bytes(77, &[1, 2, 3], [3]).ret_bytes(19, 3, [3]);
    assert_eq!(message(&mut unknown, &COPY), "argument `x`: expected dtype any, got an unknown type (77)");
}

#[test]
fn elements_of_fewer_than_8_bits_are_packed() {
    declare! {
        static PACKED = fn packed(x: AnyBuffer<'_> | args; out: AnyBufferMut<'_> | rets) {
            let bytes = match x.data_type().to_string().as_str() {
                _ if x.len() == 0 => 0,
                "s1" | "u1" => 1,
                "i2" | "u2" => 2,
                _ => 4,
            };
            assert_eq!((x.size_bytes(), x.bytes().len()), (bytes, bytes));
            assert_eq!((out.size_bytes(), out.bytes().len(), out.bytes_mut().len()), (bytes, bytes, bytes));
            assert_eq!(args.any(0)?.bytes(), x.bytes());
            assert_eq!(rets.any(0)?.bytes_mut().len(), bytes);
            Ok(())
        }
    }
    for (data_type, bytes) in [(21, 4), (22, 4), (26, 2), (27, 2), (30, 1), (31, 1), (32, 4)] {
        for (bytes, len) in [(bytes, 7), (0, 0)] {
            let data: Vec<u8> = (0..bytes as u8).collect();
            let frame = Frame::new().arg_bytes(data_type, &data, [len]).arg_bytes(data_type, &data, [len]);
            let mut frame = frame.ret_bytes(data_type, bytes, [len]).ret_bytes(data_type, bytes, [len]);
            frame.call(&PACKED).unwrap();
        }
    }
}

#[test]
fn elements_of_types_that_may_yet_come_are_no_bytes() {
    declare! {
        static TAKE = fn take(x: AnyBuffer<'_> | args; ) { Ok(()) }
    }
    for code in [-1, 0, 13, 14, 18, 34, 77] {
        let size = DataType(code).bytes(1);
        assert_eq!(size.is_none(), code != 18, "{code}");
        let mut first = Frame::new().arg_bytes(code, &[0; 16], [1]);
        assert_eq!(first.call(&TAKE).is_ok(), code == 18, "{code}");
        let mut rest = Frame::new().arg(&[1f32], [1]).arg_bytes(code, &[0; 16], [1]);
        assert_eq!(rest.call(&TAKE).is_ok(), code == 18, "{code}");
    }
}

#[test]
fn remaining_buffers_are_named_by_their_index() {
    declare! {
        static REST = fn rest( | args;  | rets) {
            assert_eq!(args.len(), 64);
            let sum: f32 = (0..64).map(|i| args.get::<f32>(i).map(|x| x[0])).sum::<ffi::Result<_>>()?;
            rets.get::<f32>(0)?[0] = sum;
            assert_eq!(args.get::<f32>(64).unwrap_err().code(), ffi::ErrorCode::InvalidArgument);
            assert_eq!(rets.get::<i32>(0).map(|_| ()).unwrap_err().code(), ffi::ErrorCode::Internal);
            args.get::<f64>(7)?;
            Ok(())
        }
    }
    let frame = || (0..64).fold(Frame::new(), |frame, i| frame.arg(&[i as f32], []));
    let mut whole = frame().ret::<f32>([]);
    let error = whole.call(&REST).unwrap_err();
    assert_eq!(error.message, "argument `args[7]`: expected dtype f64, got f32");
    assert_eq!(whole.result::<f32>(0), [2016.0]);
    let mut broken = frame().ret::<f32>([]);
    broken.raw_arg(9).data = std::ptr::null_mut();
    let expected = "argument `args[9]`: its data are null, though there are 4 bytes";
    assert_eq!(message(&mut broken, &REST), expected);
}

#[test]
fn results_among_many_buffers_that_share_memory_are_found() {
    declare! {
        static MANY = fn many( | args;  | rets) {
            let sum: f32 = args.iter().map(|x| x.bytes()[0] as f32).sum();
            for ret in rets.into_all() {
                ret.typed::<f32>()?[0] = sum;
            }
            Ok(())
        }
    }
    for n in [3, 70, 200] {
        let frame = (0..n).fold(Frame::new(), |frame, _| frame.arg(&[f32::from_bits(1)], []));
        let frame = (0..n).fold(frame, |frame, _| frame.ret::<f32>([]));
        let mut shared = frame.ret_in(n / 2);
        shared.call(&MANY).unwrap();
        assert_eq!(shared.result::<f32>(n), [n as f32], "the argument is a copy");
        let mut twice = shared.ret_in(n / 2);
        let expected = format!("result `rets[{}]`: it shares memory with result `rets[{n}]`", n + 1);
        assert_eq!(message(&mut twice, &MANY), expected);
    }
}

#[test]
fn a_panic_is_an_error_with_its_text() {
    declare! {
        static FALL = fn fall(x: Buffer<'_, i32>; ) {
            let _ = x[9];
            Ok(())
        }
    }
    let error = Frame::new().arg(&[1i32], [1]).call(&FALL).unwrap_err();
    assert_eq!(error.code, 13);
    let expected = "handler `fall` panicked: index out of bounds: the len is 1 but the index is 9";
    assert_eq!(error.message, expected);
}

#[test]
fn every_code_and_text_arrives() {
    for &code in ffi::ErrorCode::ALL {
        let error = ffi::Error::new(code, "a\0b");
        let raw = Frame::new().call_with(
            |_| {},
            // SAFETY: the frame is whole.
            |frame| unsafe { error.clone().into_raw((*frame).api) },
        );
        let failure = raw.unwrap_err();
        assert_eq!((failure.code, failure.message.as_str()), (code as i32, "a\u{fffd}b"));
    }
}

#[test]
fn the_handshake_gets_version_and_traits() {
    for (plugin, expected) in [(2, 2), (5, 5), (9, 5)] {
        let mut metadata =
            ffi::abi::XLA_FFI_Metadata { struct_size: 48, ..ffi::abi::XLA_FFI_Metadata::zeroed() };
        let mut extension = ffi::abi::XLA_FFI_Metadata_Extension {
            extension_base: ffi::abi::XLA_FFI_Extension_Base {
                struct_size: 32,
                kind: 1,
                next: std::ptr::null_mut(),
            },
            metadata: &mut metadata,
        };
        let mut frame = Frame::new();
        frame.api().api_version.minor_version = plugin;
        let extension = (&raw mut extension).cast();
        // SAFETY: the frame is whole.
        let made = frame.call_with(|f| f.extension_start = extension, |f| unsafe { EVERYTHING.entry()(f) });
        made.unwrap();
        assert_eq!((metadata.api_version.minor_version, metadata.traits), (expected, 1));
    }
}

#[test]
fn a_dictionary_is_read_lazily() {
    let mut frame =
        Frame::new().stage(0).attr("b", 1i32).attr("a", "x").attr("c", vec![("d", Value::from(2f32))]);
    let made = frame.call_with(
        |_| {},
        |frame| {
            // SAFETY: the frame is whole.
            let attrs = unsafe { Dictionary::check(&raw const (*frame).attrs) }.unwrap();
            let names: Vec<&str> = attrs.iter().map(|(name, _)| name).collect();
            assert_eq!(
                (names, attrs.len(), attrs.contains("b"), attrs.contains("z")),
                (vec!["a", "b", "c"], 3, true, false)
            );
            assert_eq!(attrs.get::<i32>("b").unwrap(), 1);
            assert_eq!(attrs.get_optional::<i32>("z").unwrap(), None);
            assert_eq!(attrs.get::<Dictionary<'_>>("c").unwrap().get::<f32>("d").unwrap(), 2.0);
            let text = |error: ffi::Error| error.message().to_owned();
            let b = attrs.iter().find(|(name, _)| *name == "b").unwrap().1;
            assert_eq!(text(b.get::<f32>().unwrap_err()), "expected f32, got i32");
            assert_eq!(text(attrs.get::<i64>("b").unwrap_err()), "attribute `b`: expected i64, got i32");
            assert_eq!(
                text(attrs.get::<i64>("bb").unwrap_err()),
                "attribute `bb`: expected i64, got none; did you mean `b`?"
            );
            std::ptr::null_mut()
        },
    );
    made.unwrap();
}
