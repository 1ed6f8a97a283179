//! What an author's own R files define.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A function, or any value, that a file gives a name to at its top.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    /// The name.
    pub name: String,
    /// The file, relative to the package's folder.
    pub file: PathBuf,
    /// The line, counted from 1.
    pub line: usize,
}

/// The files of `R/` that are not generated, relative to the package's folder, in order.
pub(crate) fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    match fs::read_dir(folder.join("R")) {
        Ok(entries) => {
            for entry in entries {
                files.push(Path::new("R").join(entry?.file_name()));
            }
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    // The endings that R takes for code.
    files.retain(|file| {
        let ending = file.extension().and_then(|ending| ending.to_str());
        matches!(ending, Some("R" | "r" | "S" | "s" | "q")) && folder.join(file).is_file()
    });
    files.sort();
    let mut own = Vec::new();
    for file in files {
        if !read(folder, &file)?.lines().next().is_some_and(|line| line.contains("@generated")) {
            own.push(file);
        }
    }
    Ok(own)
}

/// The definitions in the files of `R/` that are not generated, in the order of the files.
pub fn definitions(folder: &Path) -> io::Result<Vec<Definition>> {
    let mut found = Vec::new();
    for file in files(folder)? {
        let assigned = assignments(&read(folder, &file)?).into_iter();
        found.extend(assigned.map(|(line, name)| Definition { name, file: file.clone(), line }));
    }
    Ok(found)
}

fn read(folder: &Path, file: &Path) -> io::Result<String> {
    Ok(String::from_utf8_lossy(&fs::read(folder.join(file))?).into_owned())
}

/// The names that statements outside of all brackets give values to, with their lines.
fn assignments(text: &str) -> Vec<(usize, String)> {
    let mut lexer = Lexer { rest: text, line: 1 };
    let (mut depth, mut begins, mut name, mut found) = (0usize, true, None, Vec::new());
    loop {
        let line = lexer.line;
        let Some(token) = lexer.next() else { return found };
        let named = match token {
            Token::Name(text) if depth == 0 && begins => Some((line, text)),
            Token::Assign => {
                found.extend(name.take());
                None
            }
            _ => None,
        };
        match token {
            Token::Open => depth += 1,
            Token::Close => depth = depth.saturating_sub(1),
            _ => {}
        }
        begins = matches!(token, Token::End);
        name = named.map(|(line, text)| (line, text.to_owned()));
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token<'a> {
    /// A name, also in quotes.
    Name(&'a str),
    /// `<-`, `<<-` or `=`
    Assign,
    Open,
    Close,
    /// The end of a line, or `;`.
    End,
    Other,
}

/// As much of R's lexer as tells code from strings and comments.
struct Lexer<'a> {
    rest: &'a str,
    line: usize,
}

impl<'a> Lexer<'a> {
    fn next(&mut self) -> Option<Token<'a>> {
        self.rest = self.rest.trim_start_matches([' ', '\t', '\r', '\u{c}']);
        let first = self.rest.chars().next()?;
        if let Some(raw) = raw_string(self.rest) {
            self.take(raw);
            return Some(Token::Other);
        }
        Some(match first {
            '#' => {
                self.take(self.rest.find('\n').unwrap_or(self.rest.len()));
                return self.next();
            }
            '\n' | ';' => {
                self.take(1);
                Token::End
            }
            '"' | '\'' | '`' => {
                let text = self.take(quoted(self.rest, first));
                Token::Name(text.trim_matches(first))
            }
            '(' | '[' | '{' => {
                self.take(1);
                Token::Open
            }
            ')' | ']' | '}' => {
                self.take(1);
                Token::Close
            }
            _ if first.is_alphanumeric() || first == '.' || first == '_' => {
                let is_end = |c: char| !c.is_alphanumeric() && c != '.' && c != '_';
                Token::Name(self.take(self.rest.find(is_end).unwrap_or(self.rest.len())))
            }
            _ => self.operator(first),
        })
    }

    fn operator(&mut self, first: char) -> Token<'a> {
        for assign in ["<<-", "<-"] {
            if self.rest.starts_with(assign) {
                self.take(assign.len());
                return Token::Assign;
            }
        }
        for other in ["==", "<=", ">=", "!="] {
            if self.rest.starts_with(other) {
                self.take(other.len());
                return Token::Other;
            }
        }
        if first == '%' {
            // `%in%` and the like, which may hold quotes.
            let line = self.rest.find('\n').unwrap_or(self.rest.len());
            self.take(self.rest[1..line].find('%').map_or(1, |end| end + 2));
            return Token::Other;
        }
        self.take(first.len_utf8());
        if first == '=' { Token::Assign } else { Token::Other }
    }

    fn take(&mut self, bytes: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(bytes);
        self.line += taken.matches('\n').count();
        self.rest = rest;
        taken
    }
}

/// The length of a string or a name in these quotes.
fn quoted(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, letter) in text.char_indices().skip(1) {
        match letter {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if letter == quote => return at + letter.len_utf8(),
            _ => {}
        }
    }
    text.len()
}

/// The length of `r"(...)"`, with any quotes, dashes and brackets.
fn raw_string(text: &str) -> Option<usize> {
    let inside = text.strip_prefix(['r', 'R'])?;
    let quote = inside.chars().next().filter(|quote| matches!(quote, '"' | '\''))?;
    let dashes = inside[1..].chars().take_while(|letter| *letter == '-').count();
    let close = match inside[1 + dashes..].chars().next()? {
        '(' => ')',
        '[' => ']',
        '{' => '}',
        _ => return None,
    };
    let end = format!("{close}{}{quote}", "-".repeat(dashes));
    let begin = 3 + dashes;
    Some(text[begin..].find(&end).map_or(text.len(), |at| begin + at + end.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_are_told_from_other_code() {
        let text = "\
# fit <- 1
fit <- function(x = 2, y) {
  inner <- x
}
`my fit` = 3; 'quoted' <<- 4
s <- \"
text <- 5
\"
r <- r\"--(
raw <- \"6
)--\"; after <- 7
x$part <- 8
if (TRUE) hidden <- 9
a == b
f(z = 1)
y %<-% 10
last <-
  11
";
        let want: Vec<(usize, String)> =
            [(2, "fit"), (5, "my fit"), (5, "quoted"), (6, "s"), (9, "r"), (11, "after"), (17, "last")]
                .map(|(line, name)| (line, name.to_owned()))
                .to_vec();
        assert_eq!(assignments(text), want);
    }
}
