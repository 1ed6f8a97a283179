//! Doc comments and `#[cfg(...)]`, kept for what is made from a declaration.

use syn::{Attribute, Expr, ExprLit, Lit, Meta};

use super::model::Docs;

/// The doc comments among some attributes.
pub(crate) fn docs(attributes: &[Attribute]) -> Docs {
    let attrs: Vec<Attribute> = with_name(attributes, "doc");
    let lines = attrs.iter().filter_map(text).flat_map(|text| lines(&text)).collect();
    Docs { lines, attrs }
}

/// The `#[cfg(...)]` attributes among some.
pub(crate) fn cfgs(attributes: &[Attribute]) -> Vec<Attribute> {
    with_name(attributes, "cfg")
}

fn with_name(attributes: &[Attribute], name: &str) -> Vec<Attribute> {
    attributes.iter().filter(|attribute| attribute.path().is_ident(name)).cloned().collect()
}

fn text(attribute: &Attribute) -> Option<String> {
    match &attribute.meta {
        Meta::NameValue(pair) => match &pair.value {
            Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(text.value()),
            _ => None,
        },
        _ => None,
    }
}

/// `/** ... */` comes as one text of several lines.
fn lines(text: &str) -> Vec<String> {
    if text.is_empty() {
        return vec![String::new()];
    }
    text.lines().map(|line| line.strip_prefix(' ').unwrap_or(line).trim_end().to_owned()).collect()
}
