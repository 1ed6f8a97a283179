//! Types as written: which arguments hold arrays.
//!
//! A macro sees names, not types, so `Aval` is whatever ends in that name, as is `Value`; the compiler sees the rest.

use proc_macro2::{Group, Ident, TokenStream, TokenTree};
use quote::ToTokens;
use syn::{GenericArgument, Path, PathArguments, PathSegment, Type};

use super::messages::{self, Message};
use super::model::Count;
use super::raw::RawKind;
use super::text::text;
use super::words::{BODY_LEAVES, WRAPPERS};

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

/// [`held`], where the leaf is one of these names.
pub(crate) fn held_of<'a>(ty: &'a Type, leaves: &[&str]) -> Option<Held<'a>> {
    held(ty, &|ty| leaves.iter().any(|leaf| is_named(ty, leaf)))
}

/// Reads the type of a dynamic argument of a function.
///
/// `a: bool`, `a: &Aval`, `a: Array`, `a: Option<Value>` are wrong.
pub(crate) fn dynamic(ty: &Type) -> syn::Result<RawKind> {
    let wrong = |message: Message| Err(syn::Error::new_spanned(ty, message));
    match held_of(ty, &BODY_LEAVES) {
        Some(Held::Leaves(count)) => return Ok(RawKind::Leaves(count)),
        Some(Held::Tree(path)) => return Ok(RawKind::Tree(path)),
        Some(Held::Wrapper(wrapper)) => {
            let leaf = only_argument(wrapper).map(text).unwrap_or_default();
            return wrong(messages::wrapped_leaf(&wrapper.ident, leaf));
        }
        None => {}
    }
    let (inner, borrowed) = match unwrapped(ty) {
        Type::Reference(reference) => (&*reference.elem, true),
        other => (other, false),
    };
    if borrowed && held_of(inner, &BODY_LEAVES).is_some() {
        return wrong(messages::borrowed_leaf(text(inner)));
    }
    if held_of(inner, &["Array"]).is_some() {
        return wrong(messages::array_type(with_leaf(inner, "Aval"), with_leaf(inner, "Value")));
    }
    wrong(messages::dynamic_type(text(ty)))
}

/// Whether a dynamic argument of this type is of graph values.
pub(crate) fn is_of_values(ty: &Type) -> bool {
    held_of(ty, &["Value"]).is_some()
}

/// The type with this leaf in place of arrays, as text for a hint.
fn with_leaf(ty: &Type, leaf: &str) -> String {
    fn replace(tokens: TokenStream, leaf: &str) -> TokenStream {
        let replaced = tokens.into_iter().map(|token| match token {
            TokenTree::Ident(name) if name == "Array" => TokenTree::Ident(Ident::new(leaf, name.span())),
            TokenTree::Group(group) => {
                TokenTree::Group(Group::new(group.delimiter(), replace(group.stream(), leaf)))
            }
            other => other,
        });
        replaced.collect()
    }
    text(replace(ty.to_token_stream(), leaf))
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
