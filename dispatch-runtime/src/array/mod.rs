//! Device arrays.

mod owner;
mod room;

use std::ffi::c_void;
use std::fmt;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use crate::aval::shape_text;
use crate::client::{Client, Device, other_client};
use crate::engine::RawBuffer;
use crate::host::Element;
use crate::{Aval, DType, Error, Result};

pub use owner::{Donation, Owner};

/// Version of the layout of `Handle`; handles cross shared objects that may be built from different sources.
pub const HANDLE_VERSION: u32 = 1;

/// Set in a handle's version if its buffer has an [`Owner`] elsewhere.
const OWNED_ELSEWHERE: u32 = 1 << 31;

/// Set in a handle's version if its buffer's memory is shared with somebody else, who must not find it changed.
const SHARED: u32 = 1 << 30;

/// Shapes up to this rank are stored in the handle itself.
const INLINE_RANK: usize = 6;

/// What an [`Array`] points to: one buffer, with what never changes about it.
///
/// The layout is fixed by `repr(C)` and stamped with a version, since handles are passed between shared objects that
/// each link their own copy of this crate. `release` is the function of the copy that made the handle. What a hit reads
/// of its arguments comes first, and up to rank 2 is in the first 64 bytes.
#[repr(C)]
pub(crate) struct Handle {
    version: u32,
    refs: AtomicU32,
    /// The tag in the low half, with [`DONATED`] in its highest bit, and the index of the device in the client's list in the
    /// high half: one comparison tells whether an array is what a call expects.
    head: AtomicU64,
    client: Client,
    buffer: RawBuffer,
    /// `rank` sizes, in `inline` or on the heap.
    dims: *const i64,
    /// The first sizes; -1 where there are none, and everywhere if the sizes are on the heap.
    inline: [i64; INLINE_RANK],
    release: unsafe extern "C" fn(NonNull<Handle>),
}

/// Set in a handle's head when the buffer is given to a program. The buffer itself stays until the last reference goes, so
/// a call that loses a race against a donation still passes a pointer to something alive.
const DONATED: u64 = 1 << 31;

/// An array on a device: a counted reference to a PJRT buffer (or another engine's) with its dtype, shape and device.
///
/// Cloning is cheap and refers to the same buffer. The data may still be computing: reading waits for it,
/// [`Array::await_ready`] waits explicitly. An array that was donated to a program is gone for all its clones; using
/// it again is an error.
///
/// Donate only what no other thread is passing to a program at that moment: such a call may get the old values or an
/// error, but the CPU plugins may also let both calls wait for ever, for instance if it passes the array twice.
///
/// ```
/// use dispatch_runtime::prelude::*;
///
/// let client = Client::cpu()?;
/// let a = client.array(&[1f32, 2.0, 3.0, 4.0], &[2, 2])?;
/// assert_eq!((a.dtype(), a.shape()), (DType::F32, &[2, 2][..]));
/// assert_eq!(a.to_vec::<f32>()?, [1.0, 2.0, 3.0, 4.0]);
/// # Ok::<(), Error>(())
/// ```
#[repr(transparent)]
pub struct Array(NonNull<Handle>);

// SAFETY: the handle is only written through atomics, and its engine takes calls from any thread.
unsafe impl Send for Array {}
// SAFETY: as above.
unsafe impl Sync for Array {}

/// The tag of a dtype and a rank, as handles hold it: the dtype in the low byte, the rank above it.
#[inline(always)]
pub(crate) const fn tag(dtype: DType, rank: usize) -> u32 {
    dtype as u32 | (rank as u32) << 8
}

/// The bits of a tag, and those of its dtype.
pub(crate) const TAG: u32 = u32::MAX >> 1;
pub(crate) const DTYPE: u32 = 0xff;

/// The head of a live array of this tag on this device.
#[inline(always)]
pub(crate) const fn head(tag: u32, device: u32) -> u64 {
    tag as u64 | (device as u64) << 32
}

