//! Short declarations of handlers for tests, which decode as expansions do.

use crate::ffi::private::*;
use crate::{DType, Element};

/// The leaf of a typed buffer, or of one of any dtype.
pub(super) const fn leaf(dtype: Option<DType>) -> Option<LeafSpec> {
    let dtype = match dtype {
        Some(dtype) => DTypeSpec::One(dtype),
        None => DTypeSpec::Any,
    };
    Some(LeafSpec { dtype, shape: ShapeSpec::Dims(Lead::Any, &[]), donate: false, write_back: None })
}

/// What the type of a parameter says of it.
pub(super) trait Leaf {
    const LEAF: Option<LeafSpec>;
}

impl<T: Element> Leaf for Buffer<'_, T> {
    const LEAF: Option<LeafSpec> = leaf(Some(T::DTYPE));
}

impl<T: Element> Leaf for BufferMut<'_, T> {
    const LEAF: Option<LeafSpec> = leaf(Some(T::DTYPE));
}

impl Leaf for AnyBuffer<'_> {
    const LEAF: Option<LeafSpec> = leaf(None);
}

impl Leaf for AnyBufferMut<'_> {
    const LEAF: Option<LeafSpec> = leaf(None);
}

impl Leaf for Token {
    const LEAF: Option<LeafSpec> = None;
}

/// `declare! { static F = fn f(x: Buffer<'_, f32> | rest; y: BufferMut<'_, f32> | rests) { … } }`: arguments, results,
/// and whether the remaining ones are taken.
macro_rules! declare {
    (static $handler:ident = fn $name:ident(
        $($arg:ident: $Arg:ty),* $(| $rest_args:ident)?;
        $($ret:ident: $Ret:ty),* $(| $rest_rets:ident)?
    ) $body:block) => {
        #[allow(unused_mut, unused_variables, clippy::unnecessary_wraps)]
        fn $name(
            $($arg: $Arg,)* $($rest_args: $crate::ffi::RemainingArgs<'_>,)?
            $(mut $ret: $Ret,)* $(mut $rest_rets: $crate::ffi::RemainingRets<'_>,)?
        ) -> $crate::ffi::Result<()> $body

        static $handler: $crate::ffi::Handler = {
            use $crate::ffi::private as __ffi;

            const ARGS: &[&str] = &[$(stringify!($arg)),*];
            const RETS: &[&str] = &[$(stringify!($ret)),*];
            static SPEC: __ffi::Spec = __ffi::Spec {
                name: stringify!($name),
                target: stringify!($name),
                stage: __ffi::Stage::Execute,
                scope: __ffi::Scope {
                    owner: stringify!($name),
                    fields: &[
                        $(__ffi::FieldSpec { name: stringify!($arg), leaf: <$Arg as $crate::ffi::tests::declare::Leaf>::LEAF, is_list: false },)*
                        $(__ffi::FieldSpec { name: stringify!($ret), leaf: <$Ret as $crate::ffi::tests::declare::Leaf>::LEAF, is_list: false },)*
                    ],
                    names: &[],
                    sources: &[],
                },
                params: &[__ffi::Param::PLAIN; ARGS.len() + RETS.len()],
                args: ARGS.len(),
                rest_args: [$(Some(stringify!($rest_args)),)? None][0],
                rest_rets: [$(Some(stringify!($rest_rets)),)? None][0],
                attrs: &[],
                open_attrs: true,
                command_buffer: false,
                stages: __ffi::Stages::NONE,
            };

            struct Declared;
            impl __ffi::Declared for Declared {
                const SPEC: &'static __ffi::Spec = &SPEC;

                #[allow(unused_mut, unused_variables, unused_assignments)]
                fn call(call: &__ffi::Call<'_>) -> __ffi::Result<()> {
                    let most = |n: usize, rest: Option<&str>| (n, if rest.is_some() { usize::MAX } else { n });
                    let accepted = '__accepted: {
                        if !call.counts(most(ARGS.len(), SPEC.rest_args), most(RETS.len(), SPEC.rest_rets)) {
                            break '__accepted None;
                        }
                        let (mut i, mut j) = (0, 0);
                        $(
                            let Some($arg) = call.arg::<$Arg>(i, __ffi::Want::ANY) else { break '__accepted None };
                            i += 1;
                        )*
                        $(let Some($rest_args) = call.rest_args(i) else { break '__accepted None };)?
                        $(
                            let Some($ret) = call.ret::<$Ret>(j, __ffi::Want::ANY) else { break '__accepted None };
                            j += 1;
                        )*
                        $(let Some($rest_rets) = call.rest_rets(j) else { break '__accepted None };)?
                        if !call.separate() {
                            break '__accepted None;
                        }
                        Some(($($arg,)* $($rest_args,)? $($ret,)* $($rest_rets,)?))
                    };
                    let Some(($($arg,)* $($rest_args,)? $($ret,)* $($rest_rets,)?)) = accepted else {
                        return call.refuse(Self::call);
                    };
                    __ffi::Answer::answer($name($($arg,)* $($rest_args,)? $($ret,)* $($rest_rets)?), call)
                }
            }
            __ffi::Handler::new::<Declared>()
        };
    };
}
pub(in crate::ffi) use declare;
