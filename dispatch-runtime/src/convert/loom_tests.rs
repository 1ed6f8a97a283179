//! The registry under every interleaving and every outcome of the memory model.
//!
//! `RUSTFLAGS="--cfg loom" cargo test -p dispatch-runtime --release --lib --features convert loom`

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use loom::thread;

use super::{Match, Registration, Registry, Subject};
use crate::Result;

/// A converter that counts how many of its kind there are; not part of the model.
struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, SeqCst);
    }
}

struct Object;

impl Subject<Counted> for Object {
    fn classes(&self) -> impl Iterator<Item = &str> {
        std::iter::once("object")
    }

    fn satisfies(&self, _: &Counted) -> Result<bool> {
        Ok(false)
    }
}

fn registration(alive: &Arc<AtomicUsize>) -> Registration<Counted> {
    alive.fetch_add(1, SeqCst);
    Registration::new(Match::class("object"), "counted", Counted(alive.clone()))
}

/// Whether a converter is found now; 2 are an error.
fn found(registry: &Registry<Counted>) -> bool {
    registry.choose(&Object, "x").unwrap().is_some()
}

#[test]
fn who_sees_the_version_of_a_change_sees_the_change() {
    loom::model(|| {
        let (registry, alive) = (Registry::new(), Arc::default());
        let scope = registry.scope();
        let other = registry.clone();
        let registered = registration(&alive);
        let thread = thread::spawn(move || {
            let registered = other.register(registered).unwrap();
            assert!(found(&other));
            registered.keep()
        });
        // 1 is that of the registration.
        if scope.version() == 1 {
            assert!(!scope.is_idle() && found(&scope));
        }
        let id = thread.join().unwrap();
        assert!(found(&scope));
        let other = registry.clone();
        let thread = thread::spawn(move || other.set_active(super::Which::Id(id), false).unwrap());
        if scope.version() == 2 {
            assert!(scope.is_idle() && !found(&scope));
        }
        assert!(thread.join().unwrap());
        assert!(!found(&scope));
    });
}

#[test]
fn a_converter_ends_once_after_its_last_user() {
    loom::model(|| {
        let (registry, alive): (Registry<Counted>, Arc<AtomicUsize>) = (Registry::new(), Arc::default());
        let registered = registry.register(registration(&alive)).unwrap();
        let other = registry.clone();
        let counts = alive.clone();
        let thread = thread::spawn(move || {
            let found = other.choose(&Object, "x").unwrap();
            if let Some(entry) = found {
                // Removed or not, it is there as long as it is held.
                assert!(counts.load(SeqCst) >= 1);
                entry.count(8);
                assert_eq!(entry.calls(), 1);
            }
        });
        drop(registered);
        assert!(registry.is_empty() && registry.is_idle());
        thread.join().unwrap();
        assert_eq!(alive.load(SeqCst), 0);
    });
}

#[test]
fn two_that_come_and_go_at_once_leave_an_idle_registry() {
    loom::model(|| {
        let (registry, alive): (Registry<Counted>, Arc<AtomicUsize>) = (Registry::new(), Arc::default());
        let threads: Vec<_> = (0..2)
            .map(|_| {
                let (registry, registration) = (registry.clone(), registration(&alive));
                thread::spawn(move || {
                    let registered = registry.register(registration).unwrap();
                    // Its own, or two.
                    assert!(!registry.is_idle());
                    drop(registered);
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert!(registry.is_idle() && registry.is_empty() && !found(&registry));
        assert_eq!((registry.version(), alive.load(SeqCst)), (4, 0));
    });
}