impl Handle {
    /// Notes the sizes, as many as the tag says. The handle must not move from now on.
    #[inline(always)]
    fn set_shape(&mut self, shape: &[i64]) {
        if shape.len() <= INLINE_RANK {
            // One by one, because a call of `memcpy` costs more than so few sizes.
            for (inline, &n) in self.inline.iter_mut().zip(shape) {
                *inline = n;
            }
            self.dims = (&raw const self.inline).cast();
        } else {
            self.dims = Box::into_raw(Box::<[i64]>::from(shape)).cast();
        }
    }

    /// Frees the sizes, if they are on the heap.
    ///
    /// # Safety
    ///
    /// The handle has its sizes from `set_shape`, and nobody looks at them any more.
    #[inline(always)]
    unsafe fn drop_shape(&mut self) {
        // The low half is the tag.
        let rank = ((*self.head.get_mut() as u32) & TAG) as usize >> 8;
        if rank > INLINE_RANK {
            // SAFETY: so many sizes were boxed by `set_shape`.
            drop(unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(self.dims.cast_mut(), rank)) });
        }
    }
}

impl Array {
    /// Takes over a buffer.
    ///
    /// # Safety
    ///
    /// The caller owns `buffer`, a live buffer of the client's engine on the device with this index, of this dtype
    /// and shape, and gives it up.
    #[inline]
    pub unsafe fn from_raw(
        client: Client,
        buffer: RawBuffer,
        device: u32,
        dtype: DType,
        shape: &[i64],
    ) -> Array {
        let at = room::take();
        // SAFETY: the room is ours, and is initialised before it is referred to.
        let handle = unsafe {
            at.write(Handle {
                version: HANDLE_VERSION,
                refs: AtomicU32::new(1),
                head: AtomicU64::new(head(tag(dtype, shape.len()), device)),
                client,
                buffer,
                dims: std::ptr::null(),
                inline: [-1; INLINE_RANK],
                release,
            });
            &mut *at.as_ptr()
        };
        handle.set_shape(shape);
        Array(at)
    }

    /// The array as a pointer that carries its reference, for another language or shared object. The layout of what it
    /// points to has the version [`HANDLE_VERSION`].
    #[inline]
    pub fn into_handle(self) -> NonNull<c_void> {
        std::mem::ManuallyDrop::new(self).0.cast()
    }

    /// The array of a pointer from [`Array::into_handle`], with its reference.
    ///
    /// # Safety
    ///
    /// The pointer is from `into_handle` of this version, and its reference was not taken before.
    #[inline]
    pub unsafe fn from_handle(handle: NonNull<c_void>) -> Array {
        Array(handle.cast())
    }

    /// The array of a pointer from [`Array::into_handle`], which keeps its reference.
    ///
    /// # Safety
    ///
    /// The pointer is from `into_handle` of this version, and its reference is not taken as long as the result is used.
    #[inline]
    pub unsafe fn from_handle_ref(handle: &NonNull<c_void>) -> &Array {
        // SAFETY: an array is a transparent pointer to its handle.
        unsafe { &*std::ptr::from_ref(handle).cast() }
    }

    /// The same array, marked as one whose memory is shared.
    pub(crate) fn sharing(mut self) -> Array {
        // SAFETY: the handle was just made, and there is no other reference to it.
        unsafe { self.0.as_mut() }.version |= SHARED;
        self
    }

    /// Whether the array is in memory that is shared with somebody else, by [`Client::share`]. It cannot be donated.
    #[inline(always)]
    pub fn is_shared(&self) -> bool {
        self.handle().version & SHARED != 0
    }

    /// Whether this is the only reference to the buffer, which is this copy's own, shares no memory, and was not donated:
    /// then it can be given to another owner by [`Array::give_away`].
    #[inline]
    pub fn is_only(&self) -> bool {
        let is_only = self.handle().refs.load(Ordering::Acquire) == 1;
        is_only && !self.is_owned_elsewhere() && !self.is_shared() && !self.is_donated()
    }

