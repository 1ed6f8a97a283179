//! One call: its arguments are checked and become words of the key.
//!
//! # The words
//!
//! Each node of the arguments begins with a word whose low byte is its kind, so the whole is prefix-free:
//!
//! * a list: its length, whether it has names, the names, the elements;
//! * an array, or bare R data: dtype or type of R, the rank, the sizes;
//! * a static argument: its value (see [`statics`]);
//!
//! then the device, unless inputs move, and the value of `context`, if there is one.

use std::mem::ManuallyDrop;
use std::ptr::NonNull;

use dispatch_runtime::Array;
use dispatch_runtime::engine::RawBuffer;
use smallvec::SmallVec;

use super::Dispatcher;
use super::converted::At;
use super::leaves::Leaf;
use super::place::{self, Place};
use super::wrong::Wrong;
use crate::anvl::strings;
use crate::arg::slice;
use crate::buffer::BUFFER;
use crate::data::{elements, list_names};
use crate::describe;
use crate::fault::{Fault, Result};
use crate::ffi::*;
use crate::root::Root;
use crate::statics;
use crate::tree::{self, NodeKind};
use crate::unwind::check_stack;

const LIST: u64 = 1;
const NULL: u64 = 2;
const ARRAY: u64 = 3;
pub(super) const DATA: u64 = 4;
const STATIC: u64 = 5;
const NAMED: u64 = 1 << 8;

/// How deep arguments may be nested.
const DEPTH: u32 = 2000;

/// Memory that one call leaves to the next.
#[derive(Default)]
pub(super) struct Scratch {
    pub words: Vec<u64>,
    pub leaves: Vec<Leaf>,
    pub buffers: Vec<RawBuffer>,
    pub results: Vec<Option<RawBuffer>>,
}

/// A call that is under way.
pub(super) struct Call<'a> {
    pub dispatcher: &'a Dispatcher,
    pub args: SEXP,
    /// Goes back to the dispatcher.
    pub scratch: ManuallyDrop<Box<Scratch>>,
    /// Where it runs, as far as its inputs or `default_device` say.
    pub place: Place,
    /// What `default_device` gave, if it was asked.
    pub default_device: Option<Root>,
    /// What `context` gave.
    pub context: Option<Root>,
    /// What converters made of arguments, with the leaves that those are.
    pub converted: SmallVec<[At; 1]>,
    /// A `$backend` that is the right one, of an array that the arguments keep.
    backend: SEXP,
}

impl Drop for Call<'_> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: nobody uses it after this.
        self.dispatcher.scratch.set(Some(unsafe { ManuallyDrop::take(&mut self.scratch) }));
    }
}

