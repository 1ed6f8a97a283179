//! More of what declarations expand to: every kind of parameter. See `by_hand` for how to read it.

use crate as dispatch_runtime;
use crate::ffi::testing::{Frame, Value};
use crate::ffi::{
    self, Aliased, AnyBuffer, AnyBufferMut, BufferMut, Call, Dictionary, FromCall, RemainingArgs,
    RemainingRets, Token,
};

// #[derive(AttrValue)]
// #[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(i32)]
enum Mode {
    Sum = 0,
    Product = 7,
}

const _: () = {
    use dispatch_runtime::__private_0_1::ffi as __ffi;

    impl<'a> __ffi::AttrValue<'a> for Mode {
        const TYPE: __ffi::AttrType = __ffi::AttrType::Enum {
            name: "Mode",
            repr: __ffi::integer_type::<i32>(),
            variants: &[("Sum", Mode::Sum as i32 as i64), ("Product", Mode::Product as i32 as i64)],
        };

        #[inline]
        fn from_attr(attr: __ffi::Attr<'a>) -> Option<Self> {
            let value = <i32 as __ffi::AttrValue<'a>>::from_attr(attr)?;
            if value == Mode::Sum as i32 {
                return Some(Mode::Sum);
            }
            if value == Mode::Product as i32 {
                return Some(Mode::Product);
            }
            None
        }
    }
};

// #[derive(AttrValue)]
#[derive(Debug, PartialEq)]
struct Range<'a> {
    lo: i64,
    hi: i64,
    // #[attr(name = "unit", default = "m")]
    unit: &'a str,
}

