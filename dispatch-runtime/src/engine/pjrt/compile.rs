//! Compiling.

use std::borrow::Cow;
use std::ffi::CStr;
use std::ptr::NonNull;
use std::sync::Arc;

use prost::Message;

use super::abi::*;
use super::call::{Roomy, call};
use super::describe::{self, Owned};
use super::engine::Shared;
use super::executable::{Loaded, PjrtExecutable};
use super::exit::Working;
use super::{mlir, proto, serialize};
use crate::program::Source;
use crate::{Error, Result};

/// Options of XLA's compiler, in the form of a serialized `xla.CompileOptionsProto`.
///
/// The runtime compiles every program for one device, so options that ask for several replicas or partitions, or that
/// assign devices, are refused.
///
/// On CPU the runtime turns `xla_cpu_enable_fast_min_max` off, with which XLA loses NaN in maxima and minima, unless the
/// options turn it on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CompileOptions {
    encoded: Vec<u8>,
}

impl CompileOptions {
    /// The options in a serialized `xla.CompileOptionsProto`, of any version of XLA: what the runtime does not know is
    /// passed on to the plugin.
    ///
    /// An error if the bytes are no such message, or ask for more than one device.
    pub fn from_proto(bytes: impl Into<Vec<u8>>) -> Result<CompileOptions> {
        let encoded = bytes.into();
        let wrong = |expected: &str, got: String| Error::Option {
            option: "compile options",
            expected: expected.to_owned(),
            got,
        };
        let options = proto::CompileOptions::decode(&*encoded).map_err(|e| {
            wrong("a serialized xla.CompileOptionsProto", format!("bytes that are none: {e}"))
        })?;
        let build = options.executable_build_options.unwrap_or_default();
        if build.num_replicas > 1 || build.num_partitions > 1 {
            let got = format!("{} replicas and {} partitions", build.num_replicas, build.num_partitions);
            return Err(wrong("one replica and one partition", got));
        }
        if build.device_assignment.is_some() {
            return Err(wrong(
                "no device assignment (the device is chosen where the program is compiled)",
                "one".into(),
            ));
        }
        Ok(CompileOptions { encoded })
    }

    /// The message.
    #[cfg(feature = "store")]
    pub(crate) fn encoded(&self) -> &[u8] {
        &self.encoded
    }
}

/// Compiles a program for a device of the client.
pub(super) fn compile(
    shared: &'static Shared,
    source: &Source,
    device: usize,
    options: Option<&CompileOptions>,
) -> Result<PjrtExecutable> {
    let _working = Working::begin();
    let text = text_of(source);
    let text = text.as_deref();
    if let Some(ty) = text.and_then(mlir::impossible_type) {
        return Err(Error::InvalidProgram { reason: format!("no array has the type tensor<{ty}>") });
    }
    if let Some(attributes) = text.and_then(mlir::index_attributes) {
        return Err(Error::InvalidProgram {
            reason: format!(
                "no handler can be given a number of the type `index`, as in {{{attributes}}}; make it `i64`"
            ),
        });
    }
    let (code, format): (&[u8], &CStr) = match source {
        Source::StableHlo(text) => (text.as_bytes(), c"mlir"),
        Source::Bytecode(bytes) => (bytes, c"mlir"),
        Source::Hlo(bytes) => (bytes, c"hlo"),
        Source::Host { .. } => {
            return Err(Error::InvalidProgram {
                reason: format!(
                    "it is a function on the host, which only the host engine runs, not {}",
                    shared.plugin.description()
                ),
            });
        }
    };
    let loaded = match options {
        None => load(shared, (code, format), &shared.compile_options[device])?,
        // Serialized messages behind each other are one message in which later fields win, so the defaults go first and
        // the device goes last. It may be there once: its lists would grow.
        Some(options) => {
            let defaults = proto::default_options(&shared.platform);
            let device = proto::compile_options(Some(shared.devices[device].id));
            load(shared, (code, format), &[&*defaults, &*options.encoded, &*device].concat())?
        }
    };
    finish(shared, loaded, source, device, options.is_some())
}

