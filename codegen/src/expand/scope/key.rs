//! The parts of the key that can vary, for the machine and for people.

use proc_macro2::{Ident, TokenStream};

use super::{
    Reads, Scope, capture_name, code, dtype_name, plain, position, position_text, size_at, tree_call,
};
use crate::syntax::{CaptureKind, Count, Dim, DynamicKind, Leading, Leaves, Shape};

impl Scope<'_> {
    /// Statements that give the variable parts of the key to `sink`. `dtype` and `size` reach what
    /// [`Scope::bindings`] bound.
    pub fn encode(&self, bound: impl Fn(&Ident) -> TokenStream) -> TokenStream {
        let dtypes = self.groups.iter().enumerate().filter(|(_, group)| group.dtypes.fixed().is_none()).map(
            |(i, _)| {
                let name = bound(&dtype_name(i));
                code! { sink.word(#name as u64); }
            },
        );
        let sizes = self.captures.iter().map(|capture| {
            let name = bound(&capture_name(capture));
            match capture.kind {
                CaptureKind::Dim => code! { sink.word(#name as u64); },
                CaptureKind::Leading => code! { sink.sizes(#name); },
            }
        });
        let fields = self.fields.iter().map(|(_, field)| {
            let access = (self.access)(field);
            match &field.kind {
                DynamicKind::Tree(_) => {
                    let encode = tree_call(field, "encode", &code! { #access, sink });
                    code! { #encode; }
                }
                DynamicKind::Leaves(leaves) => {
                    let length = match leaves.count {
                        Count::Any => code! { sink.word(#access.len() as u64); },
                        _ => TokenStream::new(),
                    };
                    let free = encode_leaf(leaves);
                    match leaves.count {
                        _ if free.is_empty() => length,
                        Count::One => code! { { let leaf = #access; #free } },
                        _ => code! { #length for leaf in #access { #free } },
                    }
                }
            }
        });
        code! { #(#dtypes)* #(#sizes)* #(#fields)* }
    }

    /// Statements that append the parts of the key to `parts`, in the order of [`Scope::encode`]; `path` gives the
    /// expression of a field's path, a `String`.
    pub fn describe(
        &self,
        bound: impl Fn(&Ident) -> TokenStream,
        path: impl Fn(&str) -> TokenStream,
    ) -> TokenStream {
        let dtypes = self.groups.iter().enumerate().filter(|(_, group)| group.dtypes.fixed().is_none()).map(
            |(i, group)| {
                let value = bound(&dtype_name(i));
                let path = path(&plain(&self.fields[self.position(group.root)].1.name));
                code! { parts.push(__dispatch::part_dtype(#path, #value)); }
            },
        );
        let sizes = self.captures.iter().map(|capture| {
            let value = bound(&capture_name(capture));
            let name = plain(&capture.ident);
            let binding = capture.binding();
            let path = path(&plain(&self.fields[self.position(binding.param)].1.name));
            let at = position_text(binding.at);
            match capture.kind {
                CaptureKind::Dim => code! { parts.push(__dispatch::part_size(#path, #at, #name, #value)); },
                CaptureKind::Leading => code! { parts.push(__dispatch::part_lead(#path, #name, #value)); },
            }
        });
        let fields = self.fields.iter().map(|(_, field)| {
            let access = (self.access)(field);
            let path = path(&plain(&field.name));
            match &field.kind {
                DynamicKind::Tree(_) => {
                    let describe = tree_call(field, "describe", &code! { #access, &#path, parts });
                    code! { #describe; }
                }
                DynamicKind::Leaves(leaves) => {
                    let length = match leaves.count {
                        Count::Any => code! { parts.push(__dispatch::part_len(#path, #access.len())); },
                        _ => TokenStream::new(),
                    };
                    let free = describe_leaf(leaves);
                    match leaves.count {
                        _ if free.is_empty() => length,
                        Count::One => code! { { let (leaf, path) = (#access, #path); #free } },
                        _ => code! {
                            #length
                            for (i, leaf) in #access.iter().enumerate() {
                                let path = __dispatch::item_path(&#path, i);
                                #free
                            }
                        },
                    }
                }
            }
        });
        code! { #(#dtypes)* #(#sizes)* #(#fields)* }
    }
}

/// Gives the free sizes of `leaf` to `sink`.
fn encode_leaf(leaves: &Leaves) -> TokenStream {
    let Shape::Pattern(pattern) = &leaves.shape else { return TokenStream::new() };
    let shape = code! { __dispatch::Leaf::shape(leaf) };
    let lead = match pattern.leading {
        Some(Leading::Anonymous) => {
            let rank = pattern.dims.len();
            code! { sink.sizes(__dispatch::lead(#shape, #rank)); }
        }
        _ => TokenStream::new(),
    };
    let dims = pattern.dims.iter().enumerate().filter(|(_, dim)| **dim == Dim::Any).map(|(i, _)| {
        let size = Reads::Leaves.size_of(&code! { leaf }, position(pattern, i), leaves);
        code! { sink.word(#size as u64); }
    });
    code! { #lead #(#dims)* }
}

/// Describes the free sizes of `leaf`, whose path is `path`, into `parts`.
fn describe_leaf(leaves: &Leaves) -> TokenStream {
    let Shape::Pattern(pattern) = &leaves.shape else { return TokenStream::new() };
    let shape = code! { __dispatch::Leaf::shape(leaf) };
    let lead = match pattern.leading {
        Some(Leading::Anonymous) => {
            let rank = pattern.dims.len();
            code! { parts.push(__dispatch::part_lead(path.clone(), "", __dispatch::lead(#shape, #rank))); }
        }
        _ => TokenStream::new(),
    };
    let dims = pattern.dims.iter().enumerate().filter(|(_, dim)| **dim == Dim::Any).map(|(i, _)| {
        let at = position(pattern, i);
        let size = size_at(&shape, at, leaves);
        let at = position_text(at);
        code! { parts.push(__dispatch::part_size(path.clone(), #at, "", #size)); }
    });
    code! { #lead #(#dims)* }
}
