//! The collector of errors: every rule adds to one, so that a declaration's mistakes all show in one pass.

use std::fmt;

use proc_macro2::{Span, TokenStream};
use quote::ToTokens;

use super::messages::{self, Message};

/// Collects the errors of one declaration.
///
/// It has to be read with [`Errors::finish`]; dropping one unread is a fault of this crate and panics, so that
/// no rule's error is lost on an early return.
pub(crate) struct Errors {
    found: Vec<syn::Error>,
    left_to_compiler: bool,
    read: bool,
}

/// The errors of one declaration, in the order in which the rules found them.
///
/// It may hold no error at all: some mistakes are left to the compiler, which reports them on the item that
/// the recovery emits.
#[derive(Clone)]
pub struct Found(Vec<syn::Error>);

impl Errors {
    /// An empty collector.
    pub(crate) fn new() -> Self {
        Errors { found: Vec::new(), left_to_compiler: false, read: false }
    }

    /// Adds a message on the tokens that it is about.
    pub(crate) fn on(&mut self, tokens: impl ToTokens, message: Message) {
        self.found.push(syn::Error::new_spanned(tokens, message));
    }

    /// Adds a message on a span, for places without a token of their own.
    pub(crate) fn at(&mut self, span: Span, message: Message) {
        self.found.push(syn::Error::new(span, message));
    }

    /// Adds an error of the parser.
    pub(crate) fn push(&mut self, error: syn::Error) {
        self.found.push(error);
    }

    /// Rejects the declaration without a message, where the compiler gives its own on the emitted item.
    pub(crate) fn leave_to_compiler(&mut self) {
        self.left_to_compiler = true;
    }

    /// Keeps a parser's success, collects its failure.
    pub(crate) fn keep<T>(&mut self, result: syn::Result<T>) -> Option<T> {
        result.map_err(|error| self.push(error)).ok()
    }

    /// How many errors there are so far, to see whether a rule added one.
    pub(crate) fn count(&self) -> usize {
        self.found.len()
    }

    /// Reads the collector: the model if the declaration has no mistake, else what was found.
    ///
    /// A missing model without an error would lose the declaration silently; that is a fault of this crate and
    /// gets a message too.
    pub(crate) fn finish<T>(mut self, model: Option<T>) -> Result<T, Found> {
        self.read = true;
        if model.is_none() && self.found.is_empty() && !self.left_to_compiler {
            self.at(Span::call_site(), messages::no_reason());
        }
        match model {
            Some(model) if self.found.is_empty() && !self.left_to_compiler => Ok(model),
            _ => Err(Found(std::mem::take(&mut self.found))),
        }
    }
}

impl Drop for Errors {
    fn drop(&mut self) {
        if !self.read && !std::thread::panicking() {
            panic!("a declaration's errors were dropped unread");
        }
    }
}

impl Found {
    /// Each error, in order.
    pub fn iter(&self) -> impl Iterator<Item = &syn::Error> {
        self.0.iter()
    }

    /// The invocations of `compile_error!` that show the errors, each on its own tokens.
    pub fn to_compile_errors(&self) -> Vec<TokenStream> {
        self.0.iter().map(syn::Error::to_compile_error).collect()
    }
}

impl fmt::Debug for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(ToString::to_string)).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::syntax::messages;

    #[test]
    #[should_panic(expected = "dropped unread")]
    fn dropping_an_unread_collector_panics() {
        let mut errors = Errors::new();
        errors.at(Span::call_site(), messages::one_cx());
    }

    #[test]
    fn a_model_with_errors_is_withheld() {
        let mut errors = Errors::new();
        errors.at(Span::call_site(), messages::one_cx());
        assert_eq!(errors.finish(Some(1)).unwrap_err().iter().count(), 1);
        assert_eq!(Errors::new().finish(Some(1)).unwrap(), 1);
    }

    #[test]
    fn what_is_left_to_the_compiler_rejects_without_a_message() {
        let mut errors = Errors::new();
        errors.leave_to_compiler();
        assert_eq!(errors.finish(Some(1)).unwrap_err().iter().count(), 0);
    }
}
