//! What the body of a family returns.

use std::marker::PhantomData;
use std::sync::Arc;

use crate::aval::list;
use crate::custom_call::CustomCall;
use crate::host::{HostArray, HostView};
use crate::{Array, Aval, Result};

/// The function of a program that runs on the host.
pub type HostFn = dyn Fn(&[HostView<'_>]) -> Result<Vec<HostArray>> + Send + Sync;

/// A program in a form that some engine compiles.
#[derive(Clone)]
#[non_exhaustive]
pub enum Source {
    /// StableHLO as MLIR text with a function `@main`.
    StableHlo(String),
    /// StableHLO as MLIR bytecode, a portable artifact.
    Bytecode(Vec<u8>),
    /// HLO as a serialized `xla.HloModuleProto`, for PJRT.
    Hlo(Vec<u8>),
    /// A Rust closure over host arrays, for the host engine.
    Host {
        /// Dtype and shape of each argument.
        inputs: Vec<Aval>,
        /// Dtype and shape of each result.
        outputs: Vec<Aval>,
        /// The function.
        run: Arc<HostFn>,
    },
}

impl std::fmt::Debug for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Source::StableHlo(text) => f.write_str(text),
            Source::Bytecode(bytes) => write!(f, "<{} bytes of StableHLO>", bytes.len()),
            Source::Hlo(bytes) => write!(f, "<{} bytes of HLO>", bytes.len()),
            Source::Host { inputs, outputs, .. } => write!(f, "<host function {inputs:?} -> {outputs:?}>"),
        }
    }
}

impl std::fmt::Display for Source {
    /// The StableHLO text as it is; of the other forms, what they are.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Source::StableHlo(text) => f.write_str(text),
            Source::Bytecode(bytes) => match producer(bytes) {
                Some(producer) => write!(f, "{} bytes of StableHLO bytecode ({producer})", bytes.len()),
                None => write!(f, "{} bytes that are no MLIR bytecode", bytes.len()),
            },
            Source::Hlo(bytes) => write!(f, "{} bytes of HLO", bytes.len()),
            Source::Host { inputs, outputs, .. } => {
                write!(f, "a function on the host: {} -> {}", list(inputs), list(outputs))
            }
        }
    }
}

/// Who wrote MLIR bytecode, by its own words: `StableHLO_v1.9.3`. Bytecode starts with a magic number, the version of
/// the encoding in one byte, and this text.
fn producer(bytes: &[u8]) -> Option<std::borrow::Cow<'_, str>> {
    let text = bytes.strip_prefix(b"ML\xefR")?.get(1..)?;
    let end = text.iter().position(|&byte| byte == 0)?;
    Some(String::from_utf8_lossy(&text[..end]))
}

/// A program whose results have the structure `O`: an [`Array`], a tuple of arrays, or a struct that derives
/// `OutputTree`.
#[derive(Clone, Debug)]
pub struct Program<O = Array> {
    pub(crate) source: Source,
    /// What the body says that the program gives, if it does; compared with the executable.
    pub(crate) claimed: Option<Vec<Aval>>,
    structure: PhantomData<fn() -> O>,
}

impl<O> Program<O> {
    pub(crate) fn new(source: Source) -> Program<O> {
        Program { source, claimed: None, structure: PhantomData }
    }

    /// A program from StableHLO text with a function `@main`. XLA reads the text when the program is compiled.
    ///
    /// The error is always absent; the result is there so that a body can end with it.
    pub fn stablehlo(text: impl Into<String>) -> Result<Program<O>> {
        Ok(Program::new(Source::StableHlo(text.into())))
    }

    /// A program from StableHLO bytecode (a portable artifact).
    pub fn bytecode(bytes: impl Into<Vec<u8>>) -> Result<Program<O>> {
        Ok(Program::new(Source::Bytecode(bytes.into())))
    }

