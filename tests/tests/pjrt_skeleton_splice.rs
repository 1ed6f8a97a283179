//! The texts of composed programs in the text around them: whoever wrote them, on a real plugin.

mod plugin;

use std::sync::atomic::{AtomicUsize, Ordering};

use dispatch_runtime::ffi::{self, Buffer, BufferMut};
use dispatch_runtime::graph::{Function, custom_call};
use dispatch_runtime::prelude::*;
use dispatch_runtime::program::Source;
use dispatch_runtime::skeleton::{Skeleton, SkeletonSlot};
use plugin::client;

fn slot(name: &str, shape: &[i64]) -> SkeletonSlot {
    SkeletonSlot::new(DType::F32, shape).named(name)
}

fn of(array: &Array) -> Vec<f32> {
    array.to_vec().unwrap()
}

fn two(data: [f32; 2]) -> Array {
    client().array(&data, [2]).unwrap()
}

fn written(text: &str) -> Skeleton {
    Skeleton::from_program(&client(), Program::stablehlo(text).unwrap(), &[&slot("x", &[2])]).unwrap()
}

/// How often a handler was called.
static CALLS: AtomicUsize = AtomicUsize::new(0);

/// `out = scale x`
#[ffi_handler(target = "f")]
fn scaled(
    #[arg(shape = [n])] x: Buffer<f32>,
    #[ret(shape = [n])] mut out: BufferMut<f32>,
    #[attr] scale: f32,
) -> ffi::Result<()> {
    CALLS.fetch_add(1, Ordering::Relaxed);
    out.iter_mut().zip(&x[..]).for_each(|(out, x)| *out = scale * x);
    Ok(())
}

