//! Every message of this crate, as one table.
//!
//! A message says in lower case what was expected and what came, without a final stop; its hint says what to
//! write instead. Each row is a function of the words that it quotes.

use std::fmt;

/// What is shown at a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Message {
    text: String,
    hint: String,
}

impl Message {
    pub(crate) fn new(text: String, hint: String) -> Self {
        Message { text, hint }
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\nhint: {}", self.text, self.hint)
    }
}

/// Makes a table of messages: a function for each row, and `ROWS` for tests.
macro_rules! messages {
    ($($name:ident($($quoted:ident),*) { $text:literal, $hint:literal })*) => {
        $(
            pub(crate) fn $name($($quoted: impl ::std::fmt::Display),*) -> $crate::syntax::Message {
                $crate::syntax::Message::new(format!($text), format!($hint))
            }
        )*

        /// The name and the text of every row, so that a test can see that each row is tested.
        #[cfg(test)]
        pub(crate) const ROWS: &[(&str, &str)] = &[$((stringify!($name), $text)),*];
    };
}

pub(crate) use messages;

messages! {
    // Attributes and their options.
    unknown_option(got, owner, help) {
        "`{owner}` has no option `{got}`", "{help}"
    }
    duplicate_option(option) {
        "option `{option}` is given twice", "keep one of them"
    }
    option_expected(got, owner, options) {
        "expected an option of `{owner}`, found `{got}`", "the options are {options}"
    }
    comma_expected(got, help) {
        "expected `,`, found `{got}`", "{help}"
    }
    value_needed(option, example) {
        "option `{option}` needs a value", "write `{example}`"
    }
    no_value(option) {
        "option `{option}` takes no value", "write `{option}` alone"
    }
    attribute_form(attribute, example) {
        "`#[{attribute}]` takes its options in parentheses", "write `{example}`"
    }
    alias_value(option, got) {
        "`{option}` must be the name of an argument, found `{got}`", "write `{option} = a`"
    }
    write_back_value(got) {
        "`write_back` must be the index of a result, found `{got}`",
        "write `write_back = 1` for the second result, or `write_back` alone if there is only one"
    }
    write_back_list(name) {
        "`{name}` is a list of arrays, and a result is written back into one array", "leave `write_back` out"
    }
    write_back_field(name) {
        "`{name}` is a field, and a result is written back into an argument", "leave `write_back` out"
    }
    write_back_twice(result, other) {
        "result {result} is written back into `{other}` already",
        "say which result this one gets, as in `write_back = 1`: they are counted from 0"
    }

    // Dtypes.
    unknown_dtype(got, help) {
        "unknown dtype `{got}`", "{help}"
    }
    dtype_expected(got) {
        "expected a dtype, found `{got}`",
        "write a dtype such as `f32`, a choice `[f32, f64]`, a class `any`, `float` or `int`, or `dtype(other)`"
    }
    no_dtype_reference(got) {
        "`{got}(...)` is not a dtype",
        "write `dtype = dtype(other)`, or `like(other)` in place of dtype and shape"
    }
    empty_choice() {
        "an empty choice allows no dtype", "list the dtypes, as in `[f32, f64]`, or write `any`"
    }
    class_in_choice(class, members) {
        "`{class}` is a class of dtypes and cannot stand in a choice",
        "write it alone, `dtype = {class}`, or list dtypes: `[{members}]`"
    }
    reference_in_choice(got) {
        "`{got}` cannot stand in a choice", "write it alone: `dtype = {got}`"
    }
    duplicate_in_choice(dtype) {
        "dtype `{dtype}` is listed twice", "keep one of them"
    }

    // Shapes.
    shape_expected(got) {
        "expected a shape, found `{got}`",
        "write the sizes in brackets, as in `[m, 128, _]` (a scalar is `[]`, any shape `[..]`), or `shape(other)`"
    }
    no_shape_reference(got) {
        "`{got}(...)` is not a shape",
        "write `shape = shape(other)`, or `like(other)` in place of dtype and shape"
    }
    size_expected(got) {
        "expected a size, found `{got}`",
        "a size is a lower-case name that captures it, a number, or `_` for any"
    }
    negative_size(got) {
        "a size cannot be negative: `{got}`", "write `_` for any size"
    }
    large_size(got) {
        "size `{got}` is too large", "sizes go up to 9223372036854775807"
    }
    float_size(got) {
        "a size must be an integer, found `{got}`", "write a whole number, a name, or `_` for any size"
    }
    suffixed_size(got, digits) {
        "a size takes no suffix: `{got}`", "write `{digits}`"
    }
    leading_not_first(got) {
        "`{got}` must come first in its shape", "leading dimensions stand before all others, as in `[batch.., m, k]`"
    }
    two_leading(got) {
        "a second part of free rank: `{got}`",
        "one shape has at most one, at its front, as in `[batch.., m, k]`"
    }
    leading_dots(got) {
        "expected `..`, found `{got}`", "leading dimensions are two dots, as in `[batch.., m]`"
    }

    // Captured names.
    name_case(got, help) {
        "`{got}` cannot name a size", "{help}"
    }
    name_keyword(got) {
        "`{got}` is a keyword of Rust and cannot name a size", "choose another lower-case name"
    }
    name_is_argument(got) {
        "`{got}` names a size and an argument", "rename one: both are variables of the body"
    }
    name_is_field(got) {
        "`{got}` names a size and a field", "rename one"
    }
    name_unbound(got) {
        "`{got}` stands only in optional buffers, and would have no size without them",
        "write it in the shape of a buffer that is there in every call, or `_` here and ask the buffer in the body"
    }
    name_of_two_kinds(got, first, now) {
        "`{got}` stands for {first} before, and for {now} here",
        "use two names: `{got}` is one size, `{got}..` any number of leading sizes"
    }

    // References to other arguments.
    reference_form(form) {
        "`{form}(...)` takes the name of one argument", "write `{form}(a)`"
    }
    unknown_argument(noun, got, help) {
        "no {noun} is named `{got}`", "{help}"
    }
    reference_to_other(form, got, what, noun) {
        "`{form}({got})`: `{got}` is {what}, which has no dtype and no shape", "name a {noun}"
    }
    reference_to_optional(form, got) {
        "`{form}({got})`: `{got}` may be absent", "name a buffer that is there in every call"
    }
    reference_to_cx(form, got) {
        "`{form}({got})`: `{got}` is the compile context, not an argument", "name a dynamic argument"
    }
    reference_to_self(form, got) {
        "`{form}({got})` refers to itself", "name another one, or say the {form} here"
    }
    reference_cycle(form, path) {
        "this {form} leads back to itself: {path}", "say the {form} at one of them"
    }
    reference_to_tree(form, got) {
        "`{form}({got})`: `{got}` is a tree of several arrays", "name one that is a single array"
    }
    reference_to_many(form, got) {
        "`{form}({got})`: the arrays of `{got}` may have different shapes",
        "capture the sizes by the same names at both, as in `shape = [m, k]`"
    }

    // Arguments.
    no_attribute(name, help) {
        "argument `{name}` is neither dynamic nor static", "{help}"
    }
    both_attributes(name) {
        "argument `{name}` is dynamic and static", "keep one of `#[dynamic(...)]` and `#[static_arg]`"
    }
    duplicate_attribute(attribute) {
        "`#[{attribute}]` is given twice", "put all options into one attribute"
    }
    unknown_attribute(got, help) {
        "`#[{got}]` is not an attribute of arguments", "{help}"
    }
    cfg_on_argument(got) {
        "`#[{got}]` on an argument would change the signature", "write two functions, each under its own condition"
    }
    argument_pattern() {
        "an argument must be a plain name", "name the argument, and take it apart in the body"
    }
    reserved_name(name) {
        "`{name}` is a name of the toolkit's own", "begin it with a letter, or with one `_`"
    }
    missing_dtype(name) {
        "`{name}` needs a dtype", "add `dtype = f32`, a choice, a class, `dtype = dtype(other)`, or `dtype = any`"
    }
    missing_shape(name) {
        "`{name}` needs a shape", "add `shape = [m, k]`, `shape = shape(other)`, or `shape = [..]` for any shape"
    }
    missing_both(name) {
        "`{name}` needs a dtype and a shape",
        "write `#[dynamic(dtype = f32, shape = [m])]`; to allow everything, `#[dynamic(dtype = any, shape = [..])]`"
    }
    like_and(other) {
        "`like(...)` already says the {other}", "keep one of them"
    }
    like_value() {
        "`like` takes the name of an argument in parentheses", "write `like(a)`"
    }
    constrained(option, what, name, help) {
        "`{option}` cannot be said of the {what} `{name}`", "{help}"
    }

    // Types of arguments.
    dynamic_type(got) {
        "`{got}` cannot be the type of a dynamic argument",
        "a dynamic argument is `Aval`, `Vec<Aval>`, `[Aval; N]` or `P<Aval>` for a struct with `#[derive(InputTree)]`, or the same of `Value`; any other type is `#[static_arg]`"
    }
    value_without_cx(name) {
        "`{name}` is a graph value, and only the compile context makes a program of those",
        "take `cx: &CompileCx` as the first argument, and end the body with `cx.program(...)`"
    }
    array_type(aval, value) {
        "the body sees abstract values or graph values, not arrays",
        "write `{aval}` or `{value}`; the callers of the family pass the arrays"
    }
    borrowed_leaf(instead) {
        "abstract values and graph values are passed by value", "write `{instead}`"
    }
    wrapped_leaf(wrapper, leaf) {
        "`{wrapper}` cannot hold dynamic arrays", "use `{leaf}`, `Vec<{leaf}>`, `[{leaf}; N]`, or a struct with `#[derive(InputTree)]`"
    }
    static_array(got) {
        "`{got}` cannot be static: its values are known only when the program runs",
        "make it `#[dynamic(...)]`"
    }
    static_borrowed(got) {
        "a static argument must be owned: `{got}`", "static values live in the key of the cache; use a type such as `String` or `Vec<i64>`"
    }
    static_inferred(got) {
        "the type of a static argument must be written out, found `{got}`", "name a type that has `#[derive(StaticArg)]` or is one of the standard ones"
    }

    // The compile context.
    cx_not_first() {
        "the compile context must be the first argument", "move it to the front: `cx: &CompileCx`"
    }
    one_cx() {
        "a second compile context", "take it once, as the first argument"
    }
    cx_form(got) {
        "the compile context is passed by shared reference, found `{got}`", "write `&CompileCx`"
    }
    cx_attribute() {
        "the compile context is no argument of the family and takes no attribute", "remove the attribute"
    }

    // The result.
    no_result(name) {
        "`{name}` returns nothing, expected `Result<Program>`", "the body gives the program: `-> Result<Program>`"
    }
    result_expected(got) {
        "expected `Result<Program>` as return type, found `{got}`",
        "write `Result<Program>`, or with the structure of the outputs `Result<Program<(Array, Array)>>`"
    }
    program_expected(got) {
        "expected `Program` in the result, found `{got}`",
        "write `Result<Program>`, or with the structure of the outputs `Result<Program<(Array, Array)>>`"
    }
    output_type(got) {
        "`{got}` cannot be the structure of the outputs",
        "write `Array`, a tuple or an array of them, or `Fit<Array>` for a struct with `#[derive(OutputTree)]`"
    }

    // The function.
    function_expected(attribute) {
        "`{attribute}` goes on a function", "write it before `fn`"
    }
    function_unreadable(reason) {
        "this function cannot be read: {reason}", "use syntax that is stable in Rust 1.85"
    }
    no_body(name, help) {
        "`{name}` has no body", "{help}"
    }
    generics(noun, help) {
        "{noun} cannot be generic", "{help}"
    }
    where_clause(noun) {
        "{noun} cannot have a `where` clause", "remove it"
    }
    modifier(noun, got, runs) {
        "{noun} cannot be `{got}`", "remove `{got}`; {runs}"
    }
    receiver(noun, help) {
        "{noun} cannot take `self`", "{help}"
    }
    variadic(noun, help) {
        "{noun} cannot be variadic", "{help}"
    }
    misplaced_attribute(attribute) {
        "`#[{attribute}]` goes on an argument, not on the function", "write it before the name of the argument"
    }
    hidden_prelude(name, type_name) {
        "the family of `{name}` would be the type `{type_name}`, which hides that of the prelude",
        "rename the function"
    }
    type_is_function(name) {
        "the type of the family `{name}` would have the function's own name",
        "begin the function's name with a lower-case letter"
    }
    no_type_name(name) {
        "`{name}` cannot be turned into the name of a type", "begin the function's name with a letter"
    }

    // Options of the family.
    zero_capacity() {
        "a cache of capacity 0 could hold no program", "write at least `capacity = 1`"
    }
    capacity_expected(got) {
        "`capacity` must be a positive integer, found `{got}`", "write a number as in `capacity = 64`, or a constant of type `usize`"
    }
    eviction_expected(got) {
        "`eviction` must be a policy, found `{got}`", "write `eviction = Lru`"
    }
    unknown_device(got, help) {
        "unknown device policy `{got}`", "{help}"
    }
    path_expected(option, got) {
        "`{option}` must be the path of a function, found `{got}`", "write `{option} = path::to::fn`"
    }
    default_of_fixed_device() {
        "`default_device` has no effect with `device = fixed`", "remove one of them: a fixed device is that of the cache entry"
    }
    name_without_export() {
        "`r_name` has no effect without `r_export`", "add `r_export`"
    }
    r_name_string(got) {
        "`r_name` must be a string, found `{got}`", "write it in quotes, as in `r_name = \"scaled_matmul\"`"
    }
    r_name_invalid(got, why) {
        "`{got}` is not a name in R: {why}", "use letters, digits, `.` and `_`, beginning with a letter"
    }

    // What R takes and writes, in an exported family.
    r_function_name(got, why) {
        "`{got}` cannot be the name of a function in R: {why}", "give it another one there: `r_name = \"fit\"`"
    }
    r_argument_name(got, why) {
        "`{got}` cannot be the name of an argument in R: {why}", "rename it: the function in R has the family's argument names"
    }
    r_too_many(got, most) {
        "a function of R passes at most {most} arguments to Rust, the family has {got}",
        "put arrays together in a `Vec<Aval>`, or in a struct with `#[derive(InputTree)]`"
    }
    r_type(got) {
        "R has no values of type `{got}`",
        "a static argument of an exported family is `bool`, an integer, `f32`, `f64`, `String`, an enum with `#[derive(StaticArg)]`, or a `Vec` or an `Option` of those"
    }
    r_wide(got) {
        "R has no integers of type `{got}`", "its whole numbers are exact up to 2^53: use `i64`"
    }
    r_char() {
        "R has no values of type `char`", "use `String`"
    }
    r_tuple(got) {
        "R has no tuples: `{got}`", "make each part an argument of its own, or take a `Vec`"
    }
    r_reference(got) {
        "R cannot lend a value for ever: `{got}`", "take it owned, as `String` or `Vec<i64>`"
    }
    r_map(got) {
        "R has no values of type `{got}`", "take two vectors, as `names: Vec<String>` and `values: Vec<f64>`"
    }
    r_generic(got) {
        "R has no values of the generic type `{got}`",
        "a static argument of an exported family may be an enum with `#[derive(StaticArg)]`, or a `Vec` or an `Option` of simple values"
    }
    r_nested(got, what) {
        "R's {what} do not nest: `{got}`", "take one `Vec` or one `Option` of simple values"
    }
    r_default_form(got, example) {
        "R cannot write the default `{got}`", "its function states the default as a value: write {example}"
    }
    r_default_type(got, example) {
        "the default `{got}` is not of the argument's type", "write {example}"
    }
    r_default_range(got, ty, least, most) {
        "the default `{got}` is out of the range of `{ty}`", "the type holds {least} to {most}"
    }
    r_default_wide(got) {
        "R cannot pass the default `{got}` exactly", "its whole numbers are exact below 2^53, which is 9007199254740992"
    }
    r_default_nul() {
        "R's strings cannot have the character NUL", "leave it out"
    }
    r_default_length(want, got) {
        "the default has {got} elements, the argument {want}", "write {want} of them"
    }

    // Derives.
    struct_expected(derive, got) {
        "`{derive}` is for structs, found {got}", "declare a struct with named fields"
    }
    named_fields(derive) {
        "`{derive}` needs named fields", "the names become those of the list in R: `struct Fit<T> {{ coef: T }}`"
    }
    one_type_parameter(derive, name, got) {
        "`{derive}` needs exactly one type parameter, `{name}` has {got}", "write `struct {name}<T>`: `T` stands for the arrays"
    }
    tree_lifetime(derive) {
        "`{derive}` takes no lifetime and no const parameter", "remove it: a tree owns its leaves"
    }
    tree_bound(derive) {
        "the type parameter of `{derive}` takes no bounds", "leave it free: the same struct holds arrays, abstract values and graph values"
    }
    field_attribute(name, help) {
        "field `{name}` needs `#[dynamic(...)]`", "{help}"
    }
    static_field(name) {
        "field `{name}` of an input tree cannot be static", "make it an argument of its own"
    }
    input_field(got, leaf) {
        "`{got}` cannot be the type of a field of an input tree",
        "a field is `{leaf}`, `Vec<{leaf}>`, `[{leaf}; N]`, or `Other<{leaf}>` for another input tree"
    }
    output_field(got, leaf) {
        "`{got}` cannot be the type of a field of an output tree",
        "a field is `{leaf}`, `[{leaf}; N]`, or `Other<{leaf}>` for another output tree"
    }
    output_vec(got, leaf) {
        "`{got}` leaves the number of outputs open", "it is part of the type: write `[{leaf}; N]`"
    }
    static_union(name) {
        "`StaticArg` is for structs and enums, `{name}` is a union", "a union's value cannot be compared; use an enum"
    }
    static_lifetime() {
        "`StaticArg` takes no lifetime parameter", "static values live in the key of the cache; own the data"
    }
    static_no_variants(name) {
        "`{name}` has no variant, so no value could be passed", "add a variant"
    }

    // A fault of this crate.
    no_reason() {
        "this declaration was rejected without a reason", "please report it as a fault of dispatch-codegen"
    }
}
