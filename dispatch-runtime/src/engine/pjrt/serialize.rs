//! Compiled programs as bytes, and back.

use std::ptr::NonNull;
use std::sync::Arc;

use super::call::{call, slice};
use super::describe::Owned;
use super::engine::Shared;
use super::executable::Loaded;
use super::inspect::if_told;
use crate::Result;

/// An executable as bytes; none if the plugin cannot, or not for this program: XLA on CPU cannot for sorts whose order it
/// recognises.
pub(super) fn serialize(executable: &Owned) -> Result<Option<Vec<u8>>> {
    // SAFETY: the executable is alive. The bytes live until their owner is deleted, once; they are copied before that.
    unsafe {
        let made = call!(executable.plugin, PJRT_Executable_Serialize { executable: executable.ptr() });
        let Some(made) = if_told(made)? else { return Ok(None) };
        let bytes = slice(made.serialized_bytes.cast::<u8>(), made.serialized_bytes_size).to_vec();
        if let (Some(delete), false) =
            (made.serialized_executable_deleter, made.serialized_executable.is_null())
        {
            delete(made.serialized_executable);
        }
        Ok((!bytes.is_empty()).then_some(bytes))
    }
}

/// The executable that was serialized.
///
/// # Safety
///
/// The bytes are unchanged, and what [`serialize`] gave for an executable of the same plugin on such a machine: they are
/// machine code, and plugins do not look for damage.
pub(super) unsafe fn deserialize(shared: &'static Shared, bytes: &[u8]) -> Result<Arc<Loaded>> {
    // SAFETY: the bytes live during the call and are what the plugin expects, by the caller's promise.
    let made = unsafe {
        call!(
            shared.plugin,
            PJRT_Executable_DeserializeAndLoad {
                client: shared.client.as_ptr(),
                serialized_executable: bytes.as_ptr().cast(),
                serialized_executable_size: bytes.len(),
            }
        )
    }
    .map_err(|error| shared.compile_error(error))?;
    let loaded = NonNull::new(made.loaded_executable)
        .ok_or_else(|| shared.plugin.broken("PJRT_Executable_DeserializeAndLoad gave no executable"))?;
    Ok(Arc::new(Loaded::new(shared, loaded)))
}
