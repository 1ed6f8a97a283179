//! The return type of a handler: `ffi::Result<()>`, `ffi::Result<T>` of one that makes a state, or a future.

use quote::ToTokens;
use syn::{GenericArgument, PathArguments, ReturnType, Signature, Type};

use super::super::errors::Errors;
use super::super::text::text;
use super::super::types::{is_named, unwrapped};
use super::messages;
use super::model::{Returns, Stage};
use super::types::{borrows, is_open, last_segment};

/// Reads the return type of a handler.
///
/// No return type, `-> ()`, `-> Option<()>`, `-> ffi::Result<&Plan>`, `-> impl Future` are wrong.
pub(super) fn read(errors: &mut Errors, signature: &Signature, stage: Stage) -> Option<(Returns, Type)> {
    let help = help(stage);
    let ReturnType::Type(_, ty) = &signature.output else {
        errors.on(&signature.ident, messages::handler_returns_nothing(&signature.ident, help));
        return None;
    };
    if borrows(ty.to_token_stream()) {
        // The call is over when XLA looks at what was returned.
        errors.on(ty, messages::borrowed_return(text(ty)));
        return None;
    }
    let instantiates = stage == Stage::Instantiate;
    let inner = result_argument(ty);
    let future = |ty: &Type| is_named(ty, "Future");
    let returns = match inner {
        _ if is_open(ty) => None,
        None if future(ty) => Some(Returns::Future),
        Some(inner) if future(inner) => Some(Returns::MaybeFuture),
        Some(inner) if instantiates => Some(Returns::State(inner.clone())),
        Some(inner) if is_unit(inner) => Some(Returns::Nothing),
        Some(inner) => {
            errors.on(inner, messages::value_returned(text(inner)));
            return None;
        }
        None => None,
    };
    match returns {
        Some(Returns::Future | Returns::MaybeFuture) if instantiates => {
            errors.on(ty, messages::future_of_instantiate(text(ty)));
            None
        }
        Some(returns) => Some((returns, (**ty).clone())),
        None => {
            errors.on(ty, messages::handler_result(text(ty), help));
            None
        }
    }
}

fn help(stage: Stage) -> &'static str {
    match stage {
        Stage::Instantiate => "write `ffi::Result<T>`, where `T` is the state",
        _ => "write `ffi::Result<()>`, `ffi::Future` or `ffi::Result<ffi::Future>`",
    }
}

/// The `T` of `Result<T>`, and of `Result<T, ffi::Error>`, which is the same.
fn result_argument(ty: &Type) -> Option<&Type> {
    let segment = last_segment(ty).filter(|segment| segment.ident == "Result")?;
    let PathArguments::AngleBracketed(arguments) = &segment.arguments else { return None };
    let mut types = arguments.args.iter().map(|argument| match argument {
        GenericArgument::Type(ty) => Some(ty),
        _ => None,
    });
    match (types.next()??, types.next(), types.next()) {
        (ty, None, None) => Some(ty),
        (ty, Some(Some(error)), None) if is_named(error, "Error") => Some(ty),
        _ => None,
    }
}

fn is_unit(ty: &Type) -> bool {
    matches!(unwrapped(ty), Type::Tuple(tuple) if tuple.elems.is_empty())
}
