//! `#[derive(StaticArg)]`: enums and structs that may be static arguments.

use syn::{Data, DeriveInput, Fields, GenericParam, Index, Member};

use super::docs::docs;
use super::errors::{Errors, Found};
use super::messages;
use super::model::{StaticArg, StaticBody, StaticField, StaticVariant};

/// Reads and checks a type with `#[derive(StaticArg)]`.
///
/// # Errors
///
/// All mistakes of the declaration.
pub fn static_arg(input: &DeriveInput) -> Result<StaticArg, Found> {
    let mut errors = Errors::new();
    no_lifetimes(&mut errors, input);
    let body = body(&mut errors, input);
    let model = body.map(|body| StaticArg {
        docs: docs(&input.attrs),
        ident: input.ident.clone(),
        generics: input.generics.clone(),
        body,
    });
    errors.finish(model)
}

/// A static value is owned by the key: `struct Mode<'a>` is wrong. Type parameters with bounds are fine.
fn no_lifetimes(errors: &mut Errors, input: &DeriveInput) {
    for param in &input.generics.params {
        if let GenericParam::Lifetime(lifetime) = param {
            errors.on(lifetime, messages::static_lifetime());
        }
    }
}

/// A static type is a struct, or an enum that has a value: unions and `enum Never {}` are wrong.
fn body(errors: &mut Errors, input: &DeriveInput) -> Option<StaticBody> {
    match &input.data {
        Data::Struct(data) => Some(StaticBody::Struct(fields(&data.fields))),
        Data::Enum(data) if data.variants.is_empty() => {
            errors.on(&input.ident, messages::static_no_variants(&input.ident));
            None
        }
        Data::Enum(data) => {
            let variants = data.variants.iter().map(|variant| StaticVariant {
                ident: variant.ident.clone(),
                docs: docs(&variant.attrs),
                fields: fields(&variant.fields),
            });
            Some(StaticBody::Enum(variants.collect()))
        }
        Data::Union(data) => {
            errors.on(data.union_token, messages::static_union(&input.ident));
            None
        }
    }
}

fn fields(fields: &Fields) -> Vec<StaticField> {
    let member = |(index, field): (usize, &syn::Field)| StaticField {
        member: field.ident.clone().map_or_else(|| Member::Unnamed(Index::from(index)), Member::Named),
        ty: field.ty.clone(),
    };
    fields.iter().enumerate().map(member).collect()
}
