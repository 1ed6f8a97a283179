//! The result of a family in words.

use syn::{Path, PathArguments, Type};

use super::{code_of, links, plain, rd, sentences};
use crate::project::PackageModel;
use crate::syntax::{Output, OutputKind};

/// Where results are looked up.
pub(crate) struct Results<'a> {
    pub(crate) package: &'a PackageModel,
    /// The module in which the types are written.
    pub(crate) module: &'a [String],
}

/// A single array.
const ARRAY: &str = "An \\code{\\link[pjrtdispatch:AnvlArray]{AnvlArray}}.";

impl Results<'_> {
    /// The text of `\value{}`.
    pub(crate) fn value(&self, output: &Output) -> String {
        match &output.ty {
            Some(ty) => self.describe(ty, true),
            None => ARRAY.to_owned(),
        }
    }

    fn describe(&self, ty: &Type, top: bool) -> String {
        match ty {
            Type::Paren(inner) => self.describe(&inner.elem, top),
            Type::Group(inner) => self.describe(&inner.elem, top),
            Type::Array(array) => match array.elem.as_ref() {
                element if is_leaf(element) => format!("A list of {} arrays.", code_of(&array.len)),
                element => {
                    format!("A list of {}, each: {}", code_of(&array.len), self.describe(element, false))
                }
            },
            Type::Tuple(tuple) if tuple.elems.iter().all(is_leaf) => match tuple.elems.len() {
                0 => "A list without elements.".to_owned(),
                1 => "A list of one array.".to_owned(),
                n => format!("A list of {n} arrays."),
            },
            Type::Tuple(tuple) => {
                let items: Vec<String> = tuple
                    .elems
                    .iter()
                    .map(|element| format!("\\item {}", self.describe(element, false)))
                    .collect();
                format!("A list of\n\\enumerate{{\n{}\n}}", items.join("\n"))
            }
            Type::Path(path) => match self.tree(&path.path, top) {
                Some(text) => text,
                None if !is_leaf(ty) => "A named list of arrays.".to_owned(),
                None if top => ARRAY.to_owned(),
                None => "An array.".to_owned(),
            },
            _ => ARRAY.to_owned(),
        }
    }

    /// A named list with the fields of a struct.
    fn tree(&self, path: &Path, top: bool) -> Option<String> {
        let declared = self.package.output_tree(self.module, path)?;
        let inner = Results { package: self.package, module: declared.module() };
        let items: Vec<String> = declared
            .model
            .fields
            .iter()
            .map(|field| {
                let what = match &field.kind {
                    OutputKind::Leaf => "An array.".to_owned(),
                    OutputKind::Array(n) => format!("A list of {} arrays.", code_of(n)),
                    OutputKind::Tree(path) => {
                        inner.tree(path, false).unwrap_or_else(|| "A named list of arrays.".to_owned())
                    }
                };
                let text = sentences(&links::text(self.package, &field.docs), &what);
                format!("\\item{{{}}}{{{text}}}", rd::code(&plain(&field.name)))
            })
            .collect();
        Some(match top {
            true => format!("A list with these elements:\n{}", items.join("\n")),
            false => format!("A list with these elements:\n\\describe{{\n{}\n}}", items.join("\n")),
        })
    }
}

/// `Array`: a type that ends so and has no arguments.
fn is_leaf(ty: &Type) -> bool {
    match ty {
        Type::Path(path) => path
            .path
            .segments
            .last()
            .is_some_and(|last| last.ident == "Array" && matches!(last.arguments, PathArguments::None)),
        Type::Paren(inner) => is_leaf(&inner.elem),
        Type::Group(inner) => is_leaf(&inner.elem),
        _ => false,
    }
}
