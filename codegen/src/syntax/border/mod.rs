//! The rules of families that are functions of R (`r_export`), as far as a declaration alone can break them.
//!
//! What only the whole package can say (which type an enum is, two functions of one name) is checked by `project`.

mod default;
mod types;
mod value;

use proc_macro2::Ident;
use syn::Signature;
use syn::ext::IdentExt;

use super::errors::Errors;
use super::messages;
use super::model::Options;
use super::params::RawParams;
use super::raw::{RawParam, RawStatic};
use super::words;

pub use types::RType;
pub use value::{RKind, RValue};

/// How a static argument of an exported family looks in R.
#[derive(Clone, Debug)]
pub struct RStatic {
    /// The values of R that it takes.
    pub ty: RType,
    /// The default, as a value of R.
    pub default: Option<RValue>,
}

/// The most arguments that R's `.Call` passes.
const MOST_ARGUMENTS: usize = 65;

/// Checks the names and the number of the arguments; nothing if the family stays in Rust.
pub(crate) fn check(errors: &mut Errors, signature: &Signature, options: &Options, raw: &RawParams) {
    if !options.r_export {
        return;
    }
    if options.r_name.is_none() {
        function_name(errors, &signature.ident);
    }
    for param in &raw.params {
        argument_name(errors, param.name());
    }
    if let Some(first) = raw.params.get(MOST_ARGUMENTS) {
        // A family of 66 arguments is wrong: R cannot pass them.
        errors.on(first.name(), messages::r_too_many(raw.params.len(), MOST_ARGUMENTS));
    }
}

/// A function of R has a name of R: `fn r#if(...)`, `fn _f(...)` and `fn größe(...)` need `r_name`.
fn function_name(errors: &mut Errors, name: &Ident) {
    let unraw = name.unraw().to_string();
    if let Some(why) = name_fault(&unraw).or_else(|| function_fault(&unraw)) {
        errors.on(name, messages::r_function_name(unraw, why));
    }
}

/// So is an argument: `next: Aval`, `TRUE: Aval` and `_x: Aval` are wrong.
fn argument_name(errors: &mut Errors, name: &Ident) {
    let unraw = name.unraw().to_string();
    // One that begins with `__` has its error, and a pattern too.
    if unraw.starts_with("__") || unraw == "_" {
        return;
    }
    if let Some(why) = name_fault(&unraw) {
        errors.on(name, messages::r_argument_name(unraw, why));
    }
}

/// Why a name is none of R's.
pub(crate) fn name_fault(name: &str) -> Option<&'static str> {
    let begins_well = match name.as_bytes() {
        [] => return Some("it is empty"),
        [b'.', second, ..] => !second.is_ascii_digit(),
        [first, ..] => first.is_ascii_alphabetic(),
    };
    let dots =
        name.strip_prefix("..").is_some_and(|rest| rest.chars().all(|c| c.is_ascii_digit() || c == '.'));
    if words::R_RESERVED.contains(&name) || dots {
        Some("the word is reserved")
    } else if !begins_well {
        Some("it does not begin with a letter")
    } else if name.chars().any(|c| !c.is_ascii_alphanumeric() && c != '.' && c != '_') {
        Some("it has other characters than letters, digits, `.` and `_`")
    } else {
        None
    }
}

/// Why a name cannot be that of a generated function.
pub(crate) fn function_fault(name: &str) -> Option<&'static str> {
    words::R_GENERATED.contains(&name).then_some("the generated code needs the name for itself")
}

/// How a static argument looks in R, with the errors of one that has no values there or a default that R cannot
/// write; none if the family stays in Rust.
pub(crate) fn static_arg(errors: &mut Errors, raw: &RawStatic, options: &Options) -> Option<RStatic> {
    if !options.r_export {
        return None;
    }
    let ty = errors.keep(types::read(&raw.ty))?;
    let default = match &raw.default {
        Some(default) => Some(errors.keep(default::read(default, &ty))?),
        None => None,
    };
    Some(RStatic { ty, default })
}

/// The statics of a declaration, in order, with a place for each argument.
pub(crate) fn statics(errors: &mut Errors, params: &[RawParam], options: &Options) -> Vec<Option<RStatic>> {
    let read = |param: &RawParam| match param {
        RawParam::Static(raw) if !raw.bad => static_arg(errors, raw, options),
        _ => None,
    };
    params.iter().map(read).collect()
}

/// The string that a variant of a static enum is in R: `LogLog` is `"log_log"`.
pub(crate) fn variant_name(variant: &Ident) -> String {
    let name: Vec<char> = variant.unraw().to_string().chars().collect();
    let mut out = String::new();
    for (i, letter) in name.iter().enumerate() {
        let before = i.checked_sub(1).map(|i| name[i]);
        let word_begins = letter.is_uppercase()
            && before.is_some_and(|before| {
                before != '_'
                    && (!before.is_uppercase() || name.get(i + 1).is_some_and(|next| next.is_lowercase()))
            });
        if word_begins {
            out.push('_');
        }
        out.extend(letter.to_lowercase());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proc_macro2::Span;

    #[test]
    fn variants_are_strings_in_snake_case() {
        for (variant, want) in [
            ("Logit", "logit"),
            ("LogLog", "log_log"),
            ("L2", "l2"),
            ("IRLSFit", "irls_fit"),
            ("A", "a"),
            ("Probit_2", "probit_2"),
            ("X_Y", "x_y"),
        ] {
            assert_eq!(variant_name(&Ident::new(variant, Span::call_site())), want);
        }
    }
}
