//! What a callback gives, checked, and kept for calls to come.

use std::ptr::NonNull;
use std::rc::Rc;

use dispatch_runtime::cache::Weigh;
use dispatch_runtime::{Array, Aval, Client, DType, Device, Executable};

use super::call::{Call, Leaf};
use super::held::Slot;
use super::place::{self, Place};
use super::signature::{self, Signature};
use crate::arg::arg;
use crate::buffer;
use crate::describe;
use crate::fault::{Condition, Fault, Result};
use crate::ffi::*;
use crate::handle;
use crate::root::Root;
use crate::tree::{Template, Tree};

/// A compiled program of a dispatcher.
pub(super) struct Entry {
    pub engine: Engine,
    /// The R objects below, the static values of the key, and the device.
    _kept: (Slot, Rc<Signature>),
    bytes: u64,
}

// SAFETY: entries are only made, used and dropped on R's thread: a dispatcher is an object of R.
unsafe impl Send for Entry {}
// SAFETY: as above.
unsafe impl Sync for Entry {}

impl Weigh for Entry {
    fn bytes(&self) -> u64 {
        self.bytes
    }
}

/// How an entry runs.
pub(super) enum Engine {
    /// A compiled program of a plugin.
    Pjrt(Box<Program>),
    /// An R function of the dynamic leaves.
    Closure(SEXP),
}

/// A compiled program with all that a call needs.
pub(super) struct Program {
    /// Belongs to an R object that the entry keeps, and that nothing but R's collector ends.
    executable: NonNull<Executable>,
    pub device: Device,
    pub constants: Vec<Array>,
    /// For each dynamic leaf the dtype that it is uploaded at, if it is bare R data.
    pub uploads: Vec<Option<DType>>,
    pub has_uploads: bool,
    /// Each with whether it is written only, as memory of a result.
    pub phantoms: Vec<(Aval, bool)>,
    /// The dynamic leaves that are arrays and that the program consumes.
    pub donated: Vec<u32>,
    pub outputs: Box<[Aval]>,
    /// For each result an `AnvlArray` without data.
    pub templates: Box<[SEXP]>,
    /// The structure of the results, unless it is one result.
    pub structure: Option<Template>,
}

impl Program {
    #[inline]
    pub fn executable(&self) -> &Executable {
        // SAFETY: the entry keeps the R object that owns it.
        unsafe { self.executable.as_ref() }
    }
}

/// The error of a field of the callback's result.
#[cold]
pub(super) fn wrong(field: &str, expected: impl std::fmt::Display, got: impl std::fmt::Display) -> Fault {
    Fault::Condition(Box::new(Condition {
        code: "compile".into(),
        message: format!("the result of `compile`, field `{field}`: expected {expected}, got {got}"),
        argument: Some(field.to_owned()),
    }))
}

/// The result of a callback.
#[derive(Clone, Copy)]
struct Answer(SEXP);

impl Answer {
    fn get(self, field: &str) -> SEXP {
        place::field(self.0, field).unwrap_or(nil())
    }

    /// A field that may be missing or `NULL`.
    fn optional(self, field: &str) -> Option<SEXP> {
        place::field(self.0, field).filter(|&x| x != nil())
    }

    /// A handle.
    fn handle<'a, T: handle::Handle>(self, field: &str) -> Result<&'a T> {
        // SAFETY: the caller of `read` keeps the answer.
        unsafe { handle::get(self.get(field), field) }.map_err(|fault| in_field(fault, field))
    }
}

/// An error of a value as one of the field that it is in.
fn in_field(fault: Fault, field: &str) -> Fault {
    match fault {
        Fault::Condition(condition) => {
            let text = condition.message;
            let said = text.split_once("`: ").map_or(text.as_str(), |(_, said)| said);
            Fault::Condition(Box::new(Condition {
                code: "compile".into(),
                message: format!("the result of `compile`, field `{field}`: {said}"),
                argument: Some(field.to_owned()),
            }))
        }
        jump => jump,
    }
}

/// The entry that a callback's result describes.
pub(super) fn read(call: &Call<'_>, answer: SEXP) -> Result<Entry> {
    // SAFETY: reading the names of a list does not allocate.
    let named = || TYPEOF(unsafe { Rf_getAttrib(answer, R_NamesSymbol) }) == STRSXP;
    if TYPEOF(answer) != VECSXP || !named() {
        return Err(Fault::Condition(Box::new(Condition {
            code: "compile".into(),
            message: format!(
                "the result of `compile`: expected a named list, got {}",
                describe::value(answer)
            ),
            argument: None,
        })));
    }
    match call.dispatcher.is_pjrt {
        true => read_program(call, Answer(answer)),
        false => read_closure(call, Answer(answer)),
    }
}

