//! Walks through the arrays of a scope.

use proc_macro2::{Ident, Span, TokenStream};
use quote::quote_spanned;

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

    /// What the body of a family sees of each field, taken from `leaves`; of which type is left to where it goes.
    pub fn seen(&self, leaves: &TokenStream) -> Vec<TokenStream> {
        let seen = |field: &Dynamic| {
            let access = (self.access)(field);
            // At the span of the type, where the compiler complains if a body cannot see that.
            let span = field.span.resolved_at(Span::mixed_site());
            let take = |method: &str, arguments: TokenStream| {
                let method = Ident::new(method, span);
                quote_spanned! {span=> __dispatch::BodyLeaves::#method(#leaves, #arguments) }
            };
            match &field.kind {
                DynamicKind::Tree(_) => tree_call(field, "seen", &code! { #access, #leaves }),
                DynamicKind::Leaves(Leaves { count: Count::One, .. }) => take("one", TokenStream::new()),
                DynamicKind::Leaves(Leaves { count: Count::Any, .. }) => {
                    take("list", code! { #access.len() })
                }
                DynamicKind::Leaves(Leaves { count: Count::Exactly(_), .. }) => {
                    take("array", TokenStream::new())
                }
            }
        };
        self.fields.iter().map(|(_, field)| seen(field)).collect()
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

    /// Statements that show each field, or those of a struct, to `visit`.
    pub fn declare(&self, path: impl Fn(&str) -> TokenStream) -> TokenStream {
        let fields = self.fields.iter().enumerate().map(|(i, (_, field))| {
            let path = path(&plain(&field.name));
            match &field.kind {
                DynamicKind::Leaves(_) => code! { visit(#path, &__SCOPE, #i); },
                DynamicKind::Tree(_) => {
                    let declare = tree_call(field, "declare", &code! { &#path, visit });
                    code! { #declare; }
                }
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
