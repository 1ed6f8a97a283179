//! Running an entry.

use std::cell::Cell;

use super::place::copy;
use super::{Family, Temporary};
use crate::Result;
use crate::array::Array;
use crate::cache::Pin;
use crate::compiled::{Compiled, Visitor};
use crate::engine::RawBuffer;
use crate::tree::Outputs;

impl Family {
    /// Runs an entry on the buffers of a checked call and gives the results their structure.
    ///
    /// The entry is borrowed: moving a pin costs more than reading it, since its parts were only just written. `outs`
    /// has room for the results, `take` gives them their structure; `donated` visits the arrays given to the
    /// program, with the names of their arguments.
    #[inline(always)]
    pub fn run<O>(
        &self,
        entry: &Pin<'_, Compiled>,
        args: &[RawBuffer],
        outs: &mut [Option<RawBuffer>],
        donated: impl Fn(&mut Visitor<'_>),
        take: impl FnOnce(&mut Outputs<'_>) -> O,
    ) -> Result<O> {
        // SAFETY: the arguments were checked against the signature, and the program that the entry holds against
        // what the signature makes of the key; equal keys mean equal dtypes and shapes. The buffers are on the
        // entry's device and live for the call: the stub holds the arrays and the `Placed`.
        unsafe { entry.run(self.client(), args, outs, donated, take) }
    }
}

thread_local! {
    /// A list for the next call of this thread, so that calls with lists and structs allocate nothing.
    static SPARE: Cell<Vec<RawBuffer>> = const { Cell::new(Vec::new()) };
}

/// The buffers of a call whose number is not in its signature.
pub struct Buffers {
    list: Vec<RawBuffer>,
    /// What was copied to the device for this call, if inputs move.
    copies: Vec<Temporary>,
}

impl Buffers {
    /// An empty list, from this thread's spare one.
    #[inline]
    #[allow(clippy::new_without_default)] // made by stubs only, always empty
    pub fn new() -> Buffers {
        let mut list = SPARE.try_with(Cell::take).unwrap_or_default();
        list.clear();
        Buffers { list, copies: Vec::new() }
    }

    /// Appends the buffer of an array, copied to the device if it is elsewhere.
    #[inline(always)]
    pub fn push(&mut self, array: &Array, family: &Family, device: u32) -> Result<()> {
        let here = array.device_index() == device;
        self.list.push(if here { array.buffer() } else { copy(array, family, device, &mut self.copies)? });
        Ok(())
    }

    /// Appends the buffers of a list.
    #[inline(always)]
    pub fn push_all(&mut self, arrays: &[Array], family: &Family, device: u32) -> Result<()> {
        arrays.iter().try_for_each(|array| self.push(array, family, device))
    }

    /// Appends the buffers of a struct, which `visit` walks through.
    #[inline]
    pub fn push_tree<'a>(
        &mut self,
        visit: impl FnOnce(&mut dyn FnMut(&'a Array, bool)),
        family: &Family,
        device: u32,
    ) -> Result<()> {
        let mut result = Ok(());
        visit(&mut |array, _| {
            if result.is_ok() {
                result = self.push(array, family, device);
            }
        });
        result
    }

    /// Appends the buffer of an argument that the stub holds.
    #[inline(always)]
    pub fn push_placed(&mut self, buffer: RawBuffer) {
        self.list.push(buffer);
    }

    /// The buffers, in the order of the program's arguments.
    #[inline(always)]
    pub fn as_slice(&self) -> &[RawBuffer] {
        &self.list
    }
}

impl Drop for Buffers {
    fn drop(&mut self) {
        let list = std::mem::take(&mut self.list);
        // On a thread that ends the spare list is gone already; then this one is freed.
        let _ = SPARE.try_with(|spare| spare.set(list));
    }
}
