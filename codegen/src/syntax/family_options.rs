//! The options of `#[dispatch_family(...)]`, and what they must not contradict.

use proc_macro2::{Ident, TokenStream, TokenTree};
use syn::ext::IdentExt;
use syn::parse::ParseStream;
use syn::{Expr, ExprLit, ExprUnary, Lit, LitInt, LitStr, Path, UnOp};

use super::border;
use super::errors::Errors;
use super::messages;
use super::model::{DevicePolicy, Options};
use super::option_list::{self, Owner, skip_item};
use super::text::text;
use super::words;

/// Reads the arguments of the attribute.
pub(crate) fn read(errors: &mut Errors, arguments: TokenStream) -> Options {
    let owner = Owner {
        attribute: "#[dispatch_family(...)]",
        options: &words::FAMILY,
        aliases: &words::OPTION_ALIASES,
    };
    let mut options = Options::default();
    let mut given: Vec<Ident> = Vec::new();
    option_list::read(errors, arguments, &owner, &mut |_, word, input| {
        given.push(word.clone());
        option(word, input, &mut options)
    });
    check(errors, &options, &given);
    options
}

fn option(word: &Ident, input: ParseStream<'_>, options: &mut Options) -> syn::Result<()> {
    match word.to_string().as_str() {
        "capacity" => options.capacity = Some(capacity(word, input)?),
        "eviction" => options.eviction = Some(eviction(word, input)?),
        "device" => options.device = device(word, input)?,
        "default_device" => options.default_device = Some(path(word, input)?),
        "context" => options.context = Some(path(word, input)?),
        "r_name" => options.r_name = Some(r_name(word, input)?),
        _ => {
            option_list::flag(word, input)?;
            options.r_export = true;
        }
    }
    Ok(())
}

/// The capacity is a positive integer: `capacity = 0`, `capacity = -1`, `capacity = 1.5` are wrong, on the value.
fn capacity(word: &Ident, input: ParseStream<'_>) -> syn::Result<Expr> {
    option_list::equals(word, input, "capacity = 64")?;
    let value: Expr = input.parse()?;
    let wrong = || Err(syn::Error::new_spanned(&value, messages::capacity_expected(text(&value))));
    match bare(&value) {
        Expr::Lit(ExprLit { lit: Lit::Int(literal), .. }) => match usize_value(literal) {
            Some(0) => Err(syn::Error::new_spanned(&value, messages::zero_capacity())),
            Some(_) => Ok(value),
            None => wrong(),
        },
        Expr::Lit(_) | Expr::Array(_) | Expr::Tuple(_) | Expr::Closure(_) => wrong(),
        Expr::Unary(ExprUnary { op: UnOp::Neg(_), .. }) => wrong(),
        _ => Ok(value),
    }
}

fn usize_value(literal: &LitInt) -> Option<u64> {
    matches!(literal.suffix(), "" | "usize").then(|| literal.base10_parse().ok()).flatten()
}

/// The eviction policy is a value, as `Lru` is: `eviction = 3` and `eviction = "lru"` are wrong.
fn eviction(word: &Ident, input: ParseStream<'_>) -> syn::Result<Expr> {
    option_list::equals(word, input, "eviction = Lru")?;
    let value: Expr = input.parse()?;
    match bare(&value) {
        Expr::Lit(_) | Expr::Closure(_) => {
            Err(syn::Error::new_spanned(&value, messages::eviction_expected(text(&value))))
        }
        _ => Ok(value),
    }
}

/// The device policy is one of two words: `device = cpu` is wrong.
fn device(word: &Ident, input: ParseStream<'_>) -> syn::Result<DevicePolicy> {
    option_list::equals(word, input, "device = first_input")?;
    let token: TokenTree = input.parse()?;
    let got = text(&token);
    words::lookup(&words::DEVICE_POLICIES, &got).ok_or_else(|| {
        let policies = words::names(&words::DEVICE_POLICIES);
        let help = match words::nearest(&got, policies.iter().copied()) {
            Some(nearest) => format!("did you mean `{nearest}`?"),
            None => format!("the policies are {}", words::list(&policies, "and")),
        };
        syn::Error::new_spanned(&token, messages::unknown_device(got, help))
    })
}

/// A function is named by its path: `context = 3` and `default_device = || cpu()` are wrong.
pub(crate) fn path(word: &Ident, input: ParseStream<'_>) -> syn::Result<Path> {
    option_list::equals(word, input, &format!("{word} = path::to::fn"))?;
    let value: Expr = input.parse()?;
    match bare(&value) {
        Expr::Path(path) if path.qself.is_none() => Ok(path.path.clone()),
        _ => Err(syn::Error::new_spanned(&value, messages::path_expected(word, text(&value)))),
    }
}

/// The name in R is syntactic there: `r_name = f`, `r_name = "2f"`, `r_name = "if"` are wrong.
fn r_name(word: &Ident, input: ParseStream<'_>) -> syn::Result<LitStr> {
    option_list::equals(word, input, "r_name = \"scaled_matmul\"")?;
    let token: TokenTree = input.fork().parse()?;
    let Ok(name) = input.parse::<LitStr>() else {
        skip_item(input);
        return Err(syn::Error::new_spanned(&token, messages::r_name_string(text(&token))));
    };
    let value = name.value();
    match border::name_fault(&value).or_else(|| border::function_fault(&value)) {
        Some(why) => Err(syn::Error::new_spanned(&name, messages::r_name_invalid(value, why))),
        None => Ok(name),
    }
}

/// Checks the options against each other.
fn check(errors: &mut Errors, options: &Options, given: &[Ident]) {
    let word = |name: &str| given.iter().find(|word| word.unraw() == name);
    if let (DevicePolicy::Fixed, Some(word)) = (options.device, word("default_device")) {
        // `device = fixed, default_device = f` is wrong: nobody would call `f`.
        errors.on(word, messages::default_of_fixed_device());
    }
    if let (None, Some(word)) = (word("r_export"), word("r_name")) {
        // `r_name = "f"` alone is wrong: nothing is exported under the name.
        errors.on(word, messages::name_without_export());
    }
}

/// An expression without the invisible groups of `macro_rules!`.
fn bare(mut value: &Expr) -> &Expr {
    while let Expr::Group(group) = value {
        value = &group.expr;
    }
    value
}
