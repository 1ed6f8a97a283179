//! `#[dispatch_family]`: the function, the family's type, and its methods.

mod call;
mod methods;

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{ItemFn, Stmt, parse_quote};

use super::paths::alias;
use super::scope::{Reads, Scope, code, plain};
use crate::syntax::{CaptureKind, Count, DevicePolicy, Family, Param, Pattern, Position, Shape, Static};
use call::call_struct;
use methods::methods;

/// Everything that a family becomes.
pub(super) fn expand(family: &Family) -> TokenStream {
    let (function, item) = (body(family), type_item(family));
    let (alias, scope, declared) = (alias(), scope(family), declared(family));
    let (methods, call, defaults) = (methods(family), call_struct(family), defaults(family));
    let cfgs = &family.cfgs;
    // The compiler complains of a name where the user has written it, once.
    let is_upper = |param: &Param| param.name().to_string().contains(char::is_uppercase);
    let names = family.params.iter().any(is_upper).then(|| code! { #[allow(non_snake_case)] });
    code! {
        #function
        #item
        #(#cfgs)*
        #names
        const _: () = {
            #alias
            #declared
            #methods
            #scope
            #call
            #(#defaults)*
        };
    }
}

/// The defaults of static arguments, which only R uses, have to be of their types all the same.
fn defaults(family: &Family) -> Vec<TokenStream> {
    let default = |fixed: &Static| {
        let (ty, default) = (&fixed.ty, fixed.default.as_ref()?);
        Some(
            quote_spanned! {default.span().resolved_at(Span::mixed_site())=> const _: fn() -> #ty = || #default; },
        )
    };
    family.statics().filter_map(|(_, fixed)| default(fixed)).collect()
}

/// The user's function with the captured names bound at its beginning.
fn body(family: &Family) -> ItemFn {
    let mut function = family.item.clone();
    let bindings: Vec<Stmt> = family
        .captures
        .iter()
        .map(|capture| {
            let name = &capture.ident;
            let binding = capture.binding();
            let Param::Dynamic(param) = &family.params[binding.param] else {
                unreachable!("names stand in shapes of dynamic arguments")
            };
            let leaves = param.leaves().expect("names stand in shapes of arrays");
            let argument = &param.name;
            let shape = match leaves.count {
                Count::One => quote!(#argument.shape()),
                _ => quote!(#argument[0].shape()),
            };
            let rank = match &leaves.shape {
                Shape::Pattern(Pattern { dims, .. }) => dims.len(),
                Shape::Same(_) => 0,
            };
            let value = match binding.at {
                Position::Front(i) => quote!(#shape[#i]),
                Position::Back(i) => quote!(#shape[#shape.len() - 1 - #i]),
                Position::Leading => quote!(#shape[..#shape.len() - #rank].to_vec()),
            };
            match capture.kind {
                CaptureKind::Dim => parse_quote!(#[allow(unused_variables)] let #name: i64 = #value;),
                CaptureKind::Leading => {
                    parse_quote!(#[allow(unused_variables)] let #name: ::std::vec::Vec<i64> = #value;)
                }
            }
        })
        .collect();
    function.block.stmts.splice(0..0, bindings);
    function
}

/// The type of the family.
fn type_item(family: &Family) -> TokenStream {
    let Family { docs, cfgs, vis, type_name, fn_name, .. } = family;
    let private = super::paths::private();
    let docs = &docs.attrs;
    let about = format!(
        " Family of the programs that [`{fn_name}`] makes, one for each combination of dtypes, shapes and static values."
    );
    let paragraph = if docs.is_empty() { None } else { Some(quote!(#[doc = ""])) };
    code! {
        #(#docs)*
        #paragraph
        #[doc = #about]
        #(#cfgs)*
        #vis struct #type_name(#private::Family);
    }
}

/// What the runtime wants to know of the declaration.
fn declared(family: &Family) -> TokenStream {
    let Family { type_name, fn_name, options, .. } = family;
    let name = plain(fn_name);
    let settings = code! { settings };
    let capacity = options.capacity.as_ref().map(|capacity| {
        quote_spanned! {capacity.span()=>
            #settings.capacity = {
                const __CAPACITY: usize = #capacity;
                const { assert!(__CAPACITY > 0, "a family's capacity is at least 1") };
                __CAPACITY
            };
        }
    });
    let eviction = options.eviction.as_ref().map(|policy| {
        quote_spanned! {policy.span().resolved_at(Span::mixed_site())=> let #settings = #settings.eviction(#policy); }
    });
    let device = match options.device {
        DevicePolicy::FirstInput => None,
        DevicePolicy::Fixed => Some(code! { settings.device = __dispatch::DevicePolicy::Fixed; }),
    };
    let default_device = options.default_device.as_ref().map(|path| {
        quote_spanned! {path.span().resolved_at(Span::mixed_site())=>
            #settings.default_device = ::core::option::Option::Some(#path);
        }
    });
    let scope = local_scope(family);
    let declare = scope.declare(|name| code! { ::std::string::String::from(#name) });
    // Structs are named as in all other places, by what they hold.
    let declare = match scope.is_nested() {
        false => declare,
        true => code! {
            fn all<__L: __dispatch::Leaf>(
                visit: &mut dyn ::core::ops::FnMut(::std::string::String, &'static __dispatch::Scope, usize),
            ) {
                #declare
            }
            all::<__dispatch::Array>(visit);
        },
    };
    let statics = family.statics().map(|(_, fixed)| {
        let (name, ty) = (plain(&fixed.name), &fixed.ty);
        code! { visit(#name, __dispatch::expected(|value| <#ty as __dispatch::StaticKey>::from_value(value))); }
    });
    code! {
        impl __dispatch::DeclaredFamily for #type_name {
            fn settings() -> __dispatch::Settings {
                #[allow(unused_mut)]
                let mut settings = __dispatch::Settings::new(#name);
                #capacity
                #device
                #default_device
                #eviction
                settings
            }

            fn from_family(family: __dispatch::Family) -> Self {
                Self(family)
            }

            fn family(&self) -> &__dispatch::Family {
                &self.0
            }

            fn scope() -> &'static __dispatch::Scope {
                &__SCOPE
            }

            #[allow(unused_variables)]
            fn declare(
                visit: &mut dyn ::core::ops::FnMut(::std::string::String, &'static __dispatch::Scope, usize),
            ) {
                #declare
            }

            #[allow(unused_variables)]
            fn declare_statics(visit: &mut dyn ::core::ops::FnMut(&'static str, ::std::string::String)) {
                #(#statics)*
            }
        }
    }
}

fn scope(family: &Family) -> TokenStream {
    let data = local_scope(family).data();
    code! { static __SCOPE: __dispatch::Scope = #data; }
}

/// The arguments as local variables of a method.
fn local_scope(family: &Family) -> Scope<'_> {
    Scope {
        owner: plain(&family.fn_name),
        fields: family.dynamics().collect(),
        groups: &family.groups,
        captures: &family.captures,
        access: |field| {
            let name = &field.name;
            match field.leaves().map(|leaves| &leaves.count) {
                Some(Count::One) => code! { &#name },
                _ => code! { #name },
            }
        },
        shape: |field| {
            let name = &field.name;
            code! { #name.shape() }
        },
        reads: Reads::Leaves,
    }
}

/// The arguments as fields of the `Call`.
fn call_scope(family: &Family) -> Scope<'_> {
    Scope {
        access: |field| {
            let name = &field.name;
            match field.leaves().map(|leaves| &leaves.count) {
                Some(Count::One) => code! { &self.#name },
                _ => code! { self.#name },
            }
        },
        shape: |field| {
            let name = &field.name;
            code! { self.#name.shape() }
        },
        ..local_scope(family)
    }
}

fn output(family: &Family) -> TokenStream {
    match &family.output.ty {
        Some(ty) => ty.to_token_stream(),
        None => code! { __dispatch::Array },
    }
}
