//! A call frame, read no further than it describes itself.

use std::any::Any;
use std::ffi::{c_int, c_void};
use std::marker::PhantomData;
use std::ptr::NonNull;
use std::slice;
use std::sync::Arc;

use super::abi::{self, XLA_FFI_CallFrame};
use super::attribute::{Cursor, Dictionary};
use super::buffer::{Argument, Named, Output, Want};
use super::context::FromCall;
use super::remaining::{RemainingArgs, RemainingRets};
use super::slot::Slot;
use super::spec::Spec;
use super::{Error, Result};

/// One call of a handler: its frame, whose outline has been checked, and its signature.
///
/// `'a` is the time of the call, in which XLA keeps what the frame points to.
///
/// The functions that decode are for expansions, which ask for each result once.
pub struct Call<'a> {
    /// With the outline checked by [`Call::new`]. Not a reference, because the frame may end before its last field.
    frame: NonNull<XLA_FFI_CallFrame>,
    /// The frame of XLA, which is another one if `frame` is a mended copy.
    origin: NonNull<XLA_FFI_CallFrame>,
    spec: &'static Spec,
    kept: Option<Arc<dyn Any + Send + Sync>>,
    borrowed: PhantomData<&'a ()>,
}

/// A list of buffers is as long as it says, or negative.
fn check_list(what: &str, size: i64, struct_size: usize, needed: usize, pointers: &[bool]) -> Result<()> {
    let wrong = if struct_size < needed {
        format!("its {what} take {needed} bytes, but say {struct_size}")
    } else if size < 0 {
        format!("it has {size} {what}")
    } else if size > 0 && pointers.contains(&true) {
        format!("it has {size} {what}, but a null pointer for them")
    } else {
        return Ok(());
    };
    Err(Error::internal(format!("malformed call frame: {wrong}")))
}

impl<'a> Call<'a> {
    /// Reads the outline of a frame.
    ///
    /// # Safety
    ///
    /// The frame reaches as far as its `struct_size` says, which is at least [`abi::CALL_FRAME_SIZE`], and so do the
    /// structs it points to; lists have as many items as they say, pointers are null or valid and aligned. All that
    /// stays for `'a`, and the memory of the results is not used by others.
    #[inline(always)]
    pub(crate) unsafe fn new(frame: NonNull<XLA_FFI_CallFrame>, spec: &'static Spec) -> Result<Call<'a>> {
        let p = frame.as_ptr();
        // SAFETY: the three lists are inside of the frame, by the contract.
        let (args, rets, attrs) = unsafe { (&(*p).args, &(*p).rets, &(*p).attrs) };
        let whole = args.struct_size >= size_of::<abi::XLA_FFI_Args>()
            && rets.struct_size >= size_of::<abi::XLA_FFI_Rets>()
            && attrs.struct_size >= size_of::<abi::XLA_FFI_Attrs>();
        let filled = |size: i64, pointers: bool| size == 0 || (size > 0 && pointers);
        let sound = whole
            && filled(args.size, !args.types.is_null() && !args.args.is_null())
            && filled(rets.size, !rets.types.is_null() && !rets.rets.is_null())
            && filled(attrs.size, !attrs.types.is_null() && !attrs.names.is_null() && !attrs.attrs.is_null());
        if !sound {
            return Err(malformed(args, rets, attrs));
        }
        Ok(Call { frame, origin: frame, spec, kept: None, borrowed: PhantomData })
    }

    /// The call with another frame, which `kept` holds.
    ///
    /// # Safety
    ///
    /// As [`Call::new`], and the outline is sound.
    pub(super) unsafe fn mended(
        &self,
        frame: NonNull<XLA_FFI_CallFrame>,
        kept: Arc<dyn Any + Send + Sync>,
    ) -> Call<'a> {
        Call { frame, origin: self.origin, spec: self.spec, kept: Some(kept), borrowed: PhantomData }
    }

    /// What a mended frame points to: whoever lets a call go on after the handler has returned keeps it until the end.
    #[doc(hidden)]
    pub fn kept(&self) -> Option<Arc<dyn Any + Send + Sync>> {
        self.kept.clone()
    }