    /// A program of one call of a function that is registered with the plugin: its arguments are the operands of the call,
    /// its results those of the call.
    ///
    /// ```
    /// use dispatch_runtime::custom_call::custom_call;
    /// use dispatch_runtime::prelude::*;
    ///
    /// let x = Aval::new(DType::F32, [4]);
    /// let results = [Aval::new(DType::F32, [2]), Aval::new(DType::I32, [2])];
    /// let program = Program::<(Array, Array)>::custom_call(&custom_call("TopK").api_version(1), [x], results)?;
    /// let client = Client::cpu()?;
    /// let x = client.array(&[1f32, 4.0, 2.0, 3.0], [4])?;
    /// assert_eq!(client.compile(program)?.execute(&[&x])?[1].to_vec::<i32>()?, [1, 3]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`CustomCall::operation`].
    pub fn custom_call(
        call: &CustomCall,
        operands: impl Into<Vec<Aval>>,
        results: impl Into<Vec<Aval>>,
    ) -> Result<Program<O>> {
        let (operands, results) = (dense(operands), dense(results));
        Ok(Program::stablehlo(call.program(&operands, &results)?)?.with_outputs(results))
    }

    /// A program that is a Rust closure over host arrays, for [`Client::host`](crate::Client::host).
    ///
    /// The closure gets the arguments in order and returns one array per element of `outputs`; what it returns is
    /// checked on every run.
    pub fn host(
        inputs: impl Into<Vec<Aval>>,
        outputs: impl Into<Vec<Aval>>,
        run: impl Fn(&[HostView<'_>]) -> Result<Vec<HostArray>> + Send + Sync + 'static,
    ) -> Result<Program<O>> {
        let (inputs, outputs) = (dense(inputs), dense(outputs));
        Ok(Program::new(Source::Host { inputs, outputs, run: Arc::new(run) }))
    }

    /// Says which dtypes and shapes the program gives. The claim is checked against the compiled program.
    pub fn with_outputs(mut self, outputs: impl Into<Vec<Aval>>) -> Program<O> {
        self.claimed = Some(dense(outputs));
        self
    }

    /// The program as it stands before it is compiled, to be printed: the StableHLO text, or what there is to say of a
    /// program in another form.
    ///
    /// ```
    /// use dispatch_runtime::{Array, Aval, DType, HostArray, Program};
    ///
    /// let text = "func.func @main(%a: tensor<f32>) -> tensor<f32> { return %a : tensor<f32> }";
    /// assert_eq!(Program::<Array>::stablehlo(text)?.inspect().to_string(), text);
    ///
    /// let x = Aval::new(DType::F32, [2]);
    /// let host = Program::<Array>::host([x.clone()], [x], |args| Ok(vec![HostArray::from_view(args[0])]))?;
    /// assert_eq!(host.inspect().to_string(), "a function on the host: (f32[2]) -> (f32[2])");
    /// # Ok::<(), dispatch_runtime::Error>(())
    /// ```
    ///
    /// What the compiler makes of it is told by [`Executable::inspect`](crate::Executable::inspect).
    pub fn inspect(&self) -> &Source {
        &self.source
    }

    /// The program in the form that the engine gets.
    pub fn source(&self) -> &Source {
        &self.source
    }
}

/// What programs take and give is dense, whatever layout the data has that will become it.
fn dense(avals: impl Into<Vec<Aval>>) -> Vec<Aval> {
    let mut avals = avals.into();
    avals.iter_mut().filter(|aval| !aval.is_dense()).for_each(|aval| *aval = aval.dense());
    avals
}

impl<O> From<Source> for Program<O> {
    fn from(source: Source) -> Program<O> {
        Program::new(source)
    }
}

impl<O> AsRef<Source> for Program<O> {
    fn as_ref(&self) -> &Source {
        &self.source
    }
}

impl AsRef<Source> for Source {
    fn as_ref(&self) -> &Source {
        self
    }
}
