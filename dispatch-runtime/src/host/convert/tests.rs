use half::{bf16, f16};
use num_complex::Complex;
use proptest::prelude::*;

use super::Converted;
use super::reference::{Exact, exact, expected, halves};
use crate::host::{Element, HostView};
use crate::{DType, Error};

/// Converts one element, as a scalar and within a slice, which take different ways, and compares both with the
/// reference. The bytes are those of the element, little-endian or not as the machine is.
fn check(from: DType, element: u128, to: DType) {
    let bytes = element.to_ne_bytes();
    // Three in a row, without gaps: the slice way gets one that is neither first nor last.
    let mut row = [0u128; 3];
    for i in 0..3 {
        // SAFETY: three elements of at most 16 bytes fit into three words.
        unsafe {
            let at = row.as_mut_ptr().cast::<u8>().add(i * from.size());
            at.copy_from_nonoverlapping(bytes.as_ptr(), from.size());
        }
    }
    let want = expected(exact(from, element), to);
    for shape in [&[][..], &[1], &[3, 1]] {
        // SAFETY: up to three elements, written above, aligned as words are.
        let view = unsafe { HostView::from_raw(from, shape, row.as_ptr().cast()) };
        let got = Converted::new(view, to, &|| "x".into());
        let context = || format!("{from} {element:#x} = {:?} as {to} in {shape:?}", exact(from, element));
        match (&got, want) {
            (Ok(got), Some(want)) => {
                let got = got.view();
                assert_eq!((got.dtype(), got.shape()), (to, shape));
                for got in got.bytes().unwrap().chunks(to.size()) {
                    let mut word = [0; 16];
                    word[..to.size()].copy_from_slice(got);
                    let got = exact(to, u128::from_ne_bytes(word));
                    assert!(got.same(want), "{}: got {got:?}, want {want:?}", context());
                }
            }
            (Err(error), None) => {
                assert_eq!((error.code(), error.argument()), ("value", Some("x")), "{}", context());
            }
            _ => panic!("{}: got {got:?}, want {want:?}", context()),
        }
    }
}

fn check_all(from: DType, element: u128) {
    DType::ALL.iter().for_each(|&to| check(from, element, to));
}

/// The bytes of an element in the low end of a word, as it stands in memory.
fn word<T: Element>(value: T) -> u128 {
    let mut word = 0u128;
    // SAFETY: an element has at most 16 bytes and no stricter alignment.
    unsafe { std::ptr::from_mut(&mut word).cast::<T>().write(value) };
    word
}

