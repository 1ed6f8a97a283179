//! The specialised check: one yes or no.

use proc_macro2::{Ident, Span, TokenStream};

use super::data::{allowed, dtype_data};
use super::{Reads, Scope, capture_name, code, dtype_name, position, size_at, tree_call};
use crate::syntax::{Capture, Count, Dim, DynamicKind, Leading, Leaves, Position, Shape};

impl Scope<'_> {
    /// Statements that bind the dtype of each group and the captured sizes from the fields, sound or not.
    pub fn bindings(&self) -> TokenStream {
        let groups = if self.reads == Reads::Leaves { self.groups } else { &[] };
        let dtypes = groups.iter().enumerate().map(|(i, group)| {
            let name = dtype_name(i);
            if let Some(dtype) = group.dtypes.fixed() {
                let dtype = dtype_data(dtype.variant());
                return code! { let #name = ::core::option::Option::Some(#dtype); };
            }
            let allowed = allowed(&group.dtypes);
            let members = group.members.iter().map(|member| {
                let field = self.fields[self.position(*member)].1;
                let access = (self.access)(field);
                match field.leaves().map(|leaves| &leaves.count) {
                    Some(Count::One) => code! { .leaf(#access) },
                    _ => code! { .list(#access) },
                }
            });
            code! { let #name = __dispatch::GroupDType::new(#allowed) #(#members)* .finish(); }
        });
        // The key has every size; who has none need not read what is compared with nothing.
        let needed = |capture: &&Capture| self.reads == Reads::Leaves || capture.occurrences.len() > 1;
        let sizes = self.captures.iter().filter(needed).map(|capture| {
            let name = capture_name(capture);
            let binding = capture.binding();
            let field = self.fields[self.position(binding.param)].1;
            let leaves = field.leaves().expect("names stand in shapes of arrays");
            let access = (self.access)(field);
            let size = match (&leaves.count, binding.at) {
                (Count::One, Position::Front(_)) => self.reads.size_of(&access, binding.at, leaves),
                (Count::One, at) => size_at(&(self.shape)(field), at, leaves),
                (_, at) => size_at(&code! { __dispatch::first_shape(#access) }, at, leaves),
            };
            code! { let #name = #size; }
        });
        code! { #(#dtypes)* #(#sizes)* }
    }

    /// A block that is true if every field is what the signature allows; `place` learns where the call runs. The names of
    /// [`Scope::bindings`] are in scope, the dtypes as options.
    ///
    /// `accepted` gives statements on a single `leaf` that passed; `more` are further checks. The block leaves at the first check that fails: a check that is passed is a comparison and a branch not taken, and tells
    /// the compiler what the later ones need not ask.
    pub fn accept(&self, accepted: impl Fn(usize) -> TokenStream, more: TokenStream) -> TokenStream {
        let some = self.groups.iter().enumerate().map(|(i, _)| {
            let name = dtype_name(i);
            code! {
                if #name.is_none() {
                    break '__accepted false;
                }
                let #name = #name.unwrap_or(__dispatch::DType::Bool);
            }
        });
        let leave = code! { false };
        let require = |condition| require_or(condition, &leave);
        let fields = self.fields.iter().map(|(index, field)| {
            let access = (self.access)(field);
            match &field.kind {
                DynamicKind::Tree(_) => {
                    let accepts = tree_call(field, "accepts", &code! { #access, place });
                    require(code! { #accepts })
                }
                DynamicKind::Leaves(leaves) => {
                    let leaf = Ident::new("leaf", Span::mixed_site());
                    let checks = self.accept_leaf(*index, leaves, &leaf, &leave);
                    match leaves.count {
                        Count::One => {
                            let accepted = accepted(*index);
                            code! { { let leaf = #access; #checks #accepted } }
                        }
                        _ => code! { for leaf in #access { #checks } },
                    }
                }
            }
        });
        let lists = self.captures.iter().filter_map(|capture| {
            let field = self.fields[self.position(capture.binding().param)].1;
            let access = (self.access)(field);
            let single = matches!(field.leaves()?.count, Count::One);
            (!single).then(|| require(code! { !#access.is_empty() }))
        });
        code! {
            '__accepted: {
                #(#some)*
                #(#fields)*
                #(#lists)*
                #more
                true
            }
        }
    }

    /// Statements that leave the block `'__accepted` with a value unless sizes and dtypes of buffers that were decoded
    /// agree with each other and with the signature. The names of [`Scope::bindings`] are in scope.
    pub fn agree(&self, leave: &TokenStream) -> TokenStream {
        let fields = self.fields.iter().filter_map(|(index, field)| {
            let (access, leaves) = ((self.access)(field), field.leaves()?);
            let leaf = Ident::new("leaf", Span::mixed_site());
            let checks = self.accept_leaf(*index, leaves, &leaf, leave);
            if checks.is_empty() {
                return None;
            }
            Some(match leaves.optional {
                true => code! { if let ::core::option::Option::Some(leaf) = #access { #checks } },
                false => code! { { let leaf = #access; #checks } },
            })
        });
        code! { #(#fields)* }
    }

    /// The check of what an array is besides its sizes.
    fn fits(
        &self,
        index: usize,
        leaves: &Leaves,
        leaf: &Ident,
        rank: usize,
        leads: bool,
    ) -> Option<TokenStream> {
        if self.reads == Reads::Leaves {
            let dtype = dtype_name(leaves.group);
            return Some(match leads {
                false => code! { __dispatch::fits(#leaf, place, #dtype, #rank) },
                true => code! { __dispatch::fits_lead(#leaf, place, #dtype, #rank) },
            });
        }
        let group = &self.groups[leaves.group];
        if group.root == index || group.dtypes.fixed().is_some() {
            return None;
        }
        let root = (self.access)(self.fields[self.position(group.root)].1);
        Some(code! {
            __dispatch::ffi::Described::data_type(#leaf) == __dispatch::ffi::Described::data_type(#root)
        })
    }

    fn accept_leaf(&self, index: usize, leaves: &Leaves, leaf: &Ident, leave: &TokenStream) -> TokenStream {
        let require = |condition| require_or(condition, leave);
        let pattern = match &leaves.shape {
            Shape::Same(other) => return self.accept_same(*other, index, leaves, leaf, leave),
            Shape::Pattern(pattern) => pattern,
        };
        let rank = pattern.dims.len();
        let fits = self.fits(index, leaves, leaf, rank, pattern.leading.is_some()).map(require);
        let shape = self.reads.shape(&code! { #leaf });
        let lead = match pattern.leading {
            Some(Leading::Captured(n)) if !self.binds(n, index, leaves, Position::Leading) => {
                let name = capture_name(&self.captures[n]);
                require(code! { __dispatch::same_sizes(__dispatch::lead(#shape, #rank), #name) })
            }
            _ => TokenStream::new(),
        };
        let dims = pattern.dims.iter().enumerate().filter_map(|(i, dim)| {
            let at = position(pattern, i);
            let size = self.reads.size_of(&code! { #leaf }, at, leaves);
            match dim {
                Dim::Fixed(n) => Some(require(code! { #size == #n })),
                Dim::Captured(n) if !self.binds(*n, index, leaves, at) => {
                    let name = capture_name(&self.captures[*n]);
                    Some(require(code! { #size == #name }))
                }
                Dim::Any | Dim::Captured(_) => None,
            }
        });
        code! { #fits #lead #(#dims)* }
    }

    /// The check of a leaf that has the shape of another field. Where the other's rank is in the signature, size by
    /// size; what the other must be in itself is checked with it.
    fn accept_same(
        &self,
        other: usize,
        index: usize,
        leaves: &Leaves,
        leaf: &Ident,
        leave: &TokenStream,
    ) -> TokenStream {
        let (reads, require) = (self.reads, |condition| require_or(condition, leave));
        let other = self.fields[self.position(other)].1;
        let pattern = match other.leaves().map(|leaves| &leaves.shape) {
            Some(Shape::Pattern(pattern)) if pattern.leading.is_none() => pattern,
            _ => {
                let other = (self.access)(other);
                let fits = self.fits(index, leaves, leaf, 0, true).map(require);
                let (own, others) = (reads.shape(&code! { #leaf }), reads.shape(&other));
                let same = require(code! { __dispatch::same_sizes(#own, #others) });
                return code! { #fits #same };
            }
        };
        let (rank, access) = (pattern.dims.len(), (self.access)(other));
        let fits = self.fits(index, leaves, leaf, rank, false).map(require);
        let sizes = pattern.dims.iter().enumerate().map(|(i, dim)| {
            let size = reads.size(&code! { #leaf }, rank, i);
            match dim {
                Dim::Fixed(n) => require(code! { #size == #n }),
                Dim::Captured(n) if reads == Reads::Leaves => {
                    let name = capture_name(&self.captures[*n]);
                    require(code! { #size == #name })
                }
                Dim::Any | Dim::Captured(_) => {
                    let others = reads.size(&access, rank, i);
                    require(code! { #size == #others })
                }
            }
        });
        code! { #fits #(#sizes)* }
    }

    /// Whether this occurrence is the one that binds the name; a single array need not be compared with itself.
    fn binds(&self, capture: usize, index: usize, leaves: &Leaves, at: Position) -> bool {
        let binding = self.captures[capture].binding();
        matches!(leaves.count, Count::One) && binding.param == index && binding.at == at
    }
}

/// Leaves the block of [`Scope::accept`] unless a condition holds.
pub fn require(condition: TokenStream) -> TokenStream {
    require_or(condition, &code! { false })
}

/// Leaves the block `'__accepted` with a value unless a condition holds.
pub fn require_or(condition: TokenStream, leave: &TokenStream) -> TokenStream {
    code! {
        if !(#condition) {
            break '__accepted #leave;
        }
    }
}
