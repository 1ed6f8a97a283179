//! Helpers of the tests.

pub mod cases;
pub mod graphs;
pub mod loaded;

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use dispatch_runtime::prelude::*;

/// A program of the host and the fake engine that gives zeros.
pub fn zeros<O>(inputs: &[Aval], outputs: &[Aval]) -> Result<Program<O>> {
    let results = outputs.to_vec();
    Program::host(inputs, outputs, move |_| {
        Ok(results.iter().map(|aval| HostArray::zeros(aval.dtype(), aval.shape())).collect())
    })
}

/// A program of the host and the fake engine whose one result is its first argument.
pub fn first(inputs: &[Aval]) -> Result<Program> {
    Program::host(inputs, &inputs[..1], |args| Ok(vec![HostArray::from_view(args[0])]))
}

/// An array of zeros.
pub fn array(client: Client, dtype: DType, shape: &[i64]) -> Array {
    array_on(client.default_device(), dtype, shape)
}

/// An array of zeros on a device.
pub fn array_on(device: Device, dtype: DType, shape: &[i64]) -> Array {
    device.client().upload(HostArray::zeros(dtype, shape).view(), device).unwrap()
}

/// Whether long tests shall do less.
pub fn short() -> bool {
    std::env::var_os("DISPATCH_TEST_SHORT").is_some()
}

/// The resident memory of this process in KiB; 0 where the system does not say.
pub fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

/// Runs a test that might hang; fails if it takes more than 20 seconds.
#[track_caller]
pub fn without_hanging(test: impl FnOnce() + Send + 'static) {
    let (done, watch) = channel();
    let thread = thread::spawn(move || {
        test();
        let _ = done.send(());
    });
    match watch.recv_timeout(Duration::from_secs(20)) {
        Err(RecvTimeoutError::Timeout) => panic!("the test hangs"),
        _ => thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
    }
}
