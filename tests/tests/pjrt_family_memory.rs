//! What long use of families on a real plugin leaves behind: nothing. In a process of its own, since memory is the
//! process's.

mod plugin;

use std::sync::{Mutex, MutexGuard, PoisonError};

use dispatch_runtime::prelude::*;
use dispatch_tests::{resident_kib, short};
use plugin::{add, client, values};

/// One test at a time.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Fails if the memory grows by more than this many KiB from the tenth part of the repetitions on.
#[track_caller]
fn flat(repetitions: usize, kib: u64, mut what: impl FnMut(usize)) {
    let early = repetitions / 10;
    (0..early).for_each(&mut what);
    let before = resident_kib();
    (early..repetitions).for_each(&mut what);
    let after = resident_kib();
    assert!(after <= before + kib, "{before} KiB after {early} repetitions, {after} KiB after {repetitions}");
}

#[dispatch_family]
fn sum(#[dynamic(dtype = f32, shape = [..])] a: Aval, #[dynamic(like(a))] b: Aval) -> Result<Program> {
    assert_eq!(a, b);
    Program::stablehlo(add(&a.to_string()))
}

#[test]
fn a_million_dispatches_leave_memory_flat() {
    let _alone = alone();
    let client = client();
    let family = Sum::new(&client);
    let one = client.array(&[1f32; 4], [4]).unwrap();
    let mut x = client.array(&[0f32; 4], [4]).unwrap();
    let repetitions = if short() { 50_000 } else { 1_000_000 };
    flat(repetitions, 2048, |i| {
        // Now and then an upload, and a read.
        x = if i % 10 == 0 { family.call(&x, [1f32; 4]) } else { family.call(&x, &one) }.unwrap();
        if i % 1000 == 999 {
            assert_eq!(values::<f32>(&x), [(i + 1) as f32; 4]);
        }
    });
    assert_eq!(family.stats().hits, repetitions as u64 - 1);
}

#[test]
fn compiles_that_fail_leave_memory_flat() {
    let _alone = alone();

    #[dispatch_family]
    fn failing(#[dynamic(dtype = f32, shape = [])] a: Aval, #[static_arg] i: u64) -> Result<Program> {
        Program::stablehlo(add(&a.to_string()).replace("stablehlo.add", &format!("stablehlo.add_{i}")))
    }
    let family = Failing::new(&client());
    flat(if short() { 500 } else { 5000 }, 4096, |i| {
        assert_eq!(family.call(1.0, i as u64).unwrap_err().code(), "pjrt");
    });
    assert_eq!(family.stats().entries, 0);
}

#[test]
fn programs_that_come_and_go_leave_memory_flat() {
    let _alone = alone();
    let client = client();
    let family = Sum::builder(&client).capacity(2).build().unwrap();
    flat(if short() { 60 } else { 200 }, 16 * 1024, |i| {
        let x = client.array(&vec![1f32; i], [i as i64]).unwrap();
        assert_eq!(values::<f32>(&family.call(&x, &x).unwrap()), vec![2.0; i]);
        assert!(family.stats().entries <= 2);
    });
}
