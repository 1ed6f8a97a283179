//! Views of host data.

use std::marker::PhantomData;

use super::layout::{self, Strides};
use super::{Element, check_len, gather, gather_items};
use crate::aval::brief;
use crate::{Aval, DType, Error, Result};

/// Host data that is borrowed: dtype, shape, and where the elements lie.
///
/// Most views are *dense*: row-major, from the first element of the data on. Others have strides and an offset, counted in
/// elements: the element with the indices `i` and `j` is `offset + i * strides[0] + j * strides[1]` of the data.
///
/// ```
/// use dispatch_runtime::{HostArray, HostView};
///
/// let data = [1, 2, 3, 4, 5, 6];
/// let rows = HostView::new(&data, &[2, 3])?;
/// let columns = HostView::column_major(&data, &[2, 3])?;
/// let backwards = HostView::strided(&data, &[2, 3], &[-3, -1], 5)?;
/// let second = HostView::strided(&data, &[2], &[3], 1)?; // the second column of `rows`
///
/// let elements = |view| HostArray::from_view(view).as_slice::<i32>().unwrap().to_vec();
/// assert_eq!(elements(rows), [1, 2, 3, 4, 5, 6]);
/// assert_eq!(elements(columns), [1, 3, 5, 2, 4, 6]);
/// assert_eq!(elements(backwards), [6, 5, 4, 3, 2, 1]);
/// assert_eq!(elements(second), [2, 5]);
/// assert_eq!((columns.strides(), columns.offset(), columns.is_dense()), (vec![1, 2], 0, false));
/// # Ok::<(), dispatch_runtime::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct HostView<'a> {
    dtype: DType,
    shape: &'a [i64],
    /// The element whose indices are all 0; where there is none, any pointer but null.
    first: *const u8,
    order: Order<'a>,
    lifetime: PhantomData<&'a [u8]>,
}

