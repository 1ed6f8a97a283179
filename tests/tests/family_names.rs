//! Names of users and names of expansions do not meet; families stand wherever a function may.

#![allow(clippy::too_many_arguments)]

use dispatch_runtime::prelude::*;
use dispatch_tests::{first, zeros};

fn one(y: Array) -> f32 {
    y.to_vec::<f32>().unwrap()[0]
}

#[test]
fn arguments_may_have_the_names_that_expansions_use() {
    #[dispatch_family]
    fn clashes(
        #[dynamic(dtype = [f32, f64], shape = [])] place: Aval,
        #[dynamic(dtype = dtype(place), shape = [])] ok: Aval,
        #[dynamic(dtype = any, shape = [..])] call: Aval,
        #[dynamic(dtype = f32, shape = [leaf])] family: Aval,
        #[dynamic(dtype = f32, shape = [path])] device: Aval,
        #[dynamic(dtype = f32, shape = [_])] sink: Aval,
        #[dynamic(dtype = f32, shape = [parts..])] entry: Aval,
        #[dynamic(dtype = f32, shape = [])] key: Aval,
        #[static_arg] buffers: bool,
        #[static_arg] outs: i64,
        #[static_arg] context: String,
        #[static_arg] visit: bool,
    ) -> Result<Program> {
        let _ = (leaf, path, parts, buffers, outs, context, visit);
        first(&[place, ok, call, family, device, sink, entry, key])
    }
    let family = Clashes::new(&Client::host());
    for _ in 0..2 {
        let y = family
            .call(
                1f32,
                2f32,
                3f32,
                [4f32],
                [5f32],
                [6f32],
                (&[7f32; 6], [2, 3]),
                8f32,
                true,
                9,
                "x".into(),
                false,
            )
            .unwrap();
        assert_eq!(one(y), 1.0);
    }
    assert_eq!((family.stats().compiles, family.stats().hits), (1, 1));
}

#[test]
fn more_arguments_may_have_the_names_that_expansions_use() {
    #[dispatch_family]
    fn clashes(
        cx: &CompileCx,
        #[dynamic(dtype = f32, shape = [])] _x: Aval,
        #[dynamic(dtype = f32, shape = [size])] placed: Aval,
        #[dynamic(dtype = f32, shape = [i])] room: Aval,
        #[dynamic(dtype = f32, shape = [])] settings: Aval,
        #[dynamic(dtype = f32, shape = [])] leaves: Vec<Aval>,
        #[dynamic(dtype = f32, shape = [])] outputs: [Aval; 1],
        #[static_arg] all: bool,
        #[static_arg] request: bool,
        #[static_arg] body: bool,
        #[static_arg] leaf_: bool,
        #[static_arg] client: bool,
        #[static_arg] error: bool,
    ) -> Result<Program> {
        let _ = (cx, size, i, all, request, body, leaf_, client, error);
        let mut inputs = vec![_x, placed, room, settings];
        inputs.extend(leaves);
        inputs.extend(outputs);
        first(&inputs)
    }
    let client = Client::host();
    let family = Clashes::new(&client);
    let x = client.array(&[1f32], []).unwrap();
    let list = std::slice::from_ref(&x);
    for _ in 0..2 {
        let outputs = std::array::from_ref(&x);
        family.call(5.0, [1f32], [1f32], 1.0, list, outputs, true, true, true, true, true, true).unwrap();
    }
    assert_eq!((family.stats().compiles, family.stats().hits), (1, 1));
}

#[test]
fn types_and_constants_may_have_short_names() {
    const SCOPE: usize = 2;

    #[derive(Clone, StaticArg)]
    struct L;

    #[derive(Clone, StaticArg)]
    enum C {
        Call,
    }

    #[derive(Clone, StaticArg)]
    struct Call(i64);

    #[derive(InputTree)]
    struct Leaf<L> {
        #[dynamic(dtype = f32, shape = [])]
        a: L,
    }

    #[dispatch_family]
    fn call_them(
        #[dynamic(dtype = f32, shape = [])] xs: [Aval; SCOPE],
        #[dynamic] tree: Leaf<Aval>,
        #[static_arg] l: L,
        #[static_arg] c: C,
        #[static_arg] call: Call,
    ) -> Result<Program> {
        let (_, C::Call, Call(n)) = (l, c, call);
        let [a, b] = xs;
        zeros(&[a, b, tree.a], &[Aval::new(DType::F32, [n])])
    }
    let client = Client::host();
    let x = client.array(&[1f32], []).unwrap();
    let y =
        CallThem::new(&client).call(&[x.clone(), x.clone()], &Leaf { a: x }, L, C::Call, Call(3)).unwrap();
    assert_eq!(y.shape(), [3]);
}

