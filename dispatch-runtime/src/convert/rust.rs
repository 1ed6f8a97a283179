//! Converters for objects of this program.

use std::any::{Any, TypeId, type_name};
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::LazyLock;

use super::{Described, Expected, Match, Out, OutInfo, Registered, Registration, Registry, Subject};
use crate::engine::host::panic_text;
use crate::{Array, Error, Result};

/// Takes objects of type `T` for arrays, and puts results back into them. With `dyn Any` for `T` it is for objects of any
/// type.
///
/// A function with the signature of [`convert_in`](Converter::convert_in), without `self`, is one too.
///
/// ```
/// use dispatch_runtime::convert::{self, Converter, Described, Expected, Out, OutInfo};
/// use dispatch_runtime::prelude::*;
/// use std::sync::Mutex;
///
/// /// A record that fills itself.
/// struct Tape(Mutex<Vec<f64>>);
///
/// struct Tapes;
///
/// impl Converter<Tape> for Tapes {
///     fn convert_in<'a>(&self, tape: &'a Tape, _: &Expected<'_>) -> Result<Described<'a>> {
///         let data = tape.0.lock().unwrap();
///         Ok(Described::owned(HostArray::new(&*data, [data.len() as i64])?))
///     }
///
///     fn gives_back(&self) -> bool {
///         true
///     }
///
///     fn convert_out(&self, result: &Array, tape: &Tape, _: &OutInfo<'_>) -> Result<Out> {
///         *tape.0.lock().unwrap() = result.to_vec()?;
///         Ok(Out::Written)
///     }
/// }
///
/// let registered = convert::global().register_type("tapes", Tapes)?;
///
/// #[dispatch_family]
/// fn double(cx: &CompileCx, #[dynamic(dtype = f64, shape = [n], write_back)] x: Value) -> Result<Program> {
///     cx.program(x * 2.0)
/// }
///
/// let tape = Tape(Mutex::new(vec![1.0, 2.0, 3.0]));
/// let double = Double::new(&Client::cpu()?);
/// double.call(convert::object(&tape))?;
/// assert_eq!(*tape.0.lock().unwrap(), [2.0, 4.0, 6.0]);
/// assert_eq!((registered.entry().calls(), registered.entry().bytes_copied()), (1, 48));
/// # Ok::<(), Error>(())
/// ```
pub trait Converter<T: ?Sized>: Send + Sync + 'static {
    /// Says where the object's data is and what it is; `expected` is what the argument has to be, as far as that is known.
    ///
    /// What comes of it is checked. No lock is held meanwhile: it may dispatch, and convert.
    fn convert_in<'a>(&self, object: &'a T, expected: &Expected<'_>) -> Result<Described<'a>>;

    /// Whether [`convert_out`](Converter::convert_out) does anything. Objects of a converter that does not are refused as
    /// arguments that are written back, before anything runs.
    fn gives_back(&self) -> bool {
        false
    }

    /// An error if [`convert_out`](Converter::convert_out) cannot put the result into the object: it has another shape, or the
    /// object cannot be written to any more. Where a call writes several results back, all converters are asked this before the
    /// first of them writes.
    fn check_out(&self, result: &Array, original: &T, info: &OutInfo<'_>) -> Result<()> {
        let _ = (result, original, info);
        Ok(())
    }

    /// Puts a result into the object that was the argument, or makes a new one of it after its example.
    ///
    /// Where this fails after the converter of another argument has written, what that one wrote stays: whatever can be known
    /// before is the matter of [`check_out`](Converter::check_out).
    fn convert_out(&self, result: &Array, original: &T, info: &OutInfo<'_>) -> Result<Out> {
        let _ = (result, original, info);
        Ok(Out::Nothing)
    }
}

impl<T: ?Sized, F> Converter<T> for F
where
    F: for<'a> Fn(&'a T, &Expected<'_>) -> Result<Described<'a>> + Send + Sync + 'static,
{
    fn convert_in<'a>(&self, object: &'a T, expected: &Expected<'_>) -> Result<Described<'a>> {
        self(object, expected)
    }
}

