//! What `#[ffi_handler]` and `#[derive(AttrValue)]` expand to, written by hand, and called with frames made by hand.
//!
//! Each declaration stands in a comment, its expansion below. Of a declaration come two items:
//!
//! 1. the function, as it was but for the attributes of its parameters; captured sizes are bound at the top of its body;
//! 2. a static [`Handler`](ffi::Handler) of its name in upper case, of its visibility and with its docs. Everything else
//!    is hidden in the block that makes it: `SPEC`, the signature as data, and `Declared::call`, which decodes. That
//!    decides by the cheapest code there is, in the block `'__accepted`; what it does not take goes to `call.refuse`, which
//!    reads `SPEC` and finds the words (or mends the call and makes it again).
//!
//! The order inside of `'__accepted` is: counts, arguments, results, sizes and other ties between buffers, attributes in
//! the order of `SPEC.attrs` (bytewise by name), `finished`, aliases, `disjoint` or `separate`. Context values come
//! behind, since their errors are their own.

use crate as dispatch_runtime; // expansions name `::dispatch_runtime`
use crate::ffi::testing::Frame;
use crate::ffi::{self, Buffer, BufferMut};

// #[ffi_handler]
// /// `b`, again and again, times `scale`, plus `c`.
// pub(crate) fn rotate_add(
//     #[arg(dtype = f32, shape = [m])] b: Buffer<f32>,
//     #[arg(dtype = f32, shape = [n])] c: Buffer<f32>,
//     #[ret(dtype = f32, shape = [n])] mut out: BufferMut<f32>,
//     #[attr(default = 1.0)] scale: f32,
// ) -> ffi::Result<()> { … }

/// `b`, again and again, times `scale`, plus `c`.
pub(crate) fn rotate_add(
    b: Buffer<'_, f32>,
    c: Buffer<'_, f32>,
    mut out: BufferMut<'_, f32>,
    scale: f32,
) -> ffi::Result<()> {
    #[allow(unused_variables)]
    let m: usize = b.dim(0usize);
    #[allow(unused_variables)]
    let n: usize = c.dim(0usize);
    for (o, c) in out.chunks_mut(m).zip(c.chunks(m)) {
        for ((o, b), c) in o.iter_mut().zip(&b[..]).zip(c) {
            *o = b * scale + c;
        }
    }
    Ok(())
}

