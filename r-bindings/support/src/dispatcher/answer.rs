//! What a callback gives, field by field.

use dispatch_runtime::{Array, Aval, Device};

use super::call::Call;
use super::place;
use crate::anvl::{Atoms, strings};
use crate::arg::arg;
use crate::buffer;
use crate::data::list_names;
use crate::describe;
use crate::fault::{Condition, Fault, Result};
use crate::ffi::*;
use crate::handle;

/// The result of a callback; `NULL` for a field that it lacks.
pub(super) struct Answer {
    pub exec: SEXP,
    pub client: SEXP,
    pub device: SEXP,
    pub out_tree: SEXP,
    pub out_avals: SEXP,
    pub const_arrays: SEXP,
    pub phantom_specs: SEXP,
    pub input_dtypes: SEXP,
    pub r_fun: SEXP,
}

impl Answer {
    /// Reads the fields of a list with names, which the caller keeps.
    pub fn of(x: SEXP) -> Result<Answer> {
        let missing = nil();
        let mut answer = Answer {
            exec: missing,
            client: missing,
            device: missing,
            out_tree: missing,
            out_avals: missing,
            const_arrays: missing,
            phantom_specs: missing,
            input_dtypes: missing,
            r_fun: missing,
        };
        // SAFETY: the object is a list.
        let names = if TYPEOF(x) == VECSXP { unsafe { list_names(x) } } else { nil() };
        if TYPEOF(names) != STRSXP {
            return Err(Fault::Condition(Box::new(Condition {
                code: "compile".into(),
                message: format!(
                    "the result of `compile`: expected a named list, got {}",
                    describe::value(x)
                ),
                argument: None,
            })));
        }
        // SAFETY: the caller keeps the list and with it the names.
        let names = unsafe { strings(names) }?;
        // From the end, so that the first of equal names counts.
        for (i, &name) in names.iter().enumerate().rev() {
            // SAFETY: the list has as many elements as names, and R's strings end in NUL.
            let (name, value) =
                unsafe { (std::ffi::CStr::from_ptr(R_CHAR(name)), VECTOR_ELT(x, i as Length)) };
            match name.to_bytes() {
                b"exec" => answer.exec = value,
                b"client" => answer.client = value,
                b"device" => answer.device = value,
                b"out_tree" => answer.out_tree = value,
                b"out_avals" => answer.out_avals = value,
                b"const_arrays" => answer.const_arrays = value,
                b"phantom_specs" => answer.phantom_specs = value,
                b"input_dtypes" => answer.input_dtypes = value,
                b"r_fun" => answer.r_fun = value,
                _ => {}
            }
        }
        Ok(answer)
    }

    /// The dtypes that inputs are uploaded at: one or none for each dynamic leaf; nothing if the field is missing.
    pub fn input_dtypes(&self, call: &Call<'_>) -> Result<Option<Vec<Option<String>>>> {
        const FIELD: &str = "input_dtypes";
        let x = self.input_dtypes;
        if x == nil() {
            return Ok(None);
        }
        // A vector of nothing but NA is logical, unless somebody thinks of `NA_character_`.
        // SAFETY: the vector has as many elements.
        let all_na = TYPEOF(x) == LGLSXP
            && (0..Rf_xlength(x)).all(|i| unsafe { *LOGICAL_RO(x).add(i as usize) } == NA_INTEGER);
        if TYPEOF(x) != STRSXP && !all_na {
            return Err(wrong(FIELD, "a character vector", describe::value(x)));
        }
        let (length, inputs) = (Rf_xlength(x) as usize, call.leaves().len());
        if length != inputs {
            return Err(wrong(FIELD, format!("one entry per dynamic leaf, which are {inputs}"), length));
        }
        Ok(Some((0..length as Length).map(|i| if all_na { None } else { describe::text(x, i) }).collect()))
    }

    /// The arrays that go before the inputs.
    pub fn constants(&self, device: Device) -> Result<Vec<Array>> {
        const FIELD: &str = "const_arrays";
        let x = self.const_arrays;
        if x == nil() {
            return Ok(Vec::new());
        }
        if TYPEOF(x) != VECSXP {
            return Err(wrong(FIELD, "a list of buffers", describe::value(x)));
        }
        (0..Rf_xlength(x))
            .map(|i| {
                let field = format!("{FIELD}[[{}]]", i + 1);
                // SAFETY: the list has the element.
                let x = unsafe { VECTOR_ELT(x, i) };
                let array = buffer::get_sexp(x, &field).map_err(|fault| in_field(fault, &field))?;
                if array.is_donated() {
                    return Err(wrong(&field, "a buffer that is alive", "one that was donated"));
                }
                if array.device() != device {
                    return Err(wrong(
                        &field,
                        format!("a buffer on {device}"),
                        format!("one on {}", array.device()),
                    ));
                }
                Ok(array)
            })
            .collect()
    }
}

/// A field that is a handle; the caller keeps what it is in.
pub(super) fn handle<'a, T: handle::Handle>(x: SEXP, field: &str) -> Result<&'a T> {
    // SAFETY: by the caller's promise.
    unsafe { handle::get(x, field) }.map_err(|fault| in_field(fault, field))
}

/// The error of a field of the callback's result.
#[cold]
pub(super) fn wrong(field: &str, expected: impl std::fmt::Display, got: impl std::fmt::Display) -> Fault {
    Fault::Condition(Box::new(Condition {
        code: "compile".into(),
        message: format!("the result of `compile`, field `{field}`: expected {expected}, got {got}"),
        argument: Some(field.to_owned()),
    }))
}

/// An error of a value as one of the field that it is in.
fn in_field(fault: Fault, field: &str) -> Fault {
    match fault {
        Fault::Condition(condition) => {
            let text = condition.message;
            let said = text.split_once("`: ").map_or(text.as_str(), |(_, said)| said);
            Fault::Condition(Box::new(Condition {
                code: "compile".into(),
                message: format!("the result of `compile`, field `{field}`: {said}"),
                argument: Some(field.to_owned()),
            }))
        }
        jump => jump,
    }
}

/// A list of `list(dtype, shape)`.
pub(super) fn avals(atoms: &Atoms, x: SEXP, field: &str, optional: bool) -> Result<Vec<Aval>> {
    if TYPEOF(x) != VECSXP {
        let expected = if optional { "a list of lists, or nothing" } else { "a list of lists" };
        return Err(wrong(field, expected, describe::value(x)));
    }
    (0..Rf_xlength(x))
        .map(|i| {
            let at = |name: &str| format!("{field}[[{}]]{name}", i + 1);
            // SAFETY: the list has the element.
            let x = unsafe { VECTOR_ELT(x, i) };
            if TYPEOF(x) != VECSXP {
                return Err(wrong(&at(""), "a list of dtype and shape", describe::value(x)));
            }
            let [dtype, shape] =
                place::elements_of(x, [atoms.dtype, atoms.shape]).map(|x| x.unwrap_or(nil()));
            let Some(dtype) = place::dtype(atoms, dtype)? else {
                return Err(wrong(&at("$dtype"), "a dtype", place::describe_dtype(dtype)));
            };
            let sizes = savvy::Sexp(shape);
            let sizes = arg(&sizes, "shape").shape();
            sizes
                .ok()
                .and_then(|sizes| Aval::try_new(dtype, sizes))
                .ok_or_else(|| wrong(&at("$shape"), "the sizes of an array", describe::value(shape)))
        })
        .collect()
}
