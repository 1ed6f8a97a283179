//! Objects that are used twice, elsewhere than expected, or in another way, and what is said of those that do not fit.

mod plugin;

use std::any::Any;
use std::cell::Cell;
use std::sync::{Arc, Mutex};

use dispatch_runtime::convert::{Converter, Converters, CopyPolicy, Described, Expected, Out, OutInfo};
use dispatch_runtime::prelude::*;
use dispatch_runtime::skeleton::{DynamicSkeleton, SkeletonSlot};
use plugin::{client, client_with_devices, values};

#[dispatch_family]
fn plus(
    cx: &CompileCx,
    #[dynamic(dtype = f32, shape = [n])] x: Value,
    #[dynamic(dtype = f32, shape = [n])] y: Value,
) -> Result<Program> {
    cx.program(x + y)
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
fn rows(cx: &CompileCx, #[dynamic(dtype = f32, shape = [.., 3])] x: Value) -> Result<Program> {
    cx.program(x)
}

#[repr(align(64))]
struct Four([f32; 4]);

/// As many of the four as the length says, in memory that a device can use.
struct Part(Arc<Four>, [i64; 1]);

fn part(len: i64) -> Part {
    Part(Arc::new(Four([1.0, 2.0, 3.0, 4.0])), [len])
}

fn shares<'a>(part: &'a Part, _: &Expected<'_>) -> Result<Described<'a>> {
    let view = HostView::new(&part.0.0[..part.1[0] as usize], &part.1)?;
    // SAFETY: nobody writes to what is in the `Arc`, of which the owner is a clone.
    Ok(unsafe { Described::shared(view, Box::new(part.0.clone())).immutable() })
}

fn parts() -> Converters {
    let converters = Converters::new();
    converters.register_type("parts", shares).unwrap().keep();
    converters
}

/// An array that is somewhere already.
fn as_it_is<'a>(array: &'a Array, _: &Expected<'_>) -> Result<Described<'a>> {
    Ok(Described::array(array.clone()))
}

/// Floats that a result can be put into.
struct Floats(Mutex<Vec<f32>>);

struct Copies;

impl Converter<Floats> for Copies {
    fn convert_in<'a>(&self, floats: &'a Floats, _: &Expected<'_>) -> Result<Described<'a>> {
        let floats = floats.0.lock().unwrap();
        Ok(Described::owned(HostArray::new(&*floats, [floats.len() as i64])?))
    }

    fn gives_back(&self) -> bool {
        true
    }

    fn convert_out(&self, result: &Array, floats: &Floats, _: &OutInfo<'_>) -> Result<Out> {
        *floats.0.lock().unwrap() = result.to_vec()?;
        Ok(Out::Written)
    }
}

#[test]
fn an_object_that_was_written_into_is_not_used_as_it_was_before() {
    let converters = Converters::new();
    converters.register_type("floats", Copies).unwrap().keep();
    let family = Step::new(&client());
    let floats = Floats(Mutex::new(vec![1.0, 2.0]));
    let object = converters.object(&floats);
    family.call(&object, [1f32, 1.0]).unwrap();
    let error = family.call(&object, [1f32, 1.0]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "argument `x`: the object was written back into before: pass another `object(…)`"
    );
    assert_eq!(*floats.0.lock().unwrap(), [2.0, 3.0]);
    family.call(converters.object(&floats), [1f32, 1.0]).unwrap();
    assert_eq!(*floats.0.lock().unwrap(), [3.0, 4.0]);
}

#[test]
fn what_does_not_fit_the_other_arguments_names_the_converter_too() {
    let converters = parts();
    let family = Plus::new(&client());
    let error = family.call([1f32, 2.0], converters.object(&part(3))).unwrap_err();
    assert_eq!((error.code(), error.argument()), ("shape", Some("y")));
    let text = error.to_string();
    assert!(text.ends_with("got [3], which the converter `parts` gave"), "{text}");
    // A part of the shape alone.
    let error = Rows::new(&client()).call(converters.object(&part(2))).unwrap_err().to_string();
    assert_eq!(error, "argument `x`: expected shape [..,3], got [2], which the converter `parts` gave");
    let sum = family.call([1f32, 2.0], converters.object(&part(2))).unwrap();
    assert_eq!(values::<f32>(&sum), [2.0, 4.0]);
    let error = family.call([1f32, 2.0], [1f32]).unwrap_err().to_string();
    assert!(error.ends_with("got [1]"), "{error}");
}

#[test]
fn a_predicate_that_panics_is_an_error_that_names_its_converter() {
    fn never<'a>(_: &'a dyn Any, expected: &Expected<'_>) -> Result<Described<'a>> {
        Err(expected.error("the predicate never holds"))
    }
    let converters = parts();
    let registered = converters.register_if("others", |_| panic!("a bad day"), never).unwrap();
    let family = Plus::new(&client());
    let error = family.call([1f32], converters.object(&1u8)).unwrap_err();
    assert_eq!((error.code(), error.argument()), ("converter", Some("y")));
    let text = error.to_string();
    assert!(
        text.contains("the predicate of the converter `others` failed: the predicate panicked"),
        "{text}"
    );
    // It is not asked about objects that have a converter by their type.
    family.call([1f32, 2.0], converters.object(&part(2))).unwrap();
    drop(registered);
    let error = family.call([1f32], converters.object(&1u8)).unwrap_err().to_string();
    assert!(error.contains("no converter is registered for an object of class `u8`"), "{error}");
}

#[test]
fn an_object_becomes_an_array_on_the_device_that_is_asked_for() {
    let converters = parts();
    converters.register_type("arrays", as_it_is).unwrap().keep();
    let client = client_with_devices(2);
    let devices: Vec<Device> = client.devices().collect();
    let here = client.array_on(&[1f32, 2.0], [2], devices[0]).unwrap();
    for device in devices {
        let array = converters.object(&here).to_array(device).unwrap();
        assert_eq!((array.device(), values::<f32>(&array)), (device, vec![1.0, 2.0]));
        let array = converters.object(&part(4)).to_array(device).unwrap();
        assert_eq!((array.device(), values::<f32>(&array)), (device, vec![1.0, 2.0, 3.0, 4.0]));
    }
    let other = plugin::client().default_device();
    let error = converters.object(&here).to_array(other).unwrap_err();
    assert_eq!(error.argument(), Some("object"), "{error}");
}

#[test]
fn a_dynamic_skeleton_that_consumes_its_inputs_gets_copies() {
    let converters = parts();
    let plus_one = DynamicSkeleton::new(&client(), 4, |inputs: &[Aval]| {
        let x = SkeletonSlot::new(inputs[0].dtype(), inputs[0].shape()).donated();
        (&x + 1.0).into_skeleton(&client(), &[&x])
    })
    .unwrap();
    let part = part(4);
    let sum = plus_one.run(&[&converters.object(&part)]).unwrap();
    assert_eq!((values::<f32>(&sum), part.0.0), (vec![2.0, 3.0, 4.0, 5.0], [1.0, 2.0, 3.0, 4.0]));
    let object = converters.object(&part).copy(CopyPolicy::Never);
    let error = plus_one.run(&[&object]).unwrap_err().to_string();
    assert!(error.ends_with("may not copy, but a program may write into this argument"), "{error}");
}

#[test]
fn an_object_that_its_own_converter_passes_is_checked_for_each_use() {
    struct Itself;
    thread_local! {
        static IS_INSIDE: Cell<bool> = const { Cell::new(false) };
    }
    let converters: &'static Converters = Box::leak(Box::new(Converters::new()));
    let object: &'static Mutex<Option<Array>> = Box::leak(Box::default());
    thread_local! {
        static OBJECT: Cell<Option<&'static dispatch_runtime::convert::Object<'static>>> = const { Cell::new(None) };
    }
    impl Converter<Mutex<Option<Array>>> for Itself {
        fn convert_in<'a>(&self, _: &'a Mutex<Option<Array>>, _: &Expected<'_>) -> Result<Described<'a>> {
            if !IS_INSIDE.replace(true) {
                let inner = Plus::new(&client()).call(OBJECT.get().unwrap(), [1f32, 2.0, 3.0])?;
                assert_eq!(values::<f32>(&inner), [2.0, 4.0, 6.0]);
            }
            Ok(Described::owned(HostArray::new([1f32, 2.0, 3.0], [3])?))
        }

        fn gives_back(&self) -> bool {
            true
        }
    }
    converters.register_type("itself", Itself).unwrap().keep();
    OBJECT.set(Some(Box::leak(Box::new(converters.object(object)))));
    // Inside it is only read, outside it would be written into.
    let error = Step::new(&client()).call(OBJECT.get().unwrap(), [1f32, 1.0, 1.0]).unwrap_err().to_string();
    assert!(error.contains("the object was passed where it is used in another way before"), "{error}");
}

#[test]
fn a_converter_hears_how_the_slot_of_a_skeleton_has_its_data() {
    struct Table([f32; 7]);
    /// As the slot wants it, else row-major from the first element on.
    fn table<'a>(table: &'a Table, expected: &Expected<'_>) -> Result<Described<'a>> {
        Ok(Described::borrowed(match expected.layout {
            Some(([1, 2], offset)) => HostView::strided(&table.0, &[2, 3], &[1, 2], offset)?,
            _ => HostView::new(&table.0[..6], &[2, 3])?,
        }))
    }
    let tables = Converters::new();
    let _registered = tables.register_type("tables", table).unwrap();
    let client = Client::cpu().unwrap();
    let (columns, rows) = (SkeletonSlot::new(DType::F32, [2, 3]), SkeletonSlot::new(DType::F32, [2, 3]));
    let columns = columns.strided([1, 2], 1);
    let run = |slot: SkeletonSlot| -> Vec<f32> {
        let skeleton = (&slot * 2.0).into_skeleton(&client, &[&slot]).unwrap();
        let numbers = Table([0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        skeleton.run(&[&tables.object(&numbers)]).unwrap().to_vec().unwrap()
    };
    assert_eq!(run(columns), [2.0, 6.0, 10.0, 4.0, 8.0, 12.0]);
    assert_eq!(run(rows), [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]);
}
