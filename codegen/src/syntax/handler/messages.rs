//! The messages about handlers, in a table of their own, beside those of the parts that families have too.

use super::super::messages::messages;
pub(super) use super::super::messages::*;

messages! {
    // Handlers: what each argument is.
    no_role(name, help) {
        "argument `{name}` does not say what it is in the call", "{help}"
    }
    two_roles(name) {
        "argument `{name}` has two roles", "keep one of `#[arg]`, `#[ret]`, `#[attr]`, `#[attrs]` and `#[ctx]`"
    }
    bare_attribute(attribute) {
        "`#[{attribute}]` takes no options", "write `#[{attribute}]` alone"
    }
    after_optional(name, before) {
        "`{name}` stands after the optional `{before}`",
        "move it before `{before}`, or make it optional too: a call leaves out the last ones"
    }
    after_remaining(name, before) {
        "`{name}` stands after `{before}`, which takes all that are left", "move it before `{before}`"
    }
    instantiate_takes(what, name) {
        "`{name}`: an instantiate handler gets no {what}", "XLA calls it once when the program is loaded, with the attributes only; remove it"
    }

    alias_of_other(got, help) {
        "`{got}` is no argument that a result can take over", "{help}"
    }
    alias_twice(got, before) {
        "`{before}` takes over `{got}` already", "keep one of them"
    }
    alias_of_none(name) {
        "no result takes over `{name}`, whose contents are read through one", "write `#[ret(alias = {name})]` at the result, or `AnyBuffer` here"
    }
    alias_optional(name) {
        "`{name}` may be absent, and then nothing would be taken over", "drop the `Option`"
    }

    // Handlers: types of arguments.
    place_type(got, marker, help) {
        "`{got}` cannot be the type of an `#[{marker}]`", "{help}"
    }
    slice_place(got, instead) {
        "a slice has no shape: `{got}`", "write `{instead}`, which is one in the body, and knows its sizes"
    }
    owned_place(got, instead) {
        "a handler works on the memory of XLA and owns none of it: `{got}`", "write `{instead}`"
    }
    list_place(got, instead) {
        "a call has no lists of buffers: `{got}`", "write each as an argument of its own, or `{instead}` for all that are left"
    }
    borrowed_place(instead) {
        "buffers are passed by value", "write `{instead}`"
    }
    array_place(got, typed, any) {
        "a handler sees buffers, not arrays: `{got}`", "write `{typed}<f32>`, or `{any}` for any dtype"
    }
    written_argument(got, instead) {
        "an argument is only read: `{got}`", "write `{instead}`, or `#[ret]` if it is a result"
    }
    read_result(got, instead) {
        "a result is written: `{got}`", "write `{instead}`, or `#[arg]` if it is an argument"
    }
    optional_remaining(got) {
        "`Option<{got}>`: there may be none left without an `Option`", "write `{got}`"
    }
    named_lifetime(got) {
        "`{got}`: what a handler gets lives for one call, whose lifetime has no name", "write `'_`, or leave it out"
    }
    element_type(got, help) {
        "`{got}` cannot be the element of a buffer", "{help}"
    }
    dtype_of_type(ty, dtype, help) {
        "`{ty}` already says the dtype: `{dtype}`", "{help}"
    }
    reference_of_typed(name, dtype, ty, any) {
        "`{name}` may have another dtype than `{ty}`", "say `dtype = {dtype}` at `{name}`, or write `{any}` here"
    }

    // Handlers: attributes and the context.
    attr_type(got, help) {
        "`{got}` cannot be the type of an attribute", "{help}"
    }
    attr_alias(got, instead) {
        "`{got}` cannot be the type of an attribute", "write `{instead}`"
    }
    attr_array(got, elements) {
        "XLA has no attributes of type `{got}`", "the elements of an array are {elements}"
    }
    attr_is_place(got) {
        "`{got}` is a buffer, not an attribute", "write `#[arg]` for an argument, `#[ret]` for a result"
    }
    attr_name_twice(name) {
        "attribute `{name}` is declared twice", "rename one, or give it another name in the call: `#[attr(name = \"...\")]`"
    }
    default_of_optional() {
        "an optional attribute has no default", "drop the `Option`: an absent one is the default then"
    }
    default_of_dictionary() {
        "a dictionary has no default", "write `Option<ffi::Dictionary>`"
    }
    attrs_type(got) {
        "all attributes are an `ffi::Dictionary`, found `{got}`", "write `#[attrs] all: ffi::Dictionary`, or `#[attr]` for a single one"
    }
    attrs_twice(name) {
        "`{name}` would be all attributes a second time", "take them once"
    }
    ctx_type(got, help) {
        "the context has no `{got}`", "{help}"
    }
    borrowed_ctx(instead) {
        "values of the context are passed by value", "write `{instead}`"
    }

    // Handlers: the result.
    handler_returns_nothing(name, help) {
        "`{name}` returns nothing, and could not fail", "{help}"
    }
    handler_result(got, help) {
        "`{got}` cannot be what a handler returns", "{help}"
    }
    borrowed_return(got) {
        "a handler returns nothing borrowed: `{got}`", "the call is over when XLA looks at it; own the data"
    }
    value_returned(got) {
        "only an instantiate handler returns a value, found `{got}`",
        "results are written into `#[ret]` buffers; write `ffi::Result<()>`, or `stage = instantiate` to make a state"
    }
    future_of_instantiate(got) {
        "an instantiate handler cannot answer later: `{got}`", "write `ffi::Result<T>`, where `T` is the state"
    }

    // Handlers: options.
    static_is_function(name) {
        "the static of the handler `{name}` would have the function's own name", "write the function's name in lower case"
    }
    name_string(option, got) {
        "`{option}` must be a string, found `{got}`", "write it in quotes, as in `{option} = \"scale\"`"
    }
    name_invalid(option, why) {
        "`{option}` {why}", "write the name that calls use"
    }
    unknown_stage(got, help) {
        "unknown stage `{got}`", "{help}"
    }
    option_of_execute(option) {
        "`{option}` has no effect on a handler of another stage",
        "say it at the handler that is executed, which names this one"
    }

    // Patterns in bodies.
    check_empty() {
        "nothing to check", "write `ffi::check!(x: f32 [n, 128]);`"
    }
    check_name(got) {
        "expected the variable of a buffer and `:`, found `{got}`", "write `ffi::check!(x: f32 [n, 128]);`; several buffers stand between semicolons"
    }
    check_pattern_empty(name) {
        "nothing is said of `{name}`", "write a dtype, a shape, `like(other)`, `rank = 2` or `dim(0) = 128`"
    }
    no_ranks() {
        "an empty list allows no rank", "list the ranks, as in `[1, 2]`, or leave it out"
    }
    rank_expected(got) {
        "expected a rank, found `{got}`", "write a number, or several in brackets: `rank = [1, 2]`"
    }
    dim_form(example) {
        "`dim` takes the index of a dimension, counted from 0, and its size", "write `{example}`"
    }

    // Types of attributes.
    attr_union(name) {
        "`AttrValue` is for structs and enums, `{name}` is a union", "use a struct, which is a dictionary of its fields"
    }
    attr_generics(name) {
        "`AttrValue` takes at most one lifetime parameter, for what `{name}` borrows from the call", "remove it"
    }
    attr_no_variants(name) {
        "`{name}` has no variant, so no attribute could have its type", "add a variant"
    }
    attr_variant_fields(variant) {
        "`{variant}` has fields, and an attribute is the number of a variant", "use variants without fields, or a struct, which is a dictionary"
    }
    attr_enum_repr(name) {
        "`{name}` does not say which integer it is in a call", "write `#[repr(i32)]` before it: XLA tells i32 from i64"
    }
    attr_unnamed(name) {
        "`{name}` has no named fields, and a dictionary finds its members by name", "name the fields: `struct Range {{ lo: i64, hi: i64 }}`"
    }
}
