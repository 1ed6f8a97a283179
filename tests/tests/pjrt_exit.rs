//! The end of the process while programs run that nobody waited for.

use std::process::Command;

use dispatch_runtime::graph::{Graph, Value, while_loop};
use dispatch_runtime::{Aval, Client, DType};

/// Not a test: what the processes below run. It launches programs and exits.
#[test]
#[ignore = "run by the other tests, as another process"]
fn child() {
    let client = Client::cpu().unwrap();
    let graph = Graph::new();
    let x = graph.input("x", &Aval::new(DType::F32, [64, 64]));
    let result = std::env::var("DISPATCH_TEST_RESULT").unwrap();
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
