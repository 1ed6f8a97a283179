//! The checked model of a declaration.
//!
//! It exists only for a declaration without mistakes, so whoever reads it cannot fail: every reference is
//! resolved to an index, every captured name has a place where it is bound, and the options agree with each
//! other. Indices into `params` and `fields` count in the order of declaration, without the compile context.

#![allow(clippy::large_enum_variant, reason = "a handful of values live for one expansion")]

use super::border::RStatic;
use proc_macro2::{Ident, Span};
use syn::{Attribute, Expr, Generics, ItemFn, LitStr, Member, Path, Type, Visibility};

/// A function declared with `#[dispatch_family]`.
#[derive(Clone, Debug)]
pub struct Family {
    /// The function's doc comments.
    pub docs: Docs,
    /// The function's `#[cfg(...)]` attributes, which hold for everything made from it.
    pub cfgs: Vec<Attribute>,
    /// The function's visibility.
    pub vis: Visibility,
    /// The function's name.
    pub fn_name: Ident,
    /// The family's type: the function's name in UpperCamelCase, on the function's name as span.
    pub type_name: Ident,
    /// The arguments of the attribute.
    pub options: Options,
    /// The name of the leading `cx: &CompileCx`, if there is one.
    pub cx: Option<Ident>,
    /// The arguments after the compile context.
    pub params: Vec<Param>,
    /// The groups of arguments that share a dtype, ordered by their first member.
    pub groups: Vec<Group>,
    /// The captured names, in the order in which they first occur.
    pub captures: Vec<Capture>,
    /// The result.
    pub output: Output,
    /// The function as written, without the toolkit's attributes and the doc comments on its arguments.
    pub item: ItemFn,
}

/// A struct with `#[derive(InputTree)]`.
#[derive(Clone, Debug)]
pub struct InputTree {
    /// Name and leaf type.
    pub header: TreeHeader,
    /// The fields, in order.
    pub fields: Vec<Dynamic>,
    /// The groups of fields that share a dtype.
    pub groups: Vec<Group>,
    /// The names captured in this struct; they stay in it.
    pub captures: Vec<Capture>,
}

/// A struct with `#[derive(OutputTree)]`.
#[derive(Clone, Debug)]
pub struct OutputTree {
    /// Name and leaf type.
    pub header: TreeHeader,
    /// The fields, in order; there is at least one.
    pub fields: Vec<OutputField>,
}

/// What the two kinds of trees have in common.
#[derive(Clone, Debug)]
pub struct TreeHeader {
    /// The struct's doc comments.
    pub docs: Docs,
    /// The struct's `#[cfg(...)]` attributes.
    pub cfgs: Vec<Attribute>,
    /// The struct's visibility.
    pub vis: Visibility,
    /// The struct's name.
    pub ident: Ident,
    /// The name of its one type parameter.
    pub leaf: Ident,
}

/// A field of an [`OutputTree`].
#[derive(Clone, Debug)]
pub struct OutputField {
    /// The field's name.
    pub name: Ident,
    /// The field's doc comments.
    pub docs: Docs,
    /// What it holds.
    pub kind: OutputKind,
}

/// What a field of an [`OutputTree`] holds.
#[derive(Clone, Debug)]
pub enum OutputKind {
    /// `T`
    Leaf,
    /// `[T; N]`
    Array(Expr),
    /// `Other<T>`: the path without its argument.
    Tree(Path),
}

/// A type with `#[derive(StaticArg)]`.
#[derive(Clone, Debug)]
pub struct StaticArg {
    /// The type's doc comments.
    pub docs: Docs,
    /// The type's name.
    pub ident: Ident,
    /// Type and const parameters with their bounds; no lifetimes.
    pub generics: Generics,
    /// The type's values.
    pub body: StaticBody,
}

/// The values of a [`StaticArg`] type.
#[derive(Clone, Debug)]
pub enum StaticBody {
    /// A struct's fields.
    Struct(Vec<StaticField>),
    /// An enum's variants; there is at least one.
    Enum(Vec<StaticVariant>),
}

/// A variant of a [`StaticBody::Enum`].
#[derive(Clone, Debug)]
pub struct StaticVariant {
    /// The variant's name.
    pub ident: Ident,
    /// The variant's doc comments.
    pub docs: Docs,
    /// Its fields, none for a unit variant. `Variant { 0: x }` is a pattern for tuple variants too.
    pub fields: Vec<StaticField>,
}

/// A field of a [`StaticArg`] type.
#[derive(Clone, Debug)]
pub struct StaticField {
    /// The field's name or number.
    pub member: Member,
    /// The field's type.
    pub ty: Type,
}

/// Doc comments.
#[derive(Clone, Debug, Default)]
pub struct Docs {
    /// The text by line, each without the one space that follows the slashes.
    pub lines: Vec<String>,
    /// The attributes as written.
    pub attrs: Vec<Attribute>,
}

/// The options of a family.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// `capacity = 64`: an integer literal above zero, or an expression of type `usize`.
    pub capacity: Option<Expr>,
    /// `eviction = Lru`: an expression whose value is the policy.
    pub eviction: Option<Expr>,
    /// `device = first_input`
    pub device: DevicePolicy,
    /// `default_device = path::to::fn`; never with [`DevicePolicy::Fixed`].
    pub default_device: Option<Path>,
    /// `context = path::to::fn`
    pub context: Option<Path>,
    /// `r_export`
    pub r_export: bool,
    /// `r_name = "name"`: a syntactic R name; only with `r_export`.
    pub r_name: Option<LitStr>,
}

/// Which device a family runs on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DevicePolicy {
    /// The device of the first array; another array's must be the same.
    #[default]
    FirstInput,
    /// The device of the cache entry; the inputs are copied to it.
    Fixed,
}

