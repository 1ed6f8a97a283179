//! R functions as handlers, to try things out: the data is copied to R and back.

use std::mem::ManuallyDrop;
use std::sync::{Mutex, OnceLock, PoisonError};

use dispatch_runtime::ffi::registry::{self, Platform, Registration};
use dispatch_runtime::ffi::{AnyBuffer, AnyBufferMut, Attr, Dictionary, Error, RemainingArgs, RemainingRets};
use dispatch_runtime::{Array, Aval, Client, DType, Element, HostArray, HostView};

use crate::data::{Data, Type, shape_of};
use crate::fault::{Fault, Result};
use crate::ffi::*;
use crate::floats::Ieee;
use crate::root::Root;
use crate::runs::{self, Pause};
use crate::unwind::protect;
use crate::upload::{Check, allowed, upload_data};
use crate::{describe, main_thread, make, printing, read};

/// An R function under the name that programs call it by.
struct Closure {
    name: String,
    /// `function(operands, attributes)`, see [`register_r`].
    function: Function,
}

/// A function of R, for R's thread only.
struct Function(ManuallyDrop<Root>);

// SAFETY: the root is used and dropped on R's thread only; see `Closure::call` and `drop`.
unsafe impl Send for Function {}
// SAFETY: as above.
unsafe impl Sync for Function {}

/// Functions that were removed on another thread, until R's thread comes by.
static GONE: Mutex<Vec<Function>> = Mutex::new(Vec::new());

impl Drop for Function {
    fn drop(&mut self) {
        // SAFETY: the function goes here, and its root is not used again by this one.
        let root = unsafe { ManuallyDrop::take(&mut self.0) };
        if main_thread::check().is_err() {
            let later = Function(ManuallyDrop::new(root));
            GONE.lock().unwrap_or_else(PoisonError::into_inner).push(later);
        }
    }
}

/// Registers an R function for the CPU, in place of an R function that had the name before.
///
/// `function` takes the list of operands and the list of attributes. It answers with a list of two: `TRUE` and a value, or
/// `FALSE` and the text of an error.
pub fn register_r(name: &str, function: SEXP) -> Result<()> {
    drop(std::mem::take(&mut *GONE.lock().unwrap_or_else(PoisonError::into_inner)));
    let function = Function(ManuallyDrop::new(Root::new(function)?));
    let closure = Closure { name: name.to_owned(), function };
    let called =
        move |operands: RemainingArgs<'_>, results: RemainingRets<'_>, attributes: Dictionary<'_>| {
            closure.call(&operands, results, attributes)
        };
    let registration = Registration { owner: OWNER, ..Registration::closure(name, Platform::Host, called) };
    // SAFETY: a closure of the runtime.
    unsafe { registry::register(&registration)? };
    Ok(())
}

/// Whose R functions are, so that one replaces another.
const OWNER: &str = "register_r_handler()";

impl Closure {
    /// One call. A jump of R ends in `protect`, so none passes the frames of XLA; it goes on once they are left.
    fn call(
        &self,
        operands: &RemainingArgs<'_>,
        results: RemainingRets<'_>,
        attributes: Dictionary<'_>,
    ) -> Result<(), Error> {
        if main_thread::check().is_err() {
            return Err(Error::failed_precondition(format!(
                "`{}` is an R function, which runs on R's own thread only, and XLA calls it on another, as it does in \
                 programs with much to compute: write the handler in Rust, or make the program smaller",
                self.name
            )));
        }
        let Some(pause) = Pause::for_function() else {
            let why = "R is on its way out of another function of the program";
            return Err(Error::aborted(format!("`{}` was not called: {why}", self.name)));
        };
        let _ieee = Ieee::on();
        let done = self.checked(operands, results, attributes);
        drop(pause);
        done.map_err(|fault| match fault {
            Fault::Condition(condition) => {
                Error::invalid_argument(format!("`{}`: {}", self.name, condition.message))
            }
            // What is told if nobody continues the jump.
            Fault::Jump(token) => {
                runs::keep(token);
                Error::aborted(format!(
                    "`{}` was left by R on another way than by its end or an error: by a restart, an interrupt, or a \
                     condition that is handled further out",
                    self.name
                ))
            }
        })
    }

    fn checked(
        &self,
        operands: &RemainingArgs<'_>,
        results: RemainingRets<'_>,
        attributes: Dictionary<'_>,
    ) -> Result<()> {
        // What the program has printed before comes before what the function prints.
        printing::show_waiting()?;
        let arrays = operands.iter().enumerate().map(|(i, operand)| array(operand, i + 1));
        let arrays = arrays.collect::<Result<Vec<Root>>>()?;
        let values: Vec<SEXP> = arrays.iter().map(Root::get).collect();
        let (operands, attributes) = (make::list(&values)?, dictionary(attributes)?);
        let (function, operands, attributes) = (self.function.0.get(), operands.get(), attributes.get());
        // SAFETY: function and lists are kept by roots, the call is protected.
        let answer = Root::make(|| unsafe {
            let call = Rf_cons(attributes, R_NilValue);
            let call = Rf_lcons(function, Rf_cons(operands, Rf_protect(call)));
            let answer = Rf_eval(Rf_protect(call), R_BaseEnv);
            Rf_unprotect(2);
            answer
        })?;
        // SAFETY: the function answers with a list of a flag and something.
        let (is_value, value) = unsafe {
            let flag = VECTOR_ELT(answer.get(), 0);
            (*LOGICAL_RO(flag) == 1, VECTOR_ELT(answer.get(), 1))
        };
        match is_value {
            true => give(results, value),
            false => Err(Fault::new("r", describe::text(value, 0).unwrap_or_default())),
        }
    }
}

