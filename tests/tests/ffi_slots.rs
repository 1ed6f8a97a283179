//! A process has a number of targets, and says so when they are spent. In a process of its own, since it spends them.

use dispatch_runtime::ffi::registry::{self, Platform, Registration};

#[test]
fn when_all_slots_are_taken_it_is_an_error_and_names_that_are_there_go_on() {
    let register = |target: &str| {
        let registration = Registration::closure(target, Platform::Cuda, |_, _, _| Ok(()));
        // SAFETY: the entry of a closure takes all frames.
        unsafe { registry::register(&Registration { owner: "test", ..registration }) }
    };
    let mut taken = 0;
    let error = loop {
        match register(&format!("target {taken}")) {
            Ok(()) => taken += 1,
            Err(error) => break error,
        }
    };
    assert_eq!((taken, registry::registered().len()), (1024, 1024));
    assert_eq!(
        error.to_string(),
        "cannot register the FFI handler `target 1024` for platform cuda: this process has had handlers under \
         1024 names, and that is the limit; 0 of them are removed, but XLA forgets no name: register under one of those \
         instead"
    );
    // A name keeps its slot: its owner may replace what it stands for, or come back.
    register("target 7").unwrap();
    assert_eq!(registry::remove_owner("test"), 1024);
    register("target 7").unwrap();
    register("target 1024").unwrap_err();
}
