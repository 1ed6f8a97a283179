//! `ffi::check!`: statements in a body.

use proc_macro2::{Ident, TokenStream};

use super::paths::private;
use super::scope::{allowed, code, plain};
use crate::syntax::text;
use crate::syntax::{CaptureKind, Check, CheckDType, CheckDim, CheckLead, CheckShape, CheckedBuffer};

/// The statements: the patterns are tried in order, and all names bound or the error returned.
pub(super) fn expand(check: &Check) -> TokenStream {
    let private = private();
    let mut known: Vec<usize> = Vec::new();
    let steps: Vec<TokenStream> =
        check.buffers.iter().map(|buffer| step(check, buffer, &mut known)).collect();
    let bound: Vec<&Ident> = check.captures.iter().map(|(name, _)| name).collect();
    if bound.is_empty() {
        return code! {
            {
                use #private as __dispatch;
                #(#steps)*
            }
        };
    }
    code! {
        #[allow(unused_variables)]
        let (#(#bound,)*) = {
            use #private as __dispatch;
            #(#steps)*
            (#(#bound,)*)
        };
    }
}

/// Tries the pattern of one buffer, and binds the names that it captures; those of the buffers before are values.
fn step(check: &Check, buffer: &CheckedBuffer, known: &mut Vec<usize>) -> TokenStream {
    let own = own_names(buffer, known);
    let of = |kind: CaptureKind| own.iter().copied().filter(move |n| check.captures[*n].1 == kind);
    let idents = |kind| of(kind).map(|n| &check.captures[n].0).collect::<Vec<&Ident>>();
    let (sizes, leads) = (idents(CaptureKind::Dim), idents(CaptureKind::Leading));
    let (size_names, lead_names) =
        (sizes.iter().map(|name| plain(name)), leads.iter().map(|name| plain(name)));
    let names = Names { check, known, own: &own };
    let constraints = constraints(buffer, &names);
    let (name, text) = (&buffer.name, plain(&buffer.name));
    let tried = code! {
        (__dispatch::ffi::Pattern {
            buffer: #text,
            names: [#(#size_names),*],
            leads: [#(#lead_names),*],
            constraints: &[#(#constraints),*],
        })
        .check(&#name)
    };
    let step = if own.is_empty() {
        code! {
            if let ::core::result::Result::Err(error) = #tried {
                return __dispatch::ffi::Failed::failed(error);
            }
        }
    } else {
        code! {
            let (#(#sizes,)* #(#leads,)*) = match #tried {
                ::core::result::Result::Ok(__dispatch::ffi::Captures { sizes: [#(#sizes),*], leads: [#(#leads),*] }) => {
                    (#(#sizes,)* #(#leads,)*)
                }
                ::core::result::Result::Err(error) => return __dispatch::ffi::Failed::failed(error),
            };
        }
    };
    known.extend(own);
    step
}

/// The names that a buffer's pattern captures, which those before it have not, in the order in which they occur.
fn own_names(buffer: &CheckedBuffer, known: &[usize]) -> Vec<usize> {
    let mut own: Vec<usize> = Vec::new();
    let mut add = |name: usize| {
        if !known.contains(&name) && !own.contains(&name) {
            own.push(name);
        }
    };
    if let Some(CheckShape::Dims(lead, dims)) = &buffer.shape {
        if let CheckLead::Captured(name) = lead {
            add(*name);
        }
        dims.iter().filter_map(captured).for_each(&mut add);
    }
    buffer.dims.iter().filter_map(|(_, dim)| captured(dim)).for_each(&mut add);
    own
}

fn captured(dim: &CheckDim) -> Option<usize> {
    match dim {
        CheckDim::Captured(name) => Some(*name),
        _ => None,
    }
}

/// The names around a pattern.
struct Names<'a> {
    check: &'a Check,
    known: &'a [usize],
    own: &'a [usize],
}

impl Names<'_> {
    /// The index of a name among the pattern's own of its kind.
    fn index(&self, name: usize) -> usize {
        let kind = self.check.captures[name].1;
        let same = self.own.iter().filter(|n| self.check.captures[**n].1 == kind);
        same.take_while(|n| **n != name).count()
    }
}

fn constraints(buffer: &CheckedBuffer, names: &Names<'_>) -> Vec<TokenStream> {
    let mut constraints = Vec::new();
    match &buffer.dtype {
        None => {}
        Some(CheckDType::Dtypes(dtypes)) => {
            let dtypes = allowed(dtypes);
            constraints.push(code! { __dispatch::ffi::Constraint::DType(#dtypes) });
        }
        Some(CheckDType::Same(other)) => {
            let text = plain(other);
            constraints.push(code! { __dispatch::ffi::Constraint::SameDType(&#other, #text) });
        }
    }
    if !buffer.ranks.is_empty() {
        let ranks = &buffer.ranks;
        constraints.push(code! { __dispatch::ffi::Constraint::Rank(&[#(#ranks),*]) });
    }
    match &buffer.shape {
        None => {}
        Some(CheckShape::Same(other)) => {
            let text = plain(other);
            constraints.push(code! { __dispatch::ffi::Constraint::Shape(&#other, #text) });
        }
        Some(CheckShape::Dims(leading, dims)) => {
            let lead = lead(*leading, names);
            let dims = dims.iter().map(|size| dim(size, names));
            constraints.push(code! { __dispatch::ffi::Constraint::Dims(#lead, &[#(#dims),*]) });
        }
    }
    constraints.extend(buffer.dims.iter().map(|(index, size)| {
        let size = dim(size, names);
        code! { __dispatch::ffi::Constraint::Dim(#index, #size) }
    }));
    constraints
}

fn lead(lead: CheckLead, names: &Names<'_>) -> TokenStream {
    match lead {
        CheckLead::None => code! { __dispatch::ffi::PatternLead::None },
        CheckLead::Any => code! { __dispatch::ffi::PatternLead::Any },
        CheckLead::Captured(n) if names.known.contains(&n) => {
            let (name, text) = (&names.check.captures[n].0, plain(&names.check.captures[n].0));
            code! { __dispatch::ffi::PatternLead::Is(&#name, #text) }
        }
        CheckLead::Captured(n) => {
            let index = names.index(n);
            code! { __dispatch::ffi::PatternLead::Captured(#index) }
        }
    }
}

fn dim(dim: &CheckDim, names: &Names<'_>) -> TokenStream {
    match dim {
        CheckDim::Any => code! { __dispatch::ffi::PatternDim::Any },
        CheckDim::Fixed(size) => {
            let size = i128::from(*size);
            code! { __dispatch::ffi::PatternDim::Is(#size, "") }
        }
        CheckDim::Captured(n) if names.known.contains(n) => {
            let (name, text) = (&names.check.captures[*n].0, plain(&names.check.captures[*n].0));
            code! { __dispatch::ffi::PatternDim::Is(__dispatch::ffi::size(#name), #text) }
        }
        CheckDim::Captured(n) => {
            let index = names.index(*n);
            code! { __dispatch::ffi::PatternDim::Captured(#index) }
        }
        CheckDim::Value(value) => {
            let written = text(value);
            code! { __dispatch::ffi::PatternDim::Is(__dispatch::ffi::size(#value), #written) }
        }
    }
}
