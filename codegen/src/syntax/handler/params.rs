//! The arguments of a handler's function, each with its attribute.

use proc_macro2::Ident;
use syn::spanned::Spanned;
use syn::{Attribute, FnArg, Meta, PatType, Signature, Type};

use super::super::docs::docs;
use super::super::dynamic::{self, Describes};
use super::super::errors::Errors;
use super::super::kind::{self, Within};
use super::super::model::{Capture, Class, Count, DType, DTypes, Docs, Group};
use super::super::option_list::Owner;
use super::super::params::{marker, name, names_differ};
use super::super::raw::{
    DynamicOptions, Given, RawDType, RawDynamic, RawKind, RawLeading, RawParam, RawShape,
};
use super::super::resolve::{self, Scope};
use super::super::text::text;
use super::super::words;
use super::messages;
use super::model::{Attr, Ctx, HandlerKind, HandlerParam, Place, Sharing, Side, Stage};
use super::types::{self, PlaceKind, PlaceType};
use super::{attrs, order};

/// An argument as written.
struct Raw<'a> {
    input: &'a PatType,
    name: Ident,
    docs: Docs,
    kind: Kind,
}

enum Kind {
    Buffer(Side, RawDynamic, Option<DType>),
    /// An argument that a result takes over.
    Aliased(RawDynamic),
    Token(Side, bool),
    Remaining(Side),
    Attr(Attr),
    Attrs,
    Ctx(Ctx),
    /// One that has an error already.
    Bad,
}

/// A place of a call, for the rules of order.
pub(super) struct Order<'a> {
    pub(super) name: &'a Ident,
    pub(super) side: Side,
    pub(super) optional: bool,
    pub(super) remaining: bool,
}

/// Reads the arguments of a function. None if one of them has an error.
pub(super) fn read(
    errors: &mut Errors,
    signature: &Signature,
    stage: Stage,
) -> Option<(Vec<HandlerParam>, Vec<Group>, Vec<Capture>)> {
    let mut raws: Vec<Raw<'_>> = Vec::new();
    for input in &signature.inputs {
        let FnArg::Typed(input) = input else { continue };
        let name = name(errors, &input.pat);
        let kind = param(errors, input, &name);
        raws.push(Raw { input, docs: docs(&input.attrs), name, kind });
    }
    names_differ(errors, raws.iter().map(|raw| &raw.name));
    check_whole(errors, &raws, stage);
    let params: Vec<RawParam> = raws.iter().map(as_param).collect();
    let resolved = resolve::resolve(errors, &params, &Scope { cx: None, within: Within::Handler })?;
    types_agree(errors, &raws, &resolved);
    let names: Vec<Ident> = raws.iter().map(|raw| raw.name.clone()).collect();
    let params = raws.into_iter().zip(resolved.dynamics).map(|(raw, dynamic)| {
        let kind = match (raw.kind, dynamic) {
            (Kind::Buffer(side, raw, _), Some(buffer)) => {
                let sharing = sharing(&raw, &names);
                HandlerKind::Place(side, Place::Buffer(buffer, sharing))
            }
            (Kind::Aliased(_), Some(buffer)) => {
                HandlerKind::Place(Side::Arg, Place::Buffer(buffer, Sharing::Lent))
            }
            (Kind::Token(side, optional), _) => HandlerKind::Place(side, Place::Token { optional }),
            (Kind::Remaining(side), _) => HandlerKind::Place(side, Place::Remaining),
            (Kind::Attr(attr), _) => HandlerKind::Attr(attr),
            (Kind::Attrs, _) => HandlerKind::Attrs,
            (Kind::Ctx(ctx), _) => HandlerKind::Ctx(ctx),
            (Kind::Bad | Kind::Buffer(..) | Kind::Aliased(_), _) => return None,
        };
        Some(HandlerParam { name: raw.name, docs: raw.docs, ty: (*raw.input.ty).clone(), kind })
    });
    Some((params.collect::<Option<_>>()?, resolved.groups, resolved.captures))
}

