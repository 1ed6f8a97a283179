//! Programs and executables.

use std::path::Path;
use std::sync::Arc;

use dispatch_r::client::{device_object, read_device};
use dispatch_r::executable::{compile, input};
use dispatch_r::runtime::engine::pjrt::CompileOptions;
use dispatch_r::runtime::engine::RunOptions;
use dispatch_r::runtime::program::Source;
use dispatch_r::runtime::{Array, Aval, Error, Executable};
use dispatch_r::{
    arg, buffer, describe, entry, in_dots, make, memory, runs, wrap, Arg, Fault, Handle, Kind, Result,
};
use savvy::savvy;
use smallvec::SmallVec;

/// A program as it is given to the compiler.
pub struct Program(pub(crate) Arc<Source>);

impl Handle for Program {
    fn kind() -> &'static Kind {
        static KIND: Kind = Kind::new("PJRTProgram", "pjrtdispatch program 1");
        &KIND
    }
}

/// What MLIR's bytecode begins with.
const BYTECODE: &[u8] = b"ML\xefR";

#[savvy]
fn rs_program(src: savvy::Sexp, path: savvy::Sexp, format: savvy::Sexp) -> savvy::Result<savvy::Sexp> {
    entry(|| {
        let (src, path) = (arg(&src, "src"), arg(&path, "path"));
        let code = match (src.optional(), path.optional()) {
            (Some(src), None) if src.kind() == "raw" => src.bytes()?.to_vec(),
            // A vector of lines is a text, as `readLines()` gives it.
            (Some(src), None) => match src.strings()?.as_slice() {
                [] => return Err(src.expected("a program")),
                lines => lines.join("\n").into_bytes(),
            },
            (None, Some(path)) => read(path)?,
            (None, None) => return Err(Fault::new("type", "one of `src` and `path` has to be given")),
            (Some(_), Some(_)) => {
                return Err(Fault::new("type", "only one of `src` and `path` can be given"))
            }
        };
        let source = match arg(&format, "format").string()?.as_str() {
            "hlo" => Source::Hlo(code),
            _ if code.starts_with(BYTECODE) => Source::Bytecode(code),
            _ => Source::StableHlo(String::from_utf8(code).map_err(|_| {
                Fault::new(
                    "invalid_program",
                    "invalid program: it is neither MLIR bytecode nor text in UTF-8",
                )
            })?),
        };
        wrap(Program(Arc::new(source)))
    })
}

fn read(path: Arg<'_>) -> Result<Vec<u8>> {
    let name = path.string()?;
    std::fs::read(Path::new(&name)).map_err(|error| {
        Fault::argument("value", path.name(), "a file that can be read", format!("\"{name}\": {error}"))
    })
}

/// The program as text, as far as it is one.
#[savvy]
fn rs_program_text(x: savvy::Sexp) -> savvy::Result<savvy::Sexp> {
    entry(|| Ok(make::string(&arg(&x, "x").handle::<Program>()?.0.to_string())?.release()))
}

#[savvy]
fn rs_compile(program: savvy::Sexp, options: savvy::Sexp, device: savvy::Sexp) -> savvy::Result<savvy::Sexp> {
    entry(|| {
        let program: &Program = arg(&program, "program").handle()?;
        let device = read_device(arg(&device, "device"))?;
        let options = match arg(&options, "compile_options").bytes()? {
            [] => None,
            bytes => Some(CompileOptions::from_proto(bytes)?),
        };
        // R code that runs while it compiles may drop the program.
        wrap(compile(&program.0.clone(), device, options.as_ref())?)
    })
}

/// As many as most programs take, without an allocation.
type Few<T> = SmallVec<[T; 8]>;

