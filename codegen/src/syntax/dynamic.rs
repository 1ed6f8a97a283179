//! `#[dynamic(...)]`: its options, and what must be said of which argument.

use proc_macro2::{Ident, TokenTree};
use syn::ext::IdentExt;
use syn::parse::ParseStream;
use syn::{Attribute, token};

use super::dtype;
use super::errors::Errors;
use super::messages;
use super::option_list::{self, Owner, skip_item};
use super::raw::{DynamicOptions, Given, RawDynamic, RawKind};
use super::reference;
use super::shape::{self, Sizes};
use super::text::text;
use super::words;
use super::write_back;

/// An attribute that describes an array: its name and options, and an example of it.
pub(crate) struct Describes<'a> {
    pub(crate) owner: Owner<'a>,
    pub(crate) example: &'a str,
}

/// `#[dynamic(...)]`
pub(crate) const DYNAMIC: Describes<'static> = Describes {
    owner: Owner { attribute: "#[dynamic(...)]", options: &words::DYNAMIC, aliases: &words::OPTION_ALIASES },
    example: "#[dynamic(dtype = f32, shape = [m])]",
};

/// Reads the options of one attribute that describes an array.
pub(crate) fn read(errors: &mut Errors, attribute: &Attribute, form: &Describes<'_>) -> DynamicOptions {
    let mut options = DynamicOptions {
        dtype: Given::Missing,
        shape: Given::Missing,
        like: Given::Missing,
        donate: false,
        write_back: None,
        dtype_span: None,
        alias: Given::Missing,
        words: Vec::new(),
    };
    let Some(tokens) = errors.keep(option_list::attribute_tokens(attribute, form.example)) else {
        return DynamicOptions { dtype: Given::Bad, shape: Given::Bad, ..options };
    };
    let before = errors.count();
    option_list::read(errors, tokens, &form.owner, &mut |errors, word, input| {
        options.words.push(word.clone());
        option(errors, word, input, &mut options)
    });
    if errors.count() > before {
        doubt_what_is_missing(&mut options);
    }
    options
}

fn option(
    errors: &mut Errors,
    word: &Ident,
    input: ParseStream<'_>,
    options: &mut DynamicOptions,
) -> syn::Result<()> {
    match word.to_string().as_str() {
        "dtype" => {
            options.dtype = Given::Bad;
            option_list::equals(word, input, "dtype = f32")?;
            options.dtype_span = input.fork().parse::<TokenTree>().ok().map(|value| value.span());
            options.dtype = dtype::read(errors, input)?;
        }
        "shape" => {
            options.shape = Given::Bad;
            option_list::equals(word, input, "shape = [m]")?;
            options.shape = shape::read(errors, input, Sizes::Declared)?;
        }
        "like" => {
            options.like = Given::Bad;
            options.like = Given::Is(like(word, input)?);
        }
        "alias" => {
            options.alias = Given::Bad;
            option_list::equals(word, input, "alias = a")?;
            options.alias = Given::Is(alias(word, input)?);
        }
        "donate" => {
            option_list::flag(word, input)?;
            options.donate = true;
        }
        _ => options.write_back = Some(write_back::read(word, input)?),
    }
    Ok(())
}

/// `like` names an argument in parentheses: `like` and `like = a` are wrong.
fn like(word: &Ident, input: ParseStream<'_>) -> syn::Result<Ident> {
    if input.peek(token::Paren) {
        return reference::read(word, input);
    }
    skip_item(input);
    Err(syn::Error::new_spanned(word, messages::like_value()))
}

/// `alias` names an argument: `alias = 3` is wrong.
fn alias(word: &Ident, input: ParseStream<'_>) -> syn::Result<Ident> {
    if input.peek(Ident::peek_any) {
        return input.call(Ident::parse_any);
    }
    let token: TokenTree = input.parse()?;
    skip_item(input);
    Err(syn::Error::new_spanned(&token, messages::alias_value(word, text(&token))))
}

/// A misspelt option may be the one that is missing, so nobody complains of that then.
fn doubt_what_is_missing(options: &mut DynamicOptions) {
    if options.dtype.is_missing() {
        options.dtype = Given::Bad;
    }
    if options.shape.is_missing() {
        options.shape = Given::Bad;
    }
}

/// Checks that an argument is described as its type demands.
pub(crate) fn check(errors: &mut Errors, dynamic: &RawDynamic, attribute: &Attribute) {
    match &dynamic.kind {
        Given::Is(RawKind::Tree(_)) => tree_is_bare(errors, dynamic),
        Given::Is(RawKind::Leaves(_)) => {
            leaf_is_complete(errors, dynamic, attribute);
            like_stands_alone(errors, &dynamic.options);
        }
        _ => like_stands_alone(errors, &dynamic.options),
    }
}

/// The options of a tree stand at the fields of its struct: `#[dynamic(donate)] p: P<Aval>` is wrong.
fn tree_is_bare(errors: &mut Errors, dynamic: &RawDynamic) {
    if let Some(word) = dynamic.options.words.first() {
        let help = "write `#[dynamic]` alone here, and the options at the fields of the struct";
        errors.on(word, messages::constrained(word, "tree", &dynamic.name, help));
    }
}

/// An array needs a dtype and a shape, if only `any` and `[..]`: `#[dynamic] a: Aval` is wrong.
fn leaf_is_complete(errors: &mut Errors, dynamic: &RawDynamic, attribute: &Attribute) {
    let options = &dynamic.options;
    if !options.like.is_missing() {
        return;
    }
    let name = &dynamic.name;
    match (options.dtype.is_missing(), options.shape.is_missing()) {
        (true, true) => errors.on(attribute, messages::missing_both(name)),
        (true, false) => errors.on(attribute, messages::missing_dtype(name)),
        (false, true) => errors.on(attribute, messages::missing_shape(name)),
        (false, false) => {}
    }
}

/// `like` says dtype and shape: `#[dynamic(like(a), dtype = f32)]` is wrong.
pub(crate) fn like_stands_alone(errors: &mut Errors, options: &DynamicOptions) {
    if options.like.is_missing() {
        return;
    }
    for word in options.words.iter().filter(|word| *word == "dtype" || *word == "shape") {
        errors.on(word, messages::like_and(word));
    }
}
