//! The return type: `Result<Program>`, `Result<Program<O>>`, `Result<Program<O>, E>`.

use syn::{GenericArgument, PathArguments, PathSegment, ReturnType, Signature, Type};

use super::errors::Errors;
use super::messages;
use super::model::Output;
use super::text::text;
use super::types::{is_named, only_argument, unwrapped};
use super::words;

/// Reads the return type of a family.
///
/// `-> Program`, `-> Option<Program>` and no return type at all are wrong.
pub(crate) fn read(errors: &mut Errors, signature: &Signature) -> Option<Output> {
    let ReturnType::Type(_, ty) = &signature.output else {
        errors.on(&signature.ident, messages::no_result(&signature.ident));
        return None;
    };
    let Some((program, error)) = result_arguments(ty) else {
        errors.on(ty, messages::result_expected(text(ty)));
        return None;
    };
    let Some(segment) = last_segment(program).filter(|segment| segment.ident == "Program") else {
        errors.on(program, messages::program_expected(text(program)));
        return None;
    };
    let output = match (&segment.arguments, only_argument(segment)) {
        (PathArguments::None, _) => None,
        (_, Some(output)) => Some(output),
        _ => {
            errors.on(program, messages::program_expected(text(program)));
            return None;
        }
    };
    if let Some(wrong) = output.and_then(no_output) {
        errors.on(wrong, messages::output_type(text(wrong)));
        return None;
    }
    Some(Output { ty: output.cloned(), error: error.cloned() })
}

/// The one or two types of a `Result`.
fn result_arguments(ty: &Type) -> Option<(&Type, Option<&Type>)> {
    let segment = last_segment(ty).filter(|segment| segment.ident == "Result")?;
    let PathArguments::AngleBracketed(arguments) = &segment.arguments else { return None };
    let mut types = Vec::new();
    for argument in &arguments.args {
        let GenericArgument::Type(ty) = argument else { return None };
        types.push(ty);
    }
    match types[..] {
        [program] => Some((program, None)),
        [program, error] => Some((program, Some(error))),
        _ => None,
    }
}

fn last_segment(ty: &Type) -> Option<&PathSegment> {
    match unwrapped(ty) {
        Type::Path(path) if path.qself.is_none() => path.path.segments.last(),
        _ => None,
    }
}

/// The part of a type that is no structure of arrays.
///
/// `Program<&Array>`, `Program<Fit<Value>>` and `Program<Vec<Array>>` are wrong; a name without arguments may be
/// an alias, which the compiler sees.
fn no_output(ty: &Type) -> Option<&Type> {
    match unwrapped(ty) {
        Type::Tuple(tuple) => tuple.elems.iter().find_map(no_output),
        Type::Array(array) => no_output(&array.elem),
        Type::Path(path) if path.qself.is_none() => {
            let last = path.path.segments.last()?;
            let leafless = words::BODY_LEAVES.iter().any(|name| is_named(ty, name));
            match (&last.arguments, only_argument(last)) {
                (PathArguments::None, _) => leafless.then_some(ty),
                (_, Some(argument)) if last.ident != "Vec" => no_output(argument).map(|_| ty),
                _ => Some(ty),
            }
        }
        _ => Some(ty),
    }
}
