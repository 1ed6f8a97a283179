//! The methods of a family's type.

mod arguments;
mod write_back;

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote};

use super::super::scope::{Scope, code, dtype_name, plain};
use super::call::{donated_name, slots, visit_name};
use super::{local_scope, output};
use crate::syntax::{Count, Dynamic, DynamicKind, Family, Leaves, Param, Static};
use arguments::{abstract_parameters, bind, context, no_buffers, parameters, passed};

/// The methods of the family.
pub(super) fn methods(family: &Family) -> TokenStream {
    let type_name = &family.type_name;
    let (call, warm, explain) = (call_method(family), warm_method(family), explain_method(family));
    let inspect = inspect_method(family);
    let miss = miss_method(family);
    code! {
        impl #type_name {
            /// Makes the family with an empty cache.
            pub fn new(client: &__dispatch::Client) -> Self {
                __dispatch::declared(client)
            }

            /// Makes the family with another capacity, eviction policy or device than its declaration says.
            pub fn builder(client: &__dispatch::Client) -> __dispatch::FamilyBuilder<Self> {
                __dispatch::FamilyBuilder::new(client)
            }

            #call
            #warm
            #explain
            #inspect
            #miss

            /// Hits, misses, compiles, evictions, and what is in the cache.
            pub fn stats(&self) -> __dispatch::Stats {
                self.0.stats()
            }

            /// Forgets every compiled program; calls that are running end as usual.
            pub fn clear(&self) {
                self.0.clear();
            }
        }
    }
}

/// Finds the entry or compiles it.
fn entry() -> TokenStream {
    code! {
        match self.0.find(|sink| call.encode(sink)) {
            ::core::option::Option::Some(entry) => entry,
            ::core::option::Option::None => self.0.compile(
                |sink| call.encode(sink),
                || call.describe(&self.0),
                || call.request(),
                |cx| call.body(cx),
            )?,
        }
    }
}

