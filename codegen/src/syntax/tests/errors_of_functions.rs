//! Errors of a function: its arguments, their types, the compile context, the result, the item itself.

use super::{Table, check, family};

pub(super) const TABLES: [Table; 4] = [ARGUMENTS, TYPES, RESULTS, ITEMS];

const ARGUMENTS: Table = Table {
    read: |source| family(source).map(drop),
    template: "#[dispatch_family] fn f({}) -> Result<Program> {}",
    cases: &[
        (
            "a: Aval, b: P<Aval>, c: bool",
            &[
                (
                    "a",
                    "argument `a` is neither dynamic nor static",
                    "`#[dynamic(dtype = f32, shape = [m])]` before it",
                ),
                ("b", "argument `b` is neither dynamic nor static", "`#[dynamic]` before it"),
                ("c", "argument `c` is neither dynamic nor static", "`#[static_arg]` before it"),
            ],
        ),
        (
            "#[dynamic(dtype = f32, shape = [m])] #[static_arg] a: Aval",
            &[("#[static_arg]", "argument `a` is dynamic and static", "keep one")],
        ),
        (
            "#[static_arg] #[static_arg(default = 1)] n: i64",
            &[("#[static_arg(default = 1)]", "`#[static_arg]` is given twice", "into one attribute")],
        ),
        (
            "#[dynamc] a: Aval",
            &[("#[dynamc]", "`#[dynamc]` is not an attribute of arguments", "did you mean `#[dynamic]`?")],
        ),
        (
            "#[serde] a: Aval",
            &[(
                "#[serde]",
                "`#[serde]` is not an attribute of arguments",
                "an argument is `#[dynamic(...)]` or",
            )],
        ),
        (
            "#[cfg(feature = \"x\")] #[static_arg] n: i64",
            &[(
                "#[cfg(feature = \"x\")]",
                "`#[cfg]` on an argument would change the signature",
                "two functions",
            )],
        ),
        (
            "#[dynamic(dtype = f32, shape = [m])] (a, b): (Aval, Aval), #[static_arg] _: bool",
            &[
                ("(a, b)", "an argument must be a plain name", "take it apart in the body"),
                ("_", "an argument must be a plain name", ""),
            ],
        ),
        (
            "#[static_arg] __n: i64",
            &[("__n", "`__n` is a name of the toolkit's own", "begin it with a letter")],
        ),
        ("#[static_arg] ref n: i64", &[("ref n", "an argument must be a plain name", "")]),
        (
            "#[dynamic(dtype = f32, donate)] p: P<Aval>",
            &[("dtype", "`dtype` cannot be said of the tree `p`", "write `#[dynamic]` alone here")],
        ),
        (
            "#[static_arg(defalt = 1)] n: i64",
            &[("defalt", "`#[static_arg(...)]` has no option `defalt`", "did you mean `default`?")],
        ),
        (
            "#[static_arg(default)] n: i64",
            &[("default", "option `default` needs a value", "`default = false`")],
        ),
        (
            "#[static_arg = 1] n: i64",
            &[(
                "static_arg = 1",
                "`#[static_arg]` takes its options in parentheses",
                "#[static_arg(default = false)]",
            )],
        ),
        ("#[static_arg(default = )] n: i64", &[("default", "option `default` needs a value", "")]),
        // Two arguments of one name are left to the compiler, which reports them on the emitted function.
        ("#[static_arg] n: i64, #[static_arg] n: i64", &[]),
    ],
};

