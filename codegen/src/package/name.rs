//! The name of a package, in R and in Rust.

use std::fmt;
use std::io;

use super::refused;

/// Names that stand for something else to R. `pjrtdispatch` is the package that a new one imports.
const R_TAKEN: &[&str] = &[
    "R",
    "base",
    "compiler",
    "datasets",
    "grDevices",
    "graphics",
    "grid",
    "methods",
    "parallel",
    "pjrtdispatch",
    "splines",
    "stats",
    "stats4",
    "tcltk",
    "tools",
    "utils",
];

/// Names that a crate cannot have, or that something else in the build has.
const CRATE_TAKEN: &[&str] = &[
    "alloc",
    "build",
    "core",
    "deps",
    "dispatch-codegen",
    "dispatch-macros",
    "dispatch-r",
    "dispatch-runtime",
    "examples",
    "incremental",
    "proc-macro",
    "savvy",
    "std",
    "test",
];

/// A name that R allows for a package.
///
/// ```
/// use dispatch_codegen::package::PackageName;
///
/// let name = PackageName::new("my.pkg").unwrap();
/// assert_eq!((name.as_str(), name.crate_name().as_str()), ("my.pkg", "my-pkg"));
/// assert!(PackageName::new("my_pkg").is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackageName(String);

impl PackageName {
    /// Checks a name by R's rules.
    ///
    /// # Errors
    ///
    /// The name has other characters than ASCII letters, digits and dots, is shorter than two characters, does not
    /// begin with a letter, ends with a dot, or is that of a package that comes with R.
    pub fn new(name: &str) -> io::Result<PackageName> {
        let why = if name.is_empty() {
            Some("it is empty")
        } else if R_TAKEN.contains(&name) {
            Some("there is a package of that name")
        } else if name.chars().any(|c| !c.is_ascii_alphanumeric() && c != '.') {
            Some("it has other characters than letters, digits and dots")
        } else if !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
            Some("it does not begin with a letter")
        } else if name.len() < 2 {
            Some("it is shorter than two characters")
        } else if name.ends_with('.') {
            Some("it ends with a dot")
        } else {
            None
        };
        match why {
            Some(why) => Err(refused(format!("`{name}` is no name for an R package: {why}"))),
            None => Ok(PackageName(name.to_owned())),
        }
    }

    /// The name in R.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The name of the package's crate: dots become dashes, and a name that a crate cannot have gets an ending.
    pub fn crate_name(&self) -> String {
        let name = self.0.replace('.', "-");
        let keyword = syn::parse_str::<syn::Ident>(&name.replace('-', "_")).is_err();
        if keyword || CRATE_TAKEN.contains(&name.as_str()) { format!("{name}-package") } else { name }
    }
}

impl fmt::Display for PackageName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rules_are_those_of_r() {
        for name in ["ab", "my.pkg", "A1", "my..pkg", "R6", "ggplot2"] {
            assert_eq!(PackageName::new(name).unwrap().as_str(), name);
        }
        let refused = |name: &str, why: &str| {
            let message = PackageName::new(name).unwrap_err().to_string();
            assert_eq!(message, format!("`{name}` is no name for an R package: {why}"));
        };
        refused("", "it is empty");
        refused("a", "it is shorter than two characters");
        refused("my_pkg", "it has other characters than letters, digits and dots");
        refused("my-pkg", "it has other characters than letters, digits and dots");
        refused("größe", "it has other characters than letters, digits and dots");
        refused("2pkg", "it does not begin with a letter");
        refused(".pkg", "it does not begin with a letter");
        refused("pkg.", "it ends with a dot");
        refused("stats", "there is a package of that name");
        refused("pjrtdispatch", "there is a package of that name");
    }

    #[test]
    fn every_name_gives_a_crate_name() {
        let crate_name = |name: &str| PackageName::new(name).unwrap().crate_name();
        assert_eq!(crate_name("famglm"), "famglm");
        assert_eq!(crate_name("my.pkg"), "my-pkg");
        assert_eq!(crate_name("match"), "match-package");
        assert_eq!(crate_name("self"), "self-package");
        assert_eq!(crate_name("dispatch.r"), "dispatch-r-package");
        assert_eq!(crate_name("std"), "std-package");
    }
}