/// `5 x`, with every trap that there is: a target with the name of a function, names in strings and comments, quoted names,
/// abbreviations in front of the module and behind it, a module that has the name of its function.
const TRAPS: &str = r##"
// func.func @main(%no: tensor<f32>) { } of @f
#loc = loc("@f of #loc":1:2)
#scale = 4.0 : f32
!vec = tensor<2xf32>
module @main attributes {jax.about = "module @f { }", mhlo.num_partitions = 1 : i32} {
  // @f is a function, and a target.
  func.func @f(%x: !vec) -> !vec {
    %0 = stablehlo.custom_call @f(%x) {backend_config = {scale = #scale}, api_version = 4 : i32,
      mhlo.frontend_attributes = {about = "@f { #loc \" @main"}} : (!vec) -> !vec loc(#loc)
    return %0 : !vec // @"g h"
  }
  func.func nested @"g h"(%x: !vec) -> (!vec) attributes {about = "@f"} {
    %f = func.call @"f"(%x) : (!vec) -> !vec
    return %f : !vec
  }
  func.func public @main(%x: !vec {jax.arg_info = "@f"}) -> (!vec {jax.result_info = "@main"}) {
    %0 = call @"g h"(%x) : (!vec) -> !vec loc(#loc1)
    %1 = "stablehlo.add"(%0, %x) : (!vec, !vec) -> !vec
    return %1 : !vec
  } loc(#loc1)
} loc(#loc)
#loc1 = loc("@main"(#loc))
"##;

/// `(x - 1) - 1`, whose names are those of the other, without a module around it.
const NAMESAKE: &str = r##"
#loc = loc("elsewhere":3:4)
!vec = tensor<2xf32>
func.func @main(%x: !vec) -> !vec {
  %0 = call @f(%x) : (!vec) -> !vec
  %1 = call @f(%0) : (!vec) -> !vec loc(#loc)
  return %1 : !vec
}
#scale = dense<1.0> : tensor<2xf32>
func.func private @f(%x: !vec) -> !vec {
  %one = stablehlo.constant #scale
  %0 = stablehlo.subtract %x, %one : !vec
  return %0 : !vec
}
"##;

#[test]
fn names_of_two_texts_stay_apart() {
    client().register_ffi_handler("f", &SCALED).unwrap();
    let (traps, namesake) = (written(TRAPS), written(NAMESAKE));
    let (ten, y) = (two([10.0, 20.0]), slot("y", &[2]));
    assert_eq!(of(&traps.run(&[&ten]).unwrap()), [50.0, 100.0]);
    assert_eq!(of(&namesake.run(&[&ten]).unwrap()), [8.0, 18.0]);

    // A function of the program around them has one of their names too.
    let f = Function::new("f", [y.aval()], |[x]| x * 100.0);
    let made = f.call([&namesake.compose(&[&traps.compose(&[&y]).unwrap()]).unwrap()]);
    let made = made + traps.compose_inlined(&[&namesake.compose_inlined(&[&y]).unwrap()]).unwrap();
    let outer = made.into_skeleton(&client(), &[&y]).unwrap();
    assert_eq!(of(&outer.run(&[&ten]).unwrap()), [4800.0 + 40.0, 9800.0 + 90.0]);
    // And again, as a part.
    let made = outer.compose(&[&y]).unwrap() - traps.compose(&[&y]).unwrap();
    let outer = made.into_skeleton(&client(), &[&y]).unwrap();
    assert_eq!(of(&outer.run(&[&ten]).unwrap()), [4840.0 - 50.0, 9890.0 - 100.0]);
}

#[test]
fn a_call_with_an_effect_is_made_each_time() {
    client().register_ffi_handler("f", &SCALED).unwrap();
    let x = slot("x", &[2]);
    let call = custom_call(&SCALED).attribute("scale", 3);
    let calls_of = |inner: Value| {
        let inner = inner.into_skeleton(&client(), &[&x]).unwrap();
        let y = slot("y", &[2]);
        let made = inner.compose(&[&y]).unwrap() + inner.compose(&[&y]).unwrap();
        let outer = made.into_skeleton(&client(), &[&y]).unwrap();
        let Source::StableHlo(text) = outer.program() else { panic!("no text") };
        assert_eq!(of(&outer.run(&[&two([1.0, 2.0])]).unwrap()), [6.0, 12.0]);
        text.matches("call @skeleton(").count()
    };
    assert_eq!(calls_of(call.clone().side_effect().call(&[&x], x.aval())), 2);
    // Without an effect both are one.
    assert_eq!(calls_of(call.call(&[&x], x.aval())), 1);
    assert!(CALLS.load(Ordering::Relaxed) >= 3);
}

#[test]
fn what_cannot_be_moved_says_so() {
    let slot = slot("x", &[2]);
    let told = |text: &str| {
        let skeleton = written(text);
        skeleton.run(&[&two([1.0, 2.0])]).unwrap();
        let told = skeleton.compose(&[&slot]).unwrap_err();
        assert_eq!(told.code(), "graph");
        assert!(told.to_string().contains(file!()), "{told}");
        told.to_string()
    };
    let generic = r#"
      module {
        func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
          %0 = call @f(%x) : (tensor<2xf32>) -> tensor<2xf32>
          return %0 : tensor<2xf32>
        }
        "func.func"() <{function_type = (tensor<2xf32>) -> tensor<2xf32>, sym_name = "f", sym_visibility = "private"}> ({
        ^bb0(%x: tensor<2xf32>):
          "func.return"(%x) : (tensor<2xf32>) -> ()
        }) : () -> ()
      }"#;
    let expected =
        "`compose`: the program of the skeleton has \"func.func\" in it, the generic form of an operation";
    assert!(told(generic).starts_with(expected), "{}", told(generic));
    let resource = r#"
      module {
        func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
          return %x : tensor<2xf32>
        }
      }
      {-# dialect_resources: { builtin: { blob: "0x040000000000803F0000803F" } } #-}"#;
    let expected = "`compose`: the program of the skeleton has `{` behind its module";
    assert!(told(resource).starts_with(expected), "{}", told(resource));

    let aval = Aval::new(DType::F32, [2]);
    let program =
        Program::<Array>::host([aval.clone()], [aval], |args| Ok(vec![HostArray::from_view(args[0])]));
    let host = Skeleton::from_program(&Client::host(), program.unwrap(), &[&slot]).unwrap();
    let told = host.compose(&[&slot]).unwrap_err().to_string();
    let expected = "`compose`: the program of the skeleton is no StableHLO text, but a function on the host: (f32[2]) -> \
                    (f32[2])";
    assert!(told.starts_with(expected), "{told}");
}
