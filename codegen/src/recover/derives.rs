//! The derives: implementations that are never run, so that a family that takes the type gives no errors of its own.

use proc_macro2::{Ident, TokenStream};
use quote::quote;
use syn::{DeriveInput, GenericParam, parse_quote};

use crate::expand::private;

/// For `#[derive(InputTree)]`.
pub(crate) fn input_tree(input: &DeriveInput) -> TokenStream {
    let Some(ident) = with_one_free_parameter(input) else { return TokenStream::new() };
    let private = private();
    quote! {
        const _: () = {
            use #private as __dispatch;
            #[automatically_derived]
            #[allow(unused_variables)]
            impl<__Leaf: __dispatch::Leaf> __dispatch::InputTree for #ident<__Leaf> {
                type Leaf = __Leaf;
                type With<__B> = #ident<__B>;
                const DONATES: bool = false;
                fn accepts(&self, place: &mut __dispatch::Place) -> bool {
                    ::core::unreachable!()
                }
                fn encode(&self, sink: &mut __dispatch::Sink<'_>) {}
                fn visit<'a>(&'a self, visit: &mut dyn ::core::ops::FnMut(&'a __Leaf, bool)) {}
                fn seen<__B: __dispatch::BodyLeaf>(&self, leaves: &mut __dispatch::BodyLeaves<'_>) -> #ident<__B> {
                    ::core::unreachable!()
                }
                fn leaves(
                    &self,
                    path: &str,
                    leaves: &mut ::std::vec::Vec<(::std::string::String, __dispatch::Aval, bool)>,
                ) {
                }
                fn describe(&self, path: &str, parts: &mut ::std::vec::Vec<__dispatch::Part>) {}
                fn declare(
                    path: &str,
                    visit: &mut dyn ::core::ops::FnMut(::std::string::String, &'static __dispatch::Scope, usize),
                ) {
                }
                fn build<__S: __dispatch::TreeSource<__Leaf>>(
                    source: __S,
                ) -> ::core::result::Result<Self, __S::Error> {
                    ::core::unreachable!()
                }
            }
            #[automatically_derived]
            #[allow(unused_variables)]
            impl<__Leaf: __dispatch::Leaf> __dispatch::CheckTree for #ident<__Leaf> {
                fn check<'a>(&'a self, path: &str, checker: &mut __dispatch::Checker<'a>) -> __dispatch::Result<()> {
                    ::core::unreachable!()
                }
            }
        };
    }
}

/// For `#[derive(OutputTree)]`.
pub(crate) fn output_tree(input: &DeriveInput) -> TokenStream {
    let Some(ident) = with_one_free_parameter(input) else { return TokenStream::new() };
    let private = private();
    quote! {
        const _: () = {
            use #private as __dispatch;
            #[automatically_derived]
            #[allow(unused_variables)]
            impl __dispatch::OutputTree for #ident<__dispatch::Array> {
                const LEAVES: usize = 0;
                type With<__Leaf> = #ident<__Leaf>;
                fn with_leaves<__Leaf>(next: &mut dyn ::core::ops::FnMut() -> __Leaf) -> #ident<__Leaf> {
                    ::core::unreachable!()
                }
                fn take(outputs: &mut __dispatch::Outputs<'_>) -> Self {
                    ::core::unreachable!()
                }
                fn give(self, to: &mut dyn __dispatch::TreeVisitor) {}
                fn each(&self, see: &mut dyn ::core::ops::FnMut(&__dispatch::Array)) {}
            }
            #[automatically_derived]
            #[allow(unused_variables)]
            impl<__Leaf, __T: __dispatch::ResultTree<__Leaf>> __dispatch::ResultTree<__Leaf> for #ident<__T> {
                type Arrays = #ident<__dispatch::Array>;
                fn leaves(self, leaves: &mut ::std::vec::Vec<__Leaf>) {}
            }
        };
    }
}

/// For `#[derive(StaticArg)]`.
pub(crate) fn static_arg(input: &DeriveInput) -> TokenStream {
    let (ident, private) = (&input.ident, private());
    let mut generics = input.generics.clone();
    for param in &mut generics.params {
        match param {
            // A borrowing type cannot implement the trait, and the error says so.
            GenericParam::Lifetime(_) => return TokenStream::new(),
            GenericParam::Type(param) => param.bounds.push(parse_quote!(#private::StaticKey)),
            GenericParam::Const(_) => {}
        }
    }
    let (impl_generics, ty_generics, where_clause) = generics.split_for_impl();
    quote! {
        const _: () = {
            use #private as __dispatch;
            #[automatically_derived]
            #[allow(unused_variables)]
            impl #impl_generics __dispatch::StaticKey for #ident #ty_generics #where_clause {
                fn encode(&self, sink: &mut __dispatch::Sink<'_>) {}
                fn describe(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                    ::core::unreachable!()
                }
            }
        };
    }
}

/// For `#[derive(AttrValue)]`.
pub(crate) fn attr_value(input: &DeriveInput) -> TokenStream {
    let (ident, private) = (&input.ident, private());
    let (lifetime, arguments) = match input.generics.params.iter().collect::<Vec<_>>()[..] {
        [] => (quote!('__call), TokenStream::new()),
        [GenericParam::Lifetime(param)] => {
            let lifetime = &param.lifetime;
            (quote!(#lifetime), quote!(<#lifetime>))
        }
        // Of others the error says that they cannot be.
        _ => return TokenStream::new(),
    };
    quote! {
        const _: () = {
            use #private as __dispatch;
            #[automatically_derived]
            impl<#lifetime> __dispatch::ffi::AttrValue<#lifetime> for #ident #arguments {
                const TYPE: __dispatch::ffi::AttrType = __dispatch::ffi::AttrType::Dictionary;
                fn from_attr(_: __dispatch::ffi::Attr<#lifetime>) -> ::core::option::Option<Self> {
                    ::core::unreachable!()
                }
            }
        };
    }
}

/// The name of a type with one type parameter without bounds; of another the compiler would complain again.
fn with_one_free_parameter(input: &DeriveInput) -> Option<&Ident> {
    match input.generics.params.iter().collect::<Vec<_>>()[..] {
        [GenericParam::Type(param)] if param.bounds.is_empty() && input.generics.where_clause.is_none() => {
            Some(&input.ident)
        }
        _ => None,
    }
}
