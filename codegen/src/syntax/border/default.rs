//! Defaults of static arguments that R can write: from a Rust expression to a value of R.

use quote::ToTokens;
use syn::parse::Parser;
use syn::punctuated::Punctuated;
use syn::{Expr, ExprLit, ExprMacro, ExprMethodCall, ExprPath, ExprUnary, Lit, Token, UnOp};

use super::types::RType;
use super::value::{RKind, RValue};
use crate::syntax::messages::{self, Message};
use crate::syntax::text::text;

/// The longest vector that is written out.
const LONGEST: usize = 1000;

/// Reads a default of a static argument of this type.
///
/// `default = steps()`, `default = STEPS`, `default = { 3 }`, `default = 300` for a `u8` and `default = 1` for an `f64`
/// are wrong in an exported family.
pub(super) fn read(written: &Expr, ty: &RType) -> syn::Result<RValue> {
    let expr = bare(written);
    match ty {
        RType::Optional(inner) => match expr {
            Expr::Path(path) if ends_in(path, "None") => Ok(RValue::Null),
            Expr::Call(call) if is_function(&call.func, &["Some"]) && call.args.len() == 1 => {
                read(&call.args[0], inner)
            }
            _ => Err(no_literal(expr, ty)),
        },
        RType::Vector(inner, length) => vector(expr, ty, inner, length.as_ref()),
        RType::Logical => match expr {
            Expr::Lit(ExprLit { lit: Lit::Bool(value), .. }) => Ok(RValue::Logical(value.value)),
            Expr::Unary(ExprUnary { op: UnOp::Not(_), expr: inner, .. }) => match bare(inner) {
                Expr::Lit(ExprLit { lit: Lit::Bool(value), .. }) => Ok(RValue::Logical(!value.value)),
                _ => Err(no_literal(expr, ty)),
            },
            _ => Err(no_literal(expr, ty)),
        },
        RType::Integer { name, least, most } => integer(expr, ty, name, *least, *most),
        RType::Double(name) => Ok(RValue::Double(double(expr, ty, name)?)),
        RType::String => string(expr, ty),
        RType::Named(_) => match expr {
            Expr::Path(path) if path.qself.is_none() => {
                let last = path.path.segments.last().expect("a path has a segment");
                Ok(RValue::Variant(last.ident.clone()))
            }
            _ => Err(no_literal(expr, ty)),
        },
    }
}

/// The error of an expression that stands for no value of the type: a literal of another type is one of the type, any
/// other expression is one of the form.
fn no_literal(expr: &Expr, ty: &RType) -> syn::Error {
    let inner = match expr {
        Expr::Unary(ExprUnary { op: UnOp::Neg(_), expr, .. }) => bare(expr),
        other => other,
    };
    let example = ty.example();
    match inner {
        Expr::Lit(_) | Expr::Tuple(_) => error(expr, messages::r_default_type(text(expr), example)),
        _ => error(expr, messages::r_default_form(text(expr), example)),
    }
}

fn error(tokens: impl ToTokens, message: Message) -> syn::Error {
    syn::Error::new_spanned(tokens, message)
}

fn integer(expr: &Expr, ty: &RType, name: &str, least: i128, most: i128) -> syn::Result<RValue> {
    let (negative, inner) = signed(expr);
    let value = match inner {
        Expr::Lit(ExprLit { lit: Lit::Int(literal), .. }) => {
            if !matches!(literal.suffix(), "") && literal.suffix() != name {
                return Err(no_literal(expr, ty));
            }
            // More digits than that are out of every range.
            literal.base10_parse::<i128>().unwrap_or(i128::MAX)
        }
        Expr::Lit(ExprLit { lit: Lit::Byte(literal), .. }) if name == "u8" => i128::from(literal.value()),
        Expr::Path(path) if is_constant(path, name, "MAX") => most,
        Expr::Path(path) if is_constant(path, name, "MIN") => least,
        _ => return Err(no_literal(expr, ty)),
    };
    let value = if negative { -value } else { value };
    if !(least..=most).contains(&value) {
        return Err(error(expr, messages::r_default_range(text(expr), name, least, most)));
    }
    match i64::try_from(value) {
        Ok(value) if value.unsigned_abs() < 1 << 53 => Ok(RValue::Integer(value)),
        _ => Err(error(expr, messages::r_default_wide(text(expr)))),
    }
}

