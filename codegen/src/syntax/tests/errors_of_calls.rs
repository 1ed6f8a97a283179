//! Errors of `#[ffi_handler]` beside its buffers: attributes, context, result, options; and of `#[derive(AttrValue)]` and
//! `ffi::check!`.

use super::errors_of_handlers::WITH;
use super::{Table, check, derive_input, handler};
use crate::syntax::{attr_value, check as patterns};

pub(super) const TABLES: [Table; 8] =
    [ATTRIBUTES, CONTEXT, RETURNS, OPTIONS, INSTANTIATE, VALUES, PATTERNS, NO_PATTERN];

const ATTRIBUTES: Table = Table {
    read: |source| handler(source).map(drop),
    template: WITH,
    cases: &[
        (
            "#[attr] a: String, #[attr] b: Vec<i64>, #[attr] c: usize, #[attr] d: &[bool], #[attr] e: &String",
            &[
                ("String", "`String` cannot be the type of an attribute", "write `&str`"),
                ("Vec<i64>", "`Vec<i64>` cannot be the type of an attribute", "write `&[i64]`"),
                ("usize", "`usize` cannot be the type of an attribute", "write `u64`"),
                ("&[bool]", "XLA has no attributes of type `&[bool]`", "`i8`, `i16`"),
                ("&String", "`&String` cannot be the type of an attribute", "write `&str`"),
            ],
        ),
        (
            "#[attr] a: (i64, i64), #[attr] b: &mut str, #[attr] c: Option<Option<i64>>, #[attr] d: impl Copy,
             #[attr] e: &i64, #[attr] f: Box<str>",
            &[
                ("(i64, i64)", "`(i64, i64)` cannot be the type of an attribute", "an attribute is `bool`"),
                ("&mut str", "`&mut str` cannot be the type of an attribute", ""),
                ("Option<Option<i64>>", "`Option<Option<i64>>` cannot be the type of an attribute", ""),
                ("impl Copy", "`impl Copy` cannot be the type of an attribute", ""),
                ("&i64", "`&i64` cannot be the type of an attribute", ""),
                ("Box<str>", "`Box<str>` cannot be the type of an attribute", ""),
            ],
        ),
        (
            "#[attr] a: Buffer<f32>",
            &[("Buffer<f32>", "`Buffer<f32>` is a buffer, not an attribute", "write `#[arg]`")],
        ),
        (
            "#[attr] n: i64, #[attr(name = \"n\")] m: i64, #[attr(name = \"m\")] k: i64",
            &[("\"n\"", "attribute `n` is declared twice", "rename one")],
        ),
        (
            "#[attr(default = 1)] a: Option<i64>, #[attr(default = x)] b: ffi::Dictionary",
            &[
                ("default", "an optional attribute has no default", "drop the `Option`"),
                ("default", "a dictionary has no default", "write `Option<ffi::Dictionary>`"),
            ],
        ),
        (
            "#[attr(defualt = 1)] a: i64, #[attr(default)] b: i64, #[attr(name = scale)] c: f32, #[attr(name = \"\")] d: f32,
             #[attr(name = \"a\\0\")] e: f32",
            &[
                ("defualt", "`#[attr(...)]` has no option `defualt`", "did you mean `default`?"),
                ("default", "option `default` needs a value", ""),
                ("scale", "`name` must be a string, found `scale`", "write it in quotes"),
                ("\"\"", "`name` is empty", "the name that calls use"),
                ("\"a\\0\"", "`name` has the character NUL", ""),
            ],
        ),
        (
            "#[attrs] a: ffi::Dictionary, #[attrs] b: Dictionary, #[attrs] c: i64",
            &[
                ("i64", "all attributes are an `ffi::Dictionary`, found `i64`", "`#[attr]` for a single one"),
                ("b", "`b` would be all attributes a second time", "take them once"),
            ],
        ),
        ("#[attr(default = 1, default = 2)] a: i64", &[("default", "option `default` is given twice", "")]),
    ],
};