/// The rules about all arguments together.
fn check_whole(errors: &mut Errors, raws: &[Raw<'_>], stage: Stage) {
    let places: Vec<Order<'_>> = raws.iter().filter_map(place_of).collect();
    order::check(errors, &places, Side::Arg);
    order::check(errors, &places, Side::Ret);
    aliases(errors, raws);
    attrs::names_differ(
        errors,
        raws.iter().filter_map(|raw| match &raw.kind {
            Kind::Attr(attr) => Some(attr),
            _ => None,
        }),
    );
    for second in raws.iter().filter(|raw| matches!(raw.kind, Kind::Attrs)).skip(1) {
        // `#[attrs] a: Dictionary, #[attrs] b: Dictionary` is wrong: there is one dictionary.
        errors.on(&second.name, messages::attrs_twice(&second.name));
    }
    if stage == Stage::Instantiate {
        attributes_only(errors, raws);
    }
}

/// Nothing runs yet when a call is instantiated: `stage = instantiate` and `#[arg] x: AnyBuffer` together are wrong.
fn attributes_only(errors: &mut Errors, raws: &[Raw<'_>]) {
    for raw in raws {
        let what = match &raw.kind {
            Kind::Buffer(Side::Arg, ..)
            | Kind::Aliased(_)
            | Kind::Token(Side::Arg, _)
            | Kind::Remaining(Side::Arg) => "argument",
            Kind::Buffer(Side::Ret, ..) | Kind::Token(Side::Ret, _) | Kind::Remaining(Side::Ret) => "result",
            Kind::Ctx(_) => "context",
            Kind::Attr(_) | Kind::Attrs | Kind::Bad => continue,
        };
        errors.on(&raw.name, messages::instantiate_takes(what, &raw.name));
    }
}

/// A result may take over an `Aliased` argument, and each of those is taken over by one result.
///
/// `#[arg] a: AnyBuffer, #[ret(alias = a)] y: AnyBufferMut` is wrong, and so is an `Aliased` that no result names.
fn aliases(errors: &mut Errors, raws: &[Raw<'_>]) {
    let mut taken: Vec<(&Ident, &Ident)> = Vec::new();
    for raw in raws {
        let Kind::Buffer(Side::Ret, buffer, _) = &raw.kind else { continue };
        let Given::Is(name) = &buffer.options.alias else { continue };
        if buffer.optional {
            errors.on(name, messages::alias_optional(&raw.name));
        }
        match raws.iter().find(|other| other.name == *name).map(|other| &other.kind) {
            Some(Kind::Aliased(_)) => match taken.iter().find(|(other, _)| *other == name) {
                Some((_, before)) => errors.on(name, messages::alias_twice(name, before)),
                None => taken.push((name, &raw.name)),
            },
            Some(Kind::Bad) => {}
            Some(Kind::Buffer(Side::Arg, ..)) => {
                let help = format!("write `{name}: ffi::Aliased`: its contents are read through the result");
                errors.on(name, messages::alias_of_other(name, help));
            }
            _ => errors.on(name, messages::alias_of_other(name, "name an argument of type `ffi::Aliased`")),
        }
    }
    for raw in raws {
        let Kind::Aliased(buffer) = &raw.kind else { continue };
        if buffer.optional {
            errors.on(&raw.input.ty, messages::alias_optional(&raw.name));
        }
        let is_bad = |other: &Raw<'_>| match &other.kind {
            Kind::Bad => true,
            Kind::Buffer(_, buffer, _) => matches!(buffer.options.alias, Given::Bad),
            _ => false,
        };
        if !taken.iter().any(|(name, _)| **name == raw.name) && !raws.iter().any(is_bad) {
            errors.on(&raw.name, messages::alias_of_none(&raw.name));
        }
    }
}

/// Whether a result takes over an argument, and which.
fn sharing(raw: &RawDynamic, names: &[Ident]) -> Sharing {
    let argument = raw.options.alias.as_ref().and_then(|alias| names.iter().position(|name| name == alias));
    argument.map_or(Sharing::None, Sharing::TakesOver)
}

fn place_of<'a>(raw: &'a Raw<'_>) -> Option<Order<'a>> {
    let name = &raw.name;
    let order = |side, optional, remaining| Some(Order { name, side, optional, remaining });
    match &raw.kind {
        Kind::Buffer(side, buffer, _) => order(*side, buffer.optional, false),
        Kind::Aliased(buffer) => order(Side::Arg, buffer.optional, false),
        Kind::Token(side, optional) => order(*side, *optional, false),
        Kind::Remaining(side) => order(*side, false, true),
        _ => None,
    }
}

/// The argument as the shared rules about names and references see it.
fn as_param(raw: &Raw<'_>) -> RawParam {
    let name = || raw.name.clone();
    match &raw.kind {
        Kind::Buffer(_, buffer, _) | Kind::Aliased(buffer) => RawParam::Dynamic(buffer.clone()),
        Kind::Token(..) => RawParam::Other(name(), "a token"),
        Kind::Remaining(_) => RawParam::Other(name(), "any number of buffers"),
        Kind::Attr(_) => RawParam::Other(name(), "an attribute"),
        Kind::Attrs => RawParam::Other(name(), "the dictionary of all attributes"),
        Kind::Ctx(_) => RawParam::Other(name(), "a value of the context"),
        Kind::Bad => RawParam::Bad(name()),
    }
}

fn param(errors: &mut Errors, input: &PatType, name: &Ident) -> Kind {
    let both = || messages::two_roles(name);
    let attribute = match marker(errors, &input.attrs, &kind::HANDLER, both) {
        Given::Is(attribute) => attribute,
        Given::Missing => {
            errors.on(&input.pat, messages::no_role(name, role_for(&input.ty)));
            return Kind::Bad;
        }
        Given::Bad => return Kind::Bad,
    };
    let ty = &*input.ty;
    let is = |word: &str| attribute.path().is_ident(word);
    if is("arg") || is("ret") {
        place(errors, attribute, input, name, if is("arg") { Side::Arg } else { Side::Ret })
    } else if is("attr") {
        attrs::read(errors, Some(attribute), name, ty).map_or(Kind::Bad, Kind::Attr)
    } else if is("attrs") {
        bare(errors, attribute);
        all_attributes(errors, ty)
    } else {
        bare(errors, attribute);
        match errors.keep(types::ctx(ty)) {
            Some(None) => {
                errors.leave_to_compiler();
                Kind::Bad
            }
            ctx => ctx.flatten().map_or(Kind::Bad, Kind::Ctx),
        }
    }
}

/// `#[ctx]` and `#[attrs]` have no options: `#[ctx(pool)]` is wrong.
fn bare(errors: &mut Errors, attribute: &Attribute) {
    if !matches!(attribute.meta, Meta::Path(_)) {
        errors.on(attribute, messages::bare_attribute(text(attribute.path())));
    }
}

/// All attributes are a dictionary: `#[attrs] a: i64` is wrong.
fn all_attributes(errors: &mut Errors, ty: &Type) -> Kind {
    if types::is_dictionary(ty) {
        return Kind::Attrs;
    }
    errors.on(ty, messages::attrs_type(text(ty)));
    Kind::Bad
}

/// The attribute that an argument of this type was probably meant to have.
fn role_for(ty: &Type) -> &'static str {
    match types::side_of(ty) {
        Some(Side::Arg) => "write `#[arg]` before it, with dtype and shape in parentheses if they are fixed",
        Some(Side::Ret) => "write `#[ret]` before it, with dtype and shape in parentheses if they are fixed",
        None if types::ctx(ty).is_ok() => "write `#[ctx]` before it",
        None if types::is_dictionary(ty) => {
            "write `#[attrs]` before it for all attributes, or `#[attr]` for one that is a dictionary"
        }
        None => "write `#[attr]` before it",
    }
}

const fn describes(
    attribute: &'static str,
    options: &'static [&'static str],
    example: &'static str,
) -> Describes<'static> {
    Describes { owner: Owner { attribute, options, aliases: &words::PLACE_ALIASES }, example }
}

