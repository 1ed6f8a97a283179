//! Walks through the arrays of a scope.

use proc_macro2::{Ident, TokenStream};

use super::{Scope, code, dtype_name, plain, tree_call};
use crate::syntax::{Count, Dynamic, DynamicKind, Leaves};

impl Scope<'_> {
    /// Statements that append every array to `leaves`: its path, its abstract value and whether it is donated.
    pub fn leaves(
        &self,
        bound: impl Fn(&Ident) -> TokenStream,
        path: impl Fn(&str) -> TokenStream,
    ) -> TokenStream {
        let fields = self.fields.iter().map(|(_, field)| {
            let access = (self.access)(field);
            let path = path(&plain(&field.name));
            match &field.kind {
                DynamicKind::Tree(_) => {
                    let leaves = tree_call(field, "leaves", &code! { #access, &#path, leaves });
                    code! { #leaves; }
                }
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
            let access = (self.access)(field);
            match &field.kind {
                DynamicKind::Tree(_) => tree_call(field, "avals", &access),
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
            let access = (self.access)(field);
            match &field.kind {
                DynamicKind::Tree(_) => {
                    let each = code! { #access, &mut |leaf, donated| visit(leaf, donated) };
                    let visit = tree_call(field, "visit", &each);
                    code! { #visit; }
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
                DynamicKind::Tree(_) => tree_call(field, "field", &access),
                DynamicKind::Leaves(Leaves { count: Count::One, .. }) => {
                    code! { __dispatch::Field::Leaf(#access) }
                }
                DynamicKind::Leaves(_) => code! { __dispatch::list_field(#access) },
            }
        });
        code! { &[#(#fields),*] }
    }
}
