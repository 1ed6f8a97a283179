//! Whether a call is one that its handler takes, found when the program is made.

use super::Operands;
use super::attribute::{Attribute, Dictionary, Kind, Number, NumberType};
use crate::ffi::private::{AttrSpec, AttrType, Spec};
use crate::ffi::{self, DataType};
use crate::signature::check_shapes;
use crate::{Aval, DType, Error};

/// Checks operands and results, and gives the attributes as the handler reads them: with its types.
pub(super) fn check(
    spec: &Spec,
    operands: &(impl Operands + ?Sized),
    results: &[Aval],
    attributes: &Dictionary,
) -> Result<Dictionary, String> {
    let operands = operands.avals();
    let results: Vec<&Aval> = results.iter().collect();
    ffi::check_count(spec, true, operands.len())?;
    ffi::check_count(spec, false, results.len())?;
    let fields = 0..spec.scope.fields.len();
    let avals: Vec<Option<&Aval>> = fields
        .map(|field| match field.checked_sub(spec.args) {
            None => operands.get(field).copied(),
            Some(i) => results.get(i).copied(),
        })
        .collect();
    let types: Vec<_> = avals.iter().map(|aval| aval.map(|aval| DataType::of(aval.dtype()))).collect();
    let place = |field: usize| {
        let role = if field < spec.args { "argument" } else { "result" };
        format!("{role} `{}`", spec.scope.fields[field].name)
    };
    ffi::check_dtypes(&spec.scope, &types).map_err(|(field, wrong)| format!("{}: {wrong}", place(field)))?;
    let shapes: Vec<_> = avals.iter().map(|aval| aval.map(Aval::shape)).collect();
    check_shapes(&spec.scope, &shapes).map_err(|(field, error)| match error {
        Error::Shape { expected, got, .. } => {
            format!("{}: expected shape {expected}, got {got}", place(field))
        }
        other => other.to_string(),
    })?;
    of_all_stages(spec, attributes).map_err(|Wrong { path, reason }| {
        if path.is_empty() { reason } else { format!("attribute `{path}`: {reason}") }
    })
}

