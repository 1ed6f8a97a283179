//! From the model to Rust tokens. Nothing here can fail: the model holds only what was checked.
//!
//! What the users of an expansion name comes first, the rest stands in one hidden `const _` block. An expansion has no
//! `unsafe` and names only the private module of the runtime. Its local names are its own: they carry
//! [`Span::mixed_site`](proc_macro2::Span::mixed_site), so an argument may have any name.

mod family;
mod paths;
mod scope;
mod statics;
mod trees;

pub(crate) use paths::private;

use proc_macro2::TokenStream;

use crate::syntax::{Family, InputTree, OutputTree, StaticArg};

/// Expands `#[dispatch_family]`: the user's function, the family's type and its methods.
pub fn family(family: &Family) -> TokenStream {
    family::expand(family)
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
