//! Errors of `#[dynamic(...)]`: its options, dtypes, shapes, captured names and references.

use super::{
    Table, check, errors_of_calls, errors_of_derives, errors_of_functions, errors_of_handlers,
    errors_of_options, errors_of_r, family,
};
use crate::syntax::{handler::messages::ROWS as ROWS_OF_HANDLERS, messages::ROWS};

pub(super) const TABLES: [Table; 5] = [OPTIONS, DTYPES, SHAPES, NAMES, REFERENCES];

const OPTIONS: Table = Table {
    read: |source| family(source).map(drop),
    template: "#[dispatch_family] fn f({} a: Aval) -> Result<Program> {}",
    cases: &[
        ("#[dynamic]", &[("#[dynamic]", "`a` needs a dtype and a shape", "dtype = any, shape = [..]")]),
        ("#[dynamic()]", &[("#[dynamic()]", "`a` needs a dtype and a shape", "dtype = any")]),
        ("#[dynamic(shape = [m])]", &[("#[dynamic(shape = [m])]", "`a` needs a dtype", "`dtype = any`")]),
        ("#[dynamic(dtype = f32)]", &[("#[dynamic(dtype = f32)]", "`a` needs a shape", "`shape = [..]`")]),
        (
            "#[dynamic = f32]",
            &[("dynamic = f32", "`#[dynamic]` takes its options in parentheses", "#[dynamic(")],
        ),
        (
            "#[dynamic[f32]]",
            &[("dynamic[f32]", "`#[dynamic]` takes its options in parentheses", "#[dynamic(")],
        ),
        (
            "#[dynamic(dtpye = f32, shape = [m])]",
            &[("dtpye", "`#[dynamic(...)]` has no option `dtpye`", "did you mean `dtype`?")],
        ),
        (
            "#[dynamic(layout = f32)]",
            &[(
                "layout",
                "`#[dynamic(...)]` has no option `layout`",
                "`dtype`, `shape`, `like`, `donate` and",
            )],
        ),
        (
            "#[dynamic(dtype = f32, shape = [m], dtype = f64)]",
            &[("dtype", "option `dtype` is given twice", "keep one")],
        ),
        (
            "#[dynamic(dtype = f32, 3, shape = [m])]",
            &[("3", "expected an option of `#[dynamic(...)]`, found `3`", "the options are `dtype`")],
        ),
        (
            "#[dynamic(dtype = f32 shape = [m])]",
            &[("shape", "expected `,`, found `shape`", "separate options with commas")],
        ),
        ("#[dynamic(dtype, shape = [m])]", &[("dtype", "option `dtype` needs a value", "`dtype = f32`")]),
        ("#[dynamic(dtype = , shape = [m])]", &[("dtype", "option `dtype` needs a value", "`dtype = f32`")]),
        ("#[dynamic(dtype = f32, shape =)]", &[("shape", "option `shape` needs a value", "`shape = [m]`")]),
        (
            "#[dynamic(dtype = f32, shape = [m], donate = true)]",
            &[("donate", "option `donate` takes no value", "write `donate` alone")],
        ),
        (
            "#[dynamic(write_back = x, dtype = f33)]",
            &[
                ("x", "`write_back` must be the index of a result, found `x`", "write `write_back = 1`"),
                ("f33", "unknown dtype `f33`", "did you mean `f32`?"),
            ],
        ),
        (
            "#[dynamic(dtype = f32, shape = [m], write_back = )]",
            &[("write_back", "option `write_back` needs a value", "write `write_back = 0`")],
        ),
        (
            "#[dynamic(dtype = f32, shape = [m], write_back(1))]",
            &[("write_back", "option `write_back` takes no value", "write `write_back` alone")],
        ),
    ],
};

