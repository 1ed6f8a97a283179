//! The functions that programs can call on the CPU, `?custom_call_targets`: what array packages name in their programs.

mod eigh;
mod geqrf;
mod lapack;
mod lu;
mod matrix;
mod orgqr;
mod print_tensor;
mod svd;

use dispatch_r::{handlers, Result};
use dispatch_runtime::ffi::Handler;

static TARGETS: [&Handler; 6] =
    [&geqrf::GEQRF, &orgqr::ORGQR, &lu::LU, &svd::SVD, &eigh::EIGH, &print_tensor::PRINT_TENSOR];

/// Registers all. Called when the package is loaded: the plugin gets them with its first client.
pub(crate) fn register() -> Result<()> {
    lapack::locate();
    handlers::register("pjrtdispatch", &TARGETS)
}
