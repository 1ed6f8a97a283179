//! What bad calls say: the argument by its path, what was expected, what came. Each text as a user reads it.

use dispatch_runtime::engine::fake::FakeEngine;
use dispatch_runtime::prelude::*;
use dispatch_tests::{array, array_on, first, zeros};
use num_complex::Complex;

#[derive(InputTree)]
struct Params<T> {
    #[dynamic(dtype = [f32, f64], shape = [i, o])]
    w: T,
    #[dynamic(dtype = dtype(w), shape = [o])]
    b: T,
    #[dynamic(dtype = dtype(w), shape = [_, o])]
    rest: Vec<T>,
}

#[dispatch_family]
fn layered(
    #[dynamic(dtype = [f32, f64], shape = [batch.., m, k])] x: Aval,
    #[dynamic(dtype = dtype(x), shape = [batch.., k, 2])] y: Aval,
    #[dynamic(dtype = float, shape = [.., m, m])] z: Aval,
    #[dynamic(like(x))] t: Aval,
    #[dynamic(dtype = int, shape = [n])] xs: Vec<Aval>,
    #[dynamic] params: Params<Aval>,
    #[dynamic(dtype = i32, shape = [])] count: Aval,
) -> Result<Program> {
    let Params { w, b, rest } = params;
    let _ = (batch, n);
    first(&[vec![x, y, z, t], xs, vec![w, b], rest, vec![count]].concat())
}

/// The arguments of a call that is right, to be spoilt.
struct Arguments {
    x: Array,
    y: Array,
    z: Array,
    t: Array,
    xs: Vec<Array>,
    params: Params<Array>,
    count: Array,
}

/// Makes one argument wrong.
type Spoil<'a> = &'a dyn Fn(&mut Arguments);

fn right(client: Client) -> Arguments {
    let f = |shape: &[i64]| array(client, DType::F32, shape);
    let d = |shape: &[i64]| array(client, DType::F64, shape);
    Arguments {
        x: f(&[5, 3, 4]),
        y: f(&[5, 4, 2]),
        z: d(&[3, 3]),
        t: f(&[5, 3, 4]),
        xs: vec![array(client, DType::U8, &[7]); 2],
        params: Params { w: d(&[2, 3]), b: d(&[3]), rest: vec![d(&[1, 3]), d(&[9, 3])] },
        count: array(client, DType::I32, &[]),
    }
}

