//! The reference reading of a signature: slow, complete, and the source of every message about an argument.

use super::{Dim, FieldSpec, Lead, LeafSpec, Scope, ShapeSpec, field_path, item_path};
use crate::array::Array;
use crate::aval::shape_text;
use crate::client::{Client, Device, other_client};
use crate::error::counted;
use crate::leaf::{Leaf, LeafKind};
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

/// Finds the first array of a scope whose shape is wrong; those that are absent are not looked at.
pub(crate) fn check_shapes(scope: &Scope, shapes: &[Option<&[i64]>]) -> Result<(), (usize, Error)> {
    let call = ScopeOfCall { scope, fields: &[], path: "" };
    let mut names: Vec<Option<Captured>> = scope.names.iter().map(|_| None).collect();
    for (i, (field, shape)) in scope.fields.iter().zip(shapes).enumerate() {
        if let (Some(rules), Some(shape)) = (&field.leaf, shape) {
            let checked = call.check_shape(shape, rules, field.name, &mut names, &|other| shapes[other]);
            checked.map_err(|error| (i, error))?;
        }
    }
    Ok(())
}

impl<'a> Checker<'a> {
    /// Checks the fields of one scope; `path` stands before each field's name.
    pub fn scope(&mut self, scope: &Scope, fields: &[Field<'a>], path: &str) -> Result<()> {
        let call = ScopeOfCall { scope, fields, path };
        let mut sizes: Vec<Option<Captured>> = scope.names.iter().map(|_| None).collect();
        for (i, field) in fields.iter().enumerate() {
            let spec = &scope.fields[i];
            let name = field_path(path, spec.name);
            match (field, &spec.leaf) {
                (Field::Tree(tree), _) => tree.check(&name, self)?,
                (Field::Leaf(leaf), Some(rules)) => {
                    self.leaf(&call, i, *leaf, rules, name, &mut sizes)?;
                }
                (Field::List(leaves), Some(rules)) => {
                    for (j, leaf) in leaves.iter().enumerate() {
                        self.leaf(&call, i, *leaf, rules, item_path(&name, j), &mut sizes)?;
                    }
                }
                (_, None) => unreachable!("an array has rules"),
            }
        }
        call.unbound()
    }

    fn leaf(
        &mut self,
        call: &ScopeOfCall<'_, 'a>,
        field: usize,
        leaf: &'a dyn Leaf,
        rules: &LeafSpec,
        name: String,
        sizes: &mut [Option<Captured>],
    ) -> Result<()> {
        if let LeafKind::BadLength { len, shape } = leaf.kind() {
            return Err(Error::Shape {
                argument: name,
                expected: format!("of {}, as many as were given", counted(len, "element")),
                got: shape_text(shape),
            });
        }
        let mut checked = self.place(leaf, &name).and_then(|()| call.check_dtype(leaf, field, &name));
        if checked.is_ok() {
            checked =
                call.check_shape(leaf.shape(), rules, &name, sizes, &|other| match call.fields[other] {
                    Field::Leaf(leaf) => Some(leaf.shape()),
                    _ => None,
                });
        }
        checked.map_err(|error| of_converter(error, leaf))?;
        if let LeafKind::Device(array) = leaf.kind() {
            self.seen.push((array, name, rules.donate));
        }
        Ok(())
    }

    /// Client, liveness and device of an array.
    fn place(&mut self, leaf: &dyn Leaf, name: &str) -> Result<()> {
        let LeafKind::Device(array) = leaf.kind() else { return Ok(()) };
        if array.client() != self.client {
            return Err(other_client(name.to_owned(), "an array", self.client, array.client()));
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
}

/// The error, which tells where it came from if a converter gave what is wrong.
fn of_converter(mut error: Error, leaf: &dyn Leaf) -> Error {
    if let Some(converter) = leaf.converter()
        && let Error::Shape { got, .. } | Error::DType { got, .. } | Error::Device { got, .. } = &mut error
    {
        *got += &format!(", which the converter `{converter}` gave");
    }
    error
}

/// What a name stands for, and the argument that said so.
#[derive(Clone)]
struct Captured {
    sizes: Vec<i64>,
    by: String,
}

/// The fields that a call passed for one scope, and the path of the scope.
struct ScopeOfCall<'s, 'a> {
    scope: &'s Scope,
    fields: &'s [Field<'a>],
    path: &'s str,
}

impl ScopeOfCall<'_, '_> {
    /// The dtype that a field's group has in this call, and the array that says it: the first device array, else the
    /// first host value.
    fn group_dtype(&self, field: usize) -> Option<(DType, String)> {
        let (root, allowed) = self.scope.dtype_root(field);
        let members = || {
            let is_member = |spec: &FieldSpec, i| spec.leaf.is_some() && self.scope.dtype_root(i).0 == root;
            let fields = self.scope.fields.iter().zip(self.fields).enumerate();
            fields.filter(move |(i, (spec, _))| is_member(spec, *i)).flat_map(|(_, (spec, field))| {
                let path = field_path(self.path, spec.name);
                match field {
                    Field::Leaf(leaf) => vec![(path, *leaf)],
                    Field::List(list) => {
                        list.iter().enumerate().map(|(i, l)| (item_path(&path, i), *l)).collect()
                    }
                    Field::Tree(_) => vec![],
                }
            })
        };
        let host = |leaf: &dyn Leaf| matches!(leaf.kind(), LeafKind::Host);
        members()
            .find(|(_, leaf)| !host(*leaf))
            .map(|(path, leaf)| (leaf.dtype(), path))
            .or_else(|| members().next().map(|(path, leaf)| (allowed.for_host(leaf.dtype()), path)))
    }

    fn check_dtype(&self, leaf: &dyn Leaf, field: usize, name: &str) -> Result<()> {
        // A host value takes the dtype of its group; whether its values fit is found when they are converted.
        if matches!(leaf.kind(), LeafKind::Host) {
            return Ok(());
        }
        let (_, allowed) = self.scope.dtype_root(field);
        let wrong = |expected| {
            Err(Error::DType { argument: name.to_owned(), expected, got: leaf.dtype().to_string() })
        };
        if !allowed.allows(leaf.dtype()) {
            return wrong(allowed.text());
        }
        let (dtype, by) = self.group_dtype(field).expect("the leaf is a member of its own group");
        if dtype != leaf.dtype() {
            return wrong(format!("{dtype}, the dtype of `{by}`"));
        }
        Ok(())
    }

    /// Checks a shape; `shape_of` gives that of another field, if it is an array that is there.
    fn check_shape<'b>(
        &self,
        got: &[i64],
        rules: &LeafSpec,
        name: &str,
        names: &mut [Option<Captured>],
        shape_of: &dyn Fn(usize) -> Option<&'b [i64]>,
    ) -> Result<()> {
        let wrong = |expected: String| {
            Err(Error::Shape { argument: name.to_owned(), expected, got: shape_text(got) })
        };
        let (lead, dims) = match rules.shape {
            ShapeSpec::Dims(lead, dims) => (lead, dims),
            ShapeSpec::Same(other) => {
                let first = match shape_of(other) {
                    Some(first) if first != got => first,
                    _ => return Ok(()),
                };
                let path = field_path(self.path, self.scope.fields[other].name);
                return wrong(format!("{}, the shape of `{path}`", shape_text(first)));
            }
        };
        let fits = match lead {
            Lead::None => got.len() == dims.len(),
            Lead::Any | Lead::Named(_) => got.len() >= dims.len(),
        };
        if !fits {
            return wrong(self.pattern(lead, dims, names));
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
        if ok { Ok(()) } else { wrong(self.pattern(lead, dims, &before)) }
    }

    /// `[k=3,n] (k from `a`)`: the pattern of a shape with what other arguments have fixed.
    fn pattern(&self, lead: Lead, dims: &[Dim], names: &[Option<Captured>]) -> String {
        // Each argument that has fixed something, with the names.
        let mut sources: Vec<(&str, Vec<&str>)> = Vec::new();
        let mut known = |n: usize| -> Option<&[i64]> {
            let (name, known) = (self.scope.names[n], names[n].as_ref()?);
            match sources.iter_mut().find(|(by, _)| *by == known.by) {
                Some((_, names)) if names.contains(&name) => {}
                Some((_, names)) => names.push(name),
                None => sources.push((&known.by, vec![name])),
            }
            Some(&known.sizes)
        };
        let lead = match lead {
            Lead::None => None,
            Lead::Any => Some("..".into()),
            Lead::Named(n) => {
                let sizes = known(n).map_or(String::new(), |sizes| format!("={}", shape_text(sizes)));
                Some(format!("{}..{sizes}", self.scope.names[n]))
            }
        };
        let dims = dims.iter().map(|dim| match *dim {
            Dim::Fixed(size) => size.to_string(),
            Dim::Any => "_".into(),
            Dim::Captured(n) => {
                let size = known(n).map_or(String::new(), |size| format!("={}", size[0]));
                format!("{}{size}", self.scope.names[n])
            }
        });
        let parts: Vec<String> = lead.into_iter().chain(dims).collect();
        let from = |(by, names): &(&str, Vec<&str>)| format!("{} from `{by}`", names.join(", "));
        let from: Vec<String> = sources.iter().map(from).collect();
        let from = if from.is_empty() { String::new() } else { format!(" ({})", from.join(", ")) };
        format!("[{}]{from}", parts.join(","))
    }

    /// A list that gives a name has an array to give it by.
    fn unbound(&self) -> Result<()> {
        let empty = |&&source: &&usize| matches!(&self.fields[source], Field::List(list) if list.is_empty());
        let Some(n) = self.scope.sources.iter().position(|source| empty(&source)) else { return Ok(()) };
        let spec = &self.scope.fields[self.scope.sources[n]];
        let pattern = match &spec.leaf {
            Some(LeafSpec { shape: ShapeSpec::Dims(lead, dims), .. }) => {
                self.pattern(*lead, dims, &vec![None; self.scope.names.len()])
            }
            _ => unreachable!("a name stands in a shape"),
        };
        Err(Error::Shape {
            argument: field_path(self.path, spec.name),
            expected: format!("{pattern} of at least one array, to know `{}`", self.scope.names[n]),
            got: "an empty list".into(),
        })
    }
}
