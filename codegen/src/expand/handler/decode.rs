//! The code that decodes a call: one yes or no.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote_spanned};
use syn::spanned::Spanned;

use super::super::scope::{Scope, allowed, code, dtype_data, plain, require_or};
use super::spec::{attr_value, sorted};
use crate::syntax::{
    Attr, DTypes, Dynamic, Handler, HandlerKind, HandlerParam, Leaves, Place, Returns, Shape, Sharing, Side,
    Stage,
};

/// The answer no. Not by a path from the root: `break '__accepted ::core` would look like a label of something.
fn no() -> TokenStream {
    code! { __Option::None }
}

/// The function that decodes a call and makes it.
pub(super) fn call(handler: &Handler, scope: &Scope<'_>) -> TokenStream {
    let function = &handler.fn_name;
    let defaults = handler.attrs().filter_map(|(param, attr)| default(param, attr));
    let (counts, places) = (counts(handler), places(handler, scope));
    let (sizes, agree) = (scope.bindings(), scope.agree(&no()));
    let (attrs, memory) = (attrs(handler), memory(handler));
    let is_ctx = |param: &&HandlerParam| matches!(param.kind, HandlerKind::Ctx(_));
    let decoded: Vec<&Ident> =
        handler.params.iter().filter(|param| !is_ctx(param)).map(|param| &param.name).collect();
    let names: Vec<&Ident> = handler.params.iter().map(|param| &param.name).collect();
    let context = handler.params.iter().filter(is_ctx).map(context);
    let answer = answer(handler, &code! { body(#(#names),*) });
    code! {
        fn call(call: &__dispatch::ffi::Call<'_>) -> __dispatch::ffi::Result<()> {
            let body = #function;
            #(#defaults)*
            let accepted = '__accepted: {
                #counts
                #places
                #sizes
                #agree
                #attrs
                #memory
                ::core::option::Option::Some((#(#decoded,)*))
            };
            let ::core::option::Option::Some((#(#decoded,)*)) = accepted else {
                return call.refuse(Self::call);
            };
            #(#context)*
            #answer
        }
    }
}

/// The default of an attribute, made where none of the arguments is in scope.
fn default(param: &HandlerParam, attr: &Attr) -> Option<TokenStream> {
    let (name, ty, default) = (default_name(&param.name), &attr.ty, attr.default.as_ref()?);
    let span = default.span().resolved_at(Span::mixed_site());
    Some(quote_spanned! {span=> let #name = || -> #ty { #default }; })
}

fn default_name(name: &Ident) -> Ident {
    format_ident!("default_{}", plain(name), span = Span::mixed_site())
}

/// At least and at most so many arguments, then results. An instantiate handler is asked for neither.
fn counts(handler: &Handler) -> TokenStream {
    if handler.options.stage == Stage::Instantiate {
        return TokenStream::new();
    }
    let count = |side| {
        let places: Vec<&Place> = handler.places(side).map(|(.., place)| place).collect();
        let plain = |place: &&&Place| !place.is_optional() && !matches!(place, Place::Remaining);
        let (least, most) = (places.iter().filter(plain).count(), places.len());
        match places.last() {
            Some(Place::Remaining) => code! { (#least, ::core::primitive::usize::MAX) },
            _ => code! { (#least, #most) },
        }
    };
    let (args, rets) = (count(Side::Arg), count(Side::Ret));
    require_or(code! { call.counts(#args, #rets) }, &no())
}

/// Decodes arguments and results, sizes aside.
fn places(handler: &Handler, scope: &Scope<'_>) -> TokenStream {
    let of = |side, method: &str| {
        let places = handler.places(side).enumerate();
        let decode = places.map(|(at, (index, param, place))| {
            let (name, ty) = (&param.name, &param.ty);
            let span = ty.span().resolved_at(Span::mixed_site());
            if let Place::Remaining = place {
                let method = Ident::new(&format!("rest_{method}s"), span);
                return code! { let ::core::option::Option::Some(#name) = call.#method(#at) };
            }
            let optional = if place.is_optional() { "optional_" } else { "" };
            let method = Ident::new(&format!("{optional}{method}"), span);
            let ty = if place.is_optional() { inside(ty) } else { ty };
            let want = match place {
                Place::Buffer(buffer, _) => want(handler, scope, index, buffer),
                _ => code! { __dispatch::ffi::Want::ANY },
            };
            let mutable = matches!(place, Place::Buffer(_, Sharing::TakesOver(_))).then(|| code! { mut });
            let pattern = code! { ::core::option::Option::Some(#mutable #name) };
            quote_spanned! {span=> let #pattern = call.#method::<#ty>(#at, #want) }
        });
        let no = no();
        let decode = decode.map(|decode| code! { #decode else { break '__accepted #no; }; });
        code! { #(#decode)* }
    };
    let (args, rets) = (of(Side::Arg, "arg"), of(Side::Ret, "ret"));
    code! { #args #rets }
}

/// The `T` of `Option<T>`.
fn inside(ty: &syn::Type) -> &syn::Type {
    crate::syntax::option_argument(ty).unwrap_or(ty)
}

/// What is asked of one buffer when it is decoded: its dtype, unless another one says it, and its rank.
fn want(handler: &Handler, scope: &Scope<'_>, index: usize, buffer: &Dynamic) -> TokenStream {
    let Some(Leaves { group, shape, .. }) = buffer.leaves() else { unreachable!("a buffer is one array") };
    let group = &handler.groups[*group];
    let dtypes = match &group.dtypes {
        DTypes::One(dtype) => {
            let dtype = dtype_data(dtype.variant());
            code! { __dispatch::DTypeSpec::One(#dtype) }
        }
        dtypes if group.root == index => allowed(dtypes),
        _ => code! { __dispatch::DTypeSpec::Any },
    };
    let pattern = match shape {
        Shape::Pattern(pattern) => pattern,
        Shape::Same(other) => {
            match scope.fields[scope.position(*other)].1.leaves().map(|leaves| &leaves.shape) {
                Some(Shape::Pattern(pattern)) => pattern,
                _ => unreachable!("a shape is followed to the buffer that says it"),
            }
        }
    };
    let rank = pattern.dims.len();
    match pattern.leading {
        None => code! { __dispatch::ffi::Want::rank(#dtypes, #rank) },
        Some(_) => code! { __dispatch::ffi::Want::at_least(#dtypes, #rank) },
    }
}

/// Decodes the attributes, in the order in which a frame has them.
fn attrs(handler: &Handler) -> TokenStream {
    let open = handler.takes_all_attrs() || handler.options.stage != Stage::Execute;
    let shared = handler.options.has_stages();
    let decode = sorted(handler).into_iter().map(|(param, attr)| {
        let name = &param.name;
        let take = take(attr, &default_name(name), &code! { attrs });
        let skip = (open || shared).then(|| {
            let name = attr.name.value();
            code! { attrs.skip_to(#name); }
        });
        let no = no();
        code! {
            #skip
            let ::core::option::Option::Some(#name) = #take else { break '__accepted #no; };
        }
    });
    let decode: Vec<TokenStream> = decode.collect();
    let begin = (!decode.is_empty() || !open).then(|| {
        let mutable = (!decode.is_empty()).then(|| code! { mut });
        code! { let #mutable attrs = call.attrs(); }
    });
    let end = match (open, shared) {
        (true, _) => TokenStream::new(),
        (false, true) => require_or(code! { call.knows_attrs() }, &no()),
        (false, false) => require_or(code! { attrs.finished() }, &no()),
    };
    let begin = if shared && decode.is_empty() { None } else { begin };
    let all = handler.params.iter().filter(|param| matches!(param.kind, HandlerKind::Attrs)).map(|param| {
        let name = &param.name;
        code! { let #name = call.dictionary(); }
    });
    code! { #begin #(#decode)* #end #(#all)* }
}

/// Takes one attribute, or one member of a struct, from a cursor.
pub(in crate::expand) fn take(attr: &Attr, default: &Ident, cursor: &TokenStream) -> TokenStream {
    let (name, attr_value) = (attr.name.value(), attr_value(attr));
    match (&attr.default, attr.optional) {
        (Some(_), _) => code! { #attr_value::or_else(&mut #cursor, #name, #default) },
        (None, true) => code! { #attr_value::optional(&mut #cursor, #name) },
        (None, false) => code! { #attr_value::required(&mut #cursor, #name) },
    }
}

/// Results take over the arguments that they are declared to, and share no memory otherwise.
fn memory(handler: &Handler) -> TokenStream {
    let inherit = handler.params.iter().filter_map(|param| match &param.kind {
        HandlerKind::Place(_, Place::Buffer(_, Sharing::TakesOver(argument))) => {
            let (from, to) = (&handler.params[*argument].name, &param.name);
            Some(require_or(code! { __dispatch::ffi::inherit(&#from, &mut #to) }, &no()))
        }
        _ => None,
    });
    let places = || handler.places(Side::Arg).chain(handler.places(Side::Ret));
    let counted = |place: &Place| {
        !matches!(place, Place::Remaining | Place::Buffer(_, Sharing::Lent | Sharing::TakesOver(_)))
    };
    let apart = if handler.places(Side::Ret).next().is_none() {
        None
    } else if !places().all(|(.., place)| counted(place)) {
        Some(require_or(code! { call.separate() }, &no()))
    } else {
        let spans = |side| {
            let spans = handler.places(side).filter_map(|(_, param, place)| {
                let name = &param.name;
                match place {
                    Place::Buffer(..) if place.is_optional() => {
                        Some(code! { __dispatch::ffi::span(#name.as_ref()) })
                    }
                    Place::Buffer(..) => Some(code! { __dispatch::ffi::Described::span(&#name) }),
                    _ => None,
                }
            });
            let spans: Vec<TokenStream> = spans.collect();
            spans
        };
        let (args, rets) = (spans(Side::Arg), spans(Side::Ret));
        let alone = rets.is_empty() || args.len() + rets.len() < 2;
        (!alone).then(|| require_or(code! { __dispatch::ffi::disjoint([#(#args),*], [#(#rets),*]) }, &no()))
    };
    // Last, for it writes.
    code! { #apart #(#inherit)* }
}

/// A value of the context, whose errors are its own.
fn context(param: &HandlerParam) -> TokenStream {
    let (name, ty, text) = (&param.name, &param.ty, plain(&param.name));
    let span = ty.span().resolved_at(Span::mixed_site());
    quote_spanned! {span=> let #name = call.ctx_value::<#ty>(#text)?; }
}

/// Tells XLA what the function returned, at the span of its type, where the compiler complains if it cannot.
fn answer(handler: &Handler, returned: &TokenStream) -> TokenStream {
    let span = handler.output.span().resolved_at(Span::mixed_site());
    match &handler.returns {
        Returns::State(ty) => quote_spanned! {span=> __dispatch::ffi::leave::<#ty>(call, #returned?) },
        _ => quote_spanned! {span=> __dispatch::ffi::Answer::answer(#returned, call) },
    }
}