const TYPES: Table = Table {
    read: |source| family(source).map(drop),
    template: "#[dispatch_family] fn f({}) -> Result<Program> {}",
    cases: &[
        (
            "#[dynamic(dtype = f32, shape = [m])] a: f32",
            &[(
                "f32",
                "`f32` cannot be the type of a dynamic argument",
                "`P<Aval>` for a struct with `#[derive(InputTree)]`",
            )],
        ),
        (
            "#[dynamic(dtype = f32, shape = [m])] a: Vec<Vec<Aval>>",
            &[("Vec<Vec<Aval>>", "`Vec<Vec<Aval>>` cannot be the type of a dynamic argument", "")],
        ),
        (
            "#[dynamic(dtype = f32, shape = [m])] a: Aval, #[dynamic(like(a))] b: Value, #[dynamic] c: P<Value>",
            &[(
                "Value",
                "`b` is a graph value, and only the compile context makes a program of those",
                "`cx: &CompileCx` as the first argument",
            )],
        ),
        (
            "#[dynamic] a: P<Value>, #[static_arg] n: i64",
            &[(
                "P<Value>",
                "`a` is a graph value, and only the compile context makes a program of those",
                "end the body with `cx.program(...)`",
            )],
        ),
        (
            "#[dynamic(dtype = f32, shape = [m])] a: Vec<Vec<Value>>, #[static_arg] b: Value",
            &[(
                "Vec<Vec<Value>>",
                "`Vec<Vec<Value>>` cannot be the type of a dynamic argument",
                "or the same of `Value`",
            )],
        ),
        (
            "#[dynamic(dtype = f32, shape = [m])] a: &Array, #[dynamic] b: Vec<Array>",
            &[
                (
                    "&Array",
                    "the body sees abstract values or graph values, not arrays",
                    "write `Aval` or `Value`",
                ),
                (
                    "Vec<Array>",
                    "the body sees abstract values or graph values, not arrays",
                    "write `Vec<Aval>` or `Vec<Value>`",
                ),
            ],
        ),
        (
            "#[dynamic(dtype = f32, shape = [m])] a: &Aval, #[dynamic] p: &P<Value>",
            &[
                ("&Aval", "abstract values and graph values are passed by value", "write `Aval`"),
                ("&P<Value>", "abstract values and graph values are passed by value", "write `P<Value>`"),
            ],
        ),
        (
            "#[dynamic(dtype = f32, shape = [m])] a: Option<Aval>, #[dynamic] b: Box<Value>",
            &[
                (
                    "Option<Aval>",
                    "`Option` cannot hold dynamic arrays",
                    "use `Aval`, `Vec<Aval>`, `[Aval; N]`",
                ),
                ("Box<Value>", "`Box` cannot hold dynamic arrays", "use `Value`, `Vec<Value>`, `[Value; N]`"),
            ],
        ),
        (
            "#[static_arg] a: Aval, #[static_arg] b: Vec<Array>",
            &[
                (
                    "Aval",
                    "`Aval` cannot be static: its values are known only when the program runs",
                    "#[dynamic(...)]",
                ),
                (
                    "Vec<Array>",
                    "`Vec<Array>` cannot be static: its values are known only when the program runs",
                    "",
                ),
            ],
        ),
        (
            "#[static_arg] a: &str, #[static_arg] b: Vec<&'a str>, #[static_arg] c: Cow<'_, str>",
            &[
                ("&str", "a static argument must be owned: `&str`", "`String`"),
                ("Vec<&'a str>", "a static argument must be owned: `Vec<&'a str>`", ""),
                ("Cow<'_, str>", "a static argument must be owned: `Cow<'_, str>`", ""),
            ],
        ),
        (
            "#[static_arg] a: impl Fn(), #[static_arg] b: Vec<_>",
            &[
                (
                    "impl Fn()",
                    "the type of a static argument must be written out, found `impl Fn()`",
                    "StaticArg",
                ),
                ("Vec<_>", "the type of a static argument must be written out, found `Vec<_>`", ""),
            ],
        ),
        (
            "#[static_arg] n: i64, cx: &CompileCx",
            &[("cx", "the compile context must be the first argument", "`cx: &CompileCx`")],
        ),
        ("cx: &CompileCx, other: &CompileCx", &[("other", "a second compile context", "take it once")]),
        (
            "cx: CompileCx",
            &[("CompileCx", "the compile context is passed by shared reference, found `CompileCx`", "")],
        ),
        (
            "cx: &mut CompileCx",
            &[(
                "&mut CompileCx",
                "the compile context is passed by shared reference, found `&mut CompileCx`",
                "write `&CompileCx`",
            )],
        ),
        (
            "#[static_arg] cx: &CompileCx",
            &[(
                "#[static_arg]",
                "the compile context is no argument of the family and takes no attribute",
                "remove the attribute",
            )],
        ),
    ],
};

