//! Errors of `#[ffi_handler]` in what an argument or a result is: its role, type, place and references.

use super::{Table, check, handler};

pub(super) const TABLES: [Table; 6] = [ROLES, BUFFERS, RESULTS, REFERENCES, ALIASES, ORDER];

/// Handlers with these arguments.
pub(super) const WITH: &str = "#[ffi_handler] fn f({}) -> ffi::Result<()> { Ok(()) }";

const ROLES: Table = Table {
    read: |source| handler(source).map(drop),
    template: WITH,
    cases: &[
        (
            "a: Buffer<f32>, b: AnyBufferMut, c: ffi::ThreadPool, d: ffi::Dictionary, e: i64",
            &[
                ("a", "argument `a` does not say what it is in the call", "write `#[arg]` before it"),
                ("b", "argument `b` does not say what it is in the call", "write `#[ret]` before it"),
                ("c", "argument `c` does not say what it is in the call", "write `#[ctx]` before it"),
                (
                    "d",
                    "argument `d` does not say what it is in the call",
                    "write `#[attrs]` before it for all",
                ),
                ("e", "argument `e` does not say what it is in the call", "write `#[attr]` before it"),
            ],
        ),
        (
            "#[arg] #[ret] a: AnyBuffer",
            &[("#[ret]", "argument `a` has two roles", "keep one of `#[arg]`, `#[ret]`")],
        ),
        (
            "#[attr] #[attr(default = 1)] n: i64",
            &[("#[attr(default = 1)]", "`#[attr]` is given twice", "into one")],
        ),
        (
            "#[ctx(host)] p: ThreadPool",
            &[("#[ctx(host)]", "`#[ctx]` takes no options", "write `#[ctx]` alone")],
        ),
        (
            "#[atr] n: i64",
            &[("#[atr]", "`#[atr]` is not an attribute of arguments", "did you mean `#[attr]`?")],
        ),
        (
            "#[serde] n: i64",
            &[(
                "#[serde]",
                "`#[serde]` is not an attribute of arguments",
                "`#[arg(...)]`, `#[ret(...)]`, `#[attr]`",
            )],
        ),
        (
            "#[cfg(unix)] #[attr] n: i64",
            &[("#[cfg(unix)]", "`#[cfg]` on an argument would change the signature", "two functions")],
        ),
        (
            "#[arg] (a, b): (AnyBuffer, AnyBuffer), #[attr] ref n: i64, #[attr] __k: i64",
            &[
                ("(a, b)", "an argument must be a plain name", ""),
                (
                    "(AnyBuffer, AnyBuffer)",
                    "`(AnyBuffer, AnyBuffer)` cannot be the type of an `#[arg]`",
                    "it is `Buffer<f32>`",
                ),
                ("ref n", "an argument must be a plain name", ""),
                ("__k", "`__k` is a name of the toolkit's own", ""),
            ],
        ),
        // Two arguments of one name are left to the compiler, which reports them on the emitted function.
        ("#[attr] n: i64, #[arg] n: AnyBuffer", &[]),
    ],
};

