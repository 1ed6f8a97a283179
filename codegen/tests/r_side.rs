//! Golden fixtures: the R side of packages. `BLESS=1 cargo test -p dispatch-codegen --test r_side` writes the expected
//! files anew; look at the difference before committing it.

use std::path::{Path, PathBuf};

use dispatch_codegen::emit::{Files, r_side};
use dispatch_codegen::project::{Declared, DeclaredFamily, PackageModel, Place};
use dispatch_codegen::syntax;
use quote::ToTokens;

fn model(folder: &Path) -> PackageModel {
    let source = std::fs::read_to_string(folder.join("src/rust/src/lib.rs")).unwrap();
    let file: syn::File = syn::parse_str(&source).unwrap();
    let mut package = PackageModel { name: "everything".into(), ..PackageModel::default() };
    let place = Place { file: PathBuf::from("src/rust/src/lib.rs"), line: 1, column: 1 };
    for item in file.items {
        match item {
            syn::Item::Fn(mut function) => {
                let at = function.attrs.iter().position(|a| a.path().is_ident("dispatch_family")).unwrap();
                let attribute = function.attrs.remove(at);
                let arguments = attribute.meta.require_list().unwrap().tokens.clone();
                let model = match syntax::family(arguments, function.to_token_stream()) {
                    Ok(model) => model,
                    Err(rejected) => panic!(
                        "{}",
                        rejected.errors.to_compile_errors().iter().map(|t| t.to_string()).collect::<String>()
                    ),
                };
                let r_name =
                    model.options.r_name.as_ref().map_or(model.fn_name.to_string(), |name| name.value());
                package.families.push(DeclaredFamily {
                    path: vec![model.type_name.to_string()],
                    module: vec![],
                    cfgs: vec![],
                    place: place.clone(),
                    symbol: format!("rs_{}", r_name.replace('.', "_")),
                    r_name,
                    model,
                });
            }
            syn::Item::Struct(item) => {
                let derive = item
                    .attrs
                    .iter()
                    .find(|a| a.path().is_ident("derive"))
                    .unwrap()
                    .to_token_stream()
                    .to_string();
                let path = vec![item.ident.to_string()];
                let input: syn::DeriveInput = syn::parse2(item.to_token_stream()).unwrap();
                package.names.insert(&[], &syn::Path::from(item.ident.clone()), path.clone());
                if derive.contains("InputTree") {
                    let model = syntax::input_tree(&input).ok().unwrap();
                    package.input_trees.push(Declared { model, path, place: place.clone() });
                } else {
                    let model = syntax::output_tree(&input).ok().unwrap();
                    package.output_trees.push(Declared { model, path, place: place.clone() });
                }
            }
            syn::Item::Enum(item) => {
                let path = vec![item.ident.to_string()];
                package.names.insert(&[], &syn::Path::from(item.ident.clone()), path.clone());
                let input: syn::DeriveInput = syn::parse2(item.to_token_stream()).unwrap();
                let model = syntax::static_arg(&input).ok().unwrap();
                package.static_types.push(Declared { model, path, place: place.clone() });
            }
            _ => {}
        }
    }
    package
}

#[test]
fn the_r_side_of_each_package_is_as_expected() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/packages/everything");
    let files: Files = r_side(&model(&folder), &folder).unwrap();
    if std::env::var_os("BLESS").is_some() {
        println!("{:?}", files.write().unwrap());
        return;
    }
    assert_eq!(files.differences().unwrap(), []);
}

/// The pages are valid, and roxygen2 makes the same of the comments. Without R or roxygen2 there is nothing to compare.
#[test]
fn the_help_pages_are_those_of_roxygen2() {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let run = std::process::Command::new("Rscript")
        .arg("--vanilla")
        .args([tests.join("help_pages.R"), tests.join("packages/everything")])
        .output();
    match run {
        Ok(run) if run.status.code() == Some(77) => eprintln!("skipped: roxygen2 is not installed"),
        Ok(run) => {
            let told = [run.stdout, run.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
            assert!(run.status.success(), "{}", told.concat());
        }
        Err(error) => eprintln!("skipped: no Rscript: {error}"),
    }
}
