//! The files of a crate and its tree of modules, as the compiler finds them.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use proc_macro2::{Ident, Span};
use quote::ToTokens;
use syn::ext::IdentExt;
use syn::{Attribute, Expr, ExprLit, Item, ItemMod, Lit, LitStr, Meta, Visibility};

use super::cfg::{self, Holds};
use super::messages;
use super::report::Mistakes;

/// The module that the generator writes.
const R_FAMILIES: &str = "r_families";

/// A file of the crate.
#[derive(Debug)]
pub(crate) struct Source {
    /// Relative to the package's folder.
    pub(crate) file: PathBuf,
    pub(crate) text: String,
}

/// A module, with its items except for modules.
#[derive(Debug)]
pub(crate) struct Module {
    /// Its names below the crate's root.
    pub(crate) path: Vec<String>,
    /// The index of the module around it.
    pub(crate) parent: Option<usize>,
    pub(crate) vis: Visibility,
    /// Its conditions and those of the modules around it.
    pub(crate) cfgs: Vec<Attribute>,
    /// The items that may be there, each with the index of its source.
    pub(crate) items: Vec<(usize, Item)>,
}

/// A crate that was read.
#[derive(Debug, Default)]
pub(crate) struct Crate {
    pub(crate) sources: Vec<Source>,
    /// The root first, each module before those in it.
    pub(crate) modules: Vec<Module>,
    /// The file of the module that the generator writes, if the root declares it.
    pub(crate) r_families: Option<PathBuf>,
}

/// Where the files of a module's modules are.
#[derive(Clone)]
struct Folders {
    /// Of `mod name;`
    modules: PathBuf,
    /// Of `#[path = "..."]`
    paths: PathBuf,
}

struct Reader<'a> {
    folder: &'a Path,
    features: &'a BTreeSet<String>,
    out: Crate,
    mistakes: &'a mut Mistakes,
    /// The files that are being read.
    open: Vec<PathBuf>,
}

/// Reads the crate with this root, relative to the package's folder.
///
/// Modules and items whose conditions cannot hold are left out, their files too.
///
/// # Errors
///
/// A file that cannot be read, other than one that is not there.
pub(crate) fn read(
    folder: &Path,
    root: &Path,
    features: &BTreeSet<String>,
    mistakes: &mut Mistakes,
) -> io::Result<Crate> {
    let mut reader = Reader { folder, features, out: Crate::default(), mistakes, open: Vec::new() };
    let module = Module {
        path: Vec::new(),
        parent: None,
        vis: Visibility::Inherited,
        cfgs: Vec::new(),
        items: Vec::new(),
    };
    reader.out.modules.push(module);
    let folder = root.parent().unwrap_or(Path::new("")).to_owned();
    reader.file(0, root, &Folders { modules: folder.clone(), paths: folder })?;
    Ok(reader.out)
}