const DTYPES: Table = Table {
    read: |source| family(source).map(drop),
    template: "#[dispatch_family] fn f(#[dynamic(dtype = {}, shape = [m])] a: Aval) -> Result<Program> {}",
    cases: &[
        ("f33", &[("f33", "unknown dtype `f33`", "did you mean `f32`?")]),
        ("F32", &[("F32", "unknown dtype `F32`", "did you mean `f32`?")]),
        ("ui8", &[("ui8", "unknown dtype `ui8`", "here it is `u8`")]),
        ("double", &[("double", "unknown dtype `double`", "here it is `f64`")]),
        ("flot", &[("flot", "unknown dtype `flot`", "did you mean `float`?")]),
        ("banana", &[("banana", "unknown dtype `banana`", "the dtypes are `bool`, `i8`")]),
        ("\"f32\"", &[("\"f32\"", "expected a dtype, found `\"f32\"`", "a choice `[f32, f64]`")]),
        ("like(a)", &[("like", "`like(...)` is not a dtype", "`dtype = dtype(other)`")]),
        ("f32 | f64", &[("|", "expected `,`, found `|`", "a choice is a list")]),
        ("[]", &[("[]", "an empty choice allows no dtype", "`[f32, f64]`")]),
        (
            "[float, i32]",
            &[(
                "float",
                "`float` is a class of dtypes and cannot stand in a choice",
                "`[f16, bf16, f32, f64]`",
            )],
        ),
        (
            "[f32, dtype(b)]",
            &[("dtype", "`dtype(b)` cannot stand in a choice", "write it alone: `dtype = dtype(b)`")],
        ),
        ("[f32, f64, f32]", &[("f32", "dtype `f32` is listed twice", "keep one")]),
        ("[f32, 8]", &[("8", "expected a dtype, found `8`", "")]),
        (
            "[f33, F64, i32 i64]",
            &[
                ("f33", "unknown dtype `f33`", "did you mean `f32`?"),
                ("F64", "unknown dtype `F64`", "did you mean `f64`?"),
                ("i64", "expected `,`, found `i64`", ""),
            ],
        ),
        ("dtype()", &[("dtype", "`dtype(...)` takes the name of one argument", "write `dtype(a)`")]),
        ("dtype(b, c)", &[("dtype", "`dtype(...)` takes the name of one argument", "")]),
        ("dtype(b.c)", &[("dtype", "`dtype(...)` takes the name of one argument", "")]),
    ],
};

const SHAPES: Table = Table {
    read: |source| family(source).map(drop),
    template: "#[dispatch_family] fn f(#[dynamic(dtype = f32, shape = {})] a: Aval) -> Result<Program> {}",
    cases: &[
        ("m", &[("m", "expected a shape, found `m`", "write the sizes in brackets")]),
        ("(m, k)", &[("(m, k)", "expected a shape, found `(m, k)`", "`[m, 128, _]`")]),
        ("any", &[("any", "expected a shape, found `any`", "any shape `[..]`")]),
        ("like(a)", &[("like", "`like(...)` is not a shape", "`shape = shape(other)`")]),
        ("[m * 2]", &[("*", "expected `,`, found `*`", "a size is not computed")]),
        ("[m k]", &[("k", "expected `,`, found `k`", "")]),
        ("[-1]", &[("-1", "a size cannot be negative: `-1`", "`_` for any size")]),
        (
            "[9223372036854775808]",
            &[(
                "9223372036854775808",
                "size `9223372036854775808` is too large",
                "up to 9223372036854775807",
            )],
        ),
        ("[2.0]", &[("2.0", "a size must be an integer, found `2.0`", "a whole number")]),
        ("[8usize]", &[("8usize", "a size takes no suffix: `8usize`", "write `8`")]),
        ("[\"m\"]", &[("\"m\"", "expected a size, found `\"m\"`", "a lower-case name")]),
        ("[true]", &[("true", "expected a size, found `true`", "")]),
        ("[[m]]", &[("[m]", "expected a size, found `[m]`", "")]),
        ("[m, ..]", &[("..", "`..` must come first in its shape", "`[batch.., m, k]`")]),
        ("[m, b..]", &[("b..", "`b..` must come first in its shape", "`[batch.., m, k]`")]),
        ("[.., m, ..]", &[("..", "a second part of free rank: `..`", "at most one")]),
        ("[a2.., b.., m]", &[("b..", "a second part of free rank: `b..`", "at most one")]),
        ("[...]", &[("...", "expected `..`, found `...`", "two dots")]),
        ("[b..=, m]", &[("..=", "expected `..`, found `..=`", "two dots")]),
        ("[2..]", &[("..", "expected `,`, found `..`", "")]),
        (
            "[-1, M, 2.0, m]",
            &[
                ("-1", "a size cannot be negative: `-1`", ""),
                ("M", "`M` cannot name a size", "write `m`"),
                ("2.0", "a size must be an integer, found `2.0`", ""),
            ],
        ),
    ],
};

