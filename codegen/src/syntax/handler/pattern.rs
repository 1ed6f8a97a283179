//! `ffi::check!(x: [f32, f64] [rows, 128]; y: like(x));`: patterns of buffers, in a body.

use proc_macro2::{Span, TokenStream, TokenTree};
use syn::ext::IdentExt;
use syn::parse::{ParseStream, Parser};
use syn::{Expr, Ident, LitInt, Token, bracketed, parenthesized, token};

use super::super::errors::{Errors, Found};
use super::super::model::{CaptureKind, DType};
use super::super::option_list::{end_of_item, equals, skip_item};
use super::super::raw::{Given, RawDType, RawDim, RawLeading, RawShape};
use super::super::shape::Sizes;
use super::super::text::text;
use super::super::{dtype, reference, shape, words};
use super::messages;
use super::model::{Check, CheckDType, CheckDim, CheckLead, CheckShape, CheckedBuffer};

/// Reads the patterns of a `check!`.
///
/// # Errors
///
/// All mistakes, with the names that the patterns would bind.
pub fn check(tokens: TokenStream) -> Result<Check, (Found, Vec<(Ident, CaptureKind)>)> {
    let mut errors = Errors::new();
    let mut names = Names::default();
    let mut buffers = Vec::new();
    let parse = |input: ParseStream<'_>| {
        if input.is_empty() {
            errors.at(Span::call_site(), messages::check_empty());
        }
        while !input.is_empty() {
            match buffer(&mut errors, input, &mut names) {
                Ok(buffer) => buffers.push(buffer),
                Err(error) => errors.push(error),
            }
            while !input.is_empty() && !input.peek(Token![;]) {
                input.parse::<TokenTree>()?;
            }
            input.parse::<Option<Token![;]>>()?;
        }
        Ok(())
    };
    let parsed = parse.parse2(tokens);
    errors.keep(parsed);
    for name in &names.0 {
        // `check!(x: [x, n])` is wrong: the size would hide the buffer.
        if buffers.iter().any(|buffer: &CheckedBuffer| buffer.name == name.0) {
            errors.on(&name.0, messages::name_is_argument(&name.0));
        }
    }
    let captures = names.0;
    errors.finish(Some(Check { buffers, captures: captures.clone() })).map_err(|found| (found, captures))
}

/// The captured names, in the order in which they first occur.
#[derive(Default)]
struct Names(Vec<(Ident, CaptureKind)>);

impl Names {
    /// The index of a name. A name is one size or leading sizes, everywhere.
    fn index(&mut self, errors: &mut Errors, name: Ident, kind: CaptureKind) -> usize {
        let Some(index) = self.0.iter().position(|(known, _)| *known == name) else {
            self.0.push((name, kind));
            return self.0.len() - 1;
        };
        if self.0[index].1 != kind {
            let (first, now) = (self.0[index].1.described(), kind.described());
            errors.on(&name, messages::name_of_two_kinds(&name, first, now));
        }
        index
    }
}

/// One buffer and its pattern: `check!(f32 [n])` and `check!(x.y: f32)` are wrong.
fn buffer(errors: &mut Errors, input: ParseStream<'_>, names: &mut Names) -> syn::Result<CheckedBuffer> {
    let start: TokenTree = input.fork().parse()?;
    let name = if input.peek(Ident) { input.parse::<Ident>()? } else { return Err(not_named(&start)) };
    if input.peek(Token![::]) || input.parse::<Option<Token![:]>>()?.is_none() {
        return Err(not_named(&start));
    }
    let mut buffer = CheckedBuffer { name, dtype: None, shape: None, ranks: Vec::new(), dims: Vec::new() };
    let mut said: Vec<String> = Vec::new();
    let mut first = true;
    while !input.is_empty() && !input.peek(Token![;]) {
        let read = item(errors, input, names, &mut buffer, &mut said, first);
        let read = read.and_then(|()| end_of_pattern(input));
        if errors.keep(read).is_none() {
            skip_to_end(input);
        }
        input.parse::<Option<Token![,]>>()?;
        first = false;
    }
    if first {
        // `check!(x:)` is wrong: nothing is said.
        errors.on(&buffer.name, messages::check_pattern_empty(&buffer.name));
    }
    Ok(buffer)
}

fn not_named(token: &TokenTree) -> syn::Error {
    syn::Error::new_spanned(token, messages::check_name(text(token)))
}

fn end_of_pattern(input: ParseStream<'_>) -> syn::Result<()> {
    if input.peek(Token![;]) {
        Ok(())
    } else {
        end_of_item(input, "separate what is said of a buffer with commas")
    }
}

fn skip_to_end(input: ParseStream<'_>) {
    while !input.is_empty() && !input.peek(Token![,]) && !input.peek(Token![;]) {
        if input.parse::<TokenTree>().is_err() {
            return;
        }
    }
}

