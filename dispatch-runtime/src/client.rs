//! Clients and devices.

use std::fmt;
#[cfg(feature = "store")]
use std::sync::RwLock;

use crate::array::Array;
use crate::engine::Engine;
use crate::executable::Executable;
use crate::host::{Element, HostView, Owner};
use crate::program::Source;
#[cfg(feature = "store")]
use crate::store::Store;
use crate::{Aval, DType, Error, Result, compiled};

/// What a [`Client`] points to; lives for the rest of the process.
///
/// `repr(C)` with a version in front, because handles are passed between shared objects.
#[repr(C)]
pub(crate) struct Handle {
    version: u32,
    engine: Box<dyn Engine>,
    #[cfg(feature = "store")]
    store: RwLock<Option<Store>>,
}

/// A connection to one platform: the devices, the compiler and the memory behind a PJRT plugin or another engine.
///
/// A client is a process-long handle: copying it is free and it is never closed, because buffers and compiled
/// programs may outlive every other value. Two clients are equal if they are the same one.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Client(&'static Handle);

/// One device of a client. Two handles of one device are equal.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Device {
    client: Client,
    index: u32,
}

impl Client {
    /// A client of any engine, for the rest of the process.
    pub fn with_engine(engine: impl Engine) -> Client {
        Client(Box::leak(Box::new(Handle {
            version: crate::array::HANDLE_VERSION,
            engine: Box::new(engine),
            #[cfg(feature = "store")]
            store: RwLock::new(None),
        })))
    }

