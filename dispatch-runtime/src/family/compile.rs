//! The miss path: from the body of a family to a checked executable.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use super::{CompileCx, Family};
use crate::cache::{Part, Pin, Weigh};
use crate::client::Device;
use crate::engine;
use crate::error::counted;
use crate::key::Sink;
use crate::program::{Program, Source};
use crate::{Aval, Error, Inspection, Result};

/// Any error of the body of a family.
pub type BodyError = Box<dyn std::error::Error + Send + Sync>;

/// An error of a body, on its way to a [`BodyError`].
///
/// A stub calls `into_body_error` on it: the method of this type if the error converts, else that of [`TextFailure`].
pub struct Failure<E>(pub E);

impl<E: Into<BodyError>> Failure<E> {
    /// The error itself.
    pub fn into_body_error(self) -> BodyError {
        self.0.into()
    }
}

/// Errors that cannot go to another thread, such as `Box<dyn Error>`: their text can.
pub trait TextFailure {
    /// The text of the error; an [`Error`] of the runtime stays what it is.
    fn into_body_error(self) -> BodyError;
}

impl<E: fmt::Display + 'static> TextFailure for Failure<E> {
    fn into_body_error(self) -> BodyError {
        let boxed = (&self.0 as &dyn Any).downcast_ref::<Box<dyn std::error::Error>>();
        match boxed.and_then(|error| error.downcast_ref::<Error>()) {
            Some(error) => error.clone().into(),
            None => self.0.to_string().into(),
        }
    }
}

/// A compiled program in the cache of a family.
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
}

impl Weigh for Compiled {
    fn bytes(&self) -> u64 {
        self.executable.size_bytes()
    }
}

/// What a stub knows about the program that it needs.
pub struct Request {
    /// The device of the call.
    pub device: u32,
    /// The value of the family's `context`, if it declares one.
    pub context: Option<Box<dyn Any>>,
    /// Each array of the call: its path, what it is, and whether it is donated.
    pub leaves: Vec<(String, Aval, bool)>,
    /// The number of results.
    pub results: usize,
}

/// How a program is compiled: by the engine, on this thread (`by_engine`) or on another one. What comes of it is checked
/// by the family.
pub type Compiler = fn(Device, &Source) -> Result<Box<dyn engine::Executable>>;

/// Compiles on the calling thread.
pub fn by_engine(device: Device, source: &Source) -> Result<Box<dyn engine::Executable>> {
    device.client().engine().compile(source, device.index() as usize)
}

impl Family {
    /// The entry of a key, compiled now if it is not there; one thread compiles, others with that key wait.
    #[cold]
    #[inline(never)]
    pub fn compile<O>(
        &self,
        key: impl Fn(&mut Sink<'_>),
        describe: impl FnOnce() -> Vec<Part>,
        request: impl FnOnce() -> Request,
        body: impl FnOnce(&CompileCx) -> Result<Program<O>, BodyError>,
    ) -> Result<Pin<'_, Compiled>> {
        self.cache.get_or_build(key, describe, || {
            let (compiled, _) = self.build(request(), body)?;
            Ok(compiled)
        })
    }

    /// What the program of these arguments is and costs. It is made and compiled as for a call that misses, but
    /// without the cache, which does not hear of it.
    #[cold]
    #[inline(never)]
    pub fn inspect<O>(
        &self,
        request: Request,
        body: impl FnOnce(&CompileCx) -> Result<Program<O>, BodyError>,
    ) -> Result<Inspection> {
        let (compiled, source) = self.build(request, body)?;
        let device = self.client.device_at(compiled.device);
        let mut inspection = crate::inspection::inspect(compiled.executable(), device)?;
        if let Source::StableHlo(text) = source {
            inspection.stablehlo = Some(text);
        }
        Ok(inspection)
    }

    /// Runs the body and compiles its program; the program as the engine got it comes with it.
    fn build<O>(
        &self,
        request: Request,
        body: impl FnOnce(&CompileCx) -> Result<Program<O>, BodyError>,
    ) -> Result<(Compiled, Source)> {
        let Request { device, context, leaves, results } = request;
        let cx = CompileCx::new(self.name, self.client.device_at(device), context, leaves);
        let program = body(&cx).map_err(|error| self.body_failed(error))?;
        self.compile_program(program, cx.device(), cx.leaves(), results)
    }

    fn body_failed(&self, error: BodyError) -> Error {
        let source: Arc<dyn std::error::Error + Send + Sync> = match error.downcast::<Error>() {
            // A body that asks for its own key: what the caller has to hear is that, not that some body failed.
            Ok(error) if matches!(*error, Error::Recursive { .. }) => return *error,
            Ok(error) => Arc::new(*error),
            Err(error) => error.into(),
        };
        Error::Body { family: self.name.into(), source }
    }

