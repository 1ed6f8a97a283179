//! The reference reading of a call: slow, complete, and the source of every message about what a program passes.
//!
//! The code that decodes a call only says yes or no. On a no, [`Call::refuse`] reads the signature as data and finds the
//! words. It also mends what is no fault of the program but nothing that the fast code wants to know about.

use super::attribute::{Dictionary, Mismatch};
use super::buffer::find_no_bool;
use super::frame::Call;
use super::slot::Slot;
use super::spec::{AttrSpec, Spec};
use super::{DataType, Error, Result, mend};
use crate::aval::shape_text;
use crate::error::counted;
use crate::signature::{DTypeSpec, Scope, check_shapes};
use crate::{DType, Error as CallError};

impl<'a> Call<'a> {
    /// What to do with a call that the handler's own code did not take: finds what is wrong, or mends it and makes the
    /// call `again`.
    #[cold]
    pub fn refuse(&self, again: fn(&Call<'_>) -> Result<()>) -> Result<()> {
        self.refuse_for(&again)
    }

    /// [`Call::refuse`] for code with data.
    pub(super) fn refuse_for(&self, again: &dyn Fn(&Call<'_>) -> Result<()>) -> Result<()> {
        let named = |error: Error| error.context(format_args!("handler `{}`", self.spec().name));
        self.check().map_err(named)?;
        if !self.is_mended() {
            if let Some(mended) = mend::mended(self) {
                return again(&mended);
            }
        }
        self.check_bools().map_err(named)?;
        // No call comes here unless the code and the reference disagree.
        Err(named(Error::internal("refuses a call that its signature allows")))
    }

    /// Whether every attribute is one of the handler's, or of the handlers of its other stages.
    pub fn knows_attrs(&self) -> bool {
        let (spec, dictionary) = (self.spec(), self.dictionary());
        let own = |name: &[u8]| spec.attrs.iter().any(|attr| attr.name.as_bytes() == name);
        let known = |name: &[u8]| own(name) || spec.is_of_other_stage(name);
        spec.allows_others() || (0..dictionary.len()).all(|i| dictionary.name(i).is_some_and(known))
    }

    /// Finds the first thing that is wrong.
    fn check(&self) -> Result<()> {
        let spec = self.spec();
        check_count(spec, true, self.arg_count()).map_err(Error::invalid_argument)?;
        check_count(spec, false, self.ret_count()).map_err(Error::invalid_argument)?;
        let rets = &spec.params[spec.args..];

        let mut slots = Vec::new();
        let mut shapes = Vec::new();
        for field in 0..spec.scope.fields.len() {
            let slot = self.field(field)?;
            shapes.push(slot.map(|slot| geometry(slot).map_err(|e| e.at(&self.place(field)))).transpose()?);
            slots.push(slot);
        }
        self.check_dtypes(&slots)?;
        check_shapes(&spec.scope, &shapes).map_err(|(field, error)| match error {
            CallError::Shape { expected, got, .. } => {
                let place = self.place(field);
                Error::invalid_argument(format!("{place}: expected shape {expected}, got {got}"))
            }
            other => other.into(),
        })?;
        for (field, slot) in slots.iter().enumerate() {
            if let Some(slot) = slot {
                check_data(*slot).map_err(|wrong| wrong.at(&self.place(field)))?;
            }
        }
        self.check_rest("argument", spec.args, self.arg_count(), spec.rest_args, |i| self.arg_slot(i))?;
        self.check_rest("result", rets.len(), self.ret_count(), spec.rest_rets, |i| self.ret_slot(i))?;
        self.check_results()?;
        match members(spec.name, spec.attrs, self.dictionary(), spec.allows_others(), &|name| {
            spec.is_of_other_stage(name)
        }) {
            Some(Mismatch { path, wrong }) if path.is_empty() => Err(Error::invalid_argument(wrong)),
            Some(Mismatch { path, wrong }) => {
                Err(Error::invalid_argument(format!("attribute `{path}`: {wrong}")))
            }
            None => Ok(()),
        }
    }

    /// `argument `x``, by the place in the scope.
    fn place(&self, field: usize) -> String {
        let role = if field < self.spec().args { "argument" } else { "result" };
        format!("{role} `{}`", self.spec().scope.fields[field].name)
    }

    /// The buffer of a field; none if it is absent.
    fn field(&self, field: usize) -> Result<Option<Slot<'a>>> {
        let args = self.spec().args;
        let (count, slot) = match field.checked_sub(args) {
            None => (self.arg_count(), self.arg_slot(field)),
            Some(i) => (self.ret_count(), self.ret_slot(i)),
        };
        match slot {
            None if field.checked_sub(args).unwrap_or(field) < count => {
                Err(Wrong("it is no buffer, or a malformed one".into()).at(&self.place(field)))
            }
            slot => Ok(slot),
        }
    }

    fn check_dtypes(&self, slots: &[Option<Slot<'a>>]) -> Result<()> {
        let types: Vec<_> = slots.iter().map(|slot| slot.map(Slot::data_type)).collect();
        check_dtypes(&self.spec().scope, &types)
            .map_err(|(field, wrong)| Error::invalid_argument(format!("{}: {wrong}", self.place(field))))?;
        let sized = |slot: &Option<Slot<'_>>| {
            slot.is_some_and(|slot| slot.data_type() == DataType::TOKEN && slot.rank() != 0)
        };
        match slots.iter().position(sized) {
            Some(field) => Err(Error::invalid_argument(format!(
                "{}: expected a token, got one with sizes",
                self.place(field)
            ))),
            None => Ok(()),
        }
    }

    fn check_rest(
        &self,
        role: &str,
        from: usize,
        count: usize,
        name: Option<&str>,
        slot: impl Fn(usize) -> Option<Slot<'a>>,
    ) -> Result<()> {
        let Some(name) = name else { return Ok(()) };
        for i in from..count {
            let place = format!("{role} `{name}[{}]`", i - from);
            let slot =
                slot(i).ok_or_else(|| Wrong("it is no buffer, or a malformed one".into()).at(&place))?;
            geometry(slot).map_err(|wrong| wrong.at(&place))?;
            if slot.data_type().bits().is_none() {
                let got = slot.data_type();
                return Err(Error::invalid_argument(format!("{place}: expected a dtype, got {got}")));
            }
            check_data(slot).map_err(|wrong| wrong.at(&place))?;
        }
        Ok(())
    }

    /// Results are apart from each other, and as large as the arguments whose contents they take over.
    fn check_results(&self) -> Result<()> {
        let spec = self.spec();
        let name = |i: usize| match spec.scope.fields.get(spec.args + i) {
            Some(field) => format!("`{}`", field.name),
            None => {
                let first = spec.scope.fields.len() - spec.args;
                format!("`{}[{}]`", spec.rest_rets.unwrap_or_default(), i - first)
            }
        };
        let spans: Vec<_> = (0..self.ret_count()).map(|i| mend::span(self.ret_slot(i))).collect();
        for (i, span) in spans.iter().enumerate() {
            if let Some(j) = spans[..i].iter().position(|other| other.overlaps(*span)) {
                let (i, j) = (name(i), name(j));
                return Err(Error::invalid_argument(format!("result {i}: it shares memory with result {j}")));
            }
            let alias = spec.params.get(spec.args + i).and_then(|param| param.alias);
            let Some(argument) = alias else { continue };
            let from = mend::span(self.arg_slot(argument));
            let (from, to) = (from.bytes, span.bytes);
            if from != to {
                return Err(Error::invalid_argument(format!(
                    "result {}: it takes over the contents of `{}`, so expected {}, got {}",
                    name(i),
                    spec.scope.fields[argument].name,
                    counted(from, "byte"),
                    counted(to, "byte")
                )));
            }
        }
        Ok(())
    }

    /// The first argument of `bool`s that has a byte which is none.
    fn check_bools(&self) -> Result<()> {
        for i in 0..self.arg_count() {
            let Some(slot) = self.arg_slot(i) else { continue };
            let extent = slot.extent(1).filter(|_| slot.data_type() == DataType::of(DType::Bool));
            let Some((len, data)) = extent.and_then(|e| Some((e.len, slot.pointer::<u8>(e.bytes)?))) else {
                continue;
            };
            // SAFETY: the buffer is as large as its sizes say.
            if let Some(at) = unsafe { find_no_bool(data, len) } {
                // SAFETY: as above.
                let byte = unsafe { data.add(at).read() };
                let place = match self.spec().scope.fields.get(i) {
                    Some(_) if i < self.spec().args => self.place(i),
                    _ => format!("argument {}", i + 1),
                };
                return Err(Error::invalid_argument(format!(
                    "{place}: expected bool, got the byte {byte} at element {at}"
                )));
            }
        }
        Ok(())
    }
}

/// Whether a call may have so many arguments, or results.
pub(crate) fn check_count(spec: &Spec, arguments: bool, got: usize) -> Result<(), String> {
    let (args, rets) = spec.params.split_at(spec.args);
    let (role, first, params, rest) = match arguments {
        true => ("argument", 0, args, spec.rest_args),
        false => ("result", spec.args, rets, spec.rest_rets),
    };
    let (least, most) = (params.iter().filter(|param| !param.optional).count(), params.len());
    if got >= least && (got <= most || rest.is_some()) {
        return Ok(());
    }
    let expected = match (least == most, rest) {
        (_, Some(_)) => format!("at least {}", counted(least, role)),
        (true, _) => counted(least, role),
        (false, _) => format!("{least} to {}", counted(most, role)),
    };
    let missing = match got < least {
        true => format!(", without `{}`", spec.scope.fields[first + got].name),
        false => String::new(),
    };
    Err(format!("expected {expected}, got {got}{missing}"))
}

/// The first field whose dtype is wrong, and why; absent fields have none.
pub(crate) fn check_dtypes(scope: &Scope, types: &[Option<DataType>]) -> Result<(), (usize, String)> {
    for (field, got) in types.iter().enumerate() {
        let Some(got) = *got else { continue };
        let wrong = |expected: String| Err((field, format!("expected dtype {expected}, got {got}")));
        if scope.fields[field].leaf.is_none() {
            if got != DataType::TOKEN {
                return Err((field, format!("expected a token, got a buffer of {got}")));
            }
            continue;
        }
        let (root, allowed) = scope.dtype_root(field);
        let fits = match allowed {
            DTypeSpec::Any => got.bits().is_some(),
            allowed => got.dtype().is_some_and(|dtype| allowed.allows(dtype)),
        };
        if !fits {
            return wrong(dtypes_text(allowed));
        }
        let tied = |other: &usize| scope.fields[*other].leaf.is_some() && scope.dtype_root(*other).0 == root;
        let first = (0..field).filter(tied).find_map(|other| Some((other, types[other]?)));
        if let Some((other, dtype)) = first.filter(|(_, dtype)| *dtype != got) {
            return wrong(format!("{dtype}, the dtype of `{}`", scope.fields[other].name));
        }
    }
    Ok(())
}

/// Something wrong with a buffer that a sound program cannot cause.
pub(super) struct Wrong(String);

impl Wrong {
    fn at(self, place: &str) -> Error {
        Error::internal(format!("{place}: {}", self.0))
    }
}

/// The sizes of a buffer, if they can be those of an array.
fn geometry(slot: Slot<'_>) -> Result<&[i64], Wrong> {
    let Some(dims) = slot.dims() else {
        return Err(Wrong(match slot.rank() {
            rank if rank < 0 => format!("its rank is {rank}"),
            rank => format!("its rank is {rank}, but its sizes are null"),
        }));
    };
    let extent = if slot.data_type().bits().is_some() { slot.own_extent() } else { slot.extent(1) };
    if extent.is_none() {
        return Err(Wrong(format!("no array has the shape {}", shape_text(dims))));
    }
    Ok(dims)
}

/// The data are there, and aligned.
fn check_data(slot: Slot<'_>) -> Result<(), Wrong> {
    let Some(extent) = slot.own_extent() else { return Ok(()) };
    if extent.bytes > 0 && slot.data().is_null() {
        return Err(Wrong(format!("its data are null, though there are {}", counted(extent.bytes, "byte"))));
    }
    let align = slot.data_type().dtype().map_or(1, alignment);
    if extent.bytes > 0 && slot.data() as usize % align != 0 {
        return Err(Wrong(format!("its data at {:?} are not aligned to {align} bytes", slot.data())));
    }
    Ok(())
}

/// What keeps a buffer of the right dtype from being a slice of it.
pub(super) fn no_slice(slot: Slot<'_>) -> Option<String> {
    let wrong = geometry(slot).err().or_else(|| check_data(slot).err());
    wrong.map(|wrong| wrong.0).or_else(|| {
        let extent = slot.extent(1).filter(|_| slot.data_type() == DataType::of(DType::Bool))?;
        // SAFETY: the buffer is as large as its sizes say.
        let at = unsafe { find_no_bool(slot.pointer(extent.bytes)?, extent.len) }?;
        Some(format!("expected bool, got another byte at element {at}"))
    })
}

/// The alignment of an element in Rust.
#[inline(always)]
pub(super) const fn alignment(dtype: DType) -> usize {
    match dtype {
        DType::C64 => align_of::<f32>(),
        DType::C128 => align_of::<f64>(),
        dtype => dtype.size(),
    }
}

/// `f32`, `f32 or f64`, in the spelling of the signature language.
pub(super) fn dtypes_text(allowed: DTypeSpec) -> String {
    if let DTypeSpec::Any = allowed {
        return "any".to_owned();
    }
    // A choice keeps its order.
    let mut names: Vec<&str> = match allowed {
        DTypeSpec::Choice(list) => list.iter().map(|dtype| dtype.name()).collect(),
        allowed => {
            DType::ALL.iter().filter(|dtype| allowed.allows(**dtype)).map(|dtype| dtype.name()).collect()
        }
    };
    let last = names.pop().unwrap_or_default();
    if names.is_empty() { last.to_owned() } else { format!("{} or {last}", names.join(", ")) }
}

/// Finds the first of the attributes, or of the members of a struct, that is wrong. `owner` has them; others are no error
/// if they are `elsewhere`, or all of them if it is `open`.
pub(super) fn members(
    owner: &str,
    specs: &[AttrSpec],
    dictionary: Dictionary<'_>,
    open: bool,
    elsewhere: &dyn Fn(&[u8]) -> bool,
) -> Option<Mismatch> {
    let mut known = vec![false; specs.len()];
    let mut unknown: Vec<&[u8]> = Vec::new();
    for i in 0..dictionary.len() {
        let Some(name) = dictionary.name(i) else {
            return Mismatch::of(format!("malformed call frame: attribute {i} has no name"));
        };
        match specs.iter().position(|spec| spec.name.as_bytes() == name) {
            Some(at) if std::mem::replace(&mut known[at], true) => {
                return Some(Mismatch::of("it is given twice".into())?.inside(specs[at].name));
            }
            Some(_) => {}
            None if elsewhere(name) => {}
            None => unknown.push(name),
        }
    }
    // A missing one may be there under a name that is nearly its own.
    for (spec, known) in specs.iter().zip(&known) {
        if *known || (spec.optional && (open || unknown.is_empty())) {
            continue;
        }
        let missing = || format!("expected {}, got none", spec.r#type);
        match nearest(spec.name, unknown.iter().copied()).filter(|_| !open || !spec.optional) {
            Some(near) => {
                let wrong = format!("`{owner}` has no such attribute; did you mean `{}`?", spec.name);
                return Some(Mismatch::of(wrong)?.inside(&near));
            }
            None if !spec.optional => return Some(Mismatch::of(missing())?.inside(spec.name)),
            None => {}
        }
    }
    for spec in specs {
        let Some(i) = dictionary.find(spec.name) else { continue };
        let wrong = match dictionary.at(i) {
            Some(attr) => spec.r#type.mismatch(attr),
            None => Mismatch::of("it has no value".into()),
        };
        if let Some(wrong) = wrong {
            return Some(wrong.inside(spec.name));
        }
    }
    if !(1..dictionary.len()).all(|i| dictionary.name(i - 1) < dictionary.name(i)) {
        return Mismatch::of("malformed call frame: its attributes are not sorted by name".into());
    }
    let extra = unknown.first().filter(|_| !open)?;
    let names: Vec<String> = specs.iter().map(|spec| format!("`{}`", spec.name)).collect();
    let takes = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    let wrong = format!("`{owner}` has no such attribute; it takes {takes}");
    Some(Mismatch::of(wrong)?.inside(&String::from_utf8_lossy(extra)))
}

/// `; did you mean `x`?`, if a name is nearly this one.
pub(super) fn suggestion<'n>(name: &str, names: impl Iterator<Item = &'n [u8]>) -> String {
    nearest(name, names).map_or(String::new(), |near| format!("; did you mean `{near}`?"))
}

/// The name that is nearly this one.
pub(crate) fn nearest<'n>(name: &str, names: impl Iterator<Item = &'n [u8]>) -> Option<String> {
    let wanted = name.to_lowercase();
    let letters = wanted.chars().count();
    let allowed = (letters / 3).max(1);
    let near = names.filter_map(|other| {
        // Names in a frame can be of any length, those that are near cannot.
        let other = std::str::from_utf8(other).ok().filter(|other| other.len() <= 4 * (letters + allowed))?;
        let edits = strsim::osa_distance(&wanted, &other.to_lowercase());
        // Another letter is another name, not a misspelt one.
        (edits <= allowed && edits < letters).then_some((edits, other))
    });
    near.min_by_key(|(edits, _)| *edits).map(|(_, near)| near.to_owned())
}
