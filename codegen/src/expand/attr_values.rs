//! `#[derive(AttrValue)]`.

use proc_macro2::{Ident, Span, TokenStream};
use quote::quote_spanned;
use syn::spanned::Spanned;
use syn::{GenericParam, Lifetime};

use super::handler::{attr_spec, take};
use super::paths::alias;
use super::scope::{code, plain};
use crate::syntax::{AttrBody, AttrField, AttrValue};

pub(super) fn expand(value: &AttrValue) -> TokenStream {
    let (ident, alias, name) = (&value.ident, alias(), plain(&value.ident));
    // What is borrowed is borrowed from the call, by the type's own lifetime.
    let own = value.generics.params.iter().find_map(|param| match param {
        GenericParam::Lifetime(param) => Some(param.lifetime.clone()),
        _ => None,
    });
    let call = own.clone().unwrap_or_else(|| Lifetime::new("'__call", Span::mixed_site()));
    let arguments = own.map(|own| code! { <#own> });
    let (ty, from_attr) = match &value.body {
        AttrBody::Enum(integer, variants) => of_enum(&name, integer, variants),
        AttrBody::Struct(fields) => of_struct(&name, fields, &call),
    };
    code! {
        const _: () = {
            #alias
            #[automatically_derived]
            impl<#call> __dispatch::ffi::AttrValue<#call> for #ident #arguments {
                const TYPE: __dispatch::ffi::AttrType = #ty;

                #[inline]
                fn from_attr(attr: __dispatch::ffi::Attr<#call>) -> ::core::option::Option<Self> {
                    #from_attr
                }
            }
        };
    }
}

/// An integer that is one of the discriminants.
fn of_enum(name: &str, integer: &Ident, variants: &[Ident]) -> (TokenStream, TokenStream) {
    let integer = code! { ::core::primitive::#integer };
    let pairs = variants.iter().map(|variant| {
        let text = plain(variant);
        code! { (#text, Self::#variant as #integer as ::core::primitive::i64) }
    });
    let ty = code! {
        __dispatch::ffi::AttrType::Enum {
            name: #name,
            repr: __dispatch::ffi::integer_type::<#integer>(),
            variants: &[#(#pairs),*],
        }
    };
    let arms = variants.iter().map(|variant| {
        code! { number if number == Self::#variant as #integer => ::core::option::Option::Some(Self::#variant), }
    });
    let from_attr = code! {
        match <#integer as __dispatch::ffi::AttrValue<'_>>::from_attr(attr)? {
            #(#arms)*
            _ => ::core::option::Option::None,
        }
    };
    (ty, from_attr)
}

/// A dictionary whose members are the fields, taken in the order of their names.
fn of_struct(name: &str, fields: &[AttrField], call: &Lifetime) -> (TokenStream, TokenStream) {
    let mut sorted: Vec<&AttrField> = fields.iter().collect();
    sorted.sort_by_key(|field| field.attr.name.value());
    let members = sorted.iter().map(|field| attr_spec(&field.attr));
    let ty = code! {
        __dispatch::ffi::AttrType::Struct { name: #name, members: &[#(#members),*] }
    };
    let take = sorted.iter().map(|field| {
        let (local, ty) = (local(&field.ident), &field.attr.ty);
        let default = Ident::new("default", Span::mixed_site());
        let make = field.attr.default.as_ref().map(|value| {
            let span = value.span().resolved_at(Span::mixed_site());
            quote_spanned! {span=> let #default = || -> #ty { #value }; }
        });
        let value = take(&field.attr, &default, &code! { members });
        code! { let #local = { #make #value? }; }
    });
    let set = fields.iter().map(|field| {
        let (ident, local) = (&field.ident, local(&field.ident));
        code! { #ident: #local }
    });
    let mutable = (!fields.is_empty()).then(|| code! { mut });
    let from_attr = code! {
        let dictionary = <__dispatch::ffi::Dictionary<#call> as __dispatch::ffi::AttrValue<#call>>::from_attr(attr)?;
        let #mutable members = __dispatch::ffi::Cursor::new(dictionary);
        #(#take)*
        if !members.finished() {
            return ::core::option::Option::None;
        }
        ::core::option::Option::Some(Self { #(#set),* })
    };
    (ty, from_attr)
}

/// The variable that holds a member.
fn local(ident: &Ident) -> Ident {
    Ident::new(&format!("member_{}", plain(ident)), Span::mixed_site())
}
