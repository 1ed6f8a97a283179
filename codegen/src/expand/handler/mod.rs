//! `#[ffi_handler]`: the function, and the static that is the handler.
//!
//! The static's value is a block, in which everything else is hidden: the signature as data, and the code that decodes a
//! call. Names that a user might have too stand in it only as names of the toolkit, or as variables of its own.

mod decode;
mod spec;

pub(super) use decode::take;
pub(super) use spec::attr_spec;

use proc_macro2::{Ident, TokenStream};
use quote::quote;
use syn::{ItemFn, Stmt, parse_quote};

use super::paths::{alias, private};
use super::scope::{Reads, Scope, code, plain};
use crate::syntax::{
    CaptureKind, Dynamic, DynamicKind, Handler, HandlerKind, HandlerParam, Leaves, Pattern, Place, Position,
    Shape, Side, handler_static_name,
};

/// Everything that a handler becomes.
pub(super) fn expand(handler: &Handler) -> TokenStream {
    let Handler { docs, cfgs, vis, static_name, .. } = handler;
    let (function, docs, private, alias) = (body(handler), &docs.attrs, private(), alias());
    let tokens = tokens(handler);
    let scope = scope(handler, &tokens);
    let (spec, call) = (spec::spec(handler, &scope), decode::call(handler, &scope));
    code! {
        #function
        #(#docs)*
        #(#cfgs)*
        #[allow(elided_lifetimes_in_paths, non_snake_case)]
        #vis static #static_name: #private::ffi::Handler = {
            #alias
            use ::core::option::Option as __Option;
            static __SPEC: __dispatch::ffi::Spec = #spec;
            struct __Declared;
            impl __dispatch::ffi::Declared for __Declared {
                const SPEC: &'static __dispatch::ffi::Spec = &__SPEC;
                #call
            }
            __dispatch::ffi::Handler::new::<__Declared>()
        };
    }
}

/// The user's function with the captured names bound at its beginning. It can be called as any other.
fn body(handler: &Handler) -> ItemFn {
    let mut function = handler.item.clone();
    let private = private();
    let bindings = handler.captures.iter().map(|capture| -> Stmt {
        let (name, binding) = (&capture.ident, capture.binding());
        let argument = &handler.params[binding.param].name;
        let rank = match handler.buffers().find(|(index, ..)| *index == binding.param).map(|(.., b)| &b.kind)
        {
            Some(DynamicKind::Leaves(Leaves { shape: Shape::Pattern(Pattern { dims, .. }), .. })) => {
                dims.len()
            }
            _ => unreachable!("names stand in shapes of buffers"),
        };
        let value = match binding.at {
            Position::Front(i) => quote!(#argument.dim(#i)),
            Position::Back(i) => {
                let i = i + 1;
                quote!(#argument.dim(#argument.rank() - #i))
            }
            Position::Leading => quote!(#private::ffi::leading(&#argument, #rank)),
        };
        match capture.kind {
            CaptureKind::Dim => parse_quote!(#[allow(unused_variables)] let #name: ::core::primitive::usize = #value;),
            CaptureKind::Leading => {
                parse_quote!(#[allow(unused_variables)] let #name: ::std::vec::Vec<::core::primitive::usize> = #value;)
            }
        }
    });
    let bindings: Vec<Stmt> = bindings.collect();
    function.block.stmts.splice(0..0, bindings);
    function.attrs.push(parse_quote!(#[allow(elided_lifetimes_in_paths, clippy::too_many_arguments)]));
    function
}

/// What stands for the tokens in the scope: as a nested struct of a family it has no dtype and no shape, and is checked
/// by its own type.
fn tokens(handler: &Handler) -> Vec<(usize, Dynamic)> {
    let token = |param: &HandlerParam| Dynamic {
        name: param.name.clone(),
        docs: param.docs.clone(),
        span: param.name.span(),
        kind: DynamicKind::Tree(parse_quote!(Token)),
    };
    let params = handler.params.iter().enumerate();
    let tokens = params.filter(|(_, param)| matches!(param.kind, HandlerKind::Place(_, Place::Token { .. })));
    tokens.map(|(index, param)| (index, token(param))).collect()
}

/// The arguments, then the results, without the variadic ones.
fn scope<'a>(handler: &'a Handler, tokens: &'a [(usize, Dynamic)]) -> Scope<'a> {
    let field = |(index, _, place): (usize, &HandlerParam, &'a Place)| match place {
        Place::Buffer(buffer, _) => Some((index, buffer)),
        Place::Token { .. } => tokens.iter().find(|(at, _)| *at == index).map(|(at, token)| (*at, token)),
        Place::Remaining => None,
    };
    Scope {
        owner: plain(&handler.fn_name),
        fields: handler.places(Side::Arg).chain(handler.places(Side::Ret)).filter_map(field).collect(),
        groups: &handler.groups,
        captures: &handler.captures,
        access: |field| {
            let name = &field.name;
            code! { &#name }
        },
        shape: |field| {
            let name = &field.name;
            code! { __dispatch::ffi::Described::shape(&#name) }
        },
        reads: Reads::Buffers,
    }
}

/// The static of the handler whose function a path names.
fn static_of(path: &syn::Path) -> syn::Path {
    let mut path = path.clone();
    if let Some(last) = path.segments.last_mut() {
        if let Ok(name) = handler_static_name(&last.ident) {
            last.ident = Ident::new(&name.to_string(), last.ident.span());
        }
    }
    path
}
