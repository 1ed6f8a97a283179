//! Tensors of other libraries, as DLPack 1 describes them (<https://dmlc.github.io/dlpack/latest/c_api.html>).
//!
//! [`Tensor`] owns what another library exported; [`DlPack`] is the converter that takes it for an array. [`export`] gives a copy
//! of an [`Array`] to another library, [`export_host`] a [`HostArray`](crate::HostArray) itself.

mod abi;
mod elements;
mod export;

use std::ptr::NonNull;
use std::sync::Arc;

use super::{Converter, Described, Expected, Out, OutInfo};
use crate::{Array, DType, Error, HostView, Result};

pub use abi::*;
pub use export::{export, export_host};

use elements::dtype_of;

/// A tensor that another library exported. Its deleter is called once, when neither this nor an array that shares its memory
/// is left, on whatever thread that is.
///
/// ```
/// use dispatch_runtime::convert::{self, dlpack};
/// use dispatch_runtime::prelude::*;
///
/// #[dispatch_family]
/// fn negate(cx: &CompileCx, #[dynamic(dtype = float, shape = [..])] x: Value) -> Result<Program> {
///     cx.program(-x)
/// }
/// let _kept = convert::global().register_type("DLPack tensors", dlpack::DlPack)?;
/// let client = Client::cpu()?;
///
/// // What another library would give.
/// let exported = dlpack::export(&client.array(&[1f32, 2.0], [2])?)?;
/// // SAFETY: it is exported for us, and its deleter may be called anywhere.
/// let tensor = unsafe { dlpack::Tensor::from_raw(exported)? };
/// assert_eq!((tensor.dtype(), tensor.shape()), (DType::F32, &[2][..]));
/// let negated = Negate::new(&client).call(convert::object(&tensor))?;
/// assert_eq!(negated.to_vec::<f32>()?, [-1.0, -2.0]);
/// # Ok::<(), Error>(())
/// ```
///
/// It can go to another thread, but not be used by two: a result may be written back into it.
///
/// ```compile_fail,E0277
/// fn used_by_two_threads<T: Sync>() {}
/// used_by_two_threads::<dispatch_runtime::convert::dlpack::Tensor>();
/// ```
#[derive(Debug)]
pub struct Tensor {
    held: Arc<Held>,
    dtype: DType,
    shape: Box<[i64]>,
    strides: Option<Box<[i64]>>,
    /// All of the data: where it begins, where in it the first element is, and how many bytes it has.
    data: *mut u8,
    first: usize,
    bytes: usize,
    immutable: bool,
}

/// Calls the deleter when it is dropped.
#[derive(Debug)]
enum Held {
    Versioned(NonNull<DLManagedTensorVersioned>),
    Unversioned(NonNull<DLManagedTensor>),
}

// SAFETY: whoever makes a `Tensor` promises that the deleter may be called on any thread, once; else nothing is done with it.
unsafe impl Send for Held {}
// SAFETY: as above.
unsafe impl Sync for Held {}
// SAFETY: the data is used by whoever has the tensor. It is not `Sync`: a result may be written into it, and what is not
// immutable is read only while a call has it as an argument, so on one thread neither happens during the other.
unsafe impl Send for Tensor {}

impl Drop for Held {
    fn drop(&mut self) {
        // SAFETY: the tensor is ours since `from_raw`, and this is its end; a missing deleter says that there is nothing to do.
        unsafe {
            match *self {
                Held::Versioned(tensor) => {
                    if let Some(delete) = tensor.as_ref().deleter {
                        delete(tensor.as_ptr());
                    }
                }
                Held::Unversioned(tensor) => {
                    if let Some(delete) = tensor.as_ref().deleter {
                        delete(tensor.as_ptr());
                    }
                }
            }
        }
    }
}

