//! Each form of the signature language, through the attribute.

use dispatch_runtime::prelude::*;
use dispatch_tests::{array, first, zeros};

fn code<T>(result: Result<T>) -> &'static str {
    match result {
        Ok(_) => "ok",
        Err(error) => error.code(),
    }
}

// --- dtypes

#[test]
fn one_dtype_takes_no_other() {
    #[dispatch_family]
    fn one(#[dynamic(dtype = bf16, shape = [..])] a: Aval) -> Result<Program> {
        first(&[a])
    }
    let client = Client::host();
    for &dtype in DType::ALL {
        let got = code(One::new(&client).call(array(client, dtype, &[2])));
        assert_eq!(got, if dtype == DType::BF16 { "ok" } else { "dtype" }, "{dtype}");
    }
}

#[test]
fn a_choice_takes_each_of_its_dtypes() {
    #[dispatch_family]
    fn choice(#[dynamic(dtype = [c64, u8, bool], shape = [..])] a: Aval) -> Result<Program> {
        first(&[a])
    }
    let client = Client::host();
    for &dtype in DType::ALL {
        let allowed = [DType::C64, DType::U8, DType::Bool].contains(&dtype);
        let got = code(Choice::new(&client).call(array(client, dtype, &[2])));
        assert_eq!(got, if allowed { "ok" } else { "dtype" }, "{dtype}");
    }
}

#[test]
fn classes_take_their_dtypes() {
    #[dispatch_family]
    fn any_class(#[dynamic(dtype = any, shape = [..])] a: Aval) -> Result<Program> {
        first(&[a])
    }
    #[dispatch_family]
    fn float_class(#[dynamic(dtype = float, shape = [..])] a: Aval) -> Result<Program> {
        first(&[a])
    }
    #[dispatch_family]
    fn int_class(#[dynamic(dtype = int, shape = [..])] a: Aval) -> Result<Program> {
        first(&[a])
    }
    use DType::*;
    let client = Client::host();
    let (any, float, int) = (AnyClass::new(&client), FloatClass::new(&client), IntClass::new(&client));
    for &dtype in DType::ALL {
        let x = array(client, dtype, &[1, 2]);
        let is = |allowed: &[DType]| if allowed.contains(&dtype) { "ok" } else { "dtype" };
        assert_eq!(code(any.call(&x)), "ok", "{dtype}");
        assert_eq!(code(float.call(&x)), is(&[F16, BF16, F32, F64]), "{dtype}");
        assert_eq!(code(int.call(&x)), is(&[I8, I16, I32, I64, U8, U16, U32, U64]), "{dtype}");
    }
    assert_eq!(any.stats().compiles, DType::ALL.len() as u64);
    assert_eq!((float.stats().compiles, int.stats().compiles), (4, 8));
}

#[test]
fn a_dtype_may_be_that_of_an_argument_before_or_after() {
    #[dispatch_family]
    fn tied(
        #[dynamic(dtype = dtype(b), shape = [..])] a: Aval,
        #[dynamic(dtype = [f32, i32], shape = [..])] b: Aval,
        #[dynamic(dtype = dtype(a), shape = [..])] c: Aval,
    ) -> Result<Program> {
        assert_eq!((a.dtype(), c.dtype()), (b.dtype(), b.dtype()));
        first(&[a, b, c])
    }
    let client = Client::host();
    let family = Tied::new(&client);
    let [f, i, d] = [DType::F32, DType::I32, DType::F64].map(|dtype| array(client, dtype, &[]));
    assert_eq!(code(family.call(&f, &f, &f)), "ok");
    assert_eq!(code(family.call(&i, &i, &i)), "ok");
    assert_eq!(code(family.call(&d, &d, &d)), "dtype");
    for (a, b, c) in [(&i, &f, &f), (&f, &i, &f), (&f, &f, &i)] {
        assert_eq!(code(family.call(a, b, c)), "dtype");
    }
}

#[test]
fn like_is_the_dtype_and_the_shape_of_another_argument() {
    #[dispatch_family]
    fn alike(
        #[dynamic(like(b))] a: Aval,
        #[dynamic(dtype = float, shape = [_, 3])] b: Aval,
    ) -> Result<Program> {
        first(&[a, b])
    }
    let client = Client::host();
    let family = Alike::new(&client);
    let b = array(client, DType::F32, &[2, 3]);
    assert_eq!(code(family.call(&b, &b)), "ok");
    assert_eq!(code(family.call(array(client, DType::F64, &[2, 3]), &b)), "dtype");
    assert_eq!(code(family.call(array(client, DType::F32, &[3, 3]), &b)), "shape");
    assert_eq!(code(family.call(array(client, DType::F32, &[2, 3, 1]), &b)), "shape");
}

