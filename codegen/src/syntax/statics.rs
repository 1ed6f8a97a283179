//! `#[static_arg]` and `#[static_arg(default = expr)]`.

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use quote::ToTokens;
use syn::{Attribute, Expr, Type};

use super::errors::Errors;
use super::messages;
use super::option_list::{self, Owner};
use super::text::text;
use super::types;
use super::words;

const EXAMPLE: &str = "#[static_arg(default = false)]";

/// Reads the options of one `#[static_arg(...)]`: the default.
pub(crate) fn read(errors: &mut Errors, attribute: &Attribute) -> Option<Expr> {
    let tokens = errors.keep(option_list::attribute_tokens(attribute, EXAMPLE))?;
    let owner = Owner {
        attribute: "#[static_arg(...)]",
        options: &words::STATIC_ARG,
        aliases: &words::OPTION_ALIASES,
    };
    let mut default = None;
    option_list::read(errors, tokens, &owner, &mut |_, word, input| {
        option_list::equals(word, input, "default = false")?;
        default = Some(input.parse()?);
        Ok(())
    });
    default
}

/// Checks that the type of a static argument can live in a key.
pub(crate) fn check(errors: &mut Errors, ty: &Type) {
    if types::held_of(ty, &["Aval", "Array"]).is_some() {
        // `#[static_arg] a: Aval` is wrong: only the description of an array is known before it runs. Of a `Value` other
        // crates have their own.
        errors.on(ty, messages::static_array(text(ty)));
    } else if borrows(ty.to_token_stream()) {
        // `#[static_arg] name: &str` is wrong: the key outlives the call.
        errors.on(ty, messages::static_borrowed(text(ty)));
    } else if types::mentions(ty, &["_", "impl", "Self"]) {
        // `#[static_arg] f: impl Fn()` is wrong: the key is a struct with a field of this type.
        errors.on(ty, messages::static_inferred(text(ty)));
    }
}

/// Whether a type has a reference or a lifetime other than `'static`.
fn borrows(tokens: TokenStream) -> bool {
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        let found = match token {
            TokenTree::Punct(punct) if punct.as_char() == '&' => {
                !matches!(tokens.peek(), Some(TokenTree::Punct(next)) if next.as_char() == '\'')
            }
            TokenTree::Punct(punct) if punct.as_char() == '\'' => {
                !matches!(tokens.peek(), Some(TokenTree::Ident(name)) if name == "static")
            }
            TokenTree::Group(group) if group.delimiter() != Delimiter::Brace => borrows(group.stream()),
            _ => false,
        };
        if found {
            return true;
        }
    }
    false
}
