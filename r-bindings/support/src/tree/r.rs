//! Arguments and results of R functions about trees.

use super::names::utf8;
use super::path::Path;
use super::walk::names_of;
use super::{Kept, Leaves, Tree};
use crate::arg::{Arg, slice};
use crate::fault::{Fault, Result};
use crate::ffi::*;
use crate::handle;
use crate::root::Root;
use crate::string;

impl Leaves {
    /// The elements of a list, of whatever class.
    pub fn elements(list: Arg<'_>) -> Result<Leaves> {
        if TYPEOF(list.get()) != VECSXP {
            return Err(list.expected("a list"));
        }
        let mut kept = Kept::default();
        let elements = kept.plain(list.get())?;
        // SAFETY: the list has the elements.
        let values = (0..Rf_xlength(elements)).map(|i| unsafe { VECTOR_ELT(elements, i) }).collect();
        Ok(Leaves { values, kept })
    }

    /// The trees that these are. `name` gives what messages call an element.
    pub fn trees(&self, name: impl Fn(usize) -> String) -> Result<Vec<&Tree>> {
        let tree = |(i, &value)| {
            // SAFETY: the list keeps its elements alive.
            unsafe { handle::get::<Tree>(value, "") }.or_else(|fault| match fault {
                // The name costs something.
                // SAFETY: as above.
                Fault::Condition(_) => unsafe { handle::get(value, &name(i)) },
                jump => Err(jump),
            })
        };
        self.values.iter().enumerate().map(tree).collect()
    }
}

/// The names of a list's elements in UTF-8, if it has names.
pub fn names(list: Arg<'_>) -> Result<Option<Vec<Vec<u8>>>> {
    let mut kept = Kept::default();
    let Some(names) = names_of(list.get(), &mut kept)? else { return Ok(None) };
    let wrong = |i, got: &str| {
        Fault::argument("value", list.name(), "names that are text", format!("{got} as name {}", i + 1))
    };
    let name = |i| {
        // SAFETY: the vector has the element, and `kept` or the list keeps it alive.
        unsafe {
            match STRING_ELT(names, i) {
                name if name == R_NaString => Err(wrong(i, "NA")),
                name => Ok(utf8(name)?.ok_or_else(|| wrong(i, string::no_text(name)))?.to_vec()),
            }
        }
    };
    (0..Rf_xlength(names)).map(name).collect::<Result<_>>().map(Some)
}

/// What an element of a list argument is called, by the names that [`names`] gave.
pub fn element_name(list: Arg<'_>, names: Option<&[Vec<u8>]>, i: usize) -> String {
    let mut path = Path::new(list.name());
    path.step(i, |i| names.map(|names| &names[i]));
    path.into_string()
}

/// Truth values without `NA`.
pub fn flags(x: Arg<'_>) -> Result<Vec<bool>> {
    if TYPEOF(x.get()) != LGLSXP {
        return Err(x.expected("a logical vector"));
    }
    // SAFETY: the vector has as many elements, and lives during the call.
    let values = unsafe { slice(LOGICAL_RO(x.get()), Rf_xlength(x.get()) as usize) };
    let flag = |(i, &value)| match value {
        NA_INTEGER => {
            Err(Fault::argument("value", x.name(), "TRUE or FALSE", format!("NA as element {}", i + 1)))
        }
        value => Ok(value != 0),
    };
    values.iter().enumerate().map(flag).collect()
}

/// A logical vector.
pub fn make_flags(flags: &[bool]) -> Result<Root> {
    // SAFETY: the vector has room for the values.
    Root::make(|| unsafe {
        let out = Rf_allocVector(LGLSXP, flags.len() as Length);
        flags.iter().enumerate().for_each(|(i, &flag)| LOGICAL(out).add(i).write(flag.into()));
        out
    })
}

/// A character vector of names.
pub fn make_names(names: &[&[u8]]) -> Result<Root> {
    // SAFETY: the vector is protected while its elements are made, and has room for them; no name has more bytes than
    // R's strings, where they come from.
    Root::make(|| unsafe {
        let out = Rf_protect(Rf_allocVector(STRSXP, names.len() as Length));
        for (i, name) in names.iter().enumerate() {
            SET_STRING_ELT(
                out,
                i as Length,
                Rf_mkCharLenCE(name.as_ptr().cast(), name.len() as i32, CE_UTF8),
            );
        }
        Rf_unprotect(1);
        out
    })
}