impl Reader<'_> {
    /// Reads the items of a file into a module.
    fn file(&mut self, module: usize, file: &Path, folders: &Folders) -> io::Result<()> {
        let path = self.folder.join(file);
        let text = fs::read_to_string(&path)
            .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", file.display())))?;
        let parsed = syn::parse_file(&text);
        let source = self.out.sources.len();
        self.out.sources.push(Source { file: file.to_owned(), text });
        let parsed = match parsed {
            Ok(parsed) => parsed,
            Err(error) => {
                self.mistakes.all(&self.out.sources[source], &error, Span::call_site());
                return Ok(());
            }
        };
        // `#![cfg(...)]` at the top.
        if cfg::holds(&parsed.attrs, self.features) == Holds::No {
            return Ok(());
        }
        let conditions = parsed.attrs.iter().filter(|attribute| attribute.path().is_ident("cfg"));
        let conditions: Vec<Attribute> = conditions.cloned().map(as_outer).collect();
        self.out.modules[module].cfgs.extend(conditions);
        self.open.push(path);
        self.items(module, parsed.items, source, folders)?;
        self.open.pop();
        Ok(())
    }

    fn items(&mut self, module: usize, items: Vec<Item>, source: usize, folders: &Folders) -> io::Result<()> {
        for item in items {
            if cfg::holds(attributes(&item), self.features) == Holds::No {
                continue;
            }
            match item {
                Item::Mod(item) => self.module(module, item, source, folders)?,
                Item::Macro(item) if included(&item).is_some() => {
                    let literal = included(&item).expect("it was just there");
                    self.include(module, &literal, source)?;
                }
                item => self.out.modules[module].items.push((source, item)),
            }
        }
        Ok(())
    }

    fn module(&mut self, parent: usize, item: ItemMod, source: usize, folders: &Folders) -> io::Result<()> {
        let name = item.ident.unraw().to_string();
        if parent == 0 && name == R_FAMILIES {
            if item.content.is_some() {
                let source = &self.out.sources[source];
                self.mistakes.at(source, item.ident.span(), messages::r_families_inline());
            }
            let file = match self.path_attribute(&item.attrs) {
                Some(path) => folders.paths.join(path.value()),
                None => folders.modules.join(R_FAMILIES).with_extension("rs"),
            };
            self.out.r_families = Some(file);
            return Ok(());
        }
        let around = &self.out.modules[parent];
        let module = Module {
            path: around.path.iter().cloned().chain([name.clone()]).collect(),
            parent: Some(parent),
            vis: item.vis.clone(),
            cfgs: around.cfgs.iter().chain(cfgs(&item.attrs)).cloned().collect(),
            items: Vec::new(),
        };
        let index = self.out.modules.len();
        self.out.modules.push(module);
        let given = self.path_attribute(&item.attrs);
        if let Some((_, items)) = item.content {
            let inside = match given {
                Some(path) => folders.paths.join(path.value()),
                None => folders.modules.join(&name),
            };
            return self.items(index, items, source, &Folders { modules: inside.clone(), paths: inside });
        }
        let Some(file) = self.file_of(&item.ident, &name, given.as_ref(), source, folders) else {
            return Ok(());
        };
        if self.open.contains(&self.folder.join(&file)) {
            let error = messages::module_in_itself(&name, file.display());
            self.mistakes.at(&self.out.sources[source], item.ident.span(), error);
            return Ok(());
        }
        let beside = file.parent().unwrap_or(Path::new("")).to_owned();
        // `a.rs` has its modules in `a/`; `mod.rs`, and a file that is given by its path, beside it.
        let modules = if given.is_some() || file.ends_with("mod.rs") {
            beside.clone()
        } else {
            file.with_extension("")
        };
        self.file(index, &file, &Folders { modules, paths: beside })
    }

    /// The file of `mod name;`, or a mistake on the name.
    fn file_of(
        &mut self,
        ident: &Ident,
        name: &str,
        given: Option<&LitStr>,
        source: usize,
        folders: &Folders,
    ) -> Option<PathBuf> {
        let candidates = match given {
            Some(path) => vec![folders.paths.join(path.value())],
            None => {
                let plain = folders.modules.join(name);
                vec![plain.with_extension("rs"), plain.join("mod.rs")]
            }
        };
        let there: Vec<&PathBuf> =
            candidates.iter().filter(|file| self.folder.join(file).is_file()).collect();
        let source = &self.out.sources[source];
        match there[..] {
            [only] => return Some(only.clone()),
            [] => {
                let wanted: Vec<String> = candidates.iter().map(|file| file.display().to_string()).collect();
                self.mistakes.at(source, ident.span(), messages::no_module_file(name, wanted.join(" or ")));
            }
            _ => self.mistakes.at(
                source,
                ident.span(),
                messages::two_module_files(name, candidates[0].display(), candidates[1].display()),
            ),
        }
        None
    }

    /// `#[path = "..."]`, also under a condition that holds.
    fn path_attribute(&self, attributes: &[Attribute]) -> Option<LitStr> {
        let literal = |meta: &Meta| match meta {
            Meta::NameValue(pair) if pair.path.is_ident("path") => match &pair.value {
                Expr::Lit(ExprLit { lit: Lit::Str(path), .. }) => Some(path.clone()),
                _ => None,
            },
            _ => None,
        };
        attributes.iter().find_map(|attribute| {
            if !attribute.path().is_ident("cfg_attr") {
                return literal(&attribute.meta);
            }
            let (condition, metas) = conditional(attribute)?;
            let applies = cfg::tokens(condition, self.features) == Holds::Yes;
            applies.then(|| metas.iter().find_map(literal)).flatten()
        })
    }

    /// `include!("file.rs")` among the items: its items are the module's.
    fn include(&mut self, module: usize, path: &LitStr, source: usize) -> io::Result<()> {
        let beside = self.out.sources[source].file.parent().unwrap_or(Path::new("")).to_owned();
        let file = beside.join(path.value());
        let mistake = if !self.folder.join(&file).is_file() {
            messages::no_included_file(file.display())
        } else if self.open.contains(&self.folder.join(&file)) {
            messages::module_in_itself(path.value(), file.display())
        } else {
            let inside = file.parent().unwrap_or(Path::new("")).to_owned();
            return self.file(module, &file, &Folders { modules: inside.clone(), paths: inside });
        };
        self.mistakes.at(&self.out.sources[source], path.span(), mistake);
        Ok(())
    }
}

/// The conditions among some attributes.
pub(crate) fn cfgs(attributes: &[Attribute]) -> impl Iterator<Item = &Attribute> {
    attributes.iter().filter(|attribute| attribute.path().is_ident("cfg"))
}

/// The condition of a `cfg_attr`, and the attributes that it puts.
pub(crate) fn conditional(attribute: &Attribute) -> Option<(proc_macro2::TokenStream, Vec<Meta>)> {
    let Meta::List(list) = &attribute.meta else { return None };
    let read = |input: syn::parse::ParseStream<'_>| {
        let mut condition = proc_macro2::TokenStream::new();
        while !input.is_empty() && !input.peek(syn::Token![,]) {
            condition.extend([input.parse::<proc_macro2::TokenTree>()?]);
        }
        input.parse::<syn::Token![,]>()?;
        let metas = input.parse_terminated(<Meta as syn::parse::Parse>::parse, syn::Token![,])?;
        Ok((condition, metas.into_iter().collect()))
    };
    syn::parse::Parser::parse2(read, list.tokens.clone()).ok()
}

/// A condition of a file, to be written before an item.
fn as_outer(mut attribute: Attribute) -> Attribute {
    attribute.style = syn::AttrStyle::Outer;
    attribute
}

/// The file of `include!("file.rs")`; none of another macro, and of one whose file is known to the compiler alone.
fn included(item: &syn::ItemMacro) -> Option<LitStr> {
    let is_include = item.ident.is_none() && item.mac.path.segments.last()?.ident == "include";
    is_include.then(|| syn::parse2(item.mac.tokens.clone()).ok()).flatten()
}

/// The attributes of an item.
pub(crate) fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::ExternCrate(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::ForeignMod(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::TraitAlias(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Union(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

/// Where an item begins, with its attributes.
pub(crate) fn begin(item: &impl ToTokens) -> Span {
    item.to_token_stream().into_iter().next().map_or_else(Span::call_site, |token| token.span())
}
