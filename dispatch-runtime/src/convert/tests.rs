//! Registries without a language.

use std::any::TypeId;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use crate::{DType, HostArray, Result};

/// A converter that a test tells by its name; it counts how many of them there are.
struct Named(&'static str, Option<Arc<AtomicUsize>>);

impl Drop for Named {
    fn drop(&mut self) {
        if let Some(alive) = &self.1 {
            alive.fetch_sub(1, Ordering::SeqCst);
        }
    }
}

/// An object of these classes; the predicates of the converters named hold for it.
#[derive(Default)]
struct Thing<'a> {
    classes: &'a [&'a str],
    is: Option<TypeId>,
    satisfies: &'a [&'a str],
}

impl Subject<Named> for Thing<'_> {
    fn classes(&self) -> impl Iterator<Item = &str> {
        self.classes.iter().copied()
    }

    fn type_id(&self) -> Option<TypeId> {
        self.is
    }

    fn satisfies(&self, converter: &Named) -> Result<bool> {
        match converter.0 {
            "fails" => Err(Expected::new("x").error("the predicate failed")),
            name => Ok(self.satisfies.contains(&name)),
        }
    }
}

fn class(class: &str, name: &'static str) -> Registration<Named> {
    Registration::new(Match::class(class), name, Named(name, None))
}

fn predicate(name: &'static str) -> Registration<Named> {
    Registration::new(Match::Predicate, name, Named(name, None))
}