const CONTEXT: Table = Table {
    read: |source| handler(source).map(drop),
    template: WITH,
    cases: &[(
        "#[ctx] a: ThreadPol, #[ctx] b: i64, #[ctx] c: &ffi::ThreadPool, #[ctx] d: State, #[ctx] e: State<'static, P>",
        &[
            ("ThreadPol", "the context has no `ThreadPol`", "did you mean `ThreadPool`?"),
            ("i64", "the context has no `i64`", "the context gives `ThreadPool`, `DeviceOrdinal`"),
            ("&ffi::ThreadPool", "values of the context are passed by value", "write `ffi::ThreadPool`"),
            ("'static", "`'static`: what a handler gets lives for one call, whose lifetime has no name", ""),
        ],
    )],
};

const RETURNS: Table = Table {
    read: |source| handler(source).map(drop),
    template: "{} {}",
    cases: &[
        (
            "#[ffi_handler] fn f()",
            &[("f", "`f` returns nothing, and could not fail", "`ffi::Result<()>`, `ffi::Future`")],
        ),
        (
            "#[ffi_handler(stage = instantiate)] fn f()",
            &[("f", "`f` returns nothing, and could not fail", "where `T` is the state")],
        ),
        ("#[ffi_handler] fn f() -> ()", &[("()", "`()` cannot be what a handler returns", "")]),
        (
            "#[ffi_handler] fn f() -> Option<()>",
            &[("Option<()>", "`Option<()>` cannot be what a handler returns", "")],
        ),
        (
            "#[ffi_handler] fn f() -> impl Future",
            &[("impl Future", "`impl Future` cannot be what a handler returns", "")],
        ),
        (
            "#[ffi_handler] fn f() -> Result<(), String>",
            &[("Result<(), String>", "`Result<(), String>` cannot be what a handler returns", "")],
        ),
        (
            "#[ffi_handler] fn f() -> ffi::Result<&f32>",
            &[(
                "ffi::Result<&f32>",
                "a handler returns nothing borrowed: `ffi::Result<&f32>`",
                "own the data",
            )],
        ),
        (
            "#[ffi_handler] fn f() -> ffi::Result<Plan>",
            &[("Plan", "only an instantiate handler returns a value, found `Plan`", "`stage = instantiate`")],
        ),
        (
            "#[ffi_handler(stage = instantiate)] fn f() -> ffi::Future",
            &[("ffi::Future", "an instantiate handler cannot answer later: `ffi::Future`", "")],
        ),
        // The function itself, as of families.
        (
            "#[ffi_handler] async unsafe extern \"C\" fn f<T>(&self) -> ffi::Result<()> where T: Copy",
            &[
                (
                    "async",
                    "a handler cannot be `async`",
                    "remove `async`; the body runs as an ordinary function",
                ),
                ("unsafe", "a handler cannot be `unsafe`", ""),
                ("extern \"C\"", "a handler cannot be `extern`", ""),
                ("<T>", "a handler cannot be generic", "take `AnyBuffer`"),
                ("where T: Copy", "a handler cannot have a `where` clause", ""),
                ("&self", "a handler cannot take `self`", "`#[ctx] ffi::UserData<'_, T>`"),
            ],
        ),
        (
            "#[ffi_handler] const fn f(#[attr] n: i64, ...) -> ffi::Result<()>",
            &[
                ("const", "a handler cannot be `const`", ""),
                ("...", "a handler cannot be variadic", "`RemainingArgs`"),
            ],
        ),
        (
            "#[ffi_handler] fn F() -> ffi::Result<()>",
            &[("F", "the static of the handler `F` would have the function's own name", "in lower case")],
        ),
        (
            "#[ffi_handler] #[arg] fn f() -> ffi::Result<()>",
            &[("#[arg]", "`#[arg]` goes on an argument, not on the function", "")],
        ),
        (
            "#[ffi_handler] fn __f() -> ffi::Result<()>",
            &[("__f", "`__f` is a name of the toolkit's own", "")],
        ),
        ("#[ffi_handler] struct S", &[("struct S {}", "`#[ffi_handler]` goes on a function", "")]),
    ],
};

