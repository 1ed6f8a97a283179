//! Places for arrays whose dtype and shape are known: the slots of a skeleton, the inputs of a program.

use dispatch_runtime::convert::Expected;
use dispatch_runtime::{Array, Aval, Device, Error};
use smallvec::SmallVec;

use crate::convert::{Converted, Purpose, convert_for};
use crate::data::Data;
use crate::describe;
use crate::fault::Result;
use crate::ffi::*;
use crate::given::{array_of, converted_data, host_dtype};
use crate::upload::{Check, upload_data};

/// What a converter makes of an object for a place, `None` where nothing is known of it; none if there is no converter. A program
/// may write into what is donated.
#[cold]
pub(crate) fn object(
    value: SEXP,
    wanted: Option<&Aval>,
    donated: bool,
    path: &str,
    device: Device,
) -> Result<Option<Array>> {
    let dims: Option<SmallVec<[Option<i64>; 8]>> =
        wanted.map(|wanted| wanted.shape().iter().map(|&n| Some(n)).collect());
    let dtype = wanted.map(Aval::dtype);
    let expected = Expected::new(path).dtypes(dtype.as_slice());
    let expected = match &dims {
        Some(dims) => expected.shape(dims),
        None => expected,
    };
    let purpose = Purpose { donated, ..Purpose::default() };
    match convert_for(value, &expected, purpose, &mut || Ok(device), None)? {
        Some(made) => {
            // Whatever is wrong with it, it says who gave it.
            made_for(&made, wanted, path, device).map(Some).map_err(|fault| made.blame(fault, path))
        }
        None => Ok(None),
    }
}

fn made_for(made: &Converted, wanted: Option<&Aval>, path: &str, device: Device) -> Result<Array> {
    if let Some(array) = array_of(made.get(), path)? {
        return Ok(array);
    }
    match (converted_data(made.get(), wanted.map(Aval::rank))?, wanted) {
        (Some((data, shape)), Some(wanted)) => bare(data, &shape, wanted, path, device),
        (Some((data, shape)), None) => in_own_dtype(data, &shape, path, device),
        (None, _) => Err(made.not_known(path)),
    }
}

/// Data of R for a place.
pub(crate) fn bare(
    data: Data<'_>,
    shape: &[i64],
    wanted: &Aval,
    path: &str,
    device: Device,
) -> Result<Array> {
    if shape != wanted.shape() {
        return Err(Error::Shape {
            argument: path.to_owned(),
            expected: sizes(wanted.shape()),
            got: sizes(shape),
        }
        .into());
    }
    upload_data(data, wanted.dtype(), wanted.shape(), device, Check::Wrong, path)
}

/// Data of R where nothing is expected, at the dtype that has all its values.
pub(crate) fn in_own_dtype(data: Data<'_>, shape: &[i64], path: &str, device: Device) -> Result<Array> {
    upload_data(data, host_dtype(&data), shape, device, Check::Wrong, path)
}

/// `[2, 3]`
fn sizes(shape: &[i64]) -> String {
    format!("[{}]", describe::first(shape, ", "))
}