const NAMES: Table = Table {
    read: |source| family(source).map(drop),
    template: "#[dispatch_family] fn f(cx: &CompileCx, {}) -> Result<Program> {}",
    cases: &[
        (
            "#[dynamic(dtype = f32, shape = [Rows])] a: Aval",
            &[("Rows", "`Rows` cannot name a size", "names are in lower case: write `rows` to capture")],
        ),
        (
            "#[dynamic(dtype = f32, shape = [_m])] a: Aval",
            &[("_m", "`_m` cannot name a size", "write `m` to capture the size, or `_` for any size")],
        ),
        (
            "#[dynamic(dtype = f32, shape = [größe])] a: Aval",
            &[("größe", "`größe` cannot name a size", "of letters, digits and `_`")],
        ),
        (
            "#[dynamic(dtype = f32, shape = [r#type])] a: Aval",
            &[("r#type", "`r#type` cannot name a size", "beginning with a letter")],
        ),
        (
            "#[dynamic(dtype = f32, shape = [for, in.., type])] a: Aval",
            &[
                ("for", "`for` is a keyword of Rust and cannot name a size", "choose another"),
                ("in..", "`in..` must come first in its shape", ""),
                ("type", "`type` is a keyword of Rust and cannot name a size", ""),
            ],
        ),
        (
            "#[dynamic(dtype = f32, shape = [a, a])] a: Aval",
            &[("a", "`a` names a size and an argument", "rename one")],
        ),
        (
            "#[dynamic(dtype = f32, shape = [n, cx])] a: Aval, #[static_arg] n: i64",
            &[
                ("n", "`n` names a size and an argument", "variables of the body"),
                ("cx", "`cx` names a size and an argument", ""),
            ],
        ),
        (
            "#[dynamic(dtype = f32, shape = [b.., m])] a: Aval, #[dynamic(dtype = f32, shape = [b])] c: Aval",
            &[("b", "`b` stands for leading sizes before, and for one size here", "use two names")],
        ),
        (
            "#[dynamic(dtype = f32, shape = [b])] a: Aval, #[dynamic(dtype = f32, shape = [b..])] c: Aval",
            &[("b", "`b` stands for one size before, and for leading sizes here", "use two names")],
        ),
        (
            "#[dynamic(dtype = f32, shape = [], write_back)] a: Vec<Aval>",
            &[(
                "write_back",
                "`a` is a list of arrays, and a result is written back into one array",
                "leave",
            )],
        ),
        (
            "#[dynamic(dtype = f32, shape = [], write_back)] a: Aval,
             #[dynamic(dtype = f32, shape = [], write_back = 0)] b: Aval",
            &[("write_back", "result 0 is written back into `a` already", "as in `write_back = 1`")],
        ),
        (
            "#[dynamic(dtype = f32, shape = [], write_back = 1)] a: Aval,
             #[dynamic(dtype = f32, shape = [], write_back)] b: Aval",
            &[],
        ),
    ],
};