    /// Ends the array but not its buffer, which has another owner now.
    ///
    /// # Panics
    ///
    /// Unless it [is the only one](Array::is_only).
    #[inline]
    pub fn give_away(self) {
        assert!(self.is_only(), "a buffer was given away that others refer to");
        let at = std::mem::ManuallyDrop::new(self).0;
        // SAFETY: this was the only reference, so the room is ours, with its heap shape if it has one.
        unsafe {
            (*at.as_ptr()).drop_shape();
            room::give(at);
        }
    }

    #[inline(always)]
    fn handle(&self) -> &Handle {
        // SAFETY: this reference is counted, so the handle lives at least as long as `self`.
        unsafe { self.0.as_ref() }
    }

    /// The element type.
    #[inline(always)]
    pub fn dtype(&self) -> DType {
        let code = self.tag() as u8;
        // SAFETY: as below, and no dtype has the code 0. The compiler does not see this through the conversion, and with it
        // it knows that an `Option` of the dtype is `Some`.
        unsafe { std::hint::assert_unchecked(code != 0) };
        // SAFETY: `from_raw` made the tag from a `DType`.
        unsafe { std::mem::transmute::<u8, DType>(code) }
    }

    /// The number of dimensions.
    #[inline(always)]
    pub fn rank(&self) -> usize {
        (self.tag() >> 8) as usize
    }

    /// The sizes, outermost first; empty for a scalar.
    #[inline(always)]
    pub fn shape(&self) -> &[i64] {
        // SAFETY: `dims` points to `rank` sizes that live and do not change as long as the handle.
        unsafe { std::slice::from_raw_parts(self.handle().dims, self.rank()) }
    }

    /// The number of elements.
    #[allow(clippy::len_without_is_empty)] // as for `Aval`
    pub fn len(&self) -> usize {
        self.shape().iter().product::<i64>() as usize
    }

    /// Dtype and shape.
    pub fn aval(&self) -> Aval {
        Aval::new(self.dtype(), self.shape())
    }

    /// The client that the array belongs to.
    #[inline(always)]
    pub fn client(&self) -> Client {
        self.handle().client
    }

    /// The device that the array lives on.
    pub fn device(&self) -> Device {
        self.client().device_at(self.device_index())
    }

    /// Whether the array was given to a program, here or by an [`Owner`] elsewhere; every further use of it is an error.
    #[inline(always)]
    pub fn is_donated(&self) -> bool {
        self.head() & DONATED != 0 || (self.is_owned_elsewhere() && self.tell_owner(Donation::Ask))
    }

    /// Whether the data has been computed.
    pub fn is_ready(&self) -> Result<bool> {
        self.check_alive()?;
        // SAFETY: the buffer is alive as long as the handle.
        unsafe { self.client().engine().is_ready(self.buffer()) }
    }

    /// Waits until the data has been computed. An error of the computation appears here.
    pub fn await_ready(&self) -> Result<()> {
        self.check_alive()?;
        // SAFETY: the buffer is alive as long as the handle.
        unsafe { self.client().engine().await_ready(self.buffer()) }
    }

    /// Waits until the data has been computed, but not longer than this; whether it has been. An error of the
    /// computation appears here.
    pub fn await_ready_for(&self, longest: Duration) -> Result<bool> {
        self.check_alive()?;
        // SAFETY: the buffer is alive as long as the handle.
        unsafe { self.client().engine().await_ready_for(self.buffer(), longest) }
    }