    pub(super) fn is_mended(&self) -> bool {
        self.kept.is_some()
    }

    pub(super) fn frame(&self) -> NonNull<XLA_FFI_CallFrame> {
        self.frame
    }

    /// The signature of the handler.
    #[doc(hidden)]
    pub fn spec(&self) -> &'static Spec {
        self.spec
    }

    /// The functions of the plugin; null only in frames made by hand.
    #[inline(always)]
    pub fn api(&self) -> *const abi::XLA_FFI_Api {
        // SAFETY: the field is inside of the frame.
        unsafe { (*self.frame.as_ptr()).api }
    }

    /// What the functions of the plugin know the execution by; null in the handshake.
    #[inline(always)]
    pub fn ctx(&self) -> *mut abi::XLA_FFI_ExecutionContext {
        // SAFETY: the field is inside of the frame.
        unsafe { (*self.frame.as_ptr()).ctx }
    }

    /// The number of the stage.
    #[inline(always)]
    pub fn stage(&self) -> c_int {
        // SAFETY: the field is inside of the frame.
        unsafe { (*self.frame.as_ptr()).stage }
    }

    /// Gives XLA a future, which then says when the call is done.
    ///
    /// # Safety
    ///
    /// The future is of this call's plugin, and will be completed.
    pub(crate) unsafe fn set_future(&self, future: *mut abi::XLA_FFI_Future) {
        // SAFETY: the frames of all versions have the field, though they leave it out of the size they declare; it is
        // written by field pointer, through no reference to the whole.
        unsafe { (&raw mut (*self.origin.as_ptr()).future).write(future) }
    }

    /// The number of arguments.
    #[inline(always)]
    pub fn arg_count(&self) -> usize {
        self.args().size as usize
    }

    /// The number of results.
    #[inline(always)]
    pub fn ret_count(&self) -> usize {
        self.rets().size as usize
    }

    #[inline(always)]
    fn args(&self) -> &abi::XLA_FFI_Args {
        // SAFETY: inside of the frame.
        unsafe { &(*self.frame.as_ptr()).args }
    }

    #[inline(always)]
    fn rets(&self) -> &abi::XLA_FFI_Rets {
        // SAFETY: inside of the frame.
        unsafe { &(*self.frame.as_ptr()).rets }
    }

    /// Whether there are as many arguments and results as the signature allows; the most is `usize::MAX` where the last
    /// parameter takes all that remain.
    #[doc(hidden)]
    #[inline(always)]
    pub fn counts(&self, args: (usize, usize), rets: (usize, usize)) -> bool {
        let fits = |n: usize, (least, most): (usize, usize)| n >= least && n <= most;
        fits(self.arg_count(), args) && fits(self.ret_count(), rets)
    }

    /// The argument with this index, if it is a buffer that reads.
    #[inline(always)]
    pub(super) fn arg_slot(&self, i: usize) -> Option<Slot<'a>> {
        let args = self.args();
        // SAFETY: the lists have `size` items, as the outline says.
        unsafe { Slot::in_list(args.size, args.types, args.args, i) }
    }

    /// The result with this index, if it is a buffer that reads.
    #[inline(always)]
    pub(super) fn ret_slot(&self, i: usize) -> Option<Slot<'a>> {
        let rets = self.rets();
        // SAFETY: the lists have `size` items, as the outline says.
        unsafe { Slot::in_list(rets.size, rets.types, rets.rets, i) }
    }

    /// The name of an argument or result, by its place in the scope.
    #[inline(always)]
    fn named(&self, field: usize) -> Named {
        Named::of(self.spec.scope.fields.get(field).map_or("", |field| field.name))
    }

    /// A plain argument, if it is there and as wanted, sizes aside.
    #[doc(hidden)]
    #[inline(always)]
    pub fn arg<T: Argument<'a>>(&self, i: usize, want: Want) -> Option<T> {
        T::decode(self.arg_slot(i)?, want, self.named(i))
    }

    /// An argument that may be absent.
    #[doc(hidden)]
    #[inline(always)]
    pub fn optional_arg<T: Argument<'a>>(&self, i: usize, want: Want) -> Option<Option<T>> {
        if i < self.arg_count() { Some(Some(self.arg(i, want)?)) } else { Some(None) }
    }

    /// The arguments from this index on, if all of them are buffers that read.
    #[doc(hidden)]
    pub fn rest_args(&self, from: usize) -> Option<RemainingArgs<'a>> {
        let list = self.args();
        // SAFETY: the list has `size` items, as the outline says.
        let rest = unsafe { rest(list.size, list.args, from) };
        RemainingArgs::new(rest, self.spec.rest_args.unwrap_or_default(), |i| self.arg_slot(from + i))
    }

    /// A plain result, if it is there and as wanted, sizes aside.
    ///
    /// It is the only one who writes there: nobody asks for a result twice.
    #[doc(hidden)]
    #[inline(always)]
    pub fn ret<T: Output<'a>>(&self, i: usize, want: Want) -> Option<T> {
        T::decode(self.ret_slot(i)?, want, self.named(self.spec.args + i))
    }

    /// A result that may be absent.
    #[doc(hidden)]
    #[inline(always)]
    pub fn optional_ret<T: Output<'a>>(&self, i: usize, want: Want) -> Option<Option<T>> {
        if i < self.ret_count() { Some(Some(self.ret(i, want)?)) } else { Some(None) }
    }

    /// The results from this index on, if all of them are buffers that read.
    #[doc(hidden)]
    pub fn rest_rets(&self, from: usize) -> Option<RemainingRets<'a>> {
        let list = self.rets();
        // SAFETY: the list has `size` items, as the outline says.
        let rest = unsafe { rest(list.size, list.rets, from) };
        RemainingRets::new(rest, self.spec.rest_rets.unwrap_or_default(), |i| self.ret_slot(from + i))
    }

    /// The attributes, from the first on.
    #[doc(hidden)]
    #[inline(always)]
    pub fn attrs(&self) -> Cursor<'a> {
        Cursor::new(self.dictionary())
    }

    /// All attributes.
    #[doc(hidden)]
    #[inline(always)]
    pub fn dictionary(&self) -> Dictionary<'a> {
        // SAFETY: inside of the frame, and sound by the outline.
        unsafe { Dictionary::from_raw(&raw const (*self.frame.as_ptr()).attrs) }
    }

    /// A value of the context; `name` is the parameter's, for the error.
    #[doc(hidden)]
    #[inline(always)]
    pub fn ctx_value<T: FromCall<'a>>(&self, name: &str) -> Result<T> {
        match T::from_call(self) {
            Ok(value) => Ok(value),
            Err(error) => Err(error.context(format_args!("handler `{}`: `{name}`", self.spec.name))),
        }
    }
}

