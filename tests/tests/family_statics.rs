//! Static arguments: what is one key, and what is two.

#![allow(clippy::boxed_local)] // a box is one of the types tried

use dispatch_runtime::prelude::*;
use dispatch_tests::zeros;

/// A family with one static argument of this type, and how many programs it has after these values.
macro_rules! compiles {
    ($ty:ty: $($value:expr),* $(,)?) => {{
        #[dispatch_family]
        #[allow(clippy::boxed_local)]
        fn of_static(#[static_arg] value: $ty) -> Result<Program> {
            let _: $ty = value;
            zeros(&[], &[Aval::new(DType::F32, [])])
        }
        let family = OfStatic::new(&Client::host());
        $(family.call($value).unwrap();)*
        let stats = family.stats();
        assert_eq!(stats.compiles, stats.entries);
        stats.compiles
    }};
}

#[test]
fn zero_and_minus_zero_are_two_keys_and_a_repeat_hits() {
    assert_eq!(compiles!(f64: 0.0, -0.0, 0.0, -0.0), 2);
    assert_eq!(compiles!(f32: 0.0, -0.0, 0.0, -0.0), 2);
}

#[test]
fn nan_hits_itself_whatever_its_bits() {
    let odd = f64::from_bits(f64::NAN.to_bits() ^ 0x8000_0000_0000_0001);
    assert!(odd.is_nan());
    assert_eq!(compiles!(f64: f64::NAN, f64::NAN, -f64::NAN, odd), 1);
    assert_eq!(compiles!(f32: f32::NAN, -f32::NAN, f32::from_bits(f32::NAN.to_bits() ^ 1)), 1);
    assert_eq!(compiles!(f64: f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::NAN), 3);
}

#[test]
fn one_of_different_types_never_meets() {
    #[derive(Clone, StaticArg)]
    enum Constant {
        Int(i64),
        Bool(bool),
        Float(f64),
        Text(String),
        Wide(u64),
        Nothing,
    }
    use Constant::*;
    let bits = 1f64.to_bits();
    let all =
        || [Int(1), Bool(true), Float(1.0), Text("1".into()), Wide(1), Wide(bits), Int(bits as i64), Nothing];
    #[dispatch_family]
    fn mixed(#[static_arg] value: Constant) -> Result<Program> {
        let _ = value;
        zeros(&[], &[Aval::new(DType::F32, [])])
    }
    let family = Mixed::new(&Client::host());
    all().into_iter().chain(all()).for_each(|value| drop(family.call(value).unwrap()));
    assert_eq!((family.stats().compiles, family.stats().hits), (8, 8));
}