impl Tensor {
    /// Takes over a tensor. Where that is an error its deleter is called too.
    ///
    /// # Safety
    ///
    /// The tensor is as DLPack says, and nobody else ends it. Its deleter may be called on any thread. Until then the data
    /// holds valid values, and nobody writes to it while this `Tensor` is used as an argument, nor reads it while a result is
    /// written back into it.
    ///
    /// # Errors
    ///
    /// It is of another major version; its data is not in the host's memory; no dtype is like its elements; it has a shape,
    /// strides or an address that no array can have.
    pub unsafe fn from_raw(tensor: NonNull<DLManagedTensorVersioned>) -> Result<Tensor> {
        let held = Held::Versioned(tensor);
        // SAFETY: by the caller's promise. The version comes first in every one, and says whether the rest is known.
        unsafe {
            let version = (*tensor.as_ptr()).version;
            if version.major != 1 {
                let got = format!("version {}.{}", version.major, version.minor);
                return Err(wrong("a tensor of DLPack 1", got));
            }
            let tensor = tensor.as_ref();
            Tensor::new(held, &tensor.dl_tensor, tensor.flags)
        }
    }

    /// Takes over a tensor of DLPack 0, which says neither its version nor whether it may be written to: it is taken for
    /// read-only.
    ///
    /// # Safety
    ///
    /// As for [`Tensor::from_raw`].
    ///
    /// # Errors
    ///
    /// As for [`Tensor::from_raw`].
    pub unsafe fn from_raw_unversioned(tensor: NonNull<DLManagedTensor>) -> Result<Tensor> {
        // SAFETY: by the caller's promise.
        unsafe { Tensor::new(Held::Unversioned(tensor), &tensor.as_ref().dl_tensor, READ_ONLY) }
    }

    /// # Safety
    ///
    /// As for [`Tensor::from_raw`]: the tensor is what `held` holds.
    unsafe fn new(held: Held, tensor: &DLTensor, flags: u64) -> Result<Tensor> {
        if tensor.device.device_type != CPU {
            let DLDevice { device_type, device_id } = tensor.device;
            return Err(wrong("data in the host's memory", format!("device {device_type}:{device_id}")));
        }
        let dtype = dtype_of(tensor.dtype)?;
        let rank = usize::try_from(tensor.ndim).map_err(|_| wrong("a rank", tensor.ndim.to_string()))?;
        let list = |at: *mut i64| match rank == 0 || at.is_null() {
            true => None,
            // SAFETY: both are as long as the rank, or null.
            false => Some(unsafe { std::slice::from_raw_parts(at, rank) }),
        };
        let shape: Box<[i64]> = match list(tensor.shape) {
            Some(shape) => shape.into(),
            None if rank == 0 => Box::new([]),
            None => return Err(wrong("a shape", "a null pointer".into())),
        };
        let strides: Option<Box<[i64]>> = list(tensor.strides).map(Into::into);
        let Some((before, after)) = extent(&shape, strides.as_deref()) else {
            return Err(wrong("strides within memory", format!("shape {shape:?} and strides {strides:?}")));
        };
        // The data begins where its first byte is, which is before the first element where strides are negative.
        let at = tensor.data.cast::<u8>().wrapping_add(tensor.byte_offset as usize);
        let data = match tensor.data.is_null() {
            true => std::ptr::null_mut(),
            false => at.wrapping_sub(before * dtype.size()),
        };
        let immutable = flags & IS_COPIED != 0 && flags & READ_ONLY != 0;
        let bytes = (before + after) * dtype.size();
        let tensor =
            Tensor { held: Arc::new(held), dtype, shape, strides, data, first: before, bytes, immutable };
        tensor.view()?;
        Ok(tensor)
    }

    /// Declares that nobody writes to the data as long as an array shares it: then a device may use it where it is.
    ///
    /// # Safety
    ///
    /// So it is.
    pub unsafe fn immutable(self) -> Tensor {
        Tensor { immutable: true, ..self }
    }

    /// The element type.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The sizes, outermost first.
    pub fn shape(&self) -> &[i64] {
        &self.shape
    }

    /// Whether results cannot be written into it: it says so, or some of its elements share memory, so that it cannot hold the
    /// results of all.
    pub fn is_read_only(&self) -> bool {
        self.says_read_only() || self.view().is_ok_and(|view| view.places().repeat())
    }

    fn says_read_only(&self) -> bool {
        self.immutable
            || match *self.held {
                // SAFETY: the tensor is alive as long as it is held.
                Held::Versioned(tensor) => unsafe { tensor.as_ref().flags & READ_ONLY != 0 },
                Held::Unversioned(_) => true,
            }
    }

