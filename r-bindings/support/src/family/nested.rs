//! Lists of R as structs and lists of arrays.

use dispatch_runtime::border::TreeSource;
use dispatch_runtime::signature::Scope;
use dispatch_runtime::{Array, Aval, DType};

use super::args::{Args, Path, Shared, is_list, rank};
use super::converted::Wanted;
use super::input::check;
use super::sizes;
use crate::arg::arg;
use crate::data::{Shape, list_names};
use crate::describe;
use crate::fault::{Fault, Result};
use crate::ffi::*;
use crate::given::{converted_data, data_of, host_dtype, no_array};
use crate::{Check, upload};

/// What structs and lists of a call hold: arrays, or abstract values.
pub trait Leaf: dispatch_runtime::leaf::Leaf + Sized {
    /// Reads the value for a field, or for one element of it.
    #[doc(hidden)]
    fn read(level: &Level<'_, '_, Self>, value: SEXP, at: At, path: &Path) -> Result<Self>;
}

/// A field of a scope.
#[derive(Clone, Copy)]
pub struct At {
    pub scope: &'static Scope,
    pub field: usize,
}

/// Where fields are found: in a list of R that is a struct, or among the arguments themselves.
pub struct Level<'b, 'a, L> {
    args: &'b Args<'a, L>,
    /// None at the top.
    list: Option<SEXP>,
    path: Path,
}

impl<'b, 'a, L: Leaf> Level<'b, 'a, L> {
    /// The arguments themselves.
    pub fn top(args: &'b Args<'a, L>) -> Self {
        Level { args, list: None, path: Path::new("") }
    }

    /// An argument that is a struct.
    pub fn below(args: &'b Args<'a, L>, list: SEXP, path: Path) -> Self {
        Level { args, list: Some(list), path }
    }

    fn value(&self, at: At) -> Option<SEXP> {
        match self.list {
            Some(list) => element(list, at.scope.fields[at.field].name, at.field),
            None => self.args.value_of(at.field),
        }
    }

    /// The value of a field of a struct that was entered, and its path.
    fn field(&self, at: At) -> Result<(SEXP, Path)> {
        let name = at.scope.fields[at.field].name;
        let path = self.path.field(name);
        match self.value(at) {
            Some(value) => Ok((value, path)),
            // Only if R code has changed the list in place.
            None => Err(Fault::argument("value", path.to_string(), "an element", "none")),
        }
    }

    /// A list of arrays, of this length if it is fixed.
    pub fn elements(&self, value: SEXP, at: At, len: Option<usize>, path: &Path) -> Result<Vec<L>> {
        let wrong = |got: String| {
            let expected = match len {
                Some(1) => "a list of 1 array".to_owned(),
                Some(n) => format!("a list of {n} arrays"),
                None => "a list of arrays".into(),
            };
            Fault::argument("type", path.to_string(), expected, got)
        };
        if !is_list(value) {
            return Err(wrong(describe::value(value)));
        }
        let length = Rf_xlength(value) as usize;
        if len.is_some_and(|len| len != length) {
            return Err(wrong(format!("one of length {length}")));
        }
        // SAFETY: the list has as many elements.
        (0..length)
            .map(|i| L::read(self, unsafe { VECTOR_ELT(value, i as Length) }, at, &path.item(i)))
            .collect()
    }

    /// The dtype at which data of this field is uploaded: that of the first array of its group, else as for a host value.
    fn dtype(&self, at: At) -> Result<DType> {
        let (mut host, (_, allowed)) = (None, at.scope.dtype_root(at.field));
        let device = self.device_dtype(at, &mut host)?;
        Ok(device.unwrap_or_else(|| allowed.for_host(host.unwrap_or(DType::F32))))
    }

    /// The dtype of the first array of this field's group, if there is one; of data it notes the first.
    fn device_dtype(&self, at: At, host: &mut Option<DType>) -> Result<Option<DType>> {
        let (root, _) = at.scope.dtype_root(at.field);
        for (field, spec) in at.scope.fields.iter().enumerate() {
            let is_member = spec.leaf.is_some() && at.scope.dtype_root(field).0 == root;
            let Some(value) = is_member.then(|| self.value(At { field, ..at })).flatten() else { continue };
            match is_list(value) && !is_described(value) {
                false => {
                    if let Some(dtype) = device_dtype(&self.args.shared, value, host)? {
                        return Ok(Some(dtype));
                    }
                }
                true => {
                    for i in 0..Rf_xlength(value) {
                        // SAFETY: the list has the element.
                        let element = unsafe { VECTOR_ELT(value, i) };
                        if let Some(dtype) = device_dtype(&self.args.shared, element, host)? {
                            return Ok(Some(dtype));
                        }
                    }
                }
            }
        }
        Ok(None)
    }

