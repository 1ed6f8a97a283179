//! The arguments of a function: the compile context, then dynamic and static ones.

use proc_macro2::Ident;
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{Attribute, FnArg, Pat, PatType, Signature, Type};

use super::docs::docs;
use super::dynamic;
use super::errors::Errors;
use super::kind::{self, Kind};
use super::messages::{self, Message};
use super::raw::{Given, RawDynamic, RawParam, RawStatic};
use super::statics;
use super::text::text;
use super::types;
use super::words;

/// The arguments as written.
pub(crate) struct RawParams {
    pub(crate) cx: Option<Ident>,
    pub(crate) params: Vec<RawParam>,
}

/// Reads the arguments of a function, each with its attribute.
pub(crate) fn read(errors: &mut Errors, signature: &Signature) -> RawParams {
    let (mut cx, mut params, mut value) = (None, Vec::new(), None);
    for (index, input) in signature.inputs.iter().enumerate() {
        let FnArg::Typed(input) = input else { continue };
        let name = name(errors, &input.pat);
        if is_compile_cx(&input.ty) {
            compile_cx(errors, input, index, cx.is_some());
            cx = Some(name);
        } else {
            let param = param(errors, input, name);
            let dynamic = param.dynamic().is_some_and(|dynamic| dynamic.kind.as_ref().is_some());
            if dynamic && types::is_of_values(&input.ty) {
                value.get_or_insert((input, param.name().clone()));
            }
            params.push(param);
        }
    }
    if let (None, Some((input, name))) = (&cx, value) {
        // `f(#[dynamic(...)] x: Value)` is wrong: only the compile context makes a program of graph values.
        errors.on(&input.ty, messages::value_without_cx(name));
    }
    names_differ(errors, cx.iter().chain(params.iter().map(RawParam::name)));
    RawParams { cx, params }
}

/// An argument is a plain name: `(a, b): (Aval, Aval)`, `_: Aval` and `a @ _: Aval` are wrong.
pub(crate) fn name(errors: &mut Errors, pattern: &Pat) -> Ident {
    match pattern {
        Pat::Ident(name) if name.by_ref.is_none() && name.subpat.is_none() => {
            not_reserved(errors, &name.ident);
            name.ident.clone()
        }
        _ => {
            errors.on(pattern, messages::argument_pattern());
            Ident::new("_", pattern.span())
        }
    }
}

/// Names that begin with `__` are those of expansions: `f(__call: Aval)` and a field `__leaf: T` are wrong.
pub(crate) fn not_reserved(errors: &mut Errors, name: &Ident) {
    if name.to_string().starts_with("__") {
        errors.on(name, messages::reserved_name(name));
    }
}

/// Two arguments of one name: `f(a: Aval, a: Aval)` is wrong, and the compiler says so.
pub(crate) fn names_differ<'a>(errors: &mut Errors, names: impl Iterator<Item = &'a Ident>) {
    let mut seen: Vec<Ident> = Vec::new();
    for name in names.filter(|name| *name != "_").map(IdentExt::unraw) {
        if seen.contains(&name) {
            errors.leave_to_compiler();
        }
        seen.push(name);
    }
}

/// Whether a type is meant to be the compile context, by reference or not.
fn is_compile_cx(ty: &Type) -> bool {
    match types::unwrapped(ty) {
        Type::Reference(reference) => is_compile_cx(&reference.elem),
        Type::Path(path) => path.path.segments.last().is_some_and(|last| last.ident == "CompileCx"),
        _ => false,
    }
}

/// The compile context comes first, once, by shared reference and without attributes.
///
/// `f(a: Aval, cx: &CompileCx)`, `f(cx: CompileCx)` and `f(#[static_arg] cx: &CompileCx)` are wrong.
fn compile_cx(errors: &mut Errors, input: &PatType, index: usize, seen: bool) {
    if seen {
        errors.on(&input.pat, messages::one_cx());
        return;
    }
    if index > 0 {
        errors.on(&input.pat, messages::cx_not_first());
    }
    let shared = match types::unwrapped(&input.ty) {
        Type::Reference(reference) => {
            reference.mutability.is_none() && !matches!(*reference.elem, Type::Reference(_))
        }
        _ => false,
    };
    if !shared {
        errors.on(&input.ty, messages::cx_form(text(&input.ty)));
    }
    if let Some(attribute) = input.attrs.iter().find(|attribute| is_ours(attribute)) {
        errors.on(attribute, messages::cx_attribute());
    }
}

