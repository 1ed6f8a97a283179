//! Call frames made by hand, for tests of handlers without a plugin.
//!
//! Every piece of a frame (each struct, each list, each text, all data) is an allocation of exactly its size, so that
//! AddressSanitizer and valgrind see whoever reads past the end of one.
//!
//! ```
//! # use dispatch_runtime::ffi::{Handler, testing::Frame};
//! fn check(add: &Handler) {
//!     let mut frame = Frame::new().arg(&[1f32, 2.0], [2]).arg(&[3f32, 4.0], [2]).ret::<f32>([2]).attr("scale", 0.5f32);
//!     frame.call(add).unwrap();
//!     assert_eq!(frame.result::<f32>(0), [3.5, 5.0]);
//! }
//! ```

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ffi::{CStr, c_int, c_void};
use std::ptr::{self, NonNull};

use super::abi::{self, XLA_FFI_Error, attr_type};
use super::{DataType, Handler};
use crate::{DType, Element};

/// The alignment of XLA's buffers.
const ALIGN: usize = 64;

/// An allocation of exactly some bytes; null if there are none.
pub(super) struct Block {
    data: *mut u8,
    layout: Layout,
}

impl Block {
    fn new(bytes: usize, align: usize) -> Block {
        let layout = Layout::from_size_align(bytes, align).expect("the pieces of a frame are small");
        // SAFETY: of a size that is not zero.
        let data = if bytes == 0 { ptr::null_mut() } else { unsafe { alloc_zeroed(layout) } };
        assert!(bytes == 0 || !data.is_null(), "no memory");
        Block { data, layout }
    }

    pub fn of<T: Copy>(items: &[T], align: usize) -> Block {
        let block = Block::new(size_of_val(items), align.max(align_of::<T>()));
        // SAFETY: the block has room for the items.
        unsafe { ptr::copy_nonoverlapping(items.as_ptr().cast(), block.data, size_of_val(items)) };
        block
    }

    pub fn pointer<T>(&self) -> *mut T {
        self.data.cast()
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        if !self.data.is_null() {
            // SAFETY: allocated with this layout.
            unsafe { dealloc(self.data, self.layout) }
        }
    }
}

/// The value of an attribute.
#[derive(Clone, Debug)]
pub enum Value {
    /// A number: its type (`XLA_FFI_DataType`) and its bytes.
    Scalar(c_int, Vec<u8>),
    /// Numbers: their type, their bytes, and how many they are.
    Array(c_int, Vec<u8>, usize),
    /// A text, which need not be UTF-8.
    String(Vec<u8>),
    /// Attributes.
    Dictionary(Vec<(String, Value)>),
    /// None: a null pointer, with this kind (`XLA_FFI_AttrType`).
    Null(c_int),
}

fn bytes_of<T: Element>(items: &[T]) -> Vec<u8> {
    // SAFETY: elements are plain data without padding.
    unsafe { std::slice::from_raw_parts(items.as_ptr().cast::<u8>(), size_of_val(items)) }.to_vec()
}

impl<T: Element> From<T> for Value {
    fn from(value: T) -> Value {
        Value::Scalar(DataType::of(T::DTYPE).0, bytes_of(&[value]))
    }
}

impl<T: Element> From<&[T]> for Value {
    fn from(items: &[T]) -> Value {
        Value::Array(DataType::of(T::DTYPE).0, bytes_of(items), items.len())
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::String(text.as_bytes().to_vec())
    }
}

impl From<Vec<(&str, Value)>> for Value {
    fn from(items: Vec<(&str, Value)>) -> Value {
        Value::Dictionary(items.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
    }
}

/// A buffer of a frame.
struct Buffer {
    raw: abi::XLA_FFI_Buffer,
    /// `XLA_FFI_ArgType`.
    kind: c_int,
    /// Its data, if no other buffer has them.
    _data: Block,
    _dims: Block,
}

/// A call frame, and all that it points to.
pub struct Frame {
    args: Vec<Buffer>,
    rets: Vec<Buffer>,
    attrs: Vec<(String, Value)>,
    /// Whether the attributes stand in the order of their names.
    pub sorted: bool,
    /// The stage.
    pub stage: c_int,
    /// The future that the handler gave.
    pub future: *mut abi::XLA_FFI_Future,
    api: Box<abi::XLA_FFI_Api>,
}

/// The error of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The code.
    pub code: c_int,
    /// The text.
    pub message: String,
}

