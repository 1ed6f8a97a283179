//! Conversions to and from the types of the crates.io `pjrt` crate (feature `pjrt`).
//!
//! That crate speaks version 0.54 of the C API. On plugins of today it can load a plugin, compile, upload, read and ask,
//! but it can make no client and run nothing. With these conversions its users get both: a client that this runtime made
//! is a [`pjrt::Client`] by [`Client::to_pjrt`], programs run through [`Executable::execute`], and their results are
//! [`pjrt::Buffer`]s by [`Array::to_pjrt`].
//!
//! Who destroys what: the runtime keeps everything that it made. Its clients live for the rest of the process, so a
//! [`pjrt::Client`] made from one never destroys it, and arrays and executables are lent in a [`Lent`], which keeps them
//! alive and destroys nothing.

use std::cell::RefCell;
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::Arc;

use super::abi::{PJRT_Api, PJRT_Client};
use super::executable::{Loaded, PjrtExecutable};
use super::{CompileOptions, PjrtEngine, layout};
use crate::array::Array;
use crate::client::Client;
use crate::executable::Executable;
use crate::host::{Element, HostArray, gather_items};
use crate::program::Source;
use crate::{Error, Result};

/// A value of the `pjrt` crate that refers to something of this runtime, and keeps it alive.
///
/// Dropping it does not destroy the plugin's object: whoever made that does.
pub struct Lent<T> {
    value: ManuallyDrop<T>,
    _owner: Owner,
}

/// What a lent value refers to.
enum Owner {
    Array { _array: Array },
    Executable { _loaded: Arc<Loaded> },
}

impl<T> Deref for Lent<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.value
    }
}

thread_local! {
    /// The clients of this thread in the `pjrt` crate, which counts them without atomics. They are never dropped, since
    /// that would destroy the plugin's client.
    static CLIENTS: RefCell<Vec<(NonNull<PJRT_Client>, ManuallyDrop<pjrt::Client>)>> = const { RefCell::new(Vec::new()) };
}

/// The client of an engine in the `pjrt` crate, one for each thread.
fn pjrt_client(engine: &PjrtEngine) -> Result<pjrt::Client> {
    // SAFETY: every table states its size.
    let size = unsafe { (&raw const (*engine.api().as_ptr()).struct_size).read() };
    // The crate copies the table of 0.54, where ours ends too.
    if size < size_of::<PJRT_Api>() {
        return Err(engine
            .0
            .plugin
            .lacks("the whole function table of PJRT C API 0.54, which the crate `pjrt` reads,"));
    }
    CLIENTS.with_borrow_mut(|clients| {
        if let Some((_, client)) = clients.iter().find(|(known, _)| *known == engine.client()) {
            return Ok(pjrt::Client::clone(client));
        }
        let api = pjrt::Api::wrap(engine.api().as_ptr().cast());
        let client = ManuallyDrop::new(pjrt::Client::wrap(&api, engine.client().as_ptr().cast()));
        let copy = pjrt::Client::clone(&client);
        clients.push((engine.client(), client));
        Ok(copy)
    })
}

/// The engine of a client, if it is one of a plugin.
fn engine(client: Client) -> Result<&'static PjrtEngine> {
    client.engine().as_any().downcast_ref().ok_or_else(|| Error::Unimplemented {
        what: "the conversion to a type of the crate `pjrt`".into(),
        by: client.engine().description(),
    })
}

impl Client {
    /// The client as one of the `pjrt` crate. It is the same client, and dropping it destroys nothing.
    ///
    /// An error if the client is not one of a plugin.
    ///
    /// # Panics
    ///
    /// If the plugin cannot be initialised a second time, which the crate does.
    pub fn to_pjrt(self) -> Result<pjrt::Client> {
        pjrt_client(engine(self)?)
    }
}

impl Array {
    /// The array as a buffer of the `pjrt` crate: the same buffer, kept alive.
    ///
    /// While it is lent the array must not be donated: the crate would find a buffer without data and panic.
    ///
    /// An error if the array was donated, or is not one of a plugin.
    pub fn to_pjrt(&self) -> Result<Lent<pjrt::Buffer>> {
        if self.is_donated() {
            return Err(Error::Donated {
                argument: "self".into(),
                reason: "the array was donated to an earlier call and is gone".into(),
            });
        }
        let client = self.client().to_pjrt()?;
        let value = ManuallyDrop::new(pjrt::Buffer::wrap(&client, self.buffer().0.as_ptr().cast()));
        Ok(Lent { value, _owner: Owner::Array { _array: self.clone() } })
    }
}

