//! What objects' data lives by while devices work with it, on a real plugin.

mod plugin;

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use dispatch_runtime::convert::{Converter, Converters, CopyPolicy, Described, Expected, Out, OutInfo};
use dispatch_runtime::prelude::*;
use plugin::{client, values};

/// Elements: so many that work on them goes on after the call.
const N: usize = 1 << 20;

/// Memory that a device can use where it is.
struct Pages(Box<[Line]>);

#[repr(C, align(64))]
#[derive(Clone, Copy)]
struct Line([f32; 16]);

impl Pages {
    fn filled(value: f32) -> Pages {
        Pages(vec![Line([value; 16]); N / 16].into())
    }

    fn view(&self) -> HostView<'_> {
        // SAFETY: the lines are floats without padding, and as many.
        unsafe { HostView::from_raw(DType::F32, &[N as i64], self.0.as_ptr().cast()) }
    }
}

#[dispatch_family]
fn plus_one(cx: &CompileCx, #[dynamic(dtype = f32, shape = [..])] x: Value) -> Result<Program> {
    cx.program(x + 1.0)
}

/// How often owners ended; it can be waited for.
#[derive(Clone, Default)]
struct Ends(Arc<(Mutex<usize>, Condvar)>);

impl Ends {
    fn wait_for(&self, count: usize) {
        let (ends, changed) = &*self.0;
        let waited =
            changed.wait_timeout_while(ends.lock().unwrap(), Duration::from_secs(20), |ends| *ends < count);
        assert_eq!(*waited.unwrap().0, count);
    }

    fn now(&self) -> usize {
        *self.0.0.lock().unwrap()
    }
}

/// Memory that is overwritten when its owner ends, as a closed file or a freed block is.
struct Owned(Pages, Ends);

impl Drop for Owned {
    fn drop(&mut self) {
        self.0.0.fill(Line([f32::NAN; 16]));
        *self.1.0.0.lock().unwrap() += 1;
        self.1.0.1.notify_all();
    }
}

fn shares<'a>(owned: &'a Arc<Owned>, _: &Expected<'_>) -> Result<Described<'a>> {
    // SAFETY: the owner keeps the pages, which nobody writes to before its end.
    Ok(unsafe { Described::shared(owned.0.view(), Box::new(owned.clone())).immutable() })
}

fn borrows<'a>(pages: &'a Pages, _: &Expected<'_>) -> Result<Described<'a>> {
    Ok(Described::borrowed(pages.view()))
}

#[test]
fn a_source_that_goes_during_the_work_is_there_until_its_end() {
    let (family, converters) = (PlusOne::new(&client()), Converters::new());
    let registered = converters.register_type("owned", shares).unwrap();
    for round in 1..=20 {
        let ends = Ends::default();
        let owned = Arc::new(Owned(Pages::filled(round as f32), ends.clone()));
        let result = family.call(converters.object(&owned)).unwrap();
        drop(owned);
        assert!(values::<f32>(&result).iter().all(|&x| x == round as f32 + 1.0));
        drop(result);
        ends.wait_for(1);
    }
    assert_eq!((registered.entry().calls(), registered.entry().bytes_copied()), (20, 0));
}

#[test]
fn a_source_that_changes_after_the_call_changes_no_result() {
    let (family, converters) = (PlusOne::new(&client()), Converters::new());
    let registered = converters.register_type("pages", borrows).unwrap();
    for policy in [CopyPolicy::IfNeeded, CopyPolicy::Always, CopyPolicy::Never] {
        for round in 0..10 {
            let mut pages = Pages::filled(round as f32);
            let result = family.call(converters.object(&pages).copy(policy)).unwrap();
            pages.0.fill(Line([f32::NAN; 16]));
            drop(pages);
            assert!(values::<f32>(&result).iter().all(|&x| x == round as f32 + 1.0), "{policy:?}");
        }
    }
    // Under never the call has waited instead.
    assert_eq!(registered.entry().bytes_copied(), 20 * 4 * N as u64);
}