const _: () = {
    use dispatch_runtime::__private_0_1::ffi as __ffi;

    // `'__call` if the struct has no lifetime of its own.
    impl<'a> __ffi::AttrValue<'a> for Range<'a> {
        const TYPE: __ffi::AttrType = __ffi::AttrType::Struct {
            name: "Range",
            // Sorted by name, bytewise.
            members: &[
                __ffi::AttrSpec { name: "hi", r#type: <i64 as __ffi::AttrValue<'_>>::TYPE, optional: false },
                __ffi::AttrSpec { name: "lo", r#type: <i64 as __ffi::AttrValue<'_>>::TYPE, optional: false },
                __ffi::AttrSpec {
                    name: "unit",
                    r#type: <&str as __ffi::AttrValue<'_>>::TYPE,
                    optional: true,
                },
            ],
        };

        #[inline]
        fn from_attr(attr: __ffi::Attr<'a>) -> Option<Self> {
            let mut members =
                __ffi::Cursor::new(<__ffi::Dictionary<'a> as __ffi::AttrValue<'a>>::from_attr(attr)?);
            let hi = members.required::<i64>("hi")?;
            let lo = members.required::<i64>("lo")?;
            let unit = members.or_else::<&'a str>("unit", || "m")?;
            if members.finished() { Some(Range { lo, hi, unit }) } else { None }
        }
    }
};

/// A value of the context, for this test.
struct StageNumber(i32);

impl crate::ffi::context::Sealed for StageNumber {}

impl<'a> FromCall<'a> for StageNumber {
    fn from_call(call: &Call<'a>) -> ffi::Result<Self> {
        Ok(StageNumber(call.stage()))
    }
}

// #[ffi_handler(target = "test.everything", instantiate = make_plan, command_buffer)]
// fn everything(
//     #[arg(dtype = [f32, f64], shape = [rows, _])] a: AnyBuffer,
//     #[arg(dtype = dtype(a), shape = [batch.., rows])] b: AnyBuffer,
//     #[arg] order: Token,
//     #[arg(like(a))] extra: Option<AnyBuffer>,
//     #[arg] rest: RemainingArgs,
//     #[ret(like(a))] out: AnyBufferMut,
//     #[ret(shape = [batch.., 2])] mut flags: Option<BufferMut<bool>>,
//     #[ret] rets: RemainingRets,
//     #[attr] mode: Mode,
//     #[attr] range: Range,
//     #[attr] eps: Option<f64>,
//     #[attr(name = "in")] weights: &[f32],
//     #[attr] nested: Dictionary,
//     #[ctx] stage: StageNumber,
// ) -> ffi::Result<()> { … }

#[allow(clippy::too_many_arguments)]
fn everything(
    a: AnyBuffer<'_>,
    b: AnyBuffer<'_>,
    order: Token,
    extra: Option<AnyBuffer<'_>>,
    rest: RemainingArgs<'_>,
    out: AnyBufferMut<'_>,
    mut flags: Option<BufferMut<'_, bool>>,
    mut rets: RemainingRets<'_>,
    mode: Mode,
    range: Range<'_>,
    eps: Option<f64>,
    weights: &[f32],
    nested: Dictionary<'_>,
    stage: StageNumber,
) -> ffi::Result<()> {
    #[allow(unused_variables)]
    let rows: usize = a.dim(0usize);
    // A leading name is a list of sizes.
    #[allow(unused_variables)]
    let batch: Vec<usize> = dispatch_runtime::__private_0_1::ffi::leading(&b, 1usize);

    let _ = order;
    assert_eq!((rows, &batch[..], stage.0), (2, &[5, 1][..], 3));
    assert_eq!((mode, range), (Mode::Product, Range { lo: -1, hi: 3, unit: "m" }));
    assert_eq!((eps, weights), (None, &[0.5f32, 2.0][..]));
    assert_eq!(nested.get::<&str>("é")?, "ü");
    out.typed::<f64>()?.copy_from_slice(&a.typed::<f64>()?);
    if let Some(flags) = &mut flags {
        // What the memory held is made into bools, so that it may be read.
        assert!(flags.iter().all(|flag| *flag));
        flags[0] = extra.is_none();
    }
    for i in 0..rets.len() {
        rets.get::<i32>(i)?.copy_from_slice(&rest.get::<i32>(i)?);
    }
    Ok(())
}

pub(super) static EVERYTHING: ffi::Handler = {
    use dispatch_runtime::__private_0_1::ffi as __ffi;

    static SPEC: __ffi::Spec = __ffi::Spec {
        name: "everything",
        target: "test.everything",
        stage: __ffi::Stage::Execute,
        scope: __ffi::Scope {
            owner: "everything",
            fields: &[
                __ffi::FieldSpec {
                    name: "a",
                    leaf: Some(__ffi::LeafSpec {
                        dtype: __ffi::DTypeSpec::Choice(&[__ffi::DType::F32, __ffi::DType::F64]),
                        shape: __ffi::ShapeSpec::Dims(
                            __ffi::Lead::None,
                            &[__ffi::Dim::Captured(0), __ffi::Dim::Any],
                        ),
                        donate: false,
                        write_back: None,
                    }),
                    is_list: false,
                },
                __ffi::FieldSpec {
                    name: "b",
                    leaf: Some(__ffi::LeafSpec {
                        dtype: __ffi::DTypeSpec::Same(0),
                        shape: __ffi::ShapeSpec::Dims(__ffi::Lead::Named(1), &[__ffi::Dim::Captured(0)]),
                        donate: false,
                        write_back: None,
                    }),
                    is_list: false,
                },
                // A token has no leaf.
                __ffi::FieldSpec { name: "order", leaf: None, is_list: false },
                __ffi::FieldSpec {
                    name: "extra",
                    leaf: Some(__ffi::LeafSpec {
                        dtype: __ffi::DTypeSpec::Same(0),
                        shape: __ffi::ShapeSpec::Same(0),
                        donate: false,
                        write_back: None,
                    }),
                    is_list: false,
                },
                __ffi::FieldSpec {
                    name: "out",
                    leaf: Some(__ffi::LeafSpec {
                        dtype: __ffi::DTypeSpec::Same(0),
                        shape: __ffi::ShapeSpec::Same(0),
                        donate: false,
                        write_back: None,
                    }),
                    is_list: false,
                },
                __ffi::FieldSpec {
                    name: "flags",
                    leaf: Some(__ffi::LeafSpec {
                        dtype: __ffi::DTypeSpec::One(__ffi::DType::Bool),
                        shape: __ffi::ShapeSpec::Dims(__ffi::Lead::Named(1), &[__ffi::Dim::Fixed(2)]),
                        donate: false,
                        write_back: None,
                    }),
                    is_list: false,
                },
            ],
            names: &["rows", "batch"],
            sources: &[0, 1],
        },
        params: &[
            __ffi::Param::PLAIN,
            __ffi::Param::PLAIN,
            __ffi::Param::PLAIN,
            __ffi::Param::OPTIONAL,
            __ffi::Param::PLAIN,
            __ffi::Param::OPTIONAL,
        ],
        args: 4,
        rest_args: Some("rest"),
        rest_rets: Some("rets"),
        attrs: &[
            __ffi::AttrSpec { name: "eps", r#type: <f64 as __ffi::AttrValue<'_>>::TYPE, optional: true },
            __ffi::AttrSpec { name: "in", r#type: <&[f32] as __ffi::AttrValue<'_>>::TYPE, optional: false },
            __ffi::AttrSpec { name: "mode", r#type: <Mode as __ffi::AttrValue<'_>>::TYPE, optional: false },
            __ffi::AttrSpec {
                name: "nested",
                r#type: <Dictionary<'_> as __ffi::AttrValue<'_>>::TYPE,
                optional: false,
            },
            __ffi::AttrSpec {
                name: "range",
                r#type: <Range<'_> as __ffi::AttrValue<'_>>::TYPE,
                optional: false,
            },
        ],
        open_attrs: false,
        command_buffer: true,
        // `make_plan` gives `MAKE_PLAN`.
        stages: __ffi::Stages { instantiate: Some(&MAKE_PLAN), prepare: None, initialize: None },
    };

    struct Declared;
    impl __ffi::Declared for Declared {
        const SPEC: &'static __ffi::Spec = &SPEC;

        fn call(call: &__ffi::Call<'_>) -> __ffi::Result<()> {
            let accepted = '__accepted: {
                if !call.counts((3, usize::MAX), (1, usize::MAX)) {
                    break '__accepted None;
                }
                let Some(a) = call.arg::<AnyBuffer<'_>>(
                    0,
                    __ffi::Want::rank(__ffi::DTypeSpec::Choice(&[__ffi::DType::F32, __ffi::DType::F64]), 2),
                ) else {
                    break '__accepted None;
                };
                // `dtype(a)` is compared below; behind `batch..` the rank is at least this.
                let Some(b) = call.arg::<AnyBuffer<'_>>(1, __ffi::Want::at_least(__ffi::DTypeSpec::Any, 1))
                else {
                    break '__accepted None;
                };
                // A token looks at no `Want`.
                let Some(order) = call.arg::<Token>(2, __ffi::Want::ANY) else {
                    break '__accepted None;
                };
                let Some(extra) = call.optional_arg::<AnyBuffer<'_>>(3, __ffi::Want::ANY) else {
                    break '__accepted None;
                };
                let Some(rest) = call.rest_args(4) else {
                    break '__accepted None;
                };
                let Some(out) = call.ret::<AnyBufferMut<'_>>(0, __ffi::Want::ANY) else {
                    break '__accepted None;
                };
                let Some(flags) = call.optional_ret::<BufferMut<'_, bool>>(
                    1,
                    __ffi::Want::at_least(__ffi::DTypeSpec::One(__ffi::DType::Bool), 1),
                ) else {
                    break '__accepted None;
                };
                let Some(rets) = call.rest_rets(2) else {
                    break '__accepted None;
                };
                // The shapes, in order.
                let __dtype0 = __ffi::Described::data_type(&a);
                let __size_rows = __ffi::dim(__ffi::Described::shape(&a), 0);
                let __size_batch = __ffi::lead(__ffi::Described::shape(&b), 1);
                if __ffi::Described::data_type(&b) != __dtype0
                    || __ffi::dim_back(__ffi::Described::shape(&b), 0) != __size_rows
                {
                    break '__accepted None;
                }
                if let Some(extra) = &extra {
                    if __ffi::Described::data_type(extra) != __dtype0
                        || !__ffi::same_sizes(__ffi::Described::shape(extra), __ffi::Described::shape(&a))
                    {
                        break '__accepted None;
                    }
                }
                if __ffi::Described::data_type(&out) != __dtype0
                    || !__ffi::same_sizes(__ffi::Described::shape(&out), __ffi::Described::shape(&a))
                {
                    break '__accepted None;
                }
                if let Some(flags) = &flags {
                    if !__ffi::same_sizes(__ffi::lead(__ffi::Described::shape(flags), 1), __size_batch)
                        || __ffi::dim_back(__ffi::Described::shape(flags), 0) != 2
                    {
                        break '__accepted None;
                    }
                }
                // In the order of `SPEC.attrs`. The stages of a call share its attributes, so those of other names are
                // passed by, and looked at together; for a function with `#[attrs] all: Dictionary`, which is
                // `call.dictionary()`, they are not even that. A function on its own says `finished` instead of both.
                let mut attrs = call.attrs();
                attrs.skip_to("eps");
                let Some(eps) = attrs.optional::<f64>("eps") else {
                    break '__accepted None;
                };
                attrs.skip_to("in");
                let Some(weights) = attrs.required::<&[f32]>("in") else {
                    break '__accepted None;
                };
                attrs.skip_to("mode");
                let Some(mode) = attrs.required::<Mode>("mode") else {
                    break '__accepted None;
                };
                attrs.skip_to("nested");
                let Some(nested) = attrs.required::<Dictionary<'_>>("nested") else {
                    break '__accepted None;
                };
                attrs.skip_to("range");
                let Some(range) = attrs.required::<Range<'_>>("range") else {
                    break '__accepted None;
                };
                if !call.knows_attrs() {
                    break '__accepted None;
                }
                // With remaining ones or aliases `separate`, which knows the frame and SPEC; else `disjoint`, where an
                // optional one is `span(extra.as_ref())`.
                if !call.separate() {
                    break '__accepted None;
                }
                Some((a, b, order, extra, rest, out, flags, rets, mode, range, eps, weights, nested))
            };
            let Some((a, b, order, extra, rest, out, flags, rets, mode, range, eps, weights, nested)) =
                accepted
            else {
                return call.refuse(Self::call);
            };
            let stage = call.ctx_value::<StageNumber>("stage")?;
            __ffi::Answer::answer(
                everything(
                    a, b, order, extra, rest, out, flags, rets, mode, range, eps, weights, nested, stage,
                ),
                call,
            )
        }
    }
    __ffi::Handler::new::<Declared>()
};

