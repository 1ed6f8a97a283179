//! Arguments that converters make arrays of.
//!
//! What was converted takes the argument's place: it becomes words of the key, is executed, and is what the callback that
//! compiles sees.

use dispatch_runtime::convert::Expected;
use dispatch_runtime::{Array, Device};
use smallvec::SmallVec;

use super::call::{Call, DATA};
use super::leaves::Leaf;
use super::wrong::{Wrong, path_text};
use crate::anvl::strings;
use crate::client;
use crate::convert::{Converted, Given, Purpose, convert_for, none_for};
use crate::data::{Data, Type, elements, list_names};
use crate::fault::{Fault, Result};
use crate::ffi::*;
use crate::given::host_dtype;
use crate::root::Root;
use crate::tree::{NodeKind, node_kind};
use crate::unwind::check_stack;
use crate::upload::{Check, upload_data};
use crate::{anvl, buffer};

/// Lists, and which of their elements, from the outside.
type Steps = SmallVec<[(SEXP, usize); 4]>;

/// What a converter made of a leaf, counted among the dynamic ones.
pub(super) struct At {
    leaf: usize,
    is: Converted,
}

impl Call<'_> {
    /// Whether any argument was converted.
    #[inline]
    pub fn has_converted(&self) -> bool {
        !self.converted.is_empty()
    }

    /// A leaf that is no array and no data of R, as long as nobody makes it one.
    #[cold]
    #[inline(never)]
    pub(super) fn convert(&mut self, x: SEXP) -> Result<(), Box<Wrong>> {
        let leaf = self.scratch.leaves.len();
        let path = self.path_of_leaf(leaf);
        let scope = self.dispatcher.scope();
        let expected = Expected::new(&path);
        // What another backend does with an array only its callback knows: a view is read for it.
        let is_pjrt = self.dispatcher.backend_is_pjrt();
        let purpose = Purpose { wants_data: !is_pjrt, ..Purpose::default() };
        let mut place = || self.device_of_arrays();
        let made = convert_for(x, &expected, purpose, &mut place, scope).map_err(Wrong::fault)?;
        let Some(is) = made else {
            let wrong = self.refused(x);
            let why = none_for(x, scope).map_err(Wrong::fault)?;
            return Err(wrong.got_too(&why));
        };
        let (value, mut brought) = (is.get(), None);
        let read = match is.given(|| path.clone()).map_err(Wrong::fault)? {
            Given::Buffer if is_pjrt => self.buffer(value),
            Given::Buffer => Err(self.refused(value).got_too(", which is of backend \"pjrt\"")),
            Given::Array(data, backend) => self.array(value, data, backend),
            // A key has no word for these, but for the buffers that they become.
            Given::Data(data, shape) if is_pjrt && matches!(data.kind(), Type::Integer64 | Type::Complex) => {
                let buffer = self.bring(data, &shape, &path);
                let buffer = buffer.map_err(|fault| Wrong::fault(is.blame(fault, &path)))?;
                self.buffer(brought.insert(buffer).get())
            }
            Given::Data(_, shape) => self.converted_data(value, &shape),
        };
        read.map_err(|wrong| wrong.got_too(&format!(", given by the converter `{}`", is.name())))?;
        let is = match brought {
            Some(buffer) => is.in_place(buffer),
            None => is,
        };
        self.converted.push(At { leaf, is });
        Ok(())
    }

    /// A buffer of data of R, at the dtype that has all its values.
    fn bring(&self, data: Data<'_>, shape: &[i64], path: &str) -> Result<Root> {
        let device = self.device_of_arrays()?;
        let array = upload_data(data, host_dtype(&data), shape, device, Check::Wrong, path)?;
        Root::new(buffer::wrap(array)?)
    }

    /// Data of R: as an argument of its own, but that a vector without dimensions has one.
    fn converted_data(&mut self, x: SEXP, shape: &[i64]) -> Result<(), Box<Wrong>> {
        let kind = TYPEOF(x);
        if !matches!(kind, LGLSXP | INTSXP | REALSXP) || Rf_isObject(x) != 0 {
            return Err(self.refused(x));
        }
        let at = self.scratch.words.len() as u32;
        self.scratch.words.push(DATA | u64::from(kind) << 8 | (shape.len() as u64) << 16);
        self.scratch.words.extend(shape.iter().map(|&n| n as u64));
        self.scratch.leaves.push(Leaf { value: x, at, is_array: false });
        Ok(())
    }

    /// The device of the first array among the arguments, else that of calls without one. Of backend "pjrt": for no other
    /// is anything brought to a device.
    fn device_of_arrays(&self) -> Result<Device> {
        if let Some(array) = first_array(self.args, 0)? {
            return Ok(array.device());
        }
        match self.dispatcher.default_device()? {
            Some(device) => Ok(device),
            None => client::default_device(),
        }
    }

    /// The path of a dynamic leaf, counted from 0.
    fn path_of_leaf(&self, leaf: usize) -> String {
        let mut steps = Steps::new();
        let mut left = leaf;
        self.find(self.args, true, &mut left, &mut steps);
        path_text(steps.into_iter())
    }

    /// Notes the steps to the dynamic leaf that has so many before it. The lists were walked through before, so they are not
    /// nested too deeply.
    fn find(&self, list: SEXP, top: bool, left: &mut usize, steps: &mut Steps) -> bool {
        for (i, value) in self.dynamic_children(list, top) {
            steps.push((list, i));
            let found = match node_kind(value) {
                NodeKind::List => self.find(value, false, left, steps),
                NodeKind::Null => false,
                NodeKind::Leaf if *left == 0 => true,
                NodeKind::Leaf => {
                    *left -= 1;
                    false
                }
            };
            if found {
                return true;
            }
            steps.pop();
        }
        false
    }

    /// The elements of a list, those that are static left out.
    fn dynamic_children(&self, list: SEXP, top: bool) -> impl Iterator<Item = (usize, SEXP)> + '_ {
        // SAFETY: the lists were walked through, so their elements and names are there, and the arguments keep them.
        let (values, names) = unsafe {
            let has_statics = top && !self.dispatcher.statics.is_empty();
            let names = if has_statics { strings(list_names(list)).unwrap_or_default() } else { &[] };
            (elements::<SEXP>(list).unwrap_or_default(), names)
        };
        let is_dynamic = move |i: usize| names.get(i).is_none_or(|&name| !self.is_static(name));
        values.iter().copied().enumerate().filter(move |&(i, _)| is_dynamic(i))
    }

    /// The arguments with what was converted in the places of the objects; none if nothing was.
    pub fn args_with_converted(&self) -> Result<Option<Root>> {
        if self.converted.is_empty() {
            return Ok(None);
        }
        let mut leaf = 0;
        self.replaced(self.args, 0, &mut leaf)
    }

    /// A list with what was converted in it; none if nothing was. Counts the leaves.
    fn replaced(&self, list: SEXP, depth: u32, leaf: &mut usize) -> Result<Option<Root>> {
        check_stack(depth)?;
        let mut copy: Option<Root> = None;
        for (i, value) in self.dynamic_children(list, depth == 0) {
            let new = match node_kind(value) {
                NodeKind::List => self.replaced(value, depth + 1, leaf)?,
                NodeKind::Null => None,
                NodeKind::Leaf => {
                    *leaf += 1;
                    let converted = self.converted.iter().find(|at| at.leaf + 1 == *leaf);
                    converted.map(|at| at.as_leaf(|| self.path_of_leaf(at.leaf))).transpose()?
                }
            };
            let Some(new) = new else { continue };
            let copy = match &copy {
                Some(copy) => copy,
                // SAFETY: the arguments keep the list.
                None => copy.insert(Root::make(|| unsafe { Rf_shallow_duplicate(list) })?),
            };
            // SAFETY: the copy has as many elements; storing does not allocate.
            unsafe { SET_VECTOR_ELT(copy.get(), i as Length, new.get()) };
        }
        Ok(copy)
    }

    /// An error of the leaf says which converter gave the value, if one did.
    #[cold]
    pub fn blame(&self, fault: Fault, leaf: usize, path: &str) -> Fault {
        match self.converted.iter().find(|at| at.leaf == leaf) {
            Some(at) => at.is.blame(fault, path),
            None => fault,
        }
    }
}

impl At {
    /// What callbacks see: a buffer as an `AnvlArray`, as every other array.
    fn as_leaf(&self, path: impl FnOnce() -> String) -> Result<Root> {
        let value = self.is.get();
        match self.is.given(path)? {
            Given::Buffer => anvl::array_of(value, &buffer::get_sexp(value, "args")?),
            _ => Root::new(value),
        }
    }
}

/// The first array of our backend in nested lists; what is wrong with one is said when it is read.
fn first_array(x: SEXP, depth: u32) -> Result<Option<Array>> {
    check_stack(depth)?;
    match node_kind(x) {
        NodeKind::List => {
            // SAFETY: the arguments keep the list.
            for &value in unsafe { elements::<SEXP>(x)? } {
                if let Some(array) = first_array(value, depth + 1)? {
                    return Ok(Some(array));
                }
            }
            Ok(None)
        }
        NodeKind::Leaf if TYPEOF(x) == VECSXP => match anvl::atoms()?.fields(x)? {
            Some((data, _)) if buffer::is(data) => Ok(Some(buffer::get_sexp(data, "args")?)),
            _ => Ok(None),
        },
        _ => Ok(None),
    }
}
