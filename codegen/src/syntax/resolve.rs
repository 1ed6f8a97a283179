//! From what is written to the model: references become indices, names become captures.

use super::errors::Errors;
use super::kind::Within;
use super::links::{self, Links};
use super::model::{Dim, Dynamic, DynamicKind, Group, Leading, Leaves, Pattern, Shape, WriteBack};
use super::names::{self, Names};
use super::raw::{Given, RawDim, RawDynamic, RawKind, RawLeading, RawParam, RawShape};
use super::write_back;

/// What stands around the arguments, for the rules about names.
pub(crate) struct Scope<'a> {
    /// The compile context, which is a name too.
    pub(crate) cx: Option<&'a proc_macro2::Ident>,
    /// Whose arguments, results or fields these are.
    pub(crate) within: Within,
}

/// The resolved arguments; `dynamics` has a place for each argument, empty for a static one.
pub(crate) struct Resolved {
    pub(crate) dynamics: Vec<Option<Dynamic>>,
    pub(crate) groups: Vec<Group>,
    pub(crate) captures: Vec<super::model::Capture>,
}

/// Resolves the arguments of a function or the fields of a struct.
///
/// None if something is missing, which has its error already.
pub(crate) fn resolve(errors: &mut Errors, params: &[RawParam], scope: &Scope<'_>) -> Option<Resolved> {
    let links = links::read(errors, params, scope);
    let names = names::read(errors, params, scope);
    write_back::check(errors, params, scope.within);
    let groups = groups(params, &links)?;
    let mut dynamics = Vec::new();
    for (index, param) in params.iter().enumerate() {
        dynamics.push(match param {
            RawParam::Dynamic(raw) => Some(dynamic(index, raw, &links, &names, &groups)?),
            RawParam::Static(_) | RawParam::Other(..) => None,
            RawParam::Bad(_) => return None,
        });
    }
    Some(Resolved { dynamics, groups, captures: names.captures })
}

/// The groups of arguments with one dtype, ordered by their first member.
fn groups(params: &[RawParam], links: &Links) -> Option<Vec<Group>> {
    let mut groups: Vec<Group> = Vec::new();
    for (index, param) in params.iter().enumerate() {
        if !param.dynamic().is_some_and(is_leaves) {
            continue;
        }
        let root = links.dtype_root(index)?;
        match groups.iter_mut().find(|group| group.root == root) {
            Some(group) => group.members.push(index),
            None => {
                let dtypes = links::own_dtypes(params[root].dynamic()?)?;
                groups.push(Group { root, dtypes: dtypes.clone(), members: vec![index] });
            }
        }
    }
    Some(groups)
}

fn is_leaves(raw: &RawDynamic) -> bool {
    matches!(raw.kind, Given::Is(RawKind::Leaves(_)))
}

fn dynamic(
    index: usize,
    raw: &RawDynamic,
    links: &Links,
    names: &Names,
    groups: &[Group],
) -> Option<Dynamic> {
    let kind = match raw.kind.as_ref()? {
        RawKind::Tree(path) => DynamicKind::Tree(path.clone()),
        RawKind::Leaves(count) => DynamicKind::Leaves(Leaves {
            count: count.clone(),
            group: groups.iter().position(|group| group.members.contains(&index))?,
            shape: shape(index, raw, links, names)?,
            donate: raw.options.donate,
            write_back: raw
                .options
                .write_back
                .as_ref()
                .map(|back| WriteBack { span: back.word.span(), result: back.result }),
            optional: raw.optional,
        }),
    };
    Some(Dynamic { name: raw.name.clone(), docs: raw.docs.clone(), span: raw.span, kind })
}

fn shape(index: usize, raw: &RawDynamic, links: &Links, names: &Names) -> Option<Shape> {
    let root = links.shape_root(index)?;
    if root != index {
        return Some(Shape::Same(root));
    }
    let RawShape::Pattern { leading, dims } = raw.options.shape.as_ref()? else { return None };
    let leading = match leading {
        None => None,
        Some(RawLeading::Anonymous) => Some(Leading::Anonymous),
        Some(RawLeading::Named(name)) => Some(Leading::Captured(names.index(name)?)),
    };
    let dims = dims.iter().map(|dim| match dim {
        RawDim::Fixed(size) => Some(Dim::Fixed(*size)),
        RawDim::Any => Some(Dim::Any),
        RawDim::Named(name) => Some(Dim::Captured(names.index(name)?)),
        // The parser allows these in bodies only.
        RawDim::Value(_) => None,
    });
    Some(Shape::Pattern(Pattern { leading, dims: dims.collect::<Option<_>>()? }))
}
