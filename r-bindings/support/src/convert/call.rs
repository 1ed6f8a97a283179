//! One object: the converter for it is chosen, called, and what it gives is checked.

use std::sync::Arc;

use dispatch_runtime::convert::{CopyPolicy, Expected, Registry};
use dispatch_runtime::{Array, DType, Device, Error};

use super::chosen;
use super::functions::Function;
use super::object::Object;
use super::registry::{self, Entry, Levels, Scope};
use crate::anvl;
use crate::data::{Data, Shape, Type, shape_of};
use crate::describe;
use crate::fault::{Fault, Result};
use crate::ffi::*;
use crate::root::Root;
use crate::upload;
use crate::{buffer, shared, view};

/// What becomes of an argument beside being read.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Purpose {
    /// A result is written back into the object, which must not be read-only then.
    pub writes_back: bool,
    /// A program may write into the array, which must not be the object's own memory then.
    pub donated: bool,
    /// The consumer is no device, but takes data of R.
    pub wants_data: bool,
    /// The memory of the host that the converter gives is compared with that of other arguments.
    pub keeps_view: bool,
}

/// What came of an object, kept as long as this lives.
pub(crate) struct Converted {
    value: Root,
    /// The list of the converter: it may be removed while a call goes on.
    converter: Root,
    /// Whether R data of one element without dimensions is a scalar, and no vector.
    is_scalar: bool,
    /// The view that the value was made of, if that is asked for.
    view: Option<Root>,
}

/// What a converter gave.
pub(crate) enum Given<'a> {
    /// A buffer.
    Buffer,
    /// An `AnvlArray` with its fields `$data` and `$backend`.
    Array(SEXP, SEXP),
    /// R's data, and its sizes: one without dimensions has one.
    Data(Data<'a>, Shape),
}

impl Converted {
    pub(super) fn new(value: Root, converter: Root, view: Option<Root>) -> Converted {
        Converted { value, converter, is_scalar: false, view }
    }

    /// The same with a value that was made of that of the converter.
    pub fn in_place(self, value: Root) -> Converted {
        Converted { value, ..self }
    }

    /// The view that the value was made of, or `NULL`.
    pub(super) fn view(&self) -> SEXP {
        self.view.as_ref().map_or_else(nil, Root::get)
    }

    /// Whether the memory that this was made of is, or has a part of, that of another one.
    pub fn shares_memory(&self, other: &Converted) -> Result<bool> {
        let (Some(own), Some(others)) = (&self.view, &other.view) else { return Ok(false) };
        match shared::room() {
            // SAFETY: both are views that `convert` gave, which the roots keep.
            Some((_, table)) => Ok(unsafe { (table.same_memory)(own.get(), others.get()) } == 1),
            None => view::same_memory(own.get(), others.get()),
        }
    }

    /// The value.
    pub fn get(&self) -> SEXP {
        self.value.get()
    }

    /// The converter's description.
    pub fn name(&self) -> String {
        Function::description(self.converter.get())
    }

    /// The converter, for [`convert_out`].
    pub fn converter(&self) -> SEXP {
        self.converter.get()
    }

    /// What the value is, which was checked when it came; `path` is that of the argument.
    pub fn given(&self, path: impl FnOnce() -> String) -> Result<Given<'_>> {
        match given(self.get())?.ok_or_else(|| self.not_known(&path()))? {
            Given::Data(data, _) if self.is_scalar => Ok(Given::Data(data, Shape::new())),
            given => Ok(given),
        }
    }

    /// The error that the value is no longer what it was when it was checked.
    #[cold]
    pub fn not_known(&self, path: &str) -> Fault {
        let why = format!("R code has changed what the converter `{}` gave", self.name());
        Expected::new(path).error(why).into()
    }

    /// An error that concerns this argument says where the value came from.
    #[cold]
    pub fn blame(&self, fault: Fault, path: &str) -> Fault {
        blame(fault, path, &self.name())
    }
}

/// An error that concerns this argument, or a part of it, says which converter gave the value.
#[cold]
fn blame(fault: Fault, path: &str, name: &str) -> Fault {
    let concerns = |argument: &str| {
        argument.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('$'))
    };
    match fault {
        Fault::Condition(mut condition) if condition.argument.as_deref().is_some_and(concerns) => {
            if !condition.message.contains(&format!("`{name}`")) {
                condition.message = format!("{}, given by the converter `{name}`", condition.message);
            }
            Fault::Condition(condition)
        }
        fault => fault,
    }
}

