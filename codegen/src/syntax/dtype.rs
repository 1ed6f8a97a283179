//! Reading a dtype: `f32`, `[f32, f64]`, `float`, `dtype(a)`.

use proc_macro2::{Ident, TokenTree};
use syn::ext::IdentExt;
use syn::parse::ParseStream;
use syn::{Token, bracketed, token};

use super::errors::Errors;
use super::messages;
use super::model::{DType, DTypes};
use super::option_list::{end_of_item, skip_item};
use super::raw::{Given, RawDType};
use super::reference;
use super::text::text;
use super::words;

/// Reads the value of `dtype = ...`.
///
/// `dtype = "f32"`, `dtype = f33` and `dtype = like(a)` are wrong.
pub(crate) fn read(errors: &mut Errors, input: ParseStream<'_>) -> syn::Result<Given<RawDType>> {
    if input.peek(token::Bracket) {
        return Ok(choice(errors, input)?.map_or(Given::Bad, |dtypes| Given::Is(RawDType::Dtypes(dtypes))));
    }
    if !input.peek(Ident::peek_any) {
        let token: TokenTree = input.parse()?;
        return Err(syn::Error::new_spanned(&token, messages::dtype_expected(text(&token))));
    }
    let word = input.call(Ident::parse_any)?;
    if input.peek(token::Paren) {
        if word != "dtype" {
            let _arguments: TokenTree = input.parse()?;
            return Err(syn::Error::new_spanned(&word, messages::no_dtype_reference(&word)));
        }
        return reference::read(&word, input).map(|other| Given::Is(RawDType::Same(other)));
    }
    if let Some(class) = words::lookup(&words::CLASSES, &word.to_string()) {
        return Ok(Given::Is(RawDType::Dtypes(DTypes::Class(class))));
    }
    let dtype = named(&word)?;
    if input.peek(Token![|]) {
        // `dtype = f32 | f64` is wrong, whose writer wants a choice.
        end_of_item(input, "a choice is a list: `[f32, f64]`")?;
    }
    Ok(Given::Is(RawDType::Dtypes(DTypes::One(dtype))))
}

/// A dtype must have one of our names: `f33` and `float32` are wrong.
fn named(word: &Ident) -> syn::Result<DType> {
    let name = word.to_string();
    words::lookup(&words::DTYPES, &name)
        .ok_or_else(|| syn::Error::new_spanned(word, messages::unknown_dtype(&name, unknown_help(&name))))
}

fn unknown_help(got: &str) -> String {
    if let Some(alias) = words::lookup(&words::DTYPE_ALIASES, &got.to_lowercase()) {
        return format!("here it is `{alias}`");
    }
    let known = words::names(&words::DTYPES).into_iter().chain(words::names(&words::CLASSES));
    match words::nearest(got, known) {
        Some(nearest) => format!("did you mean `{nearest}`?"),
        None => format!(
            "the dtypes are {}; the classes {}",
            words::list(&words::names(&words::DTYPES), "and"),
            words::list(&words::names(&words::CLASSES), "and")
        ),
    }
}

/// A choice lists dtypes, at least one and each once: `[]`, `[f32, f32]`, `[float, i32]` are wrong.
///
/// None if one of its errors was added.
fn choice(errors: &mut Errors, input: ParseStream<'_>) -> syn::Result<Option<DTypes>> {
    let list;
    let brackets = bracketed!(list in input);
    if list.is_empty() {
        return Err(syn::Error::new(brackets.span.join(), messages::empty_choice()));
    }
    let mut chosen: Vec<DType> = Vec::new();
    let mut good = true;
    while !list.is_empty() {
        let member = choice_member(&list).and_then(|(word, dtype)| {
            if chosen.contains(&dtype) {
                return Err(syn::Error::new_spanned(&word, messages::duplicate_in_choice(&word)));
            }
            chosen.push(dtype);
            end_of_item(&list, "separate dtypes with commas")
        });
        if errors.keep(member).is_none() {
            good = false;
            skip_item(&list);
        }
        list.parse::<Option<Token![,]>>()?;
    }
    Ok(good.then(|| match chosen[..] {
        [only] => DTypes::One(only),
        _ => DTypes::Choice(chosen),
    }))
}

fn choice_member(list: ParseStream<'_>) -> syn::Result<(Ident, DType)> {
    if !list.peek(Ident::peek_any) {
        let token: TokenTree = list.parse()?;
        return Err(syn::Error::new_spanned(&token, messages::dtype_expected(text(&token))));
    }
    let word = list.call(Ident::parse_any)?;
    if list.peek(token::Paren) {
        let arguments: TokenTree = list.parse()?;
        let written = format!("{word}{}", text(arguments));
        return Err(syn::Error::new_spanned(word, messages::reference_in_choice(written)));
    }
    if let Some(class) = words::lookup(&words::CLASSES, &word.to_string()) {
        let members: Vec<&str> = class.members().into_iter().map(DType::name).collect();
        let message = messages::class_in_choice(&word, members.join(", "));
        return Err(syn::Error::new_spanned(word, message));
    }
    named(&word).map(|dtype| (word, dtype))
}
