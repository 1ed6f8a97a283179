//! The client of a plugin as an [`Engine`].

use std::any::Any;
use std::cell::UnsafeCell;
use std::ffi::c_int;
use std::path::Path;
use std::ptr::{NonNull, null_mut};
use std::sync::OnceLock;
use std::time::Duration;

use super::abi::*;
use super::call::{Plugin, Roomy, call, destroy_event, function, slice, string};
use super::context::Context;
use super::executable::hands_over;
use super::exit::Threads;
#[cfg(all(feature = "store", target_os = "linux"))]
use super::fingerprint;
use super::{ClientOptions, CompileOptions, codes, compile, plugin, proto, read, share};
use crate::engine::{DeviceInfo, Engine, Executable, RawBuffer};
use crate::host::{HostArray, HostView, Owner, layout};
use crate::program::Source;
use crate::{DType, Result};

/// The engine behind a client of a PJRT plugin.
pub struct PjrtEngine(pub(super) &'static Shared);

/// What an engine and its executables share. Never freed: clients live for the rest of the process.
pub(super) struct Shared {
    pub plugin: &'static Plugin,
    pub client: NonNull<PJRT_Client>,
    pub hot: HotFunctions,
    pub devices: Vec<DeviceInfo>,
    pub handles: Vec<NonNull<PJRT_Device>>,
    /// The encoded compile options of each device.
    pub compile_options: Vec<Vec<u8>>,
    /// One struct for all executions: nothing in it changes. In writable memory, since the C API does not say `const`.
    pub execute_options: UnsafeCell<Roomy<PJRT_ExecuteOptions>>,
    /// What programs with custom calls are run with: see `context.rs`.
    pub context: OnceLock<Option<Context>>,
    pub platform: String,
    /// What its programs' fingerprint is made of.
    #[cfg(all(feature = "store", target_os = "linux"))]
    pub fingerprint: fingerprint::OfClient,
    /// Whether device memory is host memory, so that a buffer is read from its pointer.
    pub on_host: bool,
}

/// The functions of the hot path, looked up once.
#[derive(Clone, Copy)]
pub(super) struct HotFunctions {
    pub execute: Hot<PJRT_LoadedExecutable_Execute_Args>,
    pub upload: Hot<PJRT_Client_BufferFromHostBuffer_Args>,
    pub destroy_buffer: Hot<PJRT_Buffer_Destroy_Args>,
    pub destroy_event: Hot<PJRT_Event_Destroy_Args>,
}

impl HotFunctions {
    fn of(plugin: &Plugin) -> Result<HotFunctions> {
        Ok(HotFunctions {
            execute: Hot::new(plugin, function!(plugin, PJRT_LoadedExecutable_Execute)?),
            upload: Hot::new(plugin, function!(plugin, PJRT_Client_BufferFromHostBuffer)?),
            destroy_buffer: Hot::new(plugin, function!(plugin, PJRT_Buffer_Destroy)?),
            destroy_event: Hot::new(plugin, function!(plugin, PJRT_Event_Destroy)?),
        })
    }
}

/// A function with the size that its argument struct states to this plugin.
#[derive(Clone, Copy)]
pub(super) struct Hot<A> {
    pub function: Function<A>,
    pub size: usize,
}

impl<A: Struct> Hot<A> {
    fn new(plugin: &Plugin, function: Function<A>) -> Hot<A> {
        Hot { function, size: plugin.size_of::<A>() }
    }

    /// Calls the function; the result is its error or null.
    ///
    /// # Safety
    ///
    /// What the pointers in `args` point to is what the function expects.
    #[inline(always)]
    pub unsafe fn call(&self, args: A) -> (A, *mut PJRT_Error) {
        let mut args = Roomy::filled(args, self.size);
        // SAFETY: by the caller's promise; the struct has the room that it states.
        let error = unsafe { (self.function)(&raw mut args.args) };
        (args.args, error)
    }
}

// SAFETY: PJRT clients, devices and executables take calls from any thread; the rest does not change.
unsafe impl Send for Shared {}
// SAFETY: as above; the options in the cell are only read, by the plugin.
unsafe impl Sync for Shared {}

impl Shared {
    /// Copies host data to a device; it is no longer needed when this returns.
    ///
    /// # Safety
    ///
    /// `data` points to as many elements as dtype and shape say.
    #[inline]
    pub unsafe fn upload(
        &self,
        data: *const u8,
        aval: (DType, &[i64]),
        device: NonNull<PJRT_Device>,
    ) -> Result<RawBuffer> {
        // SAFETY: by the caller's promise.
        unsafe { self.upload_strided(data, aval, &[], device) }
    }

    /// [`Shared::upload`] of elements that lie so many bytes apart along each dimension; no strides mean row-major.
    ///
    /// # Safety
    ///
    /// As for [`Shared::upload`]; the elements lie inside the data.
    #[inline]
    pub unsafe fn upload_strided(
        &self,
        data: *const u8,
        (dtype, shape): (DType, &[i64]),
        strides: &[i64],
        device: NonNull<PJRT_Device>,
    ) -> Result<RawBuffer> {
        let args = PJRT_Client_BufferFromHostBuffer_Args {
            struct_size: self.hot.upload.size,
            client: self.client.as_ptr(),
            data: data.cast(),
            r#type: codes::buffer_type(dtype),
            dims: shape.as_ptr(),
            num_dims: shape.len(),
            byte_strides: if strides.is_empty() { std::ptr::null() } else { strides.as_ptr() },
            num_byte_strides: strides.len(),
            host_buffer_semantics: IMMUTABLE_ONLY_DURING_CALL,
            device: device.as_ptr(),
            ..PJRT_Client_BufferFromHostBuffer_Args::zeroed()
        };
        // SAFETY: data and shape live during the call, after which the plugin no longer reads them.
        let (args, error) = unsafe { self.hot.upload.call(args) };
        self.plugin.check("PJRT_Client_BufferFromHostBuffer", error)?;
        // The data was copied during the call, so the event that says so has nothing more to tell.
        if !args.done_with_host_buffer.is_null() {
            let args = PJRT_Event_Destroy_Args {
                struct_size: self.hot.destroy_event.size,
                extension_start: null_mut(),
                event: args.done_with_host_buffer,
            };
            // SAFETY: the event is ours and not used again. A failure leaves nothing to do but to end its error.
            let (_, error) = unsafe { self.hot.destroy_event.call(args) };
            let _ = self.plugin.check("PJRT_Event_Destroy", error);
        }
        given(self.plugin, args.buffer, "PJRT_Client_BufferFromHostBuffer")
    }

    /// Ends a buffer.
    ///
    /// # Safety
    ///
    /// The caller owns the buffer, which is alive, and gives it up.
    #[inline]
    pub unsafe fn destroy(&self, buffer: RawBuffer) {
        let args = PJRT_Buffer_Destroy_Args {
            struct_size: self.hot.destroy_buffer.size,
            extension_start: null_mut(),
            buffer: buffer.0.as_ptr().cast(),
        };
        // SAFETY: the caller gives the buffer up. There is nobody to tell about a failure.
        let (_, error) = unsafe { self.hot.destroy_buffer.call(args) };
        let _ = self.plugin.check("PJRT_Buffer_Destroy", error);
    }
}

/// Ends a client that did not make it into an engine.
struct Unfinished(&'static Plugin, NonNull<PJRT_Client>);

impl Drop for Unfinished {
    fn drop(&mut self) {
        // SAFETY: the client is ours and nothing refers to it; a failure leaves nothing to do.
        let _ = unsafe { call!(self.0, PJRT_Client_Destroy { client: self.1.as_ptr() }) };
    }
}

impl PjrtEngine {
    /// Loads a plugin and makes a client of it.
    pub(super) fn new(path: &Path, options: &ClientOptions) -> Result<PjrtEngine> {
        options.check()?;
        let threads = Threads::before();
        let plugin = plugin::load(path)?;
        let hot = HotFunctions::of(plugin)?;
        let values = options.named_values(size_of::<PJRT_NamedValue>());
        // SAFETY: the option values borrow from `options` and live during the call; no callbacks are given.
        let made = unsafe {
            call!(plugin, PJRT_Client_Create { create_options: values.as_ptr(), num_options: values.len() })
        }?;
        let client =
            NonNull::new(made.client).ok_or_else(|| plugin.broken("PJRT_Client_Create gave no client"))?;
        let unfinished = Unfinished(plugin, client);
        let engine = PjrtEngine::of_client(plugin, hot, client, Some(options))?;
        std::mem::forget(unfinished);
        threads.wait_for_new_ones();
        Ok(engine)
    }

    /// An engine for a client that somebody else made, maybe another copy of this crate. It is never destroyed.
    ///
    /// # Safety
    ///
    /// `api` is the function table of a plugin that was initialised from the library in `path`, and `client` one of its
    /// clients; both live as long as the process.
    pub(super) unsafe fn adopt(
        api: NonNull<PJRT_Api>,
        client: NonNull<PJRT_Client>,
        path: &Path,
    ) -> Result<PjrtEngine> {
        let plugin = plugin::adopt(api, path)?;
        PjrtEngine::of_client(plugin, HotFunctions::of(plugin)?, client, None)
    }

    fn of_client(
        plugin: &'static Plugin,
        hot: HotFunctions,
        client: NonNull<PJRT_Client>,
        options: Option<&ClientOptions>,
    ) -> Result<PjrtEngine> {
        #[cfg(not(all(feature = "store", target_os = "linux")))]
        let _ = options;
        let platform = platform(plugin, client)?;
        let handles = devices(plugin, client)?;
        let devices = handles
            .iter()
            .enumerate()
            .map(|(i, &device)| describe(plugin, device, i, &platform))
            .collect::<Result<Vec<_>>>()?;
        plugin.attach(&platform);
        let defaults = proto::default_options(&platform);
        Ok(PjrtEngine(Box::leak(Box::new(Shared {
            plugin,
            client,
            hot,
            compile_options: devices
                .iter()
                .map(|d| {
                    let named = (!is_taken_unasked(&platform, d.id)).then_some(d.id);
                    [&*defaults, &*proto::compile_options(named)].concat()
                })
                .collect(),
            devices,
            handles,
            execute_options: UnsafeCell::new(Roomy::new(plugin)),
            context: OnceLock::new(),
            on_host: platform == "cpu",
            platform,
            #[cfg(all(feature = "store", target_os = "linux"))]
            fingerprint: fingerprint::OfClient::new(options),
        }))))
    }

    /// The plugin walks strides itself: faster than a copy of ours in front, unless no dimension has its elements next to each
    /// other. Then it goes one by one, which takes up to four times as long (measured with plugins 0.81 to 0.115).
    #[inline(never)]
    fn upload_not_dense(&self, host: HostView<'_>, device: usize) -> Result<RawBuffer> {
        let (mut strides, _) = host.layout().expect("a view that is not dense has a layout");
        if !strides.iter().zip(host.shape()).any(|(&stride, &size)| stride == 1 && size != 1) {
            return self.upload(HostArray::try_from_view(host)?.view(), device);
        }
        layout::scale(&mut strides, host.dtype().size());
        // SAFETY: the view's elements lie where its strides say.
        unsafe {
            let aval = (host.dtype(), host.shape());
            self.0.upload_strided(host.as_ptr(), aval, &strides, self.0.handles[device])
        }
    }

    /// The plugin's path, as it was given or found.
    pub fn plugin_path(&self) -> &Path {
        Path::new(&self.0.plugin.path)
    }

    /// The minor version of the plugin's C API; the major one is 0.
    pub fn api_minor(&self) -> i32 {
        self.0.plugin.minor
    }

    /// The plugin's function table, `const PJRT_Api*`, for parts of the C API that the runtime does not cover. It is
    /// valid for the rest of the process.
    pub fn api(&self) -> NonNull<PJRT_Api> {
        self.0.plugin.api
    }

    /// An extension of the plugin by its `PJRT_Extension_Type`; `name` is for the message where it is missing.
    ///
    /// The list is of nodes that start with [`PJRT_Extension_Base`]; they are valid for the rest of the process.
    pub fn extension(&self, kind: i32, name: &str) -> Result<NonNull<PJRT_Extension_Base>> {
        self.0.plugin.extension(kind, name)
    }

    /// For a client that another copy of this crate has made: has that say what its
    /// [fingerprint](Engine::fingerprint) is, since it alone knows what was there when the plugin was loaded.
    pub fn ask_for_fingerprint(&self, owner: impl Fn(usize) -> Option<String> + Send + Sync + 'static) {
        #[cfg(all(feature = "store", target_os = "linux"))]
        self.0.fingerprint.set_owner(Box::new(owner));
        #[cfg(not(all(feature = "store", target_os = "linux")))]
        let _ = owner;
    }

    /// The plugin's client, `PJRT_Client*`; it is never destroyed.
    pub fn client(&self) -> NonNull<PJRT_Client> {
        self.0.client
    }

    /// A device, `PJRT_Device*`, by its index in [`Engine::devices`].
    pub fn device(&self, index: usize) -> Option<NonNull<PJRT_Device>> {
        self.0.handles.get(index).copied()
    }

    /// The compile options for a device, a serialized `CompileOptionsProto`, as [`Engine::compile`] gives them.
    pub fn compile_options(&self, index: usize) -> Option<&[u8]> {
        self.0.compile_options.get(index).map(Vec::as_slice)
    }
}

/// Whether a device is the one that programs are compiled for where none is named. A device that is named is copied with all
/// other options in each run, which takes as long as the whole check of a call.
fn is_taken_unasked(platform: &str, id: i64) -> bool {
    platform == "cpu" && id == 0
}

fn platform(plugin: &Plugin, client: NonNull<PJRT_Client>) -> Result<String> {
    // SAFETY: the client is alive; the name lives as long and is copied.
    unsafe {
        let name = call!(plugin, PJRT_Client_PlatformName { client: client.as_ptr() })?;
        Ok(string(name.platform_name, name.platform_name_size).to_lowercase())
    }
}

fn devices(plugin: &Plugin, client: NonNull<PJRT_Client>) -> Result<Vec<NonNull<PJRT_Device>>> {
    // SAFETY: the client is alive; the list lives as long and is copied.
    let devices: Option<Vec<_>> = unsafe {
        let list = call!(plugin, PJRT_Client_AddressableDevices { client: client.as_ptr() })?;
        slice(list.addressable_devices, list.num_addressable_devices)
            .iter()
            .map(|&d| NonNull::new(d))
            .collect()
    };
    devices.filter(|d| !d.is_empty()).ok_or_else(|| plugin.broken("its client has no device"))
}

/// Id and name of a device. The name is `cpu:0`: the platform and the device's number on this machine.
fn describe(
    plugin: &Plugin,
    device: NonNull<PJRT_Device>,
    index: usize,
    platform: &str,
) -> Result<DeviceInfo> {
    // SAFETY: the device lives as long as its client, its description as long as the device.
    let (id, local) = unsafe {
        let about = call!(plugin, PJRT_Device_GetDescription { device: device.as_ptr() })?.device_description;
        let id = call!(plugin, PJRT_DeviceDescription_Id { device_description: about })?.id;
        let local = call!(plugin, PJRT_Device_LocalHardwareId { device: device.as_ptr() });
        (id, local.map_or(-1, |local| local.local_hardware_id))
    };
    // CPU devices may all have number -1 or 0; their position is what users see elsewhere.
    let number = if platform == "cpu" || local < 0 { index as c_int } else { local };
    Ok(DeviceInfo { id: id.into(), name: format!("{platform}:{number}") })
}

/// The buffer that a function gave.
pub(super) fn given(plugin: &Plugin, buffer: *mut PJRT_Buffer, function: &str) -> Result<RawBuffer> {
    NonNull::new(buffer.cast())
        .map(RawBuffer)
        .ok_or_else(|| plugin.broken(&format!("{function} gave no buffer")))
}

// SAFETY: the answers come from PJRT, whose buffers are counted apart from the executables that made them.
unsafe impl Engine for PjrtEngine {
    fn platform(&self) -> &str {
        &self.0.platform
    }

    fn description(&self) -> String {
        self.0.plugin.description()
    }

    fn devices(&self) -> &[DeviceInfo] {
        &self.0.devices
    }

    fn compile(&self, source: &Source, device: usize) -> Result<Box<dyn Executable>> {
        Ok(Box::new(compile::compile(self.0, source, device, None)?))
    }

    fn compile_with(
        &self,
        source: &Source,
        device: usize,
        options: &CompileOptions,
    ) -> Result<Box<dyn Executable>> {
        Ok(Box::new(compile::compile(self.0, source, device, Some(options))?))
    }

    #[cfg(all(feature = "store", target_os = "linux"))]
    fn fingerprint(&self, device: usize) -> Option<String> {
        fingerprint::of(self.0, device)
    }

    unsafe fn deserialize(
        &self,
        bytes: &[u8],
        source: &Source,
        device: usize,
        options: Option<&CompileOptions>,
    ) -> Result<Box<dyn Executable>> {
        // SAFETY: by the caller's promise.
        Ok(Box::new(unsafe { compile::load_compiled(self.0, bytes, source, device, options)? }))
    }

    #[inline]
    fn upload(&self, host: HostView<'_>, device: usize) -> Result<RawBuffer> {
        if !host.is_dense() {
            return self.upload_not_dense(host, device);
        }
        // SAFETY: the view's data are elements of its dtype and shape.
        unsafe { self.0.upload(host.as_ptr(), (host.dtype(), host.shape()), self.0.handles[device]) }
    }

    fn hands_over(&self, bytes: usize) -> bool {
        hands_over(self.0, bytes)
    }

    fn share_alignment(&self) -> Option<usize> {
        share::alignment(self.0)
    }

    unsafe fn share(
        &self,
        host: HostView<'_>,
        owner: Box<dyn Owner>,
        device: usize,
    ) -> Result<(RawBuffer, bool)> {
        if !share::is_possible(self.0, &host) {
            return Ok((self.upload(host, device)?, false));
        }
        // SAFETY: by the caller's promise.
        unsafe { share::share(self.0, host, owner, self.0.handles[device]) }
    }

    fn allocate(&self, (dtype, shape): (DType, &[i64]), device: usize) -> Result<RawBuffer> {
        let (shared, plugin) = (self.0, self.0.plugin);
        // A byte other than 0 and 1 is no truth value.
        if dtype != DType::Bool && function!(plugin, PJRT_Client_CreateUninitializedBuffer).is_ok() {
            // SAFETY: the shape lives during the call; the buffer is the caller's.
            let made = unsafe {
                call!(
                    plugin,
                    PJRT_Client_CreateUninitializedBuffer {
                        client: shared.client.as_ptr(),
                        shape_dims: shape.as_ptr(),
                        shape_num_dims: shape.len(),
                        shape_element_type: codes::buffer_type(dtype),
                        device: shared.handles[device].as_ptr(),
                    }
                )
            };
            // A plugin may have the function but not do it, or not for this dtype.
            if let Ok(made) = made {
                return given(plugin, made.buffer, "PJRT_Client_CreateUninitializedBuffer");
            }
        }
        self.upload(HostArray::try_zeros(dtype, shape)?.view(), device)
    }

    unsafe fn read(&self, buffer: RawBuffer, aval: (DType, &[i64]), out: &mut [u8]) -> Result<()> {
        // SAFETY: by the caller's promise.
        unsafe { read::read(self.0, buffer.0.cast(), aval, out) }
    }

    unsafe fn with_bytes(
        &self,
        buffer: RawBuffer,
        aval: (DType, &[i64]),
        look: &mut dyn FnMut(&[u8]),
    ) -> Result<()> {
        // SAFETY: by the caller's promise.
        unsafe { read::with_bytes(self.0, buffer.0.cast(), aval, look) }
    }

    unsafe fn is_ready(&self, buffer: RawBuffer) -> Result<bool> {
        let plugin = self.0.plugin;
        // SAFETY: the buffer is alive; the event is ours.
        unsafe {
            let event = call!(plugin, PJRT_Buffer_ReadyEvent { buffer: buffer.0.as_ptr().cast() })?.event;
            let ready = call!(plugin, PJRT_Event_IsReady { event: event });
            destroy_event(plugin, event);
            Ok(ready?.is_ready)
        }
    }

    unsafe fn await_ready(&self, buffer: RawBuffer) -> Result<()> {
        // SAFETY: by the caller's promise.
        unsafe { read::await_ready(self.0.plugin, buffer.0.cast()) }
    }

    unsafe fn await_ready_for(&self, buffer: RawBuffer, longest: Duration) -> Result<bool> {
        // SAFETY: by the caller's promise.
        unsafe { read::await_ready_for(self.0.plugin, buffer.0.cast(), longest) }
    }

    unsafe fn copy(&self, buffer: RawBuffer, device: usize) -> Result<RawBuffer> {
        let plugin = self.0.plugin;
        // SAFETY: the buffer is alive, the device is one of this client; the copy is the caller's.
        let made = unsafe {
            call!(
                plugin,
                PJRT_Buffer_CopyToDevice {
                    buffer: buffer.0.as_ptr().cast(),
                    dst_device: self.0.handles[device].as_ptr(),
                }
            )
        }?;
        given(plugin, made.dst_buffer, "PJRT_Buffer_CopyToDevice")
    }

    #[inline]
    unsafe fn destroy(&self, buffer: RawBuffer) {
        // SAFETY: by the caller's promise.
        unsafe { self.0.destroy(buffer) }
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
