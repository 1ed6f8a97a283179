//! Buffers.

use dispatch_r::buffer::{self, wait};
use dispatch_r::client::{device_object, read_device};
use dispatch_r::runtime::{Aval, DType, HostArray, HostView};
use dispatch_r::{
    arg, as_array, as_raw, converted, describe, entry, make, memory, upload, zeros, Arg, Fault, Result, SEXP,
};
use savvy::savvy;

/// A buffer of R data.
#[savvy]
fn rs_buffer(
    data: savvy::Sexp,
    dtype: savvy::Sexp,
    device: savvy::Sexp,
    shape: savvy::Sexp,
    check: savvy::Sexp,
) -> savvy::Result<savvy::Sexp> {
    entry(|| {
        let dtype = arg(&dtype, "dtype").optional().map(Arg::dtype).transpose()?;
        let shape = arg(&shape, "shape").optional().map(Arg::shape).transpose()?;
        let check = arg(&check, "check").flag()?;
        let device = read_device(arg(&device, "device"))?;
        let given = arg(&data, "data");
        match converted(given, dtype, shape.as_deref(), device, check)? {
            Some(buffer) => Ok(buffer),
            None => buffer::wrap(upload(given, dtype, shape.as_deref(), device, check)?),
        }
    })
}

/// A buffer that is given where one was asked for: the same, if it is what was asked for.
#[savvy]
fn rs_buffer_same(
    data: savvy::Sexp,
    dtype: savvy::Sexp,
    device: savvy::Sexp,
    shape: savvy::Sexp,
) -> savvy::Result<savvy::Sexp> {
    entry(|| {
        let array = buffer::get(arg(&data, "data"))?;
        let differs = |what: &'static str, asked: String, has: String| {
            let (expected, got) = (format!("a buffer of {what} {asked}"), format!("one of {has}"));
            Err(Fault::argument(what, "data", expected, got))
        };
        if let Some(dtype) = arg(&dtype, "dtype").optional().map(Arg::dtype).transpose()? {
            if dtype != array.dtype() {
                return differs("dtype", dtype.to_string(), array.dtype().to_string());
            }
        }
        if let Some(shape) = arg(&shape, "shape").optional().map(Arg::shape).transpose()? {
            if shape != array.shape() {
                return differs("shape", describe::sizes(&shape), describe::sizes(array.shape()));
            }
        }
        if !arg(&device, "device").is_null() {
            let device = read_device(arg(&device, "device"))?;
            if device != array.device() {
                return differs("device", device.to_string(), array.device().to_string());
            }
        }
        Ok(data.0)
    })
}

/// A buffer of raw bytes.
#[savvy]
fn rs_buffer_of_bytes(
    data: savvy::Sexp,
    dtype: savvy::Sexp,
    device: savvy::Sexp,
    shape: savvy::Sexp,
    row_major: savvy::Sexp,
) -> savvy::Result<savvy::Sexp> {
    entry(|| {
        let dtype = arg(&dtype, "dtype").dtype()?;
        let shape = arg(&shape, "shape").shape()?;
        let row_major = arg(&row_major, "row_major").flag()?;
        let device = read_device(arg(&device, "device"))?;
        let bytes = arg(&data, "data").bytes()?;
        let Some(aval) = Aval::try_new(dtype, &shape) else {
            return Err(Fault::argument(
                "shape",
                "shape",
                "one with fewer elements",
                describe::sizes(&shape),
            ));
        };
        if aval.size_bytes() != bytes.len() {
            let expected = format!("{} bytes for this dtype and shape", aval.size_bytes());
            return Err(Fault::argument("shape", "data", expected, bytes.len()));
        }
        if dtype == DType::Bool && bytes.iter().any(|&byte| byte > 1) {
            return Err(Fault::argument("value", "data", "bytes of 0 and 1 for dtype bool", "others"));
        }
        // R's vectors are aligned to 8 bytes at least, and empty ones have no address.
        let copy;
        let data = if bytes.is_empty() || bytes.as_ptr().align_offset(16) != 0 {
            copy = aligned(dtype, &shape, bytes)?;
            copy.view().as_ptr()
        } else {
            bytes.as_ptr()
        };
        // SAFETY: as many elements as the shape says, aligned; every content is a value of the numeric types, and those of
        // booleans were checked.
        let view = unsafe {
            match row_major {
                true => HostView::from_raw(dtype, &shape, data),
                false => HostView::from_raw_column_major(dtype, &shape, data),
            }
        };
        let array = memory::with_retry(|| device.client().upload(view, device))?;
        buffer::wrap(array)
    })
}