fn to<S: Element, T: Element + PartialEq + std::fmt::Debug>(value: S) -> Result<T, String> {
    match Converted::new(HostView::scalar(&value), T::DTYPE, &|| "x".into()) {
        Ok(converted) => Ok(converted.view().as_slice::<T>().unwrap()[0]),
        Err(Error::Value { argument, got, .. }) if argument == "x" => Err(got),
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn every_half_becomes_every_dtype_as_the_reference_says() {
    for bits in 0..=u16::MAX {
        check_all(DType::F16, word(bits));
        check_all(DType::BF16, word(bits));
    }
}

#[test]
fn every_small_integer_and_boolean_becomes_every_dtype() {
    for bits in 0..=u16::MAX {
        check_all(DType::I16, word(bits));
        check_all(DType::U16, word(bits));
    }
    for bits in 0..=u8::MAX {
        check_all(DType::I8, word(bits));
        check_all(DType::U8, word(bits));
    }
    check_all(DType::Bool, word(false));
    check_all(DType::Bool, word(true));
}

#[test]
fn around_every_tie_of_the_halves_one_rounding_decides() {
    for to in [DType::F16, DType::BF16] {
        let values = halves(to);
        for pair in values.windows(2) {
            let tie = (pair[0] + pair[1]) / 2.0;
            for bits in [tie.to_bits() - 1, tie.to_bits(), tie.to_bits() + 1] {
                check(DType::F64, word(bits), to);
                check(DType::F64, word(bits | 1 << 63), to);
            }
        }
    }
}

#[test]
fn the_edges() {
    // Integers to floats round; only beyond the largest float they are refused.
    assert_eq!(to::<_, f64>(i64::MAX), Ok(9223372036854775808.0));
    assert_eq!(to::<_, f64>((1i64 << 53) + 1), Ok(9007199254740992.0));
    assert_eq!(to::<_, f32>((1i32 << 24) + 1), Ok(16777216.0));
    assert_eq!(to::<_, f32>(u64::MAX), Ok(18446744073709551616.0));
    assert_eq!(to::<_, f16>(65504u16), Ok(f16::MAX));
    assert_eq!(to::<_, f16>(65519i32), Ok(f16::MAX));
    assert_eq!(to::<_, f16>(65520i32), Err("65520".into()));
    assert_eq!(to::<_, f16>(i64::MIN), Err("-9223372036854775808".into()));
    // Through f64 this would come down to a tie, and then to even.
    assert_eq!(to::<_, bf16>((1u64 << 63) + (1 << 55) + 1), Ok(bf16::from_bits(0x5F01)));
    assert_eq!(to::<_, bf16>((1u64 << 63) + (1 << 55)), Ok(bf16::from_bits(0x5F00)));
    assert_eq!(to::<_, bf16>(u64::MAX), Ok(bf16::from_f32(18446744073709551616.0)));

    // Floats to floats round once, and never to infinity.
    assert_eq!(to::<_, f16>(65504.0), Ok(f16::MAX));
    assert_eq!(to::<_, f16>(65519.99999999999), Ok(f16::MAX));
    assert_eq!(to::<_, f16>(65520.0), Err("65520.0".into()));
    assert_eq!(to::<_, f16>(-65520f32), Err("-65520.0".into()));
    assert_eq!(to::<_, f32>(3.4028235e38), Ok(f32::MAX));
    assert_eq!(to::<_, f32>(3.4028235677973362e38), Ok(f32::MAX));
    assert_eq!(to::<_, f32>(3.4028236e38), Err("3.4028236e38".into()));
    assert_eq!(to::<_, bf16>(f32::MAX), Err("3.4028235e38".into()));
    assert_eq!(to::<_, f32>(f64::INFINITY), Ok(f32::INFINITY));
    assert_eq!(to::<_, f16>(f64::NEG_INFINITY), Ok(f16::NEG_INFINITY));
    assert_eq!(to::<_, f64>(bf16::INFINITY), Ok(f64::INFINITY));
    assert!(to::<_, f16>(f64::NAN).unwrap().is_nan() && to::<_, f32>(bf16::NAN).unwrap().is_nan());
    // Just above a tie of f16, by a bit that f32 does not have.
    assert_eq!(to::<_, f16>(1.0 + 2f64.powi(-11) + 2f64.powi(-50)), Ok(f16::from_bits(0x3C01)));
    assert_eq!(to::<_, f16>(1.0 + 2f64.powi(-11)), Ok(f16::from_bits(0x3C00)));
    assert_eq!(to::<_, bf16>(1.0 + 2f64.powi(-8) + 2f64.powi(-50)), Ok(bf16::from_bits(0x3F81)));

    // Subnormals, and what is too small for one; the sign stays.
    assert_eq!(to::<_, f16>(2f64.powi(-24)), Ok(f16::from_bits(1)));
    assert_eq!(to::<_, f16>(2f64.powi(-25)), Ok(f16::from_bits(0)));
    assert_eq!(to::<_, f16>(2f64.powi(-25) * 1.0000000001), Ok(f16::from_bits(1)));
    assert_eq!(to::<_, f16>(2f64.powi(-14) - 2f64.powi(-26)), Ok(f16::from_bits(0x0400)));
    assert_eq!(to::<_, bf16>(2f64.powi(-133)), Ok(bf16::from_bits(1)));
    assert_eq!(to::<_, f32>(1e-45), Ok(f32::from_bits(1)));
    assert_eq!(to::<_, f64>(f32::from_bits(1)), Ok(2f64.powi(-149)));
    for tiny in [-0.0, -1e-300, -f64::from_bits(1)] {
        assert_eq!(to::<_, f32>(tiny).unwrap().to_bits(), 1 << 31);
        assert_eq!(to::<_, f16>(tiny).unwrap().to_bits(), 1 << 15);
        assert_eq!(to::<_, bf16>(tiny).unwrap().to_bits(), 1 << 15);
    }

    // Anything to an integer is the same number.
    assert_eq!(to::<_, i32>(-0.0), Ok(0));
    assert_eq!(to::<_, u8>(-0.0), Ok(0));
    assert_eq!(to::<_, u8>(255.0), Ok(255));
    assert_eq!(to::<_, u8>(-1.0), Err("-1.0".into()));
    assert_eq!(to::<_, i32>(2.5), Err("2.5".into()));
    assert_eq!(to::<_, i32>(2147483648.0), Err("2147483648.0".into()));
    assert_eq!(to::<_, i32>(-2147483648.0), Ok(i32::MIN));
    assert_eq!(to::<_, i64>(9223372036854775808.0), Err("9.223372036854776e18".into()));
    assert_eq!(to::<_, i64>(-9223372036854775808.0), Ok(i64::MIN));
    assert_eq!(to::<_, i64>(9223372036854774784.0), Ok(i64::MAX - 1023));
    assert_eq!(to::<_, u64>(18446744073709551616.0), Err("1.8446744073709552e19".into()));
    assert_eq!(to::<_, u64>(18446744073709549568.0), Ok(u64::MAX - 2047));
    assert_eq!(to::<_, i64>(u64::MAX), Err("18446744073709551615".into()));
    assert_eq!(to::<_, u64>(-1i8), Err("-1".into()));
    assert_eq!(to::<_, i8>(f64::NAN), Err("NaN".into()));
    assert_eq!(to::<_, u64>(f64::INFINITY), Err("inf".into()));
    assert_eq!(to::<_, i64>(f64::from_bits(1)), Err("5e-324".into()));

    // Booleans.
    assert_eq!((to::<_, f16>(true), to::<_, i64>(true)), (Ok(f16::ONE), Ok(1)));
    assert_eq!(to::<_, Complex<f32>>(true), Ok(Complex::new(1.0, 0.0)));
    assert_eq!(
        (to::<_, bool>(1.0), to::<_, bool>(-0.0), to::<_, bool>(0u8)),
        (Ok(true), Ok(false), Ok(false))
    );
    assert_eq!(to::<_, bool>(2), Err("2".into()));
    assert_eq!(to::<_, bool>(0.5), Err("0.5".into()));
    assert_eq!(to::<_, bool>(f32::NAN), Err("NaN".into()));

    // Complex numbers.
    assert_eq!(to::<_, Complex<f64>>(-0.5), Ok(Complex::new(-0.5, 0.0)));
    assert_eq!(to::<_, Complex<f32>>(Complex::new(0.1, -1e-300)), Ok(Complex::new(0.1f32, -0.0)));
    assert_eq!(
        to::<_, Complex<f32>>(Complex::new(0.0, 1e39)),
        Err("0+1000000000000000000000000000000000000000i".into())
    );
    assert_eq!(to::<_, f64>(Complex::new(1.0, 0.0)), Err("1+0i".into()));
    assert_eq!(to::<_, bool>(Complex::new(1f32, 0.0)), Err("1+0i".into()));
}

#[test]
fn a_refusal_says_what_the_dtype_holds_and_what_stands_where() {
    let refusal = |view: HostView<'_>, dtype| {
        Converted::new(view, dtype, &|| "b$w[[2]]".into()).unwrap_err().to_string()
    };
    let data = [1.0, 2.0, 3.0, 2.5, f64::NAN, 1e300];
    let row = HostView::new(&data, &[6]).unwrap();
    let matrix = HostView::new(&data, &[2, 3]).unwrap();
    assert_eq!(
        refusal(row, DType::I8),
        "argument `b$w[[2]]`: expected an integer from -128 to 127 (i8), got 2.5 at index 3"
    );
    assert_eq!(
        refusal(matrix, DType::U64),
        "argument `b$w[[2]]`: expected an integer from 0 to 18446744073709551615 (ui64), got 2.5 at index [1, 0]"
    );
    assert_eq!(
        refusal(matrix, DType::F32),
        "argument `b$w[[2]]`: expected a magnitude of at most 3.4028235e38 (f32), got 1e300 at index [1, 2]"
    );
    assert_eq!(
        refusal(matrix, DType::C64),
        "argument `b$w[[2]]`: expected parts of a magnitude of at most 3.4028235e38 (c64), got 1e300 at index [1, 2]"
    );
    assert_eq!(
        refusal(HostView::scalar(&70000), DType::F16),
        "argument `b$w[[2]]`: expected a magnitude of at most 65504 (f16), got 70000"
    );
    assert_eq!(
        refusal(HostView::scalar(&2u8), DType::Bool),
        "argument `b$w[[2]]`: expected 0 or 1 (bool), got 2"
    );
    assert_eq!(
        refusal(HostView::new(&[Complex::new(1f32, -2.0)], &[1]).unwrap(), DType::F32),
        "argument `b$w[[2]]`: expected a real number (f32): take the real part first, got 1-2i at index 0"
    );
    assert_eq!(
        refusal(HostView::new::<Complex<f64>>(&[], &[0]).unwrap(), DType::F32),
        "argument `b$w[[2]]`: expected a real number (f32): take the real part first, got an empty array of c128"
    );
}

#[test]
fn the_same_dtype_is_borrowed_and_the_path_is_not_asked_for() {
    let never = || -> String { panic!("the path is for errors") };
    let data = [f64::NAN, 1e300];
    let view = HostView::new(&data, &[2, 1]).unwrap();
    let same = Converted::new(view, DType::F64, &never).unwrap();
    assert_eq!((same.view().as_ptr(), same.view().shape()), (view.as_ptr(), &[2, 1][..]));

    let moved = std::convert::identity(Converted::new(HostView::scalar(&7u8), DType::I64, &never).unwrap());
    assert_eq!(moved.view().as_slice::<i64>(), Some(&[7][..]));
}

#[test]
fn empty_arrays_convert_to_empty_arrays() {
    for &dtype in DType::ALL {
        let empty =
            Converted::new(HostView::new::<f32>(&[], &[0, 3]).unwrap(), dtype, &|| "x".into()).unwrap();
        assert_eq!(
            (empty.view().dtype(), empty.view().shape(), empty.view().bytes().unwrap().len()),
            (dtype, &[0, 3][..], 0)
        );
        assert!(!empty.view().as_ptr().is_null());
    }
}

#[test]
fn several_converted_arrays_live_side_by_side() {
    let data: Vec<f64> = (0..1000).map(f64::from).collect();
    let shape = [1000];
    let view = HostView::new(&data, &shape).unwrap();
    let wide = DType::ALL.iter().filter(|d| d.size() > 1);
    let all: Vec<Converted<'_>> = wide.map(|&d| Converted::new(view, d, &|| "x".into()).unwrap()).collect();
    assert_eq!(all[0].view().as_slice::<i16>().unwrap()[999], 999);
    for converted in &all {
        let back = Converted::new(converted.view(), DType::C128, &|| "x".into()).unwrap();
        assert!(back.view().as_slice::<Complex<f64>>().unwrap().iter().zip(&data).all(|(z, x)| {
            // bf16 has 8 bits, a last place of 4 below 1024.
            (z.re - x).abs() <= if converted.view().dtype() == DType::BF16 { 2.0 } else { 0.0 }
        }));
    }
}

/// Floats where the rules change: near powers of two, ends of ranges, whole numbers and ties of narrower types.
fn floats() -> impl Strategy<Value = f64> {
    let near = |x: f64, ulps: i64| f64::from_bits((x.to_bits() as i64 + ulps).max(0) as u64);
    let magnitude = prop_oneof![
        any::<u64>().prop_map(|bits| f64::from_bits(bits >> 1)),
        (-1074..1024i32, -3..4i64).prop_map(move |(e, ulps)| near(2f64.powi(e), ulps)),
        (any::<u64>(), 0..64u32).prop_map(|(i, shift)| (i >> shift) as f64),
        (any::<u32>(), 0..64u32).prop_map(|(i, shift)| f64::from(i) / (1u64 << shift) as f64),
        // A float of 24, 11 or 8 bits plus half a last place and perhaps a little more.
        (-160..129i32, prop_oneof![Just(24), Just(11), Just(8)], any::<u32>(), -2..3i64).prop_map(
            move |(e, digits, bits, ulps)| {
                let whole = f64::from(bits >> (32 - digits) | 1 << (digits - 1));
                near((whole + 0.5) * 2f64.powi(e - digits), ulps)
            }
        ),
        Just(65520.0),
        Just(f64::from(f32::MAX)),
        Just(3.4028235677973366e38),
        Just(f64::INFINITY),
        Just(f64::NAN),
    ];
    (magnitude, any::<bool>()).prop_map(|(x, negative)| if negative { -x } else { x })
}

/// An element of any dtype, as the bits of its bytes.
fn elements() -> impl Strategy<Value = (DType, u128)> {
    let magnitude = prop_oneof![
        (any::<u64>(), 0..64u32).prop_map(|(i, shift)| i >> shift),
        // An integer of 24, 11 or 8 digits, half a last place, and perhaps a little more or less.
        (prop_oneof![Just(24), Just(11), Just(8)], any::<u64>(), 0..56u32, -2..3i64).prop_map(
            |(digits, bits, shift, more)| {
                let whole = bits >> (64 - digits) | 1 << (digits - 1);
                (((2 * whole + 1) << (63 - digits)) >> shift).wrapping_add_signed(more)
            }
        ),
    ];
    let integer =
        (magnitude, any::<bool>()).prop_map(|(i, negative)| if negative { i.wrapping_neg() } else { i });
    (0..DType::ALL.len(), integer, floats(), floats()).prop_map(|(dtype, i, x, y)| {
        let dtype = DType::ALL[dtype];
        let element = match dtype {
            DType::Bool => word(i & 1 == 1),
            DType::F16 | DType::BF16 => word((x.to_bits() >> 48) as u16 ^ i as u16),
            DType::F32 => word(x as f32),
            DType::F64 => word(x),
            DType::C64 => word(Complex::new(x as f32, y as f32)),
            DType::C128 => word(Complex::new(x, y)),
            DType::I8 | DType::U8 => word(i as u8),
            DType::I16 | DType::U16 => word(i as u16),
            DType::I32 | DType::U32 => word(i as u32),
            DType::I64 | DType::U64 => word(i),
        };
        (dtype, element)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]

    #[test]
    fn every_pair_of_dtypes_agrees_with_the_reference((from, element) in elements()) {
        check_all(from, element);
    }

    #[test]
    fn narrowing_a_double_agrees_with_the_reference(x in floats()) {
        check_all(DType::F64, word(x));
    }

    #[test]
    fn what_an_integer_type_takes_comes_back_as_the_same_number((from, element) in elements(), target in 0..9usize) {
        let to = DType::ALL[target];
        // SAFETY: one element of `from`, aligned as a word is.
        let view = unsafe { HostView::from_raw(from, &[], std::ptr::from_ref(&element).cast()) };
        if let Ok(converted) = Converted::new(view, to, &|| "x".into()) {
            let back = Converted::new(converted.view(), from, &|| "x".into()).unwrap();
            let mut bytes = [0; 16];
            bytes[..from.size()].copy_from_slice(back.view().bytes().unwrap());
            let (came, left) = (exact(from, u128::from_ne_bytes(bytes)), exact(from, element));
            // The one thing that integers do not have is the sign of zero.
            prop_assert!(came.same(left) || matches!(left, Exact::Real(x) if x == 0.0), "{came:?} {left:?}");
        }
    }
}
