//! Host values at a declared dtype.

use super::HostView;
use crate::{DType, Result};

/// Host data at the dtype that an argument declares: borrowed where the dtype is the same, else converted.
pub struct Converted<'a> {
    view: HostView<'a>,
}

impl<'a> Converted<'a> {
    /// The data.
    pub fn view(&self) -> HostView<'_> {
        self.view
    }

    /// Placeholder.
    pub fn new(view: HostView<'a>, dtype: DType, argument: &str) -> Result<Converted<'a>> {
        let _ = (dtype, argument);
        Ok(Converted { view })
    }
}
