//! Views of host data.

use dispatch_r::client::read_device;
use dispatch_r::runtime::convert::{CopyPolicy, Expected};
use dispatch_r::view::{self, Layout};
use dispatch_r::{arg, buffer, entry, make, Arg, Fault, Result};
use savvy::savvy;

/// What R says of a view; its strides count elements.
#[allow(clippy::too_many_arguments)]
fn layout(
    dtype: &savvy::Sexp,
    shape: &savvy::Sexp,
    strides: &savvy::Sexp,
    offset: &savvy::Sexp,
    flags: &savvy::Sexp,
) -> Result<Layout> {
    let offset = arg(offset, "offset");
    let first = offset.integer()?;
    if first < 0 {
        return Err(Fault::argument("value", "offset", "a number that is not negative", first));
    }
    let flags = arg(flags, "flags").integers()?;
    let &[read_only, immutable, convertible] = flags.as_slice() else {
        return Err(Fault::argument("value", "flags", "three numbers", flags.len()));
    };
    Ok(Layout {
        dtype: arg(dtype, "dtype").dtype()?,
        shape: arg(shape, "shape").shape()?,
        strides: arg(strides, "strides").optional().map(Arg::integers).transpose()?,
        offset: first as usize,
        read_only: read_only != 0,
        immutable: immutable != 0,
        convertible: convertible != 0,
    })
}

/// A view of the data of a vector.
#[savvy]
fn rs_view_of_vector(
    data: savvy::Sexp,
    dtype: savvy::Sexp,
    shape: savvy::Sexp,
    strides: savvy::Sexp,
    offset: savvy::Sexp,
    flags: savvy::Sexp,
) -> savvy::Result<savvy::Sexp> {
    entry(|| view::of_vector(arg(&data, "data"), layout(&dtype, &shape, &strides, &offset, &flags)?))
}

/// A view of bytes that an object keeps at an address.
#[savvy]
#[allow(clippy::too_many_arguments)]
fn rs_view_of_address(
    address: savvy::Sexp,
    bytes: savvy::Sexp,
    dtype: savvy::Sexp,
    shape: savvy::Sexp,
    strides: savvy::Sexp,
    offset: savvy::Sexp,
    flags: savvy::Sexp,
    owner: savvy::Sexp,
) -> savvy::Result<savvy::Sexp> {
    entry(|| {
        let layout = layout(&dtype, &shape, &strides, &offset, &flags)?;
        let address = arg(&address, "address").integer()?;
        let bytes = arg(&bytes, "bytes").integer()?;
        // SAFETY: only the package's own functions call this, with what the owner has said of itself.
        unsafe { view::of_address(address as usize, bytes as usize, layout, arg(&owner, "owner")) }
    })
}

/// A view of a part of a file.
#[savvy]
#[allow(clippy::too_many_arguments)]
fn rs_view_of_file(
    path: savvy::Sexp,
    start: savvy::Sexp,
    bytes: savvy::Sexp,
    dtype: savvy::Sexp,
    shape: savvy::Sexp,
    strides: savvy::Sexp,
    offset: savvy::Sexp,
    flags: savvy::Sexp,
    writable: savvy::Sexp,
) -> savvy::Result<savvy::Sexp> {
    entry(|| {
        let layout = layout(&dtype, &shape, &strides, &offset, &flags)?;
        let writable = arg(&writable, "writable").flag()?;
        let start = arg(&start, "offset").integer()?;
        let bytes = arg(&bytes, "bytes").integer()?;
        if start < 0 || bytes < 0 {
            return Err(Fault::argument("value", "offset", "a number of bytes that is not negative", start));
        }
        view::of_file(arg(&path, "path"), (start as u64, bytes as usize), layout, writable)
    })
}

/// A view of new memory to fill in.
#[savvy]
fn rs_view_to_fill(dtype: savvy::Sexp, shape: savvy::Sexp) -> savvy::Result<savvy::Sexp> {
    entry(|| view::to_fill(arg(&dtype, "dtype").dtype()?, arg(&shape, "shape").shape()?))
}

/// Fills in the next elements; how many are filled in now.
#[savvy]
fn rs_view_fill(
    view: savvy::Sexp,
    values: savvy::Sexp,
    start: savvy::Sexp,
    rows: savvy::Sexp,
) -> savvy::Result<savvy::Sexp> {
    entry(|| {
        let rows = arg(&rows, "rows").flag()?;
        let filled = view::fill(arg(&view, "view"), arg(&values, "values"), arg(&start, "start"), rows)?;
        Ok(make::double(filled as f64)?.release())
    })
}

/// Writes a buffer's elements to where a view's data is.
#[savvy]
fn rs_view_write(view: savvy::Sexp, result: savvy::Sexp) -> savvy::Result<savvy::Sexp> {
    entry(|| {
        view::write(arg(&view, "original"), &buffer::get(arg(&result, "result"))?)?;
        Ok(view.0)
    })
}

/// In a few words what a view is.
#[savvy]
fn rs_view_about(x: savvy::Sexp) -> savvy::Result<savvy::Sexp> {
    entry(|| Ok(make::string(&view::about(arg(&x, "x"))?)?.release()))
}

/// Element type and sizes.
#[savvy]
fn rs_view_aval(x: savvy::Sexp) -> savvy::Result<savvy::Sexp> {
    entry(|| {
        let (dtype, shape) = view::aval(arg(&x, "x"))?;
        let (dtype, shape) = (make::string(dtype.r_name())?, make::sizes(&shape)?);
        Ok(make::named_list(&[("dtype", dtype.get()), ("shape", shape.get())])?.release())
    })
}

/// The elements of a part of a view as data of R: along each dimension so many from a place on, counted from 0.
#[savvy]
fn rs_view_part(x: savvy::Sexp, from: savvy::Sexp, sizes: savvy::Sexp) -> savvy::Result<savvy::Sexp> {
    entry(|| {
        let (from, sizes) = (arg(&from, "from").integers()?, arg(&sizes, "sizes").integers()?);
        Ok(view::part(arg(&x, "x"), &from, &sizes)?.release())
    })
}

/// A buffer of a view, and how many bytes were copied for it.
#[savvy]
fn rs_view_to_buffer(
    view: savvy::Sexp,
    dtype: savvy::Sexp,
    copy: savvy::Sexp,
    device: savvy::Sexp,
) -> savvy::Result<savvy::Sexp> {
    entry(|| {
        let dtype = arg(&dtype, "dtype").optional().map(Arg::dtype).transpose()?;
        let device = read_device(arg(&device, "device"))?;
        let policy = match arg(&copy, "copy").string()?.as_str() {
            "never" => CopyPolicy::Never,
            "if_needed" => CopyPolicy::IfNeeded,
            "always" => CopyPolicy::Always,
            other => {
                let expected = "\"never\", \"if_needed\" or \"always\"";
                return Err(Fault::argument("value", "copy", expected, format!("\"{other}\"")));
            }
        };
        let dtypes: Vec<_> = dtype.into_iter().collect();
        let expected = Expected::new("data").dtypes(&dtypes);
        let (out, copied) = view::to_buffer(view.0, &expected, "host_view()", policy, device)?;
        let out = dispatch_r::Root::new(out)?;
        let copied = make::double(copied as f64)?;
        Ok(make::named_list(&[("buffer", out.get()), ("copied", copied.get())])?.release())
    })
}

/// How many objects are lent to devices.
#[savvy]
fn rs_view_lent() -> savvy::Result<savvy::Sexp> {
    entry(|| Ok(make::double(view::lent() as f64)?.release()))
}
