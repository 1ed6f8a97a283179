//! Reading a reference to another argument: the parentheses of `dtype(a)`, `shape(a)` and `like(a)`.

use proc_macro2::{Ident, TokenStream};
use syn::ext::IdentExt;
use syn::parenthesized;
use syn::parse::ParseStream;

use super::messages;

/// A reference names exactly one argument: `dtype()`, `dtype(a, b)` and `dtype(a.b)` are wrong.
///
/// The stream stands at the parentheses behind `form`.
pub(crate) fn read(form: &Ident, input: ParseStream<'_>) -> syn::Result<Ident> {
    let inside;
    parenthesized!(inside in input);
    let name = inside.call(Ident::parse_any);
    let rest: TokenStream = inside.parse()?;
    match name {
        Ok(name) if rest.is_empty() => Ok(name),
        _ => Err(syn::Error::new_spanned(form, messages::reference_form(form))),
    }
}
