//! Objects as arguments of families, on the fake engine: which program is run, what is left after a failure, and threads.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread::scope;

use dispatch_runtime::convert::{Converters, CopyPolicy, Described, Expected};
use dispatch_runtime::engine::fake::{FakeEngine, Op};
use dispatch_runtime::prelude::*;
use dispatch_tests::{short, without_hanging};

/// The numbers 1 to a length, by whichever converter.
struct Sequence(i64);

fn integers<'a>(sequence: &'a Sequence, _: &Expected<'_>) -> Result<Described<'a>> {
    Ok(Described::owned(HostArray::new((1..=sequence.0 as i32).collect::<Vec<_>>(), [sequence.0])?))
}

fn doubles<'a>(sequence: &'a Sequence, _: &Expected<'_>) -> Result<Described<'a>> {
    Ok(Described::owned(HostArray::new(
        (1..=sequence.0).map(|i| i as f64).collect::<Vec<_>>(),
        [sequence.0],
    )?))
}

/// Each number twice.
fn twice<'a>(sequence: &'a Sequence, _: &Expected<'_>) -> Result<Described<'a>> {
    let numbers: Vec<f64> = (2..2 * sequence.0 + 2).map(|i| (i / 2) as f64).collect();
    Ok(Described::owned(HostArray::new(numbers, [2 * sequence.0])?))
}

/// What the program was compiled for, and the sum of what it is given.
#[dispatch_family(capacity = 3)]
fn told(#[dynamic(dtype = [i32, f64], shape = [n])] x: Aval) -> Result<Program> {
    let compiled_for = (x.dtype() == DType::F64, n);
    Program::host([x], [Aval::new(DType::F64, [3])], move |args| {
        let sum = match (args[0].as_slice::<i32>(), args[0].as_slice::<f64>()) {
            (Some(integers), _) => integers.iter().sum::<i32>().into(),
            (_, Some(doubles)) => doubles.iter().sum(),
            _ => panic!("neither"),
        };
        Ok(vec![HostArray::new([f64::from(u8::from(compiled_for.0)), compiled_for.1 as f64, sum], [3])?])
    })
}

fn answer(result: Result<Array>) -> Result<Vec<f64>> {
    result?.to_vec()
}

#[test]
fn a_program_is_never_served_for_what_another_converter_gives() {
    let (client, state) = FakeEngine::client(1);
    let family = Told::new(&client);
    let converters = Converters::new();
    let call = || answer(family.call(converters.object(&Sequence(4)))).unwrap();
    for _ in 0..2 {
        let registered = converters.register_type("integers", integers).unwrap();
        assert_eq!(call(), [0.0, 4.0, 10.0]);
        drop(registered);
        let registered = converters.register_type("doubles", doubles).unwrap();
        assert_eq!(call(), [1.0, 4.0, 10.0]);
        drop(registered);
        let _registered = converters.register_type("twice", twice).unwrap();
        assert_eq!(call(), [1.0, 8.0, 20.0]);
    }
    assert_eq!((family.stats().compiles, family.stats().hits), (3, 3));
    state.assert_no_faults();
}

#[test]
fn eight_threads_register_remove_and_dispatch_at_random() {
    without_hanging(|| {
        let (client, state) = FakeEngine::client(1);
        let (family, converters) = (Told::new(&client), Converters::new());
        let answered = AtomicUsize::new(0);
        scope(|threads| {
            for thread in 0..8u64 {
                let (family, converters, answered) = (&family, &converters, &answered);
                threads.spawn(move || {
                    let mut random = 0x2545_f491_4f6c_dd1d ^ (thread + 1);
                    let mut mine = None;
                    for _ in 0..if short() { 300 } else { 3000 } {
                        random ^= random << 13;
                        random ^= random >> 7;
                        random ^= random << 17;
                        let n = (random >> 8) as i64 % 3 + 1;
                        match random % 9 {
                            0 => mine = Some(converters.register_type("integers", integers).unwrap()),
                            1 => mine = Some(converters.register_type("doubles", doubles).unwrap()),
                            2 => mine = Some(converters.register_type("twice", twice).unwrap()),
                            3 => mine = None,
                            4 => _ = converters.set_active(0, random % 2 == 0),
                            5 => _ = converters.remove(0),
                            _ => match answer(family.call(converters.object(&Sequence(n)))) {
                                Ok(told) => {
                                    let (length, sum) = (n as f64, (n * (n + 1) / 2) as f64);
                                    let right = [
                                        [0.0, length, sum],
                                        [1.0, length, sum],
                                        [1.0, 2.0 * length, 2.0 * sum],
                                    ];
                                    assert!(right.iter().any(|right| *right == *told), "{n}: {told:?}");
                                    answered.fetch_add(1, SeqCst);
                                }
                                // None at this moment, or two.
                                Err(error) => assert_eq!(error.code(), "converter", "{error}"),
                            },
                        }
                    }
                    drop(mine);
                });
            }
        });
        assert!(answered.load(SeqCst) > 0);
        assert!(converters.is_empty() && converters.is_idle());
        drop(family);
        state.assert_clean();
    });
}

/// Counts the ends of owners.
#[derive(Clone, Default)]
struct Ends(Arc<AtomicUsize>);

