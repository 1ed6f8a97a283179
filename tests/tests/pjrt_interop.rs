//! The types of the crates.io `pjrt` crate and ours, on one client.
#![cfg(feature = "pjrt")]

mod plugin;

use dispatch_runtime::engine::pjrt::{CompileOptions, mark_donors};
use dispatch_runtime::program::Source;
use dispatch_runtime::{Client, DType, Error, HostArray};
use plugin::{add, client, client_with_devices, compile, run, values};

#[test]
fn a_client_is_the_same_client() {
    let (ours, theirs) = (client(), client().to_pjrt().unwrap());
    assert_eq!(theirs.platform_name(), "cpu");
    let ids: Vec<i64> = theirs.addressable_devices().iter().map(|d| d.description().id().into()).collect();
    assert_eq!(ids, ours.engine().devices().iter().map(|d| d.id).collect::<Vec<_>>());
    // Dropping every copy of it, on every thread, destroys nothing.
    drop(theirs);
    std::thread::spawn(|| drop(client().to_pjrt().unwrap())).join().unwrap();
    assert_eq!(values::<f32>(&ours.array(&[1f32], [1]).unwrap()), [1.0]);
    assert_eq!(Client::host().to_pjrt().err().unwrap().code(), "unimplemented");
}

#[test]
fn their_programs_and_buffers_run_here_and_the_results_are_theirs() {
    let client = client();
    let program = pjrt::Program::new(pjrt::ProgramFormat::MLIR, add("tensor<2x2xf32>"));
    let executable = client.compile(Source::try_from(&program).unwrap()).unwrap();

    let host = pjrt::HostBuffer::builder().data(vec![1f32, 2.0, 3.0, 4.0]).dims([2, 2]).build();
    let host = HostArray::try_from(&host).unwrap();
    let a = client.upload(host.view(), client.default_device()).unwrap();
    let sum = run(&executable, &[&a, &a]);

    let lent = sum.to_pjrt().unwrap();
    assert_eq!((lent.primitive_type(), lent.dims()), (pjrt::PrimitiveType::F32, vec![2, 2]));
    let read = lent.copy_to_host_sync().unwrap();
    let pjrt::HostBuffer::F32(read) = &read else { panic!("another dtype") };
    assert_eq!(read.data(), [2.0, 4.0, 6.0, 8.0]);

    let lent = executable.to_pjrt().unwrap();
    assert_eq!(lent.executable().num_outputs(), 1);
    assert_eq!(lent.executable().output_dims(), [[2, 2]]);
    drop(executable);
    assert!(!lent.is_deleted());
}

#[test]
fn what_is_lent_stays_alive() {
    let client = client();
    let lent = client.array(&[1i32, 2, 3], [3]).unwrap().to_pjrt().unwrap();
    // The array itself is gone; its memory must not be given to another.
    let others: Vec<_> = (0..100).map(|i| client.array(&[i; 3], [3]).unwrap()).collect();
    let pjrt::HostBuffer::I32(read) = lent.copy_to_host_sync().unwrap() else { panic!("another dtype") };
    assert_eq!(read.data(), [1, 2, 3]);
    drop((others, lent));
}

#[test]
fn a_donated_array_is_not_lent() {
    let client = client();
    let executable = compile(client, &mark_donors(&add("tensor<2xf32>"), &[true]).unwrap());
    let (a, b) = (client.array(&[1f32; 2], [2]).unwrap(), client.array(&[1f32; 2], [2]).unwrap());
    run(&executable, &[&a, &b]);
    assert!(matches!(a.to_pjrt().err().unwrap(), Error::Donated { .. }));
}

#[test]
fn host_buffers_of_every_dtype_and_layout_become_row_major_arrays() {
    macro_rules! same {
        ($($ty:ty)*) => {$(
            let data: Vec<$ty> = (0..6).map(|i| i as $ty).collect();
            let buffer = pjrt::HostBuffer::builder().data(data.clone()).dims([2, 3]).build();
            let array = HostArray::try_from(&buffer).unwrap();
            assert_eq!((array.shape(), array.as_slice::<$ty>().unwrap()), (&[2i64, 3][..], &data[..]));
        )*};
    }
    same!(f32 f64 i8 i16 i32 i64 u8 u16 u32 u64);

    let scalar = HostArray::try_from(&pjrt::HostBuffer::scalar(7i64)).unwrap();
    assert_eq!(
        (scalar.dtype(), scalar.shape(), scalar.as_slice::<i64>().unwrap()),
        (DType::I64, &[][..], &[7][..])
    );

    let column_major = || vec![1f32, 4.0, 2.0, 5.0, 3.0, 6.0];
    let layouts = [pjrt::MemoryLayout::tiled([0, 1]).build(), pjrt::MemoryLayout::strides([4, 8])];
    for layout in layouts {
        let buffer = pjrt::HostBuffer::builder().data(column_major()).dims([2, 3]).layout(layout).build();
        let array = HostArray::try_from(&buffer).unwrap();
        assert_eq!(array.as_slice::<f32>().unwrap(), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    }
}

#[test]
fn host_buffers_whose_layout_does_not_fit_are_refused() {
    let layouts = [
        pjrt::MemoryLayout::tiled([0, 0]).build(),
        pjrt::MemoryLayout::tiled([1, 0]).tile_dims(vec![2, 2]).tile_dim_sizes(vec![2]).build(),
        pjrt::MemoryLayout::strides([4, 12]),
        pjrt::MemoryLayout::strides([-4, 8]),
        pjrt::MemoryLayout::strides([4]),
    ];
    for layout in layouts {
        let buffer =
            pjrt::HostBuffer::builder().data(vec![0f32; 6]).dims([2, 3]).layout(layout.clone()).build();
        assert_eq!(HostArray::try_from(&buffer).unwrap_err().code(), "shape", "{layout:?}");
    }
}

#[test]
fn their_compile_options_compile_here() {
    let client = client_with_devices(2);
    let second = client.devices().nth(1).unwrap();
    let options = CompileOptions::try_from(&pjrt::CompileOptions::new()).unwrap();
    let executable = client.compile_with(Source::StableHlo(add("tensor<2xf32>")), second, &options).unwrap();
    let a = client.array_on(&[1f32, 2.0], [2], second).unwrap();
    let sum = run(&executable, &[&a, &a]);
    assert_eq!((sum.device(), values::<f32>(&sum)), (second, vec![2.0, 4.0]));
}

#[test]
fn options_for_several_devices_are_refused() {
    let mut options = pjrt::CompileOptions::new();
    options.proto_mut().executable_build_options.as_mut().unwrap().num_replicas = 2;
    let error = CompileOptions::try_from(&options).unwrap_err();
    assert!(error.to_string().contains("expected one replica and one partition, got 2 replicas"), "{error}");
    assert_eq!(CompileOptions::from_proto([0xff]).unwrap_err().code(), "option");
    assert_eq!(CompileOptions::from_proto([]).unwrap(), CompileOptions::default());
}

#[test]
fn their_programs_in_hlo_are_refused() {
    let program = pjrt::Program::new(pjrt::ProgramFormat::HLO, [1u8, 2]);
    assert!(Source::try_from(&program).unwrap_err().to_string().contains("it is HLO"));
    let program = pjrt::Program::new(pjrt::ProgramFormat::MLIR, *b"ML\xefR\x06");
    assert!(matches!(Source::try_from(&program).unwrap(), Source::Bytecode(_)));
    let program = pjrt::Program::new(pjrt::ProgramFormat::MLIR, [0xff, 0xfe]);
    assert_eq!(Source::try_from(&program).unwrap_err().code(), "invalid_program");
}
