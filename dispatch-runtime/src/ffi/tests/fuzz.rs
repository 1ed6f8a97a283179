//! Arbitrary call frames: no crash, nothing read outside of what a frame describes, and the code that decodes agrees with
//! the reference that explains.
//!
//! Every piece of a frame is an allocation of exactly its size, so AddressSanitizer and valgrind see a step too far
//! (`make sanitize` runs a million frames). What a frame says of itself may be wrong in every way but one: a list has as
//! many items, and memory is as large, as it says, for nobody can see that from outside.

use std::ffi::{c_int, c_void};
use std::ptr;

use super::by_hand::ROTATE_ADD;
use super::by_hand_more::{EVERYTHING, SCALE_IN_PLACE};
use super::declare::declare;
use crate::ffi::abi::{self, attr_type};
use crate::ffi::private::{AttrValue, Call, Declared, Dictionary, Param, Scope, Spec, Stage, Stages};
use crate::ffi::testing::{Block, Failure, Frame};
use crate::ffi::{self, AnyBuffer, AnyBufferMut, DataType, Handler};
use crate::{DType, Element};

/// SplitMix64: the same frames everywhere.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    /// True once in `n` times.
    fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    fn of<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())]
    }

    fn bytes(&mut self, n: usize) -> Vec<u8> {
        (0..n).map(|_| self.next() as u8).collect()
    }
}

/// An attribute to be built.
#[derive(Clone)]
enum Attr {
    Scalar(c_int, Vec<u8>),
    Array(c_int, Vec<u8>),
    String(Vec<u8>),
    Dictionary(Vec<(Vec<u8>, Attr)>),
}

fn scalar<T: Element>(value: T) -> Attr {
    // SAFETY: elements are plain data without padding.
    let bytes = unsafe { std::slice::from_raw_parts((&raw const value).cast::<u8>(), size_of::<T>()) };
    Attr::Scalar(DataType::of(T::DTYPE).0, bytes.to_vec())
}

fn named(items: &[(&str, Attr)]) -> Vec<(Vec<u8>, Attr)> {
    items.iter().map(|(name, attr)| (name.as_bytes().to_vec(), attr.clone())).collect()
}

/// A call that a handler takes, to begin with.
struct Sound {
    handler: &'static Handler,
    args: Vec<(DType, Vec<i64>)>,
    /// The argument that is a token.
    token: Option<usize>,
    rets: Vec<(DType, Vec<i64>)>,
    attrs: Vec<(Vec<u8>, Attr)>,
}

declare! {
    static READ = fn read(a: AnyBuffer<'_> | rest; out: AnyBufferMut<'_> | rests) {
        let read = |x: AnyBuffer<'_>| {
            let sum = x.bytes().iter().fold(0u8, |sum, byte| sum.wrapping_add(*byte));
            let floats = x.typed::<f64>().map(|x| x.iter().sum::<f64>());
            let bools = x.typed::<bool>().map(|x| x.iter().filter(|b| **b).count());
            format!("{x:?} {sum} {floats:?} {bools:?} {}", x.len())
        };
        let mut text = read(a);
        rest.iter().for_each(|x| text.push_str(&read(x)));
        out.bytes_mut().fill(text.len() as u8);
        for i in 0..rests.len() {
            rests.any(i)?.bytes_mut().fill(1);
            if let Ok(mut typed) = rests.get::<i16>(i) {
                typed.fill(-1);
            }
        }
        Ok(())
    }
}

/// Reads all attributes as everything.
struct Walk;

static WALK_SPEC: Spec = Spec {
    name: "walk",
    target: "walk",
    stage: Stage::Execute,
    scope: Scope { owner: "walk", fields: &[], names: &[], sources: &[] },
    params: &[Param::PLAIN; 0],
    args: 0,
    rest_args: Some("args"),
    rest_rets: Some("rets"),
    attrs: &[],
    open_attrs: true,
    command_buffer: true,
    stages: Stages::NONE,
};

fn walk(attrs: Dictionary<'_>) -> usize {
    fn get<'a, T: AttrValue<'a>>(attrs: &Dictionary<'a>, name: &str) -> usize {
        attrs.get::<T>(name).map_or_else(|error| error.message().len(), |_| 1)
    }
    let mut n = format!("{attrs:?}").len();
    for name in attrs.iter().map(|(name, _)| name).chain(["no such name"]) {
        n += get::<bool>(&attrs, name) + get::<i8>(&attrs, name) + get::<u64>(&attrs, name);
        n += get::<f64>(&attrs, name) + get::<&str>(&attrs, name) + get::<ffi::Pointer>(&attrs, name);
        n += get::<num_complex::Complex<f64>>(&attrs, name);
        n += attrs.get::<&[i32]>(name).map_or(0, |items| items.iter().filter(|i| **i > 0).count());
        n += attrs.get::<&[f64]>(name).map_or(0, |items| items.iter().filter(|i| **i > 0.0).count());
        n += attrs.get::<Dictionary<'_>>(name).map_or(0, walk);
    }
    n
}

