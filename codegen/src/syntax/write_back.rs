//! `write_back`: which result is written back into which argument.

use proc_macro2::Ident;
use syn::LitInt;
use syn::parse::ParseStream;

use super::errors::Errors;
use super::kind::Within;
use super::messages;
use super::model::Count;
use super::option_list::skip_item;
use super::raw::{Given, RawDynamic, RawKind, RawParam};
use super::text::text;

/// `write_back`, or `write_back = 1`, as written.
#[derive(Clone, Debug)]
pub(crate) struct RawWriteBack {
    /// The word.
    pub(crate) word: Ident,
    /// The result, counted from 0, if it is said.
    pub(crate) result: Option<usize>,
}

/// Reads what follows the word: `write_back = x` is wrong.
pub(crate) fn read(word: &Ident, input: ParseStream<'_>) -> syn::Result<RawWriteBack> {
    if input.parse::<Option<syn::Token![=]>>()?.is_none() {
        super::option_list::flag(word, input)?;
        return Ok(RawWriteBack { word: word.clone(), result: None });
    }
    let index = input.fork().parse::<LitInt>().ok().and_then(|index| index.base10_parse().ok());
    let Some(index) = index else {
        let found: Option<proc_macro2::TokenTree> = input.fork().parse().ok();
        skip_item(input);
        return Err(match found {
            Some(found) => syn::Error::new_spanned(&found, messages::write_back_value(text(&found))),
            None => syn::Error::new_spanned(word, messages::value_needed(word, "write_back = 0")),
        });
    };
    input.parse::<LitInt>()?;
    Ok(RawWriteBack { word: word.clone(), result: Some(index) })
}

/// Checks who is written back into.
///
/// It is one array of a family, and each result is written back once: `#[dynamic(…, write_back)] a: Vec<Aval>`, a field
/// `#[dynamic(…, write_back)] w: T` and two arguments with the same `write_back` are wrong.
pub(crate) fn check(errors: &mut Errors, params: &[RawParam], within: Within) {
    let mut seen: Vec<(&RawDynamic, &RawWriteBack)> = Vec::new();
    for raw in params.iter().filter_map(RawParam::dynamic) {
        let Some(back) = &raw.options.write_back else { continue };
        if within == Within::Fields {
            errors.on(&back.word, messages::write_back_field(&raw.name));
        } else if let Given::Is(RawKind::Leaves(Count::Any | Count::Exactly(_))) = raw.kind {
            errors.on(&back.word, messages::write_back_list(&raw.name));
        }
        let result = |back: &RawWriteBack| back.result.unwrap_or(0);
        if let Some((other, _)) = seen.iter().find(|(_, other)| result(other) == result(back)) {
            errors.on(&back.word, messages::write_back_twice(result(back), &other.name));
        }
        seen.push((raw, back));
    }
}