    /// Its data.
    fn view(&self) -> Result<HostView<'_>> {
        let strides = self.strides.as_deref();
        // SAFETY: the data is the tensor's, and was measured by its shape and its strides.
        unsafe { HostView::from_parts(self.dtype, &self.shape, strides, self.first, self.data, self.bytes) }
    }

    /// Writes a row-major array of the same dtype and shape into it.
    ///
    /// # Safety
    ///
    /// The data is not read-only, and nobody reads it meanwhile.
    unsafe fn write(&self, bytes: &[u8]) {
        let size = self.dtype.size();
        let rows: Vec<i64>;
        let strides = match &self.strides {
            Some(strides) => &**strides,
            None => {
                let mut step = 1;
                let mut list: Vec<i64> = self.shape.iter().rev().map(|n| (step, step *= n).0).collect();
                list.reverse();
                rows = list;
                &rows
            }
        };
        let mut index = vec![0i64; self.shape.len()];
        for element in bytes.chunks_exact(size) {
            let steps: i64 = index.iter().zip(strides).map(|(i, stride)| i * stride).sum();
            let at = (self.first as i64 + steps) as usize * size;
            // SAFETY: each index is within the shape, so the element is within the data.
            unsafe { std::ptr::copy_nonoverlapping(element.as_ptr(), self.data.add(at), size) };
            for (i, n) in index.iter_mut().zip(&self.shape).rev() {
                *i += 1;
                if *i < *n {
                    break;
                }
                *i = 0;
            }
        }
    }
}

/// The converter for [`Tensor`].
#[derive(Clone, Copy, Debug, Default)]
pub struct DlPack;

impl Converter<Tensor> for DlPack {
    fn convert_in<'a>(&self, tensor: &'a Tensor, _: &Expected<'_>) -> Result<Described<'a>> {
        // SAFETY: the owner holds the tensor, whose data stays where it is until its deleter is called.
        let described = unsafe { Described::shared(tensor.view()?, Box::new(tensor.held.clone())) };
        let described = match tensor.immutable {
            // SAFETY: that was declared, or nobody but us has the copy, which may not be written to.
            true => unsafe { described.immutable() },
            false => described,
        };
        Ok(if tensor.says_read_only() { described.read_only() } else { described })
    }

    fn gives_back(&self) -> bool {
        true
    }

    fn check_out(&self, result: &Array, original: &Tensor, info: &OutInfo<'_>) -> Result<()> {
        let expected = Expected::new(info.argument);
        if original.is_read_only() {
            return Err(expected.error("the tensor is read-only"));
        }
        if (result.dtype(), result.shape()) != (original.dtype(), original.shape()) {
            let (result, tensor) = (result.aval(), crate::Aval::new(original.dtype, &*original.shape));
            return Err(expected.error(format!("the result is a {result}, the tensor a {tensor}")));
        }
        Ok(())
    }

    fn convert_out(&self, result: &Array, original: &Tensor, info: &OutInfo<'_>) -> Result<Out> {
        self.check_out(result, original, info)?;
        // SAFETY: it may be written to; no other thread has the `Tensor`, and who made it promised that nobody else uses the
        // data meanwhile.
        result.with_bytes(|bytes| unsafe { original.write(bytes) })?;
        Ok(Out::Written)
    }
}

/// How many elements there are in memory before the first one, and from it on.
fn extent(shape: &[i64], strides: Option<&[i64]>) -> Option<(usize, usize)> {
    if shape.contains(&0) {
        return Some((0, 0));
    }
    let (mut before, mut after, mut rows) = (0i64, 1i64, 1i64);
    for (i, &size) in shape.iter().enumerate().rev() {
        let stride = strides.map_or(rows, |strides| strides[i]);
        let reach = stride.checked_mul(size.checked_sub(1)?)?;
        match reach < 0 {
            true => before = before.checked_sub(reach)?,
            false => after = after.checked_add(reach)?,
        }
        rows = rows.checked_mul(size)?;
    }
    // No memory is larger: the bytes can be counted.
    let fits = |n: i64| usize::try_from(n).ok().filter(|&n| n < usize::MAX >> 8);
    Some((fits(before)?, fits(after)?))
}

#[cold]
fn wrong(expected: &str, got: String) -> Error {
    Error::Value { argument: "tensor".into(), expected: expected.into(), got }
}
