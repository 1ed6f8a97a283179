//! `#[dispatch_family]`: from its tokens to the model.

use proc_macro2::TokenStream;
use syn::ItemFn;

use super::border;
use super::docs::{cfgs, docs};
use super::errors::{Errors, Found};
use super::family_options;
use super::function;
use super::kind::{self, Within};
use super::model::{Family, Param, Static};
use super::output;
use super::params::{self, RawParams};
use super::raw::{RawParam, RawStatic};
use super::resolve::{self, Scope};

/// What is left of a declaration with mistakes.
#[derive(Clone, Debug)]
pub struct Rejected {
    /// Its errors.
    pub errors: Found,
    /// The function as written, with the toolkit's attributes; none if it is not a function that can be read.
    pub function: Option<ItemFn>,
}

/// Reads and checks a family: the arguments of the attribute, and the item under it.
///
/// # Errors
///
/// All mistakes of the declaration, together with what the recovery emits.
pub fn family(arguments: TokenStream, item: TokenStream) -> Result<Family, Box<Rejected>> {
    let mut errors = Errors::new();
    let options = family_options::read(&mut errors, arguments);
    let function = function::read(&mut errors, item, &kind::FAMILY);
    let model = function.as_ref().and_then(|function| checked(&mut errors, function, options));
    errors.finish(model).map_err(|errors| Box::new(Rejected { errors, function }))
}

fn checked(errors: &mut Errors, function: &ItemFn, options: super::model::Options) -> Option<Family> {
    function::check(errors, function, &kind::FAMILY);
    let type_name = errors.keep(function::type_name(&function.sig.ident));
    let output = output::read(errors, &function.sig);
    let raw = params::read(errors, &function.sig);
    border::check(errors, &function.sig, &options, &raw);
    let RawParams { cx, params } = raw;
    let r = border::statics(errors, &params, &options);
    let resolved = resolve::resolve(errors, &params, &Scope { cx: cx.as_ref(), within: Within::Family })?;
    let params = params.into_iter().zip(resolved.dynamics).zip(r);
    let params = params.map(|((raw, dynamic), r)| match (raw, dynamic) {
        (_, Some(dynamic)) => Some(Param::Dynamic(dynamic)),
        (RawParam::Static(raw), None) => {
            let RawStatic { name, docs, ty, default, .. } = raw;
            Some(Param::Static(Static { name, docs, ty, default, r }))
        }
        _ => None,
    });
    Some(Family {
        docs: docs(&function.attrs),
        cfgs: cfgs(&function.attrs),
        vis: function.vis.clone(),
        fn_name: function.sig.ident.clone(),
        type_name: type_name?,
        options,
        cx,
        params: params.collect::<Option<_>>()?,
        groups: resolved.groups,
        captures: resolved.captures,
        output: output?,
        item: function::stripped(function, &kind::FAMILY),
    })
}
