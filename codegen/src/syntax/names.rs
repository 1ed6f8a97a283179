//! Captured names: what they must not clash with, and where each is bound.

use proc_macro2::Ident;

use super::errors::Errors;
use super::kind::Within;
use super::messages;
use super::model::{Capture, CaptureKind, Count, Occurrence, Position};
use super::raw::{Given, RawDim, RawDynamic, RawKind, RawLeading, RawParam, RawShape};
use super::resolve::Scope;

/// The captured names of a declaration.
pub(crate) struct Names {
    pub(crate) captures: Vec<Capture>,
}

impl Names {
    /// The index of a name's capture.
    pub(crate) fn index(&self, name: &Ident) -> Option<usize> {
        self.captures.iter().position(|capture| capture.ident == *name)
    }
}

/// Collects the captured names of all shapes, and checks each name once.
pub(crate) fn read(errors: &mut Errors, params: &[RawParam], scope: &Scope<'_>) -> Names {
    let mut names = Names { captures: Vec::new() };
    for (param, raw) in params.iter().enumerate().filter_map(|(i, param)| Some((i, param.dynamic()?))) {
        let Given::Is(RawShape::Pattern { leading, dims }) = &raw.options.shape else { continue };
        if let Some(RawLeading::Named(name)) = leading {
            let at = Occurrence { param, at: Position::Leading };
            occurs(errors, &mut names, name, CaptureKind::Leading, at);
        }
        for (index, dim) in dims.iter().enumerate() {
            let RawDim::Named(name) = dim else { continue };
            let at = match leading {
                None => Position::Front(index),
                Some(_) => Position::Back(dims.len() - 1 - index),
            };
            occurs(errors, &mut names, name, CaptureKind::Dim, Occurrence { param, at });
        }
    }
    for capture in &mut names.captures {
        no_clash(errors, params, scope, &capture.ident);
        capture.source = source(params, &capture.occurrences);
        bound(errors, params, capture);
    }
    names
}

/// A name is one size or leading sizes, everywhere: `[b.., m]` and `[b]` together are wrong, at the second.
fn occurs(errors: &mut Errors, names: &mut Names, name: &Ident, kind: CaptureKind, at: Occurrence) {
    let Some(index) = names.index(name) else {
        names.captures.push(Capture { ident: name.clone(), kind, occurrences: vec![at], source: 0 });
        return;
    };
    let capture = &mut names.captures[index];
    if capture.kind != kind {
        errors.on(name, messages::name_of_two_kinds(name, capture.kind.described(), kind.described()));
    }
    capture.occurrences.push(at);
}

impl CaptureKind {
    /// What a name of this kind stands for, in words.
    pub(crate) fn described(self) -> &'static str {
        match self {
            CaptureKind::Dim => "one size",
            CaptureKind::Leading => "leading sizes",
        }
    }
}

/// Captured names and arguments are variables of one body: `f(#[dynamic(shape = [a])] a: Aval)` is wrong.
fn no_clash(errors: &mut Errors, params: &[RawParam], scope: &Scope<'_>, name: &Ident) {
    let mut taken = scope.cx.into_iter().chain(params.iter().map(RawParam::name));
    if !taken.any(|other| other == name) {
        return;
    }
    match scope.within {
        Within::Fields => errors.on(name, messages::name_is_field(name)),
        Within::Family | Within::Handler => errors.on(name, messages::name_is_argument(name)),
    }
}

/// A name has a size in every call: one that stands only in optional buffers is wrong, at its first occurrence.
fn bound(errors: &mut Errors, params: &[RawParam], capture: &Capture) {
    if params[capture.binding().param].dynamic().is_some_and(|raw| raw.optional) {
        errors.on(&capture.ident, messages::name_unbound(&capture.ident));
    }
}

/// The occurrence that binds a name: one that is always there before one that may be missing.
fn source(params: &[RawParam], occurrences: &[Occurrence]) -> usize {
    let optional = |at: &Occurrence| params[at.param].dynamic().is_some_and(|raw| raw.optional);
    let rank = |occurrence: &Occurrence| match params[occurrence.param].dynamic().map(count) {
        _ if optional(occurrence) => 3,
        Some(Some(Count::One)) => 0,
        Some(Some(Count::Exactly(_))) => 1,
        _ => 2,
    };
    let best = occurrences.iter().enumerate().min_by_key(|(_, occurrence)| rank(occurrence));
    best.map_or(0, |(index, _)| index)
}

fn count(raw: &RawDynamic) -> Option<&Count> {
    match &raw.kind {
        Given::Is(RawKind::Leaves(count)) => Some(count),
        _ => None,
    }
}
