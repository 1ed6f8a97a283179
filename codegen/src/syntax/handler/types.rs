//! Types as written: what an argument of a handler is.
//!
//! A macro sees names, not types, so `Buffer<f32>` is whatever ends in that name; the compiler sees the rest.

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use quote::ToTokens;
use syn::{GenericArgument, Path, PathArguments, PathSegment, Type, TypeReference};

use super::super::messages::Message;
use super::super::model::DType;
use super::super::text::text;
use super::super::types::{is_named, mentions, only_argument, unwrapped};
use super::super::words;
use super::messages;
use super::model::{Ctx, Side};

/// What the type of an `#[arg]` or a `#[ret]` says.
pub(super) struct PlaceType {
    pub(super) optional: bool,
    pub(super) kind: PlaceKind,
}

pub(super) enum PlaceKind {
    /// `Buffer<T>` with its dtype, or `AnyBuffer`.
    Buffer(Option<DType>),
    /// `Buffer` without its element, which the compiler complains of.
    Incomplete,
    /// `Aliased`
    Aliased,
    Token,
    Remaining,
}

/// The names of one side.
struct Names {
    typed: &'static str,
    any: &'static str,
    tokens: &'static [&'static str],
    remaining: &'static str,
}

const ARG: Names =
    Names { typed: "Buffer", any: "AnyBuffer", tokens: &["Token"], remaining: "RemainingArgs" };
const RET: Names = Names {
    typed: "BufferMut",
    any: "AnyBufferMut",
    tokens: &["TokenMut", "Token"],
    remaining: "RemainingRets",
};

fn names(side: Side) -> (&'static Names, &'static Names) {
    match side {
        Side::Arg => (&ARG, &RET),
        Side::Ret => (&RET, &ARG),
    }
}

/// Reads the type of an `#[arg]` or a `#[ret]`.
///
/// `#[ret] y: Buffer<f32>`, `#[arg] x: &[f32]`, `#[arg] x: Array` and `#[arg] x: Option<RemainingArgs>` are wrong.
pub(super) fn place(ty: &Type, side: Side) -> syn::Result<PlaceType> {
    let inner = option(ty);
    let optional = inner.is_some();
    let inner = inner.unwrap_or(ty);
    let wrong = |message: Message| Err(syn::Error::new_spanned(ty, message));
    let (own, other) = names(side);
    let Some(last) = last_segment(inner) else {
        return wrong(no_path(inner, side));
    };
    let name = last.ident.to_string();
    let kind = if name == own.typed {
        element(last)?.map_or(PlaceKind::Incomplete, |dtype| PlaceKind::Buffer(Some(dtype)))
    } else if name == own.any {
        PlaceKind::Buffer(None)
    } else if own.tokens.contains(&name.as_str()) {
        PlaceKind::Token
    } else if name == "Aliased" && side == Side::Arg {
        PlaceKind::Aliased
    } else if name == own.remaining && optional {
        return wrong(messages::optional_remaining(text(inner)));
    } else if name == own.remaining {
        PlaceKind::Remaining
    } else {
        return wrong(other_type(inner, last, side, other));
    };
    only_anonymous_lifetimes(inner)?;
    Ok(PlaceType { optional, kind })
}

/// A buffer lives for one call: `Buffer<'static, f32>` is wrong.
fn only_anonymous_lifetimes(ty: &Type) -> syn::Result<()> {
    let Some(segment) = last_segment(ty) else { return Ok(()) };
    let PathArguments::AngleBracketed(arguments) = &segment.arguments else { return Ok(()) };
    for argument in &arguments.args {
        if let GenericArgument::Lifetime(lifetime) = argument {
            if lifetime.ident != "_" {
                return Err(syn::Error::new_spanned(lifetime, messages::named_lifetime(lifetime)));
            }
        }
    }
    Ok(())
}

