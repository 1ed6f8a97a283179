//! Tensors of other libraries, made by hand as DLPack's header says.

mod plugin;

use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use dispatch_runtime::convert::dlpack::{self, DLManagedTensor, DLManagedTensorVersioned, DlPack, Tensor};
use dispatch_runtime::convert::{Converters, CopyPolicy};
use dispatch_runtime::prelude::*;
use plugin::{client, values};

/// `DLManagedTensorVersioned` of `dlpack.h` 1.0.
#[repr(C)]
struct Versioned {
    version: [u32; 2],
    manager_ctx: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Versioned)>,
    flags: u64,
    tensor: Raw,
}

/// `DLManagedTensor` of `dlpack.h` 0.8.
#[repr(C)]
struct Unversioned {
    tensor: Raw,
    manager_ctx: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Unversioned)>,
}

/// `DLTensor`.
#[repr(C)]
struct Raw {
    data: *mut c_void,
    device: [i32; 2],
    ndim: i32,
    dtype: (u8, u8, u16),
    shape: *mut i64,
    strides: *mut i64,
    byte_offset: u64,
}

#[repr(C, align(64))]
struct Floats([f32; 16]);

/// What the producer keeps, and counts the ends of.
struct Context {
    data: Floats,
    shape: Vec<i64>,
    strides: Vec<i64>,
    ends: Arc<AtomicUsize>,
}

/// How a test's tensor differs from a dense one of floats.
struct Made {
    shape: &'static [i64],
    strides: &'static [i64],
    byte_offset: u64,
    device: i32,
    dtype: (u8, u8, u16),
    flags: u64,
    version: u32,
}

const DENSE: Made = Made {
    shape: &[2, 3],
    strides: &[3, 1],
    byte_offset: 0,
    device: 1,
    dtype: (2, 32, 1),
    flags: 0,
    version: 1,
};

impl Made {
    fn context(&self) -> (*mut Context, Raw, Arc<AtomicUsize>) {
        let ends = Arc::new(AtomicUsize::new(0));
        let data = Floats(std::array::from_fn(|i| i as f32));
        let (shape, strides) = (self.shape.to_vec(), self.strides.to_vec());
        let context = Box::leak(Box::new(Context { data, shape, strides, ends: ends.clone() }));
        let raw = Raw {
            data: context.data.0.as_mut_ptr().cast(),
            device: [self.device, 0],
            ndim: self.shape.len() as i32,
            dtype: self.dtype,
            shape: context.shape.as_mut_ptr(),
            strides: if self.strides.is_empty() {
                std::ptr::null_mut()
            } else {
                context.strides.as_mut_ptr()
            },
            byte_offset: self.byte_offset,
        };
        (context, raw, ends)
    }

    fn tensor(&self) -> (Result<Tensor>, Arc<AtomicUsize>) {
        let (context, tensor, ends) = self.context();
        let managed = Box::new(Versioned {
            version: [self.version, 0],
            manager_ctx: context.cast(),
            deleter: Some(delete),
            flags: self.flags,
            tensor,
        });
        let managed = NonNull::from(Box::leak(managed)).cast::<DLManagedTensorVersioned>();
        // SAFETY: the struct is as the header says, and its deleter can be called anywhere.
        (unsafe { Tensor::from_raw(managed) }, ends)
    }
}

unsafe extern "C" fn delete(managed: *mut Versioned) {
    // SAFETY: both were leaked by `tensor`.
    unsafe {
        let managed = Box::from_raw(managed);
        let context = Box::from_raw(managed.manager_ctx.cast::<Context>());
        context.ends.fetch_add(1, Ordering::SeqCst);
    }
}

unsafe extern "C" fn delete_unversioned(managed: *mut Unversioned) {
    // SAFETY: both were leaked by the test.
    unsafe {
        let managed = Box::from_raw(managed);
        let context = Box::from_raw(managed.manager_ctx.cast::<Context>());
        context.ends.fetch_add(1, Ordering::SeqCst);
    }
}

fn converters() -> Converters {
    let converters = Converters::new();
    converters.register_type("tensors", DlPack).unwrap().keep();
    converters
}

