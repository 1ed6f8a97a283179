//! The declarations in a crate: families, trees and static types, each read by the code that the macros read them by.

use std::collections::BTreeSet;

use proc_macro2::{Delimiter, Ident, Span, TokenStream, TokenTree};
use quote::ToTokens;
use syn::ext::IdentExt;
use syn::parse::{ParseStream, Parser};
use syn::punctuated::Punctuated;
use syn::{Attribute, DeriveInput, FnArg, Item, ItemFn, Meta, Pat, Path, Token};

use super::messages;
use super::model::{Declared, Place};
use super::names::Names;
use super::report::Mistakes;
use super::sources::{Crate, Module, Source, attributes, begin, cfgs, conditional};
use crate::syntax::{self, Family, Found, Handler, InputTree, OutputTree, StaticArg};

/// The name of the attribute.
const FAMILY: &str = "dispatch_family";

/// The name of the attribute of functions that compiled programs call.
const HANDLER: &str = "ffi_handler";

/// A handler, and where it stands; as [`FamilyAt`].
#[derive(Debug)]
pub(crate) struct HandlerAt {
    pub(crate) model: Handler,
    pub(crate) module: usize,
    pub(crate) source: usize,
    pub(crate) cfgs: Vec<Attribute>,
}

/// A family, and where it stands.
#[derive(Debug)]
pub(crate) struct FamilyAt {
    pub(crate) model: Family,
    /// The indices of its module and its source.
    pub(crate) module: usize,
    pub(crate) source: usize,
    /// Its conditions and those of the modules around it.
    pub(crate) cfgs: Vec<Attribute>,
}

/// All declarations of a crate without mistakes, in the order of the modules.
#[derive(Debug, Default)]
pub(crate) struct Declarations {
    pub(crate) families: Vec<FamilyAt>,
    /// Those that are called when a program runs.
    pub(crate) handlers: Vec<HandlerAt>,
    pub(crate) input_trees: Vec<Declared<InputTree>>,
    pub(crate) output_trees: Vec<Declared<OutputTree>>,
    pub(crate) static_types: Vec<Declared<StaticArg>>,
    /// The types whose derive has mistakes, by their paths.
    pub(crate) rejected: BTreeSet<Vec<String>>,
}

/// Reads all declarations, and collects the mistakes in each of them.
pub(crate) fn read(package: &Crate, names: &Names<'_>, mistakes: &mut Mistakes) -> Declarations {
    let mut out = Declarations::default();
    for (index, module) in package.modules.iter().enumerate() {
        for (source, item) in &module.items {
            let at = At { module, index, source: *source, file: &package.sources[*source], names };
            at.item(item, &mut out, mistakes);
        }
    }
    out
}

/// Where an item stands.
struct At<'a> {
    module: &'a Module,
    index: usize,
    source: usize,
    file: &'a Source,
    names: &'a Names<'a>,
}

