//! The signature language of dispatch families and FFI handlers, and what is made from it.
//!
//! [`syntax`] reads and checks a declaration, [`expand`] turns the checked model into Rust. The attribute and derive
//! macros are the functions at the root of this crate; a generator at build time reads the same model.
//!
//! ```
//! use dispatch_codegen::syntax;
//! use quote::quote;
//!
//! let family = syntax::family(
//!     quote!(capacity = 64),
//!     quote! {
//!         fn scaled_matmul(
//!             #[dynamic(dtype = [f32, f64], shape = [m, k])] a: Aval,
//!             #[dynamic(dtype = dtype(a), shape = [k, n])] b: Aval,
//!             #[static_arg(default = false)] transpose: bool,
//!         ) -> Result<Program> {
//!             todo!()
//!         }
//!     },
//! )
//! .unwrap();
//! assert_eq!(family.type_name, "ScaledMatmul");
//! assert_eq!(family.groups[0].members, [0, 1]);
//! ```

#[cfg(feature = "build")]
mod builder;
#[cfg(feature = "build")]
pub mod command;
#[cfg(feature = "build")]
pub mod emit;
pub mod expand;
#[cfg(feature = "build")]
mod generate;
#[cfg(feature = "build")]
pub mod package;
#[cfg(feature = "build")]
pub mod project;
mod recover;
pub mod syntax;

#[cfg(feature = "build")]
pub use builder::Builder;

use proc_macro2::TokenStream;
use syn::DeriveInput;

/// The attribute `#[dispatch_family(...)]`: the family, or the errors and the user's function.
pub fn dispatch_family(arguments: TokenStream, item: TokenStream) -> TokenStream {
    match syntax::family(arguments, item.clone()) {
        Ok(family) => expand::family(&family),
        Err(rejected) => recover::family(&rejected, item),
    }
}

/// The attribute `#[ffi_handler(...)]`: the function and the handler, or the errors and the user's function.
pub fn ffi_handler(arguments: TokenStream, item: TokenStream) -> TokenStream {
    match syntax::handler(arguments, item.clone()) {
        Ok(handler) => expand::handler(&handler),
        Err(rejected) => recover::handler(&rejected, item),
    }
}

/// `ffi::check!(...)`: the statements that check and bind, or the errors and the names.
pub fn ffi_check(tokens: TokenStream) -> TokenStream {
    match syntax::check(tokens) {
        Ok(check) => expand::check(&check),
        Err((errors, names)) => recover::check(&errors, &names),
    }
}

/// `#[derive(AttrValue)]`
pub fn derive_attr_value(input: TokenStream) -> TokenStream {
    derive(input, syntax::attr_value, expand::attr_value, recover::attr_value)
}

/// `#[derive(InputTree)]`
pub fn derive_input_tree(input: TokenStream) -> TokenStream {
    derive(input, syntax::input_tree, expand::input_tree, recover::input_tree)
}

/// `#[derive(OutputTree)]`
pub fn derive_output_tree(input: TokenStream) -> TokenStream {
    derive(input, syntax::output_tree, expand::output_tree, recover::output_tree)
}

/// `#[derive(StaticArg)]`
pub fn derive_static_arg(input: TokenStream) -> TokenStream {
    derive(input, syntax::static_arg, expand::static_arg, recover::static_arg)
}

fn derive<M>(
    input: TokenStream,
    read: fn(&DeriveInput) -> Result<M, syntax::Found>,
    expand: fn(&M) -> TokenStream,
    recover: fn(&DeriveInput) -> TokenStream,
) -> TokenStream {
    match syn::parse2(input) {
        Ok(input) => match read(&input) {
            Ok(model) => expand(&model),
            Err(errors) => errors.to_compile_errors().into_iter().chain([recover(&input)]).collect(),
        },
        Err(error) => error.to_compile_error(),
    }
}
