//! What names in brackets link to.

use super::markdown;
use crate::project::PackageModel;
use crate::syntax::Docs;

/// Doc comments as text of a help page.
pub(crate) fn text(package: &PackageModel, docs: &Docs) -> String {
    markdown::text(&docs.lines, &|name| link(package, name))
}

/// A link to a family of the package, by its Rust or R name, or to a function of R: `glm()`, `stats::glm()`.
pub(crate) fn link(package: &PackageModel, name: &str) -> Option<String> {
    let bare = name.strip_suffix("()").unwrap_or(name);
    let last = bare.rsplit("::").next().unwrap_or(bare);
    let family = package.families.iter().find(|family| {
        family.model.fn_name == last || family.model.type_name == last || family.r_name == last
    });
    if let Some(family) = family {
        return Some(format!("\\code{{\\link{{{}}}()}}", family.r_name));
    }
    let is_name = |text: &str| {
        !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_'))
    };
    if bare.len() == name.len() {
        return None;
    }
    match bare.split_once("::") {
        Some((package, function)) if is_name(package) && is_name(function) => {
            Some(format!("\\code{{\\link[{package}:{function}]{{{package}::{function}()}}}}"))
        }
        None if is_name(bare) => Some(format!("\\code{{\\link{{{bare}}}()}}")),
        _ => None,
    }
}
