//! What a converter gives.

use std::cell::Cell;
use std::fmt;

use super::{CopyPolicy, Expected};
use crate::aval::{brief, shape_text, short};
use crate::host::{Converted, HostArray, HostView, Owner};
use crate::{Array, Aval, Client, DType, Device, Result};

/// An object's data as a converter describes it: dtype, shape, where the elements lie, and who keeps them.
///
/// ```
/// use dispatch_runtime::convert::{CopyPolicy, Described, Expected};
/// use dispatch_runtime::prelude::*;
///
/// let client = Client::cpu()?;
/// let columns = HostView::column_major(&[1f32, 2.0, 3.0, 4.0], &[2, 2])?;
/// let described = Described::borrowed(columns);
/// assert_eq!((described.dtype(), described.shape()), (DType::F32, &[2, 2][..]));
///
/// let expected = Expected::new("x").dtypes(&[DType::F32]);
/// let (array, copied) = described.into_array(&expected, "columns", client.default_device())?;
/// assert_eq!((array.to_vec::<f32>()?, copied), (vec![1.0, 3.0, 2.0, 4.0], 16));
///
/// let never = expected.copy(CopyPolicy::Never);
/// let error = Described::borrowed(columns).into_array(&never, "columns", client.default_device()).unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "argument `x`: the converter `columns` may not copy, but its data is not row-major (strides [1,2])"
/// );
/// # Ok::<(), Error>(())
/// ```
pub struct Described<'a> {
    data: Data<'a>,
    immutable: bool,
    read_only: bool,
    convertible: bool,
    copied: u64,
}

enum Data<'a> {
    Borrowed(HostView<'a>),
    Kept(Kept),
    Array(Array),
}

/// Data with its owner. The view borrows from `shape` and `strides`, whose heap it lives in, and from what the owner keeps.
struct Kept {
    view: HostView<'static>,
    /// None once the plugin has it.
    owner: Cell<Option<Box<dyn Owner>>>,
    _shape: Box<[i64]>,
    _strides: Option<Box<[i64]>>,
}

impl Kept {
    /// # Safety
    ///
    /// The data that the view shows stays where it is for as long as the owner.
    unsafe fn new(view: HostView<'_>, owner: Box<dyn Owner>) -> Kept {
        let shape: Box<[i64]> = view.shape().into();
        let strides: Option<Box<[i64]>> = (!view.is_dense()).then(|| view.strides().into());
        // SAFETY: the boxes do not move their contents, and go with the view; the data by the caller's promise.
        let view = unsafe {
            let long = |list: &[i64]| std::slice::from_raw_parts(list.as_ptr(), list.len());
            view.at_home(long(&shape), strides.as_deref().map(long))
        };
        Kept { view, owner: Cell::new(Some(owner)), _shape: shape, _strides: strides }
    }
}

impl<'a> Described<'a> {
    fn of(data: Data<'a>) -> Described<'a> {
        Described { data, immutable: false, read_only: false, convertible: false, copied: 0 }
    }

    /// Data inside of the object, which is looked at only while the object is borrowed.
    pub fn borrowed(view: HostView<'a>) -> Described<'a> {
        Described::of(Data::Borrowed(view))
    }

    /// Data that the converter has made: a copy, whose bytes are counted.
    pub fn owned(array: HostArray) -> Described<'a> {
        let bytes = array.bytes().len() as u64;
        let array = Box::new(array);
        // SAFETY: the box keeps the array where it is, and nobody else has it.
        let kept = unsafe {
            let view: *const HostArray = &*array;
            Kept::new((*view).view(), array)
        };
        Described { immutable: true, copied: bytes, ..Described::of(Data::Kept(kept)) }
    }

    /// Data that the owner keeps.
    ///
    /// # Safety
    ///
    /// Until the owner is dropped the data stays where it is. Nobody writes to it while the object is borrowed.
    pub unsafe fn shared(view: HostView<'_>, owner: Box<dyn Owner>) -> Described<'a> {
        // SAFETY: by the caller's promise.
        Described::of(Data::Kept(unsafe { Kept::new(view, owner) }))
    }

    /// An array that is on a device already.
    pub fn array(array: Array) -> Described<'a> {
        Described::of(Data::Array(array))
    }

    /// Declares the data of [`shared`](Described::shared) to be the same for as long as its owner lives: a device may use it
    /// where it is, as [`Client::share`](crate::Client::share) says.
    ///
    /// # Safety
    ///
    /// Nobody writes to the data until the owner is dropped.
    pub unsafe fn immutable(self) -> Described<'a> {
        Described { immutable: true, ..self }
    }

