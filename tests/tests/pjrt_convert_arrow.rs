//! Columns of other libraries, made by hand as the Arrow C data interface says.

mod plugin;

use std::ffi::{CString, c_char, c_void};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use dispatch_runtime::convert::arrow::{self, Arrow, ArrowArray, ArrowSchema, Column};
use dispatch_runtime::convert::{Converters, CopyPolicy};
use dispatch_runtime::prelude::*;
use plugin::{client, values};

/// `struct ArrowSchema` of the specification.
#[repr(C)]
struct Schema {
    format: *const c_char,
    name: *const c_char,
    metadata: *const c_char,
    flags: i64,
    n_children: i64,
    children: *mut *mut Schema,
    dictionary: *mut Schema,
    release: Option<unsafe extern "C" fn(*mut Schema)>,
    private_data: *mut c_void,
}

/// `struct ArrowArray` of the specification.
#[repr(C)]
struct Values {
    length: i64,
    null_count: i64,
    offset: i64,
    n_buffers: i64,
    n_children: i64,
    buffers: *mut *const c_void,
    children: *mut *mut Values,
    dictionary: *mut Values,
    release: Option<unsafe extern "C" fn(*mut Values)>,
    private_data: *mut c_void,
}

#[repr(C, align(64))]
struct Data([u8; 128]);

/// What the producer keeps of the values, and counts the ends of.
struct Keeps {
    _data: Box<Data>,
    validity: Box<[u8]>,
    buffers: [*const c_void; 2],
    child: Option<Box<Values>>,
    children: [*mut Values; 1],
    ends: Arc<AtomicUsize>,
}

struct KeepsSchema {
    format: CString,
    child: Option<Box<Schema>>,
    children: [*mut Schema; 1],
    ends: Arc<AtomicUsize>,
}

fn schema(format: &str, child: Option<Schema>, ends: &Arc<AtomicUsize>) -> Schema {
    let keeps = Box::leak(Box::new(KeepsSchema {
        format: CString::new(format).unwrap(),
        child: child.map(Box::new),
        children: [std::ptr::null_mut()],
        ends: ends.clone(),
    }));
    if let Some(child) = &mut keeps.child {
        keeps.children = [&raw mut **child];
    }
    Schema {
        format: keeps.format.as_ptr(),
        name: std::ptr::null(),
        metadata: std::ptr::null(),
        flags: 2,
        n_children: i64::from(keeps.child.is_some()),
        children: keeps.children.as_mut_ptr(),
        dictionary: std::ptr::null_mut(),
        release: Some(end_schema),
        private_data: std::ptr::from_mut(keeps).cast(),
    }
}

unsafe extern "C" fn end_schema(schema: *mut Schema) {
    // SAFETY: the private data was leaked by `schema`.
    unsafe {
        let mut keeps = Box::from_raw((*schema).private_data.cast::<KeepsSchema>());
        if let Some(child) = &mut keeps.child {
            child.release.unwrap()(&raw mut **child);
        }
        keeps.ends.fetch_add(1, Ordering::SeqCst);
        (*schema).release = None;
    }
}

/// Values with these bytes, or lists of a child.
fn column(
    (offset, length): (i64, i64),
    bytes: &[u8],
    (null_count, validity): (i64, &[u8]),
    child: Option<Values>,
    ends: &Arc<AtomicUsize>,
) -> Values {
    let mut data = Box::new(Data([0; 128]));
    data.0[..bytes.len()].copy_from_slice(bytes);
    let at = data.0.as_ptr().cast();
    let keeps = Box::leak(Box::new(Keeps {
        _data: data,
        validity: validity.into(),
        buffers: [std::ptr::null(), at],
        child: child.map(Box::new),
        children: [std::ptr::null_mut()],
        ends: ends.clone(),
    }));
    if !validity.is_empty() {
        keeps.buffers[0] = keeps.validity.as_ptr().cast();
    }
    if let Some(child) = &mut keeps.child {
        keeps.children = [&raw mut **child];
    }
    let n_children = i64::from(keeps.child.is_some());
    Values {
        length,
        null_count,
        offset,
        n_buffers: 2 - n_children,
        n_children,
        buffers: keeps.buffers.as_mut_ptr(),
        children: keeps.children.as_mut_ptr(),
        dictionary: std::ptr::null_mut(),
        release: Some(end_values),
        private_data: std::ptr::from_mut(keeps).cast(),
    }
}

