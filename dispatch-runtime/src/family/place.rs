//! From an argument to a buffer on the device of the call.

use std::marker::PhantomData;

use super::{Arg, Family, Leaf, LeafKind};
use crate::array::{Array, tag};
use crate::client::Client;
use crate::engine::RawBuffer;
use crate::host::Converted;
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
            LeafKind::Host(_) | LeafKind::BadLength { .. } => {
                GroupDType { host: self.host.or(Some(leaf.dtype())), ..self }
            }
            _ => GroupDType { device: self.device.or(Some(leaf.dtype())), ..self },
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
        LeafKind::Device(array) => (array.tag() == tag(dtype, rank)) & place.accepts_array(array),
        LeafKind::Host(view) => view.shape().len() == rank,
        LeafKind::Abstract(_) => leaf.tag() == tag(dtype, rank),
        LeafKind::BadLength { .. } => false,
    }
}

/// Whether an argument of at least this rank is acceptable, sizes aside.
#[inline(always)]
pub fn fits_lead(leaf: &impl Leaf, place: &mut Place, dtype: DType, rank: usize) -> bool {
    let dtype_fits = match leaf.kind() {
        LeafKind::Device(array) => (array.dtype() == dtype) & place.accepts_array(array),
        LeafKind::Host(_) => true,
        LeafKind::Abstract(aval) => aval.dtype() == dtype,
        LeafKind::BadLength { .. } => false,
    };
    dtype_fits & (leaf.shape().len() >= rank)
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

/// An argument whose host value, if it is one, has the dtype of the signature; nothing about it can fail any more
/// but the device.
pub enum Ready<'a> {
    /// An array on a device.
    Device(&'a Array),
    /// A host value at the declared dtype.
    Host(Converted<'a>),
}

impl<'a> Ready<'a> {
    /// Converts a host value; `name` is the argument's, for the error.
    #[inline(always)]
    pub fn new(arg: Arg<'a>, dtype: DType, name: &'static str) -> Result<Ready<'a>> {
        match arg {
            Arg::Device(array) => Ok(Ready::Device(array)),
            Arg::Host(view) => Ok(Ready::Host(Converted::new(view, dtype, &|| name.to_owned())?)),
            Arg::Abstract(_) | Arg::BadLength(..) => Err(Error::Value {
                argument: name.to_owned(),
                expected: "data".into(),
                got: "only a dtype and a shape".into(),
            }),
        }
    }

    /// The buffer on this device: the array's own, a copy of it elsewhere, or the upload of the host value.
    #[inline(always)]
    pub fn place(&self, family: &Family, device: u32) -> Result<Placed<'a>> {
        match self {
            Ready::Device(array) => Placed::array(array, family, device),
            Ready::Host(host) => {
                let client = family.client();
                let buffer = client.engine().upload(host.view(), device as usize)?;
                Ok(Placed { buffer, owner: Some(client), array: PhantomData })
            }
        }
    }

    /// The array, if it is one.
    #[inline(always)]
    pub fn array(&self) -> Option<&'a Array> {
        match self {
            Ready::Device(array) => Some(array),
            Ready::Host(_) => None,
        }
    }
}

/// A buffer on the device of the call, for the time of the call.
pub struct Placed<'a> {
    buffer: RawBuffer,
    /// The client whose engine ends the buffer with the call, if it was made for the call.
    owner: Option<Client>,
    array: PhantomData<&'a Array>,
}

impl<'a> Placed<'a> {
    /// An array, copied if inputs move and it is elsewhere.
    #[inline(always)]
    pub fn array(array: &'a Array, family: &Family, device: u32) -> Result<Placed<'a>> {
        if array.device_index() == device {
            return Ok(Placed { buffer: array.buffer(), owner: None, array: PhantomData });
        }
        Placed::copied(array, family, device)
    }

    #[cold]
    fn copied(array: &'a Array, family: &Family, device: u32) -> Result<Placed<'a>> {
        let client = family.client();
        // SAFETY: the array, which was checked to be one of this client, holds the buffer for `'a`.
        let buffer = unsafe { client.engine().copy(array.buffer(), device as usize) }?;
        Ok(Placed { buffer, owner: Some(client), array: PhantomData })
    }

    /// The buffer; alive as long as `self` and the array that it is of.
    #[inline(always)]
    pub fn buffer(&self) -> RawBuffer {
        self.buffer
    }
}

impl Drop for Placed<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        if let Some(client) = self.owner {
            // SAFETY: the buffer was made for this call by this engine and is given up here, once.
            unsafe { client.engine().destroy(self.buffer) }
        }
    }
}
