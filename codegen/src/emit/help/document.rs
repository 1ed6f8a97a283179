//! A page from a declaration and its doc comments.

use super::arrays::Scope;
use super::markdown::{self, Block, Language, Part};
use super::page::{Argument, Page};
use super::results::Results;
use super::{links, plain, sentences, statics};
use crate::project::{DeclaredFamily, PackageModel};
use crate::syntax::{DevicePolicy, Param};

/// The help page of a family.
pub(crate) fn page(package: &PackageModel, family: &DeclaredFamily) -> Page {
    let model = &family.model;
    let mut parts =
        markdown::read(&model.docs.lines, &|name| links::link(package, name)).into_iter().peekable();
    let mut intro = parts.next().unwrap_or_default();
    if intro.blocks.is_empty() {
        // The text begins with a heading: the title, unless it is that of a section.
        if let Some(titled) = parts.next_if(|part| !part.heading.as_deref().is_some_and(is_section)) {
            intro = titled;
        }
    }
    let mut page = Page { name: family.r_name.clone(), ..Page::default() };
    introduce(&mut page, intro);
    let mut value = String::new();
    for part in parts {
        take(&mut page, &mut value, part);
    }
    page.arguments = arguments(package, family);
    let results = Results { package, module: &family.module };
    page.value = sentences(&value, &results.value(&model.output));
    page.see_also = paragraphs(&[
        &page.see_also,
        "\\code{\\link[pjrtdispatch:dispatch_family]{dispatch_family}} for what can be passed as an array, and for \
         \\code{family_stats()},\n\\code{family_explain()}, \\code{family_warm()} and \\code{family_clear()};\n\
         \\code{\\link[pjrtdispatch:as_array]{as_array()}} to get results back as arrays of R.",
    ]);
    page.details = paragraphs(&[&page.details, &programs(family)]);
    page
}

/// Title, description and details are the first paragraph, the second, and the rest.
fn introduce(page: &mut Page, intro: Part) {
    let mut blocks = intro.blocks.into_iter().filter(|block| !block.rd.is_empty()).peekable();
    let first = intro.heading.or_else(|| blocks.next_if(|block| block.paragraph).map(|block| block.rd));
    page.title = match first {
        Some(text) => {
            let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
            line.strip_suffix('.').filter(|line| !line.ends_with('.')).unwrap_or(&line).to_owned()
        }
        None => format!("The program family \\code{{{}}}", page.name),
    };
    page.description = match blocks.next_if(|block| block.paragraph) {
        Some(block) => block.rd,
        None => format!("{}.", page.title),
    };
    let rest: Vec<Block> = blocks.collect();
    page.details = markdown::joined(&rest).unwrap_or_default();
}

/// Whether a section with this heading has a place of its own in a page.
fn is_section(heading: &str) -> bool {
    let heading = heading.to_lowercase();
    let known = [&VALUE[..], &DETAILS, &REFERENCES, &SEE_ALSO].concat();
    markdown::is_examples(&heading) || known.contains(&heading.as_str())
}

const VALUE: [&str; 5] = ["value", "return", "returns", "result", "results"];
const DETAILS: [&str; 1] = ["details"];
const REFERENCES: [&str; 2] = ["reference", "references"];
const SEE_ALSO: [&str; 1] = ["see also"];

/// A section by its heading.
fn take(page: &mut Page, value: &mut String, part: Part) {
    let heading = part.heading.unwrap_or_default();
    let text = || markdown::joined(&part.blocks);
    match heading.to_lowercase().as_str() {
        heading if markdown::is_examples(heading) => {
            page.examples = examples(page.examples.take(), &part.blocks)
        }
        heading if VALUE.contains(&heading) => *value = text().unwrap_or_default(),
        heading if DETAILS.contains(&heading) => {
            page.details = paragraphs(&[&page.details, &text().unwrap_or_default()])
        }
        heading if REFERENCES.contains(&heading) => page.references = text(),
        heading if SEE_ALSO.contains(&heading) => page.see_also = text().unwrap_or_default(),
        _ => {
            if let Some(text) = text() {
                // In roxygen's comments a colon ends the heading.
                page.sections.push((heading.replace(": ", " - ").replace(':', ""), text));
            }
        }
    }
}

/// The R code of a section, with the text before each piece as comments.
fn examples(before: Option<String>, blocks: &[Block]) -> Option<String> {
    let mut lines: Vec<String> =
        before.map(|text| text.lines().map(str::to_owned).collect()).unwrap_or_default();
    let mut words = Vec::new();
    for block in blocks {
        match &block.code {
            Some((Language::R, code)) => {
                if !lines.is_empty() {
                    lines.push(String::new());
                }
                lines.append(&mut words);
                lines.extend(code.trim_matches('\n').lines().map(|line| line.trim_end().to_owned()));
            }
            Some(_) => words.clear(),
            None => words.extend(block.source.trim().lines().map(|line| format!("# {}", line.trim()))),
        }
    }
    (!lines.is_empty()).then(|| lines.join("\n"))
}

fn arguments(package: &PackageModel, family: &DeclaredFamily) -> Vec<Argument> {
    let model = &family.model;
    let scope = Scope {
        members: model
            .params
            .iter()
            .map(|param| if let Param::Dynamic(d) = param { Some(d) } else { None })
            .collect(),
        groups: &model.groups,
        captures: &model.captures,
        prefix: String::new(),
        module: &family.module,
        package,
        all_donated: false,
    };
    let describe = |(index, param): (usize, &Param)| match param {
        Param::Dynamic(dynamic) => Argument {
            name: plain(&dynamic.name),
            default: None,
            text: sentences(&links::text(package, &dynamic.docs), &scope.describe(index, dynamic)),
        },
        Param::Static(fixed) => {
            let r = fixed.r.as_ref();
            let added = r.map(|r| statics::describe(package, &family.module, r)).unwrap_or_default();
            Argument {
                name: plain(&fixed.name),
                default: r.and_then(|r| r.default.as_ref()).map(ToString::to_string),
                text: sentences(&links::text(package, &fixed.docs), &added),
            }
        }
    };
    model.params.iter().enumerate().map(describe).collect()
}

/// What is the same in every page: when a call compiles, and where it runs.
fn programs(family: &DeclaredFamily) -> String {
    let options = &family.model.options;
    let parts = match family.model.statics().next() {
        Some(_) => "dtypes, shapes and static values",
        None => "dtypes and shapes",
    };
    let mut text = format!(
        "A program is compiled for each combination of {parts} that is new,\nand kept for the calls that follow"
    );
    if let Some(syn::Expr::Lit(capacity)) = &options.capacity {
        text.push_str(&format!(" (at most {})", super::code_of(capacity)));
    }
    text.push_str(match options.device {
        DevicePolicy::FirstInput => ".",
        DevicePolicy::Fixed => ". Arrays on other devices are copied to the family's own.",
    });
    text
}

fn paragraphs(texts: &[&str]) -> String {
    texts.iter().filter(|text| !text.is_empty()).copied().collect::<Vec<_>>().join("\n\n")
}
