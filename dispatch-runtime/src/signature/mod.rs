//! A family's signature as data, and the reference reading of it.
//!
//! The stub of a family checks its arguments with code specialised to the signature, which only says yes or no. When
//! it says no, [`check()`] reads the same signature as data and finds the first argument that is wrong, with the
//! words for it. It is also the slow reference that property tests compare the specialised code with.

mod check;

pub(crate) use check::check_shapes;
pub use check::{CheckTree, Checker, Field, check};

use crate::DType;

/// The dynamic arguments of a family, or the fields of an `InputTree` struct: names are shared within, not beyond.
#[derive(Debug)]
pub struct Scope {
    /// The family or struct.
    pub owner: &'static str,
    /// In order of declaration.
    pub fields: &'static [FieldSpec],
    /// The captured names, in order of their first appearance; [`Dim::Captured`] and [`Lead::Named`] are indices.
    pub names: &'static [&'static str],
    /// For each name the field that gives it: an array, or a list that must not be empty.
    pub sources: &'static [usize],
}

/// One dynamic argument, or one field.
#[derive(Debug)]
pub struct FieldSpec {
    /// Its name.
    pub name: &'static str,
    /// Dtype and shape of each of its arrays; none for a nested struct, which has its own scope.
    pub leaf: Option<LeafSpec>,
    /// Whether it is a list of such arrays.
    pub is_list: bool,
}

/// What an array must be.
#[derive(Debug)]
pub struct LeafSpec {
    /// The dtypes allowed.
    pub dtype: DTypeSpec,
    /// The shapes allowed.
    pub shape: ShapeSpec,
    /// Whether its buffer is given to the program.
    pub donate: bool,
    /// The result that is written back into it, counted from 0, if one is.
    pub write_back: Option<usize>,
}

/// The dtypes that an argument allows.
#[derive(Clone, Copy, Debug)]
pub enum DTypeSpec {
    /// One.
    One(DType),
    /// A choice, the first being the default of host values.
    Choice(&'static [DType]),
    /// Every dtype.
    Any,
    /// `f16`, `bf16`, `f32`, `f64`.
    Float,
    /// The signed and unsigned integers.
    Int,
    /// That of another field, by index.
    Same(usize),
}

/// The shapes that an argument allows.
#[derive(Clone, Copy, Debug)]
pub enum ShapeSpec {
    /// Leading dimensions, then these.
    Dims(Lead, &'static [Dim]),
    /// That of another field, by index.
    Same(usize),
}

/// What may stand before the dimensions that a shape names.
#[derive(Clone, Copy, Debug)]
pub enum Lead {
    /// Nothing.
    None,
    /// Any dimensions: `..`.
    Any,
    /// The same dimensions wherever the name stands: `batch..`.
    Named(usize),
}

/// One dimension.
#[derive(Clone, Copy, Debug)]
pub enum Dim {
    /// This size.
    Fixed(i64),
    /// Any size.
    Any,
    /// The same size wherever the name stands.
    Captured(usize),
}

impl DTypeSpec {
    /// Whether the dtype is allowed; [`DTypeSpec::Same`] is resolved before.
    #[inline(always)]
    pub fn allows(self, dtype: DType) -> bool {
        match self {
            DTypeSpec::One(d) => d == dtype,
            DTypeSpec::Choice(list) => list.contains(&dtype),
            DTypeSpec::Any => true,
            DTypeSpec::Float => dtype.is_float(),
            DTypeSpec::Int => dtype.is_int(),
            DTypeSpec::Same(_) => false,
        }
    }

    /// The dtype of a group without device arrays, whose first host value has this type: that type if it is allowed,
    /// else the first one listed. The classes list no order: `float` gives `f32`, `int` gives `i32`.
    #[inline]
    pub fn for_host(self, host: DType) -> DType {
        match self {
            _ if self.allows(host) => host,
            DTypeSpec::One(d) => d,
            DTypeSpec::Choice(list) => list[0],
            DTypeSpec::Float | DTypeSpec::Any | DTypeSpec::Same(_) => DType::F32,
            DTypeSpec::Int => DType::I32,
        }
    }

    /// `f32`, `f32 or f64`, `f16, bf16, f32 or f64`; not of [`DTypeSpec::Same`].
    pub fn text(self) -> String {
        match self {
            DTypeSpec::One(d) => d.to_string(),
            DTypeSpec::Choice(list) => list_text(list.iter().copied()),
            DTypeSpec::Any => "any".into(),
            DTypeSpec::Float | DTypeSpec::Int => {
                list_text(DType::ALL.iter().copied().filter(|d| self.allows(*d)))
            }
            DTypeSpec::Same(_) => unreachable!("resolved before it is shown"),
        }
    }
}

#[cfg(feature = "convert")]
impl DTypeSpec {
    /// `f32`, `f32, f64 or i32`: a list of dtypes, not empty.
    pub(crate) fn text_of(dtypes: &[DType]) -> String {
        list_text(dtypes.iter().copied())
    }

    /// The dtypes that it allows, the default of host values first; empty if that is all. [`DTypeSpec::Same`] is resolved
    /// before.
    pub(crate) fn dtypes(&self) -> &[DType] {
        match self {
            DTypeSpec::One(dtype) => std::slice::from_ref(dtype),
            DTypeSpec::Choice(list) => list,
            DTypeSpec::Any | DTypeSpec::Same(_) => &[],
            DTypeSpec::Float => &[DType::F32, DType::F64, DType::F16, DType::BF16],
            DTypeSpec::Int => &[
                DType::I32,
                DType::I64,
                DType::I8,
                DType::I16,
                DType::U8,
                DType::U16,
                DType::U32,
                DType::U64,
            ],
        }
    }
}

/// `f32, f64 or i32`.
fn list_text(dtypes: impl Iterator<Item = DType>) -> String {
    let mut names: Vec<String> = dtypes.map(|dtype| dtype.to_string()).collect();
    let last = names.pop().unwrap_or_default();
    if names.is_empty() { last } else { format!("{} or {last}", names.join(", ")) }
}

/// `path$name`, or `name` alone at the top.
pub fn field_path(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}${name}") }
}

/// `path[[1]]` for the first item.
pub fn item_path(path: &str, i: usize) -> String {
    format!("{path}[[{}]]", i + 1)
}

impl Scope {
    /// Follows `dtype(…)` from field to field: the field that says the dtype, and what it says.
    pub fn dtype_root(&self, field: usize) -> (usize, DTypeSpec) {
        let leaf = self.fields[field].leaf.as_ref().expect("dtype(…) names an array, not a struct");
        match leaf.dtype {
            DTypeSpec::Same(other) => self.dtype_root(other),
            spec => (field, spec),
        }
    }
}