/// An argument.
#[derive(Clone, Debug)]
pub enum Param {
    /// `#[dynamic(...)]`
    Dynamic(Dynamic),
    /// `#[static_arg]`
    Static(Static),
}

/// A dynamic argument, or a field of an input tree.
#[derive(Clone, Debug)]
pub struct Dynamic {
    /// The argument's name.
    pub name: Ident,
    /// The argument's doc comments.
    pub docs: Docs,
    /// The span of its type, for errors that the compiler finds there.
    pub span: Span,
    /// What it holds.
    pub kind: DynamicKind,
}

/// What a dynamic argument holds. Whether the body sees an `Aval` or a `Value` of each array makes no difference: an
/// expansion leaves it to the types of the function.
#[derive(Clone, Debug)]
pub enum DynamicKind {
    /// Arrays of one description.
    Leaves(Leaves),
    /// `P<Aval>` or `P<Value>` for an input tree `P`: the path without its argument.
    Tree(Path),
}

/// Arrays of one description: `Aval`, `Vec<Aval>` or `[Aval; N]`, or the same of `Value`.
#[derive(Clone, Debug)]
pub struct Leaves {
    /// How many there are.
    pub count: Count,
    /// The index of the group whose dtype every one of them has.
    pub group: usize,
    /// The shape that each of them has.
    pub shape: Shape,
    /// Whether their buffers may be reused for outputs.
    pub donate: bool,
    /// Which result is written back into it, if one is.
    pub write_back: Option<WriteBack>,
    /// Whether a call may leave it out: `Option<Buffer<T>>` of a handler.
    pub optional: bool,
}

/// `write_back`: a result that is written back into an argument.
#[derive(Clone, Copy, Debug)]
pub struct WriteBack {
    /// Where that is written.
    pub span: Span,
    /// The result, counted from 0; none if it is the only one.
    pub result: Option<usize>,
}

/// How many arrays an argument is.
#[derive(Clone, Debug)]
pub enum Count {
    /// `Aval`
    One,
    /// `Vec<Aval>`: part of the key.
    Any,
    /// `[Aval; N]`
    Exactly(Expr),
}

/// Arguments that share a dtype.
#[derive(Clone, Debug)]
pub struct Group {
    /// The argument that says the dtype.
    pub root: usize,
    /// The dtypes that it allows.
    pub dtypes: DTypes,
    /// All arguments of the group, in order, the root among them.
    pub members: Vec<usize>,
}

/// The dtypes that a group allows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DTypes {
    /// `f32`, also written `[f32]`
    One(DType),
    /// `[f32, f64]`: at least two, in the order written.
    Choice(Vec<DType>),
    /// `float`
    Class(Class),
}

/// A class of dtypes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Every dtype.
    Any,
    /// f16, bf16, f32 and f64.
    Float,
    /// The integers, signed and unsigned, without bool.
    Int,
}

/// An element type; [`DType::name`] is how the language writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs, reason = "the variants are the names themselves")]
pub enum DType {
    Bool,
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    F16,
    Bf16,
    F32,
    F64,
    C64,
    C128,
}

/// The shape of an argument.
#[derive(Clone, Debug)]
pub enum Shape {
    /// `[m, 128, _]`
    Pattern(Pattern),
    /// The shape of another argument, which is a single array with a pattern.
    Same(usize),
}

/// A pattern of sizes.
#[derive(Clone, Debug)]
pub struct Pattern {
    /// The leading dimensions, if their number is free.
    pub leading: Option<Leading>,
    /// The dimensions after them.
    pub dims: Vec<Dim>,
}

/// Leading dimensions of any number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leading {
    /// `..`
    Anonymous,
    /// `batch..`: the index of the capture.
    Captured(usize),
}

/// One dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dim {
    /// `128`; never negative.
    Fixed(i64),
    /// `_`
    Any,
    /// `m`: the index of the capture.
    Captured(usize),
}

/// A captured name.
#[derive(Clone, Debug)]
pub struct Capture {
    /// The name, with the span of its first occurrence.
    pub ident: Ident,
    /// What it stands for.
    pub kind: CaptureKind,
    /// Every place where it stands, in order.
    pub occurrences: Vec<Occurrence>,
    /// The index of the occurrence that binds it: the first in a single array, else the first in an array
    /// `[Aval; N]`, else the first in a `Vec<Aval>`. In the last two cases an empty one leaves the name
    /// without a value, which the call has to reject.
    pub source: usize,
}

/// What a captured name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CaptureKind {
    /// One size: an `i64` in a family's body.
    Dim,
    /// Leading sizes: a `Vec<i64>` in a family's body.
    Leading,
}

/// A place where a captured name stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Occurrence {
    /// The index of the argument.
    pub param: usize,
    /// Where in its shape.
    pub at: Position,
}

/// A place in a shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Position {
    /// The leading dimensions.
    Leading,
    /// The dimension with this index from the front, 0 the first; in patterns of one rank.
    Front(usize),
    /// The dimension with this index from the back, 0 the last; in patterns with leading dimensions.
    Back(usize),
}

/// A static argument.
#[derive(Clone, Debug)]
pub struct Static {
    /// The argument's name.
    pub name: Ident,
    /// The argument's doc comments.
    pub docs: Docs,
    /// Its type.
    pub ty: Type,
    /// `default = expr`
    pub default: Option<Expr>,
    /// How it looks in R; none if the family is not exported.
    pub r: Option<RStatic>,
}

/// The result of a family.
#[derive(Clone, Debug)]
pub struct Output {
    /// The type inside `Program<...>`; none for a plain `Program`, which is one array.
    pub ty: Option<Type>,
    /// The second type of `Result<Program, E>`.
    pub error: Option<Type>,
}