unsafe extern "C" fn create(args: *mut abi::XLA_FFI_Error_Create_Args) -> *mut XLA_FFI_Error {
    // SAFETY: called by the code under test, with a text.
    let failure = unsafe {
        let message = CStr::from_ptr((*args).message).to_string_lossy().into_owned();
        Failure { code: (*args).errc, message }
    };
    Box::into_raw(Box::new(failure)).cast()
}

impl Default for Frame {
    fn default() -> Frame {
        Frame::new()
    }
}

impl Frame {
    /// A call of the stage `execute` without arguments, results and attributes.
    pub fn new() -> Frame {
        let api = Box::new(abi::XLA_FFI_Api {
            struct_size: size_of::<abi::XLA_FFI_Api>(),
            api_version: abi::XLA_FFI_Api_Version {
                struct_size: size_of::<abi::XLA_FFI_Api_Version>(),
                minor_version: abi::MINOR,
                ..abi::XLA_FFI_Api_Version::zeroed()
            },
            XLA_FFI_Error_Create: Some(create),
            ..abi::XLA_FFI_Api::zeroed()
        });
        let (args, rets, attrs) = (Vec::new(), Vec::new(), Vec::new());
        Frame { args, rets, attrs, sorted: true, stage: abi::stage::EXECUTE, future: ptr::null_mut(), api }
    }

    /// The functions that the frame shows.
    pub fn api(&mut self) -> &mut abi::XLA_FFI_Api {
        &mut self.api
    }

    fn buffer(data_type: c_int, data: Block, dims: &[i64]) -> Buffer {
        let dims = Block::of(dims, 8);
        let raw = abi::XLA_FFI_Buffer {
            struct_size: size_of::<abi::XLA_FFI_Buffer>(),
            extension_start: ptr::null_mut(),
            dtype: data_type,
            data: data.pointer(),
            rank: (dims.layout.size() / 8) as i64,
            dims: dims.pointer(),
        };
        Buffer { raw, kind: abi::BUFFER, _data: data, _dims: dims }
    }

    /// With a further argument.
    pub fn arg<T: Element>(self, data: &[T], dims: impl AsRef<[i64]>) -> Frame {
        let dims = dims.as_ref();
        assert_eq!(dims.iter().product::<i64>(), data.len() as i64, "the shape has as many elements");
        self.arg_bytes(DataType::of(T::DTYPE).0, &bytes_of(data), dims)
    }

    /// With a further argument of a type (`XLA_FFI_DataType`) that Rust may not know.
    pub fn arg_bytes(mut self, data_type: c_int, data: &[u8], dims: impl AsRef<[i64]>) -> Frame {
        self.args.push(Frame::buffer(data_type, Block::of(data, ALIGN), dims.as_ref()));
        self
    }

    /// With a further result, whose bytes are all 0xA5 until it is written.
    pub fn ret<T: Element>(self, dims: impl AsRef<[i64]>) -> Frame {
        let len = dims.as_ref().iter().product::<i64>() as usize;
        self.ret_bytes(DataType::of(T::DTYPE).0, len * size_of::<T>(), dims)
    }

    /// With a further result of a type that Rust may not know.
    pub fn ret_bytes(mut self, data_type: c_int, bytes: usize, dims: impl AsRef<[i64]>) -> Frame {
        self.rets.push(Frame::buffer(data_type, Block::of(&vec![0xA5u8; bytes], ALIGN), dims.as_ref()));
        self
    }

    /// With a further result in the memory of an argument, as `output_operand_aliases` gives it.
    pub fn ret_in(mut self, arg: usize) -> Frame {
        let from = self.args[arg].raw;
        // SAFETY: the sizes are those of the argument.
        let dims = unsafe {
            std::slice::from_raw_parts(
                if from.rank == 0 { NonNull::dangling().as_ptr() } else { from.dims },
                from.rank as usize,
            )
        };
        let mut buffer = Frame::buffer(from.dtype, Block::new(0, 1), dims);
        buffer.raw.data = from.data;
        self.rets.push(buffer);
        self
    }