    /// The platform in lower case: `cpu`, `cuda`, `host`.
    pub fn platform(self) -> &'static str {
        self.0.engine.platform()
    }

    /// The devices that programs can run on; never empty.
    pub fn devices(self) -> impl ExactSizeIterator<Item = Device> {
        (0..self.0.engine.devices().len() as u32).map(move |index| Device { client: self, index })
    }

    /// The device that calls without arrays and without a resolver use: the first one.
    pub fn default_device(self) -> Device {
        Device { client: self, index: 0 }
    }

    /// Copies a row-major slice to the default device.
    ///
    /// The slice may change as soon as this returns. An error if the shape has another number of elements.
    pub fn array<T: Element>(self, data: &[T], shape: impl AsRef<[i64]>) -> Result<Array> {
        self.array_on(data, shape, self.default_device())
    }

    /// Copies a row-major slice to a device of this client.
    pub fn array_on<T: Element>(self, data: &[T], shape: impl AsRef<[i64]>, device: Device) -> Result<Array> {
        self.upload(HostView::new(data, shape.as_ref())?, device)
    }

    /// Copies host data to a device of this client. The array is dense, whatever strides the view has.
    ///
    /// ```
    /// use dispatch_runtime::prelude::*;
    ///
    /// let client = Client::cpu()?;
    /// let columns = HostView::column_major(&[1f32, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 3])?;
    /// let array = client.upload(columns, client.default_device())?;
    /// assert_eq!(array.to_vec::<f32>()?, [1.0, 3.0, 5.0, 2.0, 4.0, 6.0]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The device is another client's; there is no memory for the array.
    pub fn upload(self, host: HostView<'_>, device: Device) -> Result<Array> {
        self.check_device(device)?;
        let buffer = self.0.engine.upload(host, device.index as usize)?;
        // SAFETY: the engine gave us the buffer, made from this dtype and shape on this device.
        Ok(unsafe { Array::from_raw(self, buffer, device.index, host.dtype(), host.shape()) })
    }

    /// An array in the memory of host data, without a copy, where the device can use it as it is; else an array with a copy
    /// of it. The answer says whether the memory is shared.
    ///
    /// On the CPU it is, if the view [is dense](HostView::is_dense), not empty, and begins at a multiple of 64 bytes. The
    /// owner is dropped when the last reference to the array is gone and every execution that reads it has ended: on any
    /// thread, see [`Owner`]; at once if there is a copy or an error. An array that shares cannot be donated, since a program
    /// would write into memory that is somebody else's.
    ///
    /// ```
    /// use dispatch_runtime::prelude::*;
    /// use std::sync::Arc;
    ///
    /// #[repr(align(64))]
    /// struct Aligned([f32; 16]);
    ///
    /// let client = Client::cpu()?;
    /// let data = Arc::new(Aligned([1.5; 16]));
    /// let view = HostView::new(&data.0, &[16])?;
    /// // SAFETY: nobody can write to what is in the `Arc`, of which the array has a clone.
    /// let (array, shared) = unsafe { client.share(view, Box::new(data.clone()), client.default_device())? };
    /// assert!(shared);
    /// assert_eq!(array.to_vec::<f32>()?, [1.5; 16]);
    /// assert_eq!(array.with_bytes(|bytes| bytes.as_ptr())?, data.0.as_ptr().cast());
    ///
    /// assert_eq!(Arc::strong_count(&data), 2);
    /// drop(array);
    /// assert_eq!(Arc::strong_count(&data), 1);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Safety
    ///
    /// The data stays where it is, and as it is, until the owner is dropped.
    ///
    /// # Errors
    ///
    /// The device is another client's; there is no memory for the array.
    pub unsafe fn share(
        self,
        host: HostView<'_>,
        owner: Box<dyn Owner>,
        device: Device,
    ) -> Result<(Array, bool)> {
        // SAFETY: by the caller's promise; what shares is marked, and `Array` lets nobody donate it.
        let (array, shared) = unsafe { self.adopt(host, owner, device)? };
        Ok((if shared { array.sharing() } else { array }, shared))
    }

    /// [`Client::share`] of memory that nobody but its owner, the array, has: it may be donated like any other, since nobody
    /// would find the memory changed.
    ///
    /// # Safety
    ///
    /// As for [`Client::share`]; and nobody reads the data either, other than through the array.
    ///
    /// # Errors
    ///
    /// Those of [`Client::share`].
    pub unsafe fn adopt(
        self,
        host: HostView<'_>,
        owner: Box<dyn Owner>,
        device: Device,
    ) -> Result<(Array, bool)> {
        self.check_device(device)?;
        // SAFETY: by the caller's promise.
        unsafe {
            let (buffer, shared) = self.0.engine.share(host, owner, device.index as usize)?;
            Ok((Array::from_raw(self, buffer, device.index, host.dtype(), host.shape()), shared))
        }
    }

    /// A new array on a device of this client whose content nobody relies on: a donated argument that a program writes
    /// its result to. Where the plugin can, memory is only reserved, not written; else it is zeros.
    ///
    /// ```
    /// use dispatch_runtime::prelude::*;
    ///
    /// let client = Client::cpu()?;
    /// let room = client.allocate(DType::F32, [1000, 1000], client.default_device())?;
    /// assert_eq!(room.shape(), [1000, 1000]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The device is another client's; the shape has a negative size or too many elements; the device is out of memory.
    pub fn allocate(self, dtype: DType, shape: impl AsRef<[i64]>, device: Device) -> Result<Array> {
        self.check_device(device)?;
        let shape = shape.as_ref();
        if Aval::try_new(dtype, shape).is_none() {
            return Err(Error::Shape {
                argument: "shape".into(),
                expected: "with fewer elements".into(),
                got: crate::aval::shape_text(shape),
            });
        }
        let buffer = self.0.engine.allocate((dtype, shape), device.index as usize)?;
        // SAFETY: the engine gave us the buffer, made for this dtype and shape on this device.
        Ok(unsafe { Array::from_raw(self, buffer, device.index, dtype, shape) })
    }

    /// Compiles a program for the default device, without a cache.
    pub fn compile(self, program: impl AsRef<Source>) -> Result<Executable> {
        self.compile_on(program, self.default_device())
    }

    /// Compiles a program for a device of this client, without a cache.
    pub fn compile_on(self, program: impl AsRef<Source>, device: Device) -> Result<Executable> {
        self.check_device(device)?;
        Ok(Executable::new(device, compiled::compile(device, program.as_ref(), None)?))
    }

    /// The engine behind the client.
    #[inline(always)]
    pub fn engine(self) -> &'static dyn Engine {
        &*self.0.engine
    }

    /// Where the client's store stands.
    #[cfg(feature = "store")]
    pub(crate) fn store_slot(self) -> &'static RwLock<Option<Store>> {
        &self.0.store
    }

    /// The device with this index in the client's list, which must have it.
    #[inline(always)]
    pub(crate) fn device_at(self, index: u32) -> Device {
        debug_assert!((index as usize) < self.0.engine.devices().len());
        Device { client: self, index }
    }

    fn check_device(self, device: Device) -> Result<()> {
        if device.client == self {
            return Ok(());
        }
        Err(other_client("device".into(), "a device", self, device.client))
    }
}

/// The error of an argument, `an array` or `a device`, that belongs to another client.
pub(crate) fn other_client(argument: String, what: &str, expected: Client, got: Client) -> Error {
    // Two clients of one plugin have the same description.
    let another = if got.to_string() == expected.to_string() { "another " } else { "" };
    Error::Client {
        argument,
        expected: format!("{what} of {expected}"),
        got: format!("one of {another}{got}"),
    }
}

impl Device {
    /// The client that the device belongs to.
    pub fn client(self) -> Client {
        self.client
    }

    /// The position in [`Client::devices`].
    pub fn index(self) -> u32 {
        self.index
    }
}

impl PartialEq for Client {
    #[inline(always)]
    fn eq(&self, other: &Client) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}

impl Eq for Client {}

impl std::hash::Hash for Client {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        std::ptr::hash(self.0, state);
    }
}

impl fmt::Display for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "client {} of {}", self.platform(), self.0.engine.description())
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Client({} at {:p})", self.platform(), self.0)
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.client.0.engine.devices()[self.index as usize].name)
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Device({self})")
    }
}
