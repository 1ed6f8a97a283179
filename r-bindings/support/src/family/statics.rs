//! Static values of R.

use dispatch_runtime::border::{ItemKind, StaticItem, StaticValue};
use dispatch_runtime::key::StaticKey;
use smallvec::SmallVec;

use crate::data::elements;
use crate::describe;
use crate::fault::{Fault, Result};
use crate::ffi::*;
use crate::string;

/// The static value that an argument is.
#[inline]
pub(super) fn read<T: StaticKey>(x: SEXP, name: &str) -> Result<T> {
    // One number, the usual case.
    // SAFETY: the vectors have one element each, and are not in a compact form.
    let one = unsafe {
        match TYPEOF(x) {
            _ if ALTREP(x) != 0 || Rf_isObject(x) != 0 => None,
            REALSXP if Rf_xlength(x) == 1 => Some(double(*REAL_RO(x))),
            INTSXP if Rf_xlength(x) == 1 => Some(integer(*INTEGER_RO(x))),
            LGLSXP if Rf_xlength(x) == 1 => Some(logical(*LOGICAL_RO(x))),
            _ => None,
        }
    };
    match one {
        Some(item) => made(StaticValue::Vector(&[item]), name),
        None => read_any(x, name),
    }
}

#[inline]
fn made<T: StaticKey>(value: StaticValue<'_>, name: &str) -> Result<T> {
    T::from_value(value).map_err(|wrong| Fault::argument("value", name, wrong.expected, wrong.got))
}

fn vector<T: StaticKey>(items: &[StaticItem<'_>], kind: ItemKind, name: &str) -> Result<T> {
    made(if items.is_empty() { StaticValue::Empty(kind) } else { StaticValue::Vector(items) }, name)
}

fn double(x: f64) -> StaticItem<'static> {
    if x.is_nan() && R_IsNA(x) != 0 { StaticItem::Missing } else { StaticItem::Double(x) }
}

fn integer(x: i32) -> StaticItem<'static> {
    if x == NA_INTEGER { StaticItem::Missing } else { StaticItem::Integer(x.into()) }
}

fn logical(x: i32) -> StaticItem<'static> {
    if x == NA_INTEGER { StaticItem::Missing } else { StaticItem::Logical(x != 0) }
}

#[inline(never)]
fn read_any<T: StaticKey>(x: SEXP, name: &str) -> Result<T> {
    let mut items: SmallVec<[StaticItem<'_>; 4]> = SmallVec::new();
    // SAFETY: the elements are of the type that R says, and R keeps them while it waits for the call.
    unsafe {
        let is_object = Rf_isObject(x) != 0;
        let is_matrix = ATTRIB(x) != nil() && Rf_xlength(Rf_getAttrib(x, R_DimSymbol)) > 1;
        match TYPEOF(x) {
            NILSXP => return made(StaticValue::Null, name),
            _ if is_matrix => {}
            REALSXP if is_object && describe::has_class(x, "integer64") => {
                let item =
                    |&x: &i64| if x == i64::MIN { StaticItem::Missing } else { StaticItem::Integer(x) };
                items.extend(elements::<i64>(x)?.iter().map(item));
                return vector(&items, ItemKind::Number, name);
            }
            // A dtype is a string with a class.
            STRSXP if !is_object || describe::has_class(x, "DataType") => {
                for &string in elements::<SEXP>(x)? {
                    items.push(match string::utf8(string)? {
                        _ if string == R_NaString => StaticItem::Missing,
                        Some(text) => StaticItem::Text(text),
                        None => return made(StaticValue::Other(string::no_text(string)), name),
                    });
                }
                return vector(&items, ItemKind::Text, name);
            }
            _ if is_object => {}
            LGLSXP => {
                items.extend(elements::<i32>(x)?.iter().map(|&x| logical(x)));
                return vector(&items, ItemKind::Logical, name);
            }
            INTSXP => {
                items.extend(elements::<i32>(x)?.iter().map(|&x| integer(x)));
                return vector(&items, ItemKind::Number, name);
            }
            REALSXP => {
                items.extend(elements::<f64>(x)?.iter().map(|&x| double(x)));
                return vector(&items, ItemKind::Number, name);
            }
            _ => {}
        }
        let words = if is_matrix { "an array with dimensions".to_owned() } else { describe::value(x) };
        made(StaticValue::Other(&words), name)
    }
}
