//! What the key of an entry says, kept for people who ask why a later call is another one.
//!
//! A miss stores no words for people: they are made when somebody asks.

use dispatch_runtime::cache::Part;
use dispatch_runtime::{Aval, Device};

use super::call::Call;
use super::leaves;
use super::place::Place;
use crate::anvl::FIELDS;
use crate::data::elements;
use crate::describe;
use crate::fault::Result;
use crate::ffi::*;
use crate::root::Root;
use crate::statics;
use crate::tree::Tree;

/// The key of a call with the structure and the objects that its words are of.
pub(super) struct Signature {
    structure: Structure,
    words: Box<[u64]>,
    /// For each dynamic leaf where its words begin, and whether it is an array.
    leaves: Box<[(u32, bool)]>,
    device: Option<Device>,
    has_device_object: bool,
    has_context: bool,
    /// A list that the entry keeps: static values, the device, the context.
    kept: SEXP,
}

/// What the words of a call's key name by identity, and what explains them: a list of the static values, the device and
/// the context. What an entry needs besides comes after these: the objects `more`, and a template for each result, which
/// is made here; `at` is the device of the results.
pub(super) fn objects(call: &Call<'_>, more: &[SEXP], results: &[Aval], at: Option<Device>) -> Result<Root> {
    // With all arguments the buffers would be kept.
    let values = call.static_values();
    // R must not change them in place, whoever has them.
    // SAFETY: the values are objects of R.
    values.iter().for_each(|&x| unsafe { MARK_NOT_MUTABLE(x) });
    let values = &values;
    let device = match &call.place {
        Place::Object { device, .. } => *device,
        _ => nil(),
    };
    let context = call.context.as_ref().map_or_else(nil, Root::get);
    let at = at.map_or(Ok(nil()), crate::client::device_object)?;
    let atoms = &call.dispatcher.atoms;
    // SAFETY: the lists have room for what they get: objects that the call keeps, and new ones.
    Root::make(|| unsafe {
        let all = Rf_protect(Rf_allocVector(VECSXP, (OBJECTS + more.len() + results.len()) as Length));
        let list = Rf_allocVector(VECSXP, values.len() as Length);
        values.iter().enumerate().for_each(|(i, &x)| _ = SET_VECTOR_ELT(list, i as Length, x));
        for (i, x) in [list, device, context].into_iter().chain(more.iter().copied()).enumerate() {
            SET_VECTOR_ELT(all, i as Length, x);
        }
        for (i, aval) in results.iter().enumerate() {
            let template = Rf_allocVector(VECSXP, FIELDS.len() as Length);
            SET_VECTOR_ELT(all, (OBJECTS + more.len() + i) as Length, template);
            crate::anvl::make_template(template, atoms, aval, at);
        }
        Rf_unprotect(1);
        all
    })
}

/// How many objects a signature needs.
pub(super) const OBJECTS: usize = 3;

/// The structure of a call's arguments.
pub(super) struct Structure {
    pub tree: Tree,
    /// For each leaf whether it is static.
    pub is_static: Vec<bool>,
}

impl Signature {
    /// That of a call; `kept` is from [`objects`], and is kept by the caller.
    pub fn of(call: &Call<'_>, kept: SEXP, structure: Structure) -> Signature {
        Signature {
            structure,
            words: call.words().into(),
            leaves: call.leaves().iter().map(|leaf| (leaf.at, leaf.is_array)).collect(),
            device: match call.place {
                Place::Device(device) if !call.dispatcher.move_inputs => Some(device),
                _ => None,
            },
            has_device_object: matches!(call.place, Place::Object { .. }),
            has_context: call.context.is_some(),
            kept,
        }
    }