#[test]
fn equal_statics_made_afresh_hit() {
    assert_eq!(compiles!(Vec<f64>: vec![1.0, f64::NAN], Vec::from([1.0, -f64::NAN])), 1);
    assert_eq!(compiles!(String: String::from("relu"), ["re", "lu"].concat(), format!("{}lu", "re")), 1);
    assert_eq!(compiles!(&'static str: "relu", Box::leak(String::from("relu").into_boxed_str())), 1);
    assert_eq!(compiles!(Vec<Option<String>>: vec![None, Some("a".into())], vec![None, Some("a".into())]), 1);
}

#[test]
fn statics_do_not_run_into_each_other() {
    #[dispatch_family]
    fn neighbours(
        #[static_arg] a: Vec<i64>,
        #[static_arg] b: Vec<i64>,
        #[static_arg] c: String,
    ) -> Result<Program> {
        let _ = (a, b, c);
        zeros(&[], &[Aval::new(DType::F32, [])])
    }
    let family = Neighbours::new(&Client::host());
    let mut expected = 0;
    for (a, b, c) in [
        (vec![], vec![], ""),
        (vec![0], vec![], ""),
        (vec![], vec![0], ""),
        (vec![1], vec![2, 3], ""),
        (vec![1, 2], vec![3], ""),
        (vec![1, 2, 3], vec![], ""),
        (vec![], vec![], "\0"),
        (vec![], vec![], "\0\0"),
        (vec![], vec![0], "\0"),
        (vec![1], vec![1], "12345678"),
        (vec![1], vec![1], "12345678\0"),
    ] {
        expected += 1;
        for _ in 0..2 {
            family.call(a.clone(), b.clone(), c.to_owned()).unwrap();
            assert_eq!(family.stats().compiles, expected, "{a:?} {b:?} {c:?}");
        }
    }
}

#[test]
fn every_kind_of_static_is_told_apart() {
    assert_eq!(compiles!(bool: true, false, true), 2);
    assert_eq!(compiles!(char: 'a', 'b', 'a'), 2);
    assert_eq!(compiles!(i8: -1, 1, -1), 2);
    assert_eq!(compiles!(u128: 1, 1 << 64, (1 << 64) | 1), 3);
    assert_eq!(compiles!(i64: i64::MIN, i64::MAX, -1), 3);
    assert_eq!(compiles!((i32, bool): (1, true), (1, false), (0, true)), 3);
    assert_eq!(compiles!([u8; 2]: [1, 2], [2, 1], [1, 2]), 2);
    assert_eq!(compiles!(Option<i64>: None, Some(0), Some(1), None), 3);
    assert_eq!(compiles!(Option<Option<()>>: None, Some(None), Some(Some(()))), 3);
    assert_eq!(compiles!(Box<i64>: Box::new(1), Box::new(2), Box::new(1)), 2);
    assert_eq!(compiles!(DType: DType::F32, DType::U8, DType::F32), 2);
    assert_eq!(compiles!((): (), ()), 1);
}

// --- derived

#[test]
fn structs_and_enums_of_all_forms_are_statics() {
    #[derive(Clone, StaticArg)]
    struct Unit;

    #[derive(Clone, StaticArg)]
    struct Tuple(i64, Unit, f64);

    #[derive(Clone, StaticArg)]
    struct Named {
        tuple: Tuple,
        r#type: Option<String>,
    }

    #[derive(Clone, StaticArg)]
    enum Mode {
        Off,
        Level(u8),
        Full { named: Named, flags: [bool; 2] },
    }

    let named = |x: f64| Named { tuple: Tuple(1, Unit, x), r#type: Some("t".into()) };
    let full = |x: f64, flag: bool| Mode::Full { named: named(x), flags: [flag, true] };
    assert_eq!(
        compiles!(Mode: Mode::Off, Mode::Level(0), Mode::Level(1), full(0.0, true), full(-0.0, true), full(0.0, false),
            Mode::Off, Mode::Level(1), full(0.0, true)),
        6
    );
}

#[test]
fn statics_may_be_generic() {
    #[derive(Clone, StaticArg)]
    struct Pair<A, const N: usize> {
        a: A,
        b: [A; N],
    }
    assert_eq!(
        compiles!(Pair<f32, 2>: Pair { a: 0.0, b: [1.0; 2] }, Pair { a: 0.0, b: [1.0; 2] },
        Pair { a: 0.0, b: [1.0, 2.0] }),
        2
    );
}

#[test]
fn a_static_type_of_ones_own_decides_what_is_one_key() {
    use dispatch_runtime::key::Sink;

    /// Equal whatever the case.
    #[derive(Clone)]
    struct Caseless(&'static str);

    impl StaticKey for Caseless {
        fn encode(&self, sink: &mut Sink<'_>) {
            self.0.to_lowercase().encode(sink);
        }

        fn describe(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str(&self.0.to_lowercase())
        }
    }
    assert_eq!(compiles!(Caseless: Caseless("Relu"), Caseless("RELU"), Caseless("tanh")), 2);
}

#[test]
fn defaults_are_for_others_and_call_takes_every_argument() {
    #[dispatch_family]
    fn defaulted(
        #[static_arg(default = 3)] k: i64,
        #[dynamic(dtype = f32, shape = [])] a: Aval,
        #[static_arg(default = "x".to_owned())] name: String,
    ) -> Result<Program> {
        zeros(&[a], &[Aval::new(DType::F32, [k, name.len() as i64])])
    }
    let family = Defaulted::new(&Client::host());
    assert_eq!(family.call(2, 1.0, "abc".to_owned()).unwrap().shape(), [2, 3]);
}

#[test]
fn the_body_gets_the_value_itself() {
    #[derive(Clone, Debug, PartialEq, StaticArg)]
    enum Shape {
        Of(Vec<i64>),
    }
    #[dispatch_family]
    fn shaped(#[static_arg] shape: Shape) -> Result<Program> {
        let Shape::Of(sizes) = shape;
        zeros(&[], &[Aval::new(DType::I8, sizes)])
    }
    assert_eq!(Shaped::new(&Client::host()).call(Shape::Of(vec![4, 5])).unwrap().shape(), [4, 5]);
}