struct Owner(Ends, #[allow(dead_code)] Vec<f64>);

impl Drop for Owner {
    fn drop(&mut self) {
        self.0.0.fetch_add(1, SeqCst);
    }
}

/// What a converter does with data that has an owner.
#[derive(Clone, Copy, PartialEq)]
enum Does {
    Well,
    Fails,
    Panics,
    OtherShape,
    OtherDType,
    Copies,
}

struct Held(Does, Ends);

fn held<'a>(object: &'a Held, expected: &Expected<'_>) -> Result<Described<'a>> {
    let values = vec![1.0, 2.0];
    let shape: &[i64] = if object.0 == Does::OtherShape { &[2, 1] } else { &[2] };
    let view = match object.0 {
        // SAFETY: as many bytes as two numbers, which any bits are.
        Does::OtherDType => unsafe { HostView::from_raw(DType::I64, shape, values.as_ptr().cast()) },
        // SAFETY: the owner keeps the vector, whose heap does not move.
        _ => unsafe { HostView::from_raw(DType::F64, shape, values.as_ptr().cast()) },
    };
    // SAFETY: as above; nobody writes to it.
    let described = unsafe { Described::shared(view, Box::new(Owner(object.1.clone(), values))).immutable() };
    match object.0 {
        Does::Fails => Err(expected.error("the file is closed")),
        Does::Panics => panic!("a bad day"),
        Does::Copies => Ok(described.copied(16)),
        _ => Ok(described),
    }
}

#[test]
fn an_owner_ends_once_and_nothing_is_left_whatever_goes_wrong() {
    let (client, state) = FakeEngine::client(1);
    let family = Told::new(&client);
    let converters = Converters::new();
    let registered = converters.register_type("held", held).unwrap();
    let call = |does, policy| {
        let ends = Ends::default();
        let object = Held(does, ends.clone());
        let called =
            catch_unwind(AssertUnwindSafe(|| answer(family.call(converters.object(&object).copy(policy)))));
        (called.unwrap().map_err(|error| error.to_string()), ends.0.load(SeqCst))
    };
    let good = || assert_eq!(call(Does::Well, CopyPolicy::IfNeeded), (Ok(vec![1.0, 2.0, 3.0]), 1));
    let bad = |does, policy, message: &str| {
        let before = (family.stats().compiles, state.executes(), registered.entry().calls());
        let (called, ends) = call(does, policy);
        assert_eq!((called.unwrap_err().as_str(), ends), (message, 1));
        let after = (family.stats().compiles, state.executes(), registered.entry().calls());
        assert_eq!(before, after, "{message}");
        good();
    };
    good();
    let converter = "argument `x`: the converter `held`";
    bad(Does::Fails, CopyPolicy::IfNeeded, &format!("{converter} failed: the file is closed"));
    bad(Does::Panics, CopyPolicy::IfNeeded, &format!("{converter} panicked: a bad day"));
    bad(Does::OtherShape, CopyPolicy::IfNeeded, &format!("{converter} gave shape [2,1], expected [_]"));
    bad(Does::OtherDType, CopyPolicy::IfNeeded, &format!("{converter} gave dtype i64, expected i32 or f64"));
    bad(Does::Copies, CopyPolicy::Never, &format!("{converter} may not copy, but copied 16 bytes"));

    // An engine that copies what it said it would share.
    state.promise_to_share();
    let message = format!("{converter} may not copy, but platform fake took a copy all the same");
    let (called, ends) = call(Does::Well, CopyPolicy::Never);
    assert_eq!((called.unwrap_err(), ends), (message, 1));
    good();

    for op in [Op::Upload, Op::Execute] {
        state.fail(op, 1);
        let (called, ends) = call(Does::Well, CopyPolicy::IfNeeded);
        assert_eq!((called.is_err(), ends), (true, 1), "{op:?}");
        good();
        state.panic(op, 1);
        let ends = Ends::default();
        let object = Held(Does::Well, ends.clone());
        let called = catch_unwind(AssertUnwindSafe(|| answer(family.call(converters.object(&object)))));
        assert!(!matches!(called, Ok(Ok(_))), "{op:?}");
        assert_eq!(ends.0.load(SeqCst), 1, "{op:?}");
        good();
    }
    assert_eq!(family.stats().compiles, 1);
    drop(family);
    state.assert_clean();
}

#[test]
fn a_converter_may_use_the_family_that_it_is_asked_for() {
    let (client, _) = FakeEngine::client(1);
    let family = Arc::new(Told::new(&client));
    /// As many numbers as the sum of fewer is.
    struct Sum(i64);
    let converters = Converters::new();
    let (inner, below) = (family.clone(), converters.clone());
    fn as_a_converter<F>(f: F) -> F
    where
        F: for<'a> Fn(&'a Sum, &Expected<'_>) -> Result<Described<'a>>,
    {
        f
    }
    let sums = as_a_converter(move |sum, _| {
        let told = match sum.0 {
            0 => return Ok(Described::owned(HostArray::new([1.0f64], [1])?)),
            n => inner.call(below.object(&Sum(n - 1)))?.to_vec::<f64>()?,
        };
        let len = told[2] as i64 + 1;
        Ok(Described::owned(HostArray::new(vec![1.0f64; len as usize], [len])?))
    });
    let _registered = converters.register_type("sums", sums).unwrap();
    // 1, then as many ones and one more.
    assert_eq!(answer(family.call(converters.object(&Sum(2)))).unwrap(), [1.0, 3.0, 3.0]);
    assert_eq!(family.stats().compiles, 3);
}
