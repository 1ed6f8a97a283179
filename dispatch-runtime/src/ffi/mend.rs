//! Calls that a handler's own code does not take, though they are no fault of the program: those where an argument shares
//! memory with a result, because the program aliases them.
//!
//! Nothing in Rust may be read through one slice while it is written through another. So a mended call is the same call
//! with another frame, where such an argument is a copy.

use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::Arc;

use arrayvec::ArrayVec;

use super::abi::{XLA_FFI_Buffer, XLA_FFI_CallFrame};
use super::frame::Call;
use super::slot::{Slot, Span};

/// Where the data of a buffer are; nowhere if there is none, or it is malformed.
pub(super) fn span(slot: Option<Slot<'_>>) -> Span {
    let sized = slot.and_then(|slot| Some((slot, slot.own_extent()?.bytes)));
    let Some((slot, bytes)) = sized else { return Span::EMPTY };
    if bytes == 0 || slot.data().is_null() { Span::EMPTY } else { Span::new(slot.data().cast(), bytes) }
}

/// How many buffers are compared without asking for memory.
const FEW: usize = 64;

impl Call<'_> {
    /// Whether no result shares memory with an argument, but for the one whose contents it takes over, or with another
    /// result: [`disjoint`](super::slot::disjoint) for signatures that do not say how many there are.
    pub fn separate(&self) -> bool {
        let (args, rets) = (self.arg_count(), self.ret_count());
        let aliases = self.spec().params.iter().any(|param| param.alias.is_some());
        if aliases || args.saturating_mul(rets) <= FEW {
            let apart = |j: usize| (0..j).all(|i| !span(self.ret_slot(i)).overlaps(span(self.ret_slot(j))));
            return (0..args).all(|i| !self.is_overwritten(i)) && (0..rets).all(apart);
        }
        let spans = (0..args).map(|i| (span(self.arg_slot(i)), false));
        let spans = spans.chain((0..rets).map(|i| (span(self.ret_slot(i)), true)));
        if args + rets <= 2 * FEW {
            apart(&mut spans.collect::<ArrayVec<_, { 2 * FEW }>>())
        } else {
            apart(&mut spans.collect::<Vec<_>>())
        }
    }

    /// Whether an argument shares memory with a result that does not take over its contents.
    fn is_overwritten(&self, arg: usize) -> bool {
        let spec = self.spec();
        let from = span(self.arg_slot(arg));
        (0..self.ret_count()).any(|i| {
            let takes_over = spec.params.get(spec.args + i).is_some_and(|param| param.alias == Some(arg));
            !takes_over && span(self.ret_slot(i)).overlaps(from)
        })
    }
}

/// Whether each result is apart from all others; which spans are results is said with them.
fn apart(spans: &mut [(Span, bool)]) -> bool {
    spans.sort_unstable_by_key(|(span, _)| span.start);
    let (mut any_end, mut ret_end) = (0, 0);
    spans.iter().all(|(span, is_ret)| {
        let apart = span.bytes == 0 || span.start >= if *is_ret { any_end } else { ret_end };
        any_end = any_end.max(span.end());
        ret_end = if *is_ret { ret_end.max(span.end()) } else { ret_end };
        apart
    })
}

/// What a mended frame points to.
struct Kept {
    frame: XLA_FFI_CallFrame,
    args: Vec<*mut c_void>,
    buffers: Vec<XLA_FFI_Buffer>,
    _data: Vec<Vec<u128>>,
}

// SAFETY: nobody changes any of it once it is made, and what XLA's pointers point to is there until the call ends.
unsafe impl Send for Kept {}
// SAFETY: as above.
unsafe impl Sync for Kept {}

/// The call with what can be mended mended; none if there is nothing to mend. The call has passed the reference check.
pub(super) fn mended<'a>(call: &Call<'a>) -> Option<Call<'a>> {
    let overwritten: Vec<usize> = (0..call.arg_count()).filter(|&i| call.is_overwritten(i)).collect();
    if overwritten.is_empty() {
        return None;
    }
    // SAFETY: the frame declares at least what is behind its last field, which is not read.
    let frame = unsafe { copy_declared(call.frame()) };
    // SAFETY: the list is as long as it says.
    let args = (0..call.arg_count()).map(|i| unsafe { *frame.args.args.add(i) }).collect();
    let data: Vec<_> = overwritten.iter().map(|&i| copy_of(span(call.arg_slot(i)))).collect();
    let buffers = overwritten.iter().zip(&data).map(|(&i, data)| {
        Some(XLA_FFI_Buffer { data: data.as_ptr().cast_mut().cast(), ..*call.arg_slot(i)?.raw() })
    });
    let buffers = buffers.collect::<Option<Vec<_>>>()?;
    let mut kept = Arc::new(Kept { frame, args, buffers, _data: data });
    let inside = Arc::get_mut(&mut kept)?;
    for (i, buffer) in overwritten.into_iter().zip(&mut inside.buffers) {
        inside.args[i] = (&raw mut *buffer).cast();
    }
    inside.frame.args.args = inside.args.as_mut_ptr();
    let frame = NonNull::from(&mut inside.frame);
    // SAFETY: the outline is that of the call's frame, and the lists are as long; what they point to is kept by `kept`.
    Some(unsafe { call.mended(frame, kept) })
}

/// The fields of a frame that it declares.
///
/// # Safety
///
/// They are there.
unsafe fn copy_declared(frame: NonNull<XLA_FFI_CallFrame>) -> XLA_FFI_CallFrame {
    let from = frame.as_ptr();
    // SAFETY: by the contract.
    unsafe {
        XLA_FFI_CallFrame {
            struct_size: (*from).struct_size,
            api: (*from).api,
            ctx: (*from).ctx,
            stage: (*from).stage,
            args: (*from).args,
            rets: (*from).rets,
            attrs: (*from).attrs,
            ..XLA_FFI_CallFrame::zeroed()
        }
    }
}

/// A copy of the bytes there, aligned for every element type.
fn copy_of(span: Span) -> Vec<u128> {
    let bytes = span.bytes;
    let mut copy = vec![0u128; bytes.div_ceil(size_of::<u128>())];
    // SAFETY: the bytes are there, and the copy has room for them.
    unsafe { std::ptr::copy_nonoverlapping(span.start as *const u8, copy.as_mut_ptr().cast::<u8>(), bytes) };
    copy
}
