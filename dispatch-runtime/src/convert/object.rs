//! An object where an array is expected.

use std::any::Any;
use std::cell::{Cell, OnceCell};
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use smallvec::SmallVec;

use super::described::{Described, Obstacle, bytes};
use super::rust::{AnyConverter, Converters, Thing};
use super::{CopyPolicy, Entry, Expected, Out, OutInfo, global};
use crate::engine::RawBuffer;
use crate::family::{Arg, Copies, Dynamic, Family, Ready, Temporary};
use crate::host::Converted;
use crate::leaf::{Leaf, LeafKind};
use crate::signature::{Dim, Lead, LeafSpec, Scope, ShapeSpec};
use crate::{Array, Client, DType, Device, Error, Result};
#[cfg(feature = "graph")]
use crate::{
    Aval,
    skeleton::{Convertible, Input},
};

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

/// An object with what its converter gave.
struct Opened<'a> {
    entry: Arc<Entry<AnyConverter>>,
    described: Described<'a>,
    policy: CopyPolicy,
    /// The dtype that its array has where no signature says another: what was expected, if that is one dtype, else its own.
    dtype: DType,
    /// Whether a program may write into the array that is made of it, and whether a result is written back into it.
    purpose: (bool, bool),
    /// An array in the memory of the data, which has its owner; the view is that of the same memory.
    shared: OnceCell<Array>,
    /// How it was used so that it serves no other call: its data is gone with the owner, since the device could not use it where
    /// it was, or is no longer that of the object.
    spent: Cell<Option<&'static str>>,
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
        self.open(&Expected::new("object"), false, false)?;
        let Opened { entry, described, policy, .. } = self.opened.into_inner().expect("just opened");
        let expected = Expected::new("object").copy(policy);
        let already = described.bytes_copied();
        let (array, copied) = described.into_array(&expected, entry.description(), device)?;
        entry.count_copied(copied - already);
        if array.device() == device {
            return Ok(array);
        }
        // A converter gives an array where it has it.
        let moved = array.to_device(device).map_err(|error| error.with_argument("object"))?;
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
        if writes && described.is_read_only() {
            let reason = "gave read-only data, and the result is written back into this argument";
            return Err(expected.error(format!("the converter `{name}` {reason}")));
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

impl<'a> Opened<'a> {
    /// An error unless what was found serves for this argument too.
    fn again(&self, expected: &Expected<'_>, purpose: (bool, bool)) -> Result<()> {
        let spent = self.spent.get();
        if spent.is_none() {
            self.described.check(expected, self.entry.description())?;
        }
        let dtype = expected.dtype().unwrap_or(self.described.dtype());
        let used = match spent {
            Some(how) => how.to_owned(),
            None if dtype != self.dtype => format!("converted to {}", self.dtype),
            None if purpose != self.purpose => "passed where it is used in another way".to_owned(),
            None => return Ok(()),
        };
        Err(expected.error(format!("the object was {used} before: pass another `object(…)`")))
    }

    fn expected<'e>(&self, path: &'e str) -> Expected<'e> {
        Expected::new(path).copy(self.policy)
    }

    /// Whether the data is to be in the array's memory; an error if it has to be and cannot. `donated` says that a program may
    /// write into the array, where that was not known when the object was converted.
    fn shares(&self, dtype: DType, client: Client, donated: bool, path: &str) -> Result<bool> {
        let waits = self.policy == CopyPolicy::Never;
        if !waits && !self.described.is_immutable() {
            return Ok(false);
        }
        let reason = match (self.purpose.0 || donated, self.purpose.1) {
            (true, _) => Some(Obstacle::Donated),
            // What is written back changes, so no device may rely on it.
            (_, true) => Some(Obstacle::Written),
            _ => self.described.why_not_shared(dtype, client, waits),
        };
        match (self.policy, reason) {
            (CopyPolicy::Always, _) | (CopyPolicy::IfNeeded, Some(_)) => Ok(false),
            (_, None) => Ok(true),
            (CopyPolicy::Never, Some(reason)) => {
                Err(self.described.may_not_copy(&self.expected(path), self.entry.description(), reason))
            }
        }
    }

    /// An array of the data on a device, in its memory; with what has to be waited for, if the data is only borrowed.
    fn share(&self, device: Device, path: &str) -> Result<(Array, Option<Waits>)> {
        if let Some(array) = self.shared.get() {
            return Ok((self.on(array, device)?, None));
        }
        let view = self.described.view().expect("data of the host");
        let immutable = self.described.is_immutable();
        let owner = if immutable { self.described.take_owner() } else { None };
        let (array, shared, waits) = match owner {
            Some(owner) => {
                self.spent.set(Some("used up"));
                // SAFETY: the data is the same for as long as its owner lives, as the converter has declared.
                let (array, shared) = unsafe { device.client().share(view, owner, device)? };
                if shared {
                    self.spent.set(None);
                }
                // The owner is with this array, so it stays for as long as the view.
                let _ = self.shared.set(array.clone());
                (array, shared, None)
            }
            None => {
                let end = Arc::new(End::default());
                let owner = Box::new(Tells(end.clone()));
                // SAFETY: the object is borrowed, and with it the data, until the end was waited for, and nobody writes to
                // it so long.
                let (array, shared) = unsafe { device.client().share(view, owner, device)? };
                (array.clone(), shared, Some(Waits { array: Some(array), end }))
            }
        };
        if !shared {
            self.entry.count_copied(bytes(&array));
            self.described.check_copied(&self.expected(path), self.entry.description(), &array)?;
        }
        Ok((array, waits))
    }

    /// The array that has the data's owner, on a device.
    fn on(&self, array: &Array, device: Device) -> Result<Array> {
        if array.device() == device {
            return Ok(array.clone());
        }
        let array = array.to_device(device)?;
        self.entry.count_copied(bytes(&array));
        Ok(array)
    }
}

