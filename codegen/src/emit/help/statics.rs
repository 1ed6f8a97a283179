//! Static arguments in words.

use super::{code_of, links, or, rd, sentences};
use crate::project::PackageModel;
use crate::syntax::{RStatic, RType, RValue, StaticBody};

/// What a static argument takes: `A static whole number, by default 25.`
pub(crate) fn describe(package: &PackageModel, module: &[String], fixed: &RStatic) -> String {
    let (inner, optional) = match &fixed.ty {
        RType::Optional(inner) => (inner.as_ref(), true),
        ty => (ty, false),
    };
    let mut text = match inner {
        RType::Vector(element, length) => {
            let length =
                length.as_ref().map(|length| format!(" of length {}", code_of(length))).unwrap_or_default();
            match element.as_ref() {
                RType::Logical => format!("A static logical vector{length}"),
                RType::Integer { .. } => {
                    format!("A static vector of whole numbers{}", length.replacen(" of", ",", 1))
                }
                RType::Double(_) => format!("A static numeric vector{length}"),
                RType::Named(path) => {
                    let known = variants(package, module, path).unwrap_or_default();
                    let each = or(known.iter().map(|(name, _)| rd::code(name)));
                    format!(
                        "A static character vector{length}{}{each}",
                        if each.is_empty() { "" } else { ", each " }
                    )
                }
                _ => format!("A static character vector{length}"),
            }
        }
        RType::Logical => "Static, \\code{TRUE} or \\code{FALSE}".to_owned(),
        RType::Integer { name, least, most } if name.len() < 3 => {
            format!("A static whole number from {least} to {most}")
        }
        RType::Integer { least: 0, .. } => "A static whole number, not negative".to_owned(),
        RType::Integer { .. } => "A static whole number".to_owned(),
        RType::Double(_) => "A static number".to_owned(),
        RType::String => "A static string".to_owned(),
        RType::Named(path) => match variants(package, module, path) {
            Some(variants) => {
                format!("Static, {}", or(variants.iter().map(|(name, _)| rd::code(name))))
            }
            None => "Static".to_owned(),
        },
        RType::Optional(_) => unreachable!("an option is not nested"),
    };
    if optional {
        text.push_str(", or \\code{NULL}");
    }
    if let Some(default) = &fixed.default {
        text.push_str(&format!("; by default {}", rd::code(&default.to_string())));
    }
    text.push('.');
    if let Some(described) = inner.named().and_then(|path| variants(package, module, path)) {
        let items: Vec<String> = described
            .into_iter()
            .filter(|(_, docs)| !docs.is_empty())
            .map(|(name, docs)| format!("\\item{{{}}}{{{docs}}}", rd::code(&name)))
            .collect();
        if !items.is_empty() {
            text.push_str(&format!("\n\\describe{{\n{}\n}}", items.join("\n")));
        }
    }
    text
}

/// The strings that stand for the variants of an enum of the package, with what is said of each.
fn variants(package: &PackageModel, module: &[String], path: &syn::Path) -> Option<Vec<(String, String)>> {
    match &package.static_type(module, path)?.model.body {
        StaticBody::Enum(variants) => Some(
            variants
                .iter()
                .map(|variant| {
                    let docs = sentences(&links::text(package, &variant.docs), "");
                    (RValue::Variant(variant.ident.clone()).to_string(), docs)
                })
                .collect(),
        ),
        StaticBody::Struct(_) => None,
    }
}
