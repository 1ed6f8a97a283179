//! Constants: `{ { 1, 2 }, { 3, 4 } }`.

use half::{bf16, f16};

use super::proto::Literal;
use super::shape::TUPLE;

/// Constants with more elements than this are written `{...}`, as XLA does.
const MOST: i64 = 10;
/// So are those with more dimensions than any program has.
const DEEPEST: usize = 64;

/// A literal; `{...}` if it is large, or of a type whose elements are not known here.
pub fn text(literal: &Literal) -> String {
    let Some(shape) = &literal.shape else { return "{...}".into() };
    if shape.element_type == TUPLE {
        let parts: Vec<String> = literal.tuple.iter().map(text).collect();
        return format!("( {} )", parts.join(", "));
    }
    let sizes = &shape.dimensions;
    // An array without elements may still have many rows, and each is written.
    let rows = sizes.iter().take_while(|&&n| n != 0).try_fold(1i64, |rows, &n| rows.checked_mul(n));
    if sizes.len() > DEEPEST || !rows.is_some_and(|rows| (0..=MOST).contains(&rows)) {
        return "{...}".into();
    }
    let count = if sizes.contains(&0) { 0 } else { rows.unwrap_or_default() as usize };
    match elements(literal, shape.element_type) {
        Some(elements) if elements.len() == count => {
            nested(sizes, &mut elements.into_iter()).unwrap_or("{...}".into())
        }
        _ => "{...}".into(),
    }
}

/// The elements in braces, a level for each dimension: the innermost is written `{1, 2}` where it is the only one.
fn nested(sizes: &[i64], elements: &mut impl Iterator<Item = String>) -> Option<String> {
    let Some((&n, rest)) = sizes.split_first() else { return elements.next() };
    let items = (0..n).map(|_| nested_in(rest, elements)).collect::<Option<Vec<_>>>()?;
    Some(match (rest.is_empty(), items.is_empty()) {
        (_, true) => "{}".into(),
        (true, _) => format!("{{{}}}", items.join(", ")),
        (false, _) => format!("{{ {} }}", items.join(", ")),
    })
}

/// A row of [`nested`].
fn nested_in(sizes: &[i64], elements: &mut impl Iterator<Item = String>) -> Option<String> {
    let row = nested(sizes, elements)?;
    Some(match (sizes.len(), row.strip_prefix('{').and_then(|row| row.strip_suffix('}'))) {
        (1, Some(items)) if !items.is_empty() => format!("{{ {items} }}"),
        _ => row,
    })
}

/// The text of each element, row-major.
fn elements(literal: &Literal, primitive: i32) -> Option<Vec<String>> {
    fn each<T: Copy>(items: &[T], text: impl Fn(T) -> String) -> Vec<String> {
        items.iter().map(|&item| text(item)).collect()
    }
    fn pairs<T: Copy>(items: &[T], text: impl Fn(T) -> String) -> Vec<String> {
        items.chunks_exact(2).map(|c| format!("({}, {})", text(c[0]), text(c[1]))).collect()
    }
    /// Elements of two bytes, which are little-endian.
    fn halves(bytes: &[u8], text: impl Fn(u16) -> String) -> Vec<String> {
        bytes.chunks_exact(2).map(|c| text(u16::from_le_bytes([c[0], c[1]]))).collect()
    }
    let is_scalar = literal.shape.as_ref().is_none_or(|shape| shape.dimensions.is_empty());
    Some(match primitive {
        // As XLA writes them: words alone, digits in an array.
        1 if is_scalar => each(&literal.preds, |x| x.to_string()),
        1 => each(&literal.preds, |x| u8::from(x).to_string()),
        2 => each(&literal.s8s, |x| (x as i8).to_string()),
        3 => halves(&literal.s16s, |x| (x as i16).to_string()),
        4 => each(&literal.s32s, |x| x.to_string()),
        5 => each(&literal.s64s, |x| x.to_string()),
        6 => each(&literal.u8s, |x| x.to_string()),
        7 => halves(&literal.u16s, |x| x.to_string()),
        8 => each(&literal.u32s, |x| x.to_string()),
        9 => each(&literal.u64s, |x| x.to_string()),
        10 => halves(&literal.f16s, |x| float(format!("{:?}", f16::from_bits(x)))),
        11 => each(&literal.f32s, |x| float(format!("{x:?}"))),
        12 => each(&literal.f64s, |x| float(format!("{x:?}"))),
        15 => pairs(&literal.c64s, |x| float(format!("{x:?}"))),
        16 => halves(&literal.bf16s, |x| float(format!("{:?}", bf16::from_bits(x)))),
        18 => pairs(&literal.c128s, |x| float(format!("{x:?}"))),
        _ => return None,
    })
}

/// A float as HLO writes it: no point without digits behind it that matter, `nan` in lower case.
pub fn float(text: String) -> String {
    match text.strip_suffix(".0") {
        Some(whole) => whole.to_owned(),
        None => text.replace("NaN", "nan"),
    }
}
