//! `#[derive(InputTree)]` and `#[derive(OutputTree)]`.

use proc_macro2::TokenStream;
use quote::quote;

use super::paths::alias;
use super::scope::{Reads, Scope, code, dtype_name, plain, tree_call, tree_donates};
use crate::syntax::{Count, DynamicKind, InputTree, OutputKind, OutputTree};

pub(super) fn input(tree: &InputTree) -> TokenStream {
    let (ident, cfgs, alias) = (&tree.header.ident, &tree.header.cfgs, alias());
    let scope = Scope {
        owner: plain(ident),
        fields: tree.fields.iter().enumerate().collect(),
        groups: &tree.groups,
        captures: &tree.captures,
        // In parentheses, because a list is looped over and asked for its length.
        access: |field| {
            let name = &field.name;
            match field.leaves().map(|leaves| &leaves.count) {
                None | Some(Count::One) => code! { (&self.#name) },
                Some(_) => code! { (&self.#name[..]) },
            }
        },
        shape: |field| {
            let name = &field.name;
            code! { __dispatch::Leaf::shape(&self.#name) }
        },
        reads: Reads::Leaves,
    };
    let data = scope.data();
    let (bindings, accept, visit, fields) = (
        scope.bindings(),
        scope.accept(|_| TokenStream::new(), TokenStream::new()),
        scope.visit(),
        scope.check_fields(),
    );
    let encode = scope.encode(|name| code! { #name });
    let path = |name: &str| code! { __dispatch::field_path(path, #name) };
    let describe = scope.describe(|name| code! { #name }, path);
    let leaves = scope.leaves(|name| code! { #name }, path);
    let declare = scope.declare(path);
    let dtypes: Vec<TokenStream> = (0..tree.groups.len())
        .map(|i| {
            let name = dtype_name(i);
            code! { let #name = #name.unwrap_or(__dispatch::DType::Bool); }
        })
        .collect();
    let names = tree.fields.iter().map(|field| &field.name);
    let seen = scope.seen(&code! { leaves });
    let built = tree.fields.iter().enumerate().map(|(i, field)| {
        let name = &field.name;
        let value = match field.leaves().map(|leaves| &leaves.count) {
            None => {
                let nested = code! { __dispatch::TreeSource::nested(&source, &__SCOPE, #i)? };
                let build = tree_call(field, "build", &nested);
                code! { #build? }
            }
            Some(Count::One) => code! { __dispatch::TreeSource::leaf(&source, &__SCOPE, #i)? },
            Some(Count::Any) => code! {
                __dispatch::TreeSource::list(&source, &__SCOPE, #i, ::core::option::Option::None)?
            },
            Some(Count::Exactly(n)) => code! {
                __dispatch::exactly(
                    __dispatch::TreeSource::list(&source, &__SCOPE, #i, ::core::option::Option::Some(#n))?,
                )
            },
        };
        code! { #name: #value }
    });
    let donates = tree.fields.iter().map(|field| match &field.kind {
        DynamicKind::Leaves(leaves) => {
            let donate = leaves.donate;
            code! { #donate }
        }
        DynamicKind::Tree(_) => tree_donates(field),
    });
    code! {
        #(#cfgs)*
        const _: () = {
            #alias
            static __SCOPE: __dispatch::Scope = #data;

            #[automatically_derived]
            #[allow(unused_variables, unused_parens)]
            impl<__L: __dispatch::Leaf> __dispatch::InputTree for #ident<__L> {
                type Leaf = __L;
                type With<__B> = #ident<__B>;
                const DONATES: bool = false #(|| #donates)*;

                #[inline]
                fn accepts(&self, place: &mut __dispatch::Place) -> bool {
                    #bindings
                    #accept
                }

                #[inline]
                fn encode(&self, sink: &mut __dispatch::Sink<'_>) {
                    #bindings
                    #(#dtypes)*
                    #encode
                }

                #[inline]
                fn visit<'a>(&'a self, visit: &mut dyn ::core::ops::FnMut(&'a __L, bool)) {
                    #visit
                }

                fn seen<__B: __dispatch::BodyLeaf>(&self, leaves: &mut __dispatch::BodyLeaves<'_>) -> #ident<__B> {
                    #ident { #(#names: #seen),* }
                }

                fn build<__S: __dispatch::TreeSource<__L>>(
                    source: __S,
                ) -> ::core::result::Result<Self, __S::Error> {
                    __dispatch::TreeSource::enter(&source, &__SCOPE)?;
                    ::core::result::Result::Ok(#ident { #(#built),* })
                }

                fn declare(
                    path: &str,
                    visit: &mut dyn ::core::ops::FnMut(::std::string::String, &'static __dispatch::Scope, usize),
                ) {
                    #declare
                }

                fn describe(&self, path: &str, parts: &mut ::std::vec::Vec<__dispatch::Part>) {
                    #bindings
                    #(#dtypes)*
                    #describe
                }

                fn leaves(
                    &self,
                    path: &str,
                    leaves: &mut ::std::vec::Vec<(::std::string::String, __dispatch::Aval, bool)>,
                ) {
                    #bindings
                    #(#dtypes)*
                    #leaves
                }
            }

            #[automatically_derived]
            #[allow(unused_parens)]
            impl<__L: __dispatch::Leaf> __dispatch::CheckTree for #ident<__L> {
                fn check<'a>(
                    &'a self,
                    path: &str,
                    checker: &mut __dispatch::Checker<'a>,
                ) -> __dispatch::Result<()> {
                    checker.scope(&__SCOPE, #fields, path)
                }
            }
        };
    }
}

pub(super) fn output(tree: &OutputTree) -> TokenStream {
    let (ident, cfgs, alias) = (&tree.header.ident, &tree.header.cfgs, alias());
    let types: Vec<TokenStream> = tree
        .fields
        .iter()
        .map(|field| match &field.kind {
            OutputKind::Leaf => code! { __dispatch::Array },
            OutputKind::Array(n) => code! { [__dispatch::Array; #n] },
            OutputKind::Tree(path) => code! { #path<__dispatch::Array> },
        })
        .collect();
    let names: Vec<_> = tree.fields.iter().map(|field| &field.name).collect();
    let take = names.iter().zip(&types).map(|(name, ty)| {
        let take = code! { <#ty as __dispatch::OutputTree>::take(outputs) };
        quote!(#name: #take)
    });
    let with = names.iter().zip(&types).map(|(name, ty)| {
        let with = code! { <#ty as __dispatch::OutputTree>::with_leaves(next) };
        quote!(#name: #with)
    });
    let gives = names.iter().zip(&types).map(|(name, ty)| {
        code! { <#ty as __dispatch::OutputTree>::give(self.#name, to); }
    });
    let sees = names.iter().zip(&types).map(|(name, ty)| {
        code! { <#ty as __dispatch::OutputTree>::each(&self.#name, see); }
    });
    let (count, texts) = (names.len(), names.iter().map(|name| plain(name)));
    let leaves = tree.fields.iter().map(|field| {
        let name = &field.name;
        let ty = match &field.kind {
            OutputKind::Leaf => code! { __T },
            OutputKind::Array(n) => code! { [__T; #n] },
            OutputKind::Tree(path) => code! { #path<__T> },
        };
        code! { <#ty as __dispatch::ResultTree<__L>>::leaves(self.#name, leaves); }
    });
    // As conditions: that a nested struct is no output tree is said once, above.
    let nested = tree.fields.iter().filter_map(|field| match &field.kind {
        OutputKind::Tree(path) => Some(code! { #path<__T>: __dispatch::ResultTree<__L>, }),
        _ => None,
    });
    code! {
        #(#cfgs)*
        const _: () = {
            #alias
            #[automatically_derived]
            impl __dispatch::OutputTree for #ident<__dispatch::Array> {
                const LEAVES: usize = 0 #(+ <#types as __dispatch::OutputTree>::LEAVES)*;
                type With<__L> = #ident<__L>;

                fn with_leaves<__L>(next: &mut dyn ::core::ops::FnMut() -> __L) -> #ident<__L> {
                    #ident { #(#with),* }
                }

                #[inline]
                fn take(outputs: &mut __dispatch::Outputs<'_>) -> Self {
                    #ident { #(#take),* }
                }

                fn give(self, to: &mut dyn __dispatch::TreeVisitor) {
                    to.begin(#count, ::core::option::Option::Some(&[#(#texts),*]));
                    #(#gives)*
                    to.end();
                }

                fn each(&self, see: &mut dyn ::core::ops::FnMut(&__dispatch::Array)) {
                    #(#sees)*
                }
            }

            #[automatically_derived]
            impl<__L, __T> __dispatch::ResultTree<__L> for #ident<__T>
            where
                __T: __dispatch::ResultTree<__L, Arrays = __dispatch::Array>,
                #(#nested)*
            {
                type Arrays = #ident<__dispatch::Array>;

                fn leaves(self, leaves: &mut ::std::vec::Vec<__L>) {
                    #(#leaves)*
                }
            }
        };
    }
}
