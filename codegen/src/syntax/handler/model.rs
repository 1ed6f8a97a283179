//! The checked model of a handler, and of a type with `#[derive(AttrValue)]`.

#![allow(clippy::large_enum_variant, reason = "a handful of values live for one expansion")]

use proc_macro2::{Ident, Span};
use syn::{Attribute, Expr, Generics, ItemFn, LitStr, Path, Type, Visibility};

use super::super::model::{Capture, CaptureKind, DTypes, Docs, Dynamic, Group};

/// A function declared with `#[ffi_handler]`.
#[derive(Clone, Debug)]
pub struct Handler {
    /// The function's doc comments.
    pub docs: Docs,
    /// The function's `#[cfg(...)]` attributes, which hold for everything made from it.
    pub cfgs: Vec<Attribute>,
    /// The function's visibility.
    pub vis: Visibility,
    /// The function's name.
    pub fn_name: Ident,
    /// The static's name: the function's in upper case, on the function's name as span.
    pub static_name: Ident,
    /// The arguments of the attribute.
    pub options: HandlerOptions,
    /// The arguments of the function, in order.
    pub params: Vec<HandlerParam>,
    /// The groups of buffers that share a dtype, ordered by their first member; indices count all arguments.
    pub groups: Vec<Group>,
    /// The captured names, in the order in which they first occur.
    pub captures: Vec<Capture>,
    /// What the function returns.
    pub returns: Returns,
    /// The return type as written.
    pub output: Type,
    /// The function as written, without the toolkit's attributes and the doc comments on its arguments.
    pub item: ItemFn,
}

/// The options of a handler.
#[derive(Clone, Debug, Default)]
pub struct HandlerOptions {
    /// `target = "name"`
    pub target: Option<LitStr>,
    /// `stage = instantiate`
    pub stage: Stage,
    /// `instantiate = path`: the function of another handler.
    pub instantiate: Option<Path>,
    /// `prepare = path`
    pub prepare: Option<Path>,
    /// `initialize = path`
    pub initialize: Option<Path>,
    /// `command_buffer`
    pub command_buffer: bool,
}

/// When XLA calls a handler.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stage {
    /// When the program comes to the call.
    #[default]
    Execute,
    /// Once for each call in a program, with its attributes only.
    Instantiate,
    /// Before each run of the program.
    Prepare,
    /// Before the first call of each run.
    Initialize,
}

/// An argument of a handler's function.
#[derive(Clone, Debug)]
pub struct HandlerParam {
    /// Its name.
    pub name: Ident,
    /// Its doc comments.
    pub docs: Docs,
    /// Its type.
    pub ty: Type,
    /// What it is.
    pub kind: HandlerKind,
}

/// What an argument of a handler's function is.
#[derive(Clone, Debug)]
pub enum HandlerKind {
    /// `#[arg]` or `#[ret]`
    Place(Side, Place),
    /// `#[attr]`
    Attr(Attr),
    /// `#[attrs]`
    Attrs,
    /// `#[ctx]`
    Ctx(Ctx),
}

/// Which list of a call a buffer stands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// `#[arg]`
    Arg,
    /// `#[ret]`
    Ret,
}

/// What stands at one place, or at the remaining ones, of a call's arguments or results.
#[derive(Clone, Debug)]
pub enum Place {
    /// A buffer, and whether its memory is shared.
    Buffer(Dynamic, Sharing),
    /// A token, and whether a call may leave it out.
    Token {
        /// `Option<Token>`
        optional: bool,
    },
    /// All that are left.
    Remaining,
}

/// Whether the memory of a buffer may be that of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// A result shares it with no other buffer.
    None,
    /// `Aliased`: an argument whose contents a result takes over.
    Lent,
    /// `alias = a`: a result that takes over the contents of this argument, by its index.
    TakesOver(usize),
}

/// An attribute of a call, or a member of a struct of attributes.
#[derive(Clone, Debug)]
pub struct Attr {
    /// `name = "..."`, else the argument's own name.
    pub name: LitStr,
    /// Its type; of an optional one the type inside.
    pub ty: Type,
    /// Whether its type is `Option<T>`.
    pub optional: bool,
    /// `default = expr`; never of an optional one.
    pub default: Option<Expr>,
}

/// What a call's context gives.
#[derive(Clone, Debug)]
pub enum Ctx {
    /// `ffi::ThreadPool`
    ThreadPool,
    /// `ffi::DeviceOrdinal`
    DeviceOrdinal,
    /// `ffi::RunId`
    RunId,
    /// `ffi::UserData<'_, T>`: the `T`.
    UserData(Type),
    /// `ffi::State<'_, T>`: the `T`.
    State(Type),
    /// `ffi::Stream`
    Stream,
    /// `ffi::Scratch`
    Scratch,
}

