//! `ffi::check!`: statements in a body.

use proc_macro2::{Ident, TokenStream};

use super::paths::private;
use super::scope::{allowed, code, plain};
use crate::syntax::{CaptureKind, Check, CheckDType, CheckDim, CheckLead, CheckShape, CheckedBuffer};

/// The statements: the patterns are tried, and all names bound or the error returned.
pub(super) fn expand(check: &Check) -> TokenStream {
    let private = private();
    let names = check.captures.iter().map(|(name, _)| plain(name));
    let patterns = check.buffers.iter().map(pattern);
    let count = check.captures.len();
    let bound: Vec<&Ident> = check.captures.iter().map(|(name, _)| name).collect();
    let values = check.captures.iter().enumerate().map(|(i, (_, kind))| match kind {
        CaptureKind::Dim => code! { found.size(#i) },
        CaptureKind::Leading => code! { found.leading(#i) },
    });
    // One statement binds all, so that there are either all names or none.
    code! {
        #[allow(unused_variables)]
        let (#(#bound,)*) = {
            #[allow(unused_imports)]
            use #private::{self as __dispatch, ffi::Described as _};
            match __dispatch::ffi::matches::<#count>(&[#(#names),*], &[#(#patterns),*]) {
                ::core::result::Result::Ok(found) => (#(#values,)*),
                ::core::result::Result::Err(error) => return __dispatch::ffi::Failed::failed(error),
            }
        };
    }
}

fn pattern(buffer: &CheckedBuffer) -> TokenStream {
    let (name, text) = (&buffer.name, plain(&buffer.name));
    let dtype = match &buffer.dtype {
        None => code! { __dispatch::ffi::DTypes::Of(__dispatch::DTypeSpec::Any) },
        Some(CheckDType::Dtypes(dtypes)) => {
            let dtypes = allowed(dtypes);
            code! { __dispatch::ffi::DTypes::Of(#dtypes) }
        }
        Some(CheckDType::Same(other)) => {
            let of = plain(other);
            code! { __dispatch::ffi::DTypes::Same(#of, #other.data_type()) }
        }
    };
    let shape = match &buffer.shape {
        None => code! { __dispatch::ffi::Sizes::Dims(__dispatch::Lead::Any, &[]) },
        Some(CheckShape::Same(other)) => {
            let of = plain(other);
            code! { __dispatch::ffi::Sizes::Same(#of, #other.shape()) }
        }
        Some(CheckShape::Dims(lead, dims)) => {
            let lead = match lead {
                CheckLead::None => code! { __dispatch::Lead::None },
                CheckLead::Any => code! { __dispatch::Lead::Any },
                CheckLead::Captured(n) => code! { __dispatch::Lead::Named(#n) },
            };
            let dims = dims.iter().map(dim);
            code! { __dispatch::ffi::Sizes::Dims(#lead, &[#(#dims),*]) }
        }
    };
    let ranks = &buffer.ranks;
    let at = buffer.dims.iter().map(|(index, size)| {
        let size = dim(size);
        code! { (#index, #size) }
    });
    code! {
        __dispatch::ffi::Pattern {
            name: #text,
            data_type: #name.data_type(),
            shape: #name.shape(),
            dtype: #dtype,
            ranks: &[#(#ranks),*],
            sizes: #shape,
            dims: &[#(#at),*],
        }
    }
}

fn dim(dim: &CheckDim) -> TokenStream {
    match dim {
        CheckDim::Fixed(size) => code! { __dispatch::ffi::Size::Fixed(#size) },
        CheckDim::Any => code! { __dispatch::ffi::Size::Any },
        CheckDim::Captured(n) => code! { __dispatch::ffi::Size::Captured(#n) },
        CheckDim::Value(value) => code! { __dispatch::ffi::Size::Value(#value) },
    }
}
