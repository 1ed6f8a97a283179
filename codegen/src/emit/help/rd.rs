//! Text in the three languages of a help page: prose, code and verbatim.
//!
//! A backslash, a percent sign and braces mean something to R's help system. In prose and in verbatim text each is written
//! with a backslash; in code of R it depends on where it stands, so code is read as far as its strings and comments.

/// Prose: `50% of {a}` is `50\% of \{a\}`.
pub(crate) fn prose(text: &str) -> String {
    escaped(text)
}

/// Verbatim text, as in `\verb{}`, `\preformatted{}` and `\url{}`.
pub(crate) fn verbatim(text: &str) -> String {
    escaped(text)
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, '\\' | '%' | '{' | '}') {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

/// Some code within prose: `\code{}`, which is read as R, where that is safe, else `\verb{}`.
pub(crate) fn code(text: &str) -> String {
    let safe = !text.contains(['\\', '{', '}', '\'', '`', '#']) && text.matches('"').count() % 2 == 0;
    match safe {
        true => format!("\\code{{{}}}", text.replace('%', "\\%")),
        false => format!("\\verb{{{}}}", verbatim(text)),
    }
}

/// Code of R in `\examples{}`, by the rules that roxygen2 has for examples.
///
/// A percent sign is escaped everywhere. In a string `\l` and `\v` would be markup, and `\\` is halved.
pub(crate) fn r_code(code: &str) -> String {
    let mut out = String::with_capacity(code.len());
    for part in parts(code) {
        match part {
            Part::Code(text) | Part::Comment(text) => out.push_str(&text.replace('%', "\\%")),
            Part::String(text) => string(&mut out, text),
        }
    }
    out
}

fn string(out: &mut String, text: &str) {
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match (c, chars.peek()) {
            ('%', _) => out.push_str("\\%"),
            ('\\', Some('\\')) => {
                chars.next();
                out.push_str("\\\\\\\\");
            }
            ('\\', Some('l' | 'v')) => out.push_str("\\\\"),
            _ => out.push(c),
        }
    }
}

/// Code of R in `\usage{}`, by the rules that roxygen2 has for calls.
pub(crate) fn r_call(code: &str) -> String {
    code.replace('\\', "\\\\").replace('%', "\\%")
}

/// Writes the braces of comments in code of R as parentheses where they do not match: the help system counts them, and
/// roxygen2 knows no escape for them.
pub(crate) fn balanced(code: &str) -> String {
    parts(code)
        .into_iter()
        .map(|part| match part {
            Part::Comment(text) if !matching(text) => text.replace('{', "(").replace('}', ")"),
            Part::Comment(text) | Part::Code(text) | Part::String(text) => text.to_owned(),
        })
        .collect()
}

fn matching(text: &str) -> bool {
    let mut depth = 0;
    for c in text.chars() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => return false,
            '}' => depth -= 1,
            _ => {}
        }
    }
    depth == 0
}

/// What is wrong with the brackets and quotes of some code of R: the help system cannot read a page where they do not
/// match.
pub(crate) fn fault(code: &str) -> Option<String> {
    let mut open = Vec::new();
    for part in parts(code) {
        match part {
            Part::Comment(_) => {}
            Part::String(text) => {
                let quote = text.chars().next().unwrap_or_default();
                if text.len() < 2 || !is_closed(text, quote) {
                    return Some(format!("`{quote}` is never closed"));
                }
            }
            Part::Code(text) => {
                for c in text.chars() {
                    match c {
                        '(' | '[' | '{' => open.push(c),
                        ')' | ']' | '}' => match (open.pop(), c) {
                            (Some('('), ')') | (Some('['), ']') | (Some('{'), '}') => {}
                            (Some(other), _) => return Some(format!("`{other}` is closed by `{c}`")),
                            (None, _) => return Some(format!("`{c}` closes nothing")),
                        },
                        _ => {}
                    }
                }
            }
        }
    }
    open.pop().map(|open| format!("`{open}` is never closed"))
}

/// Whether a string ends with its quote.
fn is_closed(text: &str, quote: char) -> bool {
    let inner = &text[1..];
    end_of_string(text, quote) == text.len() && inner.ends_with(quote) && {
        let escapes = inner[..inner.len() - 1].bytes().rev().take_while(|byte| *byte == b'\\').count();
        escapes % 2 == 0
    }
}

/// Text in which no line but the first begins with `@`, which roxygen2 would take for a tag.
pub(crate) fn without_tags(text: &str) -> String {
    text.replace("\n@", "\n @")
}

/// A piece of R code.
#[derive(Debug, PartialEq)]
enum Part<'a> {
    Code(&'a str),
    /// With its quotes; a name in backticks too.
    String(&'a str),
    /// Without the end of the line.
    Comment(&'a str),
}

fn parts(code: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let mut rest = code;
    while let Some(start) = rest.find(['"', '\'', '`', '#']) {
        let (before, piece) = rest.split_at(start);
        let quote = piece.chars().next().expect("found above");
        let end = match quote {
            '#' => piece.find('\n').unwrap_or(piece.len()),
            quote => end_of_string(piece, quote),
        };
        let (piece, after) = piece.split_at(end);
        parts.push(Part::Code(before));
        parts.push(if quote == '#' { Part::Comment(piece) } else { Part::String(piece) });
        rest = after;
    }
    parts.push(Part::Code(rest));
    parts
}

/// After the closing quote, or the whole text.
fn end_of_string(text: &str, quote: char) -> usize {
    let mut escape = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escape => escape = false,
            '\\' => escape = true,
            c if c == quote => return at + 1,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_and_verbatim_text_keep_every_character() {
        assert_eq!(prose(r"50% of {a} \ b"), r"50\% of \{a\} \\ b");
    }

    #[test]
    fn code_is_verbatim_where_the_help_system_would_read_it_as_markup() {
        assert_eq!(code("a %*% b"), r"\code{a \%*\% b}");
        assert_eq!(code("\"logit\""), r#"\code{"logit"}"#);
        assert_eq!(code(r"\d{2}"), r"\verb{\\d\{2\}}");
        assert_eq!(code("it's"), r"\verb{it's}");
    }

    #[test]
    fn code_of_r_is_escaped_as_roxygen2_does() {
        for (code, rd) in [
            ("a %in% b", r"a \%in\% b"),
            (r#""a\nb""#, r#""a\nb""#),
            (r#""a\\nb""#, r#""a\\\\nb""#),
            (r#""\l \v""#, r#""\\l \\v""#),
            (r#""\"x\"" # "q \l"#, r#""\"x\"" # "q \l"#),
            (r"f(\(i) i)", r"f(\(i) i)"),
            ("# it's 5%\n'\\l'", "# it's 5\\%\n'\\\\l'"),
        ] {
            assert_eq!(r_code(code), rd);
        }
    }

    #[test]
    fn code_that_is_open_is_found() {
        for (code, want) in [
            ("f(x[[1]], { # (\n})", None),
            ("'(' + \"\\\"\" + `[`", None),
            ("f({", Some("`{` is never closed")),
            ("f(]", Some("`(` is closed by `]`")),
            ("}", Some("`}` closes nothing")),
            ("f('a)", Some("`'` is never closed")),
            ("\"\\\"", Some("`\"` is never closed")),
        ] {
            assert_eq!(fault(code).as_deref(), want, "{code}");
        }
    }

    #[test]
    fn braces_of_comments_are_made_to_match() {
        assert_eq!(balanced("f({ # a {\n}) # {}\n'}'"), "f({ # a (\n}) # {}\n'}'");
    }
}
