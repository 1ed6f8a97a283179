//! References between arguments: `dtype(a)`, `shape(a)`, `like(a)`.
//!
//! A reference may point forward as well as back. Followed to its end it must reach an argument that says
//! its own dtype or shape.

use proc_macro2::Ident;
use syn::ext::IdentExt;

use super::errors::Errors;
use super::messages::{self, Message};
use super::model::{Count, DTypes};
use super::raw::{Given, RawDType, RawDynamic, RawKind, RawParam, RawShape};
use super::resolve::Scope;
use super::words;

/// Where each argument's dtype and shape come from.
pub(crate) struct Links {
    dtypes: Vec<Link>,
    shapes: Vec<Link>,
}

/// Where one argument's dtype, or shape, comes from.
#[derive(Clone, Copy)]
enum Link {
    /// From itself.
    Own,
    /// From another argument.
    To(usize),
    /// It is wrong or missing, or leads to one that is.
    Bad,
}

impl Links {
    /// The argument that says this one's dtype.
    pub(crate) fn dtype_root(&self, index: usize) -> Option<usize> {
        root(&self.dtypes, index)
    }

    /// The argument that says this one's shape.
    pub(crate) fn shape_root(&self, index: usize) -> Option<usize> {
        root(&self.shapes, index)
    }
}

fn root(links: &[Link], start: usize) -> Option<usize> {
    let mut index = start;
    for _ in 0..=links.len() {
        match links[index] {
            Link::Own => return Some(index),
            Link::To(next) => index = next,
            Link::Bad => return None,
        }
    }
    None
}

/// The dtypes that an argument says itself.
pub(crate) fn own_dtypes(raw: &RawDynamic) -> Option<&DTypes> {
    match raw.options.dtype.as_ref()? {
        RawDType::Dtypes(dtypes) => Some(dtypes),
        RawDType::Same(_) => None,
    }
}

/// Reads all references, and checks that each leads somewhere.
pub(crate) fn read(errors: &mut Errors, params: &[RawParam], scope: &Scope<'_>) -> Links {
    let (mut dtypes, mut shapes) = (Vec::new(), Vec::new());
    for (index, param) in params.iter().enumerate() {
        let Some(raw) = param.dynamic() else {
            dtypes.push(Link::Bad);
            shapes.push(Link::Bad);
            continue;
        };
        let mut link =
            |form: &str, name: &Ident, single: bool| match target(params, scope, index, form, name, single) {
                Ok(Some(other)) => Link::To(other),
                Ok(None) => Link::Bad,
                Err(message) => {
                    errors.on(name, message);
                    Link::Bad
                }
            };
        let (dtype, shape) = match (&raw.options.like, &raw.options.dtype, &raw.options.shape) {
            (Given::Is(name), ..) => {
                let both = link("like", name, true);
                (both, both)
            }
            (Given::Bad, ..) => (Link::Bad, Link::Bad),
            (Given::Missing, dtype, shape) => (
                match dtype {
                    Given::Is(RawDType::Same(name)) => link("dtype", name, false),
                    Given::Is(RawDType::Dtypes(_)) => Link::Own,
                    _ => Link::Bad,
                },
                match shape {
                    Given::Is(RawShape::Same(name)) => link("shape", name, true),
                    Given::Is(RawShape::Pattern { .. }) => Link::Own,
                    _ => Link::Bad,
                },
            ),
        };
        dtypes.push(dtype);
        shapes.push(shape);
    }
    let reported = no_cycles(errors, params, &dtypes, "dtype", &[]);
    no_cycles(errors, params, &shapes, "shape", &reported);
    Links { dtypes, shapes }
}

/// Finds the argument that a reference names.
///
/// `dtype(a)` is wrong if `a` is no argument, the argument itself, static, the compile context, a tree or optional;
/// `shape(a)` and `like(a)` also if `a` is several arrays. `Ok(None)` if that argument has an error already.
fn target(
    params: &[RawParam],
    scope: &Scope<'_>,
    from: usize,
    form: &str,
    name: &Ident,
    single: bool,
) -> Result<Option<usize>, Message> {
    if scope.cx.is_some_and(|cx| cx == name) {
        return Err(messages::reference_to_cx(form, name));
    }
    let Some(index) = params.iter().position(|param| param.name() == name) else {
        return Err(messages::unknown_argument(
            scope.within.noun(),
            name,
            known_help(params, scope, from, name),
        ));
    };
    if index == from {
        return Err(messages::reference_to_self(form, name));
    }
    let undescribed = |what| messages::reference_to_other(form, name, what, scope.within.described());
    match &params[index] {
        RawParam::Static(_) => Err(undescribed("a static argument")),
        RawParam::Other(_, what) => Err(undescribed(what)),
        RawParam::Bad(_) => Ok(None),
        RawParam::Dynamic(dynamic) => match &dynamic.kind {
            Given::Is(RawKind::Tree(_)) => Err(messages::reference_to_tree(form, name)),
            _ if dynamic.optional => Err(messages::reference_to_optional(form, name)),
            Given::Is(RawKind::Leaves(Count::Any | Count::Exactly(_))) if single => {
                Err(messages::reference_to_many(form, name))
            }
            _ => Ok(Some(index)),
        },
    }
}

fn known_help(params: &[RawParam], scope: &Scope<'_>, from: usize, got: &Ident) -> String {
    let named = |param: &RawParam| param.dynamic().is_some_and(|raw| !raw.optional);
    let known: Vec<String> = params
        .iter()
        .enumerate()
        .filter(|(index, param)| *index != from && named(param))
        .map(|(_, param)| param.name().unraw().to_string())
        .collect();
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    let noun = scope.within.described();
    if let Some(nearest) =
        words::nearest(&got.to_string(), known.iter().copied().filter(|name| name.len() > 1))
    {
        return format!("did you mean `{nearest}`?");
    }
    match known[..] {
        [] => format!("there is no other {noun}"),
        [only] => format!("the other {noun} is `{only}`"),
        _ => format!("the other {noun}s are {}", words::list(&known, "and")),
    }
}

/// References end: `a` with `dtype(b)` and `b` with `dtype(a)` are wrong, once, at the first of them.
///
/// Returns the arguments at which a cycle was reported, which include those by `like`.
fn no_cycles(
    errors: &mut Errors,
    params: &[RawParam],
    links: &[Link],
    form: &str,
    reported: &[usize],
) -> Vec<usize> {
    let mut known: Vec<usize> = reported.to_vec();
    for start in 0..links.len() {
        let mut cycle = vec![start];
        let closed = loop {
            match links[*cycle.last().expect("a cycle begins with its start")] {
                Link::To(next) if next == start => break true,
                Link::To(next) if !cycle.contains(&next) => cycle.push(next),
                _ => break false,
            }
        };
        if !closed || cycle.iter().any(|index| known.contains(index)) {
            continue;
        }
        let Some(raw) = params[start].dynamic() else { continue };
        let path: Vec<String> =
            cycle.iter().chain([&start]).map(|index| format!("`{}`", params[*index].name())).collect();
        let reference = match (&raw.options.like, &raw.options.dtype, &raw.options.shape) {
            (Given::Is(name), ..) => name,
            (_, Given::Is(RawDType::Same(name)), _) if form == "dtype" => name,
            (_, _, Given::Is(RawShape::Same(name))) => name,
            _ => continue,
        };
        errors.on(reference, messages::reference_cycle(form, path.join(" -> ")));
        known.extend(cycle);
    }
    known
}
