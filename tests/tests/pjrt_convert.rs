//! Objects as arguments of families and inputs of skeletons, and results written back into them.

mod plugin;

use std::any::Any;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use dispatch_runtime::convert::{
    Converter, Converters, CopyPolicy, Described, Expected, Out, OutInfo, Registered,
};
use dispatch_runtime::prelude::*;
use dispatch_runtime::skeleton::{DynamicSkeleton, Input, SkeletonSlot};
use plugin::{client, values};

/// Floats that begin at a multiple of 64 bytes, or `skip` elements later.
struct Floats {
    all: Vec<f32>,
    first: usize,
    shape: Vec<i64>,
}

impl Floats {
    fn new(values: &[f32], shape: &[i64], skip: usize) -> Arc<Floats> {
        let mut all = vec![0.0; values.len() + 32];
        let first = all.as_ptr().align_offset(64) + skip;
        all[first..][..values.len()].copy_from_slice(values);
        Arc::new(Floats { all, first, shape: shape.into() })
    }

    fn data(&self) -> &[f32] {
        let len: i64 = self.shape.iter().product();
        &self.all[self.first..][..len as usize]
    }
}

type Kept = Arc<Floats>;

fn shares<'a>(floats: &'a Kept, _: &Expected<'_>) -> Result<Described<'a>> {
    let view = HostView::new(floats.data(), &floats.shape)?;
    // SAFETY: the data is in the `Arc`, of which the owner is a clone; nobody writes to it.
    Ok(unsafe { Described::shared(view, Box::new(floats.clone())).immutable() })
}

fn borrows<'a>(floats: &'a Kept, _: &Expected<'_>) -> Result<Described<'a>> {
    Ok(Described::borrowed(HostView::new(floats.data(), &floats.shape)?))
}

fn columns<'a>(floats: &'a Kept, _: &Expected<'_>) -> Result<Described<'a>> {
    Ok(Described::borrowed(HostView::column_major(floats.data(), &floats.shape)?))
}

fn with(
    converter: impl Converter<Kept>,
) -> (Converters, Registered<dispatch_runtime::convert::AnyConverter>) {
    let converters = Converters::new();
    let registered = converters.register_type("floats", converter).unwrap();
    (converters, registered)
}

#[dispatch_family]
fn plus(
    cx: &CompileCx,
    #[dynamic(dtype = [f32, f64], shape = [m, n])] x: Value,
    #[dynamic(dtype = dtype(x), shape = [])] y: Value,
) -> Result<Program> {
    let y = y.broadcast_to(x.shape());
    cx.program(x + y)
}

#[test]
fn data_is_shared_where_it_can_be_and_copied_once_where_not() {
    let family = Plus::new(&client());
    let numbers: Vec<f32> = (0..6).map(|i| i as f32).collect();
    let sum: Vec<f32> = (1..7).map(|i| i as f32).collect();
    for (policy, skip, copied) in [
        (CopyPolicy::Never, 0, 0),
        (CopyPolicy::IfNeeded, 0, 0),
        (CopyPolicy::Always, 0, 24),
        (CopyPolicy::IfNeeded, 1, 24),
    ] {
        let (converters, registered) = with(shares);
        let floats = Floats::new(&numbers, &[2, 3], skip);
        let result = family.call(converters.object(&floats).copy(policy), 1.0).unwrap();
        assert_eq!(values::<f32>(&result), sum);
        let entry = registered.entry();
        assert_eq!((entry.calls(), entry.bytes_copied()), (1, copied), "{policy:?} {skip}");
        drop(result);
        assert_eq!(Arc::strong_count(&floats), 1);
    }
    // Borrowed data is shared only if it has to be: then the call waits for its end.
    for (policy, copied) in [(CopyPolicy::Never, 0), (CopyPolicy::IfNeeded, 24)] {
        let (converters, registered) = with(borrows);
        let floats = Floats::new(&numbers, &[2, 3], 0);
        let result = family.call(converters.object(&floats).copy(policy), 1.0).unwrap();
        drop(floats);
        assert_eq!(values::<f32>(&result), sum);
        assert_eq!(registered.entry().bytes_copied(), copied);
    }
    let (converters, _registered) = with(columns);
    let floats = Floats::new(&numbers, &[2, 3], 0);
    let result = family.call(converters.object(&floats), 0.0).unwrap();
    assert_eq!(values::<f32>(&result), [0.0, 2.0, 4.0, 1.0, 3.0, 5.0]);
    // One program for all of them.
    assert_eq!(family.stats().compiles, 1);
}