fn read_closure(call: &Call<'_>, answer: Answer) -> Result<Entry> {
    let function = answer.get("r_fun");
    if !matches!(TYPEOF(function), CLOSXP | BUILTINSXP | SPECIALSXP) {
        return Err(wrong("r_fun", "a function", describe::value(function)));
    }
    for (i, dtype) in read_input_dtypes(call, answer)?.iter().flatten().enumerate() {
        if let Some(dtype) = dtype {
            return Err(wrong(
                "input_dtypes",
                format!("NA for all inputs, since backend \"{}\" uploads nothing", call.dispatcher.backend()),
                format!("\"{dtype}\" for `{}`", call.paths()?[i]),
            ));
        }
    }
    let kept = keep(call, &[function])?;
    Ok(Entry { engine: Engine::Closure(function), _kept: kept, bytes: 0 })
}

/// One dtype, or none, for each dynamic leaf; nothing if the field is missing.
fn read_input_dtypes(call: &Call<'_>, answer: Answer) -> Result<Option<Vec<Option<String>>>> {
    const FIELD: &str = "input_dtypes";
    let Some(x) = answer.optional(FIELD) else { return Ok(None) };
    // A vector of nothing but NA is logical, unless somebody thinks of `NA_character_`.
    // SAFETY: the vector has as many elements.
    let all_na = TYPEOF(x) == LGLSXP
        && (0..Rf_xlength(x)).all(|i| unsafe { *LOGICAL_RO(x).add(i as usize) } == NA_INTEGER);
    if TYPEOF(x) != STRSXP && !all_na {
        return Err(wrong(FIELD, "a character vector", describe::value(x)));
    }
    let (length, inputs) = (Rf_xlength(x) as usize, call.leaves().len());
    if length != inputs {
        return Err(wrong(FIELD, format!("one entry per dynamic leaf, which are {inputs}"), length));
    }
    Ok(Some((0..length as Length).map(|i| if all_na { None } else { describe::text(x, i) }).collect()))
}

fn read_program(call: &Call<'_>, answer: Answer) -> Result<Entry> {
    let executable: &Executable = answer.handle("exec")?;
    let client: &Client = answer.handle("client")?;
    let device: &Device = answer.handle("device")?;
    let out_tree: &Tree = answer.handle("out_tree")?;
    let (device, inputs) = (*device, call.leaves().len());
    if device.client() != *client {
        return Err(wrong("device", format!("a device of {client}, as `client` says"), format!("{device}")));
    }
    if executable.device() != device {
        return Err(wrong(
            "device",
            format!("{}, which `exec` is compiled for", executable.device()),
            device,
        ));
    }
    if let Place::Device(asked) = call.place {
        if !call.dispatcher.move_inputs && asked != device {
            return Err(wrong("device", format!("{asked}, the device of the call"), device));
        }
    }

    let outputs = executable.outputs();
    let claimed = read_avals(answer.get("out_avals"), "out_avals", false)?;
    if out_tree.size() != outputs.len() {
        let expected = format!("a tree of as many leaves as `exec` has results, which are {}", outputs.len());
        return Err(wrong("out_tree", expected, out_tree.size()));
    }
    if claimed.len() != outputs.len() {
        let expected = format!("one aval per leaf of `out_tree`, which are {}", outputs.len());
        return Err(wrong("out_avals", expected, claimed.len()));
    }
    if let Some(i) = (0..outputs.len()).find(|&i| claimed[i] != outputs[i]) {
        let expected = format!("{} as result {}, which `exec` gives", short(&outputs[i]), i + 1);
        return Err(wrong("out_avals", expected, short(&claimed[i])));
    }

    let constants = read_constants(answer, device)?;
    let phantoms = match answer.optional("phantom_specs") {
        Some(x) => read_avals(x, "phantom_specs", true)?,
        None => Vec::new(),
    };
    let takes = executable.inputs();
    let gets = constants.len() + inputs + phantoms.len();
    if takes.len() != gets {
        return Err(wrong(
            "exec",
            format!(
                "a program of {gets} arguments ({} constants, {inputs} inputs, {} phantoms)",
                constants.len(),
                phantoms.len()
            ),
            format!("one of {}", takes.len()),
        ));
    }
    for (i, (constant, take)) in constants.iter().zip(takes).enumerate() {
        if constant.aval() != *take {
            let field = format!("const_arrays[[{}]]", i + 1);
            return Err(wrong(
                &field,
                format!("{}, which `exec` takes", short(take)),
                short(&constant.aval()),
            ));
        }
    }
    let uploads = read_uploads(call, answer, &takes[constants.len()..])?;
    for (i, (phantom, take)) in phantoms.iter().zip(&takes[constants.len() + inputs..]).enumerate() {
        if phantom != take {
            let field = format!("phantom_specs[[{}]]", i + 1);
            return Err(wrong(&field, format!("{}, which `exec` takes", short(take)), short(phantom)));
        }
    }
    let aliased = executable.compiled().aliased();
    if let Some(i) = (0..constants.len()).find(|&i| aliased[i]) {
        let field = format!("const_arrays[[{}]]", i + 1);
        return Err(wrong(&field, "an argument that `exec` leaves as it is", "one that it consumes"));
    }
    let phantoms = phantoms.into_iter().zip(aliased[constants.len() + inputs..].iter().copied()).collect();
    let donated = (0..inputs as u32)
        .filter(|&i| aliased[constants.len() + i as usize] && call.leaves()[i as usize].is_array)
        .collect();

    let templates = make_templates(call, outputs, device)?;
    let structure = match out_tree.root_kind() {
        crate::tree::NodeKind::Leaf => None,
        _ => Some(Template::new(out_tree.clone())?),
    };
    let kept = keep(call, &[answer.get("exec"), templates.get()])?;
    // SAFETY: the list has an element for each result.
    let elements = (0..outputs.len() as Length).map(|i| unsafe { VECTOR_ELT(templates.get(), i) }).collect();
    let program = Program {
        executable: NonNull::from(executable),
        device,
        constants,
        has_uploads: uploads.iter().any(Option::is_some),
        uploads,
        phantoms,
        donated,
        outputs: outputs.into(),
        templates: elements,
        structure,
    };
    let bytes = executable.compiled().size_bytes();
    Ok(Entry { engine: Engine::Pjrt(Box::new(program)), _kept: kept, bytes })
}

