//! Arrays whose buffer belongs to another shared object.
//!
//! Every shared object that links this crate has its own copy of it, maybe from other sources, so an array itself does
//! not cross: what crosses is the engine's buffer with its dtype and shape, and an [`Owner`] that keeps it alive. The
//! receiver makes an array of its own from them, whose client is the receiver's own for the same connection.

use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64};

use super::{Array, DONATED, HANDLE_VERSION, Handle, OWNED_ELSEWHERE, head, room, tag};
use crate::DType;
use crate::client::Client;
use crate::engine::RawBuffer;

/// Who owns a buffer that was made elsewhere: one reference to it, and what can be said of it. The functions may be
/// called on any thread, must not unwind, and must stay in the process.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Owner {
    /// The reference, as the functions know it.
    pub object: *mut c_void,
    /// Asks or says whether the buffer is given to a program: the number of a [`Donation`]. The answer is 1 if it was
    /// given before, else 0.
    pub donation: unsafe extern "C" fn(object: *mut c_void, what: u32) -> u32,
    /// Gives the reference up. Called once, when the last array made of it goes.
    pub release: unsafe extern "C" fn(object: *mut c_void),
}

/// What is asked or said about a donation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Donation {
    /// Nothing changes.
    Ask = 0,
    /// The buffer is given to a program: [`Array::donate`].
    Give = 1,
    /// That failed: [`Array::take_back`].
    TakeBack = 2,
}

/// A handle with its owner behind it.
#[repr(C)]
struct Owned {
    handle: Handle,
    owner: Owner,
}

// It takes the room of a handle.
const _: () = assert!(size_of::<Owned>() <= room::SIZE && align_of::<Owned>() <= align_of::<Handle>());

impl Array {
    /// An array of a buffer that belongs to someone else.
    ///
    /// ```
    /// use dispatch_runtime::prelude::*;
    ///
    /// let client = Client::cpu()?;
    /// let array = client.array(&[1f32, 2.0], [2])?;
    /// let (buffer, device) = (array.raw(), array.device().index());
    /// let owner = array.into_owner();
    /// // In another shared object, which knows the client as one of its own (`Client::adopt_pjrt`):
    /// // SAFETY: buffer, dtype and shape are those of the array, which `owner` keeps.
    /// let lent = unsafe { Array::from_owner(client, buffer, device, DType::F32, &[2], owner) };
    /// assert_eq!(lent.to_vec::<f32>()?, [1.0, 2.0]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Safety
    ///
    /// `buffer` is a buffer of the client's engine on the device with this index, of this dtype and shape, and lives
    /// until `owner.release` is called. The owner's functions do what [`Owner`] says, and its reference is given up.
    pub unsafe fn from_owner(
        client: Client,
        buffer: RawBuffer,
        device: u32,
        dtype: DType,
        shape: &[i64],
        owner: Owner,
    ) -> Array {
        // SAFETY: the reference is still the caller's.
        let donated = unsafe { (owner.donation)(owner.object, Donation::Ask as u32) } != 0;
        // SAFETY: by the caller's promise.
        unsafe { Array::lent(client, buffer, device, dtype, shape, owner, donated) }
    }

    /// [`Array::from_owner`] where it is known already whether the buffer was given to a program.
    ///
    /// # Safety
    ///
    /// As for [`Array::from_owner`].
    #[doc(hidden)]
    #[inline]
    pub unsafe fn lent(
        client: Client,
        buffer: RawBuffer,
        device: u32,
        dtype: DType,
        shape: &[i64],
        owner: Owner,
        donated: bool,
    ) -> Array {
        let state = if donated { DONATED } else { 0 };
        let at = room::take().cast::<Owned>();
        let to = at.as_ptr();
        // Part by part: where the whole is made first and moved then, a call of `memcpy` moves it.
        // SAFETY: the room is ours and large enough, and all of it is initialised before it is referred to.
        unsafe {
            (&raw mut (*to).handle).write(Handle {
                version: HANDLE_VERSION | OWNED_ELSEWHERE,
                refs: AtomicU32::new(1),
                head: AtomicU64::new(head(tag(dtype, shape.len()), device) | state),
                client,
                buffer,
                dims: std::ptr::null(),
                inline: [-1; super::INLINE_RANK],
                release,
            });
            (&raw mut (*to).owner).write(owner);
            (*to).handle.set_shape(shape);
        }
        Array(at.cast())
    }

    /// An owner for another shared object: a reference to this array, and this copy's functions. For an example see
    /// [`Array::from_owner`].
    pub fn into_owner(self) -> Owner {
        Owner { object: self.into_handle().as_ptr(), donation: on_donation, release: on_release }
    }

    /// Tells the owner; whether the buffer was given to a program before.
    #[cold]
    pub(super) fn tell_owner(&self, what: Donation) -> bool {
        debug_assert!(self.is_owned_elsewhere());
        // SAFETY: an array with this mark was made by `from_owner`, and its owner's reference is given up only with it.
        unsafe {
            let owner = self.0.cast::<Owned>().as_ref().owner;
            (owner.donation)(owner.object, what as u32) != 0
        }
    }
}