const OPTIONS: Table = Table {
    read: |source| handler(source).map(drop),
    template: "#[ffi_handler({})] fn f() -> ffi::Result<()> {}",
    cases: &[
        ("target = \"\"", &[("\"\"", "`target` is empty", "")]),
        ("target = f", &[("f", "`target` must be a string, found `f`", "write it in quotes")]),
        ("target", &[("target", "option `target` needs a value", "")]),
        (
            "name = \"f\"",
            &[("name", "`#[ffi_handler(...)]` has no option `name`", "write `target = \"...\"`")],
        ),
        (
            "stage = compile",
            &[("compile", "unknown stage `compile`", "the stages are `instantiate`, `prepare`")],
        ),
        (
            "stage = instatiate",
            &[("instatiate", "unknown stage `instatiate`", "did you mean `instantiate`?")],
        ),
        ("stage = execute", &[("execute", "unknown stage `execute`", "leave the option out")]),
        ("instantiate = 3", &[("3", "`instantiate` must be the path of a function, found `3`", "")]),
        ("prepare = || 3", &[("|| 3", "`prepare` must be the path of a function, found `||3`", "")]),
        (
            "command_buffer, command_buffer",
            &[("command_buffer", "option `command_buffer` is given twice", "")],
        ),
        ("command_buffer = true", &[("command_buffer", "option `command_buffer` takes no value", "")]),
        (
            "stage = prepare, instantiate = g, command_buffer",
            &[
                ("instantiate", "`instantiate` has no effect on a handler of another stage", ""),
                ("command_buffer", "`command_buffer` has no effect on a handler of another stage", ""),
            ],
        ),
        (
            "targt = \"f\"",
            &[("targt", "`#[ffi_handler(...)]` has no option `targt`", "did you mean `target`?")],
        ),
    ],
};

const INSTANTIATE: Table = Table {
    read: |source| handler(source).map(drop),
    template: "#[ffi_handler(stage = instantiate)] fn f({}) -> ffi::Result<Plan> {}",
    cases: &[(
        "#[arg] a: AnyBuffer, #[ret] b: RemainingRets, #[ctx] c: ThreadPool, #[attr] n: i64, #[attrs] all: Dictionary",
        &[
            ("a", "`a`: an instantiate handler gets no argument", "with the attributes only"),
            ("b", "`b`: an instantiate handler gets no result", ""),
            ("c", "`c`: an instantiate handler gets no context", ""),
        ],
    )],
};

const VALUES: Table = Table {
    read: |source| attr_value(&derive_input(source)).map(drop),
    template: "{}",
    cases: &[
        (
            "enum Command { Add, Mul }",
            &[("Command", "`Command` does not say which integer it is in a call", "write `#[repr(i32)]`")],
        ),
        (
            "#[repr(C)] enum Command { Add, Mul }",
            &[("Command", "`Command` does not say which integer it is in a call", "")],
        ),
        (
            "#[repr(u8)] enum Command { Add(i32), Mul { by: i32 } }",
            &[
                ("(i32)", "`Add` has fields, and an attribute is the number of a variant", ""),
                ("{ by: i32 }", "`Mul` has fields, and an attribute is the number of a variant", ""),
            ],
        ),
        ("#[repr(u8)] enum Never {}", &[("Never", "`Never` has no variant, so no attribute could have its type", "")]),
        ("union U { a: i32 }", &[("union", "`AttrValue` is for structs and enums, `U` is a union", "")]),
        (
            "struct Range(i64, i64);",
            &[("Range", "`Range` has no named fields, and a dictionary finds its members by name", "")],
        ),
        (
            "struct Range<T, 'a> { lo: T }",
            &[("T", "`AttrValue` takes at most one lifetime parameter, for what `Range` borrows from the call", "")],
        ),
        (
            "struct Range { lo: String, #[attr(default = 1)] hi: Option<i64>, #[attr(name = \"x\")] a: i64, x: i64,
             #[attr] #[attr] y: i64 }",
            &[
                ("String", "`String` cannot be the type of an attribute", ""),
                ("default", "an optional attribute has no default", ""),
                ("#[attr]", "`#[attr]` is given twice", ""),
                ("x", "attribute `x` is declared twice", ""),
            ],
        ),
    ],
};