const ARG: Describes<'static> = describes("#[arg(...)]", &words::ARG, "#[arg(dtype = f32, shape = [m])]");
const RET: Describes<'static> = describes("#[ret(...)]", &words::RET, "#[ret(dtype = f32, shape = [m])]");

fn place(errors: &mut Errors, attribute: &Attribute, input: &PatType, name: &Ident, side: Side) -> Kind {
    let options = dynamic::read(errors, attribute, if side == Side::Arg { &ARG } else { &RET });
    let Some(PlaceType { optional, kind }) = errors.keep(types::place(&input.ty, side)) else {
        return Kind::Bad;
    };
    match kind {
        PlaceKind::Buffer(_) | PlaceKind::Aliased => {
            let dtype = if let PlaceKind::Buffer(dtype) = kind { dtype } else { None };
            let options = described(errors, options, dtype, &input.ty);
            let buffer = RawDynamic {
                name: name.clone(),
                docs: docs(&input.attrs),
                span: input.ty.span(),
                kind: Given::Is(RawKind::Leaves(Count::One)),
                options,
                optional,
            };
            if let PlaceKind::Aliased = kind {
                Kind::Aliased(buffer)
            } else {
                Kind::Buffer(side, buffer, dtype)
            }
        }
        PlaceKind::Incomplete => {
            errors.leave_to_compiler();
            Kind::Bad
        }
        PlaceKind::Token => {
            undescribed(errors, &options, "token", name, side);
            Kind::Token(side, optional)
        }
        PlaceKind::Remaining => {
            let what = if side == Side::Arg { "remaining arguments" } else { "remaining results" };
            undescribed(errors, &options, what, name, side);
            Kind::Remaining(side)
        }
    }
}