/// What stands between two commas: `f32 [n, m]`, `like(x)`, `rank = [1, 2]`, `dim(0) = 128`.
fn item(
    errors: &mut Errors,
    input: ParseStream<'_>,
    names: &mut Names,
    buffer: &mut CheckedBuffer,
    said: &mut Vec<String>,
    first: bool,
) -> syn::Result<()> {
    if input.peek(Ident::peek_any) {
        let word = input.fork().call(Ident::parse_any)?;
        let known = words::CHECK.iter().any(|known| word == known);
        let next = input.fork();
        next.call(Ident::parse_any)?;
        let is_clause =
            next.peek(Token![=]) || (next.peek(token::Paren) && word != "dtype" && word != "shape");
        if is_clause || (!first && !known) {
            input.call(Ident::parse_any)?;
            return clause(errors, &word, input, names, buffer, said);
        }
    }
    // `f32 [n]`, `[f32, f64] [n]`, `[n]`, `dtype(x) shape(y)`.
    if input.peek(token::Bracket) && !two_brackets(input) && !lists_dtypes(input) {
        return shape_of(errors, input, names, buffer, said);
    }
    let mut dtype_said = false;
    if !starts_shape(input) {
        once(input, "dtype", said)?;
        buffer.dtype = dtype_of(errors, input)?;
        dtype_said = true;
    }
    if input.peek(token::Bracket) || starts_shape(input) {
        return shape_of(errors, input, names, buffer, said);
    }
    debug_assert!(dtype_said);
    Ok(())
}

/// Whether `shape(...)` follows.
fn starts_shape(input: ParseStream<'_>) -> bool {
    let next = input.fork();
    next.call(Ident::parse_any).is_ok_and(|word| word == "shape") && next.peek(token::Paren)
}

/// Whether a list in brackets is a choice of dtypes before a shape.
fn two_brackets(input: ParseStream<'_>) -> bool {
    let next = input.fork();
    next.parse::<TokenTree>().is_ok() && (next.peek(token::Bracket) || starts_shape(&next))
}

/// Whether a list in brackets has dtypes only, and at least one: the names of dtypes are no names of sizes.
fn lists_dtypes(input: ParseStream<'_>) -> bool {
    let inside = |input: ParseStream<'_>| {
        let list;
        bracketed!(list in input);
        let words = list.call(|list| list.parse_terminated(Ident::parse_any, Token![,]))?;
        let dtype = |word: &Ident| words::lookup(&words::DTYPES, &word.to_string()).is_some();
        Ok::<bool, syn::Error>(!words.is_empty() && words.iter().all(dtype))
    };
    inside(&input.fork()).unwrap_or(false)
}

/// Each thing is said once: `check!(x: f32, dtype = f64)` is wrong.
fn once(input: ParseStream<'_>, what: &str, said: &mut Vec<String>) -> syn::Result<()> {
    if said.iter().any(|known| known == what) {
        let token: TokenTree = input.fork().parse()?;
        return Err(syn::Error::new_spanned(token, messages::duplicate_option(what)));
    }
    said.push(what.to_owned());
    Ok(())
}

fn clause(
    errors: &mut Errors,
    word: &Ident,
    input: ParseStream<'_>,
    names: &mut Names,
    buffer: &mut CheckedBuffer,
    said: &mut Vec<String>,
) -> syn::Result<()> {
    match word.to_string().as_str() {
        "dtype" => {
            equals(word, input, "dtype = f32")?;
            once(input, "dtype", said)?;
            buffer.dtype = dtype_of(errors, input)?;
        }
        "shape" => {
            equals(word, input, "shape = [m]")?;
            return shape_of(errors, input, names, buffer, said);
        }
        "like" if input.peek(token::Paren) => {
            once(input, "dtype", said)?;
            once(input, "shape", said)?;
            let other = other(word, input, &buffer.name)?;
            buffer.dtype = Some(CheckDType::Same(other.clone()));
            buffer.shape = Some(CheckShape::Same(other));
        }
        "like" => return Err(syn::Error::new_spanned(word, messages::like_value())),
        "rank" => {
            equals(word, input, "rank = [1, 2]")?;
            once(input, "rank", said)?;
            buffer.ranks = ranks(errors, input)?;
        }
        "dim" => buffer.dims.push(dim(errors, word, input, names)?),
        _ => {
            let help = match words::nearest(&word.to_string(), words::CHECK) {
                Some(nearest) => format!("did you mean `{nearest}`?"),
                None => format!("a pattern has {}", words::list(&words::CHECK, "and")),
            };
            return Err(syn::Error::new_spanned(word, messages::unknown_option(word, "ffi::check!", help)));
        }
    }
    Ok(())
}

