//! Reading a shape: `[m, 128, _]`, `[]`, `[..]`, `[batch.., m, k]`, `shape(a)`.

use proc_macro2::{Ident, TokenStream, TokenTree};
use quote::ToTokens;
use syn::ext::IdentExt;
use syn::parse::ParseStream;
use syn::{Lit, LitInt, Token, braced, bracketed, parenthesized, token};

use super::errors::Errors;
use super::messages;
use super::option_list::{end_of_item, skip_item};
use super::raw::{Given, RawDim, RawLeading, RawShape};
use super::reference;
use super::text::text;
use super::words::RUST_KEYWORDS;

/// Which sizes a shape may have.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sizes {
    /// Those of a declaration.
    Declared,
    /// In a body also values of the body: `{n}` or `(n + 1)`.
    OrValues,
}

/// Reads the value of `shape = ...`.
///
/// `shape = m`, `shape = (m, k)` and `shape = like(a)` are wrong.
pub(crate) fn read(
    errors: &mut Errors,
    input: ParseStream<'_>,
    sizes: Sizes,
) -> syn::Result<Given<RawShape>> {
    if input.peek(token::Bracket) {
        return pattern(errors, input, sizes);
    }
    let token: TokenTree = input.parse()?;
    if let (TokenTree::Ident(word), true) = (&token, input.peek(token::Paren)) {
        if word == "shape" {
            return reference::read(word, input).map(|other| Given::Is(RawShape::Same(other)));
        }
        let _arguments: TokenTree = input.parse()?;
        return Err(syn::Error::new_spanned(word, messages::no_shape_reference(word)));
    }
    Err(syn::Error::new_spanned(&token, messages::shape_expected(text(&token))))
}

enum Element {
    Leading(RawLeading),
    Dim(RawDim),
}

fn pattern(errors: &mut Errors, input: ParseStream<'_>, sizes: Sizes) -> syn::Result<Given<RawShape>> {
    let list;
    bracketed!(list in input);
    let (mut leading, mut dims, mut first, mut good) = (None, Vec::new(), true, true);
    while !list.is_empty() {
        let element = element(&list, first, leading.is_some(), sizes).and_then(|element| {
            match element {
                Element::Leading(named) => leading = Some(named),
                Element::Dim(dim) => dims.push(dim),
            }
            end_of_item(&list, "separate sizes with commas; a size is not computed")
        });
        if errors.keep(element).is_none() {
            good = false;
            skip_item(&list);
        }
        list.parse::<Option<Token![,]>>()?;
        first = false;
    }
    Ok(if good { Given::Is(RawShape::Pattern { leading, dims }) } else { Given::Bad })
}

fn element(list: ParseStream<'_>, first: bool, has_leading: bool, sizes: Sizes) -> syn::Result<Element> {
    if starts_with_dots(list) {
        return leading(list, None, first, has_leading).map(Element::Leading);
    }
    if list.peek(Ident::peek_any) && !list.peek(syn::LitBool) {
        let next = list.fork();
        next.call(Ident::parse_any)?;
        if starts_with_dots(&next) {
            let name = list.call(Ident::parse_any)?;
            return leading(list, Some(name), first, has_leading).map(Element::Leading);
        }
    }
    dim(list, sizes).map(Element::Dim)
}

/// Reads one size: `_`, a name, a number, or a value in braces.
pub(crate) fn dim(list: ParseStream<'_>, sizes: Sizes) -> syn::Result<RawDim> {
    if list.parse::<Option<Token![_]>>()?.is_some() {
        return Ok(RawDim::Any);
    }
    if sizes == Sizes::OrValues && list.peek(token::Brace) {
        let inside;
        braced!(inside in list);
        return inside.parse().map(|value| RawDim::Value(Box::new(value)));
    }
    if sizes == Sizes::OrValues && list.peek(token::Paren) {
        let inside;
        parenthesized!(inside in list);
        return inside.parse().map(|value| RawDim::Value(Box::new(value)));
    }
    if list.peek(Ident::peek_any) && !list.peek(syn::LitBool) {
        let name = list.call(Ident::parse_any)?;
        return captured(name).map(RawDim::Named);
    }
    number(list).map(RawDim::Fixed)
}