unsafe extern "C" fn end_values(values: *mut Values) {
    // SAFETY: the private data was leaked by `column`.
    unsafe {
        let mut keeps = Box::from_raw((*values).private_data.cast::<Keeps>());
        if let Some(child) = &mut keeps.child {
            child.release.unwrap()(&raw mut **child);
        }
        keeps.ends.fetch_add(1, Ordering::SeqCst);
        (*values).release = None;
    }
}

/// As a consumer gets them; both are released afterwards, whatever comes of it.
fn take(mut values: Values, mut schema: Schema) -> Result<Column> {
    // SAFETY: the structs are as the specification says, and may be released anywhere.
    let column = unsafe {
        Column::from_raw(
            &mut *(&raw mut values).cast::<ArrowArray>(),
            &mut *(&raw mut schema).cast::<ArrowSchema>(),
        )
    };
    assert!(values.release.is_none() && schema.release.is_none());
    column
}

fn bytes_of(values: &[f64]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_ne_bytes()).collect()
}

fn converters() -> Converters {
    let converters = Converters::new();
    converters.register_type("columns", Arrow).unwrap().keep();
    converters
}

fn array(column: &Column, policy: CopyPolicy) -> Result<Array> {
    converters().object(column).copy(policy).to_array(client().default_device())
}

#[test]
fn numbers_are_used_where_they_are_and_released_once() {
    let ends = Arc::new(AtomicUsize::new(0));
    let numbers: Vec<f64> = (0..12).map(f64::from).collect();
    for (offset, policy, held) in
        [(0, CopyPolicy::Never, true), (8, CopyPolicy::Never, true), (3, CopyPolicy::IfNeeded, false)]
    {
        ends.store(0, Ordering::SeqCst);
        let values = column((offset, 4), &bytes_of(&numbers), (0, &[]), None, &ends);
        let column = take(values, schema("g", None, &ends)).unwrap();
        assert_eq!((column.dtype(), column.shape()), (DType::F64, &[4][..]));
        let array = array(&column, policy).unwrap();
        drop(column);
        let from = offset as usize;
        assert_eq!(self::values::<f64>(&array), numbers[from..from + 4]);
        assert_eq!(ends.load(Ordering::SeqCst), if held { 0 } else { 2 });
        drop(array);
        assert_eq!(ends.load(Ordering::SeqCst), 2);
    }
    let values = column((3, 4), &bytes_of(&numbers), (0, &[]), None, &ends);
    let error = array(&take(values, schema("g", None, &ends)).unwrap(), CopyPolicy::Never).unwrap_err();
    assert!(
        error.to_string().ends_with("may not copy, but its data does not begin at a multiple of 64 bytes")
    );
}

#[test]
fn booleans_are_bits() {
    let ends = Arc::new(AtomicUsize::new(0));
    let values = column((3, 7), &[0b1010_1010, 0b0000_0011], (0, &[]), None, &ends);
    let bits = take(values, schema("b", None, &ends)).unwrap();
    let expected = [true, false, true, false, true, true, true];
    assert_eq!(self::values::<bool>(&array(&bits, CopyPolicy::IfNeeded).unwrap()), expected);
    let error = array(&bits, CopyPolicy::Never).unwrap_err().to_string();
    assert!(error.ends_with("Arrow's booleans are bits, so they cannot be used without a copy"), "{error}");
}

#[test]
fn missing_values_are_counted_and_refused() {
    let ends = Arc::new(AtomicUsize::new(0));
    let data = bytes_of(&[1.0; 8]);
    // Value 1 is missing, and is outside of what begins at 2.
    for ((offset, told), missing) in [((0, 1), 1), ((0, -1), 1), ((2, -1), 0)] {
        ends.store(0, Ordering::SeqCst);
        let values = column((offset, 4), &data, (told, &[0b1111_1101]), None, &ends);
        match (missing, take(values, schema("g", None, &ends))) {
            (0, Ok(column)) => assert_eq!(column.shape(), [4]),
            (_, Ok(column)) => panic!("{column:?}"),
            (_, Err(error)) => assert_eq!(
                error.to_string(),
                format!(
                    "argument `column`: expected a column without missing values, got null_count {missing}"
                )
            ),
        }
        assert_eq!(ends.load(Ordering::SeqCst), 2);
    }
}

