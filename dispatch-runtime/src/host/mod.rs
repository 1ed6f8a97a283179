//! Host data: element types, views, owned arrays, and their conversion to a declared dtype.

mod convert;
mod element;
mod order;

use std::marker::PhantomData;

pub use convert::Converted;
#[cfg(feature = "graph")]
pub(crate) use convert::number::{Number, Target};
pub use element::Element;
pub use order::{to_column_major, to_row_major};

use crate::aval::is_array_shape;
use crate::{Aval, DType, Error, Result};

/// Dense row-major host data that is borrowed: dtype, shape and a pointer.
#[derive(Clone, Copy, Debug)]
pub struct HostView<'a> {
    dtype: DType,
    shape: &'a [i64],
    data: *const u8,
    data_lifetime: PhantomData<&'a [u8]>,
}

// SAFETY: a view is a shared borrow of plain data (`Element` types only).
unsafe impl Send for HostView<'_> {}
// SAFETY: as above.
unsafe impl Sync for HostView<'_> {}

impl<'a> HostView<'a> {
    /// A view of a slice under a row-major shape.
    ///
    /// An error if the shape has another number of elements than the slice, or a negative size.
    pub fn new<T: Element>(data: &'a [T], shape: &'a [i64]) -> Result<HostView<'a>> {
        check_len(T::DTYPE, data.len(), shape)?;
        Ok(HostView { dtype: T::DTYPE, shape, data: data.as_ptr().cast(), data_lifetime: PhantomData })
    }

    /// A view of one value, of rank 0.
    #[inline]
    pub fn scalar<T: Element>(value: &'a T) -> HostView<'a> {
        HostView {
            dtype: T::DTYPE,
            shape: &[],
            data: std::ptr::from_ref(value).cast(),
            data_lifetime: PhantomData,
        }
    }

    /// A view of raw bytes that hold elements of `dtype`.
    ///
    /// # Safety
    ///
    /// `data` holds as many elements of `dtype` as `shape` says, aligned for it, each a valid value of its Rust type,
    /// and lives for `'a`.
    pub unsafe fn from_raw(dtype: DType, shape: &'a [i64], data: *const u8) -> HostView<'a> {
        HostView { dtype, shape, data, data_lifetime: PhantomData }
    }

    /// The element type.
    #[inline]
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The sizes, outermost first.
    #[inline]
    pub fn shape(&self) -> &'a [i64] {
        self.shape
    }

    /// The number of elements.
    #[allow(clippy::len_without_is_empty)] // as for `Aval`
    pub fn len(&self) -> usize {
        self.shape.iter().product::<i64>() as usize
    }

    /// Dtype and shape.
    pub fn aval(&self) -> Aval {
        Aval::new(self.dtype, self.shape)
    }

    /// The data; null is never given, also for no elements.
    #[inline]
    pub fn as_ptr(&self) -> *const u8 {
        self.data
    }

    /// The bytes of the data.
    pub fn bytes(&self) -> &'a [u8] {
        // SAFETY: `data` holds `len` elements of `dtype` for `'a`, and every `Element` is plain data without padding.
        unsafe { std::slice::from_raw_parts(self.data, self.len() * self.dtype.size()) }
    }

    /// The elements, if `T` is the dtype's Rust type.
    pub fn as_slice<T: Element>(&self) -> Option<&'a [T]> {
        // SAFETY: `data` holds `len` elements of `T`, aligned, for `'a`.
        (T::DTYPE == self.dtype).then(|| unsafe { std::slice::from_raw_parts(self.data.cast(), self.len()) })
    }
}

/// Dense row-major host data that is owned; what programs of the host engine take and give.
///
/// ```
/// use dispatch_runtime::{DType, HostArray};
///
/// let a = HostArray::new(vec![1f32, 2.0, 3.0, 4.0], [2, 2])?;
/// assert_eq!((a.dtype(), a.shape()), (DType::F32, &[2, 2][..]));
/// assert_eq!(a.as_slice::<f32>().unwrap()[3], 4.0);
/// # Ok::<(), dispatch_runtime::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct HostArray {
    dtype: DType,
    shape: Box<[i64]>,
    /// Words of 16 bytes, so that every element type is aligned.
    words: Box<[u128]>,
}

impl HostArray {
    /// An array of these elements under a row-major shape.
    ///
    /// An error if the shape has another number of elements, or a negative size.
    pub fn new<T: Element>(data: impl AsRef<[T]>, shape: impl AsRef<[i64]>) -> Result<HostArray> {
        let (data, shape) = (data.as_ref(), shape.as_ref());
        Ok(HostArray::from_view(HostView::new(data, shape)?))
    }

    /// A copy of a view.
    pub fn from_view(view: HostView<'_>) -> HostArray {
        let mut out = HostArray::zeros(view.dtype(), view.shape());
        // SAFETY: the bytes are elements of the same dtype.
        unsafe { out.bytes_mut() }.copy_from_slice(view.bytes());
        out
    }

    /// An array of elements that are given as bytes. Of `bool`, those that are not 0 are true.
    ///
    /// An error if there are more or fewer bytes than the elements take, and those of [`HostArray::try_zeros`].
    ///
    /// ```
    /// use dispatch_runtime::{DType, HostArray};
    ///
    /// let a = HostArray::from_bytes(DType::Bool, [3], &[0, 1, 2])?;
    /// assert_eq!(a.as_slice::<bool>(), Some(&[false, true, true][..]));
    /// # Ok::<(), dispatch_runtime::Error>(())
    /// ```
    pub fn from_bytes(dtype: DType, shape: impl AsRef<[i64]>, bytes: &[u8]) -> Result<HostArray> {
        let mut out = HostArray::try_zeros(dtype, shape)?;
        // SAFETY: any bytes are elements of the other dtypes, and those of `bool` are made so.
        let to = unsafe { out.bytes_mut() };
        if to.len() != bytes.len() {
            return Err(Error::Shape {
                argument: "bytes".into(),
                expected: crate::error::counted(to.len(), "byte"),
                got: crate::error::counted(bytes.len(), "byte"),
            });
        }
        to.copy_from_slice(bytes);
        if dtype == DType::Bool {
            make_bools(to);
        }
        Ok(out)
    }