/// Bytes of elements in aligned memory.
fn aligned(dtype: DType, shape: &[i64], bytes: &[u8]) -> Result<HostArray> {
    let mut out = HostArray::try_zeros(dtype, shape)?;
    // SAFETY: the caller has checked that these are elements of the dtype.
    unsafe { out.bytes_mut() }.copy_from_slice(bytes);
    Ok(out)
}

/// A buffer of zeros.
#[savvy]
fn rs_buffer_empty(
    dtype: savvy::Sexp,
    shape: savvy::Sexp,
    device: savvy::Sexp,
) -> savvy::Result<savvy::Sexp> {
    entry(|| {
        let dtype = arg(&dtype, "dtype").dtype()?;
        let shape = arg(&shape, "shape").shape()?;
        let device = read_device(arg(&device, "device"))?;
        let zeros = zeros(dtype, &shape)?;
        buffer::wrap(memory::with_retry(|| device.client().upload(zeros.view(), device))?)
    })
}

#[savvy]
fn rs_buffer_as_array(x: savvy::Sexp, check: savvy::Sexp) -> savvy::Result<savvy::Sexp> {
    entry(|| as_array(&buffer::get(arg(&x, "x"))?, arg(&check, "check").flag()?, "x"))
}

#[savvy]
fn rs_buffer_as_raw(x: savvy::Sexp, row_major: savvy::Sexp) -> savvy::Result<savvy::Sexp> {
    entry(|| as_raw(&buffer::get(arg(&x, "x"))?, arg(&row_major, "row_major").flag()?, "x"))
}

/// The name of the element type with a class.
#[savvy]
fn rs_buffer_dtype(x: savvy::Sexp, class: savvy::Sexp) -> savvy::Result<savvy::Sexp> {
    entry(|| {
        let array = buffer::get(arg(&x, "x"))?;
        classed(array.dtype(), class.0)
    })
}

/// The name of an element type with a class, from any spelling of it.
#[savvy]
fn rs_dtype(x: savvy::Sexp, class: savvy::Sexp, argument: savvy::Sexp) -> savvy::Result<savvy::Sexp> {
    entry(|| {
        let argument = arg(&argument, "argument").string()?;
        classed(arg(&x, &argument).dtype()?, class.0)
    })
}

fn classed(dtype: DType, class: SEXP) -> Result<SEXP> {
    let name = make::string(dtype.r_name())?;
    make::set_class(name.get(), class)?;
    Ok(name.release())
}

#[savvy]
fn rs_buffer_shape(x: savvy::Sexp) -> savvy::Result<savvy::Sexp> {
    entry(|| Ok(make::sizes(buffer::get(arg(&x, "x"))?.shape())?.release()))
}

#[savvy]
fn rs_buffer_device(x: savvy::Sexp) -> savvy::Result<savvy::Sexp> {
    entry(|| device_object(buffer::get(arg(&x, "x"))?.device()))
}

#[savvy]
fn rs_buffer_platform(x: savvy::Sexp) -> savvy::Result<savvy::Sexp> {
    entry(|| Ok(make::string(buffer::get(arg(&x, "x"))?.client().platform())?.release()))
}

#[savvy]
fn rs_buffer_await(x: savvy::Sexp) -> savvy::Result<savvy::Sexp> {
    entry(|| {
        wait(&buffer::get(arg(&x, "x"))?, "x")?;
        Ok(x.0)
    })
}