/// Writes what an R function has returned.
fn give(results: RemainingRets<'_>, value: SEXP) -> Result<()> {
    let count = results.len();
    if count == 0 {
        return Ok(());
    }
    let is_list = TYPEOF(value) == VECSXP && Rf_isObject(value) == 0;
    let given = if is_list { Rf_xlength(value) as usize } else { 1 };
    if count != given {
        let expected = match count {
            1 => "an array, or a list of one".to_owned(),
            n => format!("a list of {n} arrays"),
        };
        return Err(Fault::argument("type", "value", expected, describe::value(value)));
    }
    for (i, result) in results.into_all().enumerate() {
        // SAFETY: the list has as many elements.
        let element = if is_list { unsafe { VECTOR_ELT(value, i as Length) } } else { value };
        let path = if is_list { format!("value[[{}]]", i + 1) } else { "value".to_owned() };
        write(result, element, &path)?;
    }
    Ok(())
}

/// Where arrays are made on the way to R and back.
fn host() -> Client {
    static HOST: OnceLock<Client> = OnceLock::new();
    *HOST.get_or_init(Client::host)
}

fn dtype(dtype: Option<DType>, what: &str) -> Result<DType> {
    dtype.ok_or_else(|| Fault::new("dtype", format!("{what} has an element type that R does not know")))
}

/// An operand as an R array.
fn array(operand: AnyBuffer<'_>, number: usize) -> Result<Root> {
    let path = format!("operand {number}");
    let copy = HostArray::from_bytes(dtype(operand.dtype(), &path)?, operand.shape(), operand.bytes())?;
    let array = host().upload(copy.view(), host().default_device())?;
    Root::new(read::as_array(&array, false, &path)?)
}

/// Writes an R array to a result, if it has the sizes, and elements that the dtype holds.
fn write(mut result: AnyBufferMut<'_>, value: SEXP, path: &str) -> Result<()> {
    let (dtype, shape) = (dtype(result.dtype(), path)?, result.shape());
    let wrong = |got: String| {
        let expected = format!("what becomes {}", describe::aval(&Aval::new(dtype, shape)));
        Err(Fault::argument("value", path, expected, got))
    };
    // SAFETY: the answer is rooted until its results are written.
    let Some(data) = (unsafe { Data::read(value)? }) else { return wrong(describe::value(value)) };
    // SAFETY: the value is a vector.
    let own = unsafe { shape_of(value)? };
    let is_scalar = shape.is_empty() && data.len() == 1;
    if !allowed(&data, dtype) {
        let only = match data.kind() {
            Type::Logical => "bool",
            Type::Complex => "complex numbers",
            _ => "numbers",
        };
        return wrong(format!("{} data, which become {only} only", data.name()));
    }
    if own[..] != *shape && !is_scalar {
        return wrong(format!("{} data of the dimensions {}", data.name(), describe::sizes(&own)));
    }
    let array: Array = upload_data(data, dtype, shape, host().default_device(), Check::Wrong, path)?;
    array.read_bytes(result.bytes_mut())?;
    Ok(())
}

const NO_NUL: &str = "which strings of R cannot hold";

/// Attributes as a named list.
fn dictionary(attributes: Dictionary<'_>) -> Result<Root> {
    let values = attributes.iter().map(|(name, attribute)| {
        if name.contains('\0') {
            return Err(Fault::new("type", format!("attribute {name:?} has a name with a NUL, {NO_NUL}")));
        }
        Ok((name, value(name, attribute)?))
    });
    let values = values.collect::<Result<Vec<(&str, Root)>>>()?;
    let named: Vec<(&str, SEXP)> = values.iter().map(|(name, value)| (*name, value.get())).collect();
    make::named_list(&named)
}

/// An attribute as R has it: integers of 64 bits and unsigned ones of 32 are `integer64`, as in buffers.
fn value(name: &str, attribute: Attr<'_>) -> Result<Root> {
    macro_rules! numbers {
        ($($type:ty),*) => {$(
            if let Ok(x) = attribute.get::<$type>() {
                return vector(&[x], &[]);
            }
            if let Ok(all) = attribute.get::<&[$type]>() {
                return vector(all, &[all.len() as i64]);
            }
        )*};
    }
    numbers!(i8, i16, i32, i64, u8, u16, u32, u64, f32, f64);
    if let Ok(flag) = attribute.get::<bool>() {
        return make::flag(flag);
    }
    if let Ok(text) = attribute.get::<&str>() {
        if text.contains('\0') {
            return Err(Fault::new("type", format!("attribute `{name}` is a string with a NUL, {NO_NUL}")));
        }
        return make::string(text);
    }
    match attribute.get::<Dictionary<'_>>() {
        Ok(inner) => dictionary(inner),
        Err(_) => {
            Err(Fault::new("type", format!("attribute `{name}` is {attribute}, which R does not know")))
        }
    }
}

/// Numbers as an R vector without dimensions.
fn vector<T: Element>(numbers: &[T], shape: &[i64]) -> Result<Root> {
    let view = HostView::new(numbers, shape)?;
    let array = host().upload(view, host().default_device())?;
    let value = Root::new(read::as_array(&array, false, "attributes")?)?;
    let vector = value.get();
    // SAFETY: the vector is rooted; taking its dimensions away allocates nothing that lives.
    protect(|| unsafe {
        Rf_setAttrib(vector, R_DimSymbol, R_NilValue);
    })?;
    Ok(value)
}
