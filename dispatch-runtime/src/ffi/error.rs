//! The error of a handler.

use std::fmt;
use std::ptr;

use super::abi;
use super::api::Api;

/// A result whose error is [`Error`] unless another is named.
pub type Result<T, E = Error> = std::result::Result<T, E>;

macro_rules! codes {
    ($($variant:ident = $code:literal, $constructor:ident, $name:literal, $about:literal;)*) => {
        /// What kind of error a handler reports. The codes are those of absl, and of PJRT.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(i32)]
        pub enum ErrorCode {
            $(#[doc = $about] $variant = $code,)*
        }

        impl ErrorCode {
            /// Every code.
            pub const ALL: &'static [ErrorCode] = &[$(ErrorCode::$variant,)*];

            /// The name that PJRT shows: `INVALID_ARGUMENT`.
            pub const fn name(self) -> &'static str {
                match self { $(ErrorCode::$variant => $name,)* }
            }
        }

        impl Error {
            $(
                #[doc = concat!("An error of the code `", $name, "`: ", $about)]
                pub fn $constructor(message: impl Into<String>) -> Error {
                    Error::new(ErrorCode::$variant, message)
                }
            )*
        }
    };
}

codes! {
    Cancelled = 1, cancelled, "CANCELLED", "the operation was cancelled.";
    Unknown = 2, unknown, "UNKNOWN", "nothing more is known.";
    InvalidArgument = 3, invalid_argument, "INVALID_ARGUMENT", "an argument or attribute is wrong.";
    DeadlineExceeded = 4, deadline_exceeded, "DEADLINE_EXCEEDED", "it took too long.";
    NotFound = 5, not_found, "NOT_FOUND", "something asked for is not there.";
    AlreadyExists = 6, already_exists, "ALREADY_EXISTS", "something to be made is there already.";
    PermissionDenied = 7, permission_denied, "PERMISSION_DENIED", "the caller may not do this.";
    ResourceExhausted = 8, resource_exhausted, "RESOURCE_EXHAUSTED", "no memory, or another resource, is left.";
    FailedPrecondition = 9, failed_precondition, "FAILED_PRECONDITION", "the state does not allow this.";
    Aborted = 10, aborted, "ABORTED", "the operation was given up.";
    OutOfRange = 11, out_of_range, "OUT_OF_RANGE", "past the end of what is valid.";
    Unimplemented = 12, unimplemented, "UNIMPLEMENTED", "not there on this platform or in this version.";
    Internal = 13, internal, "INTERNAL", "a fault of the handler.";
    Unavailable = 14, unavailable, "UNAVAILABLE", "not now, perhaps later.";
    DataLoss = 15, data_loss, "DATA_LOSS", "data are lost or damaged.";
    Unauthenticated = 16, unauthenticated, "UNAUTHENTICATED", "the caller is not known.";
}

/// The error of a handler: a code and a text, which arrive at whoever runs the program.
///
/// `?` makes one of any other error, with the code [`ErrorCode::Internal`] and the text of the error and of its sources.
/// Therefore this type itself does not implement [`std::error::Error`].
///
/// ```
/// use dispatch_runtime::ffi;
///
/// fn parse(text: &str) -> ffi::Result<i64> {
///     if text.is_empty() {
///         return Err(ffi::Error::invalid_argument("`text` is empty"));
///     }
///     Ok(text.parse()?)
/// }
/// let error = parse("x").unwrap_err();
/// assert_eq!(error.code(), ffi::ErrorCode::Internal);
/// assert_eq!(error.message(), "invalid digit found in string");
/// ```
#[derive(Clone)]
pub struct Error(Box<Inner>); // one word, so that a call that succeeds moves no more than that

#[derive(Clone)]
struct Inner {
    code: ErrorCode,
    message: String,
}

impl Error {
    /// An error of this code and text.
    #[cold]
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Error {
        Error(Box::new(Inner { code, message: message.into() }))
    }

    /// The code.
    pub fn code(&self) -> ErrorCode {
        self.0.code
    }

    /// The text.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The error with words before its text: `context: text`.
    pub fn context(mut self, context: impl fmt::Display) -> Error {
        self.0.message = format!("{context}: {}", self.0.message);
        self
    }

    /// Makes XLA's error of it, null if the API cannot make one.
    ///
    /// # Safety
    ///
    /// `api` is null or points to the API of a plugin, at least as far as its `struct_size` says.
    pub(crate) unsafe fn into_raw(self, api: *const abi::XLA_FFI_Api) -> *mut abi::XLA_FFI_Error {
        // SAFETY: by the contract.
        match unsafe { Api::new(api) } {
            Some(api) => api.error(self.0.code as i32, &self.0.message),
            None => ptr::null_mut(),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.0.code.name(), self.0.message)
    }
}

/// How many sources of an error are told.
const MOST_CAUSES: usize = 64;

impl<E: std::error::Error> From<E> for Error {
    #[cold]
    fn from(error: E) -> Error {
        let mut message = error.to_string();
        let mut source = error.source();
        // Nothing keeps an error from being its own source.
        for _ in 0..MOST_CAUSES {
            let Some(cause) = source else { break };
            // Some errors repeat the text of their source in their own.
            let text = cause.to_string();
            if !message.contains(&text) {
                message = format!("{message}: {text}");
            }
            source = cause.source();
        }
        Error::internal(message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Itself(std::cell::Cell<usize>);

    impl fmt::Display for Itself {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            self.0.set(self.0.get() + 1);
            write!(f, "round {}", self.0.get())
        }
    }

    impl std::error::Error for Itself {
        fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
            // SAFETY: the error outlives the look at its sources; a `static` would do as well, but not count.
            Some(unsafe { &*std::ptr::from_ref(self) })
        }
    }

    #[test]
    fn an_error_that_is_its_own_source_ends() {
        let error = Error::from(Itself(Default::default()));
        assert!(error.message().starts_with("round 1: round 2: ") && error.message().ends_with(": round 65"));
    }
}
