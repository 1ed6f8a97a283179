//! What a family's arguments and an input tree's fields have in common: a scope of names.
//!
//! For one scope this writes the signature as data, the specialised check, the parts of the key and their
//! description. How a field is reached differs between the two users; [`Scope::access`] says it.

use proc_macro2::{Ident, Span, TokenStream};
use quote::quote_spanned;
use syn::ext::IdentExt;

use crate::syntax::{
    Capture, CaptureKind, Class, Count, DTypes, Dim, Dynamic, DynamicKind, Group, Leading, Leaves, Pattern,
    Position, Shape,
};

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
    /// The scope as a value of the runtime's `Scope`.
    pub fn data(&self) -> TokenStream {
        let owner = &self.owner;
        let names = self.captures.iter().map(|c| plain(&c.ident));
        let fields = self.fields.iter().map(|(_, field)| self.field_data(field));
        code! {
            __dispatch::Scope { owner: #owner, fields: &[#(#fields),*], names: &[#(#names),*] }
        }
    }

    fn field_data(&self, field: &Dynamic) -> TokenStream {
        let name = plain(&field.name);
        let leaf = match field.leaves() {
            None => code! { ::core::option::Option::None },
            Some(leaves) => {
                let dtype = self.dtype_data(field, leaves);
                let shape = self.shape_data(&leaves.shape);
                let donate = leaves.donate;
                code! {
                    ::core::option::Option::Some(__dispatch::LeafSpec { dtype: #dtype, shape: #shape, donate: #donate })
                }
            }
        };
        code! { __dispatch::FieldSpec { name: #name, leaf: #leaf } }
    }

    fn dtype_data(&self, field: &Dynamic, leaves: &Leaves) -> TokenStream {
        let group = &self.groups[leaves.group];
        let root = self.position(group.root);
        if self.fields[root].1.name != field.name {
            return code! { __dispatch::DTypeSpec::Same(#root) };
        }
        allowed(&group.dtypes)
    }

    fn shape_data(&self, shape: &Shape) -> TokenStream {
        let pattern = match shape {
            Shape::Same(other) => {
                let other = self.position(*other);
                return code! { __dispatch::ShapeSpec::Same(#other) };
            }
            Shape::Pattern(pattern) => pattern,
        };
        let lead = match pattern.leading {
            None => code! { __dispatch::Lead::None },
            Some(Leading::Anonymous) => code! { __dispatch::Lead::Any },
            Some(Leading::Captured(n)) => code! { __dispatch::Lead::Named(#n) },
        };
        let dims = pattern.dims.iter().map(|dim| match dim {
            Dim::Fixed(n) => code! { __dispatch::Dim::Fixed(#n) },
            Dim::Any => code! { __dispatch::Dim::Any },
            Dim::Captured(n) => code! { __dispatch::Dim::Captured(#n) },
        });
        code! { __dispatch::ShapeSpec::Dims(#lead, &[#(#dims),*]) }
    }

    /// The position among the fields of an index of the model.
    fn position(&self, index: usize) -> usize {
        self.fields
            .iter()
            .position(|(i, _)| *i == index)
            .expect("the model's references are to fields of its scope")
    }

    /// Statements that bind the dtype of each group and the captured sizes from the fields, sound or not.
    pub fn bindings(&self) -> TokenStream {
        let dtypes = self.groups.iter().enumerate().map(|(i, group)| {
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
        let sizes = self.captures.iter().map(|capture| {
            let name = capture_name(capture);
            let binding = capture.binding();
            let field = self.fields[self.position(binding.param)].1;
            let leaves = field.leaves().expect("names stand in shapes of arrays");
            let access = (self.access)(field);
            let shape = match leaves.count {
                Count::One => code! { __dispatch::Leaf::shape(#access) },
                _ => code! { __dispatch::first_shape(#access) },
            };
            let size = size_at(&shape, binding.at, leaves);
            code! { let #name = #size; }
        });
        code! { #(#dtypes)* #(#sizes)* }
    }

    /// Statements that clear `ok` if a field is not what the signature allows; `place` learns where the call runs.
    /// The names of [`Scope::bindings`] are in scope, the dtypes as options.
    pub fn accept(&self) -> TokenStream {
        let some = self.groups.iter().enumerate().map(|(i, _)| {
            let name = dtype_name(i);
            code! {
                ok &= #name.is_some();
                let #name = #name.unwrap_or(__dispatch::DType::Bool);
            }
        });
        let fields = self.fields.iter().map(|(index, field)| {
            let (access, tree) = ((self.access)(field), tree_trait(field));
            match &field.kind {
                DynamicKind::Tree(_) => code! { ok &= #tree::accepts(#access, place); },
                DynamicKind::Leaves(leaves) => {
                    let leaf = Ident::new("leaf", Span::mixed_site());
                    let checks = self.accept_leaf(*index, leaves, &leaf);
                    match leaves.count {
                        Count::One => code! { { let leaf = #access; #checks } },
                        _ => code! { for leaf in #access { #checks } },
                    }
                }
            }
        });
        let lists = self.captures.iter().filter_map(|capture| {
            let field = self.fields[self.position(capture.binding().param)].1;
            let access = (self.access)(field);
            let single = matches!(field.leaves()?.count, Count::One);
            (!single).then(|| code! { ok &= !#access.is_empty(); })
        });
        code! { #(#some)* #(#fields)* #(#lists)* }
    }

    fn accept_leaf(&self, index: usize, leaves: &Leaves, leaf: &Ident) -> TokenStream {
        let dtype = dtype_name(leaves.group);
        let pattern = match &leaves.shape {
            Shape::Same(other) => {
                let other = (self.access)(self.fields[self.position(*other)].1);
                return code! {
                    ok &= __dispatch::fits_lead(#leaf, place, #dtype, 0);
                    ok &= __dispatch::Leaf::shape(#leaf) == __dispatch::Leaf::shape(#other);
                };
            }
            Shape::Pattern(pattern) => pattern,
        };
        let rank = pattern.dims.len();
        let fits = match pattern.leading {
            None => code! { ok &= __dispatch::fits(#leaf, place, #dtype, #rank); },
            Some(_) => code! { ok &= __dispatch::fits_lead(#leaf, place, #dtype, #rank); },
        };
        let shape = code! { __dispatch::Leaf::shape(#leaf) };
        let lead = match pattern.leading {
            Some(Leading::Captured(n)) if !self.binds(n, index, leaves, Position::Leading) => {
                let name = capture_name(&self.captures[n]);
                code! { ok &= __dispatch::lead(#shape, #rank) == #name; }
            }
            _ => TokenStream::new(),
        };
        let dims = pattern.dims.iter().enumerate().filter_map(|(i, dim)| {
            let at = position(pattern, i);
            let size = size_at(&shape, at, leaves);
            match dim {
                Dim::Fixed(n) => Some(code! { ok &= #size == #n; }),
                Dim::Captured(n) if !self.binds(*n, index, leaves, at) => {
                    let name = capture_name(&self.captures[*n]);
                    Some(code! { ok &= #size == #name; })
                }
                Dim::Any | Dim::Captured(_) => None,
            }
        });
        code! { #fits #lead #(#dims)* }
    }

    /// Whether this occurrence is the one that binds the name; a single array need not be compared with itself.
    fn binds(&self, capture: usize, index: usize, leaves: &Leaves, at: Position) -> bool {
        let binding = self.captures[capture].binding();
        matches!(leaves.count, Count::One) && binding.param == index && binding.at == at
    }

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
            let (access, tree) = ((self.access)(field), tree_trait(field));
            match &field.kind {
                DynamicKind::Tree(_) => code! { #tree::encode(#access, sink); },
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
            let (access, tree) = ((self.access)(field), tree_trait(field));
            let path = path(&plain(&field.name));
            match &field.kind {
                DynamicKind::Tree(_) => code! { #tree::describe(#access, &#path, parts); },
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

    /// Statements that append every array to `leaves`: its path, its abstract value and whether it is donated.
    pub fn leaves(
        &self,
        bound: impl Fn(&Ident) -> TokenStream,
        path: impl Fn(&str) -> TokenStream,
    ) -> TokenStream {
        let fields = self.fields.iter().map(|(_, field)| {
            let (access, tree) = ((self.access)(field), tree_trait(field));
            let path = path(&plain(&field.name));
            match &field.kind {
                DynamicKind::Tree(_) => code! { #tree::leaves(#access, &#path, leaves); },
                DynamicKind::Leaves(Leaves { count, group, donate, .. }) => {
                    let dtype = bound(&dtype_name(*group));
                    match count {
                        Count::One => code! {
                            leaves.push((#path, __dispatch::aval(#access, #dtype), #donate));
                        },
                        _ => code! {
                            for (i, leaf) in #access.iter().enumerate() {
                                let path = __dispatch::item_path(&#path, i);
                                leaves.push((path, __dispatch::aval(leaf, #dtype), #donate));
                            }
                        },
                    }
                }
            }
        });
        code! { #(#fields)* }
    }

    /// The abstract value of each field, as the body or the struct of abstract values holds it.
    pub fn avals(&self, bound: impl Fn(&Ident) -> TokenStream) -> Vec<TokenStream> {
        let aval = |field: &Dynamic| {
            let (access, tree) = ((self.access)(field), tree_trait(field));
            match &field.kind {
                DynamicKind::Tree(_) => code! { #tree::avals(#access) },
                DynamicKind::Leaves(Leaves { count, group, .. }) => {
                    let dtype = bound(&dtype_name(*group));
                    match count {
                        Count::One => code! { __dispatch::aval(#access, #dtype) },
                        Count::Any => code! { __dispatch::avals(#access, #dtype) },
                        Count::Exactly(n) => code! { __dispatch::avals_array::<{ #n }>(#access, #dtype) },
                    }
                }
            }
        };
        self.fields.iter().map(|(_, field)| aval(field)).collect()
    }

    /// Statements that call `visit` with every leaf and whether it is donated, in order.
    pub fn visit(&self) -> TokenStream {
        let fields = self.fields.iter().map(|(_, field)| {
            let (access, tree) = ((self.access)(field), tree_trait(field));
            match &field.kind {
                DynamicKind::Tree(_) => {
                    code! { #tree::visit(#access, &mut |leaf, donated| visit(leaf, donated)); }
                }
                DynamicKind::Leaves(Leaves { count, donate, .. }) => match count {
                    Count::One => code! { visit(#access, #donate); },
                    _ => code! { for leaf in #access { visit(leaf, #donate); } },
                },
            }
        });
        code! { #(#fields)* }
    }

    /// The fields as the reference check takes them.
    pub fn check_fields(&self) -> TokenStream {
        let fields = self.fields.iter().map(|(_, field)| {
            let access = (self.access)(field);
            match &field.kind {
                DynamicKind::Tree(_) => code! { __dispatch::Field::Tree(#access) },
                DynamicKind::Leaves(Leaves { count: Count::One, .. }) => {
                    code! { __dispatch::Field::Leaf(#access) }
                }
                DynamicKind::Leaves(_) => code! { __dispatch::list_field(#access) },
            }
        });
        code! { &[#(#fields),*] }
    }

    /// Whether the number of arrays is not in the signature.
    pub fn is_nested(&self) -> bool {
        self.fields
            .iter()
            .any(|(_, field)| field.leaves().is_none_or(|leaves| !matches!(leaves.count, Count::One)))
    }
}

/// The trait of a nested struct, at the span of its type: the compiler complains there if it is none.
pub(super) fn tree_trait(field: &Dynamic) -> TokenStream {
    quote_spanned! {field.span.resolved_at(Span::mixed_site())=> __dispatch::InputTree }
}

/// The dtypes that a group allows, as data.
pub(super) fn allowed(dtypes: &DTypes) -> TokenStream {
    match dtypes {
        DTypes::One(dtype) => {
            let dtype = dtype_data(dtype.variant());
            code! { __dispatch::DTypeSpec::One(#dtype) }
        }
        DTypes::Choice(list) => {
            let list = list.iter().map(|dtype| dtype_data(dtype.variant()));
            code! { __dispatch::DTypeSpec::Choice(&[#(#list),*]) }
        }
        DTypes::Class(Class::Any) => code! { __dispatch::DTypeSpec::Any },
        DTypes::Class(Class::Float) => code! { __dispatch::DTypeSpec::Float },
        DTypes::Class(Class::Int) => code! { __dispatch::DTypeSpec::Int },
    }
}

fn dtype_data(variant: String) -> TokenStream {
    let variant = Ident::new(if variant == "Bf16" { "BF16" } else { &variant }, Span::mixed_site());
    quote_spanned! {Span::mixed_site()=> __dispatch::DType::#variant }
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

/// `[0]`, or `[-1]` where the rank is free.
fn position_text(at: Position) -> String {
    match at {
        Position::Front(i) => format!("[{i}]"),
        Position::Back(i) => format!("[-{}]", i + 1),
        Position::Leading => String::new(),
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
        let size = size_at(&shape, position(pattern, i), leaves);
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
