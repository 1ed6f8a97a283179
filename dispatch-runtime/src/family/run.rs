//! Running an entry.

use std::cell::Cell;

use super::place::copy;
use super::{Compiled, Family, Temporary};
use crate::array::Array;
use crate::cache::Pin;
use crate::engine::RawBuffer;
use crate::tree::Outputs;
use crate::{Error, Result};

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
        let mut given = 0;
        let mut late = None;
        donated(&mut |name, array| match late {
            None if array.donate() => given += 1,
            None => late = Some(name),
            Some(_) => {}
        });
        if let Some(name) = late {
            take_back(donated, given);
            return Err(raced(name));
        }
        // SAFETY: the arguments were checked against the signature, and the program that the entry holds against
        // what the signature makes of the key; equal keys mean equal dtypes and shapes. The buffers are on the
        // entry's device and live for the call: the stub holds the arrays and the `Placed`.
        let ran = unsafe { entry.executable().execute(args, outs) };
        if let Err(error) = ran {
            take_back(donated, given);
            return Err(error);
        }
        // SAFETY: these are the results of the run just ended.
        let mut outputs = unsafe { Outputs::new(entry, self.client(), outs) };
        let result = take(&mut outputs);
        // All are taken; its `drop` is for a panic before this line.
        std::mem::forget(outputs);
        Ok(result)
    }
}

/// Sees a donated array with the name of its argument.
pub type Visitor<'a> = dyn FnMut(&'static str, &Array) + 'a;

/// Visits the donated arrays of a call that donates none.
#[inline(always)]
pub fn nothing_donated(_: &mut Visitor<'_>) {}

#[cold]
fn raced(name: &str) -> Error {
    Error::Donated {
        argument: name.into(),
        reason: "the array was donated to another call at the same time".into(),
    }
}

/// A call that failed has consumed nothing: the first `given` arrays are whole again.
#[cold]
fn take_back(donated: impl Fn(&mut Visitor<'_>), given: usize) {
    let mut i = 0;
    donated(&mut |_, array| {
        if i < given {
            // SAFETY: this call marked the array, and has consumed nothing.
            unsafe { array.take_back() };
        }
        i += 1;
    });
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
