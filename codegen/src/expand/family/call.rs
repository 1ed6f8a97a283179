//! The checked arguments of one call: how they are checked, and what the key and the body need of them.

use proc_macro2::{Ident, Span, TokenStream};
use quote::quote;
use syn::spanned::Spanned;

use super::super::scope::{Scope, capture_name, code, dtype_name, plain, require, tree_call, tree_donates};
use super::{call_scope, local_scope, output};
use crate::syntax::{CaptureKind, Count, Dynamic, DynamicKind, Family, Leaves, Param, Static};

/// The checked arguments of one call, with what the key and the body need of them.
pub(super) fn call_struct(family: &Family) -> TokenStream {
    let scope = call_scope(family);
    let types = argument_types(family);
    let names: Vec<&Ident> = family.params.iter().map(Param::name).collect();
    let dtypes: Vec<Ident> = (0..family.groups.len()).map(dtype_name).collect();
    let sizes: Vec<Ident> = family.captures.iter().map(capture_name).collect();
    let size_types = family.captures.iter().map(|capture| match capture.kind {
        CaptureKind::Dim => code! { i64 },
        CaptureKind::Leading => code! { &'a [i64] },
    });
    let (bind, encode, describe) = (bind_fn(family), encode_fn(family, &scope), describe_fn(family, &scope));
    let (request, body) = (request_fn(family, &scope), body_fn(family, &scope));
    let visits =
        scope.fields.iter().filter(|(_, field)| field.leaves().is_none()).map(|(_, field)| visit_fns(field));
    code! {
        /// A call whose arguments are what the signature allows.
        struct __Call<'a, __L, __C> {
            __device: u32,
            #(#dtypes: __dispatch::DType,)*
            #(#sizes: #size_types,)*
            #(#names: #types,)*
            __context: &'a __C,
            __leaf: ::core::marker::PhantomData<&'a __L>,
        }

        #[allow(clippy::too_many_arguments, clippy::clone_on_copy)]
        impl<'a, __L: __dispatch::Leaf, __C: __dispatch::StaticKey> __Call<'a, __L, __C> {
            #bind
            #encode
            #describe
            #request
            #body
            #(#visits)*
        }
    }
}

/// Visits the arrays of a struct, for `call`.
fn visit_fns(field: &Dynamic) -> TokenStream {
    let (name, donates) = (&field.name, tree_donates(field));
    let (visit, donated) = (visit_name(field), donated_name(field));
    let visit_all = tree_call(field, "visit", &code! { self.#name, visit });
    let each = code! { self.#name, &mut |leaf, donated| if donated { visit(leaf) } };
    let visit_donated = tree_call(field, "visit", &each);
    code! {
        #[inline(always)]
        fn #visit(&self, visit: &mut dyn ::core::ops::FnMut(&'a __L, bool)) {
            #visit_all;
        }

        #[inline(always)]
        fn #donated(&self, visit: &mut dyn ::core::ops::FnMut(&__L)) {
            if #donates {
                #visit_donated;
            }
        }
    }
}

