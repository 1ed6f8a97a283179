//! The messages of what only a whole package can have wrong; those of a single declaration are in
//! `syntax/messages.rs`, and both are written by the same rules.

use crate::syntax::messages;

messages! {
    // The manifest.
    library_renamed(lib, package) {
        "the library is named `{lib}`, and the package links the one named `{package}`", "leave the name out"
    }
    no_static_library() {
        "R packages link a static library", "write `crate-type = [\"staticlib\"]`"
    }
    panic_ends_r(panic) {
        "with `panic = \"{panic}\"` a panic ends the R session instead of being an error", "write `panic = \"unwind\"`"
    }

    // Files and modules.
    not_tokens() {
        "what begins here is no token of Rust", "a quote, a comment or a bracket is not closed, or closed twice"
    }
    no_module_file(name, files) {
        "file not found for module `{name}`", "create {files}, relative to the package's folder"
    }
    two_module_files(name, first, second) {
        "module `{name}` has two files", "remove one of {first} and {second}"
    }
    module_in_itself(name, file) {
        "`{name}` is read inside of itself: {file}", "a file cannot have itself among its modules"
    }
    no_included_file(file) {
        "file not found: {file}", "the path is relative to this file"
    }
    r_families_inline() {
        "the module of the generated functions is a file", "write `mod r_families;`"
    }
    no_r_families() {
        "the crate's root does not declare the module of the generated functions", "write `mod r_families;` here"
    }

    // DESCRIPTION.
    no_import() {
        "the package does not import `pjrtdispatch`, which its functions need when it is loaded",
        "write `pjrtdispatch` in the field `Imports`"
    }
    not_collated(file) {
        "the field `Collate` leaves R/{file} out, so its functions would not be there", "add '{file}' to it, or remove the field"
    }

    // Where a family may stand.
    family_in_macro() {
        "a family inside a macro cannot become a function of R: the generator does not expand macros",
        "write the function out, with its attribute, outside of the macro"
    }
    family_in_item(what) {
        "a family inside {what} cannot become a function of R: nothing outside can name it",
        "move it into a module"
    }
    family_by_condition() {
        "`cfg_attr` hides a family from the generator",
        "write `#[cfg(...)]` above a plain `#[dispatch_family(...)]`, or export it always"
    }
    attribute_with_value() {
        "`#[dispatch_family]` takes its options in parentheses", "write `#[dispatch_family(r_export)]`"
    }
    family_twice() {
        "`#[dispatch_family]` is given twice", "put all options into one attribute"
    }
    family_type_taken(function, name, place) {
        "the type of the family `{function}` is named `{name}`, and there is one of this name",
        "the other one is in {place}; rename one"
    }
    private_function(name, vis) {
        "`{name}` is private to its module, and the generated functions are in another one",
        "write `{vis} fn {name}`"
    }
    private_module(what, name, module) {
        "module `{module}` is private, so the generated functions cannot name the {what} `{name}`",
        "write `pub(crate) mod {module}`, or re-export `{name}` in the crate's root"
    }
    two_of_one_target(name, place) {
        "a second handler of the target `{name}`",
        "the first is in {place}; give one of them another name: `target = \"...\"`"
    }
    argument_twice(name) {
        "two arguments are named `{name}`", "rename one"
    }
    savvy_type() {
        "savvy cannot pass values of this type", "take a `savvy::Sexp`"
    }
    savvy_twice(name) {
        "a second savvy function named `{name}` takes other arguments", "rename one: R has one function of the name"
    }

    // Names in R.
    two_of_one_r_name(name, place) {
        "a second family named `{name}` in R", "the first is in {place}; give one of them another name: `r_name = \"...\"`"
    }
    two_under_conditions(name, place) {
        "a second family named `{name}` in R, under a condition that depends on the machine",
        "the first is in {place}, and the R function is the same on every machine: declare it once, with the condition in its body"
    }
    r_names_by_case(name, other, place) {
        "`{name}` and `{other}` differ in case only, and so would the files of their help",
        "the other one is in {place}; rename one"
    }
    r_name_taken(name, place) {
        "the package's R code has a function `{name}` already", "it is in {place}; give the family another name: `r_name = \"...\"`"
    }

    r_name_of_wrapper(name) {
        "the wrapper of the package's own Rust function `{name}` has this name in R",
        "give the family another name: `r_name = \"...\"`"
    }

    // Static arguments.
    static_unknown(path, name) {
        "R has no values of type `{path}`",
        "declare it in this package: `#[derive(Clone, StaticArg)] enum {name} {{ ... }}`, with variants that have no fields"
    }
    static_alias(name, of) {
        "the generator does not look through `{name}`, another name of `{of}`", "write `{of}` here"
    }
    static_without_derive(name) {
        "R has no values of `{name}`, which does not derive `StaticArg`", "write `#[derive(Clone, StaticArg)]` above it"
    }
    static_struct(name) {
        "R has no values of the struct `{name}`", "make its fields arguments of their own, or use an enum without fields"
    }
    static_fields(name, variant) {
        "R has no values of `{name}`: its variant `{variant}` has fields",
        "a static enum of an exported family is a choice of words; make the fields arguments of their own"
    }
    static_generic(name) {
        "R has no values of the generic type `{name}`", "use an enum without parameters"
    }
    variants_of_one_name(first, second, name) {
        "the variants `{first}` and `{second}` would both be `\"{name}\"` in R", "rename one"
    }
    no_variant(name, variant, help) {
        "R cannot write the default: `{name}` has no variant `{variant}`", "{help}"
    }
}