/// What has no dtype and no shape cannot be said to have one: `#[arg(dtype = f32)] t: Token` is wrong.
fn undescribed(errors: &mut Errors, options: &DynamicOptions, what: &str, name: &Ident, side: Side) {
    let marker = types::marker(side);
    let help = match what {
        "token" => format!("write `#[{marker}]` alone: a token only orders calls"),
        _ => format!("write `#[{marker}]` alone, and check each with `ffi::check!` in the body"),
    };
    if let Some(word) = options.words.first() {
        errors.on(word, messages::constrained(word, what, name, help));
    }
}

/// What is not said of a buffer: the dtype is that of its type, or any, and so is the shape.
///
/// `#[arg(dtype = f64)] a: Buffer<f32>` and `#[arg(dtype = float)] a: Buffer<f32>` are wrong, at the dtype.
fn described(
    errors: &mut Errors,
    mut options: DynamicOptions,
    typed: Option<DType>,
    ty: &Type,
) -> DynamicOptions {
    dynamic::like_stands_alone(errors, &options);
    if !options.like.is_missing() {
        return options;
    }
    match (&options.dtype, typed) {
        (Given::Missing, typed) => {
            options.dtype = Given::Is(RawDType::Dtypes(typed.map_or(DTypes::Class(Class::Any), DTypes::One)));
        }
        (Given::Is(RawDType::Dtypes(said)), Some(dtype)) if said.fixed() != Some(dtype) => {
            let span = options.dtype_span.unwrap_or_else(|| ty.span());
            let help = match said.fixed() {
                Some(other) => {
                    format!("write `{}`, or `dtype = {}`", renamed(ty, other.name()), dtype.name())
                }
                None => format!("write `{}` to allow several, or leave the dtype out", any_buffer(ty)),
            };
            errors.at(span, messages::dtype_of_type(text(ty), dtype.name(), help));
            options.dtype = Given::Bad;
        }
        _ => {}
    }
    if options.shape.is_missing() {
        let leading = Some(RawLeading::Anonymous);
        options.shape = Given::Is(RawShape::Pattern { leading, dims: Vec::new() });
    }
    options
}

/// `Buffer<f32>` with another element, for a hint.
fn renamed(ty: &Type, element: &str) -> String {
    let written = text(ty);
    let element = match element {
        "c64" => "Complex<f32>",
        "c128" => "Complex<f64>",
        other => other,
    };
    let (open, close) = (written.find("Buffer"), written.find('>'));
    match (open.and_then(|at| written[at..].find('<').map(|open| at + open)), close) {
        (Some(open), Some(close)) if open < close => {
            format!("{}<{element}>{}", &written[..open], written[close..].trim_start_matches('>'))
        }
        _ => written,
    }
}

/// The type of any dtype in place of `Buffer<f32>`, for a hint.
fn any_buffer(ty: &Type) -> &'static str {
    match types::side_of(ty) {
        Some(Side::Ret) => "AnyBufferMut",
        _ => "AnyBuffer",
    }
}

/// A typed buffer refers only to a dtype that is its own: `#[arg(dtype = float)] a: AnyBuffer` and
/// `#[ret(like(a))] b: BufferMut<f32>` together are wrong, at the reference.
fn types_agree(errors: &mut Errors, raws: &[Raw<'_>], resolved: &resolve::Resolved) {
    for (index, raw) in raws.iter().enumerate() {
        let Kind::Buffer(_, buffer, Some(dtype)) = &raw.kind else { continue };
        let reference = match (&buffer.options.like, &buffer.options.dtype) {
            (Given::Is(name), _) | (_, Given::Is(RawDType::Same(name))) => name,
            _ => continue,
        };
        let Some(group) = resolved.groups.iter().find(|group| group.members.contains(&index)) else {
            continue;
        };
        if group.dtypes.fixed() == Some(*dtype) {
            continue;
        }
        let ty = &raw.input.ty;
        errors.on(reference, messages::reference_of_typed(reference, dtype.name(), text(ty), any_buffer(ty)));
    }
}