    /// Waits for the data and shows it, row-major, without a copy where the device's memory is the host's.
    pub fn with_bytes<R>(&self, look: impl FnOnce(&[u8]) -> R) -> Result<R> {
        self.check_alive()?;
        let (mut look, mut result) = (Some(look), None);
        let mut once = |bytes: &[u8]| result = look.take().map(|look| look(bytes));
        // SAFETY: the buffer is alive as long as the handle, and dtype and shape are its own.
        unsafe {
            self.client().engine().with_bytes(self.buffer(), (self.dtype(), self.shape()), &mut once)?;
        }
        Ok(result.expect("an engine that reports success has shown the bytes"))
    }

    /// Waits for the data and copies it to the host, row-major.
    ///
    /// `T` must be the dtype's Rust type: nothing is converted.
    pub fn to_vec<T: Element>(&self) -> Result<Vec<T>> {
        if T::DTYPE != self.dtype() {
            return Err(Error::DType {
                argument: "self".into(),
                expected: self.dtype().to_string(),
                got: format!("{} from the type asked for", T::DTYPE),
            });
        }
        let mut out: Vec<T> = Vec::with_capacity(self.len());
        // SAFETY: zero bytes are a value of every `Element`, and the capacity is there.
        unsafe {
            out.as_mut_ptr().write_bytes(0, self.len());
            out.set_len(self.len());
        }
        // SAFETY: the slice covers the vector's elements; the engine writes valid elements of this dtype.
        let bytes = unsafe {
            std::slice::from_raw_parts_mut(out.as_mut_ptr().cast::<u8>(), size_of_val(out.as_slice()))
        };
        self.read_bytes(bytes)?;
        Ok(out)
    }

    /// Waits for the data and copies it to the host, row-major, as bytes.
    ///
    /// An error if `out` has another length.
    pub fn read_bytes(&self, out: &mut [u8]) -> Result<()> {
        self.check_alive()?;
        if out.len() != self.len() * self.dtype().size() {
            return Err(Error::Shape {
                argument: "out".into(),
                expected: format!("{} bytes", self.len() * self.dtype().size()),
                got: format!("{} bytes", out.len()),
            });
        }
        // SAFETY: the buffer is alive as long as the handle, and dtype and shape are its own.
        unsafe { self.client().engine().read(self.buffer(), (self.dtype(), self.shape()), out) }
    }

    /// Copies the array to another device of its client; the same array if it is there already.
    pub fn to_device(&self, device: Device) -> Result<Array> {
        self.check_alive()?;
        if device == self.device() {
            return Ok(self.clone());
        }
        if device.client() != self.client() {
            return Err(other_client("device".into(), "a device", self.client(), device.client()));
        }
        // SAFETY: the buffer is alive as long as the handle; the copy is ours and has the same dtype and shape.
        unsafe {
            let copy = self.client().engine().copy(self.buffer(), device.index() as usize)?;
            Ok(Array::from_raw(self.client(), copy, device.index(), self.dtype(), self.shape()))
        }
    }

    /// The dtype and the rank in one word.
    #[inline(always)]
    pub(crate) fn tag(&self) -> u32 {
        (self.head() & (DONATED - 1)) as u32
    }

    /// Index of the device in the client's list.
    #[inline(always)]
    pub(crate) fn device_index(&self) -> u32 {
        (self.head() >> 32) as u32
    }

    /// The engine's buffer, for calls to the engine that the runtime does not make itself. It is alive as long as
    /// `self` and stays owned by it.
    pub fn raw(&self) -> RawBuffer {
        self.buffer()
    }

    /// The engine's buffer; alive as long as `self`.
    #[inline(always)]
    pub(crate) fn buffer(&self) -> RawBuffer {
        self.handle().buffer
    }

    /// The size of a dimension, counted from 0, if the array has this rank; else any number.
    #[inline(always)]
    pub(crate) fn size(&self, rank: usize, i: usize) -> i64 {
        if rank <= INLINE_RANK && i < rank {
            self.handle().inline[i]
        } else {
            self.shape().get(i).copied().unwrap_or(-1)
        }
    }