impl Leaf for Opened<'_> {
    fn kind(&self) -> LeafKind<'_> {
        match self.described.as_array() {
            Some(array) => LeafKind::Device(array),
            None => LeafKind::Host,
        }
    }

    fn tag(&self) -> u32 {
        match self.described.as_array() {
            Some(array) => array.tag(),
            None => crate::array::tag(self.described.dtype(), self.described.shape().len()),
        }
    }

    fn dtype(&self) -> DType {
        self.described.dtype()
    }

    fn shape(&self) -> &[i64] {
        self.described.shape()
    }

    fn converter(&self) -> Option<&str> {
        Some(self.entry.description())
    }
}

/// Borrowed data that a device uses where it is: waits until it does no more.
pub struct Waits {
    array: Option<Array>,
    end: Arc<End>,
}

#[derive(Default)]
struct End {
    is_over: Mutex<bool>,
    changed: Condvar,
}

/// The owner of borrowed data: it only tells that the data is given back.
struct Tells(Arc<End>);

impl Drop for Tells {
    fn drop(&mut self) {
        *self.0.is_over.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.0.changed.notify_all();
    }
}

impl Drop for Waits {
    fn drop(&mut self) {
        self.array = None;
        let over = self.end.is_over.lock().unwrap_or_else(PoisonError::into_inner);
        drop(self.end.changed.wait_while(over, |over| !*over));
    }
}

// SAFETY: an array that a converter gives is checked by the stub as any other; data of the host becomes a buffer of the dtype that
// the stub demands, on its device.
unsafe impl Dynamic for Object<'_> {
    type Ready<'a>
        = ReadyObject<'a>
    where
        Self: 'a;

    fn open(&self, scope: &'static Scope, field: usize) -> Result<()> {
        let spec = &scope.fields[field];
        let leaf = spec.leaf.as_ref().expect("one array is no struct");
        let (_, dtypes) = scope.dtype_root(field);
        let shape = shape_of(scope, leaf);
        let expected =
            Expected { dtypes: dtypes.dtypes(), shape: shape.as_deref(), ..Expected::new(spec.name) };
        self.open(&expected, leaf.donate, leaf.write_back.is_some())
    }

    fn arg<'a>(&'a self, _: &'a mut [i64; 1]) -> Arg<'a> {
        Arg::Object(self.opened())
    }

    fn ready<'a>(&'a self, _: Arg<'a>, dtype: DType, name: &'static str) -> Result<ReadyObject<'a>> {
        let opened = self.opened();
        let described = &opened.described;
        let view = match described.as_array() {
            Some(array) => return Ok(ReadyObject::Device(array)),
            None => described.view().expect("what is no array is data of the host"),
        };
        if described.dtype() != dtype && !described.is_convertible() {
            let (converter, got) = (opened.entry.description(), described.dtype());
            let reason = format!(
                "the converter `{converter}` gave dtype {got}, expected {dtype} as the other arguments"
            );
            return Err(opened.expected(name).error(reason));
        }
        Ok(ReadyObject::Host { opened, converted: Ready::new(Arg::Host(view), dtype, name)?, name })
    }

    fn source(&self) -> Option<*const ()> {
        Some(std::ptr::from_ref(self.thing.object).cast())
    }

    fn write_back(&self, result: &Array, info: &OutInfo<'_>) -> Result<()> {
        let Opened { entry, spent, .. } = self.opened();
        // What was converted is what the object held before.
        spent.set(Some("written back into"));
        let out = entry.converter().convert_out(result, self.thing.object, info, entry.description())?;
        self.out.set(out);
        Ok(())
    }
}

