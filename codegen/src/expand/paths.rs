//! The one module of the runtime that expansions name.

use proc_macro2::{Span, TokenStream};
use quote::quote_spanned;

/// The path of the runtime's private module.
///
/// It carries the version, so that a macro crate and a runtime that do not belong together fail when they are
/// compiled, not when they run.
pub(crate) fn private() -> TokenStream {
    quote_spanned! {Span::mixed_site()=> ::dispatch_runtime::__private_0_1 }
}

/// The name by which the hidden block of an expansion calls the private module.
pub(super) fn alias() -> TokenStream {
    let private = private();
    quote_spanned! {Span::mixed_site()=>
        #[allow(unused_imports)]
        use #private as __dispatch;
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_private_module_carries_this_version() {
        let mut version = env!("CARGO_PKG_VERSION").split('.');
        let (major, minor) = (version.next().unwrap(), version.next().unwrap());
        assert!(super::private().to_string().ends_with(&format!("__private_{major}_{minor}")));
    }
}
