//! Which device, which execution.

use super::{Cx, FromCall};
use crate::ffi::{Call, Result};

/// The number of the device that the handler runs for, counted from 0 among those of its client.
///
/// A parameter `#[ctx] device: ffi::DeviceOrdinal`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DeviceOrdinal(i32);

impl DeviceOrdinal {
    /// The number.
    pub fn get(self) -> i32 {
        self.0
    }
}

impl<'a> FromCall<'a> for DeviceOrdinal {
    fn from_call(call: &Call<'a>) -> Result<DeviceOrdinal> {
        let cx = Cx::of(call)?;
        // SAFETY: the call lasts.
        Ok(DeviceOrdinal(unsafe { cx.api.device_ordinal(cx.ctx) }?))
    }
}

/// The number of the execution, which all its calls share. Whether another execution has another number is the plugin's
/// choice: of the CPU plugins 0.115 numbers them, while 0.81 and 0.106 tell the launch id that the caller has given.
///
/// A parameter `#[ctx] run: ffi::RunId`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RunId(i64);

impl RunId {
    /// The number.
    pub fn get(self) -> i64 {
        self.0
    }
}

impl<'a> FromCall<'a> for RunId {
    fn from_call(call: &Call<'a>) -> Result<RunId> {
        let cx = Cx::of(call)?;
        // SAFETY: the call lasts.
        Ok(RunId(unsafe { cx.api.run_id(cx.ctx) }?))
    }
}