/// What the inputs are uploaded at, checked against what the program takes.
fn read_uploads(call: &Call<'_>, answer: Answer, takes: &[Aval]) -> Result<Vec<Option<DType>>> {
    const FIELD: &str = "input_dtypes";
    let path = |i: usize| -> Result<String> { Ok(call.paths()?.swap_remove(i)) };
    let names = read_input_dtypes(call, answer)?;
    let mut uploads = Vec::with_capacity(call.leaves().len());
    for (i, &leaf) in call.leaves().iter().enumerate() {
        let aval = call.aval(leaf);
        let name = names.as_ref().and_then(|names| names[i].as_deref());
        let upload = match (leaf.is_array, name) {
            (true, None) => None,
            (true, Some(name)) => {
                let expected = format!("NA for the array `{}`, which is supplied as it is", path(i)?);
                return Err(wrong(FIELD, expected, format!("\"{name}\"")));
            }
            (false, None) => {
                let expected = format!("a dtype for the {} input `{}`", aval.dtype, path(i)?);
                let got = if names.is_none() { "no such field" } else { "NA" };
                return Err(wrong(FIELD, expected, got));
            }
            (false, Some(name)) => {
                let Ok(dtype) = name.parse::<DType>() else {
                    return Err(wrong(FIELD, format!("a dtype for `{}`", path(i)?), format!("\"{name}\"")));
                };
                let fits = match u32::from(call.type_code(leaf)) {
                    LGLSXP => dtype == DType::Bool,
                    INTSXP => dtype != DType::Bool,
                    _ => true,
                };
                if !fits {
                    let expected = format!("a dtype that the {} input `{}` can have", aval.dtype, path(i)?);
                    return Err(wrong(FIELD, expected, format!("\"{name}\"")));
                }
                Some(dtype)
            }
        };
        let (take, shape) = (&takes[i], aval.shape_i64());
        let dtype = upload.unwrap_or_else(|| array_dtype(call, leaf));
        if dtype != take.dtype() || !shape.clone_eq(take.shape()) {
            let shape: Vec<i64> = aval.shape_i64().collect();
            let got = Aval::try_new(dtype, &shape).map_or_else(|| "another".into(), |aval| short(&aval));
            let field = if leaf.is_array || dtype == take.dtype() { "exec" } else { FIELD };
            let expected = match field {
                "exec" => format!("a program that takes `{}` as {got}", path(i)?),
                _ => format!("{} for `{}`, which `exec` takes", take.dtype(), path(i)?),
            };
            let got = if field == "exec" { short(take) } else { dtype.to_string() };
            return Err(wrong(field, expected, got));
        }
        uploads.push(upload);
    }
    Ok(uploads)
}

trait CloneEq {
    fn clone_eq(self, shape: &[i64]) -> bool;
}

impl<I: ExactSizeIterator<Item = i64>> CloneEq for I {
    fn clone_eq(self, shape: &[i64]) -> bool {
        self.len() == shape.len() && self.zip(shape).all(|(a, &b)| a == b)
    }
}