fn is_ours(attribute: &Attribute) -> bool {
    words::ARGUMENT_ATTRIBUTES.iter().any(|name| attribute.path().is_ident(name))
}

fn param(errors: &mut Errors, input: &PatType, name: Ident) -> RawParam {
    let both = || messages::both_attributes(&name);
    match marker(errors, &input.attrs, &kind::FAMILY, both) {
        Given::Is(attribute) if attribute.path().is_ident("dynamic") => {
            // The type of a pattern says nothing more than that it is one.
            let kind = match types::dynamic(&input.ty) {
                Err(_) if name == "_" => Given::Bad,
                kind => errors.keep(kind).map_or(Given::Bad, Given::Is),
            };
            RawParam::Dynamic(dynamic_param(errors, attribute, name, &input.attrs, &input.ty, kind))
        }
        Given::Is(attribute) => {
            let before = errors.count();
            statics::check(errors, &input.ty);
            let default = statics::read(errors, attribute);
            let (docs, ty, bad) = (docs(&input.attrs), (*input.ty).clone(), errors.count() > before);
            RawParam::Static(RawStatic { name, docs, ty, default, bad })
        }
        Given::Missing => {
            let help = attribute_for(&input.ty);
            errors.on(&input.pat, messages::no_attribute(&name, help));
            RawParam::Bad(name)
        }
        Given::Bad => RawParam::Bad(name),
    }
}

/// Reads `#[dynamic(...)]` of an argument or a field whose type is known.
pub(crate) fn dynamic_param(
    errors: &mut Errors,
    attribute: &Attribute,
    name: Ident,
    attributes: &[Attribute],
    ty: &Type,
    kind: Given<super::raw::RawKind>,
) -> RawDynamic {
    let options = dynamic::read(errors, attribute, &dynamic::DYNAMIC);
    let dynamic =
        RawDynamic { name, docs: docs(attributes), span: ty.span(), kind, options, optional: false };
    dynamic::check(errors, &dynamic, attribute);
    dynamic
}

/// An argument has exactly one of the toolkit's attributes, once, and nothing unknown.
///
/// `#[dynamic] #[static_arg] a: Aval`, `#[static_arg] #[static_arg] n: i64` and `#[dynamc] a: Aval` are wrong.
pub(crate) fn marker<'a>(
    errors: &mut Errors,
    attributes: &'a [Attribute],
    kind: &Kind,
    both: impl Fn() -> Message,
) -> Given<&'a Attribute> {
    let (mut found, mut bad): (Option<&Attribute>, bool) = (None, false);
    for attribute in attributes {
        let path = text(attribute.path());
        if kind.markers.iter().any(|name| attribute.path().is_ident(name)) {
            match found {
                None => found = Some(attribute),
                Some(first) if first.path() == attribute.path() => {
                    errors.on(attribute, messages::duplicate_attribute(path));
                }
                Some(_) => {
                    errors.on(attribute, both());
                    bad = true;
                }
            }
        } else if words::CFG_ATTRIBUTES.contains(&path.as_str()) {
            errors.on(attribute, messages::cfg_on_argument(path));
            bad = true;
        } else if path != "doc" && !words::LINT_ATTRIBUTES.contains(&path.as_str()) {
            let help = match words::nearest(&path, kind.markers.iter().copied()) {
                Some(nearest) => format!("did you mean `#[{nearest}]`?"),
                None => kind.markers_help.to_owned(),
            };
            errors.on(attribute, messages::unknown_attribute(path, help));
            bad = true;
        }
    }
    match (found, bad) {
        (_, true) => Given::Bad,
        (Some(attribute), false) => Given::Is(attribute),
        (None, false) => Given::Missing,
    }
}

/// The attribute that an argument of this type was probably meant to have.
fn attribute_for(ty: &Type) -> &'static str {
    match types::held_of(ty, &words::BODY_LEAVES) {
        Some(types::Held::Tree(_)) => "write `#[dynamic]` before it",
        Some(_) => "write `#[dynamic(dtype = f32, shape = [m])]` before it",
        None => "write `#[static_arg]` before it, or make it an `Aval` or a `Value` with `#[dynamic(...)]`",
    }
}
