//! Arguments that converters make arrays of.

use std::cell::RefCell;

use dispatch_runtime::convert::Expected;
use dispatch_runtime::signature::{DTypeSpec, Dim, Lead, Scope, ShapeSpec};
use dispatch_runtime::{DType, Device};
use smallvec::SmallVec;

use crate::convert::Converted;
use crate::fault::{Fault, Result};
use crate::ffi::*;
use crate::given;

/// What the signature says of an argument.
pub(super) struct Wanted {
    dtypes: SmallVec<[DType; 4]>,
    /// None: sizes of any number.
    shape: Option<SmallVec<[Option<i64>; 4]>>,
}

impl Wanted {
    /// For a field; the dtype is known if an array of the field's group has one.
    pub fn of(scope: &Scope, field: usize, dtype: Option<DType>) -> Wanted {
        let dtypes = match (dtype, scope.dtype_root(field).1) {
            (Some(dtype), _) | (None, DTypeSpec::One(dtype)) => SmallVec::from_slice(&[dtype]),
            (None, DTypeSpec::Choice(list)) => SmallVec::from_slice(list),
            (None, DTypeSpec::Any) => SmallVec::new(),
            (None, class) => DType::ALL.iter().copied().filter(|&dtype| class.allows(dtype)).collect(),
        };
        Wanted { dtypes, shape: sizes(scope, field) }
    }
}

/// The sizes of a field as far as the signature fixes them.
fn sizes(scope: &Scope, field: usize) -> Option<SmallVec<[Option<i64>; 4]>> {
    match scope.fields[field].leaf.as_ref()?.shape {
        ShapeSpec::Same(other) => sizes(scope, other),
        ShapeSpec::Dims(Lead::None, dims) => {
            let size = |dim: &Dim| match dim {
                Dim::Fixed(n) => Some(*n),
                Dim::Any | Dim::Captured(_) => None,
            };
            Some(dims.iter().map(size).collect())
        }
        ShapeSpec::Dims(..) => None,
    }
}

/// What converters made of the arguments of a call, kept as long as this lives.
#[derive(Default)]
pub(super) struct Conversions(RefCell<Vec<Conversion>>);

struct Conversion {
    path: String,
    is: Converted,
}

impl Conversions {
    /// What a converter makes of a value; `place` is asked for the device of the call.
    pub fn convert(
        &self,
        value: SEXP,
        wanted: &Wanted,
        path: String,
        place: &mut dyn FnMut() -> Result<Device>,
    ) -> Result<SEXP> {
        let expected = Expected::new(&path).dtypes(&wanted.dtypes);
        let expected = match &wanted.shape {
            Some(shape) => expected.shape(shape),
            None => expected,
        };
        let is = given::converted(value, &expected, place)?;
        let made = is.get();
        self.0.borrow_mut().push(Conversion { path, is });
        Ok(made)
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
            Some(one) => one.is.not_known(),
            None => Fault::new("converter", "nothing was converted"),
        }
    }
}
