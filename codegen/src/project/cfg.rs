//! What the generator knows of `#[cfg(...)]` conditions.
//!
//! The files for R are the same on every machine, so only conditions that the package itself decides are decided here:
//! its features, which are the default ones, for R builds the crate with those, and those of tests and documentation,
//! which hold in no package. Conditions on the target, and all others, stay open.

use std::collections::BTreeSet;

use proc_macro2::TokenStream;
use syn::parse::Parser;
use syn::punctuated::Punctuated;
use syn::{Attribute, Expr, ExprLit, Lit, Meta, Token};

/// Whether a condition holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Holds {
    Yes,
    No,
    /// It depends on the machine that the package is built on.
    Open,
}

/// Conditions that hold only where Rust code is tested or documented.
const NEVER: [&str; 4] = ["test", "doctest", "doc", "miri"];

/// Whether all conditions among some attributes hold.
pub(crate) fn holds(attributes: &[Attribute], features: &BTreeSet<String>) -> Holds {
    let conditions = attributes.iter().filter(|attribute| attribute.path().is_ident("cfg"));
    all(conditions.map(|condition| match &condition.meta {
        Meta::List(list) => tokens(list.tokens.clone(), features),
        // The compiler complains.
        _ => Holds::Open,
    }))
}

/// Whether the condition in the parentheses of a `cfg` holds.
pub(crate) fn tokens(condition: TokenStream, features: &BTreeSet<String>) -> Holds {
    match condition.to_string().as_str() {
        "true" => return Holds::Yes,
        "false" => return Holds::No,
        _ => {}
    }
    syn::parse2::<Meta>(condition).map_or(Holds::Open, |meta| predicate(&meta, features))
}

fn predicate(meta: &Meta, features: &BTreeSet<String>) -> Holds {
    match meta {
        Meta::Path(path) if NEVER.iter().any(|name| path.is_ident(name)) => Holds::No,
        Meta::NameValue(pair) if pair.path.is_ident("feature") => match &pair.value {
            Expr::Lit(ExprLit { lit: Lit::Str(feature), .. }) if features.contains(&feature.value()) => {
                Holds::Yes
            }
            _ => Holds::No,
        },
        Meta::List(list) => {
            let Some(word) = list.path.get_ident() else { return Holds::Open };
            let parts = Punctuated::<TokenStreamUntilComma, Token![,]>::parse_terminated
                .parse2(list.tokens.clone())
                .unwrap_or_default();
            let parts = parts.into_iter().map(|part| tokens(part.0, features));
            match word.to_string().as_str() {
                "all" => all(parts),
                "any" => not(all(parts.map(not))),
                "not" => not(all(parts)),
                _ => Holds::Open,
            }
        }
        _ => Holds::Open,
    }
}

/// The tokens of one part of a list; `true` is none of syn's `Meta`.
struct TokenStreamUntilComma(TokenStream);

impl syn::parse::Parse for TokenStreamUntilComma {
    fn parse(input: syn::parse::ParseStream<'_>) -> syn::Result<Self> {
        let mut out = TokenStream::new();
        while !input.is_empty() && !input.peek(Token![,]) {
            out.extend([input.parse::<proc_macro2::TokenTree>()?]);
        }
        Ok(TokenStreamUntilComma(out))
    }
}

fn all(parts: impl Iterator<Item = Holds>) -> Holds {
    parts.fold(Holds::Yes, |so_far, part| match (so_far, part) {
        (Holds::No, _) | (_, Holds::No) => Holds::No,
        (Holds::Open, _) | (_, Holds::Open) => Holds::Open,
        _ => Holds::Yes,
    })
}

fn not(holds: Holds) -> Holds {
    match holds {
        Holds::Yes => Holds::No,
        Holds::No => Holds::Yes,
        Holds::Open => Holds::Open,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_are_decided_and_targets_are_not() {
        let features = BTreeSet::from(["fast".to_owned()]);
        for (condition, want) in [
            ("feature = \"fast\"", Holds::Yes),
            ("feature = \"slow\"", Holds::No),
            ("test", Holds::No),
            ("not(test)", Holds::Yes),
            ("true", Holds::Yes),
            ("not(false)", Holds::Yes),
            ("unix", Holds::Open),
            ("not(target_os = \"linux\")", Holds::Open),
            ("all(unix, test)", Holds::No),
            ("all(unix, feature = \"fast\")", Holds::Open),
            ("any(unix, feature = \"fast\")", Holds::Yes),
            ("any(unix, test)", Holds::Open),
            ("any()", Holds::No),
            ("all()", Holds::Yes),
            ("all(not(test), true)", Holds::Yes),
        ] {
            assert_eq!(tokens(condition.parse().unwrap(), &features), want, "{condition}");
        }
    }
}