fn double(expr: &Expr, ty: &RType, name: &str) -> syn::Result<f64> {
    let (negative, inner) = signed(expr);
    let suffix_fits = |suffix: &str| suffix.is_empty() || suffix == name;
    let digits = match inner {
        Expr::Lit(ExprLit { lit: Lit::Float(literal), .. }) if suffix_fits(literal.suffix()) => {
            literal.base10_digits().to_owned()
        }
        Expr::Lit(ExprLit { lit: Lit::Int(literal), .. }) if literal.suffix() == name => {
            literal.base10_digits().to_owned()
        }
        Expr::Path(path) => {
            let value = constant(path, name).ok_or_else(|| no_literal(expr, ty))?;
            return Ok(if negative { -value } else { value });
        }
        _ => return Err(no_literal(expr, ty)),
    };
    let wide: f64 = digits.parse().map_err(|_| no_literal(expr, ty))?;
    let narrow: f32 = digits.parse().map_err(|_| no_literal(expr, ty))?;
    // R's double is rounded to the argument's type; the digits are, if that gives what Rust reads.
    let value = if name == "f32" && wide as f32 != narrow { f64::from(narrow) } else { wide };
    let fits = if name == "f32" { narrow.is_finite() } else { wide.is_finite() };
    if !fits {
        let most = if name == "f32" { f64::from(f32::MAX) } else { f64::MAX };
        return Err(error(
            expr,
            messages::r_default_range(text(expr), name, format!("{:e}", -most), format!("{most:e}")),
        ));
    }
    Ok(if negative { -value } else { value })
}

/// A constant of the standard library of this float type.
fn constant(path: &ExprPath, name: &str) -> Option<f64> {
    let narrow = name == "f32";
    let pick = |wide: f64, small: f32| if narrow { f64::from(small) } else { wide };
    let known = [
        ("INFINITY", f64::INFINITY),
        ("NEG_INFINITY", f64::NEG_INFINITY),
        ("NAN", f64::NAN),
        ("EPSILON", pick(f64::EPSILON, f32::EPSILON)),
        ("MAX", pick(f64::MAX, f32::MAX)),
        ("MIN", pick(f64::MIN, f32::MIN)),
        ("MIN_POSITIVE", pick(f64::MIN_POSITIVE, f32::MIN_POSITIVE)),
    ];
    let mathematical = [
        ("PI", pick(std::f64::consts::PI, std::f32::consts::PI)),
        ("E", pick(std::f64::consts::E, std::f32::consts::E)),
        ("TAU", pick(std::f64::consts::TAU, std::f32::consts::TAU)),
        ("SQRT_2", pick(std::f64::consts::SQRT_2, std::f32::consts::SQRT_2)),
        ("LN_2", pick(std::f64::consts::LN_2, std::f32::consts::LN_2)),
        ("LN_10", pick(std::f64::consts::LN_10, std::f32::consts::LN_10)),
    ];
    let find = |table: &[(&str, f64)], test: &dyn Fn(&str) -> bool| {
        table.iter().find(|(constant, _)| test(constant)).map(|(_, value)| *value)
    };
    find(&known, &|constant| is_constant(path, name, constant))
        .or_else(|| find(&mathematical, &|constant| ends_in_all(path, &[name, "consts", constant])))
}

/// `i32::MAX`, `std::i32::MAX`
fn is_constant(path: &ExprPath, ty: &str, constant: &str) -> bool {
    ends_in_all(path, &[ty, constant])
}

fn ends_in_all(path: &ExprPath, names: &[&str]) -> bool {
    let segments: Vec<String> = path.path.segments.iter().map(|segment| segment.ident.to_string()).collect();
    path.qself.is_none()
        && segments.len() >= names.len()
        && segments[segments.len() - names.len()..] == *names
}

fn ends_in(path: &ExprPath, name: &str) -> bool {
    ends_in_all(path, &[name])
}

fn is_function(function: &Expr, names: &[&str]) -> bool {
    matches!(bare(function), Expr::Path(path) if ends_in_all(path, names))
}

