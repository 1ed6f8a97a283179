//! The signature as data.

use proc_macro2::{Ident, Span, TokenStream};
use quote::quote_spanned;
use syn::Path;
use syn::spanned::Spanned;

use super::super::scope::{Scope, code, plain};
use super::static_of;
use crate::syntax::{Attr, Handler, HandlerKind, HandlerParam, Place, Sharing, Side};

/// The value of the `Spec`.
pub(super) fn spec(handler: &Handler, scope: &Scope<'_>) -> TokenStream {
    let options = &handler.options;
    let name = plain(&handler.fn_name);
    let target = options.target.as_ref().map_or_else(|| name.clone(), syn::LitStr::value);
    let stage = Ident::new(&format!("{:?}", options.stage), Span::mixed_site());
    let (data, params) = (scope.data(), params(handler, scope));
    let fixed = |side| handler.places(side).filter(|(.., place)| !matches!(place, Place::Remaining)).count();
    let args = fixed(Side::Arg);
    let (rest_args, rest_rets) = (rest(handler, Side::Arg), rest(handler, Side::Ret));
    let attrs = sorted(handler).into_iter().map(|(_, attr)| attr_spec(attr));
    let open_attrs = handler.takes_all_attrs();
    let command_buffer = options.command_buffer;
    let stages = stages(handler);
    code! {
        __dispatch::ffi::Spec {
            name: #name,
            target: #target,
            stage: __dispatch::ffi::Stage::#stage,
            scope: #data,
            params: &[#(#params),*],
            args: #args,
            rest_args: #rest_args,
            rest_rets: #rest_rets,
            attrs: &[#(#attrs),*],
            open_attrs: #open_attrs,
            command_buffer: #command_buffer,
            stages: #stages,
        }
    }
}

/// The attributes, ordered by name as a frame has them.
pub(super) fn sorted(handler: &Handler) -> Vec<(&HandlerParam, &Attr)> {
    let mut attrs: Vec<_> = handler.attrs().collect();
    attrs.sort_by_key(|(_, attr)| attr.name.value());
    attrs
}

/// One attribute, or one member of a struct, as data.
pub(in crate::expand) fn attr_spec(attr: &Attr) -> TokenStream {
    let name = attr.name.value();
    let optional = attr.optional || attr.default.is_some();
    let attr_value = attr_value(attr);
    code! {
        __dispatch::ffi::AttrSpec {
            name: #name,
            r#type: #attr_value::TYPE,
            optional: #optional,
        }
    }
}

/// `<T as AttrValue>` for the type of an attribute, always in these words and at its span: if it is none, the compiler
/// complains there and, the complaints being equal, once.
pub(super) fn attr_value(attr: &Attr) -> TokenStream {
    let ty = &attr.ty;
    quote_spanned! {ty.span().resolved_at(Span::mixed_site())=> <#ty as __dispatch::ffi::AttrValue<'_>> }
}

fn params(handler: &Handler, scope: &Scope<'_>) -> Vec<TokenStream> {
    let param = |(index, _): &(usize, _)| {
        let HandlerKind::Place(_, place) = &handler.params[*index].kind else {
            unreachable!("a field is an argument or a result")
        };
        match place {
            Place::Buffer(_, Sharing::Lent) => code! { __dispatch::ffi::Param::ALIASED },
            Place::Buffer(_, Sharing::TakesOver(argument)) => {
                let argument = scope.position(*argument);
                code! { __dispatch::ffi::Param::alias(#argument) }
            }
            place if place.is_optional() => code! { __dispatch::ffi::Param::OPTIONAL },
            _ => code! { __dispatch::ffi::Param::PLAIN },
        }
    };
    scope.fields.iter().map(param).collect()
}

/// The name of what takes the remaining ones of a side.
fn rest(handler: &Handler, side: Side) -> TokenStream {
    match handler.places(side).find(|(.., place)| matches!(place, Place::Remaining)) {
        Some((_, param, _)) => {
            let name = plain(&param.name);
            code! { ::core::option::Option::Some(#name) }
        }
        None => code! { ::core::option::Option::None },
    }
}

fn stages(handler: &Handler) -> TokenStream {
    let options = &handler.options;
    let stages = [&options.instantiate, &options.prepare, &options.initialize];
    if stages.iter().all(|stage| stage.is_none()) {
        return code! { __dispatch::ffi::Stages::NONE };
    }
    let handler_of = |path: &Option<Path>| match path {
        None => code! { ::core::option::Option::None },
        Some(path) => {
            let name = static_of(path);
            // At the span of the path, where the compiler complains if there is no such handler.
            quote_spanned! {path.span().resolved_at(Span::mixed_site())=> ::core::option::Option::Some(&#name) }
        }
    };
    let [instantiate, prepare, initialize] = stages.map(handler_of);
    code! {
        __dispatch::ffi::Stages { instantiate: #instantiate, prepare: #prepare, initialize: #initialize }
    }
}
