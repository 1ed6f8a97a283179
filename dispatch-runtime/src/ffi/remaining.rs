//! Arguments and results of any number.

use std::ffi::c_void;
use std::fmt;

use super::any::{AnyBuffer, AnyBufferMut};
use super::buffer::{Argument, Buffer, BufferMut, Named, Output, Want};
use super::slot::Slot;
use super::{Error, Result};
use crate::Element;

/// The arguments after the declared ones, each of any element type.
///
/// ```
/// # use dispatch_runtime::ffi::{self, BufferMut, RemainingArgs};
/// fn sum(args: RemainingArgs<'_>, mut out: BufferMut<'_, f32>) -> ffi::Result<()> {
///     out.fill(0.0);
///     for i in 0..args.len() {
///         for (o, x) in out.iter_mut().zip(&args.get::<f32>(i)?[..]) {
///             *o += x;
///         }
///     }
///     Ok(())
/// }
/// ```
#[derive(Clone, Copy)]
pub struct RemainingArgs<'a>(Rest<'a>);

/// The results after the declared ones, each of any element type.
pub struct RemainingRets<'a>(Rest<'a>);

/// The end of a list of buffers, each of which has been checked.
#[derive(Clone, Copy)]
struct Rest<'a> {
    slots: &'a [*mut c_void],
    name: &'static str,
}

// SAFETY: shared and exclusive slices with shapes; a result is given away once, or borrowed.
unsafe impl Send for Rest<'_> {}
// SAFETY: as above.
unsafe impl Sync for Rest<'_> {}

impl<'a> Rest<'a> {
    /// `get` reads the buffer with an index, if it is one.
    #[inline]
    fn new(
        slots: &'a [*mut c_void],
        name: &'static str,
        get: impl Fn(usize) -> Option<Slot<'a>>,
    ) -> Option<Rest<'a>> {
        let sound =
            |i| get(i).is_some_and(|slot| AnyBuffer::decode(slot, Want::ANY, Named::of(name)).is_some());
        (0..slots.len()).all(sound).then_some(Rest { slots, name })
    }

    /// A buffer, and its name.
    #[inline]
    fn slot(&self, i: usize) -> Option<(Slot<'a>, Named)> {
        // SAFETY: all of them have been checked.
        let slot = unsafe { Slot::checked(*self.slots.get(i)?) };
        Some((slot, Named { name: self.name, index: Some(i as u32) }))
    }

    #[cold]
    fn out_of_range(&self, role: &str, i: usize) -> Error {
        let (name, len) = (self.name, self.slots.len());
        Error::invalid_argument(format!("{role} `{name}[{i}]`: there are only {len}"))
    }

    fn arg(&self, i: usize) -> Option<AnyBuffer<'a>> {
        let (slot, name) = self.slot(i)?;
        AnyBuffer::decode(slot, Want::ANY, name)
    }

    fn ret(&self, i: usize) -> Option<AnyBufferMut<'a>> {
        let (slot, name) = self.slot(i)?;
        AnyBufferMut::decode(slot, Want::ANY, name)
    }
}

impl<'a> RemainingArgs<'a> {
    #[inline]
    pub(super) fn new(
        slots: &'a [*mut c_void],
        name: &'static str,
        get: impl Fn(usize) -> Option<Slot<'a>>,
    ) -> Option<RemainingArgs<'a>> {
        Rest::new(slots, name, get).map(RemainingArgs)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.slots.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.slots.is_empty()
    }

    /// One of them, of any element type. Out of range is an error.
    pub fn any(&self, i: usize) -> Result<AnyBuffer<'a>> {
        self.0.arg(i).ok_or_else(|| self.0.out_of_range("argument", i))
    }

    /// One of them, of this element type. Out of range is an error, and so is another element type.
    pub fn get<T: Element>(&self, i: usize) -> Result<Buffer<'a, T>> {
        self.any(i)?.typed()
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = AnyBuffer<'a>> + use<'a> {
        let rest = self.0;
        (0..rest.slots.len()).filter_map(move |i| rest.arg(i))
    }
}

impl<'a> RemainingRets<'a> {
    #[inline]
    pub(super) fn new(
        slots: &'a [*mut c_void],
        name: &'static str,
        get: impl Fn(usize) -> Option<Slot<'a>>,
    ) -> Option<RemainingRets<'a>> {
        Rest::new(slots, name, get).map(RemainingRets)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.slots.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.slots.is_empty()
    }

    /// One of them, of any element type. Out of range is an error.
    ///
    /// It is borrowed from all; [`RemainingRets::into_all`] gives each of them away.
    pub fn any(&mut self, i: usize) -> Result<AnyBufferMut<'_>> {
        self.0.ret(i).ok_or_else(|| self.0.out_of_range("result", i))
    }

    /// One of them, of this element type. Out of range is an error, and so is another element type.
    pub fn get<T: Element>(&mut self, i: usize) -> Result<BufferMut<'_, T>> {
        self.any(i)?.typed()
    }

    /// All of them, each to write on its own.
    pub fn into_all(self) -> impl Iterator<Item = AnyBufferMut<'a>> + use<'a> {
        let rest = self.0;
        (0..rest.slots.len()).filter_map(move |i| rest.ret(i))
    }
}

impl fmt::Debug for RemainingArgs<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl fmt::Debug for RemainingRets<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries((0..self.len()).filter_map(|i| self.0.arg(i))).finish()
    }
}
