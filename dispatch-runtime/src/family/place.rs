//! From an argument to a buffer on the device of the call.

use super::{Arg, Dynamic, Family};
use crate::array::{Array, DTYPE, TAG, tag};
use crate::client::Client;
use crate::engine::RawBuffer;
use crate::host::Converted;
use crate::leaf::{Leaf, LeafKind};
use crate::signature::DTypeSpec;
use crate::tree::Place;
use crate::{DType, Error, Result};

/// The dtype of a group of arguments: that of its first device array, else by its first host value.
pub struct GroupDType {
    allowed: DTypeSpec,
    device: Option<DType>,
    host: Option<DType>,
}

impl GroupDType {
    /// A group without members so far.
    #[inline(always)]
    pub fn new(allowed: DTypeSpec) -> GroupDType {
        GroupDType { allowed, device: None, host: None }
    }

    /// The next member.
    #[inline(always)]
    pub fn leaf(self, leaf: &impl Leaf) -> GroupDType {
        match leaf.kind() {
            LeafKind::Host | LeafKind::BadLength { .. } => {
                GroupDType { host: self.host.or_else(|| Some(leaf.dtype())), ..self }
            }
            _ => GroupDType { device: self.device.or_else(|| Some(leaf.dtype())), ..self },
        }
    }

    /// The next member, a list: its first array speaks for it.
    #[inline(always)]
    pub fn list(self, leaves: &[impl Leaf]) -> GroupDType {
        match leaves.first() {
            Some(leaf) => self.leaf(leaf),
            None => self,
        }
    }

    /// The dtype; none if it is not allowed. Without any member (only empty lists) it is the default.
    #[inline(always)]
    pub fn finish(self) -> Option<DType> {
        match self.device {
            Some(dtype) if self.allowed.allows(dtype) => Some(dtype),
            Some(_) => None,
            None => Some(self.allowed.for_host(self.host.unwrap_or(DType::F32))),
        }
    }
}

/// The shape of the first array of a list; an empty list gives an empty shape, which no name can be read from.
#[inline(always)]
pub fn first_shape(leaves: &[impl Leaf]) -> &[i64] {
    leaves.first().map_or(&[], |leaf| leaf.shape())
}

/// Whether an argument of fixed rank is acceptable, sizes aside.
#[inline(always)]
pub fn fits(leaf: &impl Leaf, place: &mut Place, dtype: DType, rank: usize) -> bool {
    match leaf.kind() {
        LeafKind::Device(array) => place.accepts(array, tag(dtype, rank), TAG),
        LeafKind::Host => leaf.shape().len() == rank,
        LeafKind::Abstract(_) => leaf.tag() == tag(dtype, rank),
        LeafKind::BadLength { .. } => false,
    }
}

/// Whether an argument of at least this rank is acceptable, sizes aside.
#[inline(always)]
pub fn fits_lead(leaf: &impl Leaf, place: &mut Place, dtype: DType, rank: usize) -> bool {
    let dtype_fits = match leaf.kind() {
        LeafKind::Device(array) => place.accepts(array, dtype as u32, DTYPE),
        LeafKind::Host => true,
        LeafKind::Abstract(aval) => aval.dtype() == dtype,
        LeafKind::BadLength { .. } => false,
    };
    dtype_fits && leaf.shape().len() >= rank
}

/// The size of a dimension counted from the front; -1, which no array has, if there is none.
#[inline(always)]
pub fn dim(shape: &[i64], i: usize) -> i64 {
    shape.get(i).copied().unwrap_or(-1)
}

/// The size of a dimension counted from the back, the last one being 0; -1 if there is none.
#[inline(always)]
pub fn dim_back(shape: &[i64], i: usize) -> i64 {
    shape.len().checked_sub(i + 1).map_or(-1, |i| shape[i])
}

/// The dimensions before the last `rank` ones.
#[inline(always)]
pub fn lead(shape: &[i64], rank: usize) -> &[i64] {
    &shape[..shape.len().saturating_sub(rank)]
}

/// Whether two lists of sizes are equal. Written out, because they are too short for a call of `memcmp` to pay.
#[inline(always)]
pub fn same_sizes(a: &[i64], b: &[i64]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a == b)
}

/// Whether two arguments are one array.
#[inline(always)]
pub fn same_array(a: &impl Leaf, b: &impl Leaf) -> bool {
    match (a.kind(), b.kind()) {
        (LeafKind::Device(a), LeafKind::Device(b)) => a.same(b),
        _ => false,
    }
}

/// Visits every leaf of a call, with whether it is donated.
type Visit<'a> = dyn Fn(&mut dyn FnMut(&dyn Leaf, bool)) + 'a;

/// Whether no donated array stands twice in a call with lists or structs.
pub fn distinct(visit: &Visit<'_>) -> bool {
    let mut ok = true;
    let mut i = 0;
    visit(&mut |a, donated| {
        let mut j = 0;
        if let (true, LeafKind::Device(a)) = (donated, a.kind()) {
            visit(&mut |b, _| {
                if let LeafKind::Device(b) = b.kind() {
                    ok &= i == j || !a.same(b);
                }
                j += 1;
            });
        }
        i += 1;
    });
    ok
}

