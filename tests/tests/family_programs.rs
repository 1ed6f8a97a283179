//! What a body claims about its program is checked against what was compiled, and executables check their arguments.

use dispatch_runtime::engine::fake::FakeEngine;
use dispatch_runtime::prelude::*;
use dispatch_runtime::program::Source;
use dispatch_tests::{array, array_on, zeros};

fn f32s(shape: &[i64]) -> Aval {
    Aval::new(DType::F32, shape)
}

fn inputs() -> [Aval; 2] {
    [f32s(&[2]), f32s(&[3])]
}

/// The error of a family of two arguments, f32[2] and a list of one f32[3], whose program is this.
macro_rules! refused {
    ($output:ty, $program:expr) => {{
        #[dispatch_family]
        fn checked(
            #[dynamic(dtype = f32, shape = [2])] a: Aval,
            #[dynamic(dtype = f32, shape = [3])] bs: Vec<Aval>,
        ) -> Result<Program<$output>> {
            let _ = (a, bs);
            $program
        }
        let (client, state) = FakeEngine::client(1);
        let family = Checked::new(&client);
        let (a, b) = (array(client, DType::F32, &[2]), array(client, DType::F32, &[3]));
        let error = family.call(&a, &[b][..]).map(|_| ()).unwrap_err();
        assert_eq!((error.code(), state.executes(), family.stats().entries), ("program", 0, 0));
        assert_eq!(state.live_executables(), 0);
        error.to_string()
    }};
}

#[test]
fn a_program_takes_as_many_arguments_as_the_call_has_arrays() {
    let text = refused!(Array, zeros(&[f32s(&[2])], &[f32s(&[])]));
    assert_eq!(text, "the program of family `checked` must take 2 arguments, it takes 1");
    let text = refused!(Array, zeros(&[f32s(&[2]), f32s(&[3]), f32s(&[])], &[f32s(&[])]));
    assert_eq!(text, "the program of family `checked` must take 2 arguments, it takes 3");
}

#[test]
fn a_program_takes_arguments_of_the_dtypes_and_shapes_of_the_call() {
    let text = refused!(Array, zeros(&[f32s(&[2]), f32s(&[4])], &[f32s(&[])]));
    assert_eq!(
        text,
        "the program of family `checked` must take `bs[[1]]` as tensor<3xf32>, it takes tensor<4xf32>"
    );
    let text = refused!(Array, zeros(&[Aval::new(DType::F64, [2]), f32s(&[3])], &[f32s(&[])]));
    assert_eq!(
        text,
        "the program of family `checked` must take `a` as tensor<2xf32>, it takes tensor<2xf64>"
    );
    // In the wrong order.
    let text = refused!(Array, zeros(&[f32s(&[3]), f32s(&[2])], &[f32s(&[])]));
    assert_eq!(
        text,
        "the program of family `checked` must take `a` as tensor<2xf32>, it takes tensor<3xf32>"
    );
}

#[test]
fn a_program_gives_as_many_results_as_its_type_has_arrays() {
    let text = refused!(Array, zeros(&inputs(), &[]));
    assert_eq!(text, "the program of family `checked` must give 1 result, as its type says, it gives 0");
    let text = refused!((), zeros(&inputs(), &[f32s(&[])]));
    assert_eq!(text, "the program of family `checked` must give 0 results, as its type says, it gives 1");
    let text = refused!((Array, [Array; 2]), zeros(&inputs(), &[f32s(&[])]));
    assert_eq!(text, "the program of family `checked` must give 3 results, as its type says, it gives 1");
}

#[test]
fn a_program_gives_the_results_that_its_body_says() {
    let text = refused!(Array, Ok(zeros(&inputs(), &[f32s(&[2])])?.with_outputs([f32s(&[3])])));
    assert_eq!(
        text,
        "the program of family `checked` must give [tensor<3xf32>], as the body says, it gives [tensor<2xf32>]"
    );
    let text = refused!(
        (Array, Array),
        Ok(zeros(&inputs(), &[f32s(&[2]), f32s(&[])])?.with_outputs([f32s(&[2]), Aval::new(DType::I32, [])]))
    );
    assert_eq!(
        text,
        concat!(
            "the program of family `checked` must give [tensor<2xf32>, tensor<i32>], as the body says, ",
            "it gives [tensor<2xf32>, tensor<f32>]"
        )
    );
    assert!(refused!(Array, Ok(zeros(&inputs(), &[f32s(&[2])])?.with_outputs([]))).contains("must give []"));
}

#[test]
fn a_claim_that_holds_is_no_error() {
    #[dispatch_family]
    fn honest(#[dynamic(dtype = f32, shape = [n])] a: Aval) -> Result<Program> {
        let out = Aval::new(DType::F64, [n, n]);
        Ok(zeros(&[a], std::slice::from_ref(&out))?.with_outputs([out]))
    }
    assert_eq!(Honest::new(&Client::host()).call([0f32; 2]).unwrap().shape(), [2, 2]);
}

#[test]
fn a_text_that_is_no_program_is_an_error_of_the_compiler() {
    #[dispatch_family]
    fn garbled(#[dynamic(dtype = f32, shape = [])] a: Aval) -> Result<Program> {
        Program::stablehlo(format!("no program of {a}"))
    }
    let (client, _) = FakeEngine::client(1);
    let family = Garbled::new(&client);
    assert_eq!(family.call(1.0).unwrap_err().code(), "invalid_program");
    assert_eq!(family.stats().entries, 0);
    let error = Garbled::new(&Client::host()).call(1.0).unwrap_err();
    assert_eq!(
        error.to_string(),
        concat!(
            "invalid program: the host engine runs Rust closures (`Program::host`), not StableHLO; ",
            "StableHLO needs a PJRT client, such as `Client::cpu()`"
        )
    );
}

