//! Running a skeleton: from arrays to the one way into the device that families take too.

use std::cell::Cell;

use super::bake::Baked;
use super::{Input, Results, RunInput};
use crate::compiled::nothing_donated;
use crate::engine::RawBuffer;
use crate::executable::{check_layout, check_place, wrong_count};
use crate::family::{Buffers, NO_BUFFER};
use crate::{Array, Result};

/// So many inputs and results have room on the stack.
const NEAR: usize = 8;

impl Baked {
    /// Whether these are arrays for the slots. One yes or no: on a no, [`Baked::check`] looks anew and finds the words. A slot
    /// that wants strides has none.
    #[inline(always)]
    pub fn fits(&self, inputs: &[&Array]) -> bool {
        let slots = self.heads.iter().zip(&self.inputs);
        inputs.len() == self.heads.len()
            && inputs.iter().zip(slots).all(|(array, (&head, aval))| {
                // Sizes are compared one by one: there are too few for a call of `memcmp`. The head has their number.
                array.head() == head
                    && array.client() == self.client
                    && array.shape().iter().zip(aval.shape()).all(|(a, b)| a == b)
            })
    }

    /// An error unless there are as many inputs as slots.
    pub fn check_count(&self, inputs: usize) -> Result<()> {
        if inputs == self.heads.len() {
            return Ok(());
        }
        let quoted = |slot: usize| match &self.names[slot] {
            Some(name) => format!("`{name}`"),
            None => self.path(slot),
        };
        Err(wrong_count("the skeleton", self.inputs(), quoted, inputs))
    }

    /// The error of the first of these inputs that is not for its slot.
    #[cold]
    #[inline(never)]
    pub fn check<I: RunInput>(&self, inputs: &[I]) -> Result<()> {
        self.check_count(inputs.len())?;
        for (i, (input, aval)) in inputs.iter().zip(self.inputs()).enumerate() {
            if let Input::Array(array) = input.input() {
                check_place(|| self.path(i), array, self.device())?;
            }
            check_layout(|| self.path(i), input, aval)?;
        }
        Ok(())
    }

    /// The error of a captured array that is gone.
    #[cold]
    #[inline(never)]
    pub fn check_captured(&self) -> Result<()> {
        let mut captured = self.captured.iter().enumerate();
        captured
            .try_for_each(|(i, captured)| check_place(|| captured.path(i), &captured.array, self.device()))
    }

    /// Runs the program. An error if a captured array was donated since it was captured.
    ///
    /// # Safety
    ///
    /// The inputs are alive, of the client, on the device, and of the layouts of the slots, as many as there are slots;
    /// the skeleton was made with results of the structure `O`.
    #[inline(always)]
    pub unsafe fn run<O: Results>(&self, inputs: &[&Array]) -> Result<O> {
        if self.captured.iter().any(|captured| captured.array.is_donated()) {
            self.check_captured()?;
        }
        let arguments = inputs.iter().copied().chain(self.captured.iter().map(|captured| &captured.array));
        with_buffers(inputs.len() + self.captured.len(), arguments, |buffers| {
            with_room(O::COUNT.unwrap_or(self.outputs().len()), |outs| {
                // SAFETY: by the caller's promise, and the arrays are borrowed for the call. A skeleton for `O` was
                // checked to have as many results as `O`, if that has a number.
                unsafe { self.compiled.run(self.client, buffers, outs, nothing_donated, O::take_all) }
            })
        })
    }
}

/// Calls with the buffers of these arrays, whose number is `len`.
#[inline(always)]
fn with_buffers<'a, R>(
    len: usize,
    arrays: impl Iterator<Item = &'a Array>,
    call: impl FnOnce(&[RawBuffer]) -> R,
) -> R {
    if len <= NEAR {
        let mut near = [NO_BUFFER; NEAR];
        near.iter_mut().zip(arrays).for_each(|(to, array)| *to = array.buffer());
        return call(&near[..len]);
    }
    let mut far = Buffers::new();
    arrays.for_each(|array| far.push_placed(array.buffer()));
    call(far.as_slice())
}

thread_local! {
    /// Room for the results of the next run with many, so that runs do not allocate it.
    static SPARE: Cell<Vec<Option<RawBuffer>>> = const { Cell::new(Vec::new()) };
}

/// Calls with room for so many results.
#[inline(always)]
fn with_room<R>(results: usize, call: impl FnOnce(&mut [Option<RawBuffer>]) -> R) -> R {
    if results <= NEAR {
        return call(&mut [None; NEAR][..results]);
    }
    let mut far = SPARE.try_with(Cell::take).unwrap_or_default();
    far.clear();
    far.resize(results, None);
    let result = call(&mut far);
    // Fails only while the thread ends.
    let _ = SPARE.try_with(|spare| spare.set(far));
    result
}