#[test]
fn never_says_why_a_copy_would_be_needed() {
    let family = Plus::new(&client());
    let floats = Floats::new(&[1.0; 6], &[2, 3], 0);
    let unaligned = Floats::new(&[1.0; 6], &[2, 3], 1);
    let never = |converters: &Converters, floats: &Kept| {
        let object = converters.object(floats).copy(CopyPolicy::Never);
        let error = family.call(&object, 1.0).unwrap_err();
        assert_eq!((error.code(), error.argument()), ("converter", Some("x")));
        error.to_string()
    };
    let (converters, _kept) = with(shares);
    assert_eq!(
        never(&converters, &unaligned),
        "argument `x`: the converter `floats` may not copy, but its data does not begin at a multiple of 64 bytes"
    );
    let (converters, _kept) = with(columns);
    assert_eq!(
        never(&converters, &floats),
        "argument `x`: the converter `floats` may not copy, but its data is not row-major (strides [1,2])"
    );
    fn copies<'a>(floats: &'a Kept, _: &Expected<'_>) -> Result<Described<'a>> {
        Ok(Described::owned(HostArray::new(floats.data(), &floats.shape)?))
    }
    let (converters, _kept) = with(copies);
    assert_eq!(
        never(&converters, &floats),
        "argument `x`: the converter `floats` may not copy, but copied 24 bytes"
    );
    // Outside of a call borrowed data cannot be waited for.
    let (converters, _kept) = with(borrows);
    let object = converters.object(&floats).copy(CopyPolicy::Never);
    let error = object.to_array(client().default_device()).unwrap_err().to_string();
    assert!(error.ends_with("its data is not declared immutable"), "{error}");
}

#[test]
fn what_a_converter_gives_is_checked_and_its_failures_name_it() {
    #[dispatch_family]
    fn fixed(cx: &CompileCx, #[dynamic(dtype = f32, shape = [3])] x: Value) -> Result<Program> {
        cx.program(x)
    }
    let family = Fixed::new(&client());
    let floats = Floats::new(&[1.0; 3], &[3], 0);
    let refused = |converters: &Converters| {
        let error = family.call(converters.object(&floats)).unwrap_err();
        assert_eq!(error.argument(), Some("x"), "{error}");
        error.to_string()
    };
    fn other_dtype<'a>(_: &'a Kept, _: &Expected<'_>) -> Result<Described<'a>> {
        Ok(Described::borrowed(HostView::new(&[1.0f64, 2.0, 3.0], &[3])?))
    }
    fn other_shape<'a>(_: &'a Kept, expected: &Expected<'_>) -> Result<Described<'a>> {
        assert_eq!((expected.dtype(), expected.shape), (Some(DType::F32), Some(&[Some(3)][..])));
        Ok(Described::borrowed(HostView::new(&[1f32, 2.0], &[2])?))
    }
    fn too_short<'a>(floats: &'a Kept, _: &Expected<'_>) -> Result<Described<'a>> {
        // SAFETY: the data lives, and is as long as is said.
        let view =
            unsafe { HostView::from_parts(DType::F32, &[3], None, 0, floats.data().as_ptr().cast(), 8) };
        Ok(Described::borrowed(view?))
    }
    fn null<'a>(_: &'a Kept, _: &Expected<'_>) -> Result<Described<'a>> {
        // SAFETY: nothing is read from null.
        let view = unsafe { HostView::from_parts(DType::F32, &[3], None, 0, std::ptr::null(), 12) };
        Ok(Described::borrowed(view?))
    }
    fn fails<'a>(_: &'a Kept, expected: &Expected<'_>) -> Result<Described<'a>> {
        Err(expected.error("the file is closed"))
    }
    fn panics<'a>(_: &'a Kept, _: &Expected<'_>) -> Result<Described<'a>> {
        panic!("a bad day")
    }
    let cases = [
        (with(other_dtype), "argument `x`: the converter `floats` gave dtype f64, expected f32"),
        (with(other_shape), "argument `x`: the converter `floats` gave shape [2], expected [3]"),
        (
            with(too_short),
            "argument `x`: the converter `floats` failed: argument `data`: expected f32[3], got 8 bytes",
        ),
        (
            with(null),
            "argument `x`: the converter `floats` failed: argument `data`: expected f32[3], got a null pointer",
        ),
        (with(fails), "argument `x`: the converter `floats` failed: the file is closed"),
        (with(panics), "argument `x`: the converter `floats` panicked: a bad day"),
    ];
    for ((converters, registered), message) in cases {
        assert_eq!(refused(&converters), message);
        assert_eq!(registered.entry().calls(), 0);
    }
    assert_eq!(family.stats().compiles, 0);
    let class = std::any::type_name::<Kept>();
    let converters = Converters::new();
    let none =
        format!("argument `x`: no converter is registered for an object of class `{class}`; none is active");
    assert_eq!(refused(&converters), none);
    let (converters, registered) = with(shares);
    converters.set_active("floats", false).unwrap();
    assert_eq!(refused(&converters), format!("{none}; inactive: `floats`"));
    converters.set_active("floats", true).unwrap();
    assert_eq!(values::<f32>(&family.call(converters.object(&floats)).unwrap()), [1.0; 3]);
    drop(registered);
    assert_eq!(refused(&converters), none);
}

