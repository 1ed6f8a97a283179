//! Running a skeleton: from arrays to the one way into the device that families take too.

use std::cell::Cell;
use std::fmt;

use super::bake::Baked;
use super::{Input, Results, RunInput};
use crate::compiled::{Compiled, Visitor, nothing_donated};
use crate::engine::RawBuffer;
use crate::executable::{check_layout, check_place, wrong_count};
use crate::family::{Buffers, NO_BUFFER};
use crate::{Array, Error, Result};

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
            let mut given = input.input();
            if let Input::Object(object) = given {
                object.convert(&self.path(i), Some((aval, self.donated.contains(&i))))?;
                given = object.converted();
            }
            match given {
                Input::Array(array) => {
                    check_place(|| self.path(i), array, self.device())?;
                    check_layout(|| self.path(i), array, aval)?;
                }
                // What an object is converted to was checked, and is made dense.
                _ if matches!(input.input(), Input::Object(_)) => {}
                _ => check_layout(|| self.path(i), input, aval)?,
            }
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
        if !self.donated.is_empty() {
            // SAFETY: by the caller's promise.
            return unsafe { self.run_giving(&self.compiled, inputs, &[], &[]) };
        }
        // SAFETY: as above.
        unsafe { self.execute(&self.compiled, inputs, &[], nothing_donated) }
    }

    /// Runs a form of the program that consumes arrays: those of donated slots, and those that are given besides. What stands
    /// in `behind` follows the captured arrays as arguments.
    ///
    /// An error, before anything runs, if one of them is an argument twice.
    ///
    /// # Safety
    ///
    /// As for [`Baked::run`]; `compiled` takes the slots, the captured arrays and `behind`, and is otherwise as the skeleton's
    /// own program. `given` are alive, of the client, and either all in `behind` or arguments of no program.
    #[inline(never)]
    pub unsafe fn run_giving<O: Results>(
        &self,
        compiled: &Compiled,
        inputs: &[&Array],
        behind: &[Array],
        given: &[Array],
    ) -> Result<O> {
        self.check_given_once(inputs, given)?;
        // SAFETY: by the caller's promise.
        unsafe {
            self.execute(compiled, inputs, behind, |visit: &mut Visitor<'_, Given<'_>>| {
                self.donated.iter().for_each(|&i| visit(Given::Slot(self, i), inputs[i]));
                given.iter().enumerate().for_each(|(i, array)| visit(Given::Into(self, i), array));
            })
        }
    }

    /// An error if an array that the run consumes is an argument twice: the program would overwrite what it reads.
    fn check_given_once(&self, inputs: &[&Array], given: &[Array]) -> Result<()> {
        let captured = self.captured.iter().enumerate().map(|(i, c)| (c.path(i), &c.array));
        let slots = inputs.iter().enumerate().map(|(i, &array)| (self.path(i), array));
        let all: Vec<(String, &Array)> = (slots.chain(captured))
            .chain(given.iter().enumerate().map(|(i, array)| (Given::Into(self, i).to_string(), array)))
            .collect();
        let first_given = all.len() - given.len();
        for i in self.donated.iter().copied().chain(first_given..all.len()) {
            if let Some(j) = (0..all.len()).find(|&j| j != i && all[j].1.same(all[i].1)) {
                return Err(Error::Donated {
                    argument: all[i].0.clone(),
                    reason: format!("the run consumes the array, which is also `{}`", all[j].0),
                });
            }
        }
        Ok(())
    }

    /// Runs a form of the program. An error if a captured array was donated since it was captured.
    ///
    /// # Safety
    ///
    /// As for [`Baked::run_giving`]; `donated` visits what the program consumes.
    #[inline(always)]
    unsafe fn execute<O: Results, N: fmt::Display>(
        &self,
        compiled: &Compiled,
        inputs: &[&Array],
        behind: &[Array],
        donated: impl Fn(&mut Visitor<'_, N>),
    ) -> Result<O> {
        if self.captured.iter().any(|captured| captured.array.is_donated()) {
            self.check_captured()?;
        }
        let captured = self.captured.iter().map(|captured| &captured.array);
        let arguments = inputs.iter().copied().chain(captured).chain(behind);
        with_buffers(inputs.len() + self.captured.len() + behind.len(), arguments, |buffers| {
            with_room(O::COUNT.unwrap_or(self.outputs().len()), |outs| {
                // SAFETY: by the caller's promise, and the arrays are borrowed for the call. A skeleton for `O` was
                // checked to have as many results as `O`, if that has a number.
                unsafe { compiled.run(self.client, buffers, outs, donated, O::take_all) }
            })
        })
    }
}

/// What a run consumes, for messages.
enum Given<'a> {
    Slot(&'a Baked, usize),
    Into(&'a Baked, usize),
}

impl fmt::Display for Given<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Given::Slot(baked, slot) => f.write_str(&baked.path(*slot)),
            Given::Into(baked, result) => f.write_str(&baked.given_path(*result)),
        }
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
