//! What is written, before references are resolved: the model between parse and check.

use proc_macro2::{Ident, Span};
use syn::{Expr, Type};

use super::model::{Count, DTypes, Docs};
use super::write_back::RawWriteBack;

/// A part of a declaration that may be missing or wrong.
///
/// A wrong one already has its error, so that no other rule complains of it.
#[derive(Clone, Debug)]
pub(crate) enum Given<T> {
    Missing,
    Bad,
    Is(T),
}

impl<T> Given<T> {
    pub(crate) fn as_ref(&self) -> Option<&T> {
        match self {
            Given::Is(value) => Some(value),
            _ => None,
        }
    }

    pub(crate) fn is_missing(&self) -> bool {
        matches!(self, Given::Missing)
    }
}

/// A dtype as written.
#[derive(Clone, Debug)]
pub(crate) enum RawDType {
    Dtypes(DTypes),
    Same(Ident),
}

/// A shape as written.
#[derive(Clone, Debug)]
pub(crate) enum RawShape {
    Pattern { leading: Option<RawLeading>, dims: Vec<RawDim> },
    Same(Ident),
}

/// Leading dimensions as written.
#[derive(Clone, Debug)]
pub(crate) enum RawLeading {
    Anonymous,
    Named(Ident),
}

/// A dimension as written.
#[derive(Clone, Debug)]
pub(crate) enum RawDim {
    Fixed(i64),
    Any,
    Named(Ident),
    /// `{n}`: a value, in a body only.
    Value(Box<Expr>),
}

/// The options of `#[dynamic(...)]`.
#[derive(Clone, Debug)]
pub(crate) struct DynamicOptions {
    pub(crate) dtype: Given<RawDType>,
    pub(crate) shape: Given<RawShape>,
    /// `like(a)`; wrong if its own form was.
    pub(crate) like: Given<Ident>,
    pub(crate) donate: bool,
    pub(crate) write_back: Option<RawWriteBack>,
    /// Where the value of `dtype` begins.
    pub(crate) dtype_span: Option<Span>,
    /// `alias = a`: the argument whose contents a result takes over.
    pub(crate) alias: Given<Ident>,
    /// The words in order, for the rules about the whole.
    pub(crate) words: Vec<Ident>,
}

/// What the type of a dynamic argument says.
#[derive(Clone, Debug)]
pub(crate) enum RawKind {
    Leaves(Count),
    Tree(syn::Path),
}

/// A dynamic argument or field as written.
#[derive(Clone, Debug)]
pub(crate) struct RawDynamic {
    pub(crate) name: Ident,
    pub(crate) docs: Docs,
    pub(crate) span: Span,
    pub(crate) kind: Given<RawKind>,
    pub(crate) options: DynamicOptions,
    /// Whether a call may leave it out.
    pub(crate) optional: bool,
}

/// A static argument as written.
#[derive(Clone, Debug)]
pub(crate) struct RawStatic {
    pub(crate) name: Ident,
    pub(crate) docs: Docs,
    pub(crate) ty: Type,
    pub(crate) default: Option<Expr>,
    /// Whether its type or its default has an error already.
    pub(crate) bad: bool,
}

/// An argument or a field as written.
#[derive(Clone, Debug)]
pub(crate) enum RawParam {
    Dynamic(RawDynamic),
    Static(RawStatic),
    /// One without a dtype and a shape: its name, and what it is.
    Other(Ident, &'static str),
    /// One whose attributes already have an error.
    Bad(Ident),
}

impl RawParam {
    pub(crate) fn name(&self) -> &Ident {
        match self {
            RawParam::Dynamic(dynamic) => &dynamic.name,
            RawParam::Static(fixed) => &fixed.name,
            RawParam::Other(name, _) | RawParam::Bad(name) => name,
        }
    }

    pub(crate) fn dynamic(&self) -> Option<&RawDynamic> {
        match self {
            RawParam::Dynamic(dynamic) => Some(dynamic),
            _ => None,
        }
    }
}
