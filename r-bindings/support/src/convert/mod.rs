//! Objects of R of any class as arguments, and results back into them.
//!
//! The registry of converters for objects of R is one of the process: it is in `pjrtdispatch`, and other packages reach it by
//! the table of functions ([`shared`](crate::shared)). A converter is registered by the rules of the runtime's
//! [`Registry`](dispatch_runtime::convert::Registry); what it is made of here is R functions, or a function of a package in Rust.
//!
//! | file | what is in it |
//! |---|---|
//! | `registry.rs` | the registry, its scopes, and what stands in it |
//! | `reach.rs` | the calls that a converter is for, and the package whose code calls |
//! | `object.rs` | an object as the registry asks about it: its classes, S4 ones too, and predicates |
//! | `chosen.rs` | the converters that were chosen last, for the same classes again |
//! | `call.rs` | `convert`: choose, call, check, count; `convert_out` for the way back |
//! | `functions.rs` | calling the R functions, so that their errors name converter and argument |
//! | `native.rs` | converters that are functions of this package in Rust |
//! | `foreign.rs` | functions of a package in Rust or C, as the registry has and calls them |
//! | `border.rs` | the same for other packages |
//!
//! Whoever takes arrays calls `convert` only for what it does not know, and then goes on with what came as if that had been
//! passed: an R vector or array, a buffer, or an `AnvlArray`. So nothing is added to a call whose arguments are known, and the key
//! of a call is made of what was converted, each time.

mod border;
mod call;
mod chosen;
mod foreign;
mod functions;
mod native;
mod object;
mod reach;
mod registry;

pub(crate) use border::{convert_by, convert_out_by, no_converter_by, same_memory_by};
pub(crate) use call::{Converted, Given, Purpose, convert, convert_for, convert_out, none_for};
pub(crate) use foreign::{register_by, remove_by};
pub use functions::{running_path, set_handler};
pub use native::Native;
pub(crate) use native::forget_natives;
pub use reach::{Reach, set_finder};
pub(crate) use registry::Scope;
pub use registry::{
    Registration, about, about_all, begin_scope, end_scope, register, remove, remove_all_of, set_active,
    set_copy,
};

use dispatch_runtime::convert::CopyPolicy;

use crate::arg::Arg;
use crate::fault::{Fault, Result};

/// A copy policy by its name.
pub fn policy(x: Arg<'_>) -> Result<CopyPolicy> {
    let expected = "one of \"never\", \"if_needed\" and \"always\"";
    match x.string().map_err(|_| x.expected(expected))?.as_str() {
        "never" => Ok(CopyPolicy::Never),
        "if_needed" => Ok(CopyPolicy::IfNeeded),
        "always" => Ok(CopyPolicy::Always),
        other => Err(Fault::argument("value", x.name(), expected, format!("\"{other}\""))),
    }
}

/// The name of a copy policy.
pub fn policy_name(policy: CopyPolicy) -> &'static str {
    match policy {
        CopyPolicy::Never => "never",
        CopyPolicy::IfNeeded => "if_needed",
        CopyPolicy::Always => "always",
    }
}
