//! What the macros emit for a declaration with mistakes, besides the errors: as much as keeps the rest of the user's
//! program free of further ones.

mod derives;
mod functions;
mod patterns;

pub(crate) use derives::{attr_value, input_tree, output_tree, static_arg};
pub(crate) use functions::{family, handler};
pub(crate) use patterns::check;