/// The element of `Buffer<T>`, if there is one: `Buffer<usize>` and `Buffer<Point>` are wrong.
fn element(segment: &PathSegment) -> syn::Result<Option<DType>> {
    let Some(ty) = type_argument(segment) else { return Ok(None) };
    dtype_of(ty)
        .map(Some)
        .ok_or_else(|| syn::Error::new_spanned(ty, messages::element_type(text(ty), element_help(ty))))
}

fn element_help(ty: &Type) -> String {
    let written = text(ty);
    let mut known = words::names(&words::ELEMENTS);
    known.extend(["Complex<f32>", "Complex<f64>"]);
    if let Some(alias) = words::lookup(&words::DTYPE_ALIASES, &written.to_lowercase()) {
        return format!("write `{alias}`");
    }
    match words::nearest(&written, known.iter().copied()) {
        Some(nearest) => format!("did you mean `{nearest}`?"),
        None => format!("elements are {}", words::list(&known, "and")),
    }
}

/// The dtype of a Rust type.
fn dtype_of(ty: &Type) -> Option<DType> {
    let last = last_segment(ty)?;
    match (last.ident.to_string().as_str(), only_argument(last)) {
        ("Complex", Some(part)) if is_named(part, "f32") => Some(DType::C64),
        ("Complex", Some(part)) if is_named(part, "f64") => Some(DType::C128),
        ("Complex32", None) => Some(DType::C64),
        ("Complex64", None) => Some(DType::C128),
        (name, None) if last.arguments.is_none() => words::lookup(&words::ELEMENTS, name),
        _ => None,
    }
}

/// What is said of a type that is no path.
fn no_path(ty: &Type, side: Side) -> Message {
    let (own, _) = names(side);
    match unwrapped(ty) {
        Type::Reference(reference) => match &*reference.elem {
            Type::Slice(slice) => {
                messages::slice_place(text(ty), format!("{}<{}>", own.typed, text(&slice.elem)))
            }
            inner if place(inner, side).is_ok() => messages::borrowed_place(text(inner)),
            _ => messages::place_type(text(ty), marker(side), place_help(side)),
        },
        Type::Slice(slice) => {
            messages::slice_place(text(ty), format!("{}<{}>", own.typed, text(&slice.elem)))
        }
        _ => messages::place_type(text(ty), marker(side), place_help(side)),
    }
}

/// What is said of a path that is none of a side's types.
fn other_type(ty: &Type, last: &PathSegment, side: Side, other: &Names) -> Message {
    let (own, _) = names(side);
    let name = last.ident.to_string();
    let renamed = |to: &str| text(ty).replacen(&name, to, 1);
    let is_of_other = [other.typed, other.any, other.remaining].contains(&name.as_str())
        || other.tokens.contains(&name.as_str());
    if is_of_other {
        let to = match name.as_str() {
            name if name == other.typed => own.typed,
            name if name == other.any => own.any,
            name if name == other.remaining => own.remaining,
            _ => own.tokens[0],
        };
        return match side {
            Side::Arg => messages::written_argument(text(ty), renamed(to)),
            Side::Ret => messages::read_result(text(ty), renamed(to)),
        };
    }
    if ["Array", "Aval", "Value"].contains(&name.as_str()) {
        return messages::array_place(text(ty), own.typed, own.any);
    }
    if name == "Vec" && only_argument(last).is_some_and(|ty| dtype_of(ty).is_some()) {
        return messages::owned_place(text(ty), format!("{}<{}>", own.typed, last_argument_text(last)));
    }
    if name == "Vec" && only_argument(last).is_some_and(|ty| place(ty, side).is_ok()) {
        return messages::list_place(text(ty), own.remaining);
    }
    messages::place_type(text(ty), marker(side), place_help(side))
}

fn last_argument_text(segment: &PathSegment) -> String {
    only_argument(segment).map(text).unwrap_or_default()
}

/// The attribute of a side.
pub(super) fn marker(side: Side) -> &'static str {
    match side {
        Side::Arg => "arg",
        Side::Ret => "ret",
    }
}

