//! One array argument of a call from R.

use dispatch_runtime::engine::RawBuffer;
use dispatch_runtime::family::{Arg, Copies, Dynamic, Family, Ready};
use dispatch_runtime::{Array, DType, Error, Result};

use crate::data::{Data, Shape};
use crate::fault::Fault;
use crate::given::host_dtype;
use crate::upload;
use crate::{Check, compiler};

/// What R passes for one array: an array, or data that is uploaded at the dtype that the signature gives it.
pub struct Input<'a>(Value<'a>);

enum Value<'a> {
    Array(Array),
    Data(Data<'a>, Shape),
}

impl<'a> Input<'a> {
    #[inline]
    pub(super) fn array(array: Array) -> Input<'a> {
        Input(Value::Array(array))
    }

    #[inline]
    pub(super) fn data(data: Data<'a>, shape: Shape) -> Input<'a> {
        Input(Value::Data(data, shape))
    }
}

// SAFETY: an array is itself; data is uploaded for the call, at the shape that it shows and the dtype that it is asked for.
unsafe impl<'r> Dynamic for Input<'r> {
    type Ready<'a>
        = Checked<'a>
    where
        Self: 'a;

    #[inline]
    fn arg<'a>(&'a self, _: &'a mut [i64; 1]) -> Arg<'a> {
        match &self.0 {
            Value::Array(array) => Arg::Device(array),
            Value::Data(data, shape) => Arg::Data(host_dtype(data), shape),
        }
    }

    #[inline]
    fn ready<'a>(&'a self, arg: Arg<'a>, dtype: DType, name: &'static str) -> Result<Checked<'a>> {
        match &self.0 {
            Value::Array(_) => Ready::new(arg, dtype, name),
            Value::Data(data, shape) => {
                check(data, dtype, name).map_err(compiler::leave)?;
                Ok(Checked(Some(Upload { data: *data, shape, dtype, name }), None))
            }
        }
    }
}

/// Refuses data that the dtype does not hold.
pub(super) fn check(data: &Data<'_>, dtype: DType, path: &str) -> crate::Result<()> {
    if !upload::allowed(data, dtype) {
        let expected = match dtype {
            DType::Bool => "TRUE or FALSE, for dtype bool".to_owned(),
            dtype if dtype.is_complex() => format!("numbers, for dtype {dtype}"),
            dtype => format!("real numbers, for dtype {dtype}"),
        };
        return Err(Fault::argument("dtype", path, expected, format!("{} data", data.name())));
    }
    upload::check(data, dtype, path)
}

/// An argument that was checked.
pub struct Checked<'a>(Option<Upload<'a>>, Option<&'a Array>);

/// Data that goes up when the program is there.
struct Upload<'a> {
    data: Data<'a>,
    shape: &'a [i64],
    dtype: DType,
    name: &'static str,
}

impl<'a> Ready<'a> for Checked<'a> {
    /// The array that was made for the call.
    type Held = Option<Array>;

    #[inline]
    fn new(arg: Arg<'a>, _: DType, name: &'static str) -> Result<Checked<'a>> {
        match arg {
            Arg::Device(array) => Ok(Checked(None, Some(array))),
            _ => Err(Error::Value { argument: name.into(), expected: "an array".into(), got: "none".into() }),
        }
    }

    #[inline]
    fn upload(&self, buffer: &mut RawBuffer, family: &Family, device: u32) -> Result<Option<Array>> {
        let Some(Upload { data, shape, dtype, name }) = &self.0 else { return Ok(None) };
        let device =
            family.client().devices().nth(device as usize).expect("an entry's device is one of its client's");
        let array = upload::upload_data(*data, *dtype, shape, device, Check::Nothing, name)
            .map_err(compiler::leave)?;
        *buffer = array.raw();
        Ok(Some(array))
    }

    #[inline]
    fn bring(&self, buffer: &mut RawBuffer, family: &Family, device: u32, copies: &mut Copies) -> Result<()> {
        match self.1 {
            Some(array) => array.bring(buffer, family, device, copies),
            None => Ok(()),
        }
    }

    #[inline]
    fn array(&self) -> Option<&'a Array> {
        self.1
    }
}
