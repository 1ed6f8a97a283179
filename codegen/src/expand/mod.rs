//! From the model to Rust tokens. Nothing here can fail.

use proc_macro2::TokenStream;
use quote::ToTokens;

use crate::syntax::{Family, InputTree, OutputTree, StaticArg};

/// Expands a family.
pub fn family(family: &Family) -> TokenStream {
    family.item.to_token_stream()
}

/// Expands `#[derive(InputTree)]`.
pub fn input_tree(_tree: &InputTree) -> TokenStream {
    TokenStream::new()
}

/// Expands `#[derive(OutputTree)]`.
pub fn output_tree(_tree: &OutputTree) -> TokenStream {
    TokenStream::new()
}

/// Expands `#[derive(StaticArg)]`.
pub fn static_arg(_arg: &StaticArg) -> TokenStream {
    TokenStream::new()
}