#[cold]
fn malformed(args: &abi::XLA_FFI_Args, rets: &abi::XLA_FFI_Rets, attrs: &abi::XLA_FFI_Attrs) -> Error {
    let args_null = [args.types.is_null(), args.args.is_null()];
    let rets_null = [rets.types.is_null(), rets.rets.is_null()];
    let attrs_null = [attrs.types.is_null(), attrs.names.is_null(), attrs.attrs.is_null()];
    let lists = [
        check_list("arguments", args.size, args.struct_size, size_of_val(args), &args_null),
        check_list("results", rets.size, rets.struct_size, size_of_val(rets), &rets_null),
        check_list("attributes", attrs.size, attrs.struct_size, size_of_val(attrs), &attrs_null),
    ];
    let first = lists.into_iter().find_map(Result::err);
    first.unwrap_or_else(|| Error::internal("malformed call frame"))
}

/// The items of a list from an index on.
///
/// # Safety
///
/// The list has `size` items.
unsafe fn rest<'a>(size: i64, items: *mut *mut c_void, from: usize) -> &'a [*mut c_void] {
    match (size as usize).checked_sub(from) {
        // SAFETY: by the contract; the list is not null if it has an item.
        Some(len) if len > 0 => unsafe { slice::from_raw_parts(items.add(from), len) },
        _ => &[],
    }
}
