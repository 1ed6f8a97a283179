//! The results of a call as R objects.

use std::cell::RefCell;

use dispatch_runtime::array::Owner;
use dispatch_runtime::border::TreeVisitor;
use dispatch_runtime::engine::RawBuffer;
use dispatch_runtime::{Array, Client, DType};
use smallvec::SmallVec;

use super::args::Shared;
use crate::anvl;
use crate::fault::{Fault, Result};
use crate::ffi::*;
use crate::main_thread::MainThread;
use crate::root::Root;
use crate::shared::abi::NewBuffer;
use crate::unwind::protect;

/// The arrays that a family gave, with their structure.
pub struct Results {
    arrays: SmallVec<[Array; 4]>,
    /// Empty as long as there is one array and no structure around it.
    steps: SmallVec<[Step; 8]>,
}

enum Step {
    Array,
    Begin(usize, Option<&'static [&'static str]>),
    End,
}

/// How deep results are nested at most; no type is so deep.
const DEPTH: usize = 64;

impl TreeVisitor for Results {
    #[inline]
    fn array(&mut self, array: Array) {
        self.arrays.push(array);
        self.steps.push(Step::Array);
    }

    fn begin(&mut self, len: usize, names: Option<&'static [&'static str]>) {
        self.steps.push(Step::Begin(len, names));
    }

    fn end(&mut self) {
        self.steps.push(Step::End);
    }
}

impl Results {
    #[inline]
    pub(super) fn new() -> Results {
        Results { arrays: SmallVec::new(), steps: SmallVec::new() }
    }

    /// The R objects: the buffers are given away, to be owned by R. The value is not protected.
    // Compiled once, not with every family.
    #[inline(never)]
    pub(super) fn finish(&mut self, templates: &Templates, shared: &Shared) -> Result<SEXP> {
        templates.prepare(&self.arrays, shared)?;
        if let [Step::Array] = self.steps.as_slice() {
            return give_one(self.arrays.pop().expect("a step for each array"), templates, shared);
        }
        let values = if self.arrays.is_empty() { nil() } else { give(&mut self.arrays, templates, shared)? };
        structured(values, &self.steps)
    }
}

/// A buffer on its way to R, which is ours until it has arrived.
struct Given {
    new: NewBuffer,
    client: Client,
    dtype: DType,
}

impl Given {
    /// The same with the sizes where they stay, since those of the array may go.
    #[inline]
    fn new(array: Array, dims: &[i64], shared: &Shared) -> Result<Given> {
        let (client, dtype) = (array.client(), array.dtype());
        let mut new = shared.room.describe(&array)?;
        new.dims = dims.as_ptr();
        if let Err(array) = array.into_raw() {
            // Somebody else refers to it: R gets a reference too.
            let Owner { object, donation, release } = array.into_owner();
            (new.owner, new.donation, new.release) = (object, Some(donation), Some(release));
        }
        Ok(Given { new, client, dtype })
    }

    /// Ends what did not arrive.
    #[cold]
    fn end(&self) {
        let new = &self.new;
        // SAFETY: the buffer, or the reference to it, is still ours and is given up here, once; dtype, sizes and device are
        // its own.
        unsafe {
            match new.release {
                Some(release) => release(new.owner),
                None => {
                    let buffer = RawBuffer::new(std::ptr::NonNull::new_unchecked(new.buffer));
                    let dims = crate::arg::slice(new.dims, new.rank);
                    drop(Array::from_raw(self.client, buffer, new.device as u32, self.dtype, dims));
                }
            }
        }
    }
}

/// Gives an array to `pjrtdispatch`: an `AnvlArray`.
#[inline]
fn give_one(array: Array, templates: &Templates, shared: &Shared) -> Result<SEXP> {
    let known = templates.0.borrow();
    let template = template(&known, &array);
    let given = Given::new(array, &template.dims, shared)?;
    let made =
        shared.room.new_arrays(shared.table, std::slice::from_ref(&given.new), &[template.object.get()]);
    made.inspect_err(|_| given.end())
}

/// Gives arrays to `pjrtdispatch`: an `AnvlArray`, or a list of them.
fn give(arrays: &mut SmallVec<[Array; 4]>, templates: &Templates, shared: &Shared) -> Result<SEXP> {
    let known = templates.0.borrow();
    let mut given: SmallVec<[Given; 4]> = SmallVec::new();
    let mut objects: SmallVec<[SEXP; 4]> = SmallVec::new();
    let mut failed = None;
    for array in arrays.drain(..) {
        let template = template(&known, &array);
        objects.push(template.object.get());
        match Given::new(array, &template.dims, shared) {
            Ok(one) => given.push(one),
            Err(fault) => failed = Some(fault),
        }
    }
    let buffers: SmallVec<[NewBuffer; 4]> = given.iter().map(|given| given.new).collect();
    let made = match failed {
        Some(fault) => Err(fault),
        None => shared.room.new_arrays(shared.table, &buffers, &objects),
    };
    made.inspect_err(|_| given.iter().for_each(Given::end))
}

