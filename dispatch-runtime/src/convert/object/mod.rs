//! An object where an array is expected.

mod argument;
mod opened;
#[cfg(feature = "graph")]
mod skeleton;
mod waits;

use std::any::Any;
use std::cell::{Cell, OnceCell};
use std::fmt;

use super::described::bytes;
use super::rust::{Converters, Thing};
use super::{CopyPolicy, Expected, Out, global};
use crate::{Array, Device, Result};

use opened::Opened;

/// An object as an argument: what [`object`] gives.
///
/// A converter of the registry is asked for its data when it is passed, once: pass it by value, or make another one for the
/// next call.
pub struct Object<'a> {
    thing: Thing<'a>,
    registry: &'a Converters,
    copy: Option<CopyPolicy>,
    opened: OnceCell<Opened<'a>>,
    out: Cell<Out>,
}

/// An object as an argument of a family, or an input of a skeleton, if a converter for it is registered
/// [globally](global).
///
/// ```
/// use dispatch_runtime::convert::{self, CopyPolicy, Described, Expected};
/// use dispatch_runtime::prelude::*;
///
/// /// The numbers 1 to `len`, none of which it stores.
/// struct Sequence {
///     len: i64,
/// }
///
/// fn numbers<'a>(sequence: &'a Sequence, expected: &Expected<'_>) -> Result<Described<'a>> {
///     let numbers: Vec<i32> = (1..=sequence.len as i32).collect();
///     match expected.allows(DType::I32) {
///         true => Ok(Described::owned(HostArray::new(numbers, [sequence.len])?)),
///         false => Err(expected.error("a sequence is of integers")),
///     }
/// }
/// let _registered = convert::global().register_type("sequences", numbers)?;
///
/// #[dispatch_family]
/// fn total(cx: &CompileCx, #[dynamic(dtype = [i32, i64], shape = [n])] x: Value) -> Result<Program> {
///     cx.program(x.sum(..))
/// }
/// let total = Total::new(&Client::cpu()?);
/// assert_eq!(total.call(convert::object(&Sequence { len: 10 }))?.to_vec::<i32>()?, [55]);
/// # Ok::<(), Error>(())
/// ```
pub fn object<T: Any>(object: &T) -> Object<'_> {
    global().object(object)
}

impl Converters {
    /// An object as [`object`] makes it, whose converter is looked for in this registry, and in those below it.
    pub fn object<'a, T: Any>(&'a self, object: &'a T) -> Object<'a> {
        Object {
            thing: Thing::new(object),
            registry: self,
            copy: None,
            opened: OnceCell::new(),
            out: Cell::default(),
        }
    }
}

impl<'a> Object<'a> {
    /// Whether the data may be copied: for this call, instead of what the converter was registered with.
    pub fn copy(self, policy: CopyPolicy) -> Object<'a> {
        Object { copy: Some(policy), ..self }
    }

    /// The object as an array on a device.
    ///
    /// # Errors
    ///
    /// No converter is for it, or two; what the converter fails with; what it gave cannot be used, or under
    /// [`CopyPolicy::Never`] not without a copy; it was passed before.
    pub fn to_array(self, device: Device) -> Result<Array> {
        self.to_array_for(&Expected::new("object"), device)
    }

    /// [`to_array`](Object::to_array) for who knows what the array has to be: the converter is told, and what it gives is checked.
    /// Whether the data may be copied says [`copy`](Object::copy), not what is expected.
    ///
    /// ```
    /// use dispatch_runtime::convert::{Converters, Described, Expected};
    /// use dispatch_runtime::prelude::*;
    ///
    /// fn numbers<'a>(numbers: &'a Vec<f64>, _: &Expected<'_>) -> Result<Described<'a>> {
    ///     Ok(Described::owned(HostArray::new(numbers, [numbers.len() as i64])?).convertible())
    /// }
    /// let converters = Converters::new();
    /// converters.register_type("numbers", numbers)?.keep();
    /// let device = Client::cpu()?.default_device();
    /// let expected = Expected::new("weights[[1]]").dtypes(&[DType::F32]).shape(&[Some(2)]);
    /// let array = converters.object(&vec![1.0, 2.0]).to_array_for(&expected, device)?;
    /// assert_eq!(array.to_vec::<f32>()?, [1.0, 2.0]);
    /// let error = converters.object(&vec![1.0]).to_array_for(&expected, device).unwrap_err();
    /// assert_eq!(
    ///     error.to_string(),
    ///     "argument `weights[[1]]`: the converter `numbers` gave shape [1], expected [2]"
    /// );
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`to_array`](Object::to_array).
    pub fn to_array_for(self, expected: &Expected<'_>, device: Device) -> Result<Array> {
        self.open(expected, false, false)?;
        let Opened { entry, described, policy, .. } = self.opened.into_inner().expect("just opened");
        let expected = expected.copy(policy);
        let already = described.bytes_copied();
        let (array, copied) = described.into_array(&expected, entry.description(), device)?;
        entry.count_copied(copied - already);
        if array.device() == device {
            return Ok(array);
        }
        // A converter gives an array where it has it.
        let moved = array.to_device(device).map_err(|error| error.with_argument(expected.path))?;
        entry.count_copied(bytes(&moved));
        Ok(moved)
    }

    /// What came of the result that was written back, if that is a new object: see
    /// [`Out::Object`](super::Out::Object). The call has to be given the object by reference.
    pub fn take_out(&self) -> Out {
        self.out.take()
    }

    /// Asks the converter, unless that was done.
    pub(crate) fn open(&self, expected: &Expected<'_>, donated: bool, writes: bool) -> Result<()> {
        if let Some(opened) = self.opened.get() {
            return opened.again(expected, (donated, writes));
        }
        let Some(entry) = self.registry.choose(&self.thing, expected.path)? else {
            return Err(self.registry.none_for(&self.thing, expected.path));
        };
        let policy = self.copy.unwrap_or_else(|| entry.copy());
        let expected = expected.copy(policy);
        let name = entry.description();
        if writes && !entry.converter().gives_back() {
            let reason = "cannot write results back, as this argument demands";
            return Err(expected.error(format!("the converter `{name}` {reason}")));
        }
        let mut room = None;
        let described = entry.converter().convert_in(self.thing.object, &expected, name, &mut room)?;
        if writes && let Some(why) = described.why_not_written() {
            let reason = "and the result is written back into this argument";
            return Err(expected.error(format!("the converter `{name}` {why}, {reason}")));
        }
        entry.count(described.bytes_copied());
        let dtype = expected.dtype().unwrap_or(described.dtype());
        let purpose = (donated, writes);
        if let Some(opened) = self.opened.get() {
            // The converter has passed the object itself.
            return opened.again(&expected, purpose);
        }
        self.opened.get_or_init(|| Opened {
            entry,
            described: room.expect("just converted"),
            policy,
            dtype,
            purpose,
            shared: OnceCell::new(),
            spent: Cell::new(None),
        });
        Ok(())
    }

    fn opened(&self) -> &Opened<'a> {
        self.opened.get().expect("a call opens its objects first")
    }
}

impl fmt::Debug for Object<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut object = f.debug_struct("Object");
        object.field("class", &self.thing.class);
        if let Some(opened) = self.opened.get() {
            object.field("converter", &opened.entry.description()).field("described", &opened.described);
        }
        object.finish_non_exhaustive()
    }
}