impl Declared for Walk {
    const SPEC: &'static Spec = &WALK_SPEC;

    fn call(call: &Call<'_>) -> ffi::Result<()> {
        if walk(call.dictionary()) == usize::MAX {
            return Err(ffi::Error::unknown("never"));
        }
        Ok(())
    }
}

static WALK: Handler = Handler::new::<Walk>();

fn sound() -> Vec<Sound> {
    let f32 = |shape: &[i64]| (DType::F32, shape.to_vec());
    let f64 = |shape: &[i64]| (DType::F64, shape.to_vec());
    let range = Attr::Dictionary(named(&[("hi", scalar(3i64)), ("lo", scalar(-1i64))]));
    let inner = Attr::Dictionary(named(&[("é", Attr::String("ü".into()))]));
    let weights = Attr::Array(11, [0.5f32, 2.0].iter().flat_map(|x| x.to_ne_bytes()).collect());
    let everything = named(&[("in", weights), ("mode", scalar(7i32)), ("nested", inner), ("range", range)]);
    let plain = |handler, args, rets, attrs| Sound { handler, args, token: None, rets, attrs };
    vec![
        plain(&ROTATE_ADD, vec![f32(&[2]), f32(&[3])], vec![f32(&[3])], named(&[("scale", scalar(2f32))])),
        Sound {
            handler: &EVERYTHING,
            args: vec![f64(&[2, 3]), f64(&[5, 1, 2]), f64(&[]), f64(&[2, 3])],
            token: Some(2),
            rets: vec![f64(&[2, 3]), (DType::Bool, vec![5, 1, 2])],
            attrs: everything.clone(),
        },
        plain(&SCALE_IN_PLACE, vec![f32(&[4])], vec![f32(&[4])], named(&[("by", scalar(2f32))])),
        plain(&READ, vec![f64(&[2]), (DType::Bool, vec![3])], vec![f32(&[2]), (DType::I16, vec![2])], vec![]),
        plain(&WALK, vec![], vec![], everything),
    ]
}

/// Builds one frame.
struct Builder<'r> {
    random: &'r mut Random,
    /// How likely it is that a piece is damaged: once in so many times.
    rarity: usize,
    blocks: Vec<Block>,
}

const TYPES: [c_int; 14] = [1, 2, 4, 5, 6, 11, 12, 15, 16, 17, 18, 19, 0, 99];
const SIZES: [i64; 10] = [0, 0, 1, 2, 3, 7, -1, i64::MAX, i64::MIN, 1 << 31];

