//! A scanner for what the runtime needs of a program's text: the arguments of its `@main`, and what no plugin survives.
//!
//! It knows the shape of MLIR, not its meaning: strings, comments and nested brackets are skipped as units, everything
//! else is left to XLA, which reads the whole text anyway.

mod index;
#[cfg(any(feature = "graph", test))]
mod module;

use std::ops::Range;

pub(super) use index::index_attributes;
#[cfg(feature = "graph")]
pub(crate) use module::ModuleText;

use crate::aval::is_array_shape;
use crate::{Aval, DType};

/// One argument of `@main` in the text, as byte ranges.
#[derive(Debug, PartialEq)]
pub(super) struct Argument {
    /// The name: `%a`.
    pub name: Range<usize>,
    /// The type: `tensor<2x2xf32>`.
    pub ty: Range<usize>,
    /// The inside of the attribute dictionary, without its braces, if there is one.
    pub attributes: Option<Range<usize>>,
}

/// Finds `func.func @main(…)` and its arguments, or says what is wrong.
pub(super) fn main_arguments(text: &str) -> Result<Vec<Argument>, String> {
    main_function(text).map(|(arguments, _)| arguments)
}

/// [`main_arguments`], and the position of the parenthesis behind them.
pub(super) fn main_function(text: &str) -> Result<(Vec<Argument>, usize), String> {
    let mut scan = Scan { text, at: 0 };
    let mut found = None;
    while let Some(token) = scan.next() {
        if scan.text_of(&token) == "func.func" && scan.is_main() {
            if found.is_some() {
                return Err("it has more than one function `@main`".into());
            }
            found = Some((scan.arguments()?, scan.at - 1));
        }
    }
    found.ok_or_else(|| "it has no `func.func @main(…)`".into())
}

#[cfg(any(feature = "graph", test))]
/// The names of the arguments of `@main`, none for those that the text only numbers (`%0`, `%arg0`). None if the text cannot be
/// read so.
pub(crate) fn argument_names(text: &str) -> Option<Vec<Option<String>>> {
    let name = |argument: Argument| {
        let name = text[argument.name].trim_start_matches('%');
        let number = name.strip_prefix("arg").unwrap_or(name);
        (!number.bytes().all(|c| c.is_ascii_digit())).then(|| name.to_owned())
    };
    Some(main_arguments(text).ok()?.into_iter().map(name).collect())
}

/// Dtype and shape of a `tensor<…>` type, if the runtime has it.
pub(super) fn tensor(ty: &str) -> Option<Aval> {
    let mut rest = ty.trim().strip_prefix("tensor<")?.strip_suffix('>')?.trim();
    let mut shape = Vec::new();
    while rest.starts_with(|c: char| c.is_ascii_digit()) {
        let (size, more) = rest.split_once('x')?;
        shape.push(size.parse().ok()?);
        rest = more;
    }
    let dtype = DType::ALL.iter().copied().find(|d| d.mlir() == rest)?;
    Aval::try_new(dtype, shape)
}

/// The first tensor type of a text that no array has, because its bytes overflow. A plugin that reckons with such a type
/// throws an exception, which ends the process.
pub(super) fn impossible_type(text: &str) -> Option<&str> {
    text.match_indices("tensor<").map(|(at, open)| &text[at + open.len()..]).find_map(|inside| {
        let mut rest = inside;
        let mut sizes = Vec::new();
        while let Some((size, more)) = rest.split_once('x') {
            match size.trim() {
                "?" => {}
                digits if !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) => {
                    sizes.push(digits.parse().unwrap_or(i64::MAX));
                }
                _ => break,
            }
            rest = more;
        }
        // Of the widest elements there are, since what stands there may be no dtype of ours.
        let possible = sizes.is_empty() || is_array_shape(DType::C128, &sizes);
        (!possible).then(|| inside.split('>').next().unwrap_or(inside))
    })
}

/// The entries of an attribute dictionary, given its inside: each key and the range of key and value.
pub(super) fn entries(inside: &str) -> Vec<(&str, Range<usize>)> {
    let mut scan = Scan { text: inside, at: 0 };
    let mut entries: Vec<(&str, Range<usize>)> = Vec::new();
    let mut in_entry = false;
    while let Some(token) = scan.next() {
        let text = scan.text_of(&token);
        if text == "," {
            in_entry = false;
            continue;
        }
        let end = match text {
            // The dictionary as a whole was closed properly, so this group is.
            "<" | "(" | "[" | "{" => scan.skip_group(text).unwrap_or(inside.len()),
            _ => token.end,
        };
        match entries.last_mut() {
            Some((_, range)) if in_entry => range.end = end,
            _ => entries.push((text, token.start..end)),
        }
        in_entry = true;
    }
    entries
}

