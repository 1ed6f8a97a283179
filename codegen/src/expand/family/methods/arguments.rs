//! How the methods take their arguments: the parameters, the statements that borrow them, and what they are bound to.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;

use super::super::super::scope::{code, plain};
use super::super::call::slots;
use super::super::local_scope;
use super::write_back;
use crate::syntax::{Count, Dynamic, DynamicKind, Family, Param, Static};

/// The parameters of `call` and `explain`, and the statements that borrow them.
pub(super) fn parameters(family: &Family) -> (TokenStream, TokenStream) {
    let parameter = |param: &Param| match param {
        Param::Static(Static { name, ty, .. }) => quote!(#name: #ty),
        Param::Dynamic(Dynamic { name, kind, .. }) => match kind {
            DynamicKind::Tree(path) => code! { #name: &#path<__dispatch::Array> },
            DynamicKind::Leaves(leaves) => match &leaves.count {
                Count::One => code! { #name: impl __dispatch::Dynamic },
                Count::Any => code! { #name: impl ::core::convert::AsRef<[__dispatch::Array]> },
                Count::Exactly(n) => code! { #name: &[__dispatch::Array; #n] },
            },
        },
    };
    let borrow = |(field, dynamic): (usize, &Dynamic)| {
        let name = &dynamic.name;
        let room = Ident::new(&format!("room_{}", plain(name)), Span::mixed_site());
        let passed = passed(dynamic);
        match dynamic.leaves().map(|leaves| &leaves.count) {
            Some(Count::One) => code! {
                let mut #room = [0];
                let #passed = &#name;
                __dispatch::Dynamic::open(#passed, &__SCOPE, #field)?;
                let #name = __dispatch::Dynamic::arg(#passed, &mut #room);
            },
            Some(Count::Any) => {
                code! { let #name: &[__dispatch::Array] = ::core::convert::AsRef::as_ref(&#name); }
            }
            Some(Count::Exactly(_)) => code! { let #name: &[__dispatch::Array] = #name; },
            None => TokenStream::new(),
        }
    };
    let parameters = family.params.iter().map(parameter);
    let borrows = family.dynamics().map(|(_, dynamic)| dynamic).enumerate().map(borrow);
    let distinct = write_back::distinct(family);
    (code! { #(#parameters),* }, code! { #(#borrows)* #distinct })
}

/// The name of the variable that refers to an argument as it was passed.
pub(super) fn passed(field: &Dynamic) -> Ident {
    Ident::new(&format!("passed_{}", plain(&field.name)), Span::mixed_site())
}

/// The parameters of `warm` and `inspect`, and the statements that borrow them.
pub(super) fn abstract_parameters(family: &Family) -> (TokenStream, TokenStream) {
    let parameters = family.params.iter().map(|param| match param {
        Param::Static(Static { name, ty, .. }) => quote!(#name: #ty),
        Param::Dynamic(Dynamic { name, kind, .. }) => match kind {
            DynamicKind::Tree(path) => code! { #name: &#path<__dispatch::Aval> },
            DynamicKind::Leaves(leaves) => match &leaves.count {
                Count::One => code! { #name: impl ::core::convert::Into<__dispatch::Aval> },
                Count::Any => code! { #name: impl ::core::convert::AsRef<[__dispatch::Aval]> },
                Count::Exactly(n) => code! { #name: &[__dispatch::Aval; #n] },
            },
        },
    });
    let borrows = family.dynamics().map(|(_, dynamic)| {
        let name = &dynamic.name;
        match dynamic.leaves().map(|leaves| &leaves.count) {
            Some(Count::One) => {
                let aval = Ident::new(&format!("aval_{}", plain(name)), Span::mixed_site());
                code! {
                    let #aval: __dispatch::Aval = ::core::convert::Into::into(#name);
                    let #name = __dispatch::Arg::Abstract(&#aval);
                }
            }
            Some(Count::Any) => {
                code! { let #name: &[__dispatch::Aval] = ::core::convert::AsRef::as_ref(&#name); }
            }
            Some(Count::Exactly(_)) => code! { let #name: &[__dispatch::Aval] = #name; },
            None => TokenStream::new(),
        }
    });
    (code! { #(#parameters),* }, code! { #(#borrows)* })
}

/// `Call::bind(…)` with every argument; `leaf` is what lists and structs hold.
pub(super) fn bind(family: &Family, leaf: &str, buffers: &TokenStream) -> TokenStream {
    let leaf = Ident::new(leaf, Span::mixed_site());
    let arguments = family.params.iter().map(|param| {
        let name = param.name();
        match param {
            Param::Dynamic(_) => quote!(#name),
            Param::Static(_) => code! { &#name },
        }
    });
    code! { __Call::<__dispatch::#leaf, _>::bind(&self.0, #(#arguments,)* &context, #buffers) }
}

pub(super) fn context(family: &Family) -> TokenStream {
    match &family.options.context {
        Some(path) => quote_spanned! {path.span().resolved_at(Span::mixed_site())=> let context = #path(); },
        None => code! { let context = (); },
    }
}

/// Room for buffers that nobody looks at.
pub(super) fn no_buffers(family: &Family) -> TokenStream {
    let count = slots(&local_scope(family)).len();
    code! { &mut [__dispatch::NO_BUFFER; #count] }
}