/// What a value is, if it is something that a converter may give.
fn given<'a>(x: SEXP) -> Result<Option<Given<'a>>> {
    match TYPEOF(x) {
        EXTPTRSXP => Ok(buffer::is(x).then_some(Given::Buffer)),
        VECSXP if Rf_isObject(x) != 0 => {
            Ok(anvl::atoms()?.fields(x)?.map(|(data, backend)| Given::Array(data, backend)))
        }
        _ => {
            // SAFETY: the caller keeps the value; it is a vector.
            let Some(data) = (unsafe { Data::read(x)? }) else { return Ok(None) };
            // SAFETY: as above.
            Ok(Some(Given::Data(data, unsafe { shape_of(x)? })))
        }
    }
}

/// What a converter makes of an object, which the caller keeps; none if there is no converter for it. `place` is asked for the
/// device if there is something to be brought to one; `scope` are the converters of a dispatcher.
pub(crate) fn convert(
    x: SEXP,
    expected: &Expected<'_>,
    place: &mut dyn FnMut() -> Result<Device>,
    scope: Option<&Scope>,
) -> Result<Option<Converted>> {
    convert_for(x, expected, Purpose::default(), place, scope)
}

/// [`convert`] of an argument for which more is done than reading it.
#[cold]
pub(crate) fn convert_for(
    x: SEXP,
    expected: &Expected<'_>,
    purpose: Purpose,
    place: &mut dyn FnMut() -> Result<Device>,
    scope: Option<&Scope>,
) -> Result<Option<Converted>> {
    if let Some((room, table)) = shared::room() {
        return room.convert(table, x, expected, purpose, place()?);
    }
    let levels = registry::levels(scope)?;
    if let Levels::Idle = levels {
        return Ok(None);
    }
    let Some(entry) = choose(x, &levels, expected.path)? else { return Ok(None) };
    let policy = registry::copy().unwrap_or(entry.copy());
    let expected = expected.copy(policy);
    // Before the function runs, which may remove its converter.
    let converter = Root::new(entry.converter().list)?;
    let value = Function::convert_in(converter.get(), x, &expected)?;
    if purpose.writes_back
        && let Some(what) = view::why_not_written(value.get())?
    {
        let why = format!("gave {what}, and a result is written back into it");
        return Err(expected.error(format!("the converter `{}` {why}", entry.description())).into());
    }
    let view = match purpose.keeps_view && view::is(value.get()) {
        true => Some(Root::new(value.get())?),
        false => None,
    };
    let is_scalar = purpose.wants_data && view::is_scalar(value.get())?;
    let (value, copied) = checked(value, &expected, purpose, entry.description(), place)
        .map_err(|fault| blame(fault, expected.path, entry.description()))?;
    entry.count(copied);
    Ok(Some(Converted { value, converter, is_scalar, view }))
}

/// The converter for an object.
fn choose(x: SEXP, levels: &Levels, path: &str) -> Result<Option<Arc<Entry>>> {
    let object = || Object::of(x, path);
    let failed = |object: &Object<'_>, error: Error| object.failed().unwrap_or_else(|| error.into());
    match levels {
        Levels::Idle => Ok(None),
        Levels::Several(levels) => {
            let object = object()?;
            Registry::choose_from(levels, &object, path).map_err(|error| failed(&object, error))
        }
        Levels::Global(global) => {
            if let Some(entry) = chosen::again(x, global) {
                return Ok(Some(entry));
            }
            let (object, version) = (object()?, global.version());
            let entry = global.choose(&object, path).map_err(|error| failed(&object, error))?;
            if let Some(entry) = &entry {
                chosen::remember(x, version, entry)?;
            }
            Ok(entry)
        }
    }
}

/// What the error of an object that no converter is for ends with: why there is none, and those that are registered. Empty
/// where there are none at all and the object has no class.
#[cold]
pub(crate) fn none_for(x: SEXP, scope: Option<&Scope>) -> Result<String> {
    if let Some((room, table)) = shared::room() {
        return room.no_converter(table, x);
    }
    let levels = registry::all_levels(scope)?;
    if Rf_isObject(x) == 0 && levels.iter().all(Scope::is_empty) {
        return Ok(String::new());
    }
    let object = Object::of(x, "")?;
    Ok(format!(": {}", Registry::reason_none(&levels, &object)))
}

