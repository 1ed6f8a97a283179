//! Host values as arguments: their dtype, their conversion, their shape.

use dispatch_runtime::prelude::*;
use dispatch_tests::first;
use half::{bf16, f16};
use num_complex::Complex;

/// A family that gives its argument back, at the dtype that it was uploaded at.
macro_rules! echo {
    ($dtype:tt) => {{
        #[dispatch_family]
        fn echo(#[dynamic(dtype = $dtype, shape = [..])] x: Aval) -> Result<Program> {
            first(&[x])
        }
        Echo::new(&Client::host())
    }};
}

fn value<T: Element>(y: Result<Array>) -> T {
    let y = y.unwrap();
    assert_eq!((y.dtype(), y.len()), (T::DTYPE, 1));
    y.to_vec().unwrap()[0]
}

fn text(y: Result<Array>) -> String {
    let error = y.unwrap_err();
    assert_eq!(error.code(), "value");
    error.to_string()
}

// --- the dtype of a group

#[dispatch_family]
fn sum(
    #[dynamic(dtype = [f32, f64, i32], shape = [])] a: Aval,
    #[dynamic(dtype = dtype(a), shape = [])] b: Aval,
    #[dynamic(dtype = dtype(b), shape = [])] c: Aval,
) -> Result<Program> {
    assert_eq!([b.dtype(), c.dtype()], [a.dtype(); 2]);
    first(&[a, b, c])
}

#[test]
fn the_first_device_array_says_the_dtype_wherever_it_stands() {
    let client = Client::host();
    let family = Sum::new(&client);
    let (f, d, i) = (
        client.array(&[1f32], []).unwrap(),
        client.array(&[1f64], []).unwrap(),
        client.array(&[1i32], []).unwrap(),
    );
    for (array, dtype) in [(&f, DType::F32), (&d, DType::F64), (&i, DType::I32)] {
        assert_eq!(family.call(array, 2.0, 3).unwrap().dtype(), dtype);
        assert_eq!(family.call(2.0, array, 3i64).unwrap().dtype(), dtype);
        assert_eq!(family.call(2, 3u8, array).unwrap().dtype(), dtype);
    }
    assert_eq!(family.stats().compiles, 3);
    assert_eq!(family.call(1.5, &f, &d).unwrap_err().argument(), Some("c"));
}

#[test]
fn without_an_array_the_first_host_type_that_is_allowed_says_it() {
    let family = Sum::new(&Client::host());
    assert_eq!(family.call(1f64, 2f32, 3i32).unwrap().dtype(), DType::F64);
    assert_eq!(family.call(1f32, 2f64, 3i32).unwrap().dtype(), DType::F32);
    assert_eq!(family.call(1i32, 2f64, 3f32).unwrap().dtype(), DType::I32);
    // A literal without a type is an f64 or an i32.
    assert_eq!(family.call(1.0, 2, 3).unwrap().dtype(), DType::F64);
    assert_eq!(family.call(1, 2.0, 3).unwrap().dtype(), DType::I32);
}

#[test]
fn a_host_type_that_is_not_allowed_leaves_the_first_dtype_listed() {
    let family = Sum::new(&Client::host());
    assert_eq!(value::<f32>(family.call(7u8, 2f64, 3i32)), 7.0);
    assert_eq!(value::<f32>(family.call(true, 2f64, 3i32)), 1.0);
    assert_eq!(value::<f32>(family.call(f16::from_f32(1.5), 2f64, 3i32)), 1.5);
    // The classes begin with f32 and i32.
    assert_eq!(value::<f32>(echo!(float).call(3i64)), 3.0);
    assert_eq!(value::<i32>(echo!(int).call(3.0f32)), 3);
    assert_eq!(value::<i8>(echo!([i8, f32]).call(true)), 1);
}

