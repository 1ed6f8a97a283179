//! What is wrong with an argument, and the path to it.

use dispatch_runtime::Device;

use crate::describe;
use crate::fault::Fault;
use crate::ffi::*;
use crate::tree::Path;

/// What is wrong with an argument, before it is known where that is.
pub(super) struct Wrong {
    what: What,
    /// From the inside: lists, and which of their elements.
    path: Vec<(SEXP, usize)>,
}

enum What {
    Fault(Fault),
    /// Code, what was expected, what came.
    Condition(&'static str, String, String),
    Donated,
    Device(Device, Device),
}

impl Wrong {
    #[cold]
    pub fn new(code: &'static str, expected: String, got: String) -> Box<Wrong> {
        Box::new(Wrong { what: What::Condition(code, expected, got), path: Vec::new() })
    }

    #[cold]
    pub fn fault(fault: Fault) -> Box<Wrong> {
        Box::new(Wrong { what: What::Fault(fault), path: Vec::new() })
    }

    #[cold]
    pub fn donated() -> Box<Wrong> {
        Box::new(Wrong { what: What::Donated, path: Vec::new() })
    }

    #[cold]
    pub fn device(first: Device, device: Device) -> Box<Wrong> {
        Box::new(Wrong { what: What::Device(first, device), path: Vec::new() })
    }

    #[cold]
    pub fn below(mut self: Box<Self>, list: SEXP, i: usize) -> Box<Wrong> {
        self.path.push((list, i));
        self
    }

    /// More about what came.
    #[cold]
    pub fn got_too(mut self: Box<Self>, more: &str) -> Box<Wrong> {
        if let What::Condition(_, _, got) = &mut self.what {
            got.push_str(more);
        }
        self
    }

    #[cold]
    #[allow(clippy::boxed_local)] // it comes in a box
    pub fn into_fault(self) -> Fault {
        let path = path_text(self.path.iter().rev().copied());
        match self.what {
            What::Fault(Fault::Condition(condition)) => match condition.argument.as_deref() {
                Some("$data") => {
                    let argument = format!("{path}$data");
                    let message = condition.message.replacen("`$data`", &format!("`{argument}`"), 1);
                    Fault::Condition(Box::new(crate::Condition {
                        message,
                        argument: Some(argument),
                        ..*condition
                    }))
                }
                Some(_) => Fault::Condition(condition),
                None => Fault::Condition(Box::new(crate::Condition {
                    message: format!("argument `{path}`: {}", condition.message),
                    argument: Some(path),
                    ..*condition
                })),
            },
            What::Fault(fault) => fault,
            What::Condition(code, expected, got) => Fault::argument(code, path, expected, got),
            What::Donated => donated(path, "the array was donated to an earlier call and is gone"),
            What::Device(first, device) => Fault::argument(
                "device",
                path,
                format!("an array on {first}, where the first one is"),
                format!("one on {device}"),
            ),
        }
    }
}

/// The path through these lists, from the outside.
pub(super) fn path_text(steps: impl Iterator<Item = (SEXP, usize)>) -> String {
    let mut path = Path::default();
    for (list, i) in steps {
        // SAFETY: reading the names of a list does not allocate.
        let names = unsafe { Rf_getAttrib(list, R_NamesSymbol) };
        path.step(i, |i| describe::text(names, i as Length));
    }
    let path = path.into_string();
    if (1..=400).contains(&path.len()) {
        return path;
    }
    match path.chars().count() {
        0 => "args".to_owned(),
        // Of a list that is nested very deeply.
        n if n > 400 => {
            let ends = |skip: usize| path.chars().skip(skip).take(100).collect::<String>();
            format!("{} … {}", ends(0), ends(n - 100))
        }
        _ => path,
    }
}

/// The error of a buffer that was given away.
#[cold]
pub(super) fn donated(path: String, reason: &str) -> Fault {
    dispatch_runtime::Error::Donated { argument: path, reason: reason.into() }.into()
}
