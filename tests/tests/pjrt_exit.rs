//! The end of the process while programs run that nobody waited for.

use std::process::Command;
use std::time::Duration;

use dispatch_runtime::ffi::{self, AnyBuffer, AnyBufferMut};
use dispatch_runtime::graph::{Graph, Value, while_loop};
use dispatch_runtime::program::Source;
use dispatch_runtime::{Aval, Client, DType, ffi_handler};

/// Not a test: what the processes below run. It launches programs and exits.
#[test]
#[ignore = "run by the other tests, as another process"]
fn child() {
    let client = Client::cpu().unwrap();
    let graph = Graph::new();
    let x = graph.input("x", &Aval::new(DType::F32, [64, 64]));
    let result = std::env::var("DISPATCH_TEST_RESULT").unwrap();
    if result.starts_with("handler") {
        return handlers(client, &result);
    }
    let chain = (0..8).fold(x.clone(), |value: Value, _| value.matmul(&x).tanh());
    let value = match result.as_str() {
        "endless" => while_loop(chain, |x| x.max(..).lt(10.0), |x| x.tanh()),
        _ => chain,
    };
    let executable = client.compile(graph.program(&value).unwrap()).unwrap();
    let a = client.array(&[0.1f32; 4096], [64, 64]).unwrap();
    let results = executable.execute(&[&a]).unwrap();
    match result.as_str() {
        "read" => assert_eq!(results[0].to_vec::<f32>().unwrap().len(), 4096),
        "kept" | "endless" => std::mem::forget((results, executable)),
        _ => {}
    }
}

/// Launches programs whose handler sleeps on a thread of the plugin, or leaves its answer to another thread.
fn handlers(client: Client, result: &str) {
    let later = result == "handler that answers later";
    let registered = if later {
        client.register_ffi_handler("sleeps", &ANSWERS_LATER)
    } else {
        client.register_ffi_closure("sleeps", |_, mut rets, _| {
            std::thread::sleep(Duration::from_millis(200));
            rets.get::<f32>(0)?.fill(1.0);
            Ok(())
        })
    };
    registered.unwrap();
    let text = "func.func @main(%x: tensor<128x128xf32>) -> tensor<128x128xf32> {
          %0 = stablehlo.dot %x, %x : (tensor<128x128xf32>, tensor<128x128xf32>) -> tensor<128x128xf32>
          %1 = \"stablehlo.custom_call\"(%0) {call_target_name = \"sleeps\", api_version = 4 : i32,
            has_side_effect = true} : (tensor<128x128xf32>) -> tensor<128x128xf32>
          %2 = stablehlo.dot %1, %x : (tensor<128x128xf32>, tensor<128x128xf32>) -> tensor<128x128xf32>
          return %2 : tensor<128x128xf32>
        }";
    let executable = client.compile(Source::StableHlo(text.into())).unwrap();
    let x = client.array(&[0.1f32; 128 * 128], [128, 128]).unwrap();
    std::mem::forget((executable.execute(&[&x]).unwrap(), executable));
}

#[ffi_handler]
fn answers_later(#[arg] _x: AnyBuffer, #[ret] mut _out: AnyBufferMut) -> ffi::Future {
    let (promise, future) = ffi::promise();
    std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(200));
        promise.complete(Ok(()));
    });
    future
}

/// Whether each of many such processes ends well.
fn exits(result: &str) {
    let times = if result == "endless" {
        2
    } else if std::env::var_os("DISPATCH_TEST_SHORT").is_some() {
        4
    } else {
        12
    };
    for i in 0..times {
        // With one thread the main one makes the client, else another one does.
        let threads = if i % 2 == 0 { "2" } else { "1" };
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "child", "--ignored", &format!("--test-threads={threads}")])
            .env("DISPATCH_TEST_RESULT", result)
            .output()
            .unwrap();
        let said = [output.stdout, output.stderr].concat();
        assert!(output.status.success(), "run {i}: {}\n{}", output.status, String::from_utf8_lossy(&said));
    }
}

#[test]
fn a_process_that_drops_what_is_being_computed_exits_well() {
    exits("dropped");
}

#[test]
fn a_process_that_keeps_what_is_being_computed_exits_well() {
    exits("kept");
}

#[test]
fn a_process_that_read_its_results_exits_well() {
    exits("read");
}

#[test]
fn a_process_exits_well_while_a_handler_sleeps() {
    exits("handler");
}

#[test]
fn a_process_exits_well_while_an_answer_is_promised() {
    exits("handler that answers later");
}

#[test]
fn a_process_does_not_wait_for_ever() {
    exits("endless");
}

/// Says that the handlers of the exit are run.
#[cfg(target_os = "linux")]
extern "C" fn handled() {
    // SAFETY: ends the process.
    unsafe { libc::_exit(9) }
}

#[test]
#[cfg(target_os = "linux")]
fn a_forked_child_does_not_wait_for_its_parent() {
    let client = Client::cpu().unwrap();
    let graph = Graph::new();
    let x = graph.input("x", &Aval::new(DType::F32, [64, 64]));
    let chain = (0..300).fold(x.clone(), |value: Value, _| value.matmul(&x).tanh());
    let program = graph.program(&chain).unwrap();
    std::thread::scope(|scope| {
        let compile = scope.spawn(|| client.compile(program).unwrap());
        std::thread::sleep(std::time::Duration::from_millis(20));
        assert!(!compile.is_finished());
        // SAFETY: the child calls nothing but these, until its first handler ends it.
        let child = unsafe {
            let child = libc::fork();
            if child == 0 {
                libc::atexit(handled);
                libc::exit(3);
            }
            child
        };
        let mut status = 0;
        // SAFETY: the number is ours.
        assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
        assert_eq!(libc::WEXITSTATUS(status), 9);
        compile.join().unwrap();
    });
}
