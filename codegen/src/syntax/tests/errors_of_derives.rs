//! Errors of the derives.

use super::{Table, check, derive_input};
use crate::syntax::{input_tree, output_tree, static_arg};

pub(super) const TABLES: [Table; 4] = [INPUT_TREES, INPUT_FIELDS, OUTPUT_TREES, STATICS];

const INPUT_TREES: Table = Table {
    read: |source| input_tree(&derive_input(source)).map(drop),
    template: "{}",
    cases: &[
        (
            "enum E<T> { A(T) }",
            &[("E", "`InputTree` is for structs, found an enum", "a struct with named fields")],
        ),
        ("union U<T> { a: T }", &[("U", "`InputTree` is for structs, found a union", "")]),
        ("struct P<T>(T);", &[("(T)", "`InputTree` needs named fields", "`struct Fit<T> { coef: T }`")]),
        (
            "struct P;",
            &[
                ("P", "`InputTree` needs named fields", ""),
                ("P", "`InputTree` needs exactly one type parameter, `P` has none", "write `struct P<T>`"),
            ],
        ),
        (
            "struct P { a: f32 }",
            &[(
                "P",
                "`InputTree` needs exactly one type parameter, `P` has none",
                "`T` stands for the arrays",
            )],
        ),
        (
            "struct P<T, U> { a: T, b: U }",
            &[("U", "`InputTree` needs exactly one type parameter, `P` has 2", "write `struct P<T>`")],
        ),
        (
            "struct P<'a, T: Clone, const N: usize> where T: Copy { a: T }",
            &[
                ("'a", "`InputTree` takes no lifetime and no const parameter", "owns its leaves"),
                ("Clone", "the type parameter of `InputTree` takes no bounds", "leave it free"),
                ("const N: usize", "`InputTree` takes no lifetime and no const parameter", ""),
                ("where T: Copy", "the type parameter of `InputTree` takes no bounds", ""),
            ],
        ),
        // The compiler reports the unused parameter.
        ("struct P<T> {}", &[]),
    ],
};

const INPUT_FIELDS: Table = Table {
    read: |source| input_tree(&derive_input(source)).map(drop),
    template: "struct P<T> { #[dynamic(dtype = f32, shape = [m])] weight: T, {} }",
    cases: &[
        (
            "#[dynamic(dtype = f32, shape = [m], write_back)] a: T",
            &[(
                "write_back",
                "`a` is a field, and a result is written back into an argument",
                "leave `write_back` out",
            )],
        ),
        (
            "a: T, b: Other<T>, c: f32",
            &[
                (
                    "a",
                    "field `a` needs `#[dynamic(...)]`",
                    "`#[dynamic(dtype = f32, shape = [m])]` before it",
                ),
                ("b", "field `b` needs `#[dynamic(...)]`", "write `#[dynamic]` before it"),
                (
                    "f32",
                    "`f32` cannot be the type of a field of an input tree",
                    "a field is `T`, `Vec<T>`, `[T; N]`, or `Other<T>`",
                ),
            ],
        ),
        (
            "#[dynamic(dtype = f32, shape = [m])] a: Option<T>",
            &[("Option<T>", "`Option<T>` cannot be the type of a field of an input tree", "")],
        ),
        (
            "#[dynamic(dtype = f32, shape = [m])] __leaf: T",
            &[("__leaf", "`__leaf` is a name of the toolkit's own", "or with one `_`")],
        ),
        (
            "#[static_arg] n: T",
            &[("#[static_arg]", "field `n` of an input tree cannot be static", "of its own")],
        ),
        (
            "#[dynamic(dtype = f32, shape = [m])] #[dynamic(donate)] a: T",
            &[("#[dynamic(donate)]", "`#[dynamic]` is given twice", "")],
        ),
        (
            "#[dynamic(dtype = f32, shape = [weight])] a: T",
            &[("weight", "`weight` names a size and a field", "rename one")],
        ),
        (
            "#[dynamic(like(wieght))] a: T",
            &[("wieght", "no field is named `wieght`", "did you mean `weight`?")],
        ),
        (
            "#[dynamic(donate)] a: Other<T>",
            &[("donate", "`donate` cannot be said of the tree `a`", "at the fields of the struct")],
        ),
        ("#[dynamic] a: T", &[("#[dynamic]", "`a` needs a dtype and a shape", "")]),
    ],
};

const OUTPUT_TREES: Table = Table {
    read: |source| output_tree(&derive_input(source)).map(drop),
    template: "{}",
    cases: &[
        ("enum E<T> { A(T) }", &[("E", "`OutputTree` is for structs, found an enum", "")]),
        ("struct Fit<T>(T, T);", &[("(T, T)", "`OutputTree` needs named fields", "")]),
        (
            "struct Fit<T> { a: f64, b: Option<T>, c: Vec<T>, d: (T, T), e: T }",
            &[
                (
                    "f64",
                    "`f64` cannot be the type of a field of an output tree",
                    "a field is `T`, `[T; N]`, or `Other<T>`",
                ),
                ("Option<T>", "`Option<T>` cannot be the type of a field of an output tree", ""),
                ("Vec<T>", "`Vec<T>` leaves the number of outputs open", "write `[T; N]`"),
                ("(T, T)", "`(T, T)` cannot be the type of a field of an output tree", ""),
            ],
        ),
        (
            "struct Fit<T: Copy> { a: T }",
            &[(
                "Copy",
                "the type parameter of `OutputTree` takes no bounds",
                "arrays, abstract values and graph values",
            )],
        ),
        (
            "struct Fit { a: Array }",
            &[(
                "Fit",
                "`OutputTree` needs exactly one type parameter, `Fit` has none",
                "write `struct Fit<T>`",
            )],
        ),
    ],
};

const STATICS: Table = Table {
    read: |source| static_arg(&derive_input(source)).map(drop),
    template: "{}",
    cases: &[
        (
            "union U { a: i32 }",
            &[("union", "`StaticArg` is for structs and enums, `U` is a union", "use an enum")],
        ),
        ("struct S<'a> { a: &'a str }", &[("'a", "`StaticArg` takes no lifetime parameter", "own the data")]),
        (
            "enum Never {}",
            &[("Never", "`Never` has no variant, so no value could be passed", "add a variant")],
        ),
    ],
};

#[test]
fn input_trees() {
    check(&INPUT_TREES);
}

#[test]
fn fields_of_input_trees() {
    check(&INPUT_FIELDS);
}

#[test]
fn output_trees() {
    check(&OUTPUT_TREES);
}

#[test]
fn static_types() {
    check(&STATICS);
}