// #[ffi_handler(stage = instantiate)]
// fn make_plan(#[attrs] all: Dictionary) -> ffi::Result<Plan> { … }

struct Plan(usize);

fn make_plan(all: Dictionary<'_>) -> ffi::Result<Plan> {
    Ok(Plan(all.len()))
}

static MAKE_PLAN: ffi::Handler = {
    use dispatch_runtime::__private_0_1::ffi as __ffi;

    static SPEC: __ffi::Spec = __ffi::Spec {
        name: "make_plan",
        target: "make_plan",
        stage: __ffi::Stage::Instantiate,
        scope: __ffi::Scope { owner: "make_plan", fields: &[], names: &[], sources: &[] },
        params: &[],
        args: 0,
        rest_args: None,
        rest_rets: None,
        attrs: &[],
        open_attrs: true,
        command_buffer: false,
        stages: __ffi::Stages::NONE,
    };

    struct Declared;
    impl __ffi::Declared for Declared {
        const SPEC: &'static __ffi::Spec = &SPEC;

        fn call(call: &__ffi::Call<'_>) -> __ffi::Result<()> {
            let accepted = '__accepted: {
                if !call.counts((0, 0), (0, 0)) {
                    break '__accepted None;
                }
                Some(())
            };
            let Some(()) = accepted else {
                return call.refuse(Self::call);
            };
            let all = call.dictionary();
            // Stands for `__ffi::set_state`, which the context provides.
            set_state(make_plan(all), call)
        }
    }
    __ffi::Handler::new::<Declared>()
};