/// The template of an array, which was made.
#[inline]
fn template<'a>(known: &'a [Template], array: &Array) -> &'a Template {
    known.iter().find(|template| template.fits(array)).expect("all templates are there")
}

/// Puts the arrays into lists: `values` is the only array or a list of all.
fn structured(values: SEXP, steps: &[Step]) -> Result<SEXP> {
    let values = Root::new(values)?;
    let mut names: SmallVec<[SEXP; 4]> = SmallVec::new();
    let (mut depth, mut count) = (0, 0);
    for step in steps {
        match step {
            Step::Array => count += 1,
            Step::End => depth -= 1,
            Step::Begin(_, texts) => {
                depth += 1;
                if depth > DEPTH {
                    return Err(Fault::new("value", format!("results are nested more than {DEPTH} deep")));
                }
                names.push(match texts {
                    Some(texts) => names_of(texts)?,
                    None => nil(),
                });
            }
        }
    }
    let (values, names) = (values.get(), names.as_slice());
    // SAFETY: each new list is kept by the one around it at once, and the outermost is protected. A list has as many elements
    // as its step says, and the values are there.
    protect(|| unsafe {
        let mut open = [(R_NilValue, 0 as Length); DEPTH + 1];
        let (mut level, mut array, mut list) = (0, 0, 0);
        let mut outermost = R_NilValue;
        for step in steps {
            let new = match step {
                Step::End => {
                    level -= 1;
                    continue;
                }
                Step::Array if count == 1 => values,
                Step::Array => VECTOR_ELT(values, array),
                Step::Begin(len, _) => Rf_allocVector(VECSXP, *len as Length),
            };
            if level == 0 {
                outermost = Rf_protect(new);
            } else {
                let (around, next) = &mut open[level];
                SET_VECTOR_ELT(*around, *next, new);
                *next += 1;
            }
            match step {
                Step::Begin(..) => {
                    if names[list] != R_NilValue {
                        Rf_setAttrib(new, R_NamesSymbol, names[list]);
                    }
                    list += 1;
                    level += 1;
                    open[level] = (new, 0);
                }
                _ => array += 1,
            }
        }
        Rf_unprotect(1);
        outermost
    })
}

/// The names of a struct's fields as R has them, made once.
fn names_of(texts: &'static [&'static str]) -> Result<SEXP> {
    type Known = (*const [&'static str], SEXP);
    static NAMES: MainThread<RefCell<Vec<Known>>> = MainThread::new(RefCell::new(Vec::new()));
    let find =
        || NAMES.get().borrow().iter().find(|(known, _)| std::ptr::eq(*known, texts)).map(|known| known.1);
    if let Some(names) = find() {
        return Ok(names);
    }
    let names = crate::make::strings(texts)?;
    let object = names.get();
    // SAFETY: the vector is kept by its root while it is preserved. It is shared, so R must not change it in place.
    protect(|| unsafe {
        MARK_NOT_MUTABLE(object);
        R_PreserveObject(object);
    })?;
    NAMES.get().borrow_mut().push((texts, object));
    Ok(object)
}

/// What results are made like: an `AnvlArray` without data for each dtype, shape and device that a family has given.
pub(super) struct Templates(RefCell<Vec<Template>>);

struct Template {
    client: Client,
    device: u32,
    dtype: DType,
    dims: Box<[i64]>,
    object: Root,
}

/// How many are kept.
const TEMPLATES: usize = 64;

impl Template {
    #[inline]
    fn fits(&self, array: &Array) -> bool {
        self.dtype == array.dtype()
            && *self.dims == *array.shape()
            && self.device == array.device().index()
            && self.client == array.client()
    }
}

impl Templates {
    pub const fn new() -> Templates {
        Templates(RefCell::new(Vec::new()))
    }

    /// Forgets all.
    pub fn clear(&self) {
        self.0.borrow_mut().clear();
    }

    /// Makes those that arrays need.
    #[inline]
    fn prepare(&self, arrays: &[Array], shared: &Shared) -> Result<()> {
        let all = &self.0;
        let is_new = |array: &&Array| !all.borrow().iter().any(|template| template.fits(array));
        match arrays.iter().find(is_new) {
            None => Ok(()),
            Some(_) => self.make(arrays, shared),
        }
    }

    #[cold]
    fn make(&self, arrays: &[Array], shared: &Shared) -> Result<()> {
        let all = &self.0;
        if all.borrow().len() > TEMPLATES {
            self.clear();
        }
        for array in arrays {
            if all.borrow().iter().any(|template| template.fits(array)) {
                continue;
            }
            let object = shared.room.template(shared.table, array)?;
            anvl::learn(object.get())?;
            all.borrow_mut().push(Template {
                client: array.client(),
                device: array.device().index(),
                dtype: array.dtype(),
                dims: array.shape().into(),
                object,
            });
        }
        Ok(())
    }
}
