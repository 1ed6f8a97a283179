//! Sequences that store only their length, as arguments of a compiled program, by converters: one that makes integers of
//! them, and one that makes doubles. Backwards, a result becomes a sequence again, or what was written over is remembered.

use std::sync::Mutex;

use dispatch_runtime::convert::{self, Converter, Described, Expected, Out, OutInfo, Registration};
use dispatch_runtime::prelude::*;

/// The integers 1 to `len`, none of which is stored.
struct IntegerSequence {
    len: i64,
}

/// The same as doubles, until a program writes its result over them.
struct DoubleSequence {
    len: i64,
    written: Mutex<Option<Vec<f64>>>,
}

struct Integers;

impl Converter<IntegerSequence> for Integers {
    fn convert_in<'a>(&self, sequence: &'a IntegerSequence, _: &Expected<'_>) -> Result<Described<'a>> {
        let numbers: Vec<i32> = (1..=sequence.len as i32).collect();
        Ok(Described::owned(HostArray::new(numbers, [sequence.len])?))
    }

    fn gives_back(&self) -> bool {
        true
    }

    /// A result that is a sequence from 1 on becomes one again: it is as short to store.
    fn convert_out(&self, result: &Array, _: &IntegerSequence, _: &OutInfo<'_>) -> Result<Out> {
        let numbers = result.to_vec::<i32>()?;
        let len = numbers.len() as i64;
        match numbers.iter().zip(1..).all(|(&got, i)| got == i) {
            true => Ok(Out::Object(Box::new(IntegerSequence { len }))),
            false => Ok(Out::Object(Box::new(numbers))),
        }
    }
}

struct Doubles;

impl Converter<DoubleSequence> for Doubles {
    fn convert_in<'a>(&self, sequence: &'a DoubleSequence, _: &Expected<'_>) -> Result<Described<'a>> {
        let numbers: Vec<f64> = match &*sequence.written.lock().unwrap() {
            Some(written) => written.clone(),
            None => (1..=sequence.len).map(|i| i as f64).collect(),
        };
        Ok(Described::owned(HostArray::new(numbers, [sequence.len])?))
    }

    fn gives_back(&self) -> bool {
        true
    }

    /// The sequence itself holds the result.
    fn convert_out(&self, result: &Array, sequence: &DoubleSequence, _: &OutInfo<'_>) -> Result<Out> {
        *sequence.written.lock().unwrap() = Some(result.to_vec()?);
        Ok(Out::Written)
    }
}

/// The sum of all elements.
#[dispatch_family]
fn total(cx: &CompileCx, #[dynamic(dtype = [i32, f64], shape = [n])] x: Value) -> Result<Program> {
    cx.program(x.sum(..))
}

/// Each element times `by`, back into the argument.
#[dispatch_family]
fn scale(
    cx: &CompileCx,
    #[dynamic(dtype = [i32, f64], shape = [n], write_back)] x: Value,
    #[dynamic(dtype = dtype(x), shape = [])] by: Value,
) -> Result<Program> {
    cx.program(x * by)
}

fn main() -> Result<()> {
    let client = Client::cpu()?;
    let converters = convert::global();
    converters.register_type("Integer sequences", Integers)?.keep();
    // What else is known of a converter stands in its registration.
    let doubles = Registration::for_type("Double sequences", Doubles);
    converters.register(doubles.package("virtual_sequence"))?.keep();

    println!("converters:        {}", converters.len());
    for entry in &*converters.entries() {
        println!("  {:17} active: {}", entry.description(), entry.is_active());
    }
    assert_eq!(converters.len(), 2);

    let (total, scale) = (Total::new(&client), Scale::new(&client));
    let ten = IntegerSequence { len: 10 };
    let sum = total.call(convert::object(&ten))?.to_vec::<i32>()?;
    println!("total of integers: {sum:?}");
    assert_eq!(sum, [55]);

    let doubles = DoubleSequence { len: 10, written: Mutex::new(None) };
    let sum = total.call(convert::object(&doubles))?.to_vec::<f64>()?;
    println!("total of doubles:  {sum:?}");
    assert_eq!(sum, [55.0]);
    // Another dtype is another program, and both stay.
    assert_eq!(total.stats().compiles, 2);

    // Backwards: what the converter makes of the result is taken from the argument.
    let argument = convert::object(&ten);
    scale.call(&argument, 1)?;
    let Out::Object(same) = argument.take_out() else { panic!("integers become an object") };
    println!("1 times integers:  a sequence of {}", same.downcast_ref::<IntegerSequence>().unwrap().len);
    let argument = convert::object(&ten);
    scale.call(&argument, 2)?;
    let Out::Object(other) = argument.take_out() else { panic!("integers become an object") };
    println!("2 times integers:  {:?}", other.downcast_ref::<Vec<i32>>().unwrap());

    scale.call(convert::object(&doubles), 0.5)?;
    let sum = total.call(convert::object(&doubles))?.to_vec::<f64>()?;
    println!("half of doubles:   {sum:?}");
    assert_eq!(sum, [27.5]);

    // A converter that is not active is ignored, and its objects are refused.
    let was = converters.set_active("Integer sequences", false)?;
    println!("switched off, was: {was}");
    let refused = total.call(convert::object(&ten)).unwrap_err();
    println!("refused:           {refused}");
    assert!(refused.to_string().contains("IntegerSequence"));
    converters.set_active(0, true)?;
    assert_eq!(total.call(convert::object(&ten))?.to_vec::<i32>()?, [55]);

    let removed = converters.remove("Double sequences")?;
    println!("removed:           {}, after {} calls", removed.description(), removed.calls());
    assert_eq!((converters.len(), removed.calls()), (1, 3));
    let unknown = converters.remove("Double sequences").unwrap_err();
    println!("removed again:     {unknown}");
    Ok(())
}
