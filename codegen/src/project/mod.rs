//! A package read as a whole: its module tree, the declarations in it, and what is wrong with them together.
//!
//! | file | has |
//! |---|---|
//! | `manifest`, `cfg` | the crate's root and features, and which conditions hold for R |
//! | `sources` | the files and the module tree |
//! | `names` | what names stand for: imports, re-exports, other names of the attribute |
//! | `declare` | each declaration by itself, by `syntax` |
//! | `r_files`, `description`, `check`, `statics` | the author's R code, and the rules of the whole |
//! | `messages`, `report` | the table of messages, and how mistakes are shown |
//! | `model` | what comes out |

mod cfg;
mod check;
mod declare;
mod description;
mod manifest;
mod messages;
mod model;
mod names;
mod r_files;
mod report;
mod sources;
mod statics;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use proc_macro2::TokenStream;
use syn::Visibility;
use syn::ext::IdentExt;

use crate::emit::RPackage;
use crate::syntax::Family;
use sources::Crate;

pub use model::{Declared, DeclaredFamily, DeclaredHandler, PackageModel, Place, TypeNames};
pub use r_files::{Definition, definitions};
pub use report::{Mistake, Report};

pub(crate) use manifest::MANIFEST;
pub(crate) use messages::savvy_twice;
pub(crate) use r_files::files as r_files;
pub(crate) use report::Mistakes;
pub(crate) use sources::Source;

/// A package that was read, without a mistake.
#[derive(Debug)]
pub struct Project {
    /// The package's folder and name.
    pub package: RPackage,
    /// Its families and types.
    pub model: PackageModel,
    /// The file of the generated module, if the crate's root declares `mod r_families`; relative to the package's folder.
    pub r_families: Option<PathBuf>,
    sources: Crate,
    features: BTreeSet<String>,
    /// All families, those that stay in Rust among them, with the indices of their modules.
    all: Vec<(usize, Place, Family)>,
}

/// A family of a package, exported or not.
pub(crate) struct AnyFamily<'a> {
    pub(crate) model: &'a Family,
    pub(crate) module: &'a [String],
    pub(crate) place: &'a Place,
}

impl AnyFamily<'_> {
    /// The path of its function below the crate's root.
    pub(crate) fn name(&self) -> String {
        let name = self.model.fn_name.unraw().to_string();
        self.module.iter().cloned().chain([name]).collect::<Vec<_>>().join("::")
    }

    /// Whether somebody means this one: by its path or its name, that of its type, or that in R.
    pub(crate) fn is_named(&self, name: &str) -> bool {
        let Family { fn_name, type_name, options, .. } = self.model;
        self.name() == name.trim_start_matches("crate::")
            || fn_name.unraw() == name
            || type_name == name
            || options.r_name.as_ref().is_some_and(|r_name| r_name.value() == name)
    }
}

/// Why a package could not be read.
#[derive(Debug)]
pub enum Error {
    /// The mistakes in its sources.
    Mistakes(Report),
    /// A file that cannot be read.
    Io(io::Error),
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Error::Io(error)
    }
}

impl From<Report> for Error {
    fn from(report: Report) -> Self {
        Error::Mistakes(report)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Mistakes(report) => report.fmt(f),
            Error::Io(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Error {}

/// Reads the package in this folder.
///
/// ```no_run
/// use dispatch_codegen::project;
///
/// match project::read("mypackage") {
///     Ok(project) => project.model.families.iter().for_each(|family| println!("{}", family.r_name)),
///     // All mistakes at once, with their lines and carets.
///     Err(error) => eprint!("{error}"),
/// }
/// ```
///
/// # Errors
///
/// All mistakes in its sources, or a file that cannot be read.
pub fn read(folder: impl Into<PathBuf>) -> Result<Project, Error> {
    let package = RPackage::open(folder)?;
    let mut mistakes = Mistakes::default();
    let text = read_file(&package.folder, Path::new(manifest::MANIFEST))?;
    let Some(manifest) = manifest::read(&text, &mut mistakes) else {
        return Err(Report::of(mistakes, &package.folder).into());
    };
    let sources = sources::read(&package.folder, &manifest.root, &manifest.features, &mut mistakes)?;
    let all_files = mistakes.count() == 0;
    let names = names::Names::new(&sources.modules, &[]);
    let declarations = declare::read(&sources, &names, &mut mistakes);
    // What belongs together is judged when all of it can be read.
    if !all_files {
        return Err(Report::of(mistakes, &package.folder).into());
    }
    let types: Vec<(usize, String, Visibility)> = declarations
        .families
        .iter()
        .map(|family| (family.module, family.model.type_name.to_string(), family.model.vis.clone()))
        .chain(declarations.handlers.iter().map(|handler| {
            (handler.module, handler.model.static_name.to_string(), handler.model.vis.clone())
        }))
        .collect();
    let names = names::Names::new(&sources.modules, &types);
    let r_code = definitions(&package.folder)?;
    let all = declarations.families.iter().map(|family| {
        let source = &sources.sources[family.source];
        (family.module, declare::place(source, family.model.fn_name.span()), family.model.clone())
    });
    let all = all.collect();
    let whole = check::Package {
        name: &package.name,
        sources: &sources,
        features: &manifest.features,
        r_code: &r_code,
    };
    let model = check::check(&whole, &names, declarations, &mut mistakes);
    if sources.r_families.is_some() && !(model.families.is_empty() && model.handlers.is_empty()) {
        description::check(&read_file(&package.folder, Path::new("DESCRIPTION"))?, &mut mistakes);
    }
    if mistakes.count() > 0 {
        return Err(Report::of(mistakes, &package.folder).into());
    }
    let r_families = sources.r_families.clone();
    Ok(Project { package, model, r_families, sources, features: manifest.features, all })
}

impl Project {
    /// The files that were read, relative to the package's folder.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        self.sources.sources.iter().map(|source| source.file.as_path())
    }

    /// All families, in the order of the module tree.
    pub(crate) fn families(&self) -> impl Iterator<Item = AnyFamily<'_>> {
        self.all.iter().map(|(module, place, model)| {
            let module = self.sources.modules[*module].path.as_slice();
            AnyFamily { model, module, place }
        })
    }

    pub(crate) fn sources(&self) -> &[Source] {
        &self.sources.sources
    }

    /// Whether a condition holds on no machine that builds the package for R.
    pub(crate) fn cannot_hold(&self, condition: TokenStream) -> bool {
        cfg::tokens(condition, &self.features) == cfg::Holds::No
    }
}

fn read_file(folder: &Path, file: &Path) -> io::Result<String> {
    fs::read_to_string(folder.join(file))
        .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", file.display())))
}