    fn compile_program<O>(
        &self,
        program: Program<O>,
        device: Device,
        leaves: &[(String, Aval, bool)],
        results: usize,
    ) -> Result<(Compiled, Source)> {
        let Program { source, claimed, .. } = program;
        let donated: Vec<bool> = leaves.iter().map(|(_, _, donated)| *donated).collect();
        let source = self.mark_donors(source, &donated)?;
        let executable = (self.compiler)(device, &source)?;
        self.check_inputs(executable.inputs(), leaves)?;
        self.check_aliases(executable.aliased(), leaves)?;
        self.check_outputs(executable.outputs(), results, claimed.as_deref())?;
        if !matches!(source, Source::Host { .. }) {
            self.report_donations(&*executable, leaves);
        }
        let outputs = executable.outputs().into();
        Ok((Compiled { outputs, device: device.index(), executable }, source))
    }

    fn mark_donors(&self, source: Source, donated: &[bool]) -> Result<Source> {
        if !donated.contains(&true) {
            return Ok(source);
        }
        match source {
            Source::StableHlo(text) => engine::pjrt::mark_donors(&text, donated).map(Source::StableHlo),
            Source::Bytecode(_) | Source::Hlo(_) => Err(Error::InvalidProgram {
                reason: format!("family `{}` donates arguments, which needs StableHLO as text", self.name),
            }),
            host @ Source::Host { .. } => Ok(host),
        }
    }

    fn check_inputs(&self, inputs: &[Aval], leaves: &[(String, Aval, bool)]) -> Result<()> {
        let wrong = |expected: String, got: String| Err(self.wrong_program(expected, got));
        if inputs.len() != leaves.len() {
            return wrong(
                format!("must take {}", counted(leaves.len(), "argument")),
                format!("it takes {}", inputs.len()),
            );
        }
        match inputs.iter().zip(leaves).find(|(input, (_, aval, _))| *input != aval) {
            Some((input, (path, aval, _))) => {
                wrong(format!("must take `{path}` as {aval}"), format!("it takes {input}"))
            }
            None => Ok(()),
        }
    }

    /// A program that takes over an argument which nobody gave it would leave its caller with a dead array.
    fn check_aliases(&self, aliased: &[bool], leaves: &[(String, Aval, bool)]) -> Result<()> {
        match aliased.iter().zip(leaves).find(|(aliased, (_, _, donated))| **aliased && !donated) {
            Some((_, (path, ..))) => Err(self.wrong_program(
                format!("must leave `{path}` to the caller, since it is not donated"),
                "it takes it over".into(),
            )),
            None => Ok(()),
        }
    }

    fn check_outputs(&self, outputs: &[Aval], results: usize, claimed: Option<&[Aval]>) -> Result<()> {
        if outputs.len() != results {
            return Err(self.wrong_program(
                format!("must give {}, as its type says", counted(results, "result")),
                format!("it gives {}", outputs.len()),
            ));
        }
        match claimed {
            Some(claimed) if claimed != outputs => Err(self.wrong_program(
                format!("must give {claimed:?}, as the body says"),
                format!("it gives {outputs:?}"),
            )),
            _ => Ok(()),
        }
    }

    fn wrong_program(&self, expected: String, got: String) -> Error {
        Error::Program { family: format!("family `{}`", self.name), expected, got }
    }

    fn report_donations(&self, executable: &dyn engine::Executable, leaves: &[(String, Aval, bool)]) {
        for ((path, aval, donated), aliased) in leaves.iter().zip(executable.aliased()) {
            if *donated && !aliased {
                crate::warning::warn(&format!(
                    "family `{}`: the donated argument `{path}` ({aval}) cannot be used for any result: \
                     no result has its size and layout",
                    self.name
                ));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::family::DeclaredFamily;
    use crate::prelude::*;

    #[dispatch_family]
    fn same(#[dynamic(dtype = f32, shape = [n])] x: Aval) -> Result<Program> {
        Program::host([x.clone()], [x], |args| Ok(vec![HostArray::from_view(args[0])]))
    }

    #[test]
    fn another_function_may_compile_and_what_it_leaves_is_not_kept() {
        static ASKED: AtomicUsize = AtomicUsize::new(0);
        let left_once: Compiler = |device, source| match ASKED.fetch_add(1, Ordering::Relaxed) {
            0 => Err(Error::Interrupted),
            _ => by_engine(device, source),
        };
        // SAFETY: the engine compiles.
        let family = unsafe { Same::builder(&Client::host()).compiler(left_once) }.build().unwrap();
        assert_eq!(family.call([1f32]).unwrap_err().code(), "interrupted");
        assert_eq!(DeclaredFamily::family(&family).keys().len(), 0);
        assert_eq!(family.call([1f32]).unwrap().to_vec::<f32>().unwrap(), [1.0]);
        assert_eq!(family.call([2f32]).unwrap().to_vec::<f32>().unwrap(), [2.0]);
        assert_eq!(ASKED.load(Ordering::Relaxed), 2);
        let keys = DeclaredFamily::family(&family).keys();
        assert_eq!(keys.len(), 1);
        assert!(keys[0].iter().any(|part| part.name == "size 1 of `x` (n)" && part.value == "1"));
        assert_eq!(Same::scope().fields[0].name, "x");
    }
}