/// `"text".into()`, `String::from("text")`, `String::new()`; a bare `"text"` is no `String`.
fn string(expr: &Expr, ty: &RType) -> syn::Result<RValue> {
    let literal = match expr {
        Expr::MethodCall(ExprMethodCall { receiver, method, args, .. })
            if args.is_empty() && ["into", "to_string", "to_owned"].iter().any(|name| method == name) =>
        {
            bare(receiver)
        }
        Expr::Call(call) if is_function(&call.func, &["String", "from"]) && call.args.len() == 1 => {
            bare(&call.args[0])
        }
        Expr::Call(call) if is_function(&call.func, &["String", "new"]) && call.args.is_empty() => {
            return Ok(RValue::String(String::new()));
        }
        _ => return Err(no_literal(expr, ty)),
    };
    match literal {
        Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) if text.value().contains('\0') => {
            Err(error(text, messages::r_default_nul()))
        }
        Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Ok(RValue::String(text.value())),
        _ => Err(no_literal(expr, ty)),
    }
}

fn vector(expr: &Expr, ty: &RType, inner: &RType, length: Option<&Expr>) -> syn::Result<RValue> {
    let elements = if length.is_some() { array(expr) } else { list(expr) };
    let elements = elements.ok_or_else(|| no_literal(expr, ty))?;
    let values = match elements {
        Elements::All(elements) => {
            elements.iter().map(|element| read(element, inner)).collect::<syn::Result<Vec<_>>>()?
        }
        Elements::Repeated(element, count) if count <= LONGEST => vec![read(&element, inner)?; count],
        Elements::Repeated(..) => return Err(no_literal(expr, ty)),
    };
    if values.len() > LONGEST {
        return Err(no_literal(expr, ty));
    }
    if let Some(length) = length.and_then(whole).filter(|length| *length != values.len()) {
        return Err(error(expr, messages::r_default_length(length, values.len())));
    }
    let kind = match inner {
        RType::Logical => RKind::Logical,
        RType::Integer { .. } => RKind::Integer,
        RType::Double(_) => RKind::Double,
        _ => RKind::String,
    };
    Ok(RValue::vector(kind, values))
}

enum Elements {
    All(Vec<Expr>),
    Repeated(Box<Expr>, usize),
}

/// `[1, 2]` and `[0; 3]`
fn array(expr: &Expr) -> Option<Elements> {
    match expr {
        Expr::Array(array) => Some(Elements::All(array.elems.iter().cloned().collect())),
        Expr::Repeat(repeat) => Some(Elements::Repeated(repeat.expr.clone(), whole(&repeat.len)?)),
        _ => None,
    }
}

/// `vec![1, 2]`, `vec![0; 3]`, `Vec::new()`, `Vec::from([1, 2])`, `[1, 2].to_vec()` and `[1, 2].into()`
fn list(expr: &Expr) -> Option<Elements> {
    match expr {
        Expr::Macro(ExprMacro { mac, .. }) if mac.path.segments.last()?.ident == "vec" => {
            if let Ok(elements) = Punctuated::<Expr, Token![,]>::parse_terminated.parse2(mac.tokens.clone()) {
                return Some(Elements::All(elements.into_iter().collect()));
            }
            let repeated = |input: syn::parse::ParseStream<'_>| {
                let element: Expr = input.parse()?;
                input.parse::<Token![;]>()?;
                Ok((element, input.parse::<Expr>()?))
            };
            let (element, count) = repeated.parse2(mac.tokens.clone()).ok()?;
            Some(Elements::Repeated(Box::new(element), whole(&count)?))
        }
        Expr::Call(call) if is_function(&call.func, &["Vec", "new"]) && call.args.is_empty() => {
            Some(Elements::All(Vec::new()))
        }
        Expr::Call(call) if is_function(&call.func, &["Vec", "from"]) && call.args.len() == 1 => {
            array(bare(&call.args[0]))
        }
        Expr::MethodCall(call)
            if call.args.is_empty() && ["to_vec", "into"].iter().any(|name| call.method == name) =>
        {
            array(bare(&call.receiver))
        }
        _ => None,
    }
}

/// The value of an integer literal.
fn whole(expr: &Expr) -> Option<usize> {
    match bare(expr) {
        Expr::Lit(ExprLit { lit: Lit::Int(literal), .. }) => literal.base10_parse().ok(),
        _ => None,
    }
}

/// Takes one minus sign off.
fn signed(expr: &Expr) -> (bool, &Expr) {
    match expr {
        Expr::Unary(ExprUnary { op: UnOp::Neg(_), expr, .. }) => (true, bare(expr)),
        other => (false, other),
    }
}

/// An expression without the parentheses and the invisible groups around it.
fn bare(mut expr: &Expr) -> &Expr {
    loop {
        expr = match expr {
            Expr::Group(group) => &group.expr,
            Expr::Paren(paren) => &paren.expr,
            _ => return expr,
        };
    }
}
