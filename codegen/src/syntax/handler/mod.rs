//! `#[ffi_handler]`: from its tokens to the model.
//!
//! | file | has |
//! |---|---|
//! | `types` | which types an argument may have |
//! | `params`, `order` | the arguments of the function, one by one and among each other |
//! | `attrs` | attributes of calls, and their names |
//! | `options`, `returns` | the options of the attribute, and the return type |
//! | `value` | `#[derive(AttrValue)]` |
//! | `pattern` | `ffi::check!` |
//! | `messages` | what is said of mistakes |
//! | `model` | what comes out |

mod attrs;
pub(crate) mod messages;
mod model;
mod options;
mod order;
mod params;
mod pattern;
mod returns;
mod types;
mod value;

pub use model::*;
pub use pattern::check;
pub(crate) use static_name as handler_static_name;
pub(crate) use types::option as option_argument;
pub use value::attr_value;

use proc_macro2::{Ident, TokenStream};
use syn::ItemFn;
use syn::ext::IdentExt;

use super::docs::{cfgs, docs};
use super::errors::Errors;
use super::family::Rejected;
use super::function;
use super::kind;
use super::params::not_reserved;

/// Reads and checks a handler: the arguments of the attribute, and the item under it.
///
/// # Errors
///
/// All mistakes of the declaration, together with what the recovery emits.
pub fn handler(arguments: TokenStream, item: TokenStream) -> Result<Handler, Box<Rejected>> {
    let mut errors = Errors::new();
    let options = options::read(&mut errors, arguments);
    let function = function::read(&mut errors, item, &kind::HANDLER);
    let model = function.as_ref().and_then(|function| checked(&mut errors, function, options));
    errors.finish(model).map_err(|errors| Box::new(Rejected { errors, function }))
}

fn checked(errors: &mut Errors, function: &ItemFn, options: HandlerOptions) -> Option<Handler> {
    function::check(errors, function, &kind::HANDLER);
    not_reserved(errors, &function.sig.ident);
    let static_name = errors.keep(static_name(&function.sig.ident));
    let returns = returns::read(errors, &function.sig, options.stage);
    let resolved = params::read(errors, &function.sig, options.stage);
    let (params, groups, captures) = resolved?;
    let (returns, output) = returns?;
    Some(Handler {
        docs: docs(&function.attrs),
        cfgs: cfgs(&function.attrs),
        vis: function.vis.clone(),
        fn_name: function.sig.ident.clone(),
        static_name: static_name?,
        options,
        params,
        groups,
        captures,
        returns,
        output,
        item: function::stripped(function, &kind::HANDLER),
    })
}

/// The name of the handler's static: `rotate_add` gives `ROTATE_ADD`.
///
/// `fn F(...)` is wrong: the static would have the function's name, and both are values.
pub(crate) fn static_name(name: &Ident) -> syn::Result<Ident> {
    let written = name.unraw().to_string();
    let upper = written.to_uppercase();
    if upper == written {
        return Err(syn::Error::new_spanned(name, messages::static_is_function(&written)));
    }
    Ok(Ident::new(&upper, name.span()))
}