/// The types by which a `Call` holds its arguments.
fn argument_types(family: &Family) -> Vec<TokenStream> {
    let argument = |param: &Param| match param {
        Param::Static(Static { ty, .. }) => code! { &'a #ty },
        Param::Dynamic(Dynamic { kind, .. }) => match kind {
            DynamicKind::Tree(path) => code! { &'a #path<__L> },
            DynamicKind::Leaves(Leaves { count: Count::One, .. }) => code! { __dispatch::Arg<'a> },
            DynamicKind::Leaves(_) => code! { &'a [__L] },
        },
    };
    family.params.iter().map(argument).collect()
}

fn bind_fn(family: &Family) -> TokenStream {
    let scope = local_scope(family);
    let types = argument_types(family);
    let names: Vec<&Ident> = family.params.iter().map(Param::name).collect();
    let dtypes: Vec<Ident> = (0..family.groups.len()).map(dtype_name).collect();
    let sizes: Vec<Ident> = family.captures.iter().map(capture_name).collect();
    // At once, while the array is at hand: looking at it again later costs as much as the check.
    let keep = |index: usize| {
        let slot =
            slots(&scope).iter().position(|field| *field == index).expect("single arguments have slots");
        code! { buffers[#slot] = __dispatch::buffer(leaf); }
    };
    let accept = scope.accept(keep, distinct(&scope));
    let (bindings, fields, count) = (scope.bindings(), scope.check_fields(), slots(&scope).len());
    // Copies whose address is taken only here keep the arguments of the hit path in registers.
    let copies =
        scope.fields.iter().filter(|(_, f)| f.leaves().is_some_and(|l| matches!(l.count, Count::One))).map(
            |(_, field)| {
                let name = &field.name;
                code! { let #name = #name; }
            },
        );
    code! {
        /// Checks the arguments.
        #[inline(always)]
        fn bind(
            family: &__dispatch::Family,
            #(#names: #types,)*
            context: &'a __C,
            buffers: &mut [__dispatch::RawBuffer; #count],
        ) -> __dispatch::Result<Self> {
            let place = &mut family.place();
            #bindings
            let accepted = #accept;
            if !accepted {
                #(#copies)*
                return ::core::result::Result::Err(family.reject(&__SCOPE, #fields));
            }
            #(let #dtypes = #dtypes.unwrap_or(__dispatch::DType::Bool);)*
            let device = family.device_of(place)?;
            ::core::result::Result::Ok(__Call {
                __device: device,
                #(#dtypes,)*
                #(#sizes,)*
                #(#names,)*
                __context: context,
                __leaf: ::core::marker::PhantomData,
            })
        }
    }
}

/// The indices of the arguments that are one array or value; each has a slot for its buffer.
pub(super) fn slots(scope: &Scope<'_>) -> Vec<usize> {
    let single = |field: &Dynamic| field.leaves().is_some_and(|leaves| matches!(leaves.count, Count::One));
    scope.fields.iter().filter(|(_, field)| single(field)).map(|(index, _)| *index).collect()
}

/// The check that no donated array is passed twice.
fn distinct(scope: &Scope<'_>) -> TokenStream {
    let donates = |field: &Dynamic| field.leaves().is_some_and(|leaves| leaves.donate);
    if scope.is_nested() {
        let some = scope.fields.iter().any(|(_, field)| donates(field));
        let trees = scope.fields.iter().filter_map(|(_, field)| match &field.kind {
            DynamicKind::Tree(_) => {
                let donates = tree_donates(field);
                Some(code! { || #donates })
            }
            DynamicKind::Leaves(_) => None,
        });
        let visit = scope.visit();
        let distinct = require(code! {
            __dispatch::distinct(&|visit: &mut dyn ::core::ops::FnMut(&dyn __dispatch::Leaf, bool)| { #visit })
        });
        return code! { if #some #(#trees)* { #distinct } };
    }
    let pairs = scope.fields.iter().enumerate().flat_map(|(i, (_, a))| {
        scope.fields[i + 1..]
            .iter()
            .filter(move |(_, b)| donates(a) || donates(b))
            .map(move |(_, b)| (*a, *b))
    });
    let checks = pairs.map(|(a, b)| {
        let (a, b) = ((scope.access)(a), (scope.access)(b));
        require(code! { !__dispatch::same_array(#a, #b) })
    });
    code! { #(#checks)* }
}

fn encode_fn(family: &Family, scope: &Scope<'_>) -> TokenStream {
    let dynamics = scope.encode(|name| code! { self.#name });
    let statics = family.statics().map(|(_, fixed)| {
        let (name, ty) = (&fixed.name, &fixed.ty);
        code! { <#ty as __dispatch::StaticKey>::encode(self.#name, sink); }
    });
    code! {
        /// The key. The device of a family with `device = fixed` is always the same, unless a builder changed that.
        #[inline(always)]
        fn encode(&self, sink: &mut __dispatch::Sink<'_>) {
            sink.word(self.__device as u64);
            #dynamics
            #(#statics)*
            __dispatch::StaticKey::encode(self.__context, sink);
        }
    }
}

fn describe_fn(family: &Family, scope: &Scope<'_>) -> TokenStream {
    let dynamics =
        scope.describe(|name| code! { self.#name }, |name| code! { ::std::string::String::from(#name) });
    let statics = family.statics().map(|(_, fixed)| {
        let (name, ty, text) = (&fixed.name, &fixed.ty, plain(&fixed.name));
        code! {
            parts.push(__dispatch::part_static(family, #text, |f| {
                <#ty as __dispatch::StaticKey>::describe(self.#name, f)
            }));
        }
    });
    let context = family.options.context.as_ref().map(|_| {
        code! {
            parts.push(__dispatch::part_context(|f| __dispatch::StaticKey::describe(self.__context, f)));
        }
    });
    code! {
        /// The parts of the key, for people.
        #[cold]
        fn describe(&self, family: &__dispatch::Family) -> ::std::vec::Vec<__dispatch::Part> {
            let mut all = ::std::vec::Vec::new();
            let parts = &mut all;
            family.describe_device(self.__device, parts);
            #dynamics
            #(#statics)*
            #context
            all
        }
    }
}

fn request_fn(family: &Family, scope: &Scope<'_>) -> TokenStream {
    let output = output(family);
    let leaves =
        scope.leaves(|name| code! { self.#name }, |name| code! { ::std::string::String::from(#name) });
    let context = match &family.options.context {
        Some(_) => code! {
            ::core::option::Option::Some(::std::boxed::Box::new(::core::clone::Clone::clone(self.__context)) as _)
        },
        None => code! { ::core::option::Option::None },
    };
    code! {
        /// What the program has to be compiled for.
        #[cold]
        fn request(&self) -> __dispatch::Request {
            let mut all = ::std::vec::Vec::new();
            #[allow(unused_variables)]
            let leaves = &mut all;
            #leaves
            __dispatch::Request {
                device: self.__device,
                context: #context,
                leaves: all,
                results: <#output as __dispatch::OutputTree>::LEAVES,
            }
        }
    }
}

fn body_fn(family: &Family, scope: &Scope<'_>) -> TokenStream {
    let output = output(family);
    let function = &family.fn_name;
    let mut seen = scope.seen(&code! { &mut leaves }).into_iter();
    let cx = family.cx.as_ref().map(|_| code! { cx, });
    let arguments = family.params.iter().map(|param| match param {
        Param::Dynamic(_) => seen.next().expect("one per dynamic argument"),
        Param::Static(fixed) => {
            let (name, ty) = (&fixed.name, &fixed.ty);
            code! { <#ty as __dispatch::StaticKey>::to_static(self.#name) }
        }
    });
    let arguments = quote!(#(#arguments),*);
    // At the span of the error's type, where the compiler complains if it is none.
    let span = family.output.error.as_ref().map_or_else(Span::mixed_site, |ty| ty.span());
    let convert = Ident::new("into_body_error", span.resolved_at(Span::mixed_site()));
    code! {
        /// The user's function on what it sees of the arguments.
        #[cold]
        #[allow(unused_variables, unused_mut)]
        fn body(
            &self,
            cx: &__dispatch::CompileCx,
        ) -> ::core::result::Result<__dispatch::Program<#output>, __dispatch::BodyError> {
            #[allow(unused_imports)]
            use __dispatch::TextFailure as _;
            let mut leaves = __dispatch::BodyLeaves::new(cx);
            #function(#cx #arguments).map_err(|error| __dispatch::Failure(error).#convert())
        }
    }
}

/// The name of the method that visits a struct's arrays.
pub(super) fn visit_name(field: &Dynamic) -> Ident {
    Ident::new(&format!("__visit_{}", plain(&field.name)), Span::mixed_site())
}

/// The name of the method that visits a struct's donated arrays.
pub(super) fn donated_name(field: &Dynamic) -> Ident {
    Ident::new(&format!("__donated_{}", plain(&field.name)), Span::mixed_site())
}
