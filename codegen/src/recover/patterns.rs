//! `ffi::check!`: the errors, and the names that the patterns would bind.

use proc_macro2::{Ident, TokenStream};
use quote::quote;

use crate::syntax::{CaptureKind, Found};

/// Statements that give the errors, and bind the names to anything.
pub(crate) fn check(errors: &Found, names: &[(Ident, CaptureKind)]) -> TokenStream {
    let errors = errors.to_compile_errors();
    let bindings = names.iter().map(|(name, kind)| match kind {
        CaptureKind::Dim => quote! { #[allow(unused_variables)] let #name: usize = 1; },
        CaptureKind::Leading => {
            quote! { #[allow(unused_variables)] let #name: ::std::vec::Vec<usize> = ::std::vec::Vec::new(); }
        }
    });
    quote! { #(#errors;)* #(#bindings)* }
}