#[test]
fn numbers_are_converted_only_if_the_converter_says_so() {
    struct Numbers(bool);
    impl Converter<Numbers> for () {
        fn convert_in<'a>(&self, numbers: &'a Numbers, _: &Expected<'_>) -> Result<Described<'a>> {
            let described = Described::owned(HostArray::new([1.0f64, 2.0], [1, 2])?);
            Ok(if numbers.0 { described.convertible() } else { described })
        }
    }
    let converters = Converters::new();
    let _kept = converters.register_type("numbers", ()).unwrap();
    let family = Plus::new(&client());
    // Alone it says the dtype.
    let sum = family.call(converters.object(&Numbers(false)), 1.0f32).unwrap();
    assert_eq!(values::<f64>(&sum), [2.0, 3.0]);
    // Beside an array that has another it has to be convertible.
    let one = client().array(&[1f32], []).unwrap();
    let error = family.call(converters.object(&Numbers(false)), &one).unwrap_err();
    assert_eq!(
        error.to_string(),
        "argument `x`: the converter `numbers` gave dtype f64, expected f32 as the other arguments"
    );
    let sum = family.call(converters.object(&Numbers(true)), &one).unwrap();
    assert_eq!(values::<f32>(&sum), [2.0, 3.0]);
}

#[test]
fn a_converter_may_give_an_array_and_may_dispatch() {
    let family = Arc::new(Plus::new(&client()));
    struct Dispatches(Arc<Plus>);
    impl Converter<dyn Any> for Dispatches {
        fn convert_in<'a>(&self, object: &'a dyn Any, _: &Expected<'_>) -> Result<Described<'a>> {
            let number = object.downcast_ref::<f32>().expect("the predicate says so");
            let one = client().array(&[*number], [1, 1])?;
            Ok(Described::array(self.0.call(&one, 1f32)?))
        }
    }
    let converters = Converters::new();
    let _kept = converters
        .register_if("numbers plus one", |object| object.is::<f32>(), Dispatches(family.clone()))
        .unwrap();
    let sum = family.call(converters.object(&2f32), 10f32).unwrap();
    assert_eq!(values::<f32>(&sum), [13.0]);
    assert_eq!(family.stats().compiles, 1);
    let error = family.call(converters.object(&2u8), 10f32).unwrap_err().to_string();
    assert!(error.contains("for an object of class `u8`; registered are: `numbers plus one`"), "{error}");
}

#[dispatch_family]
fn step(
    cx: &CompileCx,
    #[dynamic(dtype = f32, shape = [n], write_back)] x: Value,
    #[dynamic(dtype = f32, shape = [n])] by: Value,
) -> Result<Program> {
    cx.program(x + by)
}

#[dispatch_family]
fn divide(
    cx: &CompileCx,
    #[dynamic(dtype = i32, shape = [n], write_back = 1)] a: Value,
    #[dynamic(dtype = i32, shape = [n], write_back = 0)] b: Value,
) -> Result<Program<(Array, Array)>> {
    cx.program((&a / &b, a % b))
}