impl At<'_> {
    fn item(&self, item: &Item, out: &mut Declarations, mistakes: &mut Mistakes) {
        for attribute in attributes(item).iter().filter(|attribute| attribute.path().is_ident("cfg_attr")) {
            let metas = conditional(attribute).map(|(_, metas)| metas).unwrap_or_default();
            if metas.iter().any(|meta| self.is_family(meta.path()) && may_export(meta.to_token_stream())) {
                mistakes.at(self.file, attribute_span(attribute), messages::family_by_condition());
            }
        }
        match item {
            Item::Fn(function) => {
                let (ours, others): (Vec<_>, Vec<_>) =
                    function.attrs.iter().cloned().partition(|attribute| self.is_family(attribute.path()));
                self.handler(function, out, mistakes);
                if ours.is_empty() {
                    self.no_family_inside(&function.block, "a function", mistakes);
                } else {
                    let plain = ItemFn { attrs: others, ..function.clone() };
                    self.no_family_inside(&plain.block, "a function", mistakes);
                    self.family(&ours, &plain.attrs, plain.to_token_stream(), out, mistakes);
                }
            }
            // A function without a body, for one.
            Item::Verbatim(tokens) => {
                let parts = |input: ParseStream<'_>| {
                    Ok((input.call(Attribute::parse_outer)?, input.parse::<TokenStream>()?))
                };
                let Ok((attributes, rest)) = parts.parse2(tokens.clone()) else { return };
                let (ours, others): (Vec<_>, Vec<_>) =
                    attributes.into_iter().partition(|attribute| self.is_family(attribute.path()));
                if !ours.is_empty() {
                    let tokens = others.iter().map(ToTokens::to_token_stream).chain([rest]).collect();
                    self.family(&ours, &others, tokens, out, mistakes);
                }
            }
            other if attributes(other).iter().any(|attribute| self.is_family(attribute.path())) => {
                let ours: Vec<Attribute> = attributes(other).to_vec();
                let ours: Vec<Attribute> =
                    ours.into_iter().filter(|attribute| self.is_family(attribute.path())).collect();
                self.family(&ours, &[], other.to_token_stream(), out, mistakes);
            }
            Item::Struct(item) => self.derives(item.clone().into(), out, mistakes),
            Item::Enum(item) => self.derives(item.clone().into(), out, mistakes),
            Item::Union(item) => self.derives(item.clone().into(), out, mistakes),
            Item::Macro(item) => {
                for span in self.exported_inside(item.mac.tokens.clone()) {
                    mistakes.at(self.file, span, messages::family_in_macro());
                }
            }
            Item::Impl(_) => self.no_family_inside(item, "an `impl` block", mistakes),
            Item::ForeignMod(_) => self.no_family_inside(item, "an `extern` block", mistakes),
            Item::Trait(_) => self.no_family_inside(item, "a trait", mistakes),
            Item::Const(_) | Item::Static(_) => self.no_family_inside(item, "an expression", mistakes),
            _ => {}
        }
    }

    fn is_family(&self, path: &Path) -> bool {
        self.names.is_ours(self.index, path, FAMILY)
    }

    /// A function with `#[ffi_handler]`, that the package registers when it is loaded.
    fn handler(&self, function: &ItemFn, out: &mut Declarations, mistakes: &mut Mistakes) {
        let is_ours = |attribute: &Attribute| self.names.is_ours(self.index, attribute.path(), HANDLER);
        let (ours, others): (Vec<_>, Vec<_>) = function.attrs.iter().cloned().partition(is_ours);
        // What else is wrong with the attribute itself the compiler says as well.
        let [attribute] = ours.as_slice() else { return };
        let arguments = match &attribute.meta {
            Meta::Path(_) => TokenStream::new(),
            Meta::List(list) => list.tokens.clone(),
            Meta::NameValue(_) => return,
        };
        let plain = ItemFn { attrs: others, ..function.clone() };
        match syntax::handler(arguments, plain.to_token_stream()) {
            Ok(model) if model.options.stage == syntax::Stage::Execute => {
                let cfgs = self.module.cfgs.iter().chain(cfgs(&plain.attrs)).cloned().collect();
                out.handlers.push(HandlerAt { model, module: self.index, source: self.source, cfgs });
            }
            Ok(_) => {}
            Err(rejected) => {
                let otherwise = attribute_span(attribute);
                rejected.errors.iter().for_each(|error| mistakes.all(self.file, error, otherwise));
            }
        }
    }

    fn family(
        &self,
        attributes: &[Attribute],
        others: &[Attribute],
        item: TokenStream,
        out: &mut Declarations,
        mistakes: &mut Mistakes,
    ) {
        if let [_, second, ..] = attributes {
            mistakes.at(self.file, attribute_span(second), messages::family_twice());
        }
        let attribute = &attributes[0];
        let arguments = match &attribute.meta {
            Meta::Path(_) => TokenStream::new(),
            Meta::List(list) => list.tokens.clone(),
            Meta::NameValue(pair) => {
                mistakes.at(self.file, attribute_span(pair), messages::attribute_with_value());
                return;
            }
        };
        match syntax::family(arguments, item) {
            Ok(model) => {
                let cfgs = self.module.cfgs.iter().chain(cfgs(others)).cloned().collect();
                out.families.push(FamilyAt { model, module: self.index, source: self.source, cfgs });
            }
            Err(rejected) => {
                let otherwise = attribute_span(attribute);
                rejected.errors.iter().for_each(|error| mistakes.all(self.file, error, otherwise));
                if let (None, Some(function)) = (rejected.errors.iter().next(), &rejected.function) {
                    self.left_to_compiler(function, mistakes);
                }
            }
        }
    }

    /// What the attribute leaves to the compiler: two arguments of one name.
    fn left_to_compiler(&self, function: &ItemFn, mistakes: &mut Mistakes) {
        let mut seen: Vec<Ident> = Vec::new();
        for input in &function.sig.inputs {
            let FnArg::Typed(input) = input else { continue };
            let Pat::Ident(pattern) = &*input.pat else { continue };
            let name = pattern.ident.unraw();
            if seen.contains(&name) {
                mistakes.at(self.file, pattern.ident.span(), messages::argument_twice(&name));
            }
            seen.push(name);
        }
    }

    fn derives(&self, input: DeriveInput, out: &mut Declarations, mistakes: &mut Mistakes) {
        for attribute in input.attrs.iter().filter(|attribute| attribute.path().is_ident("derive")) {
            let Meta::List(list) = &attribute.meta else { continue };
            let derives = Punctuated::<Path, Token![,]>::parse_terminated.parse2(list.tokens.clone());
            for derive in derives.unwrap_or_default() {
                let is = |name| self.names.is_ours(self.index, &derive, name);
                if is("InputTree") {
                    let tree = self.declared(&input.ident, syntax::input_tree(&input), out, mistakes);
                    out.input_trees.extend(tree);
                } else if is("OutputTree") {
                    let tree = self.declared(&input.ident, syntax::output_tree(&input), out, mistakes);
                    out.output_trees.extend(tree);
                } else if is("StaticArg") {
                    let ty = self.declared(&input.ident, syntax::static_arg(&input), out, mistakes);
                    out.static_types.extend(ty);
                }
            }
        }
    }

    fn declared<M>(
        &self,
        ident: &Ident,
        read: Result<M, Found>,
        out: &mut Declarations,
        mistakes: &mut Mistakes,
    ) -> Option<Declared<M>> {
        let path = self.module.path.iter().cloned().chain([ident.unraw().to_string()]).collect();
        match read {
            Ok(model) => Some(Declared { model, path, place: place(self.file, ident.span()) }),
            Err(errors) => {
                errors.iter().for_each(|error| mistakes.all(self.file, error, ident.span()));
                out.rejected.insert(path);
                None
            }
        }
    }

    /// Nothing outside can name a family in a function's body, and one in an `impl` block is a method.
    fn no_family_inside(&self, item: &impl ToTokens, what: &str, mistakes: &mut Mistakes) {
        if self.file.text.contains(FAMILY) {
            for span in self.exported_inside(item.to_token_stream()) {
                mistakes.at(self.file, span, messages::family_in_item(what));
            }
        }
    }

    /// Where `#[dispatch_family(...)]` stands somewhere in these tokens, unless it plainly exports nothing.
    fn exported_inside(&self, tokens: TokenStream) -> Vec<Span> {
        let (mut found, mut after_hash) = (Vec::new(), false);
        for token in tokens {
            if let TokenTree::Group(group) = &token {
                if after_hash && group.delimiter() == Delimiter::Bracket {
                    found.extend(self.family_in_attribute(group.stream()));
                } else {
                    found.extend(self.exported_inside(group.stream()));
                }
            }
            after_hash = matches!(&token, TokenTree::Punct(punct) if punct.as_char() == '#');
        }
        found
    }

    fn family_in_attribute(&self, attribute: TokenStream) -> Option<Span> {
        let mut name: Option<Ident> = None;
        for token in attribute {
            match (token, &name) {
                (TokenTree::Ident(word), _) => name = Some(word),
                (TokenTree::Group(group), Some(name)) => {
                    if name == "cfg_attr" {
                        let inside = group.stream().into_iter().skip_while(
                            |token| !matches!(token, TokenTree::Punct(punct) if punct.as_char() == ','),
                        );
                        return self.family_in_attribute(inside.skip(1).collect());
                    }
                    let ours = name == FAMILY || self.is_family(&name.clone().into());
                    return (ours && may_export(group.stream())).then(|| name.span());
                }
                _ => {}
            }
        }
        None
    }
}

/// Whether the options of a family have `r_export`, or something that a macro puts in.
fn may_export(options: TokenStream) -> bool {
    options.into_iter().any(|token| match token {
        TokenTree::Ident(word) => word == "r_export",
        TokenTree::Punct(punct) => punct.as_char() == '$',
        TokenTree::Group(group) => may_export(group.stream()),
        TokenTree::Literal(_) => false,
    })
}

/// An attribute from its first to its last token.
fn attribute_span(attribute: &impl ToTokens) -> Span {
    syn::Error::new_spanned(attribute, "").span()
}

/// Where a token stands.
pub(crate) fn place(file: &Source, span: Span) -> Place {
    let start = span.start();
    Place { file: file.file.clone(), line: start.line, column: start.column + 1 }
}

/// Where the items of a file begin.
pub(crate) fn first_item(module: &Module) -> Option<(usize, Span)> {
    module.items.first().map(|(source, item)| (*source, begin(item)))
}
