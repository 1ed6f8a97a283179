//! What is told of a family: `family_stats()`, `family_explain()` and their like in `pjrtdispatch`.

use dispatch_runtime::cache::Part;
use dispatch_runtime::family::{Difference, Explanation, Family};
use dispatch_runtime::signature::{DTypeSpec, Dim, Lead, Scope, ShapeSpec};

use super::{Formal, Function, Kind};
use crate::arg::arg;
use crate::fault::{Fault, Result};
use crate::ffi::*;
use crate::root::Root;
use crate::{entry, make};

/// Tells of the family with this name in R.
///
/// | `what` | `args` | answer |
/// |---|---|---|
/// | `"stats"` | | a named list: hits, misses, compiles, loads, evictions, entries, bytes |
/// | `"entries"` | | for each compiled program, the last used first: the parts of its key, a named character vector |
/// | `"explain"` | the values of all arguments, in order | a named list: `hit`, `message`, and by part `part`, `now`, `cached` |
/// | `"warm"` | the same; an array may be `list(dtype =, shape =)` | `NULL` |
/// | `"clear"` | | `NULL` |
/// | `"signature"` | | columns with a row for each array and static value: `argument`, its path; `static`, `donated`, `written` (back); `dtype`, `shape`, in words; `value`, what a static takes, in words; and the `capacity` |
pub fn ask(
    functions: &[&dyn Function],
    name: savvy::Sexp,
    what: savvy::Sexp,
    args: savvy::Sexp,
) -> savvy::Result<savvy::Sexp> {
    entry::entry(|| {
        let name = arg(&name, "name").string()?;
        let function = functions.iter().find(|function| function.name() == name);
        let function = function.ok_or_else(|| {
            Fault::argument("value", "name", "a family of this package", format!("\"{name}\""))
        })?;
        answer(function.about()?, &arg(&what, "what").string()?, args.0)
    })
}

/// A family of which something is asked, whichever it is: the answers are made once, not for each family.
pub trait About {
    /// Its arguments, in order.
    fn formals(&self) -> &'static [Formal];

    /// How many programs it keeps.
    fn capacity(&self) -> usize;

    /// Its instances, by client.
    fn instances(&self) -> Vec<&'static Family>;

