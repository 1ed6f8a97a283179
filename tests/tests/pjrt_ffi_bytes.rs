//! What bytes a handler sees and leaves: of elements of fewer than 8 bits.

mod plugin;

use dispatch_runtime::ffi::{self, AnyBuffer, AnyBufferMut};
use dispatch_runtime::prelude::*;
use dispatch_runtime::program::Source;
use plugin::client;

/// Copies whatever it is given.
#[ffi_handler(target = "bytes_copy")]
fn copy(#[arg] x: AnyBuffer, #[ret(like(x))] mut out: AnyBufferMut) -> ffi::Result<()> {
    assert_eq!(Some(x.size_bytes()), x.data_type().bytes(x.len()));
    out.bytes_mut().copy_from_slice(x.bytes());
    Ok(())
}

/// Writes over all bytes of its result.
#[ffi_handler(target = "bytes_fill")]
fn fill(#[arg] _x: AnyBuffer, #[ret] mut out: AnyBufferMut) -> ffi::Result<()> {
    out.bytes_mut().fill(0);
    Ok(())
}

/// f32 to a narrow type, by a handler, and back.
fn narrow(target: &str, ty: &str, n: usize) -> Source {
    Source::StableHlo(format!(
        r#"func.func @main(%a: tensor<{n}xf32>) -> tensor<{n}xf32> {{
            %0 = stablehlo.convert %a : (tensor<{n}xf32>) -> tensor<{n}x{ty}>
            %1 = "stablehlo.custom_call"(%0) {{call_target_name = "{target}", api_version = 4 : i32}} : (tensor<{n}x{ty}>) -> tensor<{n}x{ty}>
            %2 = stablehlo.convert %1 : (tensor<{n}x{ty}>) -> tensor<{n}xf32>
            return %2 : tensor<{n}xf32>
        }}"#
    ))
}

#[test]
fn packed_elements_are_copied_and_written_no_further_than_they_go() {
    let client = client();
    client.register_ffi_handler("bytes_copy", &COPY).unwrap();
    client.register_ffi_handler("bytes_fill", &FILL).unwrap();
    for ty in ["i4", "ui4", "i2", "ui2", "f4E2M1FN", "f8E4M3FN"] {
        // The last is so large that it has pages of its own, behind which the allocator notices what is written.
        for n in [1, 2, 3, 5, 7, 9, if ty == "i4" { 1_000_003 } else { 33 }] {
            let x: Vec<f32> = (0..n).map(|i| (i % 2) as f32).collect();
            let array = client.array(&x, [n as i64]).unwrap();
            let run = |target| {
                let program = client.compile(narrow(target, ty, n)).unwrap();
                program.execute(&[&array]).unwrap()[0].to_vec::<f32>().unwrap()
            };
            assert_eq!(run("bytes_copy"), x, "{ty} {n}");
            assert!(run("bytes_fill").iter().all(|x| *x == 0.0), "{ty} {n}");
        }
    }
}
