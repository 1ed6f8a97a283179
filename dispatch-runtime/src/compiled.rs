//! A compiled program that was checked against what its owner demands of it, and the way into the device.
//!
//! A family keeps its programs in a cache, a skeleton has one; both compile and run them here.

use std::fmt;

use crate::array::Array;
use crate::cache::Weigh;
use crate::client::{Client, Device};
use crate::engine::{self, RawBuffer};
use crate::error::counted;
use crate::program::{Program, Source};
use crate::tree::Outputs;
use crate::{Aval, CompileOptions, Error, Result};

/// A compiled program, checked.
pub struct Compiled {
    executable: Box<dyn engine::Executable>,
    outputs: Box<[Aval]>,
    device: u32,
}

impl Compiled {
    /// Dtype and shape of each result.
    #[inline(always)]
    pub(crate) fn outputs(&self) -> &[Aval] {
        &self.outputs
    }

    /// The device that the program runs on.
    #[inline(always)]
    pub fn device(&self) -> u32 {
        self.device
    }

    /// The executable.
    #[inline(always)]
    pub(crate) fn executable(&self) -> &dyn engine::Executable {
        &*self.executable
    }

    /// Runs the program and gives the results their structure.
    ///
    /// `take` gives the results their structure; `donated` visits the arrays given to the program, with the names of
    /// their arguments, or what shows them.
    ///
    /// # Safety
    ///
    /// `args` are live buffers of this client, on the program's device, of the dtypes and shapes that it takes. `outs` has
    /// room for its results, no more.
    #[inline(always)]
    pub(crate) unsafe fn run<O, N: fmt::Display>(
        &self,
        client: Client,
        args: &[RawBuffer],
        outs: &mut [Option<RawBuffer>],
        donated: impl Fn(&mut Visitor<'_, N>),
        take: impl FnOnce(&mut Outputs<'_>) -> O,
    ) -> Result<O> {
        let mut given = 0;
        let mut late = None;
        donated(&mut |name, array| match late {
            None if array.donate() => given += 1,
            None => late = Some(refused(name, array)),
            Some(_) => {}
        });
        if let Some(late) = late {
            take_back(donated, given);
            return Err(late);
        }
        // SAFETY: by the caller's promise.
        let ran = unsafe { self.executable().execute(args, outs) };
        if let Err(error) = ran {
            take_back(donated, given);
            return Err(error);
        }
        // SAFETY: these are the results of the run just ended.
        let mut outputs = unsafe { Outputs::new(self, client, outs) };
        let result = take(&mut outputs);
        // All are taken; its `drop` is for a panic before this line.
        std::mem::forget(outputs);
        Ok(result)
    }
}

impl Weigh for Compiled {
    fn bytes(&self) -> u64 {
        self.executable.size_bytes()
    }

    fn is_loaded(&self) -> bool {
        self.executable.is_loaded()
    }
}

/// Sees a donated array with the name of its argument.
pub type Visitor<'a, N = &'static str> = dyn FnMut(N, &Array) + 'a;

/// Visits the donated arrays of a call that donates none.
#[inline(always)]
pub fn nothing_donated(_: &mut Visitor<'_>) {}

#[cold]
fn refused(name: impl fmt::Display, array: &Array) -> Error {
    Error::Donated { argument: name.to_string(), reason: array.donation_refused().into() }
}

/// A call that failed has consumed nothing: the first `given` arrays are whole again.
#[cold]
fn take_back<N>(donated: impl Fn(&mut Visitor<'_, N>), given: usize) {
    let mut i = 0;
    donated(&mut |_, array| {
        if i < given {
            // SAFETY: this call marked the array, and has consumed nothing.
            unsafe { array.take_back() };
        }
        i += 1;
    });
}

/// How a program is compiled: by the engine, on this thread (`by_engine`) or on another one. What comes of it is checked.
pub type Compiler = fn(Device, &Source) -> Result<Box<dyn engine::Executable>>;

/// Compiles on the calling thread, or loads from the client's store.
pub fn by_engine(device: Device, source: &Source) -> Result<Box<dyn engine::Executable>> {
    compile(device, source, None)
}

/// The one way from a program to an executable: from the client's store, or by its engine.
pub(crate) fn compile(
    device: Device,
    source: &Source,
    options: Option<&CompileOptions>,
) -> Result<Box<dyn engine::Executable>> {
    let compile = || {
        let (engine, index) = (device.client().engine(), device.index() as usize);
        match options {
            None => engine.compile(source, index),
            Some(options) => engine.compile_with(source, index, options),
        }
    };
    #[cfg(feature = "store")]
    if let Some(store) = device.client().store() {
        return store.compile(device, source, options, compile);
    }
    compile()
}

/// What a program has to be for its owner.
pub(crate) struct Demand<'a> {
    /// Whose it is, for messages: ``family `add` ``.
    pub owner: &'a str,
    /// The device that it is to run on.
    pub device: Device,
    /// Each argument: its path, what it is, and whether it is donated. None: whatever the program takes, and
    /// takes over.
    pub leaves: Option<&'a [(String, Aval, bool)]>,
    /// The number of results. None: as many as the program gives.
    pub results: Option<usize>,
}

impl Demand<'_> {
    /// Compiles a program and compares it with the demand; the program as the engine got it comes with it.
    pub fn compile<O>(
        &self,
        program: Program<O>,
        compiler: impl FnOnce(Device, &Source) -> Result<Box<dyn engine::Executable>>,
    ) -> Result<(Compiled, Source)> {
        let Program { source, claimed, .. } = program;
        let source = self.mark_donors(source)?;
        let executable = compiler(self.device, &source)?;
        self.check_inputs(executable.inputs())?;
        self.check_aliases(executable.aliased())?;
        self.check_outputs(executable.outputs(), claimed.as_deref())?;
        if !matches!(source, Source::Host { .. }) {
            self.report_donations(&*executable);
        }
        let outputs = executable.outputs().into();
        Ok((Compiled { outputs, device: self.device.index(), executable }, source))
    }

    fn mark_donors(&self, source: Source) -> Result<Source> {
        let donated: Vec<bool> = self.known().iter().map(|(_, _, donated)| *donated).collect();
        if !donated.contains(&true) {
            return Ok(source);
        }
        match source {
            Source::StableHlo(text) => engine::pjrt::mark_donors(&text, &donated).map(Source::StableHlo),
            Source::Bytecode(_) | Source::Hlo(_) => Err(Error::InvalidProgram {
                reason: format!("{} donates arguments, which needs StableHLO as text", self.owner),
            }),
            host @ Source::Host { .. } => Ok(host),
        }
    }

    /// The arguments that were declared.
    fn known(&self) -> &[(String, Aval, bool)] {
        self.leaves.unwrap_or_default()
    }

    fn check_inputs(&self, inputs: &[Aval]) -> Result<()> {
        let Some(leaves) = self.leaves else { return Ok(()) };
        if inputs.len() != leaves.len() {
            return self.wrong(
                format!("must take {}", counted(leaves.len(), "argument")),
                format!("it takes {}", inputs.len()),
            );
        }
        match inputs.iter().zip(leaves).find(|(input, (_, aval, _))| *input != aval) {
            Some((input, (path, aval, _))) => {
                self.wrong(format!("must take `{path}` as {aval}"), format!("it takes {input}"))
            }
            None => Ok(()),
        }
    }

    /// A program that takes over an argument which nobody gave it would leave its caller with a dead array.
    fn check_aliases(&self, aliased: &[bool]) -> Result<()> {
        match aliased.iter().zip(self.known()).find(|(aliased, (_, _, donated))| **aliased && !donated) {
            Some((_, (path, ..))) => self.wrong(
                format!("must leave `{path}` to the caller, since it is not donated"),
                "it takes it over".into(),
            ),
            None => Ok(()),
        }
    }

    fn check_outputs(&self, outputs: &[Aval], claimed: Option<&[Aval]>) -> Result<()> {
        if let Some(results) = self.results.filter(|&results| results != outputs.len()) {
            return self.wrong(
                format!("must give {}, as its type says", counted(results, "result")),
                format!("it gives {}", outputs.len()),
            );
        }
        match claimed {
            Some(claimed) if claimed != outputs => self
                .wrong(format!("must give {claimed:?}, as the body says"), format!("it gives {outputs:?}")),
            _ => Ok(()),
        }
    }

    fn wrong(&self, expected: String, got: String) -> Result<()> {
        Err(Error::Program { family: self.owner.into(), expected, got })
    }

    fn report_donations(&self, executable: &dyn engine::Executable) {
        for ((path, aval, donated), aliased) in self.known().iter().zip(executable.aliased()) {
            if *donated && !aliased {
                crate::warning::warn(&format!(
                    "{}: the donated argument `{path}` ({aval}) cannot be used for any result: \
                     no result is left that has its size and layout",
                    self.owner
                ));
            }
        }
    }
}
