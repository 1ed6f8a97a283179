//! The inputs of a run.

use dispatch_runtime::{Array, Aval, Device, Error};
use smallvec::SmallVec;

use super::Skeleton;
use crate::arg::Arg;
use crate::describe;
use crate::fault::{Fault, Result};
use crate::ffi::*;
use crate::given::{array_of, data_of, no_array};
use crate::slot;

/// As many as most skeletons take, without an allocation.
pub(super) type Few<T> = SmallVec<[T; 8]>;

/// An array for each slot of a skeleton, in order.
pub(super) fn for_slots(skeleton: &Skeleton, given: Arg<'_>) -> Result<Few<Array>> {
    let values = given.elements()?;
    let names: Few<Option<String>> = names(given.get(), values.len());
    let slots = skeleton.inputs();
    let order = places(skeleton, &names)?;
    let mut arrays = Few::new();
    let slots = skeleton.names().zip(slots).zip(skeleton.donated());
    for (((slot, wanted), donated), place) in slots.zip(order) {
        let path = slot.map_or_else(|| in_order(place), str::to_owned);
        arrays.push(one(values[place], (wanted, donated), &path, skeleton.device())?);
    }
    Ok(arrays)
}

/// The path of what has no name.
fn in_order(place: usize) -> String {
    format!("...[[{}]]", place + 1)
}

/// The names of the elements of a list, none where one has none.
fn names(list: SEXP, length: usize) -> Few<Option<String>> {
    // SAFETY: reading the names of a list does not allocate.
    let names = unsafe { Rf_getAttrib(list, R_NamesSymbol) };
    (0..length as Length).map(|i| describe::text(names, i).filter(|name| !name.is_empty())).collect()
}

/// For each slot, which of the inputs it gets: the one with its name, else the next one without a name.
fn places(skeleton: &Skeleton, given: &[Option<String>]) -> Result<Few<usize>> {
    let count = skeleton.inputs().len();
    let mut places: Few<Option<usize>> = smallvec::smallvec![None; count];
    for (i, name) in given.iter().enumerate() {
        let Some(name) = name else { continue };
        let slot =
            skeleton.names().position(|slot| slot == Some(name)).ok_or_else(|| unknown(skeleton, name))?;
        if places[slot].replace(i).is_some() {
            return Err(Fault::argument("argument", name, "one input", "two of this name"));
        }
    }
    let mut unnamed = (0..given.len()).filter(|&i| given[i].is_none());
    for place in &mut places {
        if place.is_none() {
            *place = unnamed.next();
        }
    }
    match places.iter().position(Option::is_none) {
        None if unnamed.next().is_none() => Ok(places.into_iter().flatten().collect()),
        missing => Err(wrong_count(skeleton, given.len(), missing)),
    }
}

#[cold]
fn unknown(skeleton: &Skeleton, name: &str) -> Fault {
    let slots: Vec<String> = skeleton.names().flatten().map(|slot| format!("`{slot}`")).collect();
    let slots = match slots.as_slice() {
        [] => "slots without names".to_owned(),
        [slot] => format!("the slot {slot}"),
        slots => format!("the slots {}", slots.join(", ")),
    };
    Fault::new("argument", format!("unused argument `{name}`: the skeleton has {slots}"))
}

#[cold]
fn wrong_count(skeleton: &Skeleton, got: usize, missing: Option<usize>) -> Fault {
    let slots = skeleton.inputs();
    let detail = match missing {
        Some(slot) => {
            let name = skeleton.names().nth(slot).flatten().map(|name| format!("`{name}`"));
            let name = name.unwrap_or_else(|| (slot + 1).to_string());
            format!("; argument {name} is missing, {}", describe::aval(&slots[slot]))
        }
        None => format!("; argument {} is one too many", slots.len() + 1),
    };
    Error::ArgumentCount { callee: "the skeleton".into(), expected: slots.len(), got, detail }.into()
}

/// The array for a slot; what it is compared with comes later, but for R's data, which is uploaded here.
fn one(value: SEXP, (wanted, donated): (&Aval, bool), path: &str, device: Device) -> Result<Array> {
    if let Some(array) = array_of(value, path)? {
        return Ok(array);
    }
    let Some((data, shape)) = data_of(value, Some(wanted.rank()))? else {
        let made = slot::object(value, Some(wanted), donated, path, device)?;
        return made.ok_or_else(|| no_array(value, path));
    };
    slot::bare(data, &shape, wanted, path, device)
}

/// The arrays of a call that no slot describes, in order. R's data is uploaded at the dtype that has all its values.
pub(super) fn in_any_layout(given: Arg<'_>, device: Device) -> Result<Few<Array>> {
    let values = given.elements()?;
    if let Some(name) = names(given.get(), values.len()).iter().flatten().next() {
        let what = "the inputs of a dynamic skeleton are given in order, without names";
        return Err(Fault::new("argument", format!("unused argument `{name}`: {what}")));
    }
    let array = |(i, &value): (usize, &SEXP)| {
        let path = in_order(i);
        if let Some(array) = array_of(value, &path)? {
            return Ok(array);
        }
        if let Some((data, shape)) = data_of(value, None)? {
            return slot::in_own_dtype(data, &shape, &path, device);
        }
        slot::object(value, None, false, &path, device)?.ok_or_else(|| no_array(value, &path))
    };
    values.iter().enumerate().map(array).collect()
}