// --- shapes

/// Whether a family of one argument takes each of the shapes.
macro_rules! takes {
    ($shape:tt, $($sizes:expr => $code:literal),* $(,)?) => {{
        #[dispatch_family]
        fn shaped(#[dynamic(dtype = f32, shape = $shape)] a: Aval) -> Result<Program> {
            first(&[a])
        }
        let client = Client::host();
        let family = Shaped::new(&client);
        $({
            let sizes: &[i64] = &$sizes;
            let x = array(client, DType::F32, sizes);
            assert_eq!(code(family.call(&x)), $code, "{} given {sizes:?}", stringify!($shape));
        })*
    }};
}

#[test]
fn no_dimensions_are_a_scalar() {
    takes!([], [] => "ok", [1] => "shape", [1, 1] => "shape", [0] => "shape");
}

#[test]
fn a_number_is_a_fixed_size() {
    takes!([2, 0], [2, 0] => "ok", [0, 2] => "shape", [2] => "shape", [2, 0, 1] => "shape", [2, 1] => "shape");
}

#[test]
fn an_underscore_is_any_size() {
    takes!([_, 3, _], [1, 3, 0] => "ok", [7, 3, 7] => "ok", [1, 2, 3] => "shape", [3, 3] => "shape");
}

#[test]
fn two_dots_alone_are_any_shape() {
    takes!([..], [] => "ok", [0] => "ok", [1, 2, 3, 4, 5, 6, 7, 8] => "ok");
}

#[test]
fn two_dots_are_any_leading_dimensions() {
    takes!([.., 2, _], [2, 9] => "ok", [5, 2, 9] => "ok", [5, 5, 2, 0] => "ok", [2] => "shape", [2, 5, 9] => "shape");
}

#[test]
fn a_name_twice_in_one_shape_is_one_size() {
    takes!([n, 2, n], [3, 2, 3] => "ok", [2, 2, 2] => "ok", [2, 2, 3] => "shape", [3, 3, 3] => "shape");
}

#[test]
fn a_name_after_leading_dimensions_counts_from_the_back() {
    takes!([.., n, n], [3, 3] => "ok", [1, 2, 3, 3] => "ok", [3, 3, 1] => "shape", [3] => "shape");
}

#[test]
fn sizes_are_captured_for_the_body_and_agree_across_arguments() {
    #[dispatch_family]
    fn product(
        #[dynamic(dtype = f32, shape = [m, k])] a: Aval,
        #[dynamic(dtype = f32, shape = [k, n])] b: Aval,
    ) -> Result<Program> {
        let sizes: (i64, i64, i64) = (m, k, n);
        zeros(&[a, b], &[Aval::new(DType::F32, [sizes.0, sizes.2, sizes.1])])
    }
    let client = Client::host();
    let family = Product::new(&client);
    let shaped = |shape: &[i64]| array(client, DType::F32, shape);
    assert_eq!(family.call(shaped(&[2, 3]), shaped(&[3, 5])).unwrap().shape(), [2, 5, 3]);
    assert_eq!(family.call(shaped(&[0, 0]), shaped(&[0, 1])).unwrap().shape(), [0, 1, 0]);
    assert_eq!(code(family.call(shaped(&[2, 3]), shaped(&[2, 3]))), "shape");
    assert_eq!(code(family.call(shaped(&[2, 3]), shaped(&[3]))), "shape");
}

#[test]
fn named_leading_dimensions_are_the_same_wherever_they_stand() {
    #[dispatch_family]
    fn batched(
        #[dynamic(dtype = f32, shape = [batch.., m, k])] a: Aval,
        #[dynamic(dtype = f32, shape = [batch.., k])] b: Aval,
        #[dynamic(dtype = f32, shape = [batch..])] c: Aval,
    ) -> Result<Program> {
        let mut shape: Vec<i64> = batch;
        shape.push(100 * m + k);
        zeros(&[a, b, c], &[Aval::new(DType::F32, shape)])
    }
    let client = Client::host();
    let family = Batched::new(&client);
    let shaped = |shape: &[i64]| array(client, DType::F32, shape);
    let call = |a: &[i64], b: &[i64], c: &[i64]| family.call(shaped(a), shaped(b), shaped(c));
    assert_eq!(call(&[2, 3], &[3], &[]).unwrap().shape(), [203]);
    assert_eq!(call(&[5, 6, 2, 3], &[5, 6, 3], &[5, 6]).unwrap().shape(), [5, 6, 203]);
    assert_eq!(code(call(&[5, 6, 2, 3], &[6, 5, 3], &[5, 6])), "shape");
    assert_eq!(code(call(&[5, 6, 2, 3], &[5, 6, 3], &[5])), "shape");
    assert_eq!(code(call(&[5, 6, 2, 3], &[3], &[5, 6])), "shape");
    assert_eq!(code(call(&[2], &[2], &[])), "shape");
}