#[dispatch_family]
fn double(cx: &CompileCx, #[dynamic(dtype = any, shape = [..])] x: Value) -> Result<Program> {
    cx.program(&x + &x)
}

#[dispatch_family]
fn double_back(
    cx: &CompileCx,
    #[dynamic(dtype = f32, shape = [..], write_back)] x: Value,
) -> Result<Program> {
    cx.program(&x + &x)
}

#[test]
fn strides_and_offsets_are_in_elements_and_bytes() {
    let (family, converters) = (Double::new(&client()), converters());
    let cases: [(Made, &[f32]); 6] = [
        (DENSE, &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]),
        (Made { strides: &[], ..DENSE }, &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]),
        (Made { strides: &[1, 2], byte_offset: 4, ..DENSE }, &[1.0, 3.0, 5.0, 2.0, 4.0, 6.0]),
        (Made { strides: &[-3, 1], byte_offset: 12, ..DENSE }, &[3.0, 4.0, 5.0, 0.0, 1.0, 2.0]),
        (Made { shape: &[], strides: &[], byte_offset: 28, ..DENSE }, &[7.0]),
        (Made { shape: &[0, 3], ..DENSE }, &[]),
    ];
    for (made, expected) in cases {
        let (tensor, ends) = made.tensor();
        let tensor = tensor.unwrap();
        let doubled = family.call(converters.object(&tensor)).unwrap();
        assert_eq!(doubled.shape(), made.shape);
        let expected: Vec<f32> = expected.iter().map(|x| 2.0 * x).collect();
        assert_eq!(values::<f32>(&doubled), expected, "{:?}", made.strides);
        assert_eq!(ends.load(Ordering::SeqCst), 0);
        drop(tensor);
        assert_eq!(ends.load(Ordering::SeqCst), 1);
    }
}

#[test]
fn what_cannot_be_an_array_is_refused_and_given_back() {
    let cases = [
        (
            Made { device: 2, ..DENSE },
            "argument `tensor`: expected data in the host's memory, got device 2:0",
        ),
        (
            Made { dtype: (2, 32, 4), ..DENSE },
            "argument `tensor`: expected elements of a dtype, got code 2, 32 bits, 4 lanes",
        ),
        (
            Made { dtype: (3, 64, 1), ..DENSE },
            "argument `tensor`: expected elements of a dtype, got code 3, 64 bits, 1 lanes",
        ),
        (Made { version: 2, ..DENSE }, "argument `tensor`: expected a tensor of DLPack 1, got version 2.0"),
        (Made { byte_offset: 2, ..DENSE }, "aligned to 4 bytes, got an odd address"),
        (
            Made { strides: &[i64::MAX, i64::MAX], ..DENSE },
            "expected strides within memory, got shape [2, 3] and strides",
        ),
    ];
    for (made, message) in cases {
        let (tensor, ends) = made.tensor();
        let error = tensor.unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
        assert_eq!(ends.load(Ordering::SeqCst), 1, "{message}");
    }
}