    /// Tag, device and whether the array is donated in one word; see [`head`].
    #[inline(always)]
    pub(crate) fn head(&self) -> u64 {
        self.handle().head.load(Ordering::Relaxed)
    }

    /// Whether both are references to one buffer.
    #[inline(always)]
    pub(crate) fn same(&self, other: &Array) -> bool {
        // What is lent has a handle for each time that it is.
        self.0 == other.0
            || (self.is_owned_elsewhere() || other.is_owned_elsewhere()) && self.raw() == other.raw()
    }

    /// Marks the buffer as given away; false if it already was, or if its memory [is shared](Array::is_shared). For callers
    /// of an engine's executable, which consumes what it was compiled to consume.
    pub fn donate(&self) -> bool {
        if self.is_shared() || self.handle().head.fetch_or(DONATED, Ordering::AcqRel) & DONATED != 0 {
            return false;
        }
        if !self.is_owned_elsewhere() || !self.tell_owner(Donation::Give) {
            return true;
        }
        if !self.tell_owner(Donation::Ask) {
            // It is not gone: its memory is shared.
            self.handle().head.fetch_and(!DONATED, Ordering::Release);
        }
        false
    }

    /// Why [`Array::donate`] was refused.
    #[cold]
    pub fn donation_refused(&self) -> &'static str {
        match self.is_donated() {
            true => "the array was donated to another call at the same time",
            false => {
                "the array shares the memory of host data, which no program may write into: copy it to donate it"
            }
        }
    }

    /// Undoes [`Array::donate`] by the call that did it, which then failed.
    ///
    /// # Safety
    ///
    /// That `donate` was the caller's own and returned `true`, and no program has consumed the array since.
    pub unsafe fn take_back(&self) {
        if self.is_owned_elsewhere() {
            self.tell_owner(Donation::TakeBack);
        }
        self.handle().head.fetch_and(!DONATED, Ordering::Release);
    }

    #[inline(always)]
    fn is_owned_elsewhere(&self) -> bool {
        self.handle().version & OWNED_ELSEWHERE != 0
    }

    fn check_alive(&self) -> Result<()> {
        if self.is_donated() {
            return Err(Error::Donated {
                argument: "self".into(),
                reason: "the array was donated to an earlier call and is gone".into(),
            });
        }
        Ok(())
    }
}

impl Clone for Array {
    #[inline]
    fn clone(&self) -> Array {
        // Relaxed as in `Arc`: a new reference is made from one that is alive. More than 2^31 references mean a leak
        // in a loop; stop before the counter wraps.
        if self.handle().refs.fetch_add(1, Ordering::Relaxed) > i32::MAX as u32 {
            std::process::abort();
        }
        Array(self.0)
    }
}

impl Drop for Array {
    #[inline]
    fn drop(&mut self) {
        // The last reference needs no atomic write: nobody else can make another from it.
        let refs = &self.handle().refs;
        if refs.load(Ordering::Acquire) == 1 || refs.fetch_sub(1, Ordering::AcqRel) == 1 {
            // SAFETY: this was the last reference.
            unsafe { (self.handle().release)(self.0) }
        }
    }
}

/// Ends a handle and its buffer.
///
/// # Safety
///
/// `handle` was made by `from_raw` of this copy of the crate, and no reference to it is left.
unsafe extern "C" fn release(handle: NonNull<Handle>) {
    // SAFETY: by the caller's promise the room is ours again, with its heap shape if it has one.
    unsafe {
        let at = handle;
        let handle = &mut *at.as_ptr();
        let (client, buffer) = (handle.client, handle.buffer);
        handle.drop_shape();
        room::give(at);
        client.engine().destroy(buffer);
    }
}

impl fmt::Display for Array {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{} on {}", self.dtype(), shape_text(self.shape()), self.device())
    }
}

impl fmt::Debug for Array {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let donated = if self.is_donated() { ", donated" } else { "" };
        write!(f, "Array({self}{donated})")
    }
}