/// A converter for Rust objects as a registry holds it, whatever its type; made with its [`Registration`].
///
/// So a rule never comes without what it asks: a predicate that nobody gave would fit nothing, and nobody would be told.
///
/// ```compile_fail,E0308
/// use dispatch_runtime::convert::{Converters, Described, Expected, Match, Registration};
/// use dispatch_runtime::prelude::*;
///
/// fn one<'a>(number: &'a f64, _: &Expected<'_>) -> Result<Described<'a>> {
///     Ok(Described::owned(HostArray::new([*number], [])?))
/// }
/// Converters::new().register(Registration::new(Match::Predicate, "numbers", one))?;
/// # Ok::<(), Error>(())
/// ```
pub struct AnyConverter {
    converter: Box<dyn Erased>,
    satisfies: Option<Predicate>,
}

type Predicate = Box<dyn Fn(&dyn Any) -> bool + Send + Sync>;

/// A converter that sees its objects as `dyn Any`.
trait Erased: Send + Sync {
    fn convert_in<'a>(&self, object: &'a dyn Any, expected: &Expected<'_>) -> Result<Described<'a>>;
    fn gives_back(&self) -> bool;
    fn check_out(&self, result: &Array, original: &dyn Any, info: &OutInfo<'_>) -> Result<()>;
    fn convert_out(&self, result: &Array, original: &dyn Any, info: &OutInfo<'_>) -> Result<Out>;
}

/// A converter for one type.
struct Typed<T, C>(C, PhantomData<fn(&T)>);

impl<T: Any, C: Converter<T>> Erased for Typed<T, C> {
    fn convert_in<'a>(&self, object: &'a dyn Any, expected: &Expected<'_>) -> Result<Described<'a>> {
        self.0.convert_in(object.downcast_ref().expect("found by this type"), expected)
    }

    fn gives_back(&self) -> bool {
        self.0.gives_back()
    }

    fn check_out(&self, result: &Array, original: &dyn Any, info: &OutInfo<'_>) -> Result<()> {
        self.0.check_out(result, original.downcast_ref().expect("found by this type"), info)
    }

    fn convert_out(&self, result: &Array, original: &dyn Any, info: &OutInfo<'_>) -> Result<Out> {
        self.0.convert_out(result, original.downcast_ref().expect("found by this type"), info)
    }
}

/// A converter for any.
struct Untyped<C>(C);

impl<C: Converter<dyn Any>> Erased for Untyped<C> {
    fn convert_in<'a>(&self, object: &'a dyn Any, expected: &Expected<'_>) -> Result<Described<'a>> {
        self.0.convert_in(object, expected)
    }

    fn gives_back(&self) -> bool {
        self.0.gives_back()
    }

    fn check_out(&self, result: &Array, original: &dyn Any, info: &OutInfo<'_>) -> Result<()> {
        self.0.check_out(result, original, info)
    }

    fn convert_out(&self, result: &Array, original: &dyn Any, info: &OutInfo<'_>) -> Result<Out> {
        self.0.convert_out(result, original, info)
    }
}

/// Converters for Rust objects.
pub type Converters = Registry<AnyConverter>;

/// The registry that all of this program's calls ask, unless they name another.
pub fn global() -> &'static Converters {
    static GLOBAL: LazyLock<Converters> = LazyLock::new(Registry::new);
    &GLOBAL
}

impl Converters {
    /// Registers a converter for the objects of type `T`.
    ///
    /// ```
    /// use dispatch_runtime::convert::{self, Described, Expected};
    /// use dispatch_runtime::prelude::*;
    ///
    /// struct Samples(Vec<f32>, [i64; 1]);
    ///
    /// fn view<'a>(samples: &'a Samples, _: &Expected<'_>) -> Result<Described<'a>> {
    ///     Ok(Described::borrowed(HostView::new(&samples.0, &samples.1)?))
    /// }
    ///
    /// let registered = convert::global().register_type("samples", view)?;
    /// let samples = Samples(vec![1.0, 2.0], [2]);
    /// let array = convert::object(&samples).to_array(Client::cpu()?.default_device())?;
    /// assert_eq!(array.to_vec::<f32>()?, [1.0, 2.0]);
    ///
    /// drop(registered);
    /// let error = convert::object(&samples).to_array(Client::cpu()?.default_device()).unwrap_err();
    /// assert!(error.to_string().contains("no converter is registered for an object of class"));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn register_type<T: Any>(
        &self,
        description: impl Into<String>,
        converter: impl Converter<T>,
    ) -> Result<Registered<AnyConverter>> {
        self.register(Registration::for_type(description, converter))
    }

