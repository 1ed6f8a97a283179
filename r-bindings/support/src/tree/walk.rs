//! Going through a nested list.

use super::names::utf8;
use super::path::Path;
use super::{NodeKind, too_large};
use crate::data::list_names;
use crate::fault::{Fault, Result};
use crate::ffi::*;
use crate::root::Root;
use crate::string;
use crate::unwind::protect;

/// What a [`walk`] tells of a nested list, in order. What it tells says all of the structure: two values have equal
/// structures exactly if what is told is equal but for the values of the leaves.
pub trait Visitor {
    /// A leaf.
    fn leaf(&mut self, value: SEXP);
    /// `NULL`.
    fn null(&mut self);
    /// A list. If it has names, a name for each child comes next, then the children, then the end.
    fn list(&mut self, length: u32, named: bool);
    /// A child's name in UTF-8, `""` where a child has none.
    fn name(&mut self, name: &[u8]);
    /// The end of the innermost list.
    fn end(&mut self) {}
}

/// What has to live as long as leaves are used: lists that R makes when they are looked at. Almost always nothing.
#[derive(Debug, Default)]
#[must_use]
pub struct Kept(Vec<Root>);

/// A list on the way to where the walk is.
struct Frame {
    list: SEXP,
    names: Option<SEXP>,
    next: Length,
    length: Length,
}

/// What a value is; see the [module](super).
#[inline(always)]
pub(crate) fn node_kind(x: SEXP) -> NodeKind {
    match TYPEOF(x) {
        VECSXP if Rf_isObject(x) == 0 => NodeKind::List,
        NILSXP => NodeKind::Null,
        _ => NodeKind::Leaf,
    }
}

/// Goes through a nested list; see the [module](super) for what is a node. `argument` is what messages call it.
///
/// R keeps `x` alive meanwhile.
#[inline]
pub fn walk(x: SEXP, argument: &str, visitor: &mut impl Visitor) -> Result<Kept> {
    let mut kept = Kept::default();
    let mut stack = Vec::new();
    let mut room = Room(u64::from(u32::MAX - 1));
    let mut value = x;
    loop {
        match node_kind(value) {
            NodeKind::List => {
                let opened = open(value, visitor, &mut room, &mut kept);
                stack.push(opened.map_err(|wrong| wrong.at(argument, &stack))?);
            }
            NodeKind::Null => visitor.null(),
            NodeKind::Leaf => visitor.leaf(value),
        }
        value = loop {
            let Some(top) = stack.last_mut() else { return Ok(kept) };
            if top.next < top.length {
                top.next += 1;
                // SAFETY: the list has the element, and is no ALTREP list: nothing is allocated.
                break unsafe { VECTOR_ELT(top.list, top.next - 1) };
            }
            stack.pop();
            visitor.end();
        };
    }
}

/// How many nodes and bytes of names may still come.
struct Room(u64);

impl Room {
    #[inline]
    fn take(&mut self, count: usize) -> Result<(), Wrong> {
        self.0 = self.0.checked_sub(count as u64).ok_or(Wrong::TooLarge)?;
        Ok(())
    }
}

/// Tells of a list and of its names.
#[inline]
fn open(list: SEXP, visitor: &mut impl Visitor, room: &mut Room, kept: &mut Kept) -> Result<Frame, Wrong> {
    let length = Rf_xlength(list);
    room.take(length as usize)?;
    let names = names_of(list, kept)?;
    visitor.list(length as u32, names.is_some());
    if let Some(names) = names {
        for i in 0..length {
            // SAFETY: the names are no ALTREP vector, and live as long as the list does.
            let name = unsafe {
                let name = STRING_ELT(names, i);
                if name == R_NaString {
                    return Err(Wrong::MissingName(i));
                }
                utf8(name)?.ok_or(Wrong::NoName(i, string::no_text(name)))?
            };
            room.take(name.len())?;
            visitor.name(name);
        }
    }
    Ok(Frame { list: kept.plain(list)?, names, next: 0, length })
}

/// The names of a list, which it keeps alive, or what is kept.
#[inline]
pub(super) fn names_of(list: SEXP, kept: &mut Kept) -> Result<Option<SEXP>> {
    // SAFETY: the object is a list.
    let names = unsafe { list_names(list) };
    match TYPEOF(names) {
        STRSXP if Rf_xlength(names) == Rf_xlength(list) => kept.plain(names).map(Some),
        _ => Ok(None),
    }
}

impl Kept {
    /// A list or character vector as one whose elements are there. It is kept alive as the original is, or here.
    #[inline]
    pub(super) fn plain(&mut self, vector: SEXP) -> Result<SEXP> {
        if ALTREP(vector) == 0 { Ok(vector) } else { self.expanded(vector) }
    }

    #[cold]
    fn expanded(&mut self, vector: SEXP) -> Result<SEXP> {
        let (kind, length) = (TYPEOF(vector), protect(|| Rf_xlength(vector))?);
        // SAFETY: the copy is protected while elements are made, and has room for them.
        let copy = Root::make(|| unsafe {
            let copy = Rf_protect(Rf_allocVector(kind, length));
            for i in 0..length {
                match kind {
                    STRSXP => SET_STRING_ELT(copy, i, STRING_ELT(vector, i)),
                    _ => _ = SET_VECTOR_ELT(copy, i, VECTOR_ELT(vector, i)),
                }
            }
            Rf_unprotect(1);
            copy
        })?;
        let value = copy.get();
        self.0.push(copy);
        Ok(value)
    }
}

/// What is wrong with a list, before it is known where the list is.
enum Wrong {
    MissingName(Length),
    NoName(Length, &'static str),
    TooLarge,
    Other(Fault),
}

impl From<Fault> for Wrong {
    fn from(fault: Fault) -> Wrong {
        Wrong::Other(fault)
    }
}

impl Wrong {
    /// The error, of the list to which these others lead.
    #[cold]
    fn at(self, argument: &str, stack: &[Frame]) -> Fault {
        let (i, expected, got) = match self {
            Wrong::Other(fault) => return fault,
            Wrong::TooLarge => return too_large(argument),
            Wrong::MissingName(i) => (i, "names that are not NA", "NA"),
            Wrong::NoName(i, got) => (i, "names that are text", got),
        };
        let mut path = Path::new(argument);
        for frame in stack {
            let child = (frame.next - 1) as usize;
            // SAFETY: the names have been read before.
            path.step(child, |i| unsafe { utf8(STRING_ELT(frame.names?, i as Length)) }.ok().flatten());
        }
        Fault::argument(
            "value",
            argument,
            expected,
            format!("{got} as the name of element {} of `{path}`", i + 1),
        )
    }
}