#[test]
fn a_shared_array_is_the_memory_of_the_source() {
    let converters = Converters::new();
    let registered = converters.register_type("owned", shares).unwrap();
    let ends = Ends::default();
    let owned = Arc::new(Owned(Pages::filled(2.0), ends.clone()));
    let at = owned.0.0.as_ptr().cast::<u8>();
    let device = client().default_device();
    let array = converters.object(&owned).copy(CopyPolicy::Never).to_array(device).unwrap();
    assert_eq!(array.with_bytes(<[u8]>::as_ptr).unwrap(), at);
    let copy = converters.object(&owned).copy(CopyPolicy::Always).to_array(device).unwrap();
    assert_ne!(copy.with_bytes(<[u8]>::as_ptr).unwrap(), at);
    assert_eq!((registered.entry().calls(), registered.entry().bytes_copied()), (2, 4 * N as u64));
    drop(owned);
    let sums = [&array, &copy].map(|array| PlusOne::new(&client()).call(array).unwrap());
    assert!(sums.iter().all(|sum| values::<f32>(sum).iter().all(|&x| x == 3.0)));
    assert_eq!(ends.now(), 0);
    drop((array, sums));
    ends.wait_for(1);
}

#[test]
fn a_donated_array_that_a_converter_gives_is_refused() {
    #[dispatch_family]
    fn consumes(cx: &CompileCx, #[dynamic(dtype = f32, shape = [n], donate)] x: Value) -> Result<Program> {
        cx.program(x + 1.0)
    }
    struct Has(Array);
    fn gives<'a>(has: &'a Has, _: &Expected<'_>) -> Result<Described<'a>> {
        Ok(Described::array(has.0.clone()))
    }
    let converters = Converters::new();
    let _kept = converters.register_type("arrays", gives).unwrap();
    let has = Has(client().array(&[1f32, 2.0], [2]).unwrap());
    let family = Consumes::new(&client());
    assert_eq!(values::<f32>(&family.call(converters.object(&has)).unwrap()), [2.0, 3.0]);
    assert!(has.0.is_donated());
    let error = family.call(converters.object(&has)).unwrap_err().to_string();
    assert_eq!(
        error,
        "argument `x`: the converter `arrays` gave an array that was donated to an earlier call and is gone"
    );
}

#[test]
fn a_failure_to_write_back_is_an_error_and_the_source_stays() {
    struct Cell(Mutex<Vec<f32>>);
    struct Cells(AtomicUsize);
    impl Converter<Cell> for Cells {
        fn convert_in<'a>(&self, cell: &'a Cell, _: &Expected<'_>) -> Result<Described<'a>> {
            let values = cell.0.lock().unwrap();
            Ok(Described::owned(HostArray::new(&*values, [values.len() as i64])?))
        }
        fn gives_back(&self) -> bool {
            true
        }
        fn convert_out(&self, result: &Array, cell: &Cell, info: &OutInfo<'_>) -> Result<Out> {
            match self.0.fetch_add(1, SeqCst) {
                0 => Err(Expected::new(info.argument).error("the disk is full")),
                1 => panic!("a bad day"),
                _ => {
                    *cell.0.lock().unwrap() = result.to_vec()?;
                    Ok(Out::Written)
                }
            }
        }
    }
    #[dispatch_family]
    fn double(cx: &CompileCx, #[dynamic(dtype = f32, shape = [n], write_back)] x: Value) -> Result<Program> {
        cx.program(x * 2.0)
    }
    let (family, converters) = (Double::new(&client()), Converters::new());
    let _kept = converters.register_type("cells", Cells(AtomicUsize::new(0))).unwrap();
    let cell = Cell(Mutex::new(vec![1.0, 2.0]));
    for message in [
        "argument `x`: the converter `cells` failed: the disk is full",
        "argument `x`: the converter `cells` panicked: a bad day",
    ] {
        assert_eq!(family.call(converters.object(&cell)).unwrap_err().to_string(), message);
        assert_eq!(*cell.0.lock().unwrap(), [1.0, 2.0]);
    }
    family.call(converters.object(&cell)).unwrap();
    assert_eq!(*cell.0.lock().unwrap(), [2.0, 4.0]);
}
