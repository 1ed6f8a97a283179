//! The functions that programs can call on the CPU, `?custom_call_targets`: what array packages name in their programs.

mod eigh;
mod geqrf;
mod lapack;
mod lu;
mod matrix;
mod orgqr;
mod print_tensor;
mod svd;

use dispatch_r::Result;
use dispatch_runtime::ffi::registry::{self, Entry, Platform, Registration, StageSet};
use dispatch_runtime::ffi::Handler;

static TARGETS: [&Handler; 6] =
    [&geqrf::GEQRF, &orgqr::ORGQR, &lu::LU, &svd::SVD, &eigh::EIGH, &print_tensor::PRINT_TENSOR];

/// Registers all. Called when the package is loaded: the plugin gets them with its first client.
pub(crate) fn register() -> Result<()> {
    lapack::locate();
    for handler in TARGETS {
        // SAFETY: what the attribute makes of a function is made to be registered.
        unsafe {
            registry::register(&Registration {
                target: handler.target(),
                platform: Platform::Host,
                entry: Entry::Function(handler.entry()),
                stages: StageSet::EXECUTE,
                traits: handler.traits(),
                owner: "pjrtdispatch",
                name: handler.name(),
            })?;
        }
    }
    Ok(())
}