static PLANNED: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);

fn set_state(plan: ffi::Result<Plan>, _: &Call<'_>) -> ffi::Result<()> {
    PLANNED.store(plan?.0, std::sync::atomic::Ordering::Relaxed);
    Ok(())
}

// #[ffi_handler]
// fn scale_in_place(
//     #[arg(dtype = f32, shape = [n])] x: Aliased,
//     #[ret(like(x), alias = x)] mut out: BufferMut<f32>,
//     #[attr] by: f32,
// ) -> ffi::Result<()> { … }

fn scale_in_place(x: Aliased<'_>, mut out: BufferMut<'_, f32>, by: f32) -> ffi::Result<()> {
    #[allow(unused_variables)]
    let n: usize = x.dim(0usize);
    out.iter_mut().for_each(|v| *v *= by);
    Ok(())
}

pub(super) static SCALE_IN_PLACE: ffi::Handler = {
    use dispatch_runtime::__private_0_1::ffi as __ffi;

    static SPEC: __ffi::Spec = __ffi::Spec {
        name: "scale_in_place",
        target: "scale_in_place",
        stage: __ffi::Stage::Execute,
        scope: __ffi::Scope {
            owner: "scale_in_place",
            fields: &[
                __ffi::FieldSpec {
                    name: "x",
                    leaf: Some(__ffi::LeafSpec {
                        dtype: __ffi::DTypeSpec::One(__ffi::DType::F32),
                        shape: __ffi::ShapeSpec::Dims(__ffi::Lead::None, &[__ffi::Dim::Captured(0)]),
                        donate: false,
                        write_back: None,
                    }),
                    is_list: false,
                },
                __ffi::FieldSpec {
                    name: "out",
                    leaf: Some(__ffi::LeafSpec {
                        dtype: __ffi::DTypeSpec::Same(0),
                        shape: __ffi::ShapeSpec::Same(0),
                        donate: false,
                        write_back: None,
                    }),
                    is_list: false,
                },
            ],
            names: &["n"],
            sources: &[0],
        },
        // `alias(0)`: the index of `x` in the scope.
        params: &[__ffi::Param::ALIASED, __ffi::Param::alias(0)],
        args: 1,
        rest_args: None,
        rest_rets: None,
        attrs: &[__ffi::AttrSpec {
            name: "by",
            r#type: <f32 as __ffi::AttrValue<'_>>::TYPE,
            optional: false,
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
                if !call.counts((1, 1), (1, 1)) {
                    break '__accepted None;
                }
                let Some(x) = call
                    .arg::<Aliased<'_>>(0, __ffi::Want::rank(__ffi::DTypeSpec::One(__ffi::DType::F32), 1))
                else {
                    break '__accepted None;
                };
                // The dtype of a typed buffer is in its type, so `like(x)` has only the shape to compare.
                let Some(mut out) = call.ret::<BufferMut<'_, f32>>(0, __ffi::Want::ANY) else {
                    break '__accepted None;
                };
                if !__ffi::same_sizes(__ffi::Described::shape(&out), __ffi::Described::shape(&x)) {
                    break '__accepted None;
                }
                let mut attrs = call.attrs();
                let Some(by) = attrs.required::<f32>("by") else {
                    break '__accepted None;
                };
                if !attrs.finished() {
                    break '__accepted None;
                }
                if !call.separate() {
                    break '__accepted None;
                }
                // Last, for it writes.
                if !__ffi::inherit(&x, &mut out) {
                    break '__accepted None;
                }
                Some((x, out, by))
            };
            let Some((x, out, by)) = accepted else {
                return call.refuse(Self::call);
            };
            __ffi::Answer::answer(scale_in_place(x, out, by), call)
        }
    }
    __ffi::Handler::new::<Declared>()
};

