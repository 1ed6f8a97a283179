//! Markdown of doc comments as text of help pages.

use pulldown_cmark::{
    Alignment, BrokenLink, CodeBlockKind, CowStr, Event, HeadingLevel, LinkType, Options, Parser, Tag, TagEnd,
};

use super::rd;

/// Says what a name in brackets links to: the text of the help page for it, if it is anything.
pub(crate) type Links<'a> = dyn Fn(&str) -> Option<String> + 'a;

/// A piece of a doc comment between two headings of the first level.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Part {
    /// The heading; none before the first.
    pub(crate) heading: Option<String>,
    /// What is below it, by block.
    pub(crate) blocks: Vec<Block>,
}

/// A paragraph, a list, a table, some code.
#[derive(Debug, PartialEq)]
pub(crate) struct Block {
    /// The markdown.
    pub(crate) source: String,
    /// As text of a help page.
    pub(crate) rd: String,
    /// The code itself, and its language, if that is what it is.
    pub(crate) code: Option<(Language, String)>,
    /// Whether it is a paragraph.
    pub(crate) paragraph: bool,
}

/// The language of a block of code.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Language {
    /// For rustdoc, which takes code without a language as Rust.
    Rust,
    /// Of R.
    R,
    /// Any other.
    Other(String),
}

/// Reads the lines of a doc comment.
pub(crate) fn read(lines: &[String], links: &Links<'_>) -> Vec<Part> {
    let text = lines.join("\n");
    let mut known =
        |link: BrokenLink<'_>| target(links, &link.reference).map(|to| (CowStr::from(to), CowStr::from("")));
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH;
    let parser = Parser::new_with_broken_link_callback(&text, options, Some(&mut known));
    let mut reader =
        Reader { links, parts: vec![Part::default()], writer: Writer::default(), sections: Vec::new() };
    for (event, range) in parser.into_offset_iter() {
        reader.take(event, &text[range]);
    }
    reader.end_sections(0);
    reader.parts
}

/// One text of all that stands in a doc comment, for what has no sections of its own.
pub(crate) fn text(lines: &[String], links: &Links<'_>) -> String {
    let mut blocks = Vec::new();
    for part in read(lines, links) {
        blocks.extend(part.heading.map(|heading| format!("\\strong{{{heading}}}")));
        blocks.extend(joined(&part.blocks));
    }
    blocks.join("\n\n")
}

/// The text of some blocks; none if there is nothing to show.
pub(crate) fn joined(blocks: &[Block]) -> Option<String> {
    let shown: Vec<&str> = blocks.iter().map(|block| block.rd.as_str()).filter(|rd| !rd.is_empty()).collect();
    (!shown.is_empty()).then(|| shown.join("\n\n"))
}

/// What marks a destination that is text of a help page already.
const RD: &str = "rd:";

/// `[name]` and `` [`name`] ``: a link to what is known, code if it is written as such, else just brackets.
fn target(links: &Links<'_>, reference: &str) -> Option<String> {
    let name = reference.trim_matches('`');
    match links(name) {
        Some(link) => Some(format!("{RD}{link}")),
        None => (name.len() < reference.len()).then(|| RD.to_owned()),
    }
}

struct Reader<'a> {
    links: &'a Links<'a>,
    parts: Vec<Part>,
    writer: Writer,
    /// The levels of the open `\subsection`s, and where each begins in its block.
    sections: Vec<(usize, usize)>,
}