/// What results can be put into.
struct Cell<T>(Mutex<Vec<T>>, AtomicUsize);

impl<T> Cell<T> {
    fn new(values: impl Into<Vec<T>>) -> Cell<T> {
        Cell(Mutex::new(values.into()), AtomicUsize::new(0))
    }
}

struct Cells {
    read_only: bool,
    gives_back: bool,
}

impl<T: Element> Converter<Cell<T>> for Cells {
    fn convert_in<'a>(&self, cell: &'a Cell<T>, _: &Expected<'_>) -> Result<Described<'a>> {
        let values = cell.0.lock().unwrap();
        let described = Described::owned(HostArray::new(&*values, [values.len() as i64])?);
        Ok(if self.read_only { described.read_only() } else { described })
    }

    fn gives_back(&self) -> bool {
        self.gives_back
    }

    fn convert_out(&self, result: &Array, cell: &Cell<T>, info: &OutInfo<'_>) -> Result<Out> {
        cell.1.fetch_add(1, Ordering::SeqCst);
        *cell.0.lock().unwrap() = result.to_vec()?;
        Ok(Out::Object(Box::new(format!("{} {} {}", info.function, info.argument, info.index))))
    }
}

fn cells<T: Element>(read_only: bool, gives_back: bool) -> Converters {
    let converters = Converters::new();
    converters.register_type::<Cell<T>>("cells", Cells { read_only, gives_back }).unwrap().keep();
    converters
}

#[test]
fn a_result_is_written_back_once_into_the_argument_it_belongs_to() {
    let (converters, family) = (cells::<f32>(false, true), Step::new(&client()));
    let cell = Cell::new([1f32, 2.0]);
    let object = converters.object(&cell);
    let result = family.call(&object, [10f32, 20.0]).unwrap();
    assert_eq!(values::<f32>(&result), [11.0, 22.0]);
    assert_eq!((&*cell.0.lock().unwrap(), cell.1.load(Ordering::SeqCst)), (&vec![11.0, 22.0], 1));
    let Out::Object(out) = object.take_out() else { panic!("the converter gave an object") };
    assert_eq!(*out.downcast::<String>().unwrap(), "step x 0");
    // An array or a slice there is only an argument.
    assert_eq!(values::<f32>(&family.call([1f32], [2f32]).unwrap()), [3.0]);

    let (converters, family) = (cells::<i32>(false, true), Divide::new(&client()));
    let (a, b) = (Cell::new([17, 9]), Cell::new([5, 2]));
    let (quotient, rest) = family.call(converters.object(&a), converters.object(&b)).unwrap();
    assert_eq!((values::<i32>(&quotient), values::<i32>(&rest)), (vec![3, 4], vec![2, 1]));
    assert_eq!((&*a.0.lock().unwrap(), &*b.0.lock().unwrap()), (&vec![2, 1], &vec![3, 4]));
}

#[test]
fn what_cannot_be_written_back_is_refused_before_anything_runs() {
    let family = Step::new(&client());
    let cell = Cell::new([1f32, 2.0]);
    let refused = |converters: &Converters| {
        let error = family.call(converters.object(&cell), [1f32, 1.0]).unwrap_err();
        assert_eq!((error.code(), error.argument()), ("converter", Some("x")));
        error.to_string()
    };
    assert_eq!(
        refused(&cells::<f32>(true, true)),
        "argument `x`: the converter `cells` gave read-only data, and the result is written back into this argument"
    );
    assert_eq!(
        refused(&cells::<f32>(false, false)),
        "argument `x`: the converter `cells` cannot write results back, as this argument demands"
    );
    let converters = cells::<f32>(false, true);
    let error = family.call(converters.object(&cell), converters.object(&cell)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "argument `x`: a result is written back into the object, so it cannot be passed as `by` too"
    );
    let object = converters.object(&cell);
    let error = family.call(&object, &object).unwrap_err().to_string();
    assert_eq!(
        error,
        "argument `by`: the object was passed where it is used in another way before: pass another `object(…)`"
    );
    assert_eq!((family.stats().compiles, cell.1.load(Ordering::SeqCst)), (0, 0));
    assert_eq!(*cell.0.lock().unwrap(), [1.0, 2.0]);
}

