//! The rules that only the whole package can break.

use std::collections::BTreeSet;

use proc_macro2::{Ident, Span};
use syn::ext::IdentExt;
use syn::{Path, Type, Visibility};

use super::cfg::{self, Holds};
use super::declare::{Declarations, FamilyAt, HandlerAt, first_item, place};
use super::messages;
use super::model::{DeclaredFamily, DeclaredHandler, PackageModel, TypeNames};
use super::names::{Entity, Names, scope};
use super::r_files::Definition;
use super::report::Mistakes;
use super::sources::Crate;
use super::statics;
use crate::syntax::{self, DynamicKind, OutputKind, Param};

/// Functions that the generated module has besides those of the families.
const OWN_SYMBOLS: [&str; 3] = ["rs_attach_families", "rs_detach_families", "rs_family"];

/// A package whose declarations are read one by one.
pub(crate) struct Package<'a> {
    pub(crate) name: &'a str,
    pub(crate) sources: &'a Crate,
    pub(crate) features: &'a BTreeSet<String>,
    pub(crate) r_code: &'a [Definition],
}

/// Checks the declarations against each other, and makes the model of the package.
pub(crate) fn check(
    package: &Package<'_>,
    names: &Names<'_>,
    declarations: Declarations,
    mistakes: &mut Mistakes,
) -> PackageModel {
    let exported: Vec<&FamilyAt> =
        declarations.families.iter().filter(|family| family.model.options.r_export).collect();
    has_module(package, &exported, mistakes);
    r_names(package, &exported, mistakes);
    type_names_of_families(package, &exported, mistakes);
    let mut families = Vec::new();
    let mut symbols = taken_symbols(package.sources);
    let mut enums = BTreeSet::new();
    for family in exported {
        statics::check(package, names, &declarations, family, &mut enums, mistakes);
        let item = Item {
            what: "family",
            name: family.model.type_name.to_string(),
            function: &family.model.fn_name,
            vis: &family.model.vis,
            module: family.module,
            source: family.source,
        };
        let Some(path) = reachable(package, names, &item, mistakes) else { continue };
        let source = &package.sources.sources[family.source];
        let r_name = r_name(family);
        families.push(DeclaredFamily {
            model: family.model.clone(),
            path: path.into_iter().map(raw).collect(),
            module: package.sources.modules[family.module].path.clone(),
            cfgs: family.cfgs.clone(),
            place: place(source, family.model.fn_name.span()),
            symbol: symbol(&r_name, &mut symbols),
            r_name,
        });
    }
    qualify(package, &mut families);
    let handlers = handlers(package, names, &declarations.handlers, mistakes);
    let names = type_names(package, names, &declarations);
    let Declarations { input_trees, output_trees, static_types, .. } = declarations;
    let name = package.name.to_owned();
    PackageModel { name, families, handlers, input_trees, output_trees, static_types, names }
}

/// Families need the generated module: a root without `mod r_families;` is wrong.
fn has_module(package: &Package<'_>, exported: &[&FamilyAt], mistakes: &mut Mistakes) {
    if !exported.is_empty() && package.sources.r_families.is_none() {
        let (source, span) = first_item(&package.sources.modules[0]).unwrap_or((0, Span::call_site()));
        mistakes.at(&package.sources.sources[source], span, messages::no_r_families());
    }
}

/// The name of a family's function in R.
fn r_name(family: &FamilyAt) -> String {
    match &family.model.options.r_name {
        Some(name) => name.value(),
        None => family.model.fn_name.unraw().to_string(),
    }
}

/// The token that says a family's name in R.
fn r_name_span(family: &FamilyAt) -> Span {
    family.model.options.r_name.as_ref().map_or(family.model.fn_name.span(), |name| name.span())
}

/// One name of R is one function: that of another family or of the package's own R code is wrong, and one that differs
/// from another in case only.
fn r_names(package: &Package<'_>, exported: &[&FamilyAt], mistakes: &mut Mistakes) {
    let wrappers = taken_symbols(package.sources);
    for (index, family) in exported.iter().enumerate() {
        let (name, source) = (r_name(family), &package.sources.sources[family.source]);
        let mut wrong = |message| mistakes.at(source, r_name_span(family), message);
        let shown = |other: &FamilyAt| {
            let at = place(&package.sources.sources[other.source], r_name_span(other));
            format!("{}:{}", at.file.display(), at.line)
        };
        let mut before = exported[..index].iter();
        if let Some(other) = before.clone().find(|other| r_name(other) == name) {
            let open = |family: &FamilyAt| cfg::holds(&family.cfgs, package.features) == Holds::Open;
            if open(family) && open(other) {
                wrong(messages::two_under_conditions(&name, shown(other)));
            } else {
                wrong(messages::two_of_one_r_name(&name, shown(other)));
            }
        } else if let Some(other) = before.find(|other| r_name(other).eq_ignore_ascii_case(&name)) {
            wrong(messages::r_names_by_case(&name, r_name(other), shown(other)));
        }
        if let Some(definition) = package.r_code.iter().find(|definition| definition.name == name) {
            let at = format!("{}:{}", definition.file.display(), definition.line);
            wrong(messages::r_name_taken(&name, at));
        } else if wrappers.contains(&name) {
            wrong(messages::r_name_of_wrapper(&name));
        }
    }
}