const BUFFERS: Table = Table {
    read: |source| handler(source).map(drop),
    template: WITH,
    cases: &[
        (
            "#[arg] a: BufferMut<f32>, #[arg] b: Option<ffi::AnyBufferMut>, #[arg] c: RemainingRets, #[arg] d: TokenMut",
            &[
                (
                    "BufferMut<f32>",
                    "an argument is only read: `BufferMut<f32>`",
                    "write `Buffer<f32>`, or `#[ret]`",
                ),
                (
                    "Option<ffi::AnyBufferMut>",
                    "an argument is only read: `ffi::AnyBufferMut`",
                    "write `ffi::AnyBuffer`",
                ),
                ("RemainingRets", "an argument is only read: `RemainingRets`", "write `RemainingArgs`"),
                ("TokenMut", "an argument is only read: `TokenMut`", "write `Token`"),
            ],
        ),
        (
            "#[arg] a: &[f32], #[arg] b: Vec<f32>, #[arg] c: Array, #[arg] d: &AnyBuffer, #[arg] e: Vec<AnyBuffer>",
            &[
                ("&[f32]", "a slice has no shape: `&[f32]`", "write `Buffer<f32>`, which is one in the body"),
                (
                    "Vec<f32>",
                    "a handler works on the memory of XLA and owns none of it: `Vec<f32>`",
                    "write `Buffer<f32>`",
                ),
                ("Array", "a handler sees buffers, not arrays: `Array`", "`AnyBuffer` for any dtype"),
                ("&AnyBuffer", "buffers are passed by value", "write `AnyBuffer`"),
                ("Vec<AnyBuffer>", "a call has no lists of buffers: `Vec<AnyBuffer>`", "`RemainingArgs`"),
            ],
        ),
        (
            "#[arg] a: i64, #[arg] b: impl Into<f32>, #[arg] c: Option<RemainingArgs>",
            &[
                (
                    "i64",
                    "`i64` cannot be the type of an `#[arg]`",
                    "it is `Buffer<f32>`, `AnyBuffer`, `Token`",
                ),
                ("impl Into<f32>", "`impl Into<f32>` cannot be the type of an `#[arg]`", ""),
                (
                    "Option<RemainingArgs>",
                    "`Option<RemainingArgs>`: there may be none left without an `Option`",
                    "write `RemainingArgs`",
                ),
            ],
        ),
        (
            "#[arg] a: Buffer, #[arg] b: Buffer<usize>, #[arg] c: Buffer<Point>, #[arg] d: Buffer<'static, f32>",
            &[
                ("usize", "`usize` cannot be the element of a buffer", "write `u64`"),
                ("Point", "`Point` cannot be the element of a buffer", "elements are `bool`, `i8`"),
                (
                    "'static",
                    "`'static`: what a handler gets lives for one call, whose lifetime has no name",
                    "write `'_`",
                ),
            ],
        ),
        (
            "#[arg(dtype = f64)] a: Buffer<f32>, #[arg(dtype = [f32, f64])] b: ffi::Buffer<'_, f32>,
             #[arg(dtype = float, shape = [n])] c: Option<Buffer<f32>>",
            &[
                (
                    "f64",
                    "`Buffer<f32>` already says the dtype: `f32`",
                    "write `Buffer<f64>`, or `dtype = f32`",
                ),
                (
                    "[f32, f64]",
                    "`ffi::Buffer<'_, f32>` already says the dtype: `f32`",
                    "write `AnyBuffer` to allow several",
                ),
                ("float", "`Option<Buffer<f32>>` already says the dtype: `f32`", ""),
                (
                    "n",
                    "`n` stands only in optional buffers, and would have no size without them",
                    "or `_` here",
                ),
            ],
        ),
        (
            "#[arg(dtype = f33, shpae = [m])] a: AnyBuffer, #[arg(dtype = dobule, rank = 2)] b: AnyBuffer",
            &[
                ("f33", "unknown dtype `f33`", "did you mean `f32`?"),
                ("shpae", "`#[arg(...)]` has no option `shpae`", "did you mean `shape`?"),
                ("dobule", "unknown dtype `dobule`", "the dtypes are"),
                ("rank", "`#[arg(...)]` has no option `rank`", "write `shape = [_, _]`"),
            ],
        ),
        (
            "#[arg(dtype = f32)] t: Token, #[arg(shape = [m])] all: RemainingArgs",
            &[
                ("dtype", "`dtype` cannot be said of the token `t`", "a token only orders calls"),
                (
                    "shape",
                    "`shape` cannot be said of the remaining arguments `all`",
                    "`ffi::check!` in the body",
                ),
            ],
        ),
        (
            "#[arg(shape = [M, a, 2.0, self])] a: AnyBuffer",
            &[
                ("M", "`M` cannot name a size", "write `m`"),
                ("2.0", "a size must be an integer, found `2.0`", ""),
                ("self", "`self` is a keyword of Rust and cannot name a size", ""),
            ],
        ),
        (
            "#[arg(shape = [a, n])] a: AnyBuffer, #[attr] n: i64",
            &[
                ("a", "`a` names a size and an argument", "rename one"),
                ("n", "`n` names a size and an argument", "rename one"),
            ],
        ),
        (
            "#[arg(shape = [m..])] a: AnyBuffer, #[arg(shape = [m])] b: AnyBuffer",
            &[("m", "`m` stands for leading sizes before, and for one size here", "use two names")],
        ),
        (
            "#[arg = f32] a: AnyBuffer",
            &[("arg = f32", "`#[arg]` takes its options in parentheses", "#[arg(dtype")],
        ),
    ],
};

const RESULTS: Table = Table {
    read: |source| handler(source).map(drop),
    template: WITH,
    cases: &[
        (
            "#[ret] a: Buffer<f32>, #[ret] b: Option<AnyBuffer>, #[ret] c: RemainingArgs, #[ret] d: &mut [f64]",
            &[
                ("Buffer<f32>", "a result is written: `Buffer<f32>`", "write `BufferMut<f32>`, or `#[arg]`"),
                ("Option<AnyBuffer>", "a result is written: `AnyBuffer`", "write `AnyBufferMut`"),
                ("RemainingArgs", "a result is written: `RemainingArgs`", "write `RemainingRets`"),
                ("&mut [f64]", "a slice has no shape: `&mut [f64]`", "write `BufferMut<f64>`"),
            ],
        ),
        (
            "#[ret(like(x))] y: f32",
            &[(
                "f32",
                "`f32` cannot be the type of an `#[ret]`",
                "it is `BufferMut<f32>`, `AnyBufferMut`, `TokenMut`",
            )],
        ),
        (
            "#[ret(shape = [m])] y: RemainingRets",
            &[("shape", "`shape` cannot be said of the remaining results `y`", "")],
        ),
    ],
};

