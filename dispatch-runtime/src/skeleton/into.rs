//! Running a skeleton into memory that the caller gives for the results.
//!
//! The program has a second form for it, with an argument behind the others for each result, which nothing reads and whose
//! memory the result takes over. It is compiled when it is first needed.

use std::sync::{Mutex, OnceLock, PoisonError};

use super::bake::{Baked, OWNER};
use super::{Results, RunInput, Skeleton};
use crate::compiled::{Compiled, Demand, by_engine};
use crate::engine::pjrt::take_results;
use crate::executable::{check_layout, check_place, wrong_count};
use crate::program::Source;
use crate::{Array, Error, Program, Result};

/// The second form of a program, once it was asked for.
#[derive(Default)]
pub(super) struct Into {
    made: OnceLock<Compiled>,
    making: Mutex<()>,
}

impl<O: Results> Skeleton<O> {
    /// [`run`](Skeleton::run), with the results in the memory of other arrays, such as those of an earlier run. These arrays
    /// are consumed: using one of them, or a clone of it, is an error from now on.
    ///
    /// ```
    /// use dispatch_runtime::{prelude::*, skeleton::SkeletonSlot};
    ///
    /// let client = Client::cpu()?;
    /// let x = SkeletonSlot::new(DType::F32, [4]).named("x");
    /// let skeleton = (&x * 2.0 + 1.0).into_skeleton(&client, &[&x])?;
    ///
    /// let first = skeleton.run(&[&client.array(&[0f32, 1.0, 2.0, 3.0], [4])?])?;
    /// let clone = first.clone();
    /// let second = skeleton.run_into(&[&client.array(&[5f32; 4], [4])?], first)?;
    /// assert_eq!(second.to_vec::<f32>()?, [11.0; 4]);
    /// assert_eq!(clone.to_vec::<f32>().unwrap_err().code(), "donated");
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// The first call compiles a second form of the program, which keeps as long as the skeleton. Where
    /// [`reuses_memory`](Skeleton::reuses_memory) says no, the results get new memory, and that of the given arrays is freed.
    ///
    /// # Errors
    ///
    /// Those of `run`. As the argument `into`, or `into 1` and so on where there are several results: an array that is of
    /// another client or device, was donated, [shares](crate::Client::share) the memory of host data, has not exactly the layout
    /// of the result, is given twice, or stands among the inputs or the [captured](super::capture()) arrays.
    /// [`Error::InvalidProgram`] for a program that is no StableHLO text, and what the compiler says of the second form. A call
    /// that fails consumes nothing.
    pub fn run_into<I: RunInput>(&self, inputs: &[I], into: O) -> Result<O> {
        let given = into.give_all();
        self.run_into_arrays(inputs, &given)
    }

    pub(super) fn run_into_arrays<I: RunInput>(&self, inputs: &[I], given: &[Array]) -> Result<O> {
        let baked = &*self.baked;
        if !I::arrays(inputs).is_some_and(|arrays| baked.fits(arrays)) {
            baked.check(inputs)?;
        }
        baked.check_into(given)?;
        let (form, behind) = match self.reuses_memory() {
            true => (baked.second_form()?, given),
            false => (&baked.compiled, &[][..]),
        };
        // SAFETY: inputs and given arrays were checked, what is uploaded goes to the client's device, and the form takes the
        // given ones behind the others, or does not take them. The skeleton was made with results of the structure `O`.
        let run = |arrays: &[&Array]| unsafe { baked.run_giving(form, arrays, behind, given) };
        I::as_arrays(inputs, baked.device(), &baked.donated, run)
    }
}

impl<O> Skeleton<O> {
    /// Whether the results of [`run_into`](Skeleton::run_into) get the memory of the arrays that it is given, and a
    /// [`BufferPool`](super::BufferPool) is of use.
    ///
    /// It is not where a plugin would take longer to hand memory over than to allocate and copy: CPU plugins of C API versions
    /// below 0.106 for results of up to 64 KiB in all. Nor where the engine has no such thing, as the host engine, or where
    /// there are no results.
    ///
    /// ```
    /// use dispatch_runtime::{prelude::*, skeleton::SkeletonSlot};
    ///
    /// let client = Client::cpu()?;
    /// let x = SkeletonSlot::new(DType::F32, [1 << 20]).named("x");
    /// assert!((&x * 2.0).into_skeleton(&client, &[&x])?.reuses_memory());
    /// # Ok::<(), Error>(())
    /// ```
    pub fn reuses_memory(&self) -> bool {
        let bytes = self.outputs().iter().map(|output| output.size_bytes()).sum();
        bytes > 0 && self.client().engine().hands_over(bytes)
    }
}

impl Baked {
    /// The name of the array that is given for a result.
    pub fn given_path(&self, result: usize) -> String {
        match self.outputs().len() {
            1 => "into".to_owned(),
            _ => format!("into {}", result + 1),
        }
    }

    /// The error of the first of these arrays that cannot give its memory to its result.
    fn check_into(&self, given: &[Array]) -> Result<()> {
        let outputs = self.outputs();
        if given.len() != outputs.len() {
            return Err(wrong_count(
                "`run_into`",
                outputs,
                |i| format!("`{}`", self.given_path(i)),
                given.len(),
            ));
        }
        for (i, (array, output)) in given.iter().zip(outputs).enumerate() {
            check_place(|| self.given_path(i), array, self.device())?;
            check_layout(|| self.given_path(i), array, output)?;
        }
        Ok(())
    }

    /// The form that takes the memory of its results behind its other arguments. Threads that ask at once wait for one compile;
    /// when it fails the next call tries again.
    fn second_form(&self) -> Result<&Compiled> {
        if let Some(form) = self.into.made.get() {
            return Ok(form);
        }
        let _making = self.into.making.lock().unwrap_or_else(PoisonError::into_inner);
        match self.into.made.get() {
            Some(form) => Ok(form),
            None => {
                let form = self.compile_second_form()?;
                Ok(self.into.made.get_or_init(|| form))
            }
        }
    }

    fn compile_second_form(&self) -> Result<Compiled> {
        let Source::StableHlo(text) = &self.source else {
            return Err(Error::InvalidProgram {
                reason: format!("running {OWNER} into given memory needs StableHLO as text"),
            });
        };
        let outputs = self.outputs();
        // Every result has its memory, so those of donated slots are of no use to this form; `run_giving` consumes them.
        let dense = &self.compiled.executable().inputs()[..self.inputs().len()];
        let slots = dense.iter().enumerate().map(|(i, aval)| (self.path(i), aval.clone(), false));
        let captured = self.captured.iter().enumerate().map(|(i, c)| (c.path(i), c.array.aval(), false));
        let given = outputs.iter().enumerate().map(|(i, aval)| (self.given_path(i), aval.clone(), true));
        let leaves: Vec<_> = slots.chain(captured).chain(given).collect();
        let program = Program::<()>::stablehlo(take_results(text, outputs)?)?.with_outputs(outputs.to_vec());
        let demand = Demand {
            owner: OWNER,
            device: self.device(),
            leaves: Some(&leaves),
            results: Some(outputs.len()),
        };
        demand.compile(program, by_engine).map(|(form, _)| form)
    }
}