/// What a handler's function returns.
#[derive(Clone, Debug)]
pub enum Returns {
    /// `ffi::Result<()>`
    Nothing,
    /// `ffi::Result<T>` of an instantiate handler: the `T`.
    State(Type),
    /// `ffi::Future`
    Future,
    /// `ffi::Result<ffi::Future>`
    MaybeFuture,
}

/// The patterns of a `check!`.
#[derive(Clone, Debug)]
pub struct Check {
    /// The buffers, in order.
    pub buffers: Vec<CheckedBuffer>,
    /// The captured names, in the order in which they first occur.
    pub captures: Vec<(Ident, CaptureKind)>,
}

/// One buffer of a `check!`, and its pattern.
#[derive(Clone, Debug)]
pub struct CheckedBuffer {
    /// The variable that is the buffer.
    pub name: Ident,
    /// Its dtype; any if nothing is said.
    pub dtype: Option<CheckDType>,
    /// Its shape; any if nothing is said.
    pub shape: Option<CheckShape>,
    /// Its ranks; any if nothing is said.
    pub ranks: Vec<usize>,
    /// Single dimensions, by index.
    pub dims: Vec<(Expr, CheckDim)>,
}

/// A dtype in a `check!`.
#[derive(Clone, Debug)]
pub enum CheckDType {
    /// One, a choice, or a class.
    Dtypes(DTypes),
    /// That of another buffer.
    Same(Ident),
}

/// A shape in a `check!`.
#[derive(Clone, Debug)]
pub enum CheckShape {
    /// Sizes.
    Dims(CheckLead, Vec<CheckDim>),
    /// That of another buffer.
    Same(Ident),
}

/// The leading dimensions of a shape in a `check!`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckLead {
    /// None.
    None,
    /// `..`
    Any,
    /// `batch..`: the index of the name.
    Captured(usize),
}

/// One dimension in a `check!`.
#[derive(Clone, Debug)]
pub enum CheckDim {
    /// `128`
    Fixed(i64),
    /// `_`
    Any,
    /// `m`: the index of the name.
    Captured(usize),
    /// `{n}`: a value.
    Value(Expr),
}

/// A type with `#[derive(AttrValue)]`.
#[derive(Clone, Debug)]
pub struct AttrValue {
    /// The type's name.
    pub ident: Ident,
    /// At most one lifetime.
    pub generics: Generics,
    /// Its values.
    pub body: AttrBody,
}

/// The values of an [`AttrValue`] type.
#[derive(Clone, Debug)]
pub enum AttrBody {
    /// An enum's integer type and its variants, of which there is at least one.
    Enum(Ident, Vec<Ident>),
    /// A struct's members.
    Struct(Vec<AttrField>),
}

/// A member of an [`AttrBody::Struct`].
#[derive(Clone, Debug)]
pub struct AttrField {
    /// The field's name.
    pub ident: Ident,
    /// What it is decoded from.
    pub attr: Attr,
    /// The span of its type.
    pub span: Span,
}

impl HandlerOptions {
    /// Whether other stages of the call have handlers of their own.
    pub fn has_stages(&self) -> bool {
        self.instantiate.is_some() || self.prepare.is_some() || self.initialize.is_some()
    }
}

impl Handler {
    /// The buffers, with their indices among all arguments.
    pub fn buffers(&self) -> impl Iterator<Item = (usize, Side, &Dynamic)> {
        self.params.iter().enumerate().filter_map(|(index, param)| match &param.kind {
            HandlerKind::Place(side, Place::Buffer(buffer, _)) => Some((index, *side, buffer)),
            _ => None,
        })
    }

    /// What stands on one side of a call, in order, with its index among all arguments.
    pub fn places(&self, side: Side) -> impl Iterator<Item = (usize, &HandlerParam, &Place)> {
        self.params.iter().enumerate().filter_map(move |(index, param)| match &param.kind {
            HandlerKind::Place(of, place) if *of == side => Some((index, param, place)),
            _ => None,
        })
    }

    /// The attributes, with their arguments.
    pub fn attrs(&self) -> impl Iterator<Item = (&HandlerParam, &Attr)> {
        self.params.iter().filter_map(|param| match &param.kind {
            HandlerKind::Attr(attr) => Some((param, attr)),
            _ => None,
        })
    }

    /// Whether an argument takes all attributes.
    pub fn takes_all_attrs(&self) -> bool {
        self.params.iter().any(|param| matches!(param.kind, HandlerKind::Attrs))
    }
}

impl Place {
    /// Whether a call may leave it out.
    pub fn is_optional(&self) -> bool {
        match self {
            Place::Buffer(buffer, _) => buffer.leaves().is_some_and(|leaves| leaves.optional),
            Place::Token { optional } => *optional,
            Place::Remaining => false,
        }
    }
}