/// Finds the entry or goes to [`miss_method`].
fn entry_of_hit(family: &Family) -> TokenStream {
    let arguments = family.params.iter().map(|param| match param {
        Param::Static(Static { name, .. }) => code! { &#name },
        Param::Dynamic(dynamic) => match dynamic.leaves().map(|leaves| &leaves.count) {
            Some(Count::One) => passed(dynamic).into_token_stream(),
            _ => dynamic.name.to_token_stream(),
        },
    });
    code! {
        match self.0.find(|sink| call.encode(sink)) {
            ::core::option::Option::Some(entry) => entry,
            ::core::option::Option::None => Self::__miss(&self.0, #(#arguments,)* &context)?,
        }
    }
}

/// The rest of `call` for a key that was not found. It checks its arguments anew instead of being given the `Call`, so
/// that what the hit path knows about the arguments can stay in registers.
fn miss_method(family: &Family) -> TokenStream {
    let parameters = family.params.iter().map(|param| match param {
        Param::Static(Static { name, ty, .. }) => code! { #name: &#ty },
        Param::Dynamic(Dynamic { name, kind, .. }) => match kind {
            DynamicKind::Tree(path) => code! { #name: &#path<__dispatch::Array> },
            DynamicKind::Leaves(leaves) => match &leaves.count {
                Count::One => code! { #name: &impl __dispatch::Dynamic },
                _ => code! { #name: &[__dispatch::Array] },
            },
        },
    });
    let borrows = family.dynamics().filter_map(|(_, dynamic)| {
        let name = &dynamic.name;
        let room = Ident::new(&format!("room_{}", plain(name)), Span::mixed_site());
        matches!(dynamic.leaves()?.count, Count::One).then(|| {
            code! {
                let mut #room = [0];
                let #name = __dispatch::Dynamic::arg(#name, &mut #room);
            }
        })
    });
    let names = family.params.iter().map(Param::name);
    let buffers = no_buffers(family);
    code! {
        #[cold]
        #[inline(never)]
        #[allow(clippy::too_many_arguments)]
        fn __miss<'f>(
            family: &'f __dispatch::Family,
            #(#parameters,)*
            context: &impl __dispatch::StaticKey,
        ) -> __dispatch::Result<__dispatch::Entry<'f>> {
            #(#borrows)*
            let call = __Call::<__dispatch::Array, _>::bind(family, #(#names,)* context, #buffers)?;
            family.compile(
                |sink| call.encode(sink),
                || call.describe(family),
                || call.request(),
                |cx| call.body(cx),
            )
        }
    }
}

fn call_method(family: &Family) -> TokenStream {
    let (parameters, borrows) = parameters(family);
    let (bind, entry, output) =
        (bind(family, "Array", &code! { &mut buffers }), entry_of_hit(family), output(family));
    let context = context(family);
    let scope = local_scope(family);
    // Host values are converted before the cache is asked: a call that is refused compiles nothing.
    let ready = converted(&scope);
    let singles: Vec<(usize, &Dynamic)> = slots(&scope)
        .into_iter()
        .enumerate()
        .map(|(slot, index)| {
            (slot, scope.fields.iter().find(|(i, _)| *i == index).expect("a slot has a field").1)
        })
        .collect();
    let count = singles.len();
    let upload = singles.iter().map(|(slot, field)| {
        let (name, held) = (&field.name, held(field));
        code! { let #held = __dispatch::Ready::upload(&#name, &mut buffers[#slot], &self.0, device)?; }
    });
    let bring = singles.iter().map(|(slot, field)| {
        let name = &field.name;
        code! { __dispatch::Ready::bring(&#name, &mut buffers[#slot], &self.0, device, copies)?; }
    });
    let bring = (count > 0).then(|| {
        code! {
            let mut copies = ::core::option::Option::None;
            if self.0.moves() {
                let copies = copies.insert(__dispatch::Copies::new());
                #(#bring)*
            }
        }
    });
    let buffers = if scope.is_nested() {
        nested_buffers(&scope)
    } else {
        code! { let buffers = &buffers; }
    };
    let donated = donated(&scope);
    let docs = call_docs(family);
    let run = write_back::run(family, &output, &donated);
    code! {
        #docs
        #[inline]
        #[allow(clippy::too_many_arguments)]
        pub fn call(&self, #parameters) -> __dispatch::Result<#output> {
            #borrows
            #context
            #[allow(unused_mut)]
            let mut buffers = [__dispatch::NO_BUFFER; #count];
            let call = #bind?;
            #(#ready)*
            let entry = #entry;
            let device = entry.device();
            #(#upload)*
            #bring
            #buffers
            let mut outs = [::core::option::Option::None; <#output as __dispatch::OutputTree>::LEAVES];
            #run
        }
    }
}

/// Statements that convert each argument that may be a host value, in the place of the argument itself.
fn converted(scope: &Scope<'_>) -> Vec<TokenStream> {
    let convert = |field: &Dynamic| match &field.kind {
        DynamicKind::Leaves(Leaves { count: Count::One, group, .. }) => {
            let (name, text, dtype) = (&field.name, plain(&field.name), dtype_name(*group));
            let passed = passed(field);
            Some(code! { let #name = __dispatch::ready(#passed, #name, call.#dtype, #text)?; })
        }
        _ => None,
    };
    scope.fields.iter().filter_map(|(_, field)| convert(field)).collect()
}

/// The name of the variable that holds what lives with an argument's buffer.
fn held(field: &Dynamic) -> Ident {
    Ident::new(&format!("_held_{}", plain(&field.name)), Span::mixed_site())
}

/// The buffers of a call with lists or structs.
fn nested_buffers(scope: &Scope<'_>) -> TokenStream {
    let slots = slots(scope);
    let pushes = scope.fields.iter().map(|(index, field)| {
        let access = (scope.access)(field);
        match field.leaves().map(|leaves| &leaves.count) {
            Some(Count::One) => {
                let slot = slots.iter().position(|slot| slot == index).expect("single arguments have slots");
                code! { list.push_placed(buffers[#slot]); }
            }
            Some(_) => code! { list.push_all(#access, &self.0, device)?; },
            None => {
                let visit = visit_name(field);
                code! { list.push_tree(|visit| call.#visit(visit), &self.0, device)?; }
            }
        }
    });
    code! {
        let mut list = __dispatch::Buffers::new();
        #(#pushes)*
        let buffers = list.as_slice();
    }
}

/// A closure that visits the arrays given to the program.
fn donated(scope: &Scope<'_>) -> TokenStream {
    let visits: Vec<TokenStream> = scope
        .fields
        .iter()
        .filter_map(|(_, field)| {
            let name = &field.name;
            let text = plain(name);
            match &field.kind {
                DynamicKind::Tree(_) => {
                    let donated = donated_name(field);
                    Some(code! { call.#donated(&mut |array| visit(#text, array)); })
                }
                DynamicKind::Leaves(leaves) if !leaves.donate => None,
                DynamicKind::Leaves(leaves) => Some(match leaves.count {
                    Count::One => code! {
                        if let ::core::option::Option::Some(array) = __dispatch::Ready::array(&#name) { visit(#text, array) }
                    },
                    _ => code! { for array in #name { visit(#text, array) } },
                }),
            }
        })
        .collect();
    match visits.is_empty() {
        true => code! { __dispatch::nothing_donated },
        false => code! { |visit: &mut __dispatch::Visitor<'_>| { #(#visits)* } },
    }
}

fn call_docs(family: &Family) -> TokenStream {
    let donated: Vec<String> = family
        .dynamics()
        .filter(|(_, dynamic)| dynamic.leaves().is_some_and(|leaves| leaves.donate))
        .map(|(_, dynamic)| format!("`{}`", dynamic.name))
        .collect();
    let donated = (!donated.is_empty()).then(|| {
        let text = format!("Gives away {}: using such an array again is an error.", donated.join(", "));
        quote!(#[doc = ""] #[doc = #text])
    });
    code! {
        /// Runs the program for these arguments, compiling it if this combination of dtypes, shapes and static values
        /// is new. The results may still be computing when this returns.
        #donated
    }
}

fn warm_method(family: &Family) -> TokenStream {
    let (parameters, borrows) = abstract_parameters(family);
    let (bind, entry, context) = (bind(family, "Aval", &no_buffers(family)), entry(), context(family));
    code! {
        /// Compiles the program for these abstract values now, if it is not there, so that a later call finds it.
        #[allow(clippy::too_many_arguments)]
        pub fn warm(&self, #parameters) -> __dispatch::Result<()> {
            #borrows
            #context
            let call = #bind?;
            #entry;
            ::core::result::Result::Ok(())
        }
    }
}

fn inspect_method(family: &Family) -> TokenStream {
    let (parameters, borrows) = abstract_parameters(family);
    let (bind, context) = (bind(family, "Aval", &no_buffers(family)), context(family));
    code! {
        /// What the program for these abstract values is and costs: the StableHLO, what the compiler makes of it,
        /// operations, bytes and memory. Compiles it anew, outside of the cache and of `stats`.
        #[allow(clippy::too_many_arguments)]
        pub fn inspect(&self, #parameters) -> __dispatch::Result<__dispatch::Inspection> {
            #borrows
            #context
            let call = #bind?;
            self.0.inspect(call.request(), |cx| call.body(cx))
        }
    }
}

fn explain_method(family: &Family) -> TokenStream {
    let (parameters, borrows) = parameters(family);
    let (bind, ready) = (bind(family, "Array", &no_buffers(family)), converted(&local_scope(family)));
    let context = context(family);
    code! {
        /// Whether a call with these arguments would find its program, and if not, what about it is new. What the call
        /// would refuse is an error here too.
        #[allow(clippy::too_many_arguments, unused_variables)]
        pub fn explain(&self, #parameters) -> __dispatch::Result<__dispatch::Explanation> {
            #borrows
            #context
            let call = #bind?;
            #(#ready)*
            ::core::result::Result::Ok(self.0.explain(|sink| call.encode(sink), call.describe(&self.0)))
        }
    }
}
