//! Lists of options, `word`, `word = value` or `word(value)`, between commas.
//!
//! A mistake in one option does not hide those of the next: the reader goes on after the next comma.

use proc_macro2::{Ident, Spacing, TokenStream, TokenTree};
use syn::ext::IdentExt;
use syn::parse::{ParseStream, Parser};
use syn::{Attribute, MacroDelimiter, Meta, Token};

use super::errors::Errors;
use super::messages;
use super::text::text;
use super::words;

/// Who owns a list of options, for its messages.
pub(crate) struct Owner<'a> {
    /// The attribute as the user knows it: `#[dynamic(...)]`.
    pub(crate) attribute: &'a str,
    /// Its options.
    pub(crate) options: &'a [&'static str],
    /// Words of neighbouring languages, with what says the same here.
    pub(crate) aliases: &'a [(&'static str, &'static str)],
}

/// What reads the value of one option; the stream stands behind the word.
pub(crate) type ReadValue<'a> = dyn FnMut(&mut Errors, &Ident, ParseStream<'_>) -> syn::Result<()> + 'a;

/// Reads a list of options.
///
/// Each word must be one of the owner's, and stand once:
/// `#[dynamic(dtype = f32, dtpe = f32)]` and `#[dynamic(donate, donate)]` are wrong.
pub(crate) fn read(errors: &mut Errors, tokens: TokenStream, owner: &Owner<'_>, value: &mut ReadValue<'_>) {
    let mut seen: Vec<String> = Vec::new();
    let parse = |input: ParseStream<'_>| {
        while !input.is_empty() {
            let result = option(errors, input, owner, &mut seen, value);
            if result
                .and_then(|()| end_of_item(input, "separate options with commas"))
                .map_err(|error| errors.push(error))
                .is_err()
            {
                skip_item(input);
            }
            input.parse::<Option<Token![,]>>()?;
        }
        Ok(())
    };
    let result = parse.parse2(tokens);
    errors.keep(result);
}

fn option(
    errors: &mut Errors,
    input: ParseStream<'_>,
    owner: &Owner<'_>,
    seen: &mut Vec<String>,
    value: &mut ReadValue<'_>,
) -> syn::Result<()> {
    if !input.peek(Ident::peek_any) {
        let token: TokenTree = input.parse()?;
        let options = words::list(owner.options, "and");
        let message = messages::option_expected(text(&token), owner.attribute, options);
        return Err(syn::Error::new_spanned(token, message));
    }
    let word = input.call(Ident::parse_any)?;
    let name = word.to_string();
    if !owner.options.contains(&name.as_str()) {
        let message = messages::unknown_option(&name, owner.attribute, unknown_help(&name, owner));
        return Err(syn::Error::new_spanned(word, message));
    }
    if seen.contains(&name) {
        return Err(syn::Error::new_spanned(word, messages::duplicate_option(&name)));
    }
    seen.push(name);
    value(errors, &word, input)
}

fn unknown_help(got: &str, owner: &Owner<'_>) -> String {
    if let Some(nearest) = words::nearest(got, owner.options.iter().copied()) {
        return format!("did you mean `{nearest}`?");
    }
    match words::lookup(owner.aliases, got) {
        Some(instead) => format!("write `{instead}`"),
        None => format!("the options are {}", words::list(owner.options, "and")),
    }
}

/// An item ends at a comma or at the end of its list: `dtype = f32 shape = [m]` is wrong at the second word.
pub(crate) fn end_of_item(input: ParseStream<'_>, help: &str) -> syn::Result<()> {
    if input.is_empty() || input.peek(Token![,]) {
        return Ok(());
    }
    let rest = input.fork();
    let mut found: TokenStream = rest.parse::<TokenTree>()?.into();
    let mut joint = is_joint(&found);
    while joint && rest.peek(Token![.]) {
        let next: TokenStream = rest.parse::<TokenTree>()?.into();
        joint = is_joint(&next);
        found.extend(next);
    }
    Err(syn::Error::new_spanned(&found, messages::comma_expected(text(&found), help)))
}

/// Whether a token is a dot that the next one belongs to, as in `..`.
fn is_joint(token: &TokenStream) -> bool {
    let last = token.clone().into_iter().last();
    matches!(last, Some(TokenTree::Punct(punct)) if punct.as_char() == '.' && punct.spacing() == Spacing::Joint)
}

/// Goes on to the next comma.
pub(crate) fn skip_item(input: ParseStream<'_>) {
    while !input.is_empty() && !input.peek(Token![,]) && input.parse::<TokenTree>().is_ok() {}
}

/// Reads the `=` before a value, and sees that something follows it: `#[dynamic(dtype)]` is wrong.
pub(crate) fn equals(word: &Ident, input: ParseStream<'_>, example: &str) -> syn::Result<()> {
    let equals = input.parse::<Option<Token![=]>>()?;
    if equals.is_none() || input.is_empty() || input.peek(Token![,]) {
        skip_item(input);
        return Err(syn::Error::new_spanned(word, messages::value_needed(word, example)));
    }
    Ok(())
}

/// An option without a value: `donate = true` is wrong.
pub(crate) fn flag(word: &Ident, input: ParseStream<'_>) -> syn::Result<()> {
    if input.is_empty() || input.peek(Token![,]) {
        return Ok(());
    }
    skip_item(input);
    Err(syn::Error::new_spanned(word, messages::no_value(word)))
}

/// The tokens in the parentheses of an attribute; none for `#[dynamic]` alone.
///
/// `#[dynamic = f32]` and `#[dynamic[f32]]` are wrong.
pub(crate) fn attribute_tokens(attribute: &Attribute, example: &str) -> syn::Result<TokenStream> {
    match &attribute.meta {
        Meta::Path(_) => Ok(TokenStream::new()),
        Meta::List(list) if matches!(list.delimiter, MacroDelimiter::Paren(_)) => Ok(list.tokens.clone()),
        other => {
            let name = text(other.path());
            Err(syn::Error::new_spanned(other, messages::attribute_form(name, example)))
        }
    }
}