    /// See [`DeclaredFamily::declare`](dispatch_runtime::family::DeclaredFamily).
    fn declare(&self, visit: &mut dyn FnMut(String, &'static Scope, usize));

    /// See [`DeclaredFamily::declare_statics`](dispatch_runtime::family::DeclaredFamily).
    fn declare_statics(&self, visit: &mut dyn FnMut(&'static str, String));

    /// What a call with these values would find.
    fn explain(&self, values: &[SEXP]) -> Result<Explanation>;

    /// Compiles what a call with these values needs.
    fn warm(&self, values: &[SEXP]) -> Result<()>;
}

fn answer(family: &dyn About, what: &str, args: SEXP) -> Result<SEXP> {
    match what {
        "stats" => Ok(make::stats(family.instances().iter().map(|family| family.stats()))?.release()),
        "entries" => entries(family),
        "clear" => {
            family.instances().iter().for_each(|family| family.clear());
            Ok(nil())
        }
        "explain" => explained(&family.explain(&values(family, args)?)?),
        "warm" => family.warm(&values(family, args)?).map(|()| nil()),
        "signature" => signature(family),
        other => Err(Fault::argument(
            "value",
            "what",
            "one of \"stats\", \"entries\", \"explain\", \"warm\", \"clear\", \"signature\"",
            format!("\"{other}\""),
        )),
    }
}

/// The values of a list, one for each argument; the caller keeps it.
fn values(family: &dyn About, args: SEXP) -> Result<Vec<SEXP>> {
    let list = savvy::Sexp(args);
    let values = arg(&list, "args").elements()?;
    if values.len() != family.formals().len() {
        let expected = format!("the values of {} arguments", family.formals().len());
        return Err(Fault::argument("value", "args", expected, values.len()));
    }
    Ok(values)
}

fn list_of(values: &[(&str, Root)]) -> Result<SEXP> {
    let values: Vec<(&str, SEXP)> = values.iter().map(|(name, value)| (*name, value.get())).collect();
    Ok(make::named_list(&values)?.release())
}

fn entries(family: &dyn About) -> Result<SEXP> {
    let instances = family.instances();
    let keys = instances.iter().flat_map(|family| family.keys());
    let text =
        |parts: Vec<Part>| named_strings(parts.iter().map(|part| (part.name.as_str(), part.value.as_str())));
    let all = keys.map(text).collect::<Result<Vec<Root>>>()?;
    Ok(make::list(&all.iter().map(Root::get).collect::<Vec<_>>())?.release())
}

fn named_strings<'a>(all: impl Iterator<Item = (&'a str, &'a str)>) -> Result<Root> {
    let (names, values): (Vec<&str>, Vec<&str>) = all.unzip();
    let (names, values) = (make::strings(&names)?, make::strings(&values)?);
    let (n, v) = (names.get(), values.get());
    // SAFETY: both vectors are kept by their roots.
    crate::protect(|| unsafe {
        Rf_setAttrib(v, R_NamesSymbol, n);
    })?;
    Ok(values)
}

fn explained(explanation: &Explanation) -> Result<SEXP> {
    let differences = match explanation {
        Explanation::Miss { differences } => differences.as_slice(),
        _ => &[],
    };
    let column = |get: fn(&Difference) -> Option<&str>| -> Result<Root> {
        make::optional_strings(&differences.iter().map(get).collect::<Vec<_>>())
    };
    list_of(&[
        ("hit", make::flag(*explanation == Explanation::Hit)?),
        ("message", make::string(&explanation.to_string())?),
        ("part", column(|d| Some(&d.part))?),
        ("now", column(|d| d.now.as_deref())?),
        ("cached", column(|d| d.cached.as_deref())?),
    ])
}

/// A row for each array, list of arrays and static value, in order, as columns.
fn signature(family: &dyn About) -> Result<SEXP> {
    let mut rows = Vec::new();
    family.declare(&mut |path, scope, field| rows.push(Row::of(path, scope, field)));
    let mut rows = rows.into_iter().peekable();
    let mut statics = Vec::new();
    family.declare_statics(&mut |_, words| statics.push(words));
    let mut statics = statics.into_iter();
    let mut all = Vec::new();
    for formal in family.formals() {
        if formal.kind == Kind::Static {
            all.push(Row { argument: formal.name.to_owned(), value: statics.next(), ..Row::default() });
            continue;
        }
        let is_part = |row: &Row| row.argument.split('$').next() == Some(formal.name);
        while let Some(row) = rows.next_if(is_part) {
            all.push(row);
        }
    }
    let flags = |get: fn(&Row) -> bool| make::flags(&all.iter().map(get).collect::<Vec<_>>());
    let texts =
        |get: fn(&Row) -> Option<&str>| make::optional_strings(&all.iter().map(get).collect::<Vec<_>>());
    list_of(&[
        ("argument", texts(|row| Some(&row.argument))?),
        ("static", flags(|row| row.value.is_some())?),
        ("donated", flags(|row| row.donated)?),
        ("written", flags(|row| row.written)?),
        ("dtype", texts(|row| row.dtype.as_deref())?),
        ("shape", texts(|row| row.shape.as_deref())?),
        ("value", texts(|row| row.value.as_deref())?),
        ("capacity", make::sizes(&[i64::try_from(family.capacity()).unwrap_or(i64::MAX)])?),
    ])
}

/// What is told of an array, or of a static value.
#[derive(Default)]
struct Row {
    argument: String,
    donated: bool,
    written: bool,
    dtype: Option<String>,
    shape: Option<String>,
    value: Option<String>,
}

impl Row {
    fn of(path: String, scope: &Scope, field: usize) -> Row {
        let spec = &scope.fields[field];
        let Some(leaf) = &spec.leaf else { return Row { argument: path, ..Row::default() } };
        let around = path.strip_suffix(spec.name).unwrap_or_default();
        let other = |field: usize| format!("{around}{}", scope.fields[field].name);
        let dtype = match leaf.dtype {
            DTypeSpec::Same(field) => format!("dtype of {}", other(field)),
            dtype => dtype.text(),
        };
        let shape = match leaf.shape {
            ShapeSpec::Same(field) => format!("shape of {}", other(field)),
            ShapeSpec::Dims(lead, dims) => pattern(scope, lead, dims),
        };
        Row {
            donated: leaf.donate,
            written: leaf.write_back.is_some(),
            dtype: Some(if spec.is_list { format!("list of {dtype}") } else { dtype }),
            shape: Some(shape),
            value: None,
            argument: path,
        }
    }
}

/// `(batch.., m, 3, _)`
fn pattern(scope: &Scope, lead: Lead, dims: &[Dim]) -> String {
    let lead = match lead {
        Lead::None => None,
        Lead::Any => Some("..".to_owned()),
        Lead::Named(n) => Some(format!("{}..", scope.names[n])),
    };
    let dims = dims.iter().map(|dim| match dim {
        Dim::Fixed(n) => n.to_string(),
        Dim::Any => "_".into(),
        Dim::Captured(n) => scope.names[*n].to_owned(),
    });
    format!("({})", lead.into_iter().chain(dims).collect::<Vec<_>>().join(", "))
}