fn place_help(side: Side) -> String {
    let (own, _) = names(side);
    format!(
        "it is `{}<f32>`, `{}`, `{}`, an `Option` of these, or `{}`",
        own.typed, own.any, own.tokens[0], own.remaining
    )
}

/// Whether a type is one of an argument or result, on either side.
pub(super) fn side_of(ty: &Type) -> Option<Side> {
    let last = last_segment(option(ty).unwrap_or(ty))?;
    let is_of = |names: &Names| {
        [names.typed, names.any, names.remaining].iter().any(|name| last.ident == name)
            || names.tokens.iter().any(|name| last.ident == name)
            || (names.typed == ARG.typed && last.ident == "Aliased")
    };
    if is_of(&ARG) {
        return Some(Side::Arg);
    }
    is_of(&RET).then_some(Side::Ret)
}

/// Reads the type of an `#[attr]`: the type inside an `Option`, and whether it is one.
///
/// `#[attr] a: String`, `#[attr] a: Vec<i64>`, `#[attr] a: usize`, `#[attr] a: &[bool]` and
/// `#[attr] a: Option<Option<i64>>` are wrong.
pub(super) fn attr(ty: &Type) -> syn::Result<(Type, bool)> {
    let inner = option(ty);
    let optional = inner.is_some();
    let inner = inner.unwrap_or(ty);
    if option(inner).is_some() {
        return Err(syn::Error::new_spanned(ty, messages::attr_type(text(ty), ATTR_HELP)));
    }
    match attr_fault(inner) {
        Some(message) => Err(syn::Error::new_spanned(inner, message)),
        None => Ok((inner.clone(), optional)),
    }
}

const ATTR_HELP: &str = "an attribute is `bool`, an integer, `f32`, `f64`, `Complex<f32>`, `Complex<f64>`, `&str`, a slice such as `&[i64]`, `ffi::Dictionary`, `ffi::Pointer`, a type with `#[derive(AttrValue)]`, or an `Option` of one of these";

fn attr_fault(ty: &Type) -> Option<Message> {
    let got = || text(ty);
    let other = || Some(messages::attr_type(got(), ATTR_HELP));
    match unwrapped(ty) {
        Type::Reference(reference) => reference_fault(ty, reference),
        Type::Path(path) if path.qself.is_none() => {
            let last = path.path.segments.last()?;
            let name = last.ident.to_string();
            if side_of(ty).is_some() {
                return Some(messages::attr_is_place(got()));
            }
            if let Some(instead) = words::lookup(&words::ATTR_ALIASES, &name) {
                return Some(messages::attr_alias(got(), instead));
            }
            match name.as_str() {
                "Vec" => Some(messages::attr_alias(got(), format!("&[{}]", last_argument_text(last)))),
                "Box" | "Rc" | "Arc" | "Cow" | "HashMap" | "BTreeMap" | "Self" => other(),
                _ => None,
            }
        }
        _ => other(),
    }
}

fn reference_fault(ty: &Type, reference: &TypeReference) -> Option<Message> {
    let got = || text(ty);
    if reference.mutability.is_some() {
        return Some(messages::attr_type(got(), ATTR_HELP));
    }
    match unwrapped(&reference.elem) {
        Type::Slice(slice) => {
            let known = last_segment(&slice.elem)
                .is_some_and(|last| words::ARRAY_ATTRIBUTES.iter().any(|name| last.ident == name));
            (!known).then(|| messages::attr_array(got(), words::list(&words::ARRAY_ATTRIBUTES, "or")))
        }
        inner if is_named(inner, "str") => None,
        inner if is_named(inner, "String") => Some(messages::attr_alias(got(), "&str")),
        _ => Some(messages::attr_type(got(), ATTR_HELP)),
    }
}

/// Whether a type is the dictionary of attributes.
pub(super) fn is_dictionary(ty: &Type) -> bool {
    last_segment(ty).is_some_and(|last| last.ident == "Dictionary")
}

