//! Help pages of families.
//!
//! | file | has |
//! |---|---|
//! | `page` | one model of a help page |
//! | `markdown`, `links`, `rd` | doc comments as text of help pages, and the escapes of its languages |
//! | `arrays`, `statics`, `results` | what arguments and results are, in words |
//! | `document` | a page from a declaration |
//! | `man`, `roxygen` | the two forms of a page: a file in `man`, and the comments in `R/families.R` |

mod arrays;
mod document;
mod links;
mod man;
mod markdown;
mod page;
mod rd;
mod results;
mod roxygen;
mod statics;

use proc_macro2::Ident;
use quote::ToTokens;
use syn::ext::IdentExt;

pub(crate) use document::page;
pub(crate) use man::{MARKER as MAN_MARKER, is_replaced, text as man};
pub(crate) use roxygen::text as roxygen;

/// A name as R has it: without `r#`.
pub(crate) fn plain(name: &Ident) -> String {
    name.unraw().to_string()
}

/// A Rust expression: a number as it is, else as code.
fn code_of(expr: &impl ToTokens) -> String {
    let text = crate::syntax::text(expr);
    if text.bytes().all(|byte| byte.is_ascii_digit()) { text } else { rd::code(&text) }
}

/// `a, b or c`
fn or(items: impl Iterator<Item = String>) -> String {
    let mut items: Vec<String> = items.collect();
    match items.pop() {
        Some(last) if !items.is_empty() => format!("{} or {last}", items.join(", ")),
        last => last.unwrap_or_default(),
    }
}

/// The author's words and what the generator adds, as sentences; after a list or a table it is a paragraph of its own.
fn sentences(words: &str, added: &str) -> String {
    let words = words.trim();
    let ends = words.ends_with(['.', '!', '?', ':', ';']) || words.is_empty();
    let block = words.ends_with("\n}") || words.contains("\n\n");
    match (words.is_empty(), added.is_empty()) {
        (true, _) => added.to_owned(),
        (_, true) => {
            if ends || block {
                words.to_owned()
            } else {
                format!("{words}.")
            }
        }
        _ if block => format!("{words}\n\n{added}"),
        _ => format!("{words}{} {added}", if ends { "" } else { "." }),
    }
}