/// Ends a handle, and gives the owner's reference up.
///
/// # Safety
///
/// `handle` was made by `from_owner` of this copy of the crate, and no reference to it is left.
unsafe extern "C" fn release(handle: NonNull<Handle>) {
    // SAFETY: by the caller's promise the room is ours again, with its heap shape if it has one.
    unsafe {
        let owned = handle.cast::<Owned>().as_mut();
        let owner = owned.owner;
        owned.handle.drop_shape();
        room::give(handle);
        (owner.release)(owner.object);
    }
}

/// [`Owner::donation`] of an array of this copy.
unsafe extern "C" fn on_donation(object: *mut c_void, what: u32) -> u32 {
    let Some(handle) = NonNull::new(object) else { return 1 };
    // SAFETY: the object is a reference from `into_owner` that was not given up.
    let array = unsafe { Array::from_handle_ref(&handle) };
    match what {
        1 => (!array.donate()).into(),
        2 => {
            // SAFETY: the one who asks has made the donation, which failed.
            unsafe { array.take_back() };
            1
        }
        _ => array.is_donated().into(),
    }
}

/// [`Owner::release`] of an array of this copy.
unsafe extern "C" fn on_release(object: *mut c_void) {
    if let Some(handle) = NonNull::new(object) {
        // SAFETY: the object is a reference from `into_owner`, which the caller gives up.
        drop(unsafe { Array::from_handle(handle) });
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::engine::fake::FakeEngine;

    /// A client, and a second one that stands for what another shared object knows the first one as.
    fn clients() -> (Client, Client) {
        // Clients are never freed. Found here, they are no leaks.
        static ALL: Mutex<Vec<Client>> = Mutex::new(Vec::new());
        let (here, there) = (FakeEngine::client(1).0, FakeEngine::client(1).0);
        ALL.lock().unwrap().extend([here, there]);
        (here, there)
    }

    fn lend(array: &Array, to: Client) -> Array {
        // SAFETY: the owner keeps the buffer, and only its shape and donation are looked at.
        unsafe {
            Array::from_owner(
                to,
                array.raw(),
                array.device_index(),
                array.dtype(),
                array.shape(),
                array.clone().into_owner(),
            )
        }
    }

    #[test]
    fn a_lent_array_keeps_its_owner_alive_and_has_the_receivers_client() {
        let (here, there) = clients();
        for shape in [&[2i64, 3][..], &[1, 1, 1, 1, 1, 1, 1, 6]] {
            let array = here.array(&[1f32, 2.0, 3.0, 4.0, 5.0, 6.0], shape).unwrap();
            let lent = lend(&array, there);
            assert_eq!((lent.aval(), lent.raw(), lent.client()), (array.aval(), array.raw(), there));
            let again = lent.clone();
            assert_eq!(array.handle().refs.load(std::sync::atomic::Ordering::Relaxed), 2);
            drop(lent);
            assert_eq!(array.handle().refs.load(std::sync::atomic::Ordering::Relaxed), 2);
            drop(again);
            assert_eq!(array.handle().refs.load(std::sync::atomic::Ordering::Relaxed), 1);
        }
    }

    #[test]
    fn a_donation_by_the_receiver_is_one_of_the_owners() {
        let (here, there) = clients();
        let array = here.array(&[1f32], [1]).unwrap();
        let lent = lend(&array, there);
        assert!(lent.donate());
        assert!(array.is_donated() && lend(&array, there).is_donated());
        assert!(!lent.donate() && !array.donate());
        // SAFETY: the donation was ours, and nothing consumed the array.
        unsafe { lent.take_back() };
        assert!(!array.is_donated() && !lent.is_donated());
        // What the owner gives away meanwhile is known to the receiver before it reads, and cannot be given again.
        assert!(array.donate());
        assert!(lent.is_donated());
        assert_eq!(lent.await_ready().unwrap_err().code(), "donated");
        assert!(!lent.donate());
    }

    #[test]
    fn an_array_that_is_lent_twice_is_one() {
        let (here, there) = clients();
        let (array, other) = (here.array(&[1f32], [1]).unwrap(), here.array(&[1f32], [1]).unwrap());
        assert!(lend(&array, there).same(&lend(&array, there)));
        assert!(!lend(&array, there).same(&lend(&other, there)));
    }

    #[test]
    fn a_buffer_is_given_away_only_by_its_last_reference_and_its_owner() {
        let (here, there) = clients();
        for shape in [&[2i64, 3][..], &[1, 1, 1, 1, 1, 1, 1, 6]] {
            let array = here.array(&[1f32, 2.0, 3.0, 4.0, 5.0, 6.0], shape).unwrap();
            let raw = array.raw();
            let again = array.clone();
            assert!(!array.is_only());
            drop(again);
            assert!(array.is_only());
            let lent = lend(&array, there);
            assert!(!lent.is_only() && !array.is_only());
            assert_eq!(lent.raw(), raw);
            drop(lent);
            assert!(array.donate());
            assert!(!array.is_only());
            // SAFETY: the donation was ours, and nothing consumed the array.
            unsafe { array.take_back() };
            array.give_away();
            // SAFETY: the buffer is ours now; dtype, shape and device are its own.
            let back = unsafe { Array::from_raw(here, raw, 0, DType::F32, shape) };
            assert_eq!(back.to_vec::<f32>().unwrap()[5], 6.0);
        }
    }
}