/// The type of a family has a name of its own in its module: that of a struct, an enum or another family is wrong.
fn type_names_of_families(package: &Package<'_>, exported: &[&FamilyAt], mistakes: &mut Mistakes) {
    for (index, family) in exported.iter().enumerate() {
        let name = family.model.type_name.to_string();
        let items = package.sources.modules[family.module].items.iter();
        let types = items.filter_map(|(source, item)| match item {
            syn::Item::Struct(item) => Some((*source, &item.ident, &item.attrs)),
            syn::Item::Enum(item) => Some((*source, &item.ident, &item.attrs)),
            syn::Item::Union(item) => Some((*source, &item.ident, &item.attrs)),
            syn::Item::Type(item) => Some((*source, &item.ident, &item.attrs)),
            syn::Item::Trait(item) => Some((*source, &item.ident, &item.attrs)),
            _ => None,
        });
        // What is there under conditions only may be the other way round.
        let types =
            types.filter(|(_, _, attributes)| cfg::holds(attributes, package.features) != Holds::Open);
        let families = exported[..index].iter().filter(|other| other.module == family.module);
        // Two of one function's name are told of by their names in R.
        let families = families.filter(|other| other.model.fn_name != family.model.fn_name);
        let families =
            families.map(|other| (other.source, &other.model.fn_name, other.model.type_name.to_string()));
        let taken = types
            .map(|(source, ident, _)| (source, ident, ident.unraw().to_string()))
            .chain(families)
            .find(|(_, _, other)| *other == name);
        if let Some((source, ident, _)) = taken {
            let at = place(&package.sources.sources[source], ident.span());
            let at = format!("{}:{}", at.file.display(), at.line);
            let function = family.model.fn_name.unraw();
            let message = messages::family_type_taken(function, name, at);
            mistakes.at(&package.sources.sources[family.source], family.model.fn_name.span(), message);
        }
    }
}

/// The handlers that the generated module registers. A target has one handler: a second one of its name is wrong, and so is
/// one that the generated module cannot name. A package without that module registers its handlers itself.
fn handlers(
    package: &Package<'_>,
    names: &Names<'_>,
    handlers: &[HandlerAt],
    mistakes: &mut Mistakes,
) -> Vec<DeclaredHandler> {
    if package.sources.r_families.is_none() {
        return Vec::new();
    }
    let target = |handler: &HandlerAt| match &handler.model.options.target {
        Some(name) => name.value(),
        None => handler.model.fn_name.unraw().to_string(),
    };
    let mut out = Vec::new();
    for (index, handler) in handlers.iter().enumerate() {
        let source = &package.sources.sources[handler.source];
        let (model, target_name) = (&handler.model, target(handler));
        let open = |handler: &HandlerAt| cfg::holds(&handler.cfgs, package.features) == Holds::Open;
        let before = handlers[..index].iter().find(|other| target(other) == target_name);
        // Of two under conditions of the machine one may be there at a time.
        if let Some(other) = before.filter(|other| !(open(other) && open(handler))) {
            let at = place(&package.sources.sources[other.source], other.model.fn_name.span());
            let at = format!("{}:{}", at.file.display(), at.line);
            let span = model.options.target.as_ref().map_or(model.fn_name.span(), |name| name.span());
            mistakes.at(source, span, messages::two_of_one_target(&target_name, at));
        }
        let item = Item {
            what: "handler",
            name: model.static_name.to_string(),
            function: &model.fn_name,
            vis: &model.vis,
            module: handler.module,
            source: handler.source,
        };
        if let Some(path) = reachable(package, names, &item, mistakes) {
            let path = path.into_iter().map(raw).collect();
            out.push(DeclaredHandler { path, cfgs: handler.cfgs.clone(), target: target_name });
        }
    }
    out
}

/// What the generated module has to name, and where it is declared.
struct Item<'a> {
    /// What it is in messages: `family`, `handler`.
    what: &'static str,
    /// The name of the type or static.
    name: String,
    function: &'a Ident,
    vis: &'a Visibility,
    module: usize,
    source: usize,
}

