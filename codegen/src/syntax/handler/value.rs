//! `#[derive(AttrValue)]`: enums and structs that may be attributes.

use proc_macro2::Ident;
use syn::spanned::Spanned;
use syn::{Attribute, Data, DataEnum, DeriveInput, Field, Fields, GenericParam};

use super::super::errors::{Errors, Found};
use super::super::words;
use super::attrs;
use super::messages;
use super::model::{AttrBody, AttrField, AttrValue};

/// Reads and checks a type with `#[derive(AttrValue)]`.
///
/// # Errors
///
/// All mistakes of the declaration.
pub fn attr_value(input: &DeriveInput) -> Result<AttrValue, Found> {
    let mut errors = Errors::new();
    let model = checked(&mut errors, input);
    errors.finish(model)
}

fn checked(errors: &mut Errors, input: &DeriveInput) -> Option<AttrValue> {
    generics(errors, input);
    let body = match &input.data {
        Data::Enum(data) => enum_body(errors, input, data),
        Data::Struct(data) => struct_body(errors, input, &data.fields),
        Data::Union(data) => {
            errors.on(data.union_token, messages::attr_union(&input.ident));
            None
        }
    };
    Some(AttrValue { ident: input.ident.clone(), generics: input.generics.clone(), body: body? })
}

/// A value is of one type, which may borrow from the call: `struct S<T>` and `struct S<'a, 'b>` are wrong.
fn generics(errors: &mut Errors, input: &DeriveInput) {
    let mut lifetimes = 0;
    for param in &input.generics.params {
        match param {
            GenericParam::Lifetime(_) if lifetimes == 0 => lifetimes = 1,
            other => errors.on(other, messages::attr_generics(&input.ident)),
        }
    }
    if let Some(clause) = &input.generics.where_clause {
        errors.on(clause, messages::attr_generics(&input.ident));
    }
}

/// An enum is an integer of a fixed type: one without `#[repr(i32)]`, without variants, or whose variants have fields
/// is wrong.
fn enum_body(errors: &mut Errors, input: &DeriveInput, data: &DataEnum) -> Option<AttrBody> {
    if data.variants.is_empty() {
        errors.on(&input.ident, messages::attr_no_variants(&input.ident));
        return None;
    }
    let before = errors.count();
    for variant in data.variants.iter().filter(|variant| !matches!(variant.fields, Fields::Unit)) {
        errors.on(&variant.fields, messages::attr_variant_fields(&variant.ident));
    }
    let integer = repr(&input.attrs);
    if integer.is_none() {
        errors.on(&input.ident, messages::attr_enum_repr(&input.ident));
    }
    let variants = data.variants.iter().map(|variant| variant.ident.clone()).collect();
    (errors.count() == before).then_some(())?;
    Some(AttrBody::Enum(integer?, variants))
}

/// The integer type of `#[repr(i32)]`.
fn repr(attributes: &[Attribute]) -> Option<Ident> {
    let mut found = None;
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("repr")) {
        // What cannot be read is the compiler's to say.
        let _ = attribute.parse_nested_meta(|meta| {
            if let Some(word) =
                meta.path.get_ident().filter(|word| words::INTEGERS.iter().any(|int| word == int))
            {
                found = Some(word.clone());
            }
            Ok(())
        });
    }
    found
}

/// A struct is a dictionary, whose members have names: `struct Range(i64, i64)` is wrong.
fn struct_body(errors: &mut Errors, input: &DeriveInput, fields: &Fields) -> Option<AttrBody> {
    let Fields::Named(fields) = fields else {
        errors.on(&input.ident, messages::attr_unnamed(&input.ident));
        return None;
    };
    let read: Vec<Option<AttrField>> = fields.named.iter().map(|field| member(errors, field)).collect();
    attrs::names_differ(errors, read.iter().flatten().map(|field| &field.attr));
    Some(AttrBody::Struct(read.into_iter().collect::<Option<_>>()?))
}

/// A member is described as an argument with `#[attr]` is; the attribute may be left out.
fn member(errors: &mut Errors, field: &Field) -> Option<AttrField> {
    let mut found = field.attrs.iter().filter(|attribute| attribute.path().is_ident("attr"));
    let attribute = found.next();
    for other in found {
        errors.on(other, messages::duplicate_attribute("attr"));
    }
    let ident = field.ident.clone()?;
    let attr = attrs::read(errors, attribute, &ident, &field.ty)?;
    Some(AttrField { ident, attr, span: field.ty.span() })
}
