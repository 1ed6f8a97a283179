//! Nested structs: calls of their trait.

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::quote_spanned;

use crate::syntax::{Dynamic, DynamicKind};

/// `<P<__L> as InputTree>` for a nested struct, always in these words: if the struct is none, the compiler complains
/// at its type and, the complaints being equal, once.
fn tree_trait(field: &Dynamic) -> TokenStream {
    let DynamicKind::Tree(path) = &field.kind else { unreachable!("asked for nested structs only") };
    quote_spanned! {field.span.resolved_at(Span::mixed_site())=> <#path<__L> as __dispatch::InputTree> }
}

/// Whether a nested struct has donated arrays.
pub(in crate::expand) fn tree_donates(field: &Dynamic) -> TokenStream {
    let tree = tree_trait(field);
    quote_spanned! {field.span.resolved_at(Span::mixed_site())=> #tree::DONATES }
}

/// A call of a method of [`tree_trait`], all of it at the span of the type.
pub(in crate::expand) fn tree_call(field: &Dynamic, method: &str, arguments: &TokenStream) -> TokenStream {
    let span = field.span.resolved_at(Span::mixed_site());
    let (tree, method) = (tree_trait(field), Ident::new(method, span));
    let arguments = located_at(arguments, span);
    quote_spanned! {span=> #tree::#method(#arguments) }
}

/// The same tokens, with the same hygiene, at another place in the source.
fn located_at(tokens: &TokenStream, place: Span) -> TokenStream {
    let relocated = tokens.clone().into_iter().map(|mut token| {
        if let TokenTree::Group(group) = &token {
            token = proc_macro2::Group::new(group.delimiter(), located_at(&group.stream(), place)).into();
        }
        token.set_span(token.span().located_at(place));
        token
    });
    relocated.collect()
}
