//! What bytes a handler sees and leaves: of elements of fewer than 8 bits, and of bools that are none.

mod plugin;

use dispatch_runtime::ffi::{self, Aliased, AnyBuffer, AnyBufferMut, Buffer, BufferMut};
use dispatch_runtime::graph::{Graph, custom_call};
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

/// Makes bools that are none.
#[ffi_handler(target = "bytes_no_bools")]
fn no_bools(
    #[arg] x: Buffer<f32>,
    #[ret(dtype = bool, shape = shape(x))] mut out: AnyBufferMut,
) -> ffi::Result<()> {
    for (byte, x) in out.bytes_mut().iter_mut().zip(&x[..]) {
        *byte = *x as u8;
    }
    Ok(())
}

/// Whether bools are bytes of 0 and 1, and what they are.
fn bits(bools: &[bool]) -> Vec<u8> {
    // SAFETY: a bool is a byte.
    let bytes = unsafe { std::slice::from_raw_parts(bools.as_ptr().cast::<u8>(), bools.len()) };
    std::hint::black_box(bytes).to_vec()
}

/// Takes over what may be no bools.
#[ffi_handler(target = "bytes_take_over")]
fn take_over(
    #[arg(dtype = bool)] x: Aliased,
    #[ret(like(x), alias = x)] out: BufferMut<bool>,
    #[ret(shape = shape(x))] mut seen: BufferMut<u8>,
) -> ffi::Result<()> {
    let _ = x.len();
    seen.copy_from_slice(&bits(&out));
    Ok(())
}

#[test]
fn bools_that_a_handler_leaves_are_read_as_bools() {
    let client = client();
    client.register_ffi_handler("bytes_no_bools", &NO_BOOLS).unwrap();
    client.register_ffi_handler("bytes_take_over", &TAKE_OVER).unwrap();
    for shape in [vec![4], vec![2, 2]] {
        let (bools, bytes) = (Aval::new(DType::Bool, &shape), Aval::new(DType::U8, &shape));
        let g = Graph::new();
        let x = g.input("x", &Aval::new(DType::F32, &shape));
        let [b] = custom_call(&NO_BOOLS).call(&[&x], [bools.clone()]);
        let plain = client.compile(g.program(b.clone()).unwrap()).unwrap();
        let [kept, seen] = custom_call(&TAKE_OVER).call(&[&b], [bools.clone(), bytes.clone()]);
        let copied = client.compile(g.program((b.clone(), kept, seen)).unwrap()).unwrap();
        let [kept, seen] = custom_call(&TAKE_OVER).alias(0, 0).call(&[&b], [bools, bytes]);
        let aliased = client.compile(g.program((b, kept, seen)).unwrap()).unwrap();

        let x = client.array(&[0f32, 1.0, 2.0, 255.0], &shape).unwrap();
        let read = plain.execute(&[&x]).unwrap()[0].clone();
        assert_eq!(bits(&read.to_vec::<bool>().unwrap()), [0, 1, 1, 1]);
        let mut out = [9; 4];
        read.read_bytes(&mut out).unwrap();
        assert_eq!(out, [0, 1, 1, 1]);
        assert_eq!(read.with_bytes(<[u8]>::to_vec).unwrap(), [0, 1, 1, 1]);
        for program in [copied, aliased] {
            let results = program.execute(&[&x]).unwrap();
            assert_eq!(bits(&results[1].to_vec::<bool>().unwrap()), [0, 1, 1, 1]);
            assert_eq!(results[2].to_vec::<u8>().unwrap(), [0, 1, 1, 1]);
        }
    }
}