#[savvy]
fn rs_buffer_is_ready(x: savvy::Sexp) -> savvy::Result<savvy::Sexp> {
    entry(|| {
        let ready = buffer::get(arg(&x, "x"))?.is_ready().map_err(|error| Fault::named(error, "x"))?;
        Ok(make::flag(ready)?.release())
    })
}

/// The buffer on another device; the same object if it is there already.
#[savvy]
fn rs_buffer_copy(buffer: savvy::Sexp, device: savvy::Sexp) -> savvy::Result<savvy::Sexp> {
    entry(|| {
        let array = buffer::get(arg(&buffer, "buffer"))?;
        let device = read_device(arg(&device, "device"))?;
        if array.device() == device {
            return Ok(buffer.0);
        }
        if device.client() != array.client() {
            wait(&array, "buffer")?;
        }
        let copy = memory::with_retry(|| match device.client() == array.client() {
            true => array.to_device(device),
            // By way of the host.
            false => {
                let mut host = HostArray::try_zeros(array.dtype(), array.shape())?;
                // SAFETY: the bytes are elements of the array's dtype.
                array.read_bytes(unsafe { host.bytes_mut() })?;
                device.client().upload(host.view(), device)
            }
        });
        buffer::wrap(copy?)
    })
}

#[savvy]
fn rs_buffer_release(x: savvy::Sexp) -> savvy::Result<savvy::Sexp> {
    entry(|| {
        buffer::release(arg(&x, "x"))?;
        Ok(x.0)
    })
}

/// `f32[2,3] on cpu:0` and what may be said of its state.
#[savvy]
fn rs_buffer_about(x: savvy::Sexp) -> savvy::Result<savvy::Sexp> {
    entry(|| {
        let text = match buffer::get(arg(&x, "x")) {
            Ok(array) if array.is_donated() => format!("{array}, donated"),
            Ok(array) => array.to_string(),
            Err(Fault::Condition(condition)) if condition.code == "dead" => "without content".to_owned(),
            Err(_) => return Err(arg(&x, "x").expected(describe::with_article("PJRTBuffer"))),
        };
        Ok(make::string(&text)?.release())
    })
}

/// The bytes of the buffers that R holds.
#[savvy]
fn rs_live_bytes() -> savvy::Result<savvy::Sexp> {
    entry(|| Ok(make::double(memory::live() as f64)?.release()))
}

/// The elements of a buffer of integers as text, in R's order.
#[savvy]
fn rs_buffer_integers(x: savvy::Sexp) -> savvy::Result<savvy::Sexp> {
    entry(|| {
        let array = buffer::get(arg(&x, "x"))?;
        wait(&array, "x")?;
        let text: Vec<String> = dispatch_r::integers(&array, "x")?.iter().map(i128::to_string).collect();
        Ok(make::strings(&text)?.release())
    })
}

/// The elements of a buffer of integers as doubles, in R's order; what R takes for `NA` as `NA`.
#[savvy]
fn rs_buffer_doubles(x: savvy::Sexp) -> savvy::Result<savvy::Sexp> {
    entry(|| {
        let array = buffer::get(arg(&x, "x"))?;
        let missing = match array.dtype() {
            DType::I32 => i32::MIN.into(),
            DType::I64 => i64::MIN.into(),
            _ => i128::MIN,
        };
        let double = |x: i128| if x == missing { make::na_real() } else { x as f64 };
        let values: Vec<f64> = dispatch_r::integers(&array, "x")?.into_iter().map(double).collect();
        Ok(make::doubles(&values)?.release())
    })
}

/// The numbers of an `integer64` vector as text.
#[savvy]
fn rs_integer64_text(x: savvy::Sexp) -> savvy::Result<savvy::Sexp> {
    entry(|| match dispatch_r::Data::of(arg(&x, "x"))? {
        dispatch_r::Data::Integer64(values) => {
            let text = |&value: &i64| if value == i64::MIN { "NA".into() } else { value.to_string() };
            Ok(make::strings(&values.iter().map(text).collect::<Vec<String>>())?.release())
        }
        _ => Err(arg(&x, "x").expected("an integer64 vector")),
    })
}
