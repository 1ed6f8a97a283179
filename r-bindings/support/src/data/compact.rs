//! R's vectors in a compact form, as `1:1e8` is, which stay so.

use std::marker::PhantomData;
use std::slice;

use super::{Data, Type};
use crate::fault::{Fault, Result};
use crate::ffi::*;
use crate::unwind::protect;

/// How many elements there have to be: fewer are made at once by R.
const MANY: usize = 1 << 16;

/// How many are made at a time.
const PIECE: usize = 1 << 14;

/// A long vector whose elements R has not made, and makes piece by piece where they are wanted.
#[derive(Clone, Copy)]
pub struct Compact<'a> {
    x: SEXP,
    kind: Type,
    length: usize,
    vector: PhantomData<&'a ()>,
}

impl<'a> Compact<'a> {
    /// A vector of this type; none if it is a short one, or R has made its elements.
    ///
    /// # Safety
    ///
    /// R keeps `x` alive and unchanged for `'a`.
    #[cold]
    pub(super) unsafe fn of(x: SEXP, kind: Type) -> Result<Option<Compact<'a>>> {
        let length = Rf_xlength(x) as usize;
        // SAFETY: `x` is a vector; the pointer is only compared.
        if length < MANY || !protect(|| unsafe { DATAPTR_OR_NULL(x) })?.is_null() {
            return Ok(None);
        }
        Ok(Some(Compact { x, kind, length, vector: PhantomData }))
    }

    /// The type of the elements.
    pub fn kind(self) -> Type {
        self.kind
    }

    /// The number of elements.
    pub fn len(self) -> usize {
        self.length
    }

    /// Hands out all elements in pieces, each with the number of elements before it.
    pub fn pieces(self, mut take: impl FnMut(usize, Data<'_>) -> Result<()>) -> Result<()> {
        // Two doubles are the largest element.
        let doubles = if let Type::Complex = self.kind { 2 * PIECE } else { PIECE };
        let mut room = vec![0f64; doubles];
        let mut done = 0;
        while done < self.length {
            let made = self.make(done, PIECE.min(self.length - done), &mut room)?;
            // SAFETY: as many elements were written to the room, which is aligned for each of these types; they are plain
            // numbers.
            let piece = unsafe {
                match self.kind {
                    Type::Logical => Data::Logical(slice::from_raw_parts(room.as_ptr().cast(), made)),
                    Type::Integer => Data::Integer(slice::from_raw_parts(room.as_ptr().cast(), made)),
                    Type::Double => Data::Double(&room[..made]),
                    Type::Integer64 => Data::Integer64(slice::from_raw_parts(room.as_ptr().cast(), made)),
                    Type::Complex => Data::Complex(slice::from_raw_parts(room.as_ptr().cast(), made)),
                }
            };
            take(done, piece)?;
            done += made;
        }
        Ok(())
    }

    /// Has R write up to `wanted` elements from this one on; how many it has written.
    fn make(self, from: usize, wanted: usize, room: &mut [f64]) -> Result<usize> {
        let (x, kind, to) = (self.x, self.kind, room.as_mut_ptr());
        let (start, n) = (from as Length, wanted as Length);
        // SAFETY: there is room for a piece of each of these types.
        let made = protect(|| unsafe {
            match kind {
                Type::Logical => LOGICAL_GET_REGION(x, start, n, to.cast()),
                Type::Integer => INTEGER_GET_REGION(x, start, n, to.cast()),
                // An `integer64` is the bits of doubles.
                Type::Double | Type::Integer64 => REAL_GET_REGION(x, start, n, to),
                Type::Complex => COMPLEX_GET_REGION(x, start, n, to.cast()),
            }
        })? as usize;
        if made == 0 || made > wanted {
            let what = format!("the class of a {} vector in a compact form", kind.name());
            return Err(Fault::new("type", format!("{what} gives no elements from element {} on", from + 1)));
        }
        Ok(made)
    }
}