    /// A row-major copy of a view whose elements stand in column-major order.
    pub fn from_column_major(view: HostView<'_>) -> HostArray {
        let mut out = HostArray::zeros(view.dtype(), view.shape());
        let to = out.words.as_mut_ptr();
        macro_rules! copy {
            ($item:ty) => {
                // SAFETY: `out` has room for as many elements, aligned for words of their size. Views are aligned for
                // their elements, whose size this is.
                unsafe {
                    to_row_major(view.as_ptr().cast::<$item>(), view.shape(), to.cast::<$item>(), |x| x)
                }
            };
        }
        match view.dtype().size() {
            1 => copy!(u8),
            2 => copy!(u16),
            4 => copy!(u32),
            8 if view.dtype() != DType::C64 => copy!(u64),
            8 => copy!([u32; 2]),
            _ => copy!([u64; 2]),
        }
        out
    }

    /// An array of zeros (`false` for booleans).
    ///
    /// # Panics
    ///
    /// If no array has this shape, see [`Aval::try_new`].
    pub fn zeros(dtype: DType, shape: impl AsRef<[i64]>) -> HostArray {
        let aval = Aval::new(dtype, shape);
        HostArray { dtype, shape: aval.shape().into(), words: vec![0; aval.size_bytes().div_ceil(16)].into() }
    }

    /// [`HostArray::zeros`], with an error if no array has this shape or there is no memory for it.
    pub fn try_zeros(dtype: DType, shape: impl AsRef<[i64]>) -> Result<HostArray> {
        let shape = shape.as_ref();
        let too_large = || Error::Shape {
            argument: "shape".into(),
            expected: "with fewer elements".into(),
            got: crate::aval::shape_text(shape),
        };
        let aval = Aval::try_new(dtype, shape).ok_or_else(too_large)?;
        let len = aval.size_bytes().div_ceil(16);
        if len == 0 {
            return Ok(HostArray { dtype, shape: shape.into(), words: Box::default() });
        }
        let layout = std::alloc::Layout::array::<u128>(len).map_err(|_| too_large())?;
        // SAFETY: the layout is not empty, and zeros are words.
        let words = unsafe {
            let data = std::alloc::alloc_zeroed(layout).cast::<u128>();
            if data.is_null() {
                return Err(too_large());
            }
            Box::from_raw(std::ptr::slice_from_raw_parts_mut(data, len))
        };
        Ok(HostArray { dtype, shape: shape.into(), words })
    }

    /// The element type.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The sizes, outermost first.
    pub fn shape(&self) -> &[i64] {
        &self.shape
    }

    /// Dtype and shape.
    pub fn aval(&self) -> Aval {
        Aval::new(self.dtype, &self.shape)
    }

    /// A view of the whole array.
    pub fn view(&self) -> HostView<'_> {
        // SAFETY: `words` holds at least the elements that the shape says, aligned to 16; they started as zeros,
        // which are valid for every element type, and were only written through elements or copied from a view.
        unsafe { HostView::from_raw(self.dtype, &self.shape, self.words.as_ptr().cast()) }
    }

    /// The elements, if `T` is the dtype's Rust type.
    pub fn as_slice<T: Element>(&self) -> Option<&[T]> {
        self.view().as_slice()
    }

    /// The elements to write to, if `T` is the dtype's Rust type.
    pub fn as_mut_slice<T: Element>(&mut self) -> Option<&mut [T]> {
        let len = self.view().len();
        // SAFETY: as in `view`; the borrow of `self` is exclusive.
        (T::DTYPE == self.dtype)
            .then(|| unsafe { std::slice::from_raw_parts_mut(self.words.as_mut_ptr().cast(), len) })
    }

    /// The bytes.
    ///
    /// # Safety
    ///
    /// What is written are valid elements of the dtype: of `bool`, bytes of 0 and 1.
    pub unsafe fn bytes_mut(&mut self) -> &mut [u8] {
        let len = self.view().len() * self.dtype.size();
        // SAFETY: the words are initialised and the borrow of `self` is exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.words.as_mut_ptr().cast(), len) }
    }
}

/// Whether all bytes are `bool`s. XLA makes no other, but a handler can, and a buffer can be uploaded with one.
pub(crate) fn are_bools(bytes: &[u8]) -> bool {
    // Folded without a way out, so that it is done by vectors.
    bytes.iter().fold(0, |all, byte| all | byte) <= 1
}

/// Makes any bytes into `bool`s, leaving those that are.
pub(crate) fn make_bools(bytes: &mut [u8]) {
    bytes.iter_mut().for_each(|byte| *byte = (*byte != 0) as u8);
}

fn check_len(dtype: DType, len: usize, shape: &[i64]) -> Result<()> {
    // The product cannot overflow for the shape of an array.
    if is_array_shape(dtype, shape) && shape.iter().product::<i64>() as usize == len {
        return Ok(());
    }
    Err(Error::Shape {
        argument: "shape".into(),
        expected: format!("of {}", crate::error::counted(len, "element")),
        got: crate::aval::shape_text(shape),
    })
}
