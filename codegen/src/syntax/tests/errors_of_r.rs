//! Errors of families that are functions of R: names, types of static arguments, and defaults.

use super::{Table, check, family};
use crate::syntax::Param;

pub(super) const TABLES: [Table; 4] = [FUNCTIONS, ARGUMENTS, TYPES, DEFAULTS];

const FUNCTIONS: Table = Table {
    read: |source| family(source).map(drop),
    template: "#[dispatch_family{}() -> Result<Program> {}",
    cases: &[
        (
            "(r_export)] fn r#if",
            &[(
                "r#if",
                "`if` cannot be the name of a function in R: the word is reserved",
                "`r_name = \"fit\"`",
            )],
        ),
        (
            "(r_export)] fn _f",
            &[("_f", "`_f` cannot be the name of a function in R: it does not begin with a letter", "")],
        ),
        (
            "(r_export)] fn größe",
            &[(
                "größe",
                "`größe` cannot be the name of a function in R: it has other characters than letters, digits, `.` and `_`",
                "",
            )],
        ),
        (
            "(r_export)] fn attach_families",
            &[(
                "attach_families",
                "`attach_families` cannot be the name of a function in R: the generated code needs the name for itself",
                "`r_name",
            )],
        ),
        (
            "(r_export)] fn rs_family",
            &[(
                "rs_family",
                "`rs_family` cannot be the name of a function in R: the generated code needs the name for itself",
                "`r_name",
            )],
        ),
        (
            "(r_export, r_name = \".onLoad\")] fn f",
            &[(
                "\".onLoad\"",
                "`.onLoad` is not a name in R: the generated code needs the name for itself",
                "",
            )],
        ),
        ("(r_export, r_name = \"if.not\")] fn r#if", &[]),
        ("] fn r#if", &[]),
    ],
};

const ARGUMENTS: Table = Table {
    read: |source| family(source).map(drop),
    template: "#[dispatch_family(r_export)] fn f({}) -> Result<Program> {}",
    cases: &[
        (
            "#[dynamic(dtype = f32, shape = [])] next: Aval, #[static_arg] TRUE: bool",
            &[
                ("next", "`next` cannot be the name of an argument in R: the word is reserved", "rename it"),
                ("TRUE", "`TRUE` cannot be the name of an argument in R: the word is reserved", ""),
            ],
        ),
        (
            "#[static_arg] _n: i64",
            &[("_n", "`_n` cannot be the name of an argument in R: it does not begin with a letter", "")],
        ),
        (
            "#[static_arg] r#type: i64, #[static_arg] T: bool, #[static_arg] F: bool, #[static_arg] PACKAGE: i64",
            &[],
        ),
    ],
};

const TYPES: Table = Table {
    read: |source| family(source).map(drop),
    template: "#[dispatch_family(r_export)] fn f(#[static_arg] a: {}) -> Result<Program> {}",
    cases: &[
        ("(i64, i64)", &[("(i64, i64)", "R has no tuples: `(i64, i64)`", "an argument of its own")]),
        ("()", &[("()", "R has no tuples: `()`", "")]),
        ("&'static str", &[("&'static str", "R cannot lend a value for ever: `&'static str`", "`String`")]),
        (
            "std::collections::BTreeMap<String, i64>",
            &[(
                "std::collections::BTreeMap<String, i64>",
                "R has no values of type `std::collections::BTreeMap<String, i64>`",
                "two vectors",
            )],
        ),
        ("u128", &[("u128", "R has no integers of type `u128`", "2^53")]),
        ("Option<char>", &[("char", "R has no values of type `char`", "`String`")]),
        ("fn(i64) -> i64", &[("fn(i64) -> i64", "R has no values of type `fn(i64) -> i64`", "`bool`")]),
        ("Box<i64>", &[("Box<i64>", "R has no values of the generic type `Box<i64>`", "")]),
        ("Grid<2>", &[("Grid<2>", "R has no values of the generic type `Grid<2>`", "an enum")]),
        ("Vec<Vec<i64>>", &[("Vec<Vec<i64>>", "R's vectors do not nest: `Vec<Vec<i64>>`", "")]),
        ("[Option<i64>; 2]", &[("[Option<i64>; 2]", "R's vectors do not nest: `[Option<i64>; 2]`", "")]),
        (
            "Option<Option<i64>>",
            &[("Option<Option<i64>>", "R's optional values do not nest: `Option<Option<i64>>`", "")],
        ),
        ("<A as B>::C", &[("<A as B>::C", "R has no values of type `<A as B>::C`", "")]),
        // One mistake, one message.
        ("&str", &[("&str", "a static argument must be owned: `&str`", "")]),
        ("Option<Vec<f32>>", &[]),
        ("[links::Link; LINKS]", &[]),
    ],
};

