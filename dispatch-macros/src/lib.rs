//! The macros of dispatch families. Use them through `dispatch_runtime`, which their expansions name.

use proc_macro::TokenStream;

/// Declares a program family: one function whose program is compiled again for each combination of input
/// dtypes, shapes and static values.
#[proc_macro_attribute]
pub fn dispatch_family(arguments: TokenStream, item: TokenStream) -> TokenStream {
    dispatch_codegen::dispatch_family(arguments.into(), item.into()).into()
}

/// Makes a struct with one type parameter an argument of families: a nested input.
#[proc_macro_derive(InputTree, attributes(dynamic, static_arg))]
pub fn input_tree(input: TokenStream) -> TokenStream {
    dispatch_codegen::derive_input_tree(input.into()).into()
}

/// Makes a struct with one type parameter the structure of a family's outputs.
#[proc_macro_derive(OutputTree)]
pub fn output_tree(input: TokenStream) -> TokenStream {
    dispatch_codegen::derive_output_tree(input.into()).into()
}

/// Makes an enum or a struct the type of static arguments.
#[proc_macro_derive(StaticArg)]
pub fn static_arg(input: TokenStream) -> TokenStream {
    dispatch_codegen::derive_static_arg(input.into()).into()
}