/// The attributes of a call as the handlers of all its stages declare them: they share them.
fn of_all_stages(spec: &Spec, given: &Dictionary) -> Result<Dictionary, Wrong> {
    let others = || spec.stages.iter().map(|handler| handler.spec());
    let mut specs = spec.attrs.to_vec();
    for other in others().flat_map(|other| other.attrs) {
        match specs.iter_mut().find(|spec| spec.name == other.name) {
            Some(spec) => spec.optional &= other.optional,
            None => specs.push(*other),
        }
    }
    let open = spec.open_attrs || others().any(|other| other.open_attrs);
    let out = members(spec.name, &specs, given, open)?;
    // Two of them may want different types of an attribute, which no call has.
    for other in others() {
        for attr in other.attrs {
            let Some((_, value)) = out.0.iter().find(|(name, _)| name == attr.name) else { continue };
            if typed(&attr.r#type, value).ok().as_ref() != Some(value) {
                let (ty, got, stage) = (&attr.r#type, value.type_name(), other.stage.name());
                let reason =
                    format!("expected {ty}, as `{}` of the stage {stage} reads it, got {got}", other.name);
                return Err(Wrong::of(reason).inside(attr.name));
            }
        }
    }
    Ok(out)
}

/// What is wrong with an attribute: the way to the member, and the reason.
struct Wrong {
    path: String,
    reason: String,
}

impl Wrong {
    fn of(reason: String) -> Wrong {
        Wrong { path: String::new(), reason }
    }

    fn inside(self, name: &str) -> Wrong {
        let path = if self.path.is_empty() { name.to_owned() } else { format!("{name}.{}", self.path) };
        Wrong { path, ..self }
    }
}

/// The attributes of a call, or the members of a struct, as they are declared; `owner` has them.
fn members(owner: &str, specs: &[AttrSpec], given: &Dictionary, open: bool) -> Result<Dictionary, Wrong> {
    let mut out = Dictionary::default();
    for (name, attribute) in &given.0 {
        let Some(spec) = specs.iter().find(|spec| spec.name == name) else {
            if open {
                out.set(name, attribute.clone());
                continue;
            }
            let missing = specs.iter().filter(|spec| !given.names().any(|name| name == spec.name));
            let reason = match ffi::nearest(name, missing.map(|spec| spec.name.as_bytes())) {
                Some(near) => format!("`{owner}` has no such attribute; did you mean `{near}`?"),
                None if specs.is_empty() => format!("`{owner}` has no such attribute; it takes none"),
                None => {
                    let names: Vec<String> = specs.iter().map(|spec| format!("`{}`", spec.name)).collect();
                    format!("`{owner}` has no such attribute; it takes {}", names.join(", "))
                }
            };
            return Err(Wrong::of(reason).inside(name));
        };
        out.set(name, typed(&spec.r#type, attribute).map_err(|wrong| wrong.inside(name))?);
    }
    match specs.iter().find(|spec| !spec.optional && !given.names().any(|name| name == spec.name)) {
        Some(spec) => Err(Wrong::of(format!("expected {}, got none", spec.r#type)).inside(spec.name)),
        None => Ok(out),
    }
}

/// An attribute at its declared type: numbers are converted if that changes nothing but the precision of a float.
fn typed(ty: &AttrType, given: &Attribute) -> Result<Attribute, Wrong> {
    let wrong = || Wrong::of(format!("expected {ty}, got {}", given.type_name()));
    let converted = |number: &Number, to: NumberType| {
        number.convert(to).ok_or_else(|| Wrong::of(format!("expected {ty}, got {}", number.shown())))
    };
    let kind = match (*ty, &given.0) {
        (AttrType::Scalar(data_type), Kind::Bool(x)) if is_bool(data_type) => Kind::Bool(*x),
        (AttrType::Scalar(data_type), Kind::Number(number)) => match number_type(data_type) {
            Some(to) => Kind::Number(converted(number, to)?),
            None => return Err(wrong()),
        },
        (AttrType::Pointer, Kind::Number(number)) => Kind::Number(converted(number, NumberType::I64)?),
        (AttrType::Array(data_type), Kind::Numbers(_, numbers)) => {
            let to = number_type(data_type).ok_or_else(wrong)?;
            let numbers = numbers.iter().map(|number| converted(number, to)).collect::<Result<_, _>>()?;
            Kind::Numbers(to, numbers)
        }
        (AttrType::String, Kind::Text(_)) | (AttrType::Dictionary, Kind::Dictionary(_)) => given.0.clone(),
        (AttrType::Enum { repr, variants, .. }, Kind::Number(number)) => {
            let number = converted(number, number_type(repr).ok_or_else(wrong)?)?;
            let is_one = |bits: i64| Number::of_bits(number.ty, bits as u64).integer() == number.integer();
            if !variants.iter().any(|(_, bits)| is_one(*bits)) {
                return Err(Wrong::of(format!("expected {ty}, got {}", number.shown())));
            }
            Kind::Number(number)
        }
        // A variant may be given by its name, which no call can hold.
        (AttrType::Enum { repr, variants, .. }, Kind::Text(name)) => {
            let variant = variants.iter().find(|(variant, _)| variant == name);
            let (_, bits) = variant.ok_or_else(|| Wrong::of(format!("expected {ty}, got {name:?}")))?;
            Kind::Number(Number::of_bits(number_type(repr).ok_or_else(wrong)?, *bits as u64))
        }
        (AttrType::Struct { name, members: specs }, Kind::Dictionary(given)) => {
            Kind::Dictionary(members(name, specs, given, false)?)
        }
        _ => return Err(wrong()),
    };
    Ok(Attribute(kind))
}

fn is_bool(data_type: DataType) -> bool {
    data_type.dtype() == Some(DType::Bool)
}

/// The type as MLIR has it; none of those that no attribute has.
fn number_type(data_type: DataType) -> Option<NumberType> {
    let dtype = data_type.dtype()?;
    NumberType::ALL.iter().copied().find(|ty| ty.name() == dtype.name())
}