fn starts_with_dots(list: ParseStream<'_>) -> bool {
    list.peek(Token![..]) || list.peek(Token![...]) || list.peek(Token![..=])
}

/// Leading dimensions are two dots at the front of a shape: `[m, ..]`, `[a.., b..]`, `[...]` are wrong.
fn leading(
    list: ParseStream<'_>,
    name: Option<Ident>,
    first: bool,
    has_leading: bool,
) -> syn::Result<RawLeading> {
    let mut written = name.to_token_stream();
    if list.peek(Token![...]) || list.peek(Token![..=]) {
        let dots: TokenStream = match list.parse::<Option<Token![...]>>()? {
            Some(dots) => dots.into_token_stream(),
            None => list.parse::<Token![..=]>()?.into_token_stream(),
        };
        return Err(syn::Error::new_spanned(&dots, messages::leading_dots(text(&dots))));
    }
    written.extend(list.parse::<Token![..]>()?.into_token_stream());
    if has_leading {
        return Err(syn::Error::new_spanned(&written, messages::two_leading(text(&written))));
    }
    if !first {
        return Err(syn::Error::new_spanned(&written, messages::leading_not_first(text(&written))));
    }
    Ok(match name {
        Some(name) => RawLeading::Named(captured(name)?),
        None => RawLeading::Anonymous,
    })
}

/// A captured name is a variable in lower case: `[M]`, `[_m]`, `[for]`, `[r#m]` are wrong.
fn captured(name: Ident) -> syn::Result<Ident> {
    let written = name.to_string();
    if RUST_KEYWORDS.contains(&written.as_str()) {
        return Err(syn::Error::new_spanned(&name, messages::name_keyword(&written)));
    }
    if is_captured_name(&written) {
        return Ok(name);
    }
    let lower = written.trim_start_matches("r#").trim_start_matches('_').to_lowercase();
    let help = if is_captured_name(&lower) && !RUST_KEYWORDS.contains(&lower.as_str()) {
        format!("names are in lower case: write `{lower}` to capture the size, or `_` for any size")
    } else {
        "names are in lower case, of letters, digits and `_`, beginning with a letter".to_owned()
    };
    Err(syn::Error::new_spanned(&name, messages::name_case(&written, help)))
}

fn is_captured_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
}

/// A fixed size is a plain integer, not negative: `[-1]`, `[2.0]`, `[8usize]`, `["m"]` are wrong.
fn number(list: ParseStream<'_>) -> syn::Result<i64> {
    if list.peek(Token![-]) && list.peek2(Lit) {
        let (minus, literal): (Token![-], Lit) = (list.parse()?, list.parse()?);
        let written = quote::quote!(#minus #literal);
        return Err(syn::Error::new_spanned(&written, messages::negative_size(text(&written))));
    }
    let token: TokenTree = list.fork().parse()?;
    match list.parse::<Lit>() {
        Ok(Lit::Int(literal)) => integer(&literal),
        Ok(Lit::Float(literal)) => Err(syn::Error::new_spanned(&literal, messages::float_size(&literal))),
        _ => Err(syn::Error::new_spanned(&token, messages::size_expected(text(&token)))),
    }
}

fn integer(literal: &LitInt) -> syn::Result<i64> {
    if !literal.suffix().is_empty() {
        let message = messages::suffixed_size(literal, literal.base10_digits());
        return Err(syn::Error::new_spanned(literal, message));
    }
    literal
        .base10_parse()
        .map_err(|_| syn::Error::new_spanned(literal, messages::large_size(literal.base10_digits())))
}