/// What a converter gave, if a consumer can go on with it; and how many bytes of it are copied on the host.
fn checked(
    mut value: Root,
    expected: &Expected<'_>,
    purpose: Purpose,
    converter: &str,
    place: &mut dyn FnMut() -> Result<Device>,
) -> Result<(Root, u64)> {
    let mut before = 0;
    if purpose.wants_data && view::is(value.get()) {
        (value, before) = view::to_data(value.get(), expected, converter)?;
    }
    if view::is(value.get()) {
        let changes = match purpose {
            Purpose { donated: true, .. } => Some("a program may write into this argument"),
            Purpose { writes_back: true, .. } => Some("a result is written back into this argument"),
            _ => None,
        };
        let policy = match (changes, expected.copy) {
            (Some(why), CopyPolicy::Never) => {
                let why = format!("may not copy, but {why}");
                return Err(expected.error(format!("the converter `{converter}` {why}")).into());
            }
            (Some(_), _) => CopyPolicy::Always,
            (None, policy) => policy,
        };
        let (buffer, copied) = view::to_buffer(value.get(), expected, converter, policy, place()?)?;
        return Ok((Root::new(buffer)?, copied));
    }
    match given(value.get())? {
        Some(Given::Buffer) => {
            let array = buffer::get_sexp(value.get(), expected.path)?;
            check_array(&array, expected, converter)?;
            Ok((value, 0))
        }
        Some(Given::Array(data, backend)) => {
            if anvl::known().is_pjrt(backend)? {
                let array = match buffer::is(data) {
                    true => buffer::get_sexp(data, expected.path)?,
                    false => buffer::get_sexp(data, &format!("{}$data", expected.path))?,
                };
                check_array(&array, expected, converter)?;
            }
            Ok((value, 0))
        }
        Some(Given::Data(data, shape)) => {
            check_data(value.get(), &data, &shape, expected, converter)?;
            let bytes = data.len() as u64 * element(&data);
            Ok((value, before + bytes))
        }
        None => {
            let wanted = "a logical, integer, double, integer64 or complex vector or array, a PJRTBuffer, an AnvlArray, or a PJRTHostView";
            let mut got = describe::value(value.get());
            if is_dead(value.get()) {
                got += " that was released or is from another session";
            }
            Err(expected.error(format!("the converter `{converter}` gave {got}, expected {wanted}")).into())
        }
    }
}

/// Whether a value is a handle of something that is no more.
fn is_dead(x: SEXP) -> bool {
    // SAFETY: the type is that of external pointers.
    TYPEOF(x) == EXTPTRSXP && unsafe { R_ExternalPtrAddr(x) }.is_null()
}

fn check_array(array: &Array, expected: &Expected<'_>, converter: &str) -> Result<()> {
    if array.is_donated() {
        return Err(expected
            .error(format!(
                "the converter `{converter}` gave a buffer that was donated to a program and is gone"
            ))
            .into());
    }
    if !expected.allows(array.dtype()) {
        return Err(wrong(expected, converter, &format!("dtype {}", array.dtype())));
    }
    check_shape(array.shape(), expected, converter)
}

fn check_data(
    x: SEXP,
    data: &Data<'_>,
    shape: &Shape,
    expected: &Expected<'_>,
    converter: &str,
) -> Result<()> {
    if expected.copy == CopyPolicy::Never {
        let why = "which is copied to the device, and it may not copy";
        return Err(expected.error(format!("the converter `{converter}` gave data of R, {why}")).into());
    }
    let possible = |&dtype: &DType| upload::allowed(data, dtype);
    if !expected.dtypes.is_empty() && !expected.dtypes.iter().any(possible) {
        return Err(wrong(expected, converter, &format!("{} data", data.name())));
    }
    // Of one element without dimensions the signature says whether it is a scalar.
    let is_scalar = expected.shape.is_some_and(<[_]>::is_empty) && data.len() == 1 && has_no_dim(x);
    if is_scalar { Ok(()) } else { check_shape(shape, expected, converter) }
}

fn has_no_dim(x: SEXP) -> bool {
    // SAFETY: reading an attribute of a vector.
    unsafe { TYPEOF(Rf_getAttrib(x, R_DimSymbol)) != INTSXP }
}

fn check_shape(shape: &[i64], expected: &Expected<'_>, converter: &str) -> Result<()> {
    let Some(wanted) = expected.shape else { return Ok(()) };
    let fits = shape.len() == wanted.len()
        && shape.iter().zip(wanted).all(|(&n, wanted)| wanted.is_none_or(|wanted| wanted == n));
    if fits {
        return Ok(());
    }
    Err(wrong(expected, converter, &format!("shape [{}]", describe::first(shape, ","))))
}

#[cold]
fn wrong(expected: &Expected<'_>, converter: &str, got: &str) -> Fault {
    expected.error(format!("the converter `{converter}` gave {got}, expected {expected}")).into()
}

/// The bytes of an element.
fn element(data: &Data<'_>) -> u64 {
    match data.kind() {
        Type::Logical | Type::Integer => 4,
        Type::Double | Type::Integer64 => 8,
        Type::Complex => 16,
    }
}

/// What a converter makes of a result for the argument that it converted; `NULL` if it has no function for that. `about` are the
/// names of the function and of the argument, and the argument's position, counted from 0.
pub(crate) fn convert_out(
    converter: SEXP,
    result: SEXP,
    original: SEXP,
    about: (&str, &str, usize),
) -> Result<Root> {
    if let Some((room, table)) = shared::room() {
        return room.convert_out(table, converter, result, original, about);
    }
    if !Function::has_out(converter) {
        return Root::new(nil());
    }
    Function::convert_out(converter, result, original, about)
}
