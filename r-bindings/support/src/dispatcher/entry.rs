//! What a callback gives, checked, and kept for calls to come.

use std::ptr::NonNull;
use std::rc::Rc;

use dispatch_runtime::cache::Weigh;
use dispatch_runtime::{Array, Aval, Client, DType, Device, Executable};

use super::answer::{self, Answer, wrong};
use super::call::Call;
use super::held::Slot;
use super::leaves::Leaf;
use super::place::Place;
use super::signature::{self, OBJECTS, Signature, Structure};
use crate::describe::{self, counted};
use crate::fault::Result;
use crate::ffi::*;
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

    fn is_loaded(&self) -> bool {
        match &self.engine {
            Engine::Pjrt(program) => program.executable().compiled().is_loaded(),
            Engine::Closure(_) => false,
        }
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
    /// For each result an `AnvlArray` without data.
    pub templates: Box<[SEXP]>,
    /// The structure of the results, unless it is one result.
    pub structure: Option<Template>,
}

impl Program {
    /// What the results are.
    #[inline]
    pub fn outputs(&self) -> &[Aval] {
        self.executable().outputs()
    }

    #[inline]
    pub fn executable(&self) -> &Executable {
        // SAFETY: the entry keeps the R object that owns it.
        unsafe { self.executable.as_ref() }
    }
}

/// The entry that a callback's result describes.
pub(super) fn read(call: &Call<'_>, answer: SEXP, structure: Structure) -> Result<Entry> {
    let answer = Answer::of(answer)?;
    match call.dispatcher.is_pjrt {
        true => read_program(call, &answer, structure),
        false => read_closure(call, &answer, structure),
    }
}

fn read_closure(call: &Call<'_>, answer: &Answer, structure: Structure) -> Result<Entry> {
    let function = answer.r_fun;
    if !matches!(TYPEOF(function), CLOSXP | BUILTINSXP | SPECIALSXP) {
        return Err(wrong("r_fun", "a function", describe::value(function)));
    }
    for (i, dtype) in answer.input_dtypes(call)?.iter().flatten().enumerate() {
        if let Some(dtype) = dtype {
            return Err(wrong(
                "input_dtypes",
                format!("NA for all inputs, since backend \"{}\" uploads nothing", call.dispatcher.backend()),
                format!("\"{dtype}\" for `{}`", call.paths()?[i]),
            ));
        }
    }
    let list = signature::objects(call, &[function], &[], None)?;
    let kept = keep(call, &list, structure)?;
    Ok(Entry { engine: Engine::Closure(function), _kept: kept, bytes: 0 })
}

fn read_program(call: &Call<'_>, answer: &Answer, structure: Structure) -> Result<Entry> {
    let atoms = &call.dispatcher.atoms;
    let executable: &Executable = answer::handle(answer.exec, "exec")?;
    let client: &Client = answer::handle(answer.client, "client")?;
    let device: &Device = answer::handle(answer.device, "device")?;
    let out_tree: &Tree = answer::handle(answer.out_tree, "out_tree")?;
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
    let claimed = answer::avals(atoms, answer.out_avals, "out_avals", false)?;
    if out_tree.size() != outputs.len() {
        let expected = format!("a tree of as many leaves as `exec` has results, which are {}", outputs.len());
        return Err(wrong("out_tree", expected, out_tree.size()));
    }
    if claimed.len() != outputs.len() {
        let expected = format!("one aval per leaf of `out_tree`, which are {}", outputs.len());
        return Err(wrong("out_avals", expected, claimed.len()));
    }
    if let Some(i) = (0..outputs.len()).find(|&i| claimed[i] != outputs[i]) {
        let expected = format!("{} as result {}, which `exec` gives", describe::aval(&outputs[i]), i + 1);
        return Err(wrong("out_avals", expected, describe::aval(&claimed[i])));
    }

    let constants = answer.constants(device)?;
    let phantoms = match answer.phantom_specs {
        x if x == nil() => Vec::new(),
        x => answer::avals(atoms, x, "phantom_specs", true)?,
    };
    let takes = executable.inputs();
    let gets = constants.len() + inputs + phantoms.len();
    if takes.len() != gets {
        return Err(wrong(
            "exec",
            format!(
                "a program of {} ({}, {}, {})",
                counted(gets, "argument"),
                counted(constants.len(), "constant"),
                counted(inputs, "input"),
                counted(phantoms.len(), "phantom")
            ),
            format!("one of {}", takes.len()),
        ));
    }
    for (i, (constant, take)) in constants.iter().zip(takes).enumerate() {
        if constant.aval() != *take {
            let field = format!("const_arrays[[{}]]", i + 1);
            return Err(wrong(
                &field,
                format!("{}, which `exec` takes", describe::aval(take)),
                describe::aval(&constant.aval()),
            ));
        }
    }
    let uploads = read_uploads(call, answer, &takes[constants.len()..])?;
    for (i, (phantom, take)) in phantoms.iter().zip(&takes[constants.len() + inputs..]).enumerate() {
        if phantom != take {
            let field = format!("phantom_specs[[{}]]", i + 1);
            return Err(wrong(
                &field,
                format!("{}, which `exec` takes", describe::aval(take)),
                describe::aval(phantom),
            ));
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

    let of_results = match out_tree.root_kind() {
        crate::tree::NodeKind::Leaf => None,
        _ => Some(Template::new(out_tree.clone())?),
    };
    let list = signature::objects(call, &[answer.exec], outputs, Some(device))?;
    let kept = keep(call, &list, structure)?;
    // SAFETY: the list has the program and a template for each result behind what is in all of them.
    let templates =
        (0..outputs.len()).map(|i| unsafe { VECTOR_ELT(list.get(), (OBJECTS + 1 + i) as Length) }).collect();
    let program = Program {
        executable: NonNull::from(executable),
        device,
        constants,
        has_uploads: uploads.iter().any(Option::is_some),
        uploads,
        phantoms,
        donated,
        templates,
        structure: of_results,
    };
    let bytes = executable.compiled().size_bytes();
    Ok(Entry { engine: Engine::Pjrt(Box::new(program)), _kept: kept, bytes })
}

/// What the inputs are uploaded at, checked against what the program takes.
fn read_uploads(call: &Call<'_>, answer: &Answer, takes: &[Aval]) -> Result<Vec<Option<DType>>> {
    const FIELD: &str = "input_dtypes";
    let path = |i: usize| -> Result<String> { Ok(call.paths()?.swap_remove(i)) };
    let names = answer.input_dtypes(call)?;
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
            let got =
                Aval::try_new(dtype, &shape).map_or_else(|| "another".into(), |aval| describe::aval(&aval));
            let field = if leaf.is_array || dtype == take.dtype() { "exec" } else { FIELD };
            let expected = match field {
                "exec" => format!("a program that takes `{}` as {got}", path(i)?),
                _ => format!("{} for `{}`, which `exec` takes", take.dtype(), path(i)?),
            };
            let got = if field == "exec" { describe::aval(take) } else { dtype.to_string() };
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

/// Keeps a list of [`signature::objects`]; the signature of the call goes with it.
fn keep(call: &Call<'_>, list: &Root, structure: Structure) -> Result<(Slot, Rc<Signature>)> {
    let signature = Rc::new(Signature::of(call, list.get(), structure));
    let slot = call.dispatcher.held.keep(list.get())?;
    call.dispatcher.remember(&signature);
    Ok((slot, signature))
}
