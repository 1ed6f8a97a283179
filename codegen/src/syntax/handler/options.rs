//! The options of `#[ffi_handler(...)]`, and what they must not contradict.

use proc_macro2::{Ident, TokenStream, TokenTree};
use syn::LitStr;
use syn::ext::IdentExt;
use syn::parse::ParseStream;

use super::super::errors::Errors;
use super::super::family_options::path;
use super::super::option_list::{self, Owner, skip_item};
use super::super::text::text;
use super::super::words;
use super::messages;
use super::model::{HandlerOptions, Stage};

/// Reads the arguments of the attribute.
pub(super) fn read(errors: &mut Errors, arguments: TokenStream) -> HandlerOptions {
    let owner = Owner {
        attribute: "#[ffi_handler(...)]",
        options: &words::HANDLER,
        aliases: &words::HANDLER_ALIASES,
    };
    let mut options = HandlerOptions::default();
    let mut given: Vec<Ident> = Vec::new();
    option_list::read(errors, arguments, &owner, &mut |_, word, input| {
        given.push(word.clone());
        option(word, input, &mut options)
    });
    one_stage(errors, &options, &given);
    options
}

fn option(word: &Ident, input: ParseStream<'_>, options: &mut HandlerOptions) -> syn::Result<()> {
    match word.to_string().as_str() {
        "target" => {
            option_list::equals(word, input, "target = \"rotate_add\"")?;
            options.target = Some(string(word, input)?);
        }
        "instantiate" => options.instantiate = Some(path(word, input)?),
        "prepare" => options.prepare = Some(path(word, input)?),
        "initialize" => options.initialize = Some(path(word, input)?),
        "stage" => options.stage = stage(word, input)?,
        _ => {
            option_list::flag(word, input)?;
            options.command_buffer = true;
        }
    }
    Ok(())
}

/// A name is a string that C can hold: `target = f`, `target = ""` and `name = "a\0"` are wrong.
pub(super) fn string(word: &Ident, input: ParseStream<'_>) -> syn::Result<LitStr> {
    let token: TokenTree = input.fork().parse()?;
    let Ok(name) = input.parse::<LitStr>() else {
        skip_item(input);
        return Err(syn::Error::new_spanned(&token, messages::name_string(word, text(&token))));
    };
    let fault = match name.value() {
        value if value.is_empty() => "is empty",
        value if value.contains('\0') => "has the character NUL",
        _ => return Ok(name),
    };
    Err(syn::Error::new_spanned(&name, messages::name_invalid(word, fault)))
}

/// The stage is one of three words: `stage = compile` and `stage = execute` are wrong.
fn stage(word: &Ident, input: ParseStream<'_>) -> syn::Result<Stage> {
    option_list::equals(word, input, "stage = instantiate")?;
    let token: TokenTree = input.parse()?;
    let got = text(&token);
    words::lookup(&words::STAGES, &got).ok_or_else(|| {
        let stages = words::names(&words::STAGES);
        let help = match words::nearest(&got, stages.iter().copied()) {
            Some(nearest) => format!("did you mean `{nearest}`?"),
            None if got == "execute" => "leave the option out: a handler runs in that stage".to_owned(),
            None => format!("the stages are {}", words::list(&stages, "and")),
        };
        syn::Error::new_spanned(&token, messages::unknown_stage(got, help))
    })
}

/// A handler of another stage belongs to one that is executed, which has the target's name and all that is said of it:
/// `stage = instantiate, target = "f"` and `stage = prepare, instantiate = g` are wrong.
fn one_stage(errors: &mut Errors, options: &HandlerOptions, given: &[Ident]) {
    if options.stage == Stage::Execute {
        return;
    }
    for word in given.iter().filter(|word| word.unraw() != "stage") {
        errors.on(word, messages::option_of_execute(word));
    }
}