fn dtype_of(errors: &mut Errors, input: ParseStream<'_>) -> syn::Result<Option<CheckDType>> {
    Ok(match dtype::read(errors, input)? {
        Given::Is(RawDType::Dtypes(dtypes)) => Some(CheckDType::Dtypes(dtypes)),
        Given::Is(RawDType::Same(other)) => Some(CheckDType::Same(other)),
        _ => None,
    })
}

fn shape_of(
    errors: &mut Errors,
    input: ParseStream<'_>,
    names: &mut Names,
    buffer: &mut CheckedBuffer,
    said: &mut Vec<String>,
) -> syn::Result<()> {
    once(input, "shape", said)?;
    buffer.shape = match shape::read(errors, input, Sizes::OrValues)? {
        Given::Is(RawShape::Same(other)) if other == buffer.name => {
            return Err(syn::Error::new_spanned(&other, messages::reference_to_self("shape", &other)));
        }
        Given::Is(RawShape::Same(other)) => Some(CheckShape::Same(other)),
        Given::Is(RawShape::Pattern { leading, dims }) => {
            let lead = match leading {
                None => CheckLead::None,
                Some(RawLeading::Anonymous) => CheckLead::Any,
                Some(RawLeading::Named(name)) => {
                    CheckLead::Captured(names.index(errors, name, CaptureKind::Leading))
                }
            };
            let dims = dims.into_iter().map(|dim| size(errors, dim, names)).collect();
            Some(CheckShape::Dims(lead, dims))
        }
        _ => None,
    };
    Ok(())
}

fn size(errors: &mut Errors, dim: RawDim, names: &mut Names) -> CheckDim {
    match dim {
        RawDim::Fixed(size) => CheckDim::Fixed(size),
        RawDim::Any => CheckDim::Any,
        RawDim::Named(name) => CheckDim::Captured(names.index(errors, name, CaptureKind::Dim)),
        RawDim::Value(value) => CheckDim::Value(*value),
    }
}

/// `like(x)` of `x` itself is wrong.
fn other(word: &Ident, input: ParseStream<'_>, own: &Ident) -> syn::Result<Ident> {
    let other = reference::read(word, input)?;
    if other == *own {
        return Err(syn::Error::new_spanned(&other, messages::reference_to_self(word, &other)));
    }
    Ok(other)
}

/// Ranks are small numbers: `rank = [m]`, `rank = -1` and `rank = []` are wrong.
fn ranks(errors: &mut Errors, input: ParseStream<'_>) -> syn::Result<Vec<usize>> {
    if !input.peek(token::Bracket) {
        return Ok(vec![rank(input)?]);
    }
    let list;
    let brackets = bracketed!(list in input);
    if list.is_empty() {
        return Err(syn::Error::new(brackets.span.join(), messages::no_ranks()));
    }
    let mut ranks = Vec::new();
    while !list.is_empty() {
        let read =
            rank(&list).and_then(|rank| end_of_item(&list, "separate ranks with commas").map(|()| rank));
        match errors.keep(read) {
            Some(rank) => ranks.push(rank),
            None => skip_item(&list),
        }
        list.parse::<Option<Token![,]>>()?;
    }
    Ok(ranks)
}

fn rank(input: ParseStream<'_>) -> syn::Result<usize> {
    let token: TokenTree = input.fork().parse()?;
    let literal: Option<LitInt> = input.parse().ok();
    match literal
        .filter(|literal| literal.suffix().is_empty())
        .and_then(|literal| literal.base10_parse().ok())
    {
        Some(rank) => Ok(rank),
        None => Err(syn::Error::new_spanned(&token, messages::rank_expected(text(&token)))),
    }
}

/// A single dimension: `dim = 3`, `dim() = 3` and `dim(0)` are wrong.
fn dim(
    errors: &mut Errors,
    word: &Ident,
    input: ParseStream<'_>,
    names: &mut Names,
) -> syn::Result<(Expr, CheckDim)> {
    const EXAMPLE: &str = "dim(0) = 128";
    if !input.peek(token::Paren) {
        return Err(syn::Error::new_spanned(word, messages::dim_form(EXAMPLE)));
    }
    let inside;
    parenthesized!(inside in input);
    let index = inside.parse::<Expr>();
    let rest: TokenStream = inside.parse()?;
    let index = match index {
        Ok(index) if rest.is_empty() => index,
        _ => return Err(syn::Error::new_spanned(word, messages::dim_form(EXAMPLE))),
    };
    equals(word, input, EXAMPLE)?;
    let dim = shape::dim(input, Sizes::OrValues)?;
    Ok((index, size(errors, dim, names)))
}

impl CheckDType {
    /// The only dtype allowed.
    pub fn fixed(&self) -> Option<DType> {
        match self {
            CheckDType::Dtypes(dtypes) => dtypes.fixed(),
            CheckDType::Same(_) => None,
        }
    }
}