    /// What a converter makes of a value that is no array and no data. It is kept until the call has ended.
    #[cold]
    pub(super) fn converted(&self, value: SEXP, at: At, path: &Path) -> Result<SEXP> {
        self.try_converted(value, at, path)?.ok_or_else(|| no_array(value, &path.to_string()))
    }

    /// What a converter makes of a value, if there is one for it.
    #[cold]
    pub(super) fn try_converted(&self, value: SEXP, at: At, path: &Path) -> Result<Option<SEXP>> {
        let dtype = self.device_dtype(at, &mut None)?;
        let shape = sizes::known(at.scope, at.field, &|field| self.shape(At { field, ..at }))?;
        let wanted = Wanted::of(at.scope, at.field, dtype, shape, self.args.writes_back());
        self.args.converted.convert(value, &wanted, path.to_string(), &mut || self.args.device())
    }

    /// The shape of a field that is an array or plain data, or of the first such one in a list.
    fn shape(&self, at: At) -> Result<Option<Shape>> {
        let (Some(value), rank) = (self.value(at), rank(at.scope, at.field)) else { return Ok(None) };
        if !is_list(value) || is_described(value) {
            return shape(&self.args.shared, value, rank);
        }
        for i in 0..Rf_xlength(value) {
            // SAFETY: the list has the element.
            let element = unsafe { VECTOR_ELT(value, i) };
            if let Some(shape) = shape(&self.args.shared, element, rank)? {
                return Ok(Some(shape));
            }
        }
        Ok(None)
    }
}

/// The shape of an array, or of data without a class: of other data a converter may make another one.
fn shape(shared: &Shared, value: SEXP, rank: Option<usize>) -> Result<Option<Shape>> {
    // What is wrong with an array is said when it is read.
    if let Ok(Some(array)) = shared.array_of(value, &"") {
        return Ok(Some(array.shape().into()));
    }
    if is_described(value) {
        return Ok(described(value, "").ok().map(|aval| aval.shape().into()));
    }
    match Rf_isObject(value) {
        0 => Ok(data_of(value, rank)?.map(|(_, shape)| shape)),
        _ => Ok(None),
    }
}

/// The dtype of an array; of data it notes the first.
fn device_dtype(shared: &Shared, value: SEXP, host: &mut Option<DType>) -> Result<Option<DType>> {
    // What is wrong with an array is said when it is read.
    if let Ok(Some(array)) = shared.array_of(value, &"") {
        return Ok(Some(array.dtype()));
    }
    if is_described(value) {
        return Ok(described(value, "").ok().map(|aval| aval.dtype()));
    }
    if let Some((data, _)) = data_of(value, None)? {
        host.get_or_insert(host_dtype(&data));
    }
    Ok(None)
}

impl Leaf for Array {
    fn read(level: &Level<'_, '_, Array>, value: SEXP, at: At, path: &Path) -> Result<Array> {
        if let Some(array) = level.args.shared.array_of(value, path)? {
            return Ok(array);
        }
        let rank = rank(at.scope, at.field);
        let (data, shape) = match data_of(value, rank)? {
            Some(data) => data,
            None => {
                let value = level.converted(value, at, path)?;
                if let Some(array) = level.args.shared.array_of(value, path)? {
                    return Ok(array);
                }
                converted_data(value, rank)?.ok_or_else(|| level.args.converted.not_known())?
            }
        };
        let (dtype, path) = (level.dtype(at)?, path.to_string());
        check(&data, dtype, &path)?;
        upload::upload_data(data, dtype, &shape, level.args.device()?, Check::Nothing, &path)
    }
}

impl Leaf for Aval {
    fn read(level: &Level<'_, '_, Aval>, value: SEXP, at: At, path: &Path) -> Result<Aval> {
        if let Some(array) = level.args.shared.array_of(value, path)? {
            return Ok(array.aval());
        }
        if is_described(value) {
            return described(value, &path.to_string());
        }
        let rank = rank(at.scope, at.field);
        let (data, shape) = match data_of(value, rank)? {
            Some(data) => data,
            None => {
                let value = level.converted(value, at, path)?;
                if let Some(array) = level.args.shared.array_of(value, path)? {
                    return Ok(array.aval());
                }
                converted_data(value, rank)?.ok_or_else(|| level.args.converted.not_known())?
            }
        };
        let dtype = level.dtype(at)?;
        check(&data, dtype, &path.to_string())?;
        Ok(Aval::new(dtype, &*shape))
    }
}

/// Whether a value is meant to describe an array, as `list(dtype =, shape =)` does.
fn is_described(value: SEXP) -> bool {
    is_list(value) && ["dtype", "shape"].into_iter().any(|name| element(value, name, 0).is_some())
}

