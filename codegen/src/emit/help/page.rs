//! One model of a help page.

/// A help page. All text is in the language of help pages, but for names and code of R.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Page {
    /// The function's name.
    pub(crate) name: String,
    /// One line, without a final stop.
    pub(crate) title: String,
    /// The first paragraph.
    pub(crate) description: String,
    /// The arguments, in order.
    pub(crate) arguments: Vec<Argument>,
    /// What the function gives.
    pub(crate) value: String,
    /// What comes after the description.
    pub(crate) details: String,
    /// Sections with headings of their own, in order.
    pub(crate) sections: Vec<(String, String)>,
    /// Code of R.
    pub(crate) examples: Option<String>,
    /// Literature.
    pub(crate) references: Option<String>,
    /// Where to look further.
    pub(crate) see_also: String,
}

/// An argument.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Argument {
    /// The name.
    pub(crate) name: String,
    /// Its default, code of R.
    pub(crate) default: Option<String>,
    /// What it is.
    pub(crate) text: String,
}

/// A condition for running the examples: a package can be checked on a machine without a plugin.
const CONDITION: &str = "pjrtdispatch::plugins_downloaded(\"cpu\")";

impl Page {
    /// The examples as `\examples{}` has them but for their escapes.
    ///
    /// The condition is written out, for what roxygen2 makes of `@examplesIf` depends on its version.
    pub(crate) fn conditional_examples(&self) -> Option<String> {
        let examples = super::rd::balanced(self.examples.as_deref()?.trim_matches('\n'));
        Some(format!(
            "\\dontshow{{if ({CONDITION}) withAutoprint(\\{{ # examplesIf}}\n{examples}\n\\dontshow{{\\}}) # examplesIf}}"
        ))
    }

    /// What is wrong with the examples.
    pub(crate) fn fault(&self) -> Option<String> {
        super::rd::fault(self.examples.as_deref()?)
    }

    /// The name of the file: roxygen2 has the same rule for names of functions.
    pub(crate) fn file(&self) -> String {
        match self.name.strip_prefix('.') {
            Some(rest) => format!("dot-{rest}.Rd"),
            None => format!("{}.Rd", self.name),
        }
    }
}