const RESULTS: Table = Table {
    read: |source| family(source).map(drop),
    template: "#[dispatch_family] fn f(#[dynamic(dtype = f32, shape = [m])] a: Aval) {} {}",
    cases: &[
        ("", &[("f", "`f` returns nothing, expected `Result<Program>`", "-> Result<Program>")]),
        ("-> Program", &[("Program", "expected `Result<Program>` as return type, found `Program`", "")]),
        (
            "-> Option<Program>",
            &[("Option<Program>", "expected `Result<Program>` as return type, found `Option<Program>`", "")],
        ),
        ("-> Result", &[("Result", "expected `Result<Program>` as return type, found `Result`", "")]),
        (
            "-> Result<Array>",
            &[("Array", "expected `Program` in the result, found `Array`", "Program<(Array, Array)>")],
        ),
        (
            "-> Result<Program<Array, Array>>",
            &[(
                "Program<Array, Array>",
                "expected `Program` in the result, found `Program<Array, Array>`",
                "",
            )],
        ),
        (
            "-> Result<Program<(Array, &Array)>>",
            &[("&Array", "`&Array` cannot be the structure of the outputs", "a tuple or an array of them")],
        ),
        (
            "-> Result<Program<Fit<Value>>>",
            &[(
                "Fit<Value>",
                "`Fit<Value>` cannot be the structure of the outputs",
                "`Fit<Array>` for a struct",
            )],
        ),
        (
            "-> Result<Program<Vec<Array>>>",
            &[("Vec<Array>", "`Vec<Array>` cannot be the structure of the outputs", "")],
        ),
    ],
};

const ITEMS: Table = Table {
    read: |source| family(source).map(drop),
    template: "#[dispatch_family] {}",
    cases: &[
        ("struct S;", &[("struct S;", "`#[dispatch_family]` goes on a function", "before `fn`")]),
        ("fn f(a) {}", &[(")", "this function cannot be read: expected `:`", "Rust 1.85")]),
        (
            "fn f(a: Aval) -> Result<Program>;",
            &[
                (";", "`f` has no body", "{ Program::stablehlo(...) }"),
                ("a", "argument `a` is neither dynamic nor static", ""),
            ],
        ),
        (
            "const async unsafe extern \"C\" fn f<'a, T>() -> Result<Program> where T: Copy {}",
            &[
                ("const", "a program family cannot be `const`", "remove `const`"),
                ("async", "a program family cannot be `async`", ""),
                ("unsafe", "a program family cannot be `unsafe`", ""),
                ("extern \"C\"", "a program family cannot be `extern`", ""),
                ("<'a, T>", "a program family cannot be generic", "remove the parameters"),
                ("where T: Copy", "a program family cannot have a `where` clause", "remove it"),
            ],
        ),
        (
            "fn f(&self) -> Result<Program> {}",
            &[("&self", "a program family cannot take `self`", "out of the `impl`")],
        ),
        (
            "unsafe extern \"C\" fn f(...) -> Result<Program> {}",
            &[
                ("unsafe", "a program family cannot be `unsafe`", ""),
                ("extern \"C\"", "a program family cannot be `extern`", ""),
                ("...", "a program family cannot be variadic", "`Vec<Aval>`"),
            ],
        ),
        (
            "#[dynamic(dtype = f32)] fn f() -> Result<Program> {}",
            &[("#[dynamic(dtype = f32)]", "`#[dynamic]` goes on an argument, not on the function", "")],
        ),
        (
            "fn array() -> Result<Program> {}",
            &[(
                "array",
                "the family of `array` would be the type `Array`, which hides that of the prelude",
                "rename",
            )],
        ),
        (
            "fn Fit() -> Result<Program> {}",
            &[("Fit", "the type of the family `Fit` would have the function's own name", "lower-case")],
        ),
        (
            "fn _1() -> Result<Program> {}",
            &[("_1", "`_1` cannot be turned into the name of a type", "with a letter")],
        ),
    ],
};

#[test]
fn arguments() {
    check(&ARGUMENTS);
}

#[test]
fn types_of_arguments() {
    check(&TYPES);
}

#[test]
fn results() {
    check(&RESULTS);
}

#[test]
fn items() {
    check(&ITEMS);
}

#[test]
fn two_arguments_of_one_name_make_no_model() {
    let source = "#[dispatch_family] fn f(#[static_arg] n: i64, #[static_arg] n: i64) -> Result<Program> {}";
    assert!(family(source).is_err());
}
