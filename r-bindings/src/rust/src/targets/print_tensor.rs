//! `print_tensor`: x -> nothing.

use dispatch_r::printing::{self, Printed};
use dispatch_runtime::ffi::{AnyBuffer, Error, Result};
use dispatch_runtime::prelude::{ffi_handler, Aval};

/// Has R print the array, between two lines.
#[ffi_handler]
pub(super) fn print_tensor(
    #[arg(dtype = any, shape = [..])] x: AnyBuffer<'_>,
    #[attr(default = "")] print_header: &str,
    #[attr(default = "")] print_footer: &str,
) -> Result<()> {
    let Some(dtype) = x.dtype() else {
        return Err(Error::invalid_argument(format!(
            "argument `x`: expected a dtype that R knows, got {}",
            x.data_type()
        )));
    };
    // R's dimensions, which it could not be told of later.
    if let Some(large) = x.shape().iter().find(|&&size| i32::try_from(size).is_err()) {
        return Err(Error::invalid_argument(format!(
            "argument `x`: expected sizes below 2^31, which R's arrays have, got {large}"
        )));
    }
    for (name, text) in [("print_header", print_header), ("print_footer", print_footer)] {
        if text.contains('\0') {
            return Err(Error::invalid_argument(format!(
                "attribute `{name}`: expected a text that R can hold, got one with a NUL"
            )));
        }
    }
    printing::print(Printed::new(&Aval::new(dtype, x.shape()), x.bytes(), print_header, print_footer));
    Ok(())
}