const REFERENCES: Table = Table {
    read: |source| family(source).map(drop),
    template: "#[dispatch_family] fn f(
        cx: &CompileCx, #[static_arg] flag: bool, #[dynamic(dtype = any, shape = [..])] many: Vec<Aval>,
        #[dynamic] tree: P<Aval>, #[dynamic(dtype = f32, shape = [m])] weight: Aval, {}
    ) -> Result<Program> {}",
    cases: &[
        (
            "#[dynamic(dtype = dtype(wieght), shape = [m])] a: Aval",
            &[("wieght", "no argument is named `wieght`", "did you mean `weight`?")],
        ),
        (
            "#[dynamic(dtype = f32, shape = shape(nothing))] a: Aval",
            &[("nothing", "no argument is named `nothing`", "are `many`, `tree` and `weight`")],
        ),
        (
            "#[dynamic(like(nothing))] a: Aval",
            &[("nothing", "no argument is named `nothing`", "the other dynamic arguments are")],
        ),
        (
            "#[dynamic(dtype = dtype(flag), shape = shape(flag))] a: Aval",
            &[
                ("flag", "`dtype(flag)`: `flag` is a static argument, which has no dtype and no shape", "dynamic"),
                ("flag", "`shape(flag)`: `flag` is a static argument, which has no dtype and no shape", "dynamic"),
            ],
        ),
        (
            "#[dynamic(like(cx))] a: Aval",
            &[("cx", "`like(cx)`: `cx` is the compile context, not an argument", "name a dynamic argument")],
        ),
        (
            "#[dynamic(dtype = dtype(a), shape = [m])] a: Aval",
            &[("a", "`dtype(a)` refers to itself", "say the dtype here")],
        ),
        (
            "#[dynamic(dtype = f32, shape = shape(a))] a: Aval",
            &[("a", "`shape(a)` refers to itself", "say the shape here")],
        ),
        (
            "#[dynamic(dtype = dtype(tree), shape = [m])] a: Aval",
            &[("tree", "`dtype(tree)`: `tree` is a tree of several arrays", "a single array")],
        ),
        (
            "#[dynamic(dtype = dtype(many), shape = shape(many))] a: Aval",
            &[("many", "`shape(many)`: the arrays of `many` may have different shapes", "capture the sizes")],
        ),
        (
            "#[dynamic(like(many))] a: Aval",
            &[("many", "`like(many)`: the arrays of `many` may have different shapes", "capture the sizes")],
        ),
        (
            "#[dynamic(dtype = dtype(b), shape = [m])] a: Aval, #[dynamic(dtype = dtype(c), shape = [m])] b: Aval,
             #[dynamic(dtype = dtype(a), shape = [m])] c: Aval, #[dynamic(dtype = dtype(c), shape = [m])] d: Aval",
            &[("b", "this dtype leads back to itself: `a` -> `b` -> `c` -> `a`", "say the dtype at one")],
        ),
        (
            "#[dynamic(dtype = f32, shape = shape(b))] a: Aval, #[dynamic(dtype = f32, shape = shape(a))] b: Aval",
            &[("b", "this shape leads back to itself: `a` -> `b` -> `a`", "say the shape at one")],
        ),
        (
            "#[dynamic(like(b))] a: Aval, #[dynamic(like(a))] b: Aval",
            &[("b", "this dtype leads back to itself: `a` -> `b` -> `a`", "")],
        ),
        (
            "#[dynamic(dtype = f32, like(weight), shape = [m])] a: Aval",
            &[
                ("dtype", "`like(...)` already says the dtype", "keep one"),
                ("shape", "`like(...)` already says the shape", "keep one"),
            ],
        ),
        (
            "#[dynamic(like = weight)] a: Aval",
            &[("like", "`like` takes the name of an argument in parentheses", "write `like(a)`")],
        ),
        ("#[dynamic(like())] a: Aval", &[("like", "`like(...)` takes the name of one argument", "")]),
        // A reference to an argument that is wrong itself is no second mistake.
        (
            "#[dynamic(dtype = f33, shape = [-1])] a: Aval, #[dynamic(like(a))] b: Aval, extra: Aval,
             #[dynamic(dtype = dtype(extra), shape = [m])] c: Aval",
            &[
                ("f33", "unknown dtype `f33`", ""),
                ("-1", "a size cannot be negative: `-1`", ""),
                ("extra", "argument `extra` is neither dynamic nor static", "#[dynamic(dtype = f32"),
            ],
        ),
    ],
};

#[test]
fn options_of_dynamic() {
    check(&OPTIONS);
}

#[test]
fn dtypes() {
    check(&DTYPES);
}

#[test]
fn shapes() {
    check(&SHAPES);
}

#[test]
fn captured_names() {
    check(&NAMES);
}

#[test]
fn references() {
    check(&REFERENCES);
}

/// The one message that no declaration may cause is tested beside the collector.
#[test]
fn every_message_is_tested() {
    let tables = [
        TABLES.as_slice(),
        errors_of_functions::TABLES.as_slice(),
        errors_of_handlers::TABLES.as_slice(),
        errors_of_calls::TABLES.as_slice(),
        errors_of_options::TABLES.as_slice(),
        errors_of_derives::TABLES.as_slice(),
        errors_of_r::TABLES.as_slice(),
    ];
    let tested: Vec<&str> = tables
        .iter()
        .flat_map(|tables| tables.iter())
        .flat_map(|table| table.cases.iter())
        .flat_map(|(_, errors)| errors.iter())
        .map(|(_, text, _)| *text)
        .chain([errors_of_r::TOO_MANY])
        .collect();
    let untested: Vec<&str> = ROWS
        .iter()
        .chain(ROWS_OF_HANDLERS)
        .filter(|(name, row)| *name != "no_reason" && !tested.iter().any(|text| is_of_row(text, row)))
        .map(|(name, _)| *name)
        .collect();
    assert!(untested.is_empty(), "no case for {untested:?}");
}

/// Whether a text has the fixed parts of a row, in order, from its beginning to its end.
pub(crate) fn is_of_row(text: &str, row: &str) -> bool {
    let mut rest = text;
    for (index, part) in row.split('{').enumerate() {
        let part = if index == 0 { part } else { part.split_once('}').map_or(part, |(_, fixed)| fixed) };
        match (index, rest.find(part)) {
            (0, Some(0)) | (1.., Some(_)) => rest = &rest[rest.find(part).unwrap_or(0) + part.len()..],
            _ => return false,
        }
    }
    row.ends_with('}') || rest.is_empty()
}