    /// With a further argument that is a token.
    pub fn token_arg(self) -> Frame {
        self.arg_bytes(abi::data_type::TOKEN, &[], [])
    }

    /// With a further result that is a token.
    pub fn token_ret(self) -> Frame {
        self.ret_bytes(abi::data_type::TOKEN, 0, [])
    }

    /// With a further attribute.
    pub fn attr(mut self, name: &str, value: impl Into<Value>) -> Frame {
        self.attrs.push((name.to_owned(), value.into()));
        self
    }

    /// In another stage.
    pub fn stage(mut self, stage: c_int) -> Frame {
        self.stage = stage;
        self
    }

    /// The C struct of an argument, to be damaged; its data and sizes may be shortened, but not lengthened.
    pub fn raw_arg(&mut self, i: usize) -> &mut abi::XLA_FFI_Buffer {
        &mut self.args[i].raw
    }

    /// The C struct of a result.
    pub fn raw_ret(&mut self, i: usize) -> &mut abi::XLA_FFI_Buffer {
        &mut self.rets[i].raw
    }

    /// The first size of an argument or a result.
    pub fn raw_dims(&mut self, i: usize, arg: bool) -> &mut i64 {
        let raw = if arg { self.args[i].raw } else { self.rets[i].raw };
        assert!(raw.rank > 0, "a scalar has no sizes");
        // SAFETY: the list has `rank` items, which are the frame's own.
        unsafe { &mut *raw.dims }
    }

    /// The kind (`XLA_FFI_ArgType`) of an argument.
    pub fn arg_kind(&mut self, i: usize) -> &mut c_int {
        &mut self.args[i].kind
    }

    /// What a result holds.
    pub fn result<T: Element>(&self, i: usize) -> Vec<T> {
        let raw = &self.rets[i].raw;
        assert_eq!(raw.dtype, DataType::of(T::DTYPE).0);
        // SAFETY: as many elements as the sizes say, and any bytes are one, but of `bool`.
        let dims = unsafe {
            std::slice::from_raw_parts(
                if raw.rank == 0 { NonNull::dangling().as_ptr() } else { raw.dims },
                raw.rank as usize,
            )
        };
        let len = dims.iter().product::<i64>() as usize;
        if len == 0 {
            return Vec::new();
        }
        // SAFETY: as above.
        unsafe {
            let bytes = std::slice::from_raw_parts(raw.data.cast::<u8>(), len);
            assert!(T::DTYPE != DType::Bool || bytes.iter().all(|byte| *byte <= 1));
            std::slice::from_raw_parts(raw.data.cast::<T>(), len).to_vec()
        }
    }

    /// Calls a handler.
    pub fn call(&mut self, handler: &Handler) -> Result<(), Failure> {
        self.call_with(
            |_| {},
            |frame| {
                // SAFETY: the frame is whole, and nobody else has its results.
                unsafe { handler.entry()(frame) }
            },
        )
    }