fn chosen(registry: &Registry<Named>, thing: &Thing<'_>) -> Option<&'static str> {
    registry.choose(thing, "x").unwrap().map(|entry| entry.converter().0)
}

fn of<'a>(classes: &'a [&'a str]) -> Thing<'a> {
    Thing { classes, ..Thing::default() }
}

#[test]
fn the_own_class_comes_before_inherited_ones_and_predicates_after_classes() {
    let registry = Registry::new();
    let both = Thing { classes: &["b", "a"], is: Some(TypeId::of::<u8>()), satisfies: &["p"] };
    assert_eq!(chosen(&registry, &both), None);
    let p = registry.register(predicate("p")).unwrap();
    assert_eq!(chosen(&registry, &both), Some("p"));
    let a = registry.register(class("a", "for a")).unwrap();
    assert_eq!(chosen(&registry, &both), Some("for a"));
    let b = registry.register(class("b", "for b")).unwrap();
    assert_eq!(chosen(&registry, &both), Some("for b"));
    let rule = Match::Type(TypeId::of::<u8>());
    let t = registry.register(Registration::new(rule, "for u8", Named("for u8", None))).unwrap();
    assert_eq!(chosen(&registry, &both), Some("for u8"));
    for (guard, next) in [(t, Some("for b")), (b, Some("for a")), (a, Some("p")), (p, None)] {
        drop(guard);
        assert_eq!(chosen(&registry, &both), next);
    }
    assert!(registry.is_idle() && registry.is_empty());
}

#[test]
fn two_that_are_equal_are_an_error_that_names_both() {
    let registry = Registry::new();
    let _a = registry.register(class("a", "first").package("stats")).unwrap();
    let b = registry.register(class("a", "second")).unwrap();
    let error = registry.choose(&of(&["a"]), "p$x").unwrap_err();
    assert_eq!(
        error.to_string(),
        "argument `p$x`: two converters are for class `a`, `first` of package stats and `second`: remove one, or make it \
         inactive"
    );
    assert_eq!((error.code(), error.argument()), ("converter", Some("p$x")));
    registry.set_active("first", false).unwrap();
    assert_eq!(chosen(&registry, &of(&["a"])), Some("second"));
    drop(b);
    assert_eq!(chosen(&registry, &of(&["a"])), None);

    let _p = registry.register(predicate("p")).unwrap();
    let _q = registry.register(predicate("q")).unwrap();
    let thing = Thing { satisfies: &["p", "q"], ..Thing::default() };
    let error = registry.choose(&thing, "x").unwrap_err().to_string();
    assert!(error.contains("two converters are for it by their predicates, `p` and `q`"), "{error}");
    let _fails = registry.register(predicate("fails")).unwrap();
    let error = registry.choose(&of(&["z"]), "x").unwrap_err();
    assert_eq!(
        error.to_string(),
        "argument `x`: the predicate of the converter `fails` failed: the predicate failed"
    );
}

#[test]
fn a_scope_comes_before_what_is_below_it_among_equals_only() {
    let below = Registry::new();
    let scope = below.scope();
    let _a = below.register(class("a", "below a")).unwrap();
    let _b = below.register(class("b", "below b")).unwrap();
    assert_eq!(chosen(&scope, &of(&["b", "a"])), Some("below b"));
    let over = scope.register(class("a", "over a")).unwrap();
    assert_eq!(chosen(&scope, &of(&["a"])), Some("over a"));
    assert_eq!(chosen(&scope, &of(&["b", "a"])), Some("below b"));
    assert_eq!(chosen(&below, &of(&["a"])), Some("below a"));
    scope.set_active(0, false).unwrap();
    assert_eq!(chosen(&scope, &of(&["a"])), Some("below a"));
    drop(over);
    assert!(scope.is_empty() && !scope.is_idle() && scope.below().is_some());
}

#[test]
fn status_is_asked_and_set_by_index_description_and_id() {
    let registry = Registry::new();
    let version = registry.version();
    let id = registry.register(class("a", "first")).unwrap().keep();
    registry.register(class("b", "second")).unwrap().keep();
    assert_ne!(registry.version(), version);
    let version = registry.version();
    assert!(registry.set_active("second", false).unwrap());
    assert!(!registry.set_active(1, false).unwrap());
    assert!(registry.set_active(Which::Id(id), true).unwrap());
    assert_ne!(registry.version(), version);
    let status = |registry: &Registry<Named>| -> Vec<(String, bool)> {
        registry.entries().iter().map(|entry| (entry.description().to_owned(), entry.is_active())).collect()
    };
    assert_eq!(status(&registry), [("first".to_owned(), true), ("second".to_owned(), false)]);
    let error = registry.none_for(&of(&["c", "d"]), "x").to_string();
    assert_eq!(
        error,
        "argument `x`: no converter is registered for an object of class `c`, `d`; registered are: `first` for class `a`; \
         inactive: `second` for class `b`"
    );
    for unknown in [Which::Index(2), Which::Description("third"), Which::Id(u64::MAX)] {
        let error = registry.remove(unknown).unwrap_err().to_string();
        assert!(
            error.starts_with("option `converter`: expected a registered converter (\"first\", \"second\")"),
            "{error}"
        );
    }
    registry.register(class("c", "first")).unwrap().keep();
    let error = registry.get("first").unwrap_err().to_string();
    assert!(error.contains("a description that only one converter has"), "{error}");
    assert_eq!(registry.remove(Which::Id(id)).unwrap().converter().0, "first");
    assert_eq!(registry.get("first").unwrap().rule(), &Match::class("c"));
    assert_eq!(registry.len(), 2);
    assert_eq!(registry.register(class("", "x")).unwrap_err().code(), "option");
    assert_eq!(registry.register(class("x", " ")).unwrap_err().code(), "option");
    assert_eq!(registry.register(class("\t", "x")).unwrap_err().code(), "option");
    assert_eq!(
        registry.register(predicate("")).unwrap_err().to_string(),
        "option `description`: expected a text that tells the converter from others, got \"\""
    );
    assert_eq!(registry.len(), 2);
}

#[test]
fn a_converter_that_was_removed_stays_with_who_has_it() {
    let alive = Arc::new(AtomicUsize::new(1));
    let registry = Registry::new();
    let what = Registration::new(Match::class("a"), "a", Named("a", Some(alive.clone())));
    let guard = registry.register(what).unwrap();
    let entry = registry.choose(&of(&["a"]), "x").unwrap().unwrap();
    drop(guard);
    assert_eq!((chosen(&registry, &of(&["a"])), alive.load(Ordering::SeqCst)), (None, 1));
    entry.count(8);
    assert_eq!((entry.calls(), entry.bytes_copied()), (1, 8));
    drop(entry);
    assert_eq!(alive.load(Ordering::SeqCst), 0);
}

/// A predicate that registers, removes and looks up while it is asked: no lock is held meanwhile.
#[test]
fn a_predicate_may_use_the_registry() {
    struct Asks(Registry<bool>);
    impl Subject<bool> for Asks {
        fn classes(&self) -> impl Iterator<Item = &str> {
            std::iter::empty()
        }
        fn satisfies(&self, converter: &bool) -> Result<bool> {
            let guard = self.0.register(Registration::new(Match::class("z"), "z", false))?;
            self.0.set_active("z", false)?;
            drop(guard);
            Ok(*converter)
        }
    }
    let registry = Registry::new();
    let _a = registry.register(Registration::new(Match::Predicate, "a", true)).unwrap();
    let _b = registry.register(Registration::new(Match::Predicate, "b", false)).unwrap();
    let found = registry.choose(&Asks(registry.clone()), "x").unwrap().unwrap();
    assert_eq!(found.description(), "a");
    assert_eq!(registry.len(), 2);
}

#[test]
fn eight_threads_register_remove_and_look_up_at_random() {
    const CLASSES: [&str; 4] = ["a", "b", "c", "d"];
    let (registry, alive) = (Registry::new(), Arc::new(AtomicUsize::new(0)));
    let steady = Registration::new(Match::class("steady"), "steady", Named("steady", None));
    let _steady = registry.register(steady).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..8u64 {
            let (registry, alive) = (&registry, &alive);
            scope.spawn(move || {
                let mut random = 0x9e37_79b9_7f4a_7c15 ^ (thread + 1);
                let mut guards = Vec::new();
                let mut versions = 0;
                for _ in 0..20_000 {
                    random ^= random << 13;
                    random ^= random >> 7;
                    random ^= random << 17;
                    let class = CLASSES[(random >> 8) as usize % 4];
                    match random % 8 {
                        0 => {
                            alive.fetch_add(1, Ordering::SeqCst);
                            let what = Named(class, Some(alive.clone()));
                            let what = Registration::new(Match::class(class), class, what);
                            guards.push(registry.register(what).unwrap());
                            // What a thread has done it sees.
                            assert!(!registry.is_idle());
                        }
                        1 | 2 if !guards.is_empty() => {
                            let id = guards.swap_remove((random >> 16) as usize % guards.len()).keep();
                            assert_eq!(registry.remove(Which::Id(id)).unwrap().id(), id);
                            assert!(registry.get(Which::Id(id)).is_err());
                        }
                        3 if !guards.is_empty() => {
                            let entry = guards[0].entry();
                            let was = entry.is_active();
                            assert_eq!(registry.set_active(Which::Id(entry.id()), !was).unwrap(), was);
                            assert_eq!(entry.is_active(), !was);
                        }
                        _ => {
                            let version = registry.version();
                            assert!(version >= versions);
                            versions = version;
                            // Two threads may have one for the class at once: that is an error, not another's.
                            if let Ok(Some(entry)) = registry.choose(&of(&[class]), "x") {
                                assert_eq!(entry.converter().0, class);
                                entry.count(1);
                            }
                            assert_eq!(chosen(registry, &of(&["other", "steady"])), Some("steady"));
                        }
                    }
                }
            });
        }
    });
    assert_eq!(alive.load(Ordering::SeqCst), 0);
    assert_eq!((registry.len(), registry.is_idle()), (1, false));
    drop(_steady);
    assert!(registry.is_idle() && registry.is_empty());
}

