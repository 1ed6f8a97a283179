//! A help page as comments for roxygen2.

use super::page::Page;
use super::rd;

/// The lines above the function in `R/families.R`.
///
/// The text is that of the help page, not markdown (`@noMd`), so that nothing depends on how roxygen2 reads markdown.
pub(crate) fn text(page: &Page) -> String {
    let mut out = Comment::default();
    out.tag("title", &page.title);
    out.paragraphs("description", &page.description);
    out.paragraphs("details", &page.details);
    for argument in &page.arguments {
        out.tag("param", &format!("{} {}", argument.name, argument.text));
    }
    out.paragraphs("return", &page.value);
    for (title, text) in &page.sections {
        out.tag("section", &format!("{title}:\n{text}"));
    }
    out.paragraphs("references", page.references.as_deref().unwrap_or_default());
    out.paragraphs("seealso", &page.see_also);
    if let Some(examples) = page.conditional_examples() {
        out.paragraphs("examples", &examples);
    }
    out.tag("export", "");
    out.tag("noMd", "");
    out.0
}

#[derive(Default)]
struct Comment(String);

impl Comment {
    /// `@tag text`
    fn tag(&mut self, tag: &str, text: &str) {
        self.write(&format!("@{tag} {}", escaped(text)));
    }

    /// The tag on a line of its own, unless there is no text.
    fn paragraphs(&mut self, tag: &str, text: &str) {
        if !text.is_empty() {
            // The space would be needed before `@`, and is dropped otherwise.
            let space = if text.starts_with('@') { " " } else { "" };
            self.write(&format!("@{tag}\n{space}{}", escaped(text)));
        }
    }

    fn write(&mut self, text: &str) {
        for line in text.lines() {
            self.0.push_str(format!("#' {line}").trim_end());
            self.0.push('\n');
        }
    }
}

fn escaped(text: &str) -> String {
    rd::without_tags(text).replace('@', "@@")
}