#[test]
fn nameless_leading_dimensions_need_not_agree() {
    #[dispatch_family]
    fn loose(
        #[dynamic(dtype = f32, shape = [.., n])] a: Aval,
        #[dynamic(dtype = f32, shape = [.., n])] b: Aval,
    ) -> Result<Program> {
        first(&[a, b])
    }
    let client = Client::host();
    let family = Loose::new(&client);
    let shaped = |shape: &[i64]| array(client, DType::F32, shape);
    assert_eq!(code(family.call(shaped(&[7, 8, 2]), shaped(&[2]))), "ok");
    assert_eq!(code(family.call(shaped(&[2, 8, 7]), shaped(&[2]))), "shape");
    // Each is a part of the key of its own.
    assert_eq!(code(family.call(shaped(&[2]), shaped(&[7, 8, 2]))), "ok");
    assert_eq!(code(family.call(shaped(&[8, 7, 2]), shaped(&[2]))), "ok");
    assert_eq!(family.stats().compiles, 3);
}

#[test]
fn a_shape_may_be_that_of_an_argument_before_or_after() {
    #[dispatch_family]
    fn reshaped(
        #[dynamic(dtype = i8, shape = shape(b))] a: Aval,
        #[dynamic(dtype = f32, shape = [.., n])] b: Aval,
        #[dynamic(dtype = bool, shape = shape(a))] c: Aval,
    ) -> Result<Program> {
        assert_eq!((a.shape(), c.shape(), n), (b.shape(), b.shape(), b.shape()[b.rank() - 1]));
        first(&[a, b, c])
    }
    let client = Client::host();
    let family = Reshaped::new(&client);
    let call = |a: &[i64], b: &[i64], c: &[i64]| {
        family.call(array(client, DType::I8, a), array(client, DType::F32, b), array(client, DType::Bool, c))
    };
    assert_eq!(code(call(&[2], &[2], &[2])), "ok");
    assert_eq!(code(call(&[4, 0, 2], &[4, 0, 2], &[4, 0, 2])), "ok");
    assert_eq!(code(call(&[2, 1], &[2], &[2])), "shape");
    assert_eq!(code(call(&[2], &[2], &[1])), "shape");
    assert_eq!(code(call(&[], &[], &[])), "shape");
}

#[test]
fn arrays_of_a_high_rank_are_arrays() {
    #[dispatch_family]
    fn high(#[dynamic(dtype = f32, shape = [a, b, c, d, e, f, g, h])] x: Aval) -> Result<Program> {
        zeros(&[x], &[Aval::new(DType::F32, [h, g, f, e, d, c, b, a])])
    }
    let client = Client::host();
    let y = High::new(&client).call(array(client, DType::F32, &[1, 2, 3, 4, 5, 6, 7, 8])).unwrap();
    assert_eq!(y.shape(), [8, 7, 6, 5, 4, 3, 2, 1]);
}

// --- the compile context

#[test]
fn the_compile_context_tells_client_and_device() {
    #[dispatch_family]
    fn placed(cx: &CompileCx, #[dynamic(dtype = f32, shape = [])] a: Aval) -> Result<Program> {
        assert_eq!(cx.client(), cx.device().client());
        let index = cx.device().index() as f32;
        Program::host([a.clone()], [a], move |_| Ok(vec![HostArray::new([index], [])?]))
    }
    let client = Client::host_with_devices(3).unwrap();
    let family = Placed::new(&client);
    for device in client.devices() {
        let y = family.call(client.array_on(&[0f32], [], device).unwrap()).unwrap();
        assert_eq!((y.to_vec::<f32>().unwrap()[0], y.device()), (device.index() as f32, device));
    }
}

// --- the body

