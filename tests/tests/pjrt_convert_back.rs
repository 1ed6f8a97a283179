//! Results that are written back into objects: whose memory is another's too, whose elements share it, and that refuse.

mod plugin;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering::SeqCst};

use dispatch_runtime::convert::{Converter, Converters, Described, Expected, Out, OutInfo};
use dispatch_runtime::ffi::{self, Buffer, BufferMut};
use dispatch_runtime::prelude::*;
use plugin::client;

/// Some of eight floats that others have too.
struct Part {
    floats: Arc<[AtomicU32; 8]>,
    shape: [i64; 1],
    strides: [i64; 1],
    first: usize,
    is_closed: AtomicBool,
}

fn floats() -> Arc<[AtomicU32; 8]> {
    Arc::new(std::array::from_fn(|i| AtomicU32::new((i as f32).to_bits())))
}

fn part(floats: &Arc<[AtomicU32; 8]>, len: i64, stride: i64, first: usize) -> Part {
    let is_closed = AtomicBool::new(false);
    Part { floats: floats.clone(), shape: [len], strides: [stride], first, is_closed }
}

fn all(floats: &[AtomicU32; 8]) -> [f32; 8] {
    std::array::from_fn(|i| f32::from_bits(floats[i].load(SeqCst)))
}

struct Parts;

impl Converter<Part> for Parts {
    fn convert_in<'a>(&self, part: &'a Part, _: &Expected<'_>) -> Result<Described<'a>> {
        let data = part.floats.as_ptr().cast();
        // SAFETY: these are floats, and are written to by `convert_out` alone, after the call has read them.
        let view = unsafe {
            HostView::from_parts(DType::F32, &part.shape, Some(&part.strides), part.first, data, 32)?
        };
        Ok(Described::borrowed(view))
    }

    fn gives_back(&self) -> bool {
        true
    }

    fn check_out(&self, result: &Array, part: &Part, info: &OutInfo<'_>) -> Result<()> {
        match result.shape() == part.shape {
            true => Ok(()),
            false => Err(Expected::new(info.argument).error(format!("{:?} does not fit", result.shape()))),
        }
    }

    fn convert_out(&self, result: &Array, part: &Part, info: &OutInfo<'_>) -> Result<Out> {
        if part.is_closed.load(SeqCst) {
            return Err(Expected::new(info.argument).error("it was closed"));
        }
        for (i, value) in result.to_vec::<f32>()?.into_iter().enumerate() {
            part.floats[part.first + i * part.strides[0] as usize].store(value.to_bits(), SeqCst);
        }
        Ok(Out::Written)
    }
}

fn parts() -> Converters {
    let converters = Converters::new();
    converters.register_type("parts", Parts).unwrap().keep();
    converters
}

#[dispatch_family]
fn step(
    cx: &CompileCx,
    #[dynamic(dtype = f32, shape = [n], write_back)] x: Value,
    #[dynamic(dtype = f32, shape = [m])] by: Value,
) -> Result<Program> {
    cx.program(x + by.sum(..).broadcast_to([n]))
}

/// The sum into the first, the difference into the second: each as one value if `total` says so.
#[dispatch_family]
fn both(
    cx: &CompileCx,
    #[dynamic(dtype = f32, shape = [n], write_back = 0)] a: Value,
    #[dynamic(dtype = f32, shape = [n], write_back = 1)] b: Value,
    #[static_arg] total: bool,
) -> Result<Program<(Array, Array)>> {
    let (sum, difference) = (&a + &b, a - b);
    let difference = if total { difference.sum(..).reshape([1]) } else { difference };
    cx.program((sum, difference))
}

#[test]
fn memory_that_a_result_is_written_into_is_no_other_objects() {
    let (converters, step, both, floats) = (parts(), Step::new(&client()), Both::new(&client()), floats());
    let error = |a: &Part, b: &Part| {
        let (a, b) = (converters.object(a), converters.object(b));
        let error = step.call(&a, &b).unwrap_err();
        assert_eq!((error.code(), error.argument()), ("converter", Some("x")));
        error.to_string()
    };
    let reason = "argument `x`: a result is written back into the object, whose memory is that of the object passed as `by` too";
    assert_eq!(error(&part(&floats, 4, 1, 0), &part(&floats, 4, 1, 3)), reason);
    // The last of the one is the first of the other, backwards or every second.
    assert_eq!(error(&part(&floats, 3, 2, 0), &part(&floats, 3, -1, 6)), reason);
    assert_eq!(step.stats().compiles, 0);

    let (left, right) = (part(&floats, 4, 1, 0), part(&floats, 4, 1, 4));
    let one = part(&floats, 4, 1, 1);
    let error = both.call(converters.object(&right), converters.object(&one), false).unwrap_err().to_string();
    assert!(error.starts_with("argument `a`: ") && error.ends_with("passed as `b` too"), "{error}");
    assert_eq!(all(&floats), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]);

    // Beside each other, or one between the others, is no memory of both; and reading it twice is nothing to anybody.
    both.call(converters.object(&left), converters.object(&right), false).unwrap();
    assert_eq!(all(&floats), [4.0, 6.0, 8.0, 10.0, -4.0, -4.0, -4.0, -4.0]);
    let (even, odd) = (part(&floats, 4, 2, 0), part(&floats, 4, 2, 1));
    step.call(converters.object(&even), converters.object(&odd)).unwrap();
    assert_eq!(all(&floats), [12.0, 6.0, 16.0, 10.0, 4.0, -4.0, 4.0, -4.0]);
    step.call([1f32], converters.object(&even)).unwrap();
}

