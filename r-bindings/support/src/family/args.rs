//! The arguments of a call from R, one after the other.

use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;

use dispatch_runtime::family::Family;
use dispatch_runtime::key::StaticKey;
use dispatch_runtime::signature::{Lead, Scope, ShapeSpec};
use dispatch_runtime::tree::InputTree;
use dispatch_runtime::{Array, Aval, Device, Error};
use smallvec::SmallVec;

use super::converted::Conversions;
use super::input::Input;
use super::nested::{At, Leaf, Level};
use super::statics;
use crate::anvl;
use crate::data::Data;
use crate::fault::{Fault, Result};
use crate::ffi::*;
use crate::given::{converted_data, data_of, no_array, other_backend};
use crate::shared;

/// An argument of an exported family.
pub struct Formal {
    /// Its name.
    pub name: &'static str,
    /// What it is.
    pub kind: Kind,
}

/// What an argument is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// One array.
    Array,
    /// A list of arrays.
    List,
    /// A struct of arrays.
    Tree,
    /// A static value.
    Static,
}

/// The arguments of one call, which R keeps, handed out in the order of the declaration. `L` is what structs and lists
/// hold: arrays in a call, abstract values to compile ahead.
pub struct Args<'a, L> {
    pub(super) values: &'a [SEXP],
    pub(super) formals: &'static [Formal],
    pub(super) scope: &'static Scope,
    pub(super) family: &'a Family,
    pub(super) shared: Shared,
    pub(super) converted: &'a Conversions,
    first: Cell<Option<First>>,
    device: Option<Device>,
    next: Cell<usize>,
    leaf: PhantomData<fn() -> L>,
}

/// What a call asks `pjrtdispatch` by, looked up once.
#[derive(Clone, Copy)]
pub struct Shared {
    pub(super) room: &'static shared::Room,
    pub(super) table: &'static shared::abi::Table,
    known: anvl::Known,
}

impl Shared {
    #[inline]
    pub(super) fn new() -> Result<Shared> {
        let (room, table) = shared::joined()?;
        Ok(Shared { room, table, known: anvl::known() })
    }

    /// The array that a value is: an `AnvlArray`, or a buffer. None if it is something else. `path` is for messages.
    #[inline]
    pub(super) fn array_of(&self, x: SEXP, path: &dyn fmt::Display) -> Result<Option<Array>> {
        let (data, is_field) = match TYPEOF(x) {
            EXTPTRSXP => (x, false),
            VECSXP if Rf_isObject(x) != 0 => match self.known.fields(x)? {
                Some((data, backend)) => {
                    if !self.known.is_pjrt(backend)? {
                        return Err(other_backend(backend, path));
                    }
                    (data, true)
                }
                None => return Ok(None),
            },
            _ => return Ok(None),
        };
        match self.room.seen(self.table, data)? {
            Some(array) => Ok(Some(array)),
            None => Err(self.refused(data, path, is_field)),
        }
    }

    #[cold]
    fn refused(&self, data: SEXP, path: &dyn fmt::Display, is_field: bool) -> Fault {
        self.room.refused(self.table, data, &format!("{path}{}", if is_field { "$data" } else { "" }))
    }

    /// The first array in a nested list; what is wrong with one is said when it is read.
    fn array_in(&self, value: SEXP, depth: u32) -> Option<Array> {
        if !is_list(value) || depth == DEPTH {
            return self.array_of(value, &"").ok().flatten();
        }
        // SAFETY: the list has as many elements.
        (0..Rf_xlength(value)).find_map(|i| self.array_in(unsafe { VECTOR_ELT(value, i) }, depth + 1))
    }
}

/// The first array of a call. It is read before the others, because it says which client's family is called.
pub(super) struct First {
    pub array: Array,
    /// The argument that it is; none if it is part of one.
    at: Option<usize>,
}

