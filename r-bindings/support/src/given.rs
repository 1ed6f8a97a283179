//! What R users may give for an array: an `AnvlArray`, a buffer, or R's own data.

use std::fmt;

use dispatch_runtime::{Array, DType};

use crate::convert;
use crate::data::{Data, Shape, Type, shape_of};
use crate::fault::{Fault, Result};
use crate::ffi::*;
use crate::{anvl, buffer, describe};

/// The array that a value is: an `AnvlArray`, or a buffer. None if it is something else. `path` is for messages.
pub(crate) fn array_of(x: SEXP, path: &str) -> Result<Option<Array>> {
    match TYPEOF(x) {
        EXTPTRSXP => buffer::get_sexp(x, path).map(Some),
        VECSXP if Rf_isObject(x) != 0 => {
            let known = anvl::known();
            let Some((data, backend)) = known.fields(x)? else { return Ok(None) };
            if !known.is_pjrt(backend)? {
                return Err(other_backend(backend, &path));
            }
            buffer::get_sexp(data, &format!("{path}$data")).map(Some)
        }
        _ => Ok(None),
    }
}

/// The R object of a buffer that a value is or has, as an `AnvlArray` does; none if it is something else.
pub fn buffer_of(x: SEXP) -> Result<Option<SEXP>> {
    let Some(_) = array_of(x, "data")? else { return Ok(None) };
    match TYPEOF(x) {
        VECSXP => Ok(anvl::known().fields(x)?.map(|(data, _)| data)),
        _ => Ok(Some(x)),
    }
}

#[cold]
pub(crate) fn other_backend(backend: SEXP, path: &dyn fmt::Display) -> Fault {
    let got = match describe::text(backend, 0) {
        Some(name) => format!("one of backend \"{name}\""),
        None => "one without a backend".into(),
    };
    Fault::argument("type", path.to_string(), "an AnvlArray of backend \"pjrt\"", got)
}

/// The R data that a value is, with the shape that it has where this rank is wanted.
pub(crate) fn data_of<'a>(x: SEXP, rank: Option<usize>) -> Result<Option<(Data<'a>, Shape)>> {
    // SAFETY: R keeps what a call is given, and changes none of it while it waits.
    let Some(data) = (unsafe { Data::read(x)? }) else { return Ok(None) };
    // SAFETY: the value is a vector; its dimensions are among its attributes.
    let shape = unsafe {
        let is_bare = ATTRIB(x) == nil() || TYPEOF(Rf_getAttrib(x, R_DimSymbol)) != INTSXP;
        if is_bare && data.len() == 1 && rank != Some(1) { Shape::new() } else { shape_of(x)? }
    };
    Ok(Some((data, shape)))
}

/// The dtype that R data has in a key.
pub(crate) fn host_dtype(data: &Data<'_>) -> DType {
    match data.kind() {
        Type::Logical => DType::Bool,
        Type::Integer => DType::I32,
        Type::Double => DType::F64,
        Type::Integer64 => DType::I64,
        Type::Complex => DType::C128,
    }
}

/// What is no array and no data, and has no converter.
#[cold]
pub(crate) fn no_array(x: SEXP, path: &str) -> Fault {
    let expected = "an AnvlArray, a PJRTBuffer, or a logical, integer, double, integer64 or complex scalar, vector or array";
    match convert::none_for(x, None) {
        Ok(why) => Fault::argument("type", path, expected, format!("{}{why}", describe::value(x))),
        Err(fault) => fault,
    }
}

/// [`data_of`] of what a converter gave: a vector without dimensions has one, unless it stands for a scalar.
pub(crate) fn converted_data<'a>(x: SEXP, rank: Option<usize>) -> Result<Option<(Data<'a>, Shape)>> {
    data_of(x, rank.filter(|&rank| rank == 0).or(Some(1)))
}
