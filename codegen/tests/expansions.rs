//! Golden fixtures: what declarations expand to, readable. `BLESS=1 cargo test -p dispatch-codegen --test expansions`
//! writes the expected files anew; look at the difference before committing it.

use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::{Attribute, File, Item};

/// Replaces each item that carries a macro of the toolkit by its expansion, as the compiler would.
fn expand(source: &str) -> String {
    let file: File = syn::parse_str(source).expect("the fixture is Rust");
    let tokens: TokenStream = file.items.into_iter().map(expand_item).collect();
    prettyplease::unparse(&syn::parse2(tokens).expect("the expansion is Rust"))
}

fn expand_item(item: Item) -> TokenStream {
    match item {
        Item::Fn(mut function) => {
            let ours =
                |a: &Attribute| ["dispatch_family", "ffi_handler"].iter().any(|name| a.path().is_ident(name));
            let at = function.attrs.iter().position(ours);
            let attribute =
                function.attrs.remove(at.expect("a function of a fixture is a family or a handler"));
            let arguments = match &attribute.meta {
                syn::Meta::List(list) => list.tokens.clone(),
                _ => TokenStream::new(),
            };
            let expand = match attribute.path().is_ident("ffi_handler") {
                true => dispatch_codegen::ffi_handler,
                false => dispatch_codegen::dispatch_family,
            };
            expand(arguments, function.to_token_stream())
        }
        Item::Struct(item) => derives(&item.attrs, item.to_token_stream()),
        Item::Enum(item) => derives(&item.attrs, item.to_token_stream()),
        // Statements, in a function that stands for the body.
        Item::Macro(item) => {
            let statements = dispatch_codegen::ffi_check(item.mac.tokens);
            quote::quote! { fn body() { #statements } }
        }
        other => other.to_token_stream(),
    }
}

fn derives(attributes: &[Attribute], item: TokenStream) -> TokenStream {
    let derive =
        attributes.iter().find(|a| a.path().is_ident("derive")).expect("a type of a fixture derives");
    let mut expanded = TokenStream::new();
    derive
        .parse_nested_meta(|meta| {
            let derive = meta.path.require_ident()?.to_string();
            expanded.extend(match derive.as_str() {
                "InputTree" => dispatch_codegen::derive_input_tree(item.clone()),
                "OutputTree" => dispatch_codegen::derive_output_tree(item.clone()),
                "AttrValue" => dispatch_codegen::derive_attr_value(item.clone()),
                "StaticArg" => dispatch_codegen::derive_static_arg(item.clone()),
                _ => TokenStream::new(),
            });
            Ok(())
        })
        .expect("derives are names");
    expanded
}

fn fixtures() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let mut fixtures: Vec<PathBuf> =
        fs::read_dir(folder).expect("the fixtures are there").map(|entry| entry.unwrap().path()).collect();
    fixtures.sort();
    fixtures
}

#[test]
fn declarations_expand_as_blessed() {
    let bless = std::env::var_os("BLESS").is_some();
    let mut wrong = Vec::new();
    let fixtures = fixtures();
    assert!(!fixtures.is_empty());
    for fixture in fixtures {
        let source = fs::read_to_string(fixture.join("input.rs")).expect("a fixture has an input");
        let expanded = expand(&source);
        let expected = fixture.join("expected.rs");
        if bless {
            fs::write(&expected, &expanded).expect("the fixture can be written");
        } else if fs::read_to_string(&expected).unwrap_or_default() != expanded {
            wrong.push(fixture.file_name().unwrap().to_string_lossy().into_owned());
        }
    }
    assert!(
        wrong.is_empty(),
        "these fixtures expand to something else now: {wrong:?}; see the top of this file"
    );
}

#[test]
fn expansions_have_no_unsafe_and_no_errors() {
    for fixture in fixtures() {
        let expanded = expand(&fs::read_to_string(fixture.join("input.rs")).unwrap());
        assert!(!expanded.contains("unsafe"), "{}", fixture.display());
        assert!(!expanded.contains("compile_error"), "{}", fixture.display());
    }
}

#[test]
fn an_expansion_is_the_same_every_time() {
    for fixture in fixtures() {
        let source = fs::read_to_string(fixture.join("input.rs")).unwrap();
        assert_eq!(expand(&source), expand(&source), "{}", fixture.display());
    }
}
