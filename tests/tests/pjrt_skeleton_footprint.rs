//! What runs of skeletons take in memory, as the system sees it, against what was told before.
//!
//! One test, since the memory is that of the process. Linux tells it, and forgets the most when it is asked to.
#![cfg(target_os = "linux")]

mod plugin;

use dispatch_runtime::prelude::*;
use dispatch_runtime::skeleton::{SkeletonSlot, capture};
use plugin::client;

/// Elements of each array: more bytes than any that the system's allocator keeps for later.
const N: i64 = 16 << 20;
const ARRAY: u64 = 4 * N as u64;
/// What other things in the process may take meanwhile.
const SMALL: u64 = ARRAY / 16;

/// A number of `/proc/self/status`, in bytes.
fn status(key: &str) -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix(key)).unwrap();
    line.trim_start_matches(':').trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}

/// The most memory that there was in `run` and not before.
fn grown<R>(run: impl FnOnce() -> R) -> (u64, R) {
    let before = status("VmRSS");
    std::fs::write("/proc/self/clear_refs", "5").unwrap();
    let result = run();
    (status("VmHWM").saturating_sub(before), result)
}

const CASES: [&str; 4] = ["one fusion", "seals", "a reversed sum", "captured"];
/// Says to a process of its own which case is its.
const CASE: &str = "DISPATCH_TEST_FOOTPRINT";

#[test]
fn a_run_takes_what_the_report_says() {
    if let Ok(case) = std::env::var(CASE) {
        return measure(&case);
    }
    // A process of its own for each: what an allocator keeps of a run it may give to the next one.
    for case in CASES {
        let itself =
            std::process::Command::new(std::env::current_exe().unwrap()).env(CASE, case).output().unwrap();
        let told = String::from_utf8_lossy(&itself.stdout);
        assert!(itself.status.success() && told.contains("1 passed"), "{case}: {told}");
    }
}

fn measure(case: &str) {
    let client = client();
    let (x, y) = (SkeletonSlot::new(DType::F32, [N]), SkeletonSlot::new(DType::F32, [N]));
    let filled = |value: f32| {
        let filled = Value::full(DType::F32, [N], value).into_skeleton(&client, &[]).unwrap();
        let array = filled.run::<&Array>(&[]).unwrap();
        array.await_ready().unwrap();
        array
    };
    let (a, b) = (filled(1.0), filled(2.0));
    let inner = (&x * 2.0 + 1.0).into_skeleton(&client, &[&x]).unwrap();
    let skeleton = match case {
        "one fusion" => inner.compose_inlined(&[&(&x * &y)]).unwrap().exp().into_skeleton(&client, &[&x, &y]),
        "seals" => {
            let once = inner.compose(&[&(&x * &y)]).unwrap().exp();
            inner.compose(&[&once]).unwrap().max(..).into_skeleton(&client, &[&x, &y])
        }
        "a reversed sum" => ((&x + &y).reverse([0]).cumsum(0) - &x).into_skeleton(&client, &[&x, &y]),
        _ => (&x + capture(&b)).max(..).into_skeleton(&client, &[&x]),
    };
    let skeleton = skeleton.unwrap();
    let report = skeleton.memory_report();
    assert_eq!(report.argument_bytes, 2 * ARRAY);
    let inputs = &[&a, &b][..skeleton.inputs().len()];
    let (most, result) = grown(|| {
        let result = skeleton.run(inputs).unwrap();
        result.await_ready().unwrap();
        result
    });
    assert_eq!(report.output_bytes, result.aval().size_bytes() as u64);
    let expected = report.peak_bytes - report.argument_bytes;
    assert!(most.abs_diff(expected) <= SMALL, "{most} bytes for {expected} of {report:?}");
}