const REFERENCES: Table = Table {
    read: |source| handler(source).map(drop),
    template: "#[ffi_handler] fn f(
        #[attr] scale: f32, #[ctx] pool: ThreadPool, #[arg(dtype = float)] x: AnyBuffer, {}
        #[arg] maybe: Option<Buffer<f32>>, #[arg] rest: RemainingArgs
    ) -> ffi::Result<()> {}",
    cases: &[
        (
            "#[ret(like(scale))] y: AnyBufferMut, #[ret(dtype = dtype(pool), shape = shape(rest))] z: AnyBufferMut,",
            &[
                (
                    "scale",
                    "`like(scale)`: `scale` is an attribute, which has no dtype and no shape",
                    "name a buffer",
                ),
                (
                    "pool",
                    "`dtype(pool)`: `pool` is a value of the context, which has no dtype and no shape",
                    "",
                ),
                (
                    "rest",
                    "`shape(rest)`: `rest` is any number of buffers, which has no dtype and no shape",
                    "",
                ),
            ],
        ),
        (
            "#[ret(like(maybe))] y: AnyBufferMut,",
            &[("maybe", "`like(maybe)`: `maybe` may be absent", "there in every call")],
        ),
        (
            "#[ret(like(xx))] y: AnyBufferMut,",
            &[("xx", "no buffer is named `xx`", "the other buffer is `x`")],
        ),
        (
            "#[ret(like(x))] y: BufferMut<f32>,",
            &[(
                "x",
                "`x` may have another dtype than `BufferMut<f32>`",
                "say `dtype = f32` at `x`, or write `AnyBufferMut`",
            )],
        ),
        ("#[ret(like(y))] y: AnyBufferMut,", &[("y", "`like(y)` refers to itself", "say the like here")]),
        (
            "#[ret(like(x), dtype = f32)] y: AnyBufferMut,",
            &[("dtype", "`like(...)` already says the dtype", "keep one")],
        ),
    ],
};

const ALIASES: Table = Table {
    read: |source| handler(source).map(drop),
    template: WITH,
    cases: &[
        (
            "#[arg] x: AnyBuffer, #[arg] y: Aliased, #[ret(alias = x)] a: AnyBufferMut, #[ret(alias = z)] b: AnyBufferMut,
             #[ret(alias = 3)] c: AnyBufferMut",
            &[
                ("3", "`alias` must be the name of an argument, found `3`", "write `alias = a`"),
                ("x", "`x` is no argument that a result can take over", "write `x: ffi::Aliased`"),
                ("z", "`z` is no argument that a result can take over", "of type `ffi::Aliased`"),
            ],
        ),
        (
            "#[arg] x: Aliased, #[arg] y: Aliased, #[ret(alias = x)] a: AnyBufferMut, #[ret(alias = x)] b: AnyBufferMut",
            &[
                ("x", "`a` takes over `x` already", "keep one"),
                ("y", "no result takes over `y`, whose contents are read through one", "`#[ret(alias = y)]`"),
            ],
        ),
        (
            "#[arg] x: Option<ffi::Aliased>, #[ret(alias = x)] a: Option<AnyBufferMut>",
            &[
                ("x", "`a` may be absent, and then nothing would be taken over", ""),
                ("Option<ffi::Aliased>", "`x` may be absent, and then nothing would be taken over", ""),
            ],
        ),
        ("#[arg(alias = y)] x: AnyBuffer", &[("alias", "`#[arg(...)]` has no option `alias`", "write `#[ret(alias")]),
    ],
};

const ORDER: Table = Table {
    read: |source| handler(source).map(drop),
    template: WITH,
    cases: &[
        (
            "#[arg] a: Option<AnyBuffer>, #[attr] n: i64, #[arg] b: AnyBuffer, #[arg] c: Token",
            &[
                ("b", "`b` stands after the optional `a`", "move it before `a`, or make it optional too"),
                ("c", "`c` stands after the optional `a`", ""),
            ],
        ),
        (
            "#[arg] a: RemainingArgs, #[arg] b: AnyBuffer, #[arg] c: Option<AnyBuffer>, #[arg] d: RemainingArgs",
            &[
                ("b", "`b` stands after `a`, which takes all that are left", "move it before `a`"),
                ("c", "`c` stands after `a`, which takes all that are left", ""),
                ("d", "`d` stands after `a`, which takes all that are left", ""),
            ],
        ),
        (
            "#[ret] a: Option<BufferMut<f32>>, #[ret] b: AnyBufferMut, #[arg] c: AnyBuffer",
            &[("b", "`b` stands after the optional `a`", "")],
        ),
        (
            "#[ret] a: RemainingRets, #[arg] c: AnyBuffer, #[ret] b: TokenMut",
            &[("b", "`b` stands after `a`, which takes all that are left", "")],
        ),
    ],
};

#[test]
fn roles_of_arguments() {
    check(&ROLES);
}

#[test]
fn types_of_buffers() {
    check(&BUFFERS);
    check(&RESULTS);
}

#[test]
fn references_between_buffers() {
    check(&REFERENCES);
    check(&ALIASES);
}

#[test]
fn order_of_arguments() {
    check(&ORDER);
}
