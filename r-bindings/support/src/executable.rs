//! Compiled programs.

use dispatch_runtime::Executable;

use crate::handle::{Handle, Kind};

impl Handle for Executable {
    fn kind() -> &'static Kind {
        static KIND: Kind = Kind::new("PJRTLoadedExecutable", "pjrtdispatch executable 1");
        &KIND
    }
}