/// The first array among the arguments.
// As what follows, compiled once, not with every family.
#[inline(never)]
pub(super) fn first_array(shared: &Shared, formals: &[Formal], values: &[SEXP]) -> Result<Option<First>> {
    for (i, (formal, &value)) in formals.iter().zip(values).enumerate() {
        let found = match formal.kind {
            Kind::Static => None,
            Kind::Array => shared.array_of(value, &formal.name)?.map(|array| First { array, at: Some(i) }),
            Kind::List | Kind::Tree => shared.array_in(value, 0).map(|array| First { array, at: None }),
        };
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}

/// How deep structs are looked through for the first array; none is declared so deep.
const DEPTH: u32 = 100;

/// Whether a value is a list without a class, and so a structure.
#[inline]
pub(super) fn is_list(x: SEXP) -> bool {
    // A list in a compact form makes its elements when they are looked at, and keeps none.
    TYPEOF(x) == VECSXP && Rf_isObject(x) == 0 && ALTREP(x) == 0
}

/// The rank that a field declares, if it is fixed.
pub(super) fn rank(scope: &Scope, field: usize) -> Option<usize> {
    match scope.fields[field].leaf.as_ref()?.shape {
        ShapeSpec::Dims(Lead::None, dims) => Some(dims.len()),
        ShapeSpec::Dims(..) => None,
        ShapeSpec::Same(other) => rank(scope, other),
    }
}

impl<'a, L> Args<'a, L> {
    #[inline]
    pub(super) fn new(
        values: &'a [SEXP],
        formals: &'static [Formal],
        scope: &'static Scope,
        family: &'a Family,
        shared: Shared,
        converted: &'a Conversions,
        first: Option<First>,
    ) -> Args<'a, L> {
        let device = first.as_ref().map(|first| first.array.device());
        Args {
            values,
            formals,
            scope,
            family,
            shared,
            converted,
            first: Cell::new(first),
            device,
            next: Cell::new(0),
            leaf: PhantomData,
        }
    }

    /// The next argument: which it is, its name, its value.
    #[inline]
    fn take(&self) -> (usize, &'static str, SEXP) {
        let i = self.next.get();
        self.next.set(i + 1);
        (i, self.formals[i].name, self.values[i])
    }

    /// An argument among the dynamic ones.
    fn at(&self, i: usize) -> At {
        let field = self.formals[..i].iter().filter(|formal| formal.kind != Kind::Static).count();
        At { scope: self.scope, field }
    }

    /// The value of a dynamic argument.
    pub(super) fn value_of(&self, field: usize) -> Option<SEXP> {
        let name = self.scope.fields[field].name;
        self.formals.iter().position(|formal| formal.name == name).map(|i| self.values[i])
    }

    /// Where data of this call is uploaded to.
    pub(super) fn device(&self) -> Result<Device> {
        match self.device {
            Some(device) if !self.family.moves() => Ok(device),
            _ => {
                let index = self.family.device_of(&self.family.place())? as usize;
                Ok(self
                    .family
                    .client()
                    .devices()
                    .nth(index)
                    .expect("a family's device is one of its client's"))
            }
        }
    }

    /// The next argument, a static value.
    #[inline]
    pub fn fixed<T: StaticKey>(&self) -> Result<T> {
        let (_, name, value) = self.take();
        statics::read(value, name)
    }

    /// The next argument, a struct.
    pub fn tree<T: InputTree<Leaf = L>>(&self) -> Result<T>
    where
        L: Leaf,
    {
        let (_, name, value) = self.take();
        T::build(Level::below(self, value, Path::new(name)))
    }

    /// The next argument, a list of arrays.
    pub fn list(&self) -> Result<Vec<L>>
    where
        L: Leaf,
    {
        let (i, name, value) = self.take();
        Level::top(self).elements(value, self.at(i), None, &Path::new(name))
    }

    /// The next argument, a list of as many arrays.
    pub fn exact<const N: usize>(&self) -> Result<[L; N]>
    where
        L: Leaf,
    {
        let (i, name, value) = self.take();
        let list = Level::top(self).elements(value, self.at(i), Some(N), &Path::new(name))?;
        Ok(dispatch_runtime::border::exactly(list))
    }
}

