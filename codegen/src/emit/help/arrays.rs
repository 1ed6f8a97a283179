//! Dynamic arguments in words: dtypes, shapes, and what is in a list.

use syn::Path;

use super::{code_of, links, or, plain, rd, sentences};
use crate::project::{Declared, PackageModel};
use crate::syntax::{
    Capture, Class, Count, DType, DTypes, Dim, Dynamic, DynamicKind, Group, InputTree, Leading, Leaves,
    Pattern, Shape,
};

/// The arguments of a family, or the fields of an `InputTree`.
pub(crate) struct Scope<'a> {
    pub(crate) members: Vec<Option<&'a Dynamic>>,
    pub(crate) groups: &'a [Group],
    pub(crate) captures: &'a [Capture],
    /// How the name of a member is written: `a`, or `a$w` within a list.
    pub(crate) prefix: String,
    /// The module in which its types are written.
    pub(crate) module: &'a [String],
    pub(crate) package: &'a PackageModel,
    /// Whether it was said already that all of it is donated.
    pub(crate) all_donated: bool,
}

impl Scope<'_> {
    /// What a member is: `An array of dtype f32 or f64 and shape (m, k).`
    pub(crate) fn describe(&self, member: usize, dynamic: &Dynamic) -> String {
        match &dynamic.kind {
            DynamicKind::Leaves(leaves) => self.leaves(member, leaves),
            DynamicKind::Tree(path) => self.tree(dynamic, path),
        }
    }

    fn leaves(&self, member: usize, leaves: &Leaves) -> String {
        let dtype = self.dtype(member, &self.groups[leaves.group]);
        let (noun, shape, explained) = match &leaves.shape {
            Shape::Pattern(pattern) if pattern.rank() == Some(0) => ("scalar", None, None),
            Shape::Pattern(pattern) if pattern.is_any() => ("array", Some("any shape".to_owned()), None),
            Shape::Pattern(pattern) => {
                ("array", Some(format!("shape {}", self.shape(pattern))), self.explained(pattern))
            }
            Shape::Same(other) => ("array", Some(format!("the shape of {}", self.name(*other))), None),
        };
        let shape = shape.map(|shape| match dtype.strip_prefix("the dtype of ") {
            // `like(a)`
            Some(other) if shape == format!("the shape of {other}") => None,
            _ => Some(shape),
        });
        let described = match shape {
            Some(None) => dtype.replacen("the dtype", "the dtype and shape", 1),
            Some(Some(shape)) => format!("{dtype} and {shape}"),
            None => dtype,
        };
        let mut text = match &leaves.count {
            Count::One => format!("{} {noun} of {described}", if noun == "array" { "An" } else { "A" }),
            Count::Any => format!("A list of {noun}s, each of {described}"),
            Count::Exactly(n) => {
                format!("A list of {} {noun}s, each of {described}", code_of(n))
            }
        };
        let open = !matches!(self.groups[leaves.group].dtypes, DTypes::One(_));
        if open && self.groups[leaves.group].root == member && !matches!(leaves.count, Count::One) {
            text.push_str(", all of the same dtype");
        }
        if let Some(explained) = explained {
            text.push_str(", where ");
            text.push_str(&explained);
        }
        text.push('.');
        if leaves.donate && !self.all_donated {
            text.push_str(match &leaves.count {
                Count::One => " It is donated: the call may use its memory for a result",
                _ => " They are donated: the call may use their memory for results",
            });
            text.push_str(", and using the array afterwards is an error.");
        }
        if leaves.write_back.is_some() {
            text.push_str(
                " If it is an object that a \\link[pjrtdispatch:register_converter]{converter} is for, a result is \
                 written back into it.",
            );
        }
        text
    }

    fn name(&self, member: usize) -> String {
        let name = self.members[member].map(|dynamic| plain(&dynamic.name)).unwrap_or_default();
        rd::code(&format!("{}{name}", self.prefix))
    }

    fn dtype(&self, member: usize, group: &Group) -> String {
        if member != group.root {
            return format!("the dtype of {}", self.name(group.root));
        }
        match &group.dtypes {
            DTypes::One(dtype) => format!("dtype {}", rd::code(r_name(*dtype))),
            DTypes::Choice(choice) => format!("dtype {}", or(choice.iter().map(|d| rd::code(r_name(*d))))),
            DTypes::Class(Class::Any) => "any dtype".to_owned(),
            DTypes::Class(Class::Float) => "a floating-point dtype".to_owned(),
            DTypes::Class(Class::Int) => "an integer dtype".to_owned(),
        }
    }

    /// `(m, 128, _)`, `(n)`
    fn shape(&self, pattern: &Pattern) -> String {
        let leading = pattern.leading.map(|leading| match leading {
            Leading::Anonymous => "..".to_owned(),
            Leading::Captured(capture) => format!("{}..", plain(&self.captures[capture].ident)),
        });
        let sizes = pattern.dims.iter().map(|dim| match dim {
            Dim::Fixed(size) => size.to_string(),
            Dim::Any => "_".to_owned(),
            Dim::Captured(capture) => plain(&self.captures[*capture].ident),
        });
        let all: Vec<String> = leading.into_iter().chain(sizes).collect();
        rd::code(&format!("({})", all.join(", ")))
    }

    /// What the signs in a shape mean.
    fn explained(&self, pattern: &Pattern) -> Option<String> {
        let leading = pattern.leading.map(|leading| match leading {
            Leading::Anonymous => "\\code{..} stands for any leading sizes".to_owned(),
            Leading::Captured(capture) => {
                format!("\\code{{{}..}} stands for any leading sizes", plain(&self.captures[capture].ident))
            }
        });
        let free = pattern.dims.contains(&Dim::Any).then(|| "\\code{_} is any size".to_owned());
        let all: Vec<String> = leading.into_iter().chain(free).collect();
        (!all.is_empty()).then(|| all.join(" and "))
    }

    /// A list with the fields of a struct.
    fn tree(&self, dynamic: &Dynamic, path: &Path) -> String {
        let Some(tree) = self.package.input_tree(self.module, path) else {
            return "A named list of arrays.".to_owned();
        };
        let prefix = format!("{}{}$", self.prefix, plain(&dynamic.name));
        let scope = Scope {
            members: tree.model.fields.iter().map(Some).collect(),
            groups: &tree.model.groups,
            captures: &tree.model.captures,
            prefix,
            module: tree.module(),
            package: self.package,
            all_donated: self.all_donated || self.donates_all(tree),
        };
        let items: Vec<String> = tree
            .model
            .fields
            .iter()
            .enumerate()
            .map(|(index, field)| {
                let text = sentences(&links::text(self.package, &field.docs), &scope.describe(index, field));
                format!("\\item{{{}}}{{{text}}}", rd::code(&plain(&field.name)))
            })
            .collect();
        let donated = match scope.all_donated && !self.all_donated {
            true => {
                "All of it is donated: the call may use its memory for results, and using the arrays afterwards is an \
                 error. "
            }
            false => "",
        };
        format!("{donated}A list with these elements:\n\\describe{{\n{}\n}}", items.join("\n"))
    }

    /// Whether every array in a struct is donated.
    fn donates_all(&self, tree: &Declared<InputTree>) -> bool {
        tree.model.fields.iter().all(|field| match &field.kind {
            DynamicKind::Leaves(leaves) => leaves.donate,
            DynamicKind::Tree(path) => {
                self.package.input_tree(tree.module(), path).is_some_and(|inner| self.donates_all(inner))
            }
        })
    }
}

/// The name that a dtype has in R.
pub(crate) fn r_name(dtype: DType) -> &'static str {
    match dtype {
        DType::U8 => "ui8",
        DType::U16 => "ui16",
        DType::U32 => "ui32",
        DType::U64 => "ui64",
        other => other.name(),
    }
}