impl Reader<'_> {
    fn take(&mut self, event: Event<'_>, source: &str) {
        let top = self.writer.depth() == 0;
        match &event {
            Event::Start(Tag::Heading { level, .. }) => {
                if top {
                    self.end_sections(*level as usize);
                }
                self.writer.open("", None);
                return;
            }
            Event::End(TagEnd::Heading(level)) => {
                let heading = self.writer.close();
                self.heading(*level, heading, source);
                return;
            }
            _ => self.writer.write(event, self.links),
        }
        if self.writer.depth() == 0 {
            let block = self.writer.block(source);
            self.push(block);
        }
    }

    fn push(&mut self, block: Option<Block>) {
        let Some(block) = block else { return };
        let part = self.parts.last_mut().expect("there is a first part");
        match (part.blocks.last_mut(), self.sections.is_empty()) {
            // Within a subsection.
            (Some(open), false) if block.rd.is_empty() => open.source.push_str(&block.source),
            (Some(open), false) => {
                open.rd.push_str("\n\n");
                open.rd.push_str(&block.rd);
                open.source.push_str(&block.source);
            }
            _ => part.blocks.push(block),
        }
    }

    fn heading(&mut self, level: HeadingLevel, text: String, source: &str) {
        if self.writer.depth() > 0 {
            // In a list.
            self.writer.out().push_str(&format!("\n\n\\strong{{{text}}}\n\n"));
            return;
        }
        if level == HeadingLevel::H1 {
            self.parts.push(Part { heading: Some(text), blocks: Vec::new() });
            return;
        }
        let part = self.parts.last_mut().expect("there is a first part");
        if part.heading.as_deref().is_some_and(is_examples) {
            // Code is not hidden in sections there.
            let source = source.trim_matches(['#', ' ']).to_owned();
            part.blocks.push(Block { source, rd: String::new(), code: None, paragraph: true });
            return;
        }
        if self.sections.is_empty() {
            part.blocks.push(Block {
                source: String::new(),
                rd: String::new(),
                code: None,
                paragraph: false,
            });
        } else {
            self.open_block().push_str("\n\n");
        }
        let block = self.open_block();
        let start = block.len();
        block.push_str(&format!("\\subsection{{{text}}}{{"));
        self.sections.push((level as usize, start));
    }

    /// The text of the block that the next one is a part of.
    fn open_block(&mut self) -> &mut String {
        let part = self.parts.last_mut().expect("there is a first part");
        &mut part.blocks.last_mut().expect("a subsection is a block").rd
    }

    /// Ends the subsections of this level and below. One without text is no more than its title.
    fn end_sections(&mut self, level: usize) {
        while let Some(&(open, start)) = self.sections.last() {
            if open < level {
                break;
            }
            self.sections.pop();
            let block = self.open_block();
            let title = block[start..].strip_prefix("\\subsection{").and_then(|rest| rest.strip_suffix("}{"));
            match title.map(str::to_owned) {
                Some(title) => {
                    block.truncate(start);
                    block.push_str(&format!("\\strong{{{title}}}"));
                }
                None => block.push_str("\n}"),
            }
        }
    }
}

/// Whether a section of this heading has code of R that is run.
pub(crate) fn is_examples(heading: &str) -> bool {
    matches!(heading.to_lowercase().as_str(), "example" | "examples")
}

/// The text of what is open, from the block inwards.
#[derive(Default)]
struct Writer {
    open: Vec<(String, Option<&'static str>)>,
    done: String,
    code: Option<(Language, String)>,
    paragraph: bool,
    /// The cells of the open row of a table.
    cells: usize,
}

impl Writer {
    fn depth(&self) -> usize {
        self.open.len()
    }

    fn out(&mut self) -> &mut String {
        match self.open.last_mut() {
            Some((text, _)) => text,
            None => &mut self.done,
        }
    }

    /// Opens something that ends with `end`; without one its text is not written by itself.
    fn open(&mut self, start: &str, end: Option<&'static str>) {
        self.open.push((start.to_owned(), end));
    }

    /// Closes what was opened last, and gives its text.
    fn close(&mut self) -> String {
        self.open.pop().map(|(text, _)| text).unwrap_or_default()
    }

    fn end(&mut self) {
        if let Some((text, end)) = self.open.pop() {
            let text = text + end.unwrap_or("");
            self.out().push_str(&text);
        }
    }

    fn block(&mut self, source: &str) -> Option<Block> {
        let done = std::mem::take(&mut self.done);
        let lines: Vec<&str> = done.trim().lines().map(str::trim_end).collect();
        let rd = lines.join("\n");
        let code = self.code.take();
        let paragraph = std::mem::take(&mut self.paragraph);
        (!rd.is_empty() || code.is_some()).then(|| Block { source: source.to_owned(), rd, code, paragraph })
    }