#[test]
fn a_copy_that_nobody_writes_to_is_used_where_it_is() {
    let converters = converters();
    let device = client().default_device();
    let never = |made: Made| {
        let (tensor, ends) = made.tensor();
        let tensor = tensor.unwrap();
        let array = converters.object(&tensor).copy(CopyPolicy::Never).to_array(device);
        (array.map_err(|error| error.to_string()), ends)
    };
    let (array, ends) = never(Made { flags: dlpack::IS_COPIED | dlpack::READ_ONLY, ..DENSE });
    let array = array.unwrap();
    assert_eq!(values::<f32>(&array), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
    // The tensor is gone, but the array has its memory.
    assert_eq!(ends.load(Ordering::SeqCst), 0);
    drop(array);
    assert_eq!(ends.load(Ordering::SeqCst), 1);

    let refused = |made: Made, message: &str| {
        let (array, ends) = never(made);
        let error = array.unwrap_err();
        assert!(error.contains(message), "{error}");
        assert_eq!(ends.load(Ordering::SeqCst), 1);
    };
    refused(DENSE, "`tensors` may not copy, but its data is not declared immutable");
    refused(
        Made { strides: &[1, 2], ..DENSE },
        "may not copy, but its data is not row-major (strides [1,2])",
    );
    refused(
        Made { byte_offset: 4, ..DENSE },
        "may not copy, but its data does not begin at a multiple of 64",
    );

    let (tensor, _) = DENSE.tensor();
    // SAFETY: nobody writes to it.
    let tensor = unsafe { tensor.unwrap().immutable() };
    assert_eq!(converters.entries()[0].bytes_copied(), 0);
    converters.object(&tensor).to_array(device).unwrap();
    assert_eq!(converters.entries()[0].bytes_copied(), 0);
}

#[test]
fn a_result_is_written_back_along_the_strides() {
    let (family, converters) = (DoubleBack::new(&client()), converters());
    for strides in [&[][..], &[1, 2], &[3, -1]] {
        let byte_offset = if strides == [3, -1] { 8 } else { 0 };
        let strides: &'static [i64] = strides;
        let (tensor, _) = Made { strides, byte_offset, ..DENSE }.tensor();
        let tensor = tensor.unwrap();
        let result = family.call(converters.object(&tensor)).unwrap();
        let again = converters.object(&tensor).to_array(client().default_device()).unwrap();
        assert_eq!(values::<f32>(&again), values::<f32>(&result), "{strides:?}");
    }
    let (tensor, _) = Made { flags: dlpack::READ_ONLY, ..DENSE }.tensor();
    let error = family.call(converters.object(&tensor.unwrap())).unwrap_err().to_string();
    assert!(error.contains("gave read-only data"), "{error}");
    // One element cannot hold the results of many.
    for (strides, text) in [(&[3, 0][..], "[3,0]"), (&[1, 1], "[1,1]")] {
        let strides: &'static [i64] = strides;
        let (tensor, _) = Made { strides, ..DENSE }.tensor();
        let tensor = tensor.unwrap();
        assert!(tensor.is_read_only());
        let error = family.call(converters.object(&tensor)).unwrap_err().to_string();
        let reason = format!("gave elements that share memory (strides {text})");
        assert!(error.contains(&reason), "{error}");
    }
}

#[test]
fn tensors_without_a_version_are_read_only() {
    let (context, tensor, ends) = DENSE.context();
    let managed =
        Box::new(Unversioned { tensor, manager_ctx: context.cast(), deleter: Some(delete_unversioned) });
    let managed = NonNull::from(Box::leak(managed)).cast::<DLManagedTensor>();
    // SAFETY: the struct is as the header says, and its deleter can be called anywhere.
    let tensor = unsafe { Tensor::from_raw_unversioned(managed).unwrap() };
    assert!(tensor.is_read_only());
    let doubled = Double::new(&client()).call(converters().object(&tensor)).unwrap();
    assert_eq!(values::<f32>(&doubled), [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]);
    drop(tensor);
    assert_eq!(ends.load(Ordering::SeqCst), 1);
}

#[test]
fn arrays_of_every_dtype_go_out_and_come_back() {
    let device = client().default_device();
    for &dtype in DType::ALL {
        for shape in [&[][..], &[3], &[2, 3], &[2, 0]] {
            let bytes: Vec<u8> = (0..shape.iter().product::<i64>() as usize * dtype.size())
                .map(|i| if dtype == DType::Bool { i as u8 % 2 } else { i as u8 })
                .collect();
            let host = HostArray::from_bytes(dtype, shape, &bytes).unwrap();
            let array = client().upload(host.view(), device).unwrap();
            let exported = dlpack::export(&array).unwrap();
            // SAFETY: it is alive.
            let raw = unsafe { exported.cast::<Versioned>().as_ref() };
            assert_eq!((raw.version, raw.flags, raw.tensor.device), ([1, 0], dlpack::IS_COPIED, [1, 0]));
            // SAFETY: it is exported for us.
            let tensor = unsafe { Tensor::from_raw(exported).unwrap() };
            let back = converters().object(&tensor).to_array(device).unwrap();
            assert_eq!((back.dtype(), back.shape()), (dtype, shape));
            let same = back.with_bytes(|back| back == bytes).unwrap();
            assert!(same, "{dtype} {shape:?}");
        }
    }
}
