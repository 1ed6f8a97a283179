//! The accepted words of the signature language, one table for each place where a word may stand.
//!
//! A table is ordered as its words are listed to the user. The tables of [`DTYPE_ALIASES`] and
//! [`OPTION_ALIASES`] hold words of neighbouring languages, with what to write instead.

use super::handler::Stage;
use super::model::{Class, DType, DevicePolicy};

/// The dtypes by name.
pub(crate) const DTYPES: [(&str, DType); 15] = [
    ("bool", DType::Bool),
    ("i8", DType::I8),
    ("i16", DType::I16),
    ("i32", DType::I32),
    ("i64", DType::I64),
    ("u8", DType::U8),
    ("u16", DType::U16),
    ("u32", DType::U32),
    ("u64", DType::U64),
    ("f16", DType::F16),
    ("bf16", DType::Bf16),
    ("f32", DType::F32),
    ("f64", DType::F64),
    ("c64", DType::C64),
    ("c128", DType::C128),
];

/// The classes of dtypes by name.
pub(crate) const CLASSES: [(&str, Class); 3] =
    [("any", Class::Any), ("float", Class::Float), ("int", Class::Int)];

/// Names that other systems use for our dtypes.
pub(crate) const DTYPE_ALIASES: [(&str, &str); 26] = [
    ("ui8", "u8"),
    ("ui16", "u16"),
    ("ui32", "u32"),
    ("ui64", "u64"),
    ("s8", "i8"),
    ("s16", "i16"),
    ("s32", "i32"),
    ("s64", "i64"),
    ("i1", "bool"),
    ("pred", "bool"),
    ("logical", "bool"),
    ("half", "f16"),
    ("float16", "f16"),
    ("bfloat16", "bf16"),
    ("single", "f32"),
    ("float32", "f32"),
    ("double", "f64"),
    ("float64", "f64"),
    ("numeric", "f64"),
    ("integer", "i32"),
    ("int32", "i32"),
    ("int64", "i64"),
    ("usize", "u64"),
    ("isize", "i64"),
    ("complex64", "c64"),
    ("complex128", "c128"),
];

/// The options of `#[dynamic(...)]`.
pub(crate) const DYNAMIC: [&str; 5] = ["dtype", "shape", "like", "donate", "write_back"];

/// The options of `#[static_arg(...)]`.
pub(crate) const STATIC_ARG: [&str; 1] = ["default"];

/// The options of `#[dispatch_family(...)]`.
pub(crate) const FAMILY: [&str; 7] =
    ["capacity", "eviction", "device", "default_device", "context", "r_export", "r_name"];

/// Options of other dispatchers, with what says the same here.
pub(crate) const OPTION_ALIASES: [(&str, &str); 6] = [
    ("move_inputs", "device = fixed"),
    ("static", "#[static_arg] on the argument"),
    ("static_args", "#[static_arg] on the argument"),
    ("static_argnames", "#[static_arg] on the argument"),
    ("donate", "#[dynamic(donate, ...)] on the argument"),
    ("donate_argnums", "#[dynamic(donate, ...)] on the argument"),
];

/// The options of `#[arg(...)]`.
pub(crate) const ARG: [&str; 3] = ["dtype", "shape", "like"];

/// The options of `#[ret(...)]`.
pub(crate) const RET: [&str; 4] = ["dtype", "shape", "like", "alias"];

/// Options that an argument or a result has elsewhere.
pub(crate) const PLACE_ALIASES: [(&str, &str); 4] = [
    ("rank", "shape = [_, _]"),
    ("optional", "Option<...>"),
    ("default", "#[attr(default = ...)]"),
    ("alias", "#[ret(alias = ...)] at the result"),
];

/// What a pattern of `ffi::check!` may say, besides a dtype and a shape.
pub(crate) const CHECK: [&str; 5] = ["dtype", "shape", "like", "rank", "dim"];

/// The options of `#[attr(...)]`.
pub(crate) const ATTR: [&str; 2] = ["default", "name"];

