//! The types of static arguments that have values in R.

use syn::{Expr, Path, Type};

use crate::syntax::messages::{self, Message};
use crate::syntax::text::text;
use crate::syntax::types::{only_argument, unwrapped};

/// What a static argument takes from R.
#[derive(Clone, Debug)]
pub enum RType {
    /// `bool`: TRUE or FALSE.
    Logical,
    /// An integer type: a whole number, integer or double.
    Integer {
        /// The name of the type.
        name: &'static str,
        /// The least value.
        least: i128,
        /// The greatest value.
        most: i128,
    },
    /// `f32` or `f64`, by name: a number.
    Double(&'static str),
    /// `String`: a string.
    String,
    /// A type of the author's own by its path as written; an enum, whose values are strings.
    Named(Path),
    /// `Vec<T>`, or `[T; N]` with its length: a vector.
    Vector(Box<RType>, Option<Expr>),
    /// `Option<T>`: NULL or a value.
    Optional(Box<RType>),
}

const INTEGERS: [(&str, i128, i128); 10] = [
    ("i8", i8::MIN as i128, i8::MAX as i128),
    ("i16", i16::MIN as i128, i16::MAX as i128),
    ("i32", i32::MIN as i128, i32::MAX as i128),
    ("i64", i64::MIN as i128, i64::MAX as i128),
    ("isize", i64::MIN as i128, i64::MAX as i128),
    ("u8", 0, u8::MAX as i128),
    ("u16", 0, u16::MAX as i128),
    ("u32", 0, u32::MAX as i128),
    ("u64", 0, u64::MAX as i128),
    ("usize", 0, u64::MAX as i128),
];

const MAPS: [&str; 5] = ["HashMap", "BTreeMap", "HashSet", "BTreeSet", "IndexMap"];

impl RType {
    /// The author's own type in it, as the path that is written.
    pub fn named(&self) -> Option<&Path> {
        match self {
            RType::Named(path) => Some(path),
            RType::Vector(inner, _) | RType::Optional(inner) => inner.named(),
            _ => None,
        }
    }

    /// What a default of this type may look like, for a hint.
    pub(super) fn example(&self) -> String {
        match self {
            RType::Logical => "`true` or `false`".to_owned(),
            RType::Integer { .. } => "a number as `25`".to_owned(),
            RType::Double(_) => "a number as `0.5`, or one of `f64::INFINITY`, `NAN`, `EPSILON`".to_owned(),
            RType::String => "`\"text\".into()`, or `String::new()`".to_owned(),
            RType::Named(path) => format!("a variant as `{}::First`", text(path)),
            RType::Vector(..) => "`vec![1, 2]` of literals, or `Vec::new()`".to_owned(),
            RType::Optional(inner) => format!("`None`, or `Some(...)` of {}", inner.example()),
        }
    }
}

/// Reads the type of a static argument.
///
/// `(i64, i64)`, `&'static str`, `HashMap<K, V>`, `i128`, `char`, `fn()` and `Vec<Vec<i64>>` are wrong in an exported
/// family.
pub(super) fn read(ty: &Type) -> syn::Result<RType> {
    let whole = ty;
    let wrong = |part: &Type, message: Message| Err(syn::Error::new_spanned(part, message));
    match unwrapped(ty) {
        Type::Path(path) if path.qself.is_none() => {
            let Some(last) = path.path.segments.last() else {
                return wrong(whole, messages::r_type(text(whole)));
            };
            let name = last.ident.to_string();
            if last.arguments.is_none() {
                return plain(ty, &path.path, &name);
            }
            match (name.as_str(), only_argument(last)) {
                ("Option", Some(inner)) => match read(inner)? {
                    RType::Optional(_) => wrong(whole, messages::r_nested(text(whole), "optional values")),
                    inner => Ok(RType::Optional(Box::new(inner))),
                },
                ("Vec", Some(inner)) => element(whole, inner, None),
                (map, _) if MAPS.contains(&map) => wrong(whole, messages::r_map(text(whole))),
                _ => wrong(whole, messages::r_generic(text(whole))),
            }
        }
        Type::Array(array) => element(whole, &array.elem, Some(array.len.clone())),
        Type::Tuple(_) => wrong(whole, messages::r_tuple(text(whole))),
        Type::Reference(_) => wrong(whole, messages::r_reference(text(whole))),
        _ => wrong(whole, messages::r_type(text(whole))),
    }
}

fn element(whole: &Type, inner: &Type, length: Option<Expr>) -> syn::Result<RType> {
    match read(inner)? {
        RType::Vector(..) | RType::Optional(_) => {
            Err(syn::Error::new_spanned(whole, messages::r_nested(text(whole), "vectors")))
        }
        inner => Ok(RType::Vector(Box::new(inner), length)),
    }
}

fn plain(ty: &Type, path: &Path, name: &str) -> syn::Result<RType> {
    if let Some((name, least, most)) = INTEGERS.iter().find(|(integer, ..)| *integer == name) {
        return Ok(RType::Integer { name, least: *least, most: *most });
    }
    match name {
        "bool" => Ok(RType::Logical),
        "f32" => Ok(RType::Double("f32")),
        "f64" => Ok(RType::Double("f64")),
        "String" => Ok(RType::String),
        "i128" | "u128" => Err(syn::Error::new_spanned(ty, messages::r_wide(name))),
        "char" => Err(syn::Error::new_spanned(ty, messages::r_char())),
        _ => Ok(RType::Named(path.clone())),
    }
}