#[test]
fn a_closure_that_gives_something_else_than_declared_is_an_error_of_the_call() {
    #[dispatch_family]
    fn liar(#[dynamic(dtype = f32, shape = [n])] a: Aval, #[static_arg] how: i64) -> Result<Program> {
        let out = Aval::new(DType::F32, [n]);
        Program::host([a], [out], move |args| {
            Ok(match how {
                0 => vec![],
                1 => vec![HostArray::new([1f32], [])?],
                2 => return Err(Error::InvalidProgram { reason: "it did not work".into() }),
                _ => panic!("not {}", args.len()),
            })
        })
    }
    let client = Client::host();
    let family = Liar::new(&client);
    let text = |how| family.call([1f32; 2], how).unwrap_err().to_string();
    assert_eq!(text(0), "the program of a host closure declares 1 result, it returned 0");
    assert_eq!(text(1), "the program of a host closure declares f32[2] as result 1, it returned f32[]");
    assert_eq!(text(2), "invalid program: it did not work");
    assert_eq!(text(3), "a host closure panicked: not 1");
    // The programs stay: it was their runs that failed.
    assert_eq!((family.stats().entries, family.stats().compiles), (4, 4));
}

// --- executables without a cache

#[test]
fn an_executable_checks_its_arguments_before_the_engine_is_called() {
    let (client, state) = FakeEngine::client(2);
    let (other, _) = FakeEngine::client(1);
    let compile = |text: &str| client.compile(Source::StableHlo(text.into())).unwrap();
    let two = compile("// fake: f32[2], i32[] donated -> i32[]");
    let one = compile("// fake: f32[2] -> i32[]");
    let second = client.devices().nth(1).unwrap();
    let a = array(client, DType::F32, &[2]);
    let b = array(client, DType::I32, &[]);
    let gone = array(client, DType::I32, &[]);
    two.execute(&[&a, &gone]).unwrap();

    let refuses = |executable: &Executable, args: &[&Array], code: &str, text: &str| {
        let error = executable.execute(args).unwrap_err();
        assert_eq!((error.to_string().as_str(), error.code()), (text, code));
    };
    refuses(
        &two,
        &[],
        "argument_count",
        "the executable takes 2 arguments, got 0; argument 1 is missing, f32[2]",
    );
    refuses(
        &two,
        &[&a],
        "argument_count",
        "the executable takes 2 arguments, got 1; argument 2 is missing, i32[]",
    );
    refuses(
        &two,
        &[&a, &b, &a],
        "argument_count",
        "the executable takes 2 arguments, got 3; argument 3 is one too many",
    );
    refuses(
        &one,
        &[],
        "argument_count",
        "the executable takes 1 argument, got 0; argument 1 is missing, f32[2]",
    );
    refuses(&two, &[&b, &b], "dtype", "argument `1`: expected dtype f32, got i32");
    refuses(
        &two,
        &[&a, &array(client, DType::I32, &[1])],
        "shape",
        "argument `2`: expected shape [], got [1]",
    );
    refuses(
        &one,
        &[&array(client, DType::F32, &[1, 2])],
        "shape",
        "argument `1`: expected shape [2], got [1,2]",
    );
    refuses(&one, &[&array(client, DType::F32, &[3])], "shape", "argument `1`: expected shape [2], got [3]");
    refuses(
        &one,
        &[&array(other, DType::F32, &[2])],
        "client",
        concat!(
            "argument `1`: expected an array of client fake of the fake engine, ",
            "got one of another client fake of the fake engine"
        ),
    );
    refuses(
        &one,
        &[&array_on(second, DType::F32, &[2])],
        "device",
        "argument `1`: expected an array on fake:0, got one on fake:1",
    );
    refuses(
        &two,
        &[&a, &gone],
        "donated",
        "argument `2`: the array was donated to an earlier call and is gone",
    );
    assert_eq!(state.executes(), 1);
    state.assert_no_faults();
}

#[test]
fn arrays_say_what_cannot_be_done_with_them() {
    let (client, _) = FakeEngine::client(2);
    let other = Client::host();
    let a = array(client, DType::F32, &[2]);
    let elsewhere = other.default_device();
    assert_eq!(
        a.to_vec::<f64>().unwrap_err().to_string(),
        "argument `self`: expected dtype f32, got f64 from the type asked for"
    );
    assert_eq!(
        a.to_device(elsewhere).unwrap_err().to_string(),
        "argument `device`: expected a device of client fake of the fake engine, got one of client host of the host engine 0.1.0"
    );
    assert_eq!(client.array_on(&[1f32], [], elsewhere).unwrap_err().code(), "client");
    assert_eq!(
        client.array(&[1f32], [2]).unwrap_err().to_string(),
        "argument `shape`: expected shape of 1 element, got [2]"
    );
    assert_eq!(client.array(&[1f32; 6], [-2, -3]).unwrap_err().code(), "shape");
    let gone = array(client, DType::F32, &[2]);
    let eats = client.compile(Source::StableHlo("// fake: f32[2] donated -> f32[2]".into())).unwrap();
    eats.execute(&[&gone]).unwrap();
    let text = "argument `self`: the array was donated to an earlier call and is gone";
    assert_eq!(gone.to_vec::<f32>().unwrap_err().to_string(), text);
    assert_eq!(gone.is_ready().unwrap_err().to_string(), text);
    assert_eq!(gone.await_ready().unwrap_err().to_string(), text);
    assert_eq!(gone.to_device(gone.device()).unwrap_err().to_string(), text);
    // What it was is still known.
    assert_eq!(
        (gone.shape(), gone.dtype(), format!("{gone:?}").as_str()),
        (&[2][..], DType::F32, "Array(f32[2] on fake:0, donated)")
    );
}
