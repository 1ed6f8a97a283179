//! Mistakes in a package's sources, shown as the compiler shows its own.

use std::fmt;
use std::path::{Path, PathBuf};

use proc_macro2::Span;

use super::messages;
use super::sources::Source;

/// One mistake, on the tokens that it is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mistake {
    /// The file, relative to the package's folder.
    pub file: PathBuf,
    /// Counted from 1.
    pub line: usize,
    /// Counted from 1, in characters.
    pub column: usize,
    /// How many characters of the line it is about, at least 1.
    pub width: usize,
    /// What is wrong.
    pub message: String,
    /// What to write instead.
    pub hint: Option<String>,
    /// The text of the line.
    pub text: String,
}

/// All mistakes of a package, by file and line.
///
/// Displayed, it is what the compiler would print of them:
///
/// ```text
/// error: unknown dtype `f33`
///   --> src/rust/src/lib.rs:9:23
///    |
///  9 |     #[dynamic(dtype = f33, shape = [m])] x: Value,
///    |                       ^^^
///    |
///    = help: did you mean `f32`?
/// ```
#[derive(Clone, Debug)]
pub struct Report {
    /// The package's folder, as it was given.
    folder: PathBuf,
    mistakes: Vec<Mistake>,
}

impl Report {
    /// The report of what was collected.
    pub(crate) fn of(collected: Mistakes, folder: &Path) -> Report {
        let mut mistakes = collected.0;
        mistakes.sort();
        mistakes.dedup();
        Report { folder: folder.to_owned(), mistakes }
    }

    /// The mistakes, in order.
    pub fn mistakes(&self) -> &[Mistake] {
        &self.mistakes
    }

    /// A file as whoever reads the report can open it.
    fn shown(&self, file: &Path) -> String {
        let path = if self.folder == Path::new(".") { file.to_owned() } else { self.folder.join(file) };
        path.display().to_string()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, mistake) in self.mistakes.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            let number = mistake.line.to_string();
            let margin = " ".repeat(number.len());
            // As the compiler does it, so that the caret stands below its token.
            let (before, at) = split(&mistake.text, mistake.column - 1);
            let (before, at) = (untabbed(before), untabbed(at));
            let file = self.shown(&mistake.file);
            writeln!(f, "error: {}", mistake.message)?;
            writeln!(f, "{margin}--> {file}:{number}:{}", mistake.column)?;
            writeln!(f, "{margin} |")?;
            writeln!(f, "{number} | {}", format!("{before}{at}").trim_end())?;
            writeln!(f, "{margin} | {}{}", " ".repeat(before.chars().count()), "^".repeat(mistake.width))?;
            if let Some(hint) = &mistake.hint {
                writeln!(f, "{margin} |")?;
                writeln!(f, "{margin} = help: {hint}")?;
            }
        }
        Ok(())
    }
}

impl std::error::Error for Report {}

fn split(line: &str, characters: usize) -> (&str, &str) {
    let at = line.char_indices().nth(characters).map_or(line.len(), |(at, _)| at);
    line.split_at(at)
}

fn untabbed(text: &str) -> String {
    text.replace('\t', "    ")
}

/// Collects the mistakes of a package.
#[derive(Debug, Default)]
pub(crate) struct Mistakes(Vec<Mistake>);

impl Mistakes {
    /// Adds a message on a span of a source.
    pub(crate) fn at(&mut self, source: &Source, span: Span, message: impl fmt::Display) {
        let (start, end) = (span.start(), span.end());
        let line = start.line.max(1);
        let text = source.text.lines().nth(line - 1).unwrap_or_default();
        let rest = text.chars().count().saturating_sub(start.column);
        let width = if end.line == start.line { end.column.saturating_sub(start.column) } else { rest };
        self.push(&source.file, (line, start.column + 1), width, text, &message.to_string());
    }

    /// Adds each message of an error; one without a place of its own stands at `otherwise`.
    pub(crate) fn all(&mut self, source: &Source, error: &syn::Error, otherwise: Span) {
        for error in error.clone() {
            let span = error.span();
            let start = span.start();
            let unknown = span.byte_range().is_empty() && (start.line, start.column) <= (1, 0);
            let span = if unknown { otherwise } else { span };
            match error.to_string().as_str() {
                // What the parser says of an open quote or bracket helps nobody.
                "cannot parse string into token stream" => self.at(source, span, messages::not_tokens()),
                text => self.at(source, span, text),
            }
        }
    }

    /// Adds each message of an error of savvy's, which is of another version of syn.
    pub(crate) fn savvy(&mut self, source: &Source, error: &syn_savvy::Error) {
        for error in error.clone() {
            match error.to_string() {
                // A text with a place that savvy forgets to fill.
                text if text.contains("{:?}") => self.at(source, error.span(), messages::savvy_type()),
                text => self.at(source, error.span(), text),
            }
        }
    }

    /// Adds a message on a place of any file, with what the line has.
    pub(crate) fn push(
        &mut self,
        file: &Path,
        (line, column): (usize, usize),
        width: usize,
        text: &str,
        message: &str,
    ) {
        let (message, hint) = match message.split_once("\nhint: ") {
            Some((message, hint)) => (message, Some(hint)),
            None => (message, None),
        };
        self.0.push(Mistake {
            file: file.to_owned(),
            line,
            column,
            width: width.max(1),
            message: message.to_owned(),
            hint: hint.filter(|hint| !hint.is_empty()).map(str::to_owned),
            text: text.trim_end().to_owned(),
        });
    }

    pub(crate) fn count(&self) -> usize {
        self.0.len()
    }
}