    /// Registers a converter for the objects that a predicate holds of.
    pub fn register_if(
        &self,
        description: impl Into<String>,
        predicate: impl Fn(&dyn Any) -> bool + Send + Sync + 'static,
        converter: impl Converter<dyn Any>,
    ) -> Result<Registered<AnyConverter>> {
        self.register(Registration::for_those(description, predicate, converter))
    }
}

/// Registrations for [`Converters`], where more is said than [`Converters::register_type`] does. A converter for Rust objects comes
/// with what it is for, so that none is registered which never fits, or is given objects of another type.
impl Registration<AnyConverter> {
    /// A converter for the objects of type `T`.
    ///
    /// ```
    /// use dispatch_runtime::convert::*;
    /// use dispatch_runtime::prelude::*;
    ///
    /// fn floats<'a>(floats: &'a Vec<f32>, _: &Expected<'_>) -> Result<Described<'a>> {
    ///     Ok(Described::owned(HostArray::new(floats, [floats.len() as i64])?))
    /// }
    /// let converters = Converters::new();
    /// let registration = Registration::for_type("floats", floats).package("stats").copy(CopyPolicy::Never);
    /// let registered = converters.register(registration)?;
    /// let error = converters.object(&vec![1f32]).to_array(Client::cpu()?.default_device()).unwrap_err();
    /// assert!(error.to_string().ends_with("the converter `floats` may not copy, but copied 4 bytes"));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn for_type<T: Any>(
        description: impl Into<String>,
        converter: impl Converter<T>,
    ) -> Registration<AnyConverter> {
        let converter = AnyConverter { converter: Box::new(Typed(converter, PhantomData)), satisfies: None };
        Registration::new(Match::Type(TypeId::of::<T>()), description, converter)
    }

    /// A converter for the objects of a class, which is the name of their type as [`type_name`] gives it. One for the type comes
    /// before it.
    ///
    /// ```
    /// use std::any::{Any, type_name};
    ///
    /// use dispatch_runtime::convert::*;
    /// use dispatch_runtime::prelude::*;
    ///
    /// struct Length(i64);
    ///
    /// fn number<'a>(object: &'a dyn Any, expected: &Expected<'_>) -> Result<Described<'a>> {
    ///     let Some(length) = object.downcast_ref::<Length>() else { return Err(expected.error("no length")) };
    ///     Ok(Described::owned(HostArray::new([length.0], [1])?))
    /// }
    /// let converters = Converters::new();
    /// let registered = converters.register(Registration::for_class(type_name::<Length>(), "lengths", number))?;
    /// let array = converters.object(&Length(3)).to_array(Client::cpu()?.default_device())?;
    /// assert_eq!(array.to_vec::<i64>()?, [3]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn for_class(
        class: impl Into<String>,
        description: impl Into<String>,
        converter: impl Converter<dyn Any>,
    ) -> Registration<AnyConverter> {
        let converter = AnyConverter { converter: Box::new(Untyped(converter)), satisfies: None };
        Registration::new(Match::class(class), description, converter)
    }

    /// A converter for the objects that a predicate holds of.
    ///
    /// ```
    /// use std::any::Any;
    ///
    /// use dispatch_runtime::convert::*;
    /// use dispatch_runtime::prelude::*;
    ///
    /// fn one<'a>(object: &'a dyn Any, expected: &Expected<'_>) -> Result<Described<'a>> {
    ///     let number = object.downcast_ref::<i32>().map(|&i| f64::from(i)).or(object.downcast_ref::<f64>().copied());
    ///     let number = number.ok_or_else(|| expected.error("no number"))?;
    ///     Ok(Described::owned(HostArray::new([number], [])?))
    /// }
    /// let is_number = |object: &dyn Any| object.is::<i32>() || object.is::<f64>();
    /// let converters = Converters::new();
    /// let registered = converters.register(Registration::for_those("numbers", is_number, one).package("stats"))?;
    /// assert_eq!(registered.entry().package(), Some("stats"));
    /// let device = Client::cpu()?.default_device();
    /// assert_eq!(converters.object(&3i32).to_array(device)?.to_vec::<f64>()?, [3.0]);
    /// assert!(converters.object(&3u8).to_array(device).is_err());
    /// # Ok::<(), Error>(())
    /// ```
    pub fn for_those(
        description: impl Into<String>,
        predicate: impl Fn(&dyn Any) -> bool + Send + Sync + 'static,
        converter: impl Converter<dyn Any>,
    ) -> Registration<AnyConverter> {
        let (converter, satisfies) = (Box::new(Untyped(converter)), Some(Box::new(predicate) as Predicate));
        Registration::new(Match::Predicate, description, AnyConverter { converter, satisfies })
    }
}

