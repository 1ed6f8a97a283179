//! Running an entry.

use std::ptr::NonNull;

use dispatch_runtime::engine::RawBuffer;
use dispatch_runtime::{Array, Error, HostArray};

use super::call::Call;
use super::entry::Program;
use super::results::Results;
use super::wrong::donated;
use crate::buffer::{self, BUFFER};
use crate::data::{Data, Shape};
use crate::fault::{Fault, Result};
use crate::ffi::*;
use crate::unwind::protect;
use crate::{Check, memory, runs, upload_data};

impl Call<'_> {
    /// Calls the function of an entry with many dynamic leaves.
    #[cold]
    pub fn run_closure(&mut self, function: SEXP) -> Result<SEXP> {
        let leaves = self.leaves();
        // SAFETY: the list has room for the leaves, which the arguments keep; list and call are protected until the
        // function has returned.
        protect(|| unsafe {
            let list = Rf_protect(Rf_allocVector(VECSXP, leaves.len() as Length));
            for (i, leaf) in leaves.iter().enumerate() {
                SET_VECTOR_ELT(list, i as Length, leaf.value);
            }
            let call = Rf_protect(Rf_lcons(function, Rf_cons(list, R_NilValue)));
            let value = Rf_eval(call, R_GlobalEnv);
            Rf_unprotect(2);
            value
        })
    }

    /// Runs a program and wraps its results.
    #[inline]
    pub fn run_program(&mut self, program: &Program) -> Result<SEXP> {
        memory::make_room()?;
        if self.dispatcher.move_inputs {
            self.await_foreign(program)?;
        }
        // In the order of the inputs, then the phantoms. Held until the program has been started: PJRT keeps what it
        // still reads.
        let mut temporary = Vec::new();
        if program.has_uploads || !program.phantoms.is_empty() {
            self.upload(program, &mut temporary)?;
        }
        let results = Results::make(program, self.dispatcher.atoms.buffer)?;
        // From here to the end R does not run.
        let executed = self.execute(program, &temporary);
        let left = match executed {
            Err(fault) if fault.is_exhausted() => {
                memory::collect()?;
                self.execute(program, &temporary)?
            }
            executed => executed?,
        };
        let value = results.finish(program, &mut self.scratch.results);
        left?;
        value
    }

    /// Waits for the inputs that come by way of the host from another client, while the user can interrupt.
    #[cold]
    fn await_foreign(&self, program: &Program) -> Result<()> {
        for leaf in self.leaves().iter().filter(|leaf| leaf.is_array) {
            let Some(address) = alive(leaf.value) else { continue };
            // SAFETY: the address is that of an array's handle, which is alive now.
            let array = unsafe { Array::from_handle_ref(&address) };
            if array.client() != program.device.client() {
                buffer::wait(&array.clone(), "args")?;
            }
        }
        Ok(())
    }

    /// Uploads bare R data, and makes the phantoms.
    #[inline(never)]
    fn upload(&self, program: &Program, temporary: &mut Vec<Array>) -> Result<()> {
        for (i, (leaf, dtype)) in self.leaves().iter().zip(&program.uploads).enumerate() {
            let Some(dtype) = *dtype else { continue };
            let shape: Shape = self.aval(*leaf).shape_i64().collect();
            // SAFETY: the leaf was checked to be a vector, which the arguments keep. R runs no code here but its own, to
            // make elements that it has not made yet.
            let data = unsafe { Data::read(leaf.value)? }.expect("a leaf that was checked");
            let array = upload_data(data, dtype, &shape, program.device, Check::Wrong, "")
                .map_err(|fault| self.named(fault, i))?;
            temporary.push(array);
        }
        let client = program.device.client();
        for (phantom, is_written) in &program.phantoms {
            let array = memory::with_retry(|| match is_written {
                true => client.allocate(phantom.dtype(), phantom.shape(), program.device),
                // The program reads it and gives it to no result: then it has a content that is told.
                false => {
                    let zeros = HostArray::try_zeros(phantom.dtype(), phantom.shape())?;
                    client.upload(zeros.view(), program.device)
                }
            })?;
            temporary.push(array);
        }
        Ok(())
    }

    /// The error of an upload with the path of the input.
    #[cold]
    fn named(&self, fault: Fault, i: usize) -> Fault {
        match (fault, self.paths()) {
            (Fault::Condition(mut condition), Ok(mut paths)) => {
                let path = paths.swap_remove(i);
                condition.message = condition.message.replacen("``", &format!("`{path}`"), 1);
                condition.argument = Some(path.clone());
                self.blame(Fault::Condition(condition), i, &path)
            }
            (fault, _) => fault,
        }
    }

    /// Lists the buffers and starts the program; does not touch R. A program that has started may give a jump of R, which
    /// goes on once the results are taken.
    #[inline]
    fn execute(&mut self, program: &Program, temporary: &[Array]) -> Result<Result<()>> {
        let mut buffers = std::mem::take(&mut self.scratch.buffers);
        let ran = self.execute_with(program, temporary, &mut buffers);
        self.scratch.buffers = buffers;
        ran
    }

    #[inline]
    fn execute_with(
        &mut self,
        program: &Program,
        temporary: &[Array],
        buffers: &mut Vec<RawBuffer>,
    ) -> Result<Result<()>> {
        buffers.clear();
        for (i, constant) in program.constants.iter().enumerate() {
            if constant.is_donated() {
                return Err(donated(
                    format!("const_arrays[[{}]]", i + 1),
                    "the array was donated and is gone",
                ));
            }
            buffers.push(constant.raw());
        }
        let uploaded = temporary.len() - program.phantoms.len();
        let (mut next, mut copies) = (0, Vec::new());
        for (i, leaf) in self.scratch.leaves.iter().enumerate() {
            if !leaf.is_array {
                buffers.push(temporary[next].raw());
                next += 1;
                continue;
            }
            let address = alive(leaf.value).ok_or_else(|| self.gone(i))?;
            // SAFETY: the address is that of an array's handle, and R does not run before the program has started.
            let array = unsafe { Array::from_handle_ref(&address) };
            if array.is_donated() {
                return Err(self.gone(i));
            }
            if array.device() == program.device {
                buffers.push(array.raw());
            } else {
                let copy = copy(array, program)?;
                buffers.push(copy.raw());
                copies.push(copy);
            }
        }
        debug_assert_eq!(next, uploaded);
        buffers.extend(temporary[uploaded..].iter().map(Array::raw));
        if !program.donated.is_empty() {
            self.donate(program)?;
        }
        let results = &mut self.scratch.results;
        results.clear();
        results.resize(program.outputs().len(), None);
        // SAFETY: the arguments are as many as the program takes, of its dtypes and shapes: those of the key, which were
        // compared when the entry was made. They are alive and on its device.
        let start = || unsafe { program.executable().compiled().execute(buffers, results) };
        let (ran, left) = runs::run(start);
        drop(copies);
        match ran {
            Ok(()) => Ok(left),
            Err(error) => {
                let fault = self.failed(program, error);
                left.and(Err(fault))
            }
        }
    }

    /// Marks the inputs that the program consumes; all or none.
    #[cold]
    fn donate(&self, program: &Program) -> Result<()> {
        for &i in &program.donated {
            let leaf = self.leaves()[i as usize];
            let Some(address) = alive(leaf.value) else { return Err(self.gone(i as usize)) };
            // SAFETY: as in `execute_with`.
            let array = unsafe { Array::from_handle_ref(&address) };
            let twice =
                self.leaves().iter().enumerate().find(|&(j, other)| {
                    j != i as usize && other.is_array && alive(other.value) == Some(address)
                });
            if let Some((j, _)) = twice {
                let paths = self.paths()?;
                let reason =
                    format!("the program consumes this buffer, which is passed as `{}` too", paths[j]);
                self.take_back(program, i);
                return Err(donated(paths[i as usize].clone(), &reason));
            }
            if program.constants.iter().any(|constant| constant.raw() == array.raw()) {
                self.take_back(program, i);
                let path = self.paths()?.swap_remove(i as usize);
                return Err(donated(
                    path,
                    "the program consumes this buffer, which is one of its constants too",
                ));
            }
            // A copy is consumed in its place.
            if array.device() == program.device && !array.donate() {
                self.take_back(program, i);
                let path = self.paths()?.swap_remove(i as usize);
                return Err(donated(path, array.donation_refused()));
            }
        }
        Ok(())
    }

    /// The call has failed and consumed nothing: the inputs that were marked before this one are whole.
    #[cold]
    fn take_back(&self, program: &Program, before: u32) {
        for &i in program.donated.iter().filter(|&&i| i < before) {
            if let Some(address) = alive(self.leaves()[i as usize].value) {
                // SAFETY: the address as in `execute_with`; this call marked the array, and has consumed nothing.
                unsafe { Array::from_handle_ref(&address).take_back() };
            }
        }
    }

    #[cold]
    fn failed(&self, program: &Program, error: Error) -> Fault {
        self.take_back(program, u32::MAX);
        error.into()
    }

    #[cold]
    fn gone(&self, i: usize) -> Fault {
        let path = match self.paths() {
            Ok(mut paths) => paths.swap_remove(i),
            Err(fault) => return fault,
        };
        match alive(self.leaves()[i].value) {
            Some(_) => donated(path, "the array was donated to an earlier call and is gone"),
            None => BUFFER
                .address(self.leaves()[i].value, &format!("{path}$data"))
                .err()
                .unwrap_or_else(|| donated(path, "the array is gone")),
        }
    }
}

/// The array of a buffer that was checked to be one.
#[inline(always)]
fn alive(buffer: SEXP) -> Option<NonNull<std::ffi::c_void>> {
    // SAFETY: the object is a pointer.
    NonNull::new(unsafe { R_ExternalPtrAddr(buffer) })
}

/// Copies an input to the device of the entry, from wherever it is.
#[cold]
fn copy(array: &Array, program: &Program) -> Result<Array> {
    if array.client() == program.device.client() {
        return Ok(array.to_device(program.device)?);
    }
    let mut host = HostArray::try_zeros(array.dtype(), array.shape())?;
    // SAFETY: the engine writes valid elements.
    array.read_bytes(unsafe { host.bytes_mut() })?;
    Ok(program.device.client().upload(host.view(), program.device)?)
}