fn array_dtype(call: &Call<'_>, leaf: Leaf) -> DType {
    let code = call.type_code(leaf);
    *DType::ALL.iter().find(|&&dtype| dtype as u8 == code).expect("a dtype")
}

fn read_constants(answer: Answer, device: Device) -> Result<Vec<Array>> {
    const FIELD: &str = "const_arrays";
    let Some(x) = answer.optional(FIELD) else { return Ok(Vec::new()) };
    if TYPEOF(x) != VECSXP {
        return Err(wrong(FIELD, "a list of buffers", describe::value(x)));
    }
    (0..Rf_xlength(x))
        .map(|i| {
            let field = format!("{FIELD}[[{}]]", i + 1);
            // SAFETY: the list has the element.
            let x = unsafe { VECTOR_ELT(x, i) };
            let array = buffer::get_sexp(x, &field).map_err(|fault| in_field(fault, &field))?;
            if array.is_donated() {
                return Err(wrong(&field, "a buffer that is alive", "one that was donated"));
            }
            if array.device() != device {
                return Err(wrong(
                    &field,
                    format!("a buffer on {device}"),
                    format!("one on {}", array.device()),
                ));
            }
            Ok(array)
        })
        .collect()
}

/// A list of `list(dtype, shape)`.
fn read_avals(x: SEXP, field: &str, optional: bool) -> Result<Vec<Aval>> {
    if TYPEOF(x) != VECSXP {
        let expected = if optional { "a list of lists, or nothing" } else { "a list of lists" };
        return Err(wrong(field, expected, describe::value(x)));
    }
    (0..Rf_xlength(x))
        .map(|i| {
            let at = |name: &str| format!("{field}[[{}]]{name}", i + 1);
            // SAFETY: the list has the element.
            let x = unsafe { VECTOR_ELT(x, i) };
            if TYPEOF(x) != VECSXP {
                return Err(wrong(&at(""), "a list of dtype and shape", describe::value(x)));
            }
            let dtype = place::field(x, "dtype").unwrap_or(nil());
            let Some(dtype) = place::read_dtype(dtype)? else {
                return Err(wrong(&at("$dtype"), "a dtype", place::describe_dtype(dtype)));
            };
            let shape = place::field(x, "shape").unwrap_or(nil());
            let sizes = savvy::Sexp(shape);
            let sizes = arg(&sizes, "shape").shape();
            sizes
                .ok()
                .and_then(|sizes| Aval::try_new(dtype, sizes))
                .ok_or_else(|| wrong(&at("$shape"), "the sizes of an array", describe::value(shape)))
        })
        .collect()
}

/// `f32[2,3]`
pub(super) fn short(aval: &Aval) -> String {
    let sizes: Vec<String> = aval.shape().iter().map(ToString::to_string).collect();
    format!("{}[{}]", aval.dtype(), sizes.join(","))
}

/// A list with an `AnvlArray` without data for each result.
fn make_templates(call: &Call<'_>, outputs: &[Aval], device: Device) -> Result<Root> {
    let atoms = call.dispatcher.atoms;
    let device = crate::client::device_object(device)?;
    let parts: Vec<(Root, Root)> = outputs
        .iter()
        .map(|aval| {
            let dtype = crate::make::string(aval.dtype().r_name())?;
            crate::make::set_class(dtype.get(), atoms.dtype_class)?;
            Ok((dtype, crate::make::sizes(aval.shape())?))
        })
        .collect::<Result<_>>()?;
    let parts = &parts;
    let backend = atoms.pjrt;
    // SAFETY: list and templates are protected until they are one object, and have room for what they get.
    Root::make(|| unsafe {
        let list = Rf_protect(Rf_allocVector(VECSXP, parts.len() as Length));
        for (i, (dtype, shape)) in parts.iter().enumerate() {
            let x = Rf_allocVector(VECSXP, 5);
            SET_VECTOR_ELT(list, i as Length, x);
            for (k, part) in [nil(), dtype.get(), shape.get(), device, backend].into_iter().enumerate() {
                MARK_NOT_MUTABLE(part);
                SET_VECTOR_ELT(x, k as Length, part);
            }
            Rf_setAttrib(x, R_NamesSymbol, atoms.names);
            Rf_setAttrib(x, R_ClassSymbol, atoms.class);
            MARK_NOT_MUTABLE(x);
        }
        Rf_unprotect(1);
        list
    })
}

/// Keeps these objects, and what the words of the key name by identity; the signature of the call goes with them.
fn keep(call: &Call<'_>, objects: &[SEXP]) -> Result<(Slot, Rc<Signature>)> {
    let list = signature::objects(call, objects)?;
    let signature = Signature::of(call, list.get())?;
    let slot = call.dispatcher.held.keep(list.get())?;
    call.dispatcher.remember(&signature);
    Ok((slot, signature))
}