impl<'a> Args<'a, Array> {
    /// The next argument, one array or what becomes one.
    #[inline(never)]
    pub fn array(&self) -> Result<Input<'a>> {
        let (i, name, value) = self.take();
        match self.first.take() {
            Some(First { array, at: Some(at) }) if at == i => return Ok(Input::array(array)),
            other => self.first.set(other),
        }
        match self.shared.array_of(value, &name)? {
            Some(array) => Ok(Input::array(array)),
            None => self.data(i, name, value),
        }
    }

    #[inline(never)]
    fn data(&self, i: usize, name: &'static str, value: SEXP) -> Result<Input<'a>> {
        let at = self.at(i);
        let Some((data, shape)) = data_of(value, rank(self.scope, at.field))? else {
            let object = self.object(i, name, value)?;
            return object.ok_or_else(|| no_array(value, name));
        };
        // An `integer64` is data as it is, but what is written back into it is an object's.
        if self.back(at).is_some() && Rf_isObject(value) != 0 {
            if let Some(object) = self.object(i, name, value)? {
                return Ok(object);
            }
        }
        Ok(Input::data(data, shape))
    }

    /// Which result is written back into an argument, if one is.
    #[inline]
    fn back(&self, at: At) -> Option<usize> {
        self.scope.fields[at.field].leaf.as_ref()?.write_back
    }

    /// An object that a converter makes an array of; none if there is no converter for it. What it gave is kept until the call
    /// has ended.
    #[cold]
    fn object(&self, i: usize, name: &'static str, value: SEXP) -> Result<Option<Input<'a>>> {
        let at = self.at(i);
        let back = self.back(at);
        // Data of R is an object only if there is a converter for it.
        let is_data = Data::is_one(value);
        if back.is_some() && !is_data {
            self.expect_once(i, name, value)?;
        }
        let original = value;
        let Some(value) = Level::top(self).try_converted(value, at, &Path::new(name))? else {
            return Ok(None);
        };
        if back.is_some() && is_data {
            self.expect_once(i, name, original)?;
        }
        if let Some(result) = back {
            self.converted.written_back(i, result);
        }
        match self.shared.array_of(value, &name)? {
            Some(array) => Ok(Some(Input::array(array))),
            None => match converted_data(value, rank(self.scope, at.field))? {
                Some((data, shape)) => Ok(Some(Input::data(data, shape))),
                None => Err(self.converted.not_known()),
            },
        }
    }
}

impl<L> Args<'_, L> {
    /// Whether a result is written back into any argument.
    #[cold]
    pub(super) fn writes_back(&self) -> bool {
        self.scope
            .fields
            .iter()
            .any(|field| field.leaf.as_ref().is_some_and(|leaf| leaf.write_back.is_some()))
    }

    /// An error if an object that a result is written back into is passed a second time.
    #[cold]
    fn expect_once(&self, i: usize, name: &'static str, value: SEXP) -> Result<()> {
        let others = self.formals.iter().zip(self.values).enumerate().filter(|&(j, _)| j != i);
        let other = others
            .map(|(_, other)| other)
            .find(|(formal, other)| formal.kind != Kind::Static && holds(**other, value, 0));
        let Some((other, _)) = other else { return Ok(()) };
        let reason =
            format!("a result is written back into the object, which is passed as `{}` too", other.name);
        Err(Error::Converter { argument: name.into(), reason }.into())
    }
}

/// Whether a value is an object, or a list in which it is.
fn holds(value: SEXP, object: SEXP, depth: u32) -> bool {
    if !is_list(value) || depth == DEPTH {
        return value == object;
    }
    // SAFETY: the list has as many elements.
    (0..Rf_xlength(value)).any(|i| holds(unsafe { VECTOR_ELT(value, i) }, object, depth + 1))
}

impl Args<'_, Aval> {
    /// The next argument, the dtype and the shape of one array.
    #[inline(never)]
    pub fn array(&self) -> Result<Aval> {
        let (i, name, value) = self.take();
        Aval::read(&Level::top(self), value, self.at(i), &Path::new(name))
    }
}

/// Where a value is in the arguments, for messages.
#[derive(Clone)]
pub struct Path {
    name: &'static str,
    steps: SmallVec<[Step; 4]>,
}

#[derive(Clone, Copy)]
enum Step {
    Field(&'static str),
    Item(usize),
}

impl Path {
    #[inline]
    pub fn new(name: &'static str) -> Path {
        Path { name, steps: SmallVec::new() }
    }

    pub fn field(&self, name: &'static str) -> Path {
        self.with(Step::Field(name))
    }

    pub fn item(&self, i: usize) -> Path {
        self.with(Step::Item(i))
    }

    fn with(&self, step: Step) -> Path {
        let mut path = self.clone();
        path.steps.push(step);
        path
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)?;
        self.steps.iter().try_for_each(|step| match step {
            Step::Field(name) => write!(f, "${name}"),
            Step::Item(i) => write!(f, "[[{}]]", i + 1),
        })
    }
}
