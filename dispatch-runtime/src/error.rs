//! The one error type of the runtime.

use std::sync::Arc;

/// What can go wrong, with a stable [code](Error::code) per variant.
///
/// Errors are cheap to clone: a compile that fails reports the same error to every thread that waited for it.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An argument has a dtype that the signature does not allow.
    #[error("argument `{argument}`: expected dtype {expected}, got {got}")]
    DType {
        /// The argument's path, `b` or `params$w[[2]]`.
        argument: String,
        /// What the signature allows.
        expected: String,
        /// What came.
        got: String,
    },
    /// An argument has a rank or size that the signature does not allow.
    #[error("argument `{argument}`: expected shape {expected}, got {got}")]
    Shape {
        /// The argument's path.
        argument: String,
        /// What the signature allows, with the sizes that other arguments have fixed.
        expected: String,
        /// What came.
        got: String,
    },
    /// An argument whose elements lie otherwise than a slot says: with other strides, or another offset.
    #[error("argument `{argument}`: expected {expected}, got {got}")]
    Layout {
        /// The argument's path.
        argument: String,
        /// Where the elements should lie: `row-major data`, `strides [1,2] from offset 3`.
        expected: String,
        /// Where they lie.
        got: String,
    },
    /// A host value that the argument's dtype cannot hold.
    #[error("argument `{argument}`: expected {expected}, got {got}")]
    Value {
        /// The argument's path.
        argument: String,
        /// What the dtype can hold.
        expected: String,
        /// The value, and where it stands.
        got: String,
    },
    /// An argument lives on another device than the call.
    #[error("argument `{argument}`: expected an array on {expected}, got one on {got}")]
    Device {
        /// The argument's path.
        argument: String,
        /// The device of the call.
        expected: String,
        /// The argument's device.
        got: String,
    },
    /// An argument belongs to another client.
    #[error("argument `{argument}`: expected {expected}, got {got}")]
    Client {
        /// The argument's path.
        argument: String,
        /// What it must be: an array of the client of the call.
        expected: String,
        /// What it is: one of another client.
        got: String,
    },
    /// An array that was given away by donation, or is passed twice in the call that donates it.
    #[error("argument `{argument}`: {reason}")]
    Donated {
        /// The argument's path.
        argument: String,
        /// What happened to it.
        reason: String,
    },
    /// An object that no converter is for, or more than one; or what a converter gave is wrong, or it failed.
    #[error("argument `{argument}`: {reason}")]
    Converter {
        /// The argument's path.
        argument: String,
        /// What is wrong, with the converter's description.
        reason: String,
    },
    /// Too few or too many arguments.
    #[error("{callee} takes {}, got {got}{detail}", counted(*expected, "argument"))]
    ArgumentCount {
        /// What was called.
        callee: String,
        /// How many it takes.
        expected: usize,
        /// How many came.
        got: usize,
        /// The first missing argument, or nothing.
        detail: String,
    },
    /// A compiled program takes or gives something else than its family declares.
    #[error("the program of {family} {expected}, {got}")]
    Program {
        /// The family, or the executable.
        family: String,
        /// What was declared.
        expected: String,
        /// What the compiled program has.
        got: String,
    },
    /// The text or bytes of a program cannot be used.
    #[error("invalid program: {reason}")]
    InvalidProgram {
        /// Why not.
        reason: String,
    },
    /// An operation of a program's graph is wrong.
    #[error("`{operation}`: {reason}, at {at}")]
    Graph {
        /// The operation with its operands: `add(x: f32[2,3], f32[4])`.
        operation: String,
        /// What is wrong.
        reason: String,
        /// File, line and column of the operation.
        at: String,
    },
    /// The body of a family returned an error.
    #[error("the body of family `{family}` failed: {source}")]
    Body {
        /// The family.
        family: String,
        /// What the body returned.
        source: Arc<dyn std::error::Error + Send + Sync>,
    },
    /// The body of a family, or a program on the host, panicked.
    #[error("{callee} panicked: {message}")]
    Panic {
        /// What panicked.
        callee: String,
        /// The text of the panic.
        message: String,
    },
    /// A body that, while it compiles a key, dispatches the same key: it would wait for itself.
    #[error("{family} is asked for the program that it is compiling at this moment: {key}")]
    Recursive {
        /// Whose it is: ``family `add` ``.
        family: String,
        /// The key, part by part.
        key: String,
    },
    /// Whoever waited for a compile left. It goes on, and a later call may find its result.
    #[error("the wait for a compile was interrupted")]
    Interrupted,
    /// A PJRT function returned an error.
    #[error("{function} failed ({status}): {message}")]
    Pjrt {
        /// The C API function.
        function: &'static str,
        /// The status code of PJRT, by name: `INVALID_ARGUMENT`.
        status: &'static str,
        /// PJRT's own message.
        message: String,
    },
    /// A program calls a target that no FFI handler is registered for.
    #[error(
        "the program calls `{target}`, but no FFI handler of that name is registered for platform {platform}; {}",
        registered_text(registered)
    )]
    FfiTarget {
        /// The target name in the program.
        target: String,
        /// The platform, in the words of XLA: `Host`.
        platform: String,
        /// The names that are registered for it.
        registered: Vec<String>,
    },
    /// An FFI handler cannot be registered.
    #[error("cannot register the FFI handler `{target}` for platform {platform}: {reason}")]
    FfiHandler {
        /// The target name.
        target: String,
        /// The platform, in the words of XLA: `Host`.
        platform: &'static str,
        /// Why not.
        reason: String,
    },
    /// The plugin, or the engine, lacks a function.
    #[error("{what} is not implemented by {by}")]
    Unimplemented {
        /// The missing function.
        what: String,
        /// Who lacks it, with its version.
        by: String,
    },
    /// A plugin cannot be used.
    #[error("cannot use the plugin {path}: {reason}")]
    Plugin {
        /// The file.
        path: String,
        /// Why not.
        reason: String,
    },
    /// No plugin was found.
    #[error("no PJRT plugin found for platform {platform}; looked at:\n{looked}\nget one with: {hint}")]
    PluginNotFound {
        /// The platform, `cpu` or `cuda`.
        platform: String,
        /// Each place looked at and what was there, a line each.
        looked: String,
        /// The command that gets one.
        hint: String,
    },
    /// A family, client or cache was set up with an impossible option.
    #[error("option `{option}`: expected {expected}, got {got}")]
    Option {
        /// The option.
        option: &'static str,
        /// What it takes.
        expected: String,
        /// What came.
        got: String,
    },
    /// A file or a directory cannot be used.
    #[error("`{path}`: {reason}")]
    File {
        /// Its path.
        path: String,
        /// Why.
        reason: String,
    },
    /// A name that is no element type.
    #[error(
        "unknown dtype `{name}`; expected one of bool, i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64, c64, c128"
    )]
    UnknownDType {
        /// The name.
        name: String,
    },
}

