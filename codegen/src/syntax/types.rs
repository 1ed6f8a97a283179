//! Types as written: which arguments hold arrays.
//!
//! A macro sees names, not types, so `Aval` is whatever ends in that name; the compiler sees the rest.

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use syn::{GenericArgument, Path, PathArguments, PathSegment, Type};

use super::messages::{self, Message};
use super::model::Count;
use super::raw::RawKind;
use super::text::text;
use super::words::WRAPPERS;

/// What a type holds, where `leaf` stands for one array.
pub(crate) enum Held<'a> {
    /// The leaf itself, `Vec<leaf>` or `[leaf; N]`.
    Leaves(Count),
    /// `Other<leaf>`: the path without its argument.
    Tree(Path),
    /// `Option<leaf>` and the like: the name.
    Wrapper(&'a PathSegment),
}

/// Recognises the types that hold arrays.
pub(crate) fn held<'a>(ty: &'a Type, leaf: &dyn Fn(&Type) -> bool) -> Option<Held<'a>> {
    let ty = unwrapped(ty);
    if leaf(ty) {
        return Some(Held::Leaves(Count::One));
    }
    match ty {
        Type::Array(array) if leaf(&array.elem) => Some(Held::Leaves(Count::Exactly(array.len.clone()))),
        Type::Path(path) if path.qself.is_none() => {
            let last = path.path.segments.last()?;
            if !leaf(only_argument(last)?) {
                return None;
            }
            let name = last.ident.to_string();
            if name == "Vec" {
                Some(Held::Leaves(Count::Any))
            } else if WRAPPERS.contains(&name.as_str()) {
                Some(Held::Wrapper(last))
            } else {
                Some(Held::Tree(without_arguments(&path.path)))
            }
        }
        _ => None,
    }
}

/// Reads the type of a dynamic argument of a function.
///
/// `a: bool`, `a: &Aval`, `a: Array`, `a: Value`, `a: Option<Aval>` are wrong.
pub(crate) fn dynamic(ty: &Type) -> syn::Result<RawKind> {
    let wrong = |message: Message| Err(syn::Error::new_spanned(ty, message));
    match held(ty, &|ty| is_named(ty, "Aval")) {
        Some(Held::Leaves(count)) => return Ok(RawKind::Leaves(count)),
        Some(Held::Tree(path)) => return Ok(RawKind::Tree(path)),
        Some(Held::Wrapper(wrapper)) => {
            return Err(syn::Error::new_spanned(ty, messages::wrapped_leaf(&wrapper.ident, "Aval")));
        }
        None => {}
    }
    if let Type::Reference(reference) = unwrapped(ty) {
        let inner = &*reference.elem;
        if held(inner, &|ty| is_named(ty, "Aval")).is_some() {
            return wrong(messages::borrowed_aval(text(inner)));
        }
        if held(inner, &|ty| is_named(ty, "Array")).is_some() {
            return wrong(messages::array_type(with_aval(inner)));
        }
    }
    if held(ty, &|ty| is_named(ty, "Value")).is_some() {
        return wrong(messages::value_type(with_aval(ty)));
    }
    if held(ty, &|ty| is_named(ty, "Array")).is_some() {
        return wrong(messages::array_type(with_aval(ty)));
    }
    wrong(messages::dynamic_type(text(ty)))
}

/// The type with abstract values in place of arrays or graph values, as text for a hint.
fn with_aval(ty: &Type) -> String {
    fn replace(tokens: TokenStream) -> TokenStream {
        let replaced = tokens.into_iter().map(|token| match token {
            TokenTree::Ident(name) if name == "Value" || name == "Array" => {
                TokenTree::Ident(proc_macro2::Ident::new("Aval", name.span()))
            }
            TokenTree::Group(group) => {
                TokenTree::Group(proc_macro2::Group::new(group.delimiter(), replace(group.stream())))
            }
            other => other,
        });
        replaced.collect()
    }
    text(replace(ty.to_token_stream()))
}

/// Whether a type is a path without arguments that ends in this name.
pub(crate) fn is_named(ty: &Type, name: &str) -> bool {
    match unwrapped(ty) {
        Type::Path(path) if path.qself.is_none() => {
            path.path.segments.last().is_some_and(|last| last.ident == name && last.arguments.is_none())
        }
        _ => false,
    }
}

/// Whether one of the words stands anywhere in a type.
pub(crate) fn mentions(ty: &Type, names: &[&str]) -> bool {
    fn any(tokens: TokenStream, names: &[&str]) -> bool {
        tokens.into_iter().any(|token| match token {
            TokenTree::Ident(word) => names.iter().any(|name| word == name),
            TokenTree::Group(group) => any(group.stream(), names),
            _ => false,
        })
    }
    any(ty.to_token_stream(), names)
}

/// The type argument of `Other<T>`, if it is the only argument.
pub(crate) fn only_argument(segment: &PathSegment) -> Option<&Type> {
    match &segment.arguments {
        PathArguments::AngleBracketed(arguments) if arguments.args.len() == 1 => match &arguments.args[0] {
            GenericArgument::Type(ty) => Some(ty),
            _ => None,
        },
        _ => None,
    }
}

/// A path without the arguments of its last segment, to be applied to another leaf type.
pub(crate) fn without_arguments(path: &Path) -> Path {
    let mut path = path.clone();
    if let Some(last) = path.segments.last_mut() {
        last.arguments = PathArguments::None;
    }
    path
}

/// A type without the invisible or written parentheses around it.
pub(crate) fn unwrapped(mut ty: &Type) -> &Type {
    loop {
        ty = match ty {
            Type::Group(group) => &group.elem,
            Type::Paren(paren) => &paren.elem,
            _ => return ty,
        };
    }
}
