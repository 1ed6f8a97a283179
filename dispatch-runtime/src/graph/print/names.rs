//! Names as MLIR takes them, each once.

use std::collections::HashMap;

/// The names that are taken, with the number that the next of the same name gets.
#[derive(Default)]
pub(super) struct Taken(HashMap<String, u32>);

impl Taken {
    /// The name, or with a number behind it the first that is not taken.
    pub fn unused(&mut self, wanted: String) -> String {
        let Some(mut number) = self.0.get(&wanted).copied() else {
            self.0.insert(wanted.clone(), 1);
            return wanted;
        };
        let name = loop {
            let name = format!("{wanted}_{number}");
            number += 1;
            if !self.0.contains_key(&name) {
                break name;
            }
        };
        self.0.insert(wanted, number);
        self.0.insert(name.clone(), 1);
        name
    }
}

/// A name as MLIR allows it behind `@`, where it takes no `-`.
pub(super) fn symbol(name: &str) -> String {
    identifier(name).replace('-', "_")
}

/// A name as MLIR allows it behind `%`: letters, digits, `_`, `.` and `-`, no digit in front.
pub(super) fn identifier(name: &str) -> String {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
    let mut text: String = name.chars().map(|c| if allowed(c) { c } else { '_' }).collect();
    if text.is_empty() || text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '.' | '-')) {
        text.insert(0, '_');
    }
    text
}