/// Reads the type of a `#[ctx]`: `#[ctx] a: i64` and `#[ctx] p: &ThreadPool` are wrong. None for `State` without a type,
/// which the compiler complains of.
pub(super) fn ctx(ty: &Type) -> syn::Result<Option<Ctx>> {
    let wrong = |message: Message| Err(syn::Error::new_spanned(ty, message));
    // The only one that a call may be without.
    let data = option(ty).filter(|inner| last_segment(inner).is_some_and(|last| last.ident == "UserData"));
    let inner = data.unwrap_or(ty);
    let Some(last) = last_segment(inner) else {
        return match unwrapped(ty) {
            Type::Reference(reference) if ctx(&reference.elem).is_ok() => {
                wrong(messages::borrowed_ctx(text(&reference.elem)))
            }
            _ => wrong(messages::ctx_type(text(ty), ctx_help(&text(ty)))),
        };
    };
    let name = last.ident.to_string();
    only_anonymous_lifetimes(inner)?;
    let ctx = match name.as_str() {
        "ThreadPool" => Ctx::ThreadPool,
        "DeviceOrdinal" => Ctx::DeviceOrdinal,
        "RunId" => Ctx::RunId,
        "Stream" => Ctx::Stream,
        "Scratch" => Ctx::Scratch,
        "UserData" | "State" => match type_argument(last).cloned() {
            None => return Ok(None),
            Some(of) if name == "State" => Ctx::State(of),
            Some(of) => Ctx::UserData(of),
        },
        _ => return wrong(messages::ctx_type(text(ty), ctx_help(&name))),
    };
    Ok(Some(ctx))
}

fn ctx_help(got: &str) -> String {
    match words::nearest(got, words::CONTEXT_TYPES) {
        Some(nearest) => format!("did you mean `{nearest}`?"),
        None => format!("the context gives {}", words::list(&words::CONTEXT_TYPES, "and")),
    }
}

/// The `T` of `Option<T>`.
pub(crate) fn option(ty: &Type) -> Option<&Type> {
    last_segment(ty).filter(|last| last.ident == "Option").and_then(only_argument)
}

/// The last part of a path.
pub(super) fn last_segment(ty: &Type) -> Option<&PathSegment> {
    match unwrapped(ty) {
        Type::Path(path) if path.qself.is_none() => last_of(&path.path),
        _ => None,
    }
}

fn last_of(path: &Path) -> Option<&PathSegment> {
    path.segments.last()
}

/// The one type argument of `Buffer<'_, T>`, with or without a lifetime before it.
fn type_argument(segment: &PathSegment) -> Option<&Type> {
    let PathArguments::AngleBracketed(arguments) = &segment.arguments else { return None };
    let mut types = arguments.args.iter().filter_map(|argument| match argument {
        GenericArgument::Type(ty) => Some(ty),
        _ => None,
    });
    let (first, more) = (types.next(), types.next());
    if more.is_some() { None } else { first }
}

/// Whether a type leaves something to be inferred, which a signature cannot.
pub(super) fn is_open(ty: &Type) -> bool {
    mentions(ty, &["impl", "dyn"]) || has_word(ty.to_token_stream(), "_")
}

/// Whether a word stands in tokens, but not as the name of a lifetime.
fn has_word(tokens: TokenStream, word: &str) -> bool {
    let mut after_quote = false;
    for token in tokens {
        let found = match &token {
            TokenTree::Ident(name) => !after_quote && name == word,
            TokenTree::Group(group) if group.delimiter() != Delimiter::Brace => {
                has_word(group.stream(), word)
            }
            _ => false,
        };
        if found {
            return true;
        }
        after_quote = matches!(&token, TokenTree::Punct(punct) if punct.as_char() == '\'');
    }
    false
}

/// Whether a type has a reference or a lifetime.
pub(super) fn borrows(tokens: TokenStream) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Punct(punct) => matches!(punct.as_char(), '&' | '\''),
        TokenTree::Group(group) => borrows(group.stream()),
        _ => false,
    })
}
