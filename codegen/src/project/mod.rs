//! A package read as a whole: its module tree, and the declarations in it.

mod model;

pub use model::{Declared, DeclaredFamily, PackageModel, Place, TypeNames};