#[test]
fn nothing_is_written_into_elements_that_share_memory() {
    let (converters, step, floats) = (parts(), Step::new(&client()), floats());
    let error = step.call(converters.object(&part(&floats, 4, 0, 2)), [1f32]).unwrap_err();
    assert_eq!((error.code(), error.argument()), ("converter", Some("x")));
    assert_eq!(
        error.to_string(),
        "argument `x`: the converter `parts` gave elements that share memory (strides [0]), and the result is written back \
         into this argument"
    );
    // To be read they may.
    let (x, by) = (part(&floats, 4, 1, 4), part(&floats, 4, 0, 2));
    step.call(converters.object(&x), converters.object(&by)).unwrap();
    assert_eq!(all(&floats), [0.0, 1.0, 2.0, 3.0, 12.0, 13.0, 14.0, 15.0]);
}

#[test]
fn where_one_result_cannot_be_written_back_none_is() {
    let (converters, both, floats) = (parts(), Both::new(&client()), floats());
    let before = all(&floats);
    let (a, b) = (part(&floats, 4, 1, 0), part(&floats, 4, 1, 4));
    let error = both.call(converters.object(&a), converters.object(&b), true).unwrap_err();
    assert_eq!(error.to_string(), "argument `b`: the converter `parts` failed: [1] does not fit");
    assert_eq!(all(&floats), before);

    // What its converter finds out only when it writes is too late for the one before.
    b.is_closed.store(true, SeqCst);
    let error = both.call(converters.object(&a), converters.object(&b), false).unwrap_err();
    assert_eq!(error.to_string(), "argument `b`: the converter `parts` failed: it was closed");
    assert_eq!(all(&floats), [4.0, 6.0, 8.0, 10.0, 4.0, 5.0, 6.0, 7.0]);
}

/// Fails after a while, whatever it is given.
#[ffi_handler(target = "back_fails")]
fn fails(#[arg(shape = [n])] x: Buffer<f32>, #[ret(shape = [n])] mut out: BufferMut<f32>) -> ffi::Result<()> {
    out.copy_from_slice(&x);
    std::thread::sleep(std::time::Duration::from_millis(100));
    Err(ffi::Error::data_loss("the tape broke"))
}

#[dispatch_family]
fn failing(cx: &CompileCx, #[dynamic(dtype = f32, shape = [n], write_back)] x: Value) -> Result<Program> {
    // So much to compute that the call has returned before the handler does.
    let x = (0..4).fold(x, |x, _| (x * 2.0 + 1.0).sin());
    let aval = x.aval();
    cx.program(cx.call(&FAILS, &[&x], aval))
}

/// Counts the results that came back, and looks at none.
struct Count(Vec<f32>, [i64; 1], AtomicUsize);

struct Counts;

impl Converter<Count> for Counts {
    fn convert_in<'a>(&self, count: &'a Count, _: &Expected<'_>) -> Result<Described<'a>> {
        Ok(Described::borrowed(HostView::new(&count.0, &count.1)?))
    }

    fn gives_back(&self) -> bool {
        true
    }

    fn convert_out(&self, _: &Array, count: &Count, _: &OutInfo<'_>) -> Result<Out> {
        count.2.fetch_add(1, SeqCst);
        Ok(Out::Written)
    }
}

#[test]
fn nothing_is_written_back_where_the_computation_has_failed() {
    let converters = Converters::new();
    converters.register_type("counts", Counts).unwrap().keep();
    let count = Count(vec![1.0; 10_000], [10_000], AtomicUsize::new(0));
    let error = Failing::new(&client()).call(converters.object(&count)).unwrap_err();
    assert!(error.to_string().contains("the tape broke"), "{error}");
    assert_eq!(count.2.load(SeqCst), 0);
}