    /// Builds the frame, lets `damage` change it, and passes it to `call`, which returns an error or null.
    pub fn call_with(
        &mut self,
        damage: impl FnOnce(&mut abi::XLA_FFI_CallFrame),
        call: impl FnOnce(*mut abi::XLA_FFI_CallFrame) -> *mut XLA_FFI_Error,
    ) -> Result<(), Failure> {
        let mut blocks = Vec::new();
        let mut keep = |block: Block| {
            let pointer = block.data;
            blocks.push(block);
            pointer
        };
        let mut list = |buffers: &[Buffer]| {
            let structs: Vec<*mut u8> = buffers.iter().map(|b| keep(Block::of(&[b.raw], 8))).collect();
            let kinds: Vec<c_int> = buffers.iter().map(|b| b.kind).collect();
            (keep(Block::of(&kinds, 4)), keep(Block::of(&structs, 8)))
        };
        let (arg_kinds, args) = list(&self.args);
        let (ret_kinds, rets) = list(&self.rets);
        let mut attrs = self.attrs.clone();
        if self.sorted {
            attrs.sort_by(|(a, _), (b, _)| a.as_bytes().cmp(b.as_bytes()));
        }
        let attrs = attributes(&attrs, self.sorted, &mut blocks);
        let mut frame = abi::XLA_FFI_CallFrame {
            struct_size: abi::CALL_FRAME_SIZE,
            api: &*self.api,
            stage: self.stage,
            args: abi::XLA_FFI_Args {
                struct_size: size_of::<abi::XLA_FFI_Args>(),
                extension_start: ptr::null_mut(),
                size: self.args.len() as i64,
                types: arg_kinds.cast(),
                args: args.cast(),
            },
            rets: abi::XLA_FFI_Rets {
                struct_size: size_of::<abi::XLA_FFI_Rets>(),
                extension_start: ptr::null_mut(),
                size: self.rets.len() as i64,
                types: ret_kinds.cast(),
                rets: rets.cast(),
            },
            attrs,
            ..abi::XLA_FFI_CallFrame::zeroed()
        };
        damage(&mut frame);
        let mut bytes = [0u8; size_of::<abi::XLA_FFI_CallFrame>()];
        // SAFETY: the frame is as large.
        unsafe { (&raw mut bytes).cast::<abi::XLA_FFI_CallFrame>().write_unaligned(frame) };
        // One that says less than it should is as short; a sound one has its future behind what it says.
        let whole = frame.struct_size >= abi::CALL_FRAME_SIZE;
        let block = Block::of(if whole { &bytes } else { &bytes[..frame.struct_size] }, 8);
        let error = call(block.pointer());
        if whole {
            // SAFETY: the block is the frame.
            self.future = unsafe { (*block.pointer::<abi::XLA_FFI_CallFrame>()).future };
        }
        if error.is_null() {
            return Ok(());
        }
        // SAFETY: made by `create`.
        Err(*unsafe { Box::from_raw(error.cast::<Failure>()) })
    }
}

fn attributes(attrs: &[(String, Value)], sorted: bool, blocks: &mut Vec<Block>) -> abi::XLA_FFI_Attrs {
    let mut names: Vec<*mut c_void> = Vec::new();
    let mut values: Vec<*mut c_void> = Vec::new();
    let mut kinds: Vec<c_int> = Vec::new();
    for (name, value) in attrs {
        let mut keep = |block: Block| {
            let pointer = block.pointer::<c_void>();
            blocks.push(block);
            pointer
        };
        let text = keep(Block::of(name.as_bytes(), 1));
        names.push(keep(Block::of(&[abi::XLA_FFI_ByteSpan { ptr: text.cast(), len: name.len() }], 8)));
        let (kind, value) = match value {
            Value::Scalar(dtype, bytes) => {
                let value = keep(Block::of(bytes, 16));
                (attr_type::SCALAR, keep(Block::of(&[abi::XLA_FFI_Scalar { dtype: *dtype, value }], 8)))
            }
            Value::Array(dtype, bytes, size) => {
                let data = keep(Block::of(bytes, 16));
                let array = abi::XLA_FFI_Array { dtype: *dtype, size: *size, data };
                (attr_type::ARRAY, keep(Block::of(&[array], 8)))
            }
            Value::String(bytes) => {
                let text = keep(Block::of(bytes, 1));
                let span = abi::XLA_FFI_ByteSpan { ptr: text.cast(), len: bytes.len() };
                (attr_type::STRING, keep(Block::of(&[span], 8)))
            }
            Value::Dictionary(items) => {
                let mut items = items.clone();
                if sorted {
                    items.sort_by(|(a, _), (b, _)| a.as_bytes().cmp(b.as_bytes()));
                }
                let inner = attributes(&items, sorted, blocks);
                let block = Block::of(&[inner], 8);
                let pointer = block.pointer();
                blocks.push(block);
                (attr_type::DICTIONARY, pointer)
            }
            Value::Null(kind) => (*kind, ptr::null_mut()),
        };
        kinds.push(kind);
        values.push(value);
    }
    let mut keep = |block: Block| {
        let pointer = block.data;
        blocks.push(block);
        pointer
    };
    abi::XLA_FFI_Attrs {
        struct_size: size_of::<abi::XLA_FFI_Attrs>(),
        extension_start: ptr::null_mut(),
        size: attrs.len() as i64,
        types: keep(Block::of(&kinds, 4)).cast(),
        names: keep(Block::of(&names, 8)).cast(),
        attrs: keep(Block::of(&values, 8)).cast(),
    }
}
