//! What fails, or is dropped, leaves nothing behind.

mod plugin;

use std::sync::{Mutex, PoisonError};

use dispatch_runtime::program::Source;
use plugin::{add, client, compile, resident, run, values};

/// Repetitions: few in the short form.
fn times(short: usize, full: usize) -> usize {
    if std::env::var_os("DISPATCH_TEST_SHORT").is_some() { short } else { full }
}

/// Resident memory is that of the whole process, so one test at a time.
static ALONE: Mutex<()> = Mutex::new(());

/// Runs `work` often and checks that resident memory stays flat after a warm-up.
fn stays_flat(allowed: usize, warm_up: usize, count: usize, mut work: impl FnMut(usize)) {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    (0..warm_up).for_each(&mut work);
    let before = resident();
    (0..count).for_each(&mut work);
    let grown = resident().saturating_sub(before);
    assert!(grown < allowed, "{count} repetitions took {grown} bytes");
}

#[test]
fn failing_compiles_leak_nothing() {
    let client = client();
    // 20 bytes a compile, and some noise: a leaked error, or its message, would be more.
    let count = times(5_000, 100_000);
    stays_flat(20 * count + (2 << 20), 2_000, count, |i| {
        let error = client
            .compile_on(Source::StableHlo(format!("garbage_{i}")), client.default_device())
            .unwrap_err();
        assert_eq!(error.code(), "pjrt");
    });
}

#[test]
fn executables_and_arrays_give_their_memory_back() {
    let client = client();
    let text = add("tensor<1000xf64>");
    // Each holds 0.1 MB.
    stays_flat(8 << 20, 20, times(40, 200), |_| {
        let executable = compile(client, &text);
        let a = client.array(&[1.0; 1000], [1000]).unwrap();
        assert_eq!(values::<f64>(&run(&executable, &[&a, &a]))[999], 2.0);
    });
}

#[test]
fn runs_leave_nothing_behind() {
    let client = client();
    let executable = compile(client, &add("tensor<4xf32>"));
    let a = client.array(&[1f32; 4], [4]).unwrap();
    let count = times(50_000, 500_000);
    stays_flat(4 << 20, 10_000, count, |i| {
        let sum = run(&executable, &[&a, &a]);
        if i % 16 == 0 {
            assert_eq!(values::<f32>(&sum), [2.0; 4]);
        }
    });
}