pub(super) fn everything_frame() -> Frame {
    Frame::new()
        .arg(&[1f64, 2.0, 3.0, 4.0, 5.0, 6.0], [2, 3])
        .arg(&[0f64; 10], [5, 1, 2])
        .token_arg()
        .arg(&[0f64; 6], [2, 3])
        .arg(&[7i32, 8], [2])
        .ret::<f64>([2, 3])
        .ret::<bool>([5, 1, 2])
        .ret::<i32>([2])
        .attr("mode", 7i32)
        .attr("range", vec![("lo", Value::from(-1i64)), ("hi", Value::from(3i64))])
        .attr("in", &[0.5f32, 2.0][..])
        .attr("nested", vec![("é", Value::from("ü")), ("a", Value::from(true))])
}

#[test]
fn every_kind_of_parameter_is_decoded() {
    let mut frame = everything_frame();
    frame.call(&EVERYTHING).unwrap();
    assert_eq!(frame.result::<f64>(0), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    assert!(!frame.result::<bool>(1)[0]);
    assert_eq!(frame.result::<i32>(2), [7, 8]);
}

#[test]
fn the_entry_of_a_handler_serves_its_other_stages() {
    let mut frame = Frame::new().stage(0).attr("x", 1i8).attr("y", 2i8);
    frame.call(&EVERYTHING).unwrap();
    assert_eq!(PLANNED.load(std::sync::atomic::Ordering::Relaxed), 2);
    let missing = Frame::new().stage(2).call(&EVERYTHING).unwrap_err();
    assert_eq!(missing.code, 12);
    assert_eq!(
        missing.message,
        "handler `everything` is called in stage `initialize`, but has no function for it"
    );
}

#[test]
fn an_aliased_result_takes_over_the_argument() {
    let frame = || Frame::new().arg(&[1f32, 2.0, 3.0], [3]).attr("by", 2f32);
    let mut apart = frame().ret::<f32>([3]);
    apart.call(&SCALE_IN_PLACE).unwrap();
    assert_eq!(apart.result::<f32>(0), [2.0, 4.0, 6.0]);
    let mut together = frame().ret_in(0);
    together.call(&SCALE_IN_PLACE).unwrap();
    assert_eq!(together.result::<f32>(0), [2.0, 4.0, 6.0]);
}
