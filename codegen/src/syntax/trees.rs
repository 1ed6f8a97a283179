//! `#[derive(InputTree)]` and `#[derive(OutputTree)]`: structs that give arguments and results a structure.

use proc_macro2::Ident;
use syn::{Attribute, Data, DeriveInput, Field, Fields, GenericParam, Type};

use super::docs::{cfgs, docs};
use super::errors::{Errors, Found};
use super::kind::Within;
use super::messages::{self, Message};
use super::model::{Count, InputTree, OutputField, OutputKind, OutputTree, TreeHeader};
use super::params;
use super::raw::{Given, RawKind, RawParam};
use super::resolve::{self, Scope};
use super::text::text;
use super::types::{self, Held};

/// Reads and checks a struct with `#[derive(InputTree)]`.
///
/// # Errors
///
/// All mistakes of the declaration.
pub fn input_tree(input: &DeriveInput) -> Result<InputTree, Found> {
    let mut errors = Errors::new();
    let model = checked_input(&mut errors, input);
    errors.finish(model)
}

/// Reads and checks a struct with `#[derive(OutputTree)]`.
///
/// # Errors
///
/// All mistakes of the declaration.
pub fn output_tree(input: &DeriveInput) -> Result<OutputTree, Found> {
    let mut errors = Errors::new();
    let model = checked_output(&mut errors, input);
    errors.finish(model)
}

fn checked_input(errors: &mut Errors, input: &DeriveInput) -> Option<InputTree> {
    let fields = named_fields(errors, input, "InputTree");
    let header = header(errors, input, "InputTree");
    let (fields, header) = (fields?, header?);
    let params: Vec<RawParam> =
        fields.into_iter().map(|field| input_field(errors, field, &header.leaf)).collect();
    let resolved = resolve::resolve(errors, &params, &Scope { cx: None, within: Within::Fields })?;
    let fields = resolved.dynamics.into_iter().collect::<Option<_>>()?;
    Some(InputTree { header, fields, groups: resolved.groups, captures: resolved.captures })
}

fn checked_output(errors: &mut Errors, input: &DeriveInput) -> Option<OutputTree> {
    let fields = named_fields(errors, input, "OutputTree");
    let header = header(errors, input, "OutputTree");
    let (fields, header) = (fields?, header?);
    let fields = fields.into_iter().map(|field| output_field(errors, field, &header.leaf));
    let fields = fields.collect::<Vec<_>>().into_iter().collect::<Option<Vec<_>>>()?;
    Some(OutputTree { header, fields })
}

/// A tree is a struct with named fields: enums, unions, `struct Fit<T>(T)` and `struct Fit;` are wrong.
///
/// A struct without fields leaves its type parameter unused, which the compiler reports.
fn named_fields<'a>(errors: &mut Errors, input: &'a DeriveInput, derive: &str) -> Option<Vec<&'a Field>> {
    let got = match &input.data {
        Data::Struct(data) => match &data.fields {
            Fields::Named(fields) => {
                if fields.named.is_empty() && !input.generics.params.is_empty() {
                    errors.leave_to_compiler();
                }
                return Some(fields.named.iter().collect());
            }
            Fields::Unnamed(fields) => {
                errors.on(fields, messages::named_fields(derive));
                return None;
            }
            Fields::Unit => {
                errors.on(&input.ident, messages::named_fields(derive));
                return None;
            }
        },
        Data::Enum(_) => "an enum",
        Data::Union(_) => "a union",
    };
    errors.on(&input.ident, messages::struct_expected(derive, got));
    None
}

