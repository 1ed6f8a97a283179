//! Tests of the whole language: its forms, and a table of its errors by rule.

pub(crate) mod errors;
mod errors_of_calls;
mod errors_of_derives;
mod errors_of_functions;
mod errors_of_handlers;
mod errors_of_options;
mod errors_of_r;
mod forms;
mod forms_of_derives;
mod forms_of_handlers;
mod model;

use proc_macro2::{TokenStream, TokenTree};
use syn::DeriveInput;

use super::{Family, Found, Handler};

/// One declaration and what is said of it.
///
/// The source takes the place of the first `{}` of its table's template. Each error is the source text that it stands on,
/// its whole text, and a part of its hint.
pub(crate) type Case = (&'static str, &'static [(&'static str, &'static str, &'static str)]);

/// Cases that share a template.
pub(crate) struct Table {
    pub(crate) read: fn(&str) -> Result<(), Found>,
    pub(crate) template: &'static str,
    pub(crate) cases: &'static [Case],
}

/// Reads a family from `#[dispatch_family(...)] fn ...`.
pub(crate) fn family(source: &str) -> Result<Family, Found> {
    let (arguments, item) = under_attribute(source);
    super::family(arguments, item).map_err(|rejected| rejected.errors)
}

/// Reads a handler from `#[ffi_handler(...)] fn ...`.
pub(crate) fn handler(source: &str) -> Result<Handler, Found> {
    let (arguments, item) = under_attribute(source);
    super::handler(arguments, item).map_err(|rejected| rejected.errors)
}

/// The arguments of the attribute at the beginning of a source, and what stands under it.
fn under_attribute(source: &str) -> (TokenStream, TokenStream) {
    let mut tokens = source.parse::<TokenStream>().unwrap().into_iter();
    let (Some(TokenTree::Punct(_)), Some(TokenTree::Group(attribute))) = (tokens.next(), tokens.next())
    else {
        panic!("{source} has no attribute");
    };
    let arguments = attribute.stream().into_iter().nth(1);
    let arguments = arguments.map_or_else(TokenStream::new, |token| match token {
        TokenTree::Group(group) => group.stream(),
        other => panic!("{source}: {other}"),
    });
    (arguments, tokens.collect())
}

/// A family with these arguments.
pub(crate) fn with_params(params: &str) -> Family {
    family(&format!("#[dispatch_family] fn f({params}) -> Result<Program> {{}}")).unwrap()
}

/// A struct or enum under a derive.
pub(crate) fn derive_input(source: &str) -> DeriveInput {
    syn::parse_str(source).unwrap()
}

/// Checks every case of a table: the same errors, in order, on the same tokens.
pub(crate) fn check(table: &Table) {
    let mut wrong = String::new();
    for (source, want) in table.cases {
        let source = table.template.replacen("{}", source, 1);
        let got = match (table.read)(&source) {
            Ok(()) => Vec::new(),
            Err(found) => found.iter().map(said).collect(),
        };
        let agrees = got.len() == want.len()
            && got.iter().zip(*want).all(|(got, want)| {
                got.0.split_whitespace().eq(want.0.split_whitespace())
                    && got.1 == want.1
                    && got.2.contains(want.2)
            });
        if !agrees {
            wrong.push_str(&format!("{source}\n   want {want:#?}\n   got {got:#?}\n"));
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

fn said(error: &syn::Error) -> (String, String, String) {
    let whole = error.to_string();
    let (text, hint) = whole.split_once("\nhint: ").unwrap_or((&whole, ""));
    (error.span().source_text().unwrap_or_default(), text.to_owned(), hint.to_owned())
}