/// Checks that a converter takes the data where it is, and that it is what the array held.
fn check_taken<T>(converter: &impl Converter<T>, object: &T, array: &HostArray, memory: Option<*const u8>) {
    let described = converter.convert_in(object, &Expected::new("x")).unwrap();
    let view = described.view().unwrap();
    assert_eq!((view.dtype(), view.bytes()), (array.dtype(), Some(array.bytes())));
    if let Some(memory) = memory.filter(|_| view.len() > 0) {
        assert_eq!(view.as_ptr(), memory);
    }
}

/// An array of each dtype and some shapes, whose elements differ.
fn arrays() -> impl Iterator<Item = HostArray> {
    let shapes = [&[][..], &[3], &[2, 9], &[2, 3, 4], &[2, 0]];
    DType::ALL.iter().flat_map(move |&dtype| {
        shapes.map(|shape| {
            let count = shape.iter().product::<i64>() as usize * dtype.size();
            let of = |i| if dtype == DType::Bool { u8::from(i % 3 == 0) } else { i as u8 };
            HostArray::from_bytes(dtype, shape, &(0..count).map(of).collect::<Vec<_>>()).unwrap()
        })
    })
}

#[test]
fn an_array_of_the_host_is_given_to_other_libraries_where_it_is() {
    for array in arrays() {
        let given = array.clone();
        let memory = given.bytes().as_ptr();
        // SAFETY: it is exported for this test.
        let tensor = unsafe { dlpack::Tensor::from_raw(dlpack::export_host(given)).unwrap() };
        assert!(!tensor.is_read_only());
        assert_eq!(tensor.shape(), array.shape());
        check_taken(&dlpack::DlPack, &tensor, &array, Some(memory));

        let given = array.clone();
        let memory = given.bytes().as_ptr();
        let dtype = array.dtype();
        let exported = arrow::export_host(given);
        if matches!(dtype, DType::BF16 | DType::C64 | DType::C128) {
            let error = exported.unwrap_err().to_string();
            assert!(error.ends_with(&format!("that Arrow has a type for, got {dtype}")), "{error}");
            continue;
        }
        let (mut values, mut schema) = exported.unwrap();
        // SAFETY: both are exported for this test.
        let column = unsafe { arrow::Column::from_raw(&mut values, &mut schema).unwrap() };
        // Arrow's booleans are bits.
        check_taken(&arrow::Arrow, &column, &array, (dtype != DType::Bool).then_some(memory));
    }
}
