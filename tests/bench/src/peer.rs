//! A benchmark's peer in another process: a Python script that does things as often as it is asked to.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// The folder with JAX, which `make bench` names.
const FOLDER: &str = "DISPATCH_BENCH_JAX";

/// Whether there is a JAX.
pub fn is_there() -> bool {
    std::env::var_os(FOLDER).is_some()
}

/// A script of `tests/bench/peers` that runs.
pub struct Peer {
    child: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Peer {
    /// Starts a script, if there is a JAX to run it with.
    pub fn start(script: &str, arguments: &[&Path]) -> Option<Peer> {
        let folder = std::env::var_os(FOLDER)?;
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers").join(script);
        let mut child = Command::new("python3")
            .arg(script)
            .args(arguments)
            .env("PYTHONPATH", folder)
            .env("JAX_PLATFORMS", "cpu")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("python3 starts");
        let requests = child.stdin.take().expect("it is piped");
        let answers = BufReader::new(child.stdout.take().expect("it is piped"));
        Some(Peer { child, requests, answers })
    }

    /// Has it done `n` times, and gives what the script answers when the results are there.
    pub fn run(&mut self, n: usize) -> String {
        writeln!(self.requests, "{n}").expect("the script reads");
        let mut answer = String::new();
        self.answers.read_line(&mut answer).expect("the script answers");
        assert!(!answer.is_empty(), "the script ended");
        answer.trim().to_owned()
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
