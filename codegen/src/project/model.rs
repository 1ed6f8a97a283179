//! What is known of a package once all of it was read without a mistake.

use std::path::PathBuf;

use crate::syntax::{Family, InputTree, OutputTree, StaticArg};

/// An R package with a crate that declares families.
#[derive(Clone, Debug)]
pub struct PackageModel {
    /// The name in `DESCRIPTION`.
    pub name: String,
    /// The families that are functions of R, in the order of the module tree.
    pub families: Vec<DeclaredFamily>,
    /// The structs of arguments, in the same order.
    pub input_trees: Vec<Declared<InputTree>>,
    /// The structs of results, in the same order.
    pub output_trees: Vec<Declared<OutputTree>>,
    /// The types of static arguments, in the same order.
    pub static_types: Vec<Declared<StaticArg>>,
}

/// A family that is a function of R.
#[derive(Clone, Debug)]
pub struct DeclaredFamily {
    /// The checked declaration.
    pub model: Family,
    /// The modules below the crate's root, then the type: `["fits", "Logistic"]` is `crate::fits::Logistic`.
    pub path: Vec<String>,
    /// Where its function is declared.
    pub place: Place,
    /// The name of the R function: `r_name` of the declaration, else the name of the Rust function.
    pub r_name: String,
}

/// A declaration of a type, and where it stands.
#[derive(Clone, Debug)]
pub struct Declared<M> {
    /// The checked declaration.
    pub model: M,
    /// The modules below the crate's root, then the type.
    pub path: Vec<String>,
    /// Where it is declared.
    pub place: Place,
}

/// A place in the sources.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file, relative to the package's folder.
    pub file: PathBuf,
    /// Counted from 1.
    pub line: usize,
    /// Counted from 1.
    pub column: usize,
}
