//! `expand`: what the attribute makes of families.

use std::path::Path;

use super::Failure;
use crate::expand;
use crate::project;

/// Prints what a family of a package expands to, or all of them.
pub(super) fn expand(arguments: &[String]) -> Result<(), Failure> {
    let (path, wanted) = match arguments {
        [path] => (Path::new(path), None),
        [path, wanted] => (Path::new(path), Some(wanted.as_str())),
        _ => return Err(Failure::Usage("`expand` takes a package and perhaps a family".to_owned())),
    };
    let project = project::read(path).map_err(|error| Failure::Package(path.to_owned(), error))?;
    let (mut known, mut out) = (Vec::new(), Vec::new());
    for family in project.families() {
        let name = family.name();
        if wanted.is_none_or(|wanted| family.is_named(wanted)) {
            let file = syn::parse2(expand::family(family.model)).expect("an expansion is Rust");
            let place = family.place;
            let head = format!("// {name}, {}:{}\n", place.file.display(), place.line);
            out.push(head + &prettyplease::unparse(&file));
        }
        known.push(format!("`{name}`"));
    }
    match (out.is_empty(), wanted) {
        (true, Some(wanted)) if known.is_empty() => {
            Err(other(path, format!("no family `{wanted}`: the package has none")))
        }
        (true, Some(wanted)) => {
            Err(other(path, format!("no family `{wanted}`; there are {}", known.join(", "))))
        }
        _ => {
            print!("{}", out.join("\n"));
            Ok(())
        }
    }
}

fn other(path: &Path, message: String) -> Failure {
    Failure::Package(path.to_owned(), std::io::Error::other(message).into())
}