/// A position in the text.
struct Scan<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Scan<'a> {
    fn text_of(&self, token: &Range<usize>) -> &'a str {
        &self.text[token.clone()]
    }

    /// The next token: a word (with the characters of identifiers and symbols), a string, an arrow or one character.
    /// White space and comments are skipped.
    fn next(&mut self) -> Option<Range<usize>> {
        let bytes = self.text.as_bytes();
        loop {
            match bytes.get(self.at)? {
                b' ' | b'\t' | b'\r' | b'\n' => self.at += 1,
                b'/' if bytes.get(self.at + 1) == Some(&b'/') => {
                    while self.at < bytes.len() && bytes[self.at] != b'\n' {
                        self.at += 1;
                    }
                }
                _ => break,
            }
        }
        let start = self.at;
        match bytes[start] {
            b'"' => {
                self.string();
            }
            b'-' if bytes.get(start + 1) == Some(&b'>') => self.at += 2,
            c if is_word(c) => {
                // Names of values and symbols may contain hyphens.
                let named = matches!(c, b'%' | b'@');
                let hyphen = |at: usize| named && bytes[at] == b'-' && bytes.get(at + 1) != Some(&b'>');
                while self.at < bytes.len() && (is_word(bytes[self.at]) || hyphen(self.at)) {
                    self.at += 1;
                    // A symbol may be a string: `@"main"`.
                    if bytes[self.at - 1] == b'@' && bytes.get(self.at) == Some(&b'"') {
                        self.string();
                        break;
                    }
                }
            }
            // One character of any length: the text is UTF-8, and a token must not split one.
            _ => self.at += self.text[start..].chars().next().map_or(1, char::len_utf8),
        }
        Some(start..self.at)
    }

    /// Steps over a string, or to the end of the text if it is not closed.
    fn string(&mut self) {
        let bytes = self.text.as_bytes();
        self.at += 1;
        while self.at < bytes.len() && bytes[self.at] != b'"' {
            self.at += if bytes[self.at] == b'\\' { 2 } else { 1 };
        }
        self.at = (self.at + 1).min(bytes.len());
    }

    /// After `func.func`: whether `[visibility] @main (` follows. Steps over it if so.
    fn is_main(&mut self) -> bool {
        let start = self.at;
        let mut next = || self.next().map_or("", |token| self.text_of(&token));
        let name = match next() {
            "public" | "private" | "nested" => next(),
            name => name,
        };
        if matches!(name, "@main" | "@\"main\"") && next() == "(" {
            return true;
        }
        self.at = start;
        false
    }

    /// After the opening parenthesis: the arguments up to the closing one.
    fn arguments(&mut self) -> Result<Vec<Argument>, String> {
        let mut arguments = Vec::new();
        loop {
            let Some(name) = self.next() else { return Err(unclosed()) };
            match self.text_of(&name) {
                ")" if arguments.is_empty() => return Ok(arguments),
                text if text.starts_with('%') => {}
                other => {
                    return Err(format!("argument {} of `@main` starts with `{other}`", arguments.len() + 1));
                }
            }
            if self.next().is_none_or(|t| self.text_of(&t) != ":") {
                return Err(format!("argument {} of `@main` has no type", arguments.len() + 1));
            }
            let (argument, end) = self.argument(name)?;
            arguments.push(argument);
            if end == ")" {
                return Ok(arguments);
            }
        }
    }

    /// After the colon of an argument: its type and attributes, and the `,` or `)` that ends it.
    fn argument(&mut self, name: Range<usize>) -> Result<(Argument, &'a str), String> {
        let (mut ty, mut attributes, mut after_type): (Option<Range<usize>>, _, _) = (None, None, false);
        loop {
            let token = self.next().ok_or_else(unclosed)?;
            let text = self.text_of(&token);
            match text {
                "," | ")" => {
                    let ty = ty.ok_or("an argument of `@main` has no type")?;
                    return Ok((Argument { name, ty, attributes }, text));
                }
                "{" => {
                    let end = self.skip_group("{")?;
                    if attributes.is_none() && ty.is_some() {
                        attributes = Some(token.end..end - 1);
                    }
                    after_type = true;
                }
                "loc" => after_type = true,
                _ => {
                    let end =
                        if matches!(text, "<" | "(" | "[") { self.skip_group(text)? } else { token.end };
                    if !after_type {
                        ty = Some(ty.map_or(token.start, |ty| ty.start)..end);
                    }
                }
            }
        }
    }

    /// After an opening bracket: steps over what it encloses, and gives the position behind the closing one.
    fn skip_group(&mut self, open: &str) -> Result<usize, String> {
        let mut expected = vec![closing(open)];
        while let Some(&close) = expected.last() {
            let token = self.next().ok_or_else(unclosed)?;
            let text = self.text_of(&token);
            if text == close {
                expected.pop();
            } else if matches!(text, "<" | "(" | "[" | "{") {
                expected.push(closing(text));
            } else if matches!(text, ">" | ")" | "]" | "}") {
                return Err(format!("`{text}` stands where `{close}` is expected"));
            }
        }
        Ok(self.at)
    }
}