#[test]
fn an_argument_may_be_mutable_in_the_body() {
    #[dispatch_family]
    fn changes(
        #[dynamic(dtype = f32, shape = [n])] mut a: Aval,
        #[static_arg] mut k: i64,
    ) -> Result<Program> {
        let given = a.clone();
        k += 1;
        a = Aval::new(DType::F32, [n, k]);
        zeros(&[given], &[a])
    }
    let client = Client::host();
    assert_eq!(Changes::new(&client).call([1f32; 3], 4).unwrap().shape(), [3, 5]);
}

#[test]
fn a_body_may_fail_with_any_error() {
    #[derive(Debug)]
    struct Odd(i64);

    impl std::fmt::Display for Odd {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            write!(f, "{} is odd", self.0)
        }
    }

    impl std::error::Error for Odd {}

    type Result<T, E = String> = std::result::Result<T, E>;

    #[dispatch_family]
    fn alias_of_text(#[dynamic(dtype = f32, shape = [n])] a: Aval) -> Result<Program> {
        if n % 2 == 1 { Err(format!("{n} is odd")) } else { first(&[a]).map_err(|e| e.to_string()) }
    }
    #[dispatch_family]
    fn typed(#[dynamic(dtype = f32, shape = [n])] a: Aval) -> Result<Program, Odd> {
        if n % 2 == 1 { Err(Odd(n)) } else { Ok(first(&[a]).unwrap()) }
    }
    #[dispatch_family]
    fn fixed_text(
        #[dynamic(dtype = f32, shape = [n])] a: Aval,
    ) -> std::result::Result<Program, &'static str> {
        if n % 2 == 1 { Err("3 is odd") } else { Ok(first(&[a]).unwrap()) }
    }
    #[dispatch_family]
    fn boxed(#[dynamic(dtype = f32, shape = [n])] a: Aval) -> Result<Program, Box<dyn std::error::Error>> {
        if n % 2 == 1 {
            Err(Odd(n))?
        }
        Ok(first(&[a])?)
    }
    #[dispatch_family]
    fn sent(
        #[dynamic(dtype = f32, shape = [n])] a: Aval,
    ) -> Result<Program, Box<dyn std::error::Error + Send + Sync>> {
        if n % 2 == 1 {
            Err(Odd(n))?
        }
        Ok(first(&[a])?)
    }
    #[dispatch_family]
    fn ours(#[dynamic(dtype = f32, shape = [n])] a: Aval) -> dispatch_runtime::Result<Program> {
        if n % 2 == 1 {
            return Err(Error::InvalidProgram { reason: "3 is odd".into() });
        }
        first(&[a])
    }
    let client = Client::host();
    macro_rules! check {
        ($($family:ident $name:literal $text:literal),*) => {$(
            let family = $family::new(&client);
            assert_eq!(family.call(&[0f32; 2]).unwrap().len(), 2);
            let error = family.call(&[0f32; 3]).unwrap_err();
            assert_eq!(error.code(), "body");
            assert_eq!(error.to_string(), concat!("the body of family `", $name, "` failed: ", $text));
            assert_eq!(family.stats().entries, 1);
        )*};
    }
    check! {
        AliasOfText "alias_of_text" "3 is odd",
        Typed "typed" "3 is odd",
        FixedText "fixed_text" "3 is odd",
        Boxed "boxed" "3 is odd",
        Sent "sent" "3 is odd",
        Ours "ours" "invalid program: 3 is odd"
    }
    // An error type is not flattened to its text.
    let Error::Body { source, .. } = Typed::new(&client).call([0f32; 3]).unwrap_err() else { unreachable!() };
    assert_eq!(source.downcast_ref::<Odd>().unwrap().0, 3);
}

// --- documentation

/// A crate that demands documentation.
#[deny(missing_docs)]
pub mod documented {
    use dispatch_runtime::prelude::*;

    /// Says nothing.
    ///
    /// Twice.
    #[dispatch_family]
    pub fn documented(
        /// The array.
        #[dynamic(dtype = f32, shape = [])]
        a: Aval,
        /// Whether.
        #[static_arg(default = false)]
        b: bool,
    ) -> Result<Program> {
        let _ = b;
        dispatch_tests::first(&[a])
    }
}

#[test]
fn arguments_may_be_documented() {
    let family = documented::Documented::new(&Client::host());
    assert_eq!(family.call(1.5f32, true).unwrap().to_vec::<f32>().unwrap(), [1.5]);
}
