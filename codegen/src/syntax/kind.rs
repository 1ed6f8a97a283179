//! The kinds of declarations, as the messages about them speak.

use super::words;

/// A kind of function that the toolkit has an attribute for.
pub(crate) struct Kind {
    /// The attribute: `#[dispatch_family]`.
    pub(crate) attribute: &'static str,
    /// What such a function is: `a program family`.
    pub(crate) noun: &'static str,
    /// The toolkit's attributes on its arguments.
    pub(crate) markers: &'static [&'static str],
    /// What an argument is, for one with an unknown attribute.
    pub(crate) markers_help: &'static str,
    /// What its body gives, for one without.
    pub(crate) body_help: &'static str,
    /// What to do instead of type parameters.
    pub(crate) generics_help: &'static str,
    /// When its body runs.
    pub(crate) runs: &'static str,
    /// What to take instead of `self`.
    pub(crate) receiver_help: &'static str,
    /// What to take instead of `...`.
    pub(crate) variadic_help: &'static str,
}

/// `#[dispatch_family]`
pub(crate) const FAMILY: Kind = Kind {
    attribute: "#[dispatch_family]",
    noun: "a program family",
    markers: &words::ARGUMENT_ATTRIBUTES,
    markers_help: "an argument is `#[dynamic(...)]` or `#[static_arg]`",
    body_help: "the body gives the program: `{ Program::stablehlo(...) }`",
    generics_help: "dtypes and shapes vary by `#[dynamic(...)]`, types by `#[static_arg]` enums; remove the parameters",
    runs: "the body runs on a cache miss, as an ordinary function",
    receiver_help: "move the function out of the `impl`, and pass what it needs as `#[static_arg]`",
    variadic_help: "take `Vec<Aval>` or `Vec<Value>`",
};

/// `#[ffi_handler]`
pub(crate) const HANDLER: Kind = Kind {
    attribute: "#[ffi_handler]",
    noun: "a handler",
    markers: &words::HANDLER_ATTRIBUTES,
    markers_help: "an argument of a handler is `#[arg(...)]`, `#[ret(...)]`, `#[attr]`, `#[attrs]` or `#[ctx]`",
    body_help: "the body does the work of the call: `{ Ok(()) }`",
    generics_help: "one handler is one C function: take `AnyBuffer` and ask for its dtype in the body; remove the parameters",
    runs: "the body runs as an ordinary function, on whatever thread calls it",
    receiver_help: "move the function out of the `impl`, and take what it needs as `#[attr]` or as `#[ctx] ffi::UserData<'_, T>`",
    variadic_help: "take `RemainingArgs` or `RemainingRets`",
};

/// The kinds of declarations whose parts refer to each other by name.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Within {
    /// The arguments of a family.
    Family,
    /// The fields of a struct.
    Fields,
    /// The arguments and results of a handler.
    Handler,
}

impl Within {
    /// What a name may refer to.
    pub(crate) fn noun(self) -> &'static str {
        match self {
            Within::Family => "argument",
            Within::Fields => "field",
            Within::Handler => "buffer",
        }
    }

    /// What among those has a dtype and a shape.
    pub(crate) fn described(self) -> &'static str {
        match self {
            Within::Family => "dynamic argument",
            Within::Fields => "field",
            Within::Handler => "buffer",
        }
    }
}