impl<'a> Call<'a> {
    #[inline]
    pub fn new(dispatcher: &'a Dispatcher, args: SEXP) -> Call<'a> {
        let mut scratch = dispatcher.scratch.take().unwrap_or_default();
        scratch.words.clear();
        scratch.leaves.clear();
        Call {
            dispatcher,
            args,
            scratch: ManuallyDrop::new(scratch),
            place: Place::Unknown,
            default_device: None,
            context: None,
            converted: SmallVec::new(),
            backend: dispatcher.atoms.pjrt,
        }
    }

    #[inline]
    pub fn words(&self) -> &[u64] {
        &self.scratch.words
    }

    #[inline]
    pub fn leaves(&self) -> &[Leaf] {
        &self.scratch.leaves
    }

    /// Checks the arguments and writes the key.
    #[inline]
    pub fn walk(&mut self) -> Result<()> {
        if TYPEOF(self.args) != VECSXP || Rf_isObject(self.args) != 0 {
            return Err(Fault::argument("type", "args", "a list of arguments", describe::value(self.args)));
        }
        if let Err(wrong) = self.list(self.args, 0, !self.dispatcher.statics.is_empty()) {
            return Err(wrong.into_fault());
        }
        if !self.dispatcher.move_inputs {
            self.device()?;
        }
        if self.dispatcher.callbacks.context != nil() {
            self.ask_context()?;
        }
        Ok(())
    }

    /// An unclassed list. Arguments by name may be static.
    #[inline]
    fn list(&mut self, x: SEXP, depth: u32, top: bool) -> Result<(), Box<Wrong>> {
        // SAFETY: reading the names of a list does not allocate, and the arguments keep all that is in it.
        let (values, names, named) = unsafe {
            let names = list_names(x);
            let elements = elements::<SEXP>(x).map_err(Wrong::fault)?;
            (elements, strings(names).map_err(Wrong::fault)?, TYPEOF(names) == STRSXP)
        };
        let head = LIST | if named { NAMED } else { 0 } | (values.len() as u64) << 16;
        self.scratch.words.push(head);
        for (i, &value) in values.iter().enumerate() {
            if named {
                let name = names[i];
                self.name(name, i)?;
                if top && self.is_static(name) {
                    self.scratch.words.push(STATIC);
                    statics::encode(value, &mut self.scratch.words)
                        .map_err(|fault| Wrong::fault(fault).below(x, i))?;
                    continue;
                }
            }
            self.value(value, depth).map_err(|wrong| wrong.below(x, i))?;
        }
        Ok(())
    }

    /// What is in a list.
    #[inline(always)]
    fn value(&mut self, value: SEXP, depth: u32) -> Result<(), Box<Wrong>> {
        match tree::node_kind(value) {
            NodeKind::List => {
                if depth == DEPTH {
                    let expected = format!("lists nested at most {DEPTH} deep");
                    return Err(Wrong::new("value", expected, "more".into()));
                }
                check_stack(depth).map_err(Wrong::fault)?;
                self.list(value, depth + 1, false)
            }
            NodeKind::Null => {
                self.scratch.words.push(NULL);
                Ok(())
            }
            NodeKind::Leaf => self.leaf(value),
        }
    }

    /// An array, or bare R data.
    #[inline(always)]
    fn leaf(&mut self, value: SEXP) -> Result<(), Box<Wrong>> {
        match TYPEOF(value) {
            VECSXP => match self.dispatcher.atoms.fields(value).map_err(Wrong::fault)? {
                Some((data, backend)) => self.array(value, data, backend),
                None => self.convert(value),
            },
            kind @ (LGLSXP | INTSXP | REALSXP) if Rf_isObject(value) == 0 => self.data(value, kind),
            _ => self.convert(value),
        }
    }

    /// The name of an element: its bytes in UTF-8, up to seven of them with the length in one word.
    #[inline]
    fn name(&mut self, name: SEXP, i: usize) -> Result<(), Box<Wrong>> {
        // SAFETY: reading a variable of R.
        if name == unsafe { R_NaString } {
            return Err(Wrong::new(
                "value",
                "names that are not NA".into(),
                format!("NA as the name of element {}", i + 1),
            ));
        }
        let (flag, bytes) = statics::string_bytes(name).map_err(Wrong::fault)?;
        if flag == 0 && bytes.len() < 8 {
            let packed = bytes.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte));
            self.scratch.words.push(packed | (0x80 | bytes.len() as u64) << 56);
        } else {
            statics::encode_bytes(flag, bytes, &mut self.scratch.words);
        }
        Ok(())
    }

    #[inline]
    pub fn is_static(&self, name: SEXP) -> bool {
        let dispatcher = self.dispatcher;
        dispatcher.statics.contains(&name) || !dispatcher.statics_are_ascii && self.is_static_by_content(name)
    }

    /// Strings of R's cache are equal if they are the same, but for encodings.
    #[cold]
    fn is_static_by_content(&self, name: SEXP) -> bool {
        // SAFETY: reading the encoding of a string.
        if unsafe { Rf_getCharCE(name) } == CE_UTF8 {
            return false;
        }
        match statics::string_bytes(name) {
            Ok((0, bytes)) if !bytes.is_ascii() => self
                .dispatcher
                .statics
                .iter()
                .any(|&other| statics::string_bytes(other).is_ok_and(|(_, other)| other == bytes)),
            _ => false,
        }
    }

    /// Bare R data: a scalar or an array.
    #[inline]
    fn data(&mut self, x: SEXP, kind: std::ffi::c_uint) -> Result<(), Box<Wrong>> {
        let at = self.scratch.words.len() as u32;
        // SAFETY: reading attributes does not allocate; dimensions are an integer vector.
        unsafe {
            let dim = if ATTRIB(x) == nil() { nil() } else { Rf_getAttrib(x, R_DimSymbol) };
            if TYPEOF(dim) == INTSXP {
                let dim = slice(INTEGER_RO(dim), Rf_xlength(dim) as usize);
                self.scratch.words.push(DATA | u64::from(kind) << 8 | (dim.len() as u64) << 16);
                self.scratch.words.extend(dim.iter().map(|&n| n as u64));
            } else if Rf_xlength(x) == 1 {
                self.scratch.words.push(DATA | u64::from(kind) << 8);
            } else {
                return self.convert(x);
            }
        }
        self.scratch.leaves.push(Leaf { value: x, at, is_array: false });
        Ok(())
    }

    #[cold]
    pub(super) fn refused(&self, x: SEXP) -> Box<Wrong> {
        let expected = format!(
            "an AnvlArray of backend \"{}\", or a logical, integer or double scalar or array without a class",
            self.dispatcher.backend()
        );
        let array = match TYPEOF(x) {
            VECSXP => self.dispatcher.atoms.fields(x).ok().flatten(),
            _ => None,
        };
        let got = match array.map(|(_, backend)| describe::text(backend, 0)) {
            Some(Some(name)) => format!("an AnvlArray of backend \"{name}\""),
            Some(None) => "an AnvlArray without a backend".into(),
            None => describe::value(x),
        };
        Wrong::new("type", expected, got)
    }

    /// An `AnvlArray` with these fields.
    #[inline(always)]
    pub(super) fn array(&mut self, x: SEXP, data: SEXP, backend: SEXP) -> Result<(), Box<Wrong>> {
        if !self.dispatcher.is_pjrt {
            return self.foreign_array(x, data);
        }
        if backend != self.backend {
            // SAFETY: the vector has the element.
            let same = TYPEOF(backend) == STRSXP
                && Rf_xlength(backend) == 1
                && unsafe { STRING_ELT(backend, 0) } == self.dispatcher.backend;
            if !same {
                return Err(self.refused(x));
            }
            // Many arrays share it.
            self.backend = backend;
        }
        self.buffer(data)
    }

    /// The buffer of an array.
    #[inline]
    pub(super) fn buffer(&mut self, data: SEXP) -> Result<(), Box<Wrong>> {
        let address = match self.dispatcher.atoms.is_buffer(data) {
            // SAFETY: the object is a pointer.
            true => unsafe { R_ExternalPtrAddr(data) },
            false => std::ptr::null_mut(),
        };
        let address = match address.is_null() {
            false => address,
            true => BUFFER.address(data, "$data").map_err(Wrong::fault)?,
        };
        // SAFETY: the tag says that the address is that of an array's handle; R keeps it, and no R code runs here.
        let address = unsafe { NonNull::new_unchecked(address) };
        // SAFETY: as above.
        let array = unsafe { Array::from_handle_ref(&address) };
        if array.is_donated() {
            return Err(Wrong::donated());
        }
        self.place_array(array)?;
        let at = self.scratch.words.len() as u32;
        let shape = array.shape();
        self.scratch.words.push(ARRAY | (array.dtype() as u64) << 8 | (shape.len() as u64) << 16);
        for &n in shape {
            self.scratch.words.push(n as u64);
        }
        self.scratch.leaves.push(Leaf { value: data, at, is_array: true });
        Ok(())
    }

    /// The first array says where the call runs.
    #[inline]
    fn place_array(&mut self, array: &Array) -> Result<(), Box<Wrong>> {
        let device = array.device();
        match self.place {
            Place::Device(first) if first == device => Ok(()),
            Place::Device(first) if !self.dispatcher.move_inputs => Err(Wrong::device(first, device)),
            _ => {
                self.place = Place::Device(device);
                Ok(())
            }
        }
    }

    /// The array of another backend, which its `extractor` knows.
    fn foreign_array(&mut self, x: SEXP, data: SEXP) -> Result<(), Box<Wrong>> {
        let seen = place::extract(&self.dispatcher.atoms, self.dispatcher.callbacks.extractor, x)?;
        // SAFETY: the vector has the element.
        if unsafe { STRING_ELT(seen.backend, 0) } != self.dispatcher.backend {
            let (backend, got) =
                (self.dispatcher.backend(), describe::text(seen.backend, 0).unwrap_or_default());
            if backend != got {
                let expected = format!("an AnvlArray of backend \"{backend}\"");
                return Err(Wrong::new("type", expected, format!("one of backend \"{got}\"")));
            }
        }
        let mut is_first = false;
        if !self.dispatcher.move_inputs {
            match &self.place {
                Place::Object { device: first, .. } => {
                    if !place::same_device(*first, seen.device).map_err(Wrong::fault)? {
                        let (first, device) = (place::device_text(*first), place::device_text(seen.device));
                        return Err(Wrong::new(
                            "device",
                            format!("an array on {first}, where the first one is"),
                            format!("one on {device}"),
                        ));
                    }
                }
                // Kept below, with all that the extractor gave.
                _ => is_first = true,
            }
        }
        let words = &mut self.scratch.words;
        let at = words.len() as u32;
        let head = |rank: usize| ARRAY | (seen.dtype as u64) << 8 | (rank as u64) << 16;
        // SAFETY: the vector has as many elements, which R has made.
        unsafe {
            if TYPEOF(seen.shape) == INTSXP && Rf_isObject(seen.shape) == 0 && ALTREP(seen.shape) == 0 {
                let shape = slice(INTEGER_RO(seen.shape), Rf_xlength(seen.shape) as usize);
                words.push(head(shape.len()));
                words.extend(shape.iter().map(|&n| i64::from(n) as u64));
                if shape.iter().any(|&n| n < 0) {
                    return Err(place::wrong("`aval$shape`", "sizes", seen.shape));
                }
            } else if let Some(shape) = place::read_shape(seen.shape) {
                words.push(head(shape.len()));
                words.extend(shape.iter().map(|&n| n as u64));
            } else {
                return Err(place::wrong("`aval$shape`", "sizes", seen.shape));
            }
        }
        self.scratch.leaves.push(Leaf { value: data, at, is_array: true });
        if is_first {
            self.place = Place::Object { device: seen.device, _kept: seen.list };
        }
        Ok(())
    }
}