/// An argument of a checked call, its host value, if it is one, at the dtype of the signature: nothing about it can fail
/// any more but the device.
///
/// Arrays and host values have different types, so that the code of a call with arrays has no trace of uploads.
pub trait Ready<'a>: Sized {
    /// What lives for the time of the call.
    type Held;

    /// Converts a host value; `name` is the argument's, for the error.
    fn new(arg: Arg<'a>, dtype: DType, name: &'static str) -> Result<Self>;

    /// Uploads a host value and puts its buffer in place. That of an array is there from the check.
    fn upload(&self, buffer: &mut RawBuffer, family: &Family, device: u32) -> Result<Self::Held>;

    /// Puts a copy in place of the buffer of an array that is elsewhere.
    fn bring(&self, buffer: &mut RawBuffer, family: &Family, device: u32, copies: &mut Copies) -> Result<()>;

    /// The array, if it is one.
    fn array(&self) -> Option<&'a Array>;
}

/// An argument that passed the checks, by the type of what was passed.
#[inline(always)]
pub fn ready<'a, D: Dynamic + ?Sized>(
    passed: &'a D,
    arg: Arg<'a>,
    dtype: DType,
    name: &'static str,
) -> Result<D::Ready<'a>> {
    passed.ready(arg, dtype, name)
}

impl<'a> Ready<'a> for &'a Array {
    type Held = ();

    #[inline(always)]
    fn new(arg: Arg<'a>, _: DType, name: &'static str) -> Result<&'a Array> {
        match arg {
            Arg::Device(array) => Ok(array),
            _ => Err(no_data(name)),
        }
    }

    #[inline(always)]
    fn upload(&self, _: &mut RawBuffer, _: &Family, _: u32) -> Result<()> {
        Ok(())
    }

    #[inline(always)]
    fn bring(&self, buffer: &mut RawBuffer, family: &Family, device: u32, copies: &mut Copies) -> Result<()> {
        if self.device_index() != device {
            *buffer = copy(self, family, device, copies)?;
        }
        Ok(())
    }

    #[inline(always)]
    fn array(&self) -> Option<&'a Array> {
        Some(self)
    }
}

impl<'a> Ready<'a> for Converted<'a> {
    type Held = Temporary;

    #[inline(always)]
    fn new(arg: Arg<'a>, dtype: DType, name: &'static str) -> Result<Converted<'a>> {
        match arg {
            Arg::Host(view) => Converted::new(view, dtype, &|| name.to_owned()),
            _ => Err(no_data(name)),
        }
    }

    #[inline(always)]
    fn upload(&self, buffer: &mut RawBuffer, family: &Family, device: u32) -> Result<Temporary> {
        let client = family.client();
        *buffer = client.engine().upload(self.view(), device as usize)?;
        Ok(Temporary { buffer: *buffer, client })
    }

    #[inline(always)]
    fn bring(&self, _: &mut RawBuffer, _: &Family, _: u32, _: &mut Copies) -> Result<()> {
        Ok(())
    }

    #[inline(always)]
    fn array(&self) -> Option<&'a Array> {
        None
    }
}

/// What is an array or a host value only when the call is made.
pub enum Either<'a> {
    /// An array on a device.
    Device(&'a Array),
    /// A host value at the declared dtype.
    Host(Converted<'a>),
}

impl<'a> Ready<'a> for Either<'a> {
    type Held = Option<Temporary>;

    #[inline]
    fn new(arg: Arg<'a>, dtype: DType, name: &'static str) -> Result<Either<'a>> {
        match arg {
            Arg::Device(array) => Ok(Either::Device(array)),
            _ => Ready::new(arg, dtype, name).map(Either::Host),
        }
    }

    #[inline]
    fn upload(&self, buffer: &mut RawBuffer, family: &Family, device: u32) -> Result<Option<Temporary>> {
        match self {
            Either::Device(_) => Ok(None),
            Either::Host(host) => host.upload(buffer, family, device).map(Some),
        }
    }

    #[inline]
    fn bring(&self, buffer: &mut RawBuffer, family: &Family, device: u32, copies: &mut Copies) -> Result<()> {
        match self {
            Either::Device(array) => array.bring(buffer, family, device, copies),
            Either::Host(_) => Ok(()),
        }
    }

    #[inline]
    fn array(&self) -> Option<&'a Array> {
        match self {
            Either::Device(array) => Some(array),
            Either::Host(_) => None,
        }
    }
}

#[cold]
fn no_data(name: &str) -> Error {
    Error::Value {
        argument: name.to_owned(),
        expected: "data".into(),
        got: "only a dtype and a shape".into(),
    }
}

/// Copies an array that is elsewhere, as it may be if inputs move.
#[cold]
pub(super) fn copy(array: &Array, family: &Family, device: u32, copies: &mut Copies) -> Result<RawBuffer> {
    let client = family.client();
    // SAFETY: the caller borrows the array, which was checked to be one of this client, and it holds its buffer.
    let buffer = unsafe { client.engine().copy(array.buffer(), device as usize) }?;
    copies.push(Temporary { buffer, client });
    Ok(buffer)
}

/// What was copied to the device for one call.
pub type Copies = Vec<Temporary>;

/// Stands for a buffer that is not known yet.
pub const NO_BUFFER: RawBuffer = RawBuffer(std::ptr::NonNull::dangling());

/// The buffer of an argument that is an array on a device.
#[inline(always)]
pub fn buffer(leaf: &impl Leaf) -> RawBuffer {
    match leaf.kind() {
        LeafKind::Device(array) => array.buffer(),
        _ => NO_BUFFER,
    }
}

/// A buffer that was made for one call and ends with it.
pub struct Temporary {
    buffer: RawBuffer,
    client: Client,
}

impl Drop for Temporary {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: the buffer was made for this call by this engine and is given up here, once.
        unsafe { self.client.engine().destroy(self.buffer) }
    }
}