#[test]
fn a_family_may_be_named_like_a_part_of_its_expansion() {
    #[dispatch_family]
    fn call(#[dynamic(dtype = f32, shape = [])] call: Aval) -> Result<Program> {
        first(&[call])
    }
    #[dispatch_family]
    fn scope(#[dynamic(dtype = f32, shape = [])] scope: Aval) -> Result<Program> {
        first(&[scope])
    }
    #[dispatch_family]
    fn leaf(#[dynamic(dtype = f32, shape = [])] a: Aval) -> Result<Program> {
        first(&[a])
    }
    let client = Client::host();
    assert_eq!(one(Call::new(&client).call(1.0).unwrap()), 1.0);
    assert_eq!(one(Scope::new(&client).call(2.0).unwrap()), 2.0);
    assert_eq!(one(Leaf::new(&client).call(3.0).unwrap()), 3.0);
}

#[test]
fn prelude_names_of_rust_may_be_hidden() {
    mod hidden {
        #![allow(dead_code, unused_imports)]

        use dispatch_runtime::{Aval, Program, dispatch_family};

        pub struct Option;
        pub struct Vec;
        pub struct Box;
        pub struct String;
        pub enum Hidden {
            Some,
            None,
            Ok,
            Err,
        }
        pub use Hidden::*;

        #[dispatch_family]
        pub fn unaffected(
            #[dynamic(dtype = f32, shape = [batch.., _])] a: Aval,
            #[static_arg] k: i64,
        ) -> dispatch_runtime::Result<Program> {
            let _ = (k, batch);
            dispatch_tests::first(&[a])
        }
    }
    assert_eq!(one(hidden::Unaffected::new(&Client::host()).call([4f32], 1).unwrap()), 4.0);
}