    fn write(&mut self, event: Event<'_>, links: &Links<'_>) {
        match event {
            Event::Start(tag) => self.start(tag, links),
            Event::End(tag) => self.finish(tag),
            Event::Text(text) if self.code.is_some() && self.depth() > 0 => self.out().push_str(&text),
            Event::Text(text) => {
                // A line that begins with `@` is a tag to roxygen2.
                if text.starts_with('@') && self.out().ends_with('\n') && !self.out().ends_with("\n\n") {
                    self.out().pop();
                    self.out().push(' ');
                }
                self.out().push_str(&rd::prose(&text));
            }
            Event::Code(text) => self.out().push_str(&rd::code(&text)),
            Event::Html(html) | Event::InlineHtml(html) if html.trim_start().starts_with("<!--") => {}
            Event::Html(html) | Event::InlineHtml(html) => {
                let html = format!("\\if{{html}}{{\\out{{{}}}}}", rd::verbatim(&html));
                self.out().push_str(&html);
            }
            Event::SoftBreak => self.out().push('\n'),
            Event::HardBreak => self.out().push_str("\\cr\n"),
            // A rule divides what is divided already; the rest is not asked for in the options.
            _ => {}
        }
    }

    fn start(&mut self, tag: Tag<'_>, links: &Links<'_>) {
        match tag {
            Tag::Paragraph => {
                self.paragraph = self.depth() == 0;
                self.open("\n\n", Some(""));
            }
            Tag::CodeBlock(kind) => {
                let language = match kind {
                    CodeBlockKind::Indented => Language::Rust,
                    CodeBlockKind::Fenced(info) => language(&info),
                };
                self.code = Some((language, String::new()));
                self.open("", Some(""));
            }
            Tag::List(first) => {
                let start = if first.is_some() { "\n\\enumerate{" } else { "\n\\itemize{" };
                self.open(start, Some("\n}"));
            }
            Tag::Item => self.open("\n\\item ", Some("")),
            Tag::Table(alignments) => {
                let columns: String = alignments.iter().map(letter).collect();
                self.open(&format!("\n\\tabular{{{columns}}}{{\n"), Some("}"));
            }
            Tag::TableHead | Tag::TableRow => {
                self.cells = 0;
                self.open("  ", Some(" \\cr\n"));
            }
            Tag::TableCell => {
                let start = if self.cells == 0 { "" } else { " \\tab " };
                self.cells += 1;
                self.open(start, Some(""));
            }
            Tag::Emphasis => self.open("\\emph{", Some("}")),
            Tag::Strong => self.open("\\strong{", Some("}")),
            Tag::Link { link_type, dest_url, .. } => self.link(link_type, &dest_url, links),
            _ => self.open("", Some("")),
        }
    }

    fn finish(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::CodeBlock => self.code_block(),
            TagEnd::Link if self.open.last().is_some_and(|(_, end)| end.is_none()) => {
                // What the link shows stands in the destination.
                self.close();
            }
            TagEnd::Item => {
                // The text of an item follows its mark at once.
                if let Some((text, _)) = self.open.last_mut() {
                    let body = text["\n\\item ".len()..].trim().to_owned();
                    *text = format!("\n\\item {body}");
                }
                self.end();
            }
            _ => self.end(),
        }
    }

    fn link(&mut self, kind: LinkType, to: &str, links: &Links<'_>) {
        let shown = match (kind, to.strip_prefix(RD)) {
            (LinkType::Email, _) => Some(format!("\\email{{{}}}", rd::prose(to))),
            (LinkType::Autolink, _) => Some(format!("\\url{{{}}}", rd::verbatim(to))),
            (_, Some(link)) => Some(link.to_owned()).filter(|link| !link.is_empty()),
            (_, None) if to.contains("://") || to.starts_with("mailto:") => {
                return self.open(&format!("\\href{{{}}}{{", rd::verbatim(to)), Some("}"));
            }
            // `[text](module::item)` is for rustdoc: what is not known here is its text.
            (_, None) => links(to),
        };
        match shown {
            Some(link) => {
                self.out().push_str(&link);
                self.open("", None);
            }
            None => self.open("", Some("")),
        }
    }