#[test]
fn a_class_keeps_the_host_type() {
    assert_eq!(value::<f64>(echo!(any).call(0.1)), 0.1);
    assert_eq!(value::<u16>(echo!(any).call(7u16)), 7);
    assert!(value::<bool>(echo!(any).call(true)));
    assert_eq!(value::<f64>(echo!(float).call(0.1)), 0.1);
    assert_eq!(value::<bf16>(echo!(float).call(bf16::from_f32(0.5))), bf16::from_f32(0.5));
    assert_eq!(value::<u64>(echo!(int).call(u64::MAX)), u64::MAX);
}

#[test]
fn the_dtype_of_a_group_is_in_the_key_the_host_type_is_not() {
    let family = Sum::new(&Client::host());
    family.call(1f32, 2f32, 3f32).unwrap();
    family.call(1f32, 2f64, 3u8).unwrap();
    family.call(7u8, true, 3i64).unwrap();
    assert_eq!(family.stats().compiles, 1);
    family.call(1f64, 2f64, 3f64).unwrap();
    assert_eq!(family.stats().compiles, 2);
}

#[test]
fn a_list_of_arrays_says_the_dtype_of_host_values_tied_to_it() {
    #[dispatch_family]
    fn tied(
        #[dynamic(dtype = [f32, f64], shape = [])] xs: Vec<Aval>,
        #[dynamic(dtype = dtype(xs), shape = [])] y: Aval,
    ) -> Result<Program> {
        let mut inputs = vec![y];
        inputs.extend(xs);
        let result = inputs[0].clone();
        inputs.rotate_left(1);
        Program::host(inputs, [result], |args| Ok(vec![HostArray::from_view(args[args.len() - 1])]))
    }
    let client = Client::host();
    let family = Tied::new(&client);
    let x = client.array(&[1f64], []).unwrap();
    assert_eq!(value::<f64>(family.call(&[x][..], 0.1f32)), f64::from(0.1f32));
    assert_eq!(value::<f32>(family.call([], 0.1f32)), 0.1);
    assert_eq!(value::<f64>(family.call([], 0.1f64)), 0.1);
}

// --- conversion

#[test]
fn an_f64_for_an_f64_is_never_rounded_through_f32() {
    for x in [0.1, f64::MIN_POSITIVE, 5e-324, 1e300, -0.0, f64::MAX, 16777217.0] {
        assert_eq!(value::<f64>(echo!(f64).call(x)).to_bits(), x.to_bits());
        assert_eq!(value::<f64>(echo!(f64).call([x])).to_bits(), x.to_bits());
    }
    assert!(value::<f64>(echo!(f64).call(f64::NAN)).is_nan());
}

#[test]
fn an_f64_for_an_f32_rounds_to_nearest() {
    assert_eq!(value::<f32>(echo!(f32).call(0.1)), 0.1f32);
    assert_eq!(value::<f32>(echo!(f32).call(16777217.0)), 16777216.0);
    assert_eq!(value::<f32>(echo!(f32).call([1e-50])), 0.0);
    assert_eq!(value::<f32>(echo!(f32).call(f64::INFINITY)), f32::INFINITY);
    assert!(value::<f32>(echo!(f32).call(f64::NAN)).is_nan());
}

#[test]
fn a_finite_value_never_becomes_infinite() {
    assert_eq!(
        text(echo!(f32).call(1e300)),
        "argument `x`: expected a magnitude of at most 3.4028235e38 (f32), got 1e300"
    );
    assert_eq!(
        text(echo!(f16).call([1.0, -7e4])),
        "argument `x`: expected a magnitude of at most 65504 (f16), got -70000.0 at index 1"
    );
}