/// `b`, again and again, times `scale`, plus `c`.
pub(crate) static ROTATE_ADD: ffi::Handler = {
    use dispatch_runtime::__private_0_1::ffi as __ffi;

    static SPEC: __ffi::Spec = __ffi::Spec {
        name: "rotate_add",
        target: "rotate_add",
        stage: __ffi::Stage::Execute,
        // As a family's scope: the arguments, then the results. Without the variadic ones.
        scope: __ffi::Scope {
            owner: "rotate_add",
            fields: &[
                __ffi::FieldSpec {
                    name: "b",
                    leaf: Some(__ffi::LeafSpec {
                        dtype: __ffi::DTypeSpec::One(__ffi::DType::F32),
                        shape: __ffi::ShapeSpec::Dims(__ffi::Lead::None, &[__ffi::Dim::Captured(0)]),
                        donate: false,
                        write_back: None,
                    }),
                    is_list: false,
                },
                __ffi::FieldSpec {
                    name: "c",
                    leaf: Some(__ffi::LeafSpec {
                        dtype: __ffi::DTypeSpec::One(__ffi::DType::F32),
                        shape: __ffi::ShapeSpec::Dims(__ffi::Lead::None, &[__ffi::Dim::Captured(1)]),
                        donate: false,
                        write_back: None,
                    }),
                    is_list: false,
                },
                __ffi::FieldSpec {
                    name: "out",
                    leaf: Some(__ffi::LeafSpec {
                        dtype: __ffi::DTypeSpec::One(__ffi::DType::F32),
                        shape: __ffi::ShapeSpec::Dims(__ffi::Lead::None, &[__ffi::Dim::Captured(1)]),
                        donate: false,
                        write_back: None,
                    }),
                    is_list: false,
                },
            ],
            names: &["m", "n"],
            sources: &[0, 1],
        },
        params: &[__ffi::Param::PLAIN, __ffi::Param::PLAIN, __ffi::Param::PLAIN],
        args: 2,
        rest_args: None,
        rest_rets: None,
        attrs: &[__ffi::AttrSpec {
            name: "scale",
            r#type: <f32 as __ffi::AttrValue<'_>>::TYPE,
            optional: true,
        }],
        open_attrs: false,
        command_buffer: false,
        stages: __ffi::Stages::NONE,
    };

    struct Declared;
    impl __ffi::Declared for Declared {
        const SPEC: &'static __ffi::Spec = &SPEC;

        fn call(call: &__ffi::Call<'_>) -> __ffi::Result<()> {
            let accepted = '__accepted: {
                // At least and at most so many arguments, then results.
                if !call.counts((2, 2), (1, 1)) {
                    break '__accepted None;
                }
                // The types are the user's tokens; `Want` has the dtypes of an any-dtype buffer (here they are in the
                // type, and it does not look at them) and the rank.
                let Some(b) = call.arg::<Buffer<'_, f32>>(
                    0,
                    __ffi::Want::rank(__ffi::DTypeSpec::One(__ffi::DType::F32), 1),
                ) else {
                    break '__accepted None;
                };
                let Some(c) = call.arg::<Buffer<'_, f32>>(
                    1,
                    __ffi::Want::rank(__ffi::DTypeSpec::One(__ffi::DType::F32), 1),
                ) else {
                    break '__accepted None;
                };
                let Some(out) = call.ret::<BufferMut<'_, f32>>(
                    0,
                    __ffi::Want::rank(__ffi::DTypeSpec::One(__ffi::DType::F32), 1),
                ) else {
                    break '__accepted None;
                };
                // Names that stand more than once; a name that stands once is not even read here.
                let __size_n = __ffi::dim(__ffi::Described::shape(&c), 0);
                if __ffi::dim(__ffi::Described::shape(&out), 0) != __size_n {
                    break '__accepted None;
                }
                let mut attrs = call.attrs();
                let Some(scale) = attrs.or_else::<f32>("scale", || 1.0) else {
                    break '__accepted None;
                };
                if !attrs.finished() {
                    break '__accepted None;
                }
                if !__ffi::disjoint(
                    [__ffi::Described::span(&b), __ffi::Described::span(&c)],
                    [__ffi::Described::span(&out)],
                ) {
                    break '__accepted None;
                }
                Some((b, c, out, scale))
            };
            let Some((b, c, out, scale)) = accepted else {
                return call.refuse(Self::call);
            };
            __ffi::Answer::answer(rotate_add(b, c, out, scale), call)
        }
    }
    __ffi::Handler::new::<Declared>()
};

fn rotate(attrs: impl FnOnce(Frame) -> Frame) -> Result<Vec<f32>, (i32, String)> {
    let frame = Frame::new().arg(&[1f32, 2.0], [2]).arg(&[10f32, 20.0, 30.0], [3]).ret::<f32>([3]);
    let mut frame = attrs(frame);
    frame.call(&ROTATE_ADD).map_err(|failure| (failure.code, failure.message))?;
    Ok(frame.result(0))
}

#[test]
fn a_handler_is_called_with_what_the_frame_has() {
    assert_eq!(rotate(|frame| frame).unwrap(), [11.0, 22.0, 31.0]);
    assert_eq!(rotate(|frame| frame.attr("scale", 2f32)).unwrap(), [12.0, 24.0, 32.0]);
    assert_eq!((ROTATE_ADD.name(), ROTATE_ADD.target()), ("rotate_add", "rotate_add"));
}

#[test]
fn what_is_wrong_is_named() {
    let message = |frame: fn(Frame) -> Frame| rotate(frame).unwrap_err();
    assert_eq!(
        message(|frame| frame.attr("scale", 2f64)),
        (3, "handler `rotate_add`: attribute `scale`: expected f32, got f64".into())
    );
    assert_eq!(
        message(|frame| frame.attr("scael", 2f32)).1,
        "handler `rotate_add`: attribute `scael`: `rotate_add` has no such attribute; did you mean `scale`?"
    );
}
