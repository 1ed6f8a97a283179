//! `#[dispatch_family]`: the function, the family's type, and its methods.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{ItemFn, Stmt, parse_quote};

use super::paths::alias;
use super::scope::{Scope, capture_name, code, dtype_name, plain};
use crate::syntax::{
    CaptureKind, Count, DevicePolicy, Dynamic, DynamicKind, Family, Leaves, Param, Pattern, Position, Shape,
    Static,
};

/// Everything that a family becomes.
pub(super) fn expand(family: &Family) -> TokenStream {
    let (function, item) = (body(family), type_item(family));
    let (alias, scope, declared) = (alias(), scope(family), declared(family));
    let (methods, call, defaults) = (methods(family), call_struct(family), defaults(family));
    let cfgs = &family.cfgs;
    code! {
        #function
        #item
        #(#cfgs)*
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
    let capacity = options.capacity.as_ref().map(|capacity| {
        quote_spanned! {capacity.span()=>
            settings.capacity = {
                const __CAPACITY: usize = #capacity;
                const { assert!(__CAPACITY > 0, "a family's capacity is at least 1") };
                __CAPACITY
            };
        }
    });
    let eviction = options.eviction.as_ref().map(|policy| {
        quote_spanned! {policy.span().resolved_at(Span::mixed_site())=> let settings = settings.eviction(#policy); }
    });
    let device = match options.device {
        DevicePolicy::FirstInput => None,
        DevicePolicy::Fixed => Some(code! { settings.device = __dispatch::DevicePolicy::Fixed; }),
    };
    let default_device = options.default_device.as_ref().map(|path| {
        quote_spanned! {path.span().resolved_at(Span::mixed_site())=>
            settings.default_device = ::core::option::Option::Some(#path);
        }
    });
    // `capacity` is spanned at the user's tokens, so its `settings` has to be named the same way.
    let settings = code! { settings };
    let capacity = capacity.map(|tokens| respan_settings(tokens, &settings));
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
        }
    }
}

/// Replaces the identifier `settings` by the given one.
fn respan_settings(tokens: TokenStream, settings: &TokenStream) -> TokenStream {
    tokens
        .into_iter()
        .flat_map(|token| match &token {
            proc_macro2::TokenTree::Ident(ident) if ident == "settings" => settings.clone(),
            _ => token.into_token_stream(),
        })
        .collect()
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
        ..local_scope(family)
    }
}

fn output(family: &Family) -> TokenStream {
    match &family.output.ty {
        Some(ty) => ty.to_token_stream(),
        None => code! { __dispatch::Array },
    }
}

/// `__dispatch::Name` at the span of a static argument's type, where the compiler complains if it is no static.
fn at_type(fixed: &Static, name: &str) -> TokenStream {
    let name = Ident::new(name, Span::mixed_site());
    quote_spanned! {fixed.ty.span().resolved_at(Span::mixed_site())=> __dispatch::#name }
}

/// The methods of the family.
fn methods(family: &Family) -> TokenStream {
    let type_name = &family.type_name;
    let (call, warm, explain) = (call_method(family), warm_method(family), explain_method(family));
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

/// The parameters of `call` and `explain`, and the statements that borrow them.
fn parameters(family: &Family) -> (TokenStream, TokenStream) {
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
    let borrow = |dynamic: &Dynamic| {
        let name = &dynamic.name;
        let room = Ident::new(&format!("room_{}", plain(name)), Span::mixed_site());
        match dynamic.leaves().map(|leaves| &leaves.count) {
            Some(Count::One) => code! {
                let mut #room = [0];
                let #name = __dispatch::Dynamic::arg(&#name, &mut #room);
            },
            Some(Count::Any) => {
                code! { let #name: &[__dispatch::Array] = ::core::convert::AsRef::as_ref(&#name); }
            }
            Some(Count::Exactly(_)) => code! { let #name: &[__dispatch::Array] = #name; },
            None => TokenStream::new(),
        }
    };
    let parameters = family.params.iter().map(parameter);
    let borrows = family.dynamics().map(|(_, dynamic)| borrow(dynamic));
    (code! { #(#parameters),* }, code! { #(#borrows)* })
}

/// `Call::bind(…)` with every argument; `leaf` is what lists and structs hold.
fn bind(family: &Family, leaf: &str) -> TokenStream {
    let leaf = Ident::new(leaf, Span::mixed_site());
    let arguments = family.params.iter().map(|param| {
        let name = param.name();
        match param {
            Param::Dynamic(_) => quote!(#name),
            Param::Static(_) => code! { &#name },
        }
    });
    let context = context(family);
    code! { __Call::<__dispatch::#leaf, _>::bind(&self.0, #(#arguments,)* #context) }
}

fn context(family: &Family) -> TokenStream {
    match &family.options.context {
        Some(path) => quote_spanned! {path.span().resolved_at(Span::mixed_site())=> #path() },
        None => code! { () },
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

fn call_method(family: &Family) -> TokenStream {
    let (parameters, borrows) = parameters(family);
    let (bind, entry, output) = (bind(family, "Array"), entry(), output(family));
    let scope = local_scope(family);
    let leaves = |field: &Dynamic| match &field.kind {
        DynamicKind::Leaves(Leaves { count: Count::One, group, donate, .. }) => Some((*group, *donate)),
        _ => None,
    };
    // Host values are converted before the cache is asked: a call that is refused compiles nothing.
    let ready = scope.fields.iter().filter_map(|(_, field)| {
        let (group, _) = leaves(field)?;
        let (name, text, dtype) = (&field.name, plain(&field.name), dtype_name(group));
        Some(code! { let #name = __dispatch::Ready::new(#name, call.#dtype, #text)?; })
    });
    let place = scope.fields.iter().filter_map(|(_, field)| {
        leaves(field)?;
        let name = &field.name;
        let placed = placed(field);
        Some(code! { let #placed = #name.place(&self.0, device)?; })
    });
    let buffers = if scope.is_nested() { nested_buffers(&scope) } else { flat_buffers(&scope) };
    let donated = donated(&scope);
    let docs = call_docs(family);
    code! {
        #docs
        #[inline]
        #[allow(clippy::too_many_arguments)]
        pub fn call(&self, #parameters) -> __dispatch::Result<#output> {
            #borrows
            let call = #bind?;
            #(#ready)*
            let entry = #entry;
            let device = entry.device();
            #(#place)*
            #buffers
            let mut outs = [::core::option::Option::None; <#output as __dispatch::OutputTree>::LEAVES];
            self.0.run::<#output>(entry, buffers, &mut outs, #donated)
        }
    }
}

/// The name of the variable that holds an argument's buffer.
fn placed(field: &Dynamic) -> Ident {
    Ident::new(&format!("placed_{}", plain(&field.name)), Span::mixed_site())
}

/// The buffers of a call whose number is in the signature.
fn flat_buffers(scope: &Scope<'_>) -> TokenStream {
    let buffers = scope.fields.iter().map(|(_, field)| {
        let placed = placed(field);
        code! { #placed.buffer() }
    });
    code! { let buffers = &[#(#buffers),*]; }
}

/// The buffers of a call with lists or structs.
fn nested_buffers(scope: &Scope<'_>) -> TokenStream {
    let pushes = scope.fields.iter().map(|(_, field)| {
        let access = (scope.access)(field);
        match field.leaves().map(|leaves| &leaves.count) {
            Some(Count::One) => {
                let placed = placed(field);
                code! { buffers.push_placed(&#placed); }
            }
            Some(_) => code! { buffers.push_all(#access, &self.0, device)?; },
            None => code! { buffers.push_tree(#access, &self.0, device)?; },
        }
    });
    code! {
        let mut buffers = __dispatch::Buffers::new();
        #(#pushes)*
        let buffers = buffers.as_slice();
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
                    Some(code! { __dispatch::visit_donated(#name, &mut |array| visit(#text, array)); })
                }
                DynamicKind::Leaves(leaves) if !leaves.donate => None,
                DynamicKind::Leaves(leaves) => Some(match leaves.count {
                    Count::One => code! {
                        if let ::core::option::Option::Some(array) = #name.array() { visit(#text, array) }
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
    let (bind, entry) = (bind(family, "Aval"), entry());
    code! {
        /// Compiles the program for these abstract values now, if it is not there, so that a later call finds it.
        #[allow(clippy::too_many_arguments)]
        pub fn warm(&self, #(#parameters),*) -> __dispatch::Result<()> {
            #(#borrows)*
            let call = #bind?;
            #entry;
            ::core::result::Result::Ok(())
        }
    }
}

fn explain_method(family: &Family) -> TokenStream {
    let (parameters, borrows) = parameters(family);
    let bind = bind(family, "Array");
    code! {
        /// Whether a call with these arguments would find its program, and if not, what about it is new.
        #[allow(clippy::too_many_arguments)]
        pub fn explain(&self, #parameters) -> __dispatch::Result<__dispatch::Explanation> {
            #borrows
            let call = #bind?;
            ::core::result::Result::Ok(self.0.explain(|sink| call.encode(sink), call.describe(&self.0)))
        }
    }
}

/// The checked arguments of one call, with what the key and the body need of them.
fn call_struct(family: &Family) -> TokenStream {
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
    code! {
        /// A call whose arguments are what the signature allows.
        struct __Call<'a, __L, __C> {
            __device: u32,
            #(#dtypes: __dispatch::DType,)*
            #(#sizes: #size_types,)*
            #(#names: #types,)*
            __context: __C,
            __leaf: ::core::marker::PhantomData<&'a __L>,
        }

        #[allow(clippy::too_many_arguments, clippy::clone_on_copy)]
        impl<'a, __L: __dispatch::Leaf, __C: __dispatch::StaticKey> __Call<'a, __L, __C> {
            #bind
            #encode
            #describe
            #request
            #body
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
    let (bindings, accept, fields) = (scope.bindings(), scope.accept(), scope.check_fields());
    let distinct = distinct(&scope);
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
            context: __C,
        ) -> __dispatch::Result<Self> {
            let place = &mut family.place();
            let mut ok = true;
            #bindings
            #accept
            #distinct
            if !ok {
                #(#copies)*
                return ::core::result::Result::Err(family.reject(&__SCOPE, #fields));
            }
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

/// Clears `ok` if a donated array is passed twice.
fn distinct(scope: &Scope<'_>) -> TokenStream {
    let donates = |field: &Dynamic| field.leaves().is_some_and(|leaves| leaves.donate);
    if scope.is_nested() {
        let some = scope.fields.iter().any(|(_, field)| donates(field));
        let trees = scope.fields.iter().filter_map(|(_, field)| match &field.kind {
            DynamicKind::Tree(path) => Some(code! { || <#path<__L> as __dispatch::InputTree>::DONATES }),
            DynamicKind::Leaves(_) => None,
        });
        let visit = scope.visit();
        return code! {
            if #some #(#trees)* {
                ok &= __dispatch::distinct(&|visit: &mut dyn ::core::ops::FnMut(&dyn __dispatch::Leaf, bool)| {
                    #visit
                });
            }
        };
    }
    let pairs = scope.fields.iter().enumerate().flat_map(|(i, (_, a))| {
        scope.fields[i + 1..]
            .iter()
            .filter(move |(_, b)| donates(a) || donates(b))
            .map(move |(_, b)| (*a, *b))
    });
    let checks = pairs.map(|(a, b)| {
        let (a, b) = ((scope.access)(a), (scope.access)(b));
        code! { ok &= !__dispatch::same_array(#a, #b); }
    });
    code! { #(#checks)* }
}

fn encode_fn(family: &Family, scope: &Scope<'_>) -> TokenStream {
    let device = match family.options.device {
        DevicePolicy::FirstInput => Some(code! { sink.word(self.__device as u64); }),
        DevicePolicy::Fixed => None,
    };
    let dynamics = scope.encode(|name| code! { self.#name });
    let statics = family.statics().map(|(_, fixed)| {
        let (name, key) = (&fixed.name, at_type(fixed, "StaticKey"));
        code! { #key::encode(self.#name, sink); }
    });
    code! {
        /// The key.
        #[inline(always)]
        fn encode(&self, sink: &mut __dispatch::Sink<'_>) {
            #device
            #dynamics
            #(#statics)*
            __dispatch::StaticKey::encode(&self.__context, sink);
        }
    }
}

fn describe_fn(family: &Family, scope: &Scope<'_>) -> TokenStream {
    let device = match family.options.device {
        DevicePolicy::FirstInput => Some(code! { parts.push(family.part_device(self.__device)); }),
        DevicePolicy::Fixed => None,
    };
    let dynamics =
        scope.describe(|name| code! { self.#name }, |name| code! { ::std::string::String::from(#name) });
    let statics = family.statics().map(|(_, fixed)| {
        let (name, text) = (&fixed.name, plain(&fixed.name));
        code! { parts.push(__dispatch::part_static(#text, self.#name)); }
    });
    let context = family.options.context.as_ref().map(|_| {
        code! { parts.push(__dispatch::part_static("context", &self.__context)); }
    });
    code! {
        /// The parts of the key, for people.
        #[cold]
        #[allow(unused_variables)]
        fn describe(&self, family: &__dispatch::Family) -> ::std::vec::Vec<__dispatch::Part> {
            #[allow(unused_mut)]
            let mut all = ::std::vec::Vec::new();
            let parts = &mut all;
            #device
            #dynamics
            #(#statics)*
            #context
            all
        }
    }
}

fn request_fn(family: &Family, scope: &Scope<'_>) -> TokenStream {
    let leaves =
        scope.leaves(|name| code! { self.#name }, |name| code! { ::std::string::String::from(#name) });
    let context = match &family.options.context {
        Some(_) => code! {
            ::core::option::Option::Some(::std::boxed::Box::new(::core::clone::Clone::clone(&self.__context)) as _)
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
            __dispatch::Request { device: self.__device, context: #context, leaves: all }
        }
    }
}

fn body_fn(family: &Family, scope: &Scope<'_>) -> TokenStream {
    let output = output(family);
    let function = &family.fn_name;
    let mut avals = scope.avals(|name| code! { self.#name }).into_iter();
    let cx = family.cx.as_ref().map(|_| code! { cx, });
    let arguments = family.params.iter().map(|param| match param {
        Param::Dynamic(_) => avals.next().expect("one per dynamic argument"),
        Param::Static(fixed) => {
            let (name, key) = (&fixed.name, at_type(fixed, "clone_static"));
            code! { #key(self.#name) }
        }
    });
    let arguments = quote!(#(#arguments),*);
    code! {
        /// The user's function on the abstract values.
        #[cold]
        #[allow(unused_variables)]
        fn body(&self, cx: &__dispatch::CompileCx) -> impl __dispatch::BodyResult<Output = #output> + use<'a, __L, __C> {
            #function(#cx #arguments)
        }
    }
}