/// A tree has one free type parameter: `struct Fit { ... }`, `struct Fit<'a, T>`, `struct Fit<T: Clone>` are wrong.
fn header(errors: &mut Errors, input: &DeriveInput, derive: &str) -> Option<TreeHeader> {
    let (mut types, before) = (Vec::new(), errors.count());
    for param in &input.generics.params {
        match param {
            GenericParam::Type(param) => {
                if !param.bounds.is_empty() {
                    errors.on(&param.bounds, messages::tree_bound(derive));
                }
                types.push(&param.ident);
            }
            other => errors.on(other, messages::tree_lifetime(derive)),
        }
    }
    if let Some(clause) = &input.generics.where_clause {
        errors.on(clause, messages::tree_bound(derive));
    }
    let leaf = match types[..] {
        [leaf] => leaf,
        [] => {
            errors.on(&input.ident, messages::one_type_parameter(derive, &input.ident, "none"));
            return None;
        }
        [_, ref others @ ..] => {
            let got = types.len().to_string();
            for other in others {
                errors.on(other, messages::one_type_parameter(derive, &input.ident, &got));
            }
            return None;
        }
    };
    (errors.count() == before).then(|| TreeHeader {
        docs: docs(&input.attrs),
        cfgs: cfgs(&input.attrs),
        vis: input.vis.clone(),
        ident: input.ident.clone(),
        leaf: leaf.clone(),
    })
}

/// What a field holds, or the error of a field that holds something else.
fn field_held<'a>(
    field: &'a Field,
    leaf: &Ident,
    wrong: impl Fn(String) -> Message,
) -> syn::Result<Held<'a>> {
    let is_leaf = |ty: &Type| matches!(ty, Type::Path(path) if path.path.is_ident(leaf));
    match types::held(&field.ty, &is_leaf) {
        Some(Held::Wrapper(_)) | None => Err(syn::Error::new_spanned(&field.ty, wrong(text(&field.ty)))),
        Some(held) => Ok(held),
    }
}

/// A field of an input tree is described as an argument is: `struct P<T> { w: T }` and `x: f32` are wrong.
fn input_field(errors: &mut Errors, field: &Field, leaf: &Ident) -> RawParam {
    let name = field.ident.clone().expect("the fields are named");
    params::not_reserved(errors, &name);
    let held = errors.keep(field_held(field, leaf, |got| messages::input_field(got, leaf)));
    let Some(attribute) = field_attribute(errors, field, &name, held.as_ref()) else {
        return RawParam::Bad(name);
    };
    let kind = match held {
        Some(Held::Leaves(count)) => Given::Is(RawKind::Leaves(count)),
        Some(Held::Tree(path)) => Given::Is(RawKind::Tree(path)),
        _ => Given::Bad,
    };
    RawParam::Dynamic(params::dynamic_param(errors, attribute, name, &field.attrs, &field.ty, kind))
}

/// A field has one `#[dynamic(...)]`: none, two, and `#[static_arg]` are wrong.
fn field_attribute<'a>(
    errors: &mut Errors,
    field: &'a Field,
    name: &Ident,
    held: Option<&Held<'_>>,
) -> Option<&'a Attribute> {
    if let Some(attribute) = field.attrs.iter().find(|attribute| attribute.path().is_ident("static_arg")) {
        errors.on(attribute, messages::static_field(name));
        return None;
    }
    let mut found = field.attrs.iter().filter(|attribute| attribute.path().is_ident("dynamic"));
    let first = found.next();
    for other in found {
        errors.on(other, messages::duplicate_attribute("dynamic"));
    }
    match (first, held) {
        (Some(_), _) | (None, None) => {}
        (None, Some(Held::Tree(_))) => {
            errors.on(name, messages::field_attribute(name, "write `#[dynamic]` before it"));
        }
        (None, Some(_)) => {
            let help = "write `#[dynamic(dtype = f32, shape = [m])]` before it";
            errors.on(name, messages::field_attribute(name, help));
        }
    }
    first
}

/// A field of an output tree is of a fixed number of arrays: `Vec<T>`, `Option<T>` and `f32` are wrong.
fn output_field(errors: &mut Errors, field: &Field, leaf: &Ident) -> Option<OutputField> {
    let name = field.ident.clone().expect("the fields are named");
    let held = errors.keep(field_held(field, leaf, |got| messages::output_field(got, leaf)))?;
    let kind = match held {
        Held::Leaves(Count::One) => OutputKind::Leaf,
        Held::Leaves(Count::Exactly(length)) => OutputKind::Array(length),
        Held::Leaves(Count::Any) | Held::Wrapper(_) => {
            errors.on(&field.ty, messages::output_vec(text(&field.ty), leaf));
            return None;
        }
        Held::Tree(path) => OutputKind::Tree(path),
    };
    Some(OutputField { name, docs: docs(&field.attrs), kind })
}