/// The path by which the generated module names a family's type or a handler's static. A private function and one in a
/// private module are wrong, unless what is named is re-exported.
fn reachable(
    package: &Package<'_>,
    names: &Names<'_>,
    item: &Item<'_>,
    mistakes: &mut Mistakes,
) -> Option<Vec<String>> {
    let modules = &package.sources.modules;
    if let Some(path) = names.path_for_all(item.module, &item.name) {
        return Some(path);
    }
    let own = &modules[item.module].path;
    let message = if scope(item.vis, own).is_empty() {
        let mut at = Some(item.module);
        let mut private = own.last().cloned().unwrap_or_default();
        // The outermost private one, for the others are of no use before.
        while let Some((module, parent)) = at.and_then(|at| Some((&modules[at], modules[at].parent?))) {
            if !scope(&module.vis, &modules[parent].path).is_empty() {
                private = module.path.last().cloned().unwrap_or_default();
            }
            at = Some(parent);
        }
        messages::private_module(item.what, &item.name, private)
    } else {
        messages::private_function(item.function, "pub(crate)")
    };
    mistakes.at(&package.sources.sources[item.source], item.function.span(), message);
    None
}

/// A default that calls a function of R's, as `c(1, 2)` does, calls it in spite of what has its name: an argument of the
/// family, another family, or a function of the package.
fn qualify(package: &Package<'_>, families: &mut [DeclaredFamily]) {
    let own = package.r_code.iter().map(|definition| definition.name.clone());
    let own: BTreeSet<String> = own.chain(families.iter().map(|family| family.r_name.clone())).collect();
    for family in families {
        let arguments = family.model.params.iter().map(|param| param.name().unraw().to_string());
        let arguments: Vec<String> = arguments.collect();
        for param in &mut family.model.params {
            let Param::Static(fixed) = param else { continue };
            let Some(default) = fixed.r.as_mut().and_then(|r| r.default.as_mut()) else { continue };
            let is_hidden =
                |name: &str| own.contains(name) || arguments.iter().any(|argument| argument == name);
            if default.function().is_some_and(is_hidden) {
                default.qualify();
            }
        }
    }
}

/// A name as it is written in a path.
fn raw(name: String) -> String {
    if syntax::RUST_KEYWORDS.contains(&name.as_str()) { format!("r#{name}") } else { name }
}

/// The names of the package's own savvy functions, and of those that the generated module always has.
fn taken_symbols(sources: &Crate) -> BTreeSet<String> {
    let items = sources.modules.iter().flat_map(|module| &module.items);
    let own = items.filter_map(|(_, item)| match item {
        syn::Item::Fn(function)
            if function.attrs.iter().any(|attribute| attribute.path().is_ident("savvy")) =>
        {
            Some(function.sig.ident.unraw().to_string())
        }
        _ => None,
    });
    own.chain(OWN_SYMBOLS.map(str::to_owned)).collect()
}

/// A name for the savvy function of a family, which no other has.
fn symbol(r_name: &str, taken: &mut BTreeSet<String>) -> String {
    let plain = format!("rs_{}", r_name.replace('.', "_"));
    let numbered = (2..).map(|number| format!("{plain}_{number}"));
    let name = [plain.clone()].into_iter().chain(numbered).find(|name| !taken.contains(name));
    let name = name.expect("numbers do not end");
    taken.insert(name.clone());
    name
}

/// The declarations behind all types that signatures and trees name.
fn type_names(package: &Package<'_>, names: &Names<'_>, declarations: &Declarations) -> TypeNames {
    let mut out = TypeNames::default();
    let modules = &package.sources.modules;
    let mut note = |module: usize, path: &Path| {
        if let Some(Entity::Type(declared_in, name)) = names.resolve(module, path) {
            let whole = modules[declared_in].path.iter().cloned().chain([name]).collect();
            out.insert(&modules[module].path, path, whole);
        }
    };
    for family in &declarations.families {
        for param in &family.model.params {
            match param {
                Param::Dynamic(dynamic) => {
                    if let DynamicKind::Tree(path) = &dynamic.kind {
                        note(family.module, path);
                    }
                }
                Param::Static(fixed) => {
                    if let Some(path) = fixed.r.as_ref().and_then(|r| r.ty.named()) {
                        note(family.module, path);
                    }
                }
            }
        }
        if let Some(ty) = &family.model.output.ty {
            paths_in(ty, &mut |path| note(family.module, path));
        }
    }
    let index = |path: &[String]| modules.iter().position(|module| module.path == path);
    for tree in &declarations.input_trees {
        for field in &tree.model.fields {
            if let (DynamicKind::Tree(path), Some(module)) = (&field.kind, index(tree.module())) {
                note(module, path);
            }
        }
    }
    for tree in &declarations.output_trees {
        for field in &tree.model.fields {
            if let (OutputKind::Tree(path), Some(module)) = (&field.kind, index(tree.module())) {
                note(module, path);
            }
        }
    }
    out
}

/// Each path in the type of a result.
fn paths_in(ty: &Type, note: &mut impl FnMut(&Path)) {
    match ty {
        Type::Path(path) if path.qself.is_none() => note(&path.path),
        Type::Tuple(tuple) => tuple.elems.iter().for_each(|ty| paths_in(ty, note)),
        Type::Array(array) => paths_in(&array.elem, note),
        Type::Group(group) => paths_in(&group.elem, note),
        Type::Paren(paren) => paths_in(&paren.elem, note),
        _ => {}
    }
}