/// The array that `list(dtype =, shape =)` describes.
fn described(value: SEXP, path: &str) -> Result<Aval> {
    let expected = "list(dtype =, shape =) to describe an array";
    let wrong = |got: &str| Fault::argument("value", path, expected, got);
    let dtype = element(value, "dtype", 0).ok_or_else(|| wrong("one without `dtype`"))?;
    let shape = element(value, "shape", 1).ok_or_else(|| wrong("one without `shape`"))?;
    if Rf_xlength(value) != 2 {
        return Err(wrong(&format!("a list of length {}", Rf_xlength(value))));
    }
    let (dtype, shape) = (savvy::Sexp(dtype), savvy::Sexp(shape));
    let (dtype_path, shape_path) = (format!("{path}$dtype"), format!("{path}$shape"));
    let dtype = arg(&dtype, &dtype_path).dtype()?;
    let shape = arg(&shape, &shape_path).shape()?;
    Aval::try_new(dtype, shape).ok_or_else(|| {
        Fault::argument("value", shape_path.as_str(), "the shape of an array that can be", "a larger one")
    })
}

/// The element of a list with this name, in ASCII; `at` is where it usually is.
fn element(list: SEXP, name: &str, at: usize) -> Option<SEXP> {
    // SAFETY: the object is a list, which keeps its names.
    let names = unsafe { list_names(list) };
    let is = |i: Length| is_name(names, i, name);
    let length = Rf_xlength(list);
    let found = Some(at as Length).filter(|&i| is(i)).or_else(|| (0..length).find(|&i| is(i)))?;
    // SAFETY: the list has as many elements as names.
    Some(unsafe { VECTOR_ELT(list, found) })
}

/// Whether a name of a list is this one.
fn is_name(names: SEXP, i: Length, name: &str) -> bool {
    // SAFETY: the vector has the element, which ends in NUL, and names in a compact form keep what they make.
    TYPEOF(names) == STRSXP
        && i < Rf_xlength(names)
        && ALTREP(names) == 0
        && unsafe { std::ffi::CStr::from_ptr(R_CHAR(STRING_ELT(names, i))) }.to_bytes() == name.as_bytes()
}

impl<L: Leaf> TreeSource<L> for Level<'_, '_, L> {
    type Error = Fault;

    fn enter(&self, scope: &'static Scope) -> Result<()> {
        let (list, count) = (self.list.unwrap_or(nil()), scope.fields.len());
        let is_complete = is_list(list)
            && Rf_xlength(list) as usize == count
            && scope.fields.iter().enumerate().all(|(i, field)| element(list, field.name, i).is_some());
        if is_complete { Ok(()) } else { Err(self.incomplete(scope, list)) }
    }

    fn leaf(&self, scope: &'static Scope, field: usize) -> Result<L> {
        let at = At { scope, field };
        let (value, path) = self.field(at)?;
        L::read(self, value, at, &path)
    }

    fn list(&self, scope: &'static Scope, field: usize, len: Option<usize>) -> Result<Vec<L>> {
        let at = At { scope, field };
        let (value, path) = self.field(at)?;
        self.elements(value, at, len, &path)
    }

    fn nested(&self, scope: &'static Scope, field: usize) -> Result<Self> {
        let (value, path) = self.field(At { scope, field })?;
        Ok(Level { args: self.args, list: Some(value), path })
    }
}

impl<L: Leaf> Level<'_, '_, L> {
    /// Why a value is not the list that a struct is.
    #[cold]
    fn incomplete(&self, scope: &Scope, list: SEXP) -> Fault {
        let quoted = |name: &str| format!("`{name}`");
        let wanted: Vec<String> = scope.fields.iter().map(|field| quoted(field.name)).collect();
        let wrong = |got: String| {
            let expected = format!("a list with the elements {}", wanted.join(", "));
            Fault::argument("type", self.path.to_string(), expected, got)
        };
        if !is_list(list) {
            return wrong(describe::value(list));
        }
        // SAFETY: the object is a list.
        let names = unsafe { list_names(list) };
        let given: Vec<Option<String>> = (0..Rf_xlength(list)).map(|i| describe::text(names, i)).collect();
        let is_wanted = |name: &str| scope.fields.iter().any(|field| field.name == name);
        let missing = wanted.iter().find(|name| !given.iter().flatten().any(|given| quoted(given) == **name));
        let more = given.iter().flatten().find(|name| !name.is_empty() && !is_wanted(name));
        match (missing, more) {
            _ if given.iter().flatten().all(String::is_empty) => match given.len() {
                0 => wrong("an empty list".into()),
                n => wrong(format!("a list of length {n} without names")),
            },
            (Some(missing), Some(more)) => wrong(format!("one with `{more}` and without {missing}")),
            (Some(missing), None) => wrong(format!("one without {missing}")),
            (None, Some(more)) => wrong(format!("one with `{more}` too")),
            (None, None) => wrong("one where a name is missing, or there twice".into()),
        }
    }
}