fn closing(open: &str) -> &'static str {
    match open {
        "<" => ">",
        "(" => ")",
        "[" => "]",
        _ => "}",
    }
}

fn unclosed() -> String {
    "it ends within the arguments of `@main`".into()
}

/// The characters of identifiers, symbols, values and numbers.
fn is_word(c: u8) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, b'_' | b'.' | b'$' | b'@' | b'%' | b'#' | b'!')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn types(text: &str) -> Vec<&str> {
        main_arguments(text).unwrap().into_iter().map(|a| &text[a.ty]).collect()
    }

    #[test]
    fn arguments_are_found_among_other_functions() {
        let text = "module @m { func.func private @f(%x: tensor<f32>) -> tensor<f32> { return %x : tensor<f32> }\n\
                    func.func public @main(%a: tensor<2x3xf32>, %b : tensor<i1>) -> (tensor<i1>) { return %b : tensor<i1> } }";
        assert_eq!(types(text), ["tensor<2x3xf32>", "tensor<i1>"]);
        assert_eq!(types("func.func @main() { return }"), [""; 0]);
        assert_eq!(
            types("func.func @main-2(%x: i1) {} func.func @main(%a-b: tensor<f32>) {}"),
            ["tensor<f32>"]
        );
    }

    #[test]
    fn names_are_those_that_somebody_gave() {
        let names = |text| {
            argument_names(text).map(|names| names.into_iter().map(Option::unwrap_or_default).collect())
        };
        let text = "func.func @main(%x: tensor<f32>, %0: tensor<f32>, %arg1: tensor<f32> {a = 1}, %arg: i1, %b-1: i1) {}";
        assert_eq!(names(text), Some(["x", "", "", "", "b-1"].map(str::to_owned).to_vec()));
        assert_eq!(names("func.func @main() { return }"), Some(Vec::new()));
        assert_eq!(names("garbage"), None);
    }

    #[test]
    fn tensor_types_are_read() {
        assert_eq!(tensor("tensor<2x3xf32>"), Some(Aval::new(DType::F32, [2, 3])));
        assert_eq!(tensor("tensor<9223372036854775807x2xf32>"), None);
        assert_eq!(
            impossible_type("a: tensor<2x3xf32>, b: tensor<?x4xi1>, c: tensor<f64>, tensor<0xf32>"),
            None
        );
        assert_eq!(
            impossible_type("tensor<f32>, tensor<4x4611686018427387904x0xf32>"),
            Some("4x4611686018427387904x0xf32")
        );
        assert_eq!(impossible_type("tensor<99999999999999999999xf32>"), Some("99999999999999999999xf32"));
        assert_eq!(tensor("tensor<i1>"), Some(Aval::new(DType::Bool, [])));
        assert_eq!(tensor("tensor<0x4xcomplex<f64>>"), Some(Aval::new(DType::C128, [0, 4])));
        assert_eq!(tensor("tensor<4xui8>"), Some(Aval::new(DType::U8, [4])));
        for unknown in
            ["tensor<?xf32>", "tensor<4xf8E5M2>", "!stablehlo.token", "tensor<4xf32, #x>", "tensor<*xf32>"]
        {
            assert_eq!(tensor(unknown), None, "{unknown}");
        }
    }

    #[test]
    fn text_that_is_no_program_is_an_error() {
        for text in [
            "",
            "garbage",
            "func.func @main(",
            "func.func @main(%a",
            "func.func @main(%a: ",
            "@main(",
            "\"",
            "func.func @mainly(%a: tensor<f32>) {}",
            "func.func @main(tensor<f32>)",
            "func.func @main(%a: tensor<f32)>)",
            "// func.func @main(%a: tensor<f32>)",
            "func.func @main(%a: tensor<f32>) {} func.func @main() {}",
            "func.func",
        ] {
            assert!(main_arguments(text).is_err(), "{text}");
        }
    }
}
