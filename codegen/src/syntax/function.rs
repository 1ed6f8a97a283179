//! The function itself: what it must not be, and the item without the toolkit's attributes.

use proc_macro2::{Ident, TokenStream};
use syn::ext::IdentExt;
use syn::parse::{ParseStream, Parser};
use syn::{Attribute, FnArg, Item, ItemFn, Signature, Token, Visibility, parse_quote};

use super::errors::Errors;
use super::kind::Kind;
use super::messages;
use super::words;

/// Reads the item under an attribute of the toolkit.
///
/// It is a function with a body: `struct S;` and `fn f(a: Aval) -> Result<Program>;` are wrong. The latter gets a
/// body, so that its other mistakes show too.
pub(crate) fn read(errors: &mut Errors, item: TokenStream, kind: &Kind) -> Option<ItemFn> {
    let reason = match syn::parse2::<ItemFn>(item.clone()) {
        Ok(function) => return Some(function),
        Err(reason) => reason,
    };
    if let Ok((function, semicolon)) = without_body.parse2(item.clone()) {
        errors.on(semicolon, messages::no_body(&function.sig.ident, kind.body_help));
        return Some(function);
    }
    match syn::parse2::<Item>(item.clone()) {
        Ok(other) => errors.on(other, messages::function_expected(kind.attribute)),
        Err(_) => errors.at(reason.span(), messages::function_unreadable(reason)),
    }
    None
}

fn without_body(input: ParseStream<'_>) -> syn::Result<(ItemFn, Token![;])> {
    let attrs = input.call(Attribute::parse_outer)?;
    let vis: Visibility = input.parse()?;
    let sig: Signature = input.parse()?;
    let semicolon = input.parse()?;
    Ok((ItemFn { attrs, vis, sig, block: parse_quote!({ ::core::unreachable!() }) }, semicolon))
}

/// Checks what such a function must not be.
pub(crate) fn check(errors: &mut Errors, function: &ItemFn, kind: &Kind) {
    let signature = &function.sig;
    no_modifiers(errors, signature, kind);
    no_generics(errors, signature, kind);
    for input in &signature.inputs {
        if let FnArg::Receiver(receiver) = input {
            // `fn f(&self, ...)` is wrong: what the attribute makes is no part of another type.
            errors.on(receiver, messages::receiver(kind.noun, kind.receiver_help));
        }
    }
    if let Some(variadic) = &signature.variadic {
        // `fn f(a: Aval, ...)` is wrong: the number of arguments is part of the signature.
        errors.on(variadic, messages::variadic(kind.noun, kind.variadic_help));
    }
    for attribute in &function.attrs {
        // `#[dynamic] fn f(...)` is wrong: the attribute belongs to an argument.
        if let Some(name) = kind.markers.iter().find(|name| attribute.path().is_ident(name)) {
            errors.on(attribute, messages::misplaced_attribute(name));
        }
    }
}

/// The body is an ordinary function: `const fn`, `async fn`, `unsafe fn`, `extern "C" fn` are wrong.
fn no_modifiers(errors: &mut Errors, signature: &Signature, kind: &Kind) {
    let modifier = |got| messages::modifier(kind.noun, got, kind.runs);
    if let Some(token) = &signature.constness {
        errors.on(token, modifier("const"));
    }
    if let Some(token) = &signature.asyncness {
        errors.on(token, modifier("async"));
    }
    if let Some(token) = &signature.unsafety {
        errors.on(token, modifier("unsafe"));
    }
    if let Some(abi) = &signature.abi {
        errors.on(abi, modifier("extern"));
    }
}

/// One function is one family, or one handler: `fn f<T>(...)`, `fn f<'a>(...)` and `where` clauses are wrong.
fn no_generics(errors: &mut Errors, signature: &Signature, kind: &Kind) {
    let generics = &signature.generics;
    if generics.lt_token.is_some() {
        errors.on(generics, messages::generics(kind.noun, kind.generics_help));
    }
    if let Some(clause) = &generics.where_clause {
        errors.on(clause, messages::where_clause(kind.noun));
    }
}

/// The name of the family's type: `scaled_matmul` gives `ScaledMatmul`.
///
/// `fn array(...)` is wrong: the type `Array` would hide that of the prelude; so are `fn _1(...)` and `fn Fit(...)`.
pub(crate) fn type_name(name: &Ident) -> syn::Result<Ident> {
    let written = name.unraw().to_string();
    let camel: String = written.split('_').map(capitalised).collect();
    let wrong = |message| Err(syn::Error::new_spanned(name, message));
    if !camel.starts_with(|c: char| c.is_alphabetic()) || camel == "Self" {
        return wrong(messages::no_type_name(&written));
    }
    if camel == written {
        return wrong(messages::type_is_function(&written));
    }
    if words::PRELUDE_TYPES.contains(&camel.as_str()) {
        return wrong(messages::hidden_prelude(&written, &camel));
    }
    Ok(Ident::new(&camel, name.span()))
}

fn capitalised(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

/// The function without the toolkit's attributes, and without the doc comments on its arguments, which the
/// compiler does not allow there.
pub(crate) fn stripped(function: &ItemFn, kind: &Kind) -> ItemFn {
    let mut function = function.clone();
    let ours = |attribute: &Attribute| kind.markers.iter().any(|name| attribute.path().is_ident(name));
    function.attrs.retain(|attribute| !ours(attribute));
    for input in &mut function.sig.inputs {
        let attributes = match input {
            FnArg::Receiver(receiver) => &mut receiver.attrs,
            FnArg::Typed(input) => &mut input.attrs,
        };
        attributes
            .retain(|attribute| words::LINT_ATTRIBUTES.iter().any(|name| attribute.path().is_ident(name)));
    }
    function
}
