//! The reference reading of a signature: slow, complete, and the source of every message about an argument.

use super::{DTypeSpec, Dim, Lead, LeafSpec, Scope, ShapeSpec};
use crate::array::Array;
use crate::aval::shape_text;
use crate::client::{Client, Device};
use crate::family::{Leaf, LeafKind};
use crate::{DType, Error, Result};

/// What a call passed for one field of a scope.
pub enum Field<'a> {
    /// One array or host value.
    Leaf(&'a dyn Leaf),
    /// A list of arrays.
    List(Vec<&'a dyn Leaf>),
    /// A nested struct, which checks itself.
    Tree(&'a dyn CheckTree),
}

/// A nested struct of arguments, as the reference check sees it.
pub trait CheckTree {
    /// Checks its own scope under this path.
    fn check<'a>(&'a self, path: &str, checker: &mut Checker<'a>) -> Result<()>;
}

/// What all arguments of a call must have in common, and what is known of it so far.
pub struct Checker<'a> {
    client: Client,
    /// The device of the call: fixed by its first array, unless inputs are moved.
    device: Option<Device>,
    moves: bool,
    /// The arrays seen, with their paths and whether they are donated.
    seen: Vec<(&'a Array, String, bool)>,
}

/// Finds the first argument of a call that is wrong.
pub fn check(scope: &Scope, fields: &[Field<'_>], client: Client, moves: bool) -> Result<()> {
    let mut checker = Checker { client, device: None, moves, seen: Vec::new() };
    checker.scope(scope, fields, "")?;
    checker.donations()
}

impl<'a> Checker<'a> {
    /// Checks the fields of one scope; `path` stands before each field's name.
    pub fn scope(&mut self, scope: &Scope, fields: &[Field<'a>], path: &str) -> Result<()> {
        let mut sizes: Vec<Option<Captured>> = scope.names.iter().map(|_| None).collect();
        for (i, field) in fields.iter().enumerate() {
            let spec = &scope.fields[i];
            let name = if path.is_empty() { spec.name.to_owned() } else { format!("{path}${}", spec.name) };
            match (field, &spec.leaf) {
                (Field::Tree(tree), _) => tree.check(&name, self)?,
                (Field::Leaf(leaf), Some(rules)) => {
                    self.leaf(scope, fields, i, *leaf, rules, name, &mut sizes)?;
                }
                (Field::List(leaves), Some(rules)) => {
                    for (j, leaf) in leaves.iter().enumerate() {
                        let name = format!("{name}[[{}]]", j + 1);
                        self.leaf(scope, fields, i, *leaf, rules, name, &mut sizes)?;
                    }
                }
                (_, None) => unreachable!("an array has rules"),
            }
        }
        self.unbound(scope, fields, path, &sizes)
    }

    #[allow(clippy::too_many_arguments)] // the state of one scope, not worth a struct of its own
    fn leaf(
        &mut self,
        scope: &Scope,
        fields: &[Field<'a>],
        field: usize,
        leaf: &'a dyn Leaf,
        rules: &LeafSpec,
        name: String,
        sizes: &mut [Option<Captured>],
    ) -> Result<()> {
        if let LeafKind::BadLength { len, shape } = leaf.kind() {
            return Err(Error::Shape {
                argument: name,
                expected: format!("a shape of the {len} elements given"),
                got: shape_text(shape),
            });
        }
        self.place(leaf, &name)?;
        let (_, allowed) = scope.dtype_root(field);
        let group = group_dtype(scope, fields, field);
        check_dtype(leaf, allowed, group, &name)?;
        check_shape(scope, fields, leaf, rules, &name, sizes)?;
        if let LeafKind::Device(array) = leaf.kind() {
            self.seen.push((array, name, rules.donate));
        }
        Ok(())
    }

    /// Client, liveness and device of an array.
    fn place(&mut self, leaf: &dyn Leaf, name: &str) -> Result<()> {
        let LeafKind::Device(array) = leaf.kind() else { return Ok(()) };
        if array.client() != self.client {
            return Err(Error::Client {
                argument: name.to_owned(),
                expected: self.client.to_string(),
                got: array.client().to_string(),
            });
        }
        if array.is_donated() {
            return Err(Error::Donated {
                argument: name.to_owned(),
                reason: "the array was donated to an earlier call and is gone".into(),
            });
        }
        let device = *self.device.get_or_insert(array.device());
        if device != array.device() && !self.moves {
            return Err(Error::Device {
                argument: name.to_owned(),
                expected: format!("{device}, as the first array"),
                got: array.device().to_string(),
            });
        }
        Ok(())
    }

    /// An array that is donated stands nowhere else in the call.
    fn donations(&self) -> Result<()> {
        for (i, (array, name, donated)) in self.seen.iter().enumerate() {
            let twice = self.seen.iter().enumerate().find(|(j, (other, ..))| *j != i && other.same(array));
            if let (true, Some((_, (_, other, _)))) = (*donated, twice) {
                return Err(Error::Donated {
                    argument: name.clone(),
                    reason: format!("the array is donated, so it cannot be passed as `{other}` too"),
                });
            }
        }
        Ok(())
    }

    /// A name that stands only in empty lists has no size.
    fn unbound(
        &self,
        scope: &Scope,
        fields: &[Field<'_>],
        path: &str,
        sizes: &[Option<Captured>],
    ) -> Result<()> {
        let Some(name) = sizes.iter().position(Option::is_none) else { return Ok(()) };
        let stands_in = |spec: &LeafSpec| match spec.shape {
            ShapeSpec::Dims(lead, dims) => {
                matches!(lead, Lead::Named(n) if n == name)
                    || dims.iter().any(|d| matches!(d, Dim::Captured(n) if *n == name))
            }
            ShapeSpec::Same(_) => false,
        };
        let empty = scope.fields.iter().zip(fields).find(|(spec, field)| {
            matches!(field, Field::List(_)) && spec.leaf.as_ref().is_some_and(stands_in)
        });
        let argument = empty.map_or(scope.owner, |(spec, _)| spec.name);
        Err(Error::Shape {
            argument: if path.is_empty() { argument.to_owned() } else { format!("{path}${argument}") },
            expected: format!("at least one array, since it gives `{}`", scope.names[name]),
            got: "an empty list".into(),
        })
    }
}

/// What a name stands for, and the argument that said so.
#[derive(Clone)]
struct Captured {
    sizes: Vec<i64>,
    by: String,
}

/// The dtype that a field's group has in this call: that of its first device array, else by its first host value.
fn group_dtype(scope: &Scope, fields: &[Field<'_>], field: usize) -> Option<(DType, String)> {
    let (root, allowed) = scope.dtype_root(field);
    let members = || {
        fields
            .iter()
            .enumerate()
            .filter(|(i, _)| scope.fields[*i].leaf.is_some() && scope.dtype_root(*i).0 == root)
    };
    let leaves = || {
        members().flat_map(|(i, f)| {
            let leaves: Vec<&dyn Leaf> = match f {
                Field::Leaf(leaf) => vec![*leaf],
                Field::List(list) => list.clone(),
                Field::Tree(_) => vec![],
            };
            leaves.into_iter().map(move |leaf| (scope.fields[i].name, leaf))
        })
    };
    let host = |leaf: &dyn Leaf| matches!(leaf.kind(), LeafKind::Host(_));
    leaves()
        .find(|(_, leaf)| !host(*leaf))
        .map(|(name, leaf)| (leaf.dtype(), name.to_owned()))
        .or_else(|| leaves().next().map(|(name, leaf)| (allowed.for_host(leaf.dtype()), name.to_owned())))
}

fn check_dtype(
    leaf: &dyn Leaf,
    allowed: DTypeSpec,
    group: Option<(DType, String)>,
    name: &str,
) -> Result<()> {
    let (dtype, by) = group.expect("the leaf is a member of its own group");
    // A host value takes the dtype of its group; whether its values fit is found when they are converted.
    if matches!(leaf.kind(), LeafKind::Host(_)) {
        return Ok(());
    }
    let got = leaf.dtype();
    if !allowed.allows(got) {
        return Err(Error::DType {
            argument: name.to_owned(),
            expected: allowed.text(),
            got: got.to_string(),
        });
    }
    if got != dtype {
        return Err(Error::DType {
            argument: name.to_owned(),
            expected: format!("{dtype}, the dtype of `{by}`"),
            got: got.to_string(),
        });
    }
    Ok(())
}

fn check_shape(
    scope: &Scope,
    fields: &[Field<'_>],
    leaf: &dyn Leaf,
    rules: &LeafSpec,
    name: &str,
    names: &mut [Option<Captured>],
) -> Result<()> {
    let got = leaf.shape();
    let wrong =
        |expected: String| Err(Error::Shape { argument: name.to_owned(), expected, got: shape_text(got) });
    let (lead, dims) = match rules.shape {
        ShapeSpec::Dims(lead, dims) => (lead, dims),
        ShapeSpec::Same(other) => {
            let Field::Leaf(first) = fields[other] else { unreachable!("shape(…) names one array") };
            if first.shape() == got {
                return Ok(());
            }
            return wrong(format!(
                "{}, the shape of `{}`",
                shape_text(first.shape()),
                scope.fields[other].name
            ));
        }
    };
    let fits = match lead {
        Lead::None => got.len() == dims.len(),
        Lead::Any | Lead::Named(_) => got.len() >= dims.len(),
    };
    if !fits {
        return wrong(pattern(scope, lead, dims, names));
    }
    let (front, back) = got.split_at(got.len() - dims.len());
    let before = names.to_vec(); // for the message: what other arguments have said, not this one
    let mut agrees = |name_index: usize, sizes: &[i64]| match &names[name_index] {
        Some(known) => known.sizes == sizes,
        None => {
            names[name_index] = Some(Captured { sizes: sizes.to_vec(), by: name.to_owned() });
            true
        }
    };
    let mut ok = true;
    if let Lead::Named(n) = lead {
        ok &= agrees(n, front);
    }
    for (dim, &size) in dims.iter().zip(back) {
        ok &= match *dim {
            Dim::Fixed(n) => n == size,
            Dim::Any => true,
            Dim::Captured(n) => agrees(n, &[size]),
        };
    }
    if ok { Ok(()) } else { wrong(pattern(scope, lead, dims, &before)) }
}

/// `[k=3,n]` with `k` from `a`: the pattern of a shape with what other arguments have fixed.
fn pattern(scope: &Scope, lead: Lead, dims: &[Dim], names: &[Option<Captured>]) -> String {
    let mut sources: Vec<&str> = Vec::new();
    let mut parts: Vec<String> = Vec::new();
    let mut named = |n: usize, suffix: &str| match &names[n] {
        Some(known) => {
            if !sources.contains(&known.by.as_str()) {
                sources.push(&known.by);
            }
            let sizes: Vec<String> = known.sizes.iter().map(i64::to_string).collect();
            let sizes = if suffix.is_empty() { sizes.join(",") } else { format!("({})", sizes.join(",")) };
            format!("{}{suffix}={sizes}", scope.names[n])
        }
        None => format!("{}{suffix}", scope.names[n]),
    };
    match lead {
        Lead::None => {}
        Lead::Any => parts.push("..".into()),
        Lead::Named(n) => parts.push(named(n, "..")),
    }
    for dim in dims {
        parts.push(match *dim {
            Dim::Fixed(n) => n.to_string(),
            Dim::Any => "_".into(),
            Dim::Captured(n) => named(n, ""),
        });
    }
    let from = match sources.len() {
        0 => String::new(),
        _ => format!(" ({})", sources.iter().map(|s| format!("from `{s}`")).collect::<Vec<_>>().join(", ")),
    };
    format!("[{}]{from}", parts.join(","))
}
