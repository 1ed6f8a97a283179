//! Arguments that converters make arrays of.

use std::cell::RefCell;

use dispatch_runtime::convert::Expected;
use dispatch_runtime::signature::{DTypeSpec, Scope};
use dispatch_runtime::{Array, DType, Device, Error};
use smallvec::SmallVec;

use super::sizes::Sizes;
use crate::buffer;
use crate::convert::{Converted, Purpose, convert_for, convert_out};
use crate::fault::{Fault, Result};
use crate::ffi::*;
use crate::root::Root;

/// What the signature says of an argument.
pub(super) struct Wanted {
    dtypes: SmallVec<[DType; 4]>,
    /// None: sizes of any number.
    shape: Option<Sizes>,
    purpose: Purpose,
}

impl Wanted {
    /// For a field; the dtype is known if an array of the field's group has one, the shape as far as [`sizes`](super::sizes) says.
    /// `keeps_view` if a result is written back into any argument of the call.
    pub fn of(
        scope: &Scope,
        field: usize,
        dtype: Option<DType>,
        shape: Option<Sizes>,
        keeps_view: bool,
    ) -> Wanted {
        let dtypes = match (dtype, scope.dtype_root(field).1) {
            (Some(dtype), _) | (None, DTypeSpec::One(dtype)) => SmallVec::from_slice(&[dtype]),
            (None, DTypeSpec::Choice(list)) => SmallVec::from_slice(list),
            (None, DTypeSpec::Any) => SmallVec::new(),
            (None, class) => DType::ALL.iter().copied().filter(|&dtype| class.allows(dtype)).collect(),
        };
        let mut purpose = Purpose { keeps_view, ..Purpose::default() };
        if let Some(leaf) = scope.fields[field].leaf.as_ref() {
            (purpose.writes_back, purpose.donated) = (leaf.write_back.is_some(), leaf.donate);
        }
        Wanted { dtypes, shape, purpose }
    }
}

/// What converters made of the arguments of a call, kept as long as this lives.
#[derive(Default)]
pub(super) struct Conversions(RefCell<Vec<Conversion>>);

struct Conversion {
    path: String,
    original: SEXP,
    is: Converted,
    /// Whether a result is written back into it.
    writes: bool,
    /// Which argument it is and which result is written back into it, if one is.
    back: Option<(usize, usize)>,
}

impl Conversions {
    /// What a converter makes of a value, none if there is no converter for it; `place` is asked for the device of the call.
    pub fn convert(
        &self,
        value: SEXP,
        wanted: &Wanted,
        path: String,
        place: &mut dyn FnMut() -> Result<Device>,
    ) -> Result<Option<SEXP>> {
        let expected = Expected::new(&path).dtypes(&wanted.dtypes);
        let expected = match &wanted.shape {
            Some(shape) => expected.shape(shape),
            None => expected,
        };
        let Some(is) = convert_for(value, &expected, wanted.purpose, place, None)? else { return Ok(None) };
        let made = is.get();
        let new = Conversion { path, original: value, is, writes: wanted.purpose.writes_back, back: None };
        self.expect_apart(&new)?;
        self.0.borrow_mut().push(new);
        Ok(Some(made))
    }

    /// An error if a result is written into memory that is another argument's too.
    fn expect_apart(&self, new: &Conversion) -> Result<()> {
        for old in self.0.borrow().iter().filter(|old| old.writes || new.writes) {
            if old.is.shares_memory(&new.is)? {
                let (written, other) = if old.writes { (old, new) } else { (new, old) };
                let reason = format!(
                    "a result is written back into the object, whose memory is that of the object passed as `{}` too",
                    other.path
                );
                return Err(Error::Converter { argument: written.path.clone(), reason }.into());
            }
        }
        Ok(())
    }

    /// A result is written back into what was converted last, which is this argument.
    pub fn written_back(&self, argument: usize, result: usize) {
        if let Some(last) = self.0.borrow_mut().last_mut() {
            last.back = Some((argument, result));
        }
    }

    /// Whether any result is written back.
    #[inline]
    pub fn writes_back(&self) -> bool {
        self.0.borrow().iter().any(|one| one.back.is_some())
    }

    /// Waits for the results that are written back, so that what the computation fails with comes before the first is written.
    #[cold]
    pub fn wait(&self, results: &[Array]) -> Result<()> {
        let written = self
            .0
            .borrow()
            .iter()
            .filter_map(|one| Some((one.path.clone(), one.back?.1)))
            .collect::<Vec<_>>();
        // R looks for interrupts meanwhile.
        written.iter().try_for_each(|(path, result)| match results.get(*result) {
            Some(array) => buffer::wait(array, path),
            None => Ok(()),
        })
    }

    /// What takes the place of a result, which the caller keeps: what the converter of the argument makes of it that it is
    /// written back into. None if it is not written back.
    #[cold]
    pub fn write_back(&self, function: &str, result: usize, value: SEXP) -> Result<Option<Root>> {
        let found = self.0.borrow().iter().find_map(|one| match one.back {
            Some((argument, into)) if into == result => {
                Some((one.is.converter(), one.original, one.path.clone(), argument))
            }
            _ => None,
        });
        // The converter and the object are kept by this and by the call. R code may run from here on.
        let Some((converter, original, name, argument)) = found else { return Ok(None) };
        convert_out(converter, value, original, (function, &name, argument)).map(Some)
    }

    /// An error of a converted argument says who gave it.
    #[cold]
    pub fn blame(&self, fault: Fault) -> Fault {
        self.0.borrow().iter().fold(fault, |fault, one| one.is.blame(fault, &one.path))
    }

    /// The error that what came last is no longer what it was when it was checked.
    #[cold]
    pub fn not_known(&self) -> Fault {
        match self.0.borrow().last() {
            Some(one) => one.is.not_known(&one.path),
            None => Fault::new("converter", "nothing was converted"),
        }
    }
}