#[test]
fn lists_of_one_length_have_another_rank() {
    let ends = Arc::new(AtomicUsize::new(0));
    let numbers: Vec<f64> = (0..12).map(f64::from).collect();
    let inner = column((2, 10), &bytes_of(&numbers), (0, &[]), None, &ends);
    let lists = column((1, 2), &[], (0, &[]), Some(inner), &ends);
    let format = schema("+w:3", Some(schema("g", None, &ends)), &ends);
    let lists = take(lists, format).unwrap();
    assert_eq!(lists.shape(), [2, 3]);
    let array = array(&lists, CopyPolicy::IfNeeded).unwrap();
    assert_eq!(values::<f64>(&array), [5.0, 6.0, 7.0, 8.0, 9.0, 10.0]);
    drop((lists, array));
    assert_eq!(ends.load(Ordering::SeqCst), 4);

    let inner = column((0, 5), &bytes_of(&numbers), (0, &[]), None, &ends);
    let lists = column((0, 2), &[], (0, &[]), Some(inner), &ends);
    let format = schema("+w:3", Some(schema("g", None, &ends)), &ends);
    let error = take(lists, format).unwrap_err().to_string();
    assert!(
        error.ends_with("expected lists within their values, got 2 lists of 3 from list 0 on in 5 values"),
        "{error}"
    );
    assert_eq!(ends.load(Ordering::SeqCst), 8);

    // As many values as the lists have, but not as many as those have that come before them too.
    let inner = column((0, 6), &bytes_of(&numbers), (0, &[]), None, &ends);
    let lists = column((1, 2), &[], (0, &[]), Some(inner), &ends);
    let format = schema("+w:3", Some(schema("g", None, &ends)), &ends);
    let error = take(lists, format).unwrap_err().to_string();
    assert!(error.ends_with("got 2 lists of 3 from list 1 on in 6 values"), "{error}");
}

#[test]
fn what_no_array_can_be_is_refused_and_released() {
    for (format, message) in [
        ("u", "expected values of a dtype, got format `u`"),
        ("+w:x", "expected the length of lists, got format `+w:x`"),
        ("+w:2", "expected lists of one type, got 0 children"),
    ] {
        let ends = Arc::new(AtomicUsize::new(0));
        let values = column((0, 4), &bytes_of(&[1.0; 4]), (0, &[]), None, &ends);
        let error = take(values, schema(format, None, &ends)).unwrap_err().to_string();
        assert!(error.ends_with(message), "{error}");
        assert_eq!(ends.load(Ordering::SeqCst), 2);
    }
    let ends = Arc::new(AtomicUsize::new(0));
    let mut values = column((0, 4), &bytes_of(&[1.0; 4]), (0, &[]), None, &ends);
    // SAFETY: it is alive.
    unsafe { end_values(&raw mut values) };
    let error = take(values, schema("g", None, &ends)).unwrap_err().to_string();
    assert!(error.ends_with("expected a column, got one that was released"), "{error}");
    assert_eq!(ends.load(Ordering::SeqCst), 2);
}

#[test]
fn arrays_go_out_and_come_back() {
    for &dtype in DType::ALL {
        for shape in [&[3][..], &[2, 9], &[2, 3, 4], &[2, 0], &[]] {
            let count = shape.iter().product::<i64>() as usize * dtype.size();
            let bytes: Vec<u8> =
                (0..count).map(|i| if dtype == DType::Bool { (i % 3 == 0) as u8 } else { i as u8 }).collect();
            let host = HostArray::from_bytes(dtype, shape, &bytes).unwrap();
            let device = client().default_device();
            let exported = arrow::export(&client().upload(host.view(), device).unwrap());
            if matches!(dtype, DType::BF16 | DType::C64 | DType::C128) {
                let error = exported.unwrap_err().to_string();
                assert!(error.ends_with(&format!("that Arrow has a type for, got {dtype}")), "{error}");
                continue;
            }
            let (mut values, mut schema) = exported.unwrap();
            // SAFETY: both are exported for us.
            let column = unsafe { Column::from_raw(&mut values, &mut schema).unwrap() };
            let back = array(&column, CopyPolicy::IfNeeded).unwrap();
            let shape = if shape.is_empty() { &[1][..] } else { shape };
            assert_eq!((back.dtype(), back.shape()), (dtype, shape));
            assert!(back.with_bytes(|back| back == bytes).unwrap(), "{dtype} {shape:?}");
        }
    }
}