impl AnyConverter {
    /// Converts into `room`, and checks what comes of it. `name` is the converter's description.
    pub(super) fn convert_in<'r, 'a>(
        &self,
        object: &'a dyn Any,
        expected: &Expected<'_>,
        name: &str,
        room: &'r mut Option<Described<'a>>,
    ) -> Result<&'r Described<'a>> {
        // What is described is large, and each way back through a result would copy it.
        guarded(name, expected, || {
            *room = Some(self.converter.convert_in(object, expected)?);
            Ok(())
        })?;
        let described = room.as_ref().expect("just converted");
        described.check(expected, name)?;
        Ok(described)
    }

    pub(super) fn gives_back(&self) -> bool {
        self.converter.gives_back()
    }

    pub(super) fn check_out(
        &self,
        result: &Array,
        original: &dyn Any,
        info: &OutInfo<'_>,
        name: &str,
    ) -> Result<()> {
        let about = Expected::new(info.argument);
        guarded(name, &about, || self.converter.check_out(result, original, info))
    }

    pub(super) fn convert_out(
        &self,
        result: &Array,
        original: &dyn Any,
        info: &OutInfo<'_>,
        name: &str,
    ) -> Result<Out> {
        let about = Expected::new(info.argument);
        guarded(name, &about, || self.converter.convert_out(result, original, info))
    }
}

/// Calls a converter: a panic is an error, and an error names the converter and the argument.
fn guarded<R>(name: &str, expected: &Expected<'_>, call: impl FnOnce() -> Result<R>) -> Result<R> {
    let called = catch_unwind(AssertUnwindSafe(call)).map_err(|panic| {
        expected.error(format!("the converter `{name}` panicked: {}", panic_text(&*panic)))
    })?;
    called.map_err(|error| match error {
        Error::Interrupted => error,
        Error::Converter { argument, reason } if argument == expected.path => {
            expected.error(format!("the converter `{name}` failed: {reason}"))
        }
        error => expected.error(format!("the converter `{name}` failed: {error}")),
    })
}

/// A Rust object for which a converter is looked for.
#[derive(Clone, Copy)]
pub(super) struct Thing<'a> {
    pub object: &'a dyn Any,
    /// The name of its type.
    pub class: &'static str,
}

impl<'a> Thing<'a> {
    pub fn new<T: Any>(object: &'a T) -> Thing<'a> {
        Thing { object, class: type_name::<T>() }
    }
}

impl Subject<AnyConverter> for Thing<'_> {
    fn classes(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.class)
    }

    fn type_id(&self) -> Option<TypeId> {
        Some(self.object.type_id())
    }

    fn satisfies(&self, converter: &AnyConverter) -> Result<bool> {
        let Some(satisfies) = &converter.satisfies else { return Ok(false) };
        catch_unwind(AssertUnwindSafe(|| satisfies(self.object)))
            .map_err(|panic| Error::Panic { callee: "the predicate".into(), message: panic_text(&*panic) })
    }
}