    /// The key for people: the structure, each leaf, the device and the context.
    pub fn parts(&self) -> Result<Vec<Part>> {
        // Whoever keeps the list may lose it while R runs.
        let kept = Root::new(self.kept)?;
        // SAFETY: the list has these elements.
        let (values, device, context) =
            unsafe { (VECTOR_ELT(kept.get(), 0), VECTOR_ELT(kept.get(), 1), VECTOR_ELT(kept.get(), 2)) };
        let (_, statics) = Tree::split(values, "args")?;
        let mut statics = statics.values.iter();
        let mut leaves = self.leaves.iter();
        let mut parts = Vec::with_capacity(self.structure.is_static.len() + 3);
        let mut part = |name: String, value: String| parts.push(Part { name, value });
        let Structure { tree, is_static } = &self.structure;
        part("the structure".into(), structure_text(tree));
        for (path, &is_static) in tree.paths().iter().zip(is_static) {
            let name = format!("`{path}`");
            match is_static {
                true => part(name, static_text(*statics.next().unwrap_or(&nil()))?),
                false => {
                    let &(at, is_array) = leaves.next().expect("as many leaves");
                    let aval = leaves::aval(&self.words[at as usize..], is_array);
                    let sizes: Vec<String> = aval.shape_i64().map(|n| n.to_string()).collect();
                    let kind = if is_array { "" } else { "bare " };
                    part(name, format!("{kind}{}[{}]", aval.dtype, sizes.join(",")));
                }
            }
        }
        if let Some(device) = self.device {
            part("the device".into(), device.to_string());
        }
        if self.has_device_object {
            part("the device".into(), static_text(device)?);
        }
        if self.has_context {
            part("the context".into(), static_text(context)?);
        }
        Ok(parts)
    }
}

/// A structure: as R writes it if that is short, else how it begins, with a number that tells two of them apart.
fn structure_text(tree: &Tree) -> String {
    let text = tree.repr();
    match text.char_indices().nth(200) {
        None => text,
        Some((end, _)) => {
            format!("{}… of {} leaves ({:06x})", &text[..end], tree.size(), tree.hash() & 0xff_ffff)
        }
    }
}

/// A static value: as R writes it if it is short, else what it is, with a number that tells two values apart.
fn static_text(x: SEXP) -> Result<String> {
    if let Some(text) = written_out(x)? {
        return Ok(text);
    }
    let mut words = Vec::new();
    statics::encode(x, &mut words)?;
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    for word in words {
        hash = (hash ^ word).wrapping_mul(0x0000_0100_0000_01b3);
        hash ^= hash >> 29;
    }
    Ok(format!("{} ({:06x})", describe::value(x), hash & 0xff_ffff))
}

/// How many characters a static value may take that is written out.
const SHORT: usize = 60;

/// A vector without attributes as R writes it, if that is short.
fn written_out(x: SEXP) -> Result<Option<String>> {
    let length = Rf_xlength(x);
    // SAFETY: reading the attributes.
    let plain = matches!(TYPEOF(x), LGLSXP | INTSXP | REALSXP | STRSXP) && unsafe { ATTRIB(x) } == nil();
    if !plain || !(1..=SHORT as Length).contains(&length) {
        return Ok(None);
    }
    // SAFETY: the vectors have elements of these types.
    let elements: Vec<String> = unsafe {
        match TYPEOF(x) {
            LGLSXP => elements::<i32>(x)?.iter().map(|&x| logical(x).to_owned()).collect(),
            INTSXP => elements::<i32>(x)?.iter().map(|&x| integer(x)).collect(),
            REALSXP => elements::<f64>(x)?.iter().map(|&x| double(x)).collect(),
            _ => {
                let texts = (0..length).map(|i| describe::text(x, i)).collect::<Option<Vec<_>>>();
                let Some(texts) = texts else { return Ok(None) };
                texts.iter().map(|text| format!("{text:?}")).collect()
            }
        }
    };
    let text = match elements.as_slice() {
        [one] => one.clone(),
        several => format!("c({})", several.join(", ")),
    };
    Ok((text.chars().count() <= SHORT).then_some(text))
}

fn logical(x: i32) -> &'static str {
    match x {
        NA_INTEGER => "NA",
        0 => "FALSE",
        _ => "TRUE",
    }
}

fn integer(x: i32) -> String {
    if x == NA_INTEGER { "NA_integer_".into() } else { format!("{x}L") }
}

fn double(x: f64) -> String {
    if R_IsNA(x) != 0 { "NA_real_".into() } else { format!("{x}") }
}