    /// The object cannot be written to: as an argument whose result is written back it is refused.
    pub fn read_only(self) -> Described<'a> {
        Described { read_only: true, ..self }
    }

    /// So many bytes were copied to get at the data.
    pub fn copied(self, bytes: u64) -> Described<'a> {
        Described { copied: bytes, ..self }
    }

    /// The dtype is only how the numbers are kept: where another is expected they are converted as those of a slice are,
    /// exactly or with an error. Without this another dtype than expected is an error.
    pub fn convertible(self) -> Described<'a> {
        Described { convertible: true, ..self }
    }

    /// The element type.
    pub fn dtype(&self) -> DType {
        match &self.data {
            Data::Borrowed(view) => view.dtype(),
            Data::Kept(kept) => kept.view.dtype(),
            Data::Array(array) => array.dtype(),
        }
    }

    /// The sizes, outermost first.
    pub fn shape(&self) -> &[i64] {
        match &self.data {
            Data::Borrowed(view) => view.shape(),
            Data::Kept(kept) => &kept._shape,
            Data::Array(array) => array.shape(),
        }
    }

    /// Dtype and shape, and the strides and the offset unless it is dense.
    pub fn aval(&self) -> Aval {
        match &self.data {
            Data::Borrowed(view) => view.aval(),
            Data::Kept(kept) => kept.view.aval(),
            Data::Array(array) => array.aval(),
        }
    }

    /// The data, if it is on the host.
    pub fn view(&self) -> Option<HostView<'_>> {
        match &self.data {
            Data::Borrowed(view) => Some(*view),
            Data::Kept(kept) => Some(kept.view),
            Data::Array(_) => None,
        }
    }

    /// The array, if it is on a device.
    pub fn as_array(&self) -> Option<&Array> {
        match &self.data {
            Data::Array(array) => Some(array),
            _ => None,
        }
    }

    /// Whether it is declared [`immutable`](Described::immutable).
    pub fn is_immutable(&self) -> bool {
        self.immutable
    }

    /// Whether it cannot be written to.
    pub fn is_read_only(&self) -> bool {
        self.read_only
    }

    /// Why no result can be written to where the data is; none if one can.
    pub(super) fn why_not_written(&self) -> Option<String> {
        if self.read_only {
            return Some("gave read-only data".into());
        }
        let view = self.view().filter(|view| view.places().repeat())?;
        Some(format!("gave elements that share memory (strides {})", shape_text(&view.strides())))
    }

    /// Whether its numbers may be converted.
    pub fn is_convertible(&self) -> bool {
        self.convertible
    }

    /// How many bytes were copied so far.
    pub fn bytes_copied(&self) -> u64 {
        self.copied
    }

    /// An error unless it is what the argument has to be: the one place where what a converter gives is checked. `converter`
    /// is its description.
    pub fn check(&self, expected: &Expected<'_>, converter: &str) -> Result<()> {
        if let Data::Array(array) = &self.data
            && array.is_donated()
        {
            let reason = "gave an array that was donated to an earlier call and is gone";
            return Err(expected.error(format!("the converter `{converter}` {reason}")));
        }
        if !self.convertible {
            expected.check_dtype(self.dtype(), converter)?;
        }
        expected.check_shape(self.shape(), converter)?;
        if expected.copy == CopyPolicy::Never && self.copied > 0 {
            let bytes = crate::error::counted(self.copied as usize, "byte");
            return Err(
                expected.error(format!("the converter `{converter}` may not copy, but copied {bytes}"))
            );
        }
        Ok(())
    }

    /// The data as an array on a device, and how many bytes were copied on the host for it, by the converter too. 0 means that
    /// the array is in the memory that the data was in.
    ///
    /// The data is shared where it can be, unless the policy is [`CopyPolicy::Always`]; else it is copied once, from where it
    /// lies to the device. An array is given as it is, wherever it is.
    ///
    /// # Errors
    ///
    /// Those of [`check`](Described::check); a value that the expected dtype cannot hold; under [`CopyPolicy::Never`], why the
    /// data cannot be shared; what the device says.
    pub fn into_array(
        self,
        expected: &Expected<'_>,
        converter: &str,
        device: Device,
    ) -> Result<(Array, u64)> {
        self.check(expected, converter)?;
        if let Data::Array(array) = self.data {
            return Ok((array, self.copied));
        }
        let dtype = match expected.dtype() {
            Some(dtype) => dtype,
            None if expected.allows(self.dtype()) => self.dtype(),
            // As for a value of the host: the first one listed.
            None => expected.dtypes[0],
        };
        let reason = self.why_not_shared(dtype, device.client(), false);
        match (reason, expected.copy) {
            (None, CopyPolicy::Never | CopyPolicy::IfNeeded) => {
                let (view, owner) = (self.view().expect("data of the host"), self.take_owner());
                let owner = owner.unwrap_or_else(|| Box::new(()));
                // SAFETY: the data is immutable for as long as its owner lives, as the converter has declared; without one
                // there are no elements.
                let (array, shared) = unsafe { device.client().share(view, owner, device)? };
                if shared {
                    return Ok((array, self.copied));
                }
                self.check_copied(expected, converter, &array)?;
                let copied = self.copied + bytes(&array);
                Ok((array, copied))
            }
            (Some(reason), CopyPolicy::Never) => Err(self.may_not_copy(expected, converter, reason)),
            _ => {
                let view = self.view().expect("data of the host");
                let argument = || expected.path.to_owned();
                let converted = Converted::new(view, dtype, &argument)?;
                let array = device.client().upload(converted.view(), device)?;
                let copied = self.copied + bytes(&array);
                Ok((array, copied))
            }
        }
    }

    /// Why the data cannot be a device's as it is, at this dtype; none if it can. `waits` says that it is needed no longer than
    /// the object is borrowed.
    pub(super) fn why_not_shared(&self, dtype: DType, client: Client, waits: bool) -> Option<Obstacle> {
        let view = self.view()?;
        if view.dtype() != dtype {
            return Some(Obstacle::DType(dtype));
        }
        if view.len() == 0 {
            return None;
        }
        if !view.is_dense() {
            return Some(Obstacle::Strides);
        }
        match client.engine().share_alignment() {
            None => return Some(Obstacle::Platform(client.platform())),
            Some(to) if view.as_ptr() as usize % to != 0 => return Some(Obstacle::Alignment(to)),
            Some(_) => {}
        }
        let stays = waits || self.immutable && matches!(self.data, Data::Kept(_));
        (!stays).then_some(Obstacle::Mutable)
    }

    /// An error if the device has copied what could have been shared, and might not.
    pub(super) fn check_copied(&self, expected: &Expected<'_>, converter: &str, copy: &Array) -> Result<()> {
        match expected.copy == CopyPolicy::Never && copy.len() > 0 {
            true => Err(self.may_not_copy(expected, converter, Obstacle::Taken(copy.client().platform()))),
            false => Ok(()),
        }
    }

    /// The error of data that may not be copied and cannot be shared.
    #[cold]
    pub(super) fn may_not_copy(
        &self,
        expected: &Expected<'_>,
        converter: &str,
        obstacle: Obstacle,
    ) -> crate::Error {
        let reason = match obstacle {
            Obstacle::Donated => "a program may write into this argument".to_owned(),
            Obstacle::Written => "a result is written back into this argument".to_owned(),
            Obstacle::DType(dtype) => format!("its data is of dtype {}, not {dtype}", self.dtype()),
            Obstacle::Strides => {
                let layout = self.view().and_then(|view| view.layout());
                let layout = layout.as_ref().map(|(strides, offset)| (&**strides, *offset));
                format!("its data is not row-major ({})", crate::host::layout::text(layout))
            }
            Obstacle::Platform(name) => format!("platform {name} cannot use memory of the host"),
            Obstacle::Alignment(to) => format!("its data does not begin at a multiple of {to} bytes"),
            Obstacle::Taken(name) => format!("platform {name} took a copy all the same"),
            Obstacle::Mutable => "its data is not declared immutable".to_owned(),
        };
        expected.error(format!("the converter `{converter}` may not copy, but {reason}"))
    }

    /// The owner, for who keeps the data from now on.
    pub(super) fn take_owner(&self) -> Option<Box<dyn Owner>> {
        match &self.data {
            Data::Kept(kept) => kept.owner.take(),
            _ => None,
        }
    }
}

