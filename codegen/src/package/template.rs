//! The files of a new package.

use std::io;
use std::path::Path;

/// A file of the template.
struct File {
    /// Where in the package.
    path: &'static str,
    text: &'static str,
    executable: bool,
}

macro_rules! files {
    ($($path:literal from $source:literal $($executable:ident)?,)+) => {
        &[$(File {
            path: $path,
            text: include_str!(concat!("template/", $source)),
            executable: files!(@ $($executable)?),
        }),+]
    };
    (@ executable) => { true };
    (@) => { false };
}

// Files that cargo, git or R would take for their own have other names in the template.
const FILES: &[File] = files! {
    ".Rbuildignore" from "Rbuildignore",
    ".gitignore" from "gitignore",
    "DESCRIPTION" from "DESCRIPTION.in",
    "LICENSE" from "LICENSE.in",
    "NAMESPACE" from "NAMESPACE.in",
    "R/zzz.R" from "R/zzz.R",
    "cleanup" from "cleanup.sh" executable,
    "configure" from "configure.sh" executable,
    "src/Makevars.in" from "src/Makevars.in",
    "src/rust/Cargo.toml" from "src/rust/Cargo.toml.in",
    "src/rust/src/lib.rs" from "src/rust/lib.rs.in",
    "tests/testthat.R" from "tests/testthat.R.in",
    "tests/testthat/test-standardize.R" from "tests/testthat/test-standardize.R",
};

/// What makes a crate the root of a workspace of its own.
pub(super) const OWN_WORKSPACE: &str = include_str!("template/src/rust/workspace.toml");

/// Writes all files, with `@NAME@` replaced by its value for each of the values.
pub(super) fn write(folder: &Path, values: &[(&str, &str)]) -> io::Result<()> {
    for file in FILES {
        let path = folder.join(file.path);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent)?;
        }
        // Places with other names than these are for `configure`.
        let text = values
            .iter()
            .fold(file.text.to_owned(), |text, (name, value)| text.replace(&format!("@{name}@"), value));
        std::fs::write(&path, text)?;
        #[cfg(unix)]
        if file.executable {
            use std::os::unix::fs::PermissionsExt;
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_packages_of_the_project_are_built_by_the_same_files() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let examples = std::fs::read_dir(root.join("examples/r")).into_iter().flatten().flatten();
        let packages = examples.map(|entry| entry.path()).chain([root.join("r-bindings")]);
        for package in packages.filter(|package| package.join("DESCRIPTION").is_file()) {
            for file in
                FILES.iter().filter(|file| ["cleanup", "configure", "src/Makevars.in"].contains(&file.path))
            {
                let path = package.join(file.path);
                let theirs = std::fs::read_to_string(&path).unwrap();
                assert!(theirs == file.text, "{} differs from the template", path.display());
            }
        }
    }
}
