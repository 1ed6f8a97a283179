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

/// `/** ... */` comes as one text of several lines, which may all begin with a star.
fn lines(text: &str) -> Vec<String> {
    if text.is_empty() {
        return vec![String::new()];
    }
    let mut lines: Vec<&str> = text.lines().collect();
    if let [_, rest @ ..] = lines.as_mut_slice() {
        let starred = |line: &&str| line.trim_start().strip_prefix('*').is_some() || line.trim().is_empty();
        if rest.iter().all(starred) && rest.iter().any(|line| !line.trim().is_empty()) {
            rest.iter_mut().for_each(|line| *line = line.trim_start().trim_start_matches('*'));
        }
    }
    lines.into_iter().map(|line| line.strip_prefix(' ').unwrap_or(line).trim_end().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::lines;

    #[test]
    fn stars_of_block_comments_are_no_text() {
        assert_eq!(lines(" A line."), ["A line."]);
        assert_eq!(
            lines(" Title\r\n *\r\n * - a list\r\n *   with more\r\n "),
            ["Title", "", "- a list", "  with more", ""]
        );
        assert_eq!(lines("\n * Title\n *\n * Text\n "), ["", "Title", "", "Text", ""]);
        // A list without stars in front of its lines.
        assert_eq!(lines(" Title\n\n * a\n   b"), ["Title", "", "* a", "  b"]);
    }
}