impl Builder<'_> {
    fn damaged(&mut self) -> bool {
        self.random.one_in(self.rarity)
    }

    fn keep<T>(&mut self, block: Block) -> *mut T {
        let pointer = block.pointer();
        self.blocks.push(block);
        pointer
    }

    fn list<T: Copy>(&mut self, items: &[T]) -> *mut T {
        self.keep(Block::of(items, align_of::<T>()))
    }

    /// A struct as long as it says, which may be less or more than it should.
    fn sized<T: Copy>(&mut self, value: T, set: impl Fn(&mut T, usize)) -> *mut T {
        let mut value = value;
        let mut size = size_of::<T>();
        if self.damaged() {
            size = self.random.of(&[8, 16, size - 8, size - 1, size + 8]);
            set(&mut value, size);
        }
        let mut bytes = vec![0xEEu8; size.max(size_of::<T>())];
        // SAFETY: as long as the value at least.
        unsafe { ptr::copy_nonoverlapping((&raw const value).cast(), bytes.as_mut_ptr(), size_of::<T>()) };
        self.keep(Block::of(&bytes[..size], 8))
    }

    fn buffer(&mut self, data_type: c_int, dims: &[i64]) -> *mut c_void {
        if self.damaged() {
            return ptr::null_mut();
        }
        let mut data_type = data_type;
        let mut dims = dims.to_vec();
        if self.damaged() {
            data_type = self.random.of(&TYPES);
        }
        while self.damaged() {
            match self.random.below(3) {
                0 => dims.push(self.random.of(&SIZES)),
                1 => drop(dims.pop()),
                _ => {
                    if let Some(dim) = dims.last_mut() {
                        *dim = self.random.of(&SIZES);
                    }
                }
            }
        }
        // As much memory as is described, or none, which can be seen.
        let len = dims.iter().try_fold(1usize, |n, &dim| n.checked_mul(usize::try_from(dim).ok()?));
        let data_type_or_bytes = Some(DataType(data_type)).filter(|it| it.bits().is_some());
        let bytes = len.and_then(|len| data_type_or_bytes.map_or(Some(len), |it| it.bytes(len)));
        let data = match bytes {
            Some(bytes) if bytes <= 1 << 12 => {
                let shift = if self.damaged() { self.random.below(9) } else { 0 };
                let mut content = self.random.bytes(shift + bytes);
                // Mostly bools, where bools are.
                if data_type == 1 && !self.damaged() {
                    content.iter_mut().for_each(|byte| *byte &= 1);
                }
                let data: *mut u8 = self.keep(Block::of(&content, 64));
                if self.damaged() { ptr::null_mut() } else { data.wrapping_add(shift) }
            }
            _ => ptr::null_mut(),
        };
        let mut rank = dims.len() as i64;
        let mut list = self.list(&dims);
        if self.damaged() {
            rank = self.random.of(&[-1, i64::MIN]);
        } else if self.damaged() {
            list = ptr::null_mut();
        }
        let buffer = abi::XLA_FFI_Buffer {
            struct_size: size_of::<abi::XLA_FFI_Buffer>(),
            extension_start: ptr::null_mut(),
            dtype: data_type,
            data: data.cast(),
            rank,
            dims: list,
        };
        self.sized(buffer, |buffer, size| buffer.struct_size = size).cast()
    }

    /// The number of items, their kinds and the items.
    fn buffers(&mut self, sound: &[(c_int, &[i64])]) -> (i64, *mut c_int, *mut *mut c_void) {
        let mut items: Vec<*mut c_void> = sound.iter().map(|(d, dims)| self.buffer(*d, dims)).collect();
        while self.damaged() {
            match self.random.below(3) {
                0 => drop(items.pop()),
                1 => items.push(self.buffer(11, &[3])),
                _ => {
                    // The same buffer once more: its memory too.
                    if let Some(&item) = items.first() {
                        items.push(item);
                    }
                }
            }
        }
        let mut kinds = vec![abi::BUFFER; items.len()];
        if self.damaged() {
            if let Some(kind) = kinds.last_mut() {
                *kind = self.random.next() as c_int;
            }
        }
        let (mut kinds, mut list, mut size) = (self.list(&kinds), self.list(&items), items.len() as i64);
        if self.damaged() {
            match self.random.below(3) {
                0 => kinds = ptr::null_mut(),
                1 => list = ptr::null_mut(),
                _ => size = self.random.of(&[-1, i64::MIN]),
            }
        }
        (size, kinds, list)
    }

    fn any_attr(&mut self, depth: usize) -> Attr {
        let data_type = self.random.of(&TYPES);
        let size = DataType(data_type).bytes(1).unwrap_or(1);
        match self.random.below(if depth < 4 { 5 } else { 3 }) {
            0 => Attr::Scalar(data_type, self.random.bytes(size)),
            1 => {
                let n = self.random.below(5);
                Attr::Array(data_type, self.random.bytes(n * size))
            }
            2 => {
                let n = self.random.below(5);
                Attr::String(self.random.bytes(n))
            }
            _ => {
                let n = self.random.below(4);
                Attr::Dictionary((0..n).map(|_| (self.any_name(), self.any_attr(depth + 1))).collect())
            }
        }
    }

    fn any_name(&mut self) -> Vec<u8> {
        let names: [&[u8]; 10] = [
            b"",
            b"a",
            b"scale",
            b"scael",
            b"by",
            b"range",
            b"lo",
            "é".as_bytes(),
            b"\xFF\xFE",
            &[b'x'; 300],
        ];
        self.random.of(&names).to_vec()
    }

    fn attrs(&mut self, items: &[(Vec<u8>, Attr)], depth: usize) -> abi::XLA_FFI_Attrs {
        let mut items = items.to_vec();
        while self.damaged() {
            match self.random.below(4) {
                0 => drop(items.pop()),
                1 => {
                    let item = (self.any_name(), self.any_attr(depth));
                    items.push(item);
                }
                2 => {
                    if let Some(item) = items.first().cloned() {
                        items.push(item);
                    }
                }
                _ => {
                    let attr = self.any_attr(depth);
                    if let Some(item) = items.last_mut() {
                        item.1 = attr;
                    }
                }
            }
        }
        if !self.damaged() {
            items.sort_by(|a, b| a.0.cmp(&b.0));
        }
        let (mut names, mut kinds, mut values) = (Vec::new(), Vec::new(), Vec::new());
        for (name, attr) in &items {
            let span = self.span(name);
            names.push(if self.damaged() { ptr::null_mut() } else { span });
            let (kind, value) = self.attr(attr, depth);
            kinds.push(if self.damaged() { (4 + self.random.below(9)) as c_int * 7 } else { kind });
            values.push(if self.damaged() { ptr::null_mut() } else { value });
        }
        let mut attrs = abi::XLA_FFI_Attrs {
            struct_size: size_of::<abi::XLA_FFI_Attrs>(),
            extension_start: ptr::null_mut(),
            size: items.len() as i64,
            types: self.list(&kinds),
            names: self.list(&names),
            attrs: self.list(&values),
        };
        if self.damaged() {
            match self.random.below(4) {
                0 => attrs.types = ptr::null_mut(),
                1 => attrs.names = ptr::null_mut(),
                2 => attrs.attrs = ptr::null_mut(),
                _ => attrs.size = self.random.of(&[-1, i64::MIN]),
            }
        }
        attrs
    }

    fn span(&mut self, bytes: &[u8]) -> *mut abi::XLA_FFI_ByteSpan {
        let text = if self.damaged() { ptr::null_mut() } else { self.list(bytes) };
        self.list(&[abi::XLA_FFI_ByteSpan { ptr: text.cast(), len: bytes.len() }])
    }

    fn attr(&mut self, attr: &Attr, depth: usize) -> (c_int, *mut c_void) {
        match attr {
            Attr::Scalar(dtype, bytes) => {
                let value = if self.damaged() { ptr::null_mut() } else { self.list(bytes).cast() };
                let scalar = abi::XLA_FFI_Scalar { dtype: *dtype, value };
                (attr_type::SCALAR, self.list(&[scalar]).cast())
            }
            Attr::Array(dtype, bytes) => {
                let shift = if self.damaged() { self.random.below(9) } else { 0 };
                let data: *mut u8 = self.keep(Block::of(&[&vec![0; shift][..], bytes].concat(), 16));
                let data = if self.damaged() { ptr::null_mut() } else { data.wrapping_add(shift) };
                let size = bytes.len() / DataType(*dtype).bytes(1).unwrap_or(1).max(1);
                let array = abi::XLA_FFI_Array { dtype: *dtype, size, data: data.cast() };
                (attr_type::ARRAY, self.list(&[array]).cast())
            }
            Attr::String(bytes) => (attr_type::STRING, self.span(bytes).cast()),
            Attr::Dictionary(items) => {
                let attrs = self.attrs(items, depth + 1);
                let attrs = self.sized(attrs, |attrs, size| attrs.struct_size = size);
                (attr_type::DICTIONARY, attrs.cast())
            }
        }
    }

    /// An argument's memory for a result: all or a part, or that of another result.
    fn share(&mut self, args: (i64, *mut *mut c_void), rets: (i64, *mut *mut c_void)) {
        let from = if self.random.one_in(4) { rets } else { args };
        if from.0 <= 0 || rets.0 <= 0 || from.1.is_null() || rets.1.is_null() {
            return;
        }
        let (i, j) = (self.random.below(from.0 as usize), self.random.below(rets.0 as usize));
        // SAFETY: items of the lists, which are structs of at least the size they say.
        unsafe {
            let (from, to) = ((*from.1.add(i)).cast::<abi::XLA_FFI_Buffer>(), (*rets.1.add(j)).cast());
            let whole = |b: *mut abi::XLA_FFI_Buffer| !b.is_null() && (*b).struct_size >= 48;
            if whole(from) && whole(to) && from != to {
                // The same sizes, so that the memory is as large as the result says.
                ((*to).dtype, (*to).rank, (*to).dims) = ((*from).dtype, (*from).rank, (*from).dims);
                (*to).data = (*from).data;
            }
        }
    }

    fn extension(&mut self) -> *mut abi::XLA_FFI_Extension_Base {
        let metadata = abi::XLA_FFI_Metadata { struct_size: 48, ..abi::XLA_FFI_Metadata::zeroed() };
        let metadata = self.sized(metadata, |metadata, size| metadata.struct_size = size);
        let next = if self.random.one_in(3) { self.extension() } else { ptr::null_mut() };
        let kind = self.random.of(&[1, 1, 2]);
        let base = abi::XLA_FFI_Extension_Base { struct_size: 32, kind, next };
        let extension = abi::XLA_FFI_Metadata_Extension { extension_base: base, metadata };
        self.sized(extension, |extension, size| extension.extension_base.struct_size = size).cast()
    }

    fn frame(&mut self, sound: &Sound) -> abi::XLA_FFI_CallFrame {
        let of = |(i, (dtype, dims)): (usize, &(DType, Vec<i64>)), token: Option<usize>| {
            (if token == Some(i) { abi::data_type::TOKEN } else { DataType::of(*dtype).0 }, dims.clone())
        };
        let args: Vec<_> = sound.args.iter().enumerate().map(|arg| of(arg, sound.token)).collect();
        let rets: Vec<_> = sound.rets.iter().enumerate().map(|ret| of(ret, None)).collect();
        fn borrowed(list: &[(c_int, Vec<i64>)]) -> Vec<(c_int, &[i64])> {
            list.iter().map(|(dtype, dims)| (*dtype, &dims[..])).collect()
        }
        let args = self.buffers(&borrowed(&args));
        let rets = self.buffers(&borrowed(&rets));
        if self.random.one_in(6) {
            self.share((args.0, args.2), (rets.0, rets.2));
        }
        let mut frame = abi::XLA_FFI_CallFrame {
            struct_size: abi::CALL_FRAME_SIZE,
            stage: abi::stage::EXECUTE,
            args: abi::XLA_FFI_Args {
                struct_size: size_of::<abi::XLA_FFI_Args>(),
                extension_start: ptr::null_mut(),
                size: args.0,
                types: args.1,
                args: args.2,
            },
            rets: abi::XLA_FFI_Rets {
                struct_size: size_of::<abi::XLA_FFI_Rets>(),
                extension_start: ptr::null_mut(),
                size: rets.0,
                types: rets.1,
                rets: rets.2,
            },
            attrs: self.attrs(&sound.attrs, 0),
            ..abi::XLA_FFI_CallFrame::zeroed()
        };
        if self.damaged() {
            match self.random.below(6) {
                0 => frame.struct_size = self.random.of(&[8, 24, 31, 100, 167]),
                1 => frame.args.struct_size = self.random.below(48),
                2 => frame.rets.struct_size = self.random.below(48),
                3 => frame.attrs.struct_size = self.random.below(56),
                4 => frame.stage = self.random.of(&[-1, 0, 1, 2, 4, 9]),
                _ => frame.extension_start = self.extension(),
            }
        }
        frame
    }
}