/// Options that an attribute has elsewhere.
pub(crate) const ATTR_OPTION_ALIASES: [(&str, &str); 2] =
    [("optional", "Option<...>"), ("rename", "name = \"...\"")];

/// The options of `#[ffi_handler(...)]`.
pub(crate) const HANDLER: [&str; 6] =
    ["target", "instantiate", "prepare", "initialize", "stage", "command_buffer"];

/// Options of other bindings, with what says the same here.
pub(crate) const HANDLER_ALIASES: [(&str, &str); 4] = [
    ("name", "target = \"...\""),
    ("call_target_name", "target = \"...\""),
    ("traits", "command_buffer"),
    ("command_buffer_compatible", "command_buffer"),
];

/// The values of the handler option `stage`.
pub(crate) const STAGES: [(&str, Stage); 3] =
    [("instantiate", Stage::Instantiate), ("prepare", Stage::Prepare), ("initialize", Stage::Initialize)];

/// The Rust types of elements, without the complex ones, which have arguments.
pub(crate) const ELEMENTS: [(&str, DType); 13] = [
    ("bool", DType::Bool),
    ("i8", DType::I8),
    ("i16", DType::I16),
    ("i32", DType::I32),
    ("i64", DType::I64),
    ("u8", DType::U8),
    ("u16", DType::U16),
    ("u32", DType::U32),
    ("u64", DType::U64),
    ("f16", DType::F16),
    ("bf16", DType::Bf16),
    ("f32", DType::F32),
    ("f64", DType::F64),
];

/// The elements of an array that is an attribute.
pub(crate) const ARRAY_ATTRIBUTES: [&str; 10] =
    ["i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f32", "f64"];

/// The integers that an enum may be in a call.
pub(crate) const INTEGERS: [&str; 8] = ["i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"];

/// Rust types that look like attributes, with what to write instead.
pub(crate) const ATTR_ALIASES: [(&str, &str); 8] = [
    ("String", "&str"),
    ("str", "&str"),
    ("usize", "u64"),
    ("isize", "i64"),
    ("i128", "i64"),
    ("u128", "u64"),
    ("char", "&str"),
    ("f16", "f32"),
];

/// What the context of a call gives.
pub(crate) const CONTEXT_TYPES: [&str; 7] =
    ["ThreadPool", "DeviceOrdinal", "RunId", "UserData", "State", "Stream", "Scratch"];

/// The values of the family option `device`.
pub(crate) const DEVICE_POLICIES: [(&str, DevicePolicy); 2] =
    [("first_input", DevicePolicy::FirstInput), ("fixed", DevicePolicy::Fixed)];

/// The toolkit's attributes on arguments and fields.
pub(crate) const ARGUMENT_ATTRIBUTES: [&str; 2] = ["dynamic", "static_arg"];

/// The toolkit's attributes on arguments of a handler.
pub(crate) const HANDLER_ATTRIBUTES: [&str; 5] = ["arg", "ret", "attr", "attrs", "ctx"];

/// The compiler's attributes that it allows on arguments, other than those that remove them.
pub(crate) const LINT_ATTRIBUTES: [&str; 5] = ["allow", "expect", "warn", "deny", "forbid"];

/// The compiler's attributes that would change the signature behind our back.
pub(crate) const CFG_ATTRIBUTES: [&str; 2] = ["cfg", "cfg_attr"];

/// What the body of a family may see of an array: its abstract value or its graph value.
pub(crate) const BODY_LEAVES: [&str; 2] = ["Aval", "Value"];

/// Generic types of the standard library that are taken for a nested input at first sight.
pub(crate) const WRAPPERS: [&str; 12] = [
    "Option",
    "Box",
    "Rc",
    "Arc",
    "Cow",
    "RefCell",
    "Mutex",
    "Result",
    "PhantomData",
    "VecDeque",
    "HashSet",
    "BTreeSet",
];

