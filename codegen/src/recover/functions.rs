//! The attributes: the errors, and the function in a form that gives no further ones.

use proc_macro2::{Delimiter, Ident, TokenStream, TokenTree};
use quote::quote;
use syn::{Attribute, FnArg, ItemFn, Meta, Pat, Stmt, Type, parse_quote};

use crate::expand::private;
use crate::syntax::{
    FAMILY, HANDLER, Kind, RUST_KEYWORDS, Rejected, handler_static_name, stripped, type_name,
};

/// The errors of a family and, if it is one, the function: the toolkit's attributes stripped, the captured names
/// bound. Anything else is emitted as it came.
///
/// The first error stands in the place of the family's type, as the length of an array: of a type whose length is
/// wrong the compiler asks no more, so that the callers of the family give no errors either.
pub(crate) fn family(rejected: &Rejected, item: TokenStream) -> TokenStream {
    let errors = rejected.errors.to_compile_errors();
    let Some(function) = &rejected.function else {
        return quote! { #(#errors)* #item };
    };
    let (vis, quiet) = (&function.vis, quiet(function, &FAMILY, &parse_quote!(i64)));
    // A method stands in an `impl`, which cannot have types.
    let is_method = function.sig.receiver().is_some();
    match (&errors[..], type_name(&function.sig.ident)) {
        ([first, others @ ..], Ok(name)) if !is_method => quote! {
            #[allow(dead_code)]
            #vis type #name = [(); #first];
            #(#others)*
            #quiet
        },
        _ => quote! { #(#errors)* #quiet },
    }
}

/// The errors of a handler and, if it is one, the function; the first error is the value of the static, so that whoever
/// names that gives no error either.
pub(crate) fn handler(rejected: &Rejected, item: TokenStream) -> TokenStream {
    let errors = rejected.errors.to_compile_errors();
    let Some(function) = &rejected.function else {
        return quote! { #(#errors)* #item };
    };
    let (vis, quiet, private) = (&function.vis, quiet(function, &HANDLER, &parse_quote!(usize)), private());
    let is_method = function.sig.receiver().is_some();
    match (&errors[..], handler_static_name(&function.sig.ident)) {
        ([first, others @ ..], Ok(name)) if !is_method => quote! {
            #[allow(dead_code)]
            #vis static #name: #private::ffi::Handler = #first;
            #(#others)*
            #quiet
        },
        _ => quote! { #(#errors)* #quiet },
    }
}

/// The function with what the compiler would complain of in second place taken away, and the names of its sizes bound.
fn quiet(function: &ItemFn, kind: &Kind, size: &Type) -> ItemFn {
    let names = captured_names(function);
    let mut function = stripped(function, kind);
    // A `const` body could not call anything, and variadics and foreign types give errors of their own.
    function.sig.constness = None;
    function.sig.abi = None;
    function.sig.variadic = None;
    function.attrs.push(parse_quote!(#[allow(dead_code, unused_variables)]));
    if kind.attribute == HANDLER.attribute {
        function.attrs.push(parse_quote!(#[allow(elided_lifetimes_in_paths)]));
    }
    let bindings: Vec<Stmt> = names.into_iter().map(|name| binding(name, size)).collect();
    function.block.stmts.splice(0..0, bindings);
    function
}

enum Name {
    Dim(Ident),
    Leading(Ident),
}

impl Name {
    fn ident(&self) -> &Ident {
        match self {
            Name::Dim(name) | Name::Leading(name) => name,
        }
    }
}

/// A variable for a name; a constant for one in upper case, where a `let` would match a constant of the user's.
fn binding(name: Name, size: &Type) -> Stmt {
    let upper = name.ident().to_string().starts_with(char::is_uppercase);
    match name {
        Name::Dim(name) if upper => parse_quote!(#[allow(dead_code)] const #name: #size = 1;),
        Name::Dim(name) => parse_quote!(#[allow(unused_variables)] let #name: #size = 1;),
        Name::Leading(name) if upper => {
            parse_quote!(#[allow(dead_code)] const #name: ::std::vec::Vec<#size> = ::std::vec::Vec::new();)
        }
        Name::Leading(name) => {
            parse_quote!(#[allow(unused_variables)] let #name: ::std::vec::Vec<#size> = ::std::vec::Vec::new();)
        }
    }
}

/// The names in the shapes of a function, found without the parser, which may have stopped at a mistake.
fn captured_names(function: &ItemFn) -> Vec<Name> {
    let inputs = function.sig.inputs.iter().filter_map(|input| match input {
        FnArg::Typed(input) => Some(input),
        FnArg::Receiver(_) => None,
    });
    let arguments: Vec<&Ident> = inputs
        .clone()
        .filter_map(|input| match &*input.pat {
            Pat::Ident(pattern) => Some(&pattern.ident),
            _ => None,
        })
        .collect();
    let mut names: Vec<Name> = Vec::new();
    for attribute in inputs.flat_map(|input| &input.attrs) {
        for name in names_of(attribute) {
            let known = names.iter().any(|other| other.ident() == name.ident());
            if !known && !arguments.contains(&name.ident()) {
                names.push(name);
            }
        }
    }
    names
}

fn names_of(attribute: &Attribute) -> Vec<Name> {
    let Meta::List(list) = &attribute.meta else { return Vec::new() };
    let tokens: Vec<TokenTree> = list.tokens.clone().into_iter().collect();
    let is_shape = |window: &&[TokenTree]| {
        matches!(window, [TokenTree::Ident(word), TokenTree::Punct(equals), _]
            if word != "dtype" && equals.as_char() == '=')
    };
    let shapes = tokens.windows(3).filter(is_shape).filter_map(|window| match &window[2] {
        TokenTree::Group(group) if group.delimiter() == Delimiter::Bracket => Some(group.stream()),
        _ => None,
    });
    shapes.flat_map(names_in).collect()
}

fn names_in(shape: TokenStream) -> Vec<Name> {
    let tokens: Vec<TokenTree> = shape.into_iter().collect();
    let named = tokens.iter().enumerate().filter_map(|(index, token)| {
        let TokenTree::Ident(name) = token else { return None };
        let word = name.to_string();
        if word == "_" || RUST_KEYWORDS.contains(&word.as_str()) {
            return None;
        }
        let leading = matches!(tokens.get(index + 1), Some(TokenTree::Punct(dot)) if dot.as_char() == '.');
        Some(if leading { Name::Leading(name.clone()) } else { Name::Dim(name.clone()) })
    });
    named.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dispatch_family;

    /// What the attribute emits, without the errors.
    fn recovered(arguments: TokenStream, item: TokenStream) -> String {
        let file: syn::File = syn::parse2(dispatch_family(arguments, item)).unwrap();
        let (errors, items): (Vec<_>, Vec<_>) =
            file.items.into_iter().partition(|item| matches!(item, syn::Item::Macro(_) | syn::Item::Type(_)));
        assert!(!errors.is_empty(), "no error");
        prettyplease::unparse(&syn::File { shebang: None, attrs: Vec::new(), items })
    }

    #[test]
    fn the_function_is_kept_with_its_names_bound() {
        let got = recovered(
            quote!(capacity = 0),
            quote! {
                /// Doc.
                pub const extern "C" fn f(
                    /// Doc.
                    #[dynamic(dtype = f32, shape = [batch.., m, K, for, a])] a: Aval,
                    #[dynamic(dtype = [f32, f64], hsape = [m, n])] b: Aval,
                    #[static_arg] #[allow(unused)] flag: bool,
                    ...
                ) -> Result<Program> {
                    body(m)
                }
            },
        );
        let want = "\
            /// Doc.\n\
            #[allow(dead_code, unused_variables)]\n\
            pub fn f(a: Aval, b: Aval, #[allow(unused)] flag: bool) -> Result<Program> {\n    \
                #[allow(unused_variables)]\n    \
                let batch: ::std::vec::Vec<i64> = ::std::vec::Vec::new();\n    \
                #[allow(unused_variables)]\n    \
                let m: i64 = 1;\n    \
                #[allow(dead_code)]\n    \
                const K: i64 = 1;\n    \
                #[allow(unused_variables)]\n    \
                let n: i64 = 1;\n    \
                body(m)\n\
            }\n";
        assert_eq!(got, want);
    }

    #[test]
    fn a_function_without_body_gets_one() {
        let got = recovered(
            TokenStream::new(),
            quote!(
                fn f() -> Result<Program>;
            ),
        );
        assert!(got.contains("::core::unreachable!()"), "{got}");
    }

    #[test]
    fn another_item_is_emitted_as_it_came() {
        assert_eq!(
            recovered(
                TokenStream::new(),
                quote!(
                    struct S;
                )
            ),
            "struct S;\n"
        );
    }

    #[test]
    fn a_mistake_left_to_the_compiler_emits_the_function_alone() {
        let item = quote!(
            fn f(#[static_arg] n: i64, #[static_arg] n: i64) -> Result<Program> {}
        );
        let got = dispatch_family(TokenStream::new(), item).to_string();
        assert!(got.contains("fn f (n : i64 , n : i64)") && !got.contains("compile_error"), "{got}");
    }
}