#[test]
fn whole_numbers_go_to_integers_exactly_and_others_not_at_all() {
    assert_eq!(value::<i32>(echo!(i32).call(3.0)), 3);
    assert_eq!(value::<i32>(echo!(i32).call(-3i8)), -3);
    assert_eq!(value::<u8>(echo!(u8).call(255i64)), 255);
    assert_eq!(
        text(echo!(i32).call(2.5)),
        "argument `x`: expected an integer from -2147483648 to 2147483647 (i32), got 2.5"
    );
    assert_eq!(text(echo!(u8).call(-1)), "argument `x`: expected an integer from 0 to 255 (ui8), got -1");
    assert_eq!(text(echo!(u8).call(256)), "argument `x`: expected an integer from 0 to 255 (ui8), got 256");
    assert_eq!(
        text(echo!(i8).call(f64::NAN)),
        "argument `x`: expected an integer from -128 to 127 (i8), got NaN"
    );
    assert_eq!(
        text(echo!(i32).call((&[0.0, 1.0, 2.0, 3.5], [2, 2]))),
        "argument `x`: expected an integer from -2147483648 to 2147483647 (i32), got 3.5 at index [1, 1]"
    );
}

#[test]
fn integer_literals_go_to_floats() {
    assert_eq!(value::<f32>(echo!(f32).call(2)), 2.0);
    assert_eq!(value::<f64>(echo!(f64).call(-7)), -7.0);
    assert_eq!(value::<bf16>(echo!(bf16).call(3)), bf16::from_f32(3.0));
}

#[test]
fn bools_are_zero_and_one() {
    assert!(value::<bool>(echo!(bool).call(true)));
    assert!(value::<bool>(echo!(bool).call(1)));
    assert!(!value::<bool>(echo!(bool).call(0.0)));
    assert_eq!(value::<f32>(echo!(f32).call(true)), 1.0);
    assert_eq!(value::<i64>(echo!(i64).call(false)), 0);
    assert_eq!(text(echo!(bool).call(2)), "argument `x`: expected 0 or 1 (bool), got 2");
    assert_eq!(
        text(echo!(bool).call([1.0, 0.5])),
        "argument `x`: expected 0 or 1 (bool), got 0.5 at index 1"
    );
}

#[test]
fn reals_go_to_complex_numbers_and_complex_numbers_to_no_real() {
    assert_eq!(value::<Complex<f32>>(echo!(c64).call(0.1)), Complex::new(0.1, 0.0));
    assert_eq!(value::<Complex<f64>>(echo!(c128).call(0.1)), Complex::new(0.1, 0.0));
    assert_eq!(value::<Complex<f64>>(echo!(c128).call(Complex::new(1f32, 2.0))), Complex::new(1.0, 2.0));
    assert_eq!(value::<Complex<f32>>(echo!(c64).call([Complex::new(0.1, 2.0)])), Complex::new(0.1, 2.0));
    assert_eq!(
        text(echo!(f32).call(Complex::new(1f32, 0.0))),
        "argument `x`: expected a real number (f32): take the real part first, got 1+0i"
    );
}

#[test]
fn half_types_are_rounded_once() {
    assert_eq!(value::<f16>(echo!(f16).call(0.1)), f16::from_f64(0.1));
    assert_eq!(value::<bf16>(echo!(bf16).call(0.1)), bf16::from_f64(0.1));
    // Halfway between two f16 after rounding to f32, above halfway as it is.
    let x = 1.0 + 2f64.powi(-11) + 2f64.powi(-40);
    assert_eq!(value::<f16>(echo!(f16).call(x)).to_f64(), 1.0 + 2f64.powi(-10));
    assert_eq!(value::<f32>(echo!(f32).call(f16::from_f32(0.5))), 0.5);
    assert_eq!(value::<f64>(echo!(f64).call(bf16::from_f32(-2.0))), -2.0);
}

#[test]
fn a_value_that_does_not_fit_compiles_nothing_and_uploads_nothing() {
    use dispatch_runtime::engine::fake::FakeEngine;

    let (client, state) = FakeEngine::client(1);
    let family = Sum::new(&client);
    let a = client.array(&[1i32], []).unwrap();
    let uploads = state.uploads();
    let error = family.call(&a, 2, 0.5).unwrap_err();
    assert_eq!(error.to_string().split(':').next(), Some("argument `c`"));
    assert_eq!((state.compiles(), state.uploads(), family.stats().misses), (0, uploads, 0));
}

