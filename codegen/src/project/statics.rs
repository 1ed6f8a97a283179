//! The types of static arguments of exported families, which only the whole package knows, and their defaults.

use std::collections::BTreeSet;
use std::fmt::Display;

use proc_macro2::Ident;
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{Item, Path};

use super::check::Package;
use super::declare::{Declarations, FamilyAt};
use super::messages;
use super::model::Declared;
use super::names::{Entity, Names};
use super::report::Mistakes;
use super::sources::Source;
use crate::syntax::{self, DType, RValue, StaticArg, StaticBody, text};

/// The types of the static arguments are enums without fields, their defaults are variants of those.
pub(super) fn check(
    package: &Package<'_>,
    names: &Names<'_>,
    declarations: &Declarations,
    family: &FamilyAt,
    known: &mut BTreeSet<Vec<String>>,
    mistakes: &mut Mistakes,
) {
    let source = &package.sources.sources[family.source];
    for (_, fixed) in family.model.statics() {
        let Some(r) = &fixed.r else { continue };
        let Some(path) = r.ty.named() else { continue };
        match static_enum(package, names, declarations, family.module, path) {
            Ok(Static::Rejected) => {}
            Ok(Static::DType) => {
                let dtypes: Vec<String> = DType::all().map(DType::variant).collect();
                defaults(source, "DType", &dtypes, r.default.as_ref(), mistakes);
            }
            Ok(Static::Enum(declared)) => {
                let StaticBody::Enum(variants) = &declared.model.body else { continue };
                if known.insert(declared.path.clone()) {
                    variants_differ(package, declared, mistakes);
                }
                let named: Vec<String> = variants.iter().map(|variant| variant.ident.to_string()).collect();
                defaults(source, &declared.model.ident, &named, r.default.as_ref(), mistakes);
            }
            Err(message) => mistakes.at(source, path.span(), message),
        }
    }
}

/// A default names variants that are there.
fn defaults(
    source: &Source,
    name: impl Display,
    known: &[String],
    default: Option<&RValue>,
    mistakes: &mut Mistakes,
) {
    for variant in default.into_iter().flat_map(variants_in) {
        if !known.iter().any(|name| variant == name) {
            let message = messages::no_variant(&name, variant, help(variant, known));
            mistakes.at(source, variant.span(), message);
        }
    }
}

/// What to write in place of a variant that is not there.
fn help(variant: &Ident, variants: &[String]) -> String {
    let words: Vec<&str> = variants.iter().map(String::as_str).collect();
    match syntax::nearest(&variant.to_string(), words.iter().copied()) {
        Some(nearest) => format!("did you mean `{nearest}`?"),
        None => format!("its default in R is one of {}", syntax::list(&words, "or")),
    }
}

fn variants_in(value: &RValue) -> Vec<&Ident> {
    match value {
        RValue::Variant(variant) => vec![variant],
        RValue::Vector { values, .. } => values.iter().flat_map(variants_in).collect(),
        _ => Vec::new(),
    }
}

/// What the type of a static argument is.
enum Static<'a> {
    Enum(&'a Declared<StaticArg>),
    /// The runtime's own, whose values are the names of dtypes.
    DType,
    /// One that has its mistakes already.
    Rejected,
}

/// What a path in a module stands for as the type of a static argument.
fn static_enum<'a>(
    package: &Package<'_>,
    names: &Names<'_>,
    declarations: &'a Declarations,
    module: usize,
    path: &Path,
) -> Result<Static<'a>, syntax::Message> {
    let written = text(path);
    let Some(Entity::Type(module, name)) = names.resolve(module, path) else {
        return match names.is_ours(module, path, "DType") {
            true => Ok(Static::DType),
            false => Err(messages::static_unknown(
                &written,
                path.segments.last().map_or_else(String::new, |last| last.ident.unraw().to_string()),
            )),
        };
    };
    let whole: Vec<String> =
        package.sources.modules[module].path.iter().cloned().chain([name.clone()]).collect();
    if declarations.rejected.contains(&whole) {
        return Ok(Static::Rejected);
    }
    let Some(declared) = declarations.static_types.iter().find(|declared| declared.path == whole) else {
        let mut items = package.sources.modules[module].items.iter();
        let alias = items.find_map(|(_, item)| match item {
            Item::Type(item) if item.ident.unraw() == name => Some(&item.ty),
            _ => None,
        });
        return Err(match alias {
            Some(of) => messages::static_alias(written, text(of)),
            None => messages::static_without_derive(written),
        });
    };
    match &declared.model.body {
        _ if !declared.model.generics.params.is_empty() => Err(messages::static_generic(written)),
        StaticBody::Struct(_) => Err(messages::static_struct(written)),
        StaticBody::Enum(variants) => match variants.iter().find(|variant| !variant.fields.is_empty()) {
            Some(variant) => Err(messages::static_fields(written, &variant.ident)),
            None => Ok(Static::Enum(declared)),
        },
    }
}

/// Variants are words in R: `LogLog` beside `Log_Log` is wrong.
fn variants_differ(package: &Package<'_>, declared: &Declared<StaticArg>, mistakes: &mut Mistakes) {
    let StaticBody::Enum(variants) = &declared.model.body else { return };
    let source: Option<&Source> =
        package.sources.sources.iter().find(|source| source.file == declared.place.file);
    for (index, variant) in variants.iter().enumerate() {
        let name = variant.r_name();
        let twin = variants[..index].iter().find(|other| other.r_name() == name);
        if let (Some(twin), Some(source)) = (twin, source) {
            let message = messages::variants_of_one_name(&twin.ident, &variant.ident, &name);
            mistakes.at(source, variant.ident.span(), message);
        }
    }
}
