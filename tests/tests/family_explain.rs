//! Why did this compile again?

use dispatch_runtime::Difference;
use dispatch_runtime::engine::fake::FakeEngine;
use dispatch_runtime::prelude::*;
use dispatch_tests::{array, array_on, first, zeros};

#[dispatch_family]
fn product(
    #[dynamic(dtype = [f32, f64], shape = [m, k])] a: Aval,
    #[dynamic(dtype = dtype(a), shape = [k, n])] b: Aval,
    #[dynamic(dtype = any, shape = [.., _])] c: Aval,
    #[static_arg] transpose: bool,
    #[static_arg] name: String,
) -> Result<Program> {
    let _ = (transpose, name, n);
    zeros(&[a, b, c], &[Aval::new(DType::F32, [m, k])])
}

fn text(explained: Result<Explanation>) -> String {
    explained.unwrap().to_string()
}

#[test]
fn explain_names_the_parts_that_are_new_and_their_values() {
    let (client, _) = FakeEngine::client(2);
    let family = Product::new(&client);
    let f = |shape: &[i64]| array(client, DType::F32, shape);
    let d = |shape: &[i64]| array(client, DType::F64, shape);
    let (a, b, c) = (f(&[2, 3]), f(&[3, 4]), d(&[5, 6]));
    let explain = |a: &Array, b: &Array, c: &Array| text(family.explain(a, b, c, false, "x".into()));

    assert_eq!(explain(&a, &b, &c), "miss: nothing is compiled yet");
    family.call(&a, &b, &c, false, "x".into()).unwrap();
    assert_eq!(explain(&a, &b, &c), "hit");
    assert_eq!(explain(&f(&[7, 3]), &b, &c), "miss: size 1 of `a` (m) is 7, the nearest entry has 2");
    assert_eq!(
        explain(&f(&[2, 7]), &f(&[7, 8]), &c),
        "miss: size 2 of `a` (k) is 7, the nearest entry has 3; size 2 of `b` (n) is 8, the nearest entry has 4"
    );
    assert_eq!(explain(&d(&[2, 3]), &d(&[3, 4]), &c), "miss: dtype of `a` is f64, the nearest entry has f32");
    assert_eq!(
        explain(&a, &b, &f(&[1, 5, 9])),
        concat!(
            "miss: dtype of `c` is f32, the nearest entry has f64; ",
            "leading shape of `c` is [1,5], the nearest entry has [5]; ",
            "last size of `c` is 9, the nearest entry has 6"
        )
    );
    assert_eq!(
        text(family.explain(&a, &b, &c, true, "y".into())),
        r#"miss: `transpose` is true, the nearest entry has false; `name` is "y", the nearest entry has "x""#
    );
    let second = client.devices().nth(1).unwrap();
    let on = |x: &Array| array_on(second, x.dtype(), x.shape());
    assert_eq!(explain(&on(&a), &on(&b), &on(&c)), "miss: device is fake:1, the nearest entry has fake:0");
}

#[test]
fn the_nearest_entry_is_the_one_with_the_fewest_differences_and_then_the_last_used() {
    let client = Client::host();
    let family = Product::new(&client);
    let f = |shape: &[i64]| array(client, DType::F32, shape);
    let call = |m: i64, name: &str| {
        family.call(f(&[m, 3]), f(&[3, 4]), [1.0], false, name.into()).unwrap();
    };
    call(1, "one");
    call(2, "two");
    let explain =
        |m: i64, name: &str| text(family.explain(f(&[m, 3]), f(&[3, 4]), [1.0], false, name.into()));
    assert_eq!(explain(1, "new"), r#"miss: `name` is "new", the nearest entry has "one""#);
    assert_eq!(explain(2, "new"), r#"miss: `name` is "new", the nearest entry has "two""#);
    assert!(explain(3, "new").contains(r#"has "two""#));
    call(1, "one");
    assert!(explain(3, "new").contains(r#"has "one""#));
}

#[test]
fn explain_is_no_use_of_an_entry() {
    #[dispatch_family(capacity = 2)]
    fn small(#[dynamic(dtype = f32, shape = [_])] a: Aval) -> Result<Program> {
        first(&[a])
    }
    let client = Client::host();
    let family = Small::new(&client);
    let x = |n: i64| array(client, DType::F32, &[n]);
    family.call(x(1)).unwrap();
    family.call(x(2)).unwrap();
    let before = family.stats();
    for _ in 0..5 {
        assert_eq!(family.explain(x(1)).unwrap(), Explanation::Hit);
        assert_ne!(family.explain(x(3)).unwrap(), Explanation::Hit);
    }
    assert_eq!(family.stats(), before);
    family.call(x(3)).unwrap();
    assert_ne!(family.explain(x(1)).unwrap(), Explanation::Hit, "the one used longest ago went");
    assert_eq!(family.explain(x(2)).unwrap(), Explanation::Hit);
}

#[test]
fn explain_refuses_what_the_call_would_refuse() {
    let client = Client::host();
    let family = Product::new(&client);
    let f = |shape: &[i64]| array(client, DType::F32, shape);
    let call = |b: [f64; 3]| family.call(f(&[1, 3]), (&b, [3, 1]), [1.0], false, String::new());
    let explain = |b: [f64; 3]| family.explain(f(&[1, 3]), (&b, [3, 1]), [1.0], false, String::new());
    assert_eq!(explain([1.0; 3]).unwrap(), Explanation::Empty);
    assert_eq!(explain([1e300; 3]).unwrap_err().to_string(), call([1e300; 3]).unwrap_err().to_string());
    assert_eq!(
        family.explain(f(&[1, 2]), f(&[3, 1]), [1.0], false, String::new()).unwrap_err().to_string(),
        "argument `b`: expected shape [k=2,n] (k from `a`), got [3,1]"
    );
}

#[test]
fn differences_can_be_read_by_a_program() {
    let client = Client::host();
    let family = Product::new(&client);
    let f = |shape: &[i64]| array(client, DType::F32, shape);
    family.call(f(&[1, 1]), f(&[1, 1]), [1.0], false, "x".into()).unwrap();
    let Explanation::Miss { differences } =
        family.explain(f(&[1, 1]), f(&[1, 1]), [1.0], true, "x".into()).unwrap()
    else {
        panic!("another static value is a miss")
    };
    let expected =
        Difference { part: "`transpose`".into(), now: Some("true".into()), cached: Some("false".into()) };
    assert_eq!(differences, [expected]);
}

#[test]
fn statics_are_described_as_they_are_written() {
    #[derive(Clone, StaticArg)]
    enum Mode {
        Off,
        Level(u8),
        Named { r#type: String, at: (f64, Option<bool>) },
    }
    #[dispatch_family]
    fn described(#[static_arg] mode: Mode) -> Result<Program> {
        let _ = mode;
        zeros(&[], &[Aval::new(DType::F32, [])])
    }
    let family = Described::new(&Client::host());
    family.call(Mode::Off).unwrap();
    let text = |mode: Mode| family.explain(mode).unwrap().to_string();
    assert_eq!(text(Mode::Level(3)), "miss: `mode` is Level(3), the nearest entry has Off");
    assert_eq!(
        text(Mode::Named { r#type: "t".into(), at: (-0.0, Some(true)) }),
        r#"miss: `mode` is Named { type: "t", at: (-0.0, Some(true)) }, the nearest entry has Off"#
    );
}