/// Types of our prelude and of Rust's that declarations name, and that a family's own type would hide.
pub(crate) const PRELUDE_TYPES: [&str; 15] = [
    "Aval",
    "Array",
    "Value",
    "Program",
    "Result",
    "Error",
    "CompileCx",
    "Client",
    "Device",
    "DType",
    "Lru",
    "Vec",
    "String",
    "Option",
    "Box",
];

/// Words that R's parser keeps for itself.
pub(crate) const R_RESERVED: [&str; 19] = [
    "if",
    "else",
    "repeat",
    "while",
    "function",
    "for",
    "next",
    "break",
    "TRUE",
    "FALSE",
    "NULL",
    "Inf",
    "NaN",
    "NA",
    "NA_integer_",
    "NA_real_",
    "NA_complex_",
    "NA_character_",
    "in",
];

/// Names that generated functions of R would take from the code around them.
pub(crate) const R_GENERATED: [&str; 12] = [
    "attach_families",
    "detach_families",
    "rs_attach_families",
    "rs_detach_families",
    "rs_family",
    "structure",
    ".Call",
    ".onLoad",
    ".onUnload",
    ".onAttach",
    ".onDetach",
    ".packageName",
];

/// Words that Rust keeps for itself, in any edition that this crate reads.
pub(crate) const RUST_KEYWORDS: [&str; 52] = [
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "crate", "do", "dyn",
    "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let", "loop",
    "macro", "match", "mod", "move", "mut", "override", "priv", "pub", "ref", "return", "self", "Self",
    "static", "struct", "super", "trait", "true", "try", "type", "typeof", "unsafe", "unsized", "use",
    "virtual", "where", "while", "yield",
];

/// The value of a word in a table.
pub(crate) fn lookup<T: Copy>(table: &[(&str, T)], word: &str) -> Option<T> {
    table.iter().find(|(name, _)| *name == word).map(|(_, value)| *value)
}

/// The words of a table with values.
pub(crate) fn names<T>(table: &[(&'static str, T)]) -> Vec<&'static str> {
    table.iter().map(|(name, _)| *name).collect()
}

/// `` `a`, `b` or `c` ``, to list a table in a hint.
pub(crate) fn list(words: &[&str], conjunction: &str) -> String {
    match words {
        [] => String::new(),
        [only] => format!("`{only}`"),
        [first @ .., last] => {
            let first: Vec<String> = first.iter().map(|word| format!("`{word}`")).collect();
            format!("{} {conjunction} `{last}`", first.join(", "))
        }
    }
}

/// The word of a table that was probably meant: equal but for case, or few edits away.
pub(crate) fn nearest<'a>(got: &str, words: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let got = got.to_lowercase();
    let allowed = (got.chars().count() / 3).max(1);
    words
        .into_iter()
        .map(|word| (strsim::osa_distance(&got, &word.to_lowercase()), word))
        .filter(|(distance, _)| *distance <= allowed)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, word)| word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_word_is_few_edits_away() {
        let dtypes = names(&DTYPES);
        for (got, want) in [
            ("f33", Some("f32")),
            ("F64", Some("f64")),
            ("boool", Some("bool")),
            ("c182", Some("c128")),
            ("banana", None),
            ("x", None),
        ] {
            assert_eq!(nearest(got, dtypes.iter().copied()), want, "{got}");
        }
        assert_eq!(nearest("capasity", FAMILY), Some("capacity"));
        assert_eq!(nearest("donte", DYNAMIC), Some("donate"));
        assert_eq!(nearest("hsape", DYNAMIC), Some("shape"));
    }

    #[test]
    fn an_alias_leads_to_a_dtype_and_hides_none() {
        for (alias, dtype) in DTYPE_ALIASES {
            assert!(lookup(&DTYPES, dtype).is_some(), "{alias} leads to no dtype");
            assert!(lookup(&DTYPES, alias).is_none() && lookup(&CLASSES, alias).is_none(), "{alias}");
        }
    }

    #[test]
    fn lists_read_as_english() {
        assert_eq!(list(&["a"], "or"), "`a`");
        assert_eq!(list(&["a", "b", "c"], "or"), "`a`, `b` or `c`");
    }
}