#[derive(Default, Debug)]
struct Outcomes {
    taken: usize,
    refused: usize,
}

/// Calls handlers with this many frames.
fn frames(count: usize, seed: u64) -> Outcomes {
    let sound = sound();
    let mut random = Random(seed);
    let mut outcomes = Outcomes::default();
    // The API that makes the errors.
    let mut caller = Frame::new();
    for n in 0..count {
        let sound = &sound[random.below(sound.len())];
        let rarity = random.of(&[8, 40, 150, 1000]);
        let mut builder = Builder { random: &mut random, rarity, blocks: Vec::new() };
        let raw = builder.frame(sound);
        let result = caller.call_with(
            |frame| {
                let api = frame.api;
                *frame = raw;
                frame.api = api;
            },
            // SAFETY: the frame is as it says, but for what the test is about.
            |frame| unsafe { sound.handler.entry()(frame) },
        );
        drop(builder);
        match result {
            Ok(()) => outcomes.taken += 1,
            Err(Failure { code, message }) => {
                let sane = (1..=16).contains(&code) && !message.is_empty();
                assert!(
                    sane && !message.contains("that its signature allows"),
                    "frame {n}: {code} {message}"
                );
                // Handlers of this test panic only where they compare what they got with what they sent.
                let own = message.contains("panicked: assertion") || message.contains("copy_from_slice");
                let chunks = message.contains("panicked: chunk size must be non-zero");
                assert!(!message.contains("panicked") || own || chunks, "frame {n}: {message}");
                outcomes.refused += 1;
            }
        }
    }
    outcomes
}

#[test]
fn arbitrary_frames_do_no_harm() {
    let count = std::env::var("DISPATCH_TEST_FRAMES").ok().and_then(|count| count.parse().ok());
    let short = std::env::var_os("DISPATCH_TEST_SHORT").is_some();
    let count = count.unwrap_or(if short { 2_000 } else { 20_000 });
    std::panic::set_hook(Box::new(|info| {
        // Panics of handlers are expected here, by the thousand.
        let text = info.to_string();
        if !text.contains("by_hand") {
            eprintln!("{text}");
        }
    }));
    let outcomes = frames(count, 6);
    let _ = std::panic::take_hook();
    // Both sides of the code are reached.
    assert!(outcomes.taken > count / 10 && outcomes.refused > count / 10, "{outcomes:?}");
}
