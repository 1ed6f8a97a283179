//! A package from nothing.

use std::io;
use std::path::{Component, Path, PathBuf};

use super::run::Cargo;
use super::{PackageName, refused, template};

/// Where a new package finds the crates of the toolkit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Dependencies {
    /// In the toolkit's sources, whose root this is.
    Path(PathBuf),
    /// In the registry, by the version of this crate.
    Registry,
}

/// The root of the sources that this crate was compiled in, if they are still there.
///
/// ```
/// let root = dispatch_codegen::package::toolkit().unwrap();
/// assert!(root.join("dispatch-runtime/Cargo.toml").is_file());
/// ```
pub fn toolkit() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent()?;
    ["dispatch-runtime", "r-bindings/support"]
        .iter()
        .all(|part| root.join(part).join("Cargo.toml").is_file())
        .then(|| root.to_owned())
}

/// Makes a package with one example family and its test in a folder that does not exist yet, or is empty. The last part
/// of the path is the package's name. Gives the folder.
///
/// The generated files are left to the caller, who updates the package.
///
/// # Errors
///
/// The name is none that R allows ([`PackageName::new`]), the path is not free, or cargo does not run.
pub fn create(path: &Path, dependencies: &Dependencies) -> io::Result<PathBuf> {
    let folder = absolute(path)?;
    let last = folder.file_name().ok_or_else(|| refused(format!("`{}` has no name", path.display())))?;
    let name = PackageName::new(&last.to_string_lossy())?;
    must_be_free(path, &folder)?;

    let rust = folder.join("src/rust");
    std::fs::create_dir_all(rust.join("src"))?;
    let (dispatch_r, dispatch_runtime) = match dependencies {
        Dependencies::Registry => {
            let version = format!("\"{}\"", env!("CARGO_PKG_VERSION"));
            (version.clone(), version)
        }
        Dependencies::Path(root) => {
            let root = root.canonicalize()?;
            let rust = rust.canonicalize()?;
            (dependency(&root, &rust, "r-bindings/support"), dependency(&root, &rust, "dispatch-runtime"))
        }
    };
    let crate_name = name.crate_name();
    template::write(
        &folder,
        &[
            ("PACKAGE", name.as_str()),
            ("CRATE", &crate_name),
            ("RUST", env!("CARGO_PKG_RUST_VERSION")),
            ("YEAR", &this_year()),
            ("DISPATCH_R", &dispatch_r),
            ("DISPATCH_RUNTIME", &dispatch_runtime),
        ],
    )?;
    if !in_workspace(&rust)? {
        let manifest = rust.join("Cargo.toml");
        let text = std::fs::read_to_string(&manifest)?;
        std::fs::write(manifest, text + template::OWN_WORKSPACE)?;
        if let Dependencies::Path(root) = dependencies {
            keep_versions(root, &rust)?;
        }
    }
    Ok(folder)
}

/// The path from the root, without `.` and `..`, so that `new .` finds the folder's name.
fn absolute(path: &Path) -> io::Result<PathBuf> {
    let mut out = PathBuf::new();
    for component in std::path::absolute(path)?.components() {
        match component {
            Component::ParentDir => {
                // `..` of a link is the parent of what it points to.
                out = out.canonicalize()?;
                out.pop();
            }
            other => out.push(other),
        }
    }
    Ok(out)
}

fn must_be_free(path: &Path, folder: &Path) -> io::Result<()> {
    match std::fs::read_dir(folder) {
        Ok(mut entries) => match entries.next() {
            None => Ok(()),
            Some(_) => Err(refused(format!("`{}` exists and is not empty", path.display()))),
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(_) if folder.is_file() => Err(refused(format!("`{}` is a file, not a folder", path.display()))),
        Err(error) => Err(error),
    }
}

/// A dependency on a crate of the toolkit as a value in a manifest: relative to the package where that lies inside of
/// the toolkit's sources, so that the two can move together.
fn dependency(root: &Path, rust: &Path, part: &str) -> String {
    let path = match rust.strip_prefix(root) {
        Ok(inside) => inside.components().map(|_| "../").collect::<String>() + part,
        Err(_) => root.join(part).to_string_lossy().into_owned(),
    };
    // A debug string of Rust is a basic string of TOML for all that is in a path.
    format!("{{ path = {path:?} }}")
}

/// Whether a workspace around the package has it as a member.
fn in_workspace(rust: &Path) -> io::Result<bool> {
    let manifest = rust.join("Cargo.toml");
    match Cargo::new().workspace(&manifest)? {
        Some(root) => Ok(Path::new(&root).canonicalize()? != manifest.canonicalize()?),
        // Cargo refuses a package below a workspace that does not list it.
        None => Ok(false),
    }
}

/// Starts the package with the versions that the toolkit is tested with, which may be on this machine already.
fn keep_versions(root: &Path, rust: &Path) -> io::Result<()> {
    let lock = root.join("Cargo.lock");
    if lock.is_file() {
        std::fs::copy(lock, rust.join("Cargo.lock"))?;
        // Drops what the package does not use. If that needs the network and there is none, the first build does it.
        let arguments = ["metadata", "--offline", "--format-version", "1", "--manifest-path"];
        let _ = Cargo::new().output(&arguments, rust.join("Cargo.toml"));
    }
    Ok(())
}

fn this_year() -> String {
    let seconds = std::time::SystemTime::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_secs());
    // The mean length of a year of the calendar, in seconds: at most a day off, at the year's end.
    (1970 + seconds / 31_556_952).to_string()
}
