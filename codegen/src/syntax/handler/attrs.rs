//! `#[attr]` and `#[attr(default = expr, name = "...")]`.

use proc_macro2::Ident;
use syn::ext::IdentExt;
use syn::{Attribute, Expr, LitStr, Type};

use super::super::errors::Errors;
use super::super::option_list::{self, Owner};
use super::super::words;
use super::messages;
use super::model::Attr;
use super::options::string;
use super::types;

const EXAMPLE: &str = "#[attr(default = 1.0)]";

/// Reads one attribute of a call: its options, if there are any, and its type.
pub(super) fn read(
    errors: &mut Errors,
    attribute: Option<&Attribute>,
    name: &Ident,
    ty: &Type,
) -> Option<Attr> {
    let (mut default, mut renamed): (Option<(Ident, Expr)>, Option<LitStr>) = (None, None);
    let before = errors.count();
    let tokens = attribute.map(|attribute| option_list::attribute_tokens(attribute, EXAMPLE));
    if let Some(tokens) = tokens.and_then(|tokens| errors.keep(tokens)) {
        let owner =
            Owner { attribute: "#[attr(...)]", options: &words::ATTR, aliases: &words::ATTR_OPTION_ALIASES };
        option_list::read(errors, tokens, &owner, &mut |_, word, input| {
            if word == "name" {
                option_list::equals(word, input, "name = \"scale\"")?;
                renamed = Some(string(word, input)?);
            } else {
                option_list::equals(word, input, "default = 1.0")?;
                default = Some((word.clone(), input.parse()?));
            }
            Ok(())
        });
    }
    let (ty, optional) = errors.keep(types::attr(ty))?;
    if let Some((word, _)) = &default {
        if optional {
            // `#[attr(default = 1)] n: Option<i64>` is wrong: an absent one is `None` or the default, not both.
            errors.on(word, messages::default_of_optional());
        } else if types::is_dictionary(&ty) {
            // `#[attr(default = x)] d: Dictionary` is wrong: a dictionary is a view of a call.
            errors.on(word, messages::default_of_dictionary());
        }
    }
    let name = renamed.unwrap_or_else(|| LitStr::new(&name.unraw().to_string(), name.span()));
    let default = default.map(|(_, value)| value);
    (errors.count() == before).then_some(Attr { name, ty, optional, default })
}

/// Each attribute has its own name: `#[attr(name = "n")] m: i64, #[attr] n: i64` is wrong, at the second.
pub(super) fn names_differ<'a>(errors: &mut Errors, attrs: impl Iterator<Item = &'a Attr>) {
    let mut seen: Vec<String> = Vec::new();
    for attr in attrs {
        let name = attr.name.value();
        if seen.contains(&name) {
            errors.on(&attr.name, messages::attr_name_twice(&name));
        }
        seen.push(name);
    }
}
