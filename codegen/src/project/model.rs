//! What is known of a package once all of it was read without a mistake.

use std::collections::BTreeMap;
use std::path::PathBuf;

use syn::{Attribute, Path};

use crate::syntax::{Family, InputTree, OutputTree, StaticArg};

/// An R package with a crate that declares families.
#[derive(Clone, Debug, Default)]
pub struct PackageModel {
    /// The name in `DESCRIPTION`.
    pub name: String,
    /// The families that are functions of R, in the order of the module tree.
    pub families: Vec<DeclaredFamily>,
    /// The functions that programs call, which are registered when the package is loaded, in the same order.
    pub handlers: Vec<DeclaredHandler>,
    /// The structs of arguments, in the same order.
    pub input_trees: Vec<Declared<InputTree>>,
    /// The structs of results, in the same order.
    pub output_trees: Vec<Declared<OutputTree>>,
    /// The types of static arguments, in the same order.
    pub static_types: Vec<Declared<StaticArg>>,
    /// What the types are that declarations name.
    pub names: TypeNames,
}

/// A family that is a function of R.
#[derive(Clone, Debug)]
pub struct DeclaredFamily {
    /// The checked declaration.
    pub model: Family,
    /// The modules below the crate's root, then the type: `["fits", "Logistic"]` is `crate::fits::Logistic`. It can be
    /// named so in every module of the crate.
    pub path: Vec<String>,
    /// The module that declares it, below the crate's root.
    pub module: Vec<String>,
    /// The `#[cfg(...)]`s of the function and of the modules around it, outermost first, without those that the
    /// package's default features decide. The generated Rust is under all of them.
    pub cfgs: Vec<Attribute>,
    /// Where its function is declared.
    pub place: Place,
    /// The name of the R function: `r_name` of the declaration, else the name of the Rust function.
    pub r_name: String,
    /// The name of its savvy function, unlike any other of the package: `rs_logistic`, so that R calls
    /// `savvy_rs_logistic__impl`, and that calls `savvy_rs_logistic__ffi`.
    pub symbol: String,
}

/// A function with `#[ffi_handler]` that is called when a program runs.
#[derive(Clone, Debug)]
pub struct DeclaredHandler {
    /// The modules below the crate's root, then the static: `["math", "ROTATE_ADD"]`.
    pub path: Vec<String>,
    /// As [`DeclaredFamily::cfgs`].
    pub cfgs: Vec<Attribute>,
    /// The name that programs call it by.
    pub target: String,
}

/// A declaration of a type, and where it stands.
#[derive(Clone, Debug)]
pub struct Declared<M> {
    /// The checked declaration.
    pub model: M,
    /// The modules below the crate's root, then the type, where it is declared.
    pub path: Vec<String>,
    /// Where it is declared.
    pub place: Place,
}

impl<M> Declared<M> {
    /// The module that declares it, below the crate's root.
    pub fn module(&self) -> &[String] {
        self.path.split_last().map_or(&[], |(_, module)| module)
    }
}

/// A place in the sources.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The file, relative to the package's folder.
    pub file: PathBuf,
    /// Counted from 1.
    pub line: usize,
    /// Counted from 1.
    pub column: usize,
}

/// The declarations that types stand for, by the module that names them and the path as written.
#[derive(Clone, Debug, Default)]
pub struct TypeNames(BTreeMap<(Vec<String>, String), Vec<String>>);

impl TypeNames {
    /// Notes that in this module the path stands for the declaration.
    pub fn insert(&mut self, module: &[String], path: &Path, declaration: Vec<String>) {
        self.0.insert((module.to_vec(), key(path)), declaration);
    }

    fn get(&self, module: &[String], path: &Path) -> Option<&Vec<String>> {
        self.0.get(&(module.to_vec(), key(path)))
    }
}

/// A path without its arguments.
fn key(path: &Path) -> String {
    let segments: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
    segments.join("::")
}

impl PackageModel {
    /// The input tree that a path in a declaration of this module stands for; none if it is of another crate.
    pub fn input_tree(&self, module: &[String], path: &Path) -> Option<&Declared<InputTree>> {
        self.find(&self.input_trees, module, path)
    }

    /// The output tree that a path in a declaration of this module stands for; none if it is of another crate.
    pub fn output_tree(&self, module: &[String], path: &Path) -> Option<&Declared<OutputTree>> {
        self.find(&self.output_trees, module, path)
    }

    /// The static type that a path in a declaration of this module stands for; none if it is of another crate.
    pub fn static_type(&self, module: &[String], path: &Path) -> Option<&Declared<StaticArg>> {
        self.find(&self.static_types, module, path)
    }

    fn find<'a, M>(
        &self,
        declared: &'a [Declared<M>],
        module: &[String],
        path: &Path,
    ) -> Option<&'a Declared<M>> {
        let declaration = self.names.get(module, path)?;
        declared.iter().find(|declared| declared.path == *declaration)
    }
}
