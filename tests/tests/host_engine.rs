//! The closure engine, and the checks that an executable makes before it calls any engine.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use dispatch_runtime::program::Source;
use dispatch_runtime::{Array, Aval, Client, DType, Error, Executable, HostArray, HostView, Program, Result};

fn f32s(shape: &[i64]) -> Aval {
    Aval::new(DType::F32, shape)
}

fn compile(
    client: Client,
    inputs: impl Into<Vec<Aval>>,
    outputs: impl Into<Vec<Aval>>,
    run: impl Fn(&[HostView<'_>]) -> Result<Vec<HostArray>> + Send + Sync + 'static,
) -> Executable {
    client.compile(Program::<Array>::host(inputs, outputs, run).unwrap()).unwrap()
}

/// `a + b` of two f32[2].
fn adder(client: Client) -> Executable {
    compile(client, [f32s(&[2]), f32s(&[2])], [f32s(&[2])], |args| {
        let (a, b) = (args[0].as_slice::<f32>().unwrap(), args[1].as_slice::<f32>().unwrap());
        Ok(vec![HostArray::new([a[0] + b[0], a[1] + b[1]], [2])?])
    })
}

#[test]
fn a_closure_runs_on_uploaded_arrays() {
    let client = Client::host();
    let add = adder(client);
    let (a, b) = (client.array(&[1f32, 2.0], [2]).unwrap(), client.array(&[10f32, 20.0], [2]).unwrap());
    let sum = add.execute(&[&a, &b]).unwrap().remove(0);
    let twice = add.execute(&[&sum, &sum]).unwrap().remove(0);
    drop((add, a, sum)); // results outlive what made them
    assert_eq!(twice.to_vec::<f32>().unwrap(), [22.0, 44.0]);
    assert!(twice.is_ready().unwrap());
    twice.await_ready().unwrap();
}

#[test]
fn no_arguments_empty_arrays_and_several_results_work() {
    let client = Client::host();
    let three = compile(
        client,
        [],
        [Aval::new(DType::I64, []), f32s(&[0, 3]), Aval::new(DType::Bool, [1, 1])],
        |_| {
            Ok(vec![
                HostArray::new([7i64], [])?,
                HostArray::new::<f32>([], [0, 3])?,
                HostArray::new([true], [1, 1])?,
            ])
        },
    );
    let results = three.execute(&[]).unwrap();
    assert_eq!(results[0].to_vec::<i64>().unwrap(), [7]);
    assert_eq!((results[1].to_vec::<f32>().unwrap().len(), results[1].shape()), (0, &[0, 3][..]));
    assert_eq!(results[2].to_vec::<bool>().unwrap(), [true]);
}

#[test]
fn there_is_one_host_client_and_as_many_others_as_wanted() {
    assert_eq!(Client::host(), Client::host());
    let two = Client::host_with_devices(2).unwrap();
    assert_ne!(two, Client::host());
    assert_eq!(two.devices().map(|d| d.to_string()).collect::<Vec<_>>(), ["host:0", "host:1"]);
    assert_eq!(Client::host_with_devices(0).unwrap_err().code(), "option");

    let second = two.devices().nth(1).unwrap();
    let there = two.array(&[1f32, 2.0], [2]).unwrap().to_device(second).unwrap();
    assert_eq!(there.device(), second);
    let program = adder(two);
    let error = program.execute(&[&there, &there]).unwrap_err();
    assert_eq!(error.to_string(), "argument `1`: expected an array on host:0, got one on host:1");
}

#[test]
fn stablehlo_is_refused_with_a_hint() {
    for source in [Source::StableHlo("module {}".into()), Source::Bytecode(vec![1, 2])] {
        let error = Client::host().compile(&source).unwrap_err();
        assert_eq!(error.code(), "invalid_program");
        assert!(error.to_string().contains("Client::cpu()"), "{error}");
    }
}

#[test]
fn a_host_slice_changed_after_the_upload_does_not_change_the_array() {
    let mut data = [1f32, 2.0];
    let a = Client::host().array(&data, [2]).unwrap();
    data[0] = 9.0;
    assert_eq!((a.to_vec::<f32>().unwrap(), data[0]), (vec![1.0, 2.0], 9.0));
}

#[test]
fn wrong_results_are_named_on_every_run() {
    let runs = Arc::new(AtomicUsize::new(0));
    let counter = runs.clone();
    let fickle = compile(Client::host(), [], [f32s(&[2]), f32s(&[])], move |_| {
        let pair = HostArray::new([1f32, 2.0], [2])?;
        Ok(match counter.fetch_add(1, Ordering::Relaxed) {
            0 => vec![pair, HostArray::new([0f32], [])?],
            1 => vec![pair],
            2 => vec![pair, HostArray::new([0f64], [])?],
            _ => vec![HostArray::new([1f32, 2.0], [2, 1])?, HostArray::new([0f32], [])?],
        })
    });
    assert_eq!(fickle.execute(&[]).unwrap().len(), 2);
    for message in [
        "the program of a host closure declares 2 results, it returned 1",
        "the program of a host closure declares f32[] as result 2, it returned f64[]",
        "the program of a host closure declares f32[2] as result 1, it returned f32[2,1]",
    ] {
        let error = fickle.execute(&[]).unwrap_err();
        assert_eq!((error.code(), error.to_string()), ("program", message.to_owned()));
    }
}

#[test]
fn an_error_or_a_panic_of_the_closure_is_an_error_of_the_call_and_the_next_call_works() {
    let runs = AtomicUsize::new(0);
    let unlucky = compile(Client::host(), [], [], move |_| match runs.fetch_add(1, Ordering::Relaxed) {
        0 => panic!("out of {}", "luck"),
        1 => panic!("plain"),
        2 => Err(Error::InvalidProgram { reason: "not today".into() }),
        3 => std::panic::panic_any(5),
        _ => Ok(vec![]),
    });
    for message in [
        "a host closure panicked: out of luck",
        "a host closure panicked: plain",
        "invalid program: not today",
        "a host closure panicked: a panic without a text",
    ] {
        assert_eq!(unlucky.execute(&[]).unwrap_err().to_string(), message);
    }
    assert!(unlucky.execute(&[]).unwrap().is_empty());
}

#[test]
fn each_wrong_argument_is_named_before_the_engine_is_called() {
    let client = Client::host();
    let add = compile(client, [f32s(&[2]), f32s(&[2])], [], |_| panic!("the engine was called"));
    let good = client.array(&[1f32, 2.0], [2]).unwrap();
    let message = |args: &[&Array]| add.execute(args).unwrap_err().to_string();

    assert_eq!(message(&[&good]), "the executable takes 2 arguments, got 1; argument 2 is missing, f32[2]");
    assert_eq!(message(&[]), "the executable takes 2 arguments, got 0; argument 1 is missing, f32[2]");
    assert_eq!(
        message(&[&good, &good, &good]),
        "the executable takes 2 arguments, got 3; argument 3 is one too many"
    );
    let dtype = client.array(&[1f64, 2.0], [2]).unwrap();
    assert_eq!(message(&[&good, &dtype]), "argument `2`: expected dtype f32, got f64");
    let rank = client.array(&[1f32, 2.0], [2, 1]).unwrap();
    assert_eq!(message(&[&rank, &good]), "argument `1`: expected shape [2], got [2,1]");
    let size = client.array(&[1f32], [1]).unwrap();
    assert_eq!(message(&[&good, &size]), "argument `2`: expected shape [2], got [1]");
    let elsewhere = Client::host_with_devices(1).unwrap().array(&[1f32, 2.0], [2]).unwrap();
    let error = add.execute(&[&good, &elsewhere]).unwrap_err();
    assert_eq!((error.code(), error.argument()), ("client", Some("2")));
}

#[test]
fn programs_run_on_many_threads_at_once() {
    let client = Client::host();
    let add = adder(client);
    std::thread::scope(|scope| {
        for t in 0..4 {
            let add = &add;
            scope.spawn(move || {
                let step = client.array(&[t as f32, 1.0], [2]).unwrap();
                let mut sum = client.array(&[0f32, 0.0], [2]).unwrap();
                for _ in 0..100 {
                    sum = add.execute(&[&sum, &step]).unwrap().remove(0);
                }
                assert_eq!(sum.to_vec::<f32>().unwrap(), [100.0 * t as f32, 100.0]);
            });
        }
    });
}

#[test]
fn a_closure_is_inspected_as_far_as_anybody_knows_it() {
    let add = adder(Client::host());
    let inspection = add.inspect().unwrap();
    assert_eq!((&*inspection.inputs, &*inspection.outputs), (add.inputs(), add.outputs()));
    assert_eq!((inspection.flops, inspection.memory, &inspection.optimized_hlo), (None, None, &None));
    let report = inspection.to_string();
    assert!(report.starts_with("(f32[2], f32[2]) -> (f32[2])\non host:0, by the host engine "), "{report}");
    assert!(report.ends_with("\nflops      unknown\naccessed   unknown\nmemory     unknown\n"), "{report}");
}

#[test]
fn a_program_is_printed_in_the_form_it_has() {
    let text = |program: Result<Program>| program.unwrap().inspect().to_string();
    assert_eq!(text(Program::stablehlo("module {}\n")), "module {}\n");
    assert_eq!(
        text(Program::host([f32s(&[2, 3])], [f32s(&[]), f32s(&[2])], |_| Ok(vec![]))),
        "a function on the host: (f32[2,3]) -> (f32[], f32[2])"
    );
    let bytecode = b"ML\xefR\x0dStableHLO_v1.9.3\0\x05rest";
    assert_eq!(text(Program::bytecode(&bytecode[..])), "27 bytes of StableHLO bytecode (StableHLO_v1.9.3)");
    for broken in [&b""[..], b"ML\xefR", b"ML\xefR\x0dno end", b"module {}\0"] {
        let expected = format!("{} bytes that are no MLIR bytecode", broken.len());
        assert_eq!(text(Program::bytecode(broken)), expected);
    }
}