const DEFAULTS: Table = Table {
    read: |source| family(source).map(drop),
    template: "#[dispatch_family(r_export)] fn f(#[static_arg(default = {}) -> Result<Program> {}",
    cases: &[
        (
            "steps())] a: i64",
            &[("steps()", "R cannot write the default `steps()`", "write a number as `25`")],
        ),
        (
            "STEPS)] a: i64",
            &[("STEPS", "R cannot write the default `STEPS`", "states the default as a value")],
        ),
        ("1 + 1)] a: i64", &[("1 + 1", "R cannot write the default `1+1`", "")]),
        ("{ 3 })] a: i64", &[("{ 3 }", "R cannot write the default `{3}`", "")]),
        ("1.5)] a: i64", &[("1.5", "the default `1.5` is not of the argument's type", "`25`")]),
        ("1u8)] a: i64", &[("1u8", "the default `1u8` is not of the argument's type", "")]),
        ("300)] a: u8", &[("300", "the default `300` is out of the range of `u8`", "0 to 255")]),
        ("-1)] a: usize", &[("-1", "the default `-1` is out of the range of `usize`", "")]),
        (
            "9007199254740992)] a: i64",
            &[("9007199254740992", "R cannot pass the default `9007199254740992` exactly", "2^53")],
        ),
        ("u64::MAX)] a: u64", &[("u64::MAX", "R cannot pass the default `u64::MAX` exactly", "")]),
        ("1)] a: f64", &[("1", "the default `1` is not of the argument's type", "`0.5`")]),
        ("f32::MAX)] a: f64", &[("f32::MAX", "R cannot write the default `f32::MAX`", "`f64::INFINITY`")]),
        (
            "1e39)] a: f32",
            &[("1e39", "the default `1e39` is out of the range of `f32`", "3.4028234663852886e38")],
        ),
        ("\"a\")] a: bool", &[("\"a\"", "the default `\"a\"` is not of the argument's type", "`true`")]),
        (
            "\"a\")] a: String",
            &[("\"a\"", "the default `\"a\"` is not of the argument's type", "`\"text\".into()`")],
        ),
        (
            "format!(\"a\"))] a: String",
            &[("format!(\"a\")", "R cannot write the default `format!(\"a\")`", "")],
        ),
        ("\"a\\0\".into())] a: String", &[("\"a\\0\"", "R's strings cannot have the character NUL", "")]),
        (
            "Link::new())] a: Link",
            &[("Link::new()", "R cannot write the default `Link::new()`", "`Link::First`")],
        ),
        ("vec![1, 2.5])] a: Vec<i64>", &[("2.5", "the default `2.5` is not of the argument's type", "")]),
        (
            "vec![0; 100000])] a: Vec<i64>",
            &[("vec![0; 100000]", "R cannot write the default `vec![0; 100000]`", "`Vec::new()`")],
        ),
        (
            "[1, 2])] a: [i64; 3]",
            &[("[1, 2]", "the default has 2 elements, the argument 3", "write 3 of them")],
        ),
        ("Some(None))] a: Option<i64>", &[("None", "R cannot write the default `None`", "")]),
        (
            "5)] a: Option<i64>",
            &[("5", "the default `5` is not of the argument's type", "`Some(...)` of a number")],
        ),
    ],
};

#[test]
fn functions_in_r() {
    check(&FUNCTIONS);
}

#[test]
fn arguments_in_r() {
    check(&ARGUMENTS);
}

#[test]
fn static_types_in_r() {
    check(&TYPES);
}

#[test]
fn defaults_in_r() {
    check(&DEFAULTS);
}