/// How the elements lie. What is dense has no other form.
#[derive(Clone, Copy, Debug)]
enum Order<'a> {
    Dense,
    ColumnMajor,
    Strided(&'a [i64], usize),
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
        // SAFETY: the slice has as many elements as the shape.
        Ok(unsafe { HostView::from_raw(T::DTYPE, shape, data.as_ptr().cast()) })
    }

    /// A view of a slice in column-major order: the first index runs fastest, as in R and Fortran.
    ///
    /// An error if the shape has another number of elements than the slice, or a negative size.
    pub fn column_major<T: Element>(data: &'a [T], shape: &'a [i64]) -> Result<HostView<'a>> {
        check_len(T::DTYPE, data.len(), shape)?;
        // SAFETY: the slice has as many elements as the shape.
        Ok(unsafe { HostView::from_raw_column_major(T::DTYPE, shape, data.as_ptr().cast()) })
    }

    /// A view of elements that lie `strides` apart along each dimension, the first of them at `offset`, both counted in
    /// elements. Strides may be 0, so that an element stands for many, and negative; elements of the slice may be left out.
    ///
    /// Strides and an offset that make a dense view [are](HostView::is_dense) one, and along a dimension of size 1 any
    /// stride is as good as another.
    ///
    /// ```
    /// use dispatch_runtime::HostView;
    ///
    /// let data = [0f32; 6];
    /// assert!(HostView::strided(&data, &[2, 3], &[3, 1], 0)?.is_dense());
    /// assert!(!HostView::strided(&data, &[2, 2], &[3, 1], 1)?.is_dense());
    /// let error = HostView::strided(&data, &[2, 3], &[3, 1], 1).unwrap_err();
    /// assert_eq!(
    ///     error.to_string(),
    ///     "argument `strides`: expected strides and an offset inside of 6 elements, \
    ///      got strides [3,1] from offset 1, which reach element 6"
    /// );
    /// # Ok::<(), dispatch_runtime::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// No array has the shape; there is not one stride for each dimension; an element would lie outside of the slice.
    pub fn strided<T: Element>(
        data: &'a [T],
        shape: &'a [i64],
        strides: &'a [i64],
        offset: usize,
    ) -> Result<HostView<'a>> {
        let aval = Aval::strided(T::DTYPE, shape, strides, offset)?;
        layout::check(T::DTYPE, shape, strides, offset, Some(data.len())).map_err(wrong_strides)?;
        let order = match aval.is_dense() {
            true => Order::Dense,
            false => Order::Strided(strides, offset),
        };
        // An empty view has no offset, so the pointer stays inside of the slice. It is one to all of the slice, for with
        // negative strides there are elements before it.
        let first = data.as_ptr().wrapping_add(aval.offset()).cast();
        Ok(HostView { dtype: T::DTYPE, shape, first, order, lifetime: PhantomData })
    }

    /// A view of one value, of rank 0.
    #[inline]
    pub fn scalar<T: Element>(value: &'a T) -> HostView<'a> {
        // SAFETY: a shape without dimensions has one element.
        unsafe { HostView::from_raw(T::DTYPE, &[], std::ptr::from_ref(value).cast()) }
    }

    /// A dense view of raw bytes that hold elements of `dtype`.
    ///
    /// # Safety
    ///
    /// `data` holds as many elements of `dtype` as `shape` says, aligned for it, each a valid value of its Rust type,
    /// and lives for `'a`. An array can have the shape.
    #[inline]
    pub unsafe fn from_raw(dtype: DType, shape: &'a [i64], data: *const u8) -> HostView<'a> {
        HostView { dtype, shape, first: data, order: Order::Dense, lifetime: PhantomData }
    }

    /// [`HostView::from_raw`] of elements in column-major order.
    ///
    /// # Safety
    ///
    /// As for [`HostView::from_raw`].
    pub unsafe fn from_raw_column_major(dtype: DType, shape: &'a [i64], data: *const u8) -> HostView<'a> {
        // Both orders are one where nobody steps along more than one dimension.
        let steps = shape.iter().filter(|&&size| size != 1).count();
        let order = if steps <= 1 || shape.contains(&0) { Order::Dense } else { Order::ColumnMajor };
        HostView { dtype, shape, first: data, order, lifetime: PhantomData }
    }

    /// A view of `bytes` bytes at `data` that hold elements of `dtype`, as another library describes them: `strides` apart
    /// along each dimension (none: row-major), the first of them at `offset`, both counted in elements.
    ///
    /// Whatever can be checked is: see the errors. Data that is row-major from the offset on is dense.
    ///
    /// ```
    /// use dispatch_runtime::{DType, HostView};
    ///
    /// let data = [1f32, 2.0, 3.0, 4.0];
    /// // SAFETY: the array has 16 bytes, and lives.
    /// let view = |shape, offset| unsafe {
    ///     HostView::from_parts(DType::F32, shape, None, offset, data.as_ptr().cast(), 16)
    /// };
    /// assert_eq!(view(&[3], 1)?.as_slice::<f32>(), Some(&[2f32, 3.0, 4.0][..]));
    /// let error = view(&[4], 1).unwrap_err();
    /// assert_eq!(
    ///     error.to_string(),
    ///     "argument `data`: expected f32[4] with strides [1] from offset 1, got 16 bytes"
    /// );
    /// # Ok::<(), dispatch_runtime::Error>(())
    /// ```
    ///
    /// # Safety
    ///
    /// Of what the data holds, each element that the view has is a valid value of the dtype's Rust type; it lives, and does
    /// not change, for `'a`.
    ///
    /// # Errors
    ///
    /// No array has the shape; there is not one stride for each dimension; an element would lie outside of the data, which
    /// is too short, or null; the elements are not aligned for their type.
    pub unsafe fn from_parts(
        dtype: DType,
        shape: &'a [i64],
        strides: Option<&'a [i64]>,
        offset: usize,
        data: *const u8,
        bytes: usize,
    ) -> Result<HostView<'a>> {
        let rows = layout::row_major(shape);
        let steps = strides.unwrap_or(&rows);
        let aval = Aval::strided(dtype, shape, steps, offset)?;
        if shape.contains(&0) {
            return Ok(HostView::empty(dtype, shape));
        }
        let wrong = |expected: String, got: String| Error::Value { argument: "data".into(), expected, got };
        if data.is_null() {
            return Err(wrong(brief(&aval), "a null pointer".into()));
        }
        if layout::check(dtype, shape, steps, offset, Some(bytes / dtype.size())).is_err() {
            return Err(wrong(brief(&aval), crate::error::counted(bytes, "byte")));
        }
        if data as usize % dtype.align() != 0 {
            let aligned = crate::error::counted(dtype.align(), "byte");
            return Err(wrong(format!("elements of {dtype} aligned to {aligned}"), "an odd address".into()));
        }
        // What is row-major from the first element on is dense, wherever that is: the data before it is of no interest.
        let order = match (layout::canonical(shape, steps, 0), strides) {
            (Some(_), Some(strides)) => Order::Strided(strides, offset),
            _ => Order::Dense,
        };
        // SAFETY: the offset is inside of the data, as was checked.
        let first = unsafe { data.add(offset * dtype.size()) };
        Ok(HostView { dtype, shape, first, order, lifetime: PhantomData })
    }

    /// The same data under a shape and strides, equal to its own, that live elsewhere.
    ///
    /// # Safety
    ///
    /// The data lives, and does not change, for `'b`.
    #[cfg(feature = "convert")]
    pub(crate) unsafe fn at_home<'b>(self, shape: &'b [i64], strides: Option<&'b [i64]>) -> HostView<'b> {
        let order = match (self.order, strides) {
            (Order::Strided(_, offset), Some(strides)) => Order::Strided(strides, offset),
            (Order::ColumnMajor, _) => Order::ColumnMajor,
            _ => Order::Dense,
        };
        HostView { dtype: self.dtype, shape, first: self.first, order, lifetime: PhantomData }
    }

    /// A view without elements.
    pub(crate) fn empty(dtype: DType, shape: &'a [i64]) -> HostView<'a> {
        // Aligned for every element type.
        static NOWHERE: u128 = 0;
        HostView {
            dtype,
            shape,
            first: (&raw const NOWHERE).cast(),
            order: Order::Dense,
            lifetime: PhantomData,
        }
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

    /// Whether the elements lie row-major, from the first one of the data on.
    #[inline]
    pub fn is_dense(&self) -> bool {
        matches!(self.order, Order::Dense)
    }

    /// The distance of neighbours along each dimension, in elements. Along a dimension of size 1 it is that of a dense
    /// view.
    pub fn strides(&self) -> Vec<i64> {
        self.layout().map_or_else(|| layout::row_major(self.shape), |(strides, _)| strides).into_vec()
    }

    /// How many elements of the data lie before the one whose indices are all 0. 0 if the view has no elements.
    pub fn offset(&self) -> usize {
        match self.order {
            Order::Strided(_, offset) => offset,
            _ => 0,
        }
    }

    /// Strides and offset in the one form that a layout has; none if the view is dense.
    pub(crate) fn layout(&self) -> Option<(Strides, usize)> {
        match self.order {
            Order::Dense => None,
            Order::ColumnMajor => layout::canonical(self.shape, &layout::column_major(self.shape), 0),
            Order::Strided(strides, offset) => layout::canonical(self.shape, strides, offset),
        }
    }

    /// Dtype and shape, and the strides and the offset unless the view is dense.
    pub fn aval(&self) -> Aval {
        Aval::with_layout(self.dtype, self.shape, self.layout())
    }

    /// The element whose indices are all 0; null is never given, also for no elements. The others come after it, without a
    /// gap, if the view [is dense](HostView::is_dense).
    #[inline]
    pub fn as_ptr(&self) -> *const u8 {
        self.first
    }

    /// The bytes of the elements, if the view [is dense](HostView::is_dense).
    pub fn bytes(&self) -> Option<&'a [u8]> {
        // SAFETY: dense data holds `len` elements of `dtype` for `'a`, and every `Element` is plain data without padding.
        self.is_dense()
            .then(|| unsafe { std::slice::from_raw_parts(self.first, self.len() * self.dtype.size()) })
    }

    /// The elements, if `T` is the dtype's Rust type and the view [is dense](HostView::is_dense).
    pub fn as_slice<T: Element>(&self) -> Option<&'a [T]> {
        // SAFETY: dense data holds `len` elements of `T`, aligned, for `'a`.
        (T::DTYPE == self.dtype && self.is_dense())
            .then(|| unsafe { std::slice::from_raw_parts(self.first.cast(), self.len()) })
    }

    /// Writes the elements in column-major order, each as `convert` makes it.
    ///
    /// ```
    /// use dispatch_runtime::HostView;
    ///
    /// let data = [1i32, 2, 3, 4, 5, 6];
    /// let mut to = [0f64; 4];
    /// // SAFETY: the elements are `i32`s, and there is room for the four of the view.
    /// unsafe { HostView::strided(&data, &[2, 2], &[3, 2], 0)?.to_column_major(to.as_mut_ptr(), |x: i32| x.into()) };
    /// assert_eq!(to, [1.0, 4.0, 3.0, 6.0]);
    /// # Ok::<(), dispatch_runtime::Error>(())
    /// ```
    ///
    /// # Safety
    ///
    /// `S` has the size of the dtype, and every element is a value of it. `to` has room for all elements, aligned, apart from
    /// the view.
    pub unsafe fn to_column_major<S: Copy, T: Copy>(&self, to: *mut T, convert: impl Fn(S) -> T + Copy) {
        let mut strides = self.layout().map_or_else(|| layout::row_major(self.shape), |(strides, _)| strides);
        layout::scale(&mut strides, self.dtype.size());
        // Column-major elements of a shape are row-major ones of the shape read backwards.
        strides.reverse();
        let mut sizes = Strides::from_slice(self.shape);
        sizes.reverse();
        // SAFETY: by the caller's promise; the layout was checked to be inside of the data.
        unsafe { gather::gather(self.first.cast::<S>(), &sizes, &strides, to, convert) }
    }

    /// Copies the elements, so that they are dense.
    ///
    /// # Safety
    ///
    /// `to` has room for them, aligned, apart from the view.
    pub(crate) unsafe fn copy_to(&self, to: *mut u8) {
        // SAFETY: by the caller's promise; the layout was checked to be inside of the data.
        unsafe {
            match self.layout() {
                None => to.copy_from_nonoverlapping(self.first, self.len() * self.dtype.size()),
                Some((mut strides, _)) => {
                    layout::scale(&mut strides, self.dtype.size());
                    gather_items(self.first, self.shape, &strides, self.dtype.size(), to);
                }
            }
        }
    }
}

/// The error of strides and an offset, from what was expected and what came.
pub(crate) fn wrong_strides((expected, got): (String, String)) -> Error {
    Error::Value { argument: "strides".into(), expected, got }
}