const PATTERNS: Table = Table {
    read: |source| patterns(source.parse().unwrap()).map(drop).map_err(|(found, _)| found),
    template: "{}",
    cases: &[
        (
            "f32 [n]; x.y: f32; x: f33 [M]",
            &[
                (
                    "f32",
                    "expected the variable of a buffer and `:`, found `f32`",
                    "`ffi::check!(x: f32 [n, 128]);`",
                ),
                ("x", "expected the variable of a buffer and `:`, found `x`", ""),
                ("f33", "unknown dtype `f33`", "did you mean `f32`?"),
            ],
        ),
        ("x:; y: f32", &[("x", "nothing is said of `x`", "`dim(0) = 128`")]),
        (
            "x: rank = []; y: rank = [1, m, -2]; z: rank",
            &[
                ("[]", "an empty list allows no rank", "as in `[1, 2]`"),
                ("m", "expected a rank, found `m`", "`rank = [1, 2]`"),
                ("-", "expected a rank, found `-`", ""),
                ("rank", "unknown dtype `rank`", ""),
            ],
        ),
        (
            "x: dim = 3, dim() = 3, dim(0), dim(0) = M, dims(1) = 2",
            &[
                (
                    "dim",
                    "`dim` takes the index of a dimension, counted from 0, and its size",
                    "`dim(0) = 128`",
                ),
                ("dim", "`dim` takes the index of a dimension, counted from 0, and its size", ""),
                ("dim", "option `dim` needs a value", "`dim(0) = 128`"),
                ("M", "`M` cannot name a size", "write `m`"),
                ("dims", "`ffi::check!` has no option `dims`", "did you mean `dim`?"),
            ],
        ),
        (
            "x: f32 [n], dtype = f64, shape = [m], like(y), like(x); y: like = x",
            &[
                ("f64", "option `dtype` is given twice", "keep one"),
                ("[m]", "option `shape` is given twice", ""),
                ("(y)", "option `dtype` is given twice", ""),
                ("(x)", "option `dtype` is given twice", ""),
                ("like", "`like` takes the name of an argument in parentheses", "write `like(a)`"),
            ],
        ),
        (
            "x: [x, n]; y: [n.., 3]; z: shape(z); w: like(w)",
            &[
                ("n", "`n` stands for one size before, and for leading sizes here", "use two names"),
                ("z", "`shape(z)` refers to itself", ""),
                ("w", "`like(w)` refers to itself", ""),
                ("x", "`x` names a size and an argument", "rename one"),
            ],
        ),
        ("x: f32 [n m]", &[("m", "expected `,`, found `m`", "")]),
    ],
};

/// What is said of no pattern at all stands on the whole.
const NO_PATTERN: Table = Table {
    read: PATTERNS.read,
    template: "{}",
    cases: &[("", &[("", "nothing to check", "write `ffi::check!(x: f32 [n, 128]);`")])],
};

#[test]
fn patterns_in_bodies() {
    check(&PATTERNS);
    check(&NO_PATTERN);
}

#[test]
fn attributes_of_calls() {
    check(&ATTRIBUTES);
}

#[test]
fn the_context() {
    check(&CONTEXT);
}

#[test]
fn returns_and_functions() {
    check(&RETURNS);
}

#[test]
fn options_of_handlers() {
    check(&OPTIONS);
    check(&INSTANTIATE);
}

#[test]
fn types_of_attributes() {
    check(&VALUES);
}
