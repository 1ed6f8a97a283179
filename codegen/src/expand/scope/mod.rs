//! What a family's arguments and an input tree's fields have in common: a scope of names.
//!
//! For one scope this writes the signature as data (`data`), the specialised check (`accept`), the parts of the key
//! and their description (`key`), and the walks through its arrays (`leaves`). How a field is reached differs between
//! the two users; [`Scope::access`] says it.

mod accept;
mod data;
mod key;
mod leaves;
mod tree;

use proc_macro2::{Ident, Span, TokenStream};
use syn::ext::IdentExt;

use crate::syntax::{Capture, Count, Dynamic, Group, Leaves, Pattern, Position, Shape};
pub(super) use accept::{require, require_or};
pub(super) use data::{allowed, dtype_data};
pub(super) use tree::{tree_call, tree_donates};

/// Tokens whose local names are the expansion's own.
macro_rules! code {
    ($($tokens:tt)*) => { ::quote::quote_spanned! {::proc_macro2::Span::mixed_site()=> $($tokens)* } };
}
pub(super) use code;

/// The dynamic arguments of a family or the fields of an input tree.
pub(super) struct Scope<'a> {
    /// The family's or struct's name.
    pub owner: String,
    /// The fields with their indices in the model, which counts a family's static arguments too.
    pub fields: Vec<(usize, &'a Dynamic)>,
    pub groups: &'a [Group],
    pub captures: &'a [Capture],
    /// A reference to a field: `&impl Leaf`, `&[impl Leaf]` or `&impl InputTree`.
    pub access: fn(&Dynamic) -> TokenStream,
    /// The shape of a field that is one array, for as long as the array is borrowed.
    pub shape: fn(&Dynamic) -> TokenStream,
    /// What the fields are.
    pub reads: Reads,
}

/// What the fields of a scope are when they are checked.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Reads {
    /// Arrays and host values, of which the check finds out all.
    Leaves,
    /// Buffers of a frame, whose own dtypes and ranks were asked for when they were decoded.
    Buffers,
}

/// A name as text, without the `r#` of a raw identifier.
pub(super) fn plain(ident: &Ident) -> String {
    ident.unraw().to_string()
}

/// The variable that holds the dtype of a group; also a field of `Call`, so no argument may have its name.
pub(super) fn dtype_name(group: usize) -> Ident {
    Ident::new(&format!("__dtype{group}"), Span::mixed_site())
}

/// The variable that holds a captured size or the captured leading sizes.
pub(super) fn capture_name(capture: &Capture) -> Ident {
    Ident::new(&format!("__size_{}", plain(&capture.ident)), Span::mixed_site())
}

impl Scope<'_> {
    /// The position among the fields of an index of the model.
    pub fn position(&self, index: usize) -> usize {
        self.fields
            .iter()
            .position(|(i, _)| *i == index)
            .expect("the model's references are to fields of its scope")
    }

    /// Whether the number of arrays is not in the signature.
    pub fn is_nested(&self) -> bool {
        self.fields
            .iter()
            .any(|(_, field)| field.leaves().is_none_or(|leaves| !matches!(leaves.count, Count::One)))
    }
}

fn position(pattern: &Pattern, dim: usize) -> Position {
    match pattern.leading {
        None => Position::Front(dim),
        Some(_) => Position::Back(pattern.dims.len() - 1 - dim),
    }
}

/// A size, or the leading sizes, of a shape.
fn size_at(shape: &TokenStream, at: Position, leaves: &Leaves) -> TokenStream {
    match at {
        Position::Front(i) => code! { __dispatch::dim(#shape, #i) },
        Position::Back(i) => code! { __dispatch::dim_back(#shape, #i) },
        Position::Leading => {
            let rank = match &leaves.shape {
                Shape::Pattern(pattern) => pattern.dims.len(),
                Shape::Same(_) => 0,
            };
            code! { __dispatch::lead(#shape, #rank) }
        }
    }
}

impl Reads {
    /// The shape of an array.
    fn shape(self, leaf: &TokenStream) -> TokenStream {
        match self {
            Reads::Leaves => code! { __dispatch::Leaf::shape(#leaf) },
            Reads::Buffers => code! { __dispatch::ffi::Described::shape(#leaf) },
        }
    }

    /// The size of a dimension of an array of this rank.
    fn size(self, leaf: &TokenStream, rank: usize, i: usize) -> TokenStream {
        match self {
            Reads::Leaves => code! { __dispatch::Leaf::size(#leaf, #rank, #i) },
            Reads::Buffers => {
                let shape = self.shape(leaf);
                code! { __dispatch::dim(#shape, #i) }
            }
        }
    }

    /// [`size_at`] of the array `leaf`, which need not be asked for its rank again where that is in the signature.
    fn size_of(self, leaf: &TokenStream, at: Position, leaves: &Leaves) -> TokenStream {
        match (&leaves.shape, at) {
            (Shape::Pattern(pattern), Position::Front(i)) => self.size(leaf, pattern.dims.len(), i),
            _ => size_at(&self.shape(leaf), at, leaves),
        }
    }
}

/// `size 1`, or `size 1 from the end` where the rank is free.
fn position_text(at: Position) -> String {
    match at {
        Position::Front(i) => format!("size {}", i + 1),
        Position::Back(0) => "last size".to_owned(),
        Position::Back(i) => format!("size {} from the end", i + 1),
        Position::Leading => String::new(),
    }
}
