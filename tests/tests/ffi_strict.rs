//! A crate that allows nothing: what `#[ffi_handler]`, `#[derive(AttrValue)]` and `ffi::check!` make gives no warning,
//! needs no `unsafe`, and keeps to the names that are its own.
#![deny(warnings, missing_docs, unused, rust_2018_idioms, nonstandard_style, clippy::all)]
#![forbid(unsafe_code)]

use dispatch_runtime::ffi::testing::{Frame, Value};

/// Names that expansions could trip over.
#[allow(dead_code)]
pub mod traps {
    /// Not that of the prelude.
    pub struct Some(pub i32);
    /// Not that of the prelude.
    pub struct None;
    /// Not the standard library's.
    pub struct Option;
    /// Not the standard library's.
    pub struct Result;
    /// Not the standard library's.
    pub struct Vec;
    /// Not the primitive.
    #[allow(non_camel_case_types)]
    pub struct usize;
    /// Not the runtime's.
    pub struct Call;
    /// Not the runtime's.
    pub struct Spec;
    /// Not the runtime's.
    pub struct Declared;
    /// Not the runtime's.
    pub mod dispatch_runtime {}
    /// Not the standard library's.
    pub mod core {}
    /// Not the standard library's.
    pub mod std {}
}

/// Handlers in a module in which everything has another meaning.
pub mod handlers {
    #[allow(unused_imports)]
    use super::traps::*;
    use ::dispatch_runtime::ffi::{self, AnyBuffer, AttrValue, Buffer, BufferMut, Dictionary};
    use ::dispatch_runtime::prelude::ffi_handler;

    /// A function of a name that the expansion uses.
    #[ffi_handler]
    pub fn call(
        #[arg(shape = [m])] args: Buffer<'_, f32>,
        #[arg(shape = [size_m, m])] call: Buffer<'_, f32>,
        #[arg(dtype = any, shape = [dtype0.., attr])] frame: AnyBuffer<'_>,
        #[arg(like(frame))] leaf: ::core::option::Option<AnyBuffer<'_>>,
        #[ret(shape = [m])] mut out: BufferMut<'_, f32>,
        #[attr] spec: f32,
        #[attr(default = 2.0)] body: f32,
        #[attr] self_: &str,
        #[attr] r#type: i64,
        #[attr] attrs: bool,
        #[attrs] accepted: Dictionary<'_>,
    ) -> ffi::Result<()> {
        let _ = (leaf, size_m, attr);
        out[0] = spec * body * args[0] * call[0];
        out[1] = (accepted.len() + dtype0.len()) as f32 + f32::from(attrs);
        if self_ == "é" && r#type == 7 {
            return ::core::result::Result::Ok(());
        }
        Err(ffi::Error::internal(::std::format!("{self_} {} {}", r#type, frame.rank())))
    }

    /// A function with an argument of its own name, and one of the name of another's default.
    #[ffi_handler]
    pub fn n(
        #[attr(default = default_n_of())] n: i64,
        #[attr(default = 1)] default_n: i64,
        #[ret(shape = [1])] mut default: BufferMut<'_, i64>,
    ) -> ffi::Result<()> {
        default[0] = default_n + n;
        Ok(())
    }

    /// Where a default comes from.
    mod functions {
        pub(super) fn forty() -> i64 {
            40
        }
    }
    use functions::forty as default_n_of;

    /// A function whose default is computed by another.
    #[ffi_handler(target = "computed")]
    pub fn computed(
        #[attr(default = default_n_of())] n: i64,
        #[ret(shape = [1])] mut out: BufferMut<'_, i64>,
    ) -> ffi::Result<()> {
        out[0] = n;
        Ok(())
    }

    /// What is done.
    #[derive(AttrValue, Debug, Clone, Copy)]
    #[repr(u8)]
    pub enum Kind {
        /// The first.
        None,
        /// The second.
        Some = 9,
    }

    /// Where.
    #[derive(AttrValue, Debug)]
    pub struct Place<'call> {
        /// From here.
        pub members: i64,
        /// The kind.
        #[attr(default = Kind::None)]
        pub kind: Kind,
        /// How it is called.
        pub r#type: ::core::option::Option<&'call str>,
    }

    /// A check in a body whose names are those of its expansion.
    #[ffi_handler]
    pub fn check(
        #[arg] error: AnyBuffer<'_>,
        #[arg] found: AnyBuffer<'_>,
        #[attr] place: Place<'_>,
        #[ret] mut out: BufferMut<'_, i64>,
    ) -> ffi::Result<()> {
        let limit = 2;
        ffi::check!(error: f32 [sizes.., leads, {limit}]; found: dtype(error), dim(0) = leads, rank = [1, 2]);
        out[0] = (leads + sizes.len()) as i64 + place.members + place.kind as i64;
        Ok(())
    }
}

#[test]
fn names_are_kept_apart() {
    use handlers::CALL;
    let x = [2f32, 3.0];
    let frame = || {
        Frame::new()
            .arg(&x, [2])
            .arg(&x, [1, 2])
            .arg(&[1u8, 2], [1, 2, 1])
            .ret::<f32>([2])
            .attr("spec", 5f32)
            .attr("self_", "é")
            .attr("attrs", true)
    };
    let mut call = frame().attr("type", 7i64);
    call.call(&CALL).unwrap();
    assert_eq!(call.result::<f32>(0), [40.0, 7.0]);
    assert_eq!(frame().attr("type", 8i64).call(&CALL).unwrap_err().message, "é 8 3");
}

#[test]
fn defaults_see_none_of_the_arguments() {
    let mut call = Frame::new().ret::<i64>([1]);
    call.call(&handlers::COMPUTED).unwrap();
    assert_eq!(call.result::<i64>(0), [40]);
    assert_eq!(handlers::COMPUTED.target(), "computed");
    let mut call = Frame::new().ret::<i64>([1]).attr("default_n", 2i64);
    call.call(&handlers::N).unwrap();
    assert_eq!(call.result::<i64>(0), [42]);
}

#[test]
fn values_of_attributes_and_checks_in_bodies() {
    let x = vec![0f32; 24];
    let frame = |y: &[i64]| {
        let place = Value::from(vec![("members", 10i64.into()), ("kind", 9u8.into()), ("type", "t".into())]);
        Frame::new()
            .arg(&x, [4, 3, 2])
            .arg(&x[..y.iter().product::<i64>() as usize], y)
            .ret::<i64>([1])
            .attr("place", place)
    };
    let mut call = frame(&[3]);
    call.call(&handlers::CHECK).unwrap();
    assert_eq!(call.result::<i64>(0), [3 + 1 + 10 + 9]);
    let wrong = frame(&[2]).call(&handlers::CHECK).unwrap_err();
    assert_eq!(wrong.message, "`found`: expected dim(0) = leads=3, got 2 in shape [2]");
}

/// A handler is an ordinary function too.
#[test]
fn the_function_can_be_called() {
    let computed: fn(i64, dispatch_runtime::ffi::BufferMut<'_, i64>) -> dispatch_runtime::ffi::Result<()> =
        handlers::computed;
    let _ = computed;
}