/// The sizes that a signature says, if it says how many there are.
fn shape_of(scope: &Scope, leaf: &LeafSpec) -> Option<SmallVec<[Option<i64>; 6]>> {
    match leaf.shape {
        ShapeSpec::Dims(Lead::None, dims) => {
            let mut sizes = SmallVec::new();
            for dim in dims {
                sizes.push(match dim {
                    Dim::Fixed(size) => Some(*size),
                    Dim::Any | Dim::Captured(_) => None,
                });
            }
            Some(sizes)
        }
        ShapeSpec::Dims(..) => None,
        ShapeSpec::Same(other) => shape_of(scope, scope.fields[other].leaf.as_ref()?),
    }
}

/// An object of a checked call.
pub enum ReadyObject<'a> {
    /// Its converter gave an array.
    Device(&'a Array),
    /// Its converter gave data of the host.
    #[allow(private_interfaces)]
    Host {
        /// The object.
        opened: &'a Opened<'a>,
        /// Its data, at the dtype of the signature.
        converted: Converted<'a>,
        /// The argument.
        name: &'static str,
    },
}

/// What an object's buffer lives by during a call.
pub enum HeldObject {
    /// Nothing: it is an array's.
    Nothing,
    /// It was made for the call.
    Temporary(Temporary),
    /// It is that of the array, whose memory may be borrowed.
    Shared(Array, Option<Waits>),
}

impl<'a> Ready<'a> for ReadyObject<'a> {
    type Held = HeldObject;

    fn new(_: Arg<'a>, _: DType, name: &'static str) -> Result<ReadyObject<'a>> {
        Err(Error::Converter { argument: name.into(), reason: "an object is made ready by itself".into() })
    }

    fn upload(&self, buffer: &mut RawBuffer, family: &Family, device: u32) -> Result<HeldObject> {
        let ReadyObject::Host { opened, converted, name } = self else { return Ok(HeldObject::Nothing) };
        let client = family.client();
        let dtype = converted.view().dtype();
        if opened.shares(dtype, client, false, name)? {
            let (array, waits) = opened.share(client.device_at(device), name)?;
            *buffer = array.buffer();
            return Ok(HeldObject::Shared(array, waits));
        }
        let held = converted.upload(buffer, family, device)?;
        opened.entry.count_copied((converted.view().len() * dtype.size()) as u64);
        Ok(HeldObject::Temporary(held))
    }

    fn bring(&self, buffer: &mut RawBuffer, family: &Family, device: u32, copies: &mut Copies) -> Result<()> {
        match self {
            ReadyObject::Device(array) => array.bring(buffer, family, device, copies),
            ReadyObject::Host { .. } => Ok(()),
        }
    }

    fn array(&self) -> Option<&'a Array> {
        match self {
            ReadyObject::Device(array) => Some(array),
            ReadyObject::Host { .. } => None,
        }
    }
}

#[cfg(feature = "graph")]
impl Convertible for Object<'_> {
    fn convert(&self, path: &str, slot: Option<(&Aval, bool)>) -> Result<()> {
        let Some((aval, donated)) = slot else { return self.open(&Expected::new(path), false, false) };
        let shape: SmallVec<[Option<i64>; 6]> = aval.shape().iter().map(|&size| Some(size)).collect();
        let layout = aval.strides().map(|strides| (strides, aval.offset()));
        let expected = Expected { layout, ..Expected::new(path).shape(&shape) };
        self.open(&expected.dtypes(&[aval.dtype()]), donated, false)
    }

    fn converted(&self) -> Input<'_> {
        let described = &self.opened().described;
        match described.as_array() {
            Some(array) => Input::Array(array),
            None => Input::Host(described.view().expect("what is no array is data of the host")),
        }
    }

    fn array(&self, path: &str, device: Device, donated: bool) -> Result<(Array, Option<Box<dyn Any>>)> {
        let opened = self.opened();
        let described = &opened.described;
        if let Some(array) = described.as_array() {
            return Ok((array.clone(), None));
        }
        let dtype = opened.dtype;
        if opened.shares(dtype, device.client(), donated, path)? {
            let (array, waits) = opened.share(device, path)?;
            return Ok((array, waits.map(|waits| Box::new(waits) as Box<dyn Any>)));
        }
        let view = described.view().expect("what is no array is data of the host");
        let converted = Converted::new(view, dtype, &|| path.to_owned())?;
        let array = device.client().upload(converted.view(), device)?;
        opened.entry.count_copied(bytes(&array));
        Ok((array, None))
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