#[test]
fn a_bad_argument_is_named_with_what_was_expected_and_what_came() {
    let (client, state) = FakeEngine::client(2);
    let (other, _) = FakeEngine::client(1);
    let second = client.devices().nth(1).unwrap();
    let family = Layered::new(&client);
    let call = |a: &Arguments| family.call(&a.x, &a.y, &a.z, &a.t, &a.xs, &a.params, &a.count);
    call(&right(client)).unwrap();

    let say = |spoil: Spoil<'_>| {
        let mut arguments = right(client);
        spoil(&mut arguments);
        call(&arguments).unwrap_err().to_string()
    };
    let f = |shape: &[i64]| array(client, DType::F32, shape);
    let d = |shape: &[i64]| array(client, DType::F64, shape);
    let u = |shape: &[i64]| array(client, DType::U8, shape);
    let table: [(Spoil<'_>, &str); 24] = [
        (
            &|a| a.x = array(client, DType::I64, &[5, 3, 4]),
            "argument `x`: expected dtype f32 or f64, got i64",
        ),
        (&|a| a.y = d(&[5, 4, 2]), "argument `y`: expected dtype f32, the dtype of `x`, got f64"),
        (&|a| a.z = u(&[3, 3]), "argument `z`: expected dtype f16, bf16, f32 or f64, got ui8"),
        (&|a| a.t = d(&[5, 3, 4]), "argument `t`: expected dtype f32, the dtype of `x`, got f64"),
        (
            &|a| a.xs[1] = f(&[7]),
            "argument `xs[[2]]`: expected dtype i8, i16, i32, i64, ui8, ui16, ui32 or ui64, got f32",
        ),
        (
            &|a| a.xs[1] = array(client, DType::I8, &[7]),
            "argument `xs[[2]]`: expected dtype ui8, the dtype of `xs[[1]]`, got i8",
        ),
        (&|a| a.count = u(&[]), "argument `count`: expected dtype i32, got ui8"),
        (&|a| a.params.w = u(&[2, 3]), "argument `params$w`: expected dtype f32 or f64, got ui8"),
        (
            &|a| a.params.b = f(&[3]),
            "argument `params$b`: expected dtype f64, the dtype of `params$w`, got f32",
        ),
        (
            &|a| a.params.rest[1] = f(&[9, 3]),
            "argument `params$rest[[2]]`: expected dtype f64, the dtype of `params$w`, got f32",
        ),
        (&|a| a.x = f(&[4]), "argument `x`: expected shape [batch..,m,k], got [4]"),
        (
            &|a| a.y = f(&[5, 4, 3]),
            "argument `y`: expected shape [batch..=[5],k=4,2] (batch, k from `x`), got [5,4,3]",
        ),
        (
            &|a| a.y = f(&[6, 4, 2]),
            "argument `y`: expected shape [batch..=[5],k=4,2] (batch, k from `x`), got [6,4,2]",
        ),
        (&|a| a.y = f(&[2]), "argument `y`: expected shape [batch..=[5],k=4,2] (batch, k from `x`), got [2]"),
        (&|a| a.z = d(&[3, 4]), "argument `z`: expected shape [..,m=3,m=3] (m from `x`), got [3,4]"),
        (&|a| a.t = f(&[5, 4, 3]), "argument `t`: expected shape [5,3,4], the shape of `x`, got [5,4,3]"),
        (&|a| a.xs[1] = u(&[8]), "argument `xs[[2]]`: expected shape [n=7] (n from `xs[[1]]`), got [8]"),
        (
            &|a| a.xs.clear(),
            "argument `xs`: expected shape [n] of at least one array, to know `n`, got an empty list",
        ),
        (
            &|a| a.params.rest[0] = d(&[3]),
            "argument `params$rest[[1]]`: expected shape [_,o=3] (o from `params$w`), got [3]",
        ),
        (
            &|a| a.params.rest[1] = d(&[9, 4]),
            "argument `params$rest[[2]]`: expected shape [_,o=3] (o from `params$w`), got [9,4]",
        ),
        (&|a| a.count = array(client, DType::I32, &[1]), "argument `count`: expected shape [], got [1]"),
        (
            &|a| a.y = array_on(second, DType::F32, &[5, 4, 2]),
            "argument `y`: expected an array on fake:0, as the first array, got one on fake:1",
        ),
        (
            &|a| a.params.rest[0] = array_on(second, DType::F64, &[1, 3]),
            "argument `params$rest[[1]]`: expected an array on fake:0, as the first array, got one on fake:1",
        ),
        (
            &|a| a.z = array(other, DType::F64, &[3, 3]),
            "argument `z`: expected an array of client fake of the fake engine, got one of another client fake of the fake engine",
        ),
    ];
    let before = (state.executes(), family.stats());
    for (spoil, text) in table {
        assert_eq!(say(spoil), text);
    }
    assert_eq!((state.executes(), family.stats()), before, "nothing was run or looked up");
    state.assert_no_faults();
}

#[test]
fn a_bad_host_value_is_named_with_what_was_expected_and_what_came() {
    #[dispatch_family]
    fn hosted(
        #[dynamic(dtype = f32, shape = [n])] a: Aval,
        #[dynamic(dtype = [u8, bool], shape = [n])] b: Aval,
        #[dynamic(dtype = i32, shape = [])] c: Aval,
    ) -> Result<Program> {
        zeros(&[a, b, c], &[Aval::new(DType::F32, [n])])
    }
    let client = Client::host();
    let family = Hosted::new(&client);
    let says = |y: Result<Array>, text: &str| assert_eq!(y.unwrap_err().to_string(), text);
    says(family.call([1.0, 2.0], [1, 2, 3], 1), "argument `b`: expected shape [n=2] (n from `a`), got [3]");
    says(family.call(1.0, [1], 1), "argument `a`: expected shape [n], got []");
    says(
        family.call((&[1.0; 4], [3]), [1], 1),
        "argument `a`: expected shape of 4 elements, as many as were given, got [3]",
    );
    says(
        family.call([1e39], [1], 1),
        "argument `a`: expected a magnitude of at most 3.4028235e38 (f32), got 1e39 at index 0",
    );
    says(
        family.call([1.0, 2.0], [1.0, -1.0], 1),
        "argument `b`: expected an integer from 0 to 255 (ui8), got -1.0 at index 1",
    );
    says(
        family.call([1.0, 2.0], [1.0, 1.0], 1i64 << 40),
        "argument `c`: expected an integer from -2147483648 to 2147483647 (i32), got 1099511627776",
    );
    says(
        family.call([1.0, 2.0], [1.0, 1.0], 0.5),
        "argument `c`: expected an integer from -2147483648 to 2147483647 (i32), got 0.5",
    );
    says(
        family.call([Complex::new(1.0, 2.0)], [1.0], 1),
        "argument `a`: expected a real number (f32): take the real part first, got 1+2i at index 0",
    );
    says(family.call([1.0], [1.0], [1]), "argument `c`: expected shape [], got [1]");
    says(
        family.call([1.0], [300i64], 2),
        "argument `b`: expected an integer from 0 to 255 (ui8), got 300 at index 0",
    );
}
