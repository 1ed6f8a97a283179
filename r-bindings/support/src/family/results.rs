//! The results of a call as R objects.

use std::cell::RefCell;

use dispatch_runtime::array::Owner;
use dispatch_runtime::border::TreeVisitor;
use dispatch_runtime::{Array, Client, DType};
use smallvec::SmallVec;

use super::args::Shared;
use super::converted::Conversions;
use crate::anvl;
use crate::fault::{Fault, Result};
use crate::ffi::*;
use crate::main_thread::MainThread;
use crate::root::Root;
use crate::shared::abi::BufferOwner;
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
    pub(super) fn finish(
        &mut self,
        templates: &Templates,
        shared: &Shared,
        function: &str,
        converted: &Conversions,
    ) -> Result<SEXP> {
        if converted.writes_back() {
            return self.written_back(templates, shared, function, converted);
        }
        if let ([Step::Array], [array]) = (self.steps.as_slice(), self.arrays.as_slice()) {
            let known = templates.0.borrow();
            if let Some(template) = find(&known, array) {
                return give_one(self.arrays.pop().expect("one array"), template, shared);
            }
            drop(known);
            let template = templates.made(array, shared)?;
            return give_one(self.arrays.pop().expect("one array"), template.get(), shared);
        }
        let values = if self.arrays.is_empty() { nil() } else { give(&mut self.arrays, templates, shared)? };
        structured(values, &self.steps)
    }

    /// The R objects, where some are written back into objects that were converted.
    #[cold]
    fn written_back(
        &mut self,
        templates: &Templates,
        shared: &Shared,
        function: &str,
        converted: &Conversions,
    ) -> Result<SEXP> {
        let count = self.arrays.len();
        converted.wait(&self.arrays)?;
        let mut values = Root::new(give(&mut self.arrays, templates, shared)?)?;
        for i in 0..count {
            let array = match count {
                1 => values.get(),
                // SAFETY: it is a new list of as many.
                _ => unsafe { VECTOR_ELT(values.get(), i as Length) },
            };
            let Some(new) = converted.write_back(function, i, array)? else { continue };
            if count == 1 {
                values = new;
            } else {
                // SAFETY: as above; storing does not allocate.
                unsafe { SET_VECTOR_ELT(values.get(), i as Length, new.get()) };
            }
        }
        structured(values.get(), &self.steps)
    }
}

/// Gives an array to `pjrtdispatch`: an `AnvlArray`.
#[inline]
fn give_one(array: Array, template: SEXP, shared: &Shared) -> Result<SEXP> {
    if array.is_only() {
        let made = shared.room.new_arrays(shared.table, &[array.raw().as_ptr()], &[], &[template]);
        // On an error the array ends here.
        return made.inspect(|_| array.give_away());
    }
    let owner = owner(&array);
    let made = shared.room.new_arrays(shared.table, &[array.raw().as_ptr()], &[owner], &[template]);
    made.inspect_err(|_| end(&owner))
}

/// Gives arrays to `pjrtdispatch`: an `AnvlArray`, or a list of them.
fn give(arrays: &mut SmallVec<[Array; 4]>, templates: &Templates, shared: &Shared) -> Result<SEXP> {
    let mut kept: SmallVec<[Root; 4]> = SmallVec::new();
    for array in arrays.iter() {
        let known = find(&templates.0.borrow(), array);
        kept.push(match known {
            Some(template) => Root::new(template)?,
            None => templates.made(array, shared)?,
        });
    }
    let objects: SmallVec<[SEXP; 4]> = kept.iter().map(Root::get).collect();
    let buffers: SmallVec<[_; 4]> = arrays.iter().map(|array| array.raw().as_ptr()).collect();
    if arrays.iter().all(Array::is_only) {
        let made = shared.room.new_arrays(shared.table, &buffers, &[], &objects);
        return made.inspect(|_| arrays.drain(..).for_each(Array::give_away));
    }
    let owners: SmallVec<[_; 4]> = arrays.iter().map(owner).collect();
    let made = shared.room.new_arrays(shared.table, &buffers, &owners, &objects);
    made.inspect_err(|_| owners.iter().for_each(end))
}

/// R gets a reference to an array that somebody else refers to, too.
fn owner(array: &Array) -> BufferOwner {
    let Owner { object, donation, release } = array.clone().into_owner();
    BufferOwner { owner: object, donation: Some(donation), release: Some(release) }
}

/// Ends a reference that did not arrive.
#[cold]
fn end(owner: &BufferOwner) {
    if let Some(release) = owner.release {
        // SAFETY: the reference is still ours and is given up here, once.
        unsafe { release(owner.owner) };
    }
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
            && self.dims.len() == array.rank()
            // Few, for which a call of `memcmp` takes longer.
            && self.dims.iter().zip(array.shape()).all(|(a, b)| a == b)
            && self.device == array.device().index()
            && self.client == array.client()
    }
}

impl Templates {
    pub const fn new() -> Templates {
        Templates(RefCell::new(Vec::new()))
    }

    /// Forgets all, but not under a call.
    pub fn clear(&self) {
        if let Ok(mut all) = self.0.try_borrow_mut() {
            all.clear();
        }
    }

    /// Makes the template of an array, and keeps it for those to come.
    #[cold]
    fn made(&self, array: &Array, shared: &Shared) -> Result<Root> {
        let object = shared.room.template(shared.table, array)?;
        anvl::learn(object.get())?;
        let template = Template {
            client: array.client(),
            device: array.device().index(),
            dtype: array.dtype(),
            dims: array.shape().into(),
            object: Root::new(object.get())?,
        };
        // Not while R runs a finalizer, whose call this is, in one that uses a template.
        if let Ok(mut all) = self.0.try_borrow_mut() {
            if all.len() >= TEMPLATES {
                all.clear();
            }
            all.push(template);
        }
        Ok(object)
    }
}

/// The template of an array; none if there was no such array yet.
#[inline]
fn find(known: &[Template], array: &Array) -> Option<SEXP> {
    known.iter().find(|template| template.fits(array)).map(|template| template.object.get())
}
