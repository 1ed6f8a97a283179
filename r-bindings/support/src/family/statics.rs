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
    let mut read = None;
    with_value(x, &mut |value| read = Some(made(value, name)))?;
    read.expect("a value was shown")
}

/// Shows what a value is, as a static value. Compiled once, not with every type.
fn with_value(x: SEXP, show: &mut dyn FnMut(StaticValue<'_>)) -> Result<()> {
    let mut items: SmallVec<[StaticItem<'_>; 4]> = SmallVec::new();
    // SAFETY: the elements are of the type that R says, and R keeps them while it waits for the call.
    let kind = unsafe {
        let is_object = Rf_isObject(x) != 0;
        if ATTRIB(x) != nil() && Rf_xlength(Rf_getAttrib(x, R_DimSymbol)) > 1 {
            show(StaticValue::Other("an array with dimensions"));
            return Ok(());
        }
        match TYPEOF(x) {
            NILSXP => {
                show(StaticValue::Null);
                return Ok(());
            }
            REALSXP if is_object && describe::has_class(x, "integer64") => {
                let item =
                    |&x: &i64| if x == i64::MIN { StaticItem::Missing } else { StaticItem::Integer(x) };
                items.extend(elements::<i64>(x)?.iter().map(item));
                ItemKind::Number
            }
            // A dtype is a string with a class.
            STRSXP if !is_object || describe::has_class(x, "DataType") => {
                for &string in elements::<SEXP>(x)? {
                    items.push(match string::utf8(string)? {
                        _ if string == R_NaString => StaticItem::Missing,
                        Some(text) => StaticItem::Text(text),
                        None => {
                            show(StaticValue::Other(string::no_text(string)));
                            return Ok(());
                        }
                    });
                }
                ItemKind::Text
            }
            LGLSXP if !is_object => {
                items.extend(elements::<i32>(x)?.iter().map(|&x| logical(x)));
                ItemKind::Logical
            }
            INTSXP if !is_object => {
                items.extend(elements::<i32>(x)?.iter().map(|&x| integer(x)));
                ItemKind::Number
            }
            REALSXP if !is_object => {
                items.extend(elements::<f64>(x)?.iter().map(|&x| double(x)));
                ItemKind::Number
            }
            _ => {
                show(StaticValue::Other(&describe::value(x)));
                return Ok(());
            }
        }
    };
    show(if items.is_empty() { StaticValue::Empty(kind) } else { StaticValue::Vector(&items) });
    Ok(())
}