/// Runs a program; a list of buffers, or the one buffer if it gives one and that is asked for.
#[savvy]
fn rs_execute(
    executable: savvy::Sexp,
    inputs: savvy::Sexp,
    keep: savvy::Sexp,
    launch_id: savvy::Sexp,
    simplify: savvy::Sexp,
    check: savvy::Sexp,
) -> savvy::Result<savvy::Sexp> {
    entry(|| {
        let executable: &Executable = arg(&executable, "executable").handle()?;
        let simplify = arg(&simplify, "simplify").flag()?;
        let reinterpret = !arg(&check, "check").flag()?;
        let inputs = arg(&inputs, "...").elements()?;
        let keep = match arg(&keep, KEEP).optional() {
            None => Vec::new(),
            Some(keep) => keep.integers()?,
        };
        let inputs = inputs
            .iter()
            .enumerate()
            .map(|(i, &value)| input(executable, value, i, &keep))
            .collect::<Result<Few<Array>>>()?;
        let args: Few<&Array> = inputs.iter().collect();
        let launch_id = match arg(&launch_id, "launch_id").optional() {
            None => 0,
            Some(id) => launch_id_of(id)?,
        };
        let options = RunOptions { keep: &keep, launch_id, reinterpret, ..RunOptions::default() };
        let results = memory::with_retry(|| -> Result<Vec<Array>> {
            let (results, left) = runs::run(|| executable.execute_with(&args, options));
            left?;
            Ok(results.map_err(in_words_of_r)?)
        })?;
        drop(args);
        drop(inputs);
        buffer::wrap_all(results, simplify)
    })
}

/// An error of a run with the names that arguments have in R.
#[cold]
fn in_words_of_r(error: Error) -> Error {
    match error {
        Error::Option { option: "keep", expected, got } => Error::Option { option: KEEP, expected, got },
        // The runtime counts what it is given.
        error => in_dots(error),
    }
}

const KEEP: &str = "non_donatable_input_indices";

fn launch_id_of(x: Arg<'_>) -> Result<i32> {
    let id = x.integer()?;
    i32::try_from(id)
        .map_err(|_| Fault::argument("value", x.name(), "a number of at most 32 bits", id.to_string()))
}

/// What a run with options gets: the indices of inputs that are kept, and a number.
#[savvy]
fn rs_execution_options(keep: savvy::Sexp, launch_id: savvy::Sexp) -> savvy::Result<savvy::Sexp> {
    entry(|| {
        let keep = arg(&keep, KEEP).integers()?;
        if let Some(index) = keep.iter().find(|&&index| index < 0) {
            return Err(Fault::argument("value", KEEP, "indices from 0 on", index.to_string()));
        }
        launch_id_of(arg(&launch_id, "launch_id"))?;
        Ok(make::flag(true)?.release())
    })
}

#[savvy]
fn rs_executable_device(x: savvy::Sexp) -> savvy::Result<savvy::Sexp> {
    entry(|| device_object(arg(&x, "x").handle::<Executable>()?.device()))
}

/// `(f32[4], f32[4]) -> (f32[4]) on cpu:0`
#[savvy]
fn rs_executable_about(x: savvy::Sexp) -> savvy::Result<savvy::Sexp> {
    entry(|| {
        let executable = arg(&x, "x").handle::<Executable>()?;
        let list = |avals: &[Aval]| {
            let texts: Vec<String> = avals.iter().map(describe::aval).collect();
            format!("({})", texts.join(", "))
        };
        let text = format!(
            "{} -> {} on {}",
            list(executable.inputs()),
            list(executable.outputs()),
            executable.device()
        );
        Ok(make::string(&text)?.release())
    })
}

/// The optimised program as HLO text.
#[savvy]
fn rs_executable_hlo(x: savvy::Sexp) -> savvy::Result<savvy::Sexp> {
    entry(|| {
        let executable = arg(&x, "program").handle::<Executable>()?;
        match executable.inspect()?.optimized_hlo {
            Some(text) => Ok(make::string(&text)?.release()),
            None => Err(Fault::new("unimplemented", "the plugin does not show the optimised program")),
        }
    })
}