#[test]
fn objects_are_inputs_of_skeletons() {
    let x = SkeletonSlot::new(DType::F32, [2, 3]).named("x");
    let y = SkeletonSlot::new(DType::F32, [2, 3]).named("y");
    let skeleton = (&x * 10.0 + &y).into_skeleton(&client(), &[&x, &y]).unwrap();
    let floats = Floats::new(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 3], 0);
    let expected = [11.0, 22.0, 33.0, 44.0, 55.0, 66.0];
    for policy in [CopyPolicy::Never, CopyPolicy::IfNeeded, CopyPolicy::Always] {
        for converters in [with(shares), with(borrows)] {
            let (a, b) =
                (converters.0.object(&floats).copy(policy), converters.0.object(&floats).copy(policy));
            assert_eq!(values::<f32>(&skeleton.run(&[&a, &b]).unwrap()), expected);
            let array = client().array(floats.data(), [2, 3]).unwrap();
            let c = converters.0.object(&floats).copy(policy);
            let mixed = skeleton.run(&[Input::from(&c), Input::from(&array)]).unwrap();
            assert_eq!(values::<f32>(&mixed), expected);
        }
        assert_eq!(Arc::strong_count(&floats), 1);
    }
    let (converters, _kept) = with(columns);
    let square = Floats::new(&[1.0; 4], &[2, 2], 0);
    let (a, b) = (converters.object(&square), converters.object(&square));
    let error = skeleton.run(&[&a, &b]).unwrap_err();
    assert_eq!(error.to_string(), "argument `x`: the converter `floats` gave shape [2,2], expected [2,3]");

    let twice = DynamicSkeleton::new(&client(), 4, |inputs: &[Aval]| {
        let x = SkeletonSlot::new(inputs[0].dtype(), inputs[0].shape());
        (&x * 2.0).into_skeleton(&client(), &[&x])
    })
    .unwrap();
    let doubled = twice.run(&[&converters.object(&floats)]).unwrap();
    assert_eq!(values::<f32>(&doubled), [2.0, 6.0, 10.0, 4.0, 8.0, 12.0]);
    assert_eq!(values::<f32>(&twice.run(&[&converters.object(&square)]).unwrap()), [2.0; 4]);
    assert_eq!(twice.len(), 2);
}

#[test]
fn a_skeleton_consumes_no_memory_of_an_object() {
    let x = SkeletonSlot::new(DType::F32, [4]).donated();
    let skeleton = (&x + 1.0).into_skeleton(&client(), &[&x]).unwrap();
    let floats = Floats::new(&[1.0; 4], &[4], 0);
    let (converters, registered) = with(shares);
    let sum = skeleton.run(&[&converters.object(&floats)]).unwrap();
    assert_eq!((values::<f32>(&sum), floats.data()), (vec![2.0; 4], &[1.0; 4][..]));
    assert_eq!(registered.entry().bytes_copied(), 16);
    let object = converters.object(&floats).copy(CopyPolicy::Never);
    let error = skeleton.run(&[&object]).unwrap_err().to_string();
    assert!(error.ends_with("may not copy, but a program may write into this argument"), "{error}");
}

#[test]
fn eight_threads_register_remove_and_dispatch_at_random() {
    let converters = Converters::new();
    let family = Plus::new(&client());
    std::thread::scope(|scope| {
        for thread in 0..8u64 {
            let (converters, family) = (&converters, &family);
            scope.spawn(move || {
                let mut random = 0x2545_f491_4f6c_dd1d ^ (thread + 1);
                let mut mine = None;
                for i in 0..400 {
                    random ^= random << 13;
                    random ^= random >> 7;
                    random ^= random << 17;
                    match random % 4 {
                        0 => mine = Some(converters.register_type("floats", shares).unwrap()),
                        1 => mine = None,
                        _ => {
                            let value = (i % 7) as f32;
                            let floats = Floats::new(&[value; 6], &[2, 3], (random >> 8) as usize % 2);
                            match family.call(converters.object(&floats), 1f32) {
                                Ok(sum) => assert_eq!(values::<f32>(&sum), [value + 1.0; 6]),
                                // None at this moment, or one of each of two threads.
                                Err(error) => assert_eq!(error.code(), "converter", "{error}"),
                            }
                        }
                    }
                }
                drop(mine);
            });
        }
    });
    assert!(converters.is_idle() && converters.is_empty());
}
