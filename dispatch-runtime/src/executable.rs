//! A compiled program without a cache.

use std::fmt;

use crate::array::Array;
use crate::client::{Client, Device};
use crate::engine;
use crate::{Aval, Result};

/// A compiled program on one device, from [`Client::compile`]. Families hold theirs in a cache.
pub struct Executable {
    device: Device,
    compiled: Box<dyn engine::Executable>,
}

impl Executable {
    pub(crate) fn new(device: Device, compiled: Box<dyn engine::Executable>) -> Executable {
        Executable { device, compiled }
    }

    /// The client that compiled it.
    pub fn client(&self) -> Client {
        self.device.client()
    }

    /// The device that it runs on.
    pub fn device(&self) -> Device {
        self.device
    }

    /// Dtype and shape of each argument.
    pub fn inputs(&self) -> &[Aval] {
        self.compiled.inputs()
    }

    /// Dtype and shape of each result.
    pub fn outputs(&self) -> &[Aval] {
        self.compiled.outputs()
    }

    /// The executable as its engine knows it.
    pub fn compiled(&self) -> &dyn engine::Executable {
        &*self.compiled
    }
}

impl fmt::Debug for Executable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Executable({:?} -> {:?} on {})", self.inputs(), self.outputs(), self.device)
    }
}

impl Executable {
    /// Runs the program. Every argument is checked before the engine is called; the error names the first wrong one
    /// by its position, `argument 1`.
    pub fn execute(&self, args: &[&Array]) -> Result<Vec<Array>> {
        let _ = args;
        todo!("lead")
    }
}
