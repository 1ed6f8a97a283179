//! Host data: element types, views, owned arrays, and their conversion to a declared dtype.

mod convert;
mod element;
mod gather;
pub(crate) mod layout;
mod places;
mod view;

pub use convert::Converted;
#[cfg(feature = "graph")]
pub(crate) use convert::number::{Number, Target};
pub use element::Element;
pub(crate) use gather::gather_items;
pub use gather::{to_column_major, to_row_major};
pub use places::Places;
pub use view::HostView;
pub(crate) use view::wrong_strides;

/// What keeps host data where it is, and as it is: dropped once, as soon as nobody reads the data any more. That may be on
/// any thread, one of the plugin's too, while the plugin is in the middle of something: the drop must be short, must not
/// call the plugin, and must not panic.
///
/// Any value that can go to another thread is one.
pub trait Owner: Send + 'static {}

impl<T: Send + 'static> Owner for T {}

use crate::aval::is_array_shape;
use crate::{Aval, DType, Error, Result};

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

    /// A copy of a view, whatever its strides are.
    ///
    /// ```
    /// use dispatch_runtime::{HostArray, HostView};
    ///
    /// let columns = HostView::column_major(&[1, 2, 3, 4, 5, 6], &[2, 3])?;
    /// assert_eq!(HostArray::from_view(columns).as_slice::<i32>(), Some(&[1, 3, 5, 2, 4, 6][..]));
    /// # Ok::<(), dispatch_runtime::Error>(())
    /// ```
    pub fn from_view(view: HostView<'_>) -> HostArray {
        HostArray::zeros(view.dtype(), view.shape()).filled(view)
    }

    /// [`HostArray::from_view`], with an error if there is no memory for it: a view with strides of 0 has more elements
    /// than there is data.
    pub fn try_from_view(view: HostView<'_>) -> Result<HostArray> {
        Ok(HostArray::try_zeros(view.dtype(), view.shape())?.filled(view))
    }

    /// The array with the elements of a view of its own dtype and shape.
    fn filled(mut self, view: HostView<'_>) -> HostArray {
        // SAFETY: the room has the size of the view's dense array, is aligned to 16, and is written with elements.
        unsafe { view.copy_to(self.words.as_mut_ptr().cast()) };
        self
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

    /// The bytes of the elements.
    pub fn bytes(&self) -> &[u8] {
        self.view().bytes().expect("an array is dense")
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
