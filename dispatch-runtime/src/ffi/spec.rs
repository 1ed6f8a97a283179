//! The signature of a handler as data: what messages, callers and the registry read.

use std::ffi::c_int;

use super::abi;
use super::attribute::AttrType;
use super::handler::Handler;
use crate::signature::Scope;

/// When XLA calls a handler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(i32)]
pub enum Stage {
    /// Once for each call in a program, when the program is loaded; sees attributes only.
    Instantiate = abi::stage::INSTANTIATE,
    /// Before each execution. Never called on CPU.
    Prepare = abi::stage::PREPARE,
    /// Before each execution, after `Prepare`. Never called on CPU.
    Initialize = abi::stage::INITIALIZE,
    /// The execution.
    Execute = abi::stage::EXECUTE,
}

impl Stage {
    /// The word of the signature language: `instantiate`.
    pub const fn name(self) -> &'static str {
        match self {
            Stage::Instantiate => "instantiate",
            Stage::Prepare => "prepare",
            Stage::Initialize => "initialize",
            Stage::Execute => "execute",
        }
    }
}

/// The signature of a handler.
pub struct Spec {
    /// The name of the function.
    pub name: &'static str,
    /// The name under which programs call it, unless it is registered under another.
    pub target: &'static str,
    /// The stage that the function is for.
    pub stage: Stage,
    /// Dtypes and shapes of the arguments, then of the results. The variadic ones are not among them; a field without
    /// a leaf is a token.
    pub scope: Scope,
    /// What else there is to say of the fields of `scope`, one each.
    pub params: &'static [Param],
    /// How many of the fields are arguments.
    pub args: usize,
    /// The name of the parameter that takes the remaining arguments.
    pub rest_args: Option<&'static str>,
    /// The name of the parameter that takes the remaining results.
    pub rest_rets: Option<&'static str>,
    /// The attributes, sorted by name, bytewise.
    pub attrs: &'static [AttrSpec],
    /// Whether other attributes are no error, because the function takes the dictionary of all.
    pub open_attrs: bool,
    /// Whether calls may be recorded into a command buffer.
    pub command_buffer: bool,
    /// The handlers of the other stages.
    pub stages: Stages,
}

impl Spec {
    /// Whether attributes that nobody declares are no error: because a function takes the dictionary of all, or because
    /// this one belongs to another, which takes them.
    pub fn allows_others(&self) -> bool {
        self.open_attrs
            || self.stage != Stage::Execute
            || self.stages.iter().any(|handler| handler.spec().open_attrs)
    }

    /// Whether an attribute is one that the handler of another stage declares: the stages of a call share its attributes.
    pub fn is_of_other_stage(&self, name: &[u8]) -> bool {
        let declares = |spec: &Spec| spec.attrs.iter().any(|attr| attr.name.as_bytes() == name);
        self.stages.iter().any(|handler| declares(handler.spec()))
    }
}

/// What a field of the scope is, besides dtype and shape.
#[derive(Clone, Copy, Debug)]
pub struct Param {
    /// Whether it may be absent.
    pub optional: bool,
    /// Of an argument: the handler does not read it, because a result takes its contents over.
    pub aliased: bool,
    /// Of a result: the field whose contents it takes over.
    pub alias: Option<usize>,
}

impl Param {
    /// Neither optional nor aliased.
    pub const PLAIN: Param = Param { optional: false, aliased: false, alias: None };
    /// One that may be absent.
    pub const OPTIONAL: Param = Param { optional: true, ..Param::PLAIN };
    /// An argument whose contents a result takes over.
    pub const ALIASED: Param = Param { aliased: true, ..Param::PLAIN };

    /// A result that takes over the contents of an argument.
    pub const fn alias(argument: usize) -> Param {
        Param { alias: Some(argument), ..Param::PLAIN }
    }
}

/// One attribute, or one member of a struct.
#[derive(Clone, Copy, Debug)]
pub struct AttrSpec {
    /// Its name.
    pub name: &'static str,
    /// What it must be.
    pub r#type: AttrType,
    /// Whether it may be absent: it has a default, or is an `Option`.
    pub optional: bool,
}

/// The handlers of the stages before the execution.
#[derive(Clone, Copy)]
pub struct Stages {
    /// Called when a program is loaded.
    pub instantiate: Option<&'static Handler>,
    /// Called before each execution.
    pub prepare: Option<&'static Handler>,
    /// Called before each execution, after `prepare`.
    pub initialize: Option<&'static Handler>,
}

impl Stages {
    /// None.
    pub const NONE: Stages = Stages { instantiate: None, prepare: None, initialize: None };

    /// Those that there are.
    pub fn iter(&self) -> impl Iterator<Item = &'static Handler> {
        [self.instantiate, self.prepare, self.initialize].into_iter().flatten()
    }

    /// The handler of a stage, by its number.
    pub fn get(&self, stage: c_int) -> Option<&'static Handler> {
        match stage {
            abi::stage::INSTANTIATE => self.instantiate,
            abi::stage::PREPARE => self.prepare,
            abi::stage::INITIALIZE => self.initialize,
            _ => None,
        }
    }
}