// --- shapes

#[test]
fn scalars_slices_arrays_and_vectors_have_the_shapes_one_expects() {
    let family = echo!(f32);
    let shape = |y: Result<Array>| y.unwrap().shape().to_vec();
    let v = vec![1f32, 2.0, 3.0, 4.0, 5.0, 6.0];
    assert_eq!(shape(family.call(1f32)), [0i64; 0]);
    assert_eq!(shape(family.call(1f32)), [0i64; 0]);
    assert_eq!(shape(family.call([1f32, 2.0])), [2]);
    assert_eq!(shape(family.call(&v[1..])), [5]);
    assert_eq!(shape(family.call(&v)), [6]);
    assert_eq!(shape(family.call(v.clone())), [6]);
    assert_eq!(shape(family.call((&v, [2, 3]))), [2, 3]);
    assert_eq!(shape(family.call((&v[..], [3, 2]))), [3, 2]);
    assert_eq!(shape(family.call((&[7f32; 4], vec![1, 4, 1]))), [1, 4, 1]);
    assert_eq!(shape(family.call((&[7f32], []))), [0i64; 0]);
    assert_eq!(family.call((&v, [2, 3])).unwrap().to_vec::<f32>().unwrap(), v);
}

#[test]
fn a_shape_has_as_many_elements_as_the_slice() {
    let family = echo!(f32);
    let v = [1f32; 6];
    let text = |shape: &[i64]| family.call((&v, shape)).unwrap_err().to_string();
    assert_eq!(text(&[2, 2]), "argument `x`: expected shape of 6 elements, as many as were given, got [2,2]");
    for shape in [&[][..], &[0], &[7], &[-2, -3], &[-6], &[6, 0], &[i64::MAX, i64::MAX], &[3 << 62, 2]] {
        assert_eq!(family.call((&v, shape)).unwrap_err().code(), "shape", "{shape:?}");
    }
    assert_eq!(family.stats().misses, 0);
}

#[test]
fn empty_slices_are_empty_arrays() {
    let family = echo!([f32, i32]);
    let none: [f32; 0] = [];
    assert_eq!(family.call(none).unwrap().shape(), [0]);
    assert_eq!(family.call((&none, [0, 3])).unwrap().shape(), [0, 3]);
    assert_eq!(family.call((&none, [3, 0])).unwrap().shape(), [3, 0]);
    let wide: Vec<f64> = Vec::new();
    assert_eq!(family.call(&wide).unwrap().dtype(), DType::F32);
    let ints: [i32; 0] = [];
    assert_eq!(family.call(ints).unwrap().dtype(), DType::I32);
    assert_eq!(family.stats().compiles, 4);
}

#[test]
fn a_host_value_and_an_array_of_its_dtype_are_one_key() {
    let client = Client::host();
    let family = echo!(any);
    family.call(client.array(&[1f32, 2.0], [2]).unwrap()).unwrap();
    family.call([1f32, 2.0]).unwrap();
    family.call((&[1f32, 2.0], [2])).unwrap();
    assert_eq!(family.stats().compiles, 1);
}

#[test]
fn a_slice_changed_after_the_call_does_not_change_the_data() {
    let family = echo!(f64);
    let client = Client::host();
    let mut data = vec![1.0, 2.0];
    let array = client.array(&data, [2]).unwrap();
    let y = family.call(&data).unwrap();
    data.fill(9.0);
    assert_eq!(y.to_vec::<f64>().unwrap(), [1.0, 2.0]);
    assert_eq!(array.to_vec::<f64>().unwrap(), [1.0, 2.0]);
}