impl Executable {
    /// The executable as one of the `pjrt` crate: the same executable, kept alive.
    ///
    /// An error if it is not one of a plugin.
    pub fn to_pjrt(&self) -> Result<Lent<pjrt::LoadedExecutable>> {
        let client = self.client().to_pjrt()?;
        let executable: &PjrtExecutable = self
            .compiled()
            .as_any()
            .downcast_ref()
            .expect("an engine of a plugin makes executables of a plugin");
        let value =
            ManuallyDrop::new(pjrt::LoadedExecutable::wrap(&client, executable.loaded().as_ptr().cast()));
        Ok(Lent { value, _owner: Owner::Executable { _loaded: executable.share() } })
    }
}

impl TryFrom<&pjrt::Program> for Source {
    type Error = Error;

    /// The same program. An error if it is HLO: the runtime takes StableHLO, as text or bytecode.
    fn try_from(program: &pjrt::Program) -> Result<Source> {
        let invalid = |reason: &str| Error::InvalidProgram { reason: reason.into() };
        if program.format() != pjrt::ProgramFormat::MLIR {
            return Err(invalid("it is HLO; the runtime takes StableHLO"));
        }
        match program.code() {
            code if code.starts_with(b"ML\xefR") => Ok(Source::Bytecode(code.to_vec())),
            code => String::from_utf8(code.to_vec())
                .map(Source::StableHlo)
                .map_err(|_| invalid("it is neither MLIR bytecode nor text in UTF-8")),
        }
    }
}

impl TryFrom<&pjrt::CompileOptions> for CompileOptions {
    type Error = Error;

    /// The same options. An error if they ask for more than one device: see [`CompileOptions::from_proto`].
    fn try_from(options: &pjrt::CompileOptions) -> Result<CompileOptions> {
        CompileOptions::from_proto(options.encode())
    }
}

impl TryFrom<&pjrt::HostBuffer> for HostArray {
    type Error = Error;

    /// A row-major copy, whatever layout the buffer has.
    ///
    /// An error if its layout has tiles or negative strides, or does not fit its data.
    fn try_from(buffer: &pjrt::HostBuffer) -> Result<HostArray> {
        macro_rules! dense {
            ($($variant:ident)*) => {
                match buffer {
                    $(pjrt::HostBuffer::$variant(typed) => dense(typed.data(), typed.dims(), typed.layout()),)*
                }
            };
        }
        dense!(F32 F64 I8 I16 I32 I64 U8 U16 U32 U64)
    }
}

fn dense<T: Element>(data: &[T], shape: &[i64], layout: &pjrt::MemoryLayout) -> Result<HostArray> {
    let item = size_of::<T>();
    let strides = match layout {
        pjrt::MemoryLayout::Strides(strides) => Some(strides.byte_strides.clone()),
        pjrt::MemoryLayout::Tiled(tiled) if tiled.tile_dims.as_ref().is_none_or(Vec::is_empty) => {
            layout::in_order(shape, item, &tiled.minor_to_major)
        }
        pjrt::MemoryLayout::Tiled(_) => None,
    };
    let fits = |strides: &Vec<i64>| {
        strides.len() == shape.len()
            && strides.iter().all(|&stride| stride >= 0)
            && shape.iter().all(|&size| size >= 0)
            && layout::extent(shape, strides, item) <= size_of_val(data)
    };
    let Some(strides) = strides.filter(fits) else {
        return Err(Error::Shape {
            argument: "self".into(),
            expected: format!("a layout that fits {} elements of {}", data.len(), T::DTYPE),
            got: format!("{} with {layout:?}", crate::aval::shape_text(shape)),
        });
    };
    let mut array = HostArray::zeros(T::DTYPE, shape);
    // SAFETY: the data has the bytes that the strides reach, as checked, and they are elements of the dtype.
    unsafe { gather_items(data.as_ptr().cast(), shape, &strides, item, array.bytes_mut().as_mut_ptr()) };
    Ok(array)
}