/// A program that was compiled from this source, and serialized, in this process or in another one.
///
/// # Safety
///
/// The bytes are unchanged, and what [`super::serialize::serialize`] gave for an executable that the same plugin compiled
/// for such a device on such a machine, from this source and with these options.
pub(super) unsafe fn load_compiled(
    shared: &'static Shared,
    bytes: &[u8],
    source: &Source,
    device: usize,
    options: Option<&CompileOptions>,
) -> Result<PjrtExecutable> {
    let _working = Working::begin();
    // SAFETY: by the caller's promise.
    let loaded = unsafe { serialize::deserialize(shared, bytes)? };
    let mut executable = finish(shared, loaded, source, device, options.is_some())?;
    executable.set_loaded_from(bytes);
    Ok(executable)
}

/// Finds out what was compiled.
fn finish(
    shared: &'static Shared,
    loaded: Arc<Loaded>,
    source: &Source,
    device: usize,
    with_options: bool,
) -> Result<PjrtExecutable> {
    let executable = Owned::of(shared.plugin, loaded.ptr())?;
    let about = describe::describe(&executable, source, with_options)?;
    let custom_calls = text_of(source).is_none_or(|text| may_have_custom_calls(&text));
    Ok(PjrtExecutable::new(shared, loaded, device, about, custom_calls))
}

/// The text of a program that the compiler takes for one, whatever it is called here.
fn text_of(source: &Source) -> Option<Cow<'_, str>> {
    match source {
        Source::StableHlo(text) => Some(Cow::Borrowed(&**text)),
        Source::Bytecode(bytes) if !bytes.starts_with(MAGIC) => Some(String::from_utf8_lossy(bytes)),
        _ => None,
    }
}

/// What MLIR's bytecode begins with.
const MAGIC: &[u8] = b"ML\xefR";

/// Whether a program may have custom calls, which a text says by their name. That may be written with escaped signs, and a
/// program that is no text may say it in any way.
///
/// One that is wrongly taken for a program without calls crashes if a handler reads data of the execution.
fn may_have_custom_calls(text: &str) -> bool {
    text.contains("custom_call") || text.contains('\\')
}

fn load(shared: &'static Shared, (code, format): (&[u8], &CStr), options: &[u8]) -> Result<Arc<Loaded>> {
    let plugin = shared.plugin;
    // MLIR's parser looks at the byte behind a text that ends in a word, and takes it for the NUL of a C++ string.
    let ended = [code, b"\0"].concat();
    let mut program: Roomy<PJRT_Program> = Roomy::new(plugin);
    program.args.code = ended.as_ptr().cast_mut().cast();
    program.args.code_size = code.len();
    program.args.format = format.as_ptr();
    program.args.format_size = format.count_bytes();
    // SAFETY: code, format and options live during the call, which does not write to them.
    let made = unsafe {
        call!(
            plugin,
            PJRT_Client_Compile {
                client: shared.client.as_ptr(),
                program: &raw const program.args,
                compile_options: options.as_ptr().cast(),
                compile_options_size: options.len(),
            }
        )
    }
    .map_err(|error| shared.compile_error(error))?;
    let loaded = NonNull::new(made.executable)
        .ok_or_else(|| plugin.broken("PJRT_Client_Compile gave no executable"))?;
    Ok(Arc::new(Loaded::new(shared, loaded)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_has_no_custom_calls_only_if_it_cannot_name_one() {
        assert!(!may_have_custom_calls("%0 = stablehlo.add %a, %b : tensor<f32>"));
        assert!(may_have_custom_calls("%0 = stablehlo.custom_call @f(%a)"));
        assert!(may_have_custom_calls("%0 = \"stablehlo.custom\\5Fcall\"(%a)"));
        assert!(may_have_custom_calls("%0 = \"stablehlo.\\63ustom_cal\\6C\"(%a)"));
    }
}