#[test]
fn raw_identifiers_are_called_by_their_plain_names() {
    #[derive(InputTree)]
    struct Raw<T> {
        #[dynamic(dtype = f32, shape = [])]
        r#struct: T,
    }
    #[dispatch_family]
    fn r#try(
        #[dynamic(dtype = f32, shape = [])] r#type: Aval,
        #[dynamic(dtype = dtype(r#type), shape = [n])] r#fn: Aval,
        #[dynamic] r#in: Raw<Aval>,
        #[static_arg] r#match: bool,
    ) -> Result<Program> {
        let _ = (r#match, n);
        first(&[r#type, r#fn, r#in.r#struct])
    }
    let client = Client::host();
    let family = Try::new(&client);
    let raw = Raw { r#struct: client.array(&[1f32], []).unwrap() };
    assert_eq!(one(family.call(1.0, [2.0], &raw, true).unwrap()), 1.0);
    assert_eq!(
        family.call(1.0, 2.0, &raw, true).unwrap_err().to_string(),
        "argument `fn`: expected shape [n], got []"
    );
    let raw = Raw { r#struct: client.array(&[1i32], []).unwrap() };
    let error = family.call(1.0, [2.0], &raw, true).unwrap_err();
    assert_eq!(error.to_string(), "argument `in$struct`: expected dtype f32, got i32");
    let raw = Raw { r#struct: client.array(&[1f32], []).unwrap() };
    assert_eq!(
        family.explain(1.0, [2.0], &raw, false).unwrap().to_string(),
        "miss: `match` is false, the nearest entry has true"
    );
}

// --- where families stand

mod outer {
    use dispatch_runtime::prelude::*;

    #[derive(Clone, StaticArg)]
    pub(super) enum Mode {
        On,
    }

    pub(crate) mod inner {
        use super::*;

        #[dispatch_family]
        pub(crate) fn for_the_crate(#[dynamic(dtype = f32, shape = [])] a: Aval) -> Result<Program> {
            dispatch_tests::first(&[a])
        }

        #[dispatch_family]
        pub(in crate::outer) fn for_outer(
            #[dynamic(dtype = f32, shape = [])] a: Aval,
            #[static_arg] mode: super::Mode,
        ) -> Result<Program> {
            let super::Mode::On = mode;
            dispatch_tests::first(&[a])
        }

        #[dispatch_family]
        fn private(#[dynamic(dtype = f32, shape = [])] a: Aval) -> Result<Program> {
            dispatch_tests::first(&[a])
        }

        pub fn call_private(client: &Client) -> Array {
            Private::new(client).call(3.0).unwrap()
        }
    }

    pub fn call_outer(client: &Client) -> Array {
        inner::ForOuter::new(client).call(2.0, Mode::On).unwrap()
    }
}

#[test]
fn families_have_the_visibility_of_their_functions() {
    let client = Client::host();
    assert_eq!(one(outer::inner::ForTheCrate::new(&client).call(1.0).unwrap()), 1.0);
    assert_eq!(one(outer::call_outer(&client)), 2.0);
    assert_eq!(one(outer::inner::call_private(&client)), 3.0);
    let _ = outer::Mode::On;
}

#[test]
fn two_families_of_one_name_in_two_blocks_are_two() {
    let client = Client::host();
    let a = {
        #[dispatch_family]
        fn twin(#[static_arg] n: i64) -> Result<Program> {
            zeros(&[], &[Aval::new(DType::F32, [n])])
        }
        Twin::new(&client).call(1).unwrap()
    };
    let b = {
        #[dispatch_family]
        fn twin(#[static_arg] n: i64) -> Result<Program> {
            zeros(&[], &[Aval::new(DType::F32, [n + 1])])
        }
        Twin::new(&client).call(1).unwrap()
    };
    assert_eq!((a.shape(), b.shape()), (&[1][..], &[2][..]));
}

#[test]
fn the_function_itself_stays_a_function() {
    #[dispatch_family]
    fn itself(#[dynamic(dtype = f32, shape = [n])] a: Aval) -> Result<Program> {
        zeros(&[a], &[Aval::new(DType::F32, [n, n])])
    }
    let program = itself(Aval::new(DType::F32, [3])).unwrap();
    assert!(format!("{program:?}").contains("tensor<3x3xf32>"));
}

#[test]
fn macros_may_write_families() {
    macro_rules! unary {
        ($name:ident, $argument:ident: $ty:ty, $dtype:ident, $shape:tt, $capacity:expr, $result:expr) => {
            #[dispatch_family(capacity = $capacity)]
            fn $name(#[dynamic(dtype = $dtype, shape = $shape)] $argument: $ty) -> Result<Program> {
                zeros(&[$argument], &[Aval::new(DType::F32, $result)])
            }
        };
    }
    unary!(from_macro, a: Aval, f32, [n], 1 + 1, [n, n]);
    assert_eq!(FromMacro::new(&Client::host()).call([1f32, 2.0]).unwrap().shape(), [2, 2]);
}

// --- how many arguments

#[test]
fn a_family_may_have_no_arguments_at_all() {
    #[dispatch_family]
    fn constant() -> Result<Program> {
        Program::host([], [Aval::new(DType::F32, [])], |_| Ok(vec![HostArray::new([42f32], [])?]))
    }
    let family = Constant::new(&Client::host());
    assert_eq!([one(family.call().unwrap()), one(family.call().unwrap())], [42.0; 2]);
    assert_eq!(family.explain().unwrap(), Explanation::Hit);
    assert_eq!((family.stats().compiles, family.stats().hits), (1, 1));
}

#[test]
fn a_family_may_have_static_arguments_only() {
    #[dispatch_family]
    fn filled(#[static_arg] value: f64, #[static_arg] n: i64) -> Result<Program> {
        let data = vec![value; n as usize];
        Program::host([], [Aval::new(DType::F64, [n])], move |_| {
            Ok(vec![HostArray::new(&data, [data.len() as i64])?])
        })
    }
    let family = Filled::new(&Client::host());
    assert_eq!(family.call(0.5, 3).unwrap().to_vec::<f64>().unwrap(), [0.5; 3]);
    assert_eq!(family.call(0.5, 0).unwrap().to_vec::<f64>().unwrap(), [0.0; 0]);
    assert_eq!(family.stats().compiles, 2);
}

#[test]
fn a_family_may_have_twelve_arguments_and_more() {
    #[dispatch_family]
    fn many(
        #[dynamic(dtype = f32, shape = [])] a: Aval,
        #[dynamic(dtype = f32, shape = [])] b: Aval,
        #[dynamic(dtype = f32, shape = [])] c: Aval,
        #[dynamic(dtype = f32, shape = [])] d: Aval,
        #[dynamic(dtype = f32, shape = [])] e: Aval,
        #[dynamic(dtype = f32, shape = [])] f: Aval,
        #[dynamic(dtype = f32, shape = [])] g: Aval,
        #[dynamic(dtype = f32, shape = [])] h: Aval,
        #[dynamic(dtype = f32, shape = [])] i: Aval,
        #[dynamic(dtype = f32, shape = [])] j: Aval,
        #[dynamic(dtype = f32, shape = [])] k: Aval,
        #[dynamic(dtype = f32, shape = [])] l: Aval,
        #[static_arg] m: i64,
    ) -> Result<Program> {
        let inputs = [a, b, c, d, e, f, g, h, i, j, k, l];
        Program::host(inputs.clone(), [Aval::new(DType::F32, [12])], move |args| {
            let all: Vec<f32> = args.iter().map(|x| x.as_slice::<f32>().unwrap()[0] * m as f32).collect();
            Ok(vec![HostArray::new(all, [12])?])
        })
    }
    let client = Client::host();
    let x = client.array(&[7f32], []).unwrap();
    let y = Many::new(&client).call(1.0, 2.0, 3.0, 4.0, 5.0, 6.0, &x, 8.0, 9.0, 10.0, 11.0, 12.0, 2).unwrap();
    let expected: Vec<f32> = (1..=12).map(|i| 2.0 * i as f32).collect();
    assert_eq!(y.to_vec::<f32>().unwrap(), expected);
}

#[test]
fn a_family_may_depend_on_the_configuration() {
    #[dispatch_family]
    #[cfg(not(test))]
    fn absent(#[dynamic(dtype = f32, shape = [])] a: Aval) -> Result<Program> {
        no_such_function(a)
    }
    #[dispatch_family]
    #[cfg(test)]
    fn present(#[dynamic(dtype = f32, shape = [])] a: Aval) -> Result<Program> {
        first(&[a])
    }
    /// A name that the absent one has left free.
    struct Absent;
    let Absent = Absent;
    assert_eq!(one(Present::new(&Client::host()).call(1.0).unwrap()), 1.0);
}

/// A crate with strict lints: expansions give it nothing to complain about. What is allowed is of the test's own making.
#[forbid(unsafe_code)]
#[deny(
    missing_docs,
    missing_debug_implementations,
    unused,
    unreachable_pub,
    nonstandard_style,
    rust_2018_idioms,
    trivial_casts,
    trivial_numeric_casts,
    unused_qualifications,
    unused_lifetimes,
    elided_lifetimes_in_paths,
    single_use_lifetimes,
    clippy::all,
    clippy::pedantic,
    clippy::nursery
)]
#[allow(clippy::missing_panics_doc, clippy::needless_pass_by_value, clippy::trivially_copy_pass_by_ref)]
pub mod strict {
    use dispatch_runtime::prelude::*;

    /// A mode.
    #[derive(Clone, Debug, StaticArg)]
    pub enum Mode {
        /// None.
        Off,
        /// Some.
        On {
            /// How much.
            level: f64,
        },
    }

    /// A layer.
    #[derive(Debug, InputTree)]
    pub struct Layer<T> {
        /// Weights.
        #[dynamic(dtype = [f32, f64], shape = [batch.., i, _], donate)]
        pub w: T,
        /// Biases.
        #[dynamic(dtype = dtype(w), shape = [i])]
        pub bs: Vec<T>,
    }

    /// Results.
    #[derive(Debug, OutputTree)]
    pub struct Fit<T> {
        /// One.
        pub coef: T,
        /// Two.
        pub pair: [T; 2],
    }

    fn device(client: &Client) -> Device {
        client.default_device()
    }

    const fn context() -> bool {
        true
    }

    /// Fits.
    ///
    /// # Errors
    ///
    /// None.
    #[dispatch_family(capacity = 3, eviction = ByBytes(1 << 20), default_device = device, context = context)]
    pub fn fitted(
        cx: &CompileCx,
        /// A layer.
        #[dynamic]
        layer: Layer<Aval>,
        /// An array.
        #[dynamic(dtype = float, shape = [lead.., n, 2], donate)]
        x: Aval,
        /// More.
        #[dynamic(dtype = dtype(x), shape = shape(x))]
        ys: [Aval; 2],
        /// A mode.
        #[static_arg(default = Mode::Off)]
        mode: Mode,
    ) -> Result<Program<Fit<Array>>> {
        assert!(cx.context::<bool>().is_some() && lead.len() < 9 && n >= 0);
        if let Mode::On { level } = mode {
            assert!(level > 0.0);
        }
        let results = vec![x.clone(); 3];
        let inputs = [vec![layer.w], layer.bs, vec![x], ys.into()].concat();
        dispatch_tests::zeros(&inputs, &results)
    }

    #[dispatch_family(device = fixed)]
    pub(super) fn plain(
        #[dynamic(dtype = f32, shape = [n, 3])] a: Aval,
        #[dynamic(like(a))] b: Aval,
        #[static_arg] k: u8,
    ) -> Result<Program> {
        assert!(n >= 0 && k < 9);
        dispatch_tests::first(&[a, b])
    }
}

#[test]
fn expansions_satisfy_strict_lints() {
    let client = Client::host();
    let f = |shape: &[i64]| dispatch_tests::array(client, DType::F32, shape);
    let layer = strict::Layer { w: f(&[5, 2]), bs: vec![f(&[5])] };
    let mode = strict::Mode::On { level: 0.5 };
    let fit = strict::Fitted::new(&client).call(&layer, f(&[4, 2]), &[f(&[4, 2]), f(&[4, 2])], mode).unwrap();
    assert_eq!((fit.coef.shape(), fit.pair.len()), (&[4, 2][..], 2));
    let y = strict::Plain::new(&client).call((&[0.5; 6], [2, 3]), f(&[2, 3]), 3).unwrap();
    assert_eq!(one(y), 0.5);
}
