//! Options of a plugin's client.

use std::ffi::c_int;

use super::abi::{self, PJRT_NamedValue, PJRT_NamedValue_Value, Struct, named_value};
use super::call::{slice, string};
use crate::{Error, Result};

/// Far more CPU devices than are of use; each takes threads and memory.
const MOST_DEVICES: i64 = 1024;

/// Options for the client of a plugin, such as `cpu_device_count` of the CPU plugins. What a plugin knows is its own
/// business: an unknown name is its error, or it ignores it.
///
/// ```no_run
/// use dispatch_runtime::engine::pjrt::ClientOptions;
/// use dispatch_runtime::Client;
///
/// let options = ClientOptions::new().set("cpu_device_count", 2i64);
/// let client = Client::for_platform("cpu", &options)?;
/// assert_eq!(client.devices().len(), 2);
/// # Ok::<(), dispatch_runtime::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClientOptions {
    values: Vec<(String, OptionValue)>,
}

/// The value of a client option: text, an `i64`, an `f32`, a `bool` or a list of `i64`.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum OptionValue {
    /// Text.
    Text(String),
    /// An integer.
    Int(i64),
    /// A list of integers.
    Ints(Vec<i64>),
    /// A float.
    Float(f32),
    /// A truth value.
    Bool(bool),
}

impl std::fmt::Display for OptionValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            OptionValue::Text(text) => write!(f, "{text:?}"),
            OptionValue::Int(value) => value.fmt(f),
            OptionValue::Ints(values) => write!(f, "{values:?}"),
            OptionValue::Float(value) => value.fmt(f),
            OptionValue::Bool(value) => value.fmt(f),
        }
    }
}

impl OptionValue {
    /// A value that a plugin gave; none if its type is not known.
    ///
    /// # Safety
    ///
    /// The value is filled in as its type says.
    pub(super) unsafe fn read(value: &PJRT_NamedValue) -> Option<OptionValue> {
        // SAFETY: by the caller's promise.
        unsafe {
            Some(match value.r#type {
                named_value::STRING => OptionValue::Text(string(value.value.string_value, value.value_size)),
                named_value::INT64 => OptionValue::Int(value.value.int64_value),
                named_value::INT64_LIST => {
                    OptionValue::Ints(slice(value.value.int64_array_value, value.value_size).to_vec())
                }
                named_value::FLOAT => OptionValue::Float(value.value.float_value),
                named_value::BOOL => OptionValue::Bool(value.value.bool_value),
                _ => return None,
            })
        }
    }
}

impl ClientOptions {
    /// No options.
    pub fn new() -> ClientOptions {
        ClientOptions::default()
    }

    /// Sets an option; a later value of the same name replaces an earlier one.
    pub fn set(mut self, name: impl Into<String>, value: impl Into<OptionValue>) -> ClientOptions {
        let (name, value) = (name.into(), value.into());
        self.values.retain(|(known, _)| *known != name);
        self.values.push((name, value));
        self
    }

    /// Whether an option is set.
    pub fn has(&self, name: &str) -> bool {
        self.values.iter().any(|(known, _)| known == name)
    }

    /// Whether all options that `others` sets are set here, to the same values.
    ///
    /// ```
    /// use dispatch_runtime::engine::pjrt::ClientOptions;
    ///
    /// let options = ClientOptions::new().set("cpu_device_count", 2i64);
    /// assert!(options.include(&ClientOptions::new()));
    /// assert!(!options.include(&ClientOptions::new().set("cpu_device_count", 4i64)));
    /// ```
    pub fn include(&self, others: &ClientOptions) -> bool {
        others.values.iter().all(|option| self.values.contains(option))
    }

    /// Whether no option is set.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Refuses values by which the CPU plugins are known to end the process: they throw where they should return an
    /// error.
    pub(super) fn check(&self) -> Result<()> {
        match self.values.iter().find(|(name, _)| name == "cpu_device_count") {
            None => Ok(()),
            Some((_, OptionValue::Int(count))) if (1..=MOST_DEVICES).contains(count) => Ok(()),
            Some((_, other)) => Err(Error::Option {
                option: "cpu_device_count",
                expected: format!("an integer from 1 to {MOST_DEVICES}"),
                got: other.to_string(),
            }),
        }
    }

    /// The options in the form of the C API; they borrow from `self`.
    pub(super) fn named_values(&self, size: usize) -> Vec<PJRT_NamedValue> {
        self.values.iter().map(|(name, value)| named(size, name, value)).collect()
    }
}

fn named(size: usize, name: &str, value: &OptionValue) -> PJRT_NamedValue {
    let (kind, value, value_size): (c_int, _, _) = match value {
        OptionValue::Text(text) => {
            (named_value::STRING, PJRT_NamedValue_Value { string_value: text.as_ptr().cast() }, text.len())
        }
        OptionValue::Int(value) => (named_value::INT64, PJRT_NamedValue_Value { int64_value: *value }, 1),
        OptionValue::Ints(values) => (
            named_value::INT64_LIST,
            PJRT_NamedValue_Value { int64_array_value: values.as_ptr() },
            values.len(),
        ),
        OptionValue::Float(value) => (named_value::FLOAT, PJRT_NamedValue_Value { float_value: *value }, 1),
        OptionValue::Bool(value) => (named_value::BOOL, PJRT_NamedValue_Value { bool_value: *value }, 1),
    };
    PJRT_NamedValue {
        struct_size: size,
        name: name.as_ptr().cast(),
        name_size: name.len(),
        r#type: kind,
        value,
        value_size,
        ..abi::PJRT_NamedValue::zeroed()
    }
}

macro_rules! from {
    ($($type:ty => $variant:ident;)*) => {
        $(impl From<$type> for OptionValue {
            fn from(value: $type) -> OptionValue {
                OptionValue::$variant(value.into())
            }
        })*
    };
}

from! {
    &str => Text;
    String => Text;
    i64 => Int;
    i32 => Int;
    u32 => Int;
    Vec<i64> => Ints;
    &[i64] => Ints;
    f32 => Float;
    bool => Bool;
}
