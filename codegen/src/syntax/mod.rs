//! The one model of a signature, shared by the attribute macro and the generator.
//!
//! The pipeline is gated: a declaration is parsed into what is written (`raw`), its rules are checked, all errors
//! are collected in one pass ([`Found`]), and only a declaration without mistakes becomes a model ([`Family`],
//! [`InputTree`], [`OutputTree`], [`StaticArg`]), which no reader can fail on.
//!
//! | file | has |
//! |---|---|
//! | `words`, `messages`, `kind` | the tables of accepted words, of all messages, and of what each kind of declaration is called |
//! | `errors` | the collector |
//! | `option_list`, `dtype`, `shape`, `reference`, `types`, `docs`, `text` | reading the parts of a signature |
//! | `dynamic`, `statics`, `params`, `output`, `function`, `family_options` | the rules of a function, one function each |
//! | `border` | the rules of what is a function of R, and defaults as R writes them |
//! | `links`, `names`, `write_back`, `resolve` | references, captured names and results that are written back, from what is written to the model |
//! | `family`, `trees`, `static_type` | the four kinds of declarations around families |
//! | `handler` | `#[ffi_handler]` and `#[derive(AttrValue)]` |
//! | `model` | what comes out |

mod border;
mod docs;
mod dtype;
mod dynamic;
mod errors;
mod family;
mod family_options;
mod function;
mod handler;
mod kind;
mod links;
mod messages;
mod model;
mod model_methods;
mod names;
mod option_list;
mod output;
mod params;
mod raw;
mod reference;
mod resolve;
mod shape;
mod static_type;
mod statics;
mod text;
mod trees;
mod types;
mod words;
mod write_back;

#[cfg(test)]
pub(crate) mod tests;

pub use border::{RKind, RStatic, RType, RValue};
pub use errors::Found;
pub use family::{Rejected, family};
pub use handler::*;
pub use model::*;
pub use static_type::static_arg;
pub use trees::{input_tree, output_tree};

pub(crate) use function::{stripped, type_name};
pub(crate) use handler::{handler_static_name, option_argument};
pub(crate) use kind::{FAMILY, HANDLER, Kind};
pub(crate) use messages::Message;
#[cfg(feature = "build")]
pub(crate) use messages::messages;
pub(crate) use text::text;
pub(crate) use words::RUST_KEYWORDS;
#[cfg(feature = "build")]
pub(crate) use words::{list, nearest};