/// Why a device cannot use data where it is. Put into words only where that is an error: it is asked in each call.
#[derive(Clone, Copy)]
pub(super) enum Obstacle {
    /// A program may write to the argument.
    Donated,
    /// A result is written back, so the data changes.
    Written,
    /// Another dtype is needed.
    DType(DType),
    /// It is not row-major.
    Strides,
    /// The platform's devices have other memory.
    Platform(&'static str),
    /// It does not begin at a multiple of this.
    Alignment(usize),
    /// Nothing speaks against it, but the platform took a copy.
    Taken(&'static str),
    /// Nobody said that it stays as it is.
    Mutable,
}

/// The bytes of an array's elements.
pub(super) fn bytes(array: &Array) -> u64 {
    (array.len() * array.dtype().size()) as u64
}

impl fmt::Debug for Described<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match &self.data {
            Data::Borrowed(_) => "borrowed",
            Data::Kept(_) => "shared",
            Data::Array(array) => return write!(f, "Described({})", short(array.dtype(), array.shape())),
        };
        write!(f, "Described({kind} {}", brief(&self.aval()))?;
        for (flag, is) in [("immutable", self.immutable), ("read-only", self.read_only)] {
            if is {
                write!(f, ", {flag}")?;
            }
        }
        f.write_str(")")
    }
}
