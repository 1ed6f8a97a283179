//! `#[derive(StaticArg)]`.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote_spanned};
use syn::spanned::Spanned;
use syn::{GenericParam, Member, parse_quote};

use super::paths::alias;
use super::scope::{code, plain};
use crate::syntax::{StaticArg, StaticBody, StaticField};

pub(super) fn expand(arg: &StaticArg) -> TokenStream {
    let (ident, alias) = (&arg.ident, alias());
    let mut generics = arg.generics.clone();
    for param in &mut generics.params {
        if let GenericParam::Type(param) = param {
            param.bounds.push(parse_quote!(::dispatch_runtime::StaticKey));
        }
    }
    let (impl_generics, ty_generics, where_clause) = generics.split_for_impl();
    let r_names = arg.r_names();
    let (encode, describe) = match &arg.body {
        StaticBody::Struct(fields) => of_struct(ident, fields),
        StaticBody::Enum(variants) => {
            let arms = variants.iter().enumerate().map(|(i, variant)| {
                let (i, name) = (i as u64, &variant.ident);
                let pattern = pattern(&code! { Self::#name }, &variant.fields);
                let fields = variant.fields.iter().map(encode_field);
                code! { #pattern => { sink.word(#i); #(#fields)* } }
            });
            let texts = variants.iter().enumerate().map(|(i, variant)| {
                let name = &variant.ident;
                let pattern = pattern(&code! { Self::#name }, &variant.fields);
                let plain = plain(name);
                let describe = match &r_names {
                    Some(names) => {
                        let foreign = &names[i];
                        code! { __dispatch::describe_variant(f, #plain, #foreign) }
                    }
                    None => describe_fields(&plain, &variant.fields),
                };
                code! { #pattern => { #describe } }
            });
            (code! { match self { #(#arms)* } }, code! { match self { #(#texts)* } })
        }
    };
    let item = r_names.as_ref().map(|_| {
        code! {
            const ITEM: ::core::option::Option<__dispatch::ItemKind> =
                ::core::option::Option::Some(__dispatch::ItemKind::Text);
        }
    });
    let from_value = r_names.map(|names| from_value(&names, &arg.body));
    code! {
        const _: () = {
            #alias
            #[automatically_derived]
            impl #impl_generics __dispatch::StaticKey for #ident #ty_generics #where_clause {
                #item

                #[inline]
                #[allow(unused_variables)]
                fn encode(&self, sink: &mut __dispatch::Sink<'_>) {
                    #encode
                }

                fn describe(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                    #describe
                }

                #from_value
            }
        };
    }
}

/// The method that finds a variant by its name.
fn from_value(names: &[String], body: &StaticBody) -> TokenStream {
    let StaticBody::Enum(variants) = body else {
        unreachable!("only variants have names in other languages")
    };
    let arms = variants.iter().enumerate().map(|(i, variant)| {
        let name = &variant.ident;
        // The last one stands for all others, which there are none of.
        let i = if i + 1 == variants.len() {
            code! { _ }
        } else {
            code! { #i }
        };
        code! { #i => Self::#name {}, }
    });
    code! {
        fn from_value(
            value: __dispatch::StaticValue<'_>,
        ) -> ::core::result::Result<Self, __dispatch::Mismatch> {
            ::core::result::Result::Ok(match __dispatch::variant(value, &[#(#names),*])? { #(#arms)* })
        }
    }
}

fn of_struct(ident: &Ident, fields: &[StaticField]) -> (TokenStream, TokenStream) {
    let pattern = pattern(&code! { Self }, fields);
    let encode = fields.iter().map(encode_field);
    let describe = describe_fields(&plain(ident), fields);
    (code! { let #pattern = self; #(#encode)* }, code! { let #pattern = self; #describe })
}

/// `Self::Variant { 0: field_0, name: field_name }`, which fits named, numbered and no fields alike.
fn pattern(path: &TokenStream, fields: &[StaticField]) -> TokenStream {
    let fields = fields.iter().map(|field| {
        let (member, local) = (&field.member, local(&field.member));
        code! { #member: #local }
    });
    code! { #path { #(#fields),* } }
}

fn local(member: &Member) -> Ident {
    let local = match member {
        Member::Named(name) => format_ident!("field_{}", plain(name)),
        Member::Unnamed(index) => format_ident!("field_{}", index.index),
    };
    Ident::new(&local.to_string(), Span::mixed_site())
}

/// Encodes a field, at the span of its type: the compiler complains there if it is no static.
fn encode_field(field: &StaticField) -> TokenStream {
    let local = local(&field.member);
    let key = quote_spanned! {field.ty.span().resolved_at(Span::mixed_site())=> __dispatch::StaticKey };
    code! { #key::encode(#local, sink); }
}

fn describe_fields(name: &str, fields: &[StaticField]) -> TokenStream {
    let parts = fields.iter().map(|field| {
        let local = local(&field.member);
        match &field.member {
            Member::Named(name) => {
                let name = plain(name);
                code! { (#name, &__dispatch::Described(#local)) }
            }
            Member::Unnamed(_) => code! { ("", &__dispatch::Described(#local)) },
        }
    });
    code! { __dispatch::describe_fields(f, #name, &[#(#parts),*]) }
}
