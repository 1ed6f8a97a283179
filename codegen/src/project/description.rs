//! What `DESCRIPTION` must say for the generated functions to be there when the package is loaded.

use std::path::Path;

use super::messages;
use super::report::Mistakes;

const DESCRIPTION: &str = "DESCRIPTION";

/// The generated files of R code.
const R_FILES: [&str; 2] = ["000-wrappers.R", "families.R"];

/// A field, which may go on in lines that begin with a space.
struct Field<'a> {
    /// Counted from 1.
    line: usize,
    /// Its first line.
    text: &'a str,
    value: String,
}

/// Checks the description of a package with exported families: one that does not import `pjrtdispatch` is wrong, and one
/// whose `Collate` leaves a generated file out.
pub(super) fn check(text: &str, mistakes: &mut Mistakes) {
    let mut wrong = |line: usize, text: &str, width: usize, message: String| {
        mistakes.push(Path::new(DESCRIPTION), (line, 1), width, text, &message);
    };
    let is_named = |field: &Field<'_>| {
        let packages =
            field.value.split(',').map(|package| package.split('(').next().unwrap_or_default().trim());
        packages.into_iter().any(|package| package == "pjrtdispatch")
    };
    if !["Imports", "Depends"].iter().filter_map(|name| field(text, name)).any(|field| is_named(&field)) {
        let (line, shown, width) = match field(text, "Imports") {
            Some(field) => (field.line, field.text, "Imports".len()),
            None => (1, text.lines().next().unwrap_or_default(), 1),
        };
        wrong(line, shown, width, messages::no_import().to_string());
    }
    if let Some(collate) = field(text, "Collate") {
        for file in R_FILES {
            let mut named = collate.value.split_whitespace().map(|word| word.trim_matches(['\'', '"']));
            if !named.any(|word| word == file) {
                wrong(collate.line, collate.text, "Collate".len(), messages::not_collated(file).to_string());
            }
        }
    }
}

fn field<'a>(text: &'a str, name: &str) -> Option<Field<'a>> {
    let mut lines = text.lines().enumerate();
    let (index, first) =
        lines.find(|(_, line)| line.strip_prefix(name).is_some_and(|rest| rest.starts_with(':')))?;
    let more = lines.map(|(_, line)| line).take_while(|line| line.starts_with([' ', '\t']));
    let value = more.fold(first[name.len() + 1..].to_owned(), |value, line| value + "\n" + line);
    Some(Field { line: index + 1, text: first, value })
}