/// What R could not pass or write is no mistake of a family that stays in Rust.
#[test]
fn a_family_that_is_not_exported_is_free() {
    let source =
        "#[dispatch_family] fn f(#[static_arg(default = limit())] next: (i64, u128)) -> Result<Program> {}";
    let Param::Static(fixed) = &family(source).unwrap().params[0] else { panic!("not static") };
    assert!(fixed.r.is_none());
}

pub(super) const TOO_MANY: &str = "a function of R passes at most 65 arguments to Rust, the family has 67";

#[test]
fn a_function_of_r_passes_at_most_65_arguments() {
    let params = |n: usize| (0..n).map(|i| format!("#[static_arg] a{i}: bool,")).collect::<String>();
    let of = |n| family(&format!("#[dispatch_family(r_export)] fn f({}) -> Result<Program> {{}}", params(n)));
    assert_eq!(of(65).unwrap().params.len(), 65);
    let errors = of(67).unwrap_err();
    let [error] = errors.iter().collect::<Vec<_>>()[..] else { panic!("{errors:?}") };
    assert!(error.to_string().starts_with(TOO_MANY), "{error}");
    assert_eq!(error.span().source_text().unwrap(), "a65");
}

#[test]
fn defaults_become_values_of_r() {
    let cases = [
        ("bool", "true", "TRUE"),
        ("i64", "25", "25L"),
        ("i64", "(25)", "25L"),
        ("i64", "-2_147_483_648", "-2147483648"),
        ("usize", "3_000_000_000usize", "3e+09"),
        ("u8", "b'a'", "97L"),
        ("i32", "i32::MAX", "2147483647L"),
        ("i64", "0x10", "16L"),
        ("f64", "0.1", "0.1"),
        ("f64", "1.0", "1"),
        ("f64", "1f64", "1"),
        ("f64", "-0.5e-3", "-5e-04"),
        ("f64", "-0.0", "-0"),
        ("f64", "1e300", "1e+300"),
        ("f32", "0.1", "0.1"),
        ("f64", "f64::INFINITY", "Inf"),
        ("f64", "-f64::INFINITY", "-Inf"),
        ("f64", "std::f64::NAN", "NaN"),
        ("f64", "f64::EPSILON", "2.220446049250313e-16"),
        ("f64", "std::f64::consts::PI", "3.141592653589793"),
        ("String", "String::new()", "\"\""),
        ("String", "\"a\".into()", "\"a\""),
        (
            "String",
            "String::from(\"tab\\t\\\"é\\\" \\u{1F600}\\u{7}\")",
            "\"tab\\t\\\"\\u00e9\\\" \\U0001f600\\u0007\"",
        ),
        ("Link", "Link::LogLog", "\"log_log\""),
        ("links::Link", "crate::links::Link::Logit", "\"logit\""),
        ("Option<f64>", "None", "NULL"),
        ("Option<f64>", "Some(2.0)", "2"),
        ("Vec<i64>", "vec![]", "integer(0)"),
        ("Vec<f64>", "Vec::new()", "numeric(0)"),
        ("Vec<bool>", "Vec::from([true])", "TRUE"),
        ("Vec<i64>", "vec![1, -2]", "c(1L, -2L)"),
        ("Vec<f64>", "vec![0.5; 3]", "c(0.5, 0.5, 0.5)"),
        ("[f64; 2]", "[1.0, 2.5]", "c(1, 2.5)"),
        ("Vec<String>", "vec![\"a\".into(), \"b\".to_string()]", "c(\"a\", \"b\")"),
        ("Vec<Link>", "vec![Link::A, Link::B]", "c(\"a\", \"b\")"),
    ];
    for (ty, default, want) in cases {
        let source = format!(
            "#[dispatch_family(r_export)] fn f(#[static_arg(default = {default})] a: {ty}) -> Result<Program> {{}}"
        );
        let family = family(&source).unwrap_or_else(|errors| panic!("{default}: {errors:?}"));
        let Param::Static(fixed) = &family.params[0] else { panic!("not static") };
        let got = fixed.r.as_ref().unwrap().default.as_ref().unwrap().to_string();
        assert_eq!(got, want, "{default}");
    }
}
