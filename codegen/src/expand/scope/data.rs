//! The signature as data, for the reference check and the messages.

use proc_macro2::{Ident, Span, TokenStream};

use super::{Scope, code, plain};
use crate::syntax::{Class, Count, DTypes, Dim, Dynamic, Leading, Leaves, Shape, WriteBack};

impl Scope<'_> {
    /// The scope as a value of the runtime's `Scope`.
    pub fn data(&self) -> TokenStream {
        let owner = &self.owner;
        let names = self.captures.iter().map(|c| plain(&c.ident));
        let sources = self.captures.iter().map(|c| self.position(c.binding().param));
        let fields = self.fields.iter().map(|(_, field)| self.field_data(field));
        code! {
            __dispatch::Scope {
                owner: #owner,
                fields: &[#(#fields),*],
                names: &[#(#names),*],
                sources: &[#(#sources),*],
            }
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
                let write_back = match leaves.write_back {
                    None => code! { ::core::option::Option::None },
                    Some(WriteBack { result, .. }) => {
                        let result = result.unwrap_or(0);
                        code! { ::core::option::Option::Some(#result) }
                    }
                };
                code! {
                    ::core::option::Option::Some(__dispatch::LeafSpec {
                        dtype: #dtype,
                        shape: #shape,
                        donate: #donate,
                        write_back: #write_back,
                    })
                }
            }
        };
        let is_list = field.leaves().is_some_and(|leaves| !matches!(leaves.count, Count::One));
        code! { __dispatch::FieldSpec { name: #name, leaf: #leaf, is_list: #is_list } }
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
}

/// The dtypes that a group allows, as data.
pub(in crate::expand) fn allowed(dtypes: &DTypes) -> TokenStream {
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

pub(in crate::expand) fn dtype_data(variant: String) -> TokenStream {
    let variant = Ident::new(if variant == "Bf16" { "BF16" } else { &variant }, Span::mixed_site());
    code! { __dispatch::DType::#variant }
}
