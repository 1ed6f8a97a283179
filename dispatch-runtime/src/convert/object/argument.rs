//! An object as an argument of a family.

use smallvec::SmallVec;

use super::super::{Expected, OutInfo};
use super::Object;
use super::opened::Opened;
use super::waits::Waits;
use crate::engine::RawBuffer;
use crate::family::{Arg, Copies, Dynamic, Family, Ready, Source, Temporary};
use crate::host::Converted;
use crate::signature::{Dim, Lead, LeafSpec, Scope, ShapeSpec};
use crate::{Array, DType, Error, Result};

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

    fn source(&self) -> Option<Source<'_>> {
        let object = std::ptr::from_ref(self.thing.object).cast();
        Some(Source { object, memory: self.opened().described.view() })
    }

    fn check_back(&self, result: &Array, info: &OutInfo<'_>) -> Result<()> {
        // What the computation fails with is told while nothing is written yet.
        result.await_ready().map_err(|error| error.with_argument(info.argument))?;
        let entry = &self.opened().entry;
        entry.converter().check_out(result, self.thing.object, info, entry.description())
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