impl Error {
    /// A short name of the kind of error that never changes: `"dtype"`, `"shape"`, `"pjrt"`.
    pub fn code(&self) -> &'static str {
        match self {
            Error::DType { .. } => "dtype",
            Error::Shape { .. } => "shape",
            Error::Layout { .. } => "layout",
            Error::Value { .. } => "value",
            Error::Device { .. } => "device",
            Error::Client { .. } => "client",
            Error::Donated { .. } => "donated",
            Error::Converter { .. } => "converter",
            Error::ArgumentCount { .. } => "argument_count",
            Error::Program { .. } => "program",
            Error::InvalidProgram { .. } => "invalid_program",
            Error::Graph { .. } => "graph",
            Error::Body { .. } => "body",
            Error::Panic { .. } => "panic",
            Error::Recursive { .. } => "recursive",
            Error::Interrupted => "interrupted",
            Error::Pjrt { .. } => "pjrt",
            Error::FfiTarget { .. } => "ffi_target",
            Error::FfiHandler { .. } => "ffi_handler",
            Error::Unimplemented { .. } => "unimplemented",
            Error::Plugin { .. } => "plugin",
            Error::PluginNotFound { .. } => "plugin_not_found",
            Error::Option { .. } => "option",
            Error::File { .. } => "file",
            Error::UnknownDType { .. } => "unknown_dtype",
        }
    }

    /// The path of the argument that is wrong, where one is.
    pub fn argument(&self) -> Option<&str> {
        match self {
            Error::DType { argument, .. }
            | Error::Shape { argument, .. }
            | Error::Layout { argument, .. }
            | Error::Value { argument, .. }
            | Error::Device { argument, .. }
            | Error::Client { argument, .. }
            | Error::Donated { argument, .. }
            | Error::Converter { argument, .. } => Some(argument),
            _ => None,
        }
    }

    /// The error with another path of the argument, where one is wrong.
    ///
    /// A method of [`Array`](crate::Array) calls its array `self`; the caller may know it under another name.
    pub fn with_argument(mut self, path: impl Into<String>) -> Error {
        if let Error::DType { argument, .. }
        | Error::Shape { argument, .. }
        | Error::Layout { argument, .. }
        | Error::Value { argument, .. }
        | Error::Device { argument, .. }
        | Error::Client { argument, .. }
        | Error::Donated { argument, .. }
        | Error::Converter { argument, .. } = &mut self
        {
            *argument = path.into();
        }
        self
    }
}

/// A result whose error is [`Error`] unless another is named.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// `1 argument`, `2 arguments`.
pub(crate) fn counted(n: usize, noun: &str) -> String {
    format!("{n} {noun}{}", if n == 1 { "" } else { "s" })
}

/// The end of the message about a target that is not registered.
fn registered_text(registered: &[String]) -> String {
    match registered {
        [] => "none is".into(),
        names => format!("registered are: {}", names.join(", ")),
    }
}
