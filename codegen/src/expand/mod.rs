//! From the model to Rust tokens. Nothing here can fail: the model holds only what was checked.
//!
//! What the users of an expansion name comes first, the rest stands in one hidden block. An expansion has no
//! `unsafe` and names only the private module of the runtime. Its local names are its own: they carry
//! [`Span::mixed_site`](proc_macro2::Span::mixed_site), so an argument may have any name.

mod attr_values;
mod family;
mod handler;
mod paths;
mod patterns;
mod scope;
mod statics;
mod trees;

pub(crate) use paths::private;

use proc_macro2::TokenStream;

use crate::syntax::{AttrValue, Check, Family, Handler, InputTree, OutputTree, StaticArg};

/// Expands `#[dispatch_family]`: the user's function, the family's type and its methods.
pub fn family(family: &Family) -> TokenStream {
    family::expand(family)
}

/// Expands `#[ffi_handler]`: the user's function, and the static that is the handler.
pub fn handler(handler: &Handler) -> TokenStream {
    handler::expand(handler)
}

/// Expands `ffi::check!`.
pub fn check(check: &Check) -> TokenStream {
    patterns::expand(check)
}

/// Expands `#[derive(AttrValue)]`.
pub fn attr_value(value: &AttrValue) -> TokenStream {
    attr_values::expand(value)
}

/// Expands `#[derive(InputTree)]`.
pub fn input_tree(tree: &InputTree) -> TokenStream {
    trees::input(tree)
}

/// Expands `#[derive(OutputTree)]`.
pub fn output_tree(tree: &OutputTree) -> TokenStream {
    trees::output(tree)
}

/// Expands `#[derive(StaticArg)]`.
pub fn static_arg(arg: &StaticArg) -> TokenStream {
    statics::expand(arg)
}
