//! The miss path: from the body of a family to a checked executable.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use super::{CompileCx, Family};
use crate::cache::{Part, Pin};
use crate::client::Device;
use crate::compiled::{Compiled, Demand};
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
        let device = self.client.device_at(compiled.device());
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
        let owner = format!("family `{}`", self.name);
        Demand { owner: &owner, device, leaves: Some(leaves), results: Some(results) }
            .compile(program, self.compiler)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::compiled::{Compiler, by_engine};
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