    fn code_block(&mut self) {
        let text = self.close();
        let Some((language, _)) = self.code.take() else { return };
        if language != Language::Rust {
            let code = rd::verbatim(text.trim_end_matches('\n'));
            self.out().push_str(&format!("\n\n\\preformatted{{{code}\n}}"));
        }
        // Within a list it is a part of the item.
        if self.depth() == 0 {
            self.code = Some((language, text));
        }
    }
}

fn letter(alignment: &Alignment) -> char {
    match alignment {
        Alignment::Center => 'c',
        Alignment::Right => 'r',
        Alignment::Left | Alignment::None => 'l',
    }
}

/// The language of a fenced block, with rustdoc's words for Rust.
fn language(info: &str) -> Language {
    const RUST: [&str; 7] =
        ["rust", "ignore", "no_run", "should_panic", "compile_fail", "test_harness", "standalone_crate"];
    let mut words = info.split([',', ' ', '\t']).filter(|word| !word.is_empty()).peekable();
    match words.peek() {
        None => Language::Rust,
        Some(&"r" | &"R") => Language::R,
        Some(word) => {
            let first = (*word).to_owned();
            let rust = words.any(|word| {
                RUST.contains(&word) || word.starts_with("ignore-") || word.starts_with("edition20")
            });
            if rust { Language::Rust } else { Language::Other(first) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rd(markdown: &str) -> String {
        let lines: Vec<String> = markdown.lines().map(str::to_owned).collect();
        text(&lines, &|name| (name == "fit").then(|| "\\link{fit}".to_owned()))
    }

    #[test]
    fn links_lead_to_what_is_known_and_are_text_otherwise() {
        for (markdown, want) in [
            ("[`fit`] and [fit]", r"\link{fit} and \link{fit}"),
            ("[`Fit`] and [a, b]", r"\code{Fit} and [a, b]"),
            ("[the fit](fit), [a type](crate::Fit)", r"\link{fit}, a type"),
            ("[50%](https://a.b/50%25)", r"\href{https://a.b/50\%25}{50\%}"),
            ("<https://a.b> <me@a.b>", r"\url{https://a.b} \email{me@a.b}"),
        ] {
            assert_eq!(rd(markdown), want);
        }
    }

    #[test]
    fn rust_is_left_out_and_other_code_is_shown() {
        assert_eq!(
            rd("a\n\n```\nlet a = 1;\n```\n\n```should_panic,edition2021\nf()\n```\n\n    g()\n\nb"),
            "a\n\nb"
        );
        assert_eq!(rd("```text\n{a} 5%\n```"), "\\preformatted{\\{a\\} 5\\%\n}");
        assert_eq!(
            rd("- a\n  ```r\n  f()\n  ```\n- b"),
            "\\itemize{\n\\item a\n\n\\preformatted{f()\n}\n\\item b\n}"
        );
    }

    #[test]
    fn html_is_for_html_pages_and_comments_are_nobodys() {
        assert_eq!(
            rd("H<sub>2</sub>O<!-- water -->"),
            "H\\if{html}{\\out{<sub>}}2\\if{html}{\\out{</sub>}}O"
        );
    }

    #[test]
    fn headings_divide_and_nest() {
        assert_eq!(
            rd("a\n\n# B\n\n## C\n\nc\n\n## D\n\n- # e"),
            "a\n\n\\strong{B}\n\n\\subsection{C}{\n\nc\n}\n\n\\subsection{D}{\n\n\\itemize{\n\\item \\strong{e}\n}\n}"
        );
        assert_eq!(rd("## C\n\n### D\n\n@d\n@e"), "\\subsection{C}{\n\n\\subsection{D}{\n\n@d @e\n}\n}");
        assert_eq!(rd("## C\n\n## D\n\nd"), "\\strong{C}\n\n\\subsection{D}{\n\nd\n}");
        let parts = read(&["a", "# B", "b"].map(str::to_owned), &|_| None);
        assert_eq!(parts.iter().map(|part| part.heading.as_deref()).collect::<Vec<_>>(), [None, Some("B")]);
        assert_eq!(parts[1].blocks[0].rd, "b");
    }
}
